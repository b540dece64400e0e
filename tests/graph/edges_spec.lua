-- edges_spec.lua - every kind of edge: one planted object for each, and heappath's answer for it.

local json = require "cjson"
local support = require "tests.common.support"

-- Prints the name and the address of each planted object.
local program = [=[
  local heap, check = require "heap", require "lua_heapcheck"
  collectgarbage("incremental") collectgarbage("stop")
  local function plant(name, object)
    print(name, ("%p"):format(object))
    return object
  end
  local function raise() error("a metamethod was called") end

  -- values and keys
  E = {list = {1, plant("array slot", {}), 3}}
  E.field = plant("string key", {})
  E.list[1000000] = plant("integer key", {})
  E.numbers = {[1.5] = plant("float key", {}), [-7] = plant("negative key", {})}
  E.flags = {[true] = plant("true key", {}), [false] = plant("false key", {})}
  E.keyed = {[plant("table key", {})] = plant("under a table", {}),
             [plant("function key", function() return E end)] = plant("under a function", {})}
  E["not a name"] = {["x\ny"] = plant("odd names", {})}
  E.behind = setmetatable({hidden = plant("behind __pairs", {})},
                          {__pairs = raise, __index = raise, __len = raise})

  -- metatables
  E.object = setmetatable({}, plant("metatable", {}))
  E.protected = setmetatable({}, plant("protected metatable", {__metatable = "no"}))
  debug.setmetatable(print, plant("metatable of functions", {}))
  getmetatable("").planted = plant("behind the metatable of strings", {})
  E.udata = debug.setmetatable(check.userdata(4, 2), plant("metatable of a userdata", {}))

  -- closures and userdata
  do
    local closed, shared = plant("closed upvalue", {}), plant("shared upvalue", {})
    function E.closure() return closed end
    function E.first() return shared end
    function E.second() return shared end
  end
  E.cfunction = check.closure(1, plant("C upvalue", {}))
  debug.setuservalue(E.udata, plant("user value 1", {}), 1)
  debug.setuservalue(E.udata, plant("user value 2", {}), 2)

  -- coroutines
  local function take(...) return ... end
  E.suspended = coroutine.create(function(argument, ...)
    local variable, other = plant("local variable", {}), nil
    do local out_of_scope = {} other = out_of_scope and 1 end
    local captured = plant("open upvalue", {})
    E.opened = function() return captured end
    take(plant("temporary", {}), coroutine.yield(argument, variable, other))
  end)
  coroutine.resume(E.suspended, plant("parameter", {}), 1, plant("vararg", {}))
  E.in_c = coroutine.create(function()
    xpcall(coroutine.yield, plant("argument of a C function", function() return E end))
  end)
  coroutine.resume(E.in_c)
  do
    local held = plant("not started", {})
    E.unstarted = coroutine.create(function() return held end)
  end
  E.prepared = check.thread(function() end, 1, plant("argument of a not started one", {}))
  E.wrapped = coroutine.wrap(function(argument, ...)
    local inside = plant("in a wrap", {})
    take(plant("temporary in a wrap", {}), coroutine.yield())
    return inside, argument
  end)
  E.wrapped(plant("parameter in a wrap", {}), plant("vararg in a wrap", {}))
  E.failed = coroutine.create(function()
    local left = plant("local of a failed one", {})
    error(left and "x")
  end)
  coroutine.resume(E.failed)
  E.at = coroutine.create(plant("function of a coroutine", function()
    local captured = {}
    local function capture() return captured end
    plant("upvalue without a closure", debug.upvalueid(capture, 1))
    capture = nil
    coroutine.yield()
    return captured, capture
  end))
  coroutine.resume(E.at)
  E.finished = coroutine.create(function() local left = plant("local of a finished one", {}) end)
  coroutine.resume(E.finished)

  -- registry, hooks, prototypes
  R = check.ref(plant("luaL_ref", {}))
  E.hooked = coroutine.create(function() end)
  debug.sethook(E.hooked, plant("hook", function() end), "l", 0)
  E.loaded = load("local a_name = 'a constant' return a_name, function() return 'innermost' end",
                  "=the" .. " source")
  plant("constant", (E.loaded()))
  plant("constant of a nested function", (select(2, E.loaded())()))
  plant("source", "=the" .. " source")
  plant("name of a local variable", "a_" .. "name")

  -- weak and ephemeron
  E.weak_values = setmetatable({plant("weak value", {})}, {__mode = "v"})
  E.weak_keys = setmetatable({}, {__mode = "k"})
  E.weak_keys[plant("weak key", {})] = plant("value of a weak key", {})
  E.a_key = plant("ephemeron key", {})
  E.weak_keys[E.a_key] = plant("ephemeron value", {})
  E.weak_keys.x = plant("under a string in a weak table", {})
  E.weak_both = setmetatable({[E.a_key] = plant("weak both", {})}, {__mode = "kv"})

  -- the main thread and the running coroutine
  local function lost() plant("garbage", {}) end
  lost()
  local of_main = plant("local of the main chunk", {})
  local function varargs(...)
    local inner = coroutine.wrap(function(argument, ...)
      local of_running = plant("local of the running", {})
      take(plant("temporary of the running", {}), heap.snapshot("s"))
      return of_running, argument
    end)
    inner(plant("parameter of the running", {}), plant("vararg of the running", {}))
    return ...
  end
  varargs(plant("vararg of the main", {}))

  -- a collection that stops before the finalizers
  local function pending()
    local waiting = {content = plant("behind a finalizer", {})}
    setmetatable(plant("waits for its finalizer", waiting), {__gc = function() end})
  end
  pending()
  take(nil, nil, nil, nil) -- nothing is left in the registers
  check.small_steps()
  repeat collectgarbage("step", 0) until select(4, check.collector())
  heap.snapshot("pending")
  return of_main
]=]

-- The planted object's name, its path (addresses and lines are left out), its path's edges.
local held = {
  {"array slot", "_G.E.list[2]", "root value value value"},
  {"string key", "_G.E.field", "root value value"},
  {"integer key", "_G.E.list[1000000]", "root value value value"},
  {"float key", "_G.E.numbers[1.5]", "root value value value"},
  {"negative key", "_G.E.numbers[-7]", "root value value value"},
  {"true key", "_G.E.flags[true]", "root value value value"},
  {"false key", "_G.E.flags[false]", "root value value value"},
  {"table key", "key table: 0x of _G.E.keyed", "root value value key"},
  {"under a table", "_G.E.keyed[table: 0x]", "root value value value"},
  {"function key", "key function: 0x of _G.E.keyed", "root value value key"},
  {"under a function", "_G.E.keyed[function: 0x]", "root value value value"},
  {"odd names", [==[_G.E["not a name"]["x\ny"]]==], "root value value value"},
  {"behind __pairs", "_G.E.behind.hidden", "root value value value"},
  {"metatable", "metatable of _G.E.object", "root value value metatable"},
  {"protected metatable", "metatable of _G.E.protected", "root value value metatable"},
  {"metatable of functions", "metatable of all functions", "root"},
  {"behind the metatable of strings", "(metatable of all strings).planted", "root value"},
  {"metatable of a userdata", "metatable of _G.E.udata", "root value value metatable"},
  {"closed upvalue", "upvalue closed of function closure @program.lua",
   "root value value upvalue content"},
  {"shared upvalue", "upvalue shared of function first @program.lua",
   "root value value upvalue content"},
  {"C upvalue", "upvalue 2 of _G.E.cfunction", "root value value c-upvalue"},
  {"user value 1", "user value 1 of _G.E.udata", "root value value uservalue"},
  {"user value 2", "user value 2 of _G.E.udata", "root value value uservalue"},
  {"parameter", "local argument in function @program.lua of thread @program.lua (0x)",
   "root value value local"},
  {"vararg", "vararg 2 in function @program.lua of thread @program.lua (0x)",
   "root value value vararg"},
  {"local variable", "local variable in function @program.lua of thread @program.lua (0x)",
   "root value value local"},
  {"open upvalue", "local captured in function @program.lua of thread @program.lua (0x)",
   "root value value local"},
  {"temporary", "temporary in function @program.lua of thread @program.lua (0x)",
   "root value value temporary"},
  {"argument of a C function", "argument 2 of function xpcall [C] of thread @program.lua (0x)",
   "root value value argument"},
  {"not started", "upvalue held of function @program.lua",
   "root value value argument upvalue content"},
  {"argument of a not started one",
   "argument 3 of the host program of thread @program.lua (0x)", -- the function is the first
   "root value value argument"},
  {"in a wrap", "local inside in function @program.lua of thread @program.lua (0x)",
   "root value value c-upvalue local"},
  {"temporary in a wrap", "temporary in function @program.lua of thread @program.lua (0x)",
   "root value value c-upvalue temporary"},
  {"parameter in a wrap", "local argument in function @program.lua of thread @program.lua (0x)",
   "root value value c-upvalue local"},
  {"vararg in a wrap", "vararg 1 in function @program.lua of thread @program.lua (0x)",
   "root value value c-upvalue vararg"},
  {"local of a failed one", "local left in function @program.lua of thread @program.lua (0x)",
   "root value value local"},
  {"function of a coroutine", "function @program.lua on the stack of thread @program.lua (0x)",
   "root value value function"},
  {"upvalue without a closure", "open upvalue captured of thread @program.lua (0x)",
   "root value value open-upvalue"},
  {"luaL_ref", "registry[N]", "root value"},
  {"hook", "value of _G.E.hooked in weak table registry._HOOKKEY", "root value value ephemeron"},
  {"constant", "constant of proto main chunk the source", "root value value proto constant"},
  {"constant of a nested function", "constant of proto the source:1",
   "root value value proto nested constant"},
  {"source", "name of the source of proto main chunk the source", "root value value proto source"},
  {"name of a local variable", "name of a variable of proto main chunk the source",
   "root value value proto debug-name"},
  {"ephemeron key", "_G.E.a_key", "root value value"},
  {"ephemeron value", "value of _G.E.a_key in weak table _G.E.weak_keys",
   "root value value ephemeron"},
  {"under a string in a weak table", "_G.E.weak_keys.x", "root value value value"},
  {"local of the main chunk", "local of_main in main chunk @program.lua of main thread",
   "root local"},
  {"vararg of the main", "vararg 1 in function varargs @program.lua of main thread", "root vararg"},
  {"vararg of the running", "vararg 1 in function @program.lua of thread @program.lua (0x)",
   "root vararg"},
  {"parameter of the running",
   "local argument in function @program.lua of thread @program.lua (0x)",
   "root local"},
  {"local of the running", "local of_running in function @program.lua of thread @program.lua (0x)",
   "root local"},
  {"temporary of the running", "temporary in function @program.lua of thread @program.lua (0x)",
   "root temporary"},
  {"behind a finalizer", "(object waiting for its finalizer).content", "root value"},
  {"waits for its finalizer", "object waiting for its finalizer", "root"},
}

local garbage = {"local of a finished one", "weak value", "weak key", "value of a weak key",
                 "weak both", "garbage"}

-- Which edges lead to some of them; weak ones are in brackets.
local referrers = {
  ["weak value"] = "(value)", ["weak key"] = "(key)", ["value of a weak key"] = "(value)",
  ["weak both"] = "(value)", ["ephemeron key"] = "(key) (key) value",
  ["ephemeron value"] = "(value) ephemeron", ["shared upvalue"] = "content",
  ["metatable"] = "metatable", ["garbage"] = "", ["open upvalue"] = "content local"
}

describe("heappath finds", function()
  local address, dir = {}, nil

  setup(function()
    local out
    out, dir = support.lua(program)
    for name, where in out:gmatch("([^\t\n]+)\t(0x%x+)\n") do address[name] = where end
  end)

  local function ask(name, ...)
    local file = name:find("finalizer", 1, true) and "pending" or "s"
    local command = {"heappath", "--json", file, address[name], ...}
    local out, err, code = support.run(command, {cwd = dir})
    assert.are.equal("", err)
    return json.decode(out), code
  end

  local function plain(text)
    text = text:gsub("0x%x+", "0x"):gsub("lua:%d+", "lua"):gsub("registry%[%d+%]", "registry[N]")
    return (text:gsub("function second", "function first"))
  end

  for _, case in ipairs(held) do
    local name, text, edges = table.unpack(case)
    it(name, function()
      local answer, code = ask(name)
      local path = assert(answer.paths[1], "no path")
      local kinds = {}
      for i, step in ipairs(path.steps) do kinds[i] = step.edge end
      assert.are.equal(text, plain(path.text))
      assert.are.equal(edges, table.concat(kinds, " "))
      assert.are.equal(0, code)
      assert.is_true(answer.reachable)
    end)
  end

  for _, name in ipairs(garbage) do
    it("nothing for " .. name, function()
      local answer, code = ask(name)
      assert.are.equal(0, #answer.paths)
      assert.is_false(answer.reachable)
      assert.are.equal(1, code)
    end)
  end

  it("all referrers, weak ones too", function()
    for name, wanted in pairs(referrers) do
      local edges = {}
      for i, r in ipairs(ask(name, "--referrers").referrers) do
        edges[i] = r.weak and "(" .. r.edge .. ")" or r.edge
      end
      table.sort(edges)
      assert.are.equal(wanted, table.concat(edges, " "), name)
    end
  end)

  it("both closures that share an upvalue", function()
    local closures = {}
    for _, path in ipairs(ask("shared upvalue", "-k", "5").paths) do
      closures[#closures + 1] = path.text:match("function (%w+)")
    end
    assert.are.equal(1, #closures) -- one referrer: the upvalue, which two closures have
    local found = json.decode((support.run({"heappath", "--json", "--referrers", "s",
      ask("shared upvalue").paths[1].steps[4].address}, {cwd = dir})))
    assert.are.equal(2, #found.referrers)
  end)
end)

describe("a function is called", function()
  -- By the local variable, global or field that its code stores it in; nothing elsewhere.
  local functions = [[
    local heap = require "heap"
    local M, names = {}, {}
    local function say(name, f) names[#names + 1] = {name, f} end
    local function first() end
    say("first", first)
    do local gone = {} do local gone_too = gone end end
    local a, b = function() end, function() end
    say("a", a) say("b", b)
    do local inner = function() end say("inner", inner) end
    for i = 1, 1 do local x = i local looped = function() return x end say("looped", looped) end
    local again = function() end
    say("again", again)
    function M.field() end
    function M:method() end
    say("field", M.field) say("method", M.method)
    function Global() end
    say("Global", Global)
    local t = {entry = function() end, (function() end)}
    say("entry", t.entry) say("", t[1])
    t[2], t["x y"] = function() end, function() end
    say('["x y"]', t["x y"])
    local shadow = function() end
    say("shadow", shadow)
    local shadow <const> = function() return shadow end
    say("shadow", shadow)
    for _, n in ipairs(names) do print(n[1], ("%p"):format(n[2])) end
    heap.snapshot("s")
    return M, names
  ]]

  it("by what it is stored in", function()
    local out, dir = support.lua(functions)
    for name, address in out:gmatch("([^\t\n]*)\t(0x%x+)\n") do
      local answer = json.decode((support.run({"heappath", "--json", "s", address}, {cwd = dir})))
      local class = name == "" and "function @program.lua" or "function " .. name .. " @program.lua"
      assert.are.equal(class, (answer.class:gsub(":%d+$", "")))
    end
  end)
end)
