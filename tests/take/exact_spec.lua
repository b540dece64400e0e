-- exact_spec.lua - the shallow sizes of all objects and the string table add up to
-- collectgarbage("count") * 1024, to the byte, on heaps of every kind.

local support = require "tests.common.support"

-- exact(where) takes a snapshot and compares it with the collector's own figure right behind it.
local prelude = [[
  local heap, check = require "heap", require "lua_heapcheck"
  local format, write, snapshot, bytes = string.format, io.write, heap.snapshot, check.bytes
  local compared = 0
  local function exact(where)
    local count, objects, sum = bytes(snapshot, "s")
    compared = compared + 1
    if sum ~= count then
      write(format("%s: %d of %d bytes unaccounted\n", where, count - sum, count))
    end
    assert(objects > 100)
  end
]]

local function program(text, options)
  local out = support.lua(prelude .. text .. '\nwrite(compared, " compared")', options)
  local compared = out:match("^(%d+) compared$")
  assert(compared, out)
  assert.is_true(tonumber(compared) > 0)
end

describe("the sum of all sizes is exact", function()
  it("and is what collectgarbage('count') says", function()
    support.lua [[
      local heap = require "heap"
      local count = collectgarbage
      heap.mark("warm")
      local _, sum = heap.snapshot("s")
      local kilobytes = count("count")
      assert(sum == kilobytes * 1024, sum .. " is not " .. kilobytes * 1024)
    ]]
  end)

  it("would be wrong without one object's bytes", function()
    support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      local before, _, sum = check.bytes(heap.snapshot, "s")
      assert(before == sum)
      before = check.bytes(type, 1)
      local t = {1, 2, 3}
      local bytes = _VERSION == "Lua 5.4" and 56 + 3 * 16 or 48 + 3 * 9 + 4
      assert(check.bytes(type, 1) == before + bytes)
      assert(heap.sizeof(t) == bytes)
    ]]
  end)

  -- In Lua 5.5 the heap counts 48 bytes for each of them, and the file keeps 256.
  it("with many long strings whose texts may be elsewhere", function()
    program [[
      local t = {}
      for i = 1, 20000 do t[i] = ("page" .. i):rep(200) end
      exact "pages"
      snapshot("whole", {strings = math.maxinteger})
    ]]
  end)

  it("in a bare interpreter, after work and after collections", function()
    program [[
      exact "start"
      local t = {}
      for i = 1, 20000 do t[i] = {i, tostring(i), x = function() return t end} end
      exact "full"
      collectgarbage()
      exact "collected"
      t = nil
      exact "dropped"
      collectgarbage()
      exact "empty again"
    ]]
  end)

  it("with 50,000 coroutines", function()
    program [[
      local all = {}
      for i = 1, 50000 do
        local co = coroutine.create(function(...) coroutine.yield(...) end)
        if i % 3 > 0 then coroutine.resume(co, i, i, i) end
        if i % 3 > 1 then coroutine.resume(co) end
        all[i] = co
      end
      exact "created"
      collectgarbage()
      exact "collected"
    ]]
  end)

  it("in the middle of incremental and generational cycles", function()
    program [[
      local keep = {}
      local function work(n)
        for i = 1, n do
          keep[i % 100] = setmetatable({tostring(n + i), {}}, {__gc = function() end,
                                        __mode = i % 5 == 0 and "k" or nil})
        end
      end
      check.small_steps()
      for i = 1, 400 do
        work(5)
        collectgarbage("step", 0)
        exact "incremental"
      end
      collectgarbage("generational")
      for i = 1, 100 do
        work(50)
        collectgarbage("step", 0)
        exact "generational"
      end
      for i = 1, 10 do
        collectgarbage(i % 2 == 0 and "generational" or "incremental")
        work(20)
        exact "between the modes"
      end
    ]]
  end)

  it("with tables that grow and empty again", function()
    program [[
      local all = {}
      for n = 0, 300 do
        local t = {}
        for i = 1, n do t[i] = i end
        for i = 1, n, 3 do t["k" .. i] = i end
        all[#all + 1] = t
      end
      exact "grown"
      for _, t in ipairs(all) do
        for k in pairs(t) do t[k] = nil end
      end
      exact "emptied"
      for i, t in ipairs(all) do t["new" .. i] = true end
      exact "rehashed"
      collectgarbage()
      for i, t in ipairs(all) do t[i * 1.5] = t t[-i] = t end
      exact "refilled"
    ]]
  end)

  -- The length operator may store the border that it found in a table's size field, and set a flag.
  it("with arrays whose length was asked for", function()
    program [[
      local all, limits = {}, 0
      for n = 1, 200 do
        local built = load("return {" .. ("1,"):rep(n) .. "}")()
        local packed = table.pack(table.unpack(built))
        local grown = {}
        for i = 1, n do grown[i] = i end
        for _, t in ipairs {built, packed, grown} do
          local size = heap.sizeof(t)
          for last = n, math.max(1, n // 3), -1 do
            t[last] = nil
            local border = #t
            if heap.sizeof(t) ~= size then limits = limits + 1 end
            for _ in pairs(t) do break end
            if border % 7 == 0 then next(t, border > 0 and border or nil) end
            pcall(table.unpack, t)
          end
          t[#t + 1] = 1
          for _ in ipairs(t) do border = 1 end
          all[#all + 1] = t
        end
        if n % 20 == 0 then exact("lengths, " .. n) end
      end
      assert(limits == 0, "the size of a table changed when its length was asked for")
      for _, t in ipairs(all) do t[#t + 1] = true t.x = true end
      exact "grown after the lengths"
    ]]
  end)

  it("with userdata of any number of user values", function()
    program [[
      local all = {}
      for _, n in ipairs {0, 1, 2, 3, 255, 256, 1000, 32767} do
        for _, size in ipairs {0, 1, 7, 8, 24, 1000} do
          local u = check.userdata(size, n)
          assert(heap.sizeof(u) == size + (n == 0 and 32 or check.user_values + 16 * n))
          if n > 0 then assert(debug.setuservalue(u, {}, n)) end
          all[#all + 1] = u
        end
      end
      exact "userdata"
      for i = 1, 100 do
        local file = io.tmpfile()
        debug.setuservalue(file, {i}, 1)
        all[#all + 1] = file
      end
      exact "files"
    ]]
  end)

  it("with strings of any length, and a string table that grows and shrinks", function()
    program [[
      local all = {}
      for n = 0, 100 do all[n] = ("x"):rep(n) .. n end
      exact "short and long"
      all.long = ("long"):rep(1000000)
      exact "four megabytes"
      for i = 1, 100000 do all[i] = "key" .. i end
      exact "many"
      all = nil
      collectgarbage() collectgarbage()
      exact "few"
    ]]
  end)

  it("with stripped chunks and big prototypes", function()
    program [[
      local all = {}
      for n = 1, 5 do
        local text = {"local a, b = ... "}
        for i = 1, 3000 * n do
          local f = "local function f%d(x) return x + %d.5, 'constant %d', a, b end a = f%d"
          text[#text + 1] = f:format(i % 50, i, i, i % 50)
          if i % 100 == 0 then text[#text + 1] = ("\n"):rep(300) end
          if i % 50 == 0 then text[#text + 1] = "do local x <const> = 1 end" end
          text[#text + 1] = i % 50 == 49 and "end do" or ""
        end
        local chunk = assert(load("do " .. table.concat(text, "\n") .. " end"))
        all[#all + 1] = chunk
        all[#all + 1] = load(string.dump(chunk))
        all[#all + 1] = load(string.dump(chunk, true))
        exact("chunk " .. n)
      end
      collectgarbage()
      exact "collected"
    ]]
  end)

  -- Lua's own count of calls has 16 bits; stacks shrink again in a collection. In 5.4.0 and 5.4.1
  -- calls of Lua functions count as calls in C, of which there are at most 2000.
  it("in deep recursion", function()
    program [[
      local function down(n) if n == 0 then exact "deep" return 0 end return 1 + down(n - 1) end
      local function down_if_possible(n)
        local ok, result = pcall(down, n)
        assert(ok and result == n or not ok and result:find "C stack overflow", result)
      end
      assert(down(100) == 100)
      assert(down(900) == 900)
      down_if_possible(66000)
      exact "back"
      down_if_possible(190000)
      exact "back from far"
      collectgarbage()
      exact "shrunk"
      local co = coroutine.wrap(function() down_if_possible(70000) coroutine.yield() end)
      co()
      exact "a deep coroutine"
      pcall(string.gsub, ("x"):rep(100), "x", function() return down(10) .. "" end)
    ]]
  end)

  it("with luacheck and penlight loaded", function()
    if support.lua('print((pcall(require, "luacheck")))') ~= "true\n" then
      return pending("there is no luacheck for this Lua")
    end
    program [[
      local luacheck = require "luacheck"
      luacheck.check_strings({"local x = 1 return function() return y end"}, {})
      exact "luacheck"
      local names = {"List", "Map", "OrderedMap", "pretty", "class", "stringx", "tablex", "data"}
      for _, name in ipairs(names) do require("pl." .. name) end
      exact "penlight"
    ]]
  end)

  it("in finalizers, hooks, coroutines and when the state closes", function()
    local out = support.lua(prelude .. [[
      last = setmetatable({}, {__gc = function() write(compared, " compared") end})
      before = setmetatable({}, {__gc = function() exact "closing" end})
      for _ = 1, 10 do setmetatable({}, {__gc = function() exact "finalizer" end}) end
      collectgarbage()
      debug.sethook(function() exact "hook" end, "l")
      local x = 1
      x = {x}
      debug.sethook()
      coroutine.wrap(function() exact "coroutine" end)()
    ]])
    assert.are.equal("15 compared", out)
  end)

  -- The parser's buffers belong to no object.
  it("but for buffers in use while a chunk is loaded", function()
    local out = support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      local pieces, last = 0, 0
      local f = check.loading(function()
        for _ = 1, 2 do
          local count, _, sum = check.bytes(heap.snapshot, "s")
          assert(count >= sum and count - sum < 10000, count - sum)
          pieces, last = pieces + 1, count - sum
          collectgarbage()
        end
      end)
      print(pieces, last > 0, type(f()))
      local count, _, sum = check.bytes(heap.snapshot, "s")
      assert(sum == count)
      local n = 0
      load(function() n = n + 1 heap.snapshot("s") return n < 500 and "x = {y = {}}\n" or nil end)
      print(n)
    ]]
    assert.are.equal("8\ttrue\tfunction\n500\n", out)
  end)
end)
