-- soak_spec.lua - servers at work, looked at from outside again and again, as fast as can be:
-- neither they nor their clients notice, and every snapshot is sound. With N=10 there are 500
-- attaches to each; `make soak` does that.
--
-- Of five snapshots one is taken by --stop, of seven one is --after one before. When its clients
-- have left a host is as it was when others had left before: descriptors and threads, no child,
-- nobody that traces it, no signal.

local browser = require "tests.common.browser"
local hosts = require "tests.common.hosts"
local lfs = require "lfs"
local socket = require "socket"
local support = require "tests.common.support"

local attaches <const> = (support.is_tried(2, 3) and 50 or 17) * support.soak_factor
local clients <const> = 8
local SECONDS_AT_REST <const> = 10

-- All attaches to a process: a line for each that fails. A snapshot that is not sound is kept.
local attach = [[
  i=0
  while [ $i -lt $2 ]; do
    i=$((i + 1))
    state=$((i % $3 + 1))
    stop=; [ $((i % 5)) -ne 0 ] || stop=--stop
    after=; [ $((i % 7)) -ne 0 ] || [ ! -f old-$state ] || after="--after old-$state"
    if ! heapattach $stop $after --state $state -o new $1 >said 2>&1; then
      echo "attach $i $stop $after: $(cat said)"
    elif ! heapcheck new >said 2>&1; then
      cp new bad-$i
      echo "snapshot $i $stop $after: $(cat said)"
    fi
    mv -f new old-$state
  done
]]

local function count(path, is_counted)
  local n = 0
  for name in lfs.dir(path) do
    if not name:match "^%.%.?$" and is_counted(path .. "/" .. name) then n = n + 1 end
  end
  return n
end

-- One that is closed meanwhile is no socket any more.
local function is_socket(path)
  return (lfs.symlinkattributes(path, "target") or "socket"):match "^socket" ~= nil
end

-- What somebody who looked at a process might have left there.
local function traces(process_id)
  local proc = "/proc/" .. process_id
  local status = support.read_file(proc .. "/status")
  local found = {children = ""}
  found.sockets = count(proc .. "/fd", is_socket)
  found.descriptors = count(proc .. "/fd", function(path) return not is_socket(path) end)
  found.threads = count(proc .. "/task", function() return true end)
  for _, field in ipairs {"TracerPid", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"} do
    found[field] = status:match("\n" .. field .. ":%s*(%x+)")
  end
  for task in lfs.dir(proc .. "/task") do
    local file = io.open(("%s/task/%s/children"):format(proc, task))
    found.children = found.children .. (file and file:read "a" or "")
    if file then file:close() end
  end
  return found
end

-- The traces when the clients' connections are closed, which may take a moment. A server that had
-- not opened all its own when it began has more for good.
local function traces_at_rest(process_id, sockets)
  local seen, since
  pcall(browser.await, "", function()
    local now = traces(process_id).sockets
    if now ~= seen then seen, since = now, socket.gettime() end
    return now == sockets or socket.gettime() - since > SECONDS_AT_REST
  end)
  return traces(process_id)
end

local function soak(host)
  local sockets = traces(host.process_id).sockets
  host:load(clients)
  assert.equal("", host:rest()) -- now it has all that it keeps
  local before = traces_at_rest(host.process_id, sockets)
  host:load(clients)
  local failures = support.run({"sh", "-c", attach, "sh", host.process_id, attaches, host.states},
                               {cwd = support.tmpdir()})
  local errors, answers = host:rest()
  assert.same({"", ""}, {failures, errors})
  assert.is_true(answers > clients, "the clients were not served")
  assert.same(before, traces_at_rest(host.process_id, sockets))
end

describe("a server that is looked at from outside", function()
  if not hosts.may_look() then return pending(hosts.refusal) end
  for _, name in ipairs {"lighttpd", "prosody", "epoll"} do
    it("notices nothing: " .. name, function()
      local host, why = hosts.start(name)
      if not host then return pending(why) end
      soak(host)
      host:stop()
      io.write(("faults: %s under load, looked at from outside: %d cases, %d survived\n")
        :format(name, attaches, attaches))
    end)
  end
end)
