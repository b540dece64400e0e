-- manual_spec.lua - what the manual pages and the READMEs tell people to type: every example of a
-- page runs, the READMEs' sessions are what the examples print, and their links lead somewhere.

local lfs = require "lfs"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

-- All that the examples of the pages name; those of heapattach are run in heapattach_spec.lua.
local program = [[
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  cache, listeners = {}, {}
  cache.first, log, debugger = {}, {}, {watched = {}}
  local function work(n)
    for i = 1, n do listeners[#listeners + 1] = setmetatable({}, Listener) end
  end
  work(1)
  heap.snapshot("a")
  work(100)
  heap.snapshot("b")
  heap.mark("level 2")
  work(10)
  heap.snapshot("c")
  heap.snapshot("a2")
  work(1)
  heap.snapshot("b2")
  print(("%p"):format(cache))
]]

-- Twenty seconds in which most of what is made goes soon, and some stays.
local function write_profiles(dir)
  for _, name in ipairs {"run.prof", "old.prof", "new.prof"} do
    local p = profiles.new()
    local main = p:stack(nil, {source = "@app.lua", name = "", line = 9, maker = "call"})
    local make = p:stack(main, {source = "@app.lua", name = "make", first_line = 1, line = 2,
                                maker = "table"})
    for i = 1, 2000 do
      p:tick(10000000)
      local block = p:new("table", make, 56)
      if i % 10 > 0 then p:free(block) end
    end
    p:write(dir .. "/" .. name)
  end
end

-- The commands of a page's section EXAMPLES.
local function examples_of(tool)
  local text = support.read_file(("%s/man/%s.1"):format(support.build, tool))
  local commands = {}
  for line in text:match("\n%.Sh EXAMPLES\n(.-)\n%.Sh "):gmatch("[^\n]+") do
    local command = line:match("^%.Dl (.*)") or line:match("^" .. tool .. " .*")
    if command then commands[#commands + 1] = (command:gsub("\\%-", "-"):gsub("\\%(aq", "'")) end
  end
  return commands
end

describe("the examples of", function()
  local dir, cache
  setup(function()
    local out
    out, dir = support.lua(program)
    write_profiles(dir)
    cache = out:match("0x%x+")
  end)

  for _, tool in ipairs {"heaptop", "heapdiff", "heappath", "heapprof", "heapcheck", "heapsql"} do
    it(tool .. "'s manual page", function()
      local commands = examples_of(tool)
      assert.is_true(#commands >= 3)
      for _, command in ipairs(commands) do
        assert.matches("^" .. tool .. " ", command)
        local out, err, code = support.run(command:gsub("0x%x+", cache), {cwd = dir})
        assert.equal("", err, command)
        assert.equal(0, code, command)
        assert.is_true(out ~= "" or command:find(" > ", 1, true) ~= nil, command)
      end
    end)
  end
end)

-- On a macro's line double quotes may be eaten; the reader's page must show what was run.
describe("rendered, the examples of", function()
  for _, tool in ipairs {"heaptop", "heapdiff", "heappath", "heapprof", "heapcheck", "heapsql",
                         "heapattach"} do
    it(tool .. " are as they are run", function()
      local page = support.read_file(("%s/man/%s.1"):format(support.build, tool))
      for line in page:match("\n%.Sh EXAMPLES\n(.-)\n%.Sh "):gmatch("[^\n]+") do
        assert.is_false(line:find("^%.Dl") ~= nil and line:find('"', 1, true) ~= nil, line)
      end
    end)
  end
end)

-- What the examples' comments show is compared with reality by examples_spec.lua.
local function compare_session(file, session, example_name, least_lines)
  local readme = support.normalise(support.read_file(support.root .. file))
  local example = support.normalise(support.read_file(("%s/examples/%s.lua"):format(
    support.root, example_name)))
  local compared = 0
  for line in readme:match(session):gmatch("[^\n]+") do
    if not line:find("^ +%$ ") and line ~= "    ..." then
      assert.truthy(example:find("\n" .. line .. "\n", 1, true), line)
      compared = compared + 1
    end
  end
  assert.is_true(compared >= (least_lines or 10))
end

describe("the sessions of the READMEs", function()
  it("are that of examples/listener.lua", function()
    compare_session("/README.md", "\n    %$ heapdiff a b c\n(.-)\n%S", "listener")
  end)

  it("tell the line that allocates, as the front page does", function()
    local listener = support.read_file(support.root .. "/examples/listener.lua")
    local _, dir = support.lua(listener, {name = "listener.lua", env = {
      LUA_HEAP = "track,stacks,log=quiet", LUA_INIT = 'require "heap.auto"'}})
    local line = support.answer("heapdiff a b c", dir):match("\n *(allocated at [^\n]+)\n")
    assert.matches(line, support.read_file(support.root .. "/README.md"), 1, true)
  end)

  it("with the suspects of its last snapshot", function()
    compare_session("/cli/README.md", "\n    %$ heaptop %-%-suspects c\n(.-)\n%S", "listener", 3)
  end)

  it("with the first lines of heapprof's golden answer", function()
    local answer = support.read_file(support.root .. "/tests/cli/golden/heapprof.txt")
    local session = support.read_file(support.root .. "/cli/README.md")
      :match("\n    %$ heapprof run.prof\n(.-)\n%S")
    local n = 0
    for line in session:gmatch("[^\n]+") do
      assert.truthy(answer:find("\n" .. line:sub(5) .. "\n", 1, true), line)
      n = n + 1
    end
    assert.is_true(n >= 5)
  end)

  it("and that of examples/timeline.lua", function()
    compare_session("/cli/README.md", "\n    %$ heaptop %-%-by epoch c\n(.-)\n%S", "timeline")
  end)
end)

-- A heading's anchor, as GitHub makes it.
local function anchor(heading)
  return (heading:lower():gsub("[^%w _-]", ""):gsub(" ", "-"))
end

describe("the links of", function()
  for _, page in ipairs {"README.md", "cli/README.md", "lib/README.md", "lua/README.md",
                         "tests/README.md", "examples/README.md", "examples/hosts.md"} do
    it(page .. " lead somewhere", function()
      local base, name = (support.root .. "/" .. page):match("^(.*/)(.*)$")
      local n_links = 0
      for link in support.read_file(base .. name):gmatch("%]%(([^)]+)%)") do
        local file, place = link:match("^([^#]*)#?(.*)$")
        local path = base .. (file == "" and name or file)
        assert.truthy(lfs.attributes(path), link)
        local anchors = {}
        if place ~= "" then
          for heading in support.read_file(path):gmatch("\n##+ ([^\n]+)") do
            anchors[anchor(heading)] = true
          end
          assert.is_true(anchors[place], link)
        end
        n_links = n_links + 1
      end
      assert.is_true(n_links > 0)
    end)
  end
end)
