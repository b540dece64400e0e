-- long_names_spec.lua - strings of megabytes, kept whole, that name thousands of objects: each
-- object costs no more than one with a short name, and what is printed is found again.

local cjson = require "cjson"
local support = require "tests.support"

local program = [[
  local heap = require "heap"
  local long, options = ("N"):rep(8 << 20), {strings = 1 << 30}
  assert(heap.snapshot("a", options))
  T = {}
  for i = 1, 5000 do
    T[3 * i] = setmetatable({}, {__name = long, ["k" .. i] = 1})
    T[3 * i - 1] = {[long] = 1, ["x" .. i] = 2}
    T[3 * i - 2] = load("return function() end", long)()
  end
  wide = {[("\u{20AC}"):rep(1 << 20)] = {}, [long] = {}}
  assert(heap.snapshot("b", options))
  T.x = 1
  assert(heap.snapshot("c", options))
  for _, object in pairs(wide) do print(("%p"):format(object)) end
  os.exit(true, false)
]]

describe("a name of megabytes", function()
  local out, dir = support.lua(program)

  local function run(...)
    local result, errors, code = support.run({"timeout", "60", ...}, {cwd = dir})
    assert.are.equal("", errors)
    assert.are.equal(0, code)
    return result
  end

  it("costs each object what a short one costs", function()
    assert.is_true(#run("heaptop", "--json", "c") < 1e6)
    assert.is_true(#run("heapdiff", "--json", "a", "b", "c") < 1e8)
  end)

  it("is found as it is printed", function()
    for address in out:gmatch("0x%x+") do
      local path = cjson.decode(run("heappath", "--format", "json", "c", address)).paths[1].text
      assert.is_true(#path < 5000, #path)
      local found = cjson.decode(run("heappath", "--format", "json", "c", path))
      assert.is_truthy(found.object:find(address, 1, true), path)
    end
  end)
end)
