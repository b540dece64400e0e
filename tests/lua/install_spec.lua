-- install_spec.lua - what `make install` and `luarocks make` put where, and what programs in C that
-- are linked to the library find there.

local lfs = require "lfs"
local support = require "tests.common.support"

-- make as from a shell, not as a part of the make that may run this.
local make = "env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s "

local function files(dir)
  local list = support.lines(support.answer("find . ! -type d | sort", dir))
  for i, name in ipairs(list) do list[name], list[i] = true, name end
  return list
end

local reader = support.read_file(support.root .. "/examples/heap.c")

local host = [[
  #include <lauxlib.h>
  #include <luaheap.h>
  int main(int argc, char **argv) {
    lua_State *L = luaL_newstate();
    lh_error *e = lh_error_new();
    lh_job *job;
    if (lh_attach(L, e) || lh_mark(L, "start", 5, e) || lh_take_snapshot(L, argv[argc - 1], 0, e) ||
        lh_start_snapshot(L, "later", LH_DEFAULT_STRING_BYTES, &job, e) || lh_job_wait(job, -1, e))
      return puts(lh_error_message(e)), 1;
    lh_job_free(job);
    lh_free(e);
    lua_close(L);
  }
]]

describe("make install", function()
  if support.build ~= support.root .. "/build" then
    return pending("is tried once, with the release build")
  end

  local prefix, lua
  local function install(what)
    local out, err, code = support.run(make .. what .. " PREFIX=" .. prefix)
    assert.equal(0, code, out .. err)
  end

  setup(function()
    prefix = support.tmpdir()
    install("install")
    local names = "for n in lua5.4 lua-5.4 lua54 lua; do pkg-config --exists $n && echo $n; done"
    lua = support.lines(support.run(names))[1]
  end)

  -- Compiles, runs and returns what is printed; `flags` may ask pkg-config.
  local function try(source, flags, arguments)
    local dir = support.tmpdir()
    support.write_file(dir .. "/program.c", source)
    local of_others = os.getenv("PKG_CONFIG_PATH") or ""
    local env = {PKG_CONFIG_PATH = prefix .. "/lib/pkgconfig:" .. of_others,
                 LD_LIBRARY_PATH = prefix .. "/lib"}
    local out, err, code = support.run("${CC:-gcc} -Wall -Werror -o program program.c " .. flags ..
      " && ./program " .. arguments, {cwd = dir, env = env})
    assert.same({"", 0}, {err, code}, out)
    return out, support.answer("readelf -d program", dir)
  end

  it("is for the programs of all languages", function()
    local found = files(prefix)
    for _, file in ipairs {"bin/heaptop", "bin/heapattach", "include/luaheap.h",
                           "lib/libluaheap.a", "lib/libluaheap.so",
                           "lib/lua/5.4/heap.so", "lib/lua/5.4/heap/dot.so",
                           "lib/luaheap/heapsnap.so",
                           "share/lua/5.4/heap/auto.lua", "share/man/man1/heaptop.1"} do
      assert.is_true(found["./" .. file], file)
    end
    assert.equal("luaheap.h\n", support.answer("ls include", prefix))
    assert.matches("^libluaheap%.so%.%d+$", lfs.symlinkattributes(prefix .. "/lib/libluaheap.so",
                                                                  "target"))
  end)

  it("tells pkg-config where all is", function()
    local pc = "env PKG_CONFIG_PATH=lib/pkgconfig pkg-config "
    assert.equal(prefix .. "\n", support.answer(pc .. "--variable=prefix luaheap", prefix))
    assert.equal(("-I%s/include -L%s/lib -lluaheap \n"):format(prefix, prefix),
                 support.answer(pc .. "--cflags --libs luaheap", prefix))
    local version = support.answer({"bin/heaptop", "--version"}, prefix):match("%S+\n")
    assert.equal(version, support.answer(pc .. "--modversion luaheap", prefix))
    local changelog = support.read_file(support.root .. "/.debian/changelog")
    assert.equal(version, changelog:match("^luaheap %((.-)%)") .. "\n")
    assert.equal("5.4\n", support.answer(pc .. "--variable=lua luaheap", prefix))
  end)

  it("has a library for what reads snapshots, and has no Lua", function()
    local _, dir = support.lua [[require "heap".snapshot("a")]]
    local question = "info " .. dir .. "/a"
    local shared, needs = try(reader, "$(pkg-config --cflags --libs luaheap)", question)
    assert.matches('^{.*"objects":%d.*}\n$', shared)
    assert.matches("%[libluaheap%.so%.%d+%]", needs)
    local static
    static, needs = try(reader, "$(pkg-config --cflags --libs --static luaheap | " ..
      "sed 's/-lluaheap/-Wl,-Bstatic & -Wl,-Bdynamic/')", question)
    assert.equal(shared, static)
    assert.not_matches("luaheap", needs)
  end)

  it("has a library for what takes snapshots, of its own Lua", function()
    local flags = "$(pkg-config --cflags --libs luaheap " .. lua .. ")"
    assert.equal("", (try(host, flags, "a")))
    local dir = support.answer({"pkg-config", "--variable=libdir", lua}, prefix):match("%C+")
    local name = support.answer({"pkg-config", "--libs-only-l", lua}, prefix):match("%-l(%S+)")
    local archive = ("%s/lib%s.a"):format(dir, name)
    if not lfs.attributes(archive) then return pending("there is no static library of Lua") end
    local _, needs = try(host, "$(pkg-config --cflags --libs luaheap) $(pkg-config --cflags " ..
      lua .. ") " .. archive .. " -lm -ldl", "a")
    assert.not_matches("%[liblua[^h]", needs)
  end)

  it("has one for each release of Lua that is there, which reads the files of both", function()
    if not lfs.attributes(prefix .. "/lib/pkgconfig/luaheap5.5.pc") then
      return pending("there is no second Lua")
    end
    local names = "for n in lua5.5 lua-5.5 lua55 lua; do pkg-config --exists $n && echo $n; done"
    local libraries = "$(pkg-config --cflags --libs %s " .. support.lines(support.run(names))[1] ..
                      ") -Wl,-rpath,$(pkg-config --variable=libdir lua5.5)"
    local file = support.tmpname()
    local _, needs = try(host, libraries:format("luaheap5.5"), file)
    assert.matches("%[libluaheap5%.5%.so%.%d+%]", needs)
    for _, name in ipairs {"luaheap", "luaheap5.5"} do
      local said = try(reader, "$(pkg-config --cflags --libs " .. name .. ")", "info " .. file)
      assert.matches('"lua_release":"5%.5', said)
    end
  end)

  it("has what its header declares, and shows nothing else", function()
    local declared, shown = {}, {}
    local text = support.read_file(prefix .. "/include/luaheap.h"):gsub("/%*.-%*/", "")
    for name in text:gmatch("(lh_%w[%w_]*)%(") do declared[#declared + 1] = name end
    local symbols = support.answer("nm -D --defined-only lib/libluaheap.so", prefix)
    for name in symbols:gmatch("(%S+)\n") do shown[#shown + 1] = name end
    table.sort(declared)
    table.sort(shown)
    assert.same(declared, shown)
  end)

  it("can be undone", function()
    install("uninstall")
    assert.same({}, files(prefix))
    assert.is_nil(lfs.attributes(prefix .. "/share/lua/5.4/heap"))
  end)
end)

describe("luarocks make", function()
  local clone, before

  setup(function()
    clone = support.tmpdir()
    support.answer({"cp", "-r", ".ci", "Makefile", "README.md", "LICENSE", "lib", "lua", clone},
                   support.root)
    before = files(clone)
  end)

  local function luarocks(command)
    return support.run("env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL luarocks --lua-version 5.4 " ..
                       command, {cwd = clone})
  end

  it("puts the module into its tree, and leaves nothing behind", function()
    if select(3, support.run "luarocks --version") ~= 0 then
      return pending("luarocks is not installed")
    elseif support.build ~= support.root .. "/build" then
      return pending("the rock is tried once, with the release build")
    end
    local tree = support.tmpdir()
    local out, err, code = luarocks("make --tree " .. tree ..
      " lua/luaheap-scm-1.rockspec CFLAGS='-O0 -fPIC'") -- whose code is not looked at
    assert.equal(0, code, out .. err)
    assert.same(before, files(clone))
    local modules = {"./lib/lua/5.4/heap.so", "./lib/lua/5.4/heap/dot.so",
                     "./share/lua/5.4/heap/reader_rows_meta.lua"}
    for name in lfs.dir(clone .. "/lua/heap") do
      if name:find("%.lua$") then modules[#modules + 1] = "./share/lua/5.4/heap/" .. name end
    end
    local found = {}
    for _, name in ipairs(files(tree)) do
      if not name:find("^%./lib/luarocks/") then found[#found + 1] = name end
    end
    table.sort(modules)
    assert.same(modules, found)
    local program = [[
      local heap = require "heap"
      print(heap.snapshot("a") and heap.dot(_G, "picture"), #require "heap.reader".open("a"):top(1))
    ]]
    assert.equal("true\t1\n", (support.lua(program, {env = {
      LUA_PATH = tree .. "/share/lua/5.4/?.lua", LUA_CPATH = tree .. "/lib/lua/5.4/?.so"}})))
  end)

  it("needs no libcgraph", function()
    local with = support.answer(make .. "-n rock NEEDED=", clone)
    local without = support.answer(make .. "-n rock NEEDED= PKG_CONFIG=false", clone)
    assert.matches("dot%.so", with)
    assert.matches("heap%.so", without)
    assert.not_matches("dot%.[so]", without)
  end)
end)
