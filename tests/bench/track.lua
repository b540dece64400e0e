-- track.lua - the benchmark of tracking: what heap.track costs programs of several sorts.
--
--     lua5.4 tests/bench/track.lua BUILD [ROUNDS]      (the last table of make bench)
--
-- Prints a Markdown table: the processor time of the whole process, divided by that of the same
-- program without luaheap, and the same of its peak memory. All of one row are run in turns, so
-- that a machine that is slow for a while is slow for all of them, and the median counts. A program
-- is a second of work beside 10 MB that stay.

local bench = require "lua_bench"

local build, rounds = assert(arg[1], "BUILD"), tonumber(arg[2] or 5)

local programs = {
  {"binary trees", [[
    local function make(d) if d == 0 then return {} end return {make(d - 1), make(d - 1)} end
    local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end
    for _ = 1, 250 do assert(count(make(13)) == 2 ^ 14 - 1) end
  ]]},
  {"strings", [[
    local t, n = {}, 0
    for i = 1, 1500000 do
      local s = "key" .. i % 5000 .. ":" .. i
      t[i % 4096] = s
      n = n + #s:sub(2, 9):upper()
    end
  ]]},
  {"closures", [[
    local function counter() local n = 0 return function() n = n + 1 return n end end
    local t = {}
    for i = 1, 6000000 do local c = counter() c() t[i % 1000] = c end
  ]]},
  {"coroutines", [[
    for _ = 1, 1500000 do
      local f = coroutine.wrap(function(a) local b = coroutine.yield({a}) return {b} end)
      f(1) f(2)
    end
  ]]},
  {"JSON", [[
    local decode
    local function value(s, i)
      local c = s:sub(i, i)
      if c == "{" or c == "[" then
        local t, key = {}, nil
        i = i + 1
        while not s:find("^[%]}]", i) do
          if c == "{" then key, i = s:match('^,?"([^"]*)":()', i) else i = s:match("^,?()", i) end
          t[key or #t + 1], i = value(s, i)
        end
        return t, i + 1
      end
      local text, j = s:match('^"([^"]*)"()', i)
      if text then return text, j end
      text, j = s:match("^([%w.+-]+)()", i)
      return tonumber(text) or text == "true", j
    end
    local function encode(v, out)
      if type(v) ~= "table" then
        out[#out + 1] = type(v) == "string" and '"' .. v .. '"' or tostring(v)
      elseif #v > 0 then
        for i, x in ipairs(v) do out[#out + 1] = i > 1 and "," or "[" encode(x, out) end
        out[#out + 1] = "]"
      else
        local mark = "{"
        for k, x in pairs(v) do
          out[#out + 1] = mark .. ("%q:"):format(k)
          encode(x, out)
          mark = ","
        end
        out[#out + 1] = "}"
      end
      return out
    end
    local document = {}
    for i = 1, 200 do
      document[i] = {id = i, name = "user" .. i, tags = {"a", "b" .. i}, position = {x = i, y = -i}}
    end
    for _ = 1, 300 do document = value(table.concat(encode(document, {})), 1) end
  ]]},
  {"luacheck on its own sources", [[
    package.path = package.path .. ";/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua"
    local found, luacheck = pcall(require, "luacheck")
    if not found then os.exit(3) end
    local sources = {}
    for _, name in ipairs{"parser", "lexer", "format", "check_state", "main", "options", "utils",
                          "runner", "stages/resolve_locals", "stages/linearize"} do
      local path = package.searchpath("luacheck." .. name, package.path, ".")
      local file = path and io.open(path)
      if file then sources[#sources + 1] = file:read("a") file:close() end
    end
    for _ = 1, 2 do luacheck.check_strings(sources, {}) end
  ]]},
}

local keeps = "local keep = {} for i = 1, 100000 do keep[i] = {i} end\n"
local ways = {
  {"plain"},
  {"site", "{}"},
  {"stack", "{stacks = true}"},
  {"stack, profile", "{stacks = true, file = %q}"},
  {"stack, host's blocks", "{stacks = true, pool = false}"},
  {"sampled", "{sample = '512K'}"},
}

local scratch = os.tmpname()
os.remove(scratch)

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

-- Processor seconds and peak bytes; nil: it cannot be run here.
local function run(code, options)
  local start = options and "assert(require 'heap'.track" .. options:format(scratch) .. ")\n" or ""
  local file = assert(io.open(scratch .. ".lua", "w"))
  file:write("package.cpath = '", build, "/?.so;' .. package.cpath\n", start, keeps, code)
  file:close()
  local _, peak, status, seconds = bench.run("/dev/null", os.getenv("LUA") or "lua5.4",
                                             scratch .. ".lua")
  if status == 3 then return nil end
  assert(status == 0, "a program has failed")
  return seconds, peak
end

-- Ratios of each way to the first: of times and of peaks; nil: it cannot be run here.
local function compare(code)
  local seconds, peaks = {}, {}
  for i = 1, #ways do seconds[i], peaks[i] = {}, {} end
  for _ = 1, rounds do
    for i, way in ipairs(ways) do
      local s, peak = run(code, way[2])
      if not s then return nil end
      table.insert(seconds[i], s)
      table.insert(peaks[i], peak)
    end
  end
  local time, memory, plain_s, plain_peak = {}, {}, median(seconds[1]), median(peaks[1])
  for i = 1, #ways do
    time[i], memory[i] = median(seconds[i]) / plain_s, median(peaks[i]) / plain_peak
  end
  return time, memory, plain_s
end

local head, line = "| tracked: processor time |", "| --- |"
for _, way in ipairs(ways) do
  head, line = head .. " " .. way[1] .. " |", line .. " ---: |"
end
print(head .. " peak memory with stacks |")
print(line .. " ---: |")
for _, program in ipairs(programs) do
  local time, memory, plain_s = compare(program[2])
  if time then
    local row = ("| %s | %.2f s |"):format(program[1], plain_s)
    for i = 2, #ways do row = row .. (" %.2f x |"):format(time[i]) end
    print(row .. (" %.2f x |"):format(memory[3]))
  end
end
print("| at most |  | 1.00 x | 1.00 x |  | 1.10 x | 1.02 x | 1.10 x |")
os.remove(scratch)
os.remove(scratch .. ".lua")
