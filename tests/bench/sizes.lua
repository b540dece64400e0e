-- sizes.lua - a benchmark of heaps of several sizes: its directory, its commands, its table.
--
--     local sizes = require "tests.bench.sizes"
--     local function measure(millions) return {s = sizes.run(build .. "/bin/heaptop", ...)} end
--     sizes.main(measure, {{"heaptop, s", function(m) return m.s end, "%.2f", 5}})
--
-- Prints a Markdown table with a column for each size of the command line: BUILD MILLIONS ...
-- Exits 1 when a target is missed, and 2 when something failed.

local bench = require "lua_bench"

local sizes = {}

-- For all that is written, until main() ends.
sizes.dir = os.tmpname()
os.remove(sizes.dir)
assert(os.execute("mkdir " .. sizes.dir))

-- What the last command printed.
sizes.out = sizes.dir .. "/out"

function sizes.progress(...) io.stderr:write("bench: ", string.format(...), "\n") end

--- Runs a command, which must exit 0.
---@param ... string
---@return number seconds that passed
---@return integer peak_bytes
---@return number processor_seconds
function sizes.run(...)
  local seconds, peak_bytes, code, processor_seconds = bench.run(sizes.out, ...)
  if code ~= 0 then error(("%s: exit code %d"):format(table.concat({...}, " "), code), 0) end
  return seconds, peak_bytes, processor_seconds
end

local missed = 0

--- One figure, marked when it is above the target.
---@param format string
---@param value number
---@param target? number
---@return string
function sizes.figure(format, value, target)
  local text = format:format(value)
  if target and value > target then
    missed = missed + 1
    return "**" .. text .. "** (!)"
  end
  return text
end

--- A row of a Markdown table.
---@param cells string[]
function sizes.print_row(cells) print("| " .. table.concat(cells, " | ") .. " |") end

local print_row = sizes.print_row

local function print_table(measured, rows)
  local head, line = {"what"}, {"---"}
  for i, m in ipairs(measured) do
    head[i + 1], line[i + 1] = m.millions .. " M", "---:"
  end
  head[#head + 1], line[#line + 1] = "at most", "---:"
  print_row(head)
  print_row(line)
  for _, row in ipairs(rows) do
    local what, value, format, target = table.unpack(row)
    local cells = {what}
    for i, m in ipairs(measured) do
      cells[i + 1] = format and sizes.figure(format, value(m), target) or value(m)
    end
    cells[#cells + 1] = target and (format or "%d"):format(target) or ""
    print_row(cells)
  end
end

--- Calls measure(), removes what was written, and exits.
---@param measure fun()
function sizes.finish(measure)
  local ok, message = pcall(measure)
  os.execute("rm -rf " .. sizes.dir)
  if not ok then
    sizes.progress("%s", message)
    os.exit(2)
  end
  if missed > 0 then
    print(("\n(!) %d missed"):format(missed))
    os.exit(1)
  end
end

--- Measures each size, prints the table, and exits. A row is what it is of, the figure of one size,
--- its format and its target; without a format the figure is text already.
---@param measure fun(millions: string): table
---@param rows table[]
function sizes.main(measure, rows)
  sizes.finish(function()
    local measured = {}
    for i = 2, #arg do
      measured[i - 1] = measure(arg[i])
      measured[i - 1].millions = arg[i]
    end
    print_table(measured, rows)
  end)
end

return sizes
