-- map_spec.lua - the question `map` as pages ask it: its squares add up, whatever is zoomed into,
-- the frames of several snapshots lie over each other, and the pointer names the object.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local support = require "tests.common.support"

local dir = support.take_leaking()

local function ask(key)
  local document, _, out = ask_view(dir, key)
  return document.answer, document, out
end

-- The eighths of each square, from its letters: "12a3b".
local function eighths(text, n)
  local list = {}
  for count, letter in text:gmatch("(%d*)(%l)") do
    for _ = 1, tonumber(count) or 1 do list[#list + 1] = letter:byte() - ("a"):byte() end
  end
  assert.is_true(#list <= n)
  while #list < n do list[#list + 1] = 0 end
  return list
end

-- Does a plane fit its bytes? Each square has more than one eighth less, up to all of its eighths.
local function assert_plane(text, bytes, answer)
  local most, least = 0, 0
  for _, level in ipairs(eighths(text, answer.squares)) do
    assert.is_true(level <= 8)
    most = most + level * answer.square_bytes // 8
    least = least + (level > 0 and (level - 1) * answer.square_bytes // 8 + 1 or 0)
  end
  assert.is_true(least <= bytes and bytes <= most, text)
end

local function assert_adds_up(answer)
  local here = 0
  for _, row in ipairs(answer.types) do
    here = here + row.here_bytes
    assert_plane(row.squares, row.here_bytes, answer)
  end
  assert.equal(answer.here_bytes, here)
  assert_plane(answer.new_squares, answer.new_bytes, answer)
  assert_plane(answer.gone_squares, answer.gone_bytes, answer)
end

local function sum(rows, key)
  local n = 0
  for _, row in ipairs(rows) do n = n + row[key] end
  return n
end

describe("A map", function()
  it("has all objects, and tells what of them has no place on it", function()
    for i = 0, 2 do
      local answer, info = ask("map?in=" .. i), ask("info?in=" .. i)
      assert.equal(info.objects, answer.objects)
      assert.equal(info.bytes, answer.shallow_bytes)
      assert.equal(answer.shallow_bytes, answer.mapped_bytes + answer.beside_bytes)
      for key, whole in pairs {mapped_bytes = answer.mapped_bytes, objects = answer.objects,
                               beside_bytes = answer.beside_bytes} do
        assert.equal(whole, sum(answer.types, key), key)
      end
      assert.equal(answer.mapped_bytes, sum(answer.regions, "mapped_bytes"))
      assert.equal(answer.objects, sum(answer.regions, "objects"))
      assert.equal(answer.region_bytes, sum(answer.regions, "bytes"))
      assert.equal(answer.mapped_bytes, answer.here_bytes)
      assert.is_true(answer.squares <= 4097)
      assert_adds_up(answer)
    end
  end)

  it("is a part of the same where it is zoomed into", function()
    local whole = ask "map"
    local region = whole.regions[1]
    local from, to = math.tointeger(region.from), math.tointeger(region.to)
    for shift = 1, 6 do
      local key = ("map?from=0x%x&pixels=%d&to=0x%x"):format(from, 100 * shift,
                                                             from + (to - from >> shift))
      local answer = ask(key)
      assert.equal(region.from, answer.from, key)
      assert.is_true(answer.squares <= 100 * shift + 1)
      assert.equal(whole.mapped_bytes, answer.mapped_bytes)
      assert_adds_up(answer)
    end
  end)

  it("names the object under the pointer", function()
    local object = ask("objects?limit=1&type=table").objects[1]
    local answer = ask(("map?from=%s&pixels=1&to=0x%x"):format(object.address,
                                                              object.address + 1))
    assert.equal(1, #answer.list)
    assert.equal(object.address, answer.list[1].address)
    assert.equal(object.class, answer.list[1].class)
    assert.equal(56, answer.list[1].mapped_bytes)
    assert.equal(8, answer.here_bytes)
  end)

  it("shows an object among its neighbours", function()
    local object = ask("objects?limit=1&type=table").objects[1]
    local answer = ask("map?at=" .. object.address)
    assert.is_true(math.tointeger(answer.from) <= math.tointeger(object.address))
    assert.is_true(math.tointeger(answer.to) >= object.address + 56)
    assert.is_true(answer.to - answer.from <= 16384)
    local found = false
    for _, row in ipairs(answer.list) do found = found or row.address == object.address end
    assert.is_true(found)
  end)

  it("is a frame that lies over the others", function()
    local frames = {}
    for i = 1, 3 do frames[i] = ask("map?in=" .. i - 1) end
    for i, frame in ipairs(frames) do
      for _, key in ipairs {"from", "to", "square_bytes", "squares", "region_bytes"} do
        assert.equal(frames[1][key], frame[key], key)
      end
      assert.equal(({cjson.null, "a", "b"})[i], frame.since)
      local before = frames[i - 1]
      assert.equal(before and before.mapped_bytes + frame.new_bytes or frame.mapped_bytes,
                   frame.mapped_bytes + frame.gone_bytes)
    end
    assert.is_true(frames[3].new_bytes > 0)
  end)

  it("tells what was allocated in an interval", function()
    local none, all = ask "map?since=5&until=5", ask "map?since=0&until=100000000"
    assert.equal(0, none.new_bytes)
    assert.equal("", none.new_squares)
    assert.is_true(all.new_bytes > all.mapped_bytes // 2 and all.new_bytes <= all.mapped_bytes)
    assert.equal(cjson.null, all.since)
    assert.equal(0, all.gone_bytes)
  end)

  it("lists objects where they are few, or as many as are wanted", function()
    local whole = ask "map?limit=0"
    assert.equal(whole.objects, whole.objects_here)
    assert.equal(whole.objects, #whole.list)
    assert.equal(whole.mapped_bytes, sum(whole.list, "mapped_bytes"))
    assert.equal(7, #ask("map?limit=7").list)
    local few = ask(("map?from=%s&to=0x%x"):format(whole.from, whole.from + 4096))
    assert.equal(few.objects_here, #few.list)
    assert.is_true(few.here_bytes <= sum(few.list, "mapped_bytes"))
  end)

  it("of more squares than can be seen is small", function()
    local _, _, text = ask "map?pixels=26000"
    assert.is_true(#text < 200000)
    assert.is_true(ask("map?pixels=1000000000").squares <= 65537)
  end)

  it("says what it is in words", function()
    local _, document = ask "map"
    local lines = {}
    for _, told in ipairs(document.told) do
      for _, part in ipairs(told.line or {}) do lines[#lines + 1] = part.text end
    end
    local text = table.concat(lines, "\n")
    assert.matches("^[%d,]+ objects lie in [%d.]+ %u?B of addresses, in %d+ regions?, ", text)
    assert.matches("Since b: [%d.]+ %u?B new, [%d.]+ %u?B gone", text)
  end)

  it("needs addresses", function()
    for _, value in ipairs {"", "12", "0x", "0xg", "0x10000000000000000"} do
      local _, document = ask("map?from=" .. value)
      assert.equal("from needs an address such as 0x55d0c0a3f2e0, not '" .. value .. "'",
                   document.error)
    end
    local nothing = ask "map?from=0xfffffffffffffff0&to=0xffffffffffffffff"
    assert.equal(0, nothing.squares)
    assert.equal(cjson.null, nothing.from)
  end)
end)
