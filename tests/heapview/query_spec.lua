-- query_spec.lua - SQL in heapview: what heapsql answers, by the same tables, with its guard and
-- its limits; in a child, so that no query ends more than itself.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local support = require "tests.common.support"

local dir = support.take_leaking()


-- A query has no & and no = here, as ask_view wants it.
local function ask(query, limit)
  local key = "sql?query=" .. query .. (limit and "&limit=" .. limit or "")
  return (ask_view(dir, key))
end

describe("A query answers what heapsql answers:", function()
  for _, query in ipairs {
    "select class, count(*), sum(shallow_bytes) from objects group by 1 order by 2 desc, 1",
    "select * from c.marks", "select text, length_bytes from c.strings order by id limit 50",
    "select class, path from c.objects where path_of(id) like '%listeners%' order by id",
    "with recursive t(i) as (select 1 union all select i + 1 from t limit 9) select i / 7.0 from t",
    "select null, 1.5, 'text', x'ff00', char(27, 10), 'ä<b>'", "pragma table_xinfo(objects)",
    "select 1 where false"
  } do
    it(query, function()
      local json = support.answer({"heapsql", "--json", "a", "b", "c", query}, dir)
      local expected, answer = cjson.decode(json).results[1], ask(query).answer
      assert.equal(false, answer.more)
      assert.same({"a", "b", "c"}, answer.snapshots)
      assert.equal(#expected.columns, #answer.columns)
      assert.equal(#expected.rows, #answer.rows)
      for i, row in ipairs(answer.rows) do
        for k, cell in ipairs(row) do
          assert.equal(expected.rows[i][expected.columns[k]], cell, query)
        end
      end
    end)
  end
end)

it("What a query must not do is refused as by heapsql, in one sentence", function()
  for _, query in ipairs {
    "select * from nowhere", "select nowhere from objects", "selec 1", "attach 'x' as y",
    "create table x(y)", "pragma writable_schema(1)", "select load_extension('x')",
    "vacuum into 'x'",
    "select readfile('a')", "select zeroblob(1000000000000)", "delete from objects", "("
  } do
    local _, err, code = support.run({"heapsql", "a", "b", "c", query}, {cwd = dir})
    assert.equal(2, code, query)
    assert.equal(err:match "^heapsql: ([^\n]*)", ask(query).error, query)
  end
  local two = "one query at a time: there is more behind the first"
  assert.equal(two, ask("select 1; select 2").error)
  assert.equal("the query is empty", ask("  ; -- nothing").error)
  assert.equal("the query is empty", ask("").error)
  assert.same({{1}}, ask("select 1; -- and no more").answer.rows)
end)

it("Rows end at a limit, and it is told that there are more", function()
  local endless = "with recursive t(i) as (select 1 union all select i + 1 from t) select i from t"
  local answer = ask(endless).answer
  assert.equal(1000, #answer.rows)
  assert.is_true(answer.more)
  answer = ask(endless, 3).answer
  assert.same({{1}, {2}, {3}}, answer.rows)
  assert.is_true(answer.more)
  assert.equal(100000, #ask(endless, 0).answer.rows)
  assert.equal("the answer has more than 64.0 MB: ask for fewer rows",
    ask("select hex(zeroblob(30000000)) from objects").error)
end)

it("Numbers that a script would round are texts", function()
  assert.same({{9007199254740992, "9007199254740993", "-9223372036854775808"}},
    ask("select 9007199254740992, 9007199254740993, -9223372036854775807 - 1").answer.rows)
end)

it("The tables are told with their columns", function()
  local answer, seen, tables = ask_view(dir, "tables", "a", "b").answer, {}, {}
  assert.same({"table", "column", "type", "hidden"}, answer.columns)
  for _, row in ipairs(answer.rows) do
    if not seen[row[1]] then tables[#tables + 1] = row[1] end
    seen[row[1]] = true
  end
  assert.same({"objects", "edges", "entries", "strings", "classes", "threads", "frames", "sites",
               "stacks", "modules", "marks", "info"}, tables)
end)
