-- planted.lua - functions that leak, each in its own way, with what must be told of them: the class
-- of what each run leaves behind, what holds it, and how many there are per run (1 if not given).
--
-- `class` and `held` are patterns; a leak of entries that are no objects has `entries` instead of a
-- class, for what the table is. The code returns the function.

return {
  {"a list", class = "^Listener$", held = "^_G.listeners%[%*%]$", code = [[
    local Listener = {__name = "Listener"}
    listeners = {}
    return function() listeners[#listeners + 1] = setmetatable({}, Listener) end]]},
  {"a list of a module", class = "^{name}$", held = '^package.loaded%["a.bus"%].items%[%*%]$',
   code = [[
    local bus = {items = {}}
    package.loaded["a.bus"] = bus
    return function() table.insert(bus.items, {name = "x"}) end]]},
  {"an upvalue of the function", class = "^{}$", held = "upvalue kept", code = [[
    local kept = {}
    return function() kept[#kept + 1] = {} end]]},
  {"an upvalue of what it calls", class = "^{id}$", held = "upvalue seen", code = [[
    local seen, n = {}, 0
    local function see() n = n + 1 seen[n] = {id = n} end
    return function() see() end]]},
  {"keys made of strings", class = "string", held = "key of _G.names", code = [[
    local n = 0
    names = {}
    return function() n = n + 1 names["name " .. n] = true end]]},
  {"values that are long strings", class = "string", held = "_G.pages%[%*%]", code = [[
    local n = 0
    pages = {}
    return function() n = n + 1 pages[n] = ("x"):rep(1000) .. n end]]},
  {"numbers in a list", entries = "array of number", held = "^_G.samples$", code = [[
    samples = {}
    return function() samples[#samples + 1] = os.clock() end]]},
  {"flags under numbers", entries = "boolean", held = "^_G.flags$", code = [[
    local n = 0
    flags = {}
    return function() n = n + 1000 flags[n] = true end]]},
  {"light functions under numbers", entries = "", held = "^_G.handlers$", code = [[
    local n = 0
    handlers = {}
    return function() n = n + 1 handlers[n + 0.5] = print end]]},
  {"numbers in a list that an upvalue holds", entries = "number", held = "upvalue log", code = [[
    local log = {}
    return function() log[#log + 1] = #log end]]},
  {"a linked list, at its head", class = "^{next}$", held = "^_G.head.next", code = [[
    return function() head = {next = head} end]]},
  {"a linked list, at its tail", class = "{next}", held = "^_G.first.next", code = [[
    first = {}
    local last = first
    return function() last.next = {} last = last.next end]]},
  {"a ring, linked both ways", class = "^{next, prev}$", held = "^_G.ring", code = [[
    ring = {}
    ring.next, ring.prev = ring, ring
    return function()
      local one = {next = ring, prev = ring.prev}
      ring.prev.next, ring.prev = one, one
    end]]},
  {"a linked list of two shapes", class = "^{a, next}, {b, next}$", held = "^_G.shapes", code = [[
    local n = 0
    return function()
      n = n + 1
      shapes = n % 2 == 0 and {next = shapes, a = 1} or {next = shapes, b = 1}
    end]]},
  {"a linked list of three classes", class = "^[ABC], [ABC] and 1 more$", held = "^_G.queue",
   code = [[
    local kinds, n = {{__name = "A"}, {__name = "B"}, {__name = "C"}}, 0
    return function() n = n + 1 queue = setmetatable({next = queue}, kinds[n % 3 + 1]) end]]},
  {"a linked list of twelve classes", class = "^Message%*$", held = "^_G.inbox", code = [[
    local kinds, n = {}, 0
    for i = 1, 12 do kinds[i] = {__name = "Message" .. i} end
    return function() n = n + 1 inbox = setmetatable({next = inbox}, kinds[n % 12 + 1]) end]]},
  {"a linked list of any of two classes", class = "^[AB], [AB]$", held = "^_G.mixed", code = [[
    local kinds = {{__name = "A"}, {__name = "B"}}
    return function() mixed = setmetatable({next = mixed}, kinds[math.random(2)]) end]]},
  {"a linked list of two classes, at its tail", class = "^[AB], [AB]$", held = "^_G.jobs.next",
   code = [[
    local kinds, n = {{__name = "A"}, {__name = "B"}}, 0
    jobs = {}
    local last = jobs
    return function()
      n = n + 1
      last.next = setmetatable({}, kinds[n % 2 + 1])
      last = last.next
    end]]},
  {"a list of two classes, linked both ways", class = "^[AB], [AB]$", held = "^_G.recent",
   code = [[
    local kinds, n = {{__name = "A"}, {__name = "B"}}, 0
    return function()
      n = n + 1
      local one = setmetatable({next = recent}, kinds[n % 2 + 1])
      if recent then recent.prev = one end
      recent = one
    end]]},
  {"a deque of five classes", class = "^[A-E], [A-E] and %d more$", held = "^_G.deque",
   code = [[
    local kinds, n = {}, 0
    for i = 1, 5 do kinds[i] = {__name = ("ABCDE"):sub(i, i)} end
    deque = {}
    return function()
      n = n + 1
      local one = setmetatable({next = deque.head}, kinds[n % 5 + 1])
      if deque.head then deque.head.prev = one else deque.tail = one end
      deque.head = one
    end]]},
  {"a history of two classes", class = "^Delete, Insert$", held = "^_G.doc.undo", code = [[
    local Insert, Delete, n = {__name = "Insert"}, {__name = "Delete"}, 0
    doc = {}
    return function()
      n = n + 1
      doc.undo = setmetatable({prev = doc.undo}, n % 2 == 0 and Insert or Delete)
    end]]},
  {"a linked list with a field for each", class = "^{f%*, next}$", held = "^_G.fields", code = [[
    local n = 0
    return function() n = n + 1 fields = {next = fields, ["f" .. n] = 1} end]]},
  {"a configuration above another", class = "^{opt%*}$", held = "^_G.config", code = [[
    local n = 0
    config = {}
    return function()
      n = n + 1
      config = setmetatable({["opt" .. n] = n}, {__index = config})
    end]]},
  {"a list of two classes, beside what is made anew", class = "^[AB], [AB]$", held = "^_G.trail",
   code = [[
    local kinds, n = {{__name = "A"}, {__name = "B"}}, 0
    return function()
      n = n + 1
      state = {{n}, {n}, n % 2 == 0 and {} or nil}
      trail = setmetatable({next = trail}, kinds[n % 2 + 1])
    end]]},
  {"a tree", class = "^{key", held = "^_G.tree", per_run = false, code = [[
    tree = {key = 0}
    local n = 0
    return function()
      n = (n * 13 + 7) % 1009
      local at = tree
      while true do
        local side = n < at.key and "left" or "right"
        if not at[side] then at[side] = {key = n} return end
        at = at[side]
      end
    end]]},
  {"closures", class = "^function", held = "^_G.callbacks%[%*%]$", code = [[
    callbacks = {}
    return function()
      local state = {}
      callbacks[#callbacks + 1] = function() return state end
    end]]},
  {"a chain of closures", class = "^function", held = "upvalue inner", code = [[
    chain = function() end
    return function()
      local inner = chain
      chain = function() return inner() end
    end]]},
  {"coroutines that wait", class = "^thread", held = "^_G.waiting%[%*%]$", code = [[
    waiting = {}
    return function()
      local one = coroutine.create(function() coroutine.yield() end)
      coroutine.resume(one)
      waiting[#waiting + 1] = one
    end]]},
  {"coroutines that never ran", class = "^thread", held = "_G.idle", code = [[
    idle = {}
    return function() idle[#idle + 1] = coroutine.create(print) end]]},
  {"coroutines that ended", class = "^thread", held = "_G.ended", code = [[
    ended = {}
    return function()
      local one = coroutine.create(function() end)
      coroutine.resume(one)
      ended[one] = true
    end]]},
  {"in a local of a coroutine", class = "^array of number$", held = "local mine", code = [[
    local one = coroutine.wrap(function()
      local mine = {}
      while true do mine[#mine + 1] = {1} coroutine.yield() end
    end)
    pump = one
    return function() one() end]]},
  {"in a recursion that waits", class = "^{}$", held = "_G.deep|function down", code = [[
    local function down(t) coroutine.yield() down({}) return t end
    deep = coroutine.create(down)
    return function() assert(coroutine.resume(deep, {})) end, {runs = 64}]]},
  {"wrapped coroutines", class = "^coroutine", held = "_G.wraps", code = [[
    wraps = {}
    return function() wraps[#wraps + 1] = coroutine.wrap(function() end) end]]},
  {"files that stay open", class = "^FILE%*$", held = "^_G.files%[%*%]$", code = [[
    files = {}
    return function() files[#files + 1] = io.tmpfile() end]]},
  {"objects with a finalizer", class = "^Handle$", held = "^_G.handles%[%*%]$", code = [[
    local Handle = {__name = "Handle", __gc = function() end}
    handles = {}
    return function() handles[#handles + 1] = setmetatable({}, Handle) end]]},
  {"objects that their finalizer revives", class = "^Ghost$", held = "^_G.ghosts%[%*%]$", code = [[
    ghosts = {}
    local Ghost = {__name = "Ghost"}
    function Ghost.__gc(o) ghosts[#ghosts + 1] = o end
    return function() setmetatable({}, Ghost) end]]},
  {"what finalizers make", class = "^Remains$", held = "_G.remains", code = [[
    remains = {}
    local Remains = {__name = "Remains"}
    return function()
      setmetatable({}, {__gc = function() remains[#remains + 1] = setmetatable({}, Remains) end})
    end]]},
  {"keys of a table with weak values", class = "^{}$|^{key", held = "key of _G.by_object", code = [[
    by_object = setmetatable({}, {__mode = "v"})
    return function() by_object[{}] = 1 end]]},
  {"strings in a weak table", class = "^string", held = "key of _G.interned", code = [[
    interned = setmetatable({}, {__mode = "k"})
    local n = 0
    return function() n = n + 1 interned["s" .. n] = true end]]},
  {"an ephemeron whose key is kept", class = "Meta", held = "_G.meta", code = [[
    local Meta = {__name = "Meta"}
    metas, metakeys = setmetatable({}, {__mode = "k"}), {}
    return function()
      local key = setmetatable({}, Meta)
      metakeys[#metakeys + 1] = key
      metas[key] = {}
    end]]},
  {"under names and numbers", class = "^Owner$", held = "_G.owners",
   code = [[
    local Owner = {__name = "Owner"}
    owners = {}
    return function()
      local one = setmetatable({}, Owner)
      owners[tostring(one) .. #owners] = one
      owners[#owners + 1] = true
    end]]},
  {"references in the registry", class = "^Reference$", held = "^registry%[%*%]$", code = [[
    local Reference = {__name = "Reference"}
    local registry = debug.getregistry()
    return function() registry[#registry + 1] = setmetatable({}, Reference) end]]},
  {"the metatable of a file", class = "^Kept$", held = "_G.holder%).chain", code = [[
    local Kept = {__name = "Kept"}
    holder = io.tmpfile()
    local chain = {}
    debug.setmetatable(holder, {__name = "Holder", chain = chain})
    return function() chain[#chain + 1] = setmetatable({}, Kept) end]]},
  {"the metatable of strings", class = "^{}$", held = "string|_G.string", code = [[
    local meta = getmetatable("")
    meta.cache = {}
    return function() table.insert(meta.cache, {}) end]]},
  {"package.loaded", class = "^module plugin", held = "package.loaded", code = [[
    local n = 0
    return function() n = n + 1 package.loaded["plugin." .. n] = {version = n} end]]},
  {"package.preload", class = "function", held = "_PRELOAD", code = [[
    local n = 0
    return function() n = n + 1 package.preload["lazy." .. n] = function() return n end end]]},
  {"searchers", class = "function", held = "package.searchers", code = [[
    return function() table.insert(package.searchers, function() end) end]]},
  {"global variables", class = "^{}$", held = "^_G.global_%*", code = [[
    local n = 0
    return function() n = n + 1 _G["global_" .. n] = {} end]]},
  {"compiled code", class = "^main chunk", held = "_G.compiled", code = [[
    compiled = {}
    local n = 0
    return function() n = n + 1 compiled[n] = load("return " .. n) end]]},
  {"environments", class = "", held = "_G.sandboxes", code = [[
    sandboxes = {}
    return function()
      sandboxes[#sandboxes + 1] = load("x = {} return function() return x end", "=box", "t", {})()
    end]]},
  {"a memoized function", class = "^string$|table|{}|array", held = "upvalue", code = [[
    local memoize = require "pl.utils".memoize
    local squares, n = memoize(function(x) return {x * x} end), 0
    return function() n = n + 1 squares(n) end]]},
  {"subscribers of a mediator", class = "^{", held = "_G.mediator", code = [[
    mediator = require "mediator"()
    return function() mediator:subscribe({"news"}, function() end) end]]},
  {"every third run", class = "^Third$", held = "_G.thirds", per_run = 1 / 3, code = [[
    local Third = {__name = "Third"}
    local n = 0
    thirds = {}
    return function()
      n = n + 1
      if n % 3 == 0 then thirds[#thirds + 1] = setmetatable({}, Third) end
    end]]},
  {"every seventh run", class = "^Seventh$", held = "_G.sevenths", per_run = 1 / 7, code = [[
    local Seventh = {__name = "Seventh"}
    local n = 0
    sevenths = {}
    return function()
      n = n + 1
      if n % 7 == 0 then sevenths[#sevenths + 1] = setmetatable({}, Seventh) end
    end]]},
  {"five in each run", class = "^Five$", held = "_G.fives", per_run = 5, code = [[
    local Five = {__name = "Five"}
    fives = {}
    return function() for _ = 1, 5 do fives[#fives + 1] = setmetatable({}, Five) end end]]},
  {"a batch in every tenth run", class = "^Batch$", held = "_G.batches", per_run = 1, code = [[
    local Batch = {__name = "Batch"}
    local n = 0
    batches = {}
    return function()
      n = n + 1
      if n % 10 ~= 0 then return end
      for _ = 1, 10 do batches[#batches + 1] = setmetatable({}, Batch) end
    end]]},
  {"one of two that are made", class = "^Half$", held = "_G.halves", code = [[
    local Half = {__name = "Half"}
    halves = {}
    return function()
      local one, two = setmetatable({}, Half), setmetatable({}, Half)
      halves[one], halves[two] = 1, 1
      halves[two] = nil
    end]]},
  {"beside a cache that is bounded", class = "^Leak$", held = "_G.beside%[%*%]", code = [[
    local Leak = {__name = "Leak"}
    local n, cache = 0, {}
    beside = {cache = cache}
    return function()
      n = n + 1
      cache[n % 10] = {n}
      beside[n] = setmetatable({}, Leak)
    end]]},
  {"after an error", class = "^Open$", held = "_G.open", code = [[
    local Open = {__name = "Open"}
    open = {}
    return function()
      pcall(function()
        open[#open + 1] = setmetatable({}, Open)
        error "no close"
        open[#open] = nil
      end)
    end]]},
  {"where a pair of objects holds each other", class = "^Parent$", held = "_G.parents", code = [[
    local Parent, Child = {__name = "Parent"}, {__name = "Child"}
    parents = {}
    return function()
      local parent = setmetatable({}, Parent)
      parent.child = setmetatable({parent = parent}, Child)
      parents[parent] = true
    end]]},
  {"listeners on a deep path", class = "^function", held = "^_G.app.ui.events.click%[%*%]$",
   code = [[
    app = {ui = {events = {click = {}}}}
    local click = app.ui.events.click
    return function() click[#click + 1] = function() end end]]},
  {"in one of fifty calls", class = "^Rare$", held = "^_G.rare%[%*%]$", per_run = 1 / 50, code = [[
    local Rare = {__name = "Rare"}
    local n, cache = 0, require "tests.lua.leaks.bounded".lru(300)
    rare = {}
    return function()
      n = n + 1
      cache(n % 700)
      if n % 50 == 17 then rare[#rare + 1] = setmetatable({}, Rare) end
    end]]},
  {"in one of fifty calls, at the head of a chain", class = "^{next}$",
   held = "^_G.unfinished.next", per_run = 1 / 50, code = [[
    local n, ring = 0, {}
    return function()
      n = n + 1
      ring[n % 300] = {n}
      if n % 50 == 17 then unfinished = {next = unfinished} end
    end]]},
  {"in one of ten calls, at the heads of several chains", class = "^Job$",
   held = "^_G.jobs%[%*%].previous", per_run = 1 / 10, code = [[
    local Job = {__name = "Job"}
    local n = 0
    jobs = {}
    for i = 1, 5 do jobs["job" .. i] = setmetatable({}, Job) end
    return function()
      n = n + 1
      local name = "job" .. n // 10 % 5 + 1
      if n % 10 == 4 then jobs[name] = setmetatable({previous = jobs[name]}, Job) end
    end]]},
  {"in one of ten calls, by chance", class = "^Session$", held = "^_G.open_ones%[%*%]$",
   per_run = 1 / 10, code = [[
    local Session, random = {__name = "Session"}, require "tests.lua.leaks.bounded".random(5)
    local n = 0
    open_ones = {}
    return function()
      n = n + 1
      open_ones[n] = setmetatable({}, Session)
      if random(10) ~= 1 then open_ones[n] = nil end
    end]]},
  {"nodes that are left in a list that is linked both ways", class = "^{key, newer, older}$",
   held = "^_G.thumbs", per_run = 1 / 10, code = [[
    local n = 0
    thumbs = {map = {}, newest = {key = 0}}
    local function unlink(node)
      if node.newer then node.newer.older = node.older else thumbs.newest = node.older end
      if node.older then node.older.newer = node.newer end
      node.newer, node.older = nil, nil
    end
    local function push(node)
      node.older, thumbs.newest.newer = thumbs.newest, node
      thumbs.newest = node
    end
    return function()
      n = n + 1
      local key = n % 300
      local node = thumbs.map[key]
      if node and n % 10 ~= 0 then unlink(node) else node = {key = key} end
      thumbs.map[key] = node
      push(node)
    end]]},
  {"beside a cache of two generations", class = "^Request$", held = "^_G.requests%[%*%]$", code = [[
    local Request, cache = {__name = "Request"}, require "tests.lua.leaks.bounded".generations(150)
    local n = 0
    requests = {}
    return function()
      n = n + 1
      requests[n] = setmetatable({}, Request)
      cache(n)
    end]]},
  {"beside others of its class and place that go", class = "^Timer$", held = "^_G.timers%[%*%]$",
   per_run = 1 / 10, code = [[
    local Timer = {__name = "Timer"}
    local n = 0
    timers = {}
    return function()
      n = n + 1
      timers[n] = setmetatable({cancelled = n % 10 == 0}, Timer)
      if timers[n - 30] and not timers[n - 30].cancelled then timers[n - 30] = nil end
    end]]},
  {"in a second index, while the first lets it live for a time", class = "^Visit$",
   held = "^_G.visits.by_user%[%*%]%[%*%]$", code = [[
    local Visit = {__name = "Visit"}
    local n = 0
    visits = {by_id = {}, by_user = {}}
    return function()
      n = n + 1
      local visit, user = setmetatable({}, Visit), "user" .. n * 7 % 150
      visits.by_id[n], visits.by_id[n - 100] = visit, nil
      local list = visits.by_user[user] or {}
      visits.by_user[user] = list
      list[#list + 1] = visit
    end]]},
  {"two closures that share what they hold", class = "^Conn$", held = "_G.bus.data%[%*%]",
   per_run = 1 / 10, code = [[
    local Conn = {__name = "Conn"}
    local n = 0
    bus = {data = {}, close = {}}
    return function()
      n = n + 1
      local self = setmetatable({buffer = {}}, Conn)
      bus.data[n] = function() return self.buffer end
      bus.close[n] = function() self.buffer = nil end
      if n % 10 ~= 0 then bus.data[n], bus.close[n] = nil, nil end
    end]]},
  {"a queue that is emptied too slowly", entries = "", held = "^_G.backlog$", per_run = 1 / 50,
   code = [[
    local n, first = 0, 1
    backlog = {}
    return function()
      n = n + 1
      backlog[n] = {n}
      if n % 50 ~= 3 then
        backlog[first] = nil
        first = first + 1
      end
    end]]},
}
