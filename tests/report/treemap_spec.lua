-- treemap_spec.lua - the questions `treemap` and `flame`, as a page asks them: rows in preorder
-- that add up to the byte, by object, class, place and module; a key opens a row; what is new, and
-- what was there before.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local support = require "tests.common.support"

-- Three hundred sessions in two steps, a linked list, and a module of our own.
--
--     _G -.app-> {list, sessions} -.sessions-> array -[1..300]-> Session -.user-> {name}
--                                 -.list-> {next, value} -.next-> ... 40 of them
--     package.loaded -["bus"]-> {listeners} -.listeners-> {}
local dir = select(2, support.lua [[
  local heap = require "heap"
  local Session = {__name = "Session"}
  app = {sessions = {}}
  package.loaded["bus"] = {listeners = {}}
  for i = 1, 40 do app.list = {value = i, next = app.list} end
  local function serve(from, to)
    for i = from, to do
      app.sessions[i] = setmetatable({user = {name = "user number " .. i}}, Session)
    end
  end
  serve(1, 100)
  heap.snapshot "a"
  serve(101, 300)
  heap.snapshot "c"
]])

local function ask(key)
  local document = ask_view(dir, key, "a", "c")
  assert.is_nil(document.error)
  return document.answer, document.told
end

local function find(rows, text)
  for _, row in ipairs(rows) do
    if row.text:find(text, 1, true) then return row end
  end
  error("no row " .. text)
end

-- The bytes that are asked for, of the rows directly below the one at `at`; nil: there are none.
local function sum_below(rows, at, bytes)
  local sum
  for i = at + 1, #rows do
    if rows[i].depth <= rows[at].depth then break end
    if rows[i].depth == rows[at].depth + 1 then sum = (sum or 0) + rows[i][bytes] end
  end
  return sum
end

local function assert_sums(answer, bytes)
  local n = 0
  for i, row in ipairs(answer.rows) do
    local sum = sum_below(answer.rows, i, bytes)
    if sum then
      assert.equal(row[bytes], sum, row.text)
      n = n + 1
    end
  end
  assert.is_true(n > 1)
end

local function reachable_bytes()
  return cjson.decode(support.answer({"heaptop", "--json", "c"}, dir)).snapshot.reachable_bytes
end

describe("A treemap", function()
  for _, by in ipairs {"object", "class", "place", "module"} do
    it("by " .. by .. " adds up", function()
      for _, key in ipairs {"", "&limit=7", "&depth=1", "&depth=2&limit=3"} do
        local answer = ask("treemap?by=" .. by .. key)
        assert.equal(reachable_bytes(), answer.rows[1].retained_bytes)
        assert.equal(answer.whole_bytes, answer.rows[1].retained_bytes)
        if not key:find("depth") then assert_sums(answer, "retained_bytes") end
        assert.equal(answer.rows[1].retained_bytes, sum_below(answer.rows, 1, "retained_bytes"))
      end
      assert_sums(ask("treemap?by=" .. by), "new_bytes")
    end)

    it("by " .. by .. " opens each row by its key", function()
      local answer = ask("treemap?by=" .. by .. "&limit=12")
      for _, row in ipairs(answer.rows) do
        if row.key then
          local part = ask("treemap?by=" .. by .. "&limit=12&of=" .. row.key)
          assert.equal(row.retained_bytes, part.rows[1].retained_bytes, row.text)
          assert.equal(row.depth, #part.above, row.text)
          assert.equal(0, part.rows[1].depth)
          assert.equal(row.text, part.rows[1].text)
        end
      end
    end)
  end

  it("names things by how they are reached", function()
    local rows = ask("treemap").rows
    assert.equal("table", find(rows, ".app: {list, sessions}").type)
    assert.equal("list", find(rows, ".list: list of 39 {next, value} tables").kind)
    rows = ask("treemap?by=class").rows
    assert.equal(300, find(rows, "300 Session tables").objects)
    rows = ask("treemap?by=place").rows
    assert.equal("_G.app.sessions[*]", find(rows, "[*]: 300 Session tables").path)
    assert.equal(".user", find(rows, ".user: 300 {name} tables").steps)
    rows = ask("treemap?by=module").rows
    assert.equal('package.loaded["bus"]', find(rows, 'package.loaded["bus"]: ').path)
    assert.equal("shared", find(rows, "shared by several").kind)
  end)

  it("knows what is new since the first snapshot", function()
    local answer = ask("treemap?by=class")
    local sessions = find(answer.rows, "300 Session tables")
    assert.is_true(sessions.new_bytes * 3 > sessions.retained_bytes * 2 - 100)
    assert.is_true(sessions.new_bytes < sessions.retained_bytes)
    assert.equal(0, find(ask("treemap?by=place").rows, ".list: ").new_bytes)
  end)

  it("of an interval has what was allocated in it", function()
    local marks = ask("treemap?by=class").rows
    local since = math.floor(find(marks, "300 Session tables").position)
    local answer = ask("treemap?by=class&since=" .. since)
    local sessions = find(answer.rows, "300 Session tables")
    assert.is_true(sessions.retained_bytes < find(marks, "300 Session tables").retained_bytes)
    assert_sums(answer, "retained_bytes")
    local before = ask("treemap?by=class&until=" .. since)
    assert.equal(find(marks, "300 Session tables").retained_bytes,
                 sessions.retained_bytes + find(before.rows, "300 Session tables").retained_bytes)
  end)

  it("is told as its largest parts", function()
    local _, told = ask("treemap?by=module")
    assert.matches("^root retains .*, 100.0%% of the heap; by module$", told[1].line[1].text)
    assert.is_true(#told[2].table.rows > 3)
  end)

  it("refuses what is no key", function()
    for _, key in ipairs {"of=x", "by=class&of=0x1", "of=0x1", "by=place&of=0123456789abcdef"} do
      assert.is_string(ask_view(dir, "treemap?" .. key, "c").error, key)
    end
  end)
end)

describe("A flame graph", function()
  it("is the tree of places, down to the leaves", function()
    local answer = ask("flame")
    assert.equal("place", answer.by)
    assert_sums(answer, "retained_bytes")
    local name = find(answer.rows, ".name: 300 strings")
    assert.equal("_G.app.sessions[*].user.name", name.path)
    assert.equal(6, name.depth)
  end)

  it("has what was there before", function()
    local answer = ask("flame?against=0")
    local first = ask("flame?in=0")
    assert.equal(first.whole_bytes, answer.before_bytes)
    assert.equal(first.whole_bytes, answer.rows[1].before_bytes)
    assert.equal(find(first.rows, ".sessions: ").retained_bytes,
                 find(answer.rows, ".sessions: ").before_bytes)
    for _, row in ipairs(ask("flame").rows) do assert.is_nil(row.before_bytes) end
    for _, row in ipairs(ask("treemap?against=0").rows) do assert.is_nil(row.before_bytes) end
    assert.equal(first.whole_bytes, ask("treemap?against=0&by=class").rows[1].before_bytes)
  end)
end)
