-- suspects_spec.lua - `heaptop --suspects`: from one snapshot the leak is named with its place, its
-- number and its bytes; what every program has is not; and where there is none, that is said.

local cjson = require "cjson"
local support = require "tests.common.support"

local function take(program, options)
  return select(2, support.lua(support.sessions .. program .. "\nheap.snapshot 's'", options))
end

local function ask(dir, ...)
  return support.answer({"heaptop", "--suspects", ...}, dir)
end

-- The sentences, without the bytes and what stands below.
local function sentences(dir)
  local list = {}
  for line in ask(dir, "s"):gmatch("[^\n]+") do
    local sentence, share = line:match("^(%S.-), [%d,.]+ %a+, ([%d.]+)%% of the heap$")
    assert.truthy(sentence or line:find("^    "), line)
    if sentence then
      assert.is_true(tonumber(share) >= 10, line)
      list[#list + 1] = sentence
    end
  end
  return list
end

local cases = {}

-- _G -.sessions-> map -[*]-> 2,000 Session -.input-> {} --> string
cases["many in one place"] = {
  [[sessions = {} for i = 1, 2000 do sessions["s" .. i] = session(i) end]],
  "_G.sessions holds 2,000 Session tables"}

-- _G -.app-> {} -.pool-> {} -.free-> array --> 2,000 Session
cases["the place is found from above"] = {
  [[app = {pool = {free = {}}} for i = 1, 2000 do app.pool.free[i] = session(i) end]],
  "_G.app.pool.free holds 2,000 Session tables"}

-- package.loaded -["heap"]-> {} -.items-> array --> 2,000 Session      another module of that name
cases["another module that is called heap"] = {
  [[package.loaded.heap = {items = {}, push = function() end}
    for i = 1, 2000 do package.loaded.heap.items[i] = session(i) end]],
  'package.loaded["heap"].items holds 2,000 Session tables'}

-- _G -.app-> {} -.a-> array --> 2,000 Session       neither has 0.7 of app
--             +-.b-> array --> 2,000 {x, y}
cases["two below one object"] = {
  [[app = {a = {}, b = {}}
    for i = 1, 2000 do
      app.a[i] = session(i)
      app.b[i] = {x = i, y = {("z"):rep(80) .. i}}
    end]],
  "_G.app.a holds 2,000 Session tables", "_G.app.b holds 2,000 {x, y} tables"}

-- _G -.shards-> array -[1..16]-> map -[*]-> Session
cases["few that hold many"] = {
  [[shards = {} for i = 1, 16 do shards[i] = {} end
    for i = 1, 4000 do shards[i % 16 + 1]["s" .. i] = session(i) end]],
  "_G.shards holds 4,000 Session tables"}

-- _G -.list-> {next, value} -.next-> {next, value} -.next-> ...     the last has no next
cases["a linked list"] = {
  [[for i = 1, 20000 do list = {value = i, next = list} end]],
  "_G.list begins a list of 19,999 {next, value} tables"}

-- _G -.queue-> {first, last}; first -.next-> ... <-.prev- last: nobody dominates another
cases["a list that is linked both ways"] = {
  [[queue = {}
    for i = 1, 5000 do
      local element = {value = i, prev = queue.last}
      if queue.last then queue.last.next = element else queue.first = element end
      queue.last = element
    end]],
  "_G.queue holds 4,998 {next, prev, value} tables"}

-- _G -.list-> {1, -[2]-> {2, -[2]-> ...}}
cases["a list without names"] = {
  [[for i = 1, 20000 do list = {i, list} end]],
  "_G.list begins a list of 19,998 array tables"}

-- _G -.chain-> function --> upvalue next --> function --> ...
cases["a chain of functions"] = {
  [[chain = print
    for i = 1, 20000 do local next = chain  chain = function() return next(i) end end]],
  "_G.chain begins a list of 20,000 x function chain @program.lua:7"}

-- _G -.root-> Element -.children-> array -[1..5]-> Element ...
cases["a tree"] = {
  [[local Element = {__name = "Element"}
    local function grow(depth)
      local children = {}
      for i = 1, depth > 0 and 5 or 0 do children[i] = grow(depth - 1) end
      return setmetatable({children = children}, Element)
    end
    root = grow(5)]],
  "_G.root is the root of a tree of 3,906 Element tables"}

-- _G -.lists-> array -[1..100]-> {next, value} -.next-> 49 more
cases["many lists"] = {
  [[lists = {}
    for i = 1, 100 do
      for k = 1, 50 do lists[i] = {value = k, next = lists[i]} end
    end]],
  "_G.lists holds 4,900 {next, value} tables"}

-- _G -.by_id-> array -+-> Session          which neither index has alone
-- _G -.by_name-> map -+
cases["one index more than one"] = {
  [[by_id, by_name = {}, {}
    for i = 1, 4000 do
      by_id[i] = session(i)
      by_name["s" .. i] = by_id[i]
    end]],
  "_G.by_name holds 4,000 strings"}

-- package.loaded -.app-> module -.all-> array --> 4,000 Session
cases["in a module, which is walked through"] = {
  [[package.loaded.app = {all = {}, name = "app"}
    for i = 1, 4000 do package.loaded.app.all[i] = session(i) end]],
  'package.loaded["app"].all holds 4,000 Session tables'}

-- function --> upvalue kept --> {}
cases["numbers"] = {
  [[history = {} for i = 1, 50000 do history[i] = i end]],
  "_G.history is big by itself: array of number with 50,000 entries"}

cases["one long string"] = {
  [[config = {text = ("y"):rep(1e6)}]],
  '_G.config.text is big by itself: string "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy..."'}

-- table -.k..-> tables of hundreds of shapes
cases["documents of many shapes"] = {
  [[documents = {}
    for i = 1, 3000 do
      local document = {}
      for k = 0, i % 7 do document["k" .. i * (k + 1) % 97] = {value = i .. ""} end
      documents[i] = document
    end]],
  "_G.documents holds "}

-- A table with weak keys holds its values by its keys:  _G -.keys-> {} -[*]-> {} ~~> Session
cases["what an ephemeron holds"] = {
  [[keys, data = {}, setmetatable({}, {__mode = "k"})
    for i = 1, 3000 do
      keys[i] = {}
      local key = keys[i]
      data[key] = session(i)
    end]],
  "_G.keys holds 3,000 {} tables"}

describe("heaptop --suspects tells", function()
  for name, case in pairs(cases) do
    it(name, function()
      local found = sentences(take(case[1]))
      for i = 2, #case do
        assert.truthy(found[i - 1] and found[i - 1]:find(case[i], 1, true),
                      case[i] .. " is not in:\n" .. table.concat(found, "\n"))
      end
    end)
  end

  it("a deep recursion", function()
    local dir = select(2, support.lua [[
      local heap = require "heap"
      local function down(n, ...)
        if n == 0 then heap.snapshot "s" else return 1 + down(n - 1, ...) end
      end
      pcall(down, 900, table.unpack({}, 1, 200))
    ]])
    assert.matches("^main thread is big by itself: main thread with a stack of 90%d frames, ",
                   ask(dir, "s"))
  end)

  it("who holds the function whose variable holds", function()
    local dir = take [[
      local function keep(s)
        for i = 1, 1000 do s[i] = session(i) end
        return function() return s end, function() s = nil end
      end
      handlers, out = {}, {}
      handlers[1], out[1] = keep({})
    ]]
    assert.match("^upvalue s of function @[^ ]+ in _G.%a+%[1%] holds 1,000 Session",
                 sentences(dir)[1])
  end)

  -- _G -.all-> map -[*]-> 500 each of n classes, all of one size
  local function classes(n)
    return ([[
      all, kinds = {}, {}
      for k = 1, %d do
        kinds[k] = {__name = "Class" .. k}
        for i = 1, 500 do
          all[#all + 1] = setmetatable({a = i, b = {("x"):rep(60) .. k .. i}}, kinds[k])
        end
      end]]):format(n)
  end

  it("in lines that add up to what it says", function()
    for n = 1, 6 do
      for line, lines in ask(take(classes(n)), "--bytes", "s")
          :gmatch("(_G%.all holds [^\n]+)\n(.-)\n    Why") do
        local sum = 0
        for bytes in lines:gsub("[%d,]+ B each[^\n,]*", ""):gmatch("([%d,]+) B") do
          sum = sum + tonumber((bytes:gsub(",", "")))
        end
        local all = tonumber((line:match("([%d,]+) B"):gsub(",", "")))
        if n > 1 then assert.equal(all, sum, line .. "\n" .. lines) end
      end
    end
  end)

  it("no class without its name", function()
    for n = 3, 6 do
      local out = ask(take(classes(n)), "s")
      assert.is_nil(out:find("of 1 class", 1, true), out)
      assert.equal(n > 4, out:find("1,000 other objects of 2 classes", 1, true) ~= nil or
                          out:find("1,500 other objects of 3 classes", 1, true) ~= nil, out)
    end
  end)

  it("what to type next, which answers", function()
    for _, name in ipairs {"many in one place", "one index more than one", "a linked list"} do
      local dir = take(cases[name][1])
      local command = ask(dir, "s"):match("\n    Why [^\n]-: (heappath [^\n]+)\n")
      local out, err, code = support.run(command, {cwd = dir})
      assert.equal("", err)
      assert.equal(0, code)
      assert.matches(" is kept alive by: ", out, 1, true)
    end
  end)

  -- _G -.app-> {} -.a-> array -[*]-> {} -[1]-> 500 {text}     they go with app only, but a and b
  --             +-.b-> array -[*]-> {} -[1]-> the same        hold them
  it("how to ask what holds them, where that is not what they go with", function()
    local dir = take [[
      app = {a = {}, b = {}}
      for i = 1, 500 do
        local data = {text = ("x"):rep(400) .. i}
        app.a[i], app.b[i] = {data}, {data}
      end
    ]]
    local out = ask(dir, "s")
    assert.matches("^_G%.app holds 500 {text} tables", out)
    assert.matches("\n    What holds them: heappath %-%-set '{text}' s\n", out)
    local list = require "heap.reader".open(dir .. "/s"):suspects()
    assert.matches('\n    What holds them: SNAPSHOT:ways("{text}")', tostring(list), 1, true)
    local _, _, code = support.run("heappath --format text --set '{text}' s", {cwd = dir})
    assert.equal(0, code)
    local many = take [[sessions = {} for i = 1, 2000 do sessions["s" .. i] = session(i) end]]
    assert.not_matches("What holds them", ask(many, "s"))
    list = require "heap.reader".open(many .. "/s"):suspects()
    assert.not_matches("What holds them", tostring(list))
  end)

  it("nothing of what luaheap has itself, be it half of the heap", function()
    local own = [[require "heap.leaks" require "heap.show" heap.capture():close()]]
    assert.matches("^Nothing suspicious: [^\n]*\n$", ask(take(own), "s"))
  end)

  it("that nothing is suspicious, in one line", function()
    local dir = take ""
    assert.matches("^Nothing suspicious: no place holds 16.0 KB, [%d.]+%% of the " ..
                   "heap\n$", ask(dir, "s"))
    local json = cjson.decode(ask(dir, "--json", "s"))
    assert.equal(0, json.total_suspects)
    assert.equal(0, #json.suspects)
    assert.equal(16384, json.least_bytes)
  end)
end)

describe("heaptop --suspects --json", function()
  it("has the figures, which fit the heap", function()
    local dir = take(cases["two below one object"][1])
    local json = cjson.decode(ask(dir, "--json", "s"))
    assert.equal(2, json.total_suspects)
    local bytes = 0
    for i, class in ipairs {"Session", "{x, y}"} do
      local suspect = json.suspects[i]
      assert.equal("holder", suspect.kind)
      assert.equal(i == 1 and "_G.app.a" or "_G.app.b", suspect.held_by)
      assert.equal(1, suspect.total_classes)
      assert.equal(class, suspect.accumulated[1].class)
      assert.equal("table", suspect.accumulated[1].type)
      assert.equal(2000, suspect.accumulated[1].objects)
      assert.is_true(suspect.accumulated[1].retained_bytes < suspect.retained_bytes)
      bytes = bytes + suspect.retained_bytes
    end
    assert.is_true(bytes > 0.8 * json.snapshot.reachable_bytes)
    assert.is_true(bytes < json.snapshot.reachable_bytes)
  end)

  it("shows no more than -n", function()
    local dir = take(cases["two below one object"][1])
    local json = cjson.decode(ask(dir, "--json", "-n", "1", "s"))
    assert.equal(2, json.total_suspects)
    assert.equal(1, #json.suspects)
    assert.matches("\nand 1 more suspect", ask(dir, "-n", "1", "s"))
  end)
end)

describe("a report of heaptop", function()
  it("is asked for alone", function()
    for _, option in ipairs {"--by=class", "--garbage", "--sort=count", "--type=table"} do
      local out, err, code = support.run({"heaptop", "--suspects", option, "s"})
      assert.equal("", out)
      assert.equal(2, code)
      assert.truthy(err:find("^heaptop: %-%-suspects goes with no %-%-by, %-%-sort, "), err)
    end
  end)

  it("tells of a file whose name looks like an option what can be typed", function()
    local dir = take(cases["many in one place"][1])
    support.run({"mv", "s", "--", "-s"}, {cwd = dir})
    local out = ask(dir, "--", "-s")
    for _, tool in ipairs {"heappath", "heaptop"} do
      local question = out:match(": (" .. tool .. " [^\n]*)")
      local _, err, code = support.run(question, {cwd = dir})
      assert.same({0, ""}, {code, err}, question)
    end
  end)
end)
