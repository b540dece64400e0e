-- reader_spec.lua - heap.reader: snapshots in Lua. What it says of an object is what the commands
-- say; and no misuse, no finalizer and no lack of memory makes it crash.

local json = require "cjson"
local support = require "tests.common.support"
local reader = require "heap.reader"

-- _G -.bus-> {listeners} -.listeners-> {tick} -.tick-> array -[1..20]-> Listener -.fn-> function
--  +-.weak-> {} -[key]-> {payload}                                          +-.data-> string
local _, dir = support.lua([[
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  bus = {listeners = {tick = {}}}
  for i = 1, 20 do
    local l = setmetatable({data = ("x"):rep(i * 100), id = i}, Listener)
    l.fn = function() return l end
    bus.listeners.tick[i] = l
  end
  weak = setmetatable({}, {__mode = "k"})
  key = {}
  weak[key] = {payload = 1}
  odd = {[1.5] = "float", [true] = "boolean", [-3] = "integer", [print] = 1, [key] = 2}
  odd.name = ("y"):rep(300)
  worker = coroutine.wrap(function() local mine = {} coroutine.yield(mine) end)
  worker()
  heap.snapshot "a"
  heap.mark "level"
  late = {payload = 2}
  do local dropped = {payload = 3} end
  heap.snapshot "s"
]], {name = "app.lua"})

local tracked = dir .. "/tracked"
require "lua_families".tracked(tracked)

local function open(name) return assert(reader.open(dir .. "/" .. (name or "s"))) end

local function ask(...)
  local out, err, code = support.run({...}, {cwd = dir})
  assert.equal("", err)
  assert.equal(0, code)
  return json.decode(out)
end

describe("heap.reader", function()
  it("needs neither the module nor a heap that is known", function()
    local out = support.lua([[
      local reader = require "heap.reader"
      print(package.loaded.heap, #reader.open(arg[1]) > 100)
    ]], {args = {dir .. "/s"}})
    assert.equal("nil\ttrue\n", out)
  end)

  it("says how many objects have no known site", function()
    local s = assert(reader.open(tracked))
    assert.match("\n1,000 objects were made since tracking began, all recorded; "
      .. "2 of them %(0%.2%%%) unattributed$", s:sites().text)
  end)

  it("says where objects were allocated, and who called", function()
    local s = assert(reader.open(tracked))
    assert.same({stacks = true, sample_bytes = 0, made = 1000, unattributed = 2}, s.tracking)
    assert.is_nil(s.root.site)
    assert.is_nil(s:object(1).site)
    assert.is_nil(s:object(1).stack)
    local o = s:object(3)
    assert.equal("@app.lua:2 in f", o.site)
    assert.equal(2, #o.stack)
    local site = o.stack[1]
    assert.equal("@app.lua:2 in f @app.lua 2 f 1 nil", table.concat({tostring(site), site.file,
      site.line, site["function"], site.first_line, tostring(site.c_function)}, " "))
    assert.equal("table", site.maker)
    assert.equal("@app.lua:2 in f\nfrom @app.lua:1 in f", tostring(o.stack))
    assert.equal("allocated at @app.lua:2 in f, from @app.lua:1 in f", o.stack.allocated)
    assert.equal("2 112 1 56", table.concat({o.stack.made_objects, o.stack.made_bytes,
      o.stack.freed_objects, o.stack.freed_bytes}, " "))
  end)

  it("says so where the program was not tracked", function()
    local s = open()
    assert.is_nil(s.tracking)
    for o in s:objects() do assert(o.site == nil and o.stack == nil) end
  end)

  it("says what a snapshot is, in the words of heaptop", function()
    local s = open()
    local wanted = ask("heaptop", "--json", "s").snapshot
    for name, value in pairs(wanted) do -- the time has more digits than cjson keeps
      if value == json.null then value = nil end
      if name ~= "time_ns" then assert.same(value, s.info[name], name) end
    end
    assert.is_true(math.abs(wanted.time_ns - s.info.time_ns) < 1e6)
    assert.equal(dir .. "/s", s.file)
    assert.equal(_VERSION:match("5%.%d"), s.info.lua_release:sub(1, 3))
    assert.is_true(s.info.serial > open("a").info.serial)
    assert.equal(s.info.state_id, open("a").info.state_id)
  end)

  it("is documented: each function and field is in the annotations", function()
    local meta = support.read_file(support.root .. "/lua/heap/reader_meta.lua") ..
      support.read_file(support.build .. "/heap/reader_rows_meta.lua")
    local s, checked = open(), 0
    local bus = s:object "_G.bus"
    for kind, value in pairs {reader = reader, snapshot = s, object = bus} do
      local index = value ~= reader and getmetatable(value).__index
      local functions = index and select(2, debug.getupvalue(index, 1)) or value
      for name, f in pairs(functions) do
        local shared = kind == "snapshot" and ("\nfunction object:%s("):format(name)
        local own = ("\nfunction %s%s%s("):format(kind, kind == "reader" and "." or ":", name)
        assert.is_truthy(type(f) ~= "function" or meta:find(own, 1, true) or
          shared and meta:find(shared, 1, true), own)
        checked = checked + 1
      end
      for name in pairs(index and select(2, debug.getupvalue(index, 2)) or {}) do
        assert.is_truthy(meta:find("\n%-%-%-@field " .. name .. "%?? "), name)
        checked = checked + 1
      end
    end
    for _, file in ipairs {"objects", "edges"} do
      local source = support.read_file(("%s/lua/reader/%s.c"):format(support.root, file))
      for name in source:gmatch 'strcmp%(key, "([%w_]+)"%)' do
        assert.is_truthy(meta:find("\n%-%-%-@field " .. name .. "%?? "), name)
        checked = checked + 1
      end
    end
    assert.is_true(checked > 90)
  end)

  it("is documented: no class of the live calls has a name that one of its own has", function()
    local where, n = {}, 0
    local own = support.root .. "/lua"
    local parts = {{own, "reader_meta"}, {support.build, "reader_rows_meta"}, {own, "meta"}}
    for _, of in ipairs(parts) do
      local part = of[2]
      local meta = support.read_file(("%s/heap/%s.lua"):format(of[1], part))
      for name in meta:gmatch("%-%-%-@class ([%w_.]+)") do
        assert.is_true(part ~= "meta" or where[name] == nil, name)
        where[name], n = part, n + 1
      end
    end
    assert.is_true(n > 60)
  end)

  it("says of a bad file what is wrong with it", function()
    local function fails(path, code, pattern)
      local none, message, word = reader.open(path)
      assert.is_nil(none)
      assert.equal(code, word)
      assert.match(pattern, message)
    end
    fails(dir .. "/none", "io", "No such file")
    fails(dir, "io", "directory")
    fails(dir .. "/app.lua", "foreign", "is not a snapshot of luaheap")
    local content = support.read_file(dir .. "/s")
    support.write_file(dir .. "/cut", content:sub(1, -100))
    fails(dir .. "/cut", "damaged", "cut")
    local half = #content // 2
    local changed = content:sub(1, half) .. string.char(content:byte(half + 1) ~ 1) ..
      content:sub(half + 2)
    support.write_file(dir .. "/changed", changed)
    fails(dir .. "/changed", "damaged", "changed")
  end)
end)

describe("an object", function()
  local s = open()

  it("is found as by the commands", function()
    local object = s:object "_G.bus.listeners.tick[3]"
    assert.equal("Listener", object.class)
    assert.equal(object, s:object(object.address))
    assert.equal(object, s:object("table: " .. object.address))
    assert.equal(object, s:object(object.id))
    assert.equal(object, s:object(object))
    assert.equal(s.root, s:object "root")
    assert.equal(s:object "_G.bus.listeners.tick[20]", s:object "Listener")
    local none, message, code = s:object "Lstener"
    assert.is_nil(none)
    assert.match("no class or global is named 'Lstener'", message)
    assert.equal("absent", code)
  end)

  it("has the fields that the commands print", function()
    for _, name in ipairs {"_G.bus.listeners.tick[3]", "_G.odd", "_G.require", "io.stdout",
      "_G.worker", "registry", "main thread", "_G.bus.listeners.tick[1].fn"} do
      local object = s:object(name)
      local wanted = ask("heappath", "--json", "s", name)
      for _, field in ipairs {"address", "class", "type", "shallow_bytes", "retained_bytes",
        "distance", "reachable"} do
        assert.equal(wanted[field], object[field], name .. " " .. field)
      end
      assert.equal(wanted.object, object:text())
      assert.equal(wanted.paths[1].text, object:path())
      assert.equal(wanted.paths[1].text, object:paths()[1].text)
      assert.equal(#wanted.paths[1].steps, #object:paths()[1])
    end
  end)

  it("has the fields of its type", function()
    local listener = s:object "_G.bus.listeners.tick[3]"
    assert.equal(s:object(listener.metatable.id), listener.metatable)
    assert.equal("metatable of Listener", listener.metatable.class)
    assert.equal("k", s:object("_G.weak").weak_mode)
    assert.is_nil(listener.weak_mode)
    local odd = s:object "_G.odd"
    assert.equal(6, odd.hash_used + odd.array_used)
    assert.is_true(odd.hash_slots >= 6)
    local fn = s:object "_G.bus.listeners.tick[1].fn"
    assert.same({false, 1, "@app.lua", 6}, {fn.is_c, fn.upvalues, fn.file, fn.line})
    assert.equal("proto", fn.proto.type)
    assert.equal(6, fn.proto.last_line)
    assert.is_true(s:object("_G.require").is_c)
    local stdout = s:object "io.stdout"
    assert.same({"userdata", 16}, {stdout.type, stdout.user_bytes})
    local main = s:object "main thread"
    assert.same({"thread", true, "running"}, {main.type, main.is_main, main.status})
  end)

  it("has strings whole or cut", function()
    local whole = s:object("_G.bus.listeners.tick[1]"):get "data"
    assert.equal(("x"):rep(100), whole)
    local cut = s:object("_G.odd"):get "name"
    assert.same({"string", 300, 256, ("y"):rep(256)},
      {cut.type, cut.length_bytes, cut.kept_bytes, cut.value})
    assert.equal('"' .. ("y"):rep(20) .. '..."', cut:text(20))
  end)

  it("is one with all that stand for it, and with no other", function()
    local a, b = s:object "_G.bus", s:object "_G.bus"
    assert.is_true(a == b and not rawequal(a, b))
    assert.is_false(a == s:object "_G.odd")
    assert.is_false(a == open():object "_G.bus")
    assert.is_false(a == io.stdout)
  end)

  it("has what heapsql has of it, by the same names", function()
    for _, name in ipairs {"objects", "strings"} do
      local found, wanted = {}, {}
      local sql = ("pragma table_xinfo(%s)"):format(name)
      local columns = ask("heapsql", "--json", "s", sql).results[1].rows
      for _, column in ipairs(columns) do wanted[column.name] = true end
      wanted.hash, wanted.text = nil, nil -- the bytes of a string are its value
      for o in s:objects() do
        for key in pairs(wanted) do
          if o[key] ~= nil then found[key] = true end
        end
      end
      for _, key in ipairs {"site", "stack"} do found[key] = wanted[key] end -- it was not tracked
      assert.same(wanted, found)
    end
  end)

  it("knows its age and who dominates it", function()
    assert.is_true(s:object("_G.late").epoch > s:object("_G.bus").epoch)
    for _, name in ipairs {"immediate_dominator", "dominator"} do
      assert.equal(s:object "_G.bus", s:object("_G.bus.listeners")[name])
      assert.equal(s.root, s:object("registry")[name])
      assert.is_nil(s.root[name])
    end
  end)

  it("is printed with its class, bytes and path", function()
    local tick = s:object "_G.bus.listeners.tick"
    assert.match("^array of Listener 0x%x+, [%d.]+ KB, _G%.bus%.listeners%.tick$", tostring(tick))
    assert.match("^snapshot .*/s at %d+%-.* UTC: [%d,]+ objects, [%d.]+ KB, of .*app%.lua$",
      tostring(s))
  end)
end)

describe("what refers to what", function()
  local s = open()

  it("is an edge with a label", function()
    local labels = {}
    for edge in s:object("_G.bus.listeners.tick[1]"):edges() do
      labels[edge.label] = edge
      assert.equal(s:object "_G.bus.listeners.tick[1]", edge.source)
    end
    assert.equal("closure", labels[".fn"].target.type)
    assert.same({"value", false, "fn"}, {labels[".fn"].kind, labels[".fn"].weak, labels[".fn"].key})
    assert.equal("metatable", labels.metatable.kind)
    local weak
    for edge in s:edges "_G.weak" do weak = weak or edge.weak and edge.key end
    assert.equal(s:object "_G.key", weak)
  end)

  it("are entries, scalars included", function()
    local found = {}
    for key, value in s:object("_G.odd"):entries() do
      found[type(key) == "userdata" and (getmetatable(key) and key.class or "light") or key] = value
    end
    local cut = found.name
    found.name = nil
    assert.same({[1.5] = "float", [true] = "boolean", [-3] = "integer", light = 1, ["{}"] = 2},
      found)
    assert.equal(300, cut.length_bytes)
    local odd = s:object "_G.odd"
    assert.equal(2, odd:get(s:object "_G.key"))
    assert.equal("float", odd:get(1.5))
    assert.equal("boolean", odd:get(true))
    assert.equal("integer", odd:get(-3))
    assert.equal("integer", odd:get(-3.0))
    assert.is_nil(odd:get "nothing")
    assert.is_nil(odd:get(nil))
  end)

  it("are referrers, as heappath has them", function()
    for _, name in ipairs {"Listener", "_G.key", "_G.bus"} do
      local wanted = ask("heappath", "--json", "--referrers", "-n", "0", "s", name).referrers
      local list = s:object(name):referrers()
      assert.equal(#wanted, #list)
      for i, row in ipairs(wanted) do
        assert.equal(row.edge, list[i].kind)
        assert.equal(row.label, list[i].label)
        assert.equal(row.weak, list[i].weak)
      end
    end
  end)

  it("are paths by different referrers", function()
    local paths = s:object("Listener"):paths(5)
    local wanted = ask("heappath", "--json", "-k", "5", "s", "Listener").paths
    assert.equal(#wanted, #paths)
    for i, path in ipairs(paths) do
      assert.equal(wanted[i].text, path.text)
      assert.equal(#wanted[i].steps, #path)
      assert.equal(s.root, path[1].source)
      assert.equal(s:object "Listener", path[#path].target)
      for k = 2, #path do assert.equal(path[k - 1].target, path[k].source) end
    end
  end)

  it("is nothing where nothing does", function()
    for object in s:objects {garbage = true} do
      assert.is_nil(object:path())
      assert.is_nil(object.distance)
      assert.equal(0, #object:paths())
      assert.match("garbage$", tostring(object))
    end
    assert.is_nil(s.root:path())
  end)
end)

describe("all objects", function()
  local s = open()

  local function count(filter)
    local n, bytes = 0, 0
    for object in s:objects(filter) do
      n, bytes = n + 1, bytes + object.shallow_bytes
    end
    return n, bytes
  end

  it("are the reachable ones and the garbage, but for luaheap's own", function()
    local n, bytes = count()
    local more, more_bytes = count {garbage = true}
    local own, own_bytes = 0, 0
    for id = 1, #s do
      local object = s:object(id)
      if object.own then own, own_bytes = own + 1, own_bytes + object.shallow_bytes end
    end
    assert.is_true(own > 0 and more > 0)
    assert.equal(s.info.objects, n + more + own)
    assert.equal(s.info.bytes, bytes + more_bytes + own_bytes)
  end)

  it("can be had by class, type and age", function()
    assert.equal(20, (count {class = "Listener"}))
    assert.equal(0, (count {class = "Lstener"}))
    assert.equal(0, (count {class = "Listener", type = "string"}))
    local tables, strings = count {type = "table"}, count {type = "string"}
    assert.equal(tables + strings, (count {type = "table,string"}))
    assert.equal(1, (count {class = "{payload}", since = "level"}))
    assert.equal(1, (count {class = "{payload}", ["until"] = "level"}))
  end)
end)

describe("wrong use", function()
  local s = open()

  local function raises(pattern, f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    assert.match(pattern, message)
  end

  it("of arguments is told", function()
    local object = s:object "_G.bus"
    raises("zero byte", reader.open, "a\0b")
    raises("string expected, got table", reader.open, {})
    raises("options are 'class', 'type', 'garbage', 'since' and 'until'",
           s.objects, s, {clas = "x"})
    raises("table expected, got string", s.objects, s, "Listener")
    raises("'type' is one of table, string", s.objects, s, {type = "tables"})
    raises("'class' must be the name", s.objects, s, {class = {}})
    raises("no such mark", s.objects, s, {since = "nothing"})
    raises("there are %d+ marks", s.objects, s, {since = 77})
    raises("cannot read the path", s.object, s, "_G[")
    raises("there is no object of that number", s.object, s, #s + 1)
    raises("there is no object of that number", s.object, s, -1)
    raises("object, its number, path, class expected, got boolean", s.object, s, true)
    raises("of another snapshot", s.object, s, open("a"):object "_G.bus")
    raises("value expected", s.ways, s)
    raises("value expected", s.what_if, s)
    raises("no class or global is named 'Nope'", s.path, s, "Nope")
    raises("only tables have entries, and this is a closure", s.entries, s, "_G.require")
    raises("1 or more", object.paths, object, 0)
    raises("1 or more", object.independent, object, 0)
    raises("options are 'depth', 'n' and 'least_bytes'", object.under, object, {deep = 1})
    raises("'depth' must be a whole number", object.under, object, {depth = -1})
    raises("only threads have frames", object.frames, object)
    raises("order is retained, shallow or count", s.top, s, 5, "name")
    raises("must be 0 %(all%) or more", s.classes, s, -1)
    raises("options are 'n', 'sort', 'type' and 'garbage'", s.top, s, {by = "x"})
    raises("the root is no object", s.retained, s, s.root)
    raises("in the order of time", s.diff, s, s)
    raises("of snapshots, or of names of files", reader.growth, {1})
    raises("table expected", reader.growth, "a")
    raises("two of each", reader.compare, {dir .. "/a"}, {})
    raises("of another snapshot", s.what_if, s, {open("a"):object "_G.bus":referrers()[1]})
    raises("object, its number, path, class expected", s.ignore, s, {{}})
    raises("this is an iterator, no list", function() for _ in ipairs(s:objects()) do end end)
    local stream = object:edges()
    s:ignore "_G.odd"
    raises("during this loop: begin again", stream)
    s:ignore()
  end)

  it("of methods on other values is told", function()
    local object = s:object "_G.bus"
    local values = {s, object, object:edges(), object:paths()[1], object:referrers(), s:objects(),
      object:referrers()[1], io.stdout, {}, 1, "x", false, print}
    local functions = {}
    for _, name in ipairs {"class", "classes", "diff", "dominators", "epochs", "frames",
      "growing", "ignore", "independent", "leaks", "marks", "modules", "objects_with", "retained",
      "since", "strings", "suspects", "threads", "top", "under", "waste", "ways", "what_if",
      "close", "object", "objects", "edges", "entries", "path", "paths", "referrers", "verify"} do
      assert.is_function(s[name])
      functions[#functions + 1] = s[name]
    end
    for _, name in ipairs {"open", "growth", "compare", "owners", "escape"} do
      functions[#functions + 1] = reader[name]
    end
    for _, name in ipairs {"edges", "entries", "get", "path", "paths", "referrers", "text"} do
      functions[#functions + 1] = object[name]
    end
    functions[#functions + 1] = object:edges().copy
    for _, value in ipairs {s, object, object:edges(), object:paths()[1], object:paths(),
      object:referrers()[1]} do
      for name, event in pairs(getmetatable(value)) do
        if type(event) == "function" and name ~= "__tostring" then
          functions[#functions + 1] = event
        end
      end
    end
    local called = 0
    for _, f in ipairs(functions) do
      for _, value in ipairs(values) do
        for _, other in ipairs(values) do
          local fresh = value == s and open() or value -- some of them close it
          pcall(f, fresh, other)
          called = called + 1
        end
      end
    end
    assert.is_true(called > 3000)
    assert.equal("_G.bus", object:path())
  end)

  it("after close() raises, and closing again does not", function()
    local t <close> = open()
    local object, edge = t:object "_G.bus", t:object("_G.bus"):referrers()[1]
    local edges, entries, objects = object:edges(), object:entries(), t:objects()
    local path = object:paths()[1]
    t:close()
    t:close()
    assert.is_true(t.closed)
    for _, f in ipairs {edges, entries, objects} do raises("the snapshot is closed", f) end
    for _, name in ipairs {"type", "class", "shallow_bytes", "retained_bytes",
      "immediate_dominator", "dominator", "address", "distance", "reachable", "epoch", "held_by",
      "metatable", "dead", "own", "list"} do
      raises("the snapshot is closed", function() return object[name] end)
    end
    raises("the snapshot is closed", object.path, object)
    raises("the snapshot is closed", object.get, object, 1)
    raises("the snapshot is closed", function() return edge.label end)
    raises("the snapshot is closed", function() return path.text end)
    raises("the snapshot is closed", t.objects, t)
    assert.match("object %d+ of a closed snapshot", tostring(object))
    assert.match("closed$", tostring(t))
    assert.equal(object, edge.target)
    assert.equal(2, #path)
  end)
end)

describe("the collector", function()
  it("keeps a snapshot as long as anything of it is there", function()
    local object = open():object "_G.bus.listeners.tick"
    local path, edges = object:paths()[1], object:edges()
    collectgarbage()
    collectgarbage()
    assert.equal("_G.bus.listeners.tick", object:path())
    assert.equal("_G.bus.listeners.tick", path.text)
    assert.equal("value", edges().kind)
  end)

  local program = [[
    local reader = require "heap.reader"
    local closed, done, n = 0, 0, 72
    collectgarbage(arg[2], 1, arg[2] == "generational" and 1 or 1000)
    for i = 1, n do
      local s = assert(reader.open(arg[1]))
      local answers = 0
      local function bomb()
        setmetatable({}, {__gc = function() closed = closed + 1 s:close() end})
      end
      local ok, message = pcall(function()
        local function ask(f)
          answers = answers + 1
          if answers == i % 24 then bomb() end
          f()
        end
        local object = s:object "Listener"
        for _ = 1, 3 do
          ask(function() for o in s:objects() do local _ = o.class, o.held_by, o.address end end)
          ask(function() return tostring(object:paths(3)), tostring(object:referrers()) end)
          ask(function() for e in object:edges() do local _ = e.label, e.target.class end end)
          ask(function() return tostring(s:object("_G.odd"):entries()), tostring(s.info) end)
          ask(function() return s:classes(), s:top(50), s:marks(), s:epochs(), s:threads() end)
          ask(function() return s:suspects(), s:modules(), s.root:under {n = 0} end)
          ask(function() return s:growing(), s:waste(), s:class "Listener", s:ways "Listener" end)
          ask(function() return s:what_if "_G.bus", s:retained(s:objects()), s:since "a" end)
        end
        done = done + 1
      end)
      assert(ok or message:find("the snapshot is closed", 1, true), message)
      s:close()
    end
    print(closed > n / 2, done < n / 2)
  ]]

  for _, mode in ipairs {"incremental", "generational"} do
    it("may close a snapshot in the middle of anything, " .. mode, function()
      assert.equal("true\ttrue\n", (support.lua(program, {args = {dir .. "/s", mode}})))
    end)
  end
end)
