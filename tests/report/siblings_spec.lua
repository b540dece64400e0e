-- siblings_spec.lua - A leak that is spread over a few places is one row; a culprit among bounded
-- siblings is told alone. Every command says the same.

local cjson = require "cjson"
local support = require "tests.common.support"

-- `program` defines step(i), which leaks. Returns the first row of four answers, as its path and
-- its objects.
local function ask(program)
  local run = ([[
    local heap = require "heap"
    %s
    local n = 0
    local function work() for _ = 1, 240 do n = n + 1; step(n) end end
    work()
    for _, name in ipairs {"a", "b", "c", "d", "e"} do heap.snapshot(name); work() end
    local leak = heap.leaks(function() n = n + 1; step(n) end)[1]
    print(leak.held_by)
    print(leak.per_run)
  ]]):format(program)
  local out, dir = support.lua(run, {name = "app.lua"})
  local function answer(...)
    return cjson.decode((support.run({...}, {cwd = dir})))
  end
  local group = answer("heapdiff", "--json", "a", "b", "c").groups[1]
  local cause = answer("heaptop", "--leaks", "--json", "c").leaks[1]
  local row = answer("heapdiff", "--json", "a", "b", "c", "d", "e").paths[1]
  local held_by, per_run = out:match("^(.-)\n(.-)\n$")
  return {
    groups = {held_by = group.held_by, group.at},
    top = {held_by = cause.held_by, cause.objects},
    ladder = {held_by = row.held_by, row.objects},
    leaks = {held_by = held_by, tonumber(per_run)},
  }
end

-- All four tell `objects` at one place that come with each of the first five calls of work().
local function assert_told(path, objects, answers)
  local series = {}
  for k = 1, 5 do series[k] = objects * k end
  assert.same({
    groups = {held_by = path, {table.unpack(series, 1, 3)}},
    top = {held_by = path, 3 * objects},
    ladder = {held_by = path, series},
    leaks = {held_by = path, objects / 240},
  }, answers)
end

describe("places that differ in one key", function()
  it("are one row with the sum, if all grow alike", function()
    assert_told("_G.shards.{asia, eu, us}.entries[*]", 240, ask [=[
      local names = {"asia", "eu", "us"}
      shards = {}
      for _, name in ipairs(names) do shards[name] = {entries = {}, n = 0} end
      function step(i)
        local entries = shards[names[i % 3 + 1]].entries
        entries[#entries + 1] = {key = i, value = {i}}
      end
    ]=])
  end)

  it("are one row if the keys of two steps vary, with the first names", function()
    assert_told("_G.{asia, eu, us}.{calls, logins, mails and 3 more}[*]", 240, ask [=[
      local regions, kinds = {"asia", "eu", "us"},
        {"orders", "mails", "calls", "visits", "logins", "tasks"}
      for _, region in ipairs(regions) do
        _G[region] = {}
        for _, kind in ipairs(kinds) do _G[region][kind] = {} end
      end
      function step(i)
        local list = _G[regions[i % 3 + 1]][kinds[i // 3 % 6 + 1]]
        list[#list + 1] = {at = i, who = {i}}
      end
    ]=])
  end)

  it("have the culprit told alone, if the others are bounded", function()
    assert_told("_G.rooms.lobby.log[*]", 240, ask [=[
      rooms = {}
      for _, name in ipairs {"games", "help", "lobby", "news"} do rooms[name] = {log = {}} end
      function step(i)
        for name, room in pairs(rooms) do
          room.log[#room.log + 1] = {at = i, text = {i}}
          if name ~= "lobby" and #room.log > 60 then table.remove(room.log, 1) end
        end
      end
    ]=])
  end)

  it("have the culprit told alone, if the others grow by far less", function()
    assert_told("_G.rooms.lobby.log[*]", 240, ask [=[
      rooms = {}
      for _, name in ipairs {"games", "help", "lobby", "news"} do rooms[name] = {log = {}} end
      function step(i)
        for name, room in pairs(rooms) do
          if name == "lobby" or i % 6 == 0 then room.log[#room.log + 1] = {at = i, text = {i}} end
        end
      end
    ]=])
  end)

  it("are told apart if their objects come from different lines", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      heap.track()
      orders, mails, calls = {}, {}, {}
      local function work()
        for i = 1, 100 do
          orders[#orders + 1] = {at = i, who = {i}}
          mails[#mails + 1] = {at = i, who = {i}}
          calls[#calls + 1] = {at = i, who = {i}}
        end
      end
      work()
      for _, name in ipairs {"a", "b", "c"} do heap.snapshot(name); work() end
    ]]
    assert.equal("", out)
    local answer = cjson.decode((support.run({"heapdiff", "--json", "a", "b", "c"}, {cwd = dir})))
    local told = {}
    for i = 1, 3 do told[i] = answer.groups[i].held_by end
    table.sort(told)
    assert.same({"_G.calls[*]", "_G.mails[*]", "_G.orders[*]"}, told)
  end)

  -- Ten tables of one class are told as rooms[*].
  local function ask_rooms(limit)
    local out, dir = support.lua(([[
      local heap = require "heap"
      rooms = {}
      for k = 1, 10 do rooms[k] = {log = {}} end
      local n = 0
      local function work()
        for _ = 1, 240 do
          n = n + 1
          for k, room in ipairs(rooms) do
            room.log[#room.log + 1] = {at = n, text = {n}}
            if k ~= 7 and #room.log > %d then table.remove(room.log, 1) end
          end
        end
      end
      work()
      work()
      for _, name in ipairs {"a", "b", "c"} do heap.snapshot(name); work() end
    ]]):format(limit))
    assert.equal("", out)
    local answer = cjson.decode((support.run({"heapdiff", "--json", "a", "b", "c"}, {cwd = dir})))
    local rows = {}
    for i, group in ipairs(answer.groups) do
      rows[i] = {group.held_by, group.objects, group.new_objects, group.at}
    end
    return rows, support.run({"heaptop", "--leaks", "c"}, {cwd = dir})
  end

  it("have a number as the culprit's key, with the counts of that one", function()
    local rows, top = ask_rooms(60)
    assert.same({{"_G.rooms[7].log[*]", 240, 480, {480, 720, 960}}}, rows)
    assert.matches("\n    one of 10 tables, _G%.rooms%[7%]%.log, with 960 elements:\n", top)
  end)

  it("have the culprit told apart from others with new objects", function()
    assert.same({
      {"_G.rooms[7].log[*]", 240, 480, {480, 720, 960}},
      {"_G.rooms[*].log[*]", 540, 1080, {2700, 2700, 2700}},
    }, (ask_rooms(300)))
  end)
end)
