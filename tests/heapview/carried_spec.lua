-- carried_spec.lua - the report of heapview -o: one file with a page and the answers that it may
-- ask for, the same for the same snapshots, of bounded size, whole or not there. Each answer in it
-- is that part of the served one that the page reads, and is found by its key.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local lfs = require "lfs"
local mime = require "mime"
local support = require "tests.common.support"

local MOST_BYTES = 5000000

local function write(dir, ...)
  local name = dir .. "/report.html"
  os.remove(name)
  assert.equal("", support.answer({"heapview", "-o", "report.html", ...}, dir))
  return support.read_file(name)
end

-- A deflated text of JSON: gzip inflates what is in zlib's frame, and misses the end of its own.
local function inflated(text)
  local packed, name = mime.unb64(text), support.tmpname()
  support.write_file(name, "\x1F\x8B\8\0\0\0\0\0\0\3" .. packed:sub(3, -5))
  local out = support.run("gzip -dc <" .. name .. " 2>/dev/null")
  os.remove(name)
  return cjson.decode(out)
end

-- What the page finds in its element, as a browser cuts it out, with all answers as `questions`.
local function carried_in(page)
  local text = page:match('<script type="application/json" id="carried">(.-)</script>')
  local carried = cjson.decode(text)
  for i, keys in ipairs(inflated(carried.index)) do
    local piece, n = inflated(carried.pieces[i]), 0
    for key, answer in pairs(piece) do
      assert.is_nil(carried.questions[key], key)
      carried.questions[key] = answer
      n = n + 1
    end
    assert.equal(#keys, n)
    for _, key in ipairs(keys) do assert.is_not_nil(piece[key], key) end
  end
  return carried, text
end

-- The same question to whoever answers without a page.
local function asked(dir, key, ...)
  local plain = key:gsub("%%(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end)
  return (ask_view(dir, plain, ...))
end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- ==== Sums ============================================================================

-- Of a tree in preorder: the bytes of what is directly below a row, each by its depth.
local function assert_tree(key, rows)
  local open = {}
  local function close(depth)
    while #open > depth do
      local row = table.remove(open)
      if row.below then assert.equal(row.bytes, row.below, key .. ": " .. row.text) end
    end
  end
  for _, row in ipairs(rows) do
    close(row.depth)
    assert.equal(row.depth, #open, key)
    local above = open[#open]
    if above then above.below = (above.below or 0) + row.retained_bytes end
    open[#open + 1] = {bytes = row.retained_bytes, text = row.text}
  end
  close(0)
end

local function sum(list, field)
  local n = 0
  for _, item in ipairs(list) do n = n + (field and item[field] or item) end
  return n
end

local function assert_timeline(key, answer)
  assert.equal(answer.bytes, sum(answer.bin_bytes), key)
  assert.equal(answer.objects, sum(answer.bin_objects), key)
  for i, bytes in ipairs(answer.bin_bytes) do
    local layers = 0
    for _, layer in ipairs(answer.layers) do layers = layers + layer.bin_bytes[i] end
    assert.equal(bytes, layers, key)
  end
end

local function assert_map(key, answer)
  assert.equal(answer.shallow_bytes, answer.mapped_bytes + answer.beside_bytes, key)
  assert.equal(answer.mapped_bytes, sum(answer.types, "mapped_bytes"), key)
  assert.equal(answer.mapped_bytes, sum(answer.regions, "mapped_bytes"), key)
end

-- Whatever was left out, each picture adds up to the byte. How many of each there were.
local function assert_sums(carried)
  local n = {treemap = 0, flame = 0, timeline = 0, map = 0}
  for key, answer in pairs(carried.questions) do
    local name, a = key:match("^[^?]*"), answer.answer
    if a and n[name] then
      n[name] = n[name] + 1
      if name == "timeline" then
        assert_timeline(key, a)
      elseif name == "map" then
        assert_map(key, a)
      else
        assert_tree(key, a.rows)
      end
    end
  end
  return n
end

-- =====================================================================================

describe("A report of a small heap", function()
  local dir = support.take_leaking()
  local page = write(dir, "a", "b", "c")
  local carried, text = carried_in(page)

  it("has what the first page tells, and the answers are those that are served", function()
    local names, n_names = {}, 0
    for _, key in ipairs(carried.questions.overview.answer.verdict) do
      assert.is_not_nil(carried.questions[key], key)
    end
    -- Of what is retained elsewhere only who has asked there knows.
    local function without_others(answer)
      if answer.answer then answer.answer.elsewhere = nil end
      return answer
    end
    -- Of the text it may have the lines alone.
    local function assert_part(key, part, whole)
      local lines = {}
      for _, item in ipairs(whole.told or {}) do
        if item.line then lines[#lines + 1] = item end
      end
      if key:find "^fields" then whole.told = lines end
      assert.is_not_nil(next(part), key)
      for name, value in pairs(part) do assert.same(whole[name], value, key) end
    end
    for key, answer in pairs(carried.questions) do
      local name = key:match("^[^?]*")
      names[name] = (names[name] or 0) + 1
      if key ~= "overview" and names[name] <= 4 then -- each takes a process
        assert_part(key, without_others(answer), without_others(asked(dir, key, "a", "b", "c")))
      end
    end
    for _ in pairs(names) do n_names = n_names + 1 end
    assert.is_true(n_names > 12)
  end)

  it("says which pages it has", function()
    for _, page_name in ipairs(carried.questions.overview.answer.pages) do
      assert.not_equal("sql", page_name)
    end
  end)

  it("is complete: each object that is named in it has its page, in each snapshot", function()
    assert.equal(carried.named, carried.objects)
    assert.is_true(carried.objects > 30 and carried.objects <= carried.all)
    local there = {}
    for i, file in ipairs {"a", "b", "c"} do
      there[i - 1] = support.answer({"heapsql", "--csv", file, "select address from objects"}, dir)
    end
    for key, answer in pairs(carried.questions) do
      local snapshot = key:match("in=(%d)")
      local addresses = there[tonumber(snapshot or 2)]
      for address in cjson.encode(answer.answer or {}):gmatch('"(0x%x+)"') do
        local of = ("object?at=%s%s"):format(address, snapshot and "&in=" .. snapshot or "")
        if addresses:find(address, 1, true) then -- of another snapshot, else
          assert.is_not_nil(carried.questions[of], key .. ": " .. of)
        end
      end
    end
  end)

  it("is the same each time, and only its user can read it, as a snapshot", function()
    assert.equal(page, write(dir, "a", "b", "c"))
    assert.equal("rw-------", lfs.attributes(dir .. "/report.html", "permissions"))
  end)

  it("has pictures that add up to the byte, of all and of what was allocated from mark to mark",
     function()
    for name, n in pairs(assert_sums(carried)) do assert.is_true(n >= 3, name) end
    local marks = carried.questions.overview.answer.marks
    local interval = ("since=%d&until=%d"):format(marks[1].position, marks[2].position)
    for _, key in ipairs {"interval?limit=20&", "treemap?", "treemap?by=class&", "flame?"} do
      local answer = carried.questions[key .. interval]
      assert.is_not_nil(answer, key)
      assert.is_nil(answer.error, key)
    end
  end)

  it("has nothing in it that ends its element", function()
    assert.is_nil(text:find("<", 1, true))
  end)
end)

describe("A report of more than fits", function()
  -- Sessions, each of its own size, which hold one another's strings: 300,000 objects, and with
  -- sanitizers a fortieth of it.
  local dir = select(2, support.lua(support.sessions .. [[
    heap.snapshot "a"
    sessions = {}
    for i = 1, tonumber(arg[1]) do
      sessions[i] = session(i)
      sessions[i].before = sessions[i // 2]
    end
    heap.snapshot "b"
  ]], {args = {support.sanitized and 1500 or 60000}}))

  local page = write(dir, "a", "b")
  local carried = carried_in(page)

  it("takes at most 5 MB, and says how many objects have a page in it", function()
    assert.is_true(#page <= MOST_BYTES, #page)
    assert.is_true(carried.objects <= carried.named)
    assert.is_true(carried.named <= carried.all)
    assert.is_true(carried.objects > 1000)
    assert.is_true(count(carried.questions) > carried.objects)
  end)

  it("has pictures that add up to the byte", function() assert_sums(carried) end)

  it("takes as many passes over the heap as its files are big", function()
    local a, b = lfs.attributes(dir .. "/a", "size"), lfs.attributes(dir .. "/b", "size")
    local n, work = {under = 0, class = 0}, 16000000 + 20 * (a + b)
    for key in pairs(carried.questions) do
      local name = key:match("^(%l+)%?.*limit=20$")
      if n[name] and not key:find("in=0", 1, true) then n[name] = n[name] + 1 end
    end
    assert.is_true(n.under > 1 and n.under * (b // 3 + 45000) <= work // 8, n.under)
    assert.is_true(n.class > 1 and n.class * (b * 2 // 5) <= work // 16, n.class)
  end)

  it("has the biggest objects", function()
    local rows = asked(dir, "objects?limit=20", "a", "b").answer.objects
    assert.equal(20, #rows)
    for _, row in ipairs(rows) do
      assert.is_not_nil(carried.questions["object?at=" .. row.address], row.address)
    end
  end)
end)

-- What is told of an object is counted in steps from the root to it, and in bytes of text.
describe("A report of a long list", function()
  local NEAR, FAR = 64, 4000
  local dir = select(2, support.lua [[
    local heap = require "heap"
    for i = 1, 6000 do list = {next = list} end
    for i = 1, 300 do _G["near" .. i] = {{}} end
    heap.snapshot "a"
  ]])
  local carried = carried_in(write(dir, "a"))
  local work = 16000000 + 20 * lfs.attributes(dir .. "/a", "size")
  local most, sum_of_far, n_near, n_far = 0, 0, 0, 0
  for key, answer in pairs(carried.questions) do
    local path = key:match "^paths%?at=0x" and answer.answer.paths[1]
    local n = path and path.total_steps
    most = math.max(most, n or 0)
    if n and n <= NEAR then n_near = n_near + 1 end
    if n and n > NEAR then n_far, sum_of_far = n_far + 1, sum_of_far + n end
  end

  it("has those objects that are not far from the root", function()
    assert.is_true(most <= FAR, most)
    assert.is_true(10 * sum_of_far <= work // 4, sum_of_far)
    assert.is_true(n_far > 400, n_far)
  end)

  it("has all that are near it, as the list does not take their room", function()
    assert.is_true(n_near > 600 + NEAR, n_near)
  end)
end)

describe("A report is not written", function()
  local dir = support.take_leaking()

  local function fails(sentence, options, ...)
    options.cwd = dir
    local out, err, code = support.run({"heapview", "-o", ...}, options)
    assert.equal("", out)
    assert.matches(sentence, err)
    assert.equal(2, code)
  end

  it("over what is no report: somebody forgot its name", function()
    local a = support.read_file(dir .. "/a")
    fails("^heapview: a: there is a file which is no report", {}, "a", "b", "c")
    assert.equal(a, support.read_file(dir .. "/a"))
  end)

  it("where there is no such directory, or no room; and the older one stays", function()
    fails("^heapview: [^\n]*no/report.html", {}, "no/report.html", "c")
    local old = write(dir, "c")
    fails("^heapview: [^\n]*report.html", {before = "ulimit -f 20; trap '' XFSZ;"}, "report.html",
          "a", "b", "c")
    assert.equal(old, support.read_file(dir .. "/report.html"))
    for name in lfs.dir(dir) do assert.is_nil(name:find("report.html.", 1, true), name) end
  end)

  it("which is said before a snapshot is read, and nothing is left there", function()
    local function names()
      local list = {}
      for name in lfs.dir(dir) do list[#list + 1] = name end
      table.sort(list)
      return list
    end
    local before = names()
    fails("^heapview: cannot write 'no/report.html'", {}, "no/report.html", "none")
    fails("^heapview: a: there is a file which is no report", {}, "a", "none")
    fails("^heapview: [^\n]*none", {}, "new.html", "none")
    assert.same(before, names())
  end)

  it("of a file that is cut", function()
    support.write_file(dir .. "/cut", support.read_file(dir .. "/c"):sub(1, 9000))
    fails("^heapview: [^\n]*cut[^\n]*\n", {}, "cut.html", "cut")
    assert.is_nil(lfs.attributes(dir .. "/cut.html"))
  end)
end)
