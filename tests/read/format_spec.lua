-- format_spec.lua - snapshots that earlier versions wrote can be read for ever.
--
-- fixtures/versionN was written by the first luaheap that had format version N; nobody writes it
-- anew. It was taken with {strings = 40} at the end of this program, with heap.mark("before") in
-- front of the loop and the collector stopped:
--
--     _G -.bus-> Bus -.listeners-> array -[1..3]-> closure -> upvalue session -> {id}
--     _G -.weak-> {__mode = "k"}, where bus is the key of {payload = 1.5, [true] = -7}
--     _G -.worker-> suspended coroutine: local mine = {"mine", {}, "a long string"}
--     _G.file: io.stdout, _G.long: ("long"):rep(100), and {"garbage"} that nothing holds

local json = require "cjson"
local support = require "tests.common.support"

local file = support.root .. "/tests/read/fixtures/version1"

local function ask(...)
  local out, err, code = support.run {...}
  assert.equal("", err)
  assert.equal(0, code)
  return json.decode(out)
end

describe("a snapshot of format version 1", function()
  it("says what it is, and adds up", function()
    local snapshot = ask("heaptop", "--json", file).snapshot
    assert.equal("lua5.4 version1.lua", snapshot.program)
    assert.equal("version1", snapshot.name)
    assert.equal("5.4.4", snapshot.lua_release)
    assert.equal(5829, snapshot.file_bytes)
    assert.equal(0, snapshot.unaccounted_bytes)
    assert.equal(321, snapshot.objects)
    assert.equal(10, snapshot.garbage_objects)
    assert.equal(snapshot.gc_bytes, snapshot.bytes + snapshot.string_table_bytes)
  end)

  it("has its objects, edges and marks", function()
    for expression, expected in pairs {
      ["_G.bus"] = "80 Bus", ["_G.file"] = "48 FILE*", ["_G.long"] = "425 string",
      ["_G.bus.listeners[3]"] = "40 function @version1.lua:10",
      ["upvalue session of function @version1.lua:10"] = "80 {id}",
      ["_G.worker"] = "1056 thread @version1.lua:13",
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
