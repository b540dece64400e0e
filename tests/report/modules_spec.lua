-- modules_spec.lua - `heaptop --modules`: what modules and globals keep alive alone, and what they
-- reach.

local cjson = require "cjson"
local support = require "tests.common.support"

-- Both modules use the bus, so its 4,000 bytes are shared; each has a cache of its own, and all
-- reach _G by the upvalue _ENV of their functions:
--
--     package.loaded -["app.users"]-> {cache, get, bus} -.cache-> string of 3,000
--                    -["app.bus"]-> {log} -.log-> string of 4,000
--     _G -.orders-> {cache, bus} -.cache-> string of 2,000
--     _G -.users-> the same as the module
--     main thread -local-> string of 5,000
local program = [[
  local heap = require "heap"
  local bus = {log = ("b"):rep(4000)}
  local users = {bus = bus, cache = ("u"):rep(3000)}
  function users.get(name) return _G[name] or tostring(name) end
  package.loaded["app.bus"], package.loaded["app.users"] = bus, users
  package.loaded["app"] = true
  _G.users = users
  orders = {bus = bus, cache = ("o"):rep(2000)}
  number = 7
  local secret = ("s"):rep(5000)
  heap.snapshot "s"
  return secret, bus, users
]]

describe("heaptop --modules", function()
  local dir, json
  local rows = {}
  local function ask(...)
    return support.answer({"heaptop", "--modules", ...}, dir)
  end

  setup(function()
    dir = select(2, support.lua(program))
    json = cjson.decode(ask("--json", "s"))
    for _, row in ipairs(json.modules) do rows[row.name] = row end
  end)

  local users, bus = 'package.loaded["app.users"]', 'package.loaded["app.bus"]'

  local function between(low, bytes, high)
    assert.is_true(low <= bytes and bytes <= high, bytes .. " is not in that range")
  end

  it("tells what each keeps alive alone", function()
    between(3000, rows[users].retained_bytes, 3700)
    between(2000, rows["_G.orders"].retained_bytes, 2400)
    between(4000, rows[bus].retained_bytes, 4200)
  end)

  it("tells what each reaches, which is not all through _G", function()
    between(7000, rows[users].reached_bytes, 8000)
    between(6000, rows["_G.orders"].reached_bytes, 6600)
    assert.equal(rows[bus].retained_bytes + 24 + #"log" + 1, rows[bus].reached_bytes)
    for _, row in pairs(rows) do
      assert.equal(row.reached_bytes - row.retained_bytes, row.shared_bytes)
      between(1, row.reached_objects, json.snapshot.reachable_objects)
    end
  end)

  it("names what has two names once, and what is no object not at all", function()
    assert.is_nil(rows["_G.users"])
    assert.is_nil(rows["_G.number"])
    assert.is_nil(rows['package.loaded["app"]'])
    assert.is_nil(rows["_G._G"])
    assert.is_nil(rows['package.loaded["_G"]'])
    assert.is_table(rows['package.loaded["string"]'])
    assert.is_nil(rows["_G.string"])
  end)

  it("adds up", function()
    local sum = 0
    for _, row in ipairs(json.modules) do sum = sum + row.retained_bytes end
    assert.equal(json.total_modules, #json.modules)
    assert.equal(json.retained_bytes, sum)
    assert.is_true(json.retained_bytes <= json.reached_bytes)
    assert.is_true(json.reached_bytes + 5000 <= json.snapshot.reachable_bytes) -- the local
  end)

  it("says first who keeps most, and shows no more than -n", function()
    local out = ask("-n", "2", "s")
    assert.matches('^package%.loaded%["app%.bus"%] keeps most alive alone: 4%.0 KB, ', out)
    assert.matches("\nand %d+ more modules and globals: %-n 0 shows all\n$", out)
    assert.equal(2, #cjson.decode(ask("--json", "-n", "2", "s")).modules)
  end)

  it("takes hundreds of them", function()
    local many = select(2, support.lua [[
      local heap = require "heap"
      local shared = {("s"):rep(1000)}
      for i = 1, 300 do
        package.loaded["app.m" .. i] = {("x"):rep(i + 100) .. i, shared, i > 1 and "m" .. i - 1}
      end
      for i = 2, 300 do
        package.loaded["app.m" .. i].needs = package.loaded["app.m" .. i - 1]
      end
      shared = nil
      heap.snapshot "s"
    ]])
    local found = {}
    local out = support.run("heaptop --modules --json s", {cwd = many})
    for _, row in ipairs(cjson.decode(out).modules) do found[row.name] = row end
    for i = 2, 300 do -- each reaches all those before it
      local row, before = found[('package.loaded["app.m%d"]'):format(i)],
                          found[('package.loaded["app.m%d"]'):format(i - 1)]
      assert.is_true(row.reached_bytes > before.reached_bytes + i + 100)
      between(i + 100, row.retained_bytes, i + 400)
    end
  end)
end)
