-- numbers_spec.lua - heap.numbers: what is printed in Lua has the library's words for numbers.

require "tests.common.support" -- finds the build
local numbers = require "heap.numbers"

describe("heap.numbers", function()
  it("has counts, sizes and times", function()
    assert.equal("1,204", numbers.count(1204))
    assert.equal("1 object", numbers.count_of(1, "object"))
    assert.equal("0 objects", numbers.count_of(0, "object"))
    assert.equal("1,000 entries", numbers.count_of(1000, "entry", "entries"))
    assert.equal("1,023 B", numbers.size(1023))
    assert.equal("1.0 MB", numbers.size((1 << 20) - 1))
    assert.equal("8.0 EB", numbers.size(math.maxinteger))
    assert.equal("2001-09-09 01:46:40 UTC", numbers.time(1000000000 * 1000000000))
  end)

  it("takes whole numbers alone, 0 or more", function()
    for _, f in pairs(numbers) do
      assert.is_false(pcall(f, -1, 1))
      assert.is_false(pcall(f, 1.5, 1))
      assert.is_false(pcall(f))
    end
  end)
end)
