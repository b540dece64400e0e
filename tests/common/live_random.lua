-- live_random.lua - a random program that asks about its own heap wherever a program can: in
-- hooks, finalizers, coroutines, to-be-closed variables, metamethods, and in the functions that
-- heap.each calls; while it collects in all modes, closes captures that are in use, gives objects
-- finalizers and revives others. Run by live_hostile_spec.lua:
--
--     lua live_random.lua SEED STEPS     prints how many answers were checked; exit 1: a wrong one
--
-- What must hold: the object that a path is said to lead to is the one that was asked about, and is
-- found by the path again; what is handed out has the address and the number that the snapshot has
-- for it; and no error is raised but those that the program provokes.

local heap = require "heap"
local check = require "lua_heapcheck"

local random = math.random
local places = 60
local captures, n_checked, n_made, depth, slots = {}, 0, 0, 0, {}
_G.slots = slots -- paths begin there

math.randomseed(tonumber(arg[1]), 0)

local function wrong(...)
  io.stderr:write("seed ", arg[1], ": ", string.format(...), "\n", debug.traceback(), "\n")
  os.exit(1)
end

local provoked = {
  "stop!", "the capture is closed", "the snapshot is closed", "yield across a C-call boundary",
  "yield from outside a coroutine", "C stack overflow", "cannot resume",
}

local function guarded(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local message = tostring(results[2])
  for _, part in ipairs(provoked) do
    if message:find(part, 1, true) then return end
  end
  wrong("an error: %s", message)
end

local function place() return random(places) end
local function any() return slots[place()] end
local function any_capture() return captures[random(4)] end
local function one_of(list) return list[random(#list)] end

local ask, act -- any question, any step of the program

local function ask_guarded() guarded(ask) end

-- ==== Values =============================================================================

local function finalizer(o)
  if random(4) == 1 then slots[place()] = o end
  if random(6) == 1 then ask_guarded() end
  local capture = any_capture()
  if capture and random(6) == 1 then guarded(capture.close, capture) end
  if random(8) == 1 then setmetatable(o, getmetatable(o)) end -- once more
end

local finalized = {__gc = finalizer}
local closing = {__close = function() if random(6) == 1 then ask_guarded() end end}

local function runs(...)
  local kept = {any(), ...}
  local _ <close> = setmetatable({}, closing)
  for i = 1, random(5) do
    pcall(function()
      local inner = {kept, i}
      coroutine.yield(inner)
      if random(4) == 1 then error("stop!") end
    end)
    if random(5) == 1 then ask_guarded() end
  end
end

local function deep(n)
  local kept = {n}
  if n == 0 then return coroutine.yield(kept) end
  deep(n - 1)
  return kept
end

local makers = {
  function()
    n_made = n_made + 1
    return {made = n_made, any(), any()}
  end,
  function()
    local a, b = any(), any()
    return function()
      a = b
      return a, b
    end
  end,
  function() return coroutine.wrap(runs) end,
  function()
    local thread = coroutine.create(deep)
    guarded(coroutine.resume, thread, random(0, 300))
    return thread
  end,
  function() return setmetatable({[any() or 1] = any()}, {__mode = one_of {"k", "v", "kv"}}) end,
  function() return ("x"):rep(random(100)) .. random(1000) end,
  function() return setmetatable({made = 0, any()}, finalized) end,
  function() return check.userdata(random(0, 100), random(0, 4)) end,
  function() return check.closure(any(), any()) end,
  function() return check.table(random(0, 20), random(0, 20)) end,
  function() return load("local a = ... return function() return a end, " .. random(100)) end,
}

-- ==== Answers ============================================================================

-- A path that is an expression of Lua is found again.
local function check_path(capture, value)
  local path, why = capture:path(value)
  if not path then return type(why) == "string" or wrong("no path and no reason") end
  if not load("return " .. path) or path:find("...", 1, true) then return end
  local found = capture:object(path)
  if found ~= nil and found ~= value then wrong("%s is %s, not %s", path, found, value) end
  n_checked = n_checked + 1
end

local function check_steps(value)
  local path, steps = heap.path(value)
  if not path then return end
  if steps[#steps].object ~= value then wrong("%s leads to %s", path, steps[#steps].object) end
  n_checked = n_checked + 1
end

local function check_objects(capture)
  for _ = 1, 20 do
    local id = random(#capture.reader)
    local object, told = capture:object(id), capture.reader:object(id)
    if object ~= nil and told.address ~= ("%p"):format(object) then
      wrong("%s is %p", told.address, object)
    end
    if type(object) == "table" and told:get("made") ~= rawget(object, "made") then
      wrong("%s was number %s and is %s", told.address, told:get("made"), rawget(object, "made"))
    end
    n_checked = n_checked + 1
  end
end

-- What heap.each calls: it collects, raises errors, yields, asks, gives finalizers, goes on.
local function visitor()
  local n, habit = 0, random(7)
  return function(object, kind, bytes)
    n = n + 1
    if (kind == "closure" and "function" or kind) ~= type(object) then wrong("a %s", kind) end
    if kind == "string" and bytes ~= heap.sizeof(object) then wrong("%d bytes", bytes) end
    if habit == 1 and n % 50 == 0 then
      for i = 1, places do if random(3) == 1 then slots[i] = nil end end
      collectgarbage("step", random(0, 100))
    elseif habit == 2 and n % 200 == 0 then
      collectgarbage()
    elseif habit == 3 and n == random(300) then
      error("stop!")
    elseif habit == 4 and n % 500 == 0 then
      coroutine.yield()
    elseif habit == 5 and n % 500 == 7 then
      ask_guarded()
    elseif habit == 6 and kind == "table" and rawget(object, "made") and random(3) == 1 then
      if not getmetatable(object) then setmetatable(object, finalized) end
    elseif habit == 7 and n % 100 == 0 then
      act()
    end
  end
end

local types = {"table", "string", "thread", "function", "userdata"}
local orders = {"retained", "shallow", "count"}

local function about_any(f)
  return function()
    local value = any()
    if value ~= nil then f(value) end
  end
end

local function about_a_capture(f)
  return function()
    local capture = any_capture()
    if capture then f(capture) end
  end
end

local questions = {
  about_any(check_steps),
  about_any(function(value) heap.paths(value, random(5)) end),
  about_any(heap.referrers),
  about_any(heap.retained),
  about_any(heap.show),
  function() heap.count(one_of {"class", "type"}) end,
  function() heap.top(random(0, 30), one_of(orders)) end,
  function() heap.classes(random(0, 30), one_of(orders)) end,
  function()
    heap.mark("m")
    heap.since("m")
  end,
  function() heap.objects {type = one_of(types)} end,
  function() heap.each(visitor(), {type = one_of(types)}) end,
  function() heap.each(visitor()) end,
  function() heap.diff(act, random(3)) end,
  function() captures[random(4)] = heap.capture() end,
  function() captures[random(4)] = nil end,
  about_a_capture(function(capture)
    local value = any()
    if value ~= nil then check_path(capture, value) end
  end),
  about_a_capture(check_objects),
  about_a_capture(function(capture) capture:each(visitor(), {type = "table"}) end),
  about_a_capture(function(capture)
    capture:retained(_G)
    capture:referrers(slots)
    capture:paths(slots, 3)
    capture:top(5)
  end),
  about_a_capture(function(capture)
    capture:suspects()
    capture:modules()
    capture:threads()
  end),
}

function ask()
  if depth > 3 then return end
  depth = depth + 1
  local ok, message = pcall(one_of(questions))
  depth = depth - 1
  if not ok then error(message, 0) end
end

-- ==== The program ========================================================================

local collections = {
  collectgarbage, check.emergency,
  function() collectgarbage("step", random(0, 50)) end,
  function() collectgarbage("incremental", one_of {1, 200}, one_of {1, 100}, random(10)) end,
  function() collectgarbage("generational", random(100), random(100)) end,
  function() collectgarbage("stop") end,
  function() collectgarbage("restart") end,
}

local function about_a(kind, f)
  return function()
    local value = any()
    if type(value) == kind then f(value) end
  end
end

local steps = {
  function() slots[place()] = nil end,
  function() one_of(collections)() end,
  about_a("function", function(f) guarded(f) end),
  about_a("thread", function(thread)
    local status = coroutine.status(thread)
    if status == "running" or status == "normal" then return end
    if random(3) == 1 then guarded(coroutine.close, thread) else coroutine.resume(thread) end
  end),
  about_a("table", function(t) rawset(t, random(20), one_of(makers)()) end),
  about_a("table", function(t)
    for i = 1, random(40) do rawset(t, i, random(2) == 1 and any() or nil) end
  end),
  about_a("table", function(t) if not getmetatable(t) then setmetatable(t, finalized) end end),
  function()
    local n = 0
    debug.sethook(function()
      n = n + 1
      if n > 2 then debug.sethook() else ask_guarded() end
    end, one_of {"c", "r", "l", ""}, random(50))
  end,
  function()
    local thread = coroutine.create(function()
      ask_guarded()
      for _ = 1, 3 do act() end
    end)
    slots[place()] = thread
    coroutine.resume(thread)
  end,
  function()
    table.sort({3, 2, 1, 5}, function(a, b)
      if random(10) == 1 then ask_guarded() end
      return a < b
    end)
  end,
}

function act()
  if random(2) == 1 then slots[place()] = one_of(makers)() else one_of(steps)() end
end

for _ = 1, tonumber(arg[2]) do
  act()
  if random(4) == 1 then ask_guarded() end
end
debug.sethook()
io.write(n_checked, "\n")
if random(2) == 1 then
  setmetatable({}, {__gc = function() for _ = 1, 10 do ask_guarded() end end})
end
os.exit(true, random(2) == 1)
