-- cli_hostile_spec.lua - names and strings that try to get out of the text in which they are
-- printed: to the terminal, into another column or row, out of a JSON string or a page, into DOT.
-- One heap has 400 of them (see hostile.lua) in every place that has a name; what is printed of it
-- is parsed again and compared with what hostile.lua says that it must be.

local cjson = require "cjson"
local hostile = require "tests.common.hostile"
local support = require "tests.common.support"
local svg = require "tests.common.svg"
local reader = require "heap.reader"
local sealed = require "lua_heapread".sealed

local run, quote = support.run, support.quote
local seed = 1
-- With sanitizers there is a third of those that are made at random, and a fourth of the names is
-- tried where each has a command of its own.
local n_random = support.is_tried(1, 3) and 300 or 100
local names = hostile.names(seed, n_random)
local one_in = support.is_tried(1, 4) and 1 or 4
local n_cases, n_survived = 0, 0 -- names in each of the outputs that were checked

describe(("a heap of hostile names (seed %d)"):format(seed), function()
  local dir
  setup(function()
    local args = {}
    for i = 1, 40 do args[i] = names[i]:gsub("%z.*", "") end
    dir = select(2, support.lua(hostile.heap(seed, n_random), {args = args}))
    support.lua('require "heap".snapshot "other"', {cwd = dir, name = "other.lua"})
  end)
  teardown(function()
    io.write(("\nfaults: hostile names in text, JSON and DOT: %d cases, %d survived\n")
      :format(n_cases, n_survived))
  end)

  -- What a command prints on stdout, with nothing on stderr and nothing that does harm; colours are
  -- the command's own. It is about all names, or about `n`.
  local function output(words, n, environment)
    n_cases = n_cases + (n or #names)
    local out, errors, code = run(words, {cwd = dir, env = environment})
    local plain = out:gsub("\27%[[%d;]*m", "")
    assert.equal("", errors)
    assert.equal(0, code)
    assert.is_nil(hostile.faults(plain))
    n_survived = n_survived + (n or #names)
    return plain
  end

  local function json(words, n)
    local out = output(words, n)
    local parser = cjson.new()
    parser.decode_invalid_numbers(false)
    assert.is_nil(out:find("[<>]"))
    return parser.decode(out)
  end

  -- ==== Text ====

  -- The lines of the table whose heading is this.
  local function rows(text, heading)
    local list, begun = {}, false
    for line in text:gmatch("[^\n]*") do
      if begun and line == "" then return list end
      if begun then list[#list + 1] = line end
      begun = begun or line:match(heading .. "$") ~= nil
    end
    error("no table of " .. heading)
  end

  -- The texts as a column of a table, as wide as the widest and its heading.
  local function column(heading, texts)
    local width, padded = #heading, {}
    for _, text in ipairs(texts) do width = math.max(width, hostile.width(text)) end
    for i, text in ipairs(texts) do padded[i] = text .. (" "):rep(width - hostile.width(text)) end
    return padded
  end

  local function field(list, name)
    local values = {}
    for i, element in ipairs(list) do values[i] = element[name] end
    return values
  end

  -- The last two columns of a table are exactly what JSON says, aligned. (A table shows only the
  -- beginning of a key that is very long.)
  local function same(text, heading, list, name)
    local lines, classes, n = rows(text, heading), column("class", field(list, "class")), 0
    for i, element in ipairs(list) do
      local expected = ("  %s  %s"):format(classes[i], element[name])
      if not lines[i]:find('..."]', 1, true) or element[name]:find('..."]', 1, true) then
        assert.equal(expected, lines[i]:sub(-#expected))
        n = n + 1
      end
    end
    assert.is_true(n > 0.9 * #list)
  end

  it("stays text in every table", function()
    for _, command in ipairs {
      "heaptop -n 0 c", "heaptop -n 0 --garbage c", "heaptop -n 0 --color=always c",
      "heaptop -n 0 --by object --type string,proto,upvalue c", "heaptop -n 0 cut",
      "heaptop --by epoch c", "heaptop --under root -n 0 --depth 9 c", "heaptop --modules -n 0 c",
      "heaptop --threads -n 0 c", "heapdiff -n 0 a b c", "heapdiff -n 0 a c",
      "heapdiff -n 0 --since a c",
      "heapdiff -n 0 --factor 2 --color=always --fingerprints a b c",
      "heapdiff -n 0 --ladder --color=always --fingerprints a b c",
      "heapdiff -n 0 --owners a c", "heapdiff -n 0 --before a b --after b c",
      "heapdiff -n 0 other c",
      "heapsql c 'select * from classes'",
      "heappath --format text -k 500 c TARGET", "heappath --format text --referrers -n 0 c TARGET",
      "heappath --format text -n 0 --set 'select id from objects' c",
      "heappath --format text c TARGET", "heappath --format text --ignore '_G.x*' c TARGET",
      "heapsql c 'select *, path, held_by from objects'", "heapsql c 'select * from strings'",
      "heapsql c 'select * from edges'", "heapsql c 'select * from entries'",
    } do assert.is_true(#output(command) > 0, command) end
    for _, command in ipairs {
      "heapsql c 'select * from marks'", "heapsql c 'select * from info'",
      "heappath --format text --color=always c 'C[9]'", "heapcheck a b c cut",
      "heaptop --suspects c", "heaptop --under H c", "heaptop -n 0 --class '{}' c",
      "heappath --what-if --cut H --cut '_G.*' --cut 'C[*]' c TARGET",
      "heaptop -n 0 --waste c", "heaptop --waste cut",
      "heaptop --leaks -n 0 c", "heaptop --growing -n 0 c",
      "heappath --format text --dominators c 'H[*]'", "heaptop -n 0 --by epoch c",
    } do assert.is_true(#output(command, 1) > 0, command) end
  end)

  it("is the same text in aligned tables as in JSON", function()
    local command = "heaptop -n 0 --by object --type table,closure,thread c"
    same(output(command), "class +path", json(command .. " --json").objects, "held_by")
    command = "heapdiff -n 0 a b c"
    same(output(command), "class +held by", json(command .. " --json").groups, "held_by")
  end)

  it("is the same text whatever the locale, and in colours", function()
    local command = "heaptop -n 100 --by object c"
    local expected = output(command, 100)
    for _, locale in ipairs {"C", "POSIX", "no_SUCH.UTF-8"} do
      assert.equal(expected, output(command, 100, {LC_ALL = locale}))
    end
    command = command .. " --color=always"
    assert.equal(expected, output(command, 100, {LC_ALL = "C", NO_COLOR = "1"}))
  end)

  it("fits a terminal, but for names and keys that are too long, which stay whole", function()
    local long_name = ("[^ .,]"):rep(12)
    for _, command in ipairs {
      "heaptop -n 200 --by object c", "heapdiff -n 200 a b c", "heappath c 'C[50]'",
      "heappath c TARGET", "heappath --what-if --cut H --cut 'C[*]' c TARGET",
      "heaptop --modules -n 200 c", "heaptop --under root -n 50 c", "heaptop --waste -n 50 c",
      "heaptop --class string -n 200 c", "heaptop --class '{}' -n 200 c",
      "heapdiff -n 200 --ladder a b c", "heapdiff -n 200 --owners a c",
      "heapdiff -n 200 --before a b --after b c", "heapdiff -n 200 other c",
      "heapsql c 'select path from objects'", "heappath -n 200 --set 'select id from objects' c"
    } do
      local out, n = support.on_terminal(command, {cwd = dir}), 0
      if not out then return end
      local plain = out:gsub("\27%[[%d;]*m", ""):gsub("^.-\n\n", "")
      assert.is_nil(hostile.faults(plain))
      for line in plain:gmatch("[^\n]+") do
        local may_be_long = line:find "^%u%l+ " or line:find "%[" or line:find(long_name)
        assert.is_true(hostile.width(line) <= 80 or may_be_long ~= nil, line)
        n = n + 1
      end
      assert.is_true(n > 3)
    end
  end)

  -- ==== JSON ====

  it("is in JSON as text, and harmless in a page", function()
    local classes = {}
    for _, class in ipairs(json("heaptop --json -n 0 c").classes) do classes[class.class] = true end
    for _, name in ipairs(names) do
      assert.is_true(name == "" or classes[hostile.text(name)], hostile.text(name))
    end
    for _, command in ipairs {
      "heaptop --json --garbage -n 0 c", "heaptop --json cut", "heaptop --by epoch --json c",
      "heaptop --json --modules c", "heaptop --json --threads c",
      "heaptop --json --under root -n 0 c", "heaptop --json --class '{}' c",
      "heaptop --json --waste c",
      "heaptop --json --suspects c", "heapdiff --json -n 0 a b c", "heapdiff --json -n 0 a c",
      "heaptop --json --growing c",
      "heapdiff --json --since a c", "heapdiff --json --ladder a b c",
      "heapdiff --json --owners a c", "heapdiff --json --before a b --after b c",
      "heapdiff --json other c",
      "heappath --json --what-if --ignore 'C[1]' --cut H --cut 'C[*]' c TARGET",
      "heappath --json -k 500 c TARGET", "heappath --json --set 'select id from objects' c",
      "heappath --json --referrers c TARGET", "heapsql --json c 'select * from objects'",
      "heapsql --json c 'select * from edges; select * from strings; select * from entries'",
    } do json(command) end
    for _, command in ipairs {
      "heappath --json --dominators c 'H[*]'", "heaptop --json --by epoch c",
      "heapcheck --json a b c cut",
    } do json(command, 1) end
  end)

  it("of a cut string ends with a whole character", function()
    local strings = output("heaptop -n 0 --by object --type string cut")
    assert.matches('"\u{65E5}..."', strings, 1, true)
    assert.not_matches('\u{65E5}\\xE6', strings, 1, true)
  end)

  -- ==== DOT ====

  -- Of a long text a label has the two ends.
  local function in_label(text)
    if #text <= 64 then return text end
    local head, tail = text:sub(1, 32), text:sub(-32)
    while not utf8.len(head) do head = head:sub(1, -2) end
    while not utf8.len(tail) do tail = text:sub(-#tail - 1) end
    return head .. "\u{2026}" .. tail
  end

  local function drawn(command, n)
    local picture = output("bash -c " .. quote("set -o pipefail; " .. command .. " | dot -Tsvg"), n)
    return svg.read((picture:gsub("&#160;", " ")))
  end

  it("is in a picture as text, one box an object and one arrow a reference", function()
    local texts, counts = drawn("heappath --referrers -n 0 c TARGET")
    local labels, titles, sources, n_sources = {}, {}, {}, 0
    for _, text in ipairs(texts) do
      if text.class == "edge" then labels[text.text] = true end
      if text.bold then titles[text.text] = true end
    end
    local referrers = json("heappath --json --referrers -n 0 c TARGET").referrers
    for _, referrer in ipairs(referrers) do
      if not sources[referrer.address] then n_sources = n_sources + 1 end
      sources[referrer.address] = true
      assert.is_true(labels["  " .. in_label(referrer.label)], referrer.label)
      assert.is_true(titles[in_label(referrer.class) .. " "], referrer.class)
    end
    assert.equal(n_sources + 1, counts.node)
    assert.equal(#referrers, counts.edge)
    drawn("heappath -k 500 c TARGET")
    drawn("heappath -n 0 --set \"select id from objects where type in ('table', 'string')\" c")
    local n = 0
    for _, object in ipairs(json("heaptop -n 0 --by object --type table --json c").objects) do
      if object.held_by:find("^local") then n = n + 1 end
      if object.held_by:find("^local") and n % 100 == 1 then
        drawn(("heappath -k 5 c '%s'"):format(object.address), 1)
      end
    end
    assert.is_true(n > #names // 4)
  end)

  -- ==== What is printed can be asked for ====

  -- Names that are addresses are taken for such, and _G is _G.
  it("is found again by its path and by its class", function()
    local s, n, lost = assert(reader.open(dir .. "/c")), 0, {}
    local function ask(name, is_found)
      local ok, found = pcall(s.object, s, name)
      n = n + 1
      if not ok or not found or not is_found(found) then lost[#lost + 1] = name end
    end
    for o in s:objects {type = "table,closure,thread"} do
      local path = o:path() -- several may be told alike: such as locals of one name
      ask(path, function(found) return found == o or found:path() == path end)
    end
    for _, class in ipairs(s:classes()) do
      ask(class.class, function(found) return found.class == class.class end)
    end
    n_cases, n_survived = n_cases + n, n_survived + n - #lost
    assert.is_true(n > 20 * #names)
    assert.same({}, lost)
  end)

  it("can be pasted into a shell between single quotes", function()
    local objects = json("heaptop -n 0 --by object --type table --json c").objects
    local known, n = {}, 0
    for _, name in ipairs(names) do known[hostile.text(name)] = true end
    for _, object in ipairs(objects) do
      if known[object.class] and n < 40 // one_in and object.class:find("[^%w ]") then
        n = n + 1
        local command = "heappath --json c -- " .. quote(object.held_by)
        assert.equal(object.address, json(command, 1).address, command)
      end
    end
    assert.equal(40 // one_in, n)
  end)

  it("that is a mark can be asked for as the message shows it", function()
    local _, errors = run({"heapdiff", "--since", "nowhere", "c"}, {cwd = dir})
    assert.is_nil(hostile.faults(errors))
    local n = 0
    for mark in errors:match("it has (.*)\n$"):gmatch('"(.-)"%f[,\0]') do
      n = n + 1
      output({"heapdiff", "--since", mark, "c"}, 1)
    end
    assert.equal(math.min(10, #names // 40 + 2), n) -- no more than ten are told
  end)

  -- ==== Names of files ====

  it("as a file is named safely, and in a command that can be pasted", function()
    local n = 0
    for i = 1, #names, 11 * one_in do
      local file = names[i]:gsub("[%z/]", "")
      if file ~= "" and file ~= "." and file ~= ".." then
        n = n + 1
        support.write_file(dir .. "/" .. file, support.read_file(dir .. "/c"))
        local out = output({"heapdiff", "--", "a", "b", file}, 1)
        local command = out:match("\nWhy the first %l+ stays: (heappath [^\n]+)\n$")
        output({"bash", "-c", (command:gsub("^heappath", "%0 --json"))}, 1)
        assert.equal(hostile.text(file), output({"heapcheck", "--", file}, 1):match("^(.*): ok: "))
        local _, errors, code = run({"heapcheck", "--", file .. "/no"}, {cwd = dir})
        assert.equal(2, code)
        assert.is_nil(hostile.faults(errors))
        assert.is_truthy(errors:find("'" .. hostile.text(file) .. "/no'", 1, true), errors)
        os.remove(dir .. "/" .. file)
      end
    end
    assert.is_true(n > #names // (14 * one_in))
  end)

  it("is safe where a file lies about the release of Lua", function()
    local content, n = support.read_file(dir .. "/c"):gsub("\5(5%.4%.%d)", "\5\27[31m")
    if n == 0 then return end -- this host hides its release
    support.write_file(dir .. "/forged", sealed(content))
    assert.matches("\nLua \\x1B[31m, process", output("heaptop forged", 1), 1, true)
    assert.equal("\\x1B[31m", json("heaptop --json forged", 1).snapshot.lua_release)
  end)

  it("is refused with one safe line where it is no option, object, number or file", function()
    for i = 1, #names, 23 * one_in do
      local word = names[i]:gsub("%z", "")
      for _, words in ipairs {
        {"heaptop", "--x" .. word, "c"}, {"heaptop", "-n", "x" .. word, "c"},
        {"heaptop", "c", "x" .. word},
        {"heaptop", "--type", "x" .. word, "c"}, {"heapdiff", "--fail-over", "x" .. word, "a", "c"},
        {"heapdiff", "--since", "x" .. word, "c"},
        {"heappath", "--set", "x" .. word, "c"}, {"heappath", "c", "--", "_G.x[" .. word .. "].y"},
        {"heappath", "c", "--", "@x" .. word .. ":7"}, {"heappath", "c", "--", "x" .. word, "y"},
      } do
        n_cases = n_cases + 1
        local out, errors, code = run(words, {cwd = dir})
        assert.equal(0, #out)
        assert.is_true(code == 1 or code == 2, table.concat(words, " "))
        assert.is_nil(hostile.faults(errors))
        assert.is_true(select(2, errors:gsub("\n", "")) <= 2, errors)
        n_survived = n_survived + 1
      end
    end
  end)
end)
