-- classes_spec.lua - what objects are called: each planted under a name in _G.E, then asked for.

local json = require "cjson"
local support = require "tests.common.support"

-- The classes of the objects that a program names: {name = class}.
local function classes_of(program, files, names)
  local dir = support.tmpdir()
  for name, text in pairs(files or {}) do support.write_file(dir .. "/" .. name, text) end
  local first = 'package.path = "./?.lua;" .. package.path\nlocal heap = require "heap"\n'
  support.lua(first .. program .. '\nheap.snapshot("s")', {cwd = dir, name = "app.lua"})
  local classes = {}
  for _, name in ipairs(names) do
    local out, errors, code =
      support.run({"heappath", "--format", "json", "s", name}, {cwd = dir})
    assert.equal(0, code, errors)
    classes[name] = json.decode(out).class
  end
  return classes
end

-- Asserts them: the expected is {[name] = class}.
local function expect(program, files, expected)
  local names = {}
  for name in pairs(expected) do names[#names + 1] = name end
  assert.same(expected, classes_of(program, files, names))
end

describe("the class of a table", function()
  it("is its shape", function()
    expect([[
      E = {empty = {}, array = {1, 2, 3}, record = {name = 1, id = 2, next = 3},
           both = {7, 8, id = 1}, sparse = {[1] = 1, [1000] = 2},
           objects = {[{}] = 1, [print] = 2}, mixed = {[{}] = 1, x = 2},
           odd = {["Content-Type"] = 1, host = 2}, many = {}, wide = {}, session = {}}
      for c in ("abcdefgh"):gmatch(".") do E.wide[c] = 1 end
      for i = 1, 64 do E.session["field" .. i] = i end
      for i = 1, 65 do E.many["k" .. i] = i end
    ]], nil, {
      ["_G.E.empty"] = "{}", ["_G.E.array"] = "array of number",
      ["_G.E.record"] = "{id, name, next}",
      ["_G.E.both"] = "{id, [n]}", ["_G.E.sparse"] = "map[integer] of number",
      ["_G.E.objects"] = "map[object] of number",
      ["_G.E.mixed"] = "map of number", ["_G.E.odd"] = "map[string] of number",
      ["_G.E.many"] = "map[string] of number",
      ["_G.E.wide"] = "{a, b, c, d, ... 4 more}",
      ["_G.E.session"] = "{field1, field10, field11, field12, ... 60 more}"})
  end)

  it("tells what a collection holds", function()
    expect([[
      local Session = {__name = "Session"}
      local function session() return setmetatable({}, Session) end
      local co = coroutine.create(function() end)
      E = {sessions = {session(), session()}, by_name = {["a b"] = session()},
           by_id = {[99] = session()}, by_object = {[session()] = {id = 1}},
           by_any = {[print] = session(), [1.5] = session()},
           records = {{id = 1}, {id = 2}}, several = {{id = 1}, {name = 2}, session()},
           strings = {"a", "b"}, numbers = {1, 2.5}, booleans = {true, false},
           functions = {print, function() end}, threads = {co, co},
           files = {io.stdout, io.stdin}, mixed = {1, "a"}, holes = {{id = 1}, nil, {id = 2}},
           nested = {{1}, {"a"}, {}}, maps = {{["a b"] = 1}, {["c d"] = {}}}, empties = {{}, {}},
           optional = {{}, {id = 1}, {}}, long = {}, weak = setmetatable({}, {__mode = "v"})}
      for i = 1, 16 do E.long[i] = i end
      E.long[17] = "not looked at"
      E.weak[2] = E.sessions[1]
      E.itself = {} E.itself[1] = E.itself
    ]], nil, {
      ["_G.E.sessions"] = "array of Session", ["_G.E.by_name"] = "map[string] of Session",
      ["_G.E.by_id"] = "map[integer] of Session", ["_G.E.by_object"] = "map[object] of {id}",
      ["_G.E.by_any"] = "map of Session", ["_G.E.records"] = "array of {id}",
      ["_G.E.several"] = "array of table", ["_G.E.strings"] = "array of string",
      ["_G.E.numbers"] = "array of number", ["_G.E.booleans"] = "array of boolean",
      ["_G.E.functions"] = "array of function", ["_G.E.threads"] = "array of thread",
      ["_G.E.files"] = "array of FILE*", ["_G.E.mixed"] = "array",
      ["_G.E.holes"] = "array of {id}", ["_G.E.nested"] = "array of arrays",
      ["_G.E.maps"] = "array of map[string]", ["_G.E.empties"] = "array of {}",
      ["_G.E.optional"] = "array of {id}", ["_G.E.long"] = "array of number",
      ["_G.E.weak"] = "array of Session", ["_G.E.itself"] = "array of arrays"})
  end)

  it("tells the classes with names that a collection holds", function()
    expect([[
      local classes = {}
      for _, name in ipairs {"Insert", "Delete", "Move"} do classes[name] = {__name = name} end
      local function new(name) return setmetatable({}, classes[name]) end
      E = {two = {new "Insert", new "Delete"}, again = {new "Delete", new "Insert", new "Insert"},
           three = {new "Delete", new "Insert", new "Move", new "Move"},
           shapes = {{id = 1}, new "Insert"},
           map = {[new "Move"] = new "Move", [{}] = new "Insert"}}
    ]], nil, {
      ["_G.E.two"] = "array of Delete, Insert", ["_G.E.again"] = "array of Delete, Insert",
      ["_G.E.three"] = "array of Insert, Move and more", ["_G.E.shapes"] = "array of table",
      ["_G.E.map"] = "map[object] of Insert, Move"})
  end)

  it("is a map where tables of one key differ in nothing else", function()
    expect([[
      local Session, Option = {__name = "Session"}, {__name = "Option"}
      E = {users = {}, options = {}, strings = {}, twice = {{key0 = 1}, {key0 = 1}}}
      for i = 1, 8 do E.users[i] = {["resource" .. i] = setmetatable({}, Session)} end
      for i = 1, 7 do E.options[i] = {["option" .. i] = setmetatable({}, Option)} end
      for i = 1, 9 do E.strings[i] = {["name" .. i] = "text"} end
    ]], nil, {
      ["_G.E.users"] = "array of map[string]", ["_G.E.users[3]"] = "map[string] of Session",
      ["_G.E.options[3]"] = "{option3}", ["_G.E.strings[3]"] = "{name3}",
      ["_G.E.twice[2]"] = "{key0}"})
  end)

  it("is not a collection where the metatable says so", function()
    expect("E = {setmetatable({1, 2}, {__name = 'array'})}", nil,
           {["_G.E[1]"] = "array", ["_G.E"] = "array of array"})
  end)

  it("is what its metatable says or is called", function()
    expect([[
      local session_mt, Local = {}, {}
      Global = {}
      local function capture() return session_mt, Local end
      local methods = {__index = methods}
      E = {named = setmetatable({}, {__name = "My Class"}), global = setmetatable({}, Global),
           stripped = setmetatable({}, session_mt), captured = setmetatable({}, Local),
           nameless = setmetatable({x = 1}, {}), env = setmetatable({y = 1}, {__index = _G}),
           library = setmetatable({}, {__index = {_name = "Fancy"}}),
           behind = setmetatable({}, {__index = Local}), keep = capture}
    ]], nil, {
      ["_G.E.named"] = "My Class", ["_G.E.global"] = "Global", ["_G.E.stripped"] = "session",
      ["_G.E.captured"] = "Local", ["_G.E.nameless"] = "{x}", ["_G.E.env"] = "{y}",
      ["_G.E.library"] = "Fancy", ["_G.E.behind"] = "Local", ["_G.Global"] = "metatable of Global"})
  end)

  it("tells the module where the name alone says nothing", function()
    expect([[
      local queue, stack = require "queue", require "stack"
      E = {queue = queue.new(), stack = stack.new()}
    ]], {
      ["queue.lua"] = "local mt = {} return {new = function() return setmetatable({}, mt) end}",
      ["stack.lua"] = [[
        local M = {} M.__index = M
        function M.new() return setmetatable({}, M) end
        return M
      ]]},
      {["_G.E.queue"] = "mt (queue)", ["_G.E.stack"] = "stack",
       ['package.loaded["queue"]'] = "module queue"})
  end)

  it("finds the names that class libraries leave", function()
    expect([[
      do
        local dict = {} dict.__index = dict
        local animal = {name = "Animal", __instanceDict = dict}
        local plant = {_name = "Plant"} plant.__index = plant
        E = {middle = setmetatable({class = animal}, dict), pen = setmetatable({}, plant)}
      end
    ]], nil, {["_G.E.middle"] = "Animal", ["_G.E.pen"] = "Plant"})
  end)

  it("is special for what Lua itself keeps", function()
    expect("", nil, {["_G"] = "globals (_G)", registry = "registry", ['package.loaded["string"]'] =
      "module string", ["package.loaded"] = "loaded modules (package.loaded)",
      ["metatable of all strings"] = "metatable of all strings"})
  end)
end)

describe("the class of a function", function()
  it("has name, file and line", function()
    expect([[
      E = {}
      local function on_tick() end
      function E.method() end
      E.first, E.second = on_tick, (function() return function() end end)()
      E.loaded = load("local x = 1\nreturn function() end", "=stdin")()
      E.chunk = load("return function() end -- " .. ("x"):rep(60))()
      E.main = load("return 1", "@other.lua")
    ]], nil, {
      ["_G.E.first"] = "function on_tick @app.lua:4",
      ["_G.E.method"] = "function method @app.lua:5",
      ["_G.E.second"] = "function second @app.lua:6",
      ["_G.E.loaded"] = "function loaded stdin:2",
      ["_G.E.chunk"] = 'function chunk [string "return function() end -- xxxxxxxxxxxxxxx..."]:1',
      ["_G.E.main"] = "main chunk @other.lua"})
  end)

  it("shows a key that is no identifier as paths do", function()
    expect([[
      E = {}
      E["("] = function() end
      E["end"] = function() end
      E[""] = function() end
    ]], nil, {
      ['_G.E["("]'] = 'function ["("] @app.lua:4', ['_G.E["end"]'] = 'function ["end"] @app.lua:5',
      ['_G.E[""]'] = 'function [""] @app.lua:6'})
  end)

  it("is no name that only one of those that the same code made has", function()
    expect([[
      local function memoize(f) return function(x) return f(x) end end
      local function counter() local n = 0 return function() n = n + 1 return n end end
      E = {parse = memoize(print), upper = memoize(string.upper), next = counter()}
      package.loaded.parser = {parse = E.parse, upper = E.upper, next = E.next, step = E.next}
    ]], nil, {
      ["_G.E.parse"] = "function @app.lua:3",
      ["_G.E.upper"] = "function @app.lua:3",
      ["_G.E.next"] = "function next @app.lua:4"}) -- one, with two names
  end)

  it("is no name that others have who have none", function()
    expect([[
      local function memoize(f) return function(x) return f(x) end end
      E = {parse = memoize(print), all = {memoize(string.upper), memoize(string.lower)}}
    ]], nil, {["_G.E.parse"] = "function @app.lua:3", ["_G.E.all[1]"] = "function @app.lua:3"})
    expect([[
      local function memoize(f) return function(x) return f(x) end end
      E = {memoize(print)}
      package.loaded.parser = {parse = memoize(print), other = {upper = memoize(string.upper)}}
    ]], nil, {["_G.E[1]"] = "function @app.lua:3"})
  end)

  it("is what it resumes, of what coroutine.wrap returned", function()
    expect([[
      local function producer() coroutine.yield() end
      local function consume()
        local resume
        resume = coroutine.wrap(function() return coroutine.yield(resume) end)
        return resume
      end
      E = {coroutine.wrap(producer), coroutine.wrap(function() producer() end), consume(),
           consume(), coroutine.wrap(function() end), consume()}
      for i = 2, 5 do E[i]() end
    ]], nil, {
      ["_G.E[1]"] = "coroutine producer @app.lua:3", ["_G.E[2]"] = "coroutine @app.lua:9",
      ["_G.E[3]"] = "coroutine consume @app.lua:6", ["_G.E[6]"] = "coroutine consume @app.lua:6",
      ["_G.E[5]"] = "coroutine (finished)"})
  end)

  it("is a library's where C is", function()
    expect("E = {wrapped = coroutine.wrap(print)}", nil,
           {["_G.require"] = "function require [C]", ["_G.E.wrapped"] = "function [C]",
            ["_G.math.random"] = "function math.random [C]"})
  end)

  it("is unknown when stripped", function()
    expect("E = {f = load(string.dump(load('return function() end'), true))()}", nil,
           {["_G.E.f"] = "function f @?:1"})
  end)
end)

describe("the class of other things", function()
  it("says what they do", function()
    expect([[
      local bus = {}
      local function worker() local x = bus coroutine.yield() return x end
      E = {started = coroutine.create(worker), fresh = coroutine.create(worker),
           done = coroutine.create(function() end), file = io.stdout, text = "text"}
      coroutine.resume(E.started) coroutine.resume(E.done)
    ]], nil, {
      ["_G.E.started"] = "thread worker @app.lua:4", ["_G.E.fresh"] = "thread worker @app.lua:4",
      ["_G.E.done"] = "thread (finished)", ["_G.E.file"] = "FILE*", ["_G.E.text"] = "string",
      ["main thread"] = "main thread"})
  end)
end)
