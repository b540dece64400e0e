-- second_release_spec.lua - the module for Lua 5.5, where that is installed beside 5.4: what it
-- writes is exact, in the background and tracked, too, and a leak of external strings is found with
-- its line. (All of the suite runs on 5.5 by `make test-release`.)

local json = require "cjson"
local support = require "tests.common.support"

local program = [[
local heap = require "heap"
heap.track({stacks = true})
pages, records = {}, {}
local function keep(i)
  pages[#pages + 1] = ("page " .. i .. " "):rep(1000)
  records[#records + 1] = {i, name = "record " .. i}
end
for _, name in ipairs {"a", "b", "c"} do
  for i = 1, 100 do keep(#pages + i) end
  coroutine.wrap(function(...t) heap.snapshot(name) return t end)(1, 2)
end
heap.snapshot("d", {background = true}):wait()
local leak = heap.leaks(function() records[#records + 1] = {} end)[1]
io.write(leak.held_by, " ", leak.allocated)
]]

-- Takes a snapshot amid a sweep that has condemned texts, and tells the bytes of all texts.
local sweeping = [[
local heap = require "heap"
collectgarbage("incremental")
local records = {}
for i = 1, 10000 do records[i] = {i} end
for i = 1, 100 do local _ = ("page " .. i):rep(1000) end
local text
repeat
  collectgarbage("step", 1)
  text = ("x"):rep(5000)
  local is = heap.stats()
until is.state:find("^sweep") and is.dead.objects > 50
heap.snapshot("sweep")
io.write(heap.stats().external_bytes)
]]

-- Each run keeps 2 MB of texts: after 64 of them 128 MB are left, which no cache has.
local texts = [[
local pages = {}
local leaks = require "heap".leaks(function() pages[#pages + 1] = ("x"):rep(2 << 20) end)
io.write(leaks.runs)
]]

describe("heap.so for Lua 5.5", function()
  local lua = support.run("command -v lua5.5"):match("%S+")
  local module = support.build .. "/5.5/?.so"
  if not (lua and io.open((module:gsub("?", "heap")))) then
    return pending("there is no second Lua")
  end

  local dir = support.tmpdir()
  local function run(text)
    support.write_file(dir .. "/program.lua", text)
    local out, err, code = support.run({lua, "program.lua"}, {cwd = dir, env = {
      LUA_PATH = support.root .. "/lua/?.lua", LUA_CPATH = module}})
    assert.equal(0, code, err)
    return out
  end

  it("finds what runs leave behind, with the line", function()
    assert.equal("_G.records[*] allocated at @program.lua:13 in f", run(program))
  end)

  it("gives condemned strings their texts", function()
    local bytes = tonumber(run(sweeping))
    local top = json.decode(support.answer({"heaptop", "--json", "sweep"}, dir))
    assert.equal(bytes, top.snapshot.external_bytes)
    assert.equal(0, top.snapshot.unaccounted_bytes)
  end)

  it("ends heap.leaks where texts are too much for a cache", function()
    assert.equal("64", run(texts))
  end)

  it("finds twelve planted leaks, and none in ten programs that keep what they need", function()
    local out, err, code = support.run({lua, support.root .. "/tests/lua/leaks/plant.lua", "6"},
      {cwd = dir, env = {LUA_PATH = support.root .. "/lua/?.lua;" .. support.root .. "/?.lua",
                         LUA_CPATH = module}})
    assert.equal(0, code, err)
    assert.equal("12\t10\n", out)
  end)

  -- Without sizes, shares and addresses, which differ from one release to the other.
  local function verdict(name, ...)
    local where = support.tmpdir()
    local example = support.root .. "/examples/" .. name .. ".lua"
    local _, err, code = support.run({..., example}, {cwd = where, env = {
      LUA_PATH = support.root .. "/lua/?.lua", LUA_CPATH = ... == lua and module or
      support.build .. "/?.so"}})
    assert.equal(0, code, err)
    local said = support.normalise(support.answer({"heapdiff", "a", "b", "c"}, where))
    return (said:gsub("%d[%d.,]* [KM]?B", "SIZE"):gsub("[%d.]+%%", "SHARE"):gsub(" +", " ")
                :gsub("\n ", "\n"):gsub("\nIn all[^\n]*", ""))
  end

  for _, name in ipairs {"cache", "closure", "coroutine", "history", "listener"} do
    it("comes to the verdict of Lua 5.4: " .. name, function()
      assert.equal(verdict(name, os.getenv("LUA") or "lua5.4"), verdict(name, lua))
    end)
  end

  it("says in another Lua which one that is", function()
    local of_5_4 = os.getenv("LUA") or "lua5.4"
    local function refusal(which, path)
      local load = "print(select(2, pcall(require, 'heap')))"
      return (support.run({which, "-e", load}, {env = {LUA_CPATH = path}}))
    end
    assert.match("^luaheap needs PUC Lua 5%.5[^;]*; this Lua is 5%.4%.%d\n",
                 refusal(of_5_4, module))
    assert.match("^luaheap needs PUC Lua 5%.4[^;]*; this Lua is 5%.5%.%d\n",
                 refusal(lua, support.build .. "/?.so"))
  end)

  it("writes snapshots that are exact", function()
    for _, name in ipairs {"a", "b", "c", "d"} do
      local said = support.answer({"heapcheck", name}, dir)
      assert.match("^" .. name .. ": ok: .* of external strings", said)
      said = support.answer({"heaptop", name}, dir)
      assert.match("all of it, to the byte; external strings", said)
    end
  end)

  it("tells a leak of external strings", function()
    local said = support.answer({"heapdiff", "a", "b", "c"}, dir)
    assert.match("100 %-> 200 %-> 300 +0x%x+ +string +_G%.pages%[%*%]", said)
    assert.match("allocated by string.rep at @program.lua:5 in keep", said)
  end)
end)
