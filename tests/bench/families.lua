-- families.lua - the benchmark of files that were made to be hard: what each command takes on each
-- of the families of tests/common/families.h, and heapprof on those of families_profiles.h.
--
--     lua5.4 tests/bench/families.lua BUILD [PATTERN]      (the third table of make bench)
--
-- Prints a Markdown table: of each family the slowest question on files of 1 MB, its processor
-- time, and how many times that is what it takes on files of a quarter; of what takes less than a
-- tenth of a second this is not asked. Exit code 1 where a question takes more than two seconds, or
-- more than seven times the time. Whether work grows as files do is counted by
-- tests/hostile/test_work.c; this is what the commands make of it.

local bench = require "lua_bench"
local families = require "lua_families"

local BYTES, PARTS, MOST_S, MOST_TIMES, LITTLE_S = 1000000, 4, 2, 7, 0.1

-- In b and c all is new since a; o, p and q are of a run in which what was old grows. OBJECT is
-- what is furthest from the root, ALL are all objects. A family without _G answers fewer of them.
local files = {one = true, a = true, b = true, c = true, o = true, p = true, q = true}
local questions = {
  "heapcheck one", "heaptop one", "heaptop --garbage one", "heaptop --by object one",
  "heaptop --by epoch c",
  "heaptop --suspects one", "heaptop --under root one", "heaptop --modules one",
  "heaptop --threads one", "heaptop --growing c", "heaptop --waste one",
  "heapdiff a c", "heapdiff a b c", "heapdiff o q", "heapdiff o p q", "heapdiff --since x c",
  "heapdiff --fingerprints o q", "heapdiff --ladder a b c", "heapdiff --ladder o p q",
  "heapdiff --owners o q", "heapdiff --before o p --after o q",
  "heappath --format text one OBJECT", "heappath --format dot one OBJECT",
  "heappath -k 20 --format text one OBJECT", "heappath --referrers one OBJECT",
  "heappath --dominators one OBJECT", "heappath --set ALL one",
  "heappath --set ALL --format dot one", "heappath --cut _G.* --what-if one",
  "heappath --ignore _G.* --format text one OBJECT",
}
local queries = {
  "select held_by, count(*) from objects where reachable group by 1",
  "select count(label) from edges",
  "select count(*) from o.objects x join q.objects y on x.address = y.address",
}

-- Of a profile; p is the one.
local modes = {
  "", "--json", "--live --json", "--by stack -n 0", "--by stack --json", "--by function -n 0",
  "--calls -n 0", "--calls --json", "--folded", "--advice --json", "--memprof",
  "--lmprof", "--luamemprofiler", "--blueprint -n 0",
}

local tree, pattern = arg[1], arg[2] or ""
local dir = os.tmpname()
os.remove(dir)
assert(os.execute("mkdir " .. dir))
local out = dir .. "/out"

-- Seconds of processor time; an honest "no" is fine.
local function time(words)
  local command = {table.unpack(words)}
  command[1] = tree .. "/bin/" .. command[1]
  for i = 2, #command do
    if files[command[i]] then command[i] = dir .. "/" .. command[i] end
  end
  local _, _, code, cpu_s = bench.run(out, table.unpack(command))
  if code < 0 then error(table.concat(words, " ") .. ": died by a signal", 0) end
  return cpu_s
end

local function make(i, bytes)
  local n = families.scale(i, bytes)
  for _, file in ipairs {{"one", n, 1, 0}, {"a", 0, 1, 1}, {"b", n, 2, 1}, {"c", n, 3, 1},
                         {"o", n // 2 + 1, 1, 0}, {"p", n * 3 // 4 + 1, 2, 0}, {"q", n, 3, 0}} do
    local name, count, serial, n_older = table.unpack(file)
    families.write(i, count, serial, n_older, dir .. "/" .. name)
  end
end

local function deepest()
  local query = "select address from objects where reachable order by distance desc, id limit 1"
  time {"heapsql", "--csv", "one", query}
  local lines = {}
  for line in io.lines(out) do lines[#lines + 1] = line end
  return (lines[2] or "0x0"):gsub('"', "")
end

local function list_commands()
  local stand_for, list = {OBJECT = deepest(), ALL = "select id from objects"}, {}
  for _, question in ipairs(questions) do
    local words = {}
    for word in question:gmatch("%S+") do words[#words + 1] = stand_for[word] or word end
    list[#list + 1] = words
  end
  for _, query in ipairs(queries) do list[#list + 1] = {"heapsql", "one", "o", "q", query} end
  return list
end

local n_failed = 0

local function measure(i, name, make_files, list)
  local worst = {s = 0, times = 0}
  make_files(i, BYTES)
  local commands, seconds = list(), {}
  for k, words in ipairs(commands) do
    seconds[k] = time(words)
    if seconds[k] > worst.s then worst.s, worst.words = seconds[k], words end
  end
  make_files(i, BYTES // PARTS)
  commands = list()
  for k, words in ipairs(commands) do
    local times = seconds[k] > LITTLE_S and seconds[k] / math.max(time(words), 0.001) or 0
    worst.times = math.max(worst.times, times)
  end
  if worst.s > MOST_S or worst.times > MOST_TIMES then n_failed = n_failed + 1 end
  print(("| %s | %s | %.2f | %.1f |"):format(name, table.concat(worst.words, " "), worst.s,
                                            worst.times))
  io.stdout:flush()
end

local function make_profile(i, bytes)
  families.write_profile(i, families.scale_profile(i, bytes), dir .. "/p")
end

local function profile_commands()
  local list = {}
  for _, mode in ipairs(modes) do
    local words = {"heapprof"}
    for word in mode:gmatch("%S+") do words[#words + 1] = word end
    words[#words + 1] = "p"
    list[#list + 1] = words
  end
  return list
end

local function main()
  print("| family | slowest question | seconds of 1 MB | most times those of 0.25 MB |")
  print("| --- | --- | ---: | ---: |")
  for i, name in ipairs(families.names()) do
    if name:find(pattern) then measure(i, name, make, list_commands) end
  end
  for i, name in ipairs(families.profiles()) do
    if name:find(pattern) then measure(i, "profile: " .. name, make_profile, profile_commands) end
  end
end

local ok, message = pcall(main)
os.execute("rm -r " .. dir)
if not ok then io.stderr:write("bench: ", message, "\n") end
if not ok or n_failed > 0 then os.exit(ok and 1 or 2) end
