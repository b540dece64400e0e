-- heapprof_tools_spec.lua - heapprof's reports in the manner of other tools: their layout, word by
-- word, of a small profile whose figures are derived beside it; their figures, of random profiles,
-- held against a count that goes from block to block; and what a profile may have in it that is
-- strange.

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

-- ==== A small profile ================================================================
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

--     main calls g at line 20; g calls f by a tail call, twice, at line 5; f makes 1,058 bytes at
--     line 9 and has table.insert grow an array to 32,768 bytes at line 11, from 16 on; f calls
--     itself at line 12, and makes 42 bytes there.
describe("heapprof --lmprof", function()
  local function grown(has_calls)
    local p = profiles.new()
    local main = p:stack(nil, {source = "@simple.lua", name = "", line = 20, maker = "call"})
    local g = p:stack(main, {source = "@simple.lua", name = "g", first_line = 5, line = 5,
                             maker = "call"})
    local function f(parent, line, maker, c)
      return p:stack(parent, {source = "@simple.lua", name = "f", first_line = 7, line = line,
                              maker = maker, c = c})
    end
    local first, insert = f(g, 9, "concatenation"), f(g, 11, "C", "table.insert")
    local again = f(f(g, 12, "call"), 9, "table")
    if has_calls then
      p.calls = {{stack = g, calls = 2, self_ns = 100, total_ns = 900000, constant = true},
                 {stack = first, calls = 2, tail_calls = 2, self_ns = 5000, total_ns = 899900},
                 {stack = insert, calls = 22, self_ns = 100000, total_ns = 100000},
                 {stack = again, calls = 3, self_ns = 10, total_ns = 10}}
    end
    p:new("string", first, 1058)
    local array = p:new("part", insert, 16)
    for i = 5, 15 do p:resize(array, insert, 1 << i) end
    p:resize(array, insert, 64)
    p:new("table", again, 42)
    return p
  end

  it("has the layout of lmprof", function()
    assert.equal([[

================ Showing 4 of 4 functions that allocated memory ================
================================================================================

   %      self    cumulative            self    cumulative
  mem     mem        mem      calls   mem/call   mem/call   name
 96.75  32.00 KB   32.00 KB       -         -           -   table.insert [C]
  3.25   1.07 KB   33.07 KB       -         -           -   f (simple.lua:7)
  0.00   0.00 KB   33.07 KB       -         -           -   main chunk (simple.lua)
  0.00   0.00 KB   33.07 KB       -         -           -   g (simple.lua:5)

================================================================================
================================================================================

                                      called/total  parents
 index    %mem    self    cumulative  called (rec)  name                     index
                                      called/total  children
==================================================================================
                32.00 KB   32.00 KB        -/-      f (simple.lua:7)           [2]
   [1]---96.75--32.00-KB---32.00-KB-----------------table.insert-[C]-----------[1]
==================================================================================
]], (answer("--lmprof", grown()):gsub("(\n +%[1%][^\n]*\n=+\n).*", "%1")))
  end)

  it("has a function once that calls itself; and calls, tail calls, and bytes for each", function()
    local out = answer("--lmprof", grown(true))
    assert.truthy(out:find([[
 96.75  32.00 KB   32.00 KB      22    1489 B     1.45 KB   table.insert [C]
  3.25   1.07 KB   33.07 KB       5     220 B     6.61 KB   f (simple.lua:7)
  0.00   0.00 KB   33.07 KB       2       0 B    16.54 KB   g (simple.lua:5)
  0.00   0.00 KB   33.07 KB       0         -           -   main chunk (simple.lua)
]], 1, true), out)
    assert.truthy(out:find([[
                 1.03 KB   33.07 KB        2/5      g (simple.lua:5)           [3] (...tail ]] ..
      [[calls...)
   [2]----3.25---1.07-KB---33.07-KB--------5-(3)----f-(simple.lua:7)-----------[2]
                32.00 KB   32.00 KB       22/22     table.insert [C]           [1]
]], 1, true), out)
  end)

  it("tells the first functions with -n", function()
    assert.matches("Showing 1 of 4 functions", answer("--lmprof -n 1"))
  end)

  it("is a graph for Graphviz as a blueprint: tall, wide, dashed and yellow", function()
    local out = answer("--blueprint", grown(true))
    assert.matches('label="table.insert %[C%]\\n64.0 KB, 64.0 KB in all\\n22 calls, 0.100 ms", ' ..
                   'height=2.40, width=3.50%]', out)
    assert.matches('label="g %(simple.lua:5%)\\n[^\n]*fillcolor="#ffe066"%];', out)
    assert.equal(1, select(2, out:gsub('fillcolor="#ffe066"', "")))
    assert.equal(1, select(2, out:gsub("style=dashed", "")))
    local plain, err, code = support.run(("heapprof --blueprint %s | dot -Tplain"):format(file))
    assert.same({"", 0}, {err, code})
    assert.equal(4, select(2, plain:gsub("\nnode ", "")))
    assert.equal(4, select(2, plain:gsub("\nedge ", "")))
    assert.equal(2, select(2, answer("--blueprint -n 2"):gsub("label=\"[^\"]*in all", "")))
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

-- ==== Random profiles ================================================================

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

  -- Each block that is made or grows, on each function of its stack, once.
  it("are allocated by functions, and those that called them, as their blocks are", function()
    for seed = 1, 20 do
      math.randomseed(seed)
      local p, rows, edges = profiles.new(), {}, {}
      local stacks = {}
      for i = 1, 20 do
        local n = math.random(4)
        stacks[i] = p:stack(i > 1 and math.random(6) > 1 and stacks[math.random(i - 1)] or nil,
          {source = "@a.lua", name = "f" .. n, first_line = n, line = n,
           maker = "C", c = math.random(3) == 1 and "c" .. math.random(2) or nil})
      end
      local function count(stack, bytes)
        local seen, above = {}, nil
        local function frame(name)
          rows[name] = rows[name] or {self = 0, total = 0}
          if not above then rows[name].self = rows[name].self + bytes end
          if not seen[name] then rows[name].total = rows[name].total + bytes end
          local edge = above and name ~= above and name .. ">" .. above
          if edge and not seen[edge] then edges[edge] = (edges[edge] or 0) + bytes end
          seen[name], seen[edge or name], above = true, true, name
        end
        while stack do
          if stack.site.c then frame(stack.site.c .. " [C]") end
          frame(("%s (a.lua:%d)"):format(stack.site.name, stack.site.first_line))
          stack = stack.parent
        end
      end
      for _ = 1, 30 do
        local made, grows = stacks[math.random(#stacks)], stacks[math.random(#stacks)]
        local bytes, more = math.random(50), math.random(-20, 50)
        local block = p:new("part", made, bytes)
        count(made, bytes)
        p:resize(block, grows, math.max(1, bytes + more))
        if more > 0 then count(grows, more) end
      end
      local out, told, told_edges = answer("--lmprof", p), {}, {}
      for self, total, name in out:gmatch("\n *[%d.]+ +(%d+) B +(%d+) B +%- +%- +%- +([^\n]+)") do
        told[name] = {self = tonumber(self), total = tonumber(total)}
      end
      for name, row in pairs(rows) do if row.total == 0 then rows[name] = nil end end
      assert.same(rows, told, "seed " .. seed)
      local of
      for line in out:gmatch("[^\n]+") do
        if line:find("^=") then of = nil end
        of = line:match("%[%d+%]%-%-.*%-B%-.-%-%-+([^-].-)%-+%[%d+%]$") or of
        local total, name = line:match("^ +%d+ B +(%d+) B +%-/%- +(.-) +%[%d+%]$")
        of = of and of:gsub("^%(%-%)%-+", "")
        if name and of then told_edges[of .. ">" .. name:gsub(" ", "-")] = tonumber(total) end
      end
      local expected = {}
      for edge, bytes in pairs(edges) do expected[edge:gsub(" ", "-")] = bytes end
      assert.same(expected, told_edges, "seed " .. seed)
    end
  end)
end)

-- ==== What is strange ================================================================

describe("a strange profile", function()
  it("has names that no terminal obeys, and that stay text", function()
    local p = profiles.new()
    local names = {"\27[31mred", "a\nb", "<script>&\"'", "=1+1", "\xff\xfe", ("x"):rep(4000)}
    for i, name in ipairs(names) do
      local chunk = i % 2 == 0 and name or "@" .. name
      p:tick(1000000)
      p:new("table", p:stack(nil, {source = chunk, name = name, line = i, maker = "table"}), 56)
      p:new("string", p:stack(nil, {maker = "C", c = name}), 30)
    end
    p:write(file)
    for _, mode in ipairs {"--memprof", "--memprof --every 0.1", "--lmprof"} do
      local out = answer(mode)
      assert.is_nil(out:find("[%z\1-\8\11-\31\127]"), mode)
      assert.truthy(utf8.len(out), mode)
    end
    local _, err, code = support.run(("heapprof --blueprint %s | dot -Tplain"):format(file))
    assert.same({"", 0}, {err, code})
  end)

  it("has nothing in it", function()
    local p = profiles.new()
    assert.equal("ALLOCATIONS\n\nREALLOCATIONS\n\nDEALLOCATIONS\n\nHEAP SUMMARY:\n\n",
                 answer("--memprof --every 1", p))
    assert.matches("Mallocs=0\t", answer("--luamemprofiler"))
    assert.matches("Showing 0 of 0 functions", answer("--lmprof"))
    assert.matches("^digraph heapprof {.*}\n$", answer("--blueprint"))
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
  end)

  it("was cut, and is told up to there; damaged, it is refused", function()
    small():write(file)
    local content = support.read_file(file)
    for _, mode in ipairs {"--memprof", "--lmprof", "--luamemprofiler"} do
      for at = 0, #content - 1, support.is_tried(2, 3) and 7 or 21 do
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
