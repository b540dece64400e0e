-- fleet_spec.lua - a process with many Lua states (fleet_host.c), looked at from outside: which
-- there are, which of them grow, come and go, and a snapshot of each. What is printed is tested
-- with a stand-in in tests/cli/heapattach_fleet_spec.lua.

local cjson = require "cjson"
local hosts = require "tests.common.hosts"
local support = require "tests.common.support"

local N = 60

-- With orders to it. `library`: of another Lua, nil for none.
local function start(library)
  local dir = support.tmpdir()
  support.answer("mkfifo in out", dir)
  local host = hosts.program({"sh", "-c", 'exec "$@" <in >out', "sh",
                              support.build .. "/tests/fleet_host", N, library}, dir)
  local to, from = assert(io.open(dir .. "/in", "w")), assert(io.open(dir .. "/out"))
  assert(from:read() == "ready")
  host.dir = dir
  function host.order(...)
    to:write(table.concat({...}, " "), "\n")
    to:flush()
    assert(from:read() == "done")
  end
  return host
end

local function heapattach(host, ...)
  local out, err, code = support.run({"heapattach", host.process_id, ...}, {cwd = host.dir})
  assert.same({"", 0}, {err, code}, out)
  return out
end

local function states_of(host)
  return cjson.decode(heapattach(host, "--list", "--json")).states
end

local function sum(states)
  local bytes = 0
  for _, state in ipairs(states) do bytes = bytes + state.gc_bytes end
  return bytes
end

-- The lines of --watch until one is as wanted. It looks ten times a second, and is stopped then.
local function watch(host)
  local pipe = assert(io.popen(("PATH=%s/bin:$PATH exec heapattach --watch --state all --json " ..
                                 "--every 0.1 %d"):format(support.quote(support.build),
                                                          host.process_id)))
  local watching = {}
  function watching.await(what, is_wanted)
    for _ = 1, 1200 do
      local line = pipe:read()
      local look = line and cjson.decode(line)
      if not look or is_wanted(look) then return assert(look, what) end
    end
    error("never seen: " .. what)
  end
  function watching.stop() pipe:close() end
  return watching
end

describe("a process with many states", function()
  if not hosts.may_look() then return pending(hosts.refusal) end

  local host
  after_each(function() host.stop() end)

  it("is listed by script, and each state where that is wanted", function()
    host = start()
    local out = heapattach(host, "--list")
    assert.matches("^60 Lua states in " .. host.process_id .. ", [%d.]+ MB together: ", out)
    local counts = {}
    for n, script in out:gmatch "\n +(%d+) [^\n]* %./(%l+)%.lua" do
      counts[#counts + 1] = n .. " " .. script
    end
    assert.same({"1 gate", "53 agent", "6 logger"}, counts)
    local each = heapattach(host, "--list", "--state", "logger.lua")
    assert.equal(6, select(2, each:gsub("%./logger%.lua\n", "")))
  end)

  it("shows which of them grow, come and go", function()
    host = start()
    local before, by_address = states_of(host), {}
    for _, state in ipairs(before) do by_address[state.address] = state end
    local watching = watch(host)
    local first = watching.await("all", function() return true end)
    assert.same({N, sum(before), 0}, {first.states, first.gc_bytes, #first.growing})
    host.order("grow", 7, 50000)
    local look = watching.await("one that grows", function(l)
      return #l.growing > 0 and l.growing[1].since_start_bytes >= 40000
    end)
    local grown = look.growing[1]
    assert.same({1, "./agent.lua"}, {#look.growing, grown.script})
    assert.equal(grown.gc_bytes - grown.since_start_bytes, by_address[grown.address].gc_bytes)
    assert.equal(look.gc_bytes, first.gc_bytes + grown.since_start_bytes)
    host.order("close", 8)
    watching.await("one less", function(l) return l.states == N - 1 end)
    support.answer("sleep 1", host.dir) -- the seed of a state is of the second in which it began
    host.order("open", 8)
    look = watching.await("a new one", function(l) return l.states == N end)
    assert.equal(2, #look.growing)
    assert.equal(look.growing[2].gc_bytes, look.growing[2].since_start_bytes)
    assert.is_true(look.growing[1].gc_bytes > look.growing[1].since_start_bytes)
    watching.stop()
  end)

  it("has a snapshot of each", function()
    host = start()
    local listed = states_of(host)
    local taken = cjson.decode(heapattach(host, "--state", "all", "--json", "-o", "x")).snapshots
    assert.equal(N, #taken)
    for i, snapshot in ipairs(taken) do
      assert.same({"x-" .. i, listed[i].state_id}, {snapshot.file, snapshot.state_id})
    end
    assert.matches("ok", support.answer("heapcheck x-1 x-" .. N, host.dir))
  end)

  it("may have two releases of Lua", function()
    local folder = support.run("pkg-config --variable=libdir lua5.5"):match "%S+"
    local library = folder and folder .. "/liblua5.5.so"
    if not library or not io.open(library) then
      host = {stop = function() end}
      return pending "there is no library of Lua 5.5"
    end
    host = start(library)
    local n = {}
    for _, state in ipairs(states_of(host)) do
      local minor = state.lua:sub(1, 3)
      n[minor] = (n[minor] or 0) + 1
    end
    assert.same({["5.4"] = N / 2, ["5.5"] = N / 2}, n)
    assert.matches("\n +53 [^\n]* 5%.4[.%d]*%-5%.5[.%d]* +no +%./agent%.lua\n",
                   heapattach(host, "--list"))
    local watching = watch(host)
    watching.await("all", function(look) return look.states == N end)
    for i = 6, 7 do host.order("grow", i, 1000) end
    local look = watching.await("two that grow", function(l) return #l.growing == 2 end)
    local minors = {look.growing[1].lua:sub(1, 3), look.growing[2].lua:sub(1, 3)}
    table.sort(minors)
    assert.same({"5.4", "5.5"}, minors)
    watching.stop()
  end)
end)
