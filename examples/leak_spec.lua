--[==[
leak_spec.lua - tests that fail when something leaks, and tell what.

A session registers with a bus and forgets to leave it when it is closed.

    $ busted --lua=lua5.4 -o plainTerminal leak_spec.lua
]==]

require "heap.busted"

package.preload.session = function()
  local bus = {listeners = {}}
  local Session = {__name = "Session"}
  Session.__index = Session

  function Session.new(user)
    local self = setmetatable({user = user, inbox = {}}, Session)
    bus.listeners[#bus.listeners + 1] = function(message) table.insert(self.inbox, message) end
    return self
  end

  function Session:close() self.inbox = nil end

  return {new = Session.new, bus = bus}
end

describe("a session", function()
  local session = require "session"

  it("leaves nothing behind", function()
    assert.leaks_nothing(function() session.new("ada"):close() end)
  end)

  it("is kept by the bus alone", function()
    assert.leaks_at_most(1, "Session", function() session.new("ada"):close() end)
  end)

  it("can be collected", function()
    assert.collected(function()
      local one = session.new("ada")
      one:close()
      return one
    end)
  end)
end)
