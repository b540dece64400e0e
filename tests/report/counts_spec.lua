-- counts_spec.lua - what a row counts in each snapshot are the objects of its class at its place:
-- not those of other classes there, and not those under the other keys of a table.

local cjson = require "cjson"
local support = require "tests.common.support"

local function take(program, ...)
  return select(2, support.lua('local heap = require "heap"\n' .. program:format(...)))
end

local function groups_of(dir)
  return cjson.decode(support.answer({"heapdiff", "--json", "-n", "0", "a", "b", "c"}, dir)).groups
end

local function leaks_of(dir)
  return cjson.decode(support.answer({"heaptop", "--leaks", "--json", "-n", "0", "c"}, dir)).leaks
end

local function rows_at(rows, pattern)
  local found = {}
  for _, row in ipairs(rows) do
    if row.type == "table" and row.held_by:find(pattern) then found[#found + 1] = row end
  end
  return found
end

-- `n` users, each a table with six keys of its own, then eleven and sixteen.
local users = [[
  %s
  local made = 0
  local function work(rounds)
    for _ = 1, rounds do
      for u = 0, %d - 1 do
        made = made + 1
        local name = %s
        users[name] = users[name] or {}
        users[name]["s" .. made] = {id = made, text = "t" .. made}
      end
    end
  end
  work(6) heap.snapshot "a" work(5) heap.snapshot "b" work(5) heap.snapshot "c"]]

describe("the numbers of a row", function()
  --  _G.list -> [i] -> job; _G.list -> [1], [2], [3] -> other records
  it("leave out objects of other classes at the place", function()
    local dir = take [[
      local Job = {__name = "Job"}
      list = {{first = 1}, {second = 2}, {third = 3}}
      local function work(n) for _ = 1, n do list[#list + 1] = setmetatable({}, Job) end end
      work(160) heap.snapshot "a" work(320) heap.snapshot "b" work(240) heap.snapshot "c"]]
    local group, leak = groups_of(dir)[1], leaks_of(dir)[1]
    assert.same({"Job", "_G.list[*]"}, {group.class, group.held_by})
    assert.same({160, 480, 720}, group.at)
    assert.same({"Job", "_G.list[*]", 720}, {leak.class, leak.held_by, leak.objects})
    assert.same({160, 320, 240}, leak.ages)
  end)

  --  _G.users -> .user0 -> .s1, .s11, ... -> record: seven keys in a are [*] in b
  local letters = "string.char(97 + u % 26, 97 + u // 26)"

  it("are of one path where a snapshot tells its keys and another does not", function()
    local dir = take(users, "users = {}", 10, letters)
    local groups, leaks = rows_at(groups_of(dir), "^_G.users"), rows_at(leaks_of(dir), "^_G.users")
    local path = "_G.users.{aa, ba, ca and 7 more}[*]" -- siblings that grow alike
    assert.same({1, path, 50}, {#groups, groups[1].held_by, groups[1].objects})
    assert.same({60, 110, 160}, groups[1].at)
    assert.same({1, path, 160}, {#leaks, leaks[1].held_by, leaks[1].objects})
    assert.same({60, 50, 50}, leaks[1].ages)
  end)

  it("are of all paths that differ in numbers only", function()
    local groups = rows_at(groups_of(take(users, "users = {}", 10, '"user" .. u')), "^_G.users")
    assert.same({1, "_G.users.user*[*]", 50}, {#groups, groups[1].held_by, groups[1].objects})
    assert.same({60, 110, 160}, groups[1].at)
  end)

  it("are of all keys where these make no other places", function()
    for _, first in ipairs {"users = {}", "local users = {}"} do
      local dir = take(users, first, 100, letters)
      local groups, leaks = rows_at(groups_of(dir), "%[%*%]$"), rows_at(leaks_of(dir), "%[%*%]$")
      assert.same({1, 500, {600, 1100, 1600}}, {#groups, groups[1].objects, groups[1].at})
      assert.match("users.*%[%*%]%[%*%]$", groups[1].held_by)
      assert.same({1, 1600, {600, 500, 500}}, {#leaks, leaks[1].objects, leaks[1].ages})
      assert.equal(groups[1].held_by, leaks[1].held_by)
    end
  end)

  --  _G.users -> .u0, .u1, ... -> [i] -> record; only that of .u0 grows
  it("of three snapshots are not told where these do not tell the key of the row apart", function()
    local dir = take [[
      users = {}
      for u = 0, 99 do users["u" .. u] = {{id = 1}, {id = 2}} end
      local function work() for n = 1, 50 do table.insert(users.u0, {id = n}) end end
      work() heap.snapshot "a" work() heap.snapshot "b" work() heap.snapshot "c"]]
    local group = rows_at(groups_of(dir), "^_G.users")[1]
    local leak = rows_at(leaks_of(dir), "^_G.users")[1]
    assert.same({"_G.users.u0[*]", 50}, {group.held_by, group.objects})
    assert.is_nil(group.at)
    assert.same({"_G.users.u0[*]", 152}, {leak.held_by, leak.objects})
    assert.same({52, 50, 50}, leak.ages)
  end)

  --  _G.users -> .u0, ... -> .x0, ... -> [i] -> record: one row of many arrays
  it("by age are not told of several collections by one of them", function()
    local dir = take [[
      users = {}
      for u = 0, 99 do
        users["u" .. u] = {}
        for i = 0, 99 do users["u" .. u]["x" .. i] = {} end
      end
      local n = 0
      local function work()
        for _ = 1, 5000 do
          n = n + 1
          local list = users["u" .. n %% 5]["x" .. n %% 100]
          list[#list + 1] = {id = n}
        end
      end
      work() heap.snapshot "a" work() heap.snapshot "b" work() heap.snapshot "c"]]
    local leak = leaks_of(dir)[1]
    assert.equal(15000, leak.objects)
    local sum = 0
    for _, n in ipairs(leak.ages or {leak.objects}) do sum = sum + n end
    assert.equal(leak.objects, sum)
  end)
end)
