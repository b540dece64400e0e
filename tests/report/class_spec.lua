-- class_spec.lua - `heaptop --class NAME`: how many instances and how big, what one more costs,
-- what is in them, who refers to them, and since when they are there.

local cjson = require "cjson"
local support = require "tests.common.support"

-- 30 sessions, every third with a log; two indexes and a weak one refer to them, and every session
-- but the first to the one before:
--
--     _G -.by_id-> array -[1..30]-> Session -.log-> {} --> string of 100 to 129
--        -.by_name-> map -["user:1".."user:30"]-> Session -.before-> Session
--        ~~weak~~> map ~[1..30]~> Session
local program = [[
  local heap = require "heap"
  local Session = {__name = "Session"}
  by_id, by_name, weak = {}, {}, setmetatable({}, {__mode = "v"})
  local function login(i)
    local s = setmetatable({id = i, before = by_id[i - 1]}, Session)
    if i % 3 == 0 then s.log = {("x"):rep(100 + i % 30)} end
    by_id[i], by_name["user:" .. i], weak[i] = s, s, s
  end
  for i = 1, 10 do login(i) end
  heap.mark "morning"
  for i = 11, 30 do login(i) end
  dropped = setmetatable({id = 0}, Session)
  collectgarbage()
  collectgarbage "stop"
  dropped = nil
  heap.snapshot "s"
]]

-- A table with four slots, and the header of a short string with its last byte.
local TABLE, ONE_STRING = 56 + 4 * 24, 24 + 1

describe("heaptop --class", function()
  local dir, json
  local function ask(...)
    return support.answer({"heaptop", "--class", ...}, dir)
  end

  local function field(name)
    for _, row in ipairs(json.fields) do if row.field == name then return row end end
  end

  setup(function()
    dir = select(2, support.lua(program))
    json = cjson.decode(ask("Session", "--json", "s"))
  end)

  it("counts the instances, and garbage apart", function()
    assert.equal("Session", json.class)
    assert.equal("table", json.type)
    assert.equal(30, json.objects)
    assert.equal(1, json.garbage_objects)
  end)

  -- {id = i, before = ...} has two slots, whatever is in them; the third entry makes it four.
  it("has the sizes in their order", function()
    local s = json.spreads.shallow
    assert.same({objects = 30, least = 56 + 2 * 24, median = 56 + 2 * 24, ninth_tenth = TABLE,
                 most = TABLE, sum = json.shallow_bytes}, s)
    assert.equal(20 * (56 + 2 * 24) + 10 * TABLE, json.shallow_bytes)
    assert.same({objects = 30, least = 1, median = 2, ninth_tenth = 3, most = 3,
                 sum = 30 + 29 + 10}, json.spreads.entries)
    local logs = 0
    for i = 3, 30, 3 do logs = logs + 56 + 16 + ONE_STRING + 100 + i % 30 end
    assert.equal(json.shallow_bytes + logs, json.retained_bytes)
    assert.equal(json.retained_bytes // 30, json.average_bytes)
    assert.equal(104, json.one_more_bytes)
    assert.same(json.spreads.alone, json.spreads.retained)
  end)

  it("says how full the fields are, and with what", function()
    assert.equal(3, json.total_fields)
    assert.same({field = ".id", instances = 30, values = 30, retained_bytes = 0, total_kinds = 1,
                 kinds = {{class = "number", values = 30}}}, field ".id")
    assert.same({field = ".before", instances = 29, values = 29, retained_bytes = 0,
                 total_kinds = 1, kinds = {{class = "Session", values = 29}}}, field ".before")
    local log = field ".log"
    assert.equal(10, log.instances)
    assert.equal(json.retained_bytes - json.shallow_bytes, log.retained_bytes)
    assert.same({{class = "array of string", values = 10}}, log.kinds)
  end)

  it("says who refers to them, weakly or not", function()
    assert.same({
      {class = "array of Session", type = "table", edge = "[*]", weak = false, referrers = 1,
       references = 30},
      {class = "array of Session", type = "table", edge = "[*]", weak = true, referrers = 1,
       references = 30},
      {class = "map[string] of Session", type = "table", edge = "[*]", weak = false,
       referrers = 1, references = 30},
      {class = "Session", type = "table", edge = ".before", weak = false, referrers = 29,
       references = 29},
    }, json.referrers)
  end)

  it("says since when they are there, and which is the biggest", function()
    assert.same({{mark = cjson.null, objects = 10}, {mark = "morning", objects = 20}}, json.epochs)
    assert.equal("_G.by_id[29]", json.held_by:gsub("%[27%]", "[29]"))
    assert.matches("\nAllocated: 10 before morning, 20 since morning\n", ask("Session", "s"))
  end)

  it("tells what to ask next, which answers", function()
    local command = ask("Session", "s"):match("\nWhy it stays: (heappath [^\n]+)\n")
    local out, err, code = support.run(command, {cwd = dir})
    assert.same({"", 0}, {err, code})
    assert.matches(" is kept alive by: ", out, 1, true)
  end)

  it("takes array for arrays of anything", function()
    local arrays = cjson.decode(ask("array", "--json", "-n", "1", "s"))
    assert.equal("array", arrays.class)
    assert.is_true(arrays.objects >= 12)
    assert.equal(1, #arrays.fields)
    assert.equal("[integer]", arrays.fields[1].field)
    assert.equal(1, #arrays.referrers)
    assert.is_true(arrays.total_referrers > 1)
  end)

  it("tells strings by length, and those that are equal", function()
    local strings = cjson.decode(ask("string", "--json", "s"))
    assert.equal(strings.objects, strings.contents)
    assert.is_true(strings.spreads.length.most >= 127)
  end)

  it("tells what stands in local variables of coroutines, and in upvalues", function()
    local tasks = select(2, support.lua [[
      local heap = require "heap"
      tasks = {}
      for i = 10, 29 do
        local function task(body)
          local line = ("y"):rep(100) .. i
          coroutine.yield(body, line)
          return i
        end
        tasks[i] = coroutine.wrap(task)
        tasks[i](("x"):rep(1000) .. i)
      end
      heap.snapshot "s"
    ]])
    local threads = cjson.decode((support.run({"heaptop", "--json", "--class",
                                               "thread task @program.lua:4", "s"}, {cwd = tasks})))
    assert.equal(20, threads.objects)
    assert.equal("thread", threads.type)
    assert.same({"local body in function task @program.lua:4", 20, 20 * (ONE_STRING + 1002)},
                {threads.fields[1].field, threads.fields[1].instances,
                 threads.fields[1].retained_bytes})
    assert.equal(20 * (ONE_STRING + 102), threads.fields[2].retained_bytes)
    local functions = cjson.decode((support.run({"heaptop", "--json", "--class",
                                                 "function task @program.lua:4", "s"},
                                                {cwd = tasks})))
    assert.equal("upvalue i", functions.fields[1].field)
    assert.same({{class = "number", values = 20}}, functions.fields[1].kinds)
    assert.equal(20, functions.fields[1].instances)
  end)

  it("says that all are garbage", function()
    local gone = select(2, support.lua [[
      local heap = require "heap"
      collectgarbage "stop"
      for i = 1, 3 do setmetatable({}, {__name = "Gone"}) end
      heap.snapshot "s"
    ]])
    local out = support.run("heaptop --class Gone s", {cwd = gone})
    assert.equal("Nothing keeps 3 Gone tables alive: garbage, 168 B\n", out)
    local none = cjson.decode((support.run("heaptop --json --class Gone s", {cwd = gone})))
    assert.equal(0, none.objects)
    assert.equal(cjson.null, none.biggest)
  end)

  it("says it of a single one", function()
    local one = require "heap.reader".open(dir .. "/s"):class "map[string] of Session"
    local said = support.run({"heaptop", "--class", "map[string] of Session", "s"}, {cwd = dir})
    local first = said:match "[^\n]*"
    assert.matches("^1 map%[string%] of Session table retains [%d.]+ KB, [%d.]+%% of the heap$",
                   first)
    assert.equal(first, tostring(one):match "[^\n]*")
  end)

  it("knows what may have been meant, and is no abbreviation of another option", function()
    local out, err, code = support.run({"heaptop", "--class", "Sesion", "s"}, {cwd = dir})
    assert.same({"", 2}, {out, code})
    assert.equal("heaptop: s: there is no class 'Sesion' (did you mean 'Session'?)\n", err)
    out, err, code = support.run({"heaptop", "--classes", "s"}, {cwd = dir})
    assert.same({"", 2}, {out, code})
    assert.matches("^heaptop: unknown option '%-%-classes'\n", err)
  end)
end)
