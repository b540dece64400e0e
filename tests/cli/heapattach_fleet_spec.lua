-- heapattach_fleet_spec.lua - what heapattach says of many Lua states, with a stand-in for
-- processes: --list and --watch --state all. tests/outside/fleet_spec.lua has real ones.

local cjson = require "cjson"
local stand_in = require "tests.common.stand_in"
local support = require "tests.common.support"

local attach, lines, tool = stand_in.attach, support.lines, stand_in.tool

local dir
setup(function() dir = stand_in.prepare() end)

-- 24 agents of 2,048 bytes and more, the fifth the biggest; a gate, whose script is in a long
-- folder, and a state of Lua 5.5. `more`: lines behind those of each agent.
local function fleet(more)
  local there = {"program server"}
  for i = 1, 24 do
    there[#there + 1] = ("state b %d no ./agent.lua"):format(i == 5 and 4096 or 2048)
    there[#there + 1] = more and more(i) or nil
  end
  there[#there + 1] = "state p2 3072 yes ./agent.lua"
  there[#there + 1] = "release 5.5.0"
  there[#there + 1] = "state b 10240 no /srv/a/folder/of/scripts/gate.lua"
  return there
end

local function answer(there, words, more)
  local out, err, code = attach(there, words, more)
  assert.same({"", 0}, {err, code}, out)
  return out
end

describe("heapattach --list of many states", function()
  it("folds those of one script, the biggest first", function()
    local out = answer(fleet(), {"--list", "4711"})
    assert.equal([[
26 Lua states in 4711, 63.0 KB together: server

states  together  biggest  state  Lua          luaheap  script
    25   53.0 KB   4.0 KB      5  5.4.4-5.5.0  1        ./agent.lua
     1   10.0 KB  10.0 KB     26  5.4.4        no       /srv/a/folder/of/scripts/gate.lua

Each state: heapattach --list --state all 4711
A snapshot: heapattach --state 26 -o NEW 4711
]], (out:gsub("%-o %l ", "-o NEW ")))
  end)

  it("shows each where it is asked to, the biggest first", function()
    local all = lines(answer(fleet(), {"--list", "--state", "all", "4711"}))
    assert.equal("26 Lua states in 4711, 63.0 KB together: server", all[1])
    assert.equal(1 + 1 + 26 + 1, #all)
    assert.matches("^   26  10.0 KB  5.4.4  no       /srv/", all[3])
    assert.matches("^    5   4.0 KB  5.4.4  no       ./agent.lua", all[4])
    assert.matches("^   25   3.0 KB  5.5.0  loaded   ./agent.lua", all[5])
    assert.matches("^    1   2.0 KB  5.4.4  no       ./agent.lua", all[6])
    local some = lines(answer(fleet(), {"--list", "--state", "gate.lua", "4711"}))
    assert.equal("1 of 26 Lua states in 4711: server", some[1])
    assert.matches("^   26  10.0 KB ", some[3])
    local out, err, code = attach(fleet(), {"--list", "--state", "none.lua", "4711"})
    assert.same({"", 2}, {out, code})
    assert.matches("^heapattach: 4711 has no Lua state that runs 'none.lua': ", err)
  end)

  it("has each in JSON, by number", function()
    local all = cjson.decode(answer(fleet(), {"--list", "--json", "4711"})).states
    assert.equal(26, #all)
    for i, state in ipairs(all) do assert.equal(i, state.state) end
    local some = cjson.decode(answer(fleet(), {"--list", "--json", "--state", "5", "4711"})).states
    assert.same({1, 5, 4096}, {#some, some[1].state, some[1].gc_bytes})
  end)
end)

describe("heapattach --watch --state all", function()
  local function watch(there, ...)
    return attach(there, {"4711", "--watch", "--state", "all", "--every", "0.1", "--max", "3", ...})
  end

  -- Without the times.
  local function masked(out)
    return (out:gsub("%d+:%d+:%d+", "00:00:00"):gsub("in %d+ ms", "in N ms"))
  end

  it("tells what all have, and those that grow, most first", function()
    local out, err, code = watch(fleet(function(i) return i % 10 == 3 and "grows " .. i * 100 end))
    assert.same({"", 0}, {err, code})
    assert.equal([[
UTC             heap      change since start  states
00:00:00     63.0 KB           -           -  26 states
00:00:00     66.8 KB     +3.8 KB     +3.8 KB  26 states, 3 grow
              4.2 KB     +2.2 KB     +2.2 KB  state 23, ./agent.lua
              3.3 KB     +1.3 KB     +1.3 KB  state 13, ./agent.lua
              2.3 KB      +300 B      +300 B  state 3, ./agent.lua
00:00:00     70.6 KB     +3.8 KB     +7.6 KB  26 states, 3 grow
              6.5 KB     +2.2 KB     +4.5 KB  state 23, ./agent.lua
              4.5 KB     +1.3 KB     +2.5 KB  state 13, ./agent.lua
              2.6 KB      +300 B      +600 B  state 3, ./agent.lua
+7.6 KB in N ms
What of it stays: heapattach --state 23 --every 30s --max 3 4711
]], masked(out))
  end)

  it("folds those of one script where more than 20 grow", function()
    local there = fleet(function(i) return i == 7 and "grows 1000" end)
    there[#there + 1] = "grow 10"
    local out, err, code = watch(there)
    assert.same({"", 0}, {err, code})
    assert.equal([[
UTC             heap      change since start  states
00:00:00     63.0 KB           -           -  26 states
00:00:00     64.2 KB     +1.2 KB     +1.2 KB  26 states, 26 grow
             54.2 KB     +1.2 KB     +1.2 KB  25 x ./agent.lua
              3.0 KB    +1,010 B    +1,010 B    most: state 7
             10.0 KB       +10 B       +10 B  state 26, /srv/a/folder/of/scripts/gate.lua
]], masked(out):match("^(.-gate.lua\n)"))
  end)

  it("is a line of JSON for each time, with all that grow", function()
    local there = fleet(function(i) return i == 7 and "grows 1000" end)
    there[#there + 1] = "grow 10"
    local list = lines((watch(there, "--json")))
    assert.equal(3, #list)
    local first, last = cjson.decode(list[1]), cjson.decode(list[3])
    assert.same({64512, 0, 0, 26, 0}, {first.gc_bytes, first.change_bytes,
                first.since_start_bytes, first.states, #first.growing})
    assert.same({64512 + 2520, 1260, 2520, 26, 26}, {last.gc_bytes, last.change_bytes,
                last.since_start_bytes, last.states, #last.growing})
    local most = last.growing[1]
    assert.same({7, "./agent.lua", "5.4.4", "0x7000", 2048 + 2020, 1010, 2020},
                {most.state, most.script, most.lua, most.address, most.gc_bytes,
                 most.change_bytes, most.since_start_bytes})
  end)

  it("fits a terminal of 80 columns", function()
    local there = fleet()
    there[#there + 1] = "grow 10"
    support.write_file(dir .. "/there", table.concat(there, "\n") .. "\n")
    local line = "STAND_IN=there " .. support.quote(tool) ..
                   " --watch --state all --every 0.1 --max 2 4711"
    local out = support.on_terminal(line, {cwd = dir})
    if not out then return pending("there is no script(1)") end
    local plain = lines((out:gsub("\27%[%d*m", "")))
    for _, text in ipairs(plain) do assert.is_true(#text <= 80, text) end
    assert.matches("  state 26, ...r/of/scripts/gate.lua\r?$", plain[6])
  end)

  it("shows no more than the ten that grew most", function()
    local there = fleet(function(i) return i <= 12 and "grows " .. 100 - i end)
    local list = lines((watch(there)))
    assert.matches("26 states, 12 grow$", list[3])
    assert.matches("  state 10, ./agent.lua$", list[13])
    assert.matches("26 states, 12 grow$", list[14])
  end)
end)
