-- background_spec.lua - a snapshot that a forked child writes. What the host's wait(), signals and
-- buffers see of the child is in tests/take/test_background.c.

local json = require "cjson"
local support = require "tests.common.support"

local function heaptop(dir, file)
  local out, errors, code = support.run({"heaptop", "--json", file}, {cwd = dir})
  assert.equal(0, code, errors)
  return json.decode(out)
end

local function files(dir)
  return (support.run({"ls", "-A", dir}))
end

describe("a background snapshot", function()
  it("is the heap as it was at the fork, to the byte", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      collectgarbage("stop")
      kept = {}
      for i = 1, 20000 do kept[i] = setmetatable({i}, {__name = "Kept"}) end
      local options = {background = true}
      local before = collectgarbage("count") * 1024
      local job = heap.snapshot("a", options)
      for i = 1, #kept do kept[i] = nil end
      local objects, bytes = job:wait()
      assert(job:done() and job:pid() > 0)
      assert(select("#", job:wait()) == 2 and job:wait(0) == objects)
      local of_job, of_marks = 40 + 16 + 32 + 8, 2 * (88 + 1)
      print(objects, bytes, math.tointeger(before + of_job + of_marks))
    ]]
    local objects, bytes, expected = out:match("(%d+)\t(%d+)\t(%d+)")
    assert.equal(expected, bytes)
    local top = heaptop(dir, "a")
    assert.equal(tonumber(objects), top.snapshot.objects)
    assert.equal(tonumber(bytes), top.snapshot.gc_bytes)
    assert.equal(0, top.snapshot.unaccounted_bytes)
    for _, row in ipairs(top.classes) do
      if row.class == "Kept" then assert.equal(20000, row.objects) end
    end
    assert.equal("a\nprogram.lua\n", files(dir))
    assert.equal("600\n", (support.run({"stat", "-c", "%a", dir .. "/a"})))
  end)

  it("leaves a mark like any other, and its job is in no report", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      leak = {}
      local options, jobs = {background = true}, {}
      for i, name in ipairs {"a", "b", "c"} do
        jobs[i] = heap.snapshot(name, options)
        for k = 1, 10 do leak[#leak + 1] = setmetatable({k}, {__name = "Leaked"}) end
      end
      for i = 1, 3 do assert(jobs[i]:wait()) end
    ]]
    local out = support.run({"heapdiff", "--json", "a", "b", "c"}, {cwd = dir})
    local diff = json.decode(out)
    assert.equal(1, #diff.groups)
    assert.equal("Leaked", diff.groups[1].class)
    assert.equal(10, diff.groups[1].objects)
  end)

  it("is silent", function()
    support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      local options = {background = true}
      for _, mode in ipairs {"incremental", "generational"} do
        collectgarbage(mode)
        for step = 1, 40 do
          for i = 1, 50 do setmetatable({}, {__gc = check.finalized}) end
          if step % 2 == 0 then collectgarbage("step", 0) end
          local changed, bytes, objects, job = check.silent(heap.snapshot, "s", options)
          assert(changed == "", changed)
          assert(objects == 3 and bytes == 2 * (88 + 1) + 40 + 16 + 32 + 8)
          assert(job:wait())
        end
      end
    ]]
  end)

  it("tells what went wrong, and leaves nothing behind", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      local function start(path) return heap.snapshot(path, {background = true}) end
      print(start("nosuch/a"))
      local big, job = {}, nil
      for i = 1, 200000 do big[i] = {i} end
      local function stopped(stop)
        for try = 1, 50 do -- the child may be quicker
          assert(io.open("a", "w")):write("old"):close()
          job = start("a")
          local objects, message, errno = stop()
          job:wait()
          if not objects then return objects, message, errno end
        end
      end
      print(stopped(function() return job:wait(0) end))
      print(stopped(function()
        os.execute("kill -9 " .. job:pid())
        return job:wait()
      end))
      print(io.open("a"):read("a"))
      print(pcall(job.wait, 1))
      assert(start("a"):wait(60))
    ]]
    local lines = {}
    for line in out:gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.equal("nil\tcannot write 'nosuch/a': No such file or directory\t2", lines[1])
    assert.equal("nil\t'a' is still being written\t0", lines[2])
    assert.equal("nil\tcannot write 'a': the process that wrote it was killed by signal: Killed\t0",
                 lines[3])
    assert.equal("old", lines[4])
    assert.match("job of heap.snapshot expected, got number", lines[5], 1, true)
    assert.equal("a\nprogram.lua\n", files(dir))
    assert.is_true(heaptop(dir, "a").snapshot.objects > 200000)
  end)

  it("leaves no zombie when its job is dropped", function()
    support.lua [[
      local heap = require "heap"
      kept = {}
      for i = 1, 50000 do kept[i] = {i} end
      local function state_of(pid)
        local file = io.open("/proc/" .. pid .. "/stat")
        local state = file and file:read("a"):match("%) (%a)")
        if file then file:close() end
        return state
      end
      for i = 1, 3 do
        local pid = heap.snapshot("a", {background = true}):pid()
        local collections = 0
        while state_of(pid) do
          collectgarbage() -- the first ones find the child still writing
          collections = collections + 1
          assert(collections < 10000, state_of(pid))
        end
      end
    ]]
  end)

  it("is completed when the program ends first", function()
    local _, dir = support.lua [[
      local big = {}
      for i = 1, 100000 do big[i] = {i} end
      require "heap".snapshot("a", {background = true})
      os.exit(0, false)
    ]]
    for _ = 1, 1000 do
      if files(dir) == "a\nprogram.lua\n" then break end
      support.run {"sleep", "0.02"}
    end
    assert.is_true(heaptop(dir, "a").snapshot.objects > 100000)
  end)
end)
