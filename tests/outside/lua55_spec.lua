-- lua55_spec.lua - Lua 5.5 from outside where none is installed: cores of a small program
-- (lua55/host.c) of 5.5.0, and of 5.5.1 as it was in May 2026, which aligns user values.
--
-- The file of the program is nowhere. So its release is unknown, and its constants are zero.

local support = require "tests.common.support"
local reader = require "heap.reader"

for _, release in ipairs {"5.5.0", "5.5.1"} do
  describe("a core of Lua " .. release, function()
    local dir, snapshot
    local packed = support.root .. "/tests/outside/lua55/core-" .. release .. ".gz"

    setup(function()
      dir = support.tmpdir()
      support.run("gzip -dc " .. packed .. " >core", {cwd = dir})
      local out, err, code = support.run("heapattach -o a core", {cwd = dir})
      assert.equal(0, code, out .. err)
      assert.matches("^a: %d+ objects, [%d.]+ KB and 39.1 KB of external strings of core " ..
                     "%(./host, Lua 5.5%); ended by SIGABRT\n", out)
      snapshot = assert(reader.open(dir .. "/a"))
    end)

    teardown(function() snapshot:close() end)

    local function at(path) return assert(snapshot:object(path), path) end

    it("is listed", function()
      local out, _, code = support.run("heapattach --list core", {cwd = dir})
      assert.equal(0, code)
      assert.matches("^1 Lua state in core: ./host\n", out)
      assert.matches("\n    1  [%d.]+ KB  5.5  no       %a+%.lua\n", out)
    end)

    it("is read to the byte", function()
      assert.is_truthy(snapshot:verify())
      assert.equal(0, snapshot.info.unaccounted_bytes)
      assert.equal("5.5", snapshot.info.lua_release)
      assert.is_false(snapshot.info.in_doubt)
      assert.equal(20 * 2001, snapshot.info.external_bytes)
    end)

    it("has values of array and hash parts", function()
      local mixed = at "_G.mixed"
      for key, value in pairs {[1] = 1, [2] = 2.5, [3] = true, [4] = "x", [2.5] = "half",
                               [1 << 40] = "far", [-7] = false} do
        local found = mixed:get(key)
        if type(found) == "userdata" or type(found) == "table" then found = found.value end
        assert.equal(value, found, key)
      end
      assert.equal(1000, at("_G.numbers"):get(1000))
    end)

    it("has texts, but for constants of the program", function()
      assert.equal(("page"):rep(64), at("_G.leak[20].text").value)
      assert.equal(48 + 2001, at("_G.leak[20].text").shallow_bytes)
      assert.equal(2001, at("_G.leak[20].text").external_bytes)
      assert.equal(32, at("_G.constant").shallow_bytes)
      assert.equal(("\0"):rep(53), at("_G.constant").value)
    end)

    -- Such a text stands for a loaded library; in a program that has Lua inside it is far from all
    -- memory that is copied. Here a text and the constant change places.
    it("may have a text of 11 bytes among the constants of the program", function()
      local STRING, ADDRESS_BYTES, LENGTH_BYTES = "\x14..%s....%s(........)", 8, 8
      local file = assert(io.open(dir .. "/core", "rb"))
      local core = file:read("a")
      file:close()
      local _, c_last, constant = core:find(STRING:format("\xFE", ("<i8"):pack(53)))
      local _, t_last, text = core:find(STRING:format("\xFD", ("<i8"):pack(2000)))
      local function put(last, bytes)
        core = core:sub(1, last - #bytes) .. bytes .. core:sub(last + 1)
      end
      put(c_last, text)
      put(t_last, constant)
      put(t_last - ADDRESS_BYTES, ("<i" .. LENGTH_BYTES):pack(11))
      file = assert(io.open(dir .. "/other", "wb"))
      file:write(core)
      file:close()
      local out, err, code = support.run("heapattach -o b other", {cwd = dir})
      assert.equal(0, code, out .. err)
      local other = assert(reader.open(dir .. "/b"))
      assert.is_truthy(other:verify())
      assert.equal(19 * 2001 + 12, other.info.external_bytes)
      other:close()
    end)

    it("has user values, coroutines and functions whose code is not Lua's", function()
      local mixed = at "_G.mixed"
      local refers = {}
      for edge in at("_G.handle"):edges() do refers[edge.target.address] = edge.label end
      assert.equal("user value 2", refers[mixed.address])
      local frames = at("_G.thread"):frames()
      assert.equal(2, #frames)
      assert.matches("host.lua:8", frames[2])
      local labels = {}
      for edge in at("_G.thread"):edges() do labels[#labels + 1] = edge.label end
      assert.matches("local all.*local text", table.concat(labels, "\n"))
      assert.matches("fixed.lua:1", at("_G.fixed").class)
    end)
  end)
end
