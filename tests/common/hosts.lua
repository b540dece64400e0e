-- hosts.lua - servers with Lua in them, under load, for the specs that look at them from outside.
--
--     local host = hosts.start "lighttpd"     nil and a sentence where it is not installed
--     host.process_id
--     host:load(8)                            clients that talk to it, until host:rest()
--     assert.equal("", host:rest())           what went wrong for one of them
--     host:stop()
--
-- They listen where nobody else can: at a socket in a folder, or at a port that the system picks.
-- None outlives this process.
--
--     describe("...", function()
--       if not hosts.may_look() then return pending(hosts.refusal) end
--
-- What is looked at from outside is no build for sanitizers, nor are those that talk to it.

local browser = require "tests.common.browser"
local lfs = require "lfs"
local support = require "tests.common.support"

local hosts = {refusal = "processes may not be looked at here"}

local Host = {}
Host.__index = Host

--- A program in the background: `wait` and `stop` of browser.background, and its process_id.
---@param words string[]
---@param dir? string
---@return table
function hosts.program(words, dir)
  local file = support.tmpname()
  local line = {"-u", "LD_PRELOAD", "sh", "-c", 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec "$@"',
                file, table.unpack(words)}
  local started = browser.background(line, {cwd = dir})
  started.process_id = browser.await("a process id", function()
    local pid = io.open(file)
    return pid and math.tointeger(tonumber(pid:read "a")), pid and pid:close()
  end)
  return started
end

--- Does this system let anybody look at other processes? In some containers none may. Asks the
--- kernel, not heapattach.
---@return boolean
function hosts.may_look()
  local other = hosts.program {"sleep", "60"}
  local memory = io.open(("/proc/%d/mem"):format(other.process_id))
  other.stop()
  return memory ~= nil and memory:close()
end

-- lighttpd answers each request by a Lua program that it keeps a state for (mod_magnet).
local magnet = [[
local path = lighty.env["request.uri"]
seen = seen or {}
seen[#seen % 2000 + 1] = {path = path, at = os.time(), words = {path:byte(1, -1)}}
local answer = coroutine.wrap(function() coroutine.yield("hello " .. path .. "\n") end)
lighty.content = {answer()}
lighty.header["Content-Type"] = "text/plain"
return 200
]]

-- A socket in a folder is there before somebody listens at it.
local function listens(process_id, path)
  for line in io.lines(("/proc/%d/net/unix"):format(process_id)) do
    if line:match "^%S+ %x+ %x+ 00010000 " and line:sub(-#path - 1) == " " .. path then
      return true
    end
  end
end

function hosts.lighttpd()
  local server, module = "/usr/sbin/lighttpd", "/usr/lib/lighttpd/mod_magnet.so"
  if not lfs.attributes(server) or not lfs.attributes(module) then
    return nil, "lighttpd with mod_magnet is not installed"
  end
  local dir = support.tmpdir()
  support.write_file(dir .. "/hello.lua", magnet)
  support.write_file(dir .. "/conf", ([[
    server.modules = ("mod_magnet")
    server.document-root = "DIR"
    server.bind = "DIR/socket"
    server.max-keep-alive-requests = 100000
    server.max-keep-alive-idle = 600
    server.max-read-idle = 600
    magnet.attract-raw-url-to = ("DIR/hello.lua")
  ]]):gsub("DIR", dir))
  return {words = {server, "-D", "-f", dir .. "/conf"}, protocol = "http", states = 1,
          address = function(process_id) return listens(process_id, dir .. "/socket") and
                                           "unix:" .. dir .. "/socket" end}
end

-- The port of 127.0.0.1 at which a process listens.
local function port_of(process_id)
  local sockets = {}
  for name in lfs.dir(("/proc/%d/fd"):format(process_id)) do
    local target = lfs.symlinkattributes(("/proc/%d/fd/%s"):format(process_id, name), "target")
    local inode = target and target:match "^socket:%[(%d+)%]"
    if inode then sockets[inode] = true end
  end
  for line in io.lines(("/proc/%d/net/tcp"):format(process_id)) do
    local port, state, inode = line:match(
      "^%s*%d+: 0100007F:(%x+) %S+ (%x%x) %S+ %S+ %S+ +%d+ +%d+ (%d+)")
    if state == "0A" and sockets[inode] then return tostring(tonumber(port, 16)) end
  end
end

function hosts.prosody()
  if select(3, support.run "command -v prosody") ~= 0 then
    return nil, "prosody is not installed"
  end
  local dir = support.tmpdir()
  support.write_file(dir .. "/prosody.cfg.lua", ([[
    run_as_root = true
    data_path, pidfile = "DIR", "DIR/pid"
    log = {warn = "DIR/log"}
    modules_enabled = {"saslauth", "disco", "ping", "presence", "message", "iq"}
    modules_disabled = {"s2s", "offline"}
    interfaces, local_interfaces, c2s_ports = {"127.0.0.1"}, {"127.0.0.1"}, {0}
    c2s_direct_tls_ports, s2s_ports = {}, {}
    c2s_require_encryption, allow_unencrypted_plain_auth = false, true
    VirtualHost "localhost"
      authentication = "anonymous"
  ]]):gsub("DIR", dir))
  return {words = {"prosody", "-F", "--config", dir .. "/prosody.cfg.lua"}, protocol = "xmpp",
          states = 1, address = port_of}
end

-- tests/outside/epoll_host.c
function hosts.epoll()
  local program = support.build .. "/tests/epoll_host"
  return {words = {program}, protocol = "lines", states = 2, address = port_of}
end

--- Starts a server, and waits until it listens.
---@param name "lighttpd"|"prosody"|"epoll"
---@return table? host
---@return string? why it is not there
function hosts.start(name)
  local host, why = hosts[name]()
  if not host then return nil, why end
  setmetatable(host, Host)
  host.started = hosts.program(host.words)
  host.process_id = host.started.process_id
  local address = host.address
  host.address = browser.await(name, function()
    local fine, found = pcall(address, host.process_id)
    return fine and found
  end)
  return host
end

--- Clients that talk to it from now on.
---@param n integer how many at the same time
function Host:load(n)
  self.stop_file = support.tmpname()
  self.clients = browser.background {
    os.getenv "LUA" or "lua5.4", support.root .. "/tests/common/load.lua", self.protocol,
    self.address, n, self.stop_file}
  self.clients.wait "begun"
end

--- They stop.
---@return string errors that a client saw, a line each
---@return integer answers
function Host:rest()
  support.write_file(self.stop_file, "")
  local answers = tonumber(self.clients.wait "(%d+) answers to")
  local printed = self.clients.stop()
  return printed:gsub("^begun\n", ""):gsub("[^\n]* 0 errors\n$", ""), answers
end

--- Ends it.
---@return string printed by it
function Host:stop()
  return self.started.stop()
end

return hosts
