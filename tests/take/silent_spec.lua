-- silent_spec.lua - a snapshot and a mark change nothing but the bytes of the marks, wherever the
-- program and its collector stand.
--
-- The comparison is made by tests/common/lua_heapcheck.c: every byte of the global state and of the
-- running thread, and the address, place, type and color of every object on the collector's lists.

local support = require "tests.common.support"

-- quiet(where) takes a snapshot and a mark and complains about all that they changed. The heap is
-- full of objects whose metamethods raise errors, and of finalizers that count.
local prelude = [[
  local heap, check = require "heap", require "lua_heapcheck"
  local calls = 0
  local function raise(...) error("a metamethod was called") end
  local angry = {}
  for _, event in ipairs {"index", "newindex", "pairs", "tostring", "len", "call", "eq", "lt", "le",
                          "concat", "unm", "close", "name", "metatable", "mode"} do
    angry["__" .. event] = raise
  end
  setmetatable(angry, angry)
  local named = setmetatable({}, {__name = setmetatable({}, angry), __metatable = false})
  local heap_of_anger = {named, angry}
  for i = 1, 200 do heap_of_anger[i + 2] = setmetatable({i, [{}] = "x" .. i}, angry) end
  debug.getregistry().angry = heap_of_anger
  debug.setmetatable("", {__index = string, __name = 1, __len = raise, __call = raise})
  debug.setmetatable(print, angry)
  -- these are in the way of the standard library
  local registry, set_metatable = debug.getregistry(), debug.setmetatable
  local function anger(metatable)
    set_metatable(registry, metatable)
    set_metatable(1, metatable)
    set_metatable(nil, metatable)
    set_metatable(true, metatable)
  end
  local function garbage(n)
    for i = 1, n do
      local t = setmetatable({{}, {}}, {__mode = i % 2 == 0 and "k" or "v"})
      if i % 7 == 0 then setmetatable(t, {__gc = function() check.finalized() end}) end
    end
  end
  local function one(where, f, ...)
    anger(angry)
    local name, changed, bytes, objects, result, message = ..., check.silent(f, ...)
    anger(nil)
    if result == nil then changed = changed .. "failed: " .. message .. "\n" end
    if objects ~= 2 then changed = changed .. objects .. " new objects\n" end
    name = name or "2026-11-21 17:40:05"
    local expected = 2 * (check.user_values + 48 + rawlen(name))
    if bytes ~= expected then changed = changed .. bytes .. " bytes\n" end
    if changed ~= "" then io.write(where, ": ", changed) end
    calls = calls + 1
  end
  local options, background = {strings = 0}, {background = true}
  local function in_background(where) -- one object more: the job
    anger(angry)
    local changed, _, objects, job, message = check.silent(heap.snapshot, "snapshot", background)
    anger(nil)
    if objects ~= 3 then changed = changed .. objects .. " new objects\n" end
    if changed ~= "" then io.write(where, " in background: ", changed, message or "", "\n") end
    assert(job:wait())
  end
  local function quiet(where)
    one(where, heap.snapshot, "snapshot")
    one(where, heap.mark, "a mark")
    one(where, heap.mark)
    one(where, heap.snapshot, "snapshot", options)
    in_background(where)
  end
]]

-- Runs a program after the prelude; quiet() must have complained of nothing, `expected` times.
local function program(text, expected)
  local lines = prelude .. text .. '\nio.write("calls ", calls // 4, "\\n")\n'
  local out = support.lua(lines)
  local calls = out:match("calls (%d+)\n$")
  assert.are.equal("", (out:gsub("calls %d+\n", "")))
  assert.is_true(tonumber(calls) >= expected, "quiet was called " .. calls .. " times")
end

describe("a snapshot is silent", function()
  it("sees a change when there is one", function()
    local out = support.lua [[
      local check = require "lua_heapcheck"
      local function changes(...)
        local changed, bytes = check.silent(...)
        return changed ~= "" or bytes ~= 0
      end
      local t = setmetatable({}, {__mode = "k"})
      print(changes(collectgarbage, "step"), changes(collectgarbage, "stop"),
            changes(tostring, 1.5), changes(rawset, t, 1, 2), changes(rawequal, 1, 2),
            changes(setmetatable, {}, {__gc = type}), changes(coroutine.wrap(type), 1))
    ]]
    assert.are.equal("true\ttrue\ttrue\ttrue\tfalse\ttrue\ttrue\n", out)
  end)

  it("in every state of an incremental cycle", function()
    program([[
      local seen, left = {}, 8
      local function look(where)
        local state = check.collector()
        if not seen[state] then seen[state] = 0  left = left - 1 end
        seen[state] = seen[state] + 1
        if seen[state] <= 60 then quiet(where .. " in state " .. state) end
      end
      check.small_steps()
      collectgarbage()
      local keep = {}
      for round = 1, 30 do -- a step may pass through a state in which there is nothing to do
        if round > 3 and left == 0 then break end
        garbage(300)
        keep[round] = setmetatable({}, {__gc = function() look("finalizer") end})
        if round == 2 then keep = {} end
        local steps = 0
        repeat
          local done = collectgarbage("step", 0)
          look("step")
          steps = steps + 1
          if steps % 10 == 0 then garbage(1) end
        until done or steps > 20000
      end
      -- A step of 5.5 goes on through these.
      if _VERSION ~= "Lua 5.4" then seen[1], seen[4], seen[5], seen[6] = 1, 1, 1, 1 end
      for _, state in ipairs {0, 1, 3, 4, 5, 6, 7, 8} do
        if not seen[state] then print("never in state", state) end
      end
    ]], 150)
  end)

  it("between generational steps", function()
    program([[
      collectgarbage("generational", 20, 100)
      local keep = {}
      for round = 1, 40 do
        garbage(100)
        keep[round] = {round, tostring(round), setmetatable({}, {__gc = function() end})}
        quiet("before the step")
        if round % 3 ~= 0 then collectgarbage("step", 0) end
        quiet("after the step")
        if round % 10 == 0 then collectgarbage() end
        if round % 15 == 0 then collectgarbage("incremental") collectgarbage("step", 1)
          quiet("changed mode") collectgarbage("generational") end
      end
    ]], 80)
  end)

  it("while the collector is stopped or overdue", function()
    program([[
      for _, mode in ipairs {"incremental", "generational"} do
        collectgarbage(mode)
        collectgarbage("stop")
        garbage(500)
        quiet("stopped")
        assert(not collectgarbage("isrunning"))
        collectgarbage("restart")
        local t = {}
        for i = 1, 1 << 16 do t[i] = i end -- growing an array asks for no step
        local _, _, debt = check.collector()
        assert(debt > 0)
        quiet("overdue")
        t = nil
        collectgarbage()
      end
    ]], 4)
  end)

  it("in a finalizer", function()
    program([[
      local function plant()
        setmetatable({}, {__gc = function() quiet("finalizer") end})
        setmetatable({}, {__gc = function(o)
          coroutine.wrap(function() quiet("coroutine in a finalizer") end)()
          setmetatable(o, {__gc = function() quiet("finalizer of the risen") end})
        end})
      end
      for _, mode in ipairs {"incremental", "generational"} do
        collectgarbage(mode)
        plant()
        garbage(100)
        collectgarbage() collectgarbage()
        plant()
        for _ = 1, 300 do garbage(10) collectgarbage("step", 0) end
      end
    ]], 12)
  end)

  it("in the finalizers of a state that closes", function()
    local out = support.lua(prelude .. [[
      collectgarbage("stop")
      setmetatable({}, {__gc = function() io.write("calls ", calls // 4, "\n") end})
      for i = 1, 5 do
        setmetatable({}, {__gc = function() quiet("closing " .. i) end})
      end
      local _ <close> = setmetatable({}, {__close = function() quiet("the main chunk ends") end})
    ]])
    assert.are.equal("calls 6\n", out)
  end)

  it("in debug hooks", function()
    program([[
      local function busy(n)
        local t = {}
        for i = 1, n do t[i] = {i .. ""} end
        return #t
      end
      local function hooked(mask, count)
        local n = 0
        debug.sethook(function(event)
          n = n + 1
          if n < 10 then quiet("hook " .. event) end
        end, mask, count)
        busy(50)
        coroutine.wrap(function()
          debug.sethook(function() quiet("hook in a coroutine") debug.sethook() end, mask, count)
          busy(20)
        end)()
        debug.sethook()
        assert(n >= 4)
      end
      hooked("", 7)
      hooked("l")
      hooked("c")
      hooked("r")
    ]], 20)
  end)

  it("in coroutines", function()
    program([[
      local function deep(n, ...)
        if n == 0 then quiet("deep") coroutine.yield() quiet("resumed") return ... end
        return (coroutine.wrap(deep))(n - 1, n, ...)
      end
      local co = coroutine.wrap(function()
        quiet("first")
        coroutine.yield(1)
        quiet("second")
        local inner = coroutine.create(function(...) quiet("inner") coroutine.yield() end)
        coroutine.resume(inner, 1, 2, 3)
        quiet("inner suspended")
        coroutine.close(inner)
        quiet("inner closed")
        deep(50)
      end)
      co() co()
      local dead = coroutine.create(function() error(quiet) end)
      coroutine.resume(dead)
      quiet("dead")
    ]], 7)
  end)

  it("under pcall, in to-be-closed variables and in message handlers", function()
    program([[
      local function closing(where)
        return setmetatable({}, {__close = function(_, e) quiet(where) end})
      end
      local ok = pcall(function()
        local a <close> = closing("close after an error")
        local b <close> = closing("close after a close")
        quiet("pending")
        for _ in (function() end), nil, nil, closing("close of a loop") do end
        error("x")
      end)
      assert(not ok)
      xpcall(error, function(m) quiet("handler") return m end, "message")
      xpcall(function() local a <close> = closing("close under xpcall") local x = nil + 1 end,
             function(m) quiet("handler of an operation") return m end)
      local co = coroutine.create(function() local a <close> = closing("coroutine.close")
        coroutine.yield() end)
      coroutine.resume(co)
      coroutine.close(co)
      pcall(string.rep, "x", -1)
      quiet("main")
    ]], 9)
  end)

  it("in callbacks of the library", function()
    program([[
      local probe = setmetatable({}, {
        __index = function(_, k) quiet("__index") return k end,
        __lt = function() quiet("__lt") return false end,
        __concat = function() quiet("__concat") return "" end,
        __tostring = function() quiet("__tostring") return "probe" end,
        __len = function() quiet("__len") return 0 end})
      local _ = probe.x, probe < probe, probe .. "x", tostring(probe), #probe
      table.sort({3, 1, 2}, function(a, b) quiet("sort") return a < b end)
      string.gsub("abc", "%w", function(c) quiet("gsub") return c end)
      package.preload.probe = function() quiet("require") return true end
      require "probe"
      load(function() quiet("reader") end)
      load("quiet = ...")
      string.dump(function() return quiet end)
    ]], 11)
  end)

  it("survives a handler without stack", function()
    local out = support.lua([[
      local heap = require "heap"
      local results = {}
      local function down() return 1 + down() end
      local ok, message = xpcall(down, function(m)
        results[1], results[2] = heap.snapshot("s")
        results[3], results[4] = heap.mark("m")
        return m
      end)
      assert(not ok)
      print(results[1] or results[2] or tostring(message))
      assert(heap.snapshot("s"))
      print("done")
    ]])
    assert.is_truthy(out:find("done", 1, true))
  end)
end)
