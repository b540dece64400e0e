-- cuts_spec.lua - what heappath says of independent paths, of what is ignored, and of cuts.

local json = require "cjson"
local support = require "tests.common.support"

-- An object and what holds it:
--
--     _G -.once-> {} -.x-> ONCE
--     _G -.app-> {} -.a-> {} -.x-> TWICE            below _G.app
--                   -.b-> {} -.y-> TWICE
--     _G -.names-> {} -.p, .q-> SAME                two references from one table
--     _G -.owners-> {} -[KEYED]-> {} -.me-> KEYED   one entry
--     _G -.many-> {} -[1..7]-> {} -.x-> MANY
--     upvalue and local variable `held` -> HELD     one variable
--     _G -.cache-> {} -["user n"]-> {} <-[n]- {} <-.watched- debugger
local program = [[
  local heap = require "heap"
  local ONCE, TWICE, SAME, KEYED, MANY = {}, {}, {}, {}, {}
  once, names = {x = ONCE}, {p = SAME, q = SAME}
  app = {a = {x = TWICE}, b = {y = TWICE}}
  owners = {[KEYED] = {me = KEYED}}
  many = {}
  for i = 1, 7 do many[i] = {x = MANY} end
  cache, debugger = {}, {watched = {}}
  for i = 1, 10 do
    cache["user " .. i] = {name = ("n"):rep(100), id = i}
    debugger.watched[i] = cache["user " .. i]
  end
  local at = {ONCE = ONCE, TWICE = TWICE, SAME = SAME, KEYED = KEYED, MANY = MANY}
  for name, object in pairs(at) do print(name, ("%p"):format(object)) end
  ONCE, TWICE, SAME, KEYED, MANY, at = nil, nil, nil, nil, nil, nil
  local held = {}
  function get() return held end
  print("HELD", ("%p"):format(held))
  heap.snapshot "c"
  local key = "user " .. 1
  print("bytes", heap.sizeof(cache[key]) + heap.sizeof(cache[key].name) + heap.sizeof(key))
]]

local dir, address = nil, {}

local function run(...)
  local words = {"heappath", "--format", "text", ...}
  local out, err, code = support.run(words, {cwd = dir})
  return (out:gsub("0x%x+", "0x")), err, code
end

local function ask(...)
  local out, err, code = support.run({"heappath", "--json", ...}, {cwd = dir})
  assert.equal("", err)
  return json.decode(out), code
end

setup(function()
  local out
  out, dir = support.lua(program, {name = "app.lua"})
  for name, value in out:gmatch "([^\n\t]+)\t(%w+)\n" do address[name] = value end
end)

describe("independent paths", function()
  local function held_by(name)
    local answer = ask("c", address[name])
    local below = answer.independent.below
    assert.equal(answer.independent.count, #answer.independent.paths)
    return answer.independent.paths, below ~= json.null and below.class, answer.independent.or_more
  end

  it("are one where one cut frees the object", function()
    assert.same({"_G.once.x"}, (held_by "ONCE"))
    assert.not_match("not enough", (run("c", address.ONCE)))
  end)

  it("are told with where they part", function()
    local paths, below = held_by "TWICE"
    table.sort(paths)
    assert.same({"_G.app.a.x", "_G.app.b.y"}, paths)
    assert.equal("{a, b}", below)
    local out = run("c", address.TWICE)
    local first, second = out:match(
      "is kept alive by: (%S+)\n\nreference .-\n\nOne cut below _G%.app is not enough: 1 other " ..
      "path leads from there to the object:\n\nsteps  path\n +4  (%S+)\n$")
    assert.is_true(first == paths[1] and second == paths[2] or
                   first == paths[2] and second == paths[1], out)
  end)

  it("are two references of one table", function()
    local paths = held_by "SAME"
    table.sort(paths)
    assert.same({"_G.names.p", "_G.names.q"}, paths)
  end)

  it("are one through an entry and its key, and for a captured variable", function()
    assert.equal(1, #held_by "KEYED")
    assert.equal(1, #held_by "HELD")
  end)

  it("are counted up to five", function()
    local paths, below, or_more = held_by "MANY"
    assert.equal(5, #paths)
    assert.equal("array of {x}", below)
    assert.is_true(or_more)
    assert.match("\nOne cut below _G%.many is not enough: at least 4 other paths lead from " ..
                 "there to the object:\n", (run("c", address.MANY)))
  end)

  it("are all drawn, and only counted with -k", function()
    local dot = run("--format", "dot", "c", address.TWICE)
    assert.match('label=" *%.a"', dot)
    assert.match('label=" *%.b"', dot)
    local out = run("-k", "1", "c", address.TWICE)
    assert.match("\nOne cut below _G%.app is not enough: 2 independent paths lead from there to " ..
                 "the object\n$", out)
  end)
end)

-- Two ways to one object that share their end: captured by functions in two places, and an event
-- bus with two owners:
--
--     main chunk -.local conns-> {} -[1..]-> function --> upvalue c -> {buf, id}
--     _G -.handlers-> {} -.h1..-> function --------------^
--     main chunk -.local bus-> {} -.listeners-> {} -[1..]-> function -.upvalue v-> {name}
--     _G -.app-> {} -.bus-> ^
describe("paths that share their end", function()
  local here
  local function told(...)
    local out, err = support.run({"heappath", "--format", "text", ...}, {cwd = here})
    assert.equal("", err)
    return (out:gsub("0x%x+", "0x"))
  end

  setup(function()
    local _
    _, here = support.lua([[
      local heap = require "heap"
      local conns, bus = {}, {listeners = {}}
      handlers, app = {}, {bus = bus}
      for n = 1, 50 do
        local c, v = {id = n, buf = ("z"):rep(200) .. n}, {name = n}
        conns[n] = function() return c end
        handlers["h" .. n] = function() return c.id end
        bus.listeners[n] = function() return v end
      end
      heap.snapshot "c"
    ]], {name = "two.lua"})
  end)

  it("are told from their roots, with where they come together", function()
    local out = told("c", "{buf, id}")
    assert.match("by: upvalue c of function @two.lua:7 %(through _G.handlers.h50%)\n", out)
    assert.match("\nA cut above upvalue c of function @two.lua:7 is not enough: 1 other path "
                 .. "leads to it:\n\nsteps  path\n +4  upvalue c of function @two.lua:6 "
                 .. "%(through %(local conns in main chunk [^\n]+%)"
                 .. "%[50%]%)\n", out)
  end)

  it("are told by --cut: the one that is left, from its root", function()
    local out = told("--cut", "_G.handlers.*", "c", "{buf, id}")
    assert.match(", but not {buf, id} 0x\n.*\none path still holds it:\n\nsteps  path\n +%d  "
                 .. "upvalue c of function @two.lua:6 %(through %(local conns in main chunk "
                 .. "[^\n]+%)%[50%]%)\n$", out)
    out = told("--cut", "local bus in main chunk*", "c", "{name}")
    assert.match(" frees nothing: .*\n +7  upvalue v of function @two.lua:8 "
                 .. "%(through _G.app.bus.listeners%[50%]%)\n$", out)
  end)

  it("are told of a set, too", function()
    local out = told("--set", "{buf, id}", "c")
    assert.match(": all are held by upvalue c of function @two.lua:7 %(through _G.handlers%[%*%]%)"
                 .. "\n%(all of them also by upvalue c of function @two.lua:6 "
                 .. "%(through %(local conns in main chunk [^\n]+%)%[%*%]%)%)\n\n", out)
  end)

  it("say where in the middle they come together", function()
    local out = support.run({"heappath", "--json", "c", "{name}"}, {cwd = here})
    local found = json.decode(out).independent
    assert.equal(1, found.count)
    assert.equal("{listeners}", found.junction.object.class)
    assert.equal(2, found.junction.count)
    local paths = found.junction.paths
    table.sort(paths)
    assert.equal("_G.app.bus", paths[1])
    assert.match("^local bus in main chunk", paths[2])
    assert.match("listeners%[50%]$", found.through[1])
    local sentence = "\nA cut above local bus in main [^\n]+ is not enough: "
    assert.match(sentence .. "1 other path leads to it:\n",
                 told("c", "{name}"))
    assert.match(sentence .. "2 independent paths lead to it\n$",
                 told("-k", "2", "c", "{name}"))
  end)

  -- Who uses a module has it in a variable, and all of them would have to let it go.
  it("are not told of a module", function()
    local _, at = support.lua([[
      local bus = {listeners = {}}
      package.loaded["app.bus"], uses = bus, {bus = bus}
      for n = 1, 3 do bus.listeners[n] = {id = n} end
      require "heap".snapshot "c"
    ]], {name = "module.lua"})
    local out = support.answer({"heappath", "--format", "text", "c", "{id}"}, at)
    assert.no.match("not enough", out)
    local answer = json.decode((support.run({"heappath", "--json", "c", "{id}"}, {cwd = at})))
    assert.equal(json.null, answer.independent.junction)
  end)
end)

--     _G -.by_id-> {} -[1..50]-> {id, name} <-.user1..- {} <-.by_name- _G
--     _G -.line-> {next, value} <--.next, .last--> {last, next, value} ...
describe("a set that is held twice", function()
  local here
  setup(function()
    local _
    _, here = support.lua([[
      local heap = require "heap"
      DB = {users = {}, index = {}}
      by_id, by_name = {}, {}
      for n = 1, 50 do
        local user, session = {user = n, name = "u" .. n}, {id = n, name = "name" .. n}
        DB.users[n], DB.index[user.name] = user, user
        by_id[n] = session
        if n > 10 then by_name[session.name] = session end
      end
      line = {value = 0}
      for n = 1, 50 do
        line.next = {value = n, last = line}
        line = line.next
      end
      while line.last do line = line.last end
      heap.snapshot "c"
    ]], {name = "twice.lua"})
  end)

  local function ask_set(what)
    local out, err = support.run({"heappath", "--json", "--set", what, "c"}, {cwd = here})
    assert.equal("", err)
    return json.decode(out)
  end

  it("is told with what would hold it still, and how many", function()
    local answer = ask_set "{id, name}"
    local places = {answer.held_by[1].path, answer.elsewhere.path}
    assert.equal(50, answer.objects)
    if answer.held_by[1].path == "_G.by_name[*]" then places[2] = "_G.by_name[*]" end
    assert.equal(40, answer.objects_elsewhere)
    assert.equal("_G.by_name[*]", places[2])
    local out = support.run({"heappath", "--format", "text", "--set", "{id, name}", "c"},
                            {cwd = here})
    assert.match("\n%(40 of them also by _G.by_%w+%[%*%]%)\n", out)
  end)

  it("is not where the second reference comes from the set itself", function()
    local answer = ask_set "{last, next, value}"
    assert.equal(49, answer.objects)
    assert.equal(0, answer.objects_elsewhere)
    assert.equal(json.null, answer.elsewhere)
  end)

  it("has one path first, of one object and of all", function()
    local one = support.run({"heappath", "--json", "c", "{name, user}"}, {cwd = here})
    local place = json.decode(one).paths[1].text:match("^_G%.DB%.%a+")
    assert.equal(place .. "[*]", ask_set("{name, user}").held_by[1].path)
  end)
end)

describe("--ignore", function()
  it("leaves references out of all paths and figures", function()
    local user = '_G.cache["user 3"]'
    assert.equal(2, ask("c", user).independent.count)
    local answer = ask("--ignore", "_G.debugger.*", "c", user)
    assert.same({user}, answer.independent.paths)
    assert.same({{pattern = "_G.debugger.*", references = 1, objects = 0}}, answer.ignored)
    assert.is_true(answer.retained_bytes >= 100)
    assert.match('by: _G%.cache%["user 3"%]\nignored: _G%.debugger%.%*\n\n',
                 (run("--ignore", "_G.debugger.*", "c", user)))
  end)

  it("says when nothing else keeps the object alive", function()
    for _, pattern in ipairs {"_G.once", "_G.once.*", "_G.on*", "_G.o*e.x", '_G["once"].x', "once",
                              "{x}"} do
      local out, err, code = run("--ignore", pattern, "c", address.ONCE)
      assert.equal("only what is ignored keeps it alive: {} 0x\n", out:match("^[^\n]+\n"), pattern)
      assert.equal("", err)
      assert.equal(1, code)
    end
    local answer, code = ask("--ignore", "_G.once", "c", address.ONCE)
    assert.is_true(answer.only_ignored)
    assert.equal(1, code)
  end)

  it("says what matches nothing, and goes on", function()
    local out, err, code = run("--ignore", "_G.nosuch.*", "c", address.ONCE)
    assert.match("^heappath: c: %-%-ignore '_G.nosuch.%*': [^\n]+\n$", err)
    assert.match("is kept alive by: _G.once.x\n\n", out)
    assert.equal(0, code)
  end)

  it("marks references, and takes variables of many functions", function()
    local out = run("--referrers", "--ignore", "_G.app.a", "--ignore", "{x}", "c", address.TWICE)
    assert.match("%.x +{x} +0x +ignored", out)
    out = run("--ignore", "upvalue held of function *", "c", address.HELD)
    assert.match("^only what is ignored", out)
  end)
end)

describe("--cut", function()
  it("tells what goes, to the byte", function()
    local all = 0
    for i = 1, 10 do
      local answer = ask("--ignore", "_G.debugger.*", "--cut", ('_G.cache["user %d"]'):format(i),
                         "c", address.ONCE)
      assert.equal(3, answer.together.frees_objects)
      assert.is_false(answer.together.frees_it)
      all = all + answer.together.frees_bytes
      if i == 1 then
        assert.equal(tonumber(address.bytes), answer.together.frees_bytes)
      end
    end
    local answer = ask("--ignore", "_G.debugger.*", "--cut", "_G.cache.*", "c")
    assert.equal(all, answer.together.frees_bytes)
    assert.equal(10, answer.cuts[1].references)
  end)

  it("tells what still holds the object that it leads to", function()
    local out, err, code = run("--cut", "_G.app.a.x", "c")
    assert.equal("cutting _G.app.a.x frees nothing: {} 0x is still alive\n\n" ..
                 "one path still holds it:\n\nsteps  path\n    4  _G.app.b.y\n", out)
    assert.equal("", err)
    assert.equal(0, code)
    out = run("--cut", "_G.many[1].x", "c", address.MANY)
    assert.match("\n\nat least 5 independent paths still lead from _G%.many to it:\n\nsteps ", out)
    out = run("--cut", "_G.names.p", "--cut", "_G.names.q", "c", address.SAME)
    assert.match("^making both cuts frees [%d.]+ K?B, %d objects?, with them {} 0x\n$", out)
  end)

  it("takes objects", function()
    local answer = ask("--cut", "{x}", "c", address.MANY)
    assert.equal(9, answer.cuts[1].objects) -- one of once, one of app
    assert.is_true(answer.together.frees_it)
    answer = ask("--cut", address.HELD, "c")
    assert.equal(1, answer.together.frees_objects)
  end)

  it("takes a variable with what captured it", function()
    for _, variable in ipairs {"local held in main chunk @app.lua", "upvalue held of function *"} do
      assert.is_true(ask("--cut", variable, "c", address.HELD).together.frees_it, variable)
    end
  end)

  it("compares cuts with --what-if", function()
    local answer = ask("--what-if", "--cut", "_G.app.a", "--cut", "_G.app.b.y", "--cut", "_G.once",
                       "c", address.TWICE)
    local cuts, sum = answer.cuts, 0
    for _, cut in ipairs(cuts) do
      assert.is_false(cut.frees_it)
      sum = sum + cut.frees_bytes
    end
    assert.equal(0, cuts[2].frees_bytes)
    assert.is_true(answer.together.frees_it)
    assert.equal(1, answer.only_together.frees_objects)
    assert.equal(sum + answer.only_together.frees_bytes, answer.together.frees_bytes)
    local out = run("--what-if", "--cut", "_G.app.a", "--cut", "_G.app.b.y", "c", address.TWICE)
    assert.match("\n *frees +objects +frees it +cut\n", out)
    assert.match("\n *0 B +0 +no +_G.app.b.y\n", out)
    assert.match("\n *%d+ B +2 +yes +all together\n *56 B +1 +what only all together free\n", out)
  end)

  it("is an honest no where there is nothing to cut", function()
    local out, err, code = run("--cut", "_G.nosuch", "c", address.ONCE)
    assert.equal("", out)
    assert.match("^heappath: c: %-%-cut '_G.nosuch': [^\n]+\n$", err)
    assert.equal(1, code)
  end)
end)

-- The same cuts made in Lua, after the snapshot, and what the collector gives back then.
describe("the collector frees what --cut says:", function()
  local cutting = [[
    local heap = require "heap"
    local function part() return {("x"):rep(100 + #_G.parts), {1, 2, 3}} end
    parts = {}
    shared = part()
    cache = {first = {part(), shared}}
    names = {[("a long key "):rep(9)] = part()}
    by_object = {[part()] = part()}
    weak, key = setmetatable({}, {__mode = "k"}), {}
    weak[key] = part()
    other_weak = setmetatable({[key] = part()}, {__mode = "k"})
    object = setmetatable({}, {__index = part()})
    local state, held = part(), part()
    function use() return state, held end
    function forget() state = nil end
    local function entry(t) return "[" .. tostring(next(t)) .. "]" end
    local by_object_key = "_G.by_object" .. entry(by_object)
    local weak_key = "_G.weak" .. entry(weak)
    collectgarbage() collectgarbage()
    heap.snapshot "c"
    -- When the stack and the records of its calls are no longer made smaller.
    local function settled()
      local count
      repeat count = collectgarbage "count" collectgarbage() until collectgarbage "count" == count
      return count
    end
    local function free(what, cut)
      local before = settled()
      cut()
      print(what, math.tointeger((before - settled()) * 1024))
    end
    free("_G.cache.first", function() cache.first = nil end)
    free("_G.names.*", function() names[next(names)] = nil end)
    free(by_object_key, function() by_object[next(by_object)] = nil end)
    free(weak_key, function() weak[next(weak)] = nil end)
    free("_G.other_weak", function() other_weak = nil end)
    free("metatable of _G.object", function() setmetatable(object, nil) end)
    free("upvalue state of function use @cut.lua:13", forget)
    free("local held in main chunk @cut.lua", function() held = nil end)
  ]]
  local out, here = support.lua(cutting, {name = "cut.lua"})
  for what, bytes in out:gmatch "([^\n\t]+)\t(%d+)\n" do
    it(what:gsub("0x%x+", "0x"), function()
      local text, err = support.run({"heappath", "--json", "--cut", what, "c"}, {cwd = here})
      assert.equal("", err)
      assert.equal(tonumber(bytes), json.decode(text).together.frees_bytes)
      assert.is_true(tonumber(bytes) > 100)
    end)
  end
  it("in eight ways", function() assert.equal(8, select(2, out:gsub("\n", ""))) end)
end)
