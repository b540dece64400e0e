-- prosody_client.lua - a bounded load for an XMPP server on this machine:
--
--     lua5.4 prosody_client.lua PORT SESSIONS FAILURES FIRST
--
-- SESSIONS users (user<FIRST>, ...) log in one after the other, ask for stream management with
-- resumption, and are gone without a word, as a phone in a tunnel. FAILURES more send a password
-- that is refused. Each waits for the server's answers: all is done when this program ends.

local mime = require "mime"
local socket = require "socket"

local port, sessions = math.tointeger(arg[1]), math.tointeger(arg[2])
local failures, first = math.tointeger(arg[3]), math.tointeger(arg[4])

-- Sends `text` and reads until the server has said `answer`, a pattern.
local function talk(connection, text, answer)
  assert(connection:send(text))
  local heard = ""
  while not heard:find(answer) do
    local byte, err = connection:receive(1)
    heard = heard .. (byte or error(err .. " after: " .. heard))
  end
end

local open = "<stream:stream to='localhost' version='1.0' xmlns='jabber:client' "
  .. "xmlns:stream='http://etherx.jabber.org/streams'>"

local function login(user, password, answer)
  local connection = assert(socket.connect("127.0.0.1", port))
  connection:settimeout(10)
  local secret = mime.b64("\0" .. user .. "\0" .. password)
  talk(connection, open, "</stream:features>")
  talk(connection, "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>" .. secret
       .. "</auth>", answer)
  return connection
end

for i = first, first + sessions - 1 do
  local connection = login("user" .. i, "secret", "<success")
  talk(connection, open, "</stream:features>")
  talk(connection, "<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>",
       "</iq>")
  talk(connection, "<enable xmlns='urn:xmpp:sm:3' resume='true'/>", "<enabled")
  talk(connection, "<presence/>", "</presence>")
  connection:close()
end

for i = first, first + failures - 1 do
  login("user" .. i, "wrong", "<failure"):close()
end
