-- timeline_spec.lua - heaptop --by epoch: each object in the interval in which it was allocated,
-- rows that share intervals, bars, and the headline for each shape of growth.

local cjson = require "cjson"
local support = require "tests.common.support"

local run = support.run

-- In front of each program: interval(n) leaves a mark, and allocates n empty tables that stay.
local prelude = [[
  local heap = require "heap"
  local keep, marks = table.pack(string.byte(("x"):rep(200), 1, -1)), 0
  local used = 0
  collectgarbage()
  local function interval(n)
    marks = marks + 1
    heap.mark("m" .. marks)
    for _ = 1, n do
      used = used + 1
      keep[used] = {}
    end
  end
]]

local function snapshot(program) return (select(2, support.lua(prelude .. program))) end

-- What heaptop --by epoch prints with these options.
local function ask(dir, ...)
  local words = {"heaptop", "--by", "epoch", "s", ...}
  return support.answer(words, dir)
end

-- Of tables only, as text, and of all objects as JSON.
local function timeline(dir, ...) return ask(dir, "--type", "table", ...) end
local function rows_of(dir, ...) return cjson.decode(ask(dir, "--json", ...)) end

describe("the timeline", function()
  it("has every object in the interval in which it was allocated", function()
    local dir = snapshot [[
      for i = 1, 100 do interval(i) end
      collectgarbage()
      heap.snapshot("s")
    ]]
    local json = rows_of(dir, "--type", "table")
    assert.equal(101, json.total_epochs)
    assert.equal(101, #json.epochs)
    assert.equal(cjson.null, json.epochs[1].mark)
    assert.equal(cjson.null, json.epochs[1].time_ns)
    for i = 1, 100 do
      local row = json.epochs[i + 1]
      assert.equal("m" .. i, row.mark)
      assert.equal(i, row.objects)
      assert.equal(56 * i, row.shallow_bytes)
    end
  end)

  it("adds up to what lives, or to what is garbage", function()
    local dir = snapshot [[
      collectgarbage("stop")
      for i = 1, 20 do
        interval(10)
        for j = 1, i do setmetatable({}, {__gc = function() end}) end
        if i % 2 == 0 then keep[#keep + 1] = setmetatable({}, {__gc = function() end}) end
      end
      heap.snapshot("s")
    ]]
    for _, option in ipairs {"--bytes", "--garbage"} do
      local words = {"heaptop", "--by", "class", "--json", option, "s"}
      local classes = cjson.decode((run(words, {cwd = dir}))).classes
      local sums = {0, 0, 0, 0}
      for _, class in ipairs(classes) do
        sums[1], sums[2] = sums[1] + class.objects, sums[2] + class.shallow_bytes
      end
      for _, row in ipairs(rows_of(dir, option).epochs) do
        sums[3], sums[4] = sums[3] + row.objects, sums[4] + row.shallow_bytes
      end
      assert.is_true(sums[1] > 100)
      assert.equal(sums[1], sums[3])
      assert.equal(sums[2], sums[4])
    end
    -- finalizers' objects are on a list of their own
    local garbage = rows_of(dir, "--garbage", "--type", "table").epochs
    for i = 2, #garbage do assert.equal(2 * (i - 1), garbage[i].objects) end
  end)

  it("has as many rows as were asked for, which share the intervals evenly", function()
    local dir = snapshot [[
      for i = 1, 100 do interval(i) end
      collectgarbage()
      heap.snapshot("s")
    ]]
    local start = rows_of(dir, "--type", "table").epochs[1].objects
    for _, n in ipairs {1, 2, 3, 7, 50, 100, 101, 500} do
      local rows, sum = rows_of(dir, "--type", "table", "-n", n).epochs, 0
      assert.equal(math.min(n, 101), #rows)
      assert.equal(n == 1 and start + 5050 or start, rows[1].objects)
      for _, row in ipairs(rows) do sum = sum + row.objects end
      assert.equal(start + 5050, sum)
      local first
      for i = 2, #rows do
        local mark = tonumber(rows[i].mark:match("%d+"))
        local width = first and mark - first or 100 / (#rows - 1)
        assert.is_true(math.abs(width - 100 / (#rows - 1)) < 1)
        first = mark
      end
    end
    assert.matches("\n101 intervals: %-n 0 shows each\n$", timeline(dir, "-n", "20"))
    assert.not_matches("shows each", timeline(dir))
    assert.not_matches("shows each", timeline(dir, "-n", "0"))
  end)

  it("draws bars in eighths of a character, and # where the locale has no Unicode", function()
    local dir = snapshot [[
      for _, n in ipairs {1600, 800, 10, 1, 0, 1590} do interval(n) end
      collectgarbage()
      heap.snapshot("s")
    ]]
    local function bars(env)
      local out = run({"heaptop", "--by", "epoch", "--type", "table", "s"}, {cwd = dir, env = env})
      local found = {}
      for line in out:gmatch("[^\n]+") do
        local bar = line:match("%%  +[%d,]+  (.-) *%d+%-%d+%-%d+ ")
        found[#found + 1] = bar
      end
      return found
    end
    local full = "\u{2588}"
    local eighth, nearly = "\u{258F}", full:rep(19) .. "\u{2589}"
    assert.same({full:rep(20), full:rep(10), eighth, eighth, "", nearly}, bars {LC_ALL = "C.UTF-8"})
    assert.same({("#"):rep(20), ("#"):rep(10), "#", "#", "", ("#"):rep(20)}, bars {LC_ALL = "C"})
  end)
end)

-- The first two lines, of tables only, without what was there before the first mark.
local function answer(program)
  local out = timeline(snapshot(program .. ' collectgarbage() heap.snapshot("s")'))
  local share, first, second = out:match("^([%d.]+%%) of what lives, [%d.]+ KB, was allocated "
                                         .. "(since [^\n]+)\n([^\n]*)\n")
  assert.is_true(tonumber(share:match("[%d.]+")) > 10, out)
  return first, (second:gsub("What that is: ", ""))
end

describe("the headline of the timeline", function()
  it("names an interval that has half", function()
    local first, second = answer [[for i = 1, 20 do interval(i == 7 and 1000 or 10) end]]
    assert.equal("since m1, the first mark: 84.0% of it between m7 and m8", first)
    assert.equal("heapdiff --since m7 --until m8 s", second)
  end)

  it("names the last interval", function()
    local first, second = answer [[for i = 1, 20 do interval(i == 20 and 1000 or 10) end]]
    assert.equal("since m1, the first mark: 84.0% of it since m20", first)
    assert.equal("heapdiff --since m20 s", second)
  end)

  it("names a few that have half together, the biggest first", function()
    local sizes = "({[4] = 100, [11] = 300, [20] = 200})[i] or 30"
    local first, second = answer(("for i = 1, 20 do interval(%s) end"):format(sizes))
    assert.equal("since m1, the first mark: 27.0% of it between m11 and m12, "
                 .. "18.0% of it since m20, 9.0% of it between m4 and m5", first)
    assert.equal("heapdiff --since m11 --until m12 s", second)
  end)

  it("names neighbours that have half", function()
    local first, second = answer [[
      for i = 1, 60 do interval(i > 20 and i <= 28 and 200 or 10) end
    ]]
    assert.equal("since m1, the first mark: 56.6% of it between m21 and m27, in 6 of 60 intervals",
                 first)
    assert.equal("heapdiff --since m21 --until m27 s", second)
  end)

  it("says that the growth is even", function()
    local first, second = answer [[for i = 1, 60 do interval(50 + i % 7) end]]
    assert.equal("since m1, the first mark: at most 1.8% of it in each of 60 intervals", first)
    assert.equal("heapdiff --since m1 s", second)
  end)

  it("says how much is younger than the only mark", function()
    local first, second = answer [[interval(500)]]
    assert.equal("since m1, the first mark", first)
    assert.equal("heapdiff --since m1 s", second)
  end)

  it("asks no further where heapdiff would find another mark of that name", function()
    local first, second = answer [[
      for i = 1, 20 do interval(i == 7 and 1000 or 10) end
      heap.mark("m8")
    ]]
    assert.equal("since m1, the first mark: 84.0% of it between m7 and m8", first)
    assert.equal("", second)
  end)

  it("calls a mark without a name by its time", function()
    local first, second = answer [[
      heap.mark()
      for i = 1, 1000 do keep[i] = {} end
    ]]
    assert.equal("since TIME UTC, the first mark", support.normalise(first))
    assert.equal("heapdiff --since 'TIME' s", support.normalise(second))
  end)

  it("says what to do where there are no marks, and where there is nothing", function()
    local dir = snapshot [[collectgarbage() collectgarbage() heap.snapshot("s")]]
    assert.matches("^No mark was left before this snapshot; heap%.mark%(%) by period makes a "
                   .. "timeline\n\n[^\n]+\n[^\n]+the start\n$", timeline(dir))
    dir = snapshot [[heap.mark("x") collectgarbage() collectgarbage() heap.snapshot("s")]]
    assert.equal("none\n", ask(dir, "--garbage", "--type", "thread"))
  end)

  it("tells garbage apart", function()
    local dir = snapshot [[
      collectgarbage("stop")
      interval(100)
      for i = 1, 500 do keep[i] = nil end
      interval(100)
      heap.snapshot("s")
    ]]
    assert.matches("\n\nNot in it: 1%d%d objects of garbage, [^\n]+: %-%-garbage\n$", timeline(dir))
    assert.matches("^%d+%.%d%% of the garbage, 5%.5 KB, was allocated since m1, the first mark: "
                   .. "100%.0%% of it between m1 and m2\n\n", timeline(dir, "--garbage"))
  end)
end)
