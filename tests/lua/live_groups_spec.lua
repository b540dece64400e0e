-- live_groups_spec.lua - a program asks what is big in its heap, and what is new and stays: in the
-- figures of the commands.

local support = require "tests.common.support"
local live = require "tests.common.live"

describe("heap.count, heap.classes and heap.top", function()
  it("say what heaptop says", function()
    local _, dir = live.lua [[
      Listener = {__name = "Listener"}
      kept = {}
      for i = 1, 500 do
        kept[i] = setmetatable({i, tostring(i), function() return i end}, Listener)
      end
      local s <close> = heap.capture()
      s:save("a")
      local function line(file, ...) file:write(table.concat({...}, "\t"), "\n") end
      for _, by in ipairs {"type", "class"} do
        local file <close> = assert(io.open(by, "w"))
        for name, count in pairs(s:count(by)) do line(file, name, count.objects, count.bytes) end
      end
      for _, by in ipairs {"retained", "shallow", "count"} do
        local file <close> = assert(io.open(by, "w"))
        for _, row in ipairs(s:classes(0, by)) do
          line(file, row.class, row.type, row.objects, row.shallow_bytes, row.retained_bytes)
        end
      end
      is(heap.count().closure.objects > 500, true)
      is(heap.count("class").Listener.objects, 500)
      is(heap.classes(3)[1].class ~= nil, true)
      is(#heap.classes(3), 3)
      local top = heap.top(5)
      is(#top, 5)
      is(top[1].retained_bytes >= top[2].retained_bytes, true)
      local found
      for _, row in ipairs(heap.top(30)) do found = found or row.object == kept and row end
      is(found.retained_bytes, heap.retained(kept))
      is(heap.top(3, "shallow")[1].shallow_bytes, heap.sizeof(heap.top(1, "shallow")[1].object))
      for _, bad in ipairs {{-1}, {1.5}, {1, "size"}, {"x"}} do
        is(pcall(heap.top, table.unpack(bad)), false)
        is(pcall(heap.classes, table.unpack(bad)), false)
      end
      is(pcall(heap.count, "shape"), false)
    ]]
    local told = live.json({"heaptop", "--json", "-n0", "a"}, dir)
    local classes, types, sum = {}, {}, 0
    local function add(t, name, row)
      t[name] = t[name] or {0, 0}
      t[name][1], t[name][2] = t[name][1] + row.objects, t[name][2] + row.shallow_bytes
    end
    for _, row in ipairs(told.classes) do
      add(classes, row.class, row)
      add(types, row.type, row)
      sum = sum + row.objects
    end
    assert.is_true(sum > 1500)
    for name, expected in pairs {type = types, class = classes} do
      for line in io.lines(dir .. "/" .. name) do
        local key, objects, bytes = line:match("^(.-)\t(%d+)\t(%d+)$")
        assert.same({tonumber(objects), tonumber(bytes)}, expected[key], key)
        expected[key] = nil
      end
      assert.is_nil(next(expected))
    end
    -- In the file something more is retained by the capture itself, or shared with it.
    for _, by in ipairs {"retained", "shallow", "count"} do
      local rows, compared = {}, 0
      local command = {"heaptop", "--json", "-n0", "--sort", by, "a"}
      for i, row in ipairs(live.json(command, dir).classes) do
        rows[row.class .. row.type] = {row, i}
      end
      local i = 0
      for line in io.lines(dir .. "/" .. by) do
        i = i + 1
        local class, type, figures, retained = line:match("^(.-)\t(.-)\t(%d+\t%d+)\t(%d+)$")
        local row, place = table.unpack(rows[class .. type])
        assert.equal(("%d\t%d"):format(row.objects, row.shallow_bytes), figures)
        if by ~= "retained" then assert.equal(place, i) end
        if tonumber(retained) == row.retained_bytes then compared = compared + 1 end
      end
      assert.is_true(i > 20 and compared >= i - 4)
    end
  end)
end)

describe("heap.top", function()
  it("ranks what heaptop ranks: no innards of functions, and of a list its first", function()
    local out, dir = live.lua [[
      for i = 1, 2000 do list = {next = list, value = {}} end
      third = {("x"):rep(30000)}
      for i = 1, 200 do _G["name" .. i] = load("local a = ... return function() return a end")() end
      local s <close> = heap.capture()
      s:save("a")
      for _, row in ipairs(s:top(3)) do print(row.address) end
      print(tostring(s:top(3)):match("\n([^\n]* of lists left out[^\n]*)\n"))
      local types = {}
      for _, row in ipairs(s:top(0)) do types[row.type] = (types[row.type] or 0) + 1 end
      is(types.upvalue, nil)
      is(types.proto, nil)
      is(types.table > 4000, true)
      is(s:top(1, "shallow").left_out, 0)
      is(s:top(1).total_objects, s.reader:top(1).total_objects)
      for i, row in ipairs(s:top {n = 5, type = "closure"}) do
        is(row.type, "closure")
        is(row.address, s.reader:top {n = 5, type = "closure"}[i].address)
      end
    ]]
    local told = support.run({"heaptop", "-n3", "--by", "object", "a"}, {cwd = dir})
    local expected = {}
    for address in told:gmatch("0x%x+") do expected[#expected + 1] = address .. "\n" end
    assert.equal(3, #expected)
    assert.equal(table.concat(expected) .. told:match("[^\n]* of lists left out[^\n]*\n"), out)
  end)
end)

describe("heap.since and heap.diff", function()
  it("group as heapdiff does", function()
    local _, dir = live.lua [[
      Session = {__name = "Session"}
      sessions, cache = {}, {}
      heap.mark("before")
      for i = 1, 50 do
        sessions[i] = setmetatable({id = i, log = {{}, {}}}, Session)
        cache["key " .. i] = {}
      end
      local s <close> = heap.capture()
      s:save("a")
      local out = assert(io.open("answers", "w"))
      local groups = heap.since("before")
      out:write(groups.objects, " ", groups.shallow_bytes, " ", groups.retained_bytes, "\n")
      for _, g in ipairs(groups) do
        if g.class == "Session" or g.class == "{}" then
          out:write(g.class, " ", g.held_by, " ", g.objects, " ", g.shallow_bytes, " ",
                    g.retained_bytes, " ", g.new_objects, " ", g.new_bytes, " ",
                    g.fingerprint, "\n")
        end
      end
      out:close()
      heap.mark("behind")
      late = {}
      local c <close> = heap.capture()
      local fields = {"fingerprint", "class", "type", "held_by", "objects", "shallow_bytes",
                      "retained_bytes", "new_objects", "new_bytes"}
      for _, marks in ipairs {{"before"}, {"before", "behind"}, {"behind"}} do
        local told, wanted = c:since(table.unpack(marks)), c.reader:since(table.unpack(marks))
        is(#told, #wanted)
        is(told.objects, wanted.objects)
        is(told.since, marks[1])
        is(told["until"], marks[2])
        for i, group in ipairs(told) do
          for _, key in ipairs(fields) do is(group[key], wanted[i][key], key) end
          is(group.example, wanted[i].example.address)
        end
      end
      local none, why = heap.since("nothing of this name")
      is(none, nil)
      has(why, "nothing of this name")
      has(why, '"before"')
      is(pcall(heap.since), false)
    ]]
    local told = live.json({"heapdiff", "--json", "--since", "before", "-n0", "a"}, dir)
    local lines = support.lines(support.read_file(dir .. "/answers"))
    local n = 1
    for _, g in ipairs(told.groups) do
      if g.class == "Session" or g.class == "{}" then
        n = n + 1
        assert.equal(("%s %s %d %d %d %d %d %s"):format(
          g.class, g.held_by, g.objects, g.shallow_bytes, g.retained_bytes, g.new_objects,
          g.new_bytes, g.fingerprint), lines[n])
      end
    end
    assert.equal(#lines, n)
    assert.is_true(n > 2)
  end)

  it("tells what a function leaves, run after run", function()
    live.lua [[
      local marks = heap.stats({objects = false})
      leak = {}
      local function work(n) leak[#leak + 1] = {n, {}} local gone = {{}, {}} return gone end
      for _, n in ipairs {1, 7} do
        local left = heap.diff(work, n)
        is(left.objects, 2 * n)
        is(#left, 1)
        is(left[1].held_by, n == 1 and "_G.leak[*]" or "_G.leak[*]")
        is(left[1].objects, n)
        is(left[1].new_objects, 2 * n)
      end
      is(heap.diff(function() end).objects, 0)
      is(#heap.diff(function() local t = setmetatable({}, {__gc = function() end}) end, 100), 0)
      -- what the asker holds has stayed, too
      local held = {}
      local left = heap.diff(function() held[#held + 1] = {} end, 10)
      is(left[1].objects, 10)
      has(left[1].held_by, "local held in main chunk")
      -- errors come through, and leave nothing
      local ok, why = pcall(heap.diff, function() error("on purpose") end, 3)
      is(ok, false)
      has(why, "on purpose")
      is(select(2, pcall(heap.diff)),
         "bad argument #1 to 'heap.diff' (function expected, got no value)")
      is(select(2, pcall(heap.diff, 1)),
         "bad argument #1 to 'heap.diff' (function expected, got number)")
      is(heap.diff(setmetatable({}, {__call = function() held[#held + 1] = {} end})).objects, 1)
      is(pcall(heap.diff, work, 0), false)
      is(#heap.stats().epochs, 1) -- no mark stays
    ]]
  end)
end)

describe("the lists of the live calls", function()
  it("can be read at a prompt", function()
    local out = live.lua [[
      Session = {__name = "Session"}
      sessions = {}
      for i = 1, 30 do sessions[i] = setmetatable({i}, Session) end
      local mine = sessions[7]
      print(select(2, heap.path(mine)))
      print(heap.paths(mine, 3))
      print(heap.referrers(mine))
      print(heap.diff(function() left = {{}} end))
      print(heap.diff(function() end))
      print(heap.paths({}, 1), heap.referrers({}))
      local list
      for i = 1, 100 do list = {next = list} end
      chain = list
      for i = 1, 99 do list = list.next end
      has(select(2, heap.path(list)), "\n... 77 more ...\n")
      local s <close> = heap.capture()
      is(tostring(s:classes(2)), tostring(s.reader:classes(2)))
      has(heap.classes(2), "Classes by retained size\n\nretained  share  shallow  objects  type")
      is(tostring(s:top(3)), tostring(s.reader:top(3)))
      has(heap.top(3), "Objects by retained size\n\nretained  share")
      has(heap.count(), "shallow  objects  name\n")
      has(heap.count(), "  thread\n")
      has(heap.objects("Session"), "address\ntable: 0x")
      has(heap.objects("Session"), "\nand 10 more objects")
      is(tostring(heap.objects("no class")), "none")
    ]]
    assert.equal(support.sizes([[

reference  class             address
_G         globals (_G)      0xADDRESS
.sessions  array of Session  0xADDRESS
[7]        Session           0xADDRESS
_G.sessions[7]

reference  class             address
_G         globals (_G)      0xADDRESS
.sessions  array of Session  0xADDRESS
[7]        Session           0xADDRESS

local mine in main chunk @program.lua of main thread (the asker's)

reference                                               class        address
main thread                                             main thread  0xADDRESS
local mine in main chunk @program.lua (now at line 17)  Session      0xADDRESS
reference                                               from class        address
[7]                                                     array of Session  0xADDRESS
local mine in main chunk @program.lua (now at line 18)  main thread       0xADDRESS  the asker's
2 objects new and still alive: 128 B

retained  shallow  objects  class        held by
   128 B     72 B        1  array of {}  _G.left
0 objects new and still alive: 0 B
no paths	none
]], {["128 B"] = "109 B", ["72 B"] = "61 B"}), support.normalise(out))
  end)
end)

describe("what prints the answers", function()
  it("is not told in them, and a capture says what it is", function()
    live.lua [[
      Listener = {__name = "Listener"}
      local _ = ("x"):rep(10000) -- makes the metatable of Lua's own buffers
      heap.mark "start"
      bus = {}
      for i = 1, 30 do bus[i] = setmetatable({}, Listener) end
      for _, question in ipairs {"count", "classes", "top", "capture"} do
        tostring(heap[question]())
      end
      tostring(heap.capture():suspects())
      tostring(heap.referrers(bus)[1])
      local groups = heap.since "start"
      is(#groups, 1, tostring(groups))
      is(groups[1].held_by, "_G.bus")
      is(groups.objects, 31)
      is(heap.count("class")["module heap.print"], nil)
      is(heap.path(require "heap.print"), nil)
      print_answers = require "heap.print"
      is(heap.path(print_answers), "_G.print_answers")
      local s = heap.capture()
      local pattern = "^snapshot in memory at .+: [%d,]+ objects, [%d.]+ KB, of "
      is(tostring(s):match(pattern) ~= nil, true, tostring(s))
      s:close()
      is(tostring(s), "capture, closed")
    ]]
  end)
end)
