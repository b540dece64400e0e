-- diff_spec.lua - what comparing snapshots says (groups_spec.lua: of groups).

local json = require "cjson"
local support = require "tests.common.support"
local small = require "tests.common.diff"
local diff, groups_of = small.ask, small.groups_of

describe("containers with more entries, but no more bytes", function()
  local program = [[
    roomy, numbers = {}, {}
    for i = 1, 200 do roomy["k" .. i] = i end
    for i = 1, 200 do roomy["k" .. i] = nil end
    function leak()
      for i = 1, %d do numbers[#numbers + 1] = i end
      for i = 1, 5 do roomy[#roomy + 1] = i end
    end
  ]]

  it("are told only where no other grew", function()
    local answer, dir = diff(program:format(500))
    assert.equal(2, #answer.grown)
    local text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("; 1 older container grew by [%d.]+ KB\n", text)
    assert.matches("_G%.numbers\n1 other has more entries, but no more bytes: %-n 0 shows all\n",
                   text)
    assert.not_match("_G.roomy", text, 1, true)
    local all = support.run({"heapdiff", "-n", "0", "a", "b", "c"}, {cwd = dir})
    assert.matches("_G.roomy", all, 1, true)
    dir = select(2, diff(program:format(0)))
    text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("; 1 older container has more entries, but no more bytes\n", text)
    assert.matches("_G.roomy", text, 1, true)
  end)

  it("count where others of their row have more bytes", function()
    local _, dir = diff [[
      boxes = {}
      for k = 1, 10 do
        boxes[k] = {items = {}}
        for i = 1, 10 + k % 2 * 490 do boxes[k].items[i] = i end
        for i = 11, 500 do boxes[k].items[i] = nil end
      end
      function leak()
        for _, box in ipairs(boxes) do
          for _ = 1, 30 do box.items[#box.items + 1] = 1 end
        end
      end
    ]]
    local text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("; 10 older containers grew by [%d.]+ KB\n", text)
    assert.matches("\n%+[%d.]+ KB +10 ", text)
  end)
end)

describe("names that differ in a number", function()
  local program = [[
    local n = 0
    function leak()
      for _ = 1, 10 do
        n = n + 1
        _G["i18n_4_" .. n .. "_x2"] = {id = n}
        package.loaded["i18n.plugin_" .. n] = {name = "b2b"}
      end
    end
  ]]

  it("have a star for this number alone", function()
    local answer, dir = diff(program)
    assert.same({"10 module i18n.plugin_* <- package.loaded[\"i18n.plugin_*\"]",
                 "10 {id} <- _G.i18n_4_*_x2"}, groups_of(answer))
    local ladder = support.run({"heapdiff", "--ladder", "-n", "0", "a", "b", "c"}, {cwd = dir})
    assert.match("{id} +_G.i18n_4_%*_x2\n", ladder)
    assert.match("module i18n.plugin_%* +package.loaded%[\"i18n.plugin_%*\"%]\n", ladder)
  end)

  it("are those of all kinds of modules in a package", function()
    local answer, dir = diff [[
      local n = 0
      package.loaded["plugins.core"] = {n}
      function leak()
        for _ = 1, 10 do
          n = n + 1
          for _, kind in ipairs {"shop", "guild"} do
            package.loaded["plugins." .. kind .. "_r" .. n] = {name = kind .. n}
          end
        end
        package.loaded["plugins.v" .. n .. ".shop"] = {name = "a"}
      end
    ]]
    local names = "module plugins.guild_r*, module plugins.shop_r*"
    assert.same({"20 " .. names .. ' <- package.loaded["plugins.*"]',
                 '1 module plugins.v10.shop <- package.loaded["plugins.v10.shop"]'},
                groups_of(answer))
    assert.same({0, 20, 40}, answer.groups[1].at)
    local ladder = support.run({"heapdiff", "--ladder", "-n", "0", "a", "b", "c"}, {cwd = dir})
    assert.match("module plugins.%* +package.loaded%[\"plugins.%*\"%]\n", ladder)
  end)

  it("have no star for what is the same from the first to the last of the names", function()
    local answer = diff [[
      local Order = {} for i = 1, 20 do Order[i] = {__name = "Order 5/" .. i} end
      local n = 0 orders = {}
      function leak()
        for _ = 1, 10 do n = n + 1 orders[n] = setmetatable({n}, Order[n]) end
      end
    ]]
    assert.same({"10 Order 5/* <- _G.orders[*]"}, groups_of(answer))
  end)
end)

describe("groups of which there are no more", function()
  local function text_of(leak)
    local _, dir = diff("ring, list = {}, {}\nfor i = 1, 100 do ring[i] = {i} end\n" .. leak)
    return (support.run({"heapdiff", "a", "b", "c"}, {cwd = dir}))
  end
  local fill = "for i = (n - 1) * 60 + 1, n * 60 do ring[i % 100 + 1] = {i} end"

  it("are said to be like those of a full cache", function()
    local text = text_of("function leak(n) " .. fill .. " end")
    assert.matches("\nNone of these paths has more objects in c than in a: what came replaced what "
                   .. "went, as in a full cache\n", text, 1, true)
    text = text_of("ring = {} function leak(n) for i = 1, 140 - n * 40 do ring[i] = {i} end end")
    assert.matches("\nNone of these paths has more objects in c than in b: ", text, 1, true)
  end)

  it("are not where one of them grows", function()
    local text = text_of("function leak(n) list[n] = {n} " .. fill .. " end")
    assert.not_match("None of these paths", text)
  end)

  it("can be followed from each row", function()
    local text = text_of("function leak(n) list[n] = {n} " .. fill .. " end")
    assert.matches("\n[^\n]+ 0x%x+  array of number  _G%.ring%[%*%]\n", text)
    assert.matches("\n[^\n]+ 0x%x+  array of number  _G%.list%[%*%]\n", text)
  end)
end)

describe("strings that are replaced by longer ones", function()
  -- Else its text is kept for each field: files of 1.2 MB took 5.9 GB.
  it("are told once where many fields refer to one", function()
    local answer = diff [[
      log, line = {}, "begin"
      for i = 1, 1000 do log[i] = line end
      function leak()
        line = line .. ("a line of text\n"):rep(500)
        for i = 1, #log do log[i] = line end
      end
    ]]
    assert.equal(1, #answer.grown)
    assert.equal("string", answer.grown[1].class)
  end)

  -- The string is a new object each time: no object stays, and no container grows.
  it("are told with the containers that grew", function()
    local answer, dir = diff [[
      log = {buffer = "begin"}
      function leak()
        for i = 1, 500 do log.buffer = log.buffer .. "a line of text, number " .. i .. "\n" end
      end
    ]]
    assert.same({}, groups_of(answer))
    assert.equal(1, #answer.grown)
    local grown = answer.grown[1]
    assert.equal("_G.log.buffer", grown.held_by)
    assert.equal("string", grown.class)
    assert.is_true(grown.shallow_bytes[1] < 100 and grown.shallow_bytes[2] > 12000 and
                   grown.shallow_bytes[3] > 2 * grown.shallow_bytes[2] - 100)
    local text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("^Nothing that was allocated between a and b is still alive in c; 1 string grew "
                   .. "by [%d.]+ KB\n\nContainers older than a, and strings in them, that grew "
                   .. "until b and again until c\n[^\n]+\n[^\n]+ string  _G%.log%.buffer\n", text)
  end)

  it("are told with the line that made them, which a container has not", function()
    local _, dir = diff [[
      heap.track()
      log, numbers = {buffer = "begin"}, {}
      function leak()
        for i = 1, 500 do
          log.buffer = log.buffer .. "a line of text, number " .. i .. "\n"
          numbers[#numbers + 1] = i
        end
      end
    ]]
    local text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("string +_G%.log%.buffer\n +allocated at @app%.lua:6 in leak\n", text)
    assert.not_match("heapprof", text)
    _, dir = diff [[
      heap.track()
      numbers = {}
      function leak() for i = 1, 500 do numbers[#numbers + 1] = i end end
    ]]
    text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("\nWhich line grew a container is in a profile, not in a snapshot: heapprof ",
                   text)
  end)

  it("are one row for all fields at one place", function()
    local answer, dir = diff [[
      local last = ""
      function note(more) last = last .. more end
      rooms = {}
      for i = 1, 20 do rooms[i] = {id = i, transcript = "room " .. i .. ("-"):rep(40)} end
      function leak(n)
        for i = 1, 20 do
          rooms[i].transcript = rooms[i].transcript .. ("said in " .. n):rep(20 * n)
        end
        note(("noted in " .. n):rep(5))
      end
    ]]
    assert.equal(21, #answer.grown)
    local text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.matches("%+[%d.]+ KB +20 [^\n]+ string  _G%.rooms%[%*%]%.transcript\n", text)
    assert.matches("%+[%d.]+ [^\n]+ string  upvalue last of function note @app.lua:3\n", text)
  end)

  it("are not other strings in the same field, nor few bytes", function()
    local answer = diff [[
      page, few, noise = ("first"):rep(100), ("."):rep(70), {}
      for i = 1, 2000 do noise[i] = {("noise " .. i):rep(10)} end
      function leak(n)
        page = ("page number " .. n):rep(1000 * n)
        few = few .. "."
      end
    ]]
    assert.same({}, answer.grown)
  end)
end)

describe("groups", function()
  it("stand first of which the next interval will bring most", function()
    local answer = diff [[
      quota, orders = {}, {}
      for i = 1, 244 do quota[i] = {id = i, text = ("q"):rep(200) .. i} end
      function leak(n)
        for _ = 1, n == 1 and 101 or 5 do
          quota[#quota + 1] = {id = #quota, text = ("q"):rep(200) .. #quota}
        end
        for _ = 1, 100 do orders[#orders + 1] = {key = #orders, text = ("o"):rep(99) .. #orders} end
      end
    ]]
    assert.same({"100 {key, text} <- _G.orders[*]", "101 {id, text} <- _G.quota[*]"},
                groups_of(answer))
    assert.is_true(answer.groups[1].retained_bytes < answer.groups[2].retained_bytes)
  end)
end)

describe("containers that grew", function()
  it("are told with their entries, even if nothing new is in them", function()
    local answer = diff [[
      numbers, steady = {}, {}
      function leak() for i = 1, 50 do numbers[#numbers + 1] = i end end
    ]]
    assert.equal(1, #answer.grown)
    assert.equal("_G.numbers", answer.grown[1].held_by)
    assert.same({0, 50, 100}, answer.grown[1].entries)
  end)

  -- Its slots became more twice, but its entries once.
  it("are not those that became full until b", function()
    local answer = diff [[
      cache = {}
      local oldest = 1
      function leak(n)
        if n == 1 then
          for i = 1, 900 do cache["key " .. i] = i end
          return
        end
        for i = 901, 2000 do
          cache["key " .. oldest], cache["key " .. i] = nil, i
          oldest = oldest + 1
        end
        for i = 1, 200 do cache[i] = i end
        for i = 1, 200 do cache[i] = nil end
      end
    ]]
    assert.same({}, answer.grown)
  end)

  -- Two collections ahead: no key or value of `memo` and `cache` lives, every second one of `half`
  -- does, and a string under a weak key is never taken away.
  it("are not weak tables whose entries wait for the collector", function()
    local answer = diff [[
      collectgarbage "stop"
      memo, cache = setmetatable({}, {__mode = "k"}), setmetatable({}, {__mode = "v"})
      half, named = setmetatable({}, {__mode = "k"}), setmetatable({}, {__mode = "k"})
      alive = {}
      function leak()
        for _ = 1, 50 do
          local key = {}
          memo[{}], cache[#cache + 1], half[{}], half[key] = true, {}, true, true
          alive[#alive + 1] = key
          named["name " .. #alive] = true
        end
      end
    ]]
    local entries = {}
    for _, g in ipairs(answer.grown) do entries[g.held_by] = g.entries end
    local fifty = {0, 50, 100}
    assert.same({["_G.half"] = fifty, ["_G.named"] = fifty, ["_G.alive"] = fifty}, entries)
  end)

  it("are not those that are empty again, nor those that became smaller", function()
    local answer = diff [[
      emptied, smaller = {}, {}
      for i = 1, 1000 do smaller[1e6 + i] = i end
      for i = 1, 1000 do smaller[1e6 + i] = nil end
      function leak(n)
        for i = 1, n * 100 do emptied[i] = i end
        for i = 1, n * 100 do emptied[i] = nil end
        -- Pairs of keys that collide (modulo 1,024 up to 5.4.2, modulo 1,023 since) use up the free
        -- slots, so that Lua makes the table anew.
        local bytes, k, apart = heap.sizeof(smaller), 2000000, 1023 * 1024
        while n == 1 and heap.sizeof(smaller) == bytes do
          k = k + 1
          smaller[k], smaller[k + apart] = true, true
          smaller[k], smaller[k + apart] = nil, nil
        end
        smaller[n] = n
      end
    ]]
    assert.same({}, answer.grown)
  end)
end)

describe("two snapshots", function()
  it("do not count what only the call of heap.snapshot holds", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      keep = {}
      local function take(name) heap.snapshot("s" .. name, {strings = 50 + #name}) end
      take "a"
      keep[1] = {kept = 1}
      take "b"
      local options = {strings = 60}
      keep.options = options
      coroutine.wrap(function() heap.snapshot("sc", options) end)()
    ]]
    local function diff_of(...)
      local words = {"heapdiff", "--json", ...}
      return json.decode((support.run(words, {cwd = dir})))
    end
    local answer = diff_of("sa", "sb")
    assert.same({"1 {kept} <- _G.keep[*]"}, groups_of(answer))
    assert.equal(0, answer.gone_objects)
    for _, change in ipairs(answer.classes) do
      if change.class == "{strings}" then assert.same({0, 0}, {change.appeared, change.gone}) end
    end
    assert.same({"1 {kept} <- _G.keep[*]"}, groups_of(diff_of("--since", "sa", "sb")))
    local held = table.concat(groups_of(diff_of("sb", "sc")), "\n")
    assert.matches("1 {strings} <- ", held, 1, true) -- by the program, too
  end)

  it("tell what went", function()
    local answer = diff([[
      temporary = {}
      for i = 1, 40 do temporary[i] = {gone = i} end
      function leak() temporary = {} collectgarbage() end
    ]], {"a", "c"})
    for _, change in ipairs(answer.classes) do
      if change.class == "{gone}" then
        assert.equal(40, change.gone)
        return
      end
    end
    error("{gone} is not in the table of classes")
  end)
end)

describe("containers that grew", function()
  it("count for --fail-over, which says so", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      numbers = {}
      for i, name in ipairs {"a", "b", "c"} do
        for k = (i - 1) * 1000 + 1, i * 1000 do numbers[k] = k end
        heap.snapshot(name)
      end
    ]]
    local words = {"heapdiff", "--fail-over", "1K", "a", "b", "c"}
    local out, err, code = support.run(words, {cwd = dir})
    local grew = out:match("1 older container grew by ([%d.]+ KB)\n")
    assert.is_string(grew)
    assert.equal(1, code)
    assert.equal("heapdiff: older containers grew by " .. grew .. ", which is more than 1.0 KB\n",
                 err)
  end)

  it("are told by it in the words of the report, beside what new objects retain", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      numbers = {}
      for i, name in ipairs {"a", "b", "c"} do
        for k = (i - 1) * 1000 + 1, i * 1000 do numbers[k] = k end
        _G[name] = {("x"):rep(1000 + i)}
        heap.snapshot(name)
      end
    ]]
    local out, err = support.run("heapdiff --fail-over 1K a b c", {cwd = dir})
    local retained, grew = out:match(" ([%d.]+ KB); %d older containers? grew by ([%d.]+ KB)\n")
    assert.equal(("heapdiff: %s retained, and older containers grew by %s: together more than "
                  .. "1.0 KB\n"):format(retained, grew), err)
  end)
end)

describe("three snapshots of a heap that grew", function()
  --  _G.tenants -> 1,000 strings, then empty: the table is as big as before
  local program = [[
    local heap = require "heap"
    tenants, old = {}, {("y"):rep(4000)}
    collectgarbage() -- makes the stack as small as it will be in c
    heap.snapshot "a"
    for i = 1, 1000 do tenants[i .. ""] = true end
    heap.snapshot "b"
    for key in pairs(tenants) do tenants[key] = nil end
    old[1] = nil
    collectgarbage()
    heap.snapshot "c"
  ]]

  it("say so if neither new objects nor containers tell why", function()
    local _, dir = support.lua(program)
    local text = support.run("heapdiff a b c", {cwd = dir})
    local grew = text:match("\nThe heap grew by ([%d.]+ KB) all the same: heapdiff %-%-owners a c "
                            .. "tells where,\nheaptop %-%-waste c what could be given back\n$")
    local owners = support.run("heapdiff --owners a c", {cwd = dir})
    assert.matches((", +%s; most by _G.tenants"):format(grew), owners, 1, true)
  end)

  it("do not where it grew less, or where they tell it", function()
    for what, by in pairs {["1, 1000"] = "1, 100", ["tenants[key] = nil"] = ""} do
      local _, dir = support.lua((program:gsub(what:gsub("%W", "%%%0"), by)))
      assert.is_nil(support.run("heapdiff a b c", {cwd = dir}):find("all the same", 1, true))
    end
  end)

  it("show the share of what explains more than the whole growth", function()
    local _, dir = support.lua(program)
    local text = support.run("heapdiff --owners a c", {cwd = dir})
    local share = tonumber(text:match("%+[%d.]+ KB +([%d.]+)%% [^\n]* _G.tenants "))
    local rest = tonumber(text:match("%-[%d.]+ K?B +(%-[%d.]+)%% [^\n]* _G.old "))
    assert.is_true(share > 100)
    assert.near(100, share + rest, 0.5)
  end)

  -- The main chunk holds the program by its variables:
  --
  --     main thread -.local jobs-> {} -[1..]-> {id} <-[1..]- {} <-.local mirror- main thread
  local locals = [[
    local heap = require "heap"
    local jobs, log, mirror = {}, {}, {}
    local function work(n)
      for i = 1, n do jobs[#jobs + 1] = {id = i} end
      for i = 1, #mirror do mirror[i] = nil end
    end
    for _, name in ipairs {"a", "b", "c"} do
      log[#log + 1] = name
      work(500)
      heap.snapshot(name)
    end
  ]]

  local function first_line(text)
    local _, dir = support.lua(text, {name = "jobs.lua"})
    return support.run("heapdiff --owners a b c", {cwd = dir}):match "^[^\n]*"
  end

  it("name the variable with most of the growth, not the thread that has all", function()
    assert.match("; most by local jobs in main chunk @jobs%.lua of main thread: %+%d",
                 first_line(locals))
  end)

  it("name what is in two variables of one thread, too", function()
    local mirrored = locals:gsub("for i = 1, #mirror do mirror%[i%] = nil end",
                                 "for i, job in ipairs(jobs) do mirror[i] = job end")
    assert.match("; most by %(local %w+ in main chunk @jobs%.lua of main thread%)%[%*%], which " ..
                 "several hold: %+%d", first_line(mirrored))
  end)

  it("name the thread where its variables tell nothing", function()
    local deep = [[
      local heap = require "heap"
      local function call(n, name)
        if n == 0 then heap.snapshot(name) else call(n - 1, name) return n end
      end
      for i, name in ipairs {"a", "b", "c"} do call(i * 1000, name) end
    ]]
    assert.match("; most by main thread: %+%d", first_line(deep))
  end)
end)

describe("the bytes of new objects", function()
  it("are told once where they are what is retained, or print the same", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      heap.snapshot "a"
      text = ("x"):rep(4000000)
      holder = setmetatable({}, {__gc = function() end})
      heap.snapshot "b"
      holder[1] = "later" .. #text
      heap.snapshot "c"
    ]]
    local text = support.run("heapdiff a b c", {cwd = dir})
    assert.matches("alive in c: 3.8 MB\n", text, 1, true)
    local exact = support.run("heapdiff --bytes a b c", {cwd = dir})
    assert.matches("alive in c: [%d,]+ B, retaining [%d,]+ B\n", exact)
  end)
end)

--  _G.app.handlers.ring.push -> upvalue ring -> [i] -> {x}: 2,000 at most
describe("a ring that is always full", function()
  it("has as much in each snapshot, also where one is taken inside its own function", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      app = {handlers = {}}
      local function make_ring()
        local ring, at = {}, 0
        return function(x, name)
          at = at % 2000 + 1
          ring[at] = {x}
          if name then heap.snapshot(name) end
        end
      end
      app.handlers.ring = {push = make_ring()}
      local function fill(n) for i = 1, n do app.handlers.ring.push(i) end end
      fill(2000) heap.snapshot "a" fill(2000) heap.snapshot "b" fill(1000)
      app.handlers.ring.push(1, "c")
    ]]
    local answer = json.decode((support.run("heapdiff --json a b c", {cwd = dir})))
    assert.equal(1, #answer.groups)
    assert.same({2000, 2000, 2000}, answer.groups[1].at)
    assert.match("in _G%.app%.handlers%.ring%.push%)%[%*%]$", answer.groups[1].held_by)
    assert.match("2,000 %-> 2,000 %-> 2,000", support.run("heapdiff a b c", {cwd = dir}))
  end)
end)

--  _G.cache -> ["user n"] -> {id}, _G.cached -> [i] -> {key}: a cause each
describe("rows about one cause", function()
  it("have one number, and others have other ones", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      cache, cached = {}, {}
      local n = 0
      local function work()
        for _ = 1, 100 do
          n = n + 1
          cache["a user of the name " .. n] = {id = n}
          cached[#cached + 1] = {key = n, more = n}
        end
      end
      for _, name in ipairs {"a", "b", "c"} do work() heap.snapshot(name) end
    ]]
    local causes = {}
    local answer = json.decode((support.run("heapdiff --json a b c", {cwd = dir})))
    for _, list in ipairs {answer.groups, answer.grown} do
      for _, row in ipairs(list) do causes[row.held_by] = row.cause end
    end
    assert.equal(causes["_G.cache"], causes["_G.cache[*]"])
    assert.equal(causes["_G.cache"], causes["key of _G.cache"])
    assert.equal(causes["_G.cached"], causes["_G.cached[*]"])
    assert.same({1, 2}, {math.min(causes["_G.cache"], causes["_G.cached"]),
                         math.max(causes["_G.cache"], causes["_G.cached"])})
    local ladder = json.decode((support.run("heapdiff --ladder --json a b c", {cwd = dir})))
    for _, row in ipairs(ladder.paths) do causes[row.held_by] = row.cause end
    assert.not_equal(causes["_G.cache[*]"], causes["_G.cached[*]"])
  end)

  it("tells small groups that came in one interval last, as noise", function()
    local once = [[
      ballast = ("x"):rep(1000000)
      function leak(n) if n == 1 then once = {1, 2} end end
    ]]
    local function text_of(program, ...)
      local answer, dir = small.ask(program)
      return (support.run({"heapdiff", "a", "b", "c", ...}, {cwd = dir})), answer
    end
    local text = text_of(once)
    assert.match("\nThat is noise: less than a thousandth of the heap at each path, and no path "
                 .. "grew in both intervals\n", text, 1, true)
    assert.match(" _G.once\n", text, 1, true)
    assert.not_match("Why the first", text, 1, true)

    local both = once .. [[
      local leak_once, small = leak, {}
      function leak(n) leak_once(n) for _ = 1, 2 do small[#small + 1] = {} end end
    ]]
    local answer
    text, answer = text_of(both)
    assert.same({"2 {} <- (upvalue small of function leak @app.lua:5)[*]",
                 "1 array of number <- _G.once"}, small.groups_of(answer))
    assert.not_match(" _G.once\n", text, 1, true)
    assert.match("\nand 1 more group: -n 0 shows all\nThe last group is noise: less than a "
                 .. "thousandth of the heap, and no growth in both intervals\n", text, 1, true)
    assert.match("\nWhy the first group stays", text, 1, true)
    assert.match(" _G.once\n", (text_of(both, "-n", "0")), 1, true)
  end)
end)
