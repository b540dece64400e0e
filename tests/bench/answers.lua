-- answers.lua - the benchmark of the commands on ordinary heaps: what an answer costs.
--
--     lua5.4 tests/bench/answers.lua BUILD [MILLIONS [SHAPE ...]]   (the last table of make bench)
--
-- MILLIONS of objects: 0.3 if not given; 2.2 and 10 are for measurements by hand. Prints a Markdown
-- table with a row for each command and each shape of ordinary.lua. A command's processor time is
-- the median of three runs. It is divided by that of a full collection of the same heap, for which
-- the process that has the heap is asked before and after each run; and by the objects in all
-- snapshots that the command reads. The peak of memory is divided by the objects of c, the biggest.
-- Exits 1 when a goal is missed.

local build, millions = arg[1], arg[2] or "0.3"
local sizes = require "tests.bench.sizes"

local ROUNDS, MOST_BYTES_AN_OBJECT = 3, 140

local dir = sizes.dir

-- ==== What is measured, and the goals =================================================

local shapes = {
  {"chain", "{id, name, next, notify}"}, {"rows", "Row"}, {"sessions", "Session"},
  {"json", "{author, id, meta, parts, title}"}, {"graph", "{edges, label}"}, {"game", "Player"},
}

-- Collections by millions of objects and shape: heaptop c, heapdiff a b c, heappath c CLASS.
local goals = {
  ["0.3"] = {chain = {5.8, 10.1, 4.5}, rows = {3.0, 5.1, 2.1}, sessions = {1.8, 3.1, 1.3},
             json = {1.8, 3.3, 1.4}, graph = {3.4, 5.8, 2.8}},
  ["2.2"] = {chain = {1.8, 3.3, 1.4}, rows = {1.7, 2.8, 1.2}, sessions = {2.1, 3.4, 1.7},
             json = {1.2, 2.3, 0.9}, graph = {2.3, 3.7, 1.9}},
  ["10"] = {chain = {2.3, 4.0, 1.7}, rows = {1.7, 2.4, 1.1}},
}
local report_goals = {["0.3"] = 15, ["2.2"] = 8}

local function as_heaptop(goal) return goal[1] end

-- The words, of which @ is the directory and % a class of the shape; the snapshots that it reads;
-- its goal, made of the three of the shape; and how often it is run.
local commands = {
  {"heaptop @/c", "c", as_heaptop},
  {"heapdiff @/a @/b @/c", "abc", function(goal) return goal[2] end},
  {"heapdiff --owners @/a @/c", "ac", function(goal) return goal[2] - goal[1] / 2 end},
  {"heappath @/c %", "c", function(goal) return goal[3] end},
  {"heaptop --growing @/c", "c", as_heaptop},
  {"heaptop --waste @/c", "c", as_heaptop},
  {"heapsql @/c select~class,~count(*)~from~objects~group~by~class", "c", as_heaptop},
  {"heapview -o @/report.html @/c", "c", function() return report_goals[millions] end, 1},
}

-- ==== A process that has the heap ======================================================

local Heap = {}
Heap.__index = Heap

local function begin_heap(shape)
  local asked = dir .. "/asked"
  assert(os.execute("rm -f " .. asked .. " && mkfifo " .. asked))
  local line = ("exec %s tests/bench/ordinary.lua %s %.0f %s <%s"):format(
    os.getenv("LUA") or "lua5.4", shape, tonumber(millions) * 1e6, dir, asked)
  local answers = assert(io.popen(line))
  local questions = assert(io.open(asked, "w")) -- as soon as the other end is open
  local a, b, c = answers:read("n", "n", "n", "l")
  if not c then error("ordinary.lua has failed", 0) end
  return setmetatable({answers = answers, questions = questions, a = a, b = b, c = c}, Heap)
end

-- Seconds of processor time of a full collection.
function Heap:collect()
  assert(self.questions:write("\n"))
  self.questions:flush()
  return (self.answers:read("n", "l"))
end

function Heap:objects(names)
  local n = 0
  for name in names:gmatch "." do n = n + self[name] end
  return n
end

function Heap:close()
  self.questions:close()
  self.answers:close()
end

-- ======================================================================================

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

local function words_of(command, class)
  local words = {}
  for word in command:gmatch "%S+" do
    words[#words + 1] = word == "%" and class or word:gsub("@", dir):gsub("~", " ")
  end
  words[1] = build .. "/bin/" .. words[1]
  return words
end

local function measure(heap, shape, class, command)
  local text, names, goal_of, rounds = table.unpack(command)
  local words = words_of(text, class)
  local cpu, wall, peak, collections = {}, {}, 0, {heap:collect()}
  for i = 1, rounds or ROUNDS do
    local bytes
    wall[i], bytes, cpu[i] = sizes.run(table.unpack(words))
    peak = math.max(peak, bytes)
    collections[i + 1] = heap:collect()
  end
  local cpu_s, goal = median(cpu), goals[millions] and goals[millions][shape]
  goal = goal and goal_of(goal)
  sizes.print_row {
    shape, (text:gsub("@/", ""):gsub("%%", "CLASS"):gsub("~", " ")),
    sizes.figure("%.1f", cpu_s / median(collections), goal), goal and ("%.1f"):format(goal) or "",
    ("%.0f"):format(cpu_s * 1e9 / heap:objects(names)), ("%.2f"):format(cpu_s),
    ("%.2f"):format(median(wall)), sizes.figure("%.0f", peak / heap.c, MOST_BYTES_AN_OBJECT),
    ("%.1f"):format(median(collections) * 1e3),
  }
end

local function is_asked_for(shape)
  for i = 3, #arg do
    if arg[i] == shape then return true end
  end
  return not arg[3]
end

sizes.finish(function()
  sizes.print_row {"shape, " .. millions .. " M", "command", "collections", "at most",
                   "ns an object", "CPU, s", "wall, s", "peak, bytes an object",
                   "a collection, ms"}
  sizes.print_row {"---", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---:"}
  for _, s in ipairs(shapes) do
    local shape, class = table.unpack(s)
    if is_asked_for(shape) then
      sizes.progress("%s: %s million objects", shape, millions)
      local heap = begin_heap(shape)
      for _, command in ipairs(commands) do measure(heap, shape, class, command) end
      heap:close()
    end
  end
end)
