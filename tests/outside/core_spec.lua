-- core_spec.lua - cores of a real Lua, by the kernel and by gdb's gcore: their snapshots are those
-- of the process itself, at the same stop; and what heapattach says of cores that are not whole.
--
-- Where no core of a kind can be had, as where a program gets them or tracing is forbidden, its
-- cases are pending and say so.

local lfs = require "lfs"
local support = require "tests.common.support"
local reader = require "heap.reader"

local lua = os.getenv("LUA") or "lua5.4"

-- Something of everything, then it waits for ever.
local program = [==[
  local class = {__name = "session", __gc = function() end}
  list, weak, by_key = {}, setmetatable({}, {__mode = "k"}), {}
  for i = 1, 2000 do
    local name = "session" .. i
    list[i] = setmetatable({name = name, says = function() return name end, [i + 0.5] = i}, class)
    weak[list[i]] = {i}
    by_key[name], by_key[i * 1000] = list[i], true
  end
  tasks = {}
  for i = 1, 20 do
    tasks[i] = coroutine.create(function(a) local kept = {a} coroutine.yield() return kept end)
    coroutine.resume(tasks[i], i)
  end
  list = table.move(list, 1, 1000, 1, {}) -- garbage
  long, file = ("long"):rep(10000), io.tmpfile()
  load("x = function() return 1 end")()
  slots = table.move(list, 1, 1000, 20000, {}) for i = 1, 20000 do slots[i] = i end
  io.write("ready\n"):flush()
  io.read()
]==]

-- Runs the program until it waits, then `script`, which has its number as $pid; ends it.
local function beside(script, dir)
  support.write_file(dir .. "/program.lua", program)
  return support.run(([[
    mkfifo hold
    exec 9<>hold
    %s program.lua arg <hold >out &
    pid=$!
    tries=0
    until grep -q ready out && grep -q '^State:.S' /proc/$pid/status; do
      tries=$((tries + 1))
      [ $tries -lt 600 ] || exit 9
      sleep 0.1
    done
    %s
    code=$?
    kill -9 $pid
    wait $pid
    exit $code
  ]]):format(lua, script), {cwd = dir})
end

-- ==== The same heap ==================================================================

-- What is known of each object by its address, but luaheap's own; and of the root.
local function describe_heap(path)
  local snapshot, objects = assert(reader.open(path)), {}
  assert(snapshot:verify())
  local function add(name, object)
    local edges = {}
    for edge in object:edges() do
      if not edge.target.own then
        edges[#edges + 1] = ("%s %s %s"):format(edge.kind, edge.label, edge.target.address)
      end
    end
    table.sort(edges)
    objects[name] = ("%s %s %d %s\n%s"):format(object.type, object.list, object.shallow_bytes,
                                               object.reachable, table.concat(edges, "\n"))
  end
  for object in snapshot:objects() do add(object.address, object) end
  for object in snapshot:objects {garbage = true} do add(object.address, object) end
  add("root", snapshot.root)
  local info = snapshot.info
  snapshot:close()
  return objects, info
end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

local function check_same(dir)
  local live, live_info = describe_heap(dir .. "/live")
  local dead, dead_info = describe_heap(dir .. "/dead")
  assert.is_true(count(live) > 10000, count(live))
  assert.equal(count(live), count(dead))
  for address, told in pairs(live) do assert.equal(told, dead[address], address) end
  for _, key in ipairs {"state_id", "process_id", "program", "lua_release"} do
    assert.equal(live_info[key], dead_info[key], key)
  end
  local out, err = support.run("heapdiff live dead", {cwd = dir})
  assert.equal("", err)
  assert.matches("^Nothing that was allocated between live and dead is still alive in dead\n", out)
  assert.matches("\nNothing of live is gone\n", out)
  assert.matches("\nChange of classes from live to dead [^\n]*\nnone\n$", out)
end

-- ========================================================================================

-- Of the live process and, at the same stop, its core; cores[kind] is its directory or nil.
local make = {
  gcore = "heapattach -o live $pid && gcore -o core $pid && mv core.$pid core",
  kernel = [[
    ulimit -c unlimited || exit 8
    case $(cat /proc/sys/kernel/core_pattern) in '|'* | */*) exit 8 ;; esac
    prlimit --core=unlimited --pid $pid && heapattach -o live $pid && kill -ABRT $pid || exit 8
    while kill -0 $pid && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done
    [ ! -e core.$pid ] || mv core.$pid core
    [ -s core ]
  ]]
}
local cores, why = {}, {}

setup(function()
  for kind, script in pairs(make) do
    local dir = support.tmpdir()
    local out, err, code = beside(script, dir)
    if code == 0 then
      cores[kind] = dir
    else
      why[kind] = ("no core by %s can be had here (%d): %s%s"):format(kind, code, out, err)
    end
  end
end)

local function core_of(kind)
  if not cores[kind] then pending(why[kind]) end
  return cores[kind]
end

-- ==== Changed ========================================================================

-- The program headers of a core: type, flags, offset, address, bytes in it, bytes in memory; and
-- where each stands.
local function segments(core)
  local list, at, n = {}, ("<I8"):unpack(core, 33), ("<I2"):unpack(core, 57)
  for i = 1, n do
    local kind, flags, offset, address, _, bytes, memory = ("<I4I4I8I8I8I8I8"):unpack(core, at + 1)
    list[i] = {kind = kind, flags = flags, offset = offset, address = address, bytes = bytes,
               memory = memory, at = at}
    at = at + 56
  end
  return list
end

-- Those of writable memory, of at least so many bytes.
local function writable(core, least)
  local list = {}
  for _, s in ipairs(segments(core)) do
    if s.kind == 1 and s.flags & 2 ~= 0 and s.bytes >= least then list[#list + 1] = s end
  end
  return list
end

local function with(core, at, format, ...)
  local bytes = format:pack(...)
  return core:sub(1, at) .. bytes .. core:sub(at + #bytes + 1)
end

-- Of a core that was changed: what heapattach says, without its name.
local function attach_changed(dir, core)
  support.write_file(dir .. "/changed", core)
  local out, err, code = support.run("heapattach -o c changed", {cwd = dir})
  os.remove(dir .. "/changed")
  return code, err:gsub("^heapattach: ", ""):gsub("\n$", ""), out
end

-- ========================================================================================

for kind in pairs(make) do
  describe("a core by " .. kind, function()
    local dir
    before_each(function() dir = core_of(kind) end)

    it("is newer than what was taken of the process within the same tick", function()
      if not dir then return end
      local live = assert(reader.open(dir .. "/live"))
      local time = live.info.time_ns - 900000 -- the shortest tick is a millisecond
      live:close()
      local stamp = ("@%d.%09d"):format(time // 1000000000, time % 1000000000)
      support.answer({"touch", "-d", stamp, "core"}, dir)
      local out = support.run("heapattach -o dead core", {cwd = dir})
      assert.matches("\nAn older one of the same state is beside it: heapdiff live dead\n", out)
    end)

    it("has the heap of the process at the same stop", function()
      if not dir then return end
      local out, err, code = support.run("heapattach -o dead core", {cwd = dir})
      assert.equal(0, code, out .. err)
      assert.matches("\nAn older one of the same state is beside it: heapdiff live dead\n", out)
      out = support.run("heapattach -o again core", {cwd = dir})
      assert.matches("beside it: heapdiff live again\n", out) -- dead is as old
      check_same(dir)
    end)

    it("is refused when it lacks memory of the heap", function()
      if not dir then return end
      local core = support.read_file(dir .. "/core")
      local told = {}
      for _, s in ipairs(writable(core, 200 * 1024)) do
        local code, err = attach_changed(dir, with(core, s.at + 32, "<I8", 0))
        told[err:match("^%D+") or ""] = code
      end
      -- The main heap, with the state; and a big table's slots.
      assert.equal(1, told["the process of this core has Lua "])
      assert.equal(2, told["the heap in this core is not sound: "])
    end)

    it("is refused when it was cut, with the byte that is missing", function()
      if not dir then return end
      local core = support.read_file(dir .. "/core")
      for _, n in ipairs {63, 64, 1000, 10000, #core // 2, #core - 4096} do
        local code, err = attach_changed(dir, core:sub(1, n))
        assert.equal(2, code)
        assert.matches(("^'changed' was cut: .- those from %d on"):format(n), err)
      end
    end)

    it("is read or refused, but harms nobody, when its heap was bent", function()
      if not dir then return end
      local core = support.read_file(dir .. "/core")
      local heap = writable(core, 100 * 1024)[1]
      math.randomseed(17)
      local codes, n = {}, support.is_tried(2, 3) and 60 or 20
      for _ = 1, n do
        local bent = core
        for _ = 1, math.random(3) do
          local at = heap.offset + math.random(0, heap.bytes // 8 - 1) * 8
          local word = math.random(2) == 1 and heap.address + math.random(heap.bytes) & ~15
                       or 1 << math.random(0, 63)
          bent = with(bent, at, "<I8", word)
        end
        local code, err = attach_changed(dir, bent)
        codes[code] = (codes[code] or 0) + 1
        assert.is_true(code == 0 or code == 2 and err ~= "" or code == 1, err)
        if code == 0 then assert.equal("", (select(2, support.run("heapcheck c", {cwd = dir})))) end
      end
      assert.is_true((codes[0] or 0) > n // 12 and (codes[2] or 0) > n // 12)
    end)
  end)
end

describe("what is to be typed of a file", function()
  it("is no command, whatever the file is called", function()
    local dir = support.tmpdir()
    for name, word in pairs {["core.1"] = "core.1", ["it's; reboot"] = "FILE", ["-rf"] = "FILE",
                             ["$(reboot)"] = "FILE"} do
      support.write_file(dir .. "/" .. name, "\x1f\x8b\8")
      local out, err, code = support.run({"heapattach", "-o", "x", "--", name}, {cwd = dir})
      assert.same({"", 2}, {out, code})
      assert.matches((": gzip -dc %s >core unpacks it "):format(word), err, 1, true)
    end
  end)
end)

describe("the example of a crash", function()
  -- Root may set its limits as it likes, unless that is taken from it.
  local is_root = support.run {"id", "-u"} == "0\n"
  local without = is_root and "ulimit -c 0; setpriv --bounding-set=-sys_resource" or "ulimit -c 0;"

  for name, before in pairs {["by the system"] = "", ["by gdb"] = without} do
    it("finds what has filled the memory, in a core that was written " .. name, function()
      local script = {support.root .. "/examples/crash/run.sh", support.build, support.tmpdir()}
      local out, err, code = support.run(script, {before = before})
      if code == 3 then return pending(err) end
      assert.equal(0, code, out .. err)
      assert.matches("; ended by SIGABRT\n", out)
      assert.matches("baskets%[%*%] may grow: [%d,]+ {articles, visitor} tables, ", out)
      assert.matches("%.baskets%.visitor%d+\n", out)
      assert.equal("rw-------", lfs.attributes(script[3] .. "/c", "permissions"))
      if before ~= "" then assert.is_truthy(lfs.attributes(script[3] .. "/gdb.log")) end
    end)
  end
end)
