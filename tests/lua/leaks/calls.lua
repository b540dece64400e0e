-- calls.lua - many small functions from few lines.
--
-- A corpus is a list of groups; a group has a setup, which is Lua code that loads what its calls
-- need, and calls, one a line: an expression or a statement. $(a | b) stands for each of what is
-- between the bars, so that `f.$(min | max)($(1 | 2))` is four calls. Each line becomes a function
-- of its own: a call of real code with sensible arguments, which it is no matter if it fails.

local calls = {}

-- All lines that `line` stands for.
local function expand(line, into)
  local before, choices, after = line:match("^(.-)%$(%b())(.*)$")
  if not before then
    into[#into + 1] = line
    return into
  end
  for choice in (choices:sub(2, -2) .. " | "):gmatch("%s*(.-) | ") do
    expand(before .. choice:match("^(.-)%s*$") .. after, into)
  end
  return into
end

---The lines of a group, each of them one call.
---@param group {setup: string, calls: string}
---@return string[]
function calls.lines(group)
  local lines = {}
  for text in group.calls:gmatch("[^\n]+") do
    local line = text:match("^%s*(.-)%s*$")
    if line ~= "" then expand(line, lines) end
  end
  return lines
end

---The functions of a group, in the order of its lines.
---@param group {setup: string, calls: string}
---@return function[]
function calls.functions(group)
  local parts = {group.setup, "\nreturn {\n"}
  for _, line in ipairs(calls.lines(group)) do
    local body = load(group.setup .. "\nreturn " .. line) and "return " .. line or line
    parts[#parts + 1] = "function() " .. body .. " end,\n"
  end
  parts[#parts + 1] = "}"
  return assert(load(table.concat(parts), "=calls"))()
end

return calls
