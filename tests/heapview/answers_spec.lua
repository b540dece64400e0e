-- answers_spec.lua - what heapview answers to a page: the values are those of the commands' --json,
-- the words those of their text; each command to type next is a link; and what is no question, or
-- no value of a parameter, is refused in one sentence.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

local dir = support.take_leaking()

-- As many snapshots as a ladder takes: a cache that each step adds ten sessions to.
local many = select(2, support.lua(support.sessions .. [[
  cache = {}
  for i, name in ipairs {"a", "b", "c", "d"} do
    for k = 1, 10 do cache[#cache + 1] = session(i * k) end
    heap.snapshot(name)
  end
]]))

-- The answer to the question with this key, and the exit code of whoever asked.
local function ask(key, ...) return ask_view(dir, key, ...) end

local function json_of(...)
  return cjson.decode(support.answer({...}, dir))
end

-- Are all values of `answer` in the document?
local function assert_in(document, answer, key)
  local n = 0
  for name, value in pairs(answer) do
    assert.same(document[name], value, key .. ": " .. name)
    n = n + 1
  end
  assert.is_true(n > 0, key)
end

describe("An answer has the values of", function()
  for key, options in pairs {
    ["leaks"] = {}, ["suspects"] = {"--suspects"}, ["waste"] = {"--waste"},
    ["growing"] = {"--growing"}, ["modules"] = {"--modules"}, ["threads"] = {"--threads"},
    ["classes"] = {}, ["classes?limit=3&sort=count"] = {"-n", "3", "--sort", "count"},
    ["classes?garbage=1"] = {"--garbage"}, ["objects?limit=6"] = {"-n", "6"},
    ["objects?limit=4&type=string"] = {"-n", "4", "--type", "string"},
    ["epochs"] = {"--by", "epoch"}, ["under"] = {"--under", "root"},
    ["under?depth=2&limit=7"] = {"--under", "root", "--depth", "2", "-n", "7"},
  } do
    it("heaptop: " .. key, function()
      assert_in(json_of("heaptop", "--json", "c", table.unpack(options)), ask(key).answer, key)
    end)
  end

  it("heaptop, of the ledger; and of each snapshot by its number", function()
    for i, file in ipairs {"a", "b", "c"} do
      local answer = ask("info?in=" .. i - 1).answer
      assert.same(json_of("heaptop", "--json", file).snapshot, answer)
      assert.equal(answer.gc_bytes,
                   answer.bytes + answer.string_table_bytes + answer.unaccounted_bytes)
      assert.equal(answer.bytes, answer.reachable_bytes + answer.garbage_bytes)
    end
    assert.same(ask("info").answer, ask("info?in=2").answer)
  end)

  it("heaptop, of an object and of a class that it names", function()
    local row = ask("objects?limit=2").answer.objects[2]
    assert.same(json_of("heaptop", "--json", "--under", row.address, "c").rows,
                ask("under?at=" .. row.address).answer.rows)
    assert_in(json_of("heaptop", "--json", "--class", row.class, "c"),
              ask("class?class=" .. row.class).answer, row.class)
  end)

  it("heappath, of what a cut would free, with an object and without one", function()
    local at = ask("find?of=_G.bus.listeners").answer.address
    for _, of in ipairs {"_G.bus", "_G.log", "Listener"} do
      local wanted = json_of("heappath", "--json", "--cut", of, "c", at)
      local key = ("cut?at=%s&of=%s"):format(at, of)
      assert_in(wanted, ask(key).answer, key)
      assert.equal(of == "_G.bus", ask(key).answer.together.frees_it)
      wanted = json_of("heappath", "--json", "--what-if", "--cut", of, "c")
      assert_in(wanted, ask("cut?of=" .. of).answer, of)
    end
  end)

  it("heapdiff of three snapshots, of two, of the ladder and of the owners", function()
    assert.same(json_of("heapdiff", "--json", "a", "b", "c"), ask("diff").answer)
    assert.same(json_of("heapdiff", "--json", "a", "b"), ask("diff?in=1").answer)
    assert.same(json_of("heapdiff", "--json", "b", "c"), ask("diff", "b", "c").answer)
    assert.same(json_of("heapdiff", "--json", "--ladder", "a", "b", "c"), ask("ladder").answer)
    assert.same(json_of("heapdiff", "--json", "--owners", "a", "b", "c"), ask("owners").answer)
  end)

  it("as many rows as were asked for, and no more", function()
    local answer = ask_view(many, "strings?limit=2", "a", "d").answer
    assert.equal(2, #answer.strings)
    assert.is_true(#ask_view(many, "strings", "a", "d").answer.strings > 2)
  end)

  it("heapdiff of four snapshots", function()
    local function same(key, ...)
      local out = support.answer({"heapdiff", "--json", ...}, many)
      assert.same(cjson.decode(out), ask_view(many, key, "a", "b", "c", "d").answer)
    end
    same("ladder", "a", "b", "c", "d")
    same("owners", "--owners", "a", "b", "c", "d")
    same("compare", "--before", "a", "b", "--after", "c", "d")
  end)

  it("heapdiff of two programs, in which no object of one is looked for in the other", function()
    local other = support.take_leaking()
    local answer = ask("diff", other .. "/a", "c").answer
    assert.is_false(answer.same_state)
    assert.same(json_of("heapdiff", "--json", other .. "/a", "c"), answer)
  end)

  it("heapprof", function()
    local p = profiles.new {program = "lua5.4 x.lua"}
    p:stack(nil, {maker = "unattributed"})
    local site = p:stack(nil, {source = "@x.lua", name = "f", maker = "table", line = 3,
                               first_line = 1})
    for _ = 1, 500 do p:new("table", site, 56) end
    p:write(dir .. "/run.prof")
    local document = json_of("heapprof", "--json", "run.prof")
    local function of_profile(key, ...)
      return ask(key, "run.prof", ...)
    end
    assert.same(document.profile, of_profile("profile").answer)
    for _, key in ipairs {"findings", "allocations", "advice?limit=3"} do
      assert_in(document, of_profile(key).answer, key)
    end
    assert.same(json_of("heapprof", "--json", "--peak", "--by", "type", "run.prof").allocations,
                of_profile("allocations?by=type&sort=peak", "c").answer.allocations)
  end)
end)

describe("The words of an answer", function()
  local function text_of(parts)
    local texts = {}
    for i, part in ipairs(parts) do texts[i] = part.text end
    return table.concat(texts)
  end

  -- All of it as one text, blanks as one.
  local function words_of(told)
    local words = {}
    for _, piece in ipairs(told) do
      if piece.line then
        words[#words + 1] = text_of(piece.line)
      else
        for _, column in ipairs(piece.table.columns) do words[#words + 1] = column.heading end
        for _, row in ipairs(piece.table.rows) do
          for _, cell in ipairs(row.cells) do words[#words + 1] = cell.text end
          if row.below then words[#words + 1] = text_of(row.below) end
        end
      end
    end
    return (table.concat(words, " "):gsub("%s+", " "):gsub(" $", ""))
  end

  local function words_printed(...)
    return (support.answer({...}, dir):gsub("%s+", " "):gsub(" $", ""))
  end

  it("are those of the commands", function()
    for key, command in pairs {
      ["suspects"] = {"heaptop", "--suspects", "c"}, ["waste"] = {"heaptop", "--waste", "c"},
      ["modules"] = {"heaptop", "--modules", "c"}, ["diff"] = {"heapdiff", "a", "b", "c"},
      ["growing"] = {"heaptop", "--growing", "c"},
      ["ladder"] = {"heapdiff", "--ladder", "a", "b", "c"},
    } do
      local printed = words_printed(table.unpack(command))
      printed = printed:gsub(": %-n 0 shows all", ""):gsub(": %-%-garbage", "")
      assert.equal(printed, words_of(ask(key).told), key)
    end
  end)

  it("have a link where a command is to be typed, and where an object or a class is named",
     function()
    local told = ask("diff").told
    local last = told[#told].line
    local example = ask("diff").answer.grown[1].address -- it grew by more than the groups retain
    assert.equal("heappath c " .. example, last[2].text)
    assert.equal("/object?at=" .. example .. "&tab=paths", last[2].link)
    local classes = ask("classes?limit=1").told[2].table
    local cells = classes.rows[1].cells
    assert.matches("^/object%?class=", cells[#cells].link)
    for _, piece in ipairs(ask("diff?in=1").told) do
      for _, part in ipairs(piece.line or {}) do
        if part.link then assert.matches("&in=1%f[&\0]", part.link) end
      end
    end
  end)

  it("say how many rows there are besides, and have the numbers of cells", function()
    local answer = ask("classes?limit=3")
    local heading = answer.told[2].table
    assert.equal(3, #heading.rows)
    assert.equal(answer.answer.total_classes - 3, heading.hidden)
    assert.equal("classes", heading.rest)
    for i, row in ipairs(heading.rows) do
      assert.equal(answer.answer.classes[i].retained_bytes, row.cells[1].value)
      assert.is_true(row.cells[2].value > 0 and row.cells[2].value <= 1)
    end
    assert.equal("bytes", heading.columns[1].kind)
    assert.equal("retained_bytes", heading.columns[1].key)
  end)

  it("have the depth of a tree's rows", function()
    local rows = ask("under?limit=9").told
    local deepest = 0
    for _, piece in ipairs(rows) do
      for _, row in ipairs(piece.table and piece.table.rows or {}) do
        deepest = math.max(deepest, row.depth)
      end
    end
    assert.is_true(deepest > 1)
  end)
end)

describe("What was opened", function()
  it("is told with its marks, pages, and the questions of the verdict", function()
    local answer = ask("overview").answer
    assert.equal("heapview a b c", answer.command)
    assert.equal(0, select(3, support.run({"cp", "a", "./-o"}, {cwd = dir})))
    assert.equal("heapview -- -o c", ask("overview", "-o", "c").answer.command)
    assert.equal(3, #answer.snapshots)
    for i, file in ipairs {"a", "b", "c"} do
      local info = json_of("heaptop", "--json", file).snapshot
      assert.equal(file, answer.snapshots[i].file)
      assert.equal(info.objects, answer.snapshots[i].objects)
      assert.equal(info.gc_bytes, answer.snapshots[i].bytes)
    end
    assert.same(cjson.null, answer.profile)
    local last = -1
    for i, mark in ipairs(answer.marks) do
      assert.is_true(mark.position > last, i)
      last = mark.position
    end
    for _, key in ipairs(answer.verdict) do assert.is_not_nil(ask(key).answer, key) end
  end)

  it("may be one snapshot, or many", function()
    for first, files in pairs {["leaks?limit=20"] = {"c"}, ["diff?limit=20"] = {"a", "c"},
                               ["ladder?limit=20"] = {"a", "b", "c", "d"}} do
      local verdict = ask_view(many, "overview", table.unpack(files)).answer.verdict
      assert.equal(first, verdict[1])
      for _, key in ipairs(verdict) do
        assert.is_not_nil(ask_view(many, key, table.unpack(files)).answer, key)
      end
    end
  end)
end)

describe("Refused in one sentence is", function()
  local function refusal(key, ...)
    local document, code, out = ask(key, ...)
    assert.equal(1, code, key)
    assert.is_nil(document.answer, key)
    assert.is_nil(out:find("\n."), key)
    return document.error
  end

  it("what is no question", function()
    assert.equal("there is no question 'nothing'", refusal "nothing")
    assert.equal("there is no question ''", refusal "")
    assert.equal("'steps' is no question of its own", refusal "steps")
    assert.equal("what is cut?", refusal "cut")
    assert.matches("has no field 'none'", refusal "cut?of=_G.none")
    assert.equal("there is no question '\\x1B[31m\\x3Cb>'",
                 (refusal("\27[31m<b>"):gsub("\\27", "\\x1B"):gsub("<", "\\x3C")))
  end)

  it("what is no parameter, or no value of one", function()
    assert.equal("there is no parameter 'colour'", refusal "info?colour=red")
    assert.equal("in needs the number of a snapshot, 0 the first, not '3'", refusal "info?in=3")
    for _, value in ipairs {"", "-1", "x", "1x", "99999999999999999999", " 1", "0x10", "1e3"} do
      assert.equal("limit needs a number, not '" .. value .. "'", refusal("info?limit=" .. value))
      assert.matches("^in needs ", refusal("info?in=" .. value))
      assert.matches("^since needs ", refusal("info?since=" .. value))
    end
    assert.equal("garbage needs 0 or 1, not 'yes'", refusal "classes?garbage=yes")
    assert.equal("sort needs one of retained|shallow|count, not 'size'",
                 refusal "classes?sort=size")
    assert.equal("type needs a type such as table, not 'tables'", refusal "classes?type=tables")
    assert.equal("there is no snapshot number 9: the first is 0, the last 2",
                 refusal "info?against=9")
  end)

  it("an object that is not there, or has no such name", function()
    assert.equal("nothing is at 0x12 in c", refusal "under?at=0x12")
    assert.equal("nothing is at 0x12 in a", refusal "under?at=0x12&in=0")
    for _, value in ipairs {"", "0x", "12", "0x12g", "table: 0x12", "0xfffffffffffffffff"} do
      assert.truthy(#refusal("under?at=" .. value) > 0)
    end
  end)

  it("an answer that is too long, for which there would be no room at last", function()
    local big = select(2, support.lua [[
      local heap, name, all = require "heap", ("name"):rep(30), {}
      _G[name] = all
      for i = 1, 60000 do all[i] = {[name] = {}} end
      heap.snapshot "c"
    ]])
    for _, key in ipairs {"objects?limit=0", "objects?limit=4294967295"} do
      local document, code = ask_view(big, key, "c")
      assert.equal(1, code, key)
      assert.equal("the answer has more than 64.0 MB: ask for fewer rows by limit", document.error)
    end
    assert.equal(9000, #ask_view(big, "objects?limit=9000", "c").answer.objects)
  end)

  it("what there are not snapshots enough for", function()
    assert.equal("two or three snapshots are compared; here is one", refusal("diff", "c"))
    assert.equal("two or three snapshots are compared; here is one", refusal "diff?in=0")
    assert.equal("two or three snapshots are compared; here are more: a ladder tells of these",
                  refusal("diff", "a", "b", "c", "c"))
    assert.equal("one snapshot alone is no ladder", refusal("ladder", "c"))
    assert.equal("no profile was opened", refusal "allocations")
    assert.equal("which class?", refusal "class")
    assert.equal("which objects?", refusal "set")
  end)
end)
