-- stacks_spec.lua - the questions `stacks`, `memory` and `sizes` as pages ask them about a profile:
-- the tree of stacks adds up to what heapprof tells, memory over time adds up, and
-- blocks are in the row of their size.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

local dir = select(2, support.lua [[
  local heap = require "heap"
  heap.track {file = "run.prof", stacks = true}
  kept = {}
  local function row(i) return {i, name = "n" .. i} end
  local function fill(n) for i = 1, n do kept[#kept + 1] = row(i) end end
  for i = 1, 20 do
    fill(100)
    for k = 1, 50 do local _ = ("x"):rep(k + i) end
  end
  heap.untrack()
]])

local function ask(key)
  local document = ask_view(dir, key, "run.prof")
  return document.answer, document
end

local function heapprof(...)
  return cjson.decode(support.answer({"heapprof", "--json", "run.prof", ...}, dir))
end

-- Each row has its own bytes and those of the rows one level below.
local function assert_adds_up(answer)
  local whole, rows = 0, answer.rows
  for i, row in ipairs(rows) do
    if row.depth == 0 then whole = whole + row.total_bytes end
    local bytes = row.self_bytes
    for k = i + 1, #rows do
      if rows[k].depth <= row.depth then break end
      if rows[k].depth == row.depth + 1 then bytes = bytes + rows[k].total_bytes end
    end
    if not row.rest then assert.equal(row.total_bytes, bytes, row.site) end
  end
  assert.equal(answer.whole_bytes, whole)
end

describe("The stacks of a profile", function()
  for order, option in pairs {allocated = false, live = "--live", peak = "--peak"} do
    it("add up to what is " .. order .. ", however few are shown", function()
      local whole = option and heapprof(option).whole_bytes or heapprof().profile.allocated_bytes
      for _, limit in ipairs {0, 1, 3, 1000} do
        local answer = ask(("stacks?limit=%d&sort=%s"):format(limit, order))
        assert.equal(order, answer.order)
        assert.equal(whole, answer.whole_bytes)
        assert_adds_up(answer)
        local shown, rests = 0, 0
        for _, row in ipairs(answer.rows) do
          if row.rest then
            rests = rests + 1
            assert.matches("^%d+ smaller$", row.site)
          elseif row.stack > 0 then
            shown = shown + 1
          end
        end
        assert.is_true(limit == 0 or shown <= limit)
        assert.equal(limit == 0 or limit == 1000, rests == 0)
      end
    end)
  end

  it("tell who called whom, outermost first", function()
    local answer, document = ask "stacks"
    local path, found = {}, 0
    for _, row in ipairs(answer.rows) do
      path[row.depth + 1] = row.site
      if row.site:find("in row", 1, true) then
        assert.matches(" in fill$", path[row.depth])
        found = found + 1
      end
    end
    assert.is_true(found > 0)
    assert.matches("^Allocated, by stack: ", document.told[1].line[1].text)
  end)

  it("may be none: then that is said", function()
    local plain = select(2, support.lua [[
      local heap = require "heap"
      heap.track {file = "run.prof"}
      for i = 1, 100 do kept = {i} end
      heap.untrack()
    ]])
    local _, _, out = ask_view(plain, "stacks", "run.prof")
    assert.matches("The profile has no stacks: heap.track{stacks = true} records them", out, 1,
                   true)
  end)
end)

describe("Memory over time", function()
  -- 200 intervals of 20 ms: the string is there from 2.5 s, the 125th, to 3.5 s.
  it("has each moment's most, and that of the lines which had most", function()
    local p, folder = profiles.new {start_bytes = 20000}, support.tmpdir()
    local app = p:stack(nil, {source = "@app.lua", name = "", line = 3, maker = "table"})
    local f = p:stack(app, {source = "@app.lua", name = "f", line = 7, maker = "C", c = "rep"})
    p:new("table", app, 56)
    p:tick(2500000000)
    local text = p:new("string", f, 1025)
    p:tick(1000000000)
    p:free(text)
    p:tick(500000000)
    p:write(folder .. "/run.prof")
    local answer = ask_view(folder, "memory?limit=1", "run.prof").answer
    assert.same({20000000, 21081, 20056, 200},
                {answer.interval_ns, answer.peak_bytes, answer.end_bytes, #answer.heap_bytes})
    assert.same({20056, 20056, 21081, 20056, 20000},
                {answer.heap_bytes[1], answer.heap_bytes[125], answer.heap_bytes[126],
                 answer.heap_bytes[200], answer.before_tracking[200]})
    local first = answer.lines[1]
    assert.same({"rep at @app.lua:7 in f", 0, 1025, 1025, 0},
                {first.site, first.bytes[125], first.bytes[126], first.peak_bytes, first.end_bytes})
  end)

  it("has as many lines as are wanted, which add up to the heap", function()
    for _, limit in ipairs {1, 2, 100} do
      local answer = ask("memory?limit=" .. limit)
      assert.is_true(#answer.lines <= limit + 1)
      for at, bytes in ipairs(answer.heap_bytes) do
        local sum = answer.before_tracking[at]
        for _, line in ipairs(answer.lines) do sum = sum + line.bytes[at] end
        assert.equal(bytes, sum)
      end
    end
  end)
end)

describe("The sizes of blocks", function()
  it("are powers of two, each with its blocks", function()
    local p = profiles.new {program = "lua5.4 x.lua"}
    p:stack(nil, {maker = "unattributed"})
    local site = p:stack(nil, {source = "@x.lua", name = "f", maker = "table", line = 1,
                               first_line = 1})
    local part = p:new("part", site, 8)
    for _, bytes in ipairs {56, 64, 65, 128, 1000} do p:new("table", site, bytes) end
    p:resize(part, site, 4096)
    p:free(part)
    p:write(dir .. "/sizes.prof")
    local document = ask_view(dir, "sizes", "sizes.prof")
    local rows = {}
    for i, row in ipairs(document.answer.sizes) do
      rows[i] = ("%d: %d, %d"):format(row.most_bytes, row.blocks, row.bytes)
    end
    assert.same({"8: 1, 8", "16: 0, 0", "32: 0, 0", "64: 2, 120", "128: 2, 193", "256: 0, 0",
                 "512: 0, 0", "1024: 1, 1000", "2048: 0, 0", "4096: 1, 4096"}, rows)
    assert.equal(7, document.answer.blocks)
    assert.equal("Half of the blocks that were asked for have at most 128 B; half of the bytes " ..
                 "are in blocks of at most 4.0 KB", document.told[1].line[1].text)
  end)

  it("add up to what was allocated", function()
    local profile, answer = heapprof().profile, ask "sizes"
    assert.equal(profile.allocated_bytes, answer.bytes)
    assert.equal(profile.allocations + profile.resizes, answer.blocks)
  end)
end)
