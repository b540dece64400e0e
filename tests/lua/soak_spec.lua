-- soak_spec.lua - some seconds of what `make soak` does for ten minutes.

local support = require "tests.common.support"

describe("a server under load that is looked at every second", function()
  it("keeps its memory, its descriptors, no zombie and no file", function()
    local seconds = 4
    local soak = support.read_file("tests/lua/soak.lua")
    local out = support.lua(soak, {args = {support.build, seconds}})
    assert.not_match("PROBLEM", out)
    local n, good = out:match("(%d+) snapshots, (%d+) of them verified")
    assert.is_true(tonumber(n) >= 2)
    assert.equal(n, good)
    io.write(("faults: snapshots of a server under load: %d cases, %d survived\n"):format(n, good))
  end)
end)
