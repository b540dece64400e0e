-- site_objects_spec.lua - the objects that were allocated at one site, as pages ask for them.

local ask_view = require "tests.common.ask_view"
local support = require "tests.common.support"

local dir = select(2, support.lua [[
  local heap = require "heap"
  heap.track()
  kept = {}
  local function row(i) return {i, name = "n" .. i} end
  for i = 1, 100 do kept[i] = row(i) end
  for i = 1, 50 do kept[i] = nil end
  kept.big = row(101)
  kept.big.data = ("x"):rep(10000)
  heap.mark("half")
  for i = 1, 7 do kept[i] = row(i) end
  heap.snapshot("c")
  heap.untrack()
  kept = {}
  heap.snapshot("plain")
]])

local function ask(key, file)
  local document = ask_view(dir, key, file or "c")
  return document.answer, document
end

local function row_site(maker)
  for _, row in ipairs(ask("sites").sites) do
    if row.maker == maker and row.site:find(" in row$") then return row end
  end
end

describe("The objects of a site", function()
  it("are as many as the table of sites says, of what allocates there", function()
    local tables = row_site "table"
    local answer = ask("site_objects?filter=table&site=" .. tables.site)
    assert.equal(58, answer.total_objects)
    assert.equal(tables.objects, answer.total_objects)
    assert.equal(tables.shallow_bytes, answer.shallow_bytes)
    local all = ask("site_objects?site=" .. tables.site)
    assert.equal(tables.objects + row_site "concatenation".objects, all.total_objects)
  end)

  it("stand with those first that retain most", function()
    local answer = ask("site_objects?filter=table&limit=5&site=" .. row_site "table".site)
    assert.equal(5, #answer.objects)
    assert.equal("_G.kept.big", answer.objects[1].held_by)
    for i = 2, 5 do
      assert.is_true(answer.objects[i].retained_bytes <= answer.objects[i - 1].retained_bytes)
    end
  end)

  it("may be those of an interval", function()
    local marks = ask("overview").marks
    local answer = ask(("site_objects?filter=table&since=%d&site=%s"):format(
      math.tointeger(marks[1].position), row_site "table".site))
    assert.equal(7, answer.total_objects)
  end)

  it("are none of a site that there is not, and of what is not tracked that is said", function()
    assert.equal(0, ask("site_objects?site=@nowhere.lua:1").total_objects)
    assert.equal("which site?", select(2, ask "site_objects").error)
  end)
end)
