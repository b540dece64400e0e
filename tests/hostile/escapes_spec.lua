-- escapes_spec.lua - files in which each text commands a terminal (tests/common/escapes.h): to set
-- its title, to clear it, to turn text around. No command in any mode prints such a text as it is,
-- on stdout or on stderr: all that is printed is UTF-8 without controls. CSV of heapsql is exact
-- where it goes into a file, so it is looked at on a terminal. Heaps of real programs are for
-- cli_hostile_spec.lua.

local hostile = require "tests.common.hostile"
local stand_in = require "tests.common.stand_in"
local support = require "tests.common.support"
local families = require "lua_families"

local TEXT = "\27]0;t\7\27[2J\27[31mX\155\194\155\226\128\174\r\n\t\8\127'\"\\<b>"

local n = 0

-- What was printed is harmless. DOT and the report of memprof have tabs of their own.
local function check_texts(out, errors, words)
  out = out:gsub("\t", "")
  assert.is_nil(hostile.faults(out), table.concat(words, " "))
  assert.is_nil(hostile.faults(errors), table.concat(words, " ") .. ": stderr")
  n = n + 1
end

-- Runs a command, which may fail, but not by a signal.
local function check(words, dir)
  local out, errors, code = support.run(words, {cwd = dir})
  assert.is_true(code <= 2, code)
  check_texts(out, errors, words)
end

describe("a terminal is not commanded by", function()
  teardown(function()
    io.write(("\nfaults: commands on files whose texts command a terminal: %d cases, %d survived\n")
             :format(n, n))
  end)

  local names = {a = TEXT .. "a", b = TEXT .. "b", c = TEXT .. "c", p = TEXT .. "p", q = TEXT}

  -- The words, with the names of files in place of letters.
  local function words_of(command)
    local words = {}
    for word in command:gmatch("%S+") do words[#words + 1] = names[word] or word:gsub("_", " ") end
    return words
  end

  local questions = {
    "heapcheck a b c", "heapcheck --json c", "heaptop c", "heaptop -n 0 c", "heaptop --json c",
    "heaptop --garbage c", "heaptop --by object -n 0 c", "heaptop --by epoch c",
    "heaptop --by epoch --json c", "heaptop --suspects c", "heaptop --suspects --json c",
    "heaptop --under root c", "heaptop --under root --json c", "heaptop --modules c",
    "heaptop --modules --json c", "heaptop --threads c", "heaptop --threads --json c",
    "heaptop --waste c", "heaptop --waste --json c", "heaptop --growing c",
    "heaptop --growing --json c", "heaptop --leaks c", "heaptop --class table c",
    "heaptop --class table --json c",
    "heapdiff a c", "heapdiff a b c", "heapdiff --json a b c", "heapdiff --fingerprints a b c",
    "heapdiff --ladder a b c", "heapdiff --ladder --json a b c",
    "heapdiff --owners a c", "heapdiff --owners --json a c", "heapdiff --before a --after c",
    "heapdiff --before a --after c --json", "heapdiff --since 1 c",
    "heappath --format text c 0x100240", "heappath c 0x100240", "heappath --json c 0x100240",
    "heappath --referrers --format text c 0x1001c0", "heappath --referrers c 0x1001c0",
    "heappath --dominators c 0x100240", "heappath --set table c", "heappath --set table --json c",
    "heappath --set table --format text c", "heappath --cut _G.* --what-if c 0x100240",
    "heappath --format text --ignore _G.* c 0x100240",
    "heapsql c select_*_from_snapshots", "heapsql --json c select_*_from_snapshots",
    "heapsql c select_*_from_marks", "heapsql --json c select_*_from_marks",
    "heapsql c select_*_from_objects", "heapsql c select_*_from_strings",
    "heapsql c select_*_from_edges", "heapsql c select_*_from_classes",
    "heapsql --json c select_*_from_objects", "heapsql c select_*_from_none",
    "heapsql c select_x'1b5d'",
    "heaptop none", "heapdiff c a", "heappath c none*", "heapprof c", "heapcheck p", "heaptop p",
  }
  local of_tracked = {
    "heaptop --by site c", "heaptop --by site --json c", "heaptop --by site -n 0 c",
    "heapsql c select_*_from_sites", "heapsql c select_*_from_stacks",
    "heapsql --json c select_*_from_sites", "heapview -o x c",
  }

  for version = 1, 5 do
    it("a snapshot of format version " .. version, function()
      if not support.is_tried(version - 1, 4) then return end -- with sanitizers the first and last
      local dir = support.tmpdir()
      for serial, name in ipairs {"a", "b", "c"} do
        families.escaped_snapshot(dir .. "/" .. names[name], TEXT, version, serial)
      end
      families.escaped_profile(dir .. "/" .. names.p, TEXT, false)
      for _, question in ipairs(questions) do check(words_of(question), dir) end
      if version < 4 then return end
      for _, question in ipairs(of_tracked) do check(words_of(question), dir) end
    end)
  end

  it("the fields of a snapshot as CSV on one", function()
    local dir = support.tmpdir()
    families.escaped_snapshot(dir .. "/c", TEXT, 5, 1)
    for _, name in ipairs {"snapshots", "marks", "objects", "strings", "sites"} do
      local out = support.on_terminal("heapsql --csv c 'select * from " .. name .. "'", {cwd = dir})
      if not out then return pending("no script") end
      check_texts(out:gsub("\27%[K", ""), "", {name}) -- after what is shown meanwhile
    end
  end)

  local modes = {
    "p", "--json p", "-n 0 p", "--live p", "--live --json p", "--peak p", "--leaks p",
    "--by stack p", "--by stack --json p", "--by function p", "--by file p", "--by type p",
    "--calls p", "--calls --json p", "--folded p", "--advice p", "--advice --json p",
    "--diff p q", "--diff --json p q", "--blueprint p", "--memprof p", "--memprof --every 1 p",
    "--lmprof p", "--luamemprofiler p", "--since 1s --leaks p", "--until 90% p", "none",
  }

  for _, is_aggregate in ipairs {false, true} do
    it(is_aggregate and "an aggregate" or "a profile", function()
      local dir = support.tmpdir()
      families.escaped_profile(dir .. "/" .. names.p, TEXT, is_aggregate)
      families.escaped_profile(dir .. "/" .. names.q, TEXT, is_aggregate)
      for _, mode in ipairs(modes) do
        check(words_of("heapprof " .. mode), dir)
      end
      check(words_of("heapcheck p"), dir)
      check(words_of("heapcheck --json p"), dir)
    end)
  end

  it("a list of what is known", function()
    local dir = support.tmpdir()
    for serial, name in ipairs {"a", "b", "c"} do
      families.escaped_snapshot(dir .. "/" .. name, TEXT, 5, serial)
    end
    for _, content in ipairs {TEXT, "0123456789abcdef " .. TEXT, ("0"):rep(16) .. "\n" .. TEXT} do
      support.write_file(dir .. "/" .. TEXT, content)
      check({"heapdiff", "--known", TEXT, "a", "b", "c"}, dir)
      check({"heapdiff", "--json", "--known", TEXT, "a", "b", "c"}, dir)
    end
    support.write_file(dir .. "/" .. TEXT, "# none\n")
    check({"heapdiff", "--known", TEXT, "a", "b", "c"}, dir)
  end)

  it("a core", function()
    local dir = support.tmpdir()
    families.escaped_core(dir .. "/" .. TEXT, TEXT)
    for _, words in ipairs {{"-o", "x"}, {"--list"}, {"--list", "--json"}, {"--json", "-o", "x"}} do
      words[#words + 1] = TEXT
      check({"heapattach", table.unpack(words)}, dir)
    end
  end)

  it("a process, whatever its name and its scripts are", function()
    stand_in.prepare()
    local line = TEXT:gsub("\n", "")
    local there = {"program " .. line, "state b 1400000 no " .. line, "state p2 2048 yes " .. line,
                   "still stopped 120000000", "doubt " .. line}
    for _, words in ipairs {
      {"-o", "x", "--state", "1", "1234"}, {"--list", "1234"}, {"--list", "--json", "1234"},
      {"--json", "-o", "x", "--state", "1", "1234"}, {"--state", "all", "-o", "x", "1234"},
      {"1234"},
    } do
      for _, more in ipairs {{}, {"lacks 2 " .. line}, {"fail 1 -10 0 " .. line}, {"text 1"}} do
        local out, errors = stand_in.attach(there, words, more)
        check_texts(out, errors, words)
      end
    end
  end)
end)
