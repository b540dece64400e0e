-- busted_spec.lua - heap.busted: assertions that fail with the diagnosis, in busted itself; and
-- heap.busted_watch, the helper that tells which test files left something behind.

local json = require "cjson"
local support = require "tests.common.support"

-- It is Lua, over calls of heap.leaks and heap.capture, whose own specs run with sanitizers.
if support.sanitized then
  pending "heap.busted is tried without sanitizers"
  return
end

local runner = [[require "busted.runner"({standalone = false})]]

-- Runs a spec under busted; returns for each test "successes" or its message.
local function busted(spec, name, dir, env)
  dir = dir or support.tmpdir()
  support.write_file(dir .. "/" .. name, spec)
  local out = support.lua(runner, {cwd = dir, fails = true, env = env,
                                    args = {"-o", "json", name}})
  local found = json.decode(out:match("{.*}"))
  local messages = {}
  for _, kind in ipairs {"successes", "failures", "errors"} do
    for _, test in ipairs(found[kind]) do
      local message = type(test.message) == "string" and test.message or kind
      messages[test.element.name] = message:gsub("0x%x+", "0x1")
    end
  end
  return messages
end

local program = [[
  require "heap.busted"
  local Session, Data = {__name = "Session"}, {__name = "Data"}
  local app = {sessions = {}}
  package.loaded.app = app before_each(function() app.sessions = {} end)
  local function new()
    local one = setmetatable({data = setmetatable({}, Data)}, Session)
    table.insert(app.sessions, one)
    return one
  end
  local function clean() return setmetatable({}, Session) end
]]

describe("heap.busted", function()
  local told = busted(program .. [[
    it("nothing", function() assert.leaks_nothing(clean) end)
    it("something", function() assert.leaks_nothing(new) end)
    it("not nothing", function() assert.is_not.leaks_nothing(new) end)
    it("not something", function() assert.does_not.leaks_nothing(clean) end)
    it("runs", function() assert.leaks_nothing(new, {runs = 8}, "sessions stay") end)
    it("at most", function() assert.leaks_at_most(1, "Session", new) end)
    it("at most none", function() assert.leaks_at_most(0, "Session", new) end)
    it("at most inside", function() assert.leaks_at_most(0, "Data", new) end)
    it("more than", function() assert.is_not.leaks_at_most(2, "Session", new) end)
    it("collected", function() assert.collected(clean) end)
    it("held", function() assert.collected(new) end)
    it("not collected", function() assert.is_not.collected(new) end)
    it("not held", function() assert.is_not.collected(clean) end)
    it("weak", function()
      local mine = {}
      assert.collected(setmetatable({mine, {}, new()}, {__mode = "v"}))
      return mine
    end)
    it("all weak", function() assert.collected(setmetatable({{}, {}}, {__mode = "v"})) end)
    it("many", function()
      local all = setmetatable({}, {__mode = "k"})
      for _ = 1, 12 do all[new()] = 1 end
      assert.collected(all, "they must go")
    end)
    it("strings", function() assert.collected(setmetatable({name = "x"}, {__mode = "v"})) end)
    it("no function", function() assert.leaks_nothing(1) end)
    it("no class", function() assert.leaks_at_most(1, new) end)
    it("not weak", function() assert.collected({}) end)
    it("nothing returned", function() assert.collected(function() return 1 end) end)
    it("fails", function() assert.leaks_nothing(function() error "boom" end) end)
    it("assertion", function() assert.leaks_nothing(function() assert.equal(1, 2) end) end)
    it("spies", function()
      assert.leaks_nothing(function()
        local s = spy.new(function() end)
        s(1)
        assert.spy(s).was.called_with(1)
      end)
    end)
    it("inside others", function()
      assert.leaks_at_most(1, "Session", function()
        local one, other = clean(), clean()
        table.insert(app, function() return one, other end)
      end)
    end)
    it("misspelt", function() assert.leaks_at_most(0, "session", new) end)
    it("another class", function() assert.leaks_at_most(0, "Other", new) end)
    it("held behind nil", function() assert.collected(function() return {}, nil, new() end) end)
    it("of no class", function() assert.is_not.leaks_at_most(0, "Sesion", clean) end)
    it("of none that stays", function() assert.leaks_at_most(0, "Session", clean) end)
    it("of what the function collects", function()
      assert.leaks_at_most(0, "Collected", function()
        setmetatable({}, {__name = "Collected"})
        collectgarbage()
      end)
    end)
    it("of a function that fails at last", function()
      local runs = 0
      local _, why = pcall(assert.leaks_at_most, 0, "Session", function()
        runs = runs + 1
        if runs > 25 then error("boom", 0) end
      end)
      assert.equal("boom", why)
      assert.is_true(collectgarbage("isrunning"))
    end)
    it("array", function()
      assert.leaks_at_most(0, "array", function() app[#app + 1] = {1, 2, 3} end)
    end)
    it("array that goes", function()
      assert.leaks_at_most(0, "array", function() return {clean(), clean()} end)
    end)
  ]], "app_spec.lua")

  local function check(name, ...)
    local wanted = support.sizes(table.concat({...}, "\n"),
                                 {["136 B"] = "120 B", ["56 B"] = "48 B"})
    it("tells: " .. name, function() assert.equal(wanted, told[name]) end)
  end

  for _, good in ipairs {"nothing", "not nothing", "at most", "collected", "not collected",
                         "all weak", "spies"} do
    check(good, "successes")
  end

  local function left_in(runs)
    return "each run leaves 2 objects (136 B in all) behind, seen in " .. runs
           .. [[ runs;
1 of the objects retains the others

 per run  retaining  class    held by                            fingerprint
1 object      136 B  Session  package.loaded["app"].sessions[*]  2-5883f77103
    allocated at @app_spec.lua:6 in new]]
  end
  check("something", "app_spec.lua:12: Expected that nothing is left behind, but " .. left_in(4096),
        "", "See it: LUA_HEAP_FAILURES=. busted --lua=lua5.4, then heapview failure-*.heap")
  check("runs", "app_spec.lua:15: sessions stay",
        "Expected that nothing is left behind, but "
        .. left_in(8):gsub("retains the others", "%0\n8 runs cannot tell a leak from a cache that "
                           .. "fills up: leave out 'runs = 8' to know"))
  check("not something",
        "app_spec.lua:14: Expected that something is left behind, but nothing is")
  check("at most none", "app_spec.lua:17: Expected that each run leaves at most 0 Session behind, "
                        .. "but it leaves 1; " .. left_in(4096))
  check("at most inside", "app_spec.lua:18: Expected that each run leaves at most 0 Data behind, "
                          .. "but it leaves 1; " .. left_in(4096):gsub("held by", "%0     ")
                          :gsub("\n1 obj", [[

1 object       56 B  Data     package.loaded["app"].sessions[*].data
    allocated at @app_spec.lua:6 in new%0]])
                          :gsub("%[%*%]  ", "%0     "))
  it("tells first the class that was asked for, where others retain it", function()
    assert.matches(support.sizes(
                   "at most 1 Session behind, but it leaves 2; each run leaves 5 objects "
                   .. "%(240 B in all%) behind, seen in 4096 runs;\n1 of the objects retains the "
                   .. "others\n\n[^\n]*\n2 objects +112 B +Session +upvalue o[^\n]*\n"
                   .. "    allocated at @app_spec.lua:10 in clean, from @app_spec.lua:%d+\n"
                   .. " 1 object +240 B +function",
                   {["240 B"] = "224 B", ["112 B"] = "96 B"}),
                   told["inside others"])
  end)
  check("more than", "app_spec.lua:19: Expected that each run leaves more than 2 Session behind, "
                     .. "but it leaves 1; " .. left_in(4096))

  check("not held", "app_spec.lua:23: Expected not to be collected, but it is")
  it("tells what holds an object that was not collected", function()
    local path = 'Session 0x1 is kept alive by: package.loaded["app"].sessions[*]\n'
    local function unnumbered(name) return (told[name]:gsub("%[%d+%]", "[*]")) .. "\n" end
    local head = "Expected to be collected, but "
    local held = unnumbered("held")
    assert.equal("app_spec.lua:21: " .. head .. "1 object is not:\n" .. path,
                 held:match("^.-\n.-\n"))
    assert.matches("57: " .. head .. "1 object is not:\n" .. path, unnumbered "held behind nil",
                   1, true)
    assert.matches("\n%[\"app\"%] +module app .*\n%.sessions +array of Session .*\n", held)
    assert.equal("app_spec.lua:33: they must go\n" .. head .. "12 objects are not:\n"
                 .. path:rep(5) .. "and 7 more\n", unnumbered("many"))
    assert.matches(path, unnumbered("weak"), 1, true)
    assert.matches("{} 0x1 is kept alive by: local mine in function run @app_spec.lua:24 of main "
                   .. "thread\n", unnumbered("weak"), 1, true)
  end)
  check("strings", "app_spec.lua:35: Expected to be collected, but 1 object is not:",
        "the entry of name: what is no object, such as a string, is never collected")

  it("tells what no object is called", function()
    for name, class in pairs {misspelt = "session", ["of no class"] = "Sesion",
                              ["another class"] = "Other"} do
      local start = ("leaks_at_most: there is no class '%s' (did you mean '"):format(class)
      assert.matches(start .. (class == "Other" and "" or "Session'"), told[name], 1, true)
      assert.matches("'?), nor does the function make one", told[name], 1, true)
    end
  end)
  it("counts arrays of anything as arrays", function()
    assert.matches("at most 0 array behind, but it leaves 1;", told["array"], 1, true)
    assert.equal("successes", told["array that goes"])
  end)
  check("of none that stays", "successes")
  check("of what the function collects", "successes")
  check("of a function that fails at last", "successes")
  check("no function", "app_spec.lua:36: leaks_nothing needs a function")
  check("no class",
        "app_spec.lua:37: leaks_at_most needs a number, the name of a class and a function")
  check("not weak", "app_spec.lua:38: collected needs a weak table, or a function")
  check("nothing returned", "app_spec.lua:39: collected: the function returned no object")
  check("fails", "app_spec.lua:40: boom")
  check("assertion", "app_spec.lua:41: Expected objects to be equal.", "Passed in:", "(number) 2",
        "Expected:", "(number) 1")

  it("keeps the heap of each failure where it is told to, and says how to see it", function()
    local dir = support.tmpdir()
    local failed = busted(program .. [[
      it("nothing", function() assert.leaks_nothing(clean) end)
      it("something", function() assert.leaks_nothing(new) end)
      it("not nothing", function() assert.is_not.leaks_nothing(new) end)
      it("at most", function() assert.leaks_at_most(0, "Data", new, {runs = 8}) end)
      it("held", function() assert.collected(new) end)
      it("own file", function() assert.leaks_nothing(new, {runs = 8, file = "own file.heap"}) end)
      it("no file", function() assert.leaks_nothing(new, {runs = 8, file = "no/where"}) end)
    ]], "kept_spec.lua", dir, {LUA_HEAP_FAILURES = dir})
    for _, name in ipairs {"something", "at most", "held", "own file"} do
      local file = failed[name]:match("\n\nSee it: heapview ([^\n]+)$")
      local out, _, code = support.run("heaptop --json " .. file, {cwd = dir})
      assert.equal(0, code, failed[name])
      assert.matches("Session", out, 1, true)
    end
    assert.matches("'own file.heap'$", failed["own file"])
    assert.matches("\n\ncannot [^\n]*no/where[^\n]*$", failed["no file"])
    assert.equal("successes", failed["nothing"])
    assert.equal("successes", failed["not nothing"])
  end)

  it("is in lua/README.md as the example prints it", function()
    local example = support.read_file(support.root .. "/examples/leak_spec.lua")
    local printed = busted(example, "leak_spec.lua")
    local readme = support.read_file(support.root .. "/lua/README.md"):gsub("\n    ", "\n")
    assert.equal("successes", printed["is kept by the bus alone"])
    assert.matches("package.loaded  loaded modules", printed["can be collected"], 1, true)
    assert.matches(printed["leaves nothing behind"],
                   support.sizes(readme, {["192 B"] = "184 B"}), 1, true)
  end)
end)

describe("heap.busted_watch", function()
  local function watch(files, ...)
    local dir = support.tmpdir()
    for name, spec in pairs(files) do
      support.write_file(("%s/%s_spec.lua"):format(dir, name), spec)
    end
    local _, _, err, code = support.lua(runner, {cwd = dir, fails = true, args = {
      "--helper=heap.busted_watch", "-o", "json", "--sort-files", ".", ...}})
    return err, code
  end

  it("tells which files left what behind, without what busted keeps", function()
    local err, code = watch {
      clean = [[
        local kept = {}
        it("keeps what goes with the file", function() for i = 1, 100 do kept[i] = {i} end end)
        it("fails", function() assert.equal({1}, kept) end)
        it("spies", function() spy.on(kept, 1) stub(kept, "x") end)
      ]],
      few = [[
        it("leaves two", function()
          table.insert(debug.getregistry(), setmetatable({{}}, {__name = "Lost"}))
        end)
      ]],
      many = [[
        string.cache = {}
        describe("many", function()
          for i = 1, 10 do
            it("leaves " .. i, function()
              for k = 1, 10 do table.insert(string.cache, {i, k}) end
            end)
          end
        end)
        global = {}
        package.loaded.module = {}
      ]],
    }
    assert.equal(1, code)
    assert.equal(support.sizes([[

heap: 2 of 3 test files left 104 objects behind, 10.9 KB

./many_spec.lua: 101 objects, 10.6 KB
objects bytes class held by
 101 10.6 KB array of arrays _G.string.cache

./few_spec.lua: 3 objects, 208 B
objects bytes class held by
 3 208 B Lost registry[*]
]], {["10.9 KB"] = "8.2 KB", ["10.6 KB"] = "8.0 KB", ["208 B"] = "181 B"}), (err:gsub(" +", " ")))
  end)

  it("does not tell what failing assertions load and make", function()
    local err = watch {a = [[
      local kept = {}
      it("fails", function() assert.leaks_nothing(function() kept[#kept + 1] = {} end) end)
      it("too", function() assert.collected(function() kept[1] = kept return kept end) end)
    ]]}
    assert.matches("\nheap: ", err, 1, true)
    assert.not_matches("heap.", err:gsub("\nheap: ", ""), 1, true)
  end)

  it("tells that nothing was left, and which modules stay without insulation", function()
    local uses = [[it("uses", function() require "pl.template" end)]]
    local none = 'it("nothing", function() end)'
    assert.equal("\nheap: none of 2 test files left anything behind\n",
                 (watch {a = none, b = 'it("none", function() local _ = {} end)'}))
    local buffer = [[it("uses a long string", function() local _ = ("x"):rep(5000) end)]]
    assert.equal("\nheap: none of 4 test files left anything behind\n",
                 (watch({a = none, b = buffer}, "--repeat=2")))
    local err = watch({a = none, b = uses}, "--no-auto-insulate")
    assert.matches("^\nheap: 1 of 2 test files left %d+ objects behind, .*\n%./b_spec.lua: ", err)
    assert.matches('package.loaded["pl.template"]', err, 1, true)
  end)
end)

describe("on another Lua", function()
  for name, version in pairs {["lua5.1"] = "5.1", ["lua5.2"] = "5.2", ["lua5.3"] = "5.3",
                              luajit = "5.1"} do
    for _, module in ipairs {"heap.busted", "heap.busted_watch"} do
      it(module .. " says what to do: " .. name, function()
        if not os.execute("command -v " .. name .. " >/dev/null") then
          return pending(name .. " is not installed")
        end
        local line = ("package.path = '?.lua' print(select(2, pcall(require, %q)))"):format(module)
        local out = support.answer({name, "-e", line}, support.root .. "/lua")
        assert.equal("heap.busted needs Lua 5.4 or 5.5, and this is Lua " .. version ..
                     ": run `busted --lua=lua5.4`\n", out)
      end)
    end
  end
end)
