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

describe("a cache that fills up", function()
  -- A memo with a value for each key of 1 to `keys`, of which each call of leak asks for 600.
  local function take(keys)
    local _, dir = support.lua(([[
      local heap = require "heap"
      local state = 42
      memo = {}
      local function work()
        for _ = 1, 600 do
          state = state * 6364136223846793005 + 1442695040888963407
          local key = (state >> 33) %% %d
          memo[key] = memo[key] or {key, key * key}
        end
      end
      work()
      for _, name in ipairs {"a", "b", "c", "d", "e"} do heap.snapshot(name) work() end
    ]]):format(keys), {name = "app.lua"})
    return function(...) return (support.run({...}, {cwd = dir})) end
  end
  local quick, slow, never = take(700), take(3000), take(1 << 30)

  it("slows down in each of five snapshots", function()
    assert.matches("^Nothing grows steadily", quick("heapdiff", "a", "b", "c", "d", "e"))
    local said = slow("heapdiff", "a", "b", "c", "d", "e")
    assert.matches("^_G.memo%[%*%] grows steadily [^\n]+\nLess came in each step %([%d, ]+ " ..
                   "objects%), as in a cache that fills up: more snapshots decide\n", said)
    said = never("heapdiff", "a", "b", "c", "d", "e")
    assert.matches("^_G.memo%[%*%] grows steadily", said)
    assert.not_match("Less came", said)
  end)

  it("is not certain for heaptop if new keys come between older ones", function()
    for _, ask in ipairs {quick, slow} do
      local said = ask("heaptop", "--leaks", "c")
      assert.matches("^What may leak: nothing is certain\n\n_G.memo%[%*%] may grow: ", said)
    end
    assert.matches("\n    new keys come between older ones, so there may be few: it may be a " ..
                   "cache that fills up\n", slow("heaptop", "--leaks", "c"))
    assert.matches("_G.memo%[%*%] grows: ", never("heaptop", "--leaks", "c"))
  end)
end)
