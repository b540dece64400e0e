-- known_spec.lua - fingerprints: the same in every run and in builds that leave the code concerned
-- alone; and heapdiff as a gate: what is known is left out, what is too much fails.

local json = require "cjson"
local support = require "tests.common.support"

--  _G.bus -> listeners -> tick -> [i] -> Listener -> fn -> upvalue n
--  _G.cache -> ["user n"] -> {id, name}
--  _G.log -> numbers                                             grows
--  local timers -> [i] -> function -> upvalue i
local program = [[
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  bus, cache, log = {listeners = {tick = {}}}, {}, {}
  local timers = {}
  local function add_timer(i) timers[#timers + 1] = function() return i end end
  local served = 0
  local function serve()
    served = served + 1
    local n = served
    local listener = setmetatable({id = n, fn = function() return n end}, Listener)
    table.insert(bus.listeners.tick, listener)
    cache["user " .. n] = {id = n, name = ("x"):rep(100 + n)}
    for i = 1, 50 do log[#log + 1] = i end
    add_timer(n)
  end
  for _, name in ipairs {"a", "b", "c"} do
    for i = 1, 10 do serve() end
    collectgarbage()
    heap.snapshot(name)
  end
]]

-- The directory with the snapshots of a program.
local function run(text, name)
  return (select(2, support.lua(text, {name = name or "app.lua"})))
end

local function diff(dir, ...)
  local out, err, code = support.run({"heapdiff", "--json", ...}, {cwd = dir})
  assert.equal("", err)
  assert.equal(0, code)
  return json.decode(out)
end

-- The rows of an answer by fingerprint: "class <- path", without the lines of functions.
local function rows_of(answer)
  local rows = {}
  for _, list in ipairs {answer.groups, answer.grown} do
    for _, row in ipairs(list) do
      assert.matches("^2%-%x%x%x%x%x%x%x%x%x%x$", row.fingerprint)
      assert.is_nil(rows[row.fingerprint])
      rows[row.fingerprint] = (row.class .. " <- " .. row.held_by):gsub(":%d+", "")
    end
  end
  return rows
end

describe("fingerprints", function()
  local dir, rows
  setup(function()
    dir = run(program)
    rows = rows_of(diff(dir, "a", "b", "c"))
  end)

  it("are one for each group and container", function()
    local count = 0
    for _ in pairs(rows) do count = count + 1 end
    assert.is_true(count >= 7)
  end)

  it("are the same in every run", function()
    for _ = 1, 5 do assert.same(rows, rows_of(diff(run(program), "a", "b", "c"))) end
  end)

  it("are the same with two snapshots, and with marks", function()
    for fingerprint, row in pairs(rows_of(diff(dir, "--since", "a", "--until", "b", "c"))) do
      assert.equal(rows[fingerprint], row)
    end
  end)

  it("are the same where the work was more", function()
    local more = program:gsub("i = 1, 10", "i = 1, 200")
    assert.same(rows, rows_of(diff(run(more), "a", "b", "c")))
  end)

  it("are the same when other code moves the lines, on another machine", function()
    local moved = "local function other() return 'x' end other()\n\n\n" .. program
    local place = support.tmpdir() .. "/app.lua"
    support.write_file(place, moved)
    local elsewhere = run(("arg[0] = nil dofile %q"):format(place), "start.lua")
    local found = rows_of(diff(elsewhere, "a", "b", "c"))
    for fingerprint, row in pairs(rows) do
      -- what is in a local variable of the main chunk has another chunk around it
      assert.equal(row, (found[fingerprint]:gsub("@%S*/", "@")))
    end
  end)

  it("are the same in any directory, whatever it is called", function()
    for _, name in ipairs {"plain one", "two in one", "x of y", "a:7", "@b", "(c) [*]", "0x12"} do
      local there = support.tmpdir() .. "/" .. name
      assert(os.execute(("mkdir '%s'"):format(there)))
      local place = there .. "/app.lua"
      support.write_file(place, program)
      local elsewhere = run(("arg[0] = nil dofile %q"):format(place), "start.lua")
      local found = rows_of(diff(elsewhere, "a", "b", "c"))
      for fingerprint in pairs(rows) do assert.not_nil(found[fingerprint], rows[fingerprint]) end
    end
  end)

  it("are the same in ten runs, where paths are equally short", function()
    local several = [==[
      local heap = require "heap"
      local both, key, names = {}, {}, {}
      for i = 1, 30 do names[i] = "name_" .. string.char(96 + i % 26) .. i end
      for _, name in ipairs(names) do _G[name] = both end
      first, second = {inner = key}, {inner = key}
      local function work()
        for i = 1, 20 do both[#both + 1], key[#key + 1] = {id = i}, {key = i} end
      end
      for _, name in ipairs {"a", "b", "c"} do work() heap.snapshot(name) end
    ]==]
    local once = rows_of(diff(run(several), "a", "b", "c"))
    assert.not_nil(next(once))
    for _ = 1, 10 do assert.same(once, rows_of(diff(run(several), "a", "b", "c"))) end
  end)

  it("are others when the class or the place is another", function()
    local other = program:gsub('__name = "Listener"', '__name = "Handler"'):gsub("cache", "caches")
    local found, changed = rows_of(diff(run(other), "a", "b", "c")), {}
    for fingerprint, row in pairs(rows) do
      if not found[fingerprint] then changed[#changed + 1] = row end
    end
    table.sort(changed)
    assert.same({"Listener <- _G.bus.listeners.tick[*]",
                 "map[string] of {id, name} <- _G.cache",
                 "string <- key of _G.cache",
                 "{id, name} <- _G.cache[*]"}, changed)
  end)

  it("do not depend on the order of a table's entries", function()
    local aliases = [[
      local heap = require "heap"
      held = {}
      for _, k in ipairs {"red", "green", "blue", "white", "black", "grey"} do held[k] = {} end
      local function work()
        for i = 1, 5 do
          local object = {same = i}
          for _, t in pairs(held) do t[#t + 1] = object end
        end
        local both = {alias = 1}
        held.one, held.two, held.three, held.four = both, both, both, both
      end
      heap.snapshot "a"
      work()
      heap.snapshot "b"
      heap.snapshot "c"
    ]]
    local first = rows_of(diff(run(aliases), "a", "b", "c"))
    for _ = 1, 10 do assert.same(first, rows_of(diff(run(aliases), "a", "b", "c"))) end
  end)
end)

describe("heapdiff --known", function()
  local dir, all
  setup(function()
    dir = run(program)
    all = diff(dir, "a", "b", "c")
  end)

  local function write(lines) support.write_file(dir .. "/known", table.concat(lines, "\n")) end

  it("leaves out what is listed, and says how much", function()
    local first, second, grown = all.groups[1], all.groups[2], all.grown[1]
    write {"# accepted by us", "", first.fingerprint .. "  # a cache", second.fingerprint .. "#",
           grown.fingerprint, "2-0123456789 # not here"}
    local rest = diff(dir, "--known", "known", "a", "b", "c")
    assert.same({table.unpack(all.groups, 3)}, rest.groups)
    assert.same({table.unpack(all.grown, 2)}, rest.grown)
    local new = first.new_objects + second.new_objects
    assert.same({groups = 2, grown = 1, objects = new,
                 retained_bytes = first.retained_bytes + second.retained_bytes,
                 grown_bytes = grown.shallow_bytes[3] - grown.shallow_bytes[1]}, rest.known)
    assert.equal(all.objects - new, rest.objects)
    assert.equal(all.retained_bytes - rest.known.retained_bytes, rest.retained_bytes)
    local text = support.run("heapdiff --bytes --known known a b c", {cwd = dir})
    assert.matches(("\nLeft out, since known lists them: 3 groups, %d objects, "):format(new), text)
    assert.is_nil(text:find(first.held_by, 1, true))
  end)

  it("knows those of the release before, and says what they are now", function()
    local older = {["88dc182af4"] = "_G.cache[*]", ["62694223cc"] = "_G.bus.listeners.tick[*]",
                   ["5a2d1a2a30"] = "_G.log", ["96bc9578aa"] = "key of _G.cache"}
    local lines, expected = {"0123456789  # gone for long"}, {}
    for fingerprint, path in pairs(older) do
      lines[#lines + 1] = fingerprint .. "  # " .. path
      for _, row in ipairs {table.unpack(all.groups)} do
        if row.held_by == path then
          expected[#expected + 1] = ("heapdiff: known: %s is %s now\n"):format(fingerprint,
                                                                              row.fingerprint)
        end
      end
    end
    expected[#expected + 1] = ("heapdiff: known: 5a2d1a2a30 is %s now\n"):format(
                                all.grown[1].fingerprint)
    write(lines)
    local out, err, code = support.run("heapdiff --json --known known a b c", {cwd = dir})
    local said = {}
    for line in err:gmatch("[^\n]*\n") do said[#said + 1] = line end
    table.sort(said)
    table.sort(expected)
    assert.equal(0, code)
    assert.same(expected, said)
    local known = json.decode(out).known
    assert.same({3, 1}, {known.groups, known.grown})
    write {"2-0123456789"}
    assert.equal("", (select(2, support.run("heapdiff --known known a b c", {cwd = dir}))))
  end)

  it("adds up: of all groups everything", function()
    local lines, objects, bytes = {}, 0, 0
    for i, group in ipairs(all.groups) do
      lines[i] = group.fingerprint
      objects, bytes = objects + group.new_objects, bytes + group.new_bytes
    end
    assert.equal(all.objects, objects)
    assert.equal(all.shallow_bytes, bytes)
    write(lines)
    local rest = diff(dir, "--known", "known", "a", "b", "c")
    assert.same({0, 0, {}}, {rest.objects, rest.shallow_bytes, rest.groups})
  end)

  it("says so when nothing is left out", function()
    write {"2-0123456789  # gone for long"}
    local text = support.run("heapdiff --known known a b c", {cwd = dir})
    assert.matches("\nNothing that known lists is among them\n", text, 1, true)
  end)

  it("reads a regular file alone, and lines that have an end", function()
    local function refused(file, message)
      local out, err, code = support.run("heapdiff --known " .. file .. " a b c", {cwd = dir})
      assert.same({"", "heapdiff: " .. message .. "\n", 2}, {out, err, code})
    end
    assert(os.execute(("mkfifo '%s/fifo'"):format(dir)))
    for _, file in ipairs {"fifo", "/dev/zero", "."} do
      refused(file, ("cannot read '%s': it is no regular file"):format(file))
    end
    local too_long = "known:1: the line is too long, or has a zero byte in it"
    for _, line in ipairs {("x"):rep(5000), "2-0123456789\0", ("\0"):rep(10000)} do
      write {line, ""}
      refused("known", too_long)
    end
  end)

  it("tells what is wrong with a line, and where", function()
    local a_line = "a line is one of those that --fingerprints prints in its first column, " ..
                   "alone or with # and a comment behind it"
    for line, message in pairs {
      ["_G.cache[*]"] = "known:2: '_G.cache[*]' is no fingerprint; " .. a_line,
      ["2-012345678A"] = "known:2: '2-012345678A' is no fingerprint; " .. a_line,
      ["3,580 objects retain"] = "known:2: '3,580' is no fingerprint; " .. a_line,
      ["2-0123456789 cache"] = "known:2: 'cache' is behind a fingerprint, but no comment: " ..
                             "put # in front of it",
    } do
      write {"", line, ""}
      local out, err, code = support.run("heapdiff --known known a b c", {cwd = dir})
      assert.same({"", "heapdiff: " .. message .. "\n", 2}, {out, err, code})
    end
    local _, err, code = support.run("heapdiff --known nosuch a b c", {cwd = dir})
    assert.same({"heapdiff: cannot open 'nosuch': No such file or directory\n", 2}, {err, code})
  end)
end)

describe("heapdiff as a gate", function()
  local dir
  setup(function() dir = run(program) end)

  local function fails(options, files)
    local words = ("heapdiff %s %s"):format(options, files or "a b c")
    local out, err, code = support.run(words, {cwd = dir})
    assert.not_equal("", out)
    assert.is_true(code < 2, err)
    assert.equal(code == 1, err ~= "")
    return code == 1, err
  end

  it("counts objects", function()
    local n = math.tointeger(diff(dir, "a", "b", "c").objects)
    assert.is_false(fails("--fail-objects " .. n))
    local failed, err = fails("--fail-objects " .. n - 1)
    assert.is_true(failed)
    assert.equal(("heapdiff: %d objects retained, which is more than %d\n"):format(n, n - 1), err)
    assert.is_true(fails("--fail-objects 0", "a b"))
    assert.is_true(fails("--fail-objects 0 --since a", "c"))
    assert.is_false(fails("--fail-objects 0 --since c", "c"))
  end)

  it("takes sizes as people write them", function()
    for size, fails_over in pairs {["1"] = true, ["1K"] = true, ["1KB"] = true, ["100KB"] = false,
                                   ["1MB"] = false, ["1G"] = false, ["1GB"] = false} do
      assert.equal(fails_over, (fails("--fail-over " .. size)), size)
    end
    local _, err, code = support.run("heapdiff --fail-over 1XB a b c", {cwd = dir})
    assert.equal(2, code)
    assert.matches("needs a size such as 512, 100KB, 2MB or 1GB, not '1XB'", err, 1, true)
  end)

  it("passes over what is known", function()
    local lines = {}
    local all = diff(dir, "a", "b", "c")
    for _, list in ipairs {all.groups, all.grown} do
      for _, row in ipairs(list) do lines[#lines + 1] = row.fingerprint end
    end
    support.write_file(dir .. "/known", table.concat(lines, "\n"))
    assert.is_true(fails("--fail-over 1K --fail-objects 0"))
    assert.is_false(fails("--fail-over 0 --fail-objects 0 --known known"))
  end)
end)
