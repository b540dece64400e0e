-- quiet.lua - functions that keep something and leak nothing: what they keep has a bound, is made
-- once, or goes later. The code returns the function.

return {
  {"a cache that fills up", [[
    local n, cache = 0, {}
    return function() n = n + 1 local k = n % 40 cache[k] = cache[k] or {k} end]]},
  {"the last ten", [[
    local n, last = 0, {}
    return function() n = n + 1 last[n % 10] = {n} end]]},
  {"the last thirty", [[
    local n, last = 0, {}
    return function() n = n + 1 last[n % 30] = {name = "n" .. n} end]]},
  {"a full cache of a hundred, new for old", [[
    local n, cache, order = 0, {}, {}
    return function()
      n = n + 1
      cache["key" .. n] = {n}
      order[#order + 1] = "key" .. n
      if #order > 100 then cache[table.remove(order, 1)] = nil end
    end]]},
  {"two generations", [[
    local young, old, n = {}, {}, 0
    return function()
      n = n + 1
      young[n] = {n}
      if n % 8 == 0 then young, old = {}, young end
    end]]},
  {"growth by doubling", [[
    local n, blocks = 0, {}
    return function()
      n = n + 1
      if n & (n - 1) == 0 then blocks[#blocks + 1] = {n} end
    end]]},
  {"what is made in the twelfth run", [[
    local n = 0
    return function() n = n + 1 if n == 12 then late = {{}, {}, {}} end end]]},
  {"much that is made in the fortieth run", [[
    local n = 0
    return function()
      n = n + 1
      if n == 40 then later = {} for i = 1, 1000 do later[i] = {i} end end
    end]]},
  {"a module that is loaded late", [[
    local n = 0
    return function() n = n + 1 if n == 7 then require "pl.template" end end]]},
  {"a module that is loaded again and again", [[
    return function() package.loaded["pl.sip"] = nil require "pl.sip" end]]},
  {"memory of what was asked for", [[
    local n, seen = 1, {}
    return function() n = n * 5 % 23 seen[n] = seen[n] or tostring(n) .. "!" end]]},
  {"the last value alone", [[
    return function() last_value = {{}, {}} end]]},
  {"a text that grows, one at a time", [[
    text = ""
    return function() text = text .. "more and more of this, so that it is a long string" end]]},
  {"a batch that is written every sixth time", [[
    local batch = {}
    return function() batch[#batch + 1] = {} if #batch == 6 then batch = {} end end]]},
  {"a log that is cut to twenty-five lines", [[
    local lines, n = {}, 0
    return function()
      n = n + 1
      lines[#lines + 1] = "line " .. n
      if #lines > 25 then table.remove(lines, 1) end
    end]]},
  {"a pool", [[
    local pool = {}
    return function() local one = table.remove(pool) or {} pool[#pool + 1] = one end]]},
  {"a pool from which some are taken for a while", [[
    local pool, out, n = {}, {}, 0
    return function()
      n = n + 1
      out[#out + 1] = table.remove(pool) or {}
      if n % 5 == 0 then for _ = 1, #out do pool[#pool + 1] = table.remove(out) end end
    end]]},
  {"a pool that is drained", [[
    local pool, taken = {}, {}
    for i = 1, 1000 do pool[i] = {i} end
    return function() taken[#taken + 1] = table.remove(pool) end]]},
  {"a history of two classes with a bound", [[
    local kinds, n = {{__name = "A"}, {__name = "B"}}, 0
    local function push(undo, depth)
      local at = undo
      for _ = 1, depth do at = at and at.prev end
      if at then at.prev = nil end
      n = n + 1
      return setmetatable({prev = undo}, kinds[n % 2 + 1])
    end
    for _ = 1, 100 do history = push(history, 60) end
    return function() history = push(history, 60) end]]},
  {"a list of two shapes that is begun anew", [[
    local n = 0
    return function()
      n = n + 1
      steps = n % 7 > 0 and (n % 2 == 0 and {next = steps, a = n} or {next = steps, b = n}) or nil
    end]]},
  {"a ring of two classes, linked both ways, that stays as long", [[
    local kinds, n = {{__name = "A"}, {__name = "B"}}, 0
    local first = {}
    first.next, first.prev = first, first
    local function add()
      n = n + 1
      local one = setmetatable({next = first, prev = first.prev}, kinds[n % 2 + 1])
      first.prev.next, first.prev = one, one
    end
    for _ = 1, 70 do add() end
    return function()
      add()
      first.next.next.prev, first.next = first, first.next.next
    end]]},
  {"a stack of configurations that is as high as before", [[
    local n = 0
    local function push(below)
      n = n + 1
      return setmetatable({["opt" .. n] = n}, {__index = below})
    end
    for _ = 1, 50 do settings = push(settings) end
    return function()
      settings = push(settings)
      local at = settings
      for _ = 1, 48 do at = getmetatable(at).__index end
      setmetatable(at, nil)
    end]]},
  {"a queue of many shapes, from which one is taken", [[
    local n, last = 0, {}
    waiting = last
    local function add()
      n = n + 1
      last.next = {["f" .. n] = n}
      last = last.next
    end
    for _ = 1, 60 do add() end
    return function() add() waiting = waiting.next end]]},
  {"a list of many shapes with a bound", [[
    local n, rows = 0, {}
    local function add() n = n + 1 table.insert(rows, {["f" .. n] = n}) end
    for _ = 1, 60 do add() end
    return function()
      add()
      table.remove(rows, 1)
      beat = {}
      for i = 1, n % 9 do beat[i] = {} end
    end]]},
  {"many shapes under names of their own, with a bound", [[
    local n, rows = 0, {}
    local function add() n = n + 1 rows["k" .. n] = {["f" .. n] = n} end
    for _ = 1, 60 do add() end
    return function()
      add()
      rows["k" .. n - 60] = nil
      beat = {}
      for i = 1, n % 9 do beat[i] = {} end
    end]]},
  {"weak values", [[
    local cache = setmetatable({}, {__mode = "v"})
    local n = 0
    return function() n = n + 1 cache[n] = {n} end]]},
  {"weak keys", [[
    local names = setmetatable({}, {__mode = "k"})
    return function() names[{}] = {} end]]},
  {"ephemerons that refer to their keys", [[
    local data = setmetatable({}, {__mode = "k"})
    return function() local k = {} data[k] = {owner = k} end]]},
  {"a chain of ephemerons", [[
    local data = setmetatable({}, {__mode = "k"})
    return function() local a, b, c = {}, {}, {} data[a] = b data[b] = c data[c] = a end]]},
  {"finalizers that take five collections", [[
    local function chain(n)
      if n > 0 then setmetatable({}, {__gc = function() chain(n - 1) end}) end
    end
    return function() chain(5) end]]},
  {"objects that are revived once", [[
    local Once = {}
    function Once.__gc(o) revived = o end
    return function() setmetatable({}, Once) end]]},
  {"a finalizer that takes an entry away", [[
    local open, n = {}, 0
    local File = {__gc = function(f) open[f.n] = nil end}
    return function() n = n + 1 open[n] = true setmetatable({n = n}, File) end]]},
  {"coroutines that are left in a yield", [[
    return function() coroutine.wrap(function() local t = {} coroutine.yield(t) end)() end]]},
  {"one coroutine for all", [[
    local one = coroutine.wrap(function() while true do local t = {} coroutine.yield(t) end end)
    return function() one() end]]},
  {"rings", [[
    return function() local a, b = {}, {} a.b, b.a = b, a end]]},
  {"files that are closed", [[
    return function() local f = io.tmpfile() f:write("x") f:close() end]]},
  {"files that are left to the collector", [[
    return function() io.tmpfile() end]]},
  {"errors", [[
    return function() pcall(error, {code = 1}) end]]},
  {"compiled code", [[
    local n = 0
    return function() n = n + 1 load("return {" .. n .. "}")() end]]},
  {"entries that come and go", [[
    local n, index = 0, {}
    return function() n = n + 1 index["k" .. n] = true index["k" .. n - 5] = nil end]]},
  {"a table that is refilled", [[
    local t, n = {}, 0
    return function()
      n = n + 1
      for k in pairs(t) do t[k] = nil end
      for i = 1, n % 7 do t[i] = {i} end
    end]]},
  {"counters", [[
    hits = {}
    local n = 0
    return function() n = n + 1 local k = n % 3 hits[k] = (hits[k] or 0) + 1 end]]},
  {"a metatable changed", [[
    local object = {}
    return function() setmetatable(object, {__index = {}}) end]]},
  {"a cache of a thousand that fills up, and drops what is least used", [[
    local n, cache = 0, require "tests.lua.leaks.bounded".lru(1000)
    return function() n = n + 1 cache(n) end]]},
  {"a cache of two thousand, of keys that come by chance", [[
    local bounded = require "tests.lua.leaks.bounded"
    local cache, random = bounded.lru(2000), bounded.random(9)
    return function() cache(random(4000)) end]]},
  {"a cache that drops what it drops by chance", [[
    local bounded = require "tests.lua.leaks.bounded"
    local random = bounded.random(3)
    local cache = bounded.random_eviction(1500, random)
    return function() cache(random(6000)) end]]},
  {"two generations of two hundred", [[
    local n, cache = 0, require "tests.lua.leaks.bounded".generations(200)
    return function() n = n + 1 cache(n) end]]},
  {"sessions that live for four hundred calls", [[
    local n, sessions = 0, {}
    return function()
      n = n + 1
      sessions["s" .. n] = {n, cart = {n}}
      sessions["s" .. n - 400] = nil
    end]]},
  {"a list that is cut from three hundred to two hundred", [[
    local kinds, n, depth = {{__name = "Insert"}, {__name = "Delete"}}, 0, 0
    return function()
      n, depth = n + 1, depth + 1
      undo = setmetatable({prev = undo, text = "t" .. n}, kinds[n % 2 + 1])
      if depth < 300 then return end
      local at = undo
      for _ = 1, 199 do at = at.prev end
      at.prev, depth = nil, 200
    end]]},
  {"a ring that is filled slowly", [[
    local n, ring = 0, {}
    return function()
      n = n + 1
      if n % 23 == 0 then ring[n // 23 % 50] = {sql = "select " .. n} end
    end]]},
  {"texts of a language, loaded when it is first asked for", [[
    local random, loaded = require "tests.lua.leaks.bounded".random(11), {}
    local function load(language)
      local texts = {}
      for i = 1, 40 do texts["key" .. i] = language .. " text " .. i end
      return texts
    end
    return function()
      local language = 20 * 1000 // random(20 * 1000) % 40
      loaded[language] = loaded[language] or load(language)
    end]]},
  {"names that are met for the first time ever less often", [[
    local random, labels, names = require "tests.lua.leaks.bounded".random(103), {}, {}
    return function()
      local label = "label" .. 1000000 // random(1000000)
      if #label < 9 then labels[label] = labels[label] or {} end
      if random(9) == 1 then names["n" .. random(200)] = true end
    end]]},
  {"flags that are set and cleared by chance", [[
    local random, flags = require "tests.lua.leaks.bounded".random(17), {}
    return function() flags[random(2000)] = random(2) == 1 or nil end]]},
  {"a queue that fills and empties", [[
    local queue, up, n = {}, true, 0
    return function()
      n = n + 1
      queue[#queue + (up and 1 or 0)] = up and {n} or nil
      if #queue == 700 then up = false elseif #queue == 0 then up = true end
    end]]},
  {"a batch that is begun anew each thousand calls", [[
    local n, batch = 0, {}
    return function()
      n = n + 1
      if n % 1000 < 300 then batch[#batch + 1] = {n, "b" .. n} end
      if n % 1000 == 999 then batch = {} end
    end]]},
  {"a log that is cut to half of its length when it is full", [[
    local lines, n = {}, 0
    return function()
      n = n + 1
      lines[#lines + 1] = "GET /page" .. n % 40
      if #lines == 500 then
        table.move(lines, 251, 500, 1)
        for i = 251, 500 do lines[i] = nil end
      end
    end]]},
}
