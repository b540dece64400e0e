-- heapprof_tools_spec.lua - heapprof's reports in the manner of other tools: their layout, word by
-- word, of a small profile whose figures are derived beside it; their figures, of random profiles,
-- held against a count that goes from block to block; and what a profile may have in it that is
-- strange.

local cjson = require "cjson"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

local dir, file
setup(function()
  dir = support.tmpdir()
  file = dir .. "/run.prof"
end)

local function heapprof(arguments, p)
  if p then p:write(file) end
  return support.run(("heapprof %s %s"):format(arguments, file))
end

local function answer(arguments, p)
  local out, err, code = heapprof(arguments, p)
  assert.equal("", err)
  assert.equal(0, code)
  return out
end

local SECOND = 1000000000

-- {=== A small profile ================================================================
--
--     local t = {1, 2}                   -- 3: a table of 56 bytes, and its array of 32
--     for i = 3, 8 do t[i] = i end       -- 5: the array grows to 64 bytes, and to 128
--     local s = ("x"):rep(1000)          -- 7, in f: a string of 1,025 bytes; it is freed

local function small()
  local p = profiles.new {start_bytes = 20000}
  local main3 = p:stack(nil, {source = "@app.lua", name = "", line = 3, maker = "table"})
  local main5 = p:stack(nil, {source = "@app.lua", name = "", line = 5, maker = "growth"})
  local main9 = p:stack(nil, {source = "@app.lua", name = "", line = 9, maker = "call"})
  local f7 = p:stack(main9, {source = "@app.lua", name = "f", first_line = 6, line = 7, maker = "C",
                             c = "string.rep"})
  p:new("table", main3, 56)
  local array = p:new("part", main3, 32)
  p:tick(SECOND * 3 // 2)
  p:resize(array, main5, 64)
  p:resize(array, main5, 128)
  p:tick(SECOND)
  local string = p:new("string", f7, 1025)
  p:tick(SECOND)
  p:free(string)
  p:free_old(100)
  p:tick(SECOND // 2)
  return p
end

describe("heapprof --memprof", function()
  it("has the layout of memprof", function()
    assert.equal([[
ALLOCATIONS
@app.lua:3: 2 events	+88B	-0B
@app.lua:7: 1 events	+1025B	-0B

REALLOCATIONS
@app.lua:5: 2 events	+192B	-96B
	Overrides:
		@app.lua:3
		@app.lua:5


DEALLOCATIONS
INTERNAL: 2 events	+0B	-1125B
	Overrides:
		@app.lua:7


HEAP SUMMARY:
@app.lua:5 holds 128B: 2 allocs, 1 frees
@app.lua:3 holds 56B: 2 allocs, 1 frees

]], answer("--memprof", small()))
  end)

  it("tells what was held in between, where something changed", function()
    assert.equal([[
HEAP SNAPSHOT 1 s:
@app.lua:3 holds 88B: 2 allocs, 0 frees

HEAP SNAPSHOT 2 s:
@app.lua:5 holds 128B: 2 allocs, 1 frees
@app.lua:3 holds 56B: 2 allocs, 1 frees

HEAP SNAPSHOT 3 s:
@app.lua:7 holds 1025B: 1 allocs, 0 frees
@app.lua:5 holds 128B: 2 allocs, 1 frees
@app.lua:3 holds 56B: 2 allocs, 1 frees

HEAP SUMMARY:
@app.lua:5 holds 128B: 2 allocs, 1 frees
@app.lua:3 holds 56B: 2 allocs, 1 frees

]], answer("--memprof --leak-only --every 1", small()))
    assert.matches("^HEAP SNAPSHOT 0%.500 s:", answer("--memprof --leak-only --every 0.5"))
  end)
end)

describe("heapprof --luamemprofiler", function()
  it("has the layout of luamemprofiler, without its window", function()
    assert.equal([[
===================================================================
Number of Mallocs=3	Total Malloc Size=1113
Number of Reallocs=2	Total Realloc Size=96
Number of Frees=1	Total Free Size=1025

Number of Allocs of Each Type:
  String=1 | Function=0 | Userdata=0 | Thread=0 | Table=1 | Other=1

Maximum Memory Used=1209 bytes
===================================================================
]], answer("--luamemprofiler", small()))
  end)
end)

describe("heapprof --plot", function()
  it("begins with the answer, and has a chart and a row for each site", function()
    local out = answer("--plot --bytes", small())
    assert.equal([[
the heap was biggest after 2.500 s: 21,209 B
4.8% of it, 1,025 B, was from string.rep at @app.lua:7 in f
at the end it had 20,084 B]], out:match("^(.-\n.-\n.-)\n"))
    assert.matches("\n +20%.7 KB ", out)
    assert.matches("\n +0 s +4%.000 s\n", out)
    assert.matches("\n +1,025 B +4%.8%% +0 B .-string%.rep at @app%.lua:7 in f\n", out)
    assert.matches("\n +20,000 B +94%.3%% +19,900 B .-before tracking began\n", out)
  end)

  -- 200 intervals of 20 ms: the string is there from 2.5 s, the 125th, to 3.5 s.
  it("has the figures as JSON", function()
    local plot = cjson.decode(answer("--plot --json -n 1"))
    assert.equal(20000000, plot.interval_ns)
    assert.equal(200, #plot.heap_bytes)
    assert.equal(20088, plot.heap_bytes[1])
    assert.equal(21209, plot.heap_bytes[126])
    assert.equal(20084, plot.heap_bytes[200])
    assert.equal(19900, plot.before_tracking[200])
    assert.same({"string.rep at @app.lua:7 in f", "2 other lines"},
                {plot.sites[1].site, plot.sites[2].site})
    assert.equal(0, plot.sites[1].bytes[125])
    assert.equal(1025, plot.sites[1].bytes[126])
    assert.equal(1025, plot.sites[1].peak_bytes)
    assert.equal(184, plot.sites[2].end_bytes)
  end)

  it("has the figures as CSV", function()
    local lines = support.lines(answer("--plot --format csv"))
    assert.equal('seconds,heap_bytes,before_tracking,"string.rep at @app.lua:7 in f",' ..
                 '" @app.lua:5 in main chunk"," @app.lua:3 in main chunk"', lines[1])
    assert.equal("2.500,21209,20000,1025,128,56", lines[127])
    assert.equal(201, #lines)
  end)
end)

-- }===================================================================================

-- {=== Random profiles ================================================================

local kinds = {"string", "table", "closure", "upvalue", "proto", "userdata", "thread", "part"}

-- Ten lines in two files; blocks that are made, resized and freed at random.
local function random_profile(seed)
  math.randomseed(seed)
  local p = profiles.new {start_bytes = 100000}
  local stacks, live = {p:stack(nil, {maker = "host"})}, {}
  for i = 2, 20 do
    stacks[i] = p:stack(stacks[math.random(i - 1)], {source = "@" .. i % 2 .. ".lua", name = "f",
                                                     line = i % 10 + 1, maker = "table"})
  end
  for _ = 1, 1000 do
    local stack, i = stacks[math.random(#stacks)], #live > 0 and math.random(#live)
    local dice = math.random(10)
    p:tick(math.random(1000000))
    if dice <= 5 or not i then
      live[#live + 1] = p:new(kinds[math.random(#kinds)], stack, math.random(1000))
    elseif dice <= 7 then
      p:resize(live[i], stack, math.random(1000))
    else
      p:free(table.remove(live, i))
    end
  end
  return p
end

local function line_of(stack)
  local site = stack.site
  return site.source and ("%s:%d"):format(site.source, site.line) or "INTERNAL"
end

local function add(rows, key, field, n)
  rows[key] = rows[key] or {bytes = 0, allocs = 0, frees = 0}
  rows[key][field] = rows[key][field] + n
end

-- Each block's states one after the other.
local function held_lines(p)
  local rows = {}
  for _, block in ipairs(p.blocks) do
    for i, state in ipairs(block.states) do
      local line = line_of(state.stack)
      add(rows, line, "allocs", 1)
      if block.states[i + 1] or block.freed then
        add(rows, line, "frees", 1)
      else
        add(rows, line, "bytes", state.bytes)
      end
    end
  end
  local list = {}
  for line, row in pairs(rows) do
    if row.bytes > 0 then
      list[#list + 1] = ("%s holds %dB: %d allocs, %d frees"):format(line, row.bytes, row.allocs,
                                                                     row.frees)
    end
  end
  table.sort(list)
  return list
end

describe("random profiles", function()
  it("are held by lines as their blocks are", function()
    for seed = 1, 10 do
      local p = random_profile(seed)
      local lines = support.lines(answer("--memprof --leak-only", p))
      assert.equal("HEAP SUMMARY:", table.remove(lines, 1))
      if lines[#lines] == "" then table.remove(lines) end
      table.sort(lines)
      assert.same(held_lines(p), lines)
    end
  end)

  it("have as many objects of each type as were made", function()
    for seed = 1, 10 do
      local p, made, bytes = random_profile(seed), {}, 0
      for _, kind in ipairs(kinds) do made[kind] = 0 end
      for _, block in ipairs(p.blocks) do
        made[block.type] = made[block.type] + 1
        bytes = bytes + block.states[1].bytes
      end
      local out = answer("--luamemprofiler", p)
      assert.truthy(out:find(("Mallocs=%d\tTotal Malloc Size=%d\n"):format(#p.blocks, bytes), 1,
                             true))
      assert.truthy(out:find(("  String=%d | Function=%d | Userdata=%d | Thread=%d | Table=%d | " ..
        "Other=%d\n"):format(made.string, made.closure, made.userdata, made.thread, made.table,
                             made.upvalue + made.proto + made.part), 1, true))
    end
  end)

  it("have a peak that no moment exceeds, and an end that is what lives", function()
    for seed = 1, 10 do
      local p, live = random_profile(seed), 100000
      for _, block in ipairs(p.blocks) do
        if not block.freed then live = live + block.states[#block.states].bytes end
      end
      local plot = cjson.decode(answer("--plot --json", p))
      assert.equal(live, plot.end_bytes)
      assert.equal(plot.peak_bytes, math.max(table.unpack(plot.heap_bytes)))
      for i, bytes in ipairs(plot.heap_bytes) do
        local sum = plot.before_tracking[i]
        for _, site in ipairs(plot.sites) do sum = sum + site.bytes[i] end
        assert.equal(bytes, sum)
      end
    end
  end)
end)

-- }===================================================================================

-- {=== What is strange ================================================================

describe("a strange profile", function()
  it("has names that no terminal obeys, and that stay text in CSV and SVG", function()
    local p = profiles.new()
    local names = {"\27[31mred", "a\nb", "<script>&\"'", "=1+1", "\xff\xfe", ("x"):rep(4000)}
    for i, name in ipairs(names) do
      local chunk = i % 2 == 0 and name or "@" .. name
      p:tick(1000000)
      p:new("table", p:stack(nil, {source = chunk, name = name, line = i, maker = "table"}), 56)
      p:new("string", p:stack(nil, {maker = "C", c = name}), 30)
    end
    p:write(file)
    for _, mode in ipairs {"--memprof", "--memprof --every 0.1", "--plot", "--plot --format csv",
                           "--plot --format svg", "--plot --json"} do
      local out = answer(mode)
      assert.is_nil(out:find("[%z\1-\8\11-\31\127]"), mode)
      assert.truthy(utf8.len(out), mode)
    end
    local svg = answer("--plot --format svg")
    assert.is_nil(svg:find("<script", 1, true))
    assert.truthy(svg:find("&lt;script&gt;&amp;", 1, true))
    for name in svg:gmatch("<(%l+)") do
      assert.truthy((" svg rect text path title "):find(" " .. name .. " ", 1, true), name)
    end
    assert.is_nil(answer("--plot --format csv"):find(',"[=+@-]'))
  end)

  it("has nothing in it", function()
    local p = profiles.new()
    assert.equal("ALLOCATIONS\n\nREALLOCATIONS\n\nDEALLOCATIONS\n\nHEAP SUMMARY:\n\n",
                 answer("--memprof --every 1", p))
    assert.matches("Mallocs=0\t", answer("--luamemprofiler"))
    assert.matches("^the heap was biggest after 0%.000 s: 0 B\n", answer("--plot"))
    assert.matches("^<svg .*</svg>\n$", answer("--plot --format svg"))
    assert.equal(0, cjson.decode(answer("--plot --json")).peak_bytes)
  end)

  it("lasts for years, of which a moment each second is refused", function()
    local p = profiles.new()
    local stack = p:stack(nil, {source = "@a.lua", line = 1, maker = "table"})
    for _ = 1, 1002 do
      p:new("table", stack, 56)
      p:tick(100000 * SECOND)
    end
    local out, err, code = heapprof("--memprof --every 1", p)
    assert.same({"", 2}, {out, code})
    assert.matches("it would have more than 1000 moments: ask for fewer, by a longer time", err)
    assert.matches("HEAP SUMMARY", answer("--memprof"))
    assert.matches(" 100200000%.000 s\n", answer("--plot"))
  end)

  it("was cut, and is told up to there; damaged, it is refused", function()
    small():write(file)
    local content = support.read_file(file)
    for _, mode in ipairs {"--memprof", "--luamemprofiler", "--plot"} do
      for at = 0, #content - 1, 7 do
        support.write_file(file, content:sub(1, at))
        local _, err, code = heapprof(mode)
        assert.is_true(code == 0 or code == 2 and err ~= "", at)
        support.write_file(file, content:sub(1, at) .. "\xA5" .. content:sub(at + 2))
        _, err, code = heapprof(mode)
        assert.is_true(code == 0 or code == 2 and err ~= "", at)
      end
    end
  end)
end)

describe("heapprof --live-of", function()
  it("has a sentence for each process that it cannot show", function()
    local function refused(pid)
      local out, err, code = support.run("heapprof --live-of " .. pid)
      assert.same({"", 2}, {out, code})
      return err
    end
    assert.equal("heapprof: there is no process 4194304000\n", refused("4194304000"))
    assert.matches("^heapprof: %-%-live%-of needs the number of a process, not 'x1'\n",
                   refused("x1"))
    local self = support.read_file("/proc/self/stat"):match("^%d+")
    assert.equal(("heapprof: nothing in process %s is tracked for watchers: " ..
      "heap.track{live = true}, or LUA_HEAP=track,live\n"):format(self), refused(self))
  end)
end)

-- }===================================================================================
