-- The rock of the module: heap.so, heap.auto, annotations. The commands come with `make install`.
-- To be built in a clone: luarocks make lua/luaheap-scm-1.rockspec
rockspec_format = "3.0"
package = "luaheap"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "Heap snapshots of a running Lua 5.4 program",
  detailed = [[
    Writes the heap to a file, exactly and without disturbing the program, in about the time of one
    full garbage collection. The commands, such as heaptop and heapdiff, which are built by make,
    find in such files what leaks and what holds it.
  ]],
  license = "MIT",
  labels = {"debugging", "memory", "profiling"},
}
supported_platforms = {"linux"}
dependencies = {
  "lua ~> 5.4",
}
build = {
  type = "builtin",
  modules = {
    heap = {
      sources = {
        "lua/heap.c",
        "lua/watch.c",
        "lib/base.c",
        "lib/hash.c",
        "lib/take/background.c",
        "lib/take/file.c",
        "lib/take/layout.c",
        "lib/take/mark.c",
        "lib/take/period.c",
        "lib/take/state.c",
        "lib/take/stats.c",
        "lib/take/take.c",
        "lib/take/walk.c",
        "lib/take/walk_proto.c",
        "lib/take/walk_thread.c",
        "lib/take/watch.c",
        "lib/take/watch_alloc.c",
        "lib/take/watch_hook.c",
        "lib/take/watch_signal.c",
        "lib/take/watch_take.c",
        "lib/take/watch_threads.c",
        "lib/take/writer.c",
      },
      incdirs = {"lib"},
      defines = {"_GNU_SOURCE"},
    },
    ["heap.auto"] = "lua/heap/auto.lua",
    ["heap.meta"] = "lua/heap/meta.lua",
  },
}
