-- examples_spec.lua - runs every example: the commands in its opening comment must print what
-- stands below them there.
--
-- In the comment, a line "    $ command" is followed by its output, indented as well, up to the
-- next command or the next line of text. The first command runs the program. Addresses and times
-- are not compared. LUAHEAP_UPDATE=1 writes what is printed now into the comments instead.

local lfs = require "lfs"
local support = require "tests.common.support"

-- What the commands of each example must bring to light.
local culprits = {
  cache = "cache%[%*%]",
  closure = "upvalue session",
  coroutine = "waiting%[%*%]",
  history = "meters%.read%.history",
  listener = "_G%.bus%.listeners%.tick%[%*%]",
  tracked = "allocated at @tracked.lua:%d+ in message, from @tracked.lua:%d+ in say",
  timeline = "between the marks 14:00 and 15:00 .-_G%.exports%[%*%]",
}

local directory = support.root .. "/examples/"

-- The opening comment as a list of {text = line} and {command = ..., output = ...}.
local function parse(program)
  local parts, command = {}, nil
  for line in program:match("^%-%-%[==%[\n(.-)\n%]==%]"):gmatch("([^\n]*)\n?") do
    local indented = line:match("^    (.*)")
    if indented and indented:match("^%$ ") then
      command = {command = indented:sub(3), output = ""}
      parts[#parts + 1] = command
    elseif command and (indented or line == "") then
      command.output = command.output .. (indented or "") .. "\n"
    else
      command = nil
      parts[#parts + 1] = {text = line}
    end
  end
  return parts
end

local function trimmed(text)
  return (text:gsub("%s+$", ""))
end

-- Runs the commands of a parsed comment, in one directory, which is returned; part.printed is what
-- each prints.
local function run(name, program, parts)
  local dir
  for _, part in ipairs(parts) do
    if part.command == "lua5.4 " .. name .. ".lua" then
      part.printed, dir = support.lua(program, {name = name .. ".lua"})
    elseif part.command then
      local output, errors, code = support.run(part.command, {cwd = dir})
      assert.equal("", errors)
      assert.equal(0, code)
      part.printed = output
    end
  end
  return dir
end

-- The comments show the figures of 5.4.4. In other releases threads have other sizes, and the sums,
-- shares and widths of columns follow.
local figures_hold =
  support.run {os.getenv("LUA") or "lua5.4", "-v"}:match("^Lua 5%.4%.4 ") ~= nil

local function comparable(text)
  text = support.normalise(trimmed(text))
  if figures_hold then return text end
  text = text:gsub("\u{2588}*[\u{2588}-\u{258F}]", "") -- bars
  text = text:gsub("%d[%d,.]* [KMG]?B", "SIZE"):gsub("[%d.]+%%", "SHARE"):gsub(" +", " ")
  return (text:gsub("SHARE [%d,]+([^\n]* the start\n)", "SHARE OBJECTS%1"))
end

local function same(part)
  return comparable(part.output) == comparable(part.printed)
end

-- All of it is from one run, so that the addresses agree.
local function write(path, program, parts)
  local lines, changed = {}, false
  for _, part in ipairs(parts) do changed = changed or part.command and not same(part) end
  if not changed then return end
  for _, part in ipairs(parts) do
    lines[#lines + 1] = part.text or "    $ " .. part.command
    local output = part.command and trimmed(part.printed) or ""
    for line in output:gmatch("[^\n]+\n*") do
      lines[#lines + 1] = "    " .. line:gsub("\n$", "")
    end
    if output ~= "" then lines[#lines + 1] = "" end
  end
  local comment = "--[==[\n" .. table.concat(lines, "\n") .. "\n]==]"
  support.write_file(path, comment .. program:match("\n%]==%](.*)"))
end

-- Twice: a longer comment moves the program's lines, and their numbers are in what is printed.
local function update(name, path)
  for _ = 1, 2 do
    local program = support.read_file(path)
    local parts = parse(program)
    run(name, program, parts)
    write(path, program, parts)
  end
end

describe("examples", function()
  local names = {}
  for file in lfs.dir(directory) do names[#names + 1] = file:match("^(.*)%.lua$") end
  table.sort(names)

  for name in pairs(culprits) do
    it(name .. " prints what it says, and that is the culprit", function()
      local path = directory .. name .. ".lua"
      if os.getenv("LUAHEAP_UPDATE") then update(name, path) end
      local program = support.read_file(path)
      local parts, all = parse(program), ""
      local dir = run(name, program, parts)
      for file in program:gmatch('heap%.snapshot%("(%a)"%)') do
        local top = support.run({"heaptop", "--json", "-n", "1", file}, {cwd = dir})
        assert.matches('"unaccounted_bytes": 0,', top)
      end
      for _, part in ipairs(parts) do
        if part.command then
          all = all .. part.printed
          assert.equal(comparable(part.output), comparable(part.printed))
        end
      end
      assert.truthy(all:match(assert(culprits[name])))
    end)
  end

  it("are all in the index", function()
    local index = support.read_file(directory .. "README.md")
    for _, name in ipairs(names) do assert.truthy(index:find(name .. ".lua", 1, true)) end
  end)

  it("have a gate for continuous integration, which passes over what is known", function()
    local env = {LUA_CPATH = support.build .. "/?.so;;", LUA = os.getenv("LUA") or "lua5.4"}
    if support.sanitized then
      env.LD_PRELOAD, env.ASAN_OPTIONS = os.getenv("LUAHEAP_PRELOAD"), "detect_leaks=0"
    end
    local function gate(...)
      return support.run({"examples/gate.sh", ...}, {env = env})
    end
    local output, errors, code = gate("examples/listener.lua")
    assert.equal(1, code)
    assert.matches("heapdiff: 4,000 objects retained, which is more than 10\n$", errors)
    assert.matches("%x+ +304.7 KB +78.1 KB +1,000 +10 %-> 1,010 %-> 1,020 +0x%x+ +Listener +_G"
                   .. "%.bus%.listeners%.tick%[%*%]",
                   output)
    local known = support.tmpname()
    local lines = {"# accepted until the next release"}
    for fingerprint in output:gmatch("\n(2%-%x%x%x%x%x%x%x%x%x%x) ") do
      lines[#lines + 1] = fingerprint .. "  # the bus"
    end
    support.write_file(known, table.concat(lines, "\n"))
    output, errors, code = gate("examples/listener.lua", known)
    assert.same({"", 0}, {errors, code})
    assert.matches("^Nothing that was allocated between a and b is still alive in c\nLeft out",
                   output)
    assert.equal(1, (select(3, gate("examples/cache.lua", known))))
  end)

  it("make a demonstration that tells a story and leaves a picture and a page", function()
    local build = support.tmpdir()
    assert.equal(0, select(3, support.run({"ln", "-s", support.build .. "/bin", support.build
                                           .. "/heap.so", build})))
    local env = {LD_PRELOAD = os.getenv("LUAHEAP_PRELOAD"), ASAN_OPTIONS = "detect_leaks=0"}
    local output, errors, code = support.run({"examples/demo.sh", build}, {env = env})
    assert.equal("", errors)
    assert.equal(0, code)
    assert.truthy(output:find("$ heapdiff a b c", 1, true))
    assert.truthy(output:find("_G.bus.listeners.tick[*]", 1, true))
    assert.equal("\137PNG", support.read_file(build .. "/demo/why.png"):sub(1, 4))
    assert.truthy(support.read_file(build .. "/demo/why.svg"):find("<svg", 1, true))
    assert.truthy(output:find(build .. "/demo/report.html\n", 1, true))
    local report = support.read_file(build .. "/demo/report.html")
    assert.truthy(report:find("_G.bus.listeners.tick[*]", 1, true))
  end)
end)
