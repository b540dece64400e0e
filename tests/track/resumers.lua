-- resumers.lua - coroutines that C functions, hooks, finalizers and readers run, nested in every
-- order (tests/common/lua_resumer.c): run under a Lua that knows the truth (truth.sh).
--
--     lua resumers.lua [ROUNDS [ERRORS]]
--
-- With ERRORS an error also leaves a thread that was called and never resumed: Lua then unwinds to
-- the main thread, and the threads between are left as they stood.
local c = require "lua_resumer"
local rounds = tonumber((...)) or 200
local with_errors = select(2, ...) ~= nil
local seed = 12345

local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end

local kept = {} -- suspended threads
local ways

-- Something that allocates on several lines, and goes down by another way.
local function work(depth)
  local t = {depth}
  t.name = "at " .. depth
  local f = function() return t end
  if depth > 0 then
    ways[random(#ways)](depth - 1)
    t[2] = {f()}
    ways[random(#ways)](depth - 1)
  end
  t.x, t.y, t.z = {}, {1, 2}, {n = {}}
  return t
end

local function suspended()
  local co = coroutine.create(function(depth)
    local _ <close> = setmetatable({}, {__close = function() work(0) end})
    work(depth)
    coroutine.yield({})
    work(0)
  end)
  kept[random(8)] = co
  return co
end

ways = {
  function(depth) c.resume(suspended(), depth) end,
  function(depth) coroutine.resume(suspended(), depth) end,
  function(depth) coroutine.wrap(work)(depth) end,
  function(depth) c.call(function() work(depth) end) end,
  function(depth) c.pcall(function() work(depth) end) end,
  function(depth) c.pcall(function() work(depth) error {work(0)} end) end,
  function() c.on(suspended()) end,
  function() local co = kept[random(8)] if co then c.on(co) end end,
  function() c.look((coroutine.running())) end,
  function() local co = kept[random(8)] if co then c.look(co) debug.traceback(co) end end,
  function(depth)
    local co = suspended()
    c.resume(co, depth)
    if coroutine.status(co) == "suspended" then c.close(co) end
  end,
  function(depth)
    local co = suspended()
    c.resume(co, depth)
    if coroutine.status(co) == "suspended" then coroutine.close(co) end
  end,
  function(depth) c.deep(function() return work(depth) end, suspended()) end,
  function() c.hook(function() work(0) end, "call") work(0) end,
  function() c.hook(function() work(0) end, "line") work(0) end,
  function() c.hook(function() work(0) end, "return") work(0) end,
  function() c.hook(function() work(0) end, "count") work(0) end,
  function(depth) c.continued(function() return work(depth) end) end,
  function(depth)
    local co = coroutine.wrap(function()
      c.continued(function() coroutine.yield({}) return work(depth) end)
    end)
    co()
    co()
  end,
  function()
    c.finalized(function() work(0) end)
    setmetatable({}, {__gc = function() work(0) end})
  end,
  function() collectgarbage("step", 0) end,
  function(depth)
    local pieces = coroutine.create(function()
      work(depth)
      for _, s in ipairs {"return ", "{", "{}", "}"} do coroutine.yield(s) work(0) end
    end)
    c.read(pieces)()
  end,
  function() pcall(c.resume, coroutine.running()) coroutine.resume(coroutine.running()) end,
  function(depth) pcall(function() work(depth) error {} end) end,
  function() table.sort({5, 3, 4, 1, 2}, function(a, b) work(0) return a < b end) end,
}
if with_errors then
  ways[#ways + 1] = function() c.call(function() work(0) error {} end) end
end

for i = 1, rounds do
  pcall(work, i % 5)
  if i % 16 == 0 then collectgarbage(i % 32 == 0 and "generational" or "incremental") end
end
