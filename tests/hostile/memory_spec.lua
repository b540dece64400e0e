-- memory_spec.lua - what whole commands take on files that were made to take much (see families.h
-- and families_profiles.h in tests/common): 48 times the file, and what any process needs, however
-- many rows are asked for and whatever they say. The limit is the kernel's, of what a process may
-- write to; sanitizers need more, so with them only the answers are looked at, of smaller files.

local lfs = require "lfs"
local support = require "tests.common.support"
local families = require "lua_families"

local TIMES, PROCESS_BYTES, FILE_BYTES = 48, 8 << 20, support.sanitized and 50000 or 200000

local numbers = {}
for i, name in ipairs(families.names()) do numbers[name] = i end

-- The snapshots a, b and c of a run; the size of the last.
local function write(dir, family)
  local i = assert(numbers[family], family)
  local n = families.scale(i, FILE_BYTES)
  families.write(i, n // 2, 1, 1, dir .. "/a")
  families.write(i, n, 2, 1, dir .. "/b")
  return families.write(i, n, 3, 1, dir .. "/c")
end

local function run(command, dir, bytes)
  local limit = ("ulimit -d %d;"):format((TIMES * bytes + PROCESS_BYTES) // 1024)
  return support.run(command, {cwd = dir, before = support.sanitized and "" or limit})
end

-- The command prints nothing but, at most, that rows were left out (`told`), and ends well.
local function expect_done(command, told, dir, bytes, what)
  local _, errors, code = run(command .. " >out", dir, bytes)
  assert.equal("", (errors:gsub(told, "")), what)
  assert.equal(0, code, what)
  os.remove(dir .. "/out")
end

-- An answer for which memory runs out says so, and makes the report another one. That is looked for
-- in the reports of one family in four (N=4: of all).
local function expect_whole_report(dir, bytes, i)
  expect_done("heapview -o limited.html c", "", dir, bytes, "heapview")
  if support.sanitized or i % 4 >= support.soak_factor then return end
  support.answer("heapview -o free.html c", dir)
  local _, _, differ = support.run("cmp limited.html free.html", {cwd = dir})
  assert.equal(0, differ)
end

-- Of each family a report that makes a row of each few bytes of it.
local commands = {
  {"an array", "heaptop -n 0 c"},
  {"an array", "heapsql c 'select *, path from objects'"},
  {"an array", "heapsql c 'select * from edges'"},
  {"a list of one long name", "heaptop -n 0 --by object c"},
  {"a list of one long name", "heapsql c 'select *, path, held_by from objects'"},
  {"globals", "heaptop -n 0 --modules c"},
  {"classes of long names", "heaptop -n 0 c"},
  {"an object of many referrers", "heappath --format text --referrers -n 0 c 0x100040"},
}

describe("all rows of a forged file of", function()
  for _, case in ipairs(commands) do
    it(table.concat(case, ": "), function()
      local dir = support.tmpdir()
      local out, errors = run(case[2], dir, write(dir, case[1]))
      assert.equal("", errors)
      assert.is_true(#out > FILE_BYTES)
    end)
  end
end)

describe("all rows of a forged file of every family", function()
  local names, step, n = families.names(), support.sanitized and 8 or 1, 0
  teardown(function()
    io.write(("\nfaults: whole commands on files made to take memory: %d cases, %d survived\n")
             :format(n, n))
  end)

  for i = 1, #names, step do
    it(names[i], function()
      local dir = support.tmpdir()
      local bytes = write(dir, names[i])
      for _, command in ipairs {
        "heaptop -n 0 c", "heapdiff -n 0 a b c",
        "heapsql --csv c 'select *, path, held_by from objects'",
      } do
        expect_done(command, "^heap%l+: [%d,]+ rows were left out: [^\n]*\n$", dir, bytes, command)
        n = n + 1
      end
      if support.is_tried(i // step, 4) then
        expect_whole_report(dir, bytes, i)
        n = n + 1
      end
      support.run {"rm", "-r", dir}
    end)
  end
end)

local function expect_profile(mode, dir, bytes)
  expect_done("heapprof " .. mode .. " c", "^heapprof: [%d,]+ rows? %w+ left out: [^\n]*\n$", dir,
              bytes, mode)
end

describe("all rows of a forged profile of", function()
  local names, step, n = families.profiles(), support.sanitized and 4 or 1, 0
  teardown(function()
    io.write(("\nfaults: heapprof on profiles made to take memory: %d cases, %d survived\n")
             :format(n, n))
  end)

  for i = 1, #names, step do
    it(names[i], function()
      local dir = support.tmpdir()
      local scale = families.scale_profile(i, FILE_BYTES)
      local bytes = families.write_profile(i, scale, dir .. "/c")
      for _, mode in ipairs {
        "", "--live -n 0", "--by stack -n 0", "--by stack -n 0 --json", "--by function -n 0",
        "--calls -n 0", "--advice -n 0", "--folded", "--blueprint",
      } do
        expect_profile(mode, dir, bytes)
        n = n + 1
      end
      local _, errors = support.run("heapprof --lmprof c >out", {cwd = dir})
      if errors:find("recorded as an aggregate", 1, true) then return end
      for _, mode in ipairs {"--lmprof", "--memprof", "--luamemprofiler"} do
        expect_profile(mode, dir, bytes)
        n = n + 1
      end
    end)
  end
end)

describe("the database of a forged file of", function()
  for _, family in ipairs {
    "a list of one long name", "an array", "upvalues", "frames", "shapes",
  } do
    it(family .. " has at most 200 times its size", function()
      local dir = support.tmpdir()
      local bytes = write(dir, family)
      local out, errors = run("heapsql --save db c", dir, bytes)
      assert.equal("", errors)
      assert.equal("db: 1 snapshot, all tables\n", out)
      assert.is_true(lfs.attributes(dir .. "/db", "size") < 200 * bytes)
    end)
  end

  it("one long key says what it leaves out", function()
    local dir = support.tmpdir()
    write(dir, "a list of one long name")
    run("heapsql --save db c", dir, 1 << 30)
    local query = "select label, count(*) from edges where kind = 'value' group by 1 order by 2"
    local lines = support.lines((support.run({"sqlite3", "db", query}, {
      cwd = dir, env = {LD_PRELOAD = os.getenv "LUAHEAP_PRELOAD"}
    })))
    assert.equal(2, #lines)
    assert.matches("^%.?%p*n0_x+%.%.%. %d+ bytes left out|%d+$", lines[2])
    assert.is_true(#lines[2] < 80)
    assert.matches("xxx%.%.%.\"%]|%d+$", lines[1])
  end)
end)

-- _G.list -next-> {} ... 3,000 of them ... {} -[1 to 5,000]-> {} -[1]-> Wanted
describe("many long paths", function()
  local _, dir = support.lua [[
    local heap = require "heap"
    do
      local last, wanted = {}, setmetatable({}, {__name = "Wanted"})
      list = last
      for i = 1, 3000 do
        last.next = {}
        last = last.next
      end
      for i = 1, 5000 do last[i] = {wanted} end
      last, wanted = nil, nil
    end
    assert(heap.snapshot "c")
    os.exit(true, false)
  ]]

  it("are not all told", function()
    local _, errors, code = support.run("heappath --json -k 3000 c Wanted", {cwd = dir})
    assert.equal(2, code)
    assert.matches("^heappath: these 3000 paths have 9%d* steps: ask for fewer paths\n$", errors)
    local out = support.answer("heappath --format text -k 3 c Wanted", dir)
    assert.equal(2, select(2, out:gsub("and by:", "")))
  end)

  it("are no picture", function()
    local picture = "heappath --format dot --referrers c Wanted -n "
    local _, errors, code = support.run(picture .. 0, {cwd = dir})
    assert.equal("heappath: 5000 arrows are too many for a picture, which may have 4000: ask " ..
                 "for fewer, or for text\n", errors)
    assert.equal(2, code)
    assert.matches("^digraph", support.answer(picture .. 4000, dir))
  end)
end)

-- A table of more than 4 MB is printed before its end is known.
describe("a table of 40,000 rows", function()
  local _, dir = support.lua [[
    local heap = require "heap"
    for i = 1, 40000 do _G["k" .. i] = {} end
    _G[("wide"):rep(40)] = {}
    assert(heap.snapshot "c")
    os.exit(true, false)
  ]]
  local query = "heapsql c \"select 'a row', path, 1 as n from objects where type = 'table' and "
    .. "(path glob '_G.k*' or path glob '_G.wide*') order by length(path), path\""

  it("has them all, and one that is wider than the first of them is a longer line", function()
    local lines = support.lines(support.answer(query, dir))
    assert.equal(40002, #lines)
    for i = 2, 40001 do assert.matches("^a row   +_G%.k%d+ +1$", lines[i]) end
    assert.equal(#lines[1], #lines[40001])
    assert.equal("a row    _G." .. ("wide"):rep(40) .. "  1", lines[40002])
  end)

  it("fits a terminal", function()
    local out = support.on_terminal(query, {cwd = dir})
    if not out then return end
    local lines = support.lines(out)
    assert.is_true(#lines > 40002)
    local n_long = 0 -- the name that is wider than the terminal, which is not broken
    for i = 1, #lines do
      local is_long = lines[i]:find(("wide"):rep(40), 1, true) ~= nil
      n_long = n_long + (is_long and 1 or 0)
      assert.is_true(#lines[i] <= 80 or is_long, lines[i])
    end
    assert.equal(1, n_long)
  end)
end)
