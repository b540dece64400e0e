-- view.lua - what heapview costs: the report of one snapshot and of three, the server's memory, the
-- time until the first picture, and of each kind of click.
--
--     lua5.4 tests/bench/view.lua BUILD MILLIONS ...      (make bench SIZES="0.2 2.2 10")
--
-- Prints a Markdown table. Times are processor time, as ratios to heaptop of the same file in the
-- same run; those of clicks are milliseconds, the median and the most of all that were asked, each
-- of them for the first time, but after the server has made ready what it does while nobody asks.
-- Exits 1 when a target is missed.

local build = arg[1]
local sizes = require "tests.bench.sizes"
local socket = require "socket"

local CLICKS, MOST_MS = 20, 200

local dir, out, progress = sizes.dir, sizes.out, sizes.progress

-- Runs a command; its seconds of processor time and its peak bytes.
local function run(...)
  local _, peak_bytes, seconds = sizes.run(...)
  return seconds, peak_bytes
end

local function read_file(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read("a")
end

-- ==== A server ========================================================================

local Server = {}
Server.__index = Server

local function serve(...)
  local words = {}
  for i, word in ipairs {...} do words[i] = "'" .. word .. "'" end
  local line = ("echo $$; exec %s/bin/heapview %s 2>/dev/null"):format(build,
                                                                      table.concat(words, " "))
  local pipe = assert(io.popen(line))
  local pid = tonumber(pipe:read("l"))
  local port, token = assert(pipe:read("l")):match("http://127%.0%.0%.1:(%d+)/#(%x+)")
  return setmetatable({pipe = pipe, pid = pid, port = tonumber(port), token = token}, Server)
end

-- Seconds of processor time that all its threads have taken.
function Server:seconds()
  local pipe <close> = io.popen(("cat /proc/%d/task/*/schedstat"):format(self.pid))
  local sum = 0
  for line in pipe:lines() do sum = sum + tonumber(line:match("^%d+")) end
  return sum / 1e9
end

function Server:peak_bytes()
  return tonumber(read_file(("/proc/%d/status"):format(self.pid)):match("VmHWM:%s*(%d+)")) * 1024
end

function Server:get(path)
  local client = assert(socket.connect("127.0.0.1", self.port))
  client:settimeout(600)
  assert(client:send(("GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Heapview-Token: %s\r\n" ..
                      "Connection: close\r\n\r\n"):format(path, self.port, self.token)))
  local response = assert(client:receive("*a"))
  client:close()
  return response:match("\r\n\r\n(.*)$")
end

-- Waits until all files are read.
function Server:await()
  while not self:get("progress"):find('"ready"%s*:%s*true') do socket.sleep(0.1) end
end

-- Waits until it rests: nobody asks, and all is ready. On a busy machine it may have to wait itself
-- for a second.
function Server:settle()
  local quiet = 0
  while quiet < 3 do
    local before = self:seconds()
    socket.sleep(1)
    quiet = self:seconds() - before < 0.01 and quiet + 1 or 0
  end
end

-- The seconds that an answer takes, and the answer.
function Server:ask(key)
  local before = self:seconds()
  local answer = self:get("ask/" .. key)
  local seconds = self:seconds() - before
  if answer:find('^{"error"') then error(key .. ": " .. answer, 0) end
  return seconds, answer
end

function Server:stop()
  os.execute(("kill %d"):format(self.pid))
  self.pipe:close()
end

-- ==== Clicks ==========================================================================

-- Addresses of objects from all parts of the heap, and of the biggest.
local function some_objects(file)
  local list = {}
  run(build .. "/bin/heapsql", "--csv", file,
      ("select address from objects where reachable and id %% (select max(1, count(*) / %d)" ..
       " from objects) = 0 limit %d"):format(CLICKS, CLICKS))
  for address in read_file(out):gmatch("0x%x+") do list[#list + 1] = address end
  run(build .. "/bin/heaptop", "-n", tostring(CLICKS), "--by", "object", file)
  for address in read_file(out):gmatch("0x%x+") do list[#list + 1] = address end
  return list
end

-- What a page asks when something is clicked: a key, in which %s is an object's address.
local clicks = {
  {"treemap by object", {"treemap"}},
  {"treemap by class", {"treemap?by=class"}},
  {"treemap by place", {"treemap?by=place"}},
  {"treemap by module", {"treemap?by=module"}},
  {"- of an object", "treemap?of=%s"},
  {"flame graph", {"flame"}},
  {"timeline", {"timeline"}},
  {"- of an interval", {"interval?since=1000&until=100000"}},
  {"map", {"map"}},
  {"object", "object?at=%s"},
  {"- its fields", "fields?at=%s&limit=50"},
  {"- its referrers", "referrers?at=%s&limit=20"},
  {"- its dominators", "dominators?at=%s&limit=20"},
  {"- what it keeps alive", "under?at=%s&limit=20"},
  {"- its paths", "paths?at=%s"},
  {"- all that hold it", "independent?at=%s"},
  {"- their picture", "picture?at=%s"},
  {"class", {"class?class=Session&limit=20", "class?class=User&limit=20"}},
  {"- what holds it", {"set?class=Session&limit=20", "set?class=User&limit=20"}},
  {"search", {"search?of=_G.c", "search?of=Sess"}},
}

-- The median and the most of each kind, in milliseconds.
local function measure_clicks(server, objects)
  local times = {}
  for i, click in ipairs(clicks) do
    local keys = click[2]
    if type(keys) == "string" then
      keys = {}
      for k, address in ipairs(objects) do keys[k] = click[2]:format(address) end
    end
    local list = {}
    for k, key in ipairs(keys) do list[k] = server:ask(key) * 1e3 end
    local first = list[1]
    table.sort(list)
    times[i] = {first = first, median = list[(#list + 1) // 2], most = list[#list]}
  end
  return times
end

-- =====================================================================================

local function measure(millions)
  progress("%s million objects", millions)
  run(os.getenv("LUA") or "lua5.4", "tests/bench/view_heap.lua", millions, dir)
  local m = {objects = tonumber(read_file(out):match("objects (%d+)"))}
  local a, b, c, report = dir .. "/a", dir .. "/b", dir .. "/c", dir .. "/report.html"
  m.heaptop_s, m.heaptop_bytes = run(build .. "/bin/heaptop", c)
  m.heapdiff_s, m.heapdiff_bytes = run(build .. "/bin/heapdiff", a, b, c)
  progress("%s million objects: reports", millions)
  m.one_s, m.one_bytes = run(build .. "/bin/heapview", "-o", report, c)
  m.one_size = #read_file(report)
  m.three_s, m.three_bytes = run(build .. "/bin/heapview", "-o", report, a, b, c)
  m.three_size = #read_file(report)
  local page = read_file(report)
  m.carried = tonumber(page:match('\n"?,?"objects":(%d+)'))
  progress("%s million objects: clicks", millions)
  local objects = some_objects(c)
  local server = serve(c)
  server:await()
  m.ready_s = server:seconds()
  server:ask("overview")
  m.verdict_s = server:ask("leaks?limit=20")
  m.ready_bytes = server:peak_bytes()
  server:settle()
  m.ahead_s, m.ahead_bytes = server:seconds(), server:peak_bytes()
  m.clicks = measure_clicks(server, objects)
  m.served_bytes = server:peak_bytes()
  server:stop()
  return m
end

local rows = {
  {"objects, millions", function(m) return m.objects / 1e6 end, "%.2f"},
  {"heaptop c, s: 1 x", function(m) return m.heaptop_s end, "%.2f"},
  {"- peak memory with the file, MB: 1 x", function(m) return m.heaptop_bytes / 1e6 end, "%.0f"},
  {"heapview -o of c", function(m) return m.one_s / m.heaptop_s end, "%.1f x"},
  {"- size of the report, MB", function(m) return m.one_size / 1e6 end, "%.2f", 5},
  {"- peak memory", function(m) return m.one_bytes / m.heaptop_bytes end, "%.2f x"},
  {"heapview -o of a, b, c", function(m) return m.three_s / m.heaptop_s end, "%.1f x"},
  {"- heapdiff a b c", function(m) return m.heapdiff_s / m.heaptop_s end, "%.1f x"},
  {"- size of the report, MB", function(m) return m.three_size / 1e6 end, "%.2f", 5},
  {"- objects that have their page in it", function(m) return m.carried end, "%d"},
  {"- peak memory", function(m) return m.three_bytes / m.heaptop_bytes end, "%.2f x"},
  {"the server of c, until it answers", function(m) return m.ready_s / m.heaptop_s end, "%.2f x"},
  {"- and has told what leaks", function(m) return (m.ready_s + m.verdict_s) / m.heaptop_s end,
   "%.2f x"},
  {"- peak memory by then", function(m) return m.ready_bytes / m.heaptop_bytes end, "%.2f x", 1.2},
  {"- with what pages ask first, made while nobody asks",
   function(m) return m.ahead_s / m.heaptop_s end, "%.2f x"},
  {"- peak memory by then", function(m) return m.ahead_bytes / m.heaptop_bytes end, "%.2f x", 1.2},
  {"- after all clicks", function(m) return m.served_bytes / m.heaptop_bytes end, "%.2f x"},
}

for i, click in ipairs(clicks) do
  rows[#rows + 1] = {click[1] .. ", ms: the first, the median, the most", function(m)
    local times = m.clicks[i]
    return ("%.0f, %.1f, %s"):format(times.first, times.median,
                                     sizes.figure("%.0f", times.most, MOST_MS))
  end, nil, MOST_MS}
end

sizes.main(measure, rows)
