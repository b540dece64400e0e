-- Settings of luacheck: Lua 5.4, and 100 columns as in C.
std = "lua54"
max_line_length = 100
codes = true
files["tests/*/*_spec.lua"].std = "+busted"
files["examples/*_spec.lua"].std = "+busted"
files["examples/*_spec.lua"].ignore = {"143"} -- assertions of heap.busted
files["**/*.rockspec"].std = "+rockspec"
-- Annotations only: no bodies that could use the arguments, and one line for each @return.
files["lua/heap/*meta.lua"].ignore = {"212", "631"}
-- The comments hold what commands print, as wide as it is.
files["examples/*.lua"].max_comment_line_length = false
