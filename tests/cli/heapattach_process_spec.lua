-- heapattach_process_spec.lua - heapattach as a stranger uses it: on a server that knows nothing of
-- it, from the first look to the leak, and on its core. What it says of all else is tested with a
-- stand-in in heapattach_spec.lua.

local cjson = require "cjson"
local hosts = require "tests.common.hosts"
local lfs = require "lfs"
local support = require "tests.common.support"

local lines = support.lines

-- The front page's server without luaheap: it waits for a line where that takes snapshots.
local function source()
  local text = support.read_file(support.root .. "/examples/listener.lua")
  local n
  text, n = text:gsub('heap%.snapshot%("."%)', 'print("ready") io.stdout:flush() io.read()')
  assert(n == 3)
  return (text:gsub('local heap = require "heap"', "", 1))
end

---@class server
---@field pid string
---@field dir string
---@field step fun() lets it go on until it waits again
---@field stop fun()

-- A program in a directory of its own, which has printed "ready" and waits for input. `wrapper`: a
-- command in front of it.
local function start(text, wrapper)
  local dir = support.tmpdir()
  support.write_file(dir .. "/server.lua", text)
  local out, err = support.run(([[mkfifo in out
    env -u LD_PRELOAD %s "${LUA:-lua5.4}" server.lua <in >out 2>said &
    echo $!]]):format(wrapper or ""), {cwd = dir})
  assert(err == "", err)
  local to, from = assert(io.open(dir .. "/in", "w")), assert(io.open(dir .. "/out"))
  assert(from:read() == "ready")
  local server = {pid = out:match("%d+"), dir = dir}
  function server.step()
    to:write("\n")
    to:flush()
    assert(from:read() == "ready")
  end
  function server.stop()
    to:write("\n\n\n") -- who else was started may have the pipe, too, so its end is none
    to:close()
    from:read("a")
    from:close()
    return support.read_file(dir .. "/said")
  end
  return server
end

describe("heapattach", function()
  if not hosts.may_look() then return pending(hosts.refusal) end

  local server
  before_each(function() server = start(source()) end)
  after_each(function() server.stop() end)

  local function attach(...)
    local out, err, status = support.run({"heapattach", ...}, {cwd = server.dir})
    assert.same({"", 0}, {err, status}, out)
    return out
  end

  local function ask(command) return support.answer(command, server.dir) end

  it("runs again where its own memory is in the way", function()
    if support.run "setarch -R true && echo fine" ~= "fine\n" then
      return pending("addresses may not be chosen here")
    end
    local there = start(source(), "setarch -R -L") -- as heapattach's own libraries are
    local out, err, status = support.run(
      ([[setarch -R "$(command -v heapattach)" -o a %s && heapcheck a]]):format(there.pid),
      {cwd = there.dir})
    there.stop()
    assert.same({"", 0}, {err, status}, out)
    assert.match("a: ok: ", out, 1, true)
  end)

  -- The commands of a session in a README, and what it shows of their answers.
  local function session_of(file, pattern)
    local steps = {}
    for _, line in ipairs(lines(support.read_file(support.root .. file):match(pattern))) do
      local command = line:match("^    %$ (.*)")
      if command then
        steps[#steps + 1] = {command = command}
      else
        table.insert(steps[#steps], line:sub(5))
      end
    end
    return steps
  end

  -- What depends on Lua's libraries and on the moment.
  local function masked(line)
    return (line:gsub("[%d,]+ objects, [%d.]+ KB of", "N objects of"):gsub("Lua 5%.4%.?%d*", "Lua")
      :gsub("stopped for [%d.]+ ms", "not stopped: it was waiting in a system call"))
  end

  it("finds the leak of a server that knows nothing of it, as the front page shows", function()
    local steps = session_of("/README.md", "\n(    %$ heapattach .-)\n\n")
    assert.equal(4, #steps)
    for i, step in ipairs(steps) do
      if i == 2 or i == 3 then server.step() end
      local said = lines((ask((step.command:gsub("4711", server.pid))):gsub(server.pid, "4711")))
      for k, line in ipairs(step) do assert.equal(masked(line), masked(said[k])) end
    end
    assert.matches("Listener%s+_G.bus.listeners.tick%[%*%]", ask "heapdiff a b c")
  end)

  it("names who runs Lua of those that a process without has started", function()
    local shell = start(source(), [[sh -c '"$@"; true' sh]])
    local out, err, status = support.run({"heapattach", "--state", "1", "-o", "a", shell.pid},
                                         {cwd = shell.dir})
    local lua = err:match(" %-o a (%d+)")
    local parent = support.read_file(("/proc/%s/status"):format(lua)):match("PPid:%s*(%d+)")
    shell.stop()
    assert.same({"", 1, shell.pid}, {out, status, parent})
    assert.same({
      ("heapattach: process %s runs no Lua: no state of Lua 5.4 or 5.5 was found in it"):format(
        shell.pid),
      "heapattach: Lua 5.4 or 5.5 runs in what it has started:",
      ("    heapattach --state 1 -o a %s    %s server.lua"):format(lua, os.getenv "LUA" or "lua5.4")
    }, lines(err))
  end)

  it("lists who else runs Lua of those that a process has started", function()
    local master = start [=[
      local worker = [['print("ready") io.stdout:flush() io.read()']]
      local lua = os.getenv "LUA" or "lua5.4"
      local pipe <close> = io.popen("exec " .. lua .. " -e " .. worker, "w")
      io.read()]=]
    local out, err, status = support.run({"heapattach", "--list", master.pid})
    local both = support.run("heapattach --list " .. master.pid .. " 2>&1")
    master.stop()
    assert.equal(out .. err, both)
    assert.equal(0, status)
    assert.matches("^1 Lua state in " .. master.pid .. ": ", out)
    assert.matches("^heapattach: Lua 5.4 or 5.5 runs in what it has started:\n" ..
                   "    heapattach %-%-list %d+    %S+ %-e print%(\"ready\"%) [^\n]+\n$", err)
  end)

  it("says that there is no process before it asks what of it", function()
    assert.same({"", "heapattach: there is no process 2147483647\n", 2},
                {support.run({"heapattach", "2147483647"})})
  end)

  it("lists and watches it", function()
    local list = cjson.decode(attach("--list", "--json", server.pid))
    assert.equal(1, #list.states)
    assert.equal("server.lua", list.states[1].script)
    local looks = lines(attach("--watch", "--json", "--every", "1", "--max", "2", server.pid))
    local look = cjson.decode(looks[1]) -- the next one has no counts where they cost too much
    assert.equal(list.states[1].gc_bytes, look.gc_bytes)
    assert.equal(look.gc_bytes, cjson.decode(looks[2]).gc_bytes)
    local taken = cjson.decode(attach("--json", "-o", "a", server.pid)).snapshots[1]
    assert.equal(look.gc_bytes, list.states[1].gc_bytes)
    assert.equal(taken.state_id, list.states[1].state_id)
    assert.is_true(look.objects > 300 and look.objects <= taken.objects)
  end)

  it("knows what its collector was told", function()
    server.stop()
    server = start [[
      collectgarbage("incremental", 300, 400)
      collectgarbage("stop")
      print("ready") io.stdout:flush() io.read()
      collectgarbage("restart")
      print("ready") io.stdout:flush() io.read()
    ]]
    local function told(file)
      attach("-o", file, server.pid)
      local info = cjson.decode(ask({"heaptop", "--json", file})).snapshot
      return {info.gc_kind, info.gc_stopped, info.gc_pause, info.gc_stepmul}
    end
    assert.same({"incremental", true, 300, 400}, told("a"))
    server.step()
    assert.same({"incremental", false, 300, 400}, told("b"))
  end)

  it("leaves no trace in it", function()
    attach("-o", "a", server.pid)
    attach("--stop", "--after", "a", "-o", "b", server.pid)
    server.step()
    server.step()
    assert.equal("", server.stop())
    server = start(source())
  end)

  it("takes a series until it ends", function()
    local script = [[
      heapattach --every 0.2 PID >said 2>errors & pid=$!
      until [ -s said ]; do sleep 0.05; done
      echo begun; wait $pid; echo $?]]
    support.write_file(server.dir .. "/script", (script:gsub("PID", server.pid)))
    local series = assert(io.popen(("cd %s && PATH=%s/bin:$PATH timeout 100 sh script"):format(
      support.quote(server.dir), support.quote(support.build))))
    assert.equal("begun", series:read())
    server.stop()
    assert.equal("0", series:read())
    series:close()
    local said = support.read_file(server.dir .. "/said")
    assert.matches("^heapattach: [^\n]*ended\n$", support.read_file(server.dir .. "/errors"))
    assert.matches("^server%.lua%-%d+%-1%.heap: ", said)
    assert.matches("\nWhat [^\n]+: heap%l+ server%.lua%-%d+%-1%.heap", said)
    server = start(source())
  end)

  it("ends quietly where nobody reads any more", function()
    local out, err = support.run("heapattach --watch --every 0.1 " .. server.pid .. " | head -n 1")
    err = err:gsub("^heapattach: counting the objects [^\n]+\n", "") -- which may take long here
    assert.same({1, ""}, {#lines(out), err})
  end)

  it("reads its core", function()
    if select(3, support.run "gdb --version") ~= 0 then return pending("there is no gdb") end
    attach("-o", "a", server.pid)
    server.step()
    local out, err, status = support.run({"gcore", "-o", "core", server.pid}, {cwd = server.dir})
    assert.equal(0, status, out .. err)
    local core = "core." .. server.pid
    support.run({"chmod", "600", core}, {cwd = server.dir})
    out, err, status = support.run({"heapattach", "--after", "a", "-o", "b", core},
                                   {cwd = server.dir})
    assert.equal(0, status, err)
    assert.matches("^b: [%d,]+ objects, [%d.]+ KB of " .. core:gsub("%p", "%%%0") .. " %(", out)
    server.step()
    attach("--after", "b", "-o", "c", server.pid)
    assert.matches("^4,000 objects allocated between a and b are still alive in c: 304.7 KB",
                   ask "heapdiff a b c")
  end)

  it("leaves an older file as it was where there is no room for the new one", function()
    support.write_file(server.dir .. "/a", "older")
    local out, err, status = support.run({"heapattach", "-o", "a", server.pid},
                                         {cwd = server.dir, before = "ulimit -f 8;"})
    assert.same({"", 2}, {out, status})
    assert.matches("^heapattach: cannot write 'a': ", err)
    assert.equal("older", support.read_file(server.dir .. "/a"))
    local names = {}
    for name in lfs.dir(server.dir) do names[name] = true end
    assert.same({["."] = true, [".."] = true, ["in"] = true, out = true, said = true, a = true,
                 ["server.lua"] = true}, names)
  end)
end)
