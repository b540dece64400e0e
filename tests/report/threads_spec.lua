-- threads_spec.lua - `heaptop --threads`: where coroutines stand, as tracebacks, and what they
-- retain.

local cjson = require "cjson"
local support = require "tests.common.support"

-- 1,000 tasks wait in the same two functions, 5 at another line, one in a callback of gsub; one has
-- not started, one has returned, one failed.
local program = [[
local heap = require "heap"
local tasks = {}
local function ask(question)
  return coroutine.yield(question)
end
local function fetch(body)
  local answer = ask("who?")
  if answer then
    ask("really?")
  end
  return body
end
local function spawn(fn, ...)
  local task = coroutine.create(fn)
  tasks[#tasks + 1] = task
  coroutine.resume(task, ...)
  return task
end
for i = 1, 1000 do spawn(fetch, ("x"):rep(500) .. i) end
for i = 1, 5 do coroutine.resume(spawn(fetch, "y" .. i), true) end
spawn(function() string.gsub("a", "a", error) end)
spawn(function() table.sort({2, 1}, function(a, b) return b < a end) end)
tasks.new = coroutine.create(fetch)
tasks.deep = spawn(function()
  local function down(n) if n == 0 then ask() else down(n - 1) end return 0 end
  down(50)
end)
heap.snapshot "s"
]]

describe("heaptop --threads", function()
  local dir
  setup(function() dir = select(2, support.lua(program)) end)

  local function ask(...)
    return support.answer({"heaptop", "--threads", ...}, dir)
  end

  it("shows a thousand that stand at one place as one", function()
    local out = ask("-n", "1", "s")
    assert.equal("1,010 threads at 7 places; most is retained by 1,000 coroutines at " ..
                 "program.lua:4 in function ask", out:match("^[^\n]*"))
    assert.truthy(out:find("\n\n1,000 coroutines, suspended: ", 1, true), out)
    local frames = out:match("\n1,000 coroutines[^\n]*\n(.-\n)    Why")
    assert.equal("    [C] in function coroutine.yield\n" ..
                 "    program.lua:4 in function ask\n" ..
                 "    program.lua:7 in function fetch\n", frames)
    assert.matches("\nand 6 more places: %-n 0 shows all\n$", out)
  end)

  it("tells functions by their whole names, whatever is in these and in the file's", function()
    support.lua([[
      local heap = require "heap"
      jobs = {}
      jobs["on @home"] = function() coroutine.yield() end
      jobs["on [x] y"] = function() jobs["on @home"]() return 1 end
      co = coroutine.create(jobs["on [x] y"])
      coroutine.resume(co)
      jobs["at @noon"] = function() heap.snapshot "names" return 1 end
      coroutine.wrap(jobs["at @noon"])()
    ]], {cwd = dir, name = "a @b [c].lua"})
    local out = ask("names")
    assert.matches("    a @b [c].lua:3 in function [\"on @home\"]\n" ..
                   "    a @b [c].lua:4 in function [\"on [x] y\"]\n", out, 1, true)
    assert.matches("\n    [C] in function heap.snapshot\n", out, 1, true)
    assert.matches("\n    [C] in coroutine [\"at @noon\"]\n", out, 1, true)
  end)

  it("tells the others apart", function()
    local out = ask("s")
    assert.truthy(out:find("\n5 coroutines, suspended: ", 1, true))
    assert.truthy(out:find("\n    program.lua:9 in function fetch\n", 1, true))
    assert.matches("\n1 coroutine, failed: ", out)
    assert.matches("\n1 coroutine, not started: [^\n]+\n    thread fetch @program%.lua:6\n", out)
    assert.matches("\n1 coroutine, finished: [^\n]+\n    thread %(finished%)\n", out)
    assert.matches("\nThe main thread, running: [^\n]+\n    %[C%] in function heap%.snapshot\n" ..
                   "    program%.lua:28 in main chunk\n", out)
  end)

  it("shows --depth frames, and how many more there are", function()
    local out = ask("--depth", "3", "s")
    assert.truthy(out:find("    program.lua:4 in function ask\n" ..
                           "    program.lua:25 in function down\n" ..
                           "    ... 51 more frames\n", 1, true), out)
    assert.truthy(ask("--depth", "100", "s"):find(("    program.lua:25 in function down\n"):rep(51),
                                                  1, true))
  end)

  it("has documented keys in JSON, and all frames", function()
    local json = cjson.decode(ask("--json", "s"))
    assert.equal(1010, json.total_threads)
    assert.equal(7, json.total_places)
    assert.equal(7, #json.threads)
    local first, threads, deepest = json.threads[1], 0, 0
    assert.same({"suspended", false, 1000, "thread fetch @program.lua:6"},
                {first.status, first.main, first.threads, first.class})
    assert.is_true(first.retained_bytes >= first.shallow_bytes + 1000 * 500)
    assert.matches("^0x%x+$", first.example)
    for _, row in ipairs(json.threads) do
      threads = threads + row.threads
      deepest = math.max(deepest, #row.frames)
    end
    assert.equal(json.total_threads, threads)
    assert.equal(54, deepest)
    assert.equal(1, #cjson.decode(ask("--json", "-n", "1", "s")).threads)
  end)

  it("gives a command that answers", function()
    local command = ask("s"):match("    Why one of them stays: (heappath [^\n]+)\n")
    local out, err, code = support.run(command, {cwd = dir})
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches(" is kept alive by: ", out, 1, true)
  end)

  it("says that there is the main thread only", function()
    local lone = select(2, support.lua [[require "heap".snapshot "s"]])
    local out = support.run("heaptop --threads s", {cwd = lone})
    assert.matches("^1 thread at 1 place\n\nThe main thread, running: ", out)
  end)
end)
