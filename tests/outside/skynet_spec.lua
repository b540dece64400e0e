-- skynet_spec.lua - skynet's Lua from outside: cores of a small program (skynet/host.c) with the
-- modified Lua 5.4.7 and 5.5.0 of skynet. Five states: one with a table that all share, two
-- services, the file that both loaded, and the cache of loaded files.

local support = require "tests.common.support"
local reader = require "heap.reader"

for _, release in ipairs {"5.4.7", "5.5.0"} do
  describe("a core with skynet's Lua " .. release, function()
    local dir
    local packed = support.root .. "/tests/outside/skynet/core-" .. release .. ".gz"
    local snapshots, service, other = {}, nil, nil

    setup(function()
      dir = support.tmpdir()
      support.run("gzip -dc " .. packed .. " >core", {cwd = dir})
      local out, err, code = support.run("heapattach --state all -o a core", {cwd = dir})
      assert.equal(0, code, out .. err)
      for i = 1, 5 do
        snapshots[i] = assert(reader.open(dir .. "/a-" .. i))
        if snapshots[i]:object "_G.leak" then service, other = snapshots[i], service end
      end
    end)

    teardown(function()
      for _, snapshot in ipairs(snapshots) do snapshot:close() end
    end)

    local function at(path) return assert(service:object(path), path) end

    it("is listed", function()
      local out, _, code = support.run("heapattach --list core", {cwd = dir})
      assert.equal(0, code)
      assert.matches("^5 Lua states in core, 58%.%d KB together: ./host\n", out)
      local _, n = out:gsub("  5%.%d %(skynet%)  no ", "")
      assert.equal(5, n)
    end)

    it("is read to the byte", function()
      for i, snapshot in ipairs(snapshots) do
        assert.is_truthy(snapshot:verify())
        assert.equal(0, snapshot.info.unaccounted_bytes, i)
        assert.equal(release:sub(1, 3) .. " (skynet)", snapshot.info.lua_release)
        assert.is_false(snapshot.info.in_doubt)
      end
    end)

    it("has the objects of other states, with no bytes", function()
      local proto = at("_G.counter").proto
      assert.equal("another state", proto.list)
      assert.equal(0, proto.shallow_bytes)
      assert.equal("allgc", at("_G.counter").list)
      local address = proto.address
      assert.equal(address, assert(other:object "_G.counter").proto.address)
      local n_owners = 0
      for _, snapshot in ipairs(snapshots) do
        local own = snapshot:object(address)
        if own and own.list == "allgc" then
          n_owners = n_owners + 1
          assert.is_true(own.shallow_bytes > 128)
        end
      end
      assert.equal(1, n_owners)
    end)

    it("has names of functions and variables, and keys, that lie in another state", function()
      assert.matches("function counter @service.lua:%d+", at("_G.counter").class)
      assert.matches("service.lua:%d+", at("_G.count").class)
      assert.equal("{number, text}", at("_G.leak[3]").class)
      assert.equal(7, at("_G.leak"):get(7):get "number")
      local labels = {}
      for edge in at("_G.thread"):edges() do labels[#labels + 1] = edge.label end
      assert.matches("local all.*local text", table.concat(labels, "\n"))
    end)

    it("has a table of another state and all that is in it", function()
      local shared = at "_G.shared"
      assert.equal("another state", shared.list)
      assert.equal("settings", shared:get "name")
      local list = shared:get "list"
      assert.equal(2, list:get(2))
      assert.equal("three", list:get(3))
      assert.equal(4, list:get(4):get "four")
      local long = at("_G.long"):get "a key of more than forty characters is a long string"
      assert.equal(list.address, long.address)
    end)

    it("knows a table as weak by a name in another state", function()
      local weak = at "_G.weak"
      assert.equal("k", weak.weak_mode)
    end)

    it("keeps nothing alive by what it shares", function()
      assert.equal(0, at("_G.shared").retained_bytes)
    end)
  end)
end
