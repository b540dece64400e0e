-- adversarial_spec.lua - heaps of extreme shapes: no recursion, no square of anything, no crash.
--
-- Each program builds its heap between the snapshots a and b, with the collector stopped (some of
-- these shapes are hard for Lua's own), and tells the address of the object that is deepest in it;
-- then every command has to answer. With sanitizers the heaps are smaller.

local cjson = require "cjson"
local support = require "tests.support"

local million = support.sanitized and 100000 or 1000000

local prelude = [[
  local heap, check = require "heap", require "lua_heapcheck"
  local million = tonumber(arg[1])
  local function exact(name)
    local count, objects, bytes = check.bytes(heap.snapshot, name)
    assert(bytes == count, bytes)
    return objects
  end
  collectgarbage("stop")
  exact "a"
  local deepest
  local function deep(object) deepest = ("%p"):format(object) end
]]

local epilogue = [[
  exact "b"
  print(exact "c", deepest)
  os.exit(true, false)
]]

-- Returns what heappath says of the deepest object, and heaptop's and heapdiff's figures.
local function all_commands(text, at_least)
  local out, dir = support.lua(prelude .. text .. epilogue, {args = {million}})
  local objects, address = out:match("^(%d+)\t(0x%x+)\n$")
  assert(objects, out)
  assert.is_true(tonumber(objects) >= at_least, objects)
  local function run(...)
    local result, errors, code = support.run({...}, {cwd = dir})
    assert.are.equal("", errors)
    assert.are.equal(0, code)
    return result
  end
  local top = cjson.decode(run("heaptop", "--json", "-n", "5", "c"))
  assert.are.equal(tonumber(objects), top.snapshot.objects)
  assert.are.equal(0, top.snapshot.unaccounted_bytes)
  local diff = cjson.decode(run("heapdiff", "--json", "a", "b", "c"))
  assert.is_true(diff.objects > 0)
  run("heapdiff", "a", "c")
  local path = run("heappath", "--format", "text", "c", address)
  run("heappath", "--format", "dot", "-k", "2", "c", address)
  os.execute("rm -r " .. support.quote(dir))
  return path, top.snapshot, diff
end

describe("all commands work on", function()
  it("a list of a million tables", function()
    local path, snapshot, diff = all_commands([[
      for i = 1, million do
        list = {next = list}
        if i == 1 then deep(list) end
      end
    ]], million)
    assert.is_truthy(path:find(" more of .next", 1, true), "a long path is not folded: " .. #path)
    assert.is_true(#path < 10000)
    assert.is_true(snapshot.reachable_objects > million)
    assert.is_true(diff.objects >= million)
  end)

  it("a hundred thousand suspended coroutines", function()
    all_commands([[
      all = {}
      for i = 1, million // 10 do
        local co = coroutine.wrap(function(...) local a = {...} coroutine.yield(a) end)
        co(i)
        all[i] = co
      end
      deep(select(2, debug.getupvalue(all[#all], 1)))
    ]], million // 10 * 4)
  end)

  it("a coroutine in a coroutine, ten thousand deep", function()
    all_commands([[
      local inner = {}
      for i = 1, million // 100 do
        local held = inner
        inner = coroutine.create(function(x) local y = x coroutine.yield() return y end)
        coroutine.resume(inner, held)
        if i == 1 then deep(held) end
      end
      outer = inner
    ]], million // 100)
  end)

  it("a chain of a million closures", function()
    all_commands([[
      for i = 1, million do
        local g = f
        f = function() return g end
        if i == 1 then deep(f) end
      end
    ]], 2 * million)
  end)

  it("tables of millions of empty slots", function()
    local _, snapshot = all_commands([[
      empty, hash = check.table(16 * million, 0), check.table(0, 4 * million)
      hash.x = {}
      empty[16 * million] = hash.x
      deep(hash.x)
      other = check.table(16 * million, 0)
    ]], 100)
    assert.is_true(snapshot.bytes > 2 * 16 * 16 * million)
  end)

  it("tables that are their own key, value and metatable", function()
    all_commands([[
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
    ]], million // 20)
  end)

  it("a chain of 250,000 ephemerons, in the worst order", function()
    local _, snapshot = all_commands([[
      local e, o = setmetatable({}, {__mode = "k"}), {}
      local n = million // 4
      for i = 1, n do o[i] = {} end
      for i = n - 1, 1, -1 do e[o[i] ] = o[i + 1] end
      ephemerons, first = e, o[1]
      deep(o[n])
      o = nil
    ]], million // 4)
    assert.is_true(snapshot.reachable_objects > million // 4)
  end)

  it("a chain of tables with one ephemeron each", function()
    all_commands([[
      local mode = {__mode = "k"}
      local key = {}
      first = key
      all = {}
      for i = 1, million // 10 do
        local t, next_key = setmetatable({}, mode), {}
        t[key] = next_key
        all[million // 10 - i + 1], key = t, next_key
      end
      deep(key)
    ]], million // 10)
  end)

  it("a chunk of a hundred thousand functions, also while it is being loaded", function()
    all_commands([[
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
    ]], million // 10)
  end)

  it("half a million strings, long strings and long keys", function()
    all_commands([[
      strings = {}
      for i = 1, million // 2 do strings[i] = "s" .. i end
      strings.long = ("\0\27\xff"):rep(20 * million)
      strings[("key\n"):rep(million)] = 1
      local o = {}
      strings[("odd\xff"):rep(1000)] = o
      deep(o)
    ]], million // 2)
  end)

  it("a chain of metatables, and one table with all kinds of numbers as keys", function()
    all_commands([[
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
    ]], million // 2)
  end)
end)
