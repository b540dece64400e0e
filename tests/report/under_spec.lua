-- under_spec.lua - `heaptop --under OBJECT`: down the tree of dominators, as a tree.

local cjson = require "cjson"
local support = require "tests.common.support"

-- A user's session holds what only it refers to; shared is held by _G, too.
--
--     _G -.app-> {list, name, sessions, shared}
--          app -.sessions-> array -[1..20]-> Session -.input-> {} -[1]-> string
--                                                    -.shared-> shared
--          app -.list-> {next, value} -.next-> ... 30 of them
--     _G -.shared-> {}
local program = [[
  local heap = require "heap"
  local Session = {__name = "Session"}
  shared = {}
  app = {name = ("n"):rep(50), sessions = {}, shared = shared}
  for i = 1, 20 do
    local input = {("x"):rep(100) .. i}
    app.sessions[i] = setmetatable({input = input, shared = shared}, Session)
  end
  for i = 1, 30 do app.list = {value = i, next = app.list} end
  heap.snapshot "s"
]]

describe("heaptop --under", function()
  local dir
  setup(function() dir = select(2, support.lua(program)) end)

  local function ask(...)
    return support.answer({"heaptop", "--under", ...}, dir)
  end

  local function rows_of(...) return cjson.decode(ask(...)).rows end

  -- The tree's column, without addresses.
  local function tree_of(...)
    local list = {}
    for line in ask(...):gmatch("[^\n]+") do
      local text = line:match("^ *[%d,.]+ %a+ +[%d.]+%% +[%d,.]+ %a+  (.*)")
      if text then list[#list + 1] = (text:gsub(" 0x%x+$", "")) end
    end
    return list
  end

  it("draws what an object keeps alive alone", function()
    assert.same({
      "{list, name, sessions, shared}",
      "├─ .sessions: array of Session",
      "│  └─ 20 Session tables",
      "│     └─ 20 array of string tables",
      "│        └─ 20 strings",
      "├─ .list: list of 29 {next, value} tables",
      "│  └─ {value}",
      '└─ .name: string "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn..."',
    }, tree_of("_G.app", "s"))
  end)

  it("draws without Unicode where there is none", function()
    local env = {LC_ALL = "C"}
    local out = support.run("heaptop --under _G.app s", {cwd = dir, env = env})
    assert.truthy(out:find("  |  `- 20 Session tables\n", 1, true), out)
    assert.truthy(out:find("  `- .name: string", 1, true), out)
  end)

  it("says first how much that is", function()
    local headline = ask("_G.app", "s"):match("^[^\n]*")
    assert.matches("^_G%.app keeps [%d.]+ KB alive alone, [%d.]+%% of the heap$", headline)
    assert.matches("^root keeps [%d.]+ KB alive alone, 100.0%% of the heap\n", ask("root", "s"))
  end)

  it("goes no deeper than --depth", function()
    assert.same({
      "{list, name, sessions, shared}",
      "├─ .sessions: array of Session",
      "├─ .list: list of 29 {next, value} tables",
      '└─ .name: string "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn..."',
    }, tree_of("_G.app", "--depth", "1", "s"))
    assert.equal(1, #tree_of("_G.app", "--depth", "0", "s"))
  end)

  it("shows -n rows of each level, and how many more there are", function()
    assert.same({
      "{list, name, sessions, shared}",
      "├─ .sessions: array of Session",
      "│  └─ 20 Session tables",
      "└─ ... 30 more",
    }, tree_of("_G.app", "-n", "1", "--depth", "2", "s"))
  end)

  it("adds up: a row is itself and the rows below", function()
    local rows = rows_of("_G.app", "--json", "-n", "0", "--depth", "9", "s")
    assert.equal("{list, name, sessions, shared}", rows[1].class)
    for i, row in ipairs(rows) do
      local bytes = row.shallow_bytes
      for k = i + 1, #rows do
        if rows[k].depth <= row.depth then break end
        if rows[k].depth == row.depth + 1 then bytes = bytes + rows[k].retained_bytes end
      end
      assert.equal(row.retained_bytes, bytes)
    end
  end)

  it("has documented keys in JSON", function()
    local json = cjson.decode(ask("Session", "--json", "-n", "1", "s"))
    assert.equal(20, json.matches)
    assert.matches("^_G%.app%.sessions%[%d+%]$", json.held_by)
    assert.same({"object", 0, "Session", "table", 1, cjson.null}, {
      json.rows[1].kind, json.rows[1].depth, json.rows[1].class, json.rows[1].type,
      json.rows[1].objects, json.rows[1].edge})
    assert.equal(".input", json.rows[2].edge)
    local root = cjson.decode(ask("root", "--json", "-n", "1", "--depth", "1", "s"))
    assert.equal(cjson.null, root.held_by)
    assert.equal(cjson.null, root.rows[1].address)
    assert.equal("rest", root.rows[3].kind)
    assert.equal(root.snapshot.reachable_bytes, root.rows[1].retained_bytes)
  end)

  it("begins in the middle of a list, too", function()
    assert.same({"list of 19 {next, value} tables", "└─ {value}"},
                tree_of("_G.app.list" .. (".next"):rep(10), "s"))
  end)

  it("says that garbage keeps nothing, and what is not there", function()
    local garbage = select(2, support.lua [[
      collectgarbage "stop"
      print(("%p"):format({}))
      require "heap".snapshot "s"
    ]])
    local address = support.run({"heaptop", "--garbage", "--type=table", "--json", "s"},
                                {cwd = garbage}):match('"address": "(0x%x+)"')
    local out, err, code = support.run({"heaptop", "--under", address, "s"}, {cwd = garbage})
    assert.equal("", out)
    assert.equal(2, code)
    assert.matches("^heaptop: nothing keeps 0x%x+ alive: it is garbage", err)
    out, err, code = support.run({"heaptop", "--under", "_G.nowhere", "s"}, {cwd = dir})
    assert.equal("", out)
    assert.equal(2, code)
    assert.matches("^heaptop: s: ", err)
  end)

  it("indents forty levels, and says how much deeper a row is", function()
    local _, deep = support.lua [[
      local at = {}
      top = at
      for i = 1, 100 do
        at["step" .. i] = {}
        at = at["step" .. i]
      end
      require "heap".snapshot "s"
    ]]
    local out = support.answer({"heaptop", "--under", "_G.top", "-n", "0", "--depth", "200", "s"},
                               deep)
    local inner = out:match("\n[^\n]*%(59 deeper%) %.step99: [^\n]*\n")
    assert.truthy(inner, out)
    assert.truthy(out:find("\n[^\n(]*%.step40: "), out)
    local function lines(text) return select(2, text:gsub("\u{2502}", "")) end
    assert.equal(lines(out:match("\n([^\n]*)%(1 deeper%) ")), lines(inner))
  end)

  it("takes --depth, as no table does", function()
    local out, err, code = support.run({"heaptop", "--depth", "3", "s"}, {cwd = dir})
    assert.equal("", out)
    assert.equal(2, code)
    assert.matches("^heaptop: %-%-depth goes with %-%-under or %-%-threads\n", err)
    out, err, code = support.run({"heaptop", "--under=_G", "--suspects", "s"}, {cwd = dir})
    assert.equal("", out)
    assert.equal(2, code)
    assert.matches("^heaptop: one report at a time: %-%-under or %-%-suspects\n", err)
  end)
end)
