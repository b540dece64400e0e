-- find_spec.lua - the one grammar for objects, and what is said when nothing is found.

local json = require "cjson"
local support = require "tests.common.support"

local program = [[
  local heap = require "heap"
  Session = {} Session.__index = Session
  bus = {listeners = {tick = {}}, name = "bus"}
  odd = {["a b"] = {}, ["x\ny\"z"] = {}, [true] = {}, [1.5] = {}, [-3] = {}, [print] = {}}
  local function on_tick(s)
    return function() return s end
  end
  for i = 1, 5 do
    local s = setmetatable({id = i, data = ("x"):rep(i * 100)}, Session)
    bus.listeners.tick[i] = {fn = on_tick(s)}
  end
  list = {}
  do local tail = list for i = 1, 60 do tail.next = {i} tail = tail.next end end
  weak = setmetatable({}, {__mode = "k"}) key = {} weak[key] = {payload = 1}
  local worker = coroutine.create(function() local mine = {id = "mine"} coroutine.yield(mine) end)
  coroutine.resume(worker)
  pool = {worker}
  settings = {level = 0}
  for i = 1, 9 do settings = setmetatable({level = i}, {__index = settings, name = {i}}) end
  keyed = {inner = {}}
  for i = 1, 3 do keyed = {inner = {[keyed] = true}, i} end
  for i = 1, 4 do
    local new = require "lua_heapcheck".userdata(8, 1)
    debug.setuservalue(new, {next = handle})
    handle = new
  end
  for i = 1, 9 do
    local shared = {}
    _G["f" .. i], _G["h" .. i] = function() return shared end, function() return shared end
    _G["g" .. i] = {deep = {shared = shared}}
  end
  local function link(prev) return {run = function() return prev end} end
  for _ = 1, 4 do chain = link(chain) end
  print(("%p %p"):format(list, io.stdout), io.stdout)
  heap.snapshot("s")
]]

describe("an object", function()
  local out, dir = support.lua(program, {name = "app.lua"})
  local list, stdout = out:match("(0x%x+) (0x%x+)")

  -- The first path's text, or nil and the message.
  local function find(expression)
    local text, errors, code =
      support.run({"heappath", "--format", "json", "s", expression}, {cwd = dir})
    if code ~= 0 then return nil, errors, code end
    local answer = json.decode(text)
    return answer.paths[1].text, answer.class
  end

  local function finds(expected, expression)
    local text, message = find(expression)
    assert.equal(expected, text, message)
  end

  it("is found by its address", function()
    for _, form in ipairs {list, "table: " .. list, "{next} " .. list} do finds("_G.list", form) end
    local _, class = find("file (" .. stdout .. ")")
    assert.equal("FILE*", class)
    assert.match("no object of the snapshot is at '0x10'", select(2, find("0x10")), 1, true)
  end)

  it("is found by a part of a name, if nothing is called so literally", function()
    finds('_G.odd["a b"]', '_G.odd["a *"]')
    finds('_G.odd["a b"]', '_G.odd["* b"]')
    finds("_G.bus.listeners", "_G.b*s.list*")
    finds("_G.bus.listeners", "_G.bus.l*s")
    finds("_G.list.next", "_G.list.ne*")
    finds("_G.g4", "_G.*4")
    assert.match("^thread @app.lua:%d+$", (select(2, find("thread @app*"))))
    assert.match("has no field 'q*'", select(2, find('_G.odd["q*"].y')), 1, true)
    assert.match("stands for steps of many kinds", select(2, find("_G.odd.*")), 1, true)
  end)

  it("is found by its path", function()
    finds("_G.bus.listeners.tick[3].fn", "_G.bus.listeners.tick[3].fn")
    finds("_G.bus.listeners", "bus.listeners")
    finds("_G.string", 'package.loaded["string"]')
    for _, key in ipairs {'["a b"]', '["x\\ny\\"z"]', "[true]", "[1.5]", "[-3]"} do
      finds("_G.odd" .. key, "_G.odd" .. key)
    end
    finds("_G", "registry[2]")
  end)

  it("is found by names in any writing", function()
    local _, folder = support.lua [[
      _G["café"] = {["ключ"] = {["日本"] = {}}}
      require "heap".snapshot("s")
    ]]
    local path = '_G["café"]["ключ"]["日本"]'
    for _, one in ipairs {path, "_G.café.ключ.日本", "café.ключ.日本", "_G.caf*.клю*.*本"} do
      local text, why = support.run({"heappath", "--format", "json", "s", one}, {cwd = folder})
      assert.equal(path, text ~= "" and json.decode(text).paths[1].text or why)
    end
    local _, why = support.run({"heappath", "s", "_G.caf"}, {cwd = folder})
    assert.match("has no field 'caf'", why, 1, true)
  end)

  it("is found under every number that is a key", function()
    local _, folder = support.lua [[
      t = {}
      for _, key in ipairs {1 / 0, -1 / 0, 2.0 ^ 63, -2.0 ^ 63, math.maxinteger, 2 ^ 53, 0.1, 3} do
        t[key] = {}
      end
      require "heap".snapshot("s")
    ]]
    for key, path in pairs {
      ["1/0"] = "1/0", ["-1/0"] = "-1/0", ["9223372036854775807"] = "9223372036854775807",
      ["9223372036854775808"] = "9.2233720368547758e+18", ["3.0"] = "3", ["0.1"] = "0.1",
      ["9.2233720368547758e+18"] = "9.2233720368547758e+18", ["1e-1"] = "0.1",
      ["-9223372036854775808"] = "-9223372036854775808", ["9007199254740992"] = "9007199254740992",
    } do
      local text, why = support.run({"heappath", "--format", "json", "s", "_G.t[" .. key .. "]"},
                                    {cwd = folder})
      assert.equal("_G.t[" .. path .. "]", text ~= "" and json.decode(text).paths[1].text or why)
    end
    for _, key in ipairs {"nan", "1/0x", "2/0", "4"} do
      assert.equal("", (support.run({"heappath", "s", "_G.t[" .. key .. "]"}, {cwd = folder})))
    end
  end)

  it("is told by a path through tables rather than through functions", function()
    for i = 1, 9 do
      local path = ("_G.g%d.deep.shared"):format(i)
      finds(path, path)
      finds(path, ("upvalue shared of _G.f%d"):format(i))
    end
  end)

  it("is found by every phrase that paths are told in", function()
    for _, phrase in ipairs {
      "upvalue s of function fn @app.lua:6 in _G.bus.listeners.tick[5].fn", "main thread",
      "value of _G.key in weak table _G.weak", "metatable of all strings", "metatable of _G.weak",
    } do finds(phrase, phrase) end
    local mine = "local mine in function @app.lua:15 of thread @app.lua:15"
    local text, message = find(mine)
    assert.match("^" .. mine .. " %(0x%x+%)$", text or message)
    assert.equal(text, (find(text)))
  end)

  it("is found among those of its class that are at a path", function()
    local path = "_G.bus.listeners.tick[5].fn"
    finds(path, "function fn @app.lua:6 in _G.bus.listeners.tick[*].fn")
    assert.match("the snapshot has no 'Session in _G.bus.listeners'",
                 select(2, find("Session in _G.bus.listeners")), 1, true)
  end)

  it("is found behind functions that one code made, each holding the next", function()
    finds("(upvalue prev of function run @app.lua:32 in _G.chain.run).run",
          "_G.chain.run(upvalue prev.run)*")
  end)

  it("is found by a folded path: the one that retains most", function()
    finds("_G.bus.listeners.tick[5].fn", "_G.bus.listeners.tick[*].fn")
    finds("_G.list.next", "_G.list.next*")
    finds("(metatable of _G.settings).__index", "_G.settings(metatable.__index)*")
    finds("(metatable of (metatable of _G.settings).__index).name",
          "(metatable of _G.settings(metatable.__index)*).name")
    assert.match("^key table: 0x%x+ of %(key table: 0x%x+ of _G%.keyed%.inner%)%.inner$",
                 find("key of _G.keyed.inner(key.inner)*"))
    finds("(user value 1 of _G.handle).next", "_G.handle(user value 1.next)*")
    assert.match("nothing is there that has a 'metatable'",
                 select(2, find("_G.list(metatable.x)*")), 1, true)
  end)

  it("is found by the local variable that holds it, in any thread", function()
    local place = "local mine in function @app.lua:15"
    local text, message = find(place)
    assert.equal(find(place .. " of thread @app.lua:15"), text, message)
    assert.match("the snapshot has no 'local yours in function @app.lua:15'",
                 select(2, find("local yours in function @app.lua:15")), 1, true)
  end)

  it("is not found by the address of C's FILE, which is said", function()
    local printed = out:match("file %(0x%x+%)")
    assert.match("no object is at '" .. printed .. "': Lua prints where C's FILE of a file is; " ..
                 'string.format("%p", file) gives', select(2, find(printed)), 1, true)
  end)

  it("is found by function and its place, whatever its name, and so are its parts", function()
    assert.same({find "@app.lua:6"}, {find "function @app.lua:6"})
    assert.same({find "upvalue s of function fn @app.lua:6"},
                {find "upvalue s of function @app.lua:6"})
    assert.match("no function starts at '@app.lua:7': try", select(2, find "function @app.lua:7"),
                 1, true)
  end)

  it("is found by its class, and by its place", function()
    local _, class = find("Session")
    assert.equal("Session", class)
    finds("_G.bus.listeners.tick", "array of {fn}")
    finds("_G.bus.listeners.tick", "array")
    _, class = find("@app.lua:6")
    assert.equal("function fn @app.lua:6", class)
  end)

  it("is told how far the search came", function()
    local function fails(message, expression, expected_code)
      local found, said, code = find(expression)
      assert.is_nil(found)
      assert.match(message, said, 1, true)
      assert.equal(expected_code or 1, code)
    end
    fails("_G.bus is a table, but has no field 'listenrs' (it has: listeners, name)",
          "_G.bus.listenrs")
    fails("has no [99] (it has 5 integer keys, from 1 to 5)", "_G.bus.listeners.tick[99]")
    fails("has no field 'x' (it has 5 integer keys, from 1 to 5)", "_G.bus.listeners.tick.x")
    fails("has no [2] (it has 1 integer key, -3)", "_G.odd[2]")
    fails("_G.bus.name is a string, and has no fields to look for .x", "_G.bus.name.x")
    fails("_G.list.next[1] is an integer, no object", "_G.list.next[1]")
    fails("no class or global is named 'Sesion' (did you mean 'Session'", "Sesion")
    fails("did you mean 'array of {fn}'", "array of fn")
    fails("no function starts at '@app.lua:7': try the one around it, @app.lua:5", "@app.lua:7")
    fails("no function of the heap comes from the file in '@nosuch.lua:1'", "@nosuch.lua:1")
    fails("cannot read the path from '[' on", "_G.bus[", 2)
  end)

  it("keeps long paths short", function()
    local function path_of(n) return "_G.list" .. (".next"):rep(n) end
    finds("_G.list.next.next.next ... 52 more .next ... .next.next.next.next.next", path_of(60))
  end)
end)

describe("a key that the snapshot has not whole", function()
  local keys = [[
    local heap = require "heap"
    long, BIG = {[("k"):rep(400)] = {1}, [("k"):rep(256) .. "zzz"] = {2}}, {}
    heap.snapshot("some")
    heap.snapshot("none", {strings = 0})
  ]]
  local _, dir = support.lua(keys)
  local function answer(file, expression)
    local words = {"heappath", "--format", "json", file, expression}
    local text, errors, code = support.run(words, {cwd = dir})
    return text ~= "" and json.decode(text) or errors, code
  end

  it("is found by all of its bytes, or by those that were kept and dots", function()
    local first = answer("some", "_G.long." .. ("k"):rep(400)).address
    local second = answer("some", "_G.long." .. ("k"):rep(256) .. "zzz").address
    assert.is_string(first)
    assert.is_string(second)
    assert.not_equal(first, second)
    assert.is_string(answer("some", '_G.long["' .. ("k"):rep(256) .. '..."]').address)
    assert.equal(1, select(2, answer("some", "_G.long." .. ("k"):rep(256) .. "zzy")))
  end)

  it("is not guessed where no strings were kept", function()
    for _, expression in ipairs {"BIG", "_G.BIG", "@app.lua:1"} do
      local message, code = answer("none", expression)
      assert.equal(1, code)
      assert.match("keeps no strings, so no names (strings = 0)", message, 1, true)
    end
  end)
end)
