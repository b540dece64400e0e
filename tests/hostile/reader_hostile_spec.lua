-- reader_hostile_spec.lua - heap.reader with names that would do harm to a terminal: all that can
-- be asked of them is asked, and printed. (tests/hostile/test_corpus.c does it with forged files.)

local support = require "tests.common.support"

local seed = 1

-- Everything that can be asked of a snapshot and of some of its objects, as text; it must not be
-- closed meanwhile. What raises an error is not printed.
local ask = [[
  local reader = require "heap.reader"
  local function print_all(s, say)
    local function try(f, ...)
      local function answer(ok, ...)
        for i = 1, ok and select("#", ...) or 0 do say(tostring((select(i, ...)))) end
      end
      answer(pcall(f, ...))
    end
    for _, name in ipairs {"classes", "top", "marks", "epochs", "suspects", "modules", "threads",
      "verify"} do
      try(function() return s[name](s) end)
    end
    for i, mark in ipairs(s:marks()) do
      if i < 9 then try(function() return s:since(mark.name) end) end
    end
    for _, garbage in ipairs {false, true} do
      try(function() return s:top {n = 30, garbage = garbage}, s:classes {garbage = garbage} end)
    end
    local function look(o)
      try(function() return o, o:text(), o:path(), o.held_by, o:paths(3) end)
      try(function() return o:referrers(), o:edges(), o:dominators(), o:under() end)
      try(function() return o:entries() end)
      try(function() return o:frames() end)
      try(function() return s:object(o:path()) end)
      for _, field in ipairs {"dominator", "metatable", "proto", "value", "file", "epoch"} do
        try(function() return o[field] and reader.escape(tostring(o[field])) end)
      end
    end
    for _, o in ipairs(s:top {n = 40, type = "table,closure,thread,userdata,proto,upvalue"}) do
      look(o)
    end
    for id = 0, math.min(#s, 30) do try(look, s:object(id)) end
    try(function() return s, s.info, s:retained(s:objects()), s:diff(s) end)
    try(function() return reader.growth {s, s}, reader.owners {s, s}, s:strings(s) end)
  end
]]

it(("names are harmless when they are printed (seed %d)"):format(seed), function()
  local program = [[
    local heap, hostile = require "heap", require "tests.common.hostile"
    local code = "local NAME0001 = {...} local function NAME0002() return NAME0001 end "
      .. "coroutine.yield(NAME0002, {f = NAME0002})"
    H, C, F = {}, {}, {}
    heap.snapshot "a"
    for i, name in ipairs(hostile.names(]] .. seed .. [[, 200)) do
      H[name] = setmetatable({[name] = {name}}, {__name = name})
      package.loaded[name] = package.loaded[name] or {name:rep(20)}
      C[i] = coroutine.create(hostile.renamed(code, "=" .. name, name))
      F[i] = select(2, coroutine.resume(C[i]))
      if i % 9 == 0 then heap.mark(name) end
    end
    heap.snapshot "b"
  ]] .. ask .. [[
    local n = 0
    local function say(text)
      n = n + #text
      local fault = hostile.faults(text)
      if fault then error(fault .. " in: " .. reader.escape(text)) end
    end
    local a, b = reader.open "a", reader.open "b"
    print_all(b, say)
    for i, name in ipairs(hostile.names(]] .. seed .. [[, 200)) do
      local o = b:object "_G.H":get(name)
      say(tostring(o))
      say(tostring(o:paths(2)))
      say(tostring(o:edges()))
    end
    say(tostring(b:diff(a)))
    say(tostring(reader.growth {"a", "b"}))
    say(tostring(reader.owners {"a", "b"}))
    os.rename("b", "b\27[2J\n")
    local c = reader.open "b\27[2J\n"
    say(tostring(c))
    say(tostring(c:diff(a)))
    say(tostring(reader.growth {a, c}))
    print(n > 100000)
  ]]
  assert.equal("true\n", (support.lua(program, {name = "\27[31m\n.lua"})))
end)
