-- allocations_page_spec.lua - the page of a profile in a real browser, served and written: its
-- sentence and its tables are heapprof's, the stacks add up, the peak is marked, and each site of
-- it leads to the objects that a snapshot has of it.

local cjson = require "cjson"
local ask_view = require "tests.common.ask_view"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local numbers = require "heap.numbers"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

describe("the allocations page", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir

  setup(function()
    local files = {}
    for i = 1, 200 do files[i] = ("source/file_%d.lua"):format(i) end
    dir = select(2, support.lua([[
      local heap = require "heap"
      heap.track {file = "run.prof", stacks = true, time = true}
      kept = {}
      local function row(i) return {i, name = "<b>" .. i} end
      local function fill(n) for i = 1, n do kept[#kept + 1] = row(i) end end
      for i = 1, 20 do
        fill(100)
        for k = 1, 50 do local _ = ("x"):rep(k + i) end
      end
      heap.snapshot("c")
      heap.untrack()
    ]], {args = files}))
    page = browser.start()
    page:size(1200, 900)
  end)

  teardown(function() page:stop() end)

  local function heapprof(...)
    return cjson.decode(support.answer({"heapprof", "--json", "run.prof", ...}, dir))
  end

  local function section(name)
    return page:run([[
      return document.querySelector(`[data-section=${arguments[1]}]`).textContent]], name)
  end

  for _, way in ipairs {"served", "written"} do
    describe(way, function()
      local view

      setup(function() view = heapview[way](page, dir, {"run.prof", "c"}) end)

      teardown(function() view:stop() end)

      before_each(function()
        view:show "allocations"
        page:faults()
      end)

      it("folds a command line of many files", function()
        local shown, whole = table.unpack(page:run [[
          const line = document.querySelector("[data-section=profile] .folded");
          return [line.innerText, line.textContent];]])
        assert.matches("source/file_1%.lua", shown)
        assert.is_true(#shown < 400, shown)
        assert.matches("source/file_100%.lua.*tracked from", whole)
      end)

      after_each(function() assert.same({}, page:faults()) end)

      it("says first who allocates most, in heapprof's words", function()
        local first = support.answer({"heapprof", "run.prof"}, dir):match "^[^\n]+"
        assert.equal(first, page:texts "[data-section=findings] p" [1])
        assert.matches("What could be allocated less", section "advice", 1, true)
      end)

      it("has heapprof's rows, of what is chosen", function()
        for state, options in pairs {
          ["allocations"] = {}, ["allocations?sort=live"] = {"--live"},
          ["allocations?by=type"] = {"--by", "type"}, ["allocations?sort=peak"] = {"--peak"},
        } do
          view:show(state)
          local rows = view:rows("share", "blocks")
          local wanted = heapprof(table.unpack(options)).allocations
          assert.equal(math.min(20, #wanted), #rows, state)
          local heading = ({["--live"] = "live", ["--peak"] = "at peak"})[options[1]]
          for i, row in ipairs(rows) do
            assert.equal(numbers.size(math.tointeger(wanted[i].ordered_bytes)),
                         row[heading or "allocated"], state)
          end
        end
      end)

      it("draws the stacks, each as wide as what is below it", function()
        local profile = heapprof().profile
        local sums = page:run [[
          const frames = [...document.querySelectorAll("[data-section=stacks] g.frame")]
            .map((frame) => [Number(frame.getAttribute("aria-level")),
                             Number(frame.getAttribute("data-bytes"))]);
          const sum = (level) => frames.filter((frame) => frame[0] === level)
            .reduce((all, frame) => all + frame[1], 0);
          return {first: sum(1), second: sum(2), frames: frames.length};]]
        assert.equal(profile.allocated_bytes, sums.first)
        assert.is_true(sums.second <= sums.first and sums.second > 0 and sums.frames > 3)
      end)

      it("draws them with what allocates on top, whoever called it", function()
        view:show "allocations?stacks=leaf"
        local first = heapprof().allocations[1]
        local frame = page:texts "[data-section=stacks] g.frame[aria-level='2']" [1]
        assert.matches(first.site, frame, 1, true)
        assert.matches(numbers.size(math.tointeger(first.allocated_bytes)), frame, 1, true)
      end)

      it("marks the peak in memory over time", function()
        local plot = ask_view(dir, "memory", "run.prof").answer
        assert.equal(math.tointeger(plot.peak_bytes), math.tointeger(page:run [[
          return Number(document.querySelector("svg.memory").dataset.peak)]]))
        assert.matches("peak: " .. numbers.size(math.tointeger(plot.peak_bytes)),
                       section "memory", 1, true)
        local told = page:texts "[data-section=memory] p" [1]:match "after ([^:]+):"
        assert.equal(told, page:texts "svg.memory .peak-label" [1]:match "after (.+)$")
      end)

      it("has round numbers of bytes at the side", function()
        local ticks = page:texts "svg.memory .scale text"
        assert.is_true(#ticks > 2)
        assert.equal("0 B", ticks[1])
        local step = page:run [[
          return d3.selectAll("svg.memory .scale g").data()[1];]] // 1 | 0
        assert.equal(0, step & step - 1)
      end)

      it("draws Memory Blueprint's boxes", function()
        local text = section "boxes"
        for _, name in ipairs {"main chunk", "fill", "row", "string.rep [C]"} do
          assert.matches(name, text, 1, true)
        end
      end)
    end)
  end

  -- all (100) ─ a ┬ b (20 itself) ─ x 40        x (70) ┬ b 40 ─ a 40
  --              ├ c ─ x 30                             └ c 30 ─ a 30
  --              └ 3 smaller 10                b (20) ─ a 20;  smaller stacks 10
  it("turns stacks over, with the same sums", function()
    local view = heapview.served(page, dir, {"run.prof", "c"})
    view:show "allocations"
    local frames = page:run [[
      const row = (site, depth, total_bytes, self_bytes, rest) => ({site, depth, total_bytes,
        self_bytes, stack: 1, maker: "table", rest: rest === true});
      const box = document.createElement("div");
      document.getElementById("page").append(box);
      heapview.drawStacks(box, {whole_bytes: 100, rows: [row("a", 0, 100, 0), row("b", 1, 60, 20),
        row("x", 2, 40, 40), row("c", 1, 30, 0), row("x", 2, 30, 30),
        row("3 smaller", 1, 10, 0, true)]}, "leaf", () => null);
      const all = [...box.querySelectorAll("g.frame")].map((frame) => ["aria-level", "data-bytes"]
        .map((name) => frame.getAttribute(name)).join(" ") + " " +
        frame.getAttribute("aria-label").split(",")[0]);
      box.remove();
      return all.sort();]]
    assert.same({"1 100 all stacks", "2 10 smaller stacks", "2 20 b", "2 70 x", "3 20 a", "3 30 c",
                 "3 40 b", "4 30 a", "4 40 a"}, frames)
    view:stop()
  end)

  describe("served", function()
    local view

    setup(function() view = heapview.served(page, dir, {"run.prof", "c"}) end)

    teardown(function() view:stop() end)

    it("shows what was allocated in a part of the time", function()
      local p = profiles.new {program = "lua5.4 x.lua"}
      p:stack(nil, {maker = "unattributed"})
      for line = 1, 10 do
        p:new("table", p:stack(nil, {source = "@x.lua", name = "f", maker = "table", line = line,
                                     first_line = 1}), 100 * line)
        p:tick(100000000)
      end
      p:write(dir .. "/forged.prof")
      local forged = heapview.served(page, dir, {"forged.prof"})
      forged:show "allocations"
      page:run [[
        const form = document.getElementById("part");
        form.elements.until.value = 500;
        form.requestSubmit();]]
      forged:await()
      assert.equal("allocations?made_until=500000000", forged:state())
      local wanted = cjson.decode(support.answer({"heapprof", "--json", "--until", "500ms",
                                                  "forged.prof"}, dir)).allocations
      assert.is_true(#wanted > 0 and #wanted < 10)
      for i, row in ipairs(forged:rows("share", "blocks")) do
        assert.equal(numbers.size(math.tointeger(wanted[i].allocated_bytes)), row.allocated)
      end
      assert.is_nil(page:run "return document.querySelector('[data-section=advice]')")
      page:click "#page .note a"
      forged:await()
      assert.equal("allocations", forged:state())
      assert.equal(10, #forged:rows("share", "blocks"))
      forged:stop()
    end)

    it("leads from a site to its objects in the snapshot", function()
      view:show "allocations"
      local rows = view:rows("in the snapshot", "site")
      local found
      for _, row in ipairs(rows) do
        if row.site:find(" in row$") and row.by == "table" then found = row end
      end
      assert.equal("2,000", found["in the snapshot"])
      page:run [[
        for (const row of document.querySelectorAll("[data-section=table] tbody tr")) {
          const cells = [...row.cells].map((cell) => cell.textContent);
          if (cells.includes("table") && / in row$/.test(row.textContent)) {
            row.querySelector("a").click();
            break;
          }
        }]]
      view:await()
      assert.matches("2,000 objects that were allocated at .* in row are there: ",
                     section "site")
      assert.equal(50, #view:rows("retained", "address", "held by"))
    end)
  end)
end)
