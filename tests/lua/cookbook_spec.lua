-- cookbook_spec.lua - the scripts of lua/cookbook.md run, and print what stands behind them. The
-- snapshots that they are asked about are of this chat server.

local support = require "tests.common.support"

-- _G -.sessions-> array -[*]-> Session -.inbox-> array of string
--  +-.audit-> array -[*]-> {session, what} -.session-> Session     also those that are closed
local server = [[
  local heap = require "heap" heap.track {stacks = true}
  local Session = {__name = "Session"}
  sessions, audit, count = {}, {}, 0

  local function open_session()
    count = count + 1
    local s = setmetatable({id = count, inbox = {}}, Session)
    s.on_close = function() s.closed = true end
    sessions[count] = s
    audit[count] = {session = s, what = "opened"}
    return s
  end

  local function deliver(s, n)
    for i = 1, n do s.inbox[i] = ("Message %d for %d: "):format(i, s.id) .. ("hello "):rep(5) end
  end

  local function serve(n)
    local done = {}
    for i = 1, n do done[i] = open_session() end
    for _, s in ipairs(done) do
      s.on_close()
      sessions[s.id] = nil
    end
  end

  for i = 1, 10 do
    local s = open_session()
    s.greeting = ("Welcome to the server, "):rep(5)
    deliver(s, 2)
  end
  deliver(sessions[7], 60)
  waiting = {}
  for i = 1, 5 do
    waiting[i] = coroutine.create(function(request)
      local answer = {request, ("x"):rep(100)}
      coroutine.yield(answer)
    end)
    coroutine.resume(waiting[i], {id = i})
  end
  heap.snapshot "a" serve(40)
  heap.snapshot "b" serve(40)
  heap.mark "noon" serve(10)
  heap.snapshot "c"
]]

local _, dir = support.lua(server, {name = "server.lua"})

local cookbook = support.root .. "/lua/cookbook.md"

-- Title, script and expected output of each section.
local function recipes()
  local list, text = {}, support.read_file(cookbook) .. "\n## "
  for section in text:gmatch("\n## (.-)%f[\n\0]\n") do list[#list + 1] = {title = section} end
  for i, recipe in ipairs(list) do
    local from = select(2, text:find("\n## " .. recipe.title, 1, true))
    local till = text:find("\n## ", from, true)
    recipe.script, recipe.output = text:sub(from, till):match("```lua\n(.-)```\n```\n(.-)```")
    list[i] = recipe
  end
  return list
end

-- Without what differs between releases of Lua.
local function comparable(output)
  if _VERSION ~= "Lua 5.4" then -- an array is kept longer
    output = output:gsub("of %d+ slots", "of N slots"):gsub("%d+ bytes", "BYTES bytes")
  end
  output = output:gsub("%d+%.%d KB", "SIZE"):gsub("%d+ B%f[%s]", "SIZE"):gsub("%d+%.%d%%", "SHARE")
  return (output:gsub("%d%d%d%d+", "BYTES"):gsub(" +", " "))
end

describe("the cookbook", function()
  local list = recipes()

  it("has eleven scripts", function() assert.equal(11, #list) end)

  for _, recipe in ipairs(list) do
    it("answers: " .. recipe.title, function()
      local gate = recipe.script:find("os.exit", 1, true)
      local files = recipe.script:find("arg[3]", 1, true) and {"a", "b", "c"} or {"c"}
      local out, _, err, code = support.lua('local reader = require "heap.reader"\n' ..
        recipe.script, {cwd = dir, args = files, fails = true, name = "script.lua"})
      assert.equal("", err)
      assert.equal(gate and 1 or 0, code)
      out = support.normalise(out)
      if os.getenv "LUAHEAP_UPDATE" then
        local text = support.read_file(cookbook)
        local block = recipe.script .. "```\n```\n"
        local from, to = text:find(block .. recipe.output, 1, true)
        support.write_file(cookbook, text:sub(1, from - 1) .. block .. out .. text:sub(to + 1))
        return
      end
      assert.equal(comparable(recipe.output), comparable(out))
    end)
  end
end)
