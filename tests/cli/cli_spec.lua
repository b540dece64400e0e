-- cli_spec.lua - the manners of the commands: options and their documentation,
-- exit codes, errors, JSON. Where the output goes is tested in output_spec.lua, what it looks like
-- in golden_spec.lua, what the numbers mean elsewhere.

local cjson = require "cjson"
local lfs = require "lfs"
local support = require "tests.common.support"

local run, lines = support.run, support.lines
local tools = {"heaptop", "heapdiff", "heappath", "heapprof", "heapcheck", "heapsql", "heapview",
               "heapattach"}

local dir, in_dir
setup(function() dir, in_dir = support.take_leaking() end)

-- ==== Options ========================================================================

-- All options that the help, the manual page or the completion of a tool names, sorted.
local function option_list(names)
  local list = {}
  for name in pairs(names) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

local function options_of_help(tool)
  local names = {}
  for _, line in ipairs(lines((run {tool, "--help"}))) do
    local letter, name = line:match "^  %-(%w), %-%-([%w-]+)"
    if letter then names["-" .. letter] = true end
    name = name or line:match "^      %-%-([%w-]+)"
    if name then names["--" .. name] = true end
  end
  return option_list(names)
end

local function options_of_manual(tool)
  local names = {}
  local page = support.read_file(("%s/man/%s.1"):format(support.build, tool))
  local section = page:match "%.Sh OPTIONS(.-)%.Sh"
  for item in section:gmatch "%.It (Fl [^\n]+)" do
    for name in item:gmatch "Fl ([%w-]+)" do names["-" .. name] = true end
  end
  return option_list(names)
end

-- What bash makes of the words that were typed.
local function complete(tool, ...)
  local script = ([[source BUILD/completions/TOOL.bash
    COMP_WORDS=(TOOL "$@") COMP_CWORD=$# && _TOOL && printf "%s\n" "${COMPREPLY[*]}"]])
  script = script:gsub("TOOL", tool):gsub("BUILD", support.build)
  return lines((run {"bash", "-c", script, "bash", ...}))[1]
end

local function options_of_bash(tool)
  local names = {}
  for name in complete(tool, "-"):gmatch "%S+" do names[name] = true end
  return option_list(names)
end

local function options_of_zsh(tool)
  local names = {}
  local text = support.read_file(("%s/completions/_%s"):format(support.build, tool))
  text = text:gsub("#[^\n]*", ""):gsub("%b[]", ""):gsub("%b()", ""):gsub("_%a+ %-s", "")
  for name in text:gmatch "%f[%w-](%-%-?%a[%a-]*)" do names[name] = true end
  return option_list(names)
end

for _, tool in ipairs(tools) do
  describe(tool .. "'s options", function()
    it("are the same in help, manual page and completions", function()
      local help = options_of_help(tool)
      assert.matches(tool == "heapview" and "--output" or "--json", help, 1, true)
      assert.equal(help, options_of_manual(tool))
      assert.equal(help, options_of_bash(tool))
      assert.equal(help, options_of_zsh(tool))
    end)

    it("are completed by bash with the words that they take", function()
      assert.equal("--help", complete(tool, "--he"))
      if options_of_help(tool):match "%-%-color" then
        assert.equal("auto always", complete(tool, "--color", "=", "a"))
      end
    end)

    it("are printed on stdout by -h and --help", function()
      for _, flag in ipairs {"-h", "--help"} do
        local out, err, code = run {tool, flag}
        assert.equal(0, code)
        assert.equal("", err)
        assert.matches("^usage: " .. tool, out)
        for _, line in ipairs(lines(out)) do assert.is_true(#line <= 90, line) end
      end
    end)

    it("have a version", function()
      local out, err, code = run {tool, "--version"}
      assert.equal(0, code)
      assert.equal("", err)
      assert.matches("^" .. tool .. " %(luaheap%) %d+%.%d+%.%d+\n$", out)
    end)

    it("have a manual page without a warning", function()
      local page = ("%s/man/%s.1"):format(support.build, tool)
      local out, err, code = run {"mandoc", "-T", "lint", "-W", "warning", page}
      assert.equal("", out .. err)
      assert.equal(0, code)
    end)
  end)
end

describe("a usage error", function()
  local cases = {
    {"heaptop"}, {"heaptop", "a", "b"},
    {"heaptop", "--nonsense", "a"}, {"heaptop", "-z", "a"},
    {"heaptop", "--json=yes", "a"}, {"heaptop", "-n"},
    {"heaptop", "-n", "many", "a"}, {"heaptop", "-n", "-1", "a"},
    {"heaptop", "-n", "99999999999999999999", "a"}, {"heaptop", "--sort", "size", "a"},
    {"heaptop", "--type", "number", "a"}, {"heaptop", "--by", "age", "a"},
    {"heaptop", "--by", "epoch", "--sort", "count", "a"}, {"heaptop", "--color", "sometimes", "a"},
    {"heapdiff"}, {"heapdiff", "a"},
    {"heapdiff", "--ladder", "a"},
    {"heapdiff", "--csv", "a", "b", "c"},
    {"heapdiff", "--ladder", "--factor", "10", "a", "b", "c"},
    {"heapdiff", "--ladder", "--sort", "count", "a", "b", "c"},
    {"heapdiff", "--owners", "a"},
    {"heapdiff", "--owners", "--fingerprints", "a", "b"},
    {"heapdiff", "--before", "a", "b"},
    {"heapdiff", "--before", "a", "b", "--after", "c"},
    {"heapdiff", "--before", "a", "--after", "b", "--", "c"},
    {"heapdiff", "--until", "middle", "c"},
    {"heapdiff", "--since", "middle", "a", "b"},
    {"heapdiff", "--factor", "0", "a", "b"},
    {"heapdiff", "--fail-over", "much", "a", "b"},
    {"heappath", "c"},
    {"heappath", "c", "_G", "_G.bus"},
    {"heappath", "--referrers", "--dominators", "c", "_G"},
    {"heappath", "--format", "svg", "c", "_G"},
    {"heappath", "--json", "--format", "dot", "c", "_G"},
    {"heappath", "--dominators", "--format", "dot", "c", "_G"},
    {"heappath", "-k", "0", "c", "_G"},
    {"heappath", "c", "_G["},
    {"heappath", "--what-if", "c", "_G"},
    {"heappath", "--cut", "_G", "--referrers", "c", "_G"},
    {"heappath", "--cut", "_G", "--set", "Listener", "c"},
    {"heappath", "--cut", "_G", "--format", "dot", "c", "_G"},
    {"heappath", "--cut", "_G", "-k", "2", "c", "_G"},
    {"heappath", "--cut", "_G[", "c"},
    {"heappath", "--ignore", "_G[", "c", "_G"},
    {"heappath", "--cut"},
    {"heappath", "--set", "Listener"},
    {"heappath", "--set", "Listener", "c", "_G"},
    {"heappath", "--set", "Listener", "--referrers", "c"},
    {"heappath", "--set", "_G[", "c"},
    {"heappath", "--set", "select 1; select 2", "c"},
    {"heapsql"},
    {"heapsql", "select 1"},
    {"heapsql", "-"},
    {"heapsql", "--csv", "c"},
    {"heapsql", "--json", "c"},
    {"heapsql", "--json", "--csv", "c", "select 1"},
    {"heapsql", "--save"},
    {"heapsql", "--nonsense", "c"},
    {"heapcheck"},
    {"heapcheck", "--nonsense", "a"},
    {"heapview"},
    {"heapview", "--nonsense", "a"},
    {"heapview", "--open", "sometimes", "a"},
    {"heapview", "--port", "65536", "a"},
    {"heapview", "--listen"},
    {"heapview", "-o", "report.html", "--port", "8000", "a"},
    {"heapview", "-o", "report.html", "--open", "never", "a"},
    {"heapattach"}, {"heapattach", "server"}, {"heapattach", "-o", "x"},
    {"heapattach", "-o", "x", "4711", "4712"}, {"heapattach", "-o", "x", "-d", ".", "4711"},
    {"heapattach", "-o", "x", "0"}, {"heapattach", "-o", "x", "--every", "1m", "4711"},
    {"heapattach", "-o", "x", "--max", "2", "4711"}, {"heapattach", "-o", "x", "--list", "4711"},
    {"heapattach", "-o", "x", "--strings", "many", "4711"}, {"heapattach", "-d", ".", "4711"},
    {"heapattach", "--every", "1m", "core"},
    {"heapattach", "--every", "1m", "--after", "a", "--state", "all", "4711"},
    {"heapattach", "--every", "10x", "4711"}, {"heapattach", "--every", "10ms", "4711"},
    {"heapattach", "--every", "-1", "4711"}, {"heapattach", "--every", "0", "4711"},
    {"heapattach", "--every", "1e3", "4711"}, {"heapattach", "--every", ".", "4711"},
    {"heapattach", "--every", "1m", "--max", "0", "4711"},
    {"heapattach", "--list", "--watch", "4711"}, {"heapattach", "--list", "--every", "1s", "4711"},
    {"heapattach", "--list", "--max", "1", "4711"}, {"heapattach", "--watch", "core"},
    {"heapattach", "--watch", "--after", "a", "4711"},
  }
  for _, words in ipairs(cases) do
    it("is said with a hint: " .. table.concat(words, " "), function()
      local out, err, code = in_dir(words)
      assert.equal(2, code)
      assert.equal("", out)
      assert.matches("^" .. words[1] .. ": [^\n]+\nTry '" .. words[1] .. " %-%-help'%.\n$", err)
    end)
  end
end)

it("an option of the last release is refused with what replaces it", function()
  local out, err, code = in_dir {"heapprof", "--plot", "run.prof"}
  assert.same({"", 2}, {out, code})
  assert.matches("^heapprof: %-%-plot was removed: heapview PROFILE draws memory over time\n", err)
end)

-- ==== Files that are no snapshots ====================================================

describe("a bad file", function()
  local function refuses(name, content, pattern)
    it("is refused: " .. name, function()
      support.write_file(dir .. "/bad", content())
      for _, words in ipairs {{"heaptop", "bad"}, {"heapdiff", "bad", "c"},
                              {"heapdiff", "a", "b", "bad"}, {"heappath", "bad", "_G"},
                              {"heapsql", "a", "bad", "select 1"}, {"heapsql", "bad"}} do
        local out, err, code = in_dir(words)
        assert.equal(2, code)
        assert.equal("", out)
        assert.matches("^" .. words[1] .. ": 'bad' [^\n]+\n", err)
        assert.matches(pattern, err)
        assert.is_true(#lines(err) <= 2)
      end
    end)
  end

  local function good() return support.read_file(dir .. "/c") end
  refuses("empty", function() return "" end, "not a snapshot")
  refuses("foreign", function() return ("text\n"):rep(1000) end, "not a snapshot")
  refuses("cut in the header", function() return good():sub(1, 12) end, "")
  refuses("cut in the middle", function() return good():sub(1, #good() // 2) end, "cut or changed")
  refuses("cut at the end", function() return good():sub(1, -2) end, "cut or changed")
  refuses("with more behind its end", function() return good() .. "more" end, "cut or changed")
  refuses("with one bit changed", function()
    local text, at = good(), #good() // 3
    return text:sub(1, at - 1) .. string.char(text:byte(at) ~ 1) .. text:sub(at + 1)
  end, "cut or changed")
  refuses("of a newer version", function() return good():sub(1, 8) .. "\255" .. good():sub(10) end,
          "Update luaheap")

  local function cannot_open(words, pattern)
    local out, err, code = in_dir(words)
    assert.equal(2, code)
    assert.equal("", out)
    assert.matches("^heaptop: cannot %l+ '" .. words[2] .. "': [^\n]*" .. pattern, err)
  end

  it("is named when it is missing, a directory or unreadable", function()
    cannot_open({"heaptop", "missing"}, "No such file")
    assert(lfs.mkdir(dir .. "/directory"))
    cannot_open({"heaptop", "directory"}, "directory")
    run {"cp", dir .. "/c", dir .. "/secret"}
    run {"chmod", "000", dir .. "/secret"}
    if not io.open(dir .. "/secret") then -- the superuser reads everything
      cannot_open({"heaptop", "secret"}, "Permission denied")
    end
  end)

  it("has its name escaped", function()
    local out, err, code = in_dir {"heaptop", "no\27[31m\nsuch\255"}
    assert.equal(2, code)
    assert.equal("", out)
    assert.matches("^heaptop: cannot open 'no\\x1B%[31m\\nsuch\\xFF': ", err)
  end)
end)

describe("heapdiff", function()
  it("refuses snapshots that are not in the order of time", function()
    local out, err, code = in_dir {"heapdiff", "c", "b", "a"}
    assert.equal(2, code)
    assert.equal("", out)
    assert.matches("^heapdiff: [^\n]+\n", err)
  end)

  it("names what replaces an option of the release before", function()
    local out, err, code = in_dir {"heapdiff", "--csv", "--ladder", "a", "b", "c"}
    assert.same({"", 2}, {out, code})
    assert.matches("^heapdiff: %-%-csv was removed: [^\n]*heapsql %-%-csv prints CSV\n", err)
  end)

  it("names the marks that there are", function()
    local out, err, code = in_dir {"heapdiff", "--since", "nowhere", "c"}
    assert.equal(2, code)
    assert.equal("", out)
    assert.matches("middle", err)
  end)

  it("exits with 1 only when more is retained than --fail-over allows", function()
    local _, err, code = in_dir {"heapdiff", "--fail-over", "1", "a", "b", "c"}
    assert.equal(1, code)
    assert.matches("^heapdiff: ", err)
    _, err, code = in_dir {"heapdiff", "--fail-over", "1M", "a", "b", "c"}
    assert.equal(0, code)
    assert.equal("", err)
  end)

  it("says so when nothing leaked", function()
    local _, clean = support.lua [[
      local heap = require "heap"
      heap.snapshot "a"  heap.snapshot "b"  heap.snapshot "c"
    ]]
    local out, _, code = run({"heapdiff", "a", "b", "c"}, {cwd = clean})
    assert.equal(0, code)
    local answer = "Nothing that was allocated between a and b is still alive in c\n"
    assert.equal(answer, out:sub(1, #answer))
  end)

  it("compares snapshots of different processes by class, and says so", function()
    local other = support.take_leaking()
    local out, _, code = in_dir {"heapdiff", "a", other .. "/c"}
    assert.equal(0, code)
    assert.matches("different processes", out)
    assert.matches("%+25 +30 .- Listener", out)
  end)
end)

describe("heaptop", function()
  it("shows the first element of a list, and all of them when asked", function()
    local _, long = support.lua [[
      for i = 1, 1000 do list = {next = list} end
      require "heap".snapshot "c"
    ]]
    local out = run({"heaptop", "--by", "object", "c"}, {cwd = long})
    assert.equal(1, select(2, out:gsub("{next}", "")))
    assert.matches("\n%d+ elements of lists left out, whose first is shown\n", out)
    assert.matches("module math", out)
    out = run({"heaptop", "--by", "object", "-n", "0", "c"}, {cwd = long})
    assert.equal(999, select(2, out:gsub("{next}", "")))
    out = run({"heaptop", "--by", "object", "--json", "c"}, {cwd = long})
    assert.is_true(select(2, out:gsub("{next}", "")) > 10)
  end)

  it("tells the paths of all objects that one holds", function()
    local _, crowd = support.lua [[
      collectgarbage("stop")
      local finalizer = {__gc = function() end}
      for i = 1, 20000 do setmetatable({i}, finalizer) end
      all = {}
      for i = 1, 20000 do all[i], all["k" .. i] = {}, {} end
      require "lua_heapcheck".emergency()
      require "heap".snapshot "c"
      os.exit(true, false)
    ]]
    local out = run({"heaptop", "--by", "object", "--type", "table", "-n", "0", "c"}, {cwd = crowd})
    assert.is_true(select(2, out:gsub("object waiting for its finalizer", "")) >= 20000)
    assert.equal(20000, select(2, out:gsub("_G%.all%[%d+%]\n", "")))
    assert.equal(20000, select(2, out:gsub("_G%.all%.k%d+\n", "")))
  end)

  it("tells where each element of a long list is", function()
    local _, long = support.lua [[
      for i = 1, 20000 do list = {next = list} end
      require "heap".snapshot "c"
    ]]
    local out = run({"heaptop", "--by", "object", "--type", "table", "-n", "0", "c"}, {cwd = long})
    assert.is_true(select(2, out:gsub("_G%.list%.next%*\n", "")) > 19900)
  end)
end)

describe("heappath", function()
  it("exits with 1 when there is no such object", function()
    for _, object in ipairs {"0x10", "_G.nothing.here", "@no.lua:1", "NoSuchClass"} do
      local out, err, code = in_dir {"heappath", "c", object}
      assert.equal(1, code)
      assert.equal("", out)
      assert.matches("^heappath: c: [^\n]+\n$", err)
    end
  end)

  it("draws into a pipe and a file of that name, and writes text into other files", function()
    for to, begins in pairs {["| cat"] = "digraph", [">x.gv; cat x.gv"] = "digraph",
                             [">x.dot; cat x.dot"] = "digraph", [">x.txt; cat x.txt"] = "Listener",
                             [">.dot.x; cat .dot.x"] = "Listener"} do
      assert.equal(begins, in_dir("heappath c Listener " .. to):match "%a+", to)
    end
    assert.matches("^digraph", (in_dir "heappath --format dot c Listener >x.txt; cat x.txt"))
  end)

  it("exits with 1 when nothing keeps the object alive", function()
    local top = in_dir {"heaptop", "--garbage", "--json", "--type", "table", "c"}
    local address = cjson.decode(top).objects[1].address
    local out, _, code = in_dir {"heappath", "--format", "text", "c", address}
    assert.equal(1, code)
    assert.matches("nothing keeps it alive", out)
    local err
    out, err, code = in_dir {"heappath", "--format", "dot", "c", address}
    assert.equal(1, code)
    assert.equal("", out)
    assert.matches("nothing keeps", err)
    out, err, code = in_dir {"heappath", "--json", "c", address}
    assert.equal(1, code)
    assert.equal("", err)
    assert.is_false(cjson.decode(out).reachable)
    assert.same({}, cjson.decode(out).paths)
  end)

  it("takes an address that was pasted without quotes", function()
    local group = cjson.decode((in_dir {"heapdiff", "--json", "a", "b", "c"})).groups[1]
    local out, _, code = in_dir {"heappath", "--format", "text", "c", "table:", group.example}
    assert.equal(0, code)
    assert.matches("^Listener " .. group.example ..
                   " is kept alive by: _G%.bus%.listeners%.tick%[%d+%]\n", out)
  end)

  it("says how many instances a class has", function()
    local out, _, code = in_dir {"heappath", "--format", "text", "c", "Listener"}
    assert.equal(0, code)
    assert.matches("\n30 Listener in the snapshot; this is the one that retains most\n", out)
  end)

  --  _G.by_name, weak keys -> "ada" -> {n};  _G.names, weak values -> "a long ..."
  --  _G.by_number, weak keys -> 7 -> {seven};  _G.strong -> x -> {y} <~~ _G.weak
  it("says why a weak table keeps an entry", function()
    local _, folder = support.lua [[
      by_name = setmetatable({ada = {n = 1}}, {__mode = "k"})
      by_number = setmetatable({[7] = {seven = 1}}, {__mode = "k"})
      names = setmetatable({("x"):rep(50)}, {__mode = "v"})
      strong = {x = {y = 1}}
      weak = setmetatable({strong.x, [strong.x] = strong.x}, {__mode = "kv"})
      require "heap".snapshot("c")
    ]]
    local function why(object)
      local out = support.run({"heappath", "--format", "text", "c", object}, {cwd = folder})
      return out:match("\n([^\n]* is in a table with [^\n]*)\n")
    end
    assert.equal(".ada is in a table with weak keys, but a string is never weak: its entry stays",
                 why("_G.by_name.ada"))
    assert.equal("[7] is in a table with weak keys, but what is no object is never weak: " ..
                 "its entry stays", why("_G.by_number[7]"))
    assert.equal("[1] is in a table with weak values, but a string is never weak: its entry stays",
                 why("_G.names[1]"))
    assert.is_nil(why("_G.strong.x"))
  end)

  it("folds the middle of a path of 100,000 steps", function()
    local _, long = support.lua [[
      for i = 1, 100000 do list = {next = list} end
      last = list
      while last.next do last = last.next end
      last.tail = {name = "the end"}
      last = nil
      require "heap".snapshot "c"
    ]]
    local out, _, code = run({"heappath", "--format", "text", "c", "{name}"}, {cwd = long})
    assert.equal(0, code)
    assert.matches("%.%.%. 99,978 more %.next %.%.%.", out)
    assert.is_true(#out < 8000)
    out, _, code = run({"heappath", "--format", "dot", "c", "{name}"}, {cwd = long})
    assert.equal(0, code)
    assert.is_true(#out < 20000)
    out = run({"heappath", "--json", "c", "{name}"}, {cwd = long})
    assert.equal(100002, #cjson.decode(out).paths[1].steps)
  end)
end)

-- ==== JSON ===========================================================================

-- Each key with the type of its value; in arrays that of every element.
local function fits(value, shape, where)
  if type(shape) == "string" then
    assert.equal(shape, math.type(value) or type(value), where)
    if shape == "integer" then assert.is_true(value >= 0, where) end
  elseif #shape == 1 then
    assert.equal("table", type(value), where)
    for i, element in ipairs(value) do fits(element, shape[1], where .. "[" .. i .. "]") end
  else
    for key, inner in pairs(shape) do fits(value[key], inner, where .. "." .. key) end
  end
end

-- cjson reads every number as a float: what is whole becomes an integer.
local function decode(text)
  local function whole(value)
    if math.type(value) == "float" then return math.tointeger(value) or value end
    if type(value) ~= "table" then return value end
    local copy = {}
    for key, inner in pairs(value) do copy[key] = whole(inner) end
    return copy
  end
  return whole(cjson.decode(text))
end

local row = {class = "string", type = "string", shallow_bytes = "integer",
             retained_bytes = "integer"}
local function row_with(more)
  local copy = {}
  for key, shape in pairs(row) do copy[key] = shape end
  for key, shape in pairs(more) do copy[key] = shape end
  return copy
end

local function json_of(words, shape)
  local out, err, code = in_dir(words)
  assert.equal(0, code)
  assert.equal("", err)
  local document = decode(out)
  fits(document, shape, words[1])
  return document
end

describe("JSON", function()
  it("of heaptop has its keys", function()
    local top = json_of({"heaptop", "--json", "c"}, {
      snapshot = {
        lua_release = "string", program = "string", name = "string", process_id = "integer",
        time_ns = "integer", file_bytes = "integer", objects = "integer", bytes = "integer",
        gc_bytes = "integer", unaccounted_bytes = "integer", string_table_bytes = "integer",
        reachable_objects = "integer", reachable_bytes = "integer", garbage_objects = "integer",
        garbage_bytes = "integer",
        types = {{type = "string", objects = "integer", bytes = "integer"}},
      },
      total_classes = "integer", total_objects = "integer",
      classes = {row_with {objects = "integer"}},
      objects = {row_with {address = "string", distance = "integer", held_by = "string"}},
    })
    local s = top.snapshot
    assert.equal(s.gc_bytes, s.bytes + s.string_table_bytes + s.unaccounted_bytes)
    assert.equal(s.bytes, s.reachable_bytes + s.garbage_bytes)
    assert.equal(s.objects, s.reachable_objects + s.garbage_objects)
    local objects, bytes = 0, 0
    for _, of in ipairs(s.types) do objects, bytes = objects + of.objects, bytes + of.bytes end
    assert.same({s.reachable_objects, s.reachable_bytes}, {objects, bytes})
    assert.equal(top.total_classes, #top.classes)
    assert.equal(20, #top.objects)
  end)

  it("of heaptop obeys -n, --type, --sort and --garbage", function()
    local words = {"heaptop", "--json", "-n", "3", "--type", "string,table", "--sort", "count", "c"}
    local top = json_of(words, {classes = {row}, objects = {row}})
    assert.equal(3, #top.classes)
    assert.equal(3, #top.objects)
    assert.is_true(top.classes[1].objects >= top.classes[2].objects)
    for _, object in ipairs(top.objects) do assert.matches("^[st]", object.type) end
    local garbage = json_of({"heaptop", "--json", "--garbage", "-n", "0", "c"}, {objects = {row}})
    assert.equal(garbage.total_objects, #garbage.objects)
    local only = json_of({"heaptop", "--json", "--by", "class", "c"}, {classes = {row}})
    assert.is_nil(only.objects)
    local epochs = json_of({"heaptop", "--json", "--by", "epoch", "c"}, {
      snapshot = {}, total_epochs = "integer",
      epochs = {{objects = "integer", shallow_bytes = "integer"}},
    })
    assert.is_nil(epochs.classes or epochs.objects)
  end)

  it("of heapdiff has its keys", function()
    local group = row_with {held_by = "string", objects = "integer", example = "string",
                            new_objects = "integer", new_bytes = "integer",
                            fingerprint = "string"}
    local diff = json_of({"heapdiff", "--json", "a", "b", "c"}, {
      same_state = "boolean", objects = "integer", shallow_bytes = "integer",
      retained_bytes = "integer", groups = {group},
      grown = {{fingerprint = "string", address = "string", class = "string", held_by = "string",
                place = "string", shallow_bytes = {"integer"}, entries = {"integer"}}},
    })
    assert.same({}, diff.classes)
    assert.equal("Listener", diff.groups[1].class)
    assert.equal(10, diff.groups[1].objects)
    assert.equal("_G.bus.listeners.tick[*]", diff.groups[1].held_by)
    local log
    for _, grown in ipairs(diff.grown) do if grown.held_by == "_G.log" then log = grown end end
    assert.same({100, 300, 600}, log.entries)
    local two = json_of({"heapdiff", "--json", "a", "b"},
                        {gone_objects = "integer", groups = {group},
                         classes = {{class = "string", objects = {"integer"},
                                     shallow_bytes = {"integer"}}}})
    assert.equal(2, #two.classes[1].objects)
    local since = json_of({"heapdiff", "--json", "--since", "a", "--until", "middle", "c"},
                          {groups = {group}})
    assert.equal(10, since.groups[1].objects)
    local flagged = json_of({"heapdiff", "--json", "--factor", "10", "a", "b", "c"},
                            {groups = {group}})
    assert.is_true(flagged.groups[1].flagged)
  end)

  it("of heappath has its keys", function()
    local step = row_with {edge = "string", label = "string", address = "string"}
    local path = json_of({"heappath", "--json", "-k", "2", "c", "_G.bus.listeners.tick[30]"}, {
      object = "string", address = "string", class = "string", reachable = "boolean",
      matches = "integer", paths = {{text = "string", steps = {step}}},
    })
    assert.equal("_G.bus.listeners.tick[30]", path.paths[1].text)
    assert.equal(path.address, path.paths[1].steps[#path.paths[1].steps].address)
    local listener = "_G.bus.listeners.tick[30]"
    local referrers = json_of({"heappath", "--json", "--referrers", "c", listener},
                              {referrers = {row_with {edge = "string", weak = "boolean"}}})
    local weak = 0
    for _, edge in ipairs(referrers.referrers) do if edge.weak then weak = weak + 1 end end
    assert.equal(1, weak)
    json_of({"heappath", "--json", "--dominators", "c", listener},
            {dominators = {row_with {address = "string"}}})
    local way = {depth = "integer", objects = "integer", retained_bytes = "integer",
                 steps = "string", path = "string"}
    json_of({"heappath", "--json", "--set", "Listener", "c"}, {
      set = "string", class = "string", objects = "integer", retained_bytes = "integer",
      garbage_objects = "integer", garbage_bytes = "integer", total_held_by = "integer",
      held_by = {{path = "string", objects = "integer"}}, rows = {way},
    })
    local out, err, code = in_dir {"heappath", "--json", "c", "_G.nosuch"}
    assert.same({"", 1}, {out, code})
    assert.matches("has no field 'nosuch'", err)
  end)
end)
