-- heapprof_programs_spec.lua - heapprof in the manner of other tools, of programs of the kind that
-- those have for examples, whose figures follow from their text; and of one that runs meanwhile.
--
-- Sizes are those of Lua 5.4 on 64 bits: a table has 56 bytes, 16 for each slot of its array and 24
-- for each of its hash; a string has 25 and its length. Each program runs once before it is
-- tracked, so that stacks and lists of calls have grown, and without a collector.

local cjson = require "cjson"
local support = require "tests.common.support"

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
    local leaves, inner = 64 * 56, 63 * (56 + 2 * 16)
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
    assert.equal(([[
ALLOCATIONS
@app.lua:4: 128 events	+%dB	-0B
@app.lua:2: 1 events	+56B	-0B
@app.lua:5: 1 events	+16B	-0B

REALLOCATIONS
@app.lua:5: 6 events	+%dB	-%dB
	Overrides:
		@app.lua:5


DEALLOCATIONS

HEAP SUMMARY:
@app.lua:4 holds %dB: 128 allocs, 0 frees
@app.lua:5 holds 1024B: 7 allocs, 6 frees
@app.lua:2 holds 56B: 1 allocs, 0 frees

]]):format(64 * (56 + 24), 16 * (2 + 4 + 8 + 16 + 32 + 64), 16 * (1 + 2 + 4 + 8 + 16 + 32),
           64 * (56 + 24)), heapprof "--memprof")
    contains(heapprof "--luamemprofiler", ("Number of Reallocs=6\tTotal Realloc Size=%d\n"):format(
      16 * 63))
    contains(heapprof "--lmprof", ("\n100.00    %d B     %d B"):format(64 * 80 + 56 + 16 * 64,
                                                                       64 * 80 + 56 + 16 * 64))
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
    contains(report, ("\n@app.lua:10: 8 events\t+%dB\t-0B\n"):format(4 * (56 + 6 * 16)))
    contains(report, "\n@app.lua:12: 2 events\t+96B\t-48B\n\tOverrides:\n\t\t@app.lua:12\n")
    contains(report, "@app.lua:12 holds 64B: 3 allocs, 2 frees\n")
    contains(heapprof "--luamemprofiler", "| Table=5 | Other=5\n")
    local graph = heapprof "--lmprof"
    assert.matches("\n +%d+%.%d+ +608 B +608 B .- keep %(app.lua:10%)\n", graph)
    assert.matches("\n +%d+%.%d+ +64 B +672 B .- place %(app.lua:11%)\n", graph)
    assert.matches("\n +%d+%.%d+ +56 B +728 B .- work %(app.lua:21%)\n", graph)
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
    contains(heapprof "--memprof", ("ALLOCATIONS\n@app.lua:4: 50 events\t+%dB\t-0B\n" ..
      "@app.lua:5: 25 events\t+%dB\t-0B\n\n"):format(50 * 125, 25 * 126))
    contains(heapprof "--luamemprofiler", "  String=75 | Function=0 | ")
    assert.matches(("\n +66%%.49 +%d B +%d B .- string.rep %%[C%%]\n +33%%.51 +%d B +%d B"):format(
      50 * 125, 50 * 125, 25 * 126, 75 * 125 + 25), heapprof "--lmprof")
    contains(heapprof "--blueprint", 'label="string.rep [C]\\n6.1 KB, 6.1 KB in all"')
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
    assert.matches("\n100%.00 +1120 B +1120 B +22 +50 B +50 B   d %(app.lua:2%)\n",
                   heapprof "--lmprof")
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
    assert.equal(100 * 56 + 128 * 16, constant.live_bytes)
    assert.equal(page.live_bytes, page.allocated_bytes - page.freed_bytes)
    assert.is_true(page.peak_bytes >= page.live_bytes)
    assert.matches("live in [%d,]+ blocks, allocated since tracking began; at most ", text)
    assert.matches("\n *7%.5 KB .-@server%.lua:4 in main chunk\n", text)
    pid = pid:match("%d+")
    local _, err = support.run("heapprof --live-of " .. pid)
    assert.equal(("heapprof: there is no process %s\n"):format(pid), err)
  end)
end)
