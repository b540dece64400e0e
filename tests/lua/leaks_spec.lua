-- leaks_spec.lua - heap.leaks: no false alarm on a thousand calls into real libraries, all planted
-- leaks found, and whatever the function does, the heap is as it was.

local support = require "tests.common.support"

local function run_file(name, ...)
  local program = support.read_file(("%s/tests/lua/leaks/%s.lua"):format(support.root, name))
  return (support.lua(program, {args = {...}}))
end

local function run(program, ...)
  return (support.lua('local heap = require "heap"\n' .. program, {args = {...}}))
end

local function of_release(text)
  return support.sizes(text, {["112 B"] = "101 B", ["112.0 B"] = "101.0 B", ["56 B"] = "48 B",
                              ["240 B"] = "224 B", ["80 B"] = "72 B", ["399 B"] = "375 B",
                              ["319 B"] = "303 B"})
end

describe("heap.leaks", function()
  local n_free, alarms, n_planted, n_quiet, missed = 0, {}, 0, 0, {}
  local one_in = support.is_tried(8, 9) and 1 or 8 -- of the functions that leak nothing
  local step = support.is_tried(3, 4) and 1 or 4 -- of those that leak

  for _, corpus in ipairs {"penlight", "others"} do
    for group in ipairs(require("tests.lua.leaks." .. corpus)) do
      it(("raises no false alarm: %s %d"):format(corpus, group), function()
        local out = run_file("free", corpus, group, one_in)
        local told, n = out:match("^(.-)(%d+)\n$")
        n_free = n_free + tonumber(n)
        if told ~= "" then alarms[#alarms + 1] = told end
        assert.equal("", told)
      end)
    end
  end

  it("finds planted leaks, with class, path and count, and none where none is", function()
    local out = run_file("plant", step)
    local told, planted, quiet = out:match("^(.-)(%d+)\t(%d+)\n$")
    n_planted, n_quiet = tonumber(planted), tonumber(quiet)
    for line in told:gmatch("[^\n]*\t%l+ run[^\n]*") do missed[#missed + 1] = line end
    assert.equal("", told)
  end)

  it("was asked about a thousand functions, and fifty leaks", function()
    print(("\nleak tests: %d leak-free functions, %d false alarms; %d planted leaks, %d found")
      :format(n_free + n_quiet, #alarms, n_planted, n_planted - #missed))
    assert.is_true(n_free >= (one_in == 1 and 1000 or 100))
    assert.is_true(n_planted >= 71 // step and n_quiet >= 55 // step)
    assert.same({}, alarms)
  end)

  it("tells it as a table, and as values", function()
    local out = run [[
      local Listener = {__name = "Listener"}
      bus, log = {listeners = {}}, {}
      local report = heap.leaks(function()
        bus.listeners[#bus.listeners + 1] = setmetatable({function() return bus end}, Listener)
        log[#log + 1] = 1
        log[#log + 1] = 2
      end)
      print(report)
      print(#report, report.runs, report.classes.Listener, report.classes.table)
      for _, row in ipairs(report) do
        local bytes = row.bytes_per_run and row.bytes_per_run .. " B"
        print(row.per_run, row.objects_per_run, bytes, row.entries)
        print(row.class, row.type, row.held_by)
      end
      print(heap.leaks(function() return {} end))
    ]]
    assert.equal(of_release [[
each run leaves 2 objects (112 B in all) and 2 entries behind, seen in 4096 runs;
1 of the objects retains the others

  per run  retaining  class            held by              fingerprint
 1 object      112 B  Listener         _G.bus.listeners[*]  2-4cb4b6ae2a
    allocated at @program.lua:5 in f
2 entries             array of number  _G.log               2-afa5039255

See it: heap.leaks(f, {file = "leak.heap"}), then heapview leak.heap
2	4096	1.0	nil
1.0	2.0	112.0 B	nil
Listener	table	_G.bus.listeners[*]
2.0	nil	nil	true
array of number	table	_G.log
nil
]], out)
  end)

  it("tells what some runs leave in whole objects", function()
    local out = support.lua [[
      local heap = require "heap"
      local n, kept = 0, {}
      print(heap.leaks(function()
        n = n + 1
        if n % 5 == 0 then kept[#kept + 1] = {name = {n}} end
      end))]]
    assert.matches("^every 5 runs leave 2 objects %(%d+ B in all%) behind, seen in 8192 runs;\n"
                   .. "1 of the objects retains the others\n\n +per run  retaining  class [^\n]+"
                   .. "\n1 object in 5 runs +%d+ B  {name} ", out)
  end)

  it("counts what all leaks leave together, wherever it hangs", function()
    local function told(leak)
      return run(([[
        a, b, c = {}, {}, {}
        local n = 0
        local function keep(t, v) t[#t + 1] = v end
        print(heap.leaks(function()
          n = n + 1
          %s
        end))
      ]]):format(leak)):match("^(.-)\n\n"):gsub(" %(.- in all%)", "")
    end
    assert.equal([[
each run leaves on average 1.33 objects behind, seen in 8192 runs;
1 of the objects retains the others]],
      (told "keep(({[0] = a, b, c})[n % 3], n % 3 == 0 and {n, {}} or {n})"))
    assert.equal("every 5 runs leave on average 1 object behind, seen in 8192 runs",
                 (told "if n % 10 == 0 then keep(a, {n}) keep(b, {n}) end"))
    assert.equal([[
every 100 runs leave 123 objects behind, seen in 8192 runs;
41 of the objects retain the others]],
      (told "if n * 618 % 1000 < 409 then keep(a, {{}, {}}) end"))
    assert.matches("^each run leaves 2,001 objects behind, seen in ",
                   (told "local t = {} for i = 1, 2000 do t[i] = {} end keep(a, t)"))
  end)

  it("names all places whose objects it counts as one leak", function()
    local out = run [[
      tenants = {}
      for t = 1, 3 do
        tenants["tenant" .. t] = {channels = {random = {cleanup = {}}, ops = {cleanup = {}}}}
      end
      local n = 0
      print(heap.leaks(function()
        n = n + 1
        local cleanup = tenants["tenant" .. n % 3 + 1].channels.random.cleanup
        cleanup[#cleanup + 1] = {}
      end))
    ]]
    assert.matches(of_release "1 object +56 B +{} " ..
                   "+_G.tenants.tenant%*.channels.random.cleanup%[%*%]", out)
  end)

  it("says that few runs cannot tell a leak from a cache, and what to do", function()
    local function told(options, kept)
      return run(([[
        local n, kept = 0, {}
        print(heap.leaks(function()
          n = n + 1
          kept[n %% 1000] = %s
        end, {%s}))
      ]]):format(kept, options))
    end
    for _, runs in ipairs {8, 500, 900} do
      local words = ("seen in %d runs\n%d runs cannot tell a leak from a cache that fills up: "
                     .. "leave out 'runs = %d' to know\n\n"):format(runs, runs, runs)
      assert.matches(words, told("runs = " .. runs, "{}"), 1, true)
    end
    assert.equal("nil\n", told("", "{}"))
    local files = told("runs = 400", "setmetatable({}, {__gc = rawlen})")
    assert.matches("seen in 400 runs;\n1 of the objects retains the others\n\n", files, 1, true)
  end)

  it("is not certain of what comes less often, or went once", function()
    local function told(kept)
      return run(([[
        local n, state, kept, rest = 0, 42, {}, {}
        local leaks = heap.leaks(function()
          n, state = n + 1, state * 6364136223846793005 + 1442695040888963407
          local chance = (state >> 33) / (1 << 31)
          %s
        end)
        print(leaks and leaks[1].unsteady, leaks)
      ]]):format(kept))
    end
    local function is_undecided(out)
      assert.matches("^true\t", out)
      assert.matches("8192 runs cannot tell a leak from a cache that fills up: ", out)
      assert.matches(": 'runs = 32768' may\n", out)
      assert.matches("\n    fewer came later, or most went once: ", out)
    end
    local cache = "local k = chance * chance * %d // 1  kept[k] = kept[k] or {k}"
    is_undecided(told(cache:format(20000)))
    is_undecided(told [[
      rest[n % 3000 // (1 + chance)] = {chance}
      kept[n % 4100] = {n}
      if n % 4100 == 0 then kept = {} end
    ]])
    assert.matches("^nil\tevery 5 runs leave", told "if n % 5 == 0 then kept[n] = {n} end")
    assert.matches("^nil\t", told "if chance < 0.2 then kept[n] = {n} end")
  end)

  it("tells where the objects were allocated that come and go in a queue that grows", function()
    local out = run [[
      local q, head, tail, n = {}, 1, 0, 0
      local function put() q[tail] = {n = n} end
      print(heap.leaks(function()
        n, tail = n + 1, tail + 1
        put()
        if n % 10 < 4 then q[head], head = nil, head + 1 end
      end))
    ]]
    assert.matches("every 5 runs leave 3 entries behind", out, 1, true)
    assert.matches("\n    allocated at @[^\n]-:%d+ in put", out)
  end)

  it("counts the newest of a list, which is held in another way, with the others", function()
    local out = run [[
      cache = {}
      local n, newest = 0, nil
      print(heap.leaks(function()
        n = n + 1
        local entry = {key = "key" .. n, value = {}, older = newest}
        if newest then newest.newer = entry end
        newest, cache[entry.key] = entry, entry
      end))
    ]]
    assert.matches(of_release "each run leaves 3 objects (240 B in all) behind", out, 1, true)
  end)

  it("counts strings that several records share with these, if nothing else holds them", function()
    local function told(field)
      return run(([[
        T, names = {}, {}
        local n = 0
        print(heap.leaks(function()
          n = n + 1
          local name = "name" .. n // 100
          T[n] = {name = name}
          %s
        end))
      ]]):format(field)):gsub(" +2%-%x+\n", "\n"):gsub("[%d.]+ objects? [^\n]-[%d.]+ B  ", "")
    end
    assert.equal(of_release [[
each run leaves on average 1.01 objects (80 B in all) behind, seen in 8192 runs;
1 of the objects retains the others

per run  retaining  class   held by  fingerprint
{name}  _G.T[*]
    allocated at @program.lua:7 in f

See it: heap.leaks(f, {file = "leak.heap"}), then heapview leak.heap
]], (told "":gsub(" +per run", "per run")))
    assert.matches("\nstring +_G.names%[%*%]\n", (told "names[1 + n // 100] = name"))
  end)

  it("raises no false alarm where a full cache and a list hold the same", function()
    local program = [[
      local Lru = {}
      Lru.__index = Lru

      local function unlink(e) e.older.newer, e.newer.older = e.newer, e.older end
      local function link(self, e)
        e.newer, e.older = self.ends, self.ends.older
        e.newer.older, e.older.newer = e, e
      end

      function Lru.new(capacity)
        local ends = {}
        ends.newer, ends.older = ends, ends
        return setmetatable({capacity = capacity, n = 0, map = {}, ends = ends}, Lru)
      end

      function Lru:get(key, make)
        local e = self.map[key]
        if e then unlink(e) link(self, e) return e.value end
        e = {key = key, value = make(key)}
        self.map[key], self.n = e, self.n + 1
        link(self, e)
        if self.n > self.capacity then
          local oldest = self.ends.newer
          unlink(oldest)
          self.map[oldest.key], self.n = nil, self.n - 1
        end
        return e.value
      end

      -- Chance that is the same everywhere.
      local function dice(seed)
        return function()
          seed = (seed * 6364136223846793005 + 1442695040888963407) & math.maxinteger
          return (seed >> 30) / (1 << 33)
        end
      end

      local function make(key)
        return {title = "Page " .. key, html = ("<p>%s</p>"):format(key):rep(3), links = {key}}
      end

      local function try(seed, what)
        local pages, visits, random, all = Lru.new(2000), {}, dice(seed), {}
        return heap.leaks(function()
          local page = pages:get("page-" .. math.floor(20000 * random() ^ 3), make)
          if what == "parts" and random() < 0.2 then page.part = page.part or {} end
          if what == "leak" and random() < 0.1 then all[#all + 1] = page.title end
          visits[#visits + 1] = (what == "pages" or what == "parts") and page or page.title
          if #visits == 50 then visits = {} end
        end, {track = false})
      end

      local n = {}
      for seed = 1, tonumber(arg[1]) do
        for _, what in ipairs {"titles", "pages", "parts", "leak"} do
          n[what] = (n[what] or 0) + (try(seed, what) and 1 or 0)
        end
      end
      print(n.titles, n.pages, n.parts, n.leak)
    ]]
    local n_seeds = step == 1 and 8 or 2
    assert.equal(("0\t0\t0\t%d\n"):format(n_seeds), run(program, n_seeds))
  end)

  it("tells who holds a string that is both key and value", function()
    local function told(how)
      local out = run(([[
        seen = {}
        local n, last = 0, "first"
        local leaks = heap.leaks(function()
          n = n + 1
          local id = "message " .. n
          %s
          last = id
        end)
        print(#leaks, leaks[1].per_run, leaks[1].class, leaks[1].held_by, leaks[1].allocated)
        print(leaks[1].fingerprint)
      ]]):format(how))
      assert.matches("\n2%-%x+\n$", out)
      return out:match("^(.-)\n")
    end
    local is_both = "1\t1.0\tstring\t_G.seen[*] and key of _G.seen\t"
                    .. "allocated at @program.lua:6 in f"
    assert.equal(is_both, told "seen[id] = id")
    assert.equal(is_both, told "seen[id] = last")
  end)

  it("counts a key that leaks share where it is told, and loses none", function()
    local leaves = "^each run leaves 7 objects.+%f[%d]34 B +string +key of _G%.one%[%*%]%.map "
    assert.matches(leaves, run [[
      one, other = {}, {}
      local n = 0
      print(heap.leaks(function()
        n = n + 1
        local name = "name-" .. n
        one[n], other[n] = {map = {[name] = {}}}, {map = {[name] = {}}}
      end))
    ]])
  end)

  it("counts what heap.diff counts, and names the classes of a list's elements", function()
    local out = run [[
      T, doc = {}, {}
      local Insert, Delete, n = {__name = "Insert"}, {__name = "Delete"}, 0
      local function leak()
        n = n + 1
        T[#T + 1] = {a = {b = {}}, s = ("x"):rep(50) .. #T}
        doc.undo = setmetatable({prev = doc.undo}, n % 2 == 0 and Insert or Delete)
      end
      leak()
      print(heap.diff(leak, 10).objects)
      print(heap.leaks(leak))
    ]]
    assert.equal(of_release [[
50
each run leaves 5 objects (399 B in all) behind, seen in 8192 runs;
2 of the objects retain the others

 per run  retaining  class           held by                   fingerprint
1 object      319 B  {a, s}          _G.T[*]
    allocated at @program.lua:6 in leak
1 object       80 B  Delete, Insert  _G.doc.undo(.prev.prev)*
    allocated at @program.lua:7 in leak

See it: heap.leaks(f, {file = "leak.heap"}), then heapview leak.heap
]], (out:gsub(" +2%-%x+\n", "\n")))
  end)

  it("tells where it was allocated, and leaves no tracking behind", function()
    assert.equal("allocated at @program.lua:5 in leak\nnil\nnil\nnil\nboom\nnil\ntrue\n"
                 .. "allocated at @program.lua:5 in leak\ntrue\n", run [[
      local function is_tracked() return heap.capture().reader.tracking ~= nil or nil end
      list = {}
      local function leak()
        list[#list + 1] = {}
      end
      print(heap.leaks(leak)[1].allocated)
      print(is_tracked())
      print(heap.leaks(leak, {track = false})[1].allocated)
      print(heap.leaks(function() return {} end))
      local runs = 0
      local _, why = pcall(heap.leaks, function()
        runs = runs + 1
        list[#list + 1] = {}
        if runs > 600 then error("boom", 0) end
      end)
      print(why)
      print(is_tracked())
      print(heap.track())
      print(heap.leaks(leak)[1].allocated)
      print(is_tracked())
    ]])
  end)

  it("tells it also where few runs suffice, and is quick where nothing leaks", function()
    assert.equal("allocated at @program.lua:4 in leak 512 12\nnil 517\n", run [[
      local list, runs = {}, 0
      local function leak()
        list[#list + 1] = setmetatable({}, {__gc = function() end})
      end
      local leaks = heap.leaks(leak)
      print(leaks[1].allocated, leaks.runs, heap.leaks(leak, {runs = 12})[1].allocated and 12)
      local nothing = heap.leaks(function() runs = runs + 1 return {} end)
      print(nothing, runs)
    ]]:gsub("\t", " "))
  end)

  it("takes functions that return, yield, call themselves or are callable tables", function()
    assert.equal("nil\tnil\n10\nnil\ttrue\n", run [[
      print(heap.leaks(function() return {}, {} end), heap.leaks(setmetatable({}, {
        __call = function(self, x) assert(self and x == nil) end})))
      local yields, report = 0, 1
      local one = coroutine.wrap(function()
        report = heap.leaks(function() coroutine.yield() yields = yields + 1 end,
                            {runs = 8, warm_up = 2})
      end)
      while report do one() end
      print(yields)
      local inner
      local outer = heap.leaks(function()
        local t = {}
        inner = heap.leaks(function() t[#t + 1] = {} end, {runs = 8, warm_up = 0})
      end, {runs = 8})
      print(outer, inner and inner[1].per_run == 1)
    ]])
  end)

  it("runs the function as often as it was told to", function()
    assert.equal("517\n4101\n12\n9\n", run [[
      local n, t = 0, {}
      heap.leaks(function() n = n + 1 end)
      print(n)
      n = 0
      heap.leaks(function() n = n + 1 t[n] = {} end)
      print(n)
      n = 0
      heap.leaks(function() n = n + 1 end, {warm_up = 2, runs = 10})
      print(n)
      n = 0
      heap.leaks(function() n = n + 1 t[-n] = {} end, {warm_up = 0, runs = 9})
      print(n)
    ]])
  end)

  it("asks no more often than it needs to be certain, or than there is memory", function()
    assert.equal("517\t1\n37\t1\n", run [[
      local n, files, pages = 0, {}, {}
      local report = heap.leaks(function() n = n + 1 files[n] = io.tmpfile() end)
      print(n, #report)
      n, files = 0, nil
      report = heap.leaks(function() n = n + 1 pages[n] = ("x"):rep(5 << 20) .. n end)
      print(n, #report)
    ]])
  end)

  it("lets errors through, and leaves no mark and no snapshot behind", function()
    local out = run [[
      local t, n = {}, 0
      local function marks() collectgarbage() collectgarbage() return #heap.stats().epochs end
      local before = marks()
      for _, last in ipairs {1, 6, 100, 517, 518, 700, 1029, 1030, 4000} do
        n = 0
        local ok, message = xpcall(heap.leaks, debug.traceback, function()
          n = n + 1
          t[#t + 1] = {}
          if n == last then error "boom" end
        end)
        assert(not ok and message:find("^program.lua:%d+: boom\nstack traceback:.*leaks.lua"))
      end
      local ok, code = pcall(heap.leaks, function() error({}) end)
      print(ok, type(code), marks() - before)
      heap.leaks(function() t[#t + 1] = {} end)
      print(marks() - before)
    ]]
    assert.equal("false\ttable\t0\n0\n", out)
  end)

  it("works in a generational collector, with a stopped one, in hooks and in coroutines", function()
    local out = run [[
      local t = {}
      local function leak() t[#t + 1] = {} end
      local function clean() local _ = {{}} end
      local function both()
        local found = heap.leaks(leak)
        return found and found[1].per_run, heap.leaks(clean)
      end
      collectgarbage("generational")
      print(both())
      collectgarbage("incremental")
      collectgarbage("stop")
      print(both())
      print(collectgarbage("isrunning"))
      collectgarbage("restart")
      print(coroutine.wrap(both)())
      debug.sethook(function() debug.sethook() print(both()) end, "", 1)
      local _ = {}
    ]]
    assert.equal("1.0\tnil\n1.0\tnil\nfalse\n1.0\tnil\n1.0\tnil\n", out)
  end)

  it("cannot be asked by a finalizer in which no collector runs, and says so", function()
    local out = run [[
      setmetatable({}, {__gc = function()
        local runs = collectgarbage() == 0 -- up to 5.4.3
        print(runs, pcall(heap.leaks, function() end))
      end})
      collectgarbage()
    ]]
    local runs = out:match("^true")
    assert.equal(runs and "true\ttrue\tnil\n"
                 or "false\tfalse\theap.leaks cannot be called by a finalizer\n", out)
  end)

  it("raises errors for wrong arguments, where it was called", function()
    local out = run [[
      for _, wrong in ipairs {{}, {1}, {{}}, {print, {run = 1}}, {print, {runs = 1}},
                              {print, {warm_up = -1}}, {print, {runs = "9"}}, {print, 50}} do
        print(select(2, pcall(function() heap.leaks(table.unpack(wrong, 1, 2)) end)))
      end
    ]]
    assert.equal([[
program.lua:4: bad argument #1 to 'heap.leaks' (function expected, got nil)
program.lua:4: bad argument #1 to 'heap.leaks' (function expected, got number)
program.lua:4: bad argument #1 to 'heap.leaks' (function expected, got table)
program.lua:4: heap.leaks: there is no option 'run'; they are 'runs', 'warm_up', 'track' and 'file'
program.lua:4: heap.leaks: 'runs' must be an integer, 8 or more
program.lua:4: heap.leaks: 'warm_up' must be an integer, 0 or more
program.lua:4: heap.leaks: 'runs' must be an integer, 8 or more
program.lua:4: bad argument #2 to 'heap.leaks' (table expected, got number)
]], out)
  end)
end)
