-- The rock of the module: heap.so with heap and heap.reader, heap.dot where libcgraph is there, and
-- what is in Lua. The commands come with `make install`.
-- To be built in a clone: luarocks make lua/luaheap-scm-1.rockspec
rockspec_format = "3.0"
package = "luaheap"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "Heap snapshots of a running Lua 5.4 or 5.5 program",
  detailed = [[
    Writes the heap to a file, exactly and without disturbing the program, in about the time of one
    full garbage collection. The commands, such as heaptop and heapdiff, which are built by make,
    find in such files what leaks and what holds it; so does heap.reader, in Lua.
  ]],
  license = "MIT",
  labels = {"debugging", "memory", "profiling"},
}
supported_platforms = {"linux"}
dependencies = {
  "lua >= 5.4, < 5.6",
}
build = {
  type = "make",
  build_target = "rock",
  build_variables = {
    CFLAGS = "$(CFLAGS)",
    LUA_CFLAGS = "-I$(LUA_INCDIR)",
    NEEDED = "", -- luarocks has Lua's headers
  },
  install_target = "install-rock",
  install_variables = {
    LUA_C = "$(LIBDIR)",
    LUA_LUA = "$(LUADIR)",
  },
}
