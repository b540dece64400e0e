-- support.lua - what the specs share: running commands and Lua programs against one build tree.
--
--     local support = require "tests.common.support"
--     local out, dir = support.lua [[ local heap = require "heap"  heap.snapshot("a") ]]
--     local text, errors, code = support.run {"heaptop", dir .. "/a"}
--
-- The build tree is $LUAHEAP_BUILD (default: build), so one suite serves the release and the
-- sanitizers' build. There Lua itself needs libasan preloaded ($LUAHEAP_PRELOAD) and may leak,
-- while the commands are linked to it and are checked for leaks: hence the two environments.
-- Everything temporary lies in one directory, which is removed when the Lua state closes.

local lfs = require "lfs"

local support = {}

local root = lfs.currentdir()

local function absolute(path)
  return path:sub(1, 1) == "/" and path or root .. "/" .. path
end

support.root = root
support.build = absolute(os.getenv("LUAHEAP_BUILD") or "build")
support.sanitized = os.getenv("LUAHEAP_PRELOAD") ~= nil
-- How many times as often as in `make test` a test that repeats itself does so; `make soak` sets N.
support.soak_factor = math.tointeger(tonumber(os.getenv "N")) or 1

--- Is the i-th of many like cases tried? Without sanitizers all are. With them, which look for
--- wrong memory where the answers are known to be right, N of `one_in` are (N=10: all).
---@param i integer
---@param one_in integer
---@return boolean
function support.is_tried(i, one_in)
  return not support.sanitized or i % one_in < support.soak_factor
end
package.cpath = ("%s/?.so;%s/tests/?.so;%s"):format(support.build, support.build, package.cpath)
package.path = ("%s/lua/?.lua;%s"):format(root, package.path)

--- One word for the shell.
---@param word string
---@return string
function support.quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

local quote = support.quote

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local content = file:read("a")
  file:close()
  return content
end

local function write_file(path, content)
  local file = assert(io.open(path, "wb"))
  assert(file:write(content))
  assert(file:close())
end

support.read_file, support.write_file = read_file, write_file

local temporary = os.tmpname()
os.remove(temporary)
assert(lfs.mkdir(temporary))
-- Programs find the modules by paths of the same length everywhere: these are in their heaps.
assert(lfs.link(support.build, temporary .. "/build", true))
assert(lfs.link(root, temporary .. "/root", true))
local count = 0
support.temporary = temporary
local cleaner = {__gc = function() os.execute("rm -rf " .. quote(temporary)) end}
support.cleaner = setmetatable({}, cleaner)

--- A name that no file has, in the temporary directory.
---@param suffix? string
---@return string
function support.tmpname(suffix)
  count = count + 1
  return ("%s/%d%s"):format(temporary, count, suffix or "")
end

--- A new empty directory.
---@return string
function support.tmpdir()
  local dir = support.tmpname()
  assert(lfs.mkdir(dir))
  return dir
end

-- Where Debian has luacheck, which runs on 5.4 too; behind all else.
local of_luacheck = "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua"

-- The env(1) that gives a command, or a Lua program, what it needs.
local function environment(for_lua, extra)
  local words = {}
  local function set(name, value) words[#words + 1] = name .. "=" .. quote(value) end
  if for_lua then
    local build, sources = temporary .. "/build", temporary .. "/root"
    set("LUA_CPATH", build .. "/?.so;" .. build .. "/tests/?.so;;")
    set("LUA_PATH", sources .. "/lua/?.lua;" .. sources .. "/?.lua;;" .. of_luacheck)
  else
    words[1] = "-u LD_PRELOAD"
    if support.sanitized then set("ASAN_OPTIONS", os.getenv("LUAHEAP_ASAN_COMMANDS") or "") end
  end
  set("PATH", support.build .. "/bin:" .. os.getenv("PATH"))
  set("LC_ALL", "C.UTF-8")
  set("TZ", "UTC")
  for name, value in pairs(extra or {}) do set(name, value) end
  return "env " .. table.concat(words, " ")
end

local function execute(prefix, command, options)
  local out, err, input = support.tmpname(), support.tmpname(), "/dev/null"
  if options.stdin then
    input = support.tmpname()
    write_file(input, options.stdin)
  end
  local line = ("cd %s && %s %s %s >%s 2>%s <%s"):format(
    quote(options.cwd or root), options.before or "", prefix, command, out, err, input)
  local _, reason, code = os.execute(line)
  if reason == "signal" then code = code + 128 end
  local stdout, stderr = read_file(out), read_file(err)
  os.remove(out)
  os.remove(err)
  return stdout, stderr, code
end

local function command_line(command)
  if type(command) == "string" then return "sh -c " .. quote(command) end
  local words = {}
  for i, word in ipairs(command) do words[i] = quote(word) end
  return table.concat(words, " ")
end

---@class support.options
---@field cwd? string
---@field env? table<string, string>
---@field stdin? string
---@field before? string shell text in front of the command: "ulimit -f 10;", "unshare -m"

--- A text with sizes of Lua 5.4, as the Lua under test has it: `of_5_5` has those that differ.
---@param text string
---@param of_5_5 table<string, string> such as {["56 B"] = "48 B"}
function support.sizes(text, of_5_5)
  if _VERSION == "Lua 5.4" then return text end
  return (text:gsub("%d[%d.,]* [KM]?B", of_5_5))
end

--- Runs a command, given as a list of words or as a line for sh. The tools of the build are first
--- on its PATH. A death by signal n is the code 128 + n.
---@param command string|string[]
---@param options? support.options
---@return string stdout
---@return string stderr
---@return integer code
function support.run(command, options)
  options = options or {}
  return execute(environment(false, options.env), command_line(command), options)
end

--- What a command prints in a directory where it must succeed, and say nothing else.
---@param command string|string[]
---@param dir string
---@return string
function support.answer(command, dir)
  local out, err, code = support.run(command, {cwd = dir})
  if err ~= "" or code ~= 0 then
    error(("%s: exit code %d\n%s"):format(command_line(command), code, err), 2)
  end
  return out
end

---@class support.lua_options: support.options
---@field args? string[]
---@field name? string the program's file: program.lua
---@field fails? boolean it may exit with another code than 0

--- Runs a Lua program that can require "heap", in a new directory (or options.cwd), where its
--- snapshots land. Raises an error when it fails, unless options.fails is set.
---@param program string its text
---@param options? support.lua_options
---@return string stdout
---@return string dir
---@return string stderr
---@return integer code
function support.lua(program, options)
  options = options or {}
  local dir = options.cwd or support.tmpdir()
  local name = options.name or "program.lua"
  write_file(dir .. "/" .. name, program)
  local words = {os.getenv("LUA") or "lua5.4", name, table.unpack(options.args or {})}
  local run_options = {cwd = dir, stdin = options.stdin, before = options.before}
  local out, err, code = execute(environment(true, options.env), command_line(words), run_options)
  if code ~= 0 and not options.fails then
    error(("the Lua program failed with %d:\n%s%s"):format(code, out, err), 2)
  end
  return out, dir, err, code
end

local has_script

--- The same under a terminal of 80 columns, where script(1) is there: stdout and stderr in one.
---@param command string
---@param options? support.options
---@return string? out nil: there is no script
function support.on_terminal(command, options)
  local env = {TERM = "xterm", SHELL = "/bin/sh"}
  for name, value in pairs(options and options.env or {}) do env[name] = value end
  if has_script == nil then has_script = select(3, support.run "script -qec : /dev/null") == 0 end
  if not has_script then return nil end
  local line = "script -qec " .. quote("stty cols 80; " .. command) .. " /dev/null"
  local out = support.run(line, {cwd = options and options.cwd, env = env})
  return (out:gsub("\r", ""))
end

-- Three snapshots of a program that leaks listeners:
--
--     _G -.bus-> Bus -.listeners-> {tick} -.tick-> {1..30} -[i]-> Listener -.data-> {...}
--     _G -.log-> {1, 2, 3, ...}         grows from snapshot to snapshot
--     _G -.weak-> {__mode = "v"} -[1]-> one of the listeners
local leaking = [[
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  bus = setmetatable({listeners = {tick = {}}}, {__name = "Bus"})
  log, weak = {}, setmetatable({}, {__mode = "v"})
  local function work(n)
    for i = 1, n do
      local listener = setmetatable({id = i, data = {i, i}}, Listener)
      table.insert(bus.listeners.tick, listener)
      weak[1] = listener
      for j = 1, 20 do log[#log + 1] = i * j end
    end
  end
  work(5)
  heap.snapshot "a"
  work(10)
  heap.mark "middle"
  heap.snapshot "b"
  work(15)
  lost = {"garbage in c"}
  lost = nil
  heap.snapshot "c"
]]

--- Takes the snapshots a, b and c of a program that leaks, with garbage in c. Returns their
--- directory, support.run in it, and support.on_terminal in it.
---@return string dir
---@return fun(command: string|string[], options?: support.options): string, string, integer
---@return fun(command: string, options?: support.options): string?
function support.take_leaking()
  local dir = select(2, support.lua(leaking))
  local function inside(run)
    return function(command, options)
      options = options or {}
      options.cwd = dir
      return run(command, options)
    end
  end
  return dir, inside(support.run), inside(support.on_terminal)
end

--- The beginning of programs that make sessions, of some 300 bytes each.
support.sessions = [[
  local heap = require "heap"
  local Session = {__name = "Session"}
  local function session(i)
    return setmetatable({id = i, input = {("x"):rep(100) .. i}}, Session)
  end
]]

--- The lines of a text that are not empty.
---@param text string
---@return string[]
function support.lines(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
  return list
end

--- Text with what differs from run to run replaced: addresses, times, the temporary directory.
---@param text string
---@return string
function support.normalise(text)
  text = text:gsub(temporary:gsub("%p", "%%%0") .. "/%d+", "DIR")
  text = text:gsub("0x%x+", "0xADDRESS")
  text = text:gsub("%d%d%d%d%-%d%d%-%d%d[T ]%d%d:%d%d:%d%d[%.%d]*Z?", "TIME")
  return text
end

return support
