-- view_heap.lua - builds a heap as servers have them, for the benchmark of heapview.
--
--     lua5.4 view_heap.lua MILLIONS DIR        leaves DIR/a, b, c and prints `objects N`
--
--     _G.cache -[i]-> Session{id, user, seen = {...}, on_close = function}
--                             -.user-> User{name, tags = {...}}
--     _G.bus.listeners.tick -[i]-> the functions of all sessions
--     package.loaded["app.N"] -.rows-> rows of strings
--
-- Of nine objects three are tables of a session, two strings, two functions with their variable;
-- a tenth of all hangs from a hundred modules. a is taken at half, b at nine tenths, c at the end.

-- luacheck: globals cache bus
local heap = require "heap"

local millions, dir = tonumber(arg[1]), arg[2]
local OBJECTS_OF_A_SESSION = 9
local n_sessions = math.floor(millions * 0.9e6 / OBJECTS_OF_A_SESSION)
local n_rows = math.floor(millions * 0.1e6 / 2 / 100)

local Session, User = {__name = "Session"}, {__name = "User"}
cache, bus = {}, {listeners = {tick = {}}}

for i = 1, 100 do
  local module = {rows = {}}
  for k = 1, n_rows do module.rows[k] = {("row %d of module %d"):format(k, i)} end
  package.loaded["app." .. i] = module
end

local function add(i)
  local user = setmetatable({name = "user " .. i, tags = {i, i + 1}}, User)
  local session = setmetatable({id = i, user = user, seen = {i, ("seen %d"):format(i)}}, Session)
  session.on_close = function() return session end
  cache[i] = session
  bus.listeners.tick[i] = function() return session.on_close() end
end

for i = 1, n_sessions do
  add(i)
  if i == n_sessions // 2 then assert(heap.snapshot(dir .. "/a")) end
  if i == n_sessions * 9 // 10 then assert(heap.snapshot(dir .. "/b")) end
end
collectgarbage()
print("objects " .. assert(heap.snapshot(dir .. "/c")))
