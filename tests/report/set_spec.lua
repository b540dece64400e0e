-- set_spec.lua - `heappath --set WHAT`: why a whole set of objects is alive, as one tree.

local cjson = require "cjson"
local support = require "tests.common.support"
local svg = require "tests.common.svg"

local run, quote = support.run, support.quote

-- Sessions are held in four ways, and one has a string of its own and one that two of them share.
--
--     _G -.app-> {} -.sessions-> map -[id]-> Session (40)
--                   -.by_name-> map -[name]-> the even ones of them
--                   -.bus-> {} -.tick-> array -[i]-> function -s-> Session (10)
--                              -.tock-> {} -key-> Session (5)
--     _G -.co-> wrap -> thread -local s-> Session
--     _G -.list-> {next, value} -.next-> ... 30,000 of them
--     _G -.chain-> function -g-> function -g-> ... 3,000 of them
--     _G -.tree-> Leaf -.left, .right-> Leaf ... 1,023 of them
local program = [[
  local heap = require "heap"
  Session, Leaf = {__name = "Session"}, {__name = "Leaf"}
  app = {sessions = {}, by_name = {}, bus = {tick = {}, tock = {}}}
  local shared = ("s"):rep(500)
  local function new(i)
    return setmetatable({id = i, text = ("x"):rep(200) .. i, shared = shared}, Session)
  end
  for i = 1, 40 do
    local session = new(i)
    app.sessions["s" .. i] = session
    if i % 2 == 0 then app.by_name["user " .. i] = session end
  end
  for i = 1, 10 do
    local s = new(100 + i)
    app.bus.tick[i] = function() return s end
  end
  for i = 1, 5 do app.bus.tock[new(200 + i)] = true end
  co = coroutine.wrap(function() local s = new(300) coroutine.yield() return s end)
  co()
  for i = 1, 30000 do list = {value = i, next = list} end
  do
    local g
    for i = 1, 3000 do
      local f = g
      g = function() return f, i end
    end
    chain = g
  end
  local function grow(n)
    return n > 0 and setmetatable({left = grow(n - 1), right = grow(n - 1)}, Leaf)
  end
  tree = grow(10)
  new, shared, grow = nil, nil, nil
  collectgarbage() collectgarbage "stop"
  for i = 1, 3 do setmetatable({}, Session) end
  Gone = {__name = "Gone"}
  for i = 1, 2 do setmetatable({}, Gone) end
  heap.snapshot "s"
]]

describe("heappath --set", function()
  local dir
  setup(function() dir = select(2, support.lua(program)) end)

  local function ask(...)
    return support.answer({"heappath", "--format", "text", ...}, dir)
  end

  local function json_of(...)
    return cjson.decode((run({"heappath", "--json", ...}, {cwd = dir})))
  end

  -- The tree's column, and in front of it the objects; between them is an address, if any.
  local function tree_of(out)
    local list, blank = {}, (" "):rep(#"0x561f0c27a2d0")
    for line in out:gmatch("[^\n]+") do
      line = line:gsub("0x%x+  ", blank .. "  ")
      local objects, text = line:match("^ *[%d,.]+ %a+ +[%d.]+%% +([%d,]+)  " .. blank .. "  (.*)")
      if text then list[#list + 1] = objects .. " " .. text end
    end
    return list
  end

  it("merges the paths of a class", function()
    local out = ask("--set", "Session", "s")
    assert.matches("^56 Session tables retain [%d.]+ KB together:\n"
      .. "    40 are held by _G%.app%.sessions%[%*%]\n    10 by upvalue s of function @%S+:%d+ "
      .. "%(through _G%.app%.bus%.tick%[%*%]%)\n"
      .. "    5 by key of _G%.app%.bus%.tock\n"
      .. "    1 by local s in function @[^\n]+ %(through _G%.co%)\n"
      .. "%(20 of them also by _G%.app%.by_name%[%*%]%)\n"
      .. "3 more are garbage that was not yet collected, 168 B\n\n", out)
    local local_s = out:match("upvalue 1, (local s in function @%S+ %(now at line %d+%))")
    assert.same({
      "56 root",
      "56 └─ _G",
      "55    ├─ .app: {bus, by_name, sessions}",
      "40    │  ├─ .sessions[*]",
      "15    │  └─ .bus: {tick, tock}",
      "10    │     ├─ .tick[*], upvalue s",
      "5    │     └─ .tock, key",
      "1    └─ .co, upvalue 1, " .. local_s,
    }, tree_of(out))
  end)

  it("tells bytes that belong to no other row", function()
    local answer = json_of("--set", "Session", "s")
    local bytes, path_of = {}, {}
    for i, row in ipairs(answer.rows) do
      bytes[row.path], path_of[i] = row.retained_bytes, row.path
    end
    assert.equal(answer.retained_bytes, bytes[""])
    assert.equal(answer.retained_bytes, bytes["_G"])
    -- What two rows share is of the row above both, and of neither.
    local shared = 500 + 25
    local below = bytes["_G.app.sessions[*]"] + bytes["_G.app.bus"]
    assert.equal(bytes["_G.app"], below)
    assert.is_true(bytes["_G"] - below - bytes[path_of[#path_of]] >= shared)
    local summary = cjson.decode((run({"heaptop", "--json", "--by", "class", "s"}, {cwd = dir})))
    for _, class in ipairs(summary.classes) do
      if class.class == "Session" then
        assert.equal(class.retained_bytes, answer.retained_bytes)
      end
    end
  end)

  it("has one row for a list, a list of closures and a tree", function()
    assert.same({"29,999 root", "29,999 └─ _G.list (1 here)", "29,998    └─ .next*"},
                tree_of(ask("--set", "{next, value}", "s")))
    local rows = tree_of(ask("--set", json_of("s", "_G.chain").class, "s"))
    assert.same({"3,000 root", "3,000 └─ _G.chain (1 here)", "2,999    └─ upvalue f*"}, rows)
    rows = tree_of(ask("--set", "Leaf", "s"))
    assert.equal("1,023 └─ _G.tree (1 here)", rows[2])
    assert.is_true(#rows <= 6, table.concat(rows, "\n"))
  end)

  it("says of how many it is true who holds the function", function()
    support.lua([[
      local heap = require "heap"
      local Page = {__name = "Page"}
      function page() return setmetatable({}, Page) end
      local code = [=[
        local known = {}
        return {get = function(x) known[x] = known[x] or page() return known[x] end}
      ]=]
      a, b = load(code, "@page.lua")(), load(code, "@page.lua")()
      for i = 1, 20 do a.get(i) end
      for i = 1, 7 do b.get(i) end
      heap.snapshot "memo"
    ]], {cwd = dir, name = "memo.lua"})
    local text = ask("--set", "Page", "memo")
    assert.matches("^27 Page tables retain [^\n]+: all are held by %(upvalue known of function " ..
                   "[^)]+%)%[%*%] %(20 of them through _G%.a%.get%)\n", text)
    local path = json_of("--set", "Page", "memo").held_by[1]
    assert.same({27, 20, "_G.a.get"}, {path.objects, path.through_objects, path.through})
  end)

  it("tells apart what functions that one code made hold", function()
    support.lua([[
      local heap = require "heap"
      local function memoize(f)
        local known = {}
        return function(x) known[x] = known[x] or f(x) return known[x] end
      end
      local Page = {__name = "Page"}
      local function page() return setmetatable({}, Page) end
      a, b = {get = memoize(page)}, {get = memoize(page)}
      for i = 1, 20 do a.get(i) end
      for i = 1, 7 do b.get(i) end
      heap.snapshot "several"
    ]], {cwd = dir, name = "memo.lua"})
    local paths = {}
    for i, held in ipairs(json_of("--set", "Page", "several").held_by) do
      paths[i] = ("%d %s"):format(held.objects, held.path)
    end
    assert.same({"20 (upvalue known of function get @memo.lua:4 in _G.a.get)[*]",
                 "7 (upvalue known of function get @memo.lua:4 in _G.b.get)[*]"}, paths)
  end)

  it("tells the class of what is at a step, also where that has the step in its name", function()
    support.lua([[
      local heap = require "heap"
      local Item = {__name = "Item"}
      local function some(n)
        local list = {}
        for i = 1, n do list[i] = setmetatable({}, Item) end
        return list
      end
      app = {config = setmetatable({left = some(2), right = some(3)}, {__name = "app.config"}),
             other = some(4)}
      heap.snapshot "classes"
    ]], {cwd = dir})
    local out = run({"heappath", "--format", "text", "--set", "Item", "classes"}, {cwd = dir})
    assert.matches("─ .config: app.config\n", out, 1, true)
    assert.matches("─ _G.app: {config, other}\n", out, 1, true)
  end)

  it("leaves out the middle of a long row", function()
    support.lua([[
      local heap = require "heap"
      local f = {only = true}
      for i = 1, 40 do f = load("local f = ... return function() return f end", "@f" .. i)(f) end
      chain = f
      f = nil
      heap.snapshot "long"
    ]], {cwd = dir, name = "long.lua"})
    assert.same({
      "1 root",
      "1 └─ _G.chain" .. (", upvalue f"):rep(3) .. " ... 32 more steps ... "
        .. (", upvalue f"):rep(5):sub(3),
    }, tree_of(ask("--set", "{only}", "long")))
  end)

  it("takes a path, a place and a fingerprint", function()
    assert.matches("^40 Session tables retain [^\n]+: all are held by _G%.app%.sessions%[%*%]\n",
                   ask("--set", "_G.app.sessions[*]", "s"))
    assert.matches("^1 thread @%S+ retains [^\n]+: held by upvalue 1 of coroutine "
                   .. "@%S+ %(through _G.co%)\n",
                   ask("--set", "select id from threads where is_main = 0", "s"))
    support.lua([[
      local heap = require "heap"
      kept = {}
      heap.snapshot "a"
      for i = 1, 7 do kept[i] = {name = i .. "", kept = true} end
      heap.snapshot "b"
    ]], {cwd = dir, name = "later.lua"})
    local diff = cjson.decode((run({"heapdiff", "--json", "a", "b"}, {cwd = dir})))
    local answer = json_of("--set", diff.groups[1].fingerprint, "b")
    assert.same({diff.groups[1].objects, "_G.kept[*]"},
                {answer.objects, answer.held_by[1].path})
  end)

  it("asks in SQL, of the snapshot alone", function()
    local all = json_of("--set", "select id from objects where class = 'Session'", "s")
    local class = json_of("--set", "Session", "s")
    assert.same({class.objects, class.garbage_objects, class.rows},
                {all.objects, all.garbage_objects, all.rows})
    local query = "WITH x AS (SELECT target FROM edges) SELECT target, 1 FROM x"
    assert.is_true(json_of("--set", query, "s").objects > 1000)
    for sql, expected in pairs {
      ["select class from objects"] = "the first column of the query must be the id of an object",
      ["select 123456789"] = "there is none with 123456789",
      ["select -1"] = "there is none with %-1",
      ["select id from objekts"] = "no such table: objekts; each snapshot %(s%) has objects",
      ["select id frm objects"] = "heapsql%(1%) has examples",
      ["select heap_open('s')"] = "cannot use the function heap_open",
      ["select load_extension('s')"] = "cannot use the function load_extension",
      ["with x as (select 1) delete from objects"] = "may not be modified",
      ["select 1; select 2"] = "takes one query, and here are two",
    } do
      local out, err, code = run({"heappath", "--set", sql, "s"}, {cwd = dir})
      assert.same({"", 2}, {out, code})
      assert.matches("^heappath: [^\n]*" .. expected, err)
    end
  end)

  it("says how many rows it does not show", function()
    local out = ask("-n", "4", "--set", "Session", "s")
    assert.same({"56 root", "56 └─ _G", "55    ├─ .app: {bus, by_name, sessions}",
                 "55    │  └─ ... 2 more"},
                {table.unpack(tree_of(ask("-n", "5", "--set", "Session", "s")), 1, 4)})
    assert.equal(3, #tree_of(out))
    assert.matches("\n%-n 0 shows all\n$", out)
    local all = json_of("--set", "select id from objects", "s").rows
    assert.is_true(#all > 100)
    assert.equal(#all, #tree_of(ask("-n", "0", "--set", "select id from objects", "s")))
    assert.equal(20, #tree_of(ask("--set", "select id from objects", "s")))
    local hidden = 0
    local some = json_of("-n", "7", "--set", "select id from objects", "s").rows
    for _, row in ipairs(some) do hidden = hidden + (row.hidden or 0) end
    assert.is_true(#some <= 7 and hidden > 0)
  end)

  it("is a picture with few boxes", function()
    local function drawn(what)
      local command = ("heappath --set %s s | dot -Tsvg"):format(quote(what))
      return svg.read((run({"bash", "-c", command}, {cwd = dir}):gsub("&#160;", " ")))
    end
    local texts, counts = drawn("Session")
    local bold = {}
    for _, text in ipairs(texts) do if text.bold then bold[#bold + 1] = text.text end end
    assert.same({8, 7, 8}, {counts.node, counts.edge, #bold})
    table.sort(bold)
    assert.same({".app ", ".bus "}, {table.unpack(bold, 1, 2)})
    assert.same({".sessions[*] ", ".tick[*], upvalue s ", ".tock, key ", "_G ", "root "},
                {table.unpack(bold, 4)})
    texts, counts = drawn("select id from objects")
    assert.is_true(counts.node <= 30 and counts.node > 25)
    local more = 0
    for _, text in ipairs(texts) do if text.text:find("^… [%d,]+ more") then more = more + 1 end end
    assert.is_true(more > 0)
  end)

  it("says no", function()
    for what, expected in pairs {
      NoSuchClass = "no class or global is named 'NoSuchClass'", ["2-0123456789"] = "2-0123456789",
      ["select id from objects where 0"] = "the query names no object",
    } do
      local out, err, code = run({"heappath", "--set", what, "s"}, {cwd = dir})
      assert.same({"", 1}, {out, code})
      assert.matches("^heappath: s: [^\n]*" .. expected, err)
    end
    local out, err, code = run({"heappath", "--format", "text", "--set", "Gone", "s"}, {cwd = dir})
    assert.same({"", 1}, {err, code})
    assert.equal("nothing keeps them alive: 2 objects, 112 B, garbage that was not yet collected\n",
                 out)
    out, err, code = run({"heappath", "--format", "dot", "--set", "Gone", "s"}, {cwd = dir})
    assert.same({"", 1}, {out, code})
    assert.matches("nothing keeps Gone alive: 2 objects, garbage", err)
    local answer = json_of("--set", "Gone", "s")
    assert.same({0, 2, {}}, {answer.objects, answer.garbage_objects, answer.rows})
  end)
end)
