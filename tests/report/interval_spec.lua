-- interval_spec.lua - what is asked about an interval of positions: between two marks all values
-- and the sentence are those of heapdiff --since --until; classes and objects are those of the
-- interval; and the timeline of the same heap adds up to what heaptop tells of it.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local numbers = require "heap.numbers"
local support = require "tests.common.support"

local dir = select(2, support.lua [[
  local heap = require "heap"
  local Session = {__name = "Session"}
  sessions, log, closing = {}, {}, {}
  local function work(n)
    for i = 1, n do
      sessions[#sessions + 1] = setmetatable({id = i, data = {i, "text " .. #sessions}}, Session)
      log[i % 7] = ("line %d"):format(i)
      if i % 5 == 0 then closing[#closing + 1] = setmetatable({}, {__gc = function() end}) end
    end
  end
  for i = 1, 4 do
    heap.mark("m" .. i)
    work(10 * i)
  end
  for i = 1, 20 do sessions[i] = false end
  heap.snapshot "s"
]])

local function ask(key) return (ask_view(dir, key, "s")) end

local function json_of(...)
  return cjson.decode(support.answer({...}, dir))
end

-- The text of the lines that are told, without tables.
local function lines_of(told)
  local lines = {}
  for _, item in ipairs(told) do
    local parts = {}
    for i, part in ipairs(item.line or {}) do parts[i] = part.text end
    if item.line then lines[#lines + 1] = table.concat(parts) end
  end
  return lines
end

local position = {}
for _, mark in ipairs(ask "overview".answer.marks) do position[mark.name] = mark.position end

describe("an interval between marks", function()
  for since = 1, 4 do
    for until_ = since + 1, 5 do
      local from, to = "m" .. since, until_ < 5 and "m" .. until_ or nil
      local options = {"--since", from, table.unpack(to and {"--until", to} or {})}
      local key = ("interval?since=%d"):format(position[from])
      if to then key = ("%s&until=%d"):format(key, position[to]) end

      it("is told as heapdiff " .. table.concat(options, " "), function()
        local words = {"heapdiff", "--json", table.unpack(options)}
        words[#words + 1] = "s"
        local asked, document = ask(key), json_of(table.unpack(words))
        assert.is_true(asked.answer.objects > 0)
        for name, value in pairs(asked.answer) do assert.same(document[name], value, name) end
        words[2] = "--color=never"
        local text = support.answer(words, dir)
        assert.equal(text:match "[^\n]+", lines_of(asked.told)[1])
      end)
    end
  end

  it("says what is left out of it that the timeline counts", function()
    for _, range in ipairs {"", ("?since=%d"):format(position.m2)} do
      local interval, timeline = ask("interval" .. range), ask("timeline" .. range).answer
      local ageless = range == "" and timeline.ageless_objects or 0
      local n = timeline.objects + ageless - interval.answer.objects
      local bytes = timeline.bytes - interval.answer.shallow_bytes +
                    (range == "" and timeline.ageless_bytes or 0)
      local lines = lines_of(interval.told)
      assert.equal(range == "", n > 0)
      local sentence = ("Not counted: %d objects, %s, of luaheap's module and of the call that " ..
                        "took the snapshot"):format(n, numbers.size(bytes))
      assert.equal(n > 0 and sentence or nil, lines[#lines]:match "^Not counted.*")
    end
  end)

  it("has its classes and objects", function()
    local range = ("since=%d&until=%d"):format(position.m2, position.m4)
    local all, objects = ask("interval?" .. range).answer, 0
    for _, class in ipairs(ask("classes?" .. range).answer.classes) do
      objects = objects + class.objects
      if class.class == "Session" then assert.equal(50 - 10, class.objects) end
    end
    assert.equal(all.objects, objects)
    assert.equal(all.objects, ask("timeline?" .. range).answer.objects)
    local lines = lines_of(ask("classes?" .. range).told)
    assert.equal("Only of what was allocated between the marks m2 and m4", lines[2])
  end)
end)

describe("the timeline", function()
  local info = ask "info".answer

  for _, by in ipairs {"class", "type", "place"} do
    it("by " .. by .. " adds up to the heap", function()
      local answer = ask("timeline?bins=17&by=" .. by .. "&limit=5").answer
      local bytes, objects = 0, 0
      for _, layer in ipairs(answer.layers) do
        for bin = 1, 17 do
          bytes, objects = bytes + layer.bin_bytes[bin], objects + layer.bin_objects[bin]
        end
      end
      assert.same({answer.bytes, answer.objects}, {bytes, objects})
      local garbage = ask("timeline?bins=17&by=" .. by .. "&garbage=1&limit=5").answer
      assert.equal(info.garbage_bytes, garbage.bytes + garbage.ageless_bytes)
      local classes = json_of("heaptop", "--json", "-n", "0", "--by", "class", "s").classes
      local all = 0
      for _, class in ipairs(classes) do all = all + class.shallow_bytes end
      assert.equal(all, bytes + answer.ageless_bytes)
    end)
  end

  it("leads to what a class is like", function()
    local rows
    for _, item in ipairs(ask "timeline?limit=3".told) do rows = rows or item.table end
    rows = rows.rows
    local linked = 0
    for _, row in ipairs(rows) do
      local cell = row.cells[#row.cells]
      if cell.text == "Session" then assert.equal("/object?class=Session", cell.link) end
      linked = linked + (cell.link and 1 or 0)
    end
    assert.same({4, 3, "all others"}, {#rows, linked, rows[4].cells[#rows[4].cells].text})
  end)

  it("has each mark at its position", function()
    local answer = ask "timeline?bins=1000".answer
    for _, mark in ipairs(answer.marks) do
      if mark.marks == 1 then assert.equal(position[mark.name], mark.position) end
    end
    assert.equal(answer.positions, position.s)
  end)
end)
