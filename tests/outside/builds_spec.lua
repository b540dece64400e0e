-- builds_spec.lua - heapattach on programs into which Lua was put in every way: as a library,
-- linked in, without symbols, at a fixed address, optimised as a whole, with another C library.
--
-- Debian's builds of Lua are at hand everywhere. With LUAHEAP_LUA_DIR, the sources of a release
-- (tests/release.sh), that one is compiled, too, in the ways that need them.

local cjson = require "cjson"
local hosts = require "tests.common.hosts"
local support = require "tests.common.support"

local host = [[
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dofile(L, "kept.lua")) return 1;
  puts("ready");
  fflush(stdout);
  (void)getchar();
  if (luaL_dostring(L, "return #kept + collectgarbage('count')")) return 1;
  lua_close(L);
  return 0;
}
]]

local kept = [[
kept = {}
function keep(i) kept[i] = {name = "object " .. i, go = coroutine.create(keep)} end
for i = 1, 300 do keep(i) end
]]

---@class build
---@field name string
---@field command string that makes `host` of host.c
---@field release string a pattern

local archive = "$(pkg-config --cflags lua5.4) -l:liblua5.4.a -lm -ldl"
local debian = {
  {name = "a library", command = "$CC -o host host.c $(pkg-config --cflags --libs lua5.4)"},
  {name = "linked in", command = "$CC -o host host.c " .. archive},
  {name = "static", command = "$CC -static -o host host.c " .. archive},
  {name = "static, at any address", command = "$CC -static-pie -o host host.c " .. archive},
  {name = "at a fixed address", command = "$CC -no-pie -o host host.c " .. archive},
  {name = "hidden and stripped",
    command = "$CC -s -Wl,--exclude-libs,ALL -o host host.c " .. archive},
}

-- All but the programs of it, and the debugging aid.
local function sources_in(dir)
  return ("-I%s $(ls %s/l*.c | grep -v '/lua.c$\\|/luac.c$\\|/ltests.c$')"):format(dir, dir)
end

local function builds_of(dir)
  local flags = "-std=gnu99 -O2 -DLUA_USE_POSIX "
  local all = flags .. "-o host host.c " .. sources_in(dir) .. " -lm"
  return {
    {name = "compiled with it", command = "$CC " .. all},
    {name = "optimised as a whole, hidden, stripped", may_hide = true,
      command = "$CC -flto -fvisibility=hidden -Wl,--gc-sections -s " .. all},
    {name = "optimised for speed by clang", command = "clang -O3 " .. all},
    {name = "static, with musl", command = "musl-gcc -static " .. all},
    {name = "with musl", command = "musl-gcc " .. all},
  }
end

local dir, release = os.getenv "LUAHEAP_LUA_DIR", nil
local builds = debian
if dir then
  dir = io.open(dir .. "/lua.h") and dir or dir .. "/src"
  builds = builds_of(dir)
  release = support.read_file(dir .. "/lua.h"):match('LUA_VERSION_RELEASE%s+"(%d+)"')
end

describe("heapattach, of a program that has Lua", function()
  if not hosts.may_look() then return pending(hosts.refusal) end

  local place
  before_each(function()
    place = support.tmpdir()
    support.write_file(place .. "/host.c", host)
    support.write_file(place .. "/kept.lua", kept)
  end)

  local function json(...)
    return cjson.decode(support.answer({"heapattach", "--json", ...}, place))
  end

  for _, build in ipairs(builds) do
    it(build.name, function()
      local compiler = build.command:match("^%S+")
      if not compiler:find("^%$") and select(3, support.run("command -v " .. compiler)) ~= 0 then
        return pending("no " .. compiler .. " here")
      end
      support.run("CC=${CC:-cc}; " .. build.command, {cwd = place})
      local pid = support.answer("mkfifo in out; ./host <in >out & echo $!", place):match("%d+")
      local to, from = assert(io.open(place .. "/in", "w")), assert(io.open(place .. "/out"))
      assert.equal("ready", from:read())

      local states = json("--list", pid).states
      assert.equal(1, #states)
      assert.equal("kept.lua", states[1].script)
      local known = "5.4." .. (release or "4")
      if not (build.may_hide and states[1].lua == "5.4") then
        assert.equal(known, states[1].lua)
      end
      local told = json("-o", "a", pid)
      assert.equal(0, told.snapshots[1].unaccounted_bytes)
      assert.truthy(support.answer("heapcheck a", place):find("ok:", 1, true))
      support.answer("heappath a '_G.kept[300].go'", place)

      to:write("\n")
      to:close()
      assert.equal("", from:read("a"))
      from:close()
    end)
  end
end)
