-- ladder_spec.lua - the rows of a ladder: what they count, and that they agree with other answers.

local json = require "cjson"
local support = require "tests.common.support"

local function json_of(command, dir)
  local out, err, code = support.run(command, {cwd = dir})
  assert.equal("", err)
  assert.equal(0, code)
  return json.decode(out)
end

local function by_path(rows)
  local result = {}
  for _, row in ipairs(rows) do result[row.held_by] = row end
  return result
end

local function snapshots(program)
  return (select(2, support.lua(program, {name = "server.lua"})))
end

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
