-- ask_view.lua - the answer to one question as heapview has it, without a page or a server
-- (tests/heapview/ask_view.c).
--
--     local ask_view = require "tests.common.ask_view"
--     local answer = ask_view(dir, "treemap?by=class", "a", "b", "c").answer

local cjson = require "cjson"
local support = require "tests.common.support"

--- Asks about files of a directory: snapshots, a profile. The values of the key stand as they are,
--- so none has & or = in it.
---@param dir string
---@param key string
---@param ... string files; none: a, b and c
---@return {answer: table, told: table[]}|{error: string}
---@return integer code of ask_view
---@return string text
return function(dir, key, ...)
  local files = ... and {...} or {"a", "b", "c"}
  local words = {support.build .. "/tests/ask_view", key, table.unpack(files)}
  local out, err, code = support.run(words, {cwd = dir})
  if err ~= "" then error(("%s: %s"):format(key, err), 2) end
  return cjson.decode(out), code, out
end
