-- format_spec.lua - snapshots that earlier versions wrote can be read for ever.
--
-- fixtures/versionN was written by the first luaheap that had format version N; nobody writes it
-- anew (3, which snapshots of programs still have that are not tracked, came after 4). It was taken
-- with {strings = 40} at the end of this program, with heap.mark("before") in front of the loop and
-- the collector stopped; those of versions 4 and 6 were tracked from the second line on; that of
-- version 5 was taken by heapattach --strings 40 --after before, while it waited in io.read; that
-- of version 7 is of Lua 5.5, with _G.external = ("long"):rep(500), a text outside of the count:
--
--     _G -.bus-> Bus -.listeners-> array -[1..3]-> closure -> upvalue session -> {id}
--     _G -.weak-> {__mode = "k"}, where bus is the key of {payload = 1.5, [true] = -7}
--     _G -.worker-> suspended coroutine: local mine = {"mine", {}, "a long string"}
--     _G.file: io.stdout, _G.long: ("long"):rep(100), and {"garbage"} that nothing holds

local json = require "cjson"
local support = require "tests.common.support"

local function ask(...)
  local out, err, code = support.run {...}
  assert.equal("", err)
  assert.equal(0, code)
  return json.decode(out)
end

local figures = {
  {file_bytes = 5829, objects = 321, garbage = 10},
  {file_bytes = 6806, objects = 369, garbage = 10},
  {file_bytes = 6943, objects = 372, garbage = 10},
  {file_bytes = 7894, objects = 375, garbage = 11},
  {file_bytes = 9284, objects = 302, garbage = 3},
  {file_bytes = 7756, objects = 374, garbage = 11},
  {file_bytes = 6797, objects = 366, garbage = 2},
}

local sizes_of_5_4 = {bus = 80, long = 425, session = 80, worker = 1056}
local sizes_of_5_5 = {bus = 72, long = 433, session = 72, worker = 1064}

for version, figure in ipairs(figures) do
  local name = "version" .. version
  local file = support.root .. "/tests/read/fixtures/" .. name
  local is_of_5_5 = version >= 7
  local sizes = is_of_5_5 and sizes_of_5_5 or sizes_of_5_4

  describe("a snapshot of format version " .. version, function()
    it("says what it is, and adds up", function()
      local snapshot = ask("heaptop", "--json", file).snapshot
      local lua = is_of_5_5 and "lua5.5" or "lua5.4"
      assert.equal(("%s %s.lua"):format(lua, name), snapshot.program)
      assert.equal(name, snapshot.name)
      assert.equal(is_of_5_5 and "5.5.0" or "5.4.4", snapshot.lua_release)
      assert.equal(figure.file_bytes, snapshot.file_bytes)
      assert.equal(0, snapshot.unaccounted_bytes)
      assert.equal(figure.objects, snapshot.objects)
      assert.equal(figure.garbage, snapshot.garbage_objects)
      assert.equal(is_of_5_5 and 2013 or nil, snapshot.external_bytes)
      local counted = snapshot.object_bytes - (snapshot.external_bytes or 0)
      assert.equal(snapshot.gc_bytes, counted + snapshot.string_table_bytes)
    end)

    it("has its objects, edges and marks", function()
      for expression, expected in pairs {
        ["_G.bus"] = sizes.bus .. " Bus", ["_G.file"] = "48 FILE*",
        ["_G.long"] = sizes.long .. " string",
        ["_G.bus.listeners[3]"] = "40 function @" .. name .. ".lua:10",
        ["upvalue session of function @" .. name .. ".lua:10"] = sizes.session .. " {id}",
        ["_G.worker"] = sizes.worker .. " thread @" .. name .. ".lua:13",
      } do
        local found = ask("heappath", "--json", file, expression)
        assert.equal(expected, ("%d %s"):format(found.shallow_bytes, found.class), expression)
      end
      local value = "value of _G.bus in weak table _G.weak"
      assert.equal(value, ask("heappath", "--json", file, value).paths[1].text)
      local listeners = 0
      for _, group in ipairs(ask("heapdiff", "--json", "--since", "before", file).groups) do
        if group.held_by == "_G.bus.listeners[*]" then listeners = group.objects end
      end
      assert.equal(3, listeners)
    end)
  end)
end

for version, before in pairs {[4] = 335, [6] = 334} do
  local name = "version" .. version
  local file = support.root .. "/tests/read/fixtures/" .. name

  describe("a tracked snapshot of format version " .. version, function()
    it("has the sites of its objects", function()
      local answer = ask("heaptop", "--json", "--by", "site", file)
      assert.same({27, 0, 0}, {answer.made, answer.unattributed, answer.sample_bytes})
      local made = {}
      for _, row in ipairs(answer.sites) do made[row.site] = row.objects end
      assert.equal(6, made["@" .. name .. ".lua:10 in main chunk"])
      assert.equal(1, made["string.rep at @" .. name .. ".lua:18 in main chunk"])
      assert.equal(before, made["before tracking began"])
      assert.same({"coroutine.create at @" .. name .. ".lua:13 in main chunk"},
                  ask("heappath", "--json", file, "_G.worker").stack)
    end)
  end)
end

describe("a snapshot of format version 7", function()
  local file = support.root .. "/tests/read/fixtures/version7"

  it("tells external bytes beside the others", function()
    assert.matches("all of it, to the byte; external strings 2.0 KB\n",
                   (support.run {"heaptop", file}))
    assert.matches(", 6.6 KB in the file, 2.0 KB of external strings\n$",
                   (support.run {"heapcheck", file}))
    assert.equal(2013, ask("heapcheck", "--json", file).files[1].external_bytes)
    assert.matches('\nits text, 2.0 KB, lies outside collectgarbage%("count"%), and is freed with ',
                   (support.run {"heappath", "--format", "text", file, "_G.external"}))
    local answer = ask("heapsql", "--json", file, "select external_bytes, length_bytes " ..
                       "from strings where external_bytes > 0 order by 1 desc")
    assert.same({{external_bytes = 2001, length_bytes = 2000},
                 {external_bytes = 12, length_bytes = 11}}, answer.results[1].rows)
  end)
end)

describe("a snapshot of format version 5", function()
  local file = support.root .. "/tests/read/fixtures/version5"

  it("says how it was taken from outside", function()
    local snapshot = ask("heaptop", "--json", file).snapshot
    assert.equal("idle", snapshot.outside)
    assert.is_true(snapshot.in_system_call)
    assert.is_false(snapshot.in_doubt)
    assert.equal("idle", ask("heapcheck", "--json", file).files[1].outside)
    assert.matches(" in the file, from outside %(idle%)\n$", (support.run {"heapcheck", file}))
    local inside = support.root .. "/tests/read/fixtures/version4"
    assert.is_nil(ask("heaptop", "--json", inside).snapshot.outside)
    assert.is_nil(ask("heapcheck", "--json", inside).files[1].outside)
  end)

  it("says how many objects may be newer than it knows", function()
    local out = support.run {"heapdiff", "--since", "before", file}
    local sentence = "\nbefore was taken from outside: at most (%d+) %((%d+) B%) of the objects " ..
                     "that count as older than it may be newer\n"
    local objects, bytes = out:match(sentence)
    local diff = ask("heapdiff", "--json", "--since", "before", file)
    assert.same({{tonumber(objects), 0}, {tonumber(bytes), 0}},
                {diff.may_be_newer, diff.may_be_newer_bytes})
    local inside = support.root .. "/tests/read/fixtures/version4"
    assert.is_nil(ask("heapdiff", "--json", "--since", "before", inside).may_be_newer)
  end)
end)
