-- tracked_spec.lua - snapshots of programs that are tracked: exact to the byte as all others, and
-- each object has its site; from the program to what the reports say.

local json = require "cjson"
local support = require "tests.common.support"

local function ask(dir, ...) return json.decode((support.answer({...}, dir))) end

-- Everything that can be allocated: strings, tables that grow, functions, coroutines, userdata and
-- code that is loaded anew.
local work = [[
  kept = kept or {}
  local function work(n)
    for i = 1, n do
      local t = {i, name = "n" .. i}
      if i % 7 == 0 then kept[#kept + 1] = t end
      local co = coroutine.wrap(function(a) coroutine.yield(("x"):rep(a)) end)
      co(i % 50)
      if i % 50 == 0 then kept["co" .. i] = co end
      kept.f = load("return {" .. i .. ", function() return " .. i .. " end}")()
      if i % 99 == 0 then kept.file = io.tmpfile() end
    end
  end
]]

local modes = {
  {name = "sites", track = "{}"},
  {name = "stacks", track = "{stacks = true}"},
  {name = "stacks in the host's memory", track = "{stacks = true, pool = false}"},
  {name = "samples", track = "{sample = 512}"},
}

for _, mode in ipairs(modes) do
  describe("a program that is tracked with " .. mode.name, function()
    local dir

    setup(function()
      local _
      _, dir = support.lua(([[
        local heap = require "heap"
        before = {} for i = 1, 100 do before[i] = {i} end
        %s
        work(20)
        assert(heap.track(%s))
        for _, collector in ipairs {"incremental", "generational"} do
          collectgarbage(collector)
          work(300)
          heap.snapshot(collector)
          assert(heap.snapshot("background", {background = true}):wait())
        end
        before = nil
        assert(heap.untrack())
        work(100)
        heap.snapshot("untracked")
      ]]):format(work, mode.track), {name = "app.lua"})
    end)

    for _, file in ipairs {"incremental", "generational", "background", "untracked"} do
      it("has an exact snapshot: " .. file, function()
        assert.match("^" .. file .. ": ok: ", support.answer({"heapcheck", file}, dir))
        local info = ask(dir, "heaptop", "--json", file).snapshot
        assert.equal(0, info.unaccounted_bytes)
        local external = info.external_bytes or 0 -- in 5.5: the collector does not count these
        assert.equal(info.gc_bytes, info.bytes - external + info.string_table_bytes)
      end)
    end
  end)
end

describe("the sites of a snapshot", function()
  local dir

  setup(function()
    local _
    _, dir = support.lua([[
      local heap = require "heap"
      ]] .. work .. [[
      work(100)
      assert(heap.track {stacks = true})
      work(200)
      collectgarbage()
      work(200)
      heap.snapshot("c")
    ]], {name = "app.lua"})
  end)

  -- Those of luaheap's marks are no rows of its objects.
  it("have made as many objects as they have freed and as there are", function()
    local out = support.answer({"heapsql", "--csv", "c", [[
      with live as (select stack, count(*) as n from objects group by stack)
      select s.made_objects - s.freed_objects, coalesce(l.n, 0)
      from stacks s left join live l on l.stack = s.id
      where s.site not like 'heap.snapshot at %']]},
      dir)
    local n = 0
    for made, there in out:gmatch("\n(%d+),(%d+)") do
      assert.equal(made, there)
      n = n + 1
    end
    assert.is_true(n > 100)
  end)

  it("have as many objects and bytes as are counted one by one", function()
    local answer = ask(dir, "heaptop", "--json", "--by", "site", "c")
    assert.equal(#answer.sites, answer.total_sites)
    local told = {}
    for _, row in ipairs(answer.sites) do
      local key = row.site .. " " .. tostring(row.maker)
      local sum = told[key] or {0, 0}
      told[key] = {sum[1] + row.objects, sum[2] + row.shallow_bytes}
    end
    local counted = {}
    local out = support.answer({"heapsql", "--csv", "c", [[
      select s.site || ' ' || s.maker, count(*), sum(o.shallow_bytes) from objects o
      join stacks t on t.id = o.stack join sites s on s.id = t.site_id
      where o.reachable group by 1]]}, dir)
    for key, objects, bytes in out:gmatch('\n"?([^\n]-)"?,(%d+),(%d+)') do
      counted[key:gsub('""', '"')] = {tonumber(objects), tonumber(bytes)}
    end
    for key, sum in pairs(counted) do assert.same(sum, told[key], key) end
    for key in pairs(told) do
      if not key:find("^before tracking began") then assert.is_truthy(counted[key], key) end
    end
  end)
end)

describe("the format", function()
  local function versions(track)
    local _, dir = support.lua(([[
      local heap = require "heap"
      %s
      heap.snapshot("a")
    ]]):format(track))
    local version, flags = ("<I4I4"):unpack(support.read_file(dir .. "/a"), 9)
    return {version, flags}
  end

  it("is the same whether anything is tracked or not", function()
    local version = _VERSION == "Lua 5.4" and 6 or 7
    assert.same({version, 0}, versions "")
    assert.same({version, 0}, versions "assert(heap.track())")
  end)
end)

-- The README's service: of fifty listeners of a connection one stays.
describe("a service that leaks", function()
  local dir

  setup(function()
    local _
    _, dir = support.lua([[
      local heap = require "heap"
      package.preload["app.bus"] = assert(load([=[
local Bus = {}
Bus.__index = Bus
function Bus:on(event, f)
  local entry = {event = event, call = f}
  self.listeners[#self.listeners + 1] = entry
  return entry
end
return Bus
]=], "@app/bus.lua"))
      local Bus = require "app.bus"
      bus = setmetatable({listeners = {}}, Bus)
      local connect = assert(load([=[
local Bus = ...
return function(id)
  local session = {id = id}
  bus:on("tick", function() return session end)
  local own = setmetatable({listeners = {}}, Bus)
  for _ = 1, 50 do own:on("tick", print) end
end
]=], "@app/session.lua"))(Bus)
      assert(heap.track {stacks = true})
      for i = 1, 10 do connect(i) end
      heap.snapshot("a") for i = 1, 1000 do connect(i) end
      heap.snapshot("b") for i = 1, 1000 do connect(i) end
      collectgarbage()
      heap.snapshot("c")
    ]], {name = "app.lua"})
  end)

  it("is told the line in one command", function()
    local out = support.answer({"heapdiff", "a", "b", "c"}, dir)
    assert.match("\n    allocated at @app/bus.lua:4 in Bus:on, from @app/session.lua:4 in [^\n]*"
      .. "; all 1,000 objects made there stay\n", out)
    local group = ask(dir, "heapdiff", "--json", "a", "b", "c").groups[1]
    assert.same({1000, 1000, 1000, 1000}, {group.allocated.objects, group.allocated.of,
                                           group.allocated.made, group.allocated.stay})
    assert.match("^@app/bus.lua:4 in ", group.allocated.site)
  end)

  it("is told it of one snapshot, too", function()
    local out = support.answer({"heaptop", "c"}, dir)
    assert.match("\n    allocated at @app/bus.lua:4 in Bus:on, from @app/session.lua:4 [^\n]*"
      .. "; all 2,010 objects made there stay\n", out)
  end)

  it("has rows for its sites", function()
    local out = support.answer({"heaptop", "--by", "site", "c"}, dir)
    assert.match("\n[^\n]+ +2,010 +102,510 [^\n]+ table +@app/bus.lua:4 in Bus:on\n", out)
    local class = support.answer({"heaptop", "--class", "{call, event}", "c"}, dir)
    assert.match("\nWhere they were allocated\n[^\n]+\n +2,010 +100.0%% [^\n]+ table +"
      .. "@app/bus.lua:4 in Bus:on\n", class)
  end)

  it("has ages in its rows where there are marks to tell them by", function()
    for file, has_marks in pairs {a = false, b = true, c = true} do
      local out = support.answer({"heaptop", "--by", "site", file}, dir)
      assert.equal(has_marks, out:find(" ages ", 1, true) ~= nil, file)
      assert.match("\n%d[%d,]+ objects were made since tracking began, all recorded\n$", out)
      assert.is_true(#ask(dir, "heaptop", "--json", "--by", "site", file).sites[1].ages > 1)
    end
  end)

  it("tells the stack of an object", function()
    local out = support.answer({"heappath", "--format", "text", "c", "_G.bus.listeners[7]"}, dir)
    assert.match("\nallocated at @app/bus.lua:4 in Bus:on\n  from @app/session.lua:4[^\n]*\n"
      .. "  from @app.lua:%d+ in main chunk\n\n", out)
    local stack = ask(dir, "heappath", "--json", "c", "_G.bus.listeners[7]").stack
    assert.equal(3, #stack)
    assert.match("^@app/bus.lua:4 in ", stack[1])
  end)
end)
