-- second_release_spec.lua - the module for Lua 5.5, where that is installed beside 5.4: what it
-- writes is exact, in the background and tracked, too, and a leak of external strings is found with
-- its line. (All of the suite runs on 5.5 by `make test-release`.)

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

describe("heap.so for Lua 5.5", function()
  local lua = support.run("command -v lua5.5"):match("%S+")
  local module = support.build .. "/5.5/?.so"
  if not (lua and io.open((module:gsub("?", "heap")))) then
    return pending("there is no second Lua")
  end

  local dir = support.tmpdir()
  local file <close> = assert(io.open(dir .. "/program.lua", "w"))
  assert(file:write(program))
  file:close()
  local out, err, code = support.run({lua, "program.lua"}, {cwd = dir, env = {
    LUA_PATH = support.root .. "/lua/?.lua", LUA_CPATH = module}})

  it("finds what runs leave behind, with the line", function()
    assert.equal(0, code, err)
    assert.equal("_G.records[*] allocated at @program.lua:13 in f", out)
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
