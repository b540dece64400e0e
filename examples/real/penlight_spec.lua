-- penlight_spec.lua - a suite of 400 small tests of penlight, for inside_busted.lua.

-- luacheck: std +busted

local List = require "pl.List"
local stringx = require "pl.stringx"
local tablex = require "pl.tablex"

describe("penlight", function()
  for n = 1, 100 do
    local words, text

    before_each(function()
      words = List.range(1, n):map(tostring)
      text = words:join(" ")
    end)

    it("splits and joins " .. n .. " words", function()
      assert.same(words, stringx.split(text))
    end)

    it("counts in " .. n .. " words", function()
      assert.equal(n - 1, stringx.count(text, " "))
      assert.truthy(stringx.startswith(text, "1"))
    end)

    it("copies " .. n .. " words deeply", function()
      local copy = tablex.deepcopy(words)
      assert.same(words, copy)
      assert.is_false(rawequal(words, copy))
    end)

    it("calls back for each of " .. n .. " words", function()
      local callback = spy.new(function() end)
      words:foreach(callback)
      assert.spy(callback).was_called(n)
    end)
  end
end)
