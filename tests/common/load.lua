-- load.lua - clients of a server, as many as wanted at the same time, until they are told to stop:
--
--     lua5.4 load.lua http|lines|xmpp unix:PATH|PORT CLIENTS STOP
--
-- Each client waits for the answer to what it asked, and looks whether it is the right one; after
-- some rounds it leaves, and another comes. They end when the file STOP is there, each after its
-- round. Then it is told how many answers there were; of what went wrong each line, at once.

local socket = require "socket"
local unix = require "socket.unix"

local protocol, address, n_clients, stop = table.unpack(arg)
local rounds <const>, most_errors <const> = 200, 20
local patience <const> = 60 -- seconds: a server that is slow on a loaded machine is no error
local n_answers, n_errors, n_made, is_over = 0, 0, 0, false

local function connect()
  local path = address:match "^unix:(.*)"
  local client = path and unix.stream() or socket.tcp()
  local fine, message
  if path then fine, message = client:connect(path)
  else fine, message = client:connect("127.0.0.1", tonumber(address)) end
  if not fine then error("cannot connect: " .. message, 0) end
  client:settimeout(0)
  return client
end

-- What has come until it matches; the rest is kept.
local function expect(client, pattern)
  while true do
    local from, to, found = client.got:find(pattern)
    if from then
      client.got = client.got:sub(to + 1)
      n_answers = n_answers + 1
      return found
    end
    client.since = client.since or socket.gettime()
    local text, message, part = client.socket:receive(65536)
    local more = text or part
    client.got = client.got .. more
    if more == "" and message ~= "timeout" then
      error(("%s, having sent '%s'"):format(message, client.got), 0)
    end
    if more == "" then coroutine.yield() end
  end
end

local function send(client, text)
  local sent, message = client.socket:send(text)
  if sent ~= #text then error("cannot send: " .. tostring(message), 0) end
end

local function check(found, expected)
  if found ~= expected then error(("answered '%s', not '%s'"):format(found, expected), 0) end
end

local talks = {}

function talks.http(client, name)
  for i = 1, rounds do
    local text = name .. "." .. i
    send(client, ("GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"):format(text))
    check(expect(client, "^HTTP/1.1 (%d+) "), "200")
    check(expect(client, "\r\n\r\n([^\n]*)\n"), "hello /" .. text)
    if is_over then return end
  end
end

function talks.lines(client, name)
  for i = 1, rounds do
    local text = name .. "." .. i
    send(client, text .. "\n")
    check(expect(client, "([^\n]*)\n"), "hello " .. text)
    if is_over then return end
  end
end

local stream = "<?xml version='1.0'?><stream:stream to='localhost' version='1.0' " ..
  "xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"

function talks.xmpp(client, name)
  send(client, stream)
  expect(client, "</stream:features>")
  send(client, "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='ANONYMOUS'/>")
  expect(client, "<success[^>]*>")
  send(client, stream)
  expect(client, "</stream:features>")
  send(client, "<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
  local jid = expect(client, "<jid>(.-)</jid>.-</iq>")
  for i = 1, rounds do
    local text = name .. "." .. i
    send(client, ("<message to='%s' type='chat'><body>%s</body></message>"):format(jid, text))
    check(expect(client, "<body>(.-)</body></message>"), text)
    send(client, ("<iq type='get' to='localhost' id='%s'><ping xmlns='urn:xmpp:ping'/></iq>")
      :format(text))
    check(expect(client, "<iq ([^>]*)/>"):match "type='(.-)'", "result")
    if is_over then break end
  end
  send(client, "</stream:stream>")
  expect(client, "</stream:stream>")
end

local function live(client)
  client.socket = connect()
  talks[protocol](client, "client" .. client.number)
  client.socket:close()
end

local clients = {} -- by socket, as long as they wait for an answer

local function fail(client, message)
  n_errors = n_errors + 1
  print(("client %d: %s"):format(client.number, message))
  if client.socket then client.socket:close() end
end

local function begin()
  n_made = n_made + 1
  return {number = n_made, got = "", thread = coroutine.create(live)}
end

-- Lets a client go on, and others after it, until one has to wait.
local function go_on(client)
  while true do
    local fine, message = coroutine.resume(client.thread, client)
    if coroutine.status(client.thread) == "suspended" then break end
    if not fine then fail(client, message) end
    if is_over or n_errors >= most_errors then return end
    client = begin()
  end
  clients[client.socket] = client
end

-- They leave the server, and who looks at it, some of the machine.
local function await()
  local sockets = {}
  socket.sleep(0.002)
  for one in pairs(clients) do sockets[#sockets + 1] = one end
  for _, one in ipairs((socket.select(sockets, nil, 0.1))) do
    local client = clients[one]
    clients[one], client.since = nil, nil
    go_on(client)
  end
  local now = socket.gettime()
  for one, client in pairs(clients) do
    if now - client.since > patience then
      clients[one] = nil
      fail(client, "no answer")
    end
  end
end

local function is_there(path)
  local file = io.open(path)
  return file and file:close()
end

io.stdout:setvbuf "line"
for _ = 1, tonumber(n_clients) do go_on(begin()) end
print "begun"
while next(clients) do
  await()
  is_over = is_over or is_there(stop)
end
print(("%d answers to %d clients, %d errors"):format(n_answers, n_made, n_errors))
