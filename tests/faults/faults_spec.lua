-- faults_spec.lua - snapshots where the system says no: disks, limits, rights, kills; with the
-- module as it is used. Each system call made to fail in turn is in tests/faults/test_faults.c.

local lfs = require "lfs"
local support = require "tests.common.support"

local quote = support.quote

local function names_in(dir)
  local names = {}
  for name in lfs.dir(dir) do
    if name ~= "." and name ~= ".." and name ~= "program.lua" then names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, " ")
end

local function is_whole(file)
  local _, err, code = support.run {"heaptop", file}
  return code == 0, err
end

local function report(what, cases)
  io.write(("faults: %s: %d cases, %d survived\n"):format(what, cases, cases))
end

-- What the programs share: take(path) waits for a snapshot, in the background in the second round,
-- and prints what came of it; `big` makes the file 3 MB long.
local prelude = [[
  local heap = require "heap"
  local options = {strings = math.maxinteger}
  local function take(path)
    local result, message, errno = heap.snapshot(path, options)
    if result and options.background then result, message, errno = result:wait() end
    print(path:match("[^/]*$"), result and "written" or message, errno or 0)
  end
  local function twice(f)
    f()
    options.background = true
    f()
  end
]]

describe("where there is little room", function()
  it("a small disk is not filled up", function()
    local dir = support.tmpdir()
    local mount = "mount -t tmpfs -o size=2m none " .. quote(dir)
    local _, _, code = support.run(mount, {before = "unshare -rm"})
    if code ~= 0 then return pending("no small file system can be mounted here") end
    local out = support.lua(prelude .. [[
      local mount, dir = arg[1], arg[2]
      assert(os.execute(mount))
      local function free()
        return io.popen("df --output=avail -B1 " .. dir):read("a"):match("%d+")
      end
      take(dir .. "/old")
      local big = ("x"):rep(3000000)
      local before = free()
      twice(function() take(dir .. "/new") take(dir .. "/old") end)
      print(before == free() and #big, io.popen("ls -A " .. dir):read("a"))
      big = nil
      collectgarbage()
      twice(function() take(dir .. "/old") end)
    ]], {before = "unshare -rm", args = {mount, dir}})
    local lines = support.lines(out)
    assert.equal("old\twritten\t0", lines[1])
    for i = 2, 5 do
      local message = lines[i]:gsub(dir, "DIR"):gsub("DIR/%a+", "DIR/x")
      assert.match("\tcannot write 'DIR/x': the file needs 2%.9 MB and [%d.]+ MB are free\t28$",
                   message)
    end
    assert.equal("3000000\told", lines[6])
    assert.equal("old\twritten\t0", lines[7])
    assert.equal("old\twritten\t0", lines[8])
    report("a small disk (tmpfs)", 4)
  end)

  it("SIGXFSZ kills nobody", function()
    local out, dir = support.lua(prelude .. [[
      take("old")
      local big = ("x"):rep(3000000)
      twice(function() take("new") take("old") end)
      print(#big)
    ]], {before = "ulimit -f 2000;"})
    local lines = support.lines(out)
    assert.equal("old\twritten\t0", lines[1])
    for i = 2, 5 do
      local message = lines[i]:match("\tcannot write '%a+': the file needs 2%.9 MB (.*)")
      assert.equal("and may have 1,000.0 KB (ulimit -f)\t27", message)
    end
    assert.equal("3000000", lines[6])
    assert.equal("old", names_in(dir))
    assert.is_true(is_whole(dir .. "/old"))
  end)

  it("no address space is needed for the child", function()
    if support.sanitized then return pending("the sanitizer's own address space is unlimited") end
    local out, dir = support.lua(prelude .. [[
      local full, reserve = {}, ("x"):rep(4 << 20) -- a snapshot wants 1 MiB
      pcall(function() for i = 1, math.huge do full[i] = {("x"):rep(1000) .. i} end end)
      reserve = nil
      collectgarbage()
      twice(function() take("a") end)
      print(#full > 10000, reserve)
    ]], {before = "ulimit -v 100000;"})
    assert.same({"a\twritten\t0", "a\twritten\t0", "true\tnil"}, support.lines(out))
    assert.is_true(is_whole(dir .. "/a"))
    report("a limit of address space (ulimit -v)", 2)
  end)
end)

describe("where the rights are missing", function()
  -- As another user where the tests run as root, to whom no rights are missing.
  local as_user = lfs.attributes(support.temporary, "uid") == 0 and
                    "setpriv --reuid 65534 --regid 65534 --clear-groups" or ""

  it("an unwritable directory, or another's file in a shared one, stays as it is", function()
    local cases = {{"555", "Permission denied", 13}, {"666", "Permission denied", 13}}
    if as_user ~= "" then cases[3] = {"1777", "Operation not permitted", 1} end
    local module = support.tmpdir() -- the build may be where that user cannot go
    assert(os.execute(("cp %s/heap.so %s && chmod -R a+rX %s"):format(
      quote(support.build), module, module)))
    for _, case in ipairs(cases) do
      local dir = support.tmpdir()
      support.write_file(dir .. "/old", "the older file")
      assert(os.execute(("chmod 755 %s && chmod %s %s"):format(support.temporary, case[1], dir)))
      local out = support.lua(prelude .. "twice(function() take(arg[1] .. '/old') end)",
                              {before = as_user, args = {dir},
                               env = {LUA_CPATH = module .. "/?.so;;"}})
      local expected = ("old\tcannot write '%s/old': %s\t%d"):format(dir, case[2], case[3])
      assert.same({expected, expected}, support.lines(out))
      assert(os.execute("chmod 755 " .. dir))
      assert.equal("the older file", support.read_file(dir .. "/old"))
      assert.equal("old", names_in(dir))
    end
    report("an unwritable directory", 2 * #cases)
  end)
end)

describe("where files without a name do not go", function()
  it("they have a temporary one", function()
    local mount = "mount -t tmpfs none /proc"
    local _, _, code = support.run(mount, {before = "unshare -rm"})
    if code ~= 0 then return pending("nothing can be mounted here") end
    local _, dir = support.lua(prelude .. [[
      assert(os.execute(arg[1]))
      twice(function() take("a") take("a") end)
    ]], {before = "unshare -rm", args = {mount}})
    assert.equal("a", names_in(dir))
    assert.is_true(is_whole(dir .. "/a"))
  end)
end)

describe("kill -9", function()
  it("of the program leaves whole files, and nothing else", function()
    local moments = 15
    local _, dir = support.lua([[
      local program = [=[
        local heap = require "heap"
        local kept = {}
        for i = 1, 5000 do kept[i] = {("x"):rep(200) .. i} end
        local options = {background = arg[1] == "background"}
        local function take()
          local job = heap.snapshot("a", options)
          if options.background then job:wait() end
        end
        if arg[2] == "over" then take() end
        io.write("ready\n"):flush()
        while true do take() end
      ]=]
      io.open("victim.lua", "w"):write(program):close()
      local interpreter, moments = arg[1], math.tointeger(arg[2])
      for i = 1, 2 * moments do
        local dir = ("%d"):format(i)
        local how = i % 2 == 0 and "direct" or "background"
        if i > moments then how = how .. " over" end -- an older file
        local script = "mkdir %s && cd %s && { setsid %s ../victim.lua %s >../ready & } &&" ..
          " for try in $(seq 30000); do [ -s ../ready ] && break; sleep 0.001; done;" ..
          " sleep %.4f; kill -9 -$!; wait; rm ../ready"
        os.execute(script:format(dir, dir, interpreter, how, i % moments * 0.0014))
      end
      os.remove("victim.lua")
    ]], {args = {os.getenv("LUA") or "lua5.4", tostring(moments)}})
    local files = 0
    for i = 1, 2 * moments do
      for name in names_in(("%s/%d"):format(dir, i)):gmatch("%S+") do
        local whole, err = is_whole(("%s/%d/%s"):format(dir, i, name))
        assert.is_true(whole, err)
        files = files + 1
      end
    end
    assert.is_true(files >= moments)
    report("SIGKILL of a Lua program and its child", 2 * moments)
  end)
end)
