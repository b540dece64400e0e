-- track_spec.lua - heap.track and heap.untrack as a program calls them, and LUA_HEAP="track". What
-- is recorded, in which way, and what goes wrong is tested in tests/track.

local cjson = require "cjson"
local lfs = require "lfs"
local support = require "tests.common.support"

-- Runs a program with heap.so; its output, and the directory in which it ran.
local function run(code, options)
  local dir = support.tmpdir()
  options = options or {}
  return support.lua('local heap = require "heap"\n' .. code,
                     {cwd = dir, env = {LUA_HEAP = options.heap_options}}), dir
end

local refused = "assert(not pcall(heap.track, %s))"

describe("heap.track", function()
  it("starts and stops, again and again", function()
    local out = run [[
      for i = 1, 3 do
        print(heap.track())
        print(heap.track())
        print(heap.untrack())
        print(heap.untrack())
      end
    ]]
    local round = "true\nnil\tthis Lua state is tracked already\t0\ntrue\ntrue\n"
    assert.equal(round:rep(3), out)
  end)

  it("takes sizes with units, and refuses what makes no sense", function()
    local good = {"{sample = '512K'}", "{sample = 4096}", "{exact = '1m', stacks = true}",
                  "{pool = false}", "{pool = true}", "{}", "nil"}
    for _, options in ipairs(good) do
      assert.equal("true\n", (run("print(heap.track(" .. options .. "))")), options)
    end
    local wrong = {"1", "{depth = 1}", "{sample = 0}", "{sample = '1T'}", "{sample = 'K'}",
                   "{sample = '99999999999999G'}", "{sample = 1.5}", "{exact = true}",
                   "{stacks = 1}", "{pool = 'maybe'}", "{file = ''}", "{file = 'a\\0b'}", "{1}"}
    local code = {}
    for i, options in ipairs(wrong) do code[i] = refused:format(options) end
    assert.equal("fine\n", (run(table.concat(code, "\n") .. " print('fine')")))
  end)

  it("leaves collectgarbage('count') as it is, and snapshots exact", function()
    local out = run [[
      local keep = {}
      local function work() for i = 1, 5000 do keep[i] = {i, "s" .. i} end end
      local function check()
        local s = heap.stats()
        local bytes = s.string_table.slots * 8
        for _, count in pairs(s.types) do bytes = bytes + count.bytes end
        return bytes == s.bytes
      end
      collectgarbage() collectgarbage("stop")
      for _, pool in ipairs{true, false} do
        local before = collectgarbage("count")
        assert(heap.track{pool = pool})
        assert(collectgarbage("count") - before < 2)
        work()
        assert(check())
        local _, bytes = heap.snapshot("a.heap")
        assert(math.abs(bytes - heap.stats().bytes) < 1000)
        assert(heap.untrack())
        work()
        assert(check())
      end
      print "exact"
    ]]
    assert.equal("exact\n", out)
  end)

  it("counts calls, and leaves hooks of the program alone", function()
    local out, dir = run [[
      assert(heap.track{time = true, stacks = true, file = "run.prof"})
      local function leaf() return {} end
      local function walk(n) if n > 0 then walk(n - 1) leaf() end end
      for i = 1, 100 do walk(10) end
      assert(heap.untrack() and not debug.gethook())
      debug.sethook(function() end, "l")
      local ok, message, code = heap.track{time = true, file = "x.prof"}
      debug.sethook()
      print(ok, message, code)
      assert(not heap.track{time = true, file = "no/such/file"})
      print(debug.gethook())
    ]]
    local message = "the program has a debug hook, which counting calls and time would take away"
    assert.match("^nil\t" .. message .. "\t%-?%d+\nnil\n$", out)
    local answer = cjson.decode(support.answer({"heapprof", "--calls", "--json", "run.prof"}, dir))
    local calls = {}
    for _, f in ipairs(answer.functions) do calls[f["function"]:match("in (.*)")] = f.calls end
    assert.same({leaf = 1000, walk = 1100, ["main chunk"] = 0}, calls)
  end)

  it("writes a profile", function()
    local _, dir = run [[
      assert(heap.track{file = "run.prof"})
      for i = 1, 1000 do local t = {i} end
      assert(heap.untrack())
    ]]
    assert.is_true(lfs.attributes(dir .. "/run.prof", "size") > 500)
  end)

  it("returns why a profile cannot be written, and tracks nothing then", function()
    local out = run [[
      print(heap.track{file = "no/such/directory"})
      print(heap.track())
    ]]
    assert.matches("^nil\t.*no/such/directory.*No such file or directory\t2\ntrue\n$", out)
  end)

  it("takes no option about a profile where there is none", function()
    local out = run [[
      print(heap.track{aggregate = true})
      print(heap.track{time = true, stacks = true, live = true})
      print(heap.track())
    ]]
    local why = "is about a profile, and no file is given for one"
    assert.equal(("nil\t'aggregate' %s\t0\nnil\t'time' %s\t0\ntrue\n"):format(why, why), out)
  end)

  it("completes the profile when the program ends, however", function()
    local ways = {"", "os.exit(0)", "os.exit(0, true)", "error('x')", "os.exit(1)"}
    for _, way in ipairs(ways) do
      local _, dir = run(([[
        local f = assert(io.open("a.lua", "w"))
        f:write('assert(require "heap".track{file = "run.prof"}) local t = {} ',
                'for i = 1, 2000 do t[i] = {} end ', %q)
        f:close()
        os.execute((os.getenv "LUA" or "lua5.4") .. " a.lua 2>/dev/null")
      ]]):format(way))
      assert.is_true(lfs.attributes(dir .. "/run.prof", "size") > 2 * 2000, way)
    end
  end)
end)

describe("LUA_HEAP", function()
  local function auto(heap_options, code)
    local dir = support.tmpdir()
    support.write_file(dir .. "/a.lua", code)
    return support.lua('os.execute("exec ${LUA:-lua5.4} -l heap.auto a.lua 2>&1")',
                       {cwd = dir, env = {LUA_HEAP = heap_options}}), dir
  end
  local is_tracked = "local ok, why = require 'heap'.track() print(why)"

  it("tracks from the first line on", function()
    assert.equal("heap.auto: tracked\nthis Lua state is tracked already\n",
                 (auto("track,stacks,sample=64k", is_tracked)))
  end)

  it("refuses options about a profile where there is none", function()
    assert.equal("heap.auto: LUA_HEAP: 'aggregate' is about a profile, and no file is given for " ..
                 "one: nothing is watched\nnil\n", (auto("track,aggregate", is_tracked)))
  end)

  it("writes a profile with track=FILE", function()
    assert.equal("heap.auto: tracked, into run.prof\n", (auto("track=run.prof", "")))
    local out, dir = auto("track=run.prof,log=quiet", "for i = 1, 100 do local t = {i} end")
    assert.equal("", out)
    assert.is_true(lfs.attributes(dir .. "/run.prof", "size") > 300)
  end)

  it("writes another profile where the file is being written", function()
    for _, more in ipairs{"", ",aggregate"} do
      local out, dir = auto("track=run.prof" .. more, [[
        if not ... then os.execute((os.getenv "LUA" or "lua5.4") .. " -l heap.auto a.lua child") end
        for i = 1, 1000 do local t = {...} end
      ]])
      local name = out:match("^heap.auto: tracked, into run%.prof\n"
                             .. "heap.auto: run.prof is being written: (run%.prof%-%d+)\n"
                             .. "heap.auto: tracked, into %1\n$")
      assert.is_string(name, out)
      assert.is_true(lfs.attributes(dir .. "/run.prof", "size") > 200)
      assert.is_true(lfs.attributes(dir .. "/" .. name, "size") > 200)
    end
  end)

  it("tells what of the profile could not be written at the end", function()
    local ways = {"", "os.exit(0)", "os.exit(0, true)", "error('x')",
                  "coroutine.wrap(function() os.exit(0, true) end)()"}
    for _, way in ipairs(ways) do
      local dir = support.tmpdir()
      support.write_file(dir .. "/a.lua", "for i = 1, 40000 do local t = {i} end " .. way)
      local out = support.lua([[os.execute("ulimit -f 40; ${LUA:-lua5.4} -l heap.auto a.lua 2>log")
        print(io.open("log"):read("a"))]],
        {cwd = dir, env = {LUA_HEAP = "track=run.prof"}})
      assert.matches("\nheap.auto: cannot write '[^'\n]*/run.prof': File too large; "
                     .. "[%d,]+ events are lost\n", out, 1, false, way)
    end
  end)

  it("tracks and watches together", function()
    local out, dir = auto("exit,track=run.prof,pool=no", is_tracked)
    assert.matches("^heap.auto: tracked, into run.prof\nheap.auto: armed: ", out)
    assert.matches("this Lua state is tracked already", out)
    local n = 0
    for name in lfs.dir(dir) do n = n + (name:find("%.heap$") and 1 or 0) end
    assert.equal(1, n)
  end)

  it("counts what the watcher makes for itself as the host's", function()
    local out = auto("track,exit,log=quiet", [[
      local kept, n = {}, 0
      local function object()
        kept[#kept + 1] = setmetatable({}, {__gc = type})
        kept[#kept + 1] = coroutine.create(print)
        n = n + 1
      end
      local ends = os.clock() + 0.1 -- a new sentry at each tick
      repeat object() until os.clock() > ends
      require "heap".snapshot("c.heap")
      for _, site in ipairs(require "heap.reader".open("c.heap"):sites()) do
        if site.site:find("coroutine.create", 1, true) then io.write(site.made_objects - n) end
      end
    ]])
    assert.equal("0", out)
  end)

  it("tells options that make no sense", function()
    assert.matches("'stacks' is an option of track", (auto("exit,stacks", "")))
    assert.matches("'sample=much' makes no sense", (auto("track,sample=much", "")))
    assert.matches("'pool=maybe' makes no sense", (auto("track,pool=maybe", "")))
  end)
end)
