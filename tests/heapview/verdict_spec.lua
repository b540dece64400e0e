-- verdict_spec.lua - who opens the page of an example reads what leaks at once: the first box names
-- it, with how much that is; and from there its object is one click away.

local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"

-- What the first box says of each example.
local boxes = {
  cache = {"still alive in c", "cache%[%*%]", "500 × {parts, source, user}"},
  closure = {"still alive in c", "_G%.midnight%[%*%]", "100 × function @closure%.lua:%d+"},
  coroutine = {"still alive in c", "_G%.scheduler%.waiting%[%*%]", "200 × thread fetch"},
  history = {"grew until b, and again until c", "_G%.meters%.read%.history",
    "%+1,008%.0 KB in array of number %(1,000 %-> 21,000 %-> 41,000%)"},
  listener = {"still alive in c", "_G%.bus%.listeners%.tick%[%*%]",
    "304%.7 KB in 1,000 × Listener %(10 %-> 1,010 %-> 1,020%)"},
  timeline = {"may grow", "_G%.exports%[%*%]", "30 × {rows, sent, user}"},
  tracked = {"still alive in c", "missed%[%*%]", "1,050 × {at, from, text}"},
}

describe("the verdict", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page

  setup(function() page = browser.start() end)
  teardown(function() page:stop() end)

  local function open(name, files)
    local program = support.read_file(("%s/examples/%s.lua"):format(support.root, name))
    local _, dir = support.lua(program, {name = name .. ".lua"})
    local view = heapview.served(page, dir, files)
    page:open "about:blank"
    view:show "verdict"
    return view
  end

  local function first_box()
    return page:run [[
      const box = document.querySelector(".culprit");
      return [".word", ".name", "p:nth-of-type(3)"].map((part) =>
        box.querySelector(part).textContent);]]
  end

  for name, parts in pairs(boxes) do
    it("names the leak of " .. name .. ".lua first", function()
      local view = open(name, name == "timeline" and {"c"} or {"a", "b", "c"})
      local told = first_box()
      for i, part in ipairs(parts) do assert.matches(part, told[i]) end
      assert.same({}, page:faults())
      view.stop()
    end)
  end

  it("has a box for each cause, not for the keys and the table of one that has", function()
    local view = open("cache", {"a", "b", "c"})
    assert.equal(1, #page:texts ".culprit")
    assert.matches("and 2 more below", page:texts ".culprits" [1])
    view.stop()
  end)

  it("says which code to look at", function()
    local view = open("listener", {"a", "b", "c"})
    assert.matches('^code that names "tick": .*connect @listener%.lua:%d+',
      page:texts ".culprit .code-to-look-at" [1])
    view.stop()
  end)

  it("has all classes right below the first answer, and they lead on", function()
    local view = open("listener", {"a", "b", "c"})
    assert.equal("ladder", page:run [[
      document.querySelector(".answer.diff + .more-answer summary").click();
      return document.querySelector(".answer.diff + .more-answer") && "ladder";]])
    page:await("the classes", "return document.querySelector('.more-answer[open] tbody tr')")
    local row = page:run [[
      return [...document.querySelectorAll(".more-answer[open] tbody tr")].map((one) =>
        [one.textContent, (one.querySelector("a[href*='class=Listener']") || {}).hash])
        .find(([text, hash]) => hash && !text.includes("_G."));]]
    assert.matches("10 %-> 1,010 %-> 1,020", row[1])
    assert.matches("/object%?class=Listener$", row[2])
    view.stop()
  end)

  it("breaks a series only where its table is short of room", function()
    local view = open("listener", {"a", "b", "c"})
    for _, width in ipairs {1600, 1400, 1200, 1000, 800} do
      page:size(width, 900)
      page:await("series in one line", [[
        const cells = [...document.querySelectorAll("td.series")];
        return cells.length >= 3 && cells.every((cell) => {
          const tops = [...cell.querySelectorAll(".step")].map((step) => step.offsetTop);
          return cell.closest(".tight") || tops.every((top) => top === tops[0]);
        });]])
    end
    page:size(1200, 900)
    view.stop()
  end)

  it("folds what is secondary where there is little room, and says what it is", function()
    local view = open("listener", {"a", "b", "c"})
    local folded = "return document.querySelectorAll('details.answer:not([open])').length"
    assert.equal(0, page:run(folded))
    page:size(375, 800)
    view:show "object"
    view:show "verdict"
    assert.equal(3, page:run(folded))
    assert.matches("What may leak: nothing is certain", page:texts "details.leaks summary" [1])
    page:click "details.leaks summary"
    assert.matches("keys are 1 to 1,020", page:texts "details.leaks" [1])
    page:size(1200, 900)
    view.stop()
  end)

  it("has the bytes of each type beside the ledger, which they add up to", function()
    local view = open("listener", {"a", "b", "c"})
    local types = page:run [[
      const row = [...document.querySelectorAll(".info tbody tr")]
        .find((one) => one.textContent.startsWith("reachable"));
      const types = [...document.querySelectorAll(".info .types li")];
      const sum = types.reduce((all, one) => all + Number(one.dataset.bytes), 0);
      return {n: types.length, told: row.cells[2].textContent, sum: heapview.count(sum)};]]
    assert.equal(7, types.n)
    assert.equal(types.told, types.sum)
    view:stop()
  end)

  it("folds a command line of many files", function()
    local files = {}
    for i = 1, 200 do files[i] = ("source/file_%d.lua"):format(i) end
    local _, dir = support.lua('require("heap").snapshot("c")', {args = files})
    local view = heapview.served(page, dir, {"c"})
    page:open "about:blank"
    view:show "verdict"
    local shown, whole = table.unpack(page:run [[
      const line = document.querySelector(".program");
      return [line.innerText, line.textContent];]])
    assert.matches("source/file_1%.lua", shown)
    assert.is_true(#shown < 200, shown)
    assert.matches("source/file_50%.lua", whole)
    assert.matches(" on Lua 5%.4", shown)
    view.stop()
  end)

  it("has blanks between what a row says and its links", function()
    local view = open("tracked", {"a", "b", "c"})
    local rows = page:texts "tr.below"
    local found = false
    for _, text in ipairs(rows) do
      local before = text:match "^(.*)Why it stays"
      found = found or before ~= nil and before:match "%S" ~= nil
      assert.is_nil(text:match "%wWhy it stays", text)
    end
    assert.is_true(found)
    view.stop()
  end)

  it("says which line allocated it, where that was tracked", function()
    local view = open("tracked", {"a", "b", "c"})
    assert.matches("allocated at @tracked%.lua:%d+ in message, from @tracked%.lua:%d+ in say",
      page:run "return document.querySelector('.culprit').textContent")
    view.stop()
  end)

  it("says when a heap grew, where there are marks", function()
    local view = open("timeline", {"c"})
    assert.matches("between 14:00 and 15:00",
      page:run "return document.querySelector('.answer.epochs').textContent")
    local marks = page:run "return heapview.overview.marks"
    local link = page:run "return document.querySelector('.answer.epochs p a').hash"
    local since, until_ = link:match "/timeline%?since=(%d+)&until=(%d+)$"
    local names = {}
    for _, mark in ipairs(marks) do names[("%d"):format(mark.position)] = mark.name end
    assert.same({"14:00", "15:00"}, {names[since], names[until_]})
    view.stop()
  end)

  it("leads to the object, and to what is in it", function()
    local view = open("listener", {"a", "b", "c"})
    local links = page:run [[
      return Array.from(document.querySelectorAll(".culprit a"), (link) => link.hash);]]
    assert.equal(3, #links)
    assert.equal(links[1] .. "&tab=paths", links[2])
    assert.matches("/object%?at=0x%x+$", links[1])
    assert.matches("/treemap%?of=0x%x+$", links[3])
    view.stop()
  end)

  it("adds up to the byte", function()
    local view = open("listener", {"c"})
    local rows = view:rows("what", "objects", "bytes", "share")
    local function number(text) return math.tointeger((text:gsub(",", ""))) or 0 end
    local sum, objects = 0, 0
    for i = 1, #rows - 1 do
      sum, objects = sum + number(rows[i].bytes), objects + number(rows[i].objects)
    end
    assert.equal('collectgarbage("count")', rows[#rows].what)
    assert.equal(sum, number(rows[#rows].bytes))
    assert.equal(objects, number(rows[#rows].objects))
    view.stop()
  end)

  it("tells external strings beside Lua's own figure", function()
    local view = heapview.served(page, support.root .. "/tests/read/fixtures", {"version7"})
    page:open "about:blank"
    view:show "verdict"
    local rows = view:rows("what", "bytes")
    local function number(text) return math.tointeger((text:gsub(",", ""))) end
    local sum = 0
    for i = 1, #rows - 2 do sum = sum + number(rows[i].bytes) end
    local count, external = rows[#rows - 1], rows[#rows]
    assert.same({'collectgarbage("count")', "32,589"}, {count.what, count.bytes})
    assert.same({"external strings", "2,013"}, {external.what, external.bytes})
    assert.equal(32589 + 2013, sum)
    view.stop()
  end)
end)
