-- moments_spec.lua - a snapshot may be taken at any moment: in finalizers while the state closes,
-- in hooks, in callbacks of the library, in each phase of the collector, where the stack is full.
--
-- At each moment one is taken directly and one in the background. Both must be exact and change
-- nothing else (tests/common/lua_heapcheck.c compares), and their files must be whole: they are
-- opened and analysed at once. The moments that only C code can make are in test_moments.c.

local support = require "tests.common.support"

-- moment(where) is for most places; bare(), which calls nothing but heap.snapshot, for those that
-- have no room for more, or none at all: then Lua says so. look(path) sees whether the file is
-- whole, and finished() whether all moments came. `spare` is what buffers without an object hold.
local prelude = [[
  local heap, check, read = require "heap", require "lua_heapcheck", require "lua_heapread"
  local background, n, spare, files, bare_files = {background = true}, 0, 0, 0, {}
  local function new_name() -- a moment may come inside of another
    files = files + 1
    return ("file%04d"):format(files)
  end
  local function look(path, bytes)
    local info = read.info(path)
    assert(info.unaccounted_bytes >= 0 and info.unaccounted_bytes <= spare, path)
    assert(not bytes or info.gc_bytes - info.unaccounted_bytes == bytes, path)
    os.remove(path)
    n = n + 1
    return info.gc_state
  end
  local function moment(where)
    local name, other = new_name(), new_name()
    local changed, bytes, objects, _, sum = check.silent(heap.snapshot, name)
    if changed ~= "" or bytes ~= 2 * (check.user_values + 56) or objects ~= 2 then
      error(("%s: %s%s bytes, %s objects"):format(where, changed, bytes, objects))
    end
    local state = look(name, sum)
    local changed, _, objects, job = check.silent(heap.snapshot, other, background)
    if changed ~= "" or objects ~= 3 then error(where .. ": " .. changed .. objects) end
    local _, sum = assert(job:wait())
    look(other, sum)
    return state
  end
  local function bare()
    local name, other = new_name(), new_name()
    local ok, objects, message = pcall(heap.snapshot, name)
    if ok then
      assert(objects, message)
      bare_files[#bare_files + 1] = name
    end
    local ok, job, message = pcall(heap.snapshot, other, background)
    if ok then bare_files[#bare_files + 1] = {name = other, job = assert(job, message)} end
  end
  local function finished(expected)
    for _, file in ipairs(bare_files) do
      if type(file) == "table" then assert(file.job:wait()) end
      look(type(file) == "table" and file.name or file)
    end
    if n < expected then error(n .. " moments of " .. expected) end
    io.stdout:write(n, "\n")
  end
]]

local n_cases = 0

local function program(text, options)
  local out = support.lua(prelude .. text, options)
  local n = tonumber(out:match("^(%d+)\n$"))
  assert(n, out)
  n_cases = n_cases + n
end

describe("a snapshot may be taken", function()
  teardown(function()
    io.write(("faults: snapshots at odd moments: %d cases, %d survived\n"):format(n_cases, n_cases))
  end)

  -- Finalizers run in the reverse order of their making.
  for name, ending in pairs {
    ["the program returns"] = "",
    ["os.exit closes the state"] = "os.exit(true, true)",
    ["os.exit closes it in a coroutine"] = "coroutine.wrap(os.exit)(true, true)",
    ["the main thread is full of frames"] =
      "local function down(n) if n == 0 then os.exit(true, true) end down(n - 1) end down(1000)",
  } do
    it("in finalizers and to-be-closed variables when " .. name, function()
      for _, mode in ipairs {"incremental", "generational"} do
        program([[
          collectgarbage(arg[1])
          local expected = 10
          first = setmetatable({}, {__gc = function() finished(expected) end})
          for i = 1, 3 do setmetatable({}, {__gc = function() moment "closing" end}) end
          setmetatable({}, {__gc = function() -- one that finds nothing but what is left
            coroutine.wrap(function() moment "a coroutine while closing" end)()
          end})
          local x <close> = setmetatable({}, {__close = function() moment "__close" end})
          local y <close> = setmetatable({}, {__close = function() moment "__close" end})
          debug.sethook(function() debug.sethook() moment "hook" end, "l")
          local z = x
        ]] .. ending, {args = {mode}})
      end
    end)
  end

  it("in hooks of every kind, also of coroutines", function()
    program [[
      local function busy(n)
        local t = {}
        for i = 1, n do t[i] = tostring(i) end
        return #t
      end
      local in_hook
      for _, hook in ipairs {{"c"}, {"r"}, {"l"}, {"", 3}, {"crl", 1}} do
        local left = 8
        local function hooked(event, line)
          if in_hook then return end
          in_hook = true
          moment(event)
          in_hook, left = false, left - 1
          if left % 4 == 0 then debug.sethook() end
        end
        debug.sethook(hooked, table.unpack(hook))
        busy(20)
        coroutine.wrap(function()
          debug.sethook(hooked, table.unpack(hook))
          busy(20)
          coroutine.yield()
        end)()
        assert(left == 0, left)
      end
      finished(80)
    ]]
  end)

  it("in callbacks of the library, and in metamethods", function()
    program [[
      local function called(...) moment "callback" return ... end
      xpcall(error, called, "message")
      xpcall(function() local x = nil + 1 end, called)
      local left = 3 -- a handler's error calls the handler
      xpcall(error, function()
        left = left - 1
        if left >= 0 then called() end
        error "again"
      end)
      string.gsub("abc", "%w", called)
      table.sort({3, 1, 2}, function(a, b) moment "sort" return a < b end)
      for _ in called, nil do break end
      for _ in string.gmatch("a b", "%a") do called() end
      local probe = setmetatable({}, {
        __index = called, __newindex = called, __call = called, __eq = called, __lt = called,
        __le = called, __concat = called, __unm = called, __pairs = called, __close = called,
        __len = function() called() return 1 end, __tostring = function() called() return "" end})
      local other = setmetatable({}, getmetatable(probe))
      local _ = probe.x, probe(1), #probe, probe == other, probe < other, probe <= other,
                probe .. "", -probe, tostring(probe), ("%s"):format(probe), table.unpack(probe)
      probe.x = 1
      for _ in pairs(probe) do break end
      table.concat(setmetatable({}, {__index = function() called() return "x" end,
                                     __len = function() called() return 3 end}))
      do local x <close> = probe end
      table.insert(package.searchers, 1, function() called() end)
      package.preload.here = function() called() return true end
      require "here"
      assert(not pcall(require, "nowhere"))
      local closing = coroutine.create(function() local x <close> = probe coroutine.yield() end)
      coroutine.resume(closing)
      coroutine.close(closing)
      local failing = coroutine.wrap(function() local x <close> = probe error "x" end)
      pcall(failing)
      setmetatable({}, {__gc = function() called() end})
      collectgarbage()
      finished(70)
    ]]
  end)

  it("while a chunk is loaded", function()
    program [[
      spare = 20000 -- the parser's buffers belong to no object
      local pieces, at = {}, 0
      for i = 1, 40 do pieces[i] = ("return function(x) local t = {x, 'text %d'} "):format(i) end
      for i = 41, 80 do pieces[i] = "end " end
      assert(load(function()
        at = at + 1
        if at % 8 == 0 then
          for _, options in ipairs {{}, background} do
            local job = heap.snapshot("loading", options)
            if options == background then assert(job:wait()) end
            look "loading"
          end
        end
        return pieces[at]
      end))
      finished(20)
    ]]
  end)

  -- From Lua all states but "atomic" (2) can be seen: nothing of the program runs in that one.
  it("in every phase of an incremental cycle, in and between steps", function()
    program [[
      local seen = {}
      local function look_on(where)
        local state = check.collector()
        seen[state] = (seen[state] or 0) + 1
        if seen[state] > 8 then return end
        assert(moment(where .. state) == state)
      end
      check.small_steps()
      collectgarbage()
      collectgarbage("stop") -- the steps are made by hand
      local mode = {__mode = "k"}
      for round = 1, 3 do
        for i = 1, 200 do
          setmetatable({{}, tostring(i)}, mode)
          if i % 40 == 0 then setmetatable({}, {__gc = function() look_on "finalizer" end}) end
        end
        local n = 0
        repeat
          n = n + 1
          look_on "step"
        until collectgarbage("step", 0) or n > 20000
        look_on "done"
      end
      for _, state in ipairs {0, 1, 3, 4, 5, 6, 7, 8} do
        assert(seen[state], "never in state " .. state)
      end
      assert(not seen[2])
      finished(2 * 8 * 4)
    ]]
  end)

  -- Between two steps this mode always stands in state 0, but right after it was chosen, or after a
  -- full collection of a state that closes.
  it("in generational mode, in and between steps, and where the mode changes", function()
    program [[
      local seen = {}
      local function look_on(where)
        local state, kind = check.collector()
        seen[kind] = seen[kind] or {}
        seen[kind][state] = (seen[kind][state] or 0) + 1
        if seen[kind][state] <= 20 then assert(moment(where) == state) end
      end
      collectgarbage("generational", 20, 100)
      local keep = {}
      for round = 1, 30 do
        for i = 1, 100 do
          keep[i % 50] = setmetatable({{}, tostring(i)}, {__mode = i % 3 == 0 and "k" or nil})
          if i % 50 == 0 then setmetatable({}, {__gc = function() look_on "finalizer" end}) end
        end
        look_on "before"
        collectgarbage("step", round % 3 == 0 and 1000 or 0)
        look_on "after"
        if round % 10 == 0 then
          collectgarbage("incremental")
          for _ = 1, 5 do collectgarbage("step", 1) look_on "other mode" end
          collectgarbage("generational")
          look_on "changed"
        end
      end
      assert(seen[1][0] > 20 and seen[0])
      finished(60)
    ]]
  end)

  it("after and in a stack overflow", function()
    program [[
      local function down() return 1 + down() end
      local ok, message = pcall(down)
      assert(not ok and message:find "overflow")
      moment "after a stack overflow"
      xpcall(down, function(m) bare() return m end)
      moment "after its handler"
      local left = 3 -- its error calls it again
      xpcall(down, function()
        left = left - 1
        if left >= 0 then bare() end
        return down()
      end)
      local co = coroutine.create(down)
      assert(not coroutine.resume(co))
      moment "beside a coroutine that overflowed"
      xpcall(function() return coroutine.wrap(down)() end, bare)
      finished(12)
    ]]
  end)

  -- Each level is a call in C: the 200th fails, in 5.4.0 and 5.4.1 the 150th. 5.4.0 to 5.4.2 lose
  -- count when an error is caught there, and would go on until the real stack overflows.
  it("where C calls are nested to the limit", function()
    program [[
      local deepest = 0
      local function nested(level)
        deepest = level
        if level >= 120 then bare() end
        return (string.gsub("x", "x", function() return nested(level + 1) end))
      end
      assert(not pcall(nested, 1))
      assert(deepest > 140 and deepest <= 220, deepest)
      moment "after a C stack overflow"
      local function resumed(level)
        deepest = level
        if level >= 120 then bare() end
        if level == 220 then error "enough" end
        return coroutine.wrap(resumed)(level + 1)
      end
      assert(not pcall(resumed, 1))
      assert(deepest > 140 and deepest <= 220, deepest)
      moment "after too many coroutines in each other"
      finished(50)
    ]]
  end)
end)
