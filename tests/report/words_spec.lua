-- words_spec.lua - what stands below a row, or in its heading, is true of it and of use.

local support = require "tests.common.support"
local diff = require "tests.common.diff".ask

local function told(program, ...)
  local _, dir = diff(program)
  return (support.run({"heapdiff", "a", "b", "c", ...}, {cwd = dir}))
end

describe("a container that grew", function()
  it("says, if it is weak, why its entries stay", function()
    local out = told [[
      seen = setmetatable({}, {__mode = "v"})
      alive = setmetatable({}, {__mode = "v"})
      kept = {}
      function leak()
        for i = #kept + 1, #kept + 100 do
          kept[i] = {i}
          alive["k" .. i] = kept[i]
          seen["k" .. i] = "digest " .. i
        end
      end
    ]]
    local below = "\n    weak values, but strings and numbers are never weak: the entries stay\n"
    assert.match("_G.seen" .. below, out, 1, true)
    assert.match("_G.alive\n[^ ]", out)
  end)

  it("is under a heading of entries where its bytes grew once only", function()
    local function heading(fill)
      return told(("log = {}\nfunction leak() for i = 1, %s do log[#log + 1] = i end end\nleak()")
        :format(fill)):match "\n(Containers older than a [^\n]+)\n"
    end
    assert.equal("Containers older than a that grew until b and again until c",
                 heading "#log + 100")
    assert.equal("Containers older than a that had more entries in b and again in c",
                 heading "#log == 0 and 600 or 100")
  end)
end)

describe("a doubly linked list", function()
  it("is no path of hundreds of steps", function()
    local out = told [[
      list = {map = {}}
      list.back = list
      function leak()
        for i = 1, 200 do
          local new = {prev = list.back, id = #list.map + 1}
          list.back = new
          list.map[new.id] = new
        end
      end
    ]]
    assert.match("Of the first group, [^\n]+, and also by [^\n]+prev%*\n", out)
    assert.not_match("more .prev", out, 1, true)
  end)
end)

describe("a row of five snapshots that is noise", function()
  it("is counted, and told by -n 0", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      big, small, ring = {("x"):rep(100000)}, {}, {}
      for _, name in ipairs {"a", "b", "c", "d", "e"} do
        for i = 1, 100 do big[#big + 1] = {i} end
        small[1] = #small == 0 and ("y"):rep(40) .. name or nil
        collectgarbage()
        assert(heap.snapshot(name))
      end
    ]]
    local function ladder(...)
      return (support.run({"heapdiff", "a", "b", "c", "d", "e", ...}, {cwd = dir}))
    end
    assert.match("\n%d+ rows? [^\n]+ no more than noise, less than a thousandth of the heap" ..
                 "[^\n]*: %-n 0 shows all\n", ladder())
    assert.not_match("_G.small", ladder(), 1, true)
    assert.match("_G.small", ladder("-n", "0"), 1, true)
  end)
end)

describe("a path through a big collection", function()
  it("tells where its entry was allocated, if the program was tracked", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      assert(heap.track())
      pages = {}
      for i = 1, 40 do
        pages["page" .. i] = {text = setmetatable({}, {__name = "Text"})}
      end
      assert(heap.snapshot "c")
    ]]
    local out = support.run({"heappath", "--format", "text", "c", "Text"}, {cwd = dir})
    assert.match("\nTo cut this path and its like, remove entries of _G.pages: it has 40\n" ..
                 "    The entry of this path: allocated at @program.lua:5", out, 1, true)
  end)
end)
