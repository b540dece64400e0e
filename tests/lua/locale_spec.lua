-- locale_spec.lua - a program that sets a locale with a comma for the decimal point: paths read and
-- print numbers as Lua source has them, and all is printed.

local lfs = require "lfs"
local support = require "tests.common.support"

-- A locale "comma" that is nothing but that, as the GNU C library reads it: a table of offsets,
-- then point, thousands' separator, grouping, both of the first as wide characters, and charset.
local function make_locale()
  local dir = support.tmpdir()
  assert(lfs.mkdir(dir .. "/comma"))
  support.write_file(dir .. "/comma/LC_NUMERIC", string.pack("<I4I4 I4I4I4I4I4I4 zzzx I4I4 z",
    0x20031114, 6, 0x20, 0x22, 0x24, 0x28, 0x2C, 0x30, ",", ".", "\3\3", 0x2C, 0x2E, "UTF-8"))
  return dir
end

describe("in a locale with a decimal comma", function()
  local function lua(program)
    return (support.lua('assert(os.setlocale("comma", "numeric") and tostring(1.5) == "1,5")\n' ..
      'heap = require "heap"\n' .. program, {env = {LOCPATH = make_locale()}}))
  end

  it("paths have a point, and are found", function()
    assert.equal("_G.t[1.5]\n{x}\ntrue\n", lua [[
      t = {[1.5] = {x = 1}, [2.5] = {x = 1}}
      print((heap.path(t[1.5])))
      heap.snapshot "a"
      local object = require "heap.reader".open "a":object "_G.t[1.5]"
      print(object.class)
      print(object:paths(1)[1][3].key == 1.5)
    ]])
  end)

  it("sizes are printed", function()
    local out = lua [[
      list = {}
      for i = 1, 1000 do list[i] = {} end
      print(heap.top(1))
      print(heap.leaks(function() list[#list + 1] = {("x"):rep(1500)} end))
    ]]
    assert.matches("%d%.%d KB +%d+%.%d%% +%d+%.%d KB +0x%x+ +globals", out)
    assert.matches("1 object +1%.6 KB +array of string +_G%.list%[%*%]", out)
  end)
end)
