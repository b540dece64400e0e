-- diff.lua - what heapdiff says of a small program that leaks, for specs.

local json = require "cjson"
local support = require "tests.common.support"

local diff = {}

-- Runs `leak(n)` between the snapshots a, b and c; returns heapdiff's answer.
function diff.ask(program, arguments)
  local _, dir = support.lua('local heap = require "heap"\n' .. program .. [[

    heap.snapshot("a") leak(1) heap.snapshot("b") leak(2) heap.mark("end") heap.snapshot("c")
  ]], {name = "app.lua"})
  local words = {"heapdiff", "--json", table.unpack(arguments or {"a", "b", "c"})}
  local out, errors, code = support.run(words, {cwd = dir})
  assert(code == 0, errors)
  return json.decode(out), dir
end

-- The groups as "objects class <- held_by", in order; strings left out.
function diff.groups_of(answer)
  local list = {}
  for _, group in ipairs(answer.groups) do
    if group.type ~= "string" then
      list[#list + 1] = ("%d %s <- %s"):format(group.objects, group.class, group.held_by)
    end
  end
  return list
end

return diff
