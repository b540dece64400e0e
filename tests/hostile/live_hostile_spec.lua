-- live_hostile_spec.lua - programs that ask about themselves where and how nobody should: no crash,
-- no wrong answer, no object that is gone or another one.

local support = require "tests.common.support"

local prelude = [[
  local heap = require "heap"
  local function is(got, expected)
    if got ~= expected then
      error(("%s instead of %s"):format(tostring(got), tostring(expected)), 2)
    end
  end
  local function refuses(part, f, ...)
    local ok, message = pcall(f, ...)
    if ok or not message:find(part, 1, true) then
      error(("%q is not in %q"):format(part, tostring(message)), 2)
    end
  end
  local function settle() for _ = 1, 3 do collectgarbage() end end
  v = {}
]]

local function live(program, ...) return support.lua(prelude .. program, {args = {...}}) end

describe("a program that asks anywhere", function()
  it("gets right answers: random programs", function()
    local n_programs, n_checked = support.sanitized and 6 or 14, 0
    local program = support.read_file("tests/common/live_random.lua")
    for seed = 1, n_programs do
      local out = support.lua(program, {name = "live_random.lua", args = {tostring(seed), "600"}})
      n_checked = n_checked + tonumber(out)
    end
    assert.is_true(n_checked > 50 * n_programs)
    io.write(("\nfaults: random programs that ask about themselves: %d cases, %d survived\n")
      :format(n_programs, n_programs))
  end)

  it("gets answers where the stack is full", function()
    live [[
      local answers = {}
      local function handler(message)
        if #answers < 5 then answers[#answers + 1] = heap.path(v) end
        return message
      end
      local function deep() return 1 + deep() end
      local function deep_in_c() return (("x"):gsub("x", deep_in_c)) end
      is(xpcall(deep, handler), false)
      is(answers[1], "_G.v")
      is(xpcall(deep_in_c, handler), false)
      is(answers[2], "_G.v")
      local function each() heap.each(each, {type = "thread"}) end
      refuses("C stack overflow", each)
      is(heap.path(v, table.unpack({}, 1, 100000)), "_G.v")
      refuses("too many arguments", function() heap.path(v, table.unpack({}, 1, 900000)) end)
      is(#heap.stats().epochs, 1)
    ]]
  end)

  it("does not wait for the square of anything", function()
    live([[
      local n = tonumber(arg[1])
      list = {}
      for i = 1, n do list[i] = v end
      is(#heap.referrers(v), n + 1)
      for i = 1, n do list[i] = {v} end
      local paths = heap.paths(v, n)
      is(#paths, n)
      local last = paths[n]
      is(last[#last].object, v)
      local s <close> = heap.capture()
      local object = s.reader:object("_G.list")
      for _ = 1, n do assert(object.address) end
    ]], support.sanitized and 20000 or 100000)
  end)

  it("may call what it is handed", function()
    live [[
      local check = require "lua_heapcheck"
      local n = 0
      local function look(o)
        n = n + 1
        pcall(tostring, o)
        pcall(function() return #o, o.x, o < o end)
        pcall(function() for _ in pairs(o) do end end)
        heap.show(o)
        if type(o) == "function" then
          debug.getinfo(o, "SLlnfu")
          pcall(string.dump, o)
          for i = 1, 5 do debug.getupvalue(o, i) end
        elseif type(o) == "thread" then
          pcall(coroutine.close, o)
          pcall(coroutine.resume, o)
        end
      end
      check.loading(function() heap.each(look) end)
      heap.each(look)
      is(n > 500, true)
    ]]
  end)
end)

describe("a capture", function()
  it("lasts as long as what was got from it", function()
    live [[
      local object = heap.capture().reader:object("_G.v")
      local n, names = 0, {}
      settle()
      is(object:path(), "_G.v")
      for o in heap.capture().reader:objects() do
        n, names[o.class] = n + 1, true
        if n % 100 == 0 then collectgarbage() end
      end
      is(n > 300, true)
      object = nil
      settle()
      is(#heap.stats().epochs, 1)
    ]]
  end)

  it("is closed where the debug library took its reader away", function()
    live [[
      for _, way in ipairs {"path", "object", "save", "close", "collect"} do
        local s = heap.capture()
        debug.setuservalue(s, nil, 1)
        settle()
        if way == "path" then refuses("the capture is closed", s.path, s, v)
        elseif way == "object" then refuses("the capture is closed", s.object, s, 1)
        elseif way == "save" then refuses("the capture is closed", s.save, s, "a")
        elseif way == "close" then s:close() end
      end
      local s = heap.capture()
      s:each(function()
        debug.setuservalue(s, nil, 1)
        collectgarbage()
        s:path(v)
      end, {type = "thread"})
      refuses("the capture is closed", s.path, s, v)
      s = nil
      settle()
      is(#heap.stats().epochs, 1)
    ]]
  end)

  it("is not read by what the debug library took its snapshot from", function()
    live [[
      for _, read in ipairs {
        function(o) return o.class end, function(o) return o.address end,
        function(o) return o:path() end, function(_, each) return each() end,
        function(_, _, edge) return edge.label end, function(_, _, edge) return edge.source end,
        function(_, _, edge) return edge.key end, function(_, _, _, list) return list[1] end,
        function(_, _, _, _, path) return path[1] end,
        function(_, _, _, _, path) return path.text end,
      } do
        local reader = heap.capture().reader
        local object, each = reader:object("_G.v"), reader:objects()
        local edge = object:referrers()[1]
        local list, path = reader:top(1), object:paths(1)[1]
        for _, o in ipairs {object, each, edge, list, path} do debug.setuservalue(o, nil, 1) end
        reader = nil
        settle()
        refuses("snapshot", read, object, each, edge, list, path)
      end
    ]]
  end)

  it("is not what the debug library makes look like one", function()
    live [[
      local metatable = getmetatable(heap.capture())
      local file = debug.setmetatable(io.tmpfile(), metatable)
      refuses("capture of heap.capture expected", metatable.__index(file, "path"), file, v)
      refuses("capture of heap.capture expected", metatable.__gc, file)
      debug.setmetatable(file, nil)
    ]]
  end)
end)
