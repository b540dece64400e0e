-- live.lua - what the specs of the live calls share: programs with `heap`, with is(got, expected)
-- and has(text, part), which raise an error; and what the commands say of the snapshots they save.

local support = require "tests.common.support"
local cjson = require "cjson"

local live = {}

local prelude = [[
  local heap = require "heap"
  local function is(got, expected, what)
    if got ~= expected then
      error(("%s: %s instead of %s"):format(what or "got", tostring(got), tostring(expected)), 2)
    end
  end
  local function has(got, part)
    if not tostring(got):find(part, 1, true) then
      error(("%q is not in %q"):format(part, tostring(got)), 2)
    end
  end
]]

--- Runs a program, as support.lua does.
---@param program string
---@param options? support.lua_options
---@return string stdout
---@return string dir
function live.lua(program, options) return support.lua(prelude .. program, options) end

--- What a command prints with --json in that directory.
---@param command string[]
---@param dir string
---@return table
function live.json(command, dir)
  local out, err, code = support.run(command, {cwd = dir})
  assert(code == 0, err)
  return cjson.decode(out)
end

return live
