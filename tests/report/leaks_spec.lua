-- leaks_spec.lua - `heaptop` opens with what leaks, or is likely to: by certainty, from the ages of
-- what is there, with what several places hold together told once, and with a limit in sight.

local cjson = require "cjson"
local support = require "tests.common.support"

-- serve() is called so many times before a, between a and b, and between b and c.
local frame = [[
  local heap = require "heap"
  local tick = 0
  %s
  local function run(n) for _ = 1, n do tick = tick + 1 serve() end end
  run(%d) heap.snapshot "a" run(%d) heap.snapshot "b" run(%d) heap.snapshot "c"]]

local function take(program, before, between, after)
  return select(2, support.lua(frame:format(program, before or 300, between or 500, after or 500)))
end

local function ask(dir, ...)
  return support.answer({"heaptop", ...}, dir)
end

local function leaks(...)
  return cjson.decode(ask(take(...), "--leaks", "--json", "c"))
end

local function row_of(answer, path)
  for _, row in ipairs(answer.leaks) do if row.held_by == path then return row end end
  error("no row of " .. path .. ": " .. cjson.encode(answer))
end

-- What a service has that does not leak: more bytes than what leaks.
local noise = [=[
  local page = ("x"):rep(400)
  cache = {max = 200, n = 0, map = {}, order = {}, first = 1}
  local function get(key)
    if cache.map[key] then return end
    cache.map[key] = {key = key, html = page .. key}
    cache.n = cache.n + 1
    cache.order[cache.n] = key
    if cache.n - cache.first + 1 > cache.max then
      cache.map[cache.order[cache.first]] = nil
      cache.order[cache.first] = nil
      cache.first = cache.first + 1
    end
  end
  ring = {size = 16, slots = {}}
  sessions, hours = {}, {}
  local function noise()
    get(tick)
    ring.slots[tick % 16 + 1] = {at = tick, text = page .. tick}
    sessions[tick] = {expires = tick + 120, text = "s" .. tick}
    sessions[tick - 120] = nil
    if tick % 100 == 0 then hours[tick] = {at = tick} end
  end
]=]

-- Leaks, each 1 in 5 calls: the program, class, path, and what else it is held by.
local causes = {
  ["what two handlers share"] = {[[
    local Conn = {__name = "Conn"}
    bus = {data = {}, close = {}}
    local function leak(i)
      local self = setmetatable({id = i, buf = ("b"):rep(80)}, Conn)
      bus.data[i] = function() return self.buf end
      bus.close[i] = function() self.buf = nil end
    end]], "Conn", "_G.bus.close[*]", "_G.bus.data[*]"},
  ["objects that are keys of old tables, few in each"] = {[[
    local Bullet = {__name = "Bullet"}
    world = {grid = {}}
    for i = 0, 99 do world.grid[i] = {} end
    local function leak(i) world.grid[i % 100][setmetatable({x = i}, Bullet)] = true end]],
    "Bullet", "key of _G.world.grid[*]"},
  ["code that was made for each of them"] = {[[
    templates = {}
    local function leak(i) templates["t" .. i] = load("return " .. i, "=template" .. i) end]],
    "main chunk template*", "_G.templates[*]"},
  ["keys that hold more than their values"] = {[[
    local Widget = {__name = "Widget"}
    styles = {}
    local function leak(i) styles[setmetatable({("w"):rep(90) .. i}, Widget)] = {border = i} end]],
    "Widget", "key of _G.styles"},
  ["a list that is linked both ways"] = {[[
    queue = {max = 50}
    queue.newest = {value = 0}
    queue.oldest = queue.newest
    local function leak(i)
      local n = {value = i, older = queue.newest}
      queue.newest.newer, queue.newest = n, n
    end]], "{newer, older, value}", nil},
  ["what is counted in a size"] = {[[
    log = {size = 0, lines = {}}
    local function leak(i)
      log.size = log.size + 1
      log.lines[log.size] = {at = i, text = "line " .. i}
    end]], "{at, text}", "_G.log.lines[*]"},
}

describe("heaptop says first", function()
  for name, case in pairs(causes) do
    it("that it leaks: " .. name, function()
      local program = noise .. case[1] ..
        " function serve() noise() if tick % 5 == 0 then leak(tick) end end"
      local first = leaks(program).leaks[1]
      assert.equal("grows", first.prospect)
      assert.equal(case[2], first.class)
      if case[3] then assert.equal(case[3], first.held_by) end
      assert.equal(case[4] or cjson.null, first.also_held_by)
      assert.is_true(first.objects >= 255 and first.objects <= 262, first.objects)
      assert.is_true(first.ages[1] >= 55 and first.ages[2] >= 95 and first.ages[3] >= 95)
    end)
  end

  it("that nothing leaks, of caches, rings and sessions", function()
    local answer = leaks(noise .. " function serve() noise() end")
    assert.equal(0, answer.total_certain + answer.total_likely)
    local pages = row_of(answer, "_G.cache.map")
    assert.same({"bounded", 200, '"max"'}, {pages.prospect, pages.limit, pages.limit_name})
    local slots = row_of(answer, "_G.ring.slots")
    assert.same({"bounded", 16, '"size"'}, {slots.prospect, slots.limit, slots.limit_name})
    local sessions = row_of(answer, "_G.sessions")
    assert.same({"bounded", cjson.null, cjson.null},
                {sessions.prospect, sessions.limit, sessions.limit_name})
  end)

  it("that a cache is bounded which is still filling", function()
    local answer = leaks([[
      cache = {limit = 1000, map = {}}
      function serve() if tick <= 800 then cache.map[tick] = {key = tick, text = "t" .. tick} end
      end]], 100, 300, 300)
    local row = row_of(answer, "_G.cache.map[*]")
    assert.same({"bounded", 1000, 700}, {row.prospect, row.limit, row.objects})
  end)

  it("that a cache is bounded which counts what it has, also if that is not half", function()
    local answer = leaks([[
      cache = {size = 1000, count = 0, map = {}}
      services = {}
      function serve()
        cache.count = cache.count + 1
        cache.map[tick] = {value = {name = "s" .. tick}}
        services[tick] = cache.map[tick].value
      end]], 10, 200, 20)
    local row = row_of(answer, "_G.services[*]")
    assert.same({"bounded", 1000, '"size"', 230},
                {row.prospect, row.limit, row.limit_name, row.objects})
  end)

  it("that what grows for certain does so, whatever limit there is of other things", function()
    local answer = leaks([[
      pool = {max = 4000, n = 0, busy = {}}
      function serve() pool.n = pool.n + 1 pool.busy[tick] = {text = "t" .. tick} end]],
      100, 200, 200)
    assert.equal("grows", row_of(answer, "_G.pool.busy[*]").prospect)
  end)

  it("that what a full ring has is bounded, though its strings are of any age", function()
    local answer = leaks([[
      chat = {size = 400, slots = {}}
      local seed = 1
      function serve()
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        chat.slots[tick % 400 + 1] = {from = tick, text = "from player " .. (seed >> 16) % 130}
      end]], 500, 1500, 1500)
    assert.equal(0, answer.total_certain, cjson.encode(answer))
  end)

  it("that what is one of each record is bounded, if the records were there before", function()
    local answer = leaks([[
      records = {}
      for i = 1, 600 do records[i] = {id = i, position = {i}} end
      math.randomseed(1)
      function serve() records[math.random(600)].position = {tick} end]], 300, 150, 150)
    local row = row_of(answer, "_G.records[*].position")
    assert.same({"bounded", 600, 0, 0},
                {row.prospect, row.objects, answer.total_certain, answer.total_likely})
  end)

  it("that a full ring is bounded, whose size and index are beside it", function()
    local ring = [[
      ring = {size = 1000, %s = 0, slots = {}}
      function serve()
        ring.%s = ring.%s %% 1000 + 1
        ring.slots[ring.%s] = {tick}
      end]]
    local function prospect(index, n)
      local row = row_of(leaks(ring:gsub("%%s", index):gsub("%%%%", "%%"), n, n, n),
                         "_G.ring.slots[*]")
      return {row.prospect, row.limit}
    end
    assert.same({"bounded", 1000}, prospect("head", 400))
    assert.same({"grows", 1000}, prospect("sum", 333)) -- it could be anything
  end)

  it("that a queue grows, whose size and indexes are beside it", function()
    local answer = leaks([[
      queue = {size = 0, first = 1, last = 0, items = {}}
      function serve()
        queue.size, queue.last = queue.size + 1, queue.last + 1
        queue.items[queue.last] = {tick}
      end]])
    assert.equal("grows", row_of(answer, "_G.queue.items[*]").prospect)
  end)

  it("that a cache is bounded whose limit is an upvalue of the same function", function()
    local program = [[
      limited = {}
      math.randomseed(1)
      do
        local LIMIT, keys, pages = 900, {}, {}
        limited.get = function()
          if #keys >= LIMIT then pages[table.remove(keys, math.random(LIMIT))] = nil end
          keys[#keys + 1], pages["p" .. tick] = "p" .. tick, {text = "page " .. tick}
        end
      end
      function serve() limited.get() end]]
    local function row(...)
      return row_of(leaks(program, ...), "(upvalue pages of function get @program.lua:7)[*]")
    end
    local full, half, third = row(450, 350, 350), row(150, 150, 150), row(100, 100, 100)
    assert.same({"bounded", 900, '"LIMIT"'}, {full.prospect, full.limit, full.limit_name})
    assert.same({"may grow", 900}, {half.prospect, half.limit}) -- a cache that is still filling
    assert.same({"grows", cjson.null}, {third.prospect, third.limit})
  end)

  -- Of 1,350 the last 200 replaced the first; of 1,050 none did, which looks like a leak.
  it("that a ring of any name is bounded, if it has replaced the oldest", function()
    local ring = [[
      local N, at, window = 1150, 0, {}
      function serve() at = at % N + 1 window[at] = {t = at, s = {at}} end]]
    local function prospects(...)
      local answer = leaks(ring, ...)
      local row = row_of(answer, "(upvalue window of function serve @program.lua:4)[*]")
      return {row.prospect, answer.total_certain + answer.total_likely}
    end
    assert.same({"bounded", 0}, prospects(450, 450, 450))
    assert.same({"grows", 1}, prospects(350, 350, 350))
  end)

  it("of strings, and of what comes ever less often, that they may grow", function()
    local answer = leaks [[
      names, seen = {}, {}
      function serve()
        names[tick] = "name" .. tick
        if tick <= 500 or tick % (tick <= 900 and 2 or 4) == 0 then seen[tick] = {tick} end
      end]]
    for _, path in ipairs {"_G.names[*]", "_G.seen[*]"} do
      assert.equal("may grow", row_of(answer, path).prospect, path)
    end
  end)

  it("that what was loaded once is big, but no leak", function()
    local answer = leaks([[
      words = {}
      for i = 1, 2000 do words["w" .. i] = {text = ("t"):rep(40) .. i} end ]] .. noise ..
      " function serve() noise() end")
    for _, row in ipairs(answer.leaks) do assert.not_equal("{text}", row.class) end
    assert.equal("_G.words", answer.big[1].held_by)
  end)

  it("that nothing leaks of what was there at the first mark, where nothing else stays", function()
    local answer = leaks([[
      checks, keywords = {}, {}
      for i = 1, 18 do checks[#checks + 1] = {name = "check " .. i, text = ("t"):rep(90) .. i} end
      for i = 1, 30 do keywords["word" .. ("x"):rep(i)] = true end
      function serve() local _ = {tick} end]])
    assert.same({0, 0, 0}, {answer.total_leaks, answer.total_certain, answer.total_likely})
  end)

  it("that a list of a few old objects may grow, though they are all from before the first mark",
     function()
    local answer = leaks([[
      local colours, log = {{"red"}, {"green"}, {"blue"}}, {}
      _G.log = log
      function serve() log[#log + 1] = colours[tick % 3 + 1] end]])
    local row = row_of(answer, "_G.log")
    assert.same({"may grow", 1300}, {row.prospect, row.objects})
  end)

  it("that it may grow where little was done in the end", function()
    local answer = leaks("all = {} function serve() all[tick] = {text = 't' .. tick} end",
                         10, 1000, 10)
    assert.equal("may grow", row_of(answer, "_G.all[*]").prospect)
  end)

  it("that numbers may grow, which have no age", function()
    local answer = leaks "all = {} function serve() all[#all + 1] = tick all[#all + 1] = tick end"
    local row = row_of(answer, "_G.all")
    assert.same({"may grow", "number", 2600}, {row.prospect, row.class, row.objects})
  end)

  it("that nothing is certain without marks, or with one", function()
    local program = "all = {} function serve() all[tick] = {text = 't' .. tick} end "
    local dir = select(2, support.lua("local heap, tick = require 'heap', 0 " .. program .. [[
      for _ = 1, 500 do tick = tick + 1 serve() end
      heap.snapshot "none" heap.mark "a"
      for _ = 1, 500 do tick = tick + 1 serve() end
      heap.snapshot "one"]]))
    for _, name in ipairs {"none", "one"} do
      local answer = cjson.decode(ask(dir, "--leaks", "--json", name))
      assert.equal(0, answer.total_certain)
      assert.equal("may grow", answer.leaks[1].prospect)
      assert.matches("^_G%.all", answer.leaks[1].held_by)
    end
  end)
end)

describe("heaptop without options", function()
  local dir = take(noise .. causes["what two handlers share"][1] ..
                   " function serve() noise() if tick % 5 == 0 then leak(tick) end end")

  it("opens with what leaks, and then has the ledger, classes and objects", function()
    local out = ask(dir, "c")
    assert.matches("^What leaks, or is likely to\n\n" ..
                   "_G%.bus%.close%[%*%] and _G%.bus%.data%[%*%] " ..
                   "grows: 260 Conn tables, [%d.]+ KB, [%d.]+%% of the heap\n" ..
                   "    60 older than a, 100 between a and b, 100 since\n" ..
                   "    keys are integers from 5 to 1,300\n" ..
                   "    Why it stays: heappath c 0x%x+\n\n", out)
    assert.matches("_G%.cache%.map is bounded at 200%? 200 {html, key} tables", out)
    assert.matches("\n    \"max\" is 200 beside it\n", out)
    assert.matches("\nClasses by retained size.*\nObjects by retained size", out)
  end)

  it("leaves it out where only objects of a type are asked for, or garbage", function()
    for _, option in ipairs {"--type=table", "--garbage", "--by=class"} do
      assert.is_nil(ask(dir, option, "c"):find("grows:", 1, true))
    end
  end)

  it("has the same words as --growing", function()
    local words = {}
    for _, row in ipairs(cjson.decode(ask(dir, "--growing", "--json", "c")).collections) do
      words[row.held_by] = row.prospect
    end
    for _, row in ipairs(cjson.decode(ask(dir, "--leaks", "--json", "c")).leaks) do
      local table_of = row.held_by:gsub("%[%*%]$", "")
      assert.equal(words[table_of] or row.prospect, row.prospect)
    end
    assert.equal("grows", words["_G.bus.data"])
    assert.equal("bounded", words["_G.cache.map"])
  end)
end)

describe("heaptop --leaks names a big string", function()
  -- 12 KB in c, of a heap of some 400 KB; another one is as big and never replaced.
  local _, dir = support.lua [[
    local heap = require "heap"
    others, log, constant, n = {}, {text = ""}, {text = ("c"):rep(12000)}, 0
    for i = 1, 3000 do others[i] = {i} end
    recent = {}
    local function work()
      for _ = 1, 100 do
        n = n + 1
        log.text = log.text .. ("%040d"):format(n)
        recent[n % 2 + 1] = ("r"):rep(12000) .. n
      end
    end
    work()
    heap.snapshot "a" work() heap.snapshot "b" work() heap.snapshot "c"]]

  it("if it is young and what holds it is old: it may have replaced shorter ones", function()
    local out = ask(dir, "--leaks", "c")
    assert.matches("\n_G%.log%.text is big by itself: string [^\n]+\n    allocated since b, " ..
                   "while what holds it is older than a: it may be a string that grows\n", out)
    assert.not_match("_G.constant", out, 1, true)
    local big = cjson.decode(ask(dir, "--leaks", "--json", "c")).big
    assert.same({"_G.others", "_G.log.text"}, {big[1].held_by, big[2].held_by})
  end)

  it("but no element of a collection", function()
    assert.not_match("_G.recent", ask(dir, "--leaks", "c"), 1, true)
  end)
end)

describe("heaptop --leaks with two tables whose names begin alike", function()
  it("tells of both", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      log, logins = {}, {}
      local function work(n)
        for i = 1, 40000 do log[#log + 1] = i + 0.5 end
        for i = 1, n do logins[#logins + 1] = {user = "u" .. i} end
      end
      work(30) heap.snapshot "a" work(300) heap.snapshot "b" work(100) heap.snapshot "c"]]
    local answer = cjson.decode(ask(dir, "--leaks", "--json", "c"))
    assert.equal(2, #answer.leaks)
    row_of(answer, "_G.log")
    row_of(answer, "_G.logins[*]")
  end)

  it("tells of all, whatever they are called", function()
    local _, dir = support.lua [==[
      local heap = require "heap"
      local names = {"q", "queue", "q.ueue", "q[*]", "q ", "q of x", "q in x", "[*]", "key of q",
                     "q*", "(q)", 'q"', "_G.q", "q[1]"}
      for _, name in ipairs(names) do _G[name] = {} end
      local function work(n)
        for k, name in ipairs(names) do
          local t = _G[name]
          for i = 1, n do t[#t + 1] = {user = "u" .. i, [string.char(96 + k)] = true} end
        end
      end
      work(30) heap.snapshot "a" work(300) heap.snapshot "b" work(100) heap.snapshot "c"]==]
    local answer = cjson.decode(ask(dir, "--leaks", "--json", "c"))
    local told = {}
    for _, row in ipairs(answer.leaks) do told[#told + 1] = row.held_by end
    local expected = {'_G["q.ueue"][*]', '_G["q[*]"][*]', '_G["q "][*]', '_G["q of x"][*]',
                      '_G["q in x"][*]', '_G["[*]"][*]', '_G["key of q"][*]', '_G["q*"][*]',
                      '_G["(q)"][*]', '_G["q\\""][*]', '_G["_G.q"][*]', '_G["q[1]"][*]',
                      "_G.q[*]", "_G.queue[*]"}
    table.sort(told)
    table.sort(expected)
    assert.same(expected, told)
  end)

  it("tells of two classes of one name", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      local first, second = {__name = "Item"}, {__name = "Item"}
      one, other = {}, {}
      local function work(n)
        for i = 1, n do
          one[#one + 1] = setmetatable({i, "first"}, first)
          other[#other + 1] = setmetatable({n = i}, second)
        end
      end
      work(30) heap.snapshot "a" work(300) heap.snapshot "b" work(100) heap.snapshot "c"]]
    local answer = cjson.decode(ask(dir, "--leaks", "--json", "c"))
    assert.equal("Item", row_of(answer, "_G.one[*]").class)
    assert.equal("Item", row_of(answer, "_G.other[*]").class)
  end)
end)

describe("heaptop's first line", function()
  local function first_line(program)
    local out = ask(take(program, 30, 500, 500), "c")
    return out:match "^[^\n]*", out
  end

  it("names what is big and may have grown, and what tells that", function()
    local line, out = first_line [[
      trail = ""
      function serve() trail = trail .. "an order of customer " .. tick .. "\n" end]]
    assert.matches("^_G%.trail is [%d.]+%% of the heap: heapdiff a b c %(three snapshots%) " ..
                   "tells whether it grows%. Nothing else looks as if it leaked$", line)
    assert.matches("\nWhat is big %(heapdiff a b c tells whether it grows%)\n\n" ..
                   "_G%.trail is big", out)
  end)

  it("does not name what is older than the first mark", function()
    local line, out = first_line 'text = ("x"):rep(99999) function serve() end'
    assert.equal("Nothing looks as if it leaked", line)
    assert.matches("\n_G%.text is big by itself", out)
  end)

  it("names a queue, which lets go of what it has had, but may get longer", function()
    local line, out = first_line [[
      queue = {first = 1, last = 0}
      function serve()
        if tick == 400 then kept = {} end
        queue.last = queue.last + 1
        queue[queue.last] = {at = tick, text = ("x"):rep(60) .. tick}
        if tick % 8 == 0 then return end
        queue[queue.first] = nil
        queue.first = queue.first + 1
      end]]
    assert.matches("^_G%.queue is [%d.]+%% of the heap: heapdiff a b c %(three snapshots%) ", line)
    assert.matches("\n    keys are integers from 903 to 1,030: a queue may get longer ", out)
  end)

  it("does not name what was filled once", function()
    local line, out = first_line [[
      words = {}
      for i = 1, 600 do words[i] = {text = ("x"):rep(40) .. i} end
      function serve() end]]
    assert.equal("Nothing looks as if it leaked", line)
    assert.matches("\n_G%.words holds 600 ", out)
  end)
end)

-- Something else is from between a and b: the verdict does not depend on the clock then.
describe("what is all young", function()
  local young = "%f[\n]\n    0 older than a, 0 between a and b, (%d+) since\n"

  it("is not listed if its table is, too: the program replaces it", function()
    local out = ask(take [[
      track = {}
      function serve()
        if #track == 120 then track = {} end
        if tick == 400 then kept = {} end
        track[#track + 1] = {at = tick, text = "at " .. tick}
      end]], "--leaks", "c")
    assert.is_nil(out:find("leak: nothing is certain", 1, true))
    assert.is_nil(out:find("_G.track may grow", 1, true))
  end)

  it("is bounded if its table is older", function()
    local out = ask(take [[
      track = {}
      function serve()
        if tick == 400 then kept = {} end
        track[tick % 120 + 1] = {at = tick, text = "at " .. tick}
      end]], "--leaks", "c")
    assert.matches("\n_G%.track is bounded%? 120 ", out)
    assert.matches(young, out)
    assert.is_nil(out:find("no older", 1, true))
  end)

  it("is bounded if its keys and its parts are not, of which each has one", function()
    local dir = take [[
      cache = {}
      local function put(key, text) cache[key] = {at = tick, text = text} end
      function serve()
        if tick == 400 then kept = {} end
        if tick > 670 and tick <= 1050 then put("key " .. tick, ("text " .. tick):rep(9)) end
        if tick == 1100 then for key, item in pairs(cache) do put(key, item.text) end end
      end]]
    assert.matches("^Nothing looks as if it leaked\n\n_G%.cache is bounded%? 380 ",
                   (ask(dir, "--leaks", "c")))
  end)

  it("is told interval by interval", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      all = {}
      local function work(n) for _ = 1, n do all[#all + 1] = {at = #all} end end
      work(40) heap.snapshot "a" work(60) heap.snapshot "b" heap.snapshot "c"
      work(50) heap.snapshot "d" work(55) heap.snapshot "e"]]
    assert.matches("%f[\n]\n    40 older than a, 60 %+ 0 %+ 50 between a and d, 55 since\n",
                   (ask(dir, "--leaks", "e")))
  end)

  it("may grow in a table of every program: a line says so", function()
    local out = ask(take [[
      function serve()
        if tick == 400 then kept = {} end
        _G["session_" .. tick] = {at = tick}
        _G["session_" .. tick - 480] = nil
      end]], "--leaks", "c")
    assert.matches("\n    what holds them is in every program: its age says nothing\n", out)
  end)
end)

describe("what every program has", function()
  it("is not told: names of globals and modules are the program's own text", function()
    local _, dir = support.lua('require "heap".snapshot "s"')
    assert.matches("^Nothing looks as if it leaked\n", (ask(dir, "s")))
  end)

  it("is told where names are generated", function()
    local answer = leaks('function serve() _G["session_" .. tick] = true end')
    assert.equal("may grow", row_of(answer, "key of _G").prospect)
  end)
end)
