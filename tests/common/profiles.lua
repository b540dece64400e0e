-- profiles.lua - profiles of given events, written as lib/profile/format.h says, and an account of
-- the same events in plain Lua, by another way than the library: each block is a table, and what is
-- asked is counted from all blocks.
--
--     local p = profiles.new {start_bytes = 1 << 20}
--     local main = p:stack(nil, {source = "@app.lua", name = "", line = 7, maker = "call"})
--     local block = p:new("table", main, 56)
--     p:tick(1000000)
--     p:resize(block, main, 128)
--     p:free(block)
--     p:write(path)
--
-- The clock of births is what was allocated, in units of 4 KB: a block is born at the unit in which
-- it ends, and is as old as it was when it is resized.

local profiles = {}

local types = {string = 4, table = 5, closure = 6, userdata = 7, thread = 8, upvalue = 9,
               proto = 10, part = 15}
local makers = {unattributed = 0, host = 1, C = 2, table = 3, closure = 4, concatenation = 5,
                growth = 6, call = 7, otherwise = 8}

local UNIT = 12 -- 1 << 12 bytes
local WEIGHT = 1 << 16

-- ==== XXH64 ==========================================================================

local P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
local P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

local function rotate(x, n) return x << n | x >> (64 - n) end
local function round(sum, lane) return rotate(sum + lane * P2, 31) * P1 end

---@param data string
---@param seed integer
---@return integer
function profiles.hash(data, seed)
  local unpack, at, h = string.unpack, 1, seed + P5
  if #data >= 32 then
    local a, b, c, d = seed + P1 + P2, seed + P2, seed, seed - P1
    while at + 31 <= #data do
      local w, x, y, z = unpack("<i8i8i8i8", data, at)
      a, b, c, d = round(a, w), round(b, x), round(c, y), round(d, z)
      at = at + 32
    end
    h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)
    for _, lane in ipairs {a, b, c, d} do h = (h ~ round(0, lane)) * P1 + P4 end
  end
  h = h + #data
  while at + 7 <= #data do
    h = rotate(h ~ round(0, unpack("<i8", data, at)), 27) * P1 + P4
    at = at + 8
  end
  if at + 3 <= #data then
    h = rotate(h ~ unpack("<I4", data, at) * P1, 23) * P2 + P3
    at = at + 4
  end
  while at <= #data do
    h = rotate(h ~ data:byte(at) * P5, 11) * P1
    at = at + 1
  end
  h = (h ~ h >> 33) * P2
  h = (h ~ h >> 29) * P3
  return h ~ h >> 32
end

-- ==== The file =======================================================================

local function number(n)
  local bytes = ""
  while n > 0x7F do
    bytes = bytes .. string.char(n & 0x7F | 0x80)
    n = n >> 7
  end
  return bytes .. string.char(n)
end

local function text(bytes) return number(#bytes) .. bytes end

-- A sink that gathers records into blocks; a record is never divided.
local function blocks_of(file)
  local sink = {at = 16, parts = {}, n = 0}

  function sink.block(kind, content)
    local head = ("<I4I4"):pack(#content, kind)
    file:write(head, ("<i8i8"):pack(profiles.hash(head, sink.at), profiles.hash(content, sink.at)),
               content)
    sink.at = sink.at + 24 + #content
  end

  function sink.flush()
    if sink.n > 0 then sink.block(2, table.concat(sink.parts)) end
    sink.parts, sink.n = {}, 0
  end

  function sink.record(bytes)
    if sink.n + #bytes > 1 << 16 then sink.flush() end
    sink.parts[#sink.parts + 1] = bytes
    sink.n = sink.n + #bytes
  end

  return sink
end

-- Writes definitions when they are first used, and their names.
local function definer(sink)
  local n = {name = 0, func = 0, site = 0}
  local names, defined = {}, {}

  local function name_id(name)
    if not name then return 0 end
    if not names[name] then
      sink.record("\1" .. text(name))
      n.name = n.name + 1
      names[name] = n.name
    end
    return names[name]
  end

  local function function_id(site)
    if not site.source then return 0 end
    local key = ("%s\0%s\0%d"):format(site.source, site.name or "\1", site.first_line or 0)
    if not defined[key] then
      local source, name = name_id(site.source), name_id(site.name)
      sink.record("\2" .. number(source) .. number(site.first_line or 0) .. number(name))
      n.func = n.func + 1
      defined[key] = n.func
    end
    return defined[key]
  end

  local function site_id(site)
    if not defined[site] then
      local id, c = function_id(site), name_id(site.c)
      sink.record("\3" .. number(id) .. number(site.line or 0) .. string.char(makers[site.maker]) ..
                  number(c))
      n.site = n.site + 1
      defined[site] = n.site
    end
    return defined[site]
  end

  return function(stack)
    local parent, site = stack.parent and stack.parent.id or 0, site_id(stack.site)
    sink.record("\4" .. number(parent) .. number(site))
  end
end

local kinds = {new = 0, resize = 1, free = 2}

local function event_bytes(e, is_sampled)
  local bytes = number(e.stack << 6 | types[e.type] << 2 | kinds[e.kind]) .. number(e.bytes)
  if e.kind == "resize" then bytes = bytes .. number(e.old_stack) .. number(e.old_bytes) end
  if e.kind ~= "new" then bytes = bytes .. number(e.age) end
  if is_sampled then bytes = bytes .. number(math.floor(e.weight * WEIGHT)) end
  return bytes
end

-- Of a list of calls: stack, calls, tail_calls, self_ns, total_ns, constant.
local function calls_table(calls)
  local bytes = {"\3"}
  for _, c in ipairs(calls) do
    bytes[#bytes + 1] = number(c.stack.id) .. number(c.calls) .. number(c.tail_calls or 0) ..
      number(c.self_ns) .. number(c.total_ns) .. (c.constant and "\1" or "\0")
  end
  return table.concat(bytes)
end

-- ====================================================================================

---@class tests.profile
local profile = {}
profile.__index = profile

--- Options: start_bytes, sample_bytes, lost, program, release, without_end; calls, with stacks
--- rising.
function profiles.new(options)
  local p = setmetatable({stacks = {}, events = {}, blocks = {}, clock = 0, now = 0}, profile)
  for key, value in pairs(options or {}) do p[key] = value end
  return p
end

--- A stack: a site, called by another stack or by none. A site has source, name, first_line, line,
--- maker and c.
function profile:stack(parent, site)
  local stack = {id = #self.stacks + 1, parent = parent, site = site}
  self.stacks[stack.id] = stack
  self.events[#self.events + 1] = {kind = "stack", definition = stack, time = self.now}
  return stack
end

function profile:tick(ns) self.now = self.now + ns end

function profile:add(event)
  event.time, event.unit = self.now, self.clock >> UNIT
  self.events[#self.events + 1] = event
end

---@param type string
---@param weight? number so many stand behind it
function profile:new(type, stack, bytes, weight)
  self.clock = self.clock + bytes
  local block = {type = type, stack = stack, bytes = bytes, weight = weight or 1,
                 born = self.clock >> UNIT, states = {}}
  self.blocks[#self.blocks + 1] = block
  self:add {kind = "new", type = type, stack = stack.id, bytes = bytes, weight = block.weight}
  self:note(block)
  return block
end

-- What a block is from this event on.
function profile:note(block)
  table.insert(block.states, {stack = block.stack, bytes = block.bytes, at = #self.events,
                              unit = self.clock >> UNIT})
end

function profile:age(block) return (self.clock >> UNIT) - block.born end

function profile:resize(block, stack, bytes)
  self.clock = self.clock + bytes
  self:add {kind = "resize", type = block.type, stack = stack.id, bytes = bytes,
            old_stack = block.stack.id, old_bytes = block.bytes, age = self:age(block),
            weight = block.weight}
  block.stack, block.bytes = stack, bytes
  self:note(block)
end

function profile:free(block)
  self:add {kind = "free", type = block.type, stack = block.stack.id, bytes = block.bytes,
            age = self:age(block), weight = block.weight}
  block.freed = {at = #self.events, unit = self.clock >> UNIT, age = self:age(block) << UNIT}
end

--- A block from before tracking goes.
function profile:free_old(bytes)
  self:add {kind = "free", type = "part", stack = 0, bytes = bytes, age = 0, weight = 1}
end

function profile:write(path)
  local file = assert(io.open(path, "wb"))
  local sink = blocks_of(file)
  local define, time, n = definer(sink), 0, 0
  file:write("\x89LPROF\r\n", ("<I4I4"):pack(1, 0))
  sink.block(1, ("<I8"):pack(7) .. number(4711) .. ("<I8"):pack(1763800000 * 10 ^ 9 // 1 | 0) ..
    number(self.start_bytes or 0) .. number(self.sample_bytes or 0) ..
    (self.calls and "\5" or "\1") ..
    text(self.release or "5.4.6") .. text(self.program or "lua5.4 app.lua"))
  for _, e in ipairs(self.events) do
    if e.time > time then
      sink.record("\5" .. number(e.time - time))
      time = e.time
    end
    if e.kind == "stack" then
      define(e.definition)
    else
      sink.record(event_bytes(e, self.sample_bytes))
      n = n + 1
    end
  end
  sink.flush()
  if self.calls then sink.block(4, calls_table(self.calls)) end
  if not self.without_end then
    sink.block(5, number(self.now) .. number(n) .. number(self.lost or 0) .. "\1")
  end
  assert(file:close())
end

--- A profile whose texts are all these names: program, Lua release, sources, functions and C
--- functions. A profile can have no zeros in them.
---@param names string[]
---@return table profile
function profiles.of_names(names)
  local function name(i) return (names[i]:gsub("%z", "")) end
  local p = profiles.new()
  p.program = name(2) .. name(3)
  p.release = name(1) .. name(2) .. name(5)
  for i = 1, #names do
    local stack = p:stack(p.stacks[i // 2], {
      source = (i % 3 == 0 and "" or "@") .. name(i), name = name(i % 7 + 1), first_line = 1,
      line = i, maker = "C", c = name(i % 11 + 1)})
    p:new("string", stack, 100 + i)
  end
  return p
end

return profiles
