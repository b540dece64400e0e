-- ordinary.lua - six heaps as programs have them, of any size, for answers.lua.
--
--     lua5.4 ordinary.lua SHAPE OBJECTS DIR <asked
--
-- Leaves DIR/a, DIR/b and DIR/c. OBJECTS is about the number of objects in c. At a the heap has
-- 70 % of its units, at b 85 %, at c all; before b and before c each twentieth unit is replaced by
-- a new one. Prints the numbers of objects of a, b and c in a line. Then, for each line that it
-- reads, it makes three full collections, and prints the lesser processor time of the last two: the
-- first one after another program has run takes up to twice as long.

-- luacheck: globals List Database Service Documents Graph World
local heap = require "heap"
local json = require "cjson"

local shape, wanted, dir = arg[1], tonumber(arg[2]), arg[3]
local random = math.random
math.randomseed(1, 2)

-- Of each shape: objects of a unit; and a function that makes what holds the units, and returns
-- add(i), which makes the unit i, and replace(i).
local shapes = {}

-- A linked list of records, each with a closure: record, name, closure, its variable.
shapes.chain = {4, function()
  List = {n = 0}
  local function make(i)
    local record = {id = i, name = "record " .. i}
    record.notify = function(what) return record.name, what end
    return record
  end
  local function add(i)
    local record = make(i)
    record.next, List.head = List.head, record
    List.n = List.n + 1
  end
  -- The list runs from the newest record to the oldest; who replaces all of them walks once.
  local before, at
  local function replace(i)
    if not before or at <= i then before, at = List.head, List.n end
    while at > i + 1 do before, at = before.next, at - 1 end
    local new = make(i)
    new.next, before.next = before.next and before.next.next, new
  end
  return add, replace, true
end}

-- Rows of a database with an index by mail address: row, name, mail, address, street, tags.
shapes.rows = {6, function()
  local Row = {__name = "Row"}
  Row.__index = Row
  Database = {users = {rows = {}, by_mail = {}, class = Row}}
  local users, cities = Database.users, {}
  for i = 1, 200 do cities[i] = "city " .. i end
  local function add(i)
    local row = setmetatable({
      id = i, name = "User " .. i, mail = "user" .. i .. "@example.org", active = i % 3 == 0,
      balance = i / 7, city = cities[i % #cities + 1],
      address = {street = "Street " .. i, zip = i % 99999}, tags = {"a", "b", i % 11},
    }, Row)
    users.rows[i], users.by_mail[row.mail] = row, row
  end
  return add, function(i)
    users.by_mail[users.rows[i].mail] = nil
    add(i)
  end
end}

-- Sessions in two indexes, each with a coroutine that waits for a message: session, token,
-- coroutine, its function, a callback, variables, queue, message, text.
shapes.sessions = {10.1, function()
  local Session = {__name = "Session"}
  Session.__index = Session
  function Session:handle(message)
    self.queue[#self.queue + 1] = message
    return coroutine.yield(self)
  end
  Service = {by_id = {}, by_token = {}, log = setmetatable({}, {__mode = "k"})}
  local function add(i)
    local session = setmetatable({
      id = i, token = ("%08x-%d"):format(i * 2654435761 % 2 ^ 32, i), queue = {}, since = i / 2,
    }, Session)
    session.on_close = function() Service.by_id[i] = nil return session end
    session.thread = coroutine.create(function(message)
      while message do message = session:handle(message) end
    end)
    coroutine.resume(session.thread, {kind = "hello", text = "hello " .. i})
    Service.by_id[i], Service.by_token[session.token] = session, session
    if i % 10 == 0 then Service.log[session] = {opened = i} end
  end
  return add, function(i)
    Service.by_token[Service.by_id[i].token] = nil
    add(i)
  end
end}

-- Documents from JSON: four objects, four arrays, links and strings, of which many are equal.
shapes.json = {14.2, function()
  Documents = {items = {}}
  local text = [[{"id": %d, "title": "Document %d", "author": {"name": "Author %d",
    "mail": "author%d@example.org", "roles": ["reader", "writer"]}, "parts": [
    {"kind": "text", "body": "Some text of part one of %d"},
    {"kind": "image", "size": [%d, 480.5], "alt": null}],
    "meta": {"rank": %d, "draft": false, "links": [{"to": "/doc/%d"}]}}]]
  local function add(i)
    Documents.items[i] =
      json.decode(text:format(i, i, i % 5000, i, i, i % 640, i % 10, i * 7 % 100003))
  end
  return add, add
end}

-- Nodes that refer to four random other ones: node, its edges, label.
shapes.graph = {3, function()
  Graph = {nodes = {}}
  local nodes = Graph.nodes
  local function add(i)
    local edges = {}
    for k = 1, #nodes > 0 and 4 or 0 do edges[k] = nodes[random(#nodes)] end
    nodes[i] = {label = "node " .. i, edges = edges}
  end
  return add, function(i) nodes[i] = {label = "new " .. i, edges = nodes[i].edges} end
end}

-- A game: entities of classes that inherit, with components, in the cells of a grid, in a list of
-- their parent, and with what was computed of them in a weak table: entity, position, bonus,
-- children, path.
shapes.game = {5, function()
  local function class(name, parent) -- a metatable that is its own index
    local c = setmetatable({__name = name}, parent)
    c.__index = c
    return c
  end
  local Entity = class "Entity"
  local Actor = class("Actor", Entity)
  local kinds = {class("Monster", Actor), class("Player", Actor), class("Crate", Entity)}
  World = {grid = {}, entities = {}, kinds = kinds, paths = setmetatable({}, {__mode = "k"})}
  local all, paths = World.entities, World.paths
  local function add(i)
    local entity = setmetatable({
      position = {x = i % 512, y = i // 512 % 512}, life = 100, children = {},
      bonus = {speed = i % 7, armour = i % 5 / 4},
    }, kinds[i % #kinds + 1])
    local parent = all[i // 8]
    entity.parent = parent
    if parent then parent.children[i % 8 + 1] = entity end
    local cell = i % 4096 + 1
    World.grid[cell] = World.grid[cell] or {}
    World.grid[cell][i // 4096 + 1] = entity
    paths[entity] = {to = parent, cost = i}
    all[i] = entity
  end
  return add, function(i)
    local children = all[i].children
    add(i)
    all[i].children = children
    for _, child in pairs(children) do child.parent = all[i] end
  end
end}

local per_unit, begin = table.unpack((assert(shapes[shape], "no such shape")))
local units, made = math.floor(wanted / per_unit), 0
local add, replace, backwards = begin()

local function grow_to(share)
  while made < units * share // 1 do
    made = made + 1
    add(made)
  end
end

local function replace_some()
  local first, last, step = 20, made // 20 * 20, 20
  if backwards then first, last, step = last - 20, 20, -20 end
  for i = first, last, step do replace(i) end
end

local function take(name)
  collectgarbage()
  return (assert(heap.snapshot(dir .. "/" .. name)))
end

local n = {}
grow_to(0.7)
n[1] = take "a"
replace_some()
grow_to(0.85)
n[2] = take "b"
replace_some()
grow_to(1)
n[3] = take "c"
io.stdout:setvbuf "line"
print(table.concat(n, " "))

local function collect()
  local start = os.clock()
  collectgarbage()
  return os.clock() - start
end

for _ in io.lines() do
  collect()
  print(math.min(collect(), collect()))
end
os.exit(true, false)
