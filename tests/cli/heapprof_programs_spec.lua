-- heapprof_programs_spec.lua - heapprof in the manner of other tools, of programs of the kind that
-- those have for examples, whose figures follow from their text; and of one that runs meanwhile.
--
-- Sizes are those of Lua on 64 bits: in 5.4 a table has 56 bytes, 16 for each slot of its array and
-- 24 for each of its hash; a long string has 25 and its length. In 5.5 an array that grows is a new
-- block, and the old one is freed. Each program runs once before it is tracked, so that stacks and
-- lists of calls have grown, and without a collector.

local cjson = require "cjson"
local support = require "tests.common.support"

local is_54 = _VERSION == "Lua 5.4"
local table_bytes = is_54 and 56 or 48
local string_bytes = is_54 and 25 or 33
local function array_bytes(n) return is_54 and 16 * n or 9 * n + 4 end

-- `work` is a chunk that returns a function; line 1 is its first.
local function track(work, options)
  local _, dir = support.lua(([[%s
    local heap = require "heap"
    collectgarbage "stop"
    work()
    heap.track{file = "run.prof", stacks = true%s}
    local kept = work()
    heap.untrack()
    return kept
  ]]):format(work, options or ""), {name = "app.lua"})
  return function(mode) return support.answer("heapprof " .. mode .. " run.prof", dir) end
end

local function contains(text, part)
  assert.truthy(text:find(part, 1, true), text)
end

describe("the figures of", function()
  -- A tree of depth 6: 2^6 leaves, and 2^6 - 1 tables with two slots.
  it("binary trees", function()
    local heapprof = track [[
local function bottom_up(depth)
  if depth == 0 then return {} end
  local left, right = bottom_up(depth - 1), bottom_up(depth - 1)
  return {left, right}
end
local function work()
  local tree = bottom_up(6)
  return tree
end]]
    local leaves, inner = 64 * table_bytes, 63 * (table_bytes + array_bytes(2))
    assert.equal(([[
ALLOCATIONS
@app.lua:4: 126 events	+%dB	-0B
@app.lua:2: 64 events	+%dB	-0B

REALLOCATIONS

DEALLOCATIONS

HEAP SUMMARY:
@app.lua:4 holds %dB: 126 allocs, 0 frees
@app.lua:2 holds %dB: 64 allocs, 0 frees

]]):format(inner, leaves, inner, leaves), heapprof "--memprof")
    local types = heapprof "--luamemprofiler"
    contains(types, ("Number of Mallocs=190\tTotal Malloc Size=%d\n"):format(leaves + inner))
    contains(types, "| Table=127 | Other=63\n")
    contains(types, ("Maximum Memory Used=%d bytes\n"):format(leaves + inner))
    local flat = heapprof "--lmprof"
    assert.matches(("\n100%%.00 +%d B +%d B .- bottom_up %%(app.lua:1%%)\n"):format(
      leaves + inner, leaves + inner), flat)
    assert.matches(("\n +0%%.00 +0 B +%d B .- work %%(app.lua:6%%)\n"):format(leaves + inner), flat)
  end)

  -- 64 rows with one entry each in their hash; the array of rows grows from 1 slot to 64.
  it("a sparse matrix", function()
    local heapprof = track [[
local function work()
  local rows = {}
  for i = 1, 64 do
    local row = {[i * 1000] = i}
    rows[i] = row
  end
  return rows
end]]
    local rows, grown = 64 * (table_bytes + 24), array_bytes(1)
    for i = 1, 6 do grown = grown + array_bytes(2 ^ i) end
    local last, freed = array_bytes(64), grown - array_bytes(64)
    local report = heapprof "--memprof"
    contains(report, ("ALLOCATIONS\n@app.lua:4: 128 events\t+%dB\t-0B\n"):format(rows))
    contains(report, ("\n@app.lua:2: 1 events\t+%dB\t-0B\n"):format(table_bytes))
    if is_54 then
      contains(report, "\n@app.lua:5: 1 events\t+16B\t-0B\n\nREALLOCATIONS\n")
      contains(report, ("\n@app.lua:5: 6 events\t+%dB\t-%dB\n\tOverrides:\n\t\t@app.lua:5\n\n\n" ..
        "DEALLOCATIONS\n\nHEAP"):format(grown - 16, freed))
      contains(heapprof "--luamemprofiler", "Number of Reallocs=6\tTotal Realloc Size=1008\n")
    else
      contains(report, ("\n@app.lua:5: 7 events\t+%dB\t-0B\n"):format(grown))
      contains(report, ("\nREALLOCATIONS\n\nDEALLOCATIONS\nINTERNAL: 6 events\t+0B\t-%dB\n" ..
        "\tOverrides:\n\t\t@app.lua:5\n\n\nHEAP"):format(freed))
    end
    contains(report, ([[
HEAP SUMMARY:
@app.lua:4 holds %dB: 128 allocs, 0 frees
@app.lua:5 holds %dB: 7 allocs, 6 frees
@app.lua:2 holds %dB: 1 allocs, 0 frees

]]):format(rows, last, table_bytes))
    local all = rows + (is_54 and last or grown) + table_bytes
    contains(heapprof "--lmprof", ("\n100.00    %d B     %d B"):format(all, all))
  end)

  -- Six queens have four solutions; each is a table with six slots.
  it("n queens", function()
    local heapprof = track [[
local function is_safe(board, row, column)
  for i = 1, row - 1 do
    local other = board[i]
    if other == column or other - column == row - i or column - other == row - i then
      return false
    end
  end
  return true
end
local function keep(board) return {table.unpack(board, 1, 6)} end
local function place(board, row, found)
  if row > 6 then found[#found + 1] = keep(board) return end
  for column = 1, 6 do
    if is_safe(board, row, column) then
      board[row] = column
      place(board, row + 1, found)
    end
  end
end
local board = {0, 0, 0, 0, 0, 0}
local function work()
  local found = {}
  place(board, 1, found)
  return found
end]]
    local report = heapprof "--memprof"
    local kept, found = 4 * (table_bytes + array_bytes(6)), array_bytes(4)
    contains(report, ("\n@app.lua:10: 8 events\t+%dB\t-0B\n"):format(kept))
    contains(report, is_54
      and "\n@app.lua:12: 2 events\t+96B\t-48B\n\tOverrides:\n\t\t@app.lua:12\n"
      or "\n@app.lua:12: 3 events\t+75B\t-0B\n")
    contains(report, ("@app.lua:12 holds %dB: 3 allocs, 2 frees\n"):format(found))
    contains(heapprof "--luamemprofiler", ("| Table=5 | Other=%d\n"):format(is_54 and 5 or 7))
    found = is_54 and found or 75
    local graph = heapprof "--lmprof"
    local function shows(self, all, name)
      assert.matches(("\n +%%d+%%.%%d+ +%d B +%d B .- %s\n"):format(self, all, name), graph)
    end
    shows(kept, kept, "keep %(app.lua:10%)")
    shows(found, kept + found, "place %(app.lua:11%)")
    shows(table_bytes, kept + found + table_bytes, "work %(app.lua:21%)")
  end)

  -- 50 strings of 100 bytes by a C function, too long to be shared; 25 of 101 bytes out of them.
  it("a string filter", function()
    local heapprof = track [[
local function work()
  local last
  for i = 1, 50 do
    local s = ("x"):rep(100)
    if i % 2 == 0 then last = s .. "!" end
  end
  return last
end]]
    local made, longer = 50 * (string_bytes + 100), 25 * (string_bytes + 101)
    contains(heapprof "--memprof", ("ALLOCATIONS\n@app.lua:4: 50 events\t+%dB\t-0B\n" ..
      "@app.lua:5: 25 events\t+%dB\t-0B\n\n"):format(made, longer))
    contains(heapprof "--luamemprofiler", "  String=75 | Function=0 | ")
    assert.matches(("\n +66%%.[45]%%d +%d B .- string.rep %%[C%%]\n +33%%.5%%d +%d B +%s "):format(
      made, longer, is_54 and "9400 B" or "9%.77 KB"), heapprof "--lmprof")
    contains(heapprof "--blueprint", ('label="string.rep [C]\\n%.1f KB, '):format(made / 1024))
  end)

  -- d calls itself 10 times by tail calls, and makes a table each time but the last; limit always
  -- returns 10. Both are called twice.
  it("tail calls, and a function that is constant", function()
    local heapprof = track([[
local function limit() return 10 end
local function d(n)
  if n == 0 then return end
  local a = {}
  return d(n - 1, a)
end
local function work()
  for _ = 1, 2 do d(limit()) end
end]], ", time = true")
    local all = 20 * table_bytes
    assert.matches(("\n100%%.00 +%d B +%d B +22 +%d B +%d B   d %%(app.lua:2%%)\n"):format(
      all, all, all // 22, all // 22), heapprof "--lmprof")
    contains(heapprof "--lmprof", "(...tail calls...)")
    local picture = heapprof "--blueprint"
    assert.matches('label="limit %(app.lua:1%)\\n[^\n]*2 calls, [^\n]*fillcolor="#ffe066"%];',
                   picture)
    assert.equal(1, select(2, picture:gsub('"#ffe066"', "")))
    contains(picture, "style=dashed")
  end)
end)

-- It has itself looked at, and allocates until that is done.
local server = [[
  local heap = require "heap"
  heap.track{live = true}
  local kept = {}
  for i = 1, 100 do kept[i] = {} end
  local pid = io.open("/proc/self/stat"):read("n")
  local command = "until heapprof --live-of %d %s >>out 2>/dev/null; do :; done;"
  os.execute(("(%s %s touch done) &"):format(command:format(pid, "--json"),
                                             command:format(pid, "")))
  local done
  repeat
    local garbage = {}
    done = io.open("done")
  until done and garbage
  print(pid)
]]

describe("heapprof --live-of", function()
  it("shows a program that runs, and says when it has ended", function()
    local pid, dir = support.lua(server, {name = "server.lua"})
    local json, text = support.read_file(dir .. "/out"):match("^(%b{})\n(.*)$")
    local page, constant = cjson.decode(json), nil
    assert.matches("server.lua", page.program)
    for _, site in ipairs(page.sites) do
      if site.site:find("@server.lua:4 ", 1, true) then constant = site end
    end
    local bytes = 100 * table_bytes + array_bytes(128)
    assert.equal(bytes, constant.live_bytes)
    assert.equal(page.live_bytes, page.allocated_bytes - page.freed_bytes)
    assert.is_true(page.peak_bytes >= page.live_bytes)
    assert.matches("live in [%d,]+ blocks, allocated since tracking began; at most ", text)
    assert.matches(("\n *%.1f KB .-@server%%.lua:4 in main chunk\n"):format(bytes / 1024), text)
    pid = pid:match("%d+")
    local _, err = support.run("heapprof --live-of " .. pid)
    assert.equal(("heapprof: there is no process %s\n"):format(pid), err)
  end)
end)
