-- show.lua - heap.show(v): a value as text, a few levels deep, with sizes. Loaded at the first
-- call.
-- The value may have cycles, a million entries, control characters, or metamethods that raise
-- errors. No metamethod is called, not even one of strings:
-- hence sub(s, 1, 9) instead of s:sub(1, 9), and no "%s", which calls __tostring.

local heap = require "heap"
local escape = require "heap.reader".escape
local numbers = require "heap.numbers"
local count, count_of, size = numbers.count, numbers.count_of, numbers.size
local format, rep, sub, find = string.format, string.rep, string.sub, string.find
local gsub, concat, sort, status = string.gsub, table.concat, table.sort, coroutine.status
local get_metatable = debug and debug.getmetatable or function() return nil end
local get_info = debug and debug.getinfo

local MOST_ENTRIES, MOST_SORTED = 20, 1000 -- of one table
local MOST_BYTES = 60 -- of a string
local MOST_LINES = 300

local function quoted(text)
  local comment = #text > MOST_BYTES and count(#text) .. " bytes" or nil
  local shown = comment and sub(text, 1, MOST_BYTES) or text
  shown = gsub(shown, '[\\"]', "\\%0")
  return '"' .. escape(shown) .. (comment and '..."' or '"'), comment
end

local function number(n)
  if math.type(n) == "integer" then return format("%d", n) end
  local text = format("%.14g", n)
  return find(text, "^%-?%d+$") and text .. ".0" or text
end

-- The __name of its metatable; nil: none.
local function name_of(value)
  local metatable = get_metatable(value)
  local name = type(metatable) == "table" and rawget(metatable, "__name")
  return type(name) == "string" and escape(sub(name, 1, MOST_BYTES)) or nil
end

local function place_of(f)
  local info = get_info and get_info(f, "S")
  if not info then return "function" end
  if info.what == "C" then return "function [C]" end
  return "function " .. escape(info.short_src) .. format(":%d", info.linedefined)
end

local function plain(value)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "number" then return number(value) end
  if kind == "boolean" then return value and "true" or "false" end
  local bytes = heap.sizeof(value)
  local comment = bytes > 0 and size(bytes) or nil
  if kind == "function" then return place_of(value), comment end
  if kind == "thread" then return "thread (" .. status(value) .. ")", comment end
  if kind ~= "userdata" then return "nil" end
  return (name_of(value) or kind) .. format(" %p", value), comment or "light"
end

local function key_text(key)
  if type(key) == "string" and #key <= MOST_BYTES and find(key, "^[%a_][%w_]*$") then return key end
  if type(key) == "table" then return "[" .. (name_of(key) or "table") .. format(" %p]", key) end
  return "[" .. (plain(key)) .. "]"
end

local ranks = {number = 1, string = 2, boolean = 3}

local function comes_before(a, b)
  local rank_a, rank_b = ranks[type(a)] or 4, ranks[type(b)] or 4
  if rank_a ~= rank_b then return rank_a < rank_b end
  if rank_a < 3 then return a < b end
  return false
end

local function keys_of(t)
  local keys, n = {}, 0
  local key = next(t)
  while key ~= nil do
    n = n + 1
    if n <= MOST_SORTED then keys[n] = key end
    key = next(t, key)
  end
  sort(keys, comes_before)
  return keys, n
end

---@class heap.shower
---@field lines string[]
---@field depth integer levels of tables
---@field seen table<table, string> what is shown already, and where

local function add(to, indent, text, comment)
  if #to.lines < MOST_LINES then
    to.lines[#to.lines + 1] = rep("  ", indent) .. text .. (comment and " -- " .. comment or "")
  end
end

local show_table

local function show_entry(to, indent, path, key, value)
  local text = key_text(key)
  if type(value) == "table" then
    local step = sub(text, 1, 1) == "[" and text or "." .. text
    show_table(to, indent, text .. " = ", path .. step, value)
  else
    local shown, comment = plain(value)
    add(to, indent, text .. " = " .. shown, comment)
  end
end

local function comment_on(t, n)
  local comment = format("%p, ", t) .. size(heap.sizeof(t))
  if n == 0 then return comment end
  return comment .. ", " .. count_of(n, "entry", "entries")
end

function show_table(to, indent, before, path, t)
  if #to.lines >= MOST_LINES then return end
  local class = name_of(t)
  before = before .. (class and class .. " " or "")
  if to.seen[t] then return add(to, indent, before .. "{...}", "see " .. to.seen[t]) end
  local keys, n = keys_of(t)
  if n == 0 then return add(to, indent, before .. "{}", comment_on(t, n)) end
  if indent >= to.depth then return add(to, indent, before .. "{...}", comment_on(t, n)) end
  to.seen[t] = path ~= "" and path or "the top"
  add(to, indent, before .. "{", comment_on(t, n))
  for i = 1, #keys < MOST_ENTRIES and #keys or MOST_ENTRIES do
    show_entry(to, indent + 1, path, keys[i], rawget(t, keys[i]))
  end
  if n > MOST_ENTRIES then add(to, indent + 1, "...", count(n - MOST_ENTRIES) .. " more") end
  add(to, indent, "}")
end

---@param value any
---@param depth integer
---@return string
return function(value, depth)
  if type(value) ~= "table" then
    local text, comment = plain(value)
    return text .. (comment and " -- " .. comment or "")
  end
  local to = {lines = {}, depth = depth, seen = {}}
  show_table(to, 0, "", "", value)
  if #to.lines >= MOST_LINES then to.lines[#to.lines + 1] = "... -- only the first lines" end
  return concat(to.lines, "\n")
end
