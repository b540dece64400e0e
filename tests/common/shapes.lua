-- shapes.lua - programs that build heaps of extreme shapes, for adversarial_spec.lua, which asks
-- whether all is right on them, and tests/bench/shapes.lua, which asks what it costs.
--
-- Each is a Lua program that sees the module as `heap`, lua_heapcheck.c as `check`, the
-- scale as `million`, and tells which object is the deepest by deep(object). The heap is looked at
-- when it ends, or where it calls observe() itself. The collector is stopped meanwhile.

---@class shape
---@field name string
---@field program string
---@field objects number that it makes at least, in millions; 1 where not given
---@field inside? boolean calls observe() itself

---@type shape[]
local shapes = {
  {name = "a list of a million tables", full = true, program = [[
    for i = 1, million do
      list = {next = list}
      if i == 1 then deep(list) end
    end
  ]]},
  {name = "a chain of a million closures", full = true, objects = 2, program = [[
    for i = 1, million do
      local g = f
      f = function() return g end
      if i == 1 then deep(f) end
    end
  ]]},
  {name = "100,000 suspended coroutines", full = true, objects = 0.4, program = [[
    all = {}
    for i = 1, million // 10 do
      local co = coroutine.wrap(function(...) local a = {...} coroutine.yield(a) end)
      co(i)
      all[i] = co
    end
    deep(select(2, debug.getupvalue(all[#all], 1)))
  ]]},
  {name = "coroutines 190 deep in each other's resume", full = true, objects = 0, inside = true,
   program = [[
    local depth = 0
    local function down(...)
      local own = {...}
      depth = depth + 1
      if depth < 190 then return assert(coroutine.resume(coroutine.create(down), own)) end
      deep(own)
      observe()
    end
    down()
    assert(depth == 190)
  ]]},
  {name = "coroutines on each other's stacks", objects = 0.01, program = [[
    local inner = {}
    for i = 1, million // 100 do
      local held = inner
      inner = coroutine.create(function(x) local y = x coroutine.yield() return y end)
      coroutine.resume(inner, held)
      if i == 1 then deep(held) end
    end
    outer = inner
  ]]},
  {name = "2^24 empty slots in an array, 2^22 in a hash", full = true, objects = 0, program = [[
    local slots = million // 1000000 * 15 + 1 << 20
    empty, hash = check.table(slots, 0), check.table(0, slots // 4)
    hash.x = {}
    empty[slots] = hash.x
    deep(hash.x)
    other = check.table(slots - 1, 0)
  ]]},
  {name = "tables that are their own key, value and metatable", objects = 0.05, program = [[
    local function own(mode)
      local t = {}
      t[t], t[1], t.self, t.__index, t.__mode, t.__metatable = t, t, t, t, mode, t
      return debug.setmetatable(t, t)
    end
    strong, keys, values, both = own(nil), own("k"), own("v"), own("kv")
    many = {}
    deep(strong)
    for i = 1, million // 20 do many[i] = own(i % 2 == 0 and "k" or nil) end
    for i = 2, #many do many[i][many[i - 1] ] = many[i] many[i - 1].other = many[i] end
  ]]},
  {name = "a million ephemerons in one table, value to next key", full = true, program = [[
    local e, o = setmetatable(check.table(0, 2 * million), {__mode = "k"}), {}
    for i = 1, million do o[i] = {} end
    for i = 1, million - 1 do e[o[i] ] = o[i + 1] end
    ephemerons, first = e, o[1]
    deep(o[million])
  ]]},
  {name = "ephemerons in one table, key to the value before", program = [[
    local e, o = setmetatable(check.table(0, 2 * million), {__mode = "k"}), {}
    for i = 1, million do o[i] = {} end
    for i = million, 2, -1 do e[o[i] ] = o[i - 1] end
    ephemerons, first = e, o[million]
    deep(o[1])
  ]]},
  {name = "a million ephemerons, each in a table of its own", full = true, objects = 2, program = [[
    local mode, key = {__mode = "k"}, {}
    first, all = key, {}
    for i = 1, million do
      local t, next_key = setmetatable({}, mode), {}
      t[key] = next_key
      all[i], key = t, next_key
    end
    deep(key)
  ]]},
  {name = "ephemerons, each in a table of its own, from the last to the first", objects = 2,
   program = [[
    local mode, key = {__mode = "k"}, {}
    first, all = key, check.table(million, 0)
    for i = million, 1, -1 do
      local t, next_key = setmetatable({}, mode), {}
      t[key] = next_key
      all[i], key = t, next_key
    end
    deep(key)
  ]]},
  {name = "userdata with 255 and 65,534 user values", objects = 0.05, program = [[
    local last = {}
    deep(last)
    for i = 1, million // 20 do
      local u = check.userdata(i % 9, 255)
      for n = 1, 255, 127 do assert(debug.setuservalue(u, last, n)) end
      last = u
    end
    for i = 1, 10 do
      local u = check.userdata(0, 65534)
      for n = 1, 65534 do debug.setuservalue(u, n % 2 == 0 and last or n, n) end
      last = u
    end
    chain = last
  ]]},
  {name = "every metamethod raises, or is of a hostile type", objects = 0.1, program = [[
    local function raise() error("a metamethod was called") end
    local events = {"index", "newindex", "call", "pairs", "tostring", "name", "metatable", "mode",
                    "gc", "close", "len", "eq", "lt", "le", "concat", "unm", "add", "band", "idiv"}
    local hostile = {raise, {}, false, 0 / 0, "", ("k\0v"):rep(100), "\27[31m\n</script>",
                     io.stdout, coroutine.create(raise), check.userdata(0, 0), ("k"):rep(50), "\0k"}
    angry = {}
    for i = 1, million // 20 do
      local metatable = {}
      for k, event in ipairs(events) do
        metatable["__" .. event] = hostile[(i + k * (i % 7)) % #hostile + 1]
      end
      debug.setmetatable(metatable, angry[i - 1] and debug.getmetatable(angry[i - 1]))
      angry[i] = debug.setmetatable({i, [metatable] = "x" .. i}, metatable)
    end
    deep(debug.getmetatable(angry[1]))
    debug.setmetatable(print, debug.getmetatable(angry[8]))
  ]]},
  {name = "a chunk of many functions, also while it is being loaded", objects = 0.1,
   program = [[
    local pieces, n, at = {}, million // 10, 0
    for i = 1, n do
      pieces[i] = i < 30000 and "do local f = function() end end\n" or "g = function() end\n"
    end
    chunk = assert(load(function()
      at = at + 1
      if at == n // 2 or at == n then heap.snapshot("loading") end
      return pieces[at]
    end))
    deep(chunk)
  ]]},
  {name = "a call 100,000 deep, behind 30,000 local variables", full = true, objects = 0,
   inside = true, program = [[
    local text = {"local down down = function(n) local t = {n} "}
    for _ = 1, 30000 do text[#text + 1] = "do local x end " end
    text[#text + 1] = "if n == 0 then deep(t) observe() return 0 end "
    text[#text + 1] = "local r = down(n - 1) return r + #t end return down"
    local down = load(table.concat(text, "\n"), "deep", "t", {deep = deep, observe = observe})()
    local _, message = pcall(down, million // 10)
    assert(message:find "C stack overflow", message) -- 5.4.0 and 5.4.1 allow 2000 calls
    down(900)
  ]]},
  {name = "many strings, long strings and long keys", objects = 0.5, program = [[
    strings = {}
    for i = 1, million // 2 do strings[i] = "s" .. i end
    strings.long = ("\0\27\xff"):rep(20 * million)
    strings[("key\n"):rep(million)] = 1
    local o = {}
    strings[("odd\xff"):rep(1000)] = o
    deep(o)
  ]]},
  {name = "a chain of metatables; all kinds of numbers as keys", objects = 0.5, program = [[
    local t = {}
    deep(t)
    for i = 1, million // 2 do t = setmetatable({}, t) end
    chain = t
    numbers = {}
    for i = 1, million // 10 do
      numbers[i * 0.5 + 0.25] = i
      numbers[-i] = i / 0
      numbers[math.mininteger + i] = 0 / 0
      numbers[i << 40] = -0.0
    end
  ]]},
  {name = "tables that are each of a shape and a class of their own", objects = 0.2, program = [[
    shapes, classes = {}, {}
    for i = 1, million // 10 do
      shapes[i] = {["field" .. i] = i}
      classes[i] = setmetatable({i}, {__name = "Class" .. i})
    end
    deep(classes[#classes])
  ]]},
  {name = "a list of many classes, its end also on a longer path", objects = 0.02, program = [[
    local shared, far = {}, {}
    for i = 1, 1000 do shared[i] = {} end
    deep(shared)
    for i = 1, million // 50 do list = {["next" .. i] = list or shared} end
    for i = 1, million // 50 + 10 do far = {far} if i == 1 then far[2] = shared end end
    other = far
  ]]},
  {name = "many marks", objects = 0.2, program = [[
    for i = 1, million // 10 do
      heap.mark("mark " .. i)
      last = {last}
      if i == 1 then deep(last) end
    end
  ]]},
  {name = "tables that all hold each other", objects = 0.003, program = [[
    local all = {}
    for i = 1, million // 1000 * 3 do all[i] = {} end
    for _, t in ipairs(all) do for i, other in ipairs(all) do t[i] = other end end
    every = all[1]
    deep(all[#all])
  ]]},
  {name = "a ladder, edges up and down", objects = 0.6, program = [[
    local left, right = {}, {}
    ladder = {left, right}
    for i = 1, million // 10 * 3 do
      local l, r = {up = left, across = right}, {up = right, across = left}
      left.down, right.down, l.other, r.other = r, l, r, l
      left, right = l, r
    end
    deep(left)
  ]]},
}

return shapes
