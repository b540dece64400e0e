-- host_spec.lua - heap.so in programs that hide their Lua from modules, or have another one beside
-- it: it works, or one sentence says what to do. The programs are compiled here, with Debian's Lua.

local support = require "tests.common.support"

local dir = support.tmpdir()

-- Runs the Lua program that is its argument.
local runner = [[
  #include <lauxlib.h>
  #include <lualib.h>
  #include <stdio.h>

  int run(const char *program);
  int run(const char *program) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    int failed = luaL_dostring(L, program);
    if (failed) puts(lua_tostring(L, -1));
    lua_close(L);
    return failed;
  }
]]

local calls_it = [[
  int run(const char *program);
  int main(int argc, char **argv) { return argc == 2 ? run(argv[1]) : 2; }
]]

-- As programs with plugins do: nobody else sees what a plugin is linked to.
local loads_it = [[
  #include <dlfcn.h>
  #include <string.h>

  int main(int argc, char **argv) {
    int (*run)(const char *program);
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = plugin ? dlsym(plugin, "run") : 0;
    memcpy(&run, &symbol, sizeof run);
    return argc == 3 && symbol ? run(argv[2]) : 3;
  }
]]

local function sh(command)
  local out, err, code = support.run(command)
  assert.equal(0, code, err)
  return (out:gsub("\n$", ""))
end

local function compile(name, options, ...)
  for i, source in ipairs {...} do
    support.write_file(("%s/%s%d.c"):format(dir, name, i), source)
  end
  sh(("cd %s && ${CC:-cc} -o %s %s*.c $(pkg-config --cflags lua5.4) %s"):format(
    support.quote(dir), name, name, options))
  return dir .. "/" .. name
end

local library = sh("pkg-config --variable=libdir lua5.4") .. "/liblua5.4.so.0"

-- In an environment in which Lua finds the modules: what it prints, on both channels.
local function run(words, program)
  local driver = "local words = {...} local line = {}\n" ..
    "for i, word in ipairs(words) do\n" ..
    "line[i] = \"'\" .. word:gsub(\"'\", \"'\\\\''\") .. \"'\" end\n" ..
    "local _, how, code = os.execute(table.concat(line, ' ') .. ' 2>&1') print(how, code)"
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = ("%q"):format(word) end
  quoted[#quoted + 1] = ("%q"):format(program)
  return support.lua(("(function(...) %s end)(%s)"):format(driver, table.concat(quoted, ", ")))
end

local takes_one = [[
  local heap = require "heap"
  print(math.type(heap.snapshot(os.tmpname())))
]]

if _VERSION ~= "Lua 5.4" then return pending("the programs have Debian's Lua 5.4") end

describe("a program whose plugin has Lua for itself", function()
  local plugin = compile("plugin.so", "-shared -fPIC $(pkg-config --libs lua5.4)", runner)
  local program = compile("loads_plugin", "-ldl", loads_it)

  it("is told what to call first", function()
    for _, name in ipairs {"heap", "heap.reader", "heap.watch"} do
      local out = run({program, plugin}, ("require %q"):format(name))
      local remedy = out:match('hides the lua_%* functions from modules: first call ' ..
                               '(package.loadlib%("%S+", "%*"%)), or start it with LD_PRELOAD=')
      assert.is_string(remedy, out)
      assert.match("exit\t1\n$", out)
    end
  end)

  it("has the module when it did", function()
    local out = run({program, plugin}, ('package.loadlib(%q, "*") %s'):format(library, takes_one))
    assert.equal("integer\nexit\t0\n", out)
    if support.sanitized then return end -- libasan is preloaded
    out = run({"env", "LD_PRELOAD=" .. library, program, plugin}, takes_one)
    assert.equal("integer\nexit\t0\n", out)
  end)
end)

describe("a program with Lua inside", function()
  local static = "-Wl,-Bstatic -llua5.4 -Wl,-Bdynamic -lm -ldl"
  local hidden = compile("hides_lua", static, runner, calls_it)
  local shown = compile("shows_lua", "-Wl,-E " .. static, runner, calls_it)

  it("has the module if it shows it", function()
    assert.equal("integer\nexit\t0\n", run({shown}, takes_one))
    assert.equal("integer\nexit\t0\n", run({shown}, ('package.loadlib(%q, "*") %s'):format(
      library, takes_one)))
  end)

  it("is told that it hides it", function()
    local out = run({hidden}, [[print(require "heap")]])
    assert.match("^heap.so: this program's Lua is in %S*/hides_lua, which hides the lua_%* " ..
                 "functions from modules: it must be linked with %-Wl,%-E\ntrue", out)
    assert.match("exit\t0\n$", out)
  end)

  it("is told that another Lua has come in its place", function()
    local other = ("package.loadlib(%q, '*')"):format(library)
    local out = run({hidden}, other .. [[ print(require "heap")]])
    assert.match("^heap.so: this program's Lua is in %S*/hides_lua, but the lua_%* functions " ..
                 "that modules are given are those of %S*liblua5.4.so.0: it must be linked", out)
    assert.match("exit\t0\n$", out)
    out = run({hidden}, other .. [[ print(pcall(require, "heap.auto"))]])
    assert.match("\nfalse\theap.auto: [^\n]+\nexit\t0\n$", out)
  end)
end)
