-- series_spec.lua - the rows of a ladder: what they count, and what is easily told wrong: a
-- container that a running function has in a variable, growth that slows down or matters little,
-- and the class of a table.

local json = require "cjson"
local support = require "tests.common.support"

local function run(command, dir)
  local out, err, code = support.run(command, {cwd = dir})
  assert.equal("", err, command)
  assert.equal(0, code, command)
  return out
end

local function json_of(command, dir) return json.decode(run(command, dir)) end

local function by_path(rows)
  local result = {}
  for _, row in ipairs(rows) do result[row.held_by] = row end
  return result
end

local function snapshots(program)
  return (select(2, support.lua(program, {name = "server.lua"})))
end

--  local gateway -> waiting -> [i] -> {id}       100 more at each step; at two steps a coroutine
--                                                has it in a local variable, too
--  local current, previous -> [i] -> {n}         exchanged at each step: 10 and 20 of them
describe("a container of one process", function()
  local dir, rows
  setup(function()
    dir = snapshots [[
      local heap = require "heap"
      local gateway = {waiting = {}}
      local current, previous = {n = {}}, {n = {}}
      local function fill(t, n) for i = 1, n do t.n[i] = {i} end end
      fill(current, 20) fill(previous, 10)
      local n = 0
      local function step(name, inside)
        for _ = 1, 100 do n = n + 1 gateway.waiting[n] = {id = n} end
        current, previous = previous, current
        if not inside then return heap.snapshot(name) end
        coroutine.wrap(function() local w = gateway.waiting heap.snapshot(name) return w end)()
      end
      step "s1" step "s2" step("s3", true) step "s4" step("s5", true)
    ]]
    rows = json_of("heapdiff --json s1 s2 s3 s4 s5", dir).paths
  end)

  local function row_of(pattern)
    local found
    for _, row in ipairs(rows) do
      if row.held_by:find(pattern) then
        assert.is_nil(found, pattern)
        found = row
      end
    end
    return found
  end

  it("is one row, whatever path leads to it in a snapshot", function()
    local held = "%(local gateway in main chunk [^)]+%)%.waiting"
    local entries, row = row_of("^" .. held .. "$"), row_of("^" .. held .. "%[%*%]$")
    assert.same({100, 200, 300, 400, 500}, row.objects)
    assert.same({"grows steadily", "grows steadily"}, {entries.verdict, row.verdict})
    assert.same({100, 200, 300, 400, 500}, entries.entries)
    assert.is_nil(row_of "^%(?local w in")
    assert.matches("^%(local gateway in main chunk [^)]+%)%.waiting%[%*%] grows steadily ",
                   (run("heapdiff s1 s2 s3 s4 s5", dir)))
  end)

  it("does not take the name that another one has meanwhile", function()
    local found = {}
    for _, row in ipairs(rows) do
      local name = row.held_by:match "^%(local (%a+) in main chunk [^)]+%)%.n%[%*%]$"
      if name then found[name] = row.objects end
    end
    assert.same({current = {10, 20, 10, 20, 10}, previous = {20, 10, 20, 10, 20}}, found)
  end)

  it("has the same name as an owner", function()
    local before, now = 0, 0 -- below gateway, and below the thread, which has it in a variable
    for _, part in ipairs(json_of("heapdiff --json --owners s2 s5", dir).parts) do
      if part.held_by:find "^%(local gateway .*%.waiting%[%*%]$" then
        before, now = before + part.own_objects[1], now + part.own_objects[2]
      end
    end
    assert.same({200, 500}, {before, now})
  end)
end)

describe("a row", function()
  --  upvalue errors of function fail -> numbers       20 more at each step
  --  _G.requests -> [1..8] -> log -> numbers          empty, but that of the last, which grows
  it("has the class of the table that grows", function()
    local tables = snapshots [[
      local heap = require "heap"
      local errors = {}
      function fail(n) errors[#errors + 1] = n end
      requests = {}
      for i = 1, 8 do requests[i] = {id = i, log = {}} end
      for step = 1, 4 do
        for i = 1, 20 do fail(i) table.insert(requests[8].log, i) end
        heap.snapshot("s" .. step)
      end
    ]]
    local found = by_path(json_of("heapdiff --json s1 s2 s3 s4", tables).paths)
    local errors = found["upvalue errors of function fail @server.lua:3"]
    local log = found["_G.requests[*].log"]
    assert.same({"array of number", "table", 80}, {errors.class, errors.type, errors.entries[4]})
    assert.same({"array of number", 80}, {log.class, log.entries[4]})
    for _, row in ipairs(json_of("heapdiff --json s2 s3 s4", tables).grown) do
      assert.same({found[row.place].class, found[row.place].fingerprint},
                  {row.class, row.fingerprint})
    end
  end)

  --  _G.fills -> [i] -> {f}      40, 200, 100, 30, 8 more: it fills up
  --  _G.leak -> [i] -> {leak}    60 more at each step
  --  _G.texts[1]                 20 letters longer at each step
  it("tells what slows down from what goes on, and puts it below", function()
    local curves = snapshots [[
      local heap = require "heap"
      fills, leak, texts, ballast = {}, {}, {}, {}
      for i = 1, 6000 do ballast[i] = {b = i} end
      for step, n in ipairs {40, 200, 100, 30, 8} do
        for _ = 1, n do fills[#fills + 1] = {f = 1} end
        for _ = 1, 60 do leak[#leak + 1] = {leak = 1} end
        texts[1] = ("x"):rep(1000 + 20 * step)
        collectgarbage()
        heap.snapshot("s" .. step)
      end
    ]]
    local answer = json_of("heapdiff --json s1 s2 s3 s4 s5", curves)
    local found = by_path(answer.paths)
    assert.equal("levels off", found["_G.fills[*]"].verdict)
    assert.equal("levels off", found["_G.fills"].verdict)
    assert.equal("grows steadily", found["_G.leak[*]"].verdict)
    assert.equal("grows a little", found["_G.texts[*]"].verdict)
    assert.equal("_G.leak[*]", answer.paths[1].held_by)
    assert.matches("^_G%.leak%[%*%] grows steadily from s1 to s5: %+4%.%d KB a step since s2; " ..
                   "1 more row grows steadily, too\n", (run("heapdiff s1 s2 s3 s4 s5", curves)))
  end)
end)

describe("a row of a ladder", function()
  --  local handle -> upvalue previous -> function -> upvalue previous -> ...   10 more at each step
  --  _G.mixed -> [i] {n}                                                       always 30
  --              [i] string                                                    20 more at each step
  it("counts the objects of its class, as a comparison of three and SQL do", function()
    local mixed = snapshots [[
      local heap = require "heap"
      local handle
      mixed = {}
      for i = 1, 30 do mixed[i] = {n = i} end
      for step = 1, 5 do
        for i = 1, 10 do
          local previous = handle
          handle = function() return previous and previous() end
        end
        for i = 1, 20 do mixed[#mixed + 1] = "text " .. step .. "," .. i end
        heap.snapshot("s" .. step)
      end
    ]]
    local function count(name, from, edge, type)
      return json_of({"heapsql", "--json", name, ([[
        select count(distinct t.id) as n from edges join objects s on s.id = source and s.%s
        join objects t on t.id = target and t.type = '%s' where kind = '%s'
      ]]):format(from, type, edge)}, mixed).results[1].rows[1].n
    end
    local names = {"s1", "s2", "s3", "s4", "s5"}
    local functions, strings = {}, {}
    for i, name in ipairs(names) do
      functions[i] = count(name, "class = 'upvalue previous'", "content", "closure")
      strings[i] = count(name, "path = '_G.mixed'", "value", "string")
    end
    assert.same({9, 19, 29, 39, 49}, functions)
    assert.same({20, 40, 60, 80, 100}, strings)
    local rows = by_path(json_of("heapdiff --json " .. table.concat(names, " "), mixed).paths)
    local links, texts = rows["upvalue previous of function @server.lua:8"], rows["_G.mixed[*]"]
    assert.same({functions, "closure"}, {links.objects, links.type})
    assert.same({strings, "string"}, {texts.objects, texts.type})
    for _, group in ipairs(json_of("heapdiff --json s1 s2 s3", mixed).groups) do
      local row = rows[group.held_by]
      assert.same({row.objects[1], row.objects[2], row.objects[3]}, group.at)
      assert.same({row.class, row.fingerprint}, {group.class, group.fingerprint})
    end
  end)

  --  _G.cache.tail -> prev -> prev -> ...        30 more nodes at each step, linked both ways
  --  _G.cache.map -> [i] -> next -> ...          the first 10 of these
  --  _G.other.tail -> prev -> prev -> ...        30 more of the same class
  it("has all of a list that is held at both ends, as a comparison of three does", function()
    local lists = snapshots [[
      local heap = require "heap"
      cache, other = {map = {}, tail = {}}, {tail = {}}
      local function push(list, n)
        local node = {n = n, prev = list.tail.prev or false, next = false}
        if node.prev then node.prev.next = node end
        list.tail.prev = node
        return node
      end
      for step = 1, 5 do
        for i = 1, 30 do
          local node = push(cache, i)
          if #cache.map < 10 then cache.map[i] = node end
          push(other, i)
        end
        heap.snapshot("s" .. step)
      end
    ]]
    local function objects_of(names)
      local rows = by_path(json_of("heapdiff --json " .. names, lists).paths)
      assert.is_nil(rows["_G.cache.map[*].next*"])
      return {rows["_G.cache.tail.prev.prev*"].objects, rows["_G.other.tail.prev.prev*"].objects}
    end
    -- the last node, and those in the map, have places of their own
    local function less(n) return {30 - n, 60 - n, 90 - n, 120 - n, 150 - n} end
    assert.same({less(11), less(1)}, objects_of "s1 s2 s3 s4 s5")
    assert.same({{table.unpack(less(11), 1, 4)}, {table.unpack(less(1), 1, 4)}},
                objects_of "s1 s2 s3 s4")
    local groups = by_path(json_of("heapdiff --json s1 s2 s3", lists).groups)
    assert.same({table.unpack(less(11), 1, 3)}, groups["_G.cache.tail.prev.prev*"].at)
  end)
end)

describe("a class of a ladder", function()
  local names = "s1 s2 s3 s4 s5"
  local function told(program)
    local dir = snapshots(program)
    local classes = {}
    for _, row in ipairs(json_of("heapdiff --json " .. names, dir).classes) do
      classes[row.class] = row
    end
    return support.run("heapdiff " .. names, {cwd = dir}):match("^[^\n]+"), classes
  end

  --  _G.cells -> [i] {a, b, n}, and 10 more at each step {a, b, n, seen}      always 60
  it("has the bound of its places, if objects only change their fields", function()
    local line, classes = told [[
      local heap = require "heap"
      cells = {}
      for i = 1, 60 do cells[i] = {a = 1, b = 2, n = i} end
      for step = 1, 5 do
        for i = 1, 10 do cells[10 * step + i - 10].seen = true end
        heap.snapshot("s" .. step)
      end
    ]]
    assert.same({10, 20, 30, 40, 50}, classes["{a, b, n, seen}"].objects)
    assert.equal("levels off", classes["{a, b, n, seen}"].verdict)
    assert.matches("^Nothing grows steadily from s1 to s5", line)
  end)

  --  _G.first -> [i] Item, _G.second -> [i] Item, ...        40 in one of them at each step
  it("grows at places that grow once", function()
    local line, classes = told [[
      local heap = require "heap"
      local Item = {__name = "Item"}
      first, second, third, fourth, fifth = {}, {}, {}, {}, {}
      for step, name in ipairs {"first", "second", "third", "fourth", "fifth"} do
        for i = 1, 40 do _G[name][i] = setmetatable({i}, Item) end
        heap.snapshot("s" .. step)
      end
    ]]
    assert.same({40, 80, 120, 160, 200}, classes.Item.objects)
    assert.equal("grows steadily", classes.Item.verdict)
    assert.matches("^No place grows steadily from s1 to s5, but the class Item does: ", line)
  end)
end)
