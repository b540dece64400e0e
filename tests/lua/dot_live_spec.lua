-- dot_live_spec.lua - heap.dot: the graph below a value, or what keeps it alive, as a picture.

local support = require "tests.common.support"

local prelude = [[
  local heap = require "heap"
  local function picture(v, options)
    assert(heap.dot(v, "picture.dot", options))
    local file <close> = assert(io.open("picture.dot"))
    return file:read("a")
  end
]]

-- The boxes and arrows of a graph, as Graphviz reads it: the boxes by their names, and each arrow
-- as "from label to".
local function read(dir)
  local out, err, code = support.run({"dot", "-Tdot_json", "picture.dot"}, {cwd = dir})
  assert(code == 0, err)
  local graph = require "cjson".decode(out)
  local boxes, arrows, rest = {}, {}, {}
  local names = {}
  for _, box in ipairs(graph.objects or {}) do
    local title = box.label:match("^<b>(.-) ?</b>") or box.label
    names[box._gvid] = title
    boxes[#boxes + 1] = title
    if box.shape == "octagon" then rest.asked = title end
  end
  for _, arrow in ipairs(graph.edges or {}) do
    arrows[#arrows + 1] = ("%s%s %s"):format(names[arrow.tail], arrow.label or " ",
                                             names[arrow.head]):gsub(" +", " ")
  end
  table.sort(boxes)
  table.sort(arrows)
  return boxes, arrows, rest.asked
end

describe("heap.dot", function()
  --     root --.left--> L --[1]--> leaf        root --.right--> R --> L
  --      |                                                      R --upvalue--> U
  it("draws what is below a value", function()
    local _, dir = support.lua(prelude .. [[
      local function named(name, t) return setmetatable(t, {__name = name}) end
      local L = named("L", {named("leaf", {})})
      local U = named("U", {})
      root = named("root", {left = L, right = named("R", {L, function() return U end})})
      U.back = root
      picture(root)
    ]])
    local boxes, arrows, asked = read(dir)
    assert.equal("root", asked)
    local there = {}
    for _, arrow in ipairs(arrows) do there[arrow] = true end
    for _, arrow in ipairs {"root .left L", "root .right R", "R [1] L", "L [1] leaf",
                            "function @program.lua:10 upvalue U U"} do
      assert.is_true(there[arrow], arrow .. " is not in " .. table.concat(arrows, "; "))
    end
    assert.is_nil(there["U .back root"]) -- four levels down
    assert.is_true(#boxes < 15)
  end)

  it("shows of many what retains most, and says how many there are", function()
    local _, dir = support.lua(prelude .. [[
      list = {}
      for i = 1, 1000 do list[i] = {} end
      list[500] = {("long"):rep(1000)}
      local all = picture(list, {depth = 1, width = 3})
      assert(all:find("997 more", 1, true))
    ]])
    local boxes, arrows = read(dir)
    assert.equal(5, #boxes)
    local found
    for _, arrow in ipairs(arrows) do found = found or arrow:find("[500]", 1, true) end
    assert.is_truthy(found)
  end)

  it("draws what keeps a value alive", function()
    local _, dir = support.lua(prelude .. [[
      local function named(name, t) return setmetatable(t, {__name = name}) end
      a, b = named("A", {}), named("B", {})
      a.x = named("X", {})
      b[7] = a.x
      local s <close> = heap.capture()
      assert(s:dot(a.x, "capture.dot", {up = true, width = 5}))
      picture(a.x, {up = true, width = 5})
      picture(named("asker's", {}), {up = true})
      picture(a.x, {up = true, width = 5})
    ]])
    local boxes, arrows, asked = read(dir)
    assert.equal("X", asked)
    assert.same({"A", "B", "X", "_G"}, boxes)
    assert.same({"A .x X", "B [7] X", "_G .a A", "_G .b B"}, arrows)
  end)

  it("copes with lists of a million, and says what is wrong", function()
    support.lua(prelude .. [[
      for i = 1, 200000 do list = {next = list} end
      picture(list, {depth = 50})
      local last = list
      while last.next do last = last.next end
      assert(picture(last, {up = true}):find("more .next", 1, true))
      local function no(message, ...)
        local ok, why = heap.dot(...)
        assert(ok == nil and why:find(message, 1, true), why)
      end
      no("a number is not on the heap", 1, "x")
      no("No such file", list, "no/such/file")
      no("the width of a picture", list, "x", {width = 100000})
      local ok, why = heap.dot({}, "picture.dot", {up = true})
      assert(ok == nil and why == "nothing keeps the object alive", why)
      local file <close> = assert(io.open("picture.dot"))
      assert(file:seek("end") > 100) -- it is as it was
      for _, bad in ipairs {{}, {list}, {list, "x", {size = 1}}, {list, "x", {width = 0}},
                            {list, "x", {depth = -1}}, {list, "picture.dot\0"}} do
        assert(not pcall(heap.dot, table.unpack(bad)))
      end
    ]])
  end)

  it("makes a file as a snapshot does: for its owner, whole or not at all", function()
    local dir = support.tmpdir()
    support.write_file(dir .. "/old.dot", "kept")
    assert(require "lfs".link("old.dot", dir .. "/link.dot", true))
    local out = support.lua([[
      local heap = require "heap"
      for i = 1, 20 do list = {list, ("x"):rep(i)} end
      print(heap.dot(list, "link.dot"))
      print(heap.dot(list, "/dev/null"))
      print(heap.dot(list, "old.dot"))
    ]], {cwd = dir, before = "trap '' XFSZ; ulimit -f 2;"})
    assert.equal("nil\tcannot write 'link.dot': it is a symbolic link, and these are not " ..
                 "followed\t40\nnil\tcannot write '/dev/null': it is no regular file\t22\n", (
                 out:gsub("[^\n]*old.dot[^\n]*\n$", "")))
    assert.matches("nil\tcannot write 'old.dot': the file needs [%d.]+ KB and may have 1.0 KB", out)
    assert.equal("kept", support.read_file(dir .. "/old.dot"))
    support.lua(prelude .. "assert(heap.dot(_G, 'old.dot'))", {cwd = dir})
    assert.equal("rw-------", require "lfs".attributes(dir .. "/old.dot", "permissions"))
    assert.equal("link.dot old.dot program.lua", (support.run("echo *", {cwd = dir}):sub(1, -2)))
  end)

  it("says what to install", function()
    local dir = support.tmpdir()
    support.run("cp " .. support.quote(support.build .. "/heap.so") .. " .", {cwd = dir})
    support.lua([[
      package.cpath = "./?.so"
      local ok, why = require "heap".dot({}, "picture.dot")
      assert(ok == nil and why:find("`make install` puts heap/dot.so", 1, true), why)
      package.preload["heap.dot"] = function() error "libcgraph.so.6: cannot open" end
      ok, why = require "heap".dot({}, "picture.dot")
      assert(ok == nil and why:find("apt install libcgraph6", 1, true), why)
    ]], {cwd = dir})
  end)
end)
