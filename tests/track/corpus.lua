-- corpus.lua - programs that allocate at every kind of place: run under a Lua that knows the truth
-- (truth.sh), and wherever the stacks of heap.track are held against others.
--
--     lua corpus.lua [ROUNDS]
--
-- Each function below is one program. They are run in turn, ROUNDS times, then all at once in
-- coroutines that a scheduler switches at every yield. Nothing is random but by a fixed seed, and
-- what they compute is checked, so that who watches them is seen to change nothing.
local rounds = tonumber((...)) or 3
local programs = {}

-- All that a table constructor can be, two on a line and nested; its parts are allocated later.
function programs.constructors(pause)
  local made = {}
  for i = 1, 60 do
    local a, b = {}, {x = i}
    local c = {1, 2, 3, {y = i, {}}, {[i] = {}, n = {i}}}
    local d = {table.unpack({1, 2, 3, 4, 5, 6, 7}, 1, i % 7)}
    local e = {i, i + 1, i + 2, name = {a, b}, (function() return {i} end)(), (select(2, i, {}))}
    made[i] = {a, b, c, d, e}
    if i % 20 == 0 then pause() end
  end
  local long = {
    {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17},
    {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25}, {26}, {27}, {28}, {29}, {30}, {31}, {32}, {33},
    {34}, {35}, {36}, {37}, {38}, {39}, {40}, {41}, {42}, {43}, {44}, {45}, {46}, {47}, {48}, {49},
    {50}, {51}, {52}, {53}, {54}, {55}, {56}, {57}, {58}, {59}, {60},
  }
  assert(#made == 60 and made[9][3][4].y == 9 and long[60][1] == 60)
end

-- The two branches make a table at places whose stale instruction is the same.
function programs.branches(pause)
  local kept = {}
  for i = 1, 80 do
    local t
    if i % 3 == 0 then t = {three = i} elseif i % 3 == 1 then t = {} else t = {i, i} end
    local u = i % 2 == 0 and {even = true} or {odd = true, {}}
    kept[i] = {t, u}
    while #t < 3 and not t.three do t[#t + 1] = {} end
    if i % 40 == 0 then pause() end
  end
  assert(#kept == 80 and kept[3][1].three == 3)
end

-- Tables that grow: by every kind of assignment, and by the library.
function programs.growth(pause)
  local array, hash, field = {}, {}, {}
  for i = 1, 200 do
    array[i] = i
    hash["k" .. i] = {}
    hash[i * 1.5] = i
  end
  pause()
  field.a, field.b, field.c, field.d, field.e = 1, 2, 3, 4, 5
  for i = 1, 40 do table.insert(array, 1, i) rawset(field, i, {}) end
  _G.corpus_global = {}
  _G.corpus_global.inner = {}
  _G.corpus_global = nil
  assert(#array == 240 and #hash.k200 == 0 and field.e == 5)
end

function programs.strings(pause)
  local s = ""
  for i = 1, 60 do
    s = s .. i .. ";"
    local _ = ("x"):rep(i) .. i + 0.5 .. tostring(i) .. string.format("%d %s", i, {} and "t")
    if i % 30 == 0 then pause() end
  end
  local n = 0
  local r = s:gsub("%d+", function(d) n = n + 1 local t = {d} return t[1] .. "!" end)
  for word in s:gmatch("%d+") do n = n + #{word} end
  assert(n == 120 and #r == #s + 60 and s:upper():lower():reverse():reverse() == s)
  assert(#string.pack("i4s4", 7, s) == 8 + #s and utf8.char(228, 8364) == "ä€")
end

function programs.closures(pause)
  local functions = {}
  for i = 1, 50 do
    local x, y = i, {}
    functions[i] = function(z) y[#y + 1] = function() return x + z end return y end
    if i % 25 == 0 then pause() end
  end
  for i = 1, 50 do functions[i](i) end
  assert(functions[7](1)[1]() == 14)
  local function variadic(...)
    local packed, n = {...}, select("#", ...)
    return n == 0 and packed or variadic(select(2, ...))
  end
  variadic(table.unpack({}, 1, 60))
end

-- Every metamethod allocates, and some yield where they may.
function programs.metamethods(pause)
  local meta = {}
  local function new(n) return setmetatable({n = n}, meta) end
  for _, name in ipairs {"add", "sub", "mul", "div", "mod", "pow", "idiv", "band", "bor", "bxor"} do
    meta["__" .. name] = function(a) local t = {a} pause() return new(#t) end
  end
  meta.__unm = function() return new(-1) end
  meta.__concat = function(a, b) pause() return new(tostring(a) .. tostring(b)) end
  meta.__len = function() local t = {1, {}} return #t end
  meta.__eq = function() return #{} == 0 end
  meta.__lt = function(a, b) local t = {a, b} pause() return #t == 2 end
  meta.__le = function(a, b) return #{a, b} == 2 end
  meta.__index = function(_, k) local t = {k} return k .. #t end
  meta.__newindex = function(t, k, v) rawset(t, k, {v}) end
  meta.__call = function(_, ...) local t = {...} return #t, {} end
  meta.__tostring = function() return "o" .. #{} end
  meta.__close = function() local _ = {{}} end
  meta.__pairs = function(t) return function(_, k) if not k then return 1, {} end end, t end
  for _ = 1, 8 do
    local a, b = new(1), new(2)
    local results = {a + b, a - b, a * b, a / b, a % b, a ^ b, a // b, a & b, a | b, a ~ b, -a}
    assert(#results == 11 and a .. b .. "x")
    assert(#a == 2 and a == b and a < b and a <= b and a.zz == "zz1" and a(1, 2, 3) == 3)
    b.new = 5
    assert(rawget(b, "new")[1] == 5)
    for _, v in pairs(a) do assert(#v == 0) end
    do
      local closed <close> = new(3)
      local _ = {closed}
    end
  end
end

-- Errors that unwind through everything.
function programs.errors(pause)
  local function fail(n)
    local _ <close> = setmetatable({}, {__close = function() local _ = {n, {}} end})
    if n == 0 then error({code = {}}) end
    local t = {fail(n - 1)}
    return t
  end
  for i = 1, 12 do
    local ok, e = pcall(fail, i)
    assert(not ok and #e.code == 0)
    ok = xpcall(fail, function(m) local t = {m, debug.traceback("x")} return t end, i)
    assert(not ok)
    ok = pcall(function() local _ = {} .. {} end)
    assert(not ok)
    ok = pcall(string.rep, "x", -1, {}) -- an error of a C function
    assert(not ok)
    if i % 4 == 0 then pause() end
  end
  local depth = 0
  local function deep() depth = depth + 1 local t = {deep()} return t end
  assert(not pcall(deep) and depth > 100)
end

-- Coroutines in coroutines; made, resumed, wrapped, closed, failed and forgotten.
function programs.coroutines(pause)
  local function nest(n)
    local _ = {n}
    if n == 0 then coroutine.yield({}) return {} end
    local co = coroutine.create(nest)
    local made = {coroutine.resume(co, n - 1)}
    coroutine.yield({n, made})
    local again = {coroutine.resume(co)}
    return {n, again, {}}
  end
  for i = 1, 6 do
    local step = coroutine.wrap(nest)
    local first = {step(i), {}}
    pause()
    local second = {step()}
    assert(first[1] and second[1])
    local closing = coroutine.create(function()
      local _ <close> = setmetatable({}, {__close = function() local _ = {{}, i} end})
      coroutine.yield({})
    end)
    coroutine.resume(closing)
    local _ = {coroutine.close(closing), {}}
    local failing = coroutine.create(function() local _ = {} error {{}} end)
    assert(not coroutine.resume(failing))
    local wrapped = coroutine.wrap(function() local _ = {} error("x" .. i) end)
    local _, message = pcall(wrapped)
    assert(message:find("x" .. i, 1, true))
    for value in coroutine.wrap(function() for j = 1, 3 do coroutine.yield({j}) end end) do
      assert(#value == 1 and #{value} == 1)
    end
    coroutine.wrap(function() coroutine.yield({}) end)() -- and never again
  end
end

-- Finalizers, which run in whatever thread the collector does.
function programs.finalizers(pause)
  local n = 0
  for i = 1, 30 do
    local function finalize() n = n + 1 local _ = {{}, "f" .. n, function() return n end} end
    setmetatable({}, {__gc = finalize})
    local co = coroutine.wrap(function()
      local _ = {{}, {}}
      if i % 10 == 0 then collectgarbage("step", 0) end
      coroutine.yield({})
    end)
    co()
    if i % 15 == 0 then pause() end
  end
  collectgarbage()
  assert(n > 0)
end

-- C functions that call back: sort, gsub, load with a reader, pcall, require's searchers, xpcall.
function programs.callbacks(pause)
  local t = {}
  for i = 1, 40 do t[i] = (i * 7919) % 101 end
  table.sort(t, function(a, b) local pair = {a, b} return pair[1] < pair[2] end)
  assert(t[1] <= t[2])
  for i = 1, 10 do
    local k, parts = 0, {"return ", "{", "{}", ",", tostring(i), ",function() return {} end}"}
    local chunk = load(function() k = k + 1 local _ = {k} return parts[k] end, "=made")
    local made = {chunk(), {}}
    assert(made[1][2] == i and #made[1][3]() == 0)
    if i % 5 == 0 then pause() end
  end
  local stripped = load(string.dump(function(x) return {x, {x}} end, true))
  assert(stripped(3)[2][1] == 3)
  assert(table.move({1, 2, 3}, 1, 3, 2, {})[4] == 3 and #table.pack(1, {}, 3) == 3)
  assert(not pcall(require, "no.such.module." .. #t))
end

-- Hooks that allocate, and resume, at lines, calls, returns and counts.
function programs.hooks(pause)
  local n = 0
  local function hook()
    n = n + 1
    local t = {n}
    coroutine.wrap(function() t[2] = {n} end)()
    assert(t[2][1] == t[1])
  end
  for _, events in ipairs {"l", "c", "r", "crl"} do
    debug.sethook(hook, events, 0)
    local t = {}
    for i = 1, 4 do t[i] = {i, {}} end
    local s = table.concat({"a", tostring(#t)})
    debug.sethook()
    assert(s == "a4" and #t == 4)
    pause()
  end
  debug.sethook(hook, "", 7)
  for i = 1, 20 do local _ = {i, {i}} end
  debug.sethook()
  assert(n > 20)
end

-- In 5.5 the first instruction may make a table of the extra arguments, before other tables whose
-- stale instruction it is; and text from a buffer that grew is external.
if _VERSION ~= "Lua 5.4" then
  programs.extra_arguments = assert(load [[
    local pause = ... global *
    local function pack(...t)
      local u, v = {}, {t, 1} return t, u, v
    end
    local function both(a, ...t) t.sum = a
      if t.n == 0 then pause() return t end
      return both({...}, table.unpack(t, 2))
    end
    global function count(...) local _ = {...} return select("#", ...) end
    for i = 1, 40 do
      local t, u = pack(table.unpack({}, 1, i % 9))
      assert(t.n == i % 9 and pack(t, u)[1] == t and #both(i, {}, {}, {}) == 0)
      assert(count(pack({t}, i)) == 3)
      local page = ("x"):rep(1000 + i) .. table.concat({("y"):rep(2000), i})
      assert(#page:gsub("y", {y = "zz"}) > 5000)
      if i % 20 == 0 then pause() end
    end
    count = nil
  ]])
end

local names = {}
for name in pairs(programs) do names[#names + 1] = name end
table.sort(names)

for _ = 1, rounds do
  for _, name in ipairs(names) do
    programs[name](function() local _ = {} end)
    collectgarbage("step")
  end
end

-- All at once. Hooks are each coroutine's own.
for mode = 1, 2 do
  collectgarbage(mode == 1 and "generational" or "incremental")
  local living = {}
  for round = 1, rounds do
    for _, name in ipairs(names) do
      living[#living + 1] = coroutine.create(function()
        programs[name](function() coroutine.yield({name, round}) end)
      end)
    end
  end
  while #living > 0 do
    for i = #living, 1, -1 do
      local ok, message = coroutine.resume(living[i])
      if not ok then error(message, 0) end
      if coroutine.status(living[i]) == "dead" then table.remove(living, i) end
    end
  end
end
