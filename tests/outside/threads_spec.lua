-- threads_spec.lua - where coroutines stand, in a program that is looked at from outside: the same
-- as in a snapshot that it takes itself at that place, whether it waits in a system call there or
-- runs in a loop.

local hosts = require "tests.common.hosts"
local support = require "tests.common.support"

local program = [[
  local how, fifo = ...
  local heap = how == "inside" and require "heap"
  local function task(n)
    local held = {n}
    coroutine.yield(held)
    coroutine.yield(held, 2)
  end
  suspended = {}
  for i = 1, 3 do
    suspended[i] = coroutine.create(task)
    coroutine.resume(suspended[i], i)
  end
  coroutine.resume(suspended[3])
  not_started = coroutine.create(task)
  finished = coroutine.create(function() end)
  coroutine.resume(finished)
  local function deep(n)
    if n == 0 then coroutine.yield() end
    return (deep(n - 1))
  end
  descending = coroutine.wrap(deep)
  descending(5)
  protected = coroutine.wrap(function() pcall(pcall, error) pcall(coroutine.yield, 1) end)
  protected()
  local function ready() io.write "ready\n" io.flush() end
  local ways = {
    inside = function() heap.snapshot "a" end,
    waits = function() ready() io.open(fifo) end,
    runs = function() local i = 0 ready() while true do i = i + 1 end end
  }
  local function stay() ways[how]() return how end
  local function inner()
    return (("x"):gsub("x", function() local how = stay() return how end))
  end
  outer = coroutine.wrap(function()
    local nested = coroutine.create(inner)
    print(coroutine.resume(nested))
  end)
  outer()
]]

-- What is told of each place, without sizes, addresses, and what the innermost calls are.
local function places(dir)
  local told = {}
  local text = support.answer("heaptop --threads --depth 20 a", dir):gsub("^.-\n\n", "")
  for place in (text .. "\n"):gmatch "(.-)\n\n" do
    local short = place:gsub(":[^\n]* of the heap; [^\n]*", ""):gsub("\n    Why [^\n]*", "")
    short = short:gsub("\n.-(\n    program.lua:[^\n]* in function stay\n)", "%1")
    told[#told + 1] = short:gsub("\n    %[C%] in [^\n]*$", "") -- what has called the main chunk
  end
  table.sort(told)
  return told
end

local function attach(how)
  local dir = support.tmpdir()
  support.write_file(dir .. "/program.lua", program)
  support.answer("mkfifo fifo", dir)
  local host = hosts.program({os.getenv "LUA" or "lua5.4", "program.lua", how, "fifo"}, dir)
  finally(function() host.stop() end)
  host.wait "ready"
  local _, err, code = support.run({"heapattach", "-o", "a", host.process_id}, {cwd = dir})
  assert.equal(0, code, err)
  return places(dir)
end

describe("the threads of a program that is looked at from outside", function()
  if not hosts.may_look() then return pending(hosts.refusal) end

  local expected

  setup(function()
    expected = places(select(2, support.lua(program, {args = {"inside"}})))
    assert.equal(9, #expected, table.concat(expected, "\n"))
  end)

  it("stand where they do for itself, while it waits", function()
    assert.same(expected, attach "waits")
  end)

  it("stand where they do for itself, while it runs", function()
    assert.same(expected, attach "runs")
  end)
end)
