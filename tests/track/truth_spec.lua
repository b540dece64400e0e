-- truth_spec.lua - what lib/track says of each allocation, held against a Lua that keeps a record
-- of its own (truth.sh): which coroutine runs, in which call, and at which instruction.
--
-- It is built from Debian's source package, or from the sources of the release that is tested
-- (tests/release.sh), whose own test suite is run, too.

local lfs = require "lfs"
local support = require "tests.common.support"

local release = os.getenv "LUAHEAP_LUA_DIR"
local own_suite = release and lfs.attributes(release .. "/testes") and release .. "/testes"

local function sources()
  if release then return lfs.attributes(release .. "/lvm.c") and release or release .. "/src" end
  local dir = support.root .. "/build/lua-source"
  local is_asked = lfs.attributes(dir) ~= nil -- in vain, if they are not there
  if not (support.sanitized and is_asked) then support.run {"tests/track/sources.sh", dir} end
  return lfs.attributes(dir .. "/src/lvm.c") and dir .. "/src"
end

local source_dir = sources()
-- Those of Debian's sources are kept, for the suite with sanitizers.
local made = release and support.tmpdir() or support.root .. "/build/truth"

local function time_of(file) return lfs.attributes(file, "modification") or 0 end

-- The interpreter that a compiler makes; nil: it is not there.
local function interpreter(compiler, flags)
  if select(3, support.run("command -v " .. compiler)) ~= 0 then return nil end
  local dir = made .. "/" .. compiler .. flags
  if time_of(dir .. "/lua") <= time_of "tests/track/truth.sh" then
    local env = {CC = compiler, CFLAGS = flags}
    local _, err, code = support.run({"tests/track/truth.sh", source_dir, dir}, {env = env})
    assert(code == 0, err)
  end
  return dir .. "/lua"
end

-- Runs a program under it; what was found, as a table, and the examples of what is wrong.
local function hold(lua, words, env, cwd)
  local log = support.tmpname()
  env = env or {}
  env.LUAHEAP_TRUTH = log
  env.LUA_CPATH = support.build .. "/tests/?.so;;"
  env.LD_PRELOAD = os.getenv "LUAHEAP_PRELOAD"
  if support.sanitized then env.ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" end
  local line = {"timeout", "300", lua, "-l", "lua_truth"}
  for _, word in ipairs(words) do line[#line + 1] = word end
  local _, err, code = support.run(line, {env = env, cwd = cwd})
  local text = support.read_file(log)
  local names = {"n", "threads", "places", "lines", "unattributed", "untold", "tables", "searched"}
  local found = {code = code, err = err, text = text, learnt = text:match("learnt: (%a+)")}
  local i = 0
  for number in text:match("^[^\n]*"):gmatch("%d+") do
    i = i + 1
    if names[i] then found[names[i]] = tonumber(number) end
  end
  return found
end

local function program(name) return support.root .. "/tests/track/" .. name end

local function assert_exact(found)
  assert.equal(0, found.code, found.err)
  assert.equal(0, found.threads + found.places + found.lines, found.text)
end

local function told(what, found)
  io.write(("truth: %s: %d allocations, %d wrong, %d not told\n"):format(
    what, found.n, found.threads + found.lines, found.unattributed + found.untold))
end

describe("the coroutine that runs, and the instruction at which it stands", function()
  if not source_dir then
    it("are those of a Lua that knows", function()
      pending("Debian's sources of Lua cannot be had here")
    end)
    return
  end

  local builds = {{"gcc", "-O2"}, {"clang", "-Os"}, {"gcc", "-O0"}}
  for i, build in ipairs(builds) do
    if not support.is_tried(i - 1, #builds) then break end
    local name = table.concat(build, " ")

    it("are those of a Lua that knows, built by " .. name, function()
      local lua = interpreter(build[1], build[2])
      if not lua then return pending(build[1] .. " is not installed") end
      local found = hold(lua, {program "corpus.lua", "1"})
      assert_exact(found)
      assert.equal("yes", found.learnt)
      assert.is_true(found.n > 40000 and found.tables > 15000)
      assert.equal(0, found.unattributed + found.untold + found.searched)
      told("corpus, " .. name, found)
    end)
  end

  local lua = interpreter("gcc", "-O2")
  if not lua then return end

  it("are told, or not at all, where C code runs threads in every way", function()
    local found = hold(lua, {program "resumers.lua", "600"})
    assert_exact(found)
    assert.is_true(found.n > 50000)
    assert.is_true(found.unattributed + found.untold < found.n * 0.01, found.text)
    told("threads run by C code", found)
  end)

  it("are told on the right line where the interpreter's place is not known", function()
    local found = hold(lua, {program "corpus.lua", "1"}, {LUAHEAP_TRUTH_SEARCH = "1"})
    assert.equal(0, found.code, found.err)
    assert.equal(0, found.threads + found.lines, found.text)
    assert.equal(found.tables, found.searched)
    assert.is_true(found.untold < found.n * 0.1, found.text)
    told("corpus, by search", found)
  end)

  it("are told on the right line of samples", function()
    local found = hold(lua, {program "corpus.lua", "1"}, {LUAHEAP_TRUTH_SAMPLE = "1"})
    assert.equal(0, found.code, found.err)
    assert.equal(0, found.threads + found.lines, found.text)
    assert.is_true(found.untold < found.n * 0.02, found.text)
    told("corpus, samples", found)
  end)

  it("are right in nearly all cases after errors that leave threads as they stood", function()
    local found = hold(lua, {program "resumers.lua", "600", "errors"})
    assert.equal(0, found.code, found.err)
    assert.is_true(found.threads + found.places < found.n * 0.02, found.text)
    told("threads that errors have left", found)
  end)

  -- An integer divided by zero raises its error without the place, in 5.4.0 to 5.4.4: Lua's own
  -- message names that line, too.
  it("are those of a Lua that knows, in Lua's own test suite", function()
    if not own_suite then return pending("there are no testes/") end
    local dir = support.tmpdir()
    assert(os.execute(("cp -r '%s/.' '%s'"):format(own_suite, dir)))
    local sum = {n = 0, threads = 0, lines = 0, unattributed = 0, untold = 0}
    local settings = "_U = true _soft = true _port = true _nomsg = true T = nil"
    local skipped = {["all.lua"] = true, ["heavy.lua"] = true, ["tracegc.lua"] = true}
    for name in lfs.dir(dir) do
      if name:find("%.lua$") and not skipped[name] then
        local found = hold(lua, {"-e", settings, name}, nil, dir)
        assert.equal(0, found.threads + found.lines, name .. ": " .. found.text)
        for key, value in pairs(sum) do sum[key] = value + found[key] end
      end
    end
    assert.is_true(sum.n > 100000)
    told("Lua's own suite", sum)
  end)
end)
