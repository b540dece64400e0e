-- twins_spec.lua - names, sets of keys and strings that differ and have one XXH64: whoever knows
-- the hash finds such pairs in no time, and no part of an answer takes one for the other.

local live = require "tests.common.live"
local support = require "tests.common.support"

-- Each pair has the XXH64 of seed 0; of seed 1 the keys; tests/read/test_hash.c proves it.
local NAME, TWIN = "InnocentCacheObj", "FZRmBMZanPbwlnqp"
local KEY, KEY_TWIN = "InnocentCacheKey", "qJqbzLlzVIUi5H_F"
local SAME = "the first of them are the same: "
local TAIL_TWIN = "WmKjDajbe6sPlZHd" -- behind those

-- 3 of the name and 2000 of its twin; two shapes; long strings: the twins, and one of them again.
local PROGRAM = ([[
  local function class(name, n)
    local meta, list = {__name = name}, {}
    for i = 1, n do list[i] = setmetatable({i}, meta) end
    return list
  end
  innocents, twins = class("%s", 3), class("%s", 2000)
  shapes = {}
  for i = 1, 5 do shapes[i] = {A = 1, B = 1, C = 1, D = 1, x = 1, y = 1, %s = 1} end
  for i = 6, 12 do shapes[i] = {A = 1, B = 1, C = 1, D = 1, x = 1, y = 1, %s = 1} end
  local same, name, twin = "%s", "%s", "%s"
  longs = {same .. name, same .. twin, same .. twin}
]]):format(NAME, TWIN, KEY, KEY_TWIN, SAME, NAME, TAIL_TWIN)

local function objects_of(rows, name)
  local found = {}
  for _, row in ipairs(rows) do
    if row.class == name then found[#found + 1] = row.objects end
  end
  table.sort(found)
  return found
end

local function taken(program)
  local dir = support.tmpdir()
  support.lua('local heap = require "heap"\n' .. program .. '\nheap.snapshot("s")', {cwd = dir})
  return dir
end

local function equal_strings(dir)
  for _, kind in ipairs(live.json({"heaptop", "--json", "--waste", "s"}, dir).waste) do
    if kind.kind == "equal_strings" then return kind end
  end
end

describe("what has one hash", function()
  it("is two in a file", function()
    local dir = taken(PROGRAM)
    local told = live.json({"heaptop", "--json", "-n0", "s"}, dir)
    assert.same({3}, objects_of(told.classes, NAME))
    assert.same({2000}, objects_of(told.classes, TWIN))
    assert.same({5, 7}, objects_of(told.classes, "{A, B, C, D, ... 3 more}"))
    local strings = equal_strings(dir)
    assert.equal(1, strings.objects)
    assert.equal(25 + #SAME + #NAME, strings.bytes)
    assert.equal(0, strings.by_hash)
    told = live.json({"heaptop", "--json", "--class", "string", "s"}, dir)
    assert.equal(25 + #SAME + #NAME, told.repeated_bytes)
  end)

  it("is one only where the file has but length and hash, and that is said", function()
    local dir = support.tmpdir()
    support.lua(('local heap = require "heap"\n%s\nheap.snapshot("s", {strings = %d})'):format(
      PROGRAM, #SAME), {cwd = dir})
    local strings = equal_strings(dir)
    assert.equal(2, strings.objects)
    assert.equal(2, strings.by_hash)
  end)

  it("is two in two processes", function()
    local dir = taken(PROGRAM)
    support.lua('local heap = require "heap"\n' ..
                  PROGRAM:gsub("2000%)", "1000)"):gsub("7 do", "9 do") ..
                  '\nheap.snapshot("t")', {cwd = dir})
    local told = live.json({"heapdiff", "--json", "-n0", "s", "t"}, dir)
    local by_name = {}
    for _, class in ipairs(told.classes) do by_name[class.class] = class.objects end
    assert.same({3, 3}, by_name[NAME])
    assert.same({2000, 1000}, by_name[TWIN])
  end)

  it("is two through heap.reader", function()
    local dir = taken(PROGRAM)
    local out = support.lua(([[
      local s = require("heap.reader").open "s"
      for _, name in ipairs {"%s", "%s"} do
        local n = 0
        for _ in s:objects {class = name} do n = n + 1 end
        print(n)
      end
    ]]):format(NAME, TWIN), {cwd = dir})
    assert.equal("3\n2000\n", out)
  end)

  it("is two in the program itself", function()
    live.lua(PROGRAM .. ([[
      is(#heap.objects "%s", 3)
      is(#heap.objects "%s", 2000)
      is(heap.count("class")["%s"].objects, 3)
    ]]):format(NAME, TWIN, NAME))
  end)
end)
