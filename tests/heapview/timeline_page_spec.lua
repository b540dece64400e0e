-- timeline_page_spec.lua - the page of the timeline in a real browser, served and written: its bins
-- and layers are those of the answer, an interval is brushed by the pointer, by keys and by marks,
-- and then the pages show what was allocated in it; and the chart of several snapshots adds up.

local ask_view = require "tests.common.ask_view"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"

describe("the timeline's page", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir, view

  setup(function()
    dir = support.take_leaking()
    page = browser.start()
    page:size(1200, 900)
  end)

  teardown(function() page:stop() end)

  local function ask(key) return ask_view(dir, key).answer end

  -- The positions that the handles stand at.
  local function ends()
    return page:run [[
      return ["since", "until"].map((key) => Number(document.querySelector(
        `[data-key=${key}]`).getAttribute("aria-valuenow")));]]
  end

  -- Where something of the chart is seen: its left, top, width and height.
  local function place_of(selector)
    return page:run([[
      const box = document.querySelector(arguments[1]).getBoundingClientRect();
      return {left: box.left, top: box.top, width: box.width, height: box.height};]], selector)
  end

  local function focus(key)
    page:run([[document.querySelector(`[data-key=${arguments[1]}]`).focus()]], key)
  end

  local function open_tables()
    page:run [[for (const one of document.querySelectorAll("details.as-table")) one.open = true;]]
    page:await("tables", [[return document.querySelector("details.as-table table") !== null]])
  end

  for _, way in ipairs {"served", "written"} do
    describe(way, function()
      setup(function() view = heapview[way](page, dir, {"a", "b", "c"}) end)

      teardown(function() view:stop() end)

      before_each(function()
        view:show "timeline"
        page:faults()
      end)

      after_each(function() assert.same({}, page:faults()) end)

      it("has the layers of the answer, each with a letter, and its bytes as a table", function()
        local answer = ask "timeline"
        local labels = page:texts ".layers .label"
        for i, layer in ipairs(answer.layers) do assert.equal(layer.label, labels[i]) end
        assert.equal(#answer.layers, #labels)
        assert.equal(#labels, #page:texts ".timeline path.layer")
        open_tables()
        local rows = view:rows("objects allocated before", "bytes", "marks")
        local sum = page:run [[
          return [...document.querySelectorAll("details.as-table")][0].querySelectorAll(
            "tbody tr").length;]]
        assert.equal(#rows, sum)
        local marks = {}
        for _, row in ipairs(rows) do marks[#marks + 1] = row.marks ~= "" and row.marks or nil end
        assert.equal("a", marks[1]:match "^%w+")
        assert.matches("middle", table.concat(marks, ", "))
      end)

      it("tells what a bin has, by arrow keys and under the pointer", function()
        local answer = ask "timeline"
        focus "bins"
        page:press("Home", "Right", "Right")
        local text = page:run [[
          return document.querySelector("[data-key=bins]").getAttribute("aria-valuetext")]]
        assert.matches(("^objects %d to %d: "):format(answer.bins[3], answer.bins[4]), text)
        assert.matches("; %u [^;]+: [%d.,]+ %u?B in ", text)
        page:press "Up"
        local chosen = page:run [[
          return document.querySelector("path.layer.chosen").dataset.letter]]
        assert.matches("^[%u+]$", chosen)
        local box = place_of "[data-key=bins]"
        page:point {{box.left + box.width - 14, box.top + box.height - 3}}
        local last = answer.bins[#answer.bins]
        assert.matches((" to %d, after "):format(last), page:texts(".timeline .tooltip")[1])
      end)

      it("hides a layer, and the address has it", function()
        local n = page:run "return document.querySelectorAll('path.layer').length"
        page:click "button[data-letter=B]"
        view:await()
        assert.equal("timeline?off=B", view:state())
        assert.equal(n - 1, page:run "return document.querySelectorAll('path.layer').length")
        page:click "button[data-letter=B]"
        view:await()
        assert.equal("timeline", view:state())
      end)

      it("shows the snapshots side by side, with verdicts, and each adds up", function()
        open_tables()
        local answer = ask "series"
        local rows = view:rows("verdict", "a", "b", "c", "change", "place")
        for i, row in ipairs(answer.paths) do
          assert.equal(row.verdict, rows[i].verdict)
          assert.matches(row.held_by, rows[i].place, 1, true)
        end
        assert.equal("all that is reachable", rows[#rows].place)
        assert.equal("grows steadily", rows[1].verdict)
        assert.is_true(#page:texts ".series path.layer" >= #answer.paths)
      end)

      it("is as wide as there is room", function()
        for _, width in ipairs {375, 1600, 1200} do
          page:size(width, 900)
          page:await("another width", [[
            const chart = document.querySelector(".timeline svg");
            return Math.abs(chart.getBoundingClientRect().width -
              chart.parentElement.clientWidth) < 2;]])
          assert.is_true(page:run "return document.documentElement.scrollWidth <= innerWidth")
        end
      end)
    end)
  end

  describe("written", function()
    setup(function() view = heapview.written(page, dir, {"a", "b", "c"}) end)

    teardown(function() view:stop() end)

    after_each(function() assert.same({}, page:faults()) end)

    it("is brushed from mark to mark, and has what was allocated there", function()
      view:show "timeline"
      page:faults()
      local box = place_of "[data-key=bins]"
      page:point({{box.left + 30, box.top + 50}, {box.left + 90, box.top + 60},
        {box.left + box.width * 0.9, box.top + 60}}, true)
      page:await("the interval", "return location.hash.includes('until=')")
      view:await()
      local names = {}
      for _, mark in ipairs(ask "overview".marks) do names[mark.position] = mark.name end
      local since, until_ = table.unpack(ends())
      assert.is_true(since == 0 and names[until_] ~= nil)
      assert.equal(names[until_], ("a b middle"):match(names[until_]))
      local answer = ask(("interval?until=%d"):format(until_))
      assert.matches(("^%d objects allocated "):format(answer.objects),
        page:texts("#interval .told > p")[1])
      local part = ask(("timeline?until=%d"):format(until_))
      local sum = page:await("the sum", [[
        return document.querySelector("#filter .sum").textContent;]])
      assert.matches(("^%d objects, "):format(part.objects), sum)
    end)
  end)

  it("says how many bars are cut where no jag is", function()
    local _, apart = support.lua [[
      local heap = require "heap"
      heap.track()
      kept = {}
      for i = 1, 1400 do
        kept[i] = i % 200 == 100 and ("x"):rep(100000) .. i or {i}
      end
      heap.snapshot "c"
    ]]
    local cut = heapview.served(page, apart, {"c"})
    page:open "about:blank"
    cut:show "timeline"
    local told = page:run [[
      const text = document.querySelector(".cuts text");
      const box = text.getBoundingClientRect();
      const chart = text.closest("svg").getBoundingClientRect();
      const jags = [...document.querySelectorAll(".cuts path")];
      const isFree = jags.every((jag) => {
        const other = jag.getBoundingClientRect();
        return other.right < box.left || other.left > box.right || other.bottom < box.top ||
          other.top > box.bottom;
      });
      return {text: text.textContent, jags: jags.length, isFree,
        isInside: box.left >= chart.left && box.right <= chart.right};]]
    assert.equal(("%d bars are cut, up to 9"):format(told.jags), told.text:match "^.-to 9")
    assert.is_true(told.isFree and told.isInside)
    cut:stop()
  end)

  describe("served", function()
    setup(function() view = heapview.served(page, dir, {"a", "b", "c"}) end)

    teardown(function() view:stop() end)

    before_each(function()
      view:show "timeline"
      page:faults()
    end)

    after_each(function() assert.same({}, page:faults()) end)

    it("is brushed by the pointer", function()
      local answer = ask "timeline"
      local box = place_of "[data-key=bins]"
      page:point({{box.left + box.width * 0.5, box.top + 50},
        {box.left + box.width * 0.6, box.top + 60}, {box.left + box.width * 0.8, box.top + 60}},
        true)
      page:await("the interval", "return location.hash.includes('since=')")
      view:await()
      local since, until_ = table.unpack(ends())
      assert.equal(("timeline?since=%d&until=%d"):format(since, until_), view:state())
      local n = answer.positions
      assert.is_true(math.abs(since / n - 0.5) < 0.02 and math.abs(until_ / n - 0.8) < 0.02)
      local part = ask(("timeline?since=%d&until=%d"):format(since, until_))
      local sum = page:await("the sum", [[
        return document.querySelector("#filter .sum").textContent;]])
      assert.matches(("^%d objects, [%%d.]+ KB%%. $"):format(part.objects), sum)
    end)

    it("is not brushed in another snapshot, whose positions are others", function()
      view:show "timeline?since=310"
      page:faults()
      page:run [[
        const select = document.querySelector("#snapshot select");
        select.value = "1";
        select.dispatchEvent(new Event("change"));]]
      page:await("the other snapshot", "return location.hash.includes('in=1')")
      view:await()
      assert.equal("timeline?in=1", view:state())
    end)

    it("is brushed by keys, from mark to mark, and tells what heapdiff --since tells", function()
      focus "since"
      page:press("End", "Shift+Left", "Enter")
      page:await("the interval", "return location.hash.includes('since=')")
      view:await()
      local said = page:texts("#brushed")[1]
      assert.matches("^Brushed: from object [%d,]+, b to object [%d,]+, c$", said)
      local expected = support.answer({"heapdiff", "--since", "middle", "c"}, dir)
      assert.equal("since", page:run "return document.activeElement.dataset.key")
      focus "since"
      page:press("Shift+Left", "Enter")
      page:await("the interval", "return document.querySelector('#brushed').textContent" ..
        ".includes('middle')")
      view:await()
      local told = page:texts "#interval .told > p"
      assert.equal(expected:match "[^\n]+", (told[1]:gsub("%s+", " ")))
    end)

    it("is brushed by marks, and shown closely", function()
      page:run [[
        const from = document.querySelector("[data-key=from]");
        from.value = [...from.options].find((one) => one.text === "b").value;
        from.dispatchEvent(new Event("change"));]]
      page:await("the interval", "return location.hash.includes('since=')")
      view:await()
      local since = ends()[1]
      page:click "[data-key=zoom]"
      page:await("the zoom", "return location.hash.includes('left=')")
      view:await()
      local answer = ask(("timeline?since=%d"):format(since))
      assert.equal(#answer.layers, #page:texts ".layers .label")
      assert.same({since, answer.positions}, ends())
      page:click "#filter a"
      view:await()
      assert.is_nil(view:state():match "since")
    end)
  end)
end)
