-- reachability_spec.lua - what the library calls reachable is what the collector keeps.
--
-- The oracle is the collector itself: a snapshot is taken of a heap with garbage in it, then the
-- program collects, and what is left on the lists must be exactly what the snapshot said.

local support = require "tests.common.support"
local read = require "lua_heapread"

local type_names = {[4] = "string", [5] = "table", [6] = "closure", [7] = "userdata",
                    [8] = "thread", [9] = "upvalue", [10] = "proto"}

-- The objects that lua_heapcheck.addresses() wrote: their types, by address.
local function survivors(path)
  local alive = {}
  for address, byte in support.read_file(path):gmatch("%d+ 0x(%x+) (%d+) %d+\n") do
    alive[tonumber(address, 16)] = type_names[tonumber(byte) & 15]
  end
  return alive
end

-- Compares the snapshot `before` with the lists `after` a collection. Returns how many objects
-- were reachable and how many garbage.
local function compare(before, after, where)
  local state, types, texts = read.objects(before)
  local alive = survivors(after)
  local reachable, garbage, wrong = 0, 0, {}
  for address, how in pairs(state) do
    local kept = how == "reachable" or how == "own"
    if kept then reachable = reachable + 1 else garbage = garbage + 1 end
    if kept ~= (alive[address] == types[address]) then
      wrong[#wrong + 1] = ("%s %#x is %s, and the collector %s it: %s"):format(types[address],
        address, how, alive[address] and "keeps" or "frees", texts[address] or "")
    end
  end
  assert.are.equal("", table.concat(wrong, "\n", 1, math.min(#wrong, 20)), where)
  return reachable, garbage
end

-- Makes a heap of all kinds of objects with random references, and drops most of it. GC is the
-- finalizer of some, REVIVE that of others; V is the mode of tables with weak values.
local generator = [[
  local heap, check = require "heap", require "lua_heapcheck"
  local random = math.random
  local setmetatable, create, resume, yield = setmetatable, coroutine.create, coroutine.resume,
                                              coroutine.yield
  local modes = {{__mode = "k"}, {__mode = V}, {__mode = "kv"}, {__mode = 1}, {__mode = "x"}}
  local finalizer = {__gc = GC}
  local weak_finalizer = {__gc = GC, __mode = "k"}

  local function holder(...)
    local a, b, c = ...
    while true do a, b, c = b, c, yield(function() return b end) end
  end
  local function failing(a, b) local c = {a, b} error({c}) end
  local function finishing(a) local b = {a} return b end
  local function closing(a)
    local b <close> = setmetatable({a}, {__close = function() return a end})
    yield(b)
  end
  local function normal(a) -- resumes another one, which yields
    local inner = create(holder)
    resume(inner, a, {a}, inner)
    yield(inner)
  end
  local function varargs(...) yield(select("#", ...)) return ... end

  local makers = {
    function() return {} end,
    function() return {{}, {}, x = {}} end,
    function() return setmetatable({}, modes[1]) end,
    function() return setmetatable({}, modes[1]) end,
    function() return setmetatable({}, modes[2]) end,
    function() return setmetatable({}, modes[3]) end,
    function() return setmetatable({}, modes[random(5)]) end,
    function() local a, b return function() return a, b end end,
    function() local a local function set(x) a = x end return {set, function() return a end} end,
    function() return create(holder) end,
    function(x) local co = create(holder) resume(co, x, {}, {x}) return co end,
    function(x) local co = create(holder) local _, f = resume(co, {}, x, co) return f end,
    function(x) local co = create(failing) resume(co, x, {}) return co end,
    function(x) local co = create(finishing) resume(co, x) return co end,
    function(x) local co = create(closing) resume(co, x) return co end,
    function(x) local co = create(normal) resume(co, x) return co end,
    function(x) local co = create(varargs) resume(co, x, {}, {x}, 1) return co end,
    function(x) local f = coroutine.wrap(holder) f(x) return f end,
    function() return check.userdata(random(40), 2) end,
    function() return check.userdata(0, random(0, 1)) end,
    function() return check.closure({}, {}) end,
    function(_, i) return {("string "):rep(random(8)) .. i, [i .. " key"] = 1} end,
    function() return setmetatable({}, finalizer) end,
    function() return setmetatable({}, weak_finalizer) end,
    function(x) return load("local a = {...} return function() return a, b end")(x) end,
    function(x) return setmetatable({x}, {__gc = REVIVE}) end,
    function(x) return debug.setmetatable(check.userdata(8, 1), {__index = x, __gc = GC}) end,
    function(x) return string.gmatch("x", "x"), x end}

  local function link(a, b, c)
    local kind = type(a)
    if kind == "table" then
      local how = random(5)
      if how == 1 then a[#a + 1] = b
      elseif how == 2 then a["key" .. random(5)] = b
      elseif how == 3 then a[b] = true
      else a[b] = c end
    elseif kind == "function" then
      if debug.getinfo(a, "u").nups > 0 then debug.setupvalue(a, random(2), b) end
    elseif kind == "thread" then
      if coroutine.status(a) == "suspended" then resume(a, b) end
    else
      debug.setuservalue(a, b, random(2))
    end
  end

  -- The result holds one in eight of n objects.
  local function build(n)
    local pool, kept = {}, {}
    for i = 1, n do pool[i] = makers[random(#makers)](pool[random(math.max(1, i - 1))], i) end
    for _ = 1, 2 * n do link(pool[random(n)], pool[random(n)], pool[random(n)]) end
    for i = 1, n do
      if random(8) == 1 then kept[#kept + 1] = pool[i] end
    end
    -- a chain of ephemerons, in an order that needs many passes
    local e, o = setmetatable({}, modes[1]), {}
    for i = 1, 50 do o[i] = {} end
    for i = 50, 2, -1 do e[o[i - 1] ] = o[i] end
    kept.e, kept.start = e, o[random(50)]
    return kept
  end
]]

-- One collection frees all garbage, but what waits for a finalizer. A second one frees that, and
-- the keys of tables with weak values whose value the first one removed.
local once = 'local V, collections = "v", 1\n' .. generator
local twice = 'local V, GC, REVIVE, collections = "kv", function() end, function() end, 2\n' ..
              generator
local reviving = 'risen, revives = {}, true local V, GC, REVIVE = "kv", function() end, ' ..
                 'function(o) if revives then risen[#risen + 1] = o end end\n' .. generator

describe("after full collections", function()
  local function nothing_is_garbage(program)
    local _, dir = support.lua([[
      local heap, check = require "heap", require "lua_heapcheck"
      ]] .. program .. [[
      for _ = 1, 5 do collectgarbage() end
      heap.snapshot("s")
      check.addresses("lists")
    ]])
    local _, garbage = compare(dir .. "/s", dir .. "/lists", "a collected heap")
    assert.are.equal(0, garbage)
  end

  it("all is reachable in a new state", function()
    nothing_is_garbage ""
    nothing_is_garbage "collectgarbage('incremental')"
  end)

  it("all is reachable with luacheck and penlight loaded", function()
    nothing_is_garbage [[
      local luacheck = require "luacheck"
      luacheck.check_strings({"local x = 1 return function() return y end"}, {})
      require "pl.pretty"
    ]]
  end)

  it("all is reachable in random heaps", function()
    for seed = 1, 4 do
      nothing_is_garbage(reviving .. ("math.randomseed(%d) Kept = build(1500)"):format(seed))
      nothing_is_garbage(once .. ("math.randomseed(%d) Kept = build(1500)"):format(seed))
    end
  end)
end)

describe("what the collector keeps is what is reachable", function()
  -- Each round has a heap of its own; the collector stands anywhere in its cycle.
  local rounds = [[
    local seed, rounds = tonumber(arg[1]), tonumber(arg[2])
    math.randomseed(seed)
    local names = {}
    for i = 1, rounds do names[i] = {"s" .. i, "lists" .. i} end
    local function round(i)
      local kept
      collectgarbage("restart")
      collectgarbage()
      if i % 3 == 0 then collectgarbage("generational")
      else collectgarbage("incremental", 1000, 100, 1) end
      if i % 4 ~= 0 then collectgarbage("stop") end
      kept = build(800)
      if i % 2 == 0 then
        for _ = 1, random(400) do collectgarbage("step", 0) end
        while select(4, check.collector()) do collectgarbage("step", 0) end
        collectgarbage("stop")
      end
      -- what comes next allocates no object
      assert(heap.snapshot(names[i][1]))
      for _ = 1, collections do collectgarbage() end
      check.addresses(names[i][2])
      kept = kept
    end
    for i = 1, rounds do
      if i % 5 == 0 then coroutine.wrap(round)(i) else round(i) end
    end
  ]]

  local function compare_rounds(program, seed, n)
    local _, dir = support.lua(program .. rounds, {args = {seed, n}})
    local total, lost = 0, 0
    for i = 1, n do
      local reachable, garbage = compare(("%s/s%d"):format(dir, i), ("%s/lists%d"):format(dir, i),
                                         ("seed %d, round %d"):format(seed, i))
      total, lost = total + reachable, lost + garbage
    end
    assert.is_true(total > n * 400 and lost > n * 100, total .. " and " .. lost)
  end

  it("in random heaps with weak tables, ephemerons and coroutines", function()
    for seed = 1, 3 do compare_rounds(once, seed, 12) end
  end)

  it("in random heaps with finalizers", function()
    for seed = 4, 6 do compare_rounds(twice, seed, 12) end
  end)

  it("with revived objects in the heap", function()
    for seed = 11, 12 do
      local _, dir = support.lua(reviving .. [[
        math.randomseed(tonumber(arg[1]))
        local kept = build(2000)
        kept = {kept, build(2000)}
        collectgarbage() collectgarbage()
        assert(#risen > 20)
        kept[1] = nil
        collectgarbage() collectgarbage()
        collectgarbage("stop")
        -- half of the risen: their finalizers will not run again, and those that they kept from
        -- running will revive nothing
        for i = 1, #risen, 2 do risen[i] = false end
        revives = false
        finalizer.__gc, weak_finalizer.__gc = rawlen, rawlen
        for _, o in ipairs(kept) do kept[#kept + 1] = {o} end
        heap.snapshot("s")
        collectgarbage() collectgarbage()
        check.addresses("lists")
        kept[1] = kept
      ]], {args = {seed}})
      compare(dir .. "/s", dir .. "/lists", "seed " .. seed)
    end
  end)

  -- Objects that wait for their finalizer are roots. An emergency collection keeps them waiting.
  it("with finalizers pending", function()
    local _, dir = support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      check.small_steps()
      collectgarbage()
      local weak, ephemeron = setmetatable({}, {__mode = "v"}), setmetatable({}, {__mode = "k"})
      for i = 1, 100 do
        local o = setmetatable({{i}, name = "pending " .. i}, {__gc = function() end})
        weak[i], ephemeron[o] = o, {"value of " .. i}
        local _ = {"only garbage " .. i}
      end
      repeat collectgarbage("step", 0) until select(4, check.collector())
      collectgarbage("stop")
      for i = 1, 100 do local _ = {"garbage " .. i} end
      assert(select(4, check.collector()))
      heap.snapshot("s")
      check.emergency()
      check.addresses("lists")
      assert(select(4, check.collector()))
    ]]
    local reachable, garbage = compare(dir .. "/s", dir .. "/lists", "pending")
    assert.is_true(reachable > 400 and garbage > 200, reachable .. " and " .. garbage)
    local text = support.read_file(dir .. "/s")
    assert.is_truthy(text:find("pending 100", 1, true))
  end)
end)
