-- show_spec.lua - heap.show() prints any value, and calls nothing of it.

local support = require "tests.common.support"

local function shown(program)
  return (support.normalise(support.lua("local heap = require 'heap'\n" .. program)))
end

local function of_release(text)
  return support.sizes(text, {["184 B"] = "166 B", ["88 B"] = "70 B", ["56 B"] = "48 B",
                              ["72 B"] = "61 B", ["152 B"] = "144 B", ["80 B"] = "72 B"})
end

describe("heap.show", function()
  it("shows tables with sizes, a few levels deep", function()
    assert.equal(of_release [[
{ -- 0xADDRESS, 184 B, 6 entries
  [1] = 2.5
  [2] = -7
  list = { -- 0xADDRESS, 88 B, 2 entries
    [1] = {} -- 0xADDRESS, 56 B
    [2] = Session { -- 0xADDRESS, 72 B, 1 entry
      [1] = {...} -- 0xADDRESS, 72 B, 1 entry
    }
  }
  name = "bus"
  ["two words"] = true
  [false] = 1.0
}
]], shown [[
      print(heap.show{2.5, -7, name = "bus", ["two words"] = true, [false] = 1.0,
                      list = {{}, setmetatable({{{}}}, {__name = "Session"})}})
    ]])
  end)

  it("shows each table once", function()
    assert.equal(of_release [[
{ -- 0xADDRESS, 152 B, 3 entries
  a = { -- 0xADDRESS, 80 B, 1 entry
    up = {...} -- see the top
  }
  b = {...} -- see .a
  [table 0xADDRESS] = 1
}
]], shown [[
      local t = {a = {}, [{}] = 1}
      t.a.up, t.b = t, t.a
      print(heap.show(t))
    ]])
  end)

  it("shows what is no table", function()
    assert.equal([[
nil
true
-1
1e+100
0.1
"tab\t, \"quotes\" and \x1B[31m"
]] .. '"' .. ("x"):rep(60) .. [[..." -- 5,000 bytes
function [C]
function program.lua:6 -- 32 B
thread (suspended) -- N B
FILE* 0xADDRESS -- 48 B
]], (shown [[
      for _, v in ipairs {false, true, -1, 1e100, 0.1, "tab\t, \"quotes\" and \27[31m",
                          ("x"):rep(5000), print} do
        print(heap.show(v or nil))
      end
      print(heap.show(function() end))
      print(heap.show(coroutine.create(print)))
      print(heap.show(io.stdout))
    ]]:gsub("%(suspended%) %-%- [%d.]+ K?B", "(suspended) -- N B")))
  end)

  it("is short, whatever the size", function()
    local out = shown [[
      local t = {}
      for i = 1, 100000 do t[i] = {i} end
      print(heap.show(t))
      for i = 1, 100 do t["key" .. i] = {t = {t = {t = {}}}} end
      local text = heap.show({t, {t}, {{t}}}, {depth = 50})
      assert(select(2, text:gsub("\n", "")) < 400)
      local list
      for i = 1, 100000 do list = {next = list} end
      assert(heap.show(list, {depth = 1 << 40}):find("only the first lines", 1, true))
    ]]
    assert.matches("  ... -- 99,980 more\n}", out, 1, true)
    assert.equal(63, select(2, out:gsub("\n", "")))
  end)

  it("calls no metamethod", function()
    local out = shown [[
      local function raise() error("a metamethod was called") end
      local angry = {}
      for _, event in ipairs {"index", "newindex", "pairs", "tostring", "len", "call", "eq", "lt",
                              "le", "concat", "unm", "close", "metatable", "mode", "name"} do
        angry["__" .. event] = raise
      end
      setmetatable(angry, angry)
      local value = {setmetatable({1, [angry] = angry}, angry), print, "text", 1.5, nil, true}
      value.thread, value.file, value.string = coroutine.create(print), io.stdout, ("x"):rep(100)
      heap.show(1)
      local write, setmetatable = io.write, debug.setmetatable
      for _, v in ipairs {"", 1, true, print, coroutine.create(print), io.stdout} do
        setmetatable(v, angry)
      end
      setmetatable(nil, angry)
      write(heap.show(value), heap.show(angry), heap.show("x"), heap.show(1), heap.show(nil))
      for _, v in ipairs {"", 1, true, print, coroutine.create(print)} do setmetatable(v, nil) end
      setmetatable(nil, nil)
    ]]
    assert.matches('thread = thread (suspended)', out, 1, true)
  end)

  it("knows its arguments", function()
    support.lua [[
      local heap = require "heap"
      for _, bad in ipairs {{n = 0}, {1, 2, n = 2}, {1, {width = 1}, n = 2},
                            {1, {depth = "x"}, n = 2}, {1, {depth = -1}, n = 2}} do
        assert(not pcall(heap.show, table.unpack(bad, 1, bad.n)))
      end
      assert(heap.show({{}}, {depth = 0}):find("{...}", 1, true))
    ]]
  end)
end)
