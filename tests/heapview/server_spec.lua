-- server_spec.lua - the server of heapview, talked to byte by byte: who is answered, and who is
-- not; what it does with clients that send too much or nothing, or go away; how it ends.
-- What requests are taken is tried one fault at a time in test_requests.c.

local browser = require "tests.common.browser"
local cjson = require "cjson"
local socket = require "socket"
local support = require "tests.common.support"

local dir = support.take_leaking()

-- ==== Servers =========================================================================

local script = [["$@" & p=$!; trap "kill $p" TERM; echo "pid $p"; wait $p; echo "status $?"]]

-- A server for the words of a command, as {pid, port, token, wait, stop}.
local function start(words, env)
  local command = {}
  for name, value in pairs(env or {}) do command[#command + 1] = name .. "=" .. value end
  if support.sanitized then
    command[#command + 1] = "ASAN_OPTIONS=" .. os.getenv "LUAHEAP_ASAN_COMMANDS"
  end
  for _, word in ipairs {"env", "--default-signal=HUP", "sh", "-c", script, "sh",
                         support.build .. "/bin/heapview"} do
    command[#command + 1] = word
  end
  table.move(words, 1, #words, #command + 1, command)
  local server = browser.background(command, {cwd = dir})
  server.pid = server.wait "pid (%d+)"
  return server
end

local function serve(words, env)
  local server = start(words, env)
  local line = server.wait "http://%S+"
  server.host, server.port, server.token = line:match "^http://(.*):(%d+)/#(%x+)$"
  assert.equal(32, #server.token)
  return server
end

local function signal(server, name)
  assert.equal(0, select(3, support.run {"kill", "-" .. name, server.pid}))
end

-- Ends it, and returns its exit status and all that it printed.
local function finish(server, name)
  if name then signal(server, name) end
  local status = tonumber(server.wait "status (%d+)")
  return status, server.stop()
end

-- ==== Requests ========================================================================

local function connect(server)
  local client = assert(socket.tcp())
  client:settimeout(60)
  assert(client:connect("127.0.0.1", tonumber(server.port)))
  return client
end

-- The answer as it comes, until the server closes.
local function receive(client)
  local text, _, rest = client:receive "*a"
  client:close()
  return text or rest
end

local function parse(text)
  local head, body = text:match "^(.-)\r\n\r\n(.*)$"
  if not head then return nil, text end
  local answer = {status = tonumber(head:match "^HTTP/1.1 (%d+)"), body = body, headers = {}}
  for name, value in head:gmatch "\r\n([^:]+): ([^\r]*)" do answer.headers[name:lower()] = value end
  return answer
end

-- A request of these lines.
local function begin(server, ...)
  local client = connect(server)
  assert(client:send(table.concat({...}, "\r\n") .. "\r\n\r\n"))
  return client
end

local function send(server, line, ...)
  return parse(receive(begin(server, line, "Connection: close", ...)))
end

local function host(server)
  return "Host: 127.0.0.1:" .. server.port
end

local function token(server)
  return "X-Heapview-Token: " .. server.token
end

local function get(server, path, ...)
  return send(server, "GET " .. path .. " HTTP/1.1", host(server), token(server), ...)
end

local function encode(text)
  return (text:gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local endless = "/ask/sql?query=" ..
  encode "with recursive t(i) as (select 1 union all select i + 1 from t) select count(*) from t"

local function children(server)
  local path = ("/proc/%s/task/%s/children"):format(server.pid, server.pid)
  return support.read_file(path):match "%d+"
end

-- What has ended may still wait for its parent.
local function is_running(process)
  local file = io.open("/proc/" .. process .. "/stat")
  local state = file and file:read("a"):match "%) (%a)"
  if file then file:close() end
  return state ~= nil and state ~= "Z"
end

-- Sends a query without an end, and returns when it is being answered.
local function begin_endless(server)
  local client = begin(server, "GET " .. endless .. " HTTP/1.1", host(server), token(server))
  browser.await("the query's child", function() return children(server) end)
  return client
end

-- ====================================================================================

describe("A server", function()
  local server
  setup(function() server = serve {"a", "b", "c"} end)
  teardown(function() server.stop() end)

  -- It lives, and has nothing to do, once the snapshots are read.
  after_each(function()
    browser.await("a server that is ready", function()
      local answer = get(server, "/progress")
      assert.equal(200, answer.status)
      return cjson.decode(answer.body).ready
    end)
  end)

  it("gives the page to whoever asks, with its policy and nothing of the heap", function()
    local answer = send(server, "GET / HTTP/1.1", host(server))
    assert.equal(200, answer.status)
    assert.equal("text/html; charset=utf-8", answer.headers["content-type"])
    assert.matches("default%-src 'none'", answer.headers["content-security-policy"])
    assert.matches("frame%-ancestors 'none'", answer.headers["content-security-policy"])
    assert.is_nil(answer.headers["content-security-policy"]:find "unsafe")
    assert.is_nil(answer.body:find("listeners.tick", 1, true))
    assert.is_nil(answer.body:find(server.token, 1, true))
    local head = send(server, "HEAD / HTTP/1.1", host(server))
    assert.equal(200, head.status)
    assert.equal("", head.body)
    assert.equal(answer.headers["content-length"], head.headers["content-length"])
  end)

  it("lets nobody keep, frame, embed or guess what it gives", function()
    for _, path in ipairs {"/", "/ask/info", "/ask/nothing", "/progress"} do
      local headers = get(server, path).headers
      assert.equal("no-store", headers["cache-control"])
      assert.equal("nosniff", headers["x-content-type-options"])
      assert.equal("DENY", headers["x-frame-options"])
      assert.equal("no-referrer", headers["referrer-policy"])
      assert.equal("same-origin", headers["cross-origin-opener-policy"])
      assert.equal("same-origin", headers["cross-origin-resource-policy"])
      assert.is_nil(headers["access-control-allow-origin"])
      if path ~= "/" then
        assert.equal("application/json", headers["content-type"])
        assert.equal("default-src 'none'", headers["content-security-policy"])
      end
    end
  end)

  it("answers who has the token", function()
    local json = cjson.decode(support.answer({"heaptop", "--json", "c"}, dir))
    local answer = get(server, "/ask/classes")
    assert.equal(200, answer.status)
    assert.same(json.classes, cjson.decode(answer.body).answer.classes)
    answer = get(server, "/ask/nothing")
    assert.equal(200, answer.status)
    assert.matches("no question 'nothing'", cjson.decode(answer.body).error)
  end)

  it("answers several questions on one connection", function()
    local client = connect(server)
    for i = 1, 3 do
      local last = i == 3 and "Connection: close\r\n" or ""
      assert(client:send(("GET /ask/info HTTP/1.1\r\n%s\r\n%s\r\n%s\r\n"):format(host(server),
        token(server), last)))
      if i < 3 then
        assert.equal("HTTP/1.1 200 OK", client:receive "*l")
        local n
        for line in function() return assert(client:receive "*l") end do
          n = n or line:match "^Content%-Length: (%d+)"
          if line == "" then break end
        end
        assert.equal(tonumber(n), #client:receive(tonumber(n)))
      end
    end
    assert.equal(200, parse(receive(client)).status)
  end)

  it("refuses all others, and says no more than why", function()
    local line = "GET /ask/info HTTP/1.1"
    local wrong = "X-Heapview-Token: " .. ("0"):rep(32)
    for _, request in ipairs {
      {403, line, host(server)}, {403, line, host(server), wrong},
      {403, line, "Host: evil.example:" .. server.port, token(server)},
      {403, "GET / HTTP/1.1", "Host: evil.example:" .. server.port},
      {403, line, host(server), token(server), "Origin: http://evil.example"},
      {403, line, host(server), token(server), "Sec-Fetch-Site: cross-site"},
      {404, "GET /etc/passwd HTTP/1.1", host(server), token(server)},
      {404, "GET /../../etc/passwd HTTP/1.1", host(server), token(server)},
      {400, "GET /ask/info?b=1&a=1 HTTP/1.1", host(server), token(server)},
      {405, "POST /ask/info HTTP/1.1", host(server), token(server)},
      {405, "DELETE / HTTP/1.1", host(server)}, {405, "OPTIONS / HTTP/1.1", host(server)},
      {413, "GET /ask/info HTTP/1.1", host(server), token(server), "Content-Length: 1000000000"},
      {413, "POST / HTTP/1.1", host(server), "Transfer-Encoding: chunked"},
    } do
      local answer = send(server, table.unpack(request, 2))
      assert.equal(request[1], answer.status, request[2])
      assert.is_string(cjson.decode(answer.body).error)
      assert.is_nil(answer.body:find("listeners.tick", 1, true))
      if request[1] == 405 then assert.equal("GET", answer.headers.allow) end
    end
  end)

  -- A server that closes before it has read all may take its answer with it.
  it("refuses what is too big", function()
    local many = {}
    for i = 1, 100 do many[i] = ("X-%d: x"):format(i) end
    assert.equal(431, get(server, "/ask/info", table.unpack(many)).status)
    for _, lines in ipairs {{"GET /ask/info?of=" .. ("x"):rep(60000) .. " HTTP/1.1", host(server)},
                            {"GET / HTTP/1.1", host(server), "X-Long: " .. ("x"):rep(60000)},
                            {("x"):rep(100000)}} do
      local client = connect(server)
      client:send(table.concat(lines, "\r\n") .. "\r\n\r\n")
      local answer = parse(receive(client))
      assert.is_true(not answer or answer.status == 414 or answer.status == 431)
    end
  end)

  it("takes no harm from what is no HTTP", function()
    for _, bytes in ipairs {"\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                            "\22\3\1\2\0\1\0\1\252\3\3", "GET /%00 HTTP/1.1\r\nHost\r\n\r\n"} do
      local client = connect(server)
      client:send(bytes)
      client:close()
      client = connect(server)
      client:send(bytes)
      client:shutdown "send"
      client:settimeout(0.05)
      client:receive "*a"
      client:close()
    end
  end)

  it("answers others while some send slowly, or nothing", function()
    local idle = {}
    for i = 1, 20 do
      idle[i] = connect(server)
      if i % 2 == 0 then idle[i]:send "GET / HTTP/1.1\r\nHos" end
    end
    assert.equal(200, get(server, "/ask/info").status)
    for _, client in ipairs(idle) do client:close() end
  end)

  it("has room for whoever has the token, however many others there are", function()
    local known, clients = begin_endless(server), {}
    for i = 1, 100 do
      clients[i] = connect(server)
      clients[i]:settimeout(0)
    end
    assert.equal(200, get(server, "/progress").status)
    browser.await("those that are closed", function()
      local closed = 0
      for _, client in ipairs(clients) do
        if select(2, client:receive(1)) == "closed" then closed = closed + 1 end
      end
      return closed >= 69
    end)
    assert.is_not_nil(children(server))
    assert.equal(200, get(server, "/progress").status)
    known:settimeout(0)
    assert.equal("timeout", select(2, known:receive(1)))
    known:close()
    for _, client in ipairs(clients) do client:close() end
    assert.equal(200, get(server, "/ask/info").status)
  end)

  it("tells what is being done while it answers, and gives up what nobody waits for", function()
    local client = begin_endless(server)
    local progress = cjson.decode(get(server, "/progress").body)
    assert.equal("running the query", progress.doing)
    assert.is_true(progress.doing_seconds >= 0)
    client:close()
    assert.equal(200, get(server, "/ask/info").status)
    assert.is_nil(children(server))
  end)

  it("answers the same when it is asked again, but makes queries anew", function()
    local function ask(key) return get(server, "/ask/" .. key).body end
    for _, key in ipairs {"set?class=Listener", "treemap?by=place", "fields?at=0x0"} do
      assert.equal(ask(key), ask(key))
    end
    local random = "sql?query=" .. encode "select hex(randomblob(16))"
    assert.is_not_equal(ask(random), ask(random))
  end)

  it("passes over questions whose askers went away", function()
    local first = begin_endless(server)
    begin(server, "GET " .. endless .. " HTTP/1.1", host(server), token(server)):close()
    first:close()
    assert.equal(200, get(server, "/ask/info").status)
    assert.is_nil(children(server))
  end)
end)

describe("It ends", function()
  for _, name in ipairs {"INT", "TERM", "HUP"} do
    it("by SIG" .. name .. ", with status 0 and nothing more to say", function()
      local server = serve {"a", "b", "c"}
      assert.equal(200, get(server, "/ask/info").status)
      local status, printed = finish(server, name)
      assert.equal(0, status)
      assert.equal(("http://127.0.0.1:%s/#%s\n"):format(server.port, server.token),
        printed:gsub("pid %d+\n", ""):gsub("status %d+\n", ""))
    end)

    it("by SIG" .. name .. ", with the query that it runs", function()
      local server = serve {"c"}
      local client = begin_endless(server)
      local child = children(server)
      assert.equal(0, (finish(server, name)))
      client:close()
      browser.await("the child's end", function() return not is_running(child) end)
    end)
  end

  it("where it cannot listen, with one sentence", function()
    local server = serve {"c"}
    local _, err, code = support.run({"heapview", "--port", server.port, "c"}, {cwd = dir})
    assert.equal(("heapview: cannot listen at 127.0.0.1, port %s: Address already in use\n")
      :format(server.port), err)
    assert.equal(2, code)
    _, err, code = support.run({"heapview", "--listen", "256.0.0.1", "c"}, {cwd = dir})
    assert.matches("^heapview: cannot listen at '256.0.0.1': [^\n]+\n$", err)
    assert.equal(2, code)
    finish(server, "TERM")
  end)
end)

-- ==== Damaged files ===================================================================

-- Stands for the user's desktop: keeps what it is asked to open.
local function desktop()
  local bin = support.tmpdir()
  support.write_file(bin .. "/xdg-open", ("#!/bin/sh\ncat \"$1\" >%s/new\nstat -c %%a \"$1\" " ..
    ">%s/mode\necho \"$1\" >%s/name\nmv %s/new %s/opened\n"):format(bin, bin, bin, bin, bin))
  os.execute("chmod +x " .. bin .. "/xdg-open")
  return bin, {PATH = bin .. ":" .. os.getenv "PATH", XDG_RUNTIME_DIR = bin}
end

it("A browser is led to the page by a file that nobody else can read, and that goes", function()
  local bin, env = desktop()
  local server = serve({"--open=always", "c"}, env)
  browser.await("the browser", function() return io.open(bin .. "/opened") end)
  assert.matches("url=http://127.0.0.1:" .. server.port .. "/#" .. server.token,
    support.read_file(bin .. "/opened"), 1, true)
  assert.equal("600\n", support.read_file(bin .. "/mode"))
  local name = support.read_file(bin .. "/name"):gsub("\n", "")
  assert.equal(bin, name:match "^(.*)/heapview%-%w+/open.html$")
  assert.is_not_nil(io.open(name))
  assert.equal(200, get(server, "/progress").status)
  assert.is_nil(io.open(name))
  assert.equal(0, (finish(server, "INT")))
  assert.is_nil(io.open(name:match "^(.*)/"))
end)

it("A damaged file is told on the page and on stderr, as by the commands", function()
  local damaged = dir .. "/damaged"
  local bytes = support.read_file(dir .. "/c")
  support.write_file(damaged, bytes:sub(1, 500) .. "x" .. bytes:sub(502))
  local _, err = support.run({"heaptop", "damaged"}, {cwd = dir})
  local sentence = err:match "^heaptop: ([^\n]+)\n"
  local bin, env = desktop()
  local server = serve({"--open=always", "a", "damaged"}, env)
  browser.await("the browser", function() return io.open(bin .. "/opened") end)
  assert.same({ready = false, error = sentence}, cjson.decode(get(server, "/progress").body))
  local status, printed = finish(server)
  assert.equal(2, status)
  assert.is_truthy(printed:find("heapview: " .. err:match "^heaptop: (.*)$", 1, true))
  assert.is_nil(support.run({"ls", bin}):match "heapview%-")
end)

it("Files that cannot be opened end it at once where nobody looks", function()
  for _, name in ipairs {"nothing", "program.lua", "."} do
    local _, expected, status = support.run({"heaptop", name}, {cwd = dir})
    local _, err, code = support.run({"heapview", "a", name}, {cwd = dir})
    assert.equal(expected:gsub("^heaptop", "heapview"), err)
    assert.equal(status, code)
  end
end)

-- ====================================================================================

it("Snapshots are in the order of time, however they are named", function()
  local server = serve {"c", "a", "b"}
  local overview = cjson.decode(get(server, "/ask/overview").body).answer
  assert.equal("heapview a b c", overview.command)
  assert.is_nil(cjson.decode(get(server, "/ask/diff").body).error)
  finish(server, "TERM")
end)

it("--listen answers to the address that was said, and to those in digits", function()
  local server = serve {"--listen", "0.0.0.0", "c"}
  assert.equal("0.0.0.0", server.host)
  for name, status in pairs {["127.0.0.1"] = 200, ["10.1.2.3"] = 200, ["0.0.0.0"] = 200,
                             ["[::1]"] = 200, localhost = 200, ["evil.example"] = 403} do
    local answer = send(server, "GET /progress HTTP/1.1", "Host: " .. name .. ":" .. server.port,
      token(server))
    assert.equal(status, answer.status, name)
  end
  finish(server, "TERM")
end)

it("Tokens are of each start alone", function()
  local seen = {}
  for _ = 1, 3 do
    local server = serve {"a"}
    assert.is_nil(seen[server.token])
    seen[server.token] = true
    finish(server, "TERM")
  end
end)
