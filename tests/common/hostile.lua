-- hostile.lua - names that no heap should have, and what the commands must make of them.
--
--     names(seed, n)               the list below, and n names made at random of the same pieces
--     heap(seed, n)                a program with all of them in each place that has a name
--     text(bytes)                  what is printed of them where nothing cuts them short
--     faults(text)                 what a terminal or a page could be harmed by; nil: nothing
--     width(text)                  its places on a screen
--     renamed(code, source, name)  a function whose variables NAME0001 and so on are called `name`
--
-- The rules are written down here a second time, from the descriptions of Unicode, and by another
-- way than in the library.

local hostile = {}

-- ==== Names ==========================================================================

local fixed = {
  -- commands of terminals
  "\27[31mred\27[0m", "\27]0;title\7", "\27]8;;http://x\27\\link", "\27P1$r\27\\", "\x9B2J",
  "\xC2\x9B2J", "a\bb\rc\nd\te\fg\vh", "\127", "nul\0nul", "\0", "\n",
  "\r\n  10 MB  10 MB  1  fake  row",
  -- bytes that are no UTF-8, or not all of a character
  "\xFF\xFE", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
  "\xC3", "\u{7FFFFFFF}", "ok\u{20AC}\xE2\x82",
  -- what turns the text around, or is not seen
  "\u{202E}gnp.exe", "\u{2066}iso\u{2069}", "\u{200F}", "\u{61C}", "us\u{200B}er", "\u{FEFF}bom",
  "a\u{2028}b\u{2029}c", "soft\u{AD}hyphen", "\u{A0}", "\u{3000}", "\u{3164}", "tag\u{E0041}",
  "\u{FFFE}\u{FFFF}\u{10FFFF}\u{FDD0}", "\u{FFF9}x\u{FFFB}",
  -- wide, and combined
  "\u{65E5}\u{672C}\u{8A9E}", "\u{1F98A}\u{1F98A}", "e\u{301}\u{323}", "\u{301}",
  "\u{FF21}\u{FF22}", "\u{1F468}\u{200D}\u{1F469}", "\u{2764}\u{FE0F}",
  "Z\u{300}\u{301}\u{302}\u{303}\u{304}",
  -- what pages, XML, DOT, JSON, printf, shells and Lua take for more than text
  "</script><script>", "<!--", "]]>", "&amp;&#60;&lt;", "<b>x</b>", 'x" URL="javascript:1',
  "\\N\\G\\l", "{a|<p>b}", "\\", "\\\\", "\\\"", '"', "'", "''", '"];o9[label="', "<>",
  "%s%n%1000d", "$(id)", "`id`", "\\u0000", "\\x1B", "\\u{202E}", "null", "-1.5", "digraph",
  "// x", "/* x */", "--json", "-", "--", "[[x]]", "a.b[1]", "*", "[*]", ".next*", "...", "x...",
  "nil", "end", "<img src=x onerror=alert(1)>", "<svg onload=alert(2)>", "javascript:alert(3)",
  "</title></style><script>alert(4)</script>", "{{alert(5)}}", "${alert(6)}", "__proto__",
  "constructor", "hasOwnProperty", "#/object?at=root&in=9", "url(http://x/)", "http://x/?a=b&c#d",
  -- what stands in paths, and in names of classes
  "a of b", " of ", 'key "x" of _G', "function f @x:1", "@x.lua:1", "_G.x", "registry[1]",
  "{id, name}", "(x)", "metatable of _G", "main thread", "local x in y", "upvalue a of b",
  "array of x", " ", "  two  ", "a  b", "", "value of x in weak table y",
}

local pieces = {
  "a", "b", "Z", "_", "0", " ", " of ", ".", "[", "]", "{", "}", "(", ")", "|", '"', "'", "\\",
  "\\n", "<", ">", "&", "/", "--", "%", "*", "@", ":", "=", "$", "`", "~", "#", "\27[", "\27]",
  "\7", "\b", "\n", "\r", "\t", "\0", "\127", "\x80", "\x9B", "\xC2", "\xE2\x82", "\xF0\x9F\xA6",
  "\xFF", "\u{85}", "\u{9B}", "\u{A0}", "\u{E9}", "\u{301}", "\u{200B}", "\u{200E}", "\u{202E}",
  "\u{2028}", "\u{2066}", "\u{FEFF}", "\u{65E5}", "\u{AC00}", "\u{1F98A}", "\u{FF21}", "\u{E0001}",
  "\u{FFFF}",
}

---@param seed integer
---@param n integer
---@return string[]
function hostile.names(seed, n)
  math.randomseed(seed)
  local list, known = {}, {}
  local function add(name)
    if not known[name] then list[#list + 1] = name end
    known[name] = true
  end
  for _, name in ipairs(fixed) do add(name) end
  while #list < #fixed + n do
    local words = {}
    for i = 1, math.random(1, 8) do words[i] = pieces[math.random(#pieces)] end
    add(table.concat(words))
  end
  return list
end

-- A string as string.dump writes it: its length and 1, in base 128, then its bytes.
local function dumped(text)
  local n = #text + 1
  local size = string.char(n & 0x7F | 0x80)
  while n >= 0x80 do
    n = n >> 7
    size = string.char(n & 0x7F) .. size
  end
  return size .. text
end

-- The grammar of Lua has identifiers for variables; a binary chunk may have any string.
---@param code string
---@param source string
---@param name string
---@return function
function hostile.renamed(code, source, name)
  local to = dumped(name):gsub("%%", "%%%%")
  local chunk = string.dump(load(code, source)):gsub("\x89NAME%d%d%d%d", to)
  return assert(load(chunk, source, "b"))
end

--- The text of a program that takes the snapshots a, b, c and cut. It has each name as a class, as
--- a key of a table, _G and package.loaded, in a string, as the name of a source, of a local
--- variable, an upvalue and functions, in a coroutine, as a mark:
---
---     _G -.H-> {} -[name]-> name (class) -[name]-> _G.TARGET
---     _G -.C-> coroutines, each with a local variable `name` and an upvalue `name` of the function
---              `name` from the source `name`
---@param seed integer
---@param n integer
---@return string
function hostile.heap(seed, n)
  return ("local SEED, N = %d, %d"):format(seed, n) .. [[
    local heap, hostile = require "heap", require "tests.common.hostile"
    local code = "local NAME0001 = {...} local function NAME0002() return NAME0001 end "
      .. "coroutine.yield(NAME0002, {f = NAME0002})"
    heap.snapshot "a"
    H, S, F, M, C, T, TARGET = {}, {}, {}, {}, {}, {}, {}
    for i, name in ipairs(hostile.names(SEED, N)) do
      local class = setmetatable({[name] = TARGET}, {__name = name})
      local sign = ("@= "):sub(i % 3 + 1, i % 3 + 1)
      H[name] = class
      if _G[name] == nil then _G[name] = {class} end
      package.loaded[name] = package.loaded[name] or {}
      M[i] = setmetatable({}, package.loaded[name])
      S[i] = name:rep(20)
      C[i] = coroutine.create(hostile.renamed(code, sign .. name, name))
      F[i] = select(2, coroutine.resume(C[i]))
      T[i] = load(('local t = {} t[%q] = function() end return t'):format(name), "@x.lua")()
      if i % 40 == 0 then heap.mark(name) end
    end
    heap.snapshot "b"
    heap.snapshot "c"
    heap.snapshot("cut", {strings = 5})
  ]]
end

-- ==== Text ===========================================================================

local function is_in(c, ranges)
  for i = 1, #ranges, 2 do
    if c >= ranges[i] and c <= ranges[i + 1] then return true end
  end
  return false
end

-- Controls, separators of lines and paragraphs, blanks, direction marks, joiners, variation
-- selectors, fillers, tags and what is never a character.
local hidden = {
  0, 0x1F, 0x7F, 0xA0, 0xAD, 0xAD, 0x34F, 0x34F, 0x61C, 0x61C, 0x115F, 0x1160, 0x1680, 0x1680,
  0x17B4, 0x17B5, 0x180B, 0x180F, 0x2000, 0x200F, 0x2028, 0x202F, 0x205F, 0x206F, 0x2800, 0x2800,
  0x3000, 0x3000, 0x3164, 0x3164, 0xFDD0, 0xFDEF, 0xFE00, 0xFE0F, 0xFEFF, 0xFEFF, 0xFFA0, 0xFFA0,
  0xFFF0, 0xFFFB, 0xFFFE, 0xFFFF, 0x1BCA0, 0x1BCA3, 0x1D173, 0x1D17A, 0xE0000, 0xE0FFF, 0x10FFFE,
  0x10FFFF,
}

local letters = "abtnvfr" -- of the characters 7 to 13

local function escape(c)
  if c >= 7 and c <= 13 then return "\\" .. letters:sub(c - 6, c - 6) end
  return (c < 0x80 and "\\x%02X" or "\\u{%X}"):format(c)
end

---@param bytes string
---@return string
function hostile.text(bytes)
  local out, at = {}, 1
  while at <= #bytes do
    local whole, c = pcall(utf8.codepoint, bytes, at)
    if not whole then
      out[#out + 1] = ("\\x%02X"):format(bytes:byte(at))
      at = at + 1
    else
      out[#out + 1] = is_in(c, hidden) and escape(c) or utf8.char(c)
      at = at + #utf8.char(c)
    end
  end
  return table.concat(out)
end

---@param text string
---@return string?
function hostile.faults(text)
  local length, at = utf8.len(text)
  if not length then return ("no UTF-8: %q"):format(text:sub(at - 20, at + 20)) end
  for from, part in text:gmatch("()([^ -~\n]+)") do -- most of it is ASCII
    for _, c in utf8.codes(part) do
      if is_in(c, hidden) then return ("U+%04X: %q"):format(c, text:sub(from - 20, from + 20)) end
    end
  end
end

-- Of the characters above, those that stand over another, and those two places wide.
local combining = {0x300, 0x36F}
local wide = {0x1100, 0x115F, 0x2E80, 0xA4CF, 0xAC00, 0xD7A3, 0xFF00, 0xFF60, 0x1F300, 0x1F9FF}

---@param text string
---@return integer
function hostile.width(text)
  local width = #text
  for part in text:gmatch("[^\0-\127]+") do
    width = width - #part
    for _, c in utf8.codes(part) do
      width = width + (is_in(c, combining) and 0 or is_in(c, wide) and 2 or 1)
    end
  end
  return width
end

-- ====================================================================================

return hostile
