-- adversarial_spec.lua - heaps of extreme shapes: no recursion, no square of anything, no crash.
--
-- Each program of tests/common/shapes.lua builds its heap between the snapshots a and b, with the
-- collector stopped (some of these shapes are hard for Lua's own), and tells the address of the
-- object that is deepest in it. b must have changed nothing, c must be exact to the byte, and then
-- every command has to answer. What makes a million objects makes 300,000, of which each has 27
-- bytes of the stack, too few for a recursion; N=10 makes it a million. With sanitizers the heaps
-- are smaller. tests/bench/shapes.lua tells what all of it costs.

local cjson = require "cjson"
local shapes = require "tests.common.shapes"
local support = require "tests.common.support"

local million = support.sanitized and 50000 or 1000000
local many = math.min(million, 300000 * support.soak_factor)

local function scale_of(shape)
  if not shape.full then return million // 5 end
  return (shape.objects or 1) < 1 and million or many
end

local prelude = [[
  local heap, check = require "heap", require "lua_heapcheck"
  local million = tonumber(arg[1])
  collectgarbage("stop")
  assert(heap.snapshot "a")
  local deepest
  local function deep(object) deepest = ("%p"):format(object) end
  local function observe()
    local changed, bytes = check.silent(heap.snapshot, "b")
    assert(changed == "" and bytes == 2 * (88 + 1), changed)
    local count, objects, sum = check.bytes(heap.snapshot, "c")
    assert(sum == count, sum)
    io.write(objects, " ", deepest)
    os.exit(true, false)
  end
]]

-- What more is said of some: gets heappath's text, heaptop's summary and heapdiff's.
local more = {
  ["a list of a million tables"] = function(path, snapshot, diff)
    assert.is_truthy(path:find(" more .next", 1, true), "a long path is not folded: " .. #path)
    assert.is_true(#path < 10000)
    assert.is_true(snapshot.reachable_objects > many)
    assert.is_true(diff.objects >= many)
  end,
  ["coroutines 190 deep in each other's resume"] = function(path)
    assert.is_truthy(path:find("local own in function down @program.lua", 1, true), path)
  end,
  ["2^24 empty slots in an array, 2^22 in a hash"] = function(_, snapshot)
    assert.is_true(support.sanitized or snapshot.bytes >= 2 * 16 << 24)
  end,
  ["a million ephemerons in one table, value to next key"] = function(_, snapshot)
    assert.is_true(snapshot.reachable_objects > many)
  end,
  ["a call 100,000 deep, behind 30,000 local variables"] = function(path)
    assert.is_truthy(path:find("local t in function down [string \"deep\"]", 1, true), path)
  end,
}

-- Asks each command, on the files a, b and c in `dir`.
local function answers(dir, address)
  local function run(...)
    local result, errors, code = support.run({...}, {cwd = dir})
    assert.are.equal("", errors)
    assert.are.equal(0, code)
    return result
  end
  run("heapcheck", "c")
  local top = cjson.decode(run("heaptop", "--json", "-n", "5", "c"))
  local diff = cjson.decode(run("heapdiff", "--json", "a", "b", "c"))
  run("heapdiff", "a", "c")
  run("heappath", "--format", "dot", "-k", "2", "c", address)
  return run("heappath", "--format", "text", "c", address), top.snapshot, diff
end

local n_survived = 0

describe("all is right on", function()
  for _, shape in ipairs(shapes) do
    it(shape.name, function()
      local scale = scale_of(shape)
      local text = prelude .. shape.program .. (shape.inside and "" or "observe()")
      local out, dir = support.lua(text, {args = {scale}})
      local objects, address = out:match("^(%d+) (0x%x+)$")
      assert(objects, out)
      assert.is_true(tonumber(objects) >= scale * (shape.objects or 1), objects)
      local path, snapshot, diff = answers(dir, address)
      assert.are.equal(tonumber(objects), snapshot.objects)
      assert.are.equal(0, snapshot.unaccounted_bytes)
      if more[shape.name] then more[shape.name](path, snapshot, diff) end
      os.execute("rm -r " .. support.quote(dir))
      n_survived = n_survived + 1
    end)
  end

  it("a table that refers to one object very often", function()
    local n = million // 5
    local _, dir = support.lua([[
      one, all = {}, {}
      for i = 1, tonumber(arg[1]) do all[i] = one end
      require "heap".snapshot "c"
    ]], {args = {n}})
    local command = {"heappath", "--json", "--referrers", "c", "_G.one"}
    assert.are.equal(n + 1, #cjson.decode(support.answer(command, dir)).referrers)
    command = {"heappath", "--format", "text", "-n", "0", "--referrers", "c", "_G.one"}
    local _, lines = support.answer(command, dir):gsub("\n%[%d+%] +array", "")
    assert.are.equal(n, lines)
  end)

  teardown(function()
    io.write(("faults: heaps of extreme shapes: %d cases, %d survived\n"):format(#shapes,
                                                                                n_survived))
  end)
end)
