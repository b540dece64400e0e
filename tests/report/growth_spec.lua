-- growth_spec.lua - heapdiff over many snapshots, by owner, of different processes, and before and
-- after a change: what is said, and that it adds up. What grows is a few small causes.

local json = require "cjson"
local support = require "tests.common.support"

-- Runs a command that must succeed; its output.
local function run(command, dir)
  local out, err, code = support.run(command, {cwd = dir})
  assert.equal("", err, command)
  assert.equal(0, code, command)
  return out
end

local function json_of(command, dir) return json.decode(run(command, dir)) end

-- The rows by path under their path.
local function by_path(rows)
  local result = {}
  for _, row in ipairs(rows) do
    assert.is_nil(result[row.held_by])
    result[row.held_by] = row
  end
  return result
end

--  _G.bus.listeners.tick -> [i] -> Listener -> fn -> upvalue n         5 more at each step
--  _G.warm -> [i]                                                      made at the second step
--  _G.pool -> [i]                                                      saw-tooth
--  _G.queue -> [i]           {id}, {id, sent}: changes its shape when it is old
--  _G.log -> numbers
local server = [[
  local heap = require "heap"
  local leaky = arg[1] ~= "fixed"
  local Listener = {__name = "Listener"}
  bus, pool, queue, log = {listeners = {tick = {}}}, {}, {}, {}
  local n = 0
  local function serve(step)
    for i = 1, 5 do
      n = n + 1
      local id = n
      local listener = setmetatable({fn = function() return id end}, Listener)
      if leaky then table.insert(bus.listeners.tick, listener) end
      queue[n] = {id = n}
      if n > 5 then queue[n - 5].sent = true end
      log[#log + 1] = n
    end
    if step == 2 then warm = {} for i = 1, 10 do warm[i] = {"warm" .. i} end end
    pool = {}
    for i = 1, step % 2 * 10 do pool[i] = {p = i} end
    collectgarbage()
  end
  for step = 1, 8 do serve(step) heap.snapshot("s" .. step) end
]]

local function snapshots(program, ...)
  return (select(2, support.lua(program, {name = "server.lua", args = {...}})))
end

describe("a ladder", function()
  local dir, answer, rows
  setup(function()
    dir = snapshots(server)
    answer = json_of("heapdiff --json s1 s2 s3 s4 s5 s6 s7 s8", dir)
    rows = by_path(answer.paths)
  end)

  it("tells what grows steadily first, and its figures", function()
    assert.equal("grows steadily", answer.paths[1].verdict)
    local listeners = rows["_G.bus.listeners.tick[*]"]
    assert.same({"Listener", "grows steadily"}, {listeners.class, listeners.verdict})
    assert.same({5, 10, 15, 20, 25, 30, 35, 40}, listeners.objects)
    assert.same({15, 30, 45, 60, 75, 90, 105, 120}, listeners.all_objects)
    assert.equal((listeners.bytes[8] - listeners.bytes[2]) / 6, listeners.bytes_per_step)
    assert.same({listeners.bytes[2] - listeners.bytes[1], listeners.bytes[8] - listeners.bytes[2]},
                listeners.grew_bytes)
    assert.equal(listeners.grew_bytes[2] / answer.seconds, listeners.bytes_per_second)
  end)

  it("gives every verdict", function()
    assert.equal("grew once", rows["_G.warm"].verdict)
    assert.equal("saw-tooth", rows["_G.pool[*]"].verdict)
    assert.equal("grows steadily", rows["_G.log"].verdict)
    assert.same({5, 10, 15, 20, 25, 30, 35, 40}, rows["_G.log"].entries)
    local worst = {["grows steadily"] = 1, ["levels off"] = 2, ["grows a little"] = 3,
                   ["grew once"] = 4, ["saw-tooth"] = 5, shrinks = 6}
    for _, list in ipairs {answer.paths, answer.classes} do
      for i = 2, #list do
        local a, b = list[i - 1], list[i]
        assert.is_true(worst[a.verdict] <= worst[b.verdict])
        if a.verdict == "grows steadily" and b.verdict == a.verdict then
          assert.is_true(a.bytes_per_step >= b.bytes_per_step)
        end
      end
    end
  end)

  --  _G.memo ~~weak keys~~> {}, which are garbage
  it("goes by the entries of a full table, not by its slots", function()
    local full = snapshots [[
      local heap = require "heap"
      order = {}
      local first, last = 1, 0
      for step, n in ipairs {2000, 2000, 2000, 2000, 400, 200, 400, 500} do
        for _ = 1, n do
          last = last + 1
          order[last] = last
          if last - first >= 6000 then order[first], first = nil, first + 1 end
        end
        heap.snapshot("s" .. step)
      end
    ]]
    local paths = json_of("heapdiff --json s1 s2 s3 s4 s5 s6 s7 s8", full).paths
    local order = by_path(paths)["_G.order"]
    assert.same({6000, 6000, 6000, 6000}, {table.unpack(order.entries, 5)})
    for step = 5, 7 do assert.is_true(order.bytes[step] < order.bytes[step + 1]) end
    assert.equal("grew once", order.verdict)
  end)

  it("does not take entries that wait for the collector for growth", function()
    local calm = snapshots [[
      local heap = require "heap"
      collectgarbage "stop"
      memo = setmetatable({}, {__mode = "k"})
      for step = 1, 5 do
        for _ = 1, 40 do memo[{}] = true end
        heap.snapshot("s" .. step)
      end
    ]]
    local row = by_path(json_of("heapdiff --json s1 s2 s3 s4 s5", calm).paths)["_G.memo"]
    assert.same({{0, 0, 0, 0, 0}, "grew once"}, {row.entries, row.verdict})
  end)

  it("has one row for a place, though objects there change their shape", function()
    local queue = rows["_G.queue[*]"]
    assert.same({5, 10, 15, 20, 25, 30, 35, 40}, queue.objects)
    assert.equal("{id, sent}", queue.class)
  end)

  it("has one row for a cause: what the rows retain is in no other", function()
    for path in pairs(rows) do
      assert.is_nil(path:match("^_G%.bus%.listeners%.tick%[%*%]."), path)
      assert.is_nil(path:match("^_G%.warm%."), path)
    end
    for k = 1, 8 do
      local bytes, objects = answer.level.bytes[k], answer.level.all_objects[k]
      for _, row in ipairs(answer.paths) do
        bytes, objects = bytes + row.bytes[k], objects + row.all_objects[k]
      end
      assert.equal(answer.whole.bytes[k], bytes)
      assert.equal(answer.whole.all_objects[k], objects)
    end
    local top = json_of("heaptop --json s8", dir)
    local own = 0 -- of the marks, which no report counts
    for _, class in ipairs(top.classes) do own = own + class.shallow_bytes end
    assert.equal(own, answer.whole.bytes[8])
  end)

  --  _G.all -> [i] -> open, close: functions on one line, with the same code
  it("tells functions of one line apart, as a comparison of two does", function()
    local functions = snapshots [[
      local heap = require "heap"
      all = {}
      for step = 1, 3 do
        for i = 1, 50 do
          all[#all + 1] = {open = function() return i end, close = function() return i end}
        end
        heap.snapshot("s" .. step)
      end
    ]]
    local function counts_of(command)
      local counts = {}
      for _, row in ipairs(json_of(command, functions).classes) do
        local is_one = row.type == "closure" and row.class:find("@server.lua:5", 1, true)
        if is_one then counts[row.class] = {row.objects[1], row.objects[#row.objects]} end
      end
      return counts
    end
    local counts = {50, 150}
    local expected = {["function open @server.lua:5"] = counts,
                      ["function close @server.lua:5"] = counts}
    assert.same(expected, counts_of("heapdiff --json --ladder s1 s2 s3"))
    assert.same(expected, counts_of("heapdiff --json s1 s3"))
  end)

  it("says it in a sentence and two tables", function()
    local text = run("heapdiff s1 s2 s3 s4 s5 s6 s7 s8", dir)
    local first = answer.paths[1].held_by:gsub("%p", "%%%0")
    assert.matches("^" .. first .. " grows steadily from s1 to s8: %+[%d.]+ K?B a step since s2; ",
                   text)
    assert.matches("\nIn all [%d.]+ KB %-> [%d.]+ KB in 7 steps: %+[%d.]+ KB\n", text)
    assert.matches("\ngrows steadily +%+[%d.]+ K?B +[^\n]+ +5 %-> 10 %-> %.%.%. %-> 35 %-> 40 +" ..
                   "Listener +_G%.bus%.listeners%.tick%[%*%]\n", text)
    assert.matches("\nBy what holds them\n.*\nBy class\n", text)
    local three = run("heapdiff --ladder s4 s6 s8", dir)
    assert.matches(" 20 %-> 30 %-> 40 +Listener +_G%.bus", three)
  end)

  it("says when nothing grows steadily", function()
    local quiet = snapshots [[
      local heap = require "heap"
      for i = 1, 5 do collectgarbage() heap.snapshot("s" .. i) end
    ]]
    local text = run("heapdiff s1 s2 s3 s4 s5", quiet)
    assert.matches("^Nothing grows steadily from s1 to s5", text)
  end)

  it("leaves out what is known, and fails over the rest", function()
    local function gate(options)
      local _, err, code = support.run("heapdiff " .. options .. " s1 s2 s3 s4", {cwd = dir})
      return code, err
    end
    assert.equal(0, (gate "--fail-over 1MB --fail-objects 1000"))
    local code, err = gate "--fail-objects 10"
    assert.equal(1, code)
    assert.matches("^heapdiff: %d+ objects more after the first step, growing steadily, " ..
                   "which is more than 10\n$", err)
    local lines = {}
    for _, row in ipairs(answer.paths) do lines[#lines + 1] = row.fingerprint .. "  # fine" end
    support.write_file(dir .. "/known", table.concat(lines, "\n"))
    assert.equal(0, (gate "--fail-over 0 --fail-objects 0 --known known"))
    local rest = json_of("heapdiff --json --known known s1 s2 s3 s4", dir)
    assert.same({}, rest.paths)
    assert.is_true(rest.known_paths > 3)
    assert.matches("\nLeft out, since known lists them: ",
                   run("heapdiff --known known s1 s2 s3 s4", dir))
  end)

  it("has the fingerprints of the groups of heapdiff", function()
    local groups = by_path(json_of("heapdiff --json s6 s7 s8", dir).groups)
    assert.equal(groups["_G.bus.listeners.tick[*]"].fingerprint,
                 rows["_G.bus.listeners.tick[*]"].fingerprint)
  end)
end)

--  _G.req_1 -> {id, list}, _G.req_2 ...      10 more at each step
--  _G.few_1 ... _G.few_4                     one more at each step
describe("globals that differ in a number", function()
  local dir
  setup(function()
    dir = snapshots [[
      local heap = require "heap"
      local n = 0
      for step = 1, 4 do
        for _ = 1, 10 do n = n + 1 _G["req_" .. n] = {id = n, list = {}} end
        _G["few_" .. step] = {step = step}
        for i = 1, 3 do package.loaded["tenant_" .. 3 * step + i] = {step = step} end
        heap.snapshot("s" .. step)
      end
    ]]
  end)

  it("are one row of a ladder, if they are many", function()
    local rows = by_path(json_of("heapdiff --json s1 s2 s3 s4", dir).paths)
    local row = rows["_G.req_*"]
    assert.same({10, 20, 30, 40}, row.objects)
    assert.equal("grows steadily", row.verdict)
    for _, name in ipairs {"_G.few_2", "_G.few_3", "_G.few_4"} do assert.is_table(rows[name]) end
    assert.is_nil(rows["_G.few_*"])
  end)

  it("have the class and the fingerprint that new objects have", function()
    local rows, n = by_path(json_of("heapdiff --json s1 s2 s3 s4", dir).paths), 0
    local late = json_of("heapdiff --json s1 s4", dir)
    for _, group in ipairs(late.groups) do
      if group.held_by:find("_*", 1, true) then
        local row = rows[group.held_by]
        assert.same({group.class, group.fingerprint}, {row.class, row.fingerprint})
        n = n + 1
      end
    end
    assert.equal(2, n)
  end)

  it("are one owner", function()
    local found
    for _, part in ipairs(json_of("heapdiff --json --owners s1 s4", dir).parts) do
      if part.held_by == "_G.req_*" then found = part end
    end
    assert.same({20, 80}, found.objects)
    assert.same({10, 40}, found.own_objects)
  end)
end)

describe("owners", function()
  local dir
  setup(function() dir = snapshots(server) end)

  -- Sums of the parts below each, and the parts by their path from the top.
  local function check(parts)
    local names, below = {}, {}
    for i, part in ipairs(parts) do
      below[i] = {part.own_bytes[1], part.own_bytes[2]}
      names[i] = i == 1 and "" or names[part.above + 1] .. "|" ..
        (part.shared and "shared" or part.held_by)
    end
    for i = #parts, 2, -1 do
      local to = below[parts[i].above + 1]
      for k = 1, 2 do to[k] = to[k] + parts[i].bytes[k] end
    end
    local result = {}
    for i, part in ipairs(parts) do
      assert.same(part.bytes, below[i], names[i])
      result[names[i]] = part
    end
    return result
  end

  it("are parts that add up to the whole", function()
    local answer = json_of("heapdiff --json --owners s1 s8", dir)
    local parts = check(answer.parts)
    assert.equal(answer.total_parts, #answer.parts)
    local whole = json_of("heapdiff --json --ladder s1 s8", dir).whole.bytes
    assert.same(whole, answer.parts[1].bytes)
    local tick = "|_G.bus|_G.bus.listeners|_G.bus.listeners.tick"
    assert.same({15 + 3, 120 + 3}, parts["|_G.bus"].objects)
    assert.same({15, 120}, parts[tick .. "|_G.bus.listeners.tick[*]"].objects)
    assert.same({5, 40}, parts[tick .. "|_G.bus.listeners.tick[*]"].own_objects)
    assert.is_nil(parts["|_G.bus"].shared or nil)
  end)

  it("read the first and the last snapshot only", function()
    assert.equal(run("heapdiff --owners s1 s8", dir), run("heapdiff --owners s1 s3 s8", dir))
  end)

  it("tell apart what several own", function()
    local shared = snapshots [[
      local heap = require "heap"
      one, two = {name = "one"}, {name = "two"}
      heap.snapshot("a")
      for i = 1, 10 do
        local both = {p = {}, q = {}}
        both.p.r = {i}
        both.q.r = both.p.r
        one[i], two[i] = both, both
        one["only" .. i] = {}
      end
      inner = {x = {}, y = {}}
      inner.x.z = {deep = {}}
      inner.y.z = inner.x.z
      heap.snapshot("b")
    ]]
    local parts = check(json_of("heapdiff --json --owners a b", shared).parts)
    assert.same({0, 40}, parts["|shared|_G.one[*]"].objects)
    assert.same({0, 10}, parts["|shared|_G.one[*]|shared|_G.one[*].p.r"].objects)
    assert.same({0, 10}, parts["|_G.one|_G.one[*]"].objects)
    assert.is_nil(parts["|_G.two|_G.two[*]"])
    assert.same({0, 2}, parts["|_G.inner|shared|_G.inner.x.z"].objects)
  end)

  it("are printed as a tree whose lines add up", function()
    local text = run("heapdiff --bytes --owners s1 s8", dir)
    local total = text:match("^From s1 to s8: [%d,]+ B %-> [%d,]+ B, %+([%d,]+) B")
    local levels, lines = {[0] = 0}, 0
    local function number(word) return tonumber((word:gsub(",", ""))) end
    -- the lines of one depth, below one line: their sum is that line
    local function close(depth)
      for d = #levels, depth + 1, -1 do
        local level = levels[d]
        if level.sum then assert.equal(level.of, level.sum, level.name) end
        levels[d] = nil
      end
    end
    local sum = 0
    for line in text:match("\n *bytes +share[^\n]+\n(.*)$"):gmatch("[^\n]+") do
      local change, rest = line:match("^ *([+-]?[%d,]+) B +%S+ +[%d,]+ B +[%d,]+ B +%S+  (.*)$")
      local depth = #rest:match("^ *") // 2
      close(depth)
      if depth > 0 then levels[depth].sum = (levels[depth].sum or 0) + number(change) end
      if depth == 0 then sum = sum + number(change) end
      levels[depth + 1] = {of = number(change), name = line}
      lines = lines + 1
    end
    close(0)
    assert.equal(number(total), sum)
    assert.is_true(lines > 10)
    assert.matches("\n[^\n]+  _G%.bus +{listeners}\n[^\n]+    %.listeners +{tick}\n" ..
                   "[^\n]+      %.tick +array of Listener\n[^\n]+        %[%*%] +Listener\n", text)
  end)

  it("fail over the growth of the whole", function()
    local _, err, code = support.run("heapdiff --owners --fail-objects 10 s1 s8", {cwd = dir})
    assert.equal(1, code)
    assert.matches("^heapdiff: %d+ objects more, which is more than 10\n$", err)
    run("heapdiff --owners --fail-over 1MB s1 s8", dir)
  end)
end)

-- The same server, fixed, in another process, its lines moved by two.
local function fixed() return snapshots("\n\n" .. server, "fixed") end

describe("snapshots of different processes", function()
  local leaky, other
  setup(function()
    leaky, other = snapshots(server), fixed()
  end)

  it("are told by name where one of three is of another process", function()
    local function told(...)
      return (run({"heapdiff", ...}):match("\n([^\n]+):\ncompared by path"))
    end
    local a, b, c, strange = leaky .. "/s1", leaky .. "/s4", leaky .. "/s8", other .. "/s8"
    local words = "%s is of another process than %s and %s, so no object of it is one of theirs"
    assert.equal(words:format(strange, b, c), told(strange, b, c))
    assert.equal(words:format(strange, a, c), told(a, strange, c))
    assert.equal(words:format(strange, a, b), told(a, b, strange))
  end)

  it("are compared by path, class and content, and the report says so", function()
    local out = run {"heapdiff", other .. "/s8", leaky .. "/s8"}
    assert.matches("\nThe snapshots are of different processes, so no object of one is an " ..
                   "object of another:\ncompared by path, by class, and strings by content.\n",
                   out, 1, true)
    assert.matches("\n *%+[%d.]+ KB +[%d.]+ KB +%+40 +40 +Listener +" ..
                   "_G%.bus%.listeners%.tick%[%*%]\n", out)
    -- functions are the same, though their lines are not
    assert.is_nil(out:find("function serve", 1, true))
    local answer = json_of({"heapdiff", "--json", other .. "/s8", leaky .. "/s8"})
    assert.is_false(answer.same_state)
    assert.same({{}, {}}, {answer.groups, answer.grown})
    local rows = by_path(answer.paths)
    assert.same({0, 40}, rows["_G.bus.listeners.tick[*]"].objects)
    assert.is_nil(rows["_G.queue[*]"])
    for _, change in ipairs(answer.classes) do
      if change.class:find("function serve", 1, true) then
        assert.equal("function serve @server.lua", change.class)
        assert.equal(change.objects[1], change.objects[2])
      end
    end
  end)

  it("tell strings by what they say", function()
    local _, a = support.lua 'texts = {"old", ("long"):rep(100)} require "heap".snapshot("s")'
    local _, b = support.lua [[
      texts = {"old", ("long"):rep(100), "brand new"}
      for i = 1, 3 do texts[#texts + 1] = ("long"):rep(100) end
      require "heap".snapshot("s")
    ]]
    local answer = json_of({"heapdiff", "--json", a .. "/s", b .. "/s"})
    local strings = {}
    for _, row in ipairs(answer.strings) do strings[row.string] = row end
    assert.same({0, 1}, strings['"brand new"'].objects)
    assert.equal("_G.texts[3]", strings['"brand new"'].held_by)
    assert.is_nil(strings['"old"'])
    local long
    for text, row in pairs(strings) do if text:find("longlong", 1, true) then long = row end end
    assert.same({1, 4}, long.objects)
    assert.equal(answer.total_strings, #answer.strings)
    local text = run {"heapdiff", a .. "/s", b .. "/s"}
    assert.matches("\nStrings of [^\n]+/s: %d+ new, 1 more often than in [^\n]+, %+[%d.]+ K?B\n",
                   text)
    assert.matches('"brand new" +_G%.texts%[3%]\n', text)
  end)

  it("tell no path that only a snapshot between them had", function()
    local words = {"heapdiff", other .. "/s8", leaky .. "/s8", fixed() .. "/s8"}
    local out = run(words)
    assert.is_nil(out:find("_G.bus", 1, true), out)
    table.insert(words, 2, "--json")
    assert.same({0, 40, 0}, by_path(json_of(words).paths)["_G.bus.listeners.tick[*]"].objects)
  end)

  it("may be a gate, too", function()
    local words = {"heapdiff", "--fail-objects", "10", other .. "/s8", leaky .. "/s8"}
    local _, err, code = support.run(words)
    assert.equal(1, code)
    assert.matches("^heapdiff: %d+ objects more, which is more than 10\n$", err)
    words[4], words[5] = words[5], words[4]
    assert.equal(0, (select(3, support.run(words))))
  end)

  it("make a ladder, which says so", function()
    local text = run(("heapdiff %s/s1 %s/s2 %s/s7 %s/s8"):format(other, other, leaky, leaky))
    assert.matches("\ncompared by class and path.\n", text, 1, true)
  end)
end)

describe("before and after", function()
  local leaky, clean
  setup(function()
    leaky, clean = snapshots(server), fixed()
  end)

  local function ask(before, after, options)
    return run(("heapdiff %s --before %s --after %s"):format(options or "", before, after))
  end

  local function at(dir, ...)
    local words = {...}
    for i, name in ipairs(words) do words[i] = dir .. "/" .. name end
    return table.concat(words, " ")
  end

  it("answer whether it is fixed", function()
    local text = ask(at(leaky, "s3", "s7"), at(clean, "s3", "s7"))
    assert.matches("^Is it fixed%? In part: _G%.bus%.listeners%.tick%[%*%] %(Listener%) no " ..
                   "longer grows: %+[%d.]+ KB before, 0 B after\n" ..
                   "But: _G%.queue%[%*%] %({id, sent}%) still grows: %+[%d.]+ KB before, " ..
                   "%+[%d.]+ KB after\n", text)
    assert.matches("\nno longer grows +%+[%d.]+ KB +0 B +%+20 +0 +Listener +_G%.bus", text)
  end)

  it("say yes, and no", function()
    local program = [[
      local heap = require "heap"
      cache = {}
      for step = 1, 3 do
        for i = 1, 100 do
          local n = #cache + 1
          if arg[1] ~= "fixed" then cache[n] = {n = n} end
        end
        collectgarbage()
        heap.snapshot("s" .. step)
      end
    ]]
    local bad, good = snapshots(program), snapshots(program, "fixed")
    local yes = ask(at(bad, "s1", "s2"), at(good, "s1", "s2"))
    assert.matches("^Is it fixed%? Yes: _G%.cache%[%*%] %({n}%) no longer grows: ", yes)
    local no = ask(at(bad, "s1", "s2"), at(snapshots(program), "s1", "s2"))
    assert.matches("^Is it fixed%? No: _G%.cache%[%*%] %({n}%) still grows: ", no)
    local new = ask(at(good, "s1", "s2"), at(bad, "s1", "s2"))
    assert.matches("^New: _G%.cache%[%*%] %({n}%) grows now: 0 B before, ", new)
    assert.not_match("of one run", yes .. no .. new)
    assert.match("\nAll these snapshots are of one run: after is only later, not after a change\n",
                 (ask(at(bad, "s1", "s2"), at(bad, "s2", "s3"))))
    local nothing = ask(at(good, "s1", "s2"), at(snapshots(program, "fixed"), "s1", "s2"))
    assert.matches("^Nothing grows, before or after\n", nothing)
    local answer = json.decode((ask(at(bad, "s1", "s2"), at(good, "s1", "s2"), "--json")))
    assert.is_true(answer.fixed)
    assert.equal("_G.cache[*]", answer.no_longer_grows)
    assert.equal(json.null, answer.still_grows)
    local row = by_path(answer.paths)["_G.cache[*]"]
    assert.same({100, 0}, row.grew_objects)
    assert.same({100, 200, 0, 0}, row.objects)
  end)

  it("say that it may have moved", function()
    local program = [[
      local heap = require "heap"
      cache, index, names = {}, {}, {}
      for step = 1, 2 do
        for i = 1, 100 do
          local n = step * 1000 + i
          if arg[1] == "moved" then index["r" .. n] = {n = n} else cache[#cache + 1] = {n = n} end
          if arg[1] == "moved" then names[#names + 1] = ("name"):rep(60) .. n end
        end
        collectgarbage()
        heap.snapshot("s" .. step)
      end
    ]]
    local before, after = snapshots(program), snapshots(program, "moved")
    local both = {at(before, "s1", "s2"), at(after, "s1", "s2")}
    assert.matches("^Is it fixed%? No, it may have moved: _G%.cache%[%*%] %({n}%) no longer " ..
                   "grows: %+[%d.]+ KB before, 0 B after\n" ..
                   "New: _G%.index%[%*%] %({n}%) grows now: 0 B before, %+[%d.]+ KB after\n",
                   (ask(both[1], both[2])))
    local answer = json.decode((ask(both[1], both[2], "--json")))
    assert.same({false, "_G.cache[*]", json.null, "_G.index[*]"},
                {answer.fixed, answer.no_longer_grows, answer.still_grows, answer.grows_now})
  end)

  it("take one snapshot of each, too", function()
    local text = ask(at(leaky, "s8"), at(clean, "s8"))
    assert.matches("^Less: _G%.bus%.listeners%.tick%[%*%] %(Listener%) has less: " ..
                   "[%d.]+ KB before, 0 B after\n", text)
    text = ask(at(clean, "s8"), at(leaky, "s8"))
    assert.matches("^More: _G%.bus%.listeners%.tick%[%*%] %(Listener%) has more: ", text)
    assert.matches("\nmore +0 B +[%d.]+ KB +0 +40 +Listener +_G%.bus", text)
  end)

  it("are a gate for what grows after", function()
    local words = ("heapdiff --fail-objects 30 --before %s --after %s")
    local fails = words:format(at(clean, "s3", "s7"), at(leaky, "s3", "s7"))
    local _, err, code = support.run(fails)
    assert.equal(1, code)
    assert.matches("^heapdiff: %d+ objects of growth after, which is more than 30\n$", err)
    local passes = words:format(at(leaky, "s3", "s7"), at(clean, "s3", "s7"))
    assert.equal(0, (select(3, support.run(passes))))
  end)
end)
