-- long_names_spec.lua - strings of megabytes, kept whole, that name thousands of objects: each
-- object costs no more than one with a short name, lines stay short, and what is printed is found
-- again.

local cjson = require "cjson"
local lfs = require "lfs"
local support = require "tests.common.support"

local program = [[
  local heap = require "heap"
  local long, options = ("N"):rep(8 << 20), {strings = 1 << 30}
  assert(heap.snapshot("a", options))
  T, wide = {}, {[("\u{20AC}"):rep(1 << 20)] = {}, [long] = {}}
  for i = 1, 5000 do
    T[3 * i] = setmetatable({}, {__name = long, ["k" .. i] = 1})
    T[3 * i - 1] = {[long] = 1, ["x" .. i] = 2}
    if i <= 500 then T[3 * i - 2] = load("return function() end", long)() end
  end
  wide.at = load("local x = {} return function() return x end", "@" .. long)()
  wide.is = coroutine.create(load("local x = {} coroutine.yield() return x", "=\27" .. long))
  coroutine.resume(wide.is)
  _G[long], package.loaded[long] = {}, {}
  wide.modules = setmetatable({}, package.loaded[long])
  assert(heap.snapshot("b", options))
  T.x = 1
  assert(heap.mark(("m"):rep(4096)))
  print(heap.mark(long))
  print(heap.snapshot(("s"):rep(300)))
  assert(heap.snapshot("c", options))
  for _, object in pairs(wide) do print(("%p"):format(object)) end
  os.exit(true, false)
]]

describe("a name of megabytes", function()
  local out, dir = support.lua(program)

  -- A fifth more than what the three files need, and 64 MB.
  local function limit()
    local bytes = 64 << 20
    for _, file in ipairs {"a", "b", "c"} do
      bytes = bytes + lfs.attributes(dir .. "/" .. file, "size") * 6 // 5
    end
    return support.sanitized and "" or ("ulimit -v %d;"):format(bytes // 1024)
  end

  local function run(...)
    local words = {"timeout", "60", ...}
    local result, errors, code = support.run(words, {cwd = dir, before = limit()})
    assert.equal("", errors)
    assert.equal(0, code)
    return result
  end

  it("costs each object what a short one costs", function()
    assert.is_true(#run("heaptop", "--json", "c") < 1e6)
    assert.is_true(#run("heapdiff", "--json", "a", "b", "c") < 1e8)
  end)

  it("makes no long lines", function()
    for _, words in ipairs {
      {"heaptop", "c"}, {"heapdiff", "a", "b", "c"}, {"heapdiff", "a", "c"},
      {"heappath", "--format", "text", "c", "_G.wide.is"},
      {"heappath", "--format", "text", "--referrers", "c", "_G.wide.at"},
      {"heappath", "c", "_G.wide.at"},
    } do
      for line in run(table.unpack(words)):gmatch("[^\n]+") do
        assert.is_true(#line < 1000, words[1] .. ": " .. #line)
      end
    end
  end)

  it("is found as it is printed", function()
    local n = 0
    for address in out:gmatch("0x%x+") do
      local path = cjson.decode(run("heappath", "--format", "json", "c", address)).paths[1].text
      assert.is_true(#path < 1000, #path)
      local found = cjson.decode(run("heappath", "--format", "json", "c", path))
      assert.is_truthy(found.object:find(address, 1, true), path)
      n = n + 1
    end
    assert.equal(5, n)
  end)

  it("is refused as a mark and as a file, with the reason", function()
    assert.matches("^nil\tthe name of a mark is longer than 4096 bytes", out)
    assert.matches("nil\tcannot write '" .. ("s"):rep(300) .. "': File name too long", out, 1, true)
    local _, errors, code = support.run({"heapdiff", "--since", "none", "c"}, {cwd = dir})
    assert.equal(2, code)
    assert.is_true(#errors < 600)
  end)
end)

-- _G.chain -.A...A-> {} -.B...B-> {} ... -> Last, each key 200 bytes and each table with a field
describe("a path of long names", function()
  local _, dir = support.lua [[
    local heap = require "heap"
    do
      local last = {}
      chain = last
      for i = 1, 12 do
        local key = string.char(64 + i):rep(200)
        last[key] = {id = i}
        last = last[key]
      end
      last.last = setmetatable({}, {__name = "Last"})
      last = nil
    end
    assert(heap.snapshot "c")
    os.exit(true, false)
  ]]

  local function keys(letters)
    return (letters:gsub(".", function(letter) return "." .. letter:rep(200) end))
  end

  local ends = "_G.chain" .. keys "ABC" .. " ... 5 more steps ... " .. keys "IJKL" .. ".last"

  it("is told by its two ends, and what is left out is counted", function()
    local query = "select path, held_by from objects where class = 'Last'"
    local told = cjson.decode(support.answer({"heapsql", "--json", "c", query}, dir))
    local row = told.results[1].rows[1]
    assert.equal(ends, row.path)
    assert.equal(ends, row.held_by)
  end)

  it("is whole where each step is a row", function()
    local path = cjson.decode(support.answer("heappath --json c Last", dir)).paths[1]
    assert.equal(ends, path.text)
    for i = 1, 12 do assert.equal(keys(string.char(64 + i)), path.steps[i + 2].label) end
  end)
end)
