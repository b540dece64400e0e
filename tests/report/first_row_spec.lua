-- first_row_spec.lua - heapdiff's first row may be what fills up, above a leak that is smaller.

local support = require "tests.common.support"
local diff = require "tests.common.diff".ask

describe("a first row that is no leak", function()
  -- flags: one in 30 leaks. sessions: one for each of `users`, and so fewer and fewer are new.
  local function told(users, each)
    local _, dir = diff(([[
      sessions, flags = {}, {}
      local n, state = 0, 42
      function leak()
        for i = 1, %d do
          n, state = n + 1, state * 6364136223846793005 + 1442695040888963407
          local user = (state >> 33) %% %d
          sessions[user] = {user = user, inbox = {n, n + 1}}
          if n %% 30 == 0 then flags[#flags + 1] = {n} end
        end
      end
      leak()
    ]]):format(each, users))
    return (support.run({"heapdiff", "a", "b", "c"}, {cwd = dir}))
  end

  it("is told in the second line, if another goes on growing", function()
    local said = told(2000, 1200)
    assert.matches("\nThe first row may be no leak: it slows down %([%d, ]+%), while ", said)
    assert.match("_G.flags[*] goes on (40, 80, 120); a fourth and fifth snapshot decide: ", said, 1,
                 true)
    assert.not_match("may be no leak", told(1 << 31, 1200)) -- no session is replaced: both leak
  end)
end)
