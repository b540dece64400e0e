-- heapprof_spec.lua - what heapprof says: word by word in golden/heapprof*.txt (LUAHEAP_UPDATE=1
-- writes them anew), and what it says of profiles that are empty, cut, sampled, full of hostile
-- names, or none at all. What the numbers are is tested in tests/report/usage_spec.lua.

local cjson = require "cjson"
local hostile = require "tests.common.hostile"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

local run = support.run

-- A server: each request renders a string that is garbage soon and makes a function for it; every
-- fifth puts a table into a cache, whose array grows; at the end a report is put together in a
-- loop.
--
--     main chunk -> serve -> render -> string.rep       160 bytes, 20,000 times, gone soon
--                         -> a function                  40 bytes, 20,000 times, gone soon
--                         -> Cache:put -> a table        56 bytes, 4,000 times, stays
--                                      -> the array      4 times twice as big, up to 4,096 slots
--                -> join -> a concatenation              2,000 times, 10 bytes longer each time
--
-- `added`: so many lines were added at the top of each file; `more`: so many requests.
local function server(options)
  local more, added = options and options.more or 0, options and options.added or 0
  local p = profiles.new {start_bytes = 300000, program = "lua5.4 server.lua"}
  local function at(parent, file, name, first_line, line, maker, c)
    local shift = name == "" and 0 or added
    return p:stack(parent, {source = "@" .. file .. ".lua", name = name, maker = maker, c = c,
                            first_line = first_line + shift, line = line + shift})
  end
  p:stack(nil, {maker = "unattributed"})
  local main = at(nil, "server", "", 0, 120, "call")
  local serve = at(main, "server", "serve", 80, 88, "call")
  local render = at(serve, "fmt", "render", 10, 12, "C", "string.rep")
  local put = at(serve, "cache", "Cache:put", 28, 31, "table")
  local grow = at(serve, "cache", "Cache:put", 28, 32, "growth")
  local join = at(main, "join", "join", 1, 5, "concatenation")
  local func = at(serve, "server", "serve", 80, 90, "closure")
  local array, garbage, n_cached = p:new("part", grow, 64), {}, 0
  for i = 1, 20000 + more do
    p:tick(100000)
    garbage[#garbage + 1] = p:new("string", render, 160)
    garbage[#garbage + 1] = p:new("closure", func, 40)
    if i % 5 == 0 and n_cached < 4000 then
      p:new("table", put, 56)
      n_cached = n_cached + 1
      if n_cached & (n_cached - 1) == 0 and n_cached > 2 then
        p:resize(array, grow, 2 * n_cached * 16)
      end
    end
    if #garbage > 1500 then
      for _, block in ipairs(garbage) do p:free(block) end
      garbage = {}
    end
  end
  for i = 1, 400 do
    p:tick(1000)
    garbage[#garbage + 1] = p:new("string", join, 24 + 10 * i)
  end
  for _, block in ipairs(garbage) do p:free(block) end
  return p
end

local dir = support.tmpdir()
local function answer(...) return support.answer({"heapprof", ...}, dir) end

setup(function()
  server():write(dir .. "/run.prof")
  server {more = 2000, added = 7}:write(dir .. "/new.prof")
end)

local questions = {
  heapprof = "heapprof run.prof",
  ["heapprof-bytes"] = "heapprof --bytes -n 2 run.prof",
  ["heapprof-function"] = "heapprof --live --by function run.prof",
  ["heapprof-peak"] = "heapprof --peak --by type run.prof",
  ["heapprof-leaks"] = "heapprof --leaks --since 25% --until 1s --by stack run.prof",
  ["heapprof-calls"] = "heapprof --calls run.prof",
  ["heapprof-folded"] = "heapprof --folded run.prof",
  ["heapprof-advice"] = "heapprof --advice run.prof",
  ["heapprof-diff"] = "heapprof --diff run.prof new.prof",
}

describe("the output of", function()
  for name, question in pairs(questions) do
    it(question, function()
      local path = ("%s/tests/cli/golden/%s.txt"):format(support.root, name)
      local out, err, code = run(question, {cwd = dir})
      assert.equal("", err)
      assert.equal(0, code)
      local text = "$ " .. question .. "\n" .. out
      if os.getenv "LUAHEAP_UPDATE" then support.write_file(path, text) end
      assert.equal(support.read_file(path), text)
    end)
  end
end)

local function write(p, name)
  p:write(dir .. "/" .. name)
  return name
end

local modes = {{}, {"--live"}, {"--peak"}, {"--leaks"}, {"--calls"}, {"--advice"}, {"--folded"},
               {"--by", "type"}}

describe("on a terminal of 80 columns", function()
  it("what is allocated on one line is told apart", function()
    local p = profiles.new()
    for maker, bytes in pairs {table = 5600, closure = 3200} do
      p:new("table", p:stack(nil, {source = "@a.lua", name = "make", line = 2, maker = maker}),
            bytes)
    end
    local out = support.on_terminal("heapprof --live " .. write(p, "one_line"), {cwd = dir})
    if not out then return pending("there is no script(1)") end
    out = out:gsub("\27%[%d*%a", "")
    assert.matches("  table     @a.lua:2 in make\n", out, 1, true)
    assert.matches("  function  @a.lua:2 in make\n", out, 1, true)
  end)
end)

describe("a profile", function()
  it("may be empty", function()
    write(profiles.new(), "empty")
    assert.matches("^Nothing was allocated\n", answer "empty")
    for _, mode in ipairs(modes) do answer("empty", table.unpack(mode)) end
    answer("--diff", "empty", "run.prof")
    local json = cjson.decode(answer("--json", "empty"))
    assert.equal(0, #json.allocations + #json.findings + #json.advice)
  end)

  it("has the stack of each site and each advice in JSON", function()
    local json = cjson.decode(answer("--json", "run.prof"))
    for _, rows in ipairs {json.allocations, json.advice} do
      assert.is_true(#rows > 1)
      for _, row in ipairs(rows) do
        assert.equal(row.site, row.stack[1])
        assert.equal("@server.lua:120 in main chunk", row.stack[#row.stack])
      end
    end
  end)

  it("that was cut is told up to there, and that is said", function()
    local p = server()
    p.without_end = true
    write(p, "no_end")
    local text = support.read_file(dir .. "/" .. write(server(), "whole"))
    support.write_file(dir .. "/cut", text:sub(1, 150000))
    for _, name in ipairs {"no_end", "cut"} do
      assert.matches("The file was cut, or is still being written: it is told up to [%d.]+ m?s\n",
                     answer(name))
      assert.is_false(cjson.decode(answer("--live", "--json", name)).profile.whole)
    end
    assert.is_true(cjson.decode(answer("--live", "--json", "whole")).profile.whole)
    assert.not_matches("was cut", answer "whole")
  end)

  it("tells how many events were lost", function()
    local p = server()
    p.lost = 1234
    assert.matches("1,234 events could not be written", answer(write(p, "lost")))
    assert.matches("\nNot every allocation is in the file; all bytes are attr", answer "lost")
    assert.equal(1234, cjson.decode(answer("--live", "--json", "lost")).profile.lost_events)
  end)

  it("and a snapshot are not taken for each other", function()
    support.lua([[require "heap".snapshot "heap"]], {cwd = dir})
    local _, err = run({"heapprof", "heap"}, {cwd = dir})
    assert.equal("heapprof: 'heap' is not a profile of luaheap\n" ..
                 'Give it a file that heap.track{file = "run.prof"} wrote; for a snapshot there ' ..
                 "is heaptop.\n", err)
    _, err = run({"heaptop", "run.prof"}, {cwd = dir})
    assert.equal("heaptop: 'run.prof' is not a snapshot of luaheap\n" ..
                 'Give it a file that heap.snapshot("file") or heapattach wrote; for a profile ' ..
                 "there is heapprof.\n", err)
  end)

  it("is one, or two for a comparison", function()
    local function complaint(...)
      return (select(2, run({"heapprof", ...}, {cwd = dir})):match "^[^\n]+")
    end
    assert.equal("heapprof: one profile at a time, or --diff for two: 'b' is too many",
                 complaint("a", "b"))
    assert.equal("heapprof: two profiles at a time: 'c' is too many",
                 complaint("--diff", "a", "b", "c"))
  end)

  it("that counts is told with the time of its counts while tracking goes on", function()
    local other = support.tmpdir()
    support.lua([[require "heap".track{file = "run.prof", aggregate = true}
                  os.execute "cp run.prof while.prof"]], {cwd = other})
    local out = (run({"heapprof", "while.prof"}, {cwd = other}))
    assert.matches("\nThese are the counts after %d+ ms: they are written every 10 seconds, and " ..
                   "when tracking ends\n", out)
    assert.not_matches("These are the counts", (run({"heapprof", "run.prof"}, {cwd = other})))
  end)

  it("tells objects and what they own as one", function()
    local p = profiles.new {}
    local site = p:stack(nil, {source = "@a.lua", name = "", line = 3, maker = "table"})
    for _ = 1, 100 do p:new("table", site, 56) p:new("part", site, 96) end
    local out = answer(write(p, "two_kinds"))
    local line = "made at @a.lua:3 in main chunk: 14.8 KB in 100 tables\n"
    assert.matches("^100.0%% of all bytes are tables and their slots " .. line, out)
    assert.matches("\n100.0%% of what lives are tables and their slots " .. line, out)
    assert.matches("  table   table  @a.lua:3", out)
    p:new("part", p:stack(nil, {source = "@a.lua", line = 4, maker = "growth"}), 1 << 20)
    assert.matches("are slots, stacks and code made at @a.lua:4[^\n]*: 1.0 MB in 1 block\n",
                   answer(write(p, "two_kinds")))
  end)

  it("tells what is unattributed", function()
    local p = profiles.new()
    local nobody = p:stack(nil, {maker = "unattributed"})
    local main = p:stack(nil, {source = "@app.lua", name = "", line = 1, maker = "table"})
    p:new("table", main, 750)
    p:new("table", nobody, 250)
    p:free_old(99)
    assert.matches("; 25%% of the bytes are unattributed\n", answer(write(p, "unattributed")))
    p:new("table", main, 100000 - 1000)
    write(p, "unattributed")
    assert.matches("; 0%.25%% of the bytes are unattributed\n", answer "unattributed")
    local profile = cjson.decode(answer("--live", "--json", "unattributed")).profile
    assert.equal(250, profile.unattributed_bytes)
    assert.equal(99, profile.old_freed_bytes)
    p:new("table", main, 100000000)
    write(p, "unattributed")
    assert.matches("; less than 0%.01%% of the bytes are unattributed\n", answer "unattributed")
  end)

  it("has its file named in errors", function()
    local out, err, code = run({"heapprof", "none"}, {cwd = dir})
    assert.equal("", out)
    assert.matches("^heapprof: cannot open 'none': No such file", err)
    assert.not_matches("snapshot", err)
    assert.equal(2, code)
    support.write_file(dir .. "/text", ("no profile\n"):rep(100))
    local good = support.read_file(dir .. "/run.prof")
    local bit = string.char(good:byte(5000) ~ 4)
    support.write_file(dir .. "/damaged", good:sub(1, 4999) .. bit .. good:sub(5001))
    for _, name in ipairs {"text", "damaged"} do
      for _, mode in ipairs(modes) do
        out, err, code = run({"heapprof", name, table.unpack(mode)}, {cwd = dir})
        assert.equal("", out)
        assert.matches("^heapprof: '" .. name .. "' ", err)
        assert.equal(2, code)
      end
    end
  end)
end)

describe("memory", function()
  local PROCESS_BYTES, TIMES = 8 << 20, 48
  local divisor = support.sanitized and 10 or 1 -- with sanitizers there is no limit
  local function limited(bytes, words)
    local limit = ("ulimit -d %d;"):format((PROCESS_BYTES + bytes) // 1024)
    local out, err, code = run(words, {cwd = dir, before = support.sanitized and "" or limit})
    assert.equal("", err)
    assert.equal(0, code)
    assert.is_true(#out > 20)
  end

  it("does not grow with the events", function()
    local p = profiles.new()
    local main = p:stack(nil, {source = "@app.lua", name = "", line = 1, maker = "table"})
    for _ = 1, 100000 // divisor do
      p:free(p:new("table", main, 56))
      p.blocks = {}
    end
    write(p, "many")
    for _, mode in ipairs(modes) do limited(0, {"heapprof", "many", table.unpack(mode)}) end
  end)

  it("is bounded by the size of a file that has a stack for each event", function()
    local p = profiles.new()
    for i = 1, 20000 // divisor do
      local site = {source = "@a", name = "f", line = i, first_line = i, maker = "table"}
      p:new(i % 2 == 0 and "table" or "string", p:stack(p.stacks[i - 1], site), 1)
    end
    write(p, "stacks")
    local size = #support.read_file(dir .. "/stacks")
    for _, mode in ipairs(modes) do
      if mode[1] ~= "--folded" then
        limited(TIMES * size, {"heapprof", "-n0", "stacks", table.unpack(mode)})
        limited(TIMES * size, {"heapprof", "--json", "stacks", table.unpack(mode)})
      end
    end
    limited(2 * TIMES * size, {"heapprof", "-n0", "--diff", "stacks", "stacks"})
  end)
end)

describe("a profile of samples", function()
  -- Of 20,000 blocks each tenth, taken at random, stands for ten.
  local p = profiles.new {sample_bytes = 1000}
  local truth = 0
  setup(function()
    local main = p:stack(nil, {source = "@app.lua", name = "", line = 1, maker = "table"})
    math.randomseed(7)
    for _ = 1, 20000 do
      truth = truth + 56
      if math.random(10) == 1 then p:new("table", main, 56, 10) end
    end
    write(p, "samples")
  end)

  it("is scaled, with how far the truth may be", function()
    local row = cjson.decode(answer("--live", "--json", "samples")).allocations[1]
    local n = #p.blocks
    assert.equal(560 * n, row.allocated_bytes)
    assert.equal(10 * n, row.allocations)
    -- the variance of a sum of n numbers of 56 that were taken with a tenth's chance
    assert.equal(math.floor(1.96 * math.sqrt(n * 10 * 9 * 56 ^ 2) + 0.5), row.error_bytes)
    assert.is_true(math.abs(row.allocated_bytes - truth) <= row.error_bytes)
  end)

  it("says so", function()
    local out = answer "samples"
    assert.matches("\nSampled, one block in 1,000 B: estimates from " ..
                   ("%d,%03d"):format(#p.blocks // 1000, #p.blocks % 1000) .. " samples; ", out)
    assert.matches(" %+%- [%d.]+ KB, allocated in ", out)
    assert.matches("\nallocated +share +%+%- ", out)
    assert.not_matches("%+%-", answer "run.prof")
  end)
end)

describe("names in a profile", function()
  local names = hostile.names(20261122, 300)
  it("are shown without harm", function()
    write(profiles.of_names(names), "hostile")
    local text_modes = {
      {"-n0"}, {"--live", "--by", "file", "-n0"}, {"--by", "function", "-n0"},
      {"--by", "type", "-n0"}, {"--by", "stack", "-n0"}, {"--peak", "-n0"}, {"--leaks", "-n0"},
      {"--calls", "-n0"}, {"--folded"}, {"--diff", "run.prof", "-n0"}, {"--blueprint"},
      {"--memprof"}, {"--lmprof"}, {"--luamemprofiler"},
    }
    for _, mode in ipairs(text_modes) do
      local out = answer("hostile", table.unpack(mode))
      if mode[1]:find("memprof", 1, true) then out = out:gsub("\t", " ") end -- their columns
      assert.is_nil(hostile.faults(out), table.concat(mode, " "))
      assert.is_true(#out > 100, table.concat(mode, " "))
    end
    assert.is_truthy(answer("hostile"):find(": Lua \\x1B[31mred\\x1B[0m\\x1B]0;title\\a", 1, true))
    assert.is_nil(hostile.faults(answer("hostile", "--advice")))
    for _, mode in ipairs {{}, {"--calls"}, {"--diff", "run.prof"}} do
      local out = answer("hostile", "--json", table.unpack(mode))
      assert.is_nil(hostile.faults(out))
      assert.is_table(cjson.decode(out))
    end
    for line in answer("hostile", "--folded"):gmatch "[^\n]+" do assert.matches(" %d+$", line) end
  end)
end)

describe("advice", function()
  local function advice(p)
    local list = {}
    for _, row in ipairs(cjson.decode(answer("--advice", "--json", write(p, "advice"))).advice) do
      list[row.kind] = row
    end
    return list
  end

  local function at(p, maker, c)
    return p:stack(nil, {source = "@x.lua", name = "f", first_line = 1, line = 9, maker = maker,
                         c = c})
  end

  it("is given where tables grow, by assignment or table.insert", function()
    for _, maker in ipairs {"growth", "C"} do
      local p = profiles.new()
      local site = at(p, maker, maker == "C" and "table.insert" or nil)
      for _ = 1, 3 do
        local array = p:new("part", site, 16)
        for i = 1, 12 do p:resize(array, site, 16 << i) end
      end
      local row = advice(p)["table without its size"]
      assert.equal(39, row.times)
      assert.equal(3, row.objects)
      assert.equal(4096, row.most)
      assert.equal(3 * 16 * ((1 << 13) - 1), row.bytes)
    end
  end)

  it("counts the slots of hashes", function()
    local p = profiles.new()
    local site, hash = at(p, "growth"), nil
    for i = 0, 8 do
      local bigger = p:new("part", site, 24 << i)
      if hash then p:free(hash) end
      hash = bigger
    end
    assert.equal(256, advice(p)["table without its size"].most)
  end)

  it("is not given to tables that grow little, nor to buffers", function()
    local p = profiles.new()
    local site = at(p, "growth")
    for _ = 1, 1000 do p:resize(p:new("part", site, 24), site, 48) end
    assert.same({}, advice(p))
    p = profiles.new()
    site = at(p, "C", "table.concat")
    local buffer = p:new("part", site, 1024)
    for i = 1, 12 do p:resize(buffer, site, 1024 << i) end
    assert.same({}, advice(p))
  end)

  it("is given where a string is put together, twice here", function()
    local p = profiles.new()
    local site, bytes = at(p, "concatenation"), 0
    for _ = 1, 2 do
      for i = 1, 500 do
        p:free(p:new("string", site, 25 + i))
        bytes = bytes + 25 + i
      end
    end
    local row = advice(p)["string put together in a loop"]
    assert.same({1000, 2, 525, bytes}, {row.times, row.objects, row.most, row.bytes})
  end)

  it("is not given to strings that have nothing to do with each other", function()
    local p = profiles.new()
    local site = at(p, "concatenation")
    for i = 1, 1000 do p:free(p:new("string", site, 25 + i * 7919 % 1000)) end
    assert.same({}, advice(p))
  end)

  it("is given where tables and functions are made for a moment, not where they stay", function()
    for kind, maker in pairs {["table made for a moment"] = "table",
                              ["function made for a moment"] = "closure"} do
      for _, stays in ipairs {false, true} do
        local p = profiles.new {start_bytes = 1 << 20}
        local site = at(p, maker)
        for i = 1, 5000 do
          local block = p:new(maker, site, 56)
          if not stays or i % 5 == 0 then p:free(block) end
        end
        local row = advice(p)[kind]
        assert.equal(not stays and 5000 or nil, row and row.times)
      end
    end
  end)
end)

describe("a comparison", function()
  local function changes(old, new)
    write(old, "old")
    return cjson.decode(answer("--diff", "--json", "old", write(new, "new"))).sites
  end

  it("finds sites again where lines were added", function()
    for _, row in ipairs(changes(server(), server {added = 100})) do
      assert.equal("same", row.change)
      assert.equal(row.allocated_bytes[1], row.allocated_bytes[2])
    end
    assert.equal(5, #changes(server(), server {added = 100}))
  end)

  it("says which sites are new, gone, more and less", function()
    local function with(sizes)
      local p = profiles.new()
      for name, bytes in pairs(sizes) do
        p:new("table", p:stack(nil, {source = "@x.lua", name = name, line = 3, first_line = 1,
                                     maker = "table"}), bytes)
      end
      return p
    end
    local found = {}
    for i, row in ipairs(changes(with {a = 1, b = 100, c = 7}, with {b = 50, c = 9, d = 1000})) do
      found[i] = row.change .. " " .. row.site .. (" %d"):format(row.more_bytes)
    end
    assert.same({"new @x.lua:3 in d 1000", "more @x.lua:3 in c 2", "gone @x.lua:3 in a -1",
                 "less @x.lua:3 in b -50"}, found)
  end)

  it("keeps functions without a name apart", function()
    local function with(...)
      local p = profiles.new()
      for i, first_line in ipairs {...} do
        p:new("table", p:stack(nil, {source = "@x.lua", first_line = first_line,
                                     line = first_line + 1, maker = "table"}), 100 * i)
      end
      return p
    end
    local function joined(old, new)
      local list = {}
      for _, row in ipairs(changes(old, new)) do
        list[#list + 1] = ("%d %d"):format(row.allocated_bytes[1], row.allocated_bytes[2])
      end
      table.sort(list)
      return list
    end
    assert.same({"100 100", "200 200", "300 300"}, joined(with(10, 20, 30), with(15, 25, 35)))
    assert.same({"0 100", "100 200", "200 300"}, joined(with(10, 20), with(5, 10, 20)))
  end)
end)

describe("--leaks", function()
  -- A KB of garbage a tick, which lives for eight ticks, and a leak of 100 bytes.
  local function churn(name)
    local p = profiles.new {start_bytes = 4096}
    local function at(function_name, line)
      return p:stack(nil, {source = "@a.lua", name = function_name, line = line, maker = "table"})
    end
    local short, long, alive = at("work", 2), at("leak", 5), {}
    for i = 1, 200 do
      p:new("table", long, 100)
      alive[i] = p:new("table", short, 1024)
      if i > 8 then p:free(alive[i - 8]) end
      p:tick(1000000)
    end
    return write(p, name)
  end

  it("tells how to leave out what waits for the collector", function()
    local out = answer("--leaks", "--since", "10%", "--by", "function", churn "churn")
    assert.matches("\n +8%.0 KB .* @a.lua in work\n", (out:gsub(":0", "")))
    local command = out:match("\nWhat was allocated last may be garbage that no collection has " ..
                              "freed yet. Without that:\n    (heapprof [^\n]+)\n$")
    assert.matches("^heapprof %-%-leaks %-%-by function %-%-since 10%% %-%-until %d+KB churn$",
                   command)
    out = support.answer(command, dir)
    assert.matches(" in leak\n", out)
    assert.not_matches("work", out)
    assert.not_matches("garbage", out)
  end)

  it("begins with the function that allocated most of it, and what of it may be garbage", function()
    local out = answer("--leaks", churn "churn")
    assert.matches("^70.9%% of what was never freed was allocated by function leak @a.lua: " ..
                   "19.5 KB of 27.5 KB\n10.7 KB of it came last, and may be garbage", out)
    assert.matches("\nWhat lives need not grow: heapdiff of three snapshots tells what does\n\n" ..
                   "Allocated, never freed, by site: ", out)
  end)

  it("says that all of a short interval may be garbage", function()
    assert.matches("may be garbage that no collection has freed yet, and all of this is as new " ..
                   "as that:\na longer interval tells what leaks\n$",
                   answer("--leaks", "--since", "95%", churn "churn"))
  end)
end)

describe("a moment", function()
  for _, when in ipairs {"10", "s", "10 s", "-1s", "1e3s", "10x", "", "0x10s", "..s"} do
    it("is refused: " .. when, function()
      local out, err, code = run({"heapprof", "--since", when, "run.prof"}, {cwd = dir})
      assert.equal("", out)
      assert.matches("^heapprof: %-%-since needs a moment such as [^\n]*\nTry ", err)
      assert.equal(2, code)
    end)
  end

  it("may be a time, a share of it, or bytes", function()
    local function allocated(...)
      return cjson.decode(answer("--live", "--json", "run.prof", ...)).profile.allocated_bytes
    end
    assert.equal(allocated("--since", "1000ms"), allocated("--since", "1s"))
    assert.equal(allocated("--until", "1s"), allocated("--until", "1000ms"))
    assert.equal(allocated(), allocated("--since", "0%"))
    assert.equal(allocated(), allocated("--until", "1h"))
    local half, whole = allocated("--until", "2048KB"), 2 << 20
    assert.is_true(half >= whole - 4096 and half <= whole + 8192, half)
  end)

  it("is refused where nothing can be in the interval", function()
    local function refused(message, ...)
      local out, err, code = run({"heapprof", "--leaks", "run.prof", ...}, {cwd = dir})
      assert.same({"", "heapprof: run.prof: the interval " .. message .. "\n", 2}, {out, err, code})
    end
    local duration = cjson.decode(answer("--json", "run.prof")).profile.duration_ns / 1e9
    local function seconds(n) return ("%d.%d s"):format(math.floor(n), math.floor(n * 10) % 10) end
    local ends = seconds(duration)
    refused("begins at 100.0 s, and the profile ends at " .. ends, "--since", "100s")
    refused("begins at " .. seconds(2 * duration) .. ", and the profile ends at " .. ends,
            "--since", "200%")
    refused("ends at 500 ms, which is not after its beginning", "--since", "1s", "--until", "500ms")
    refused("ends at 1.0 s, which is not after its beginning", "--since", "1s", "--until", "1s")
    refused("ends at 1.0 MB, which is not after its beginning", "--since", "2MB", "--until", "1MB")
    refused("ends at 0 ms, which is not after its beginning", "--until", "0s")
    local _, err, code = run({"heapprof", "--since", "1GB", "run.prof"}, {cwd = dir})
    assert.matches("^heapprof: run.prof: the interval begins at 1.0 GB, and the profile ends at " ..
                   "[%d.]+ MB\n$", err)
    assert.equal(2, code)
  end)
end)
