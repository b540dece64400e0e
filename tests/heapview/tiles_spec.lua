-- tiles_spec.lua - the pages Treemap and Flame in a real browser, served and written: what is drawn
-- is what the questions answer, area by area and frame by frame; clicks and keys lead down and back
-- up, and what was chosen stands in the address.

local ask_view = require "tests.common.ask_view"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"
local numbers = require "heap.numbers"

describe("treemap and flame", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir

  setup(function()
    dir = support.take_leaking()
    page = browser.start()
    page:size(1200, 900)
  end)

  teardown(function() page:stop() end)

  local function ask(key) return ask_view(dir, key).answer end

  -- What is drawn: of each tile its key, bytes, kind, place and text.
  local function drawn()
    return page:run [[
      return Array.from(document.querySelectorAll("#page g.tile"), (tile) => ({
        key: tile.getAttribute("data-key"), bytes: Number(tile.getAttribute("data-bytes")),
        label: tile.getAttribute("aria-label"), text: tile.textContent,
        level: Number(tile.getAttribute("aria-level")),
        x: Number(tile.firstChild.getAttribute("x")), y: Number(tile.firstChild.getAttribute("y")),
        width: Number(tile.firstChild.getAttribute("width")),
        height: Number(tile.firstChild.getAttribute("height")),
        fill: tile.firstChild.getAttribute("fill")}));]]
  end

  -- Clicks where the tile is drawn, on its head.
  local function click_tile(key)
    local at = page:run([[
      const box = document.querySelector(`#page g.tile[data-key="${arguments[1]}"] > rect`)
        .getBoundingClientRect();
      return [Math.round(box.x) + 6, Math.round(box.y) + 6];]], key)
    page:point({at, at}, true)
  end

  local function focused()
    return page:run "return document.activeElement.getAttribute('data-key')"
  end

  local function row_of(answer, text)
    for _, row in ipairs(answer.rows) do
      if row.text:find(text, 1, true) then return row end
    end
    error("no row " .. text)
  end

  for _, way in ipairs {"served", "written"} do
    describe(way, function()
      local view

      setup(function() view = heapview[way](page, dir, {"a", "b", "c"}) end)
      teardown(function() view:stop() end)
      before_each(function() page:faults() end)
      after_each(function() assert.same({}, page:faults()) end)

      it("draws areas that are as large as what they retain", function()
        for _, by in ipairs {"place", "class", "object", "module"} do
          view:show("treemap?by=" .. by)
          local answer = ask(by == "object" and "treemap" or "treemap?by=" .. by)
          local by_key = {}
          for _, row in ipairs(answer.rows) do if row.key then by_key[row.key] = row end end
          local tiles, n = drawn(), 0
          for _, tile in ipairs(tiles) do
            local row = by_key[tile.key]
            if row then
              n = n + 1
              assert.equal(row.retained_bytes, tile.bytes)
              assert.matches(numbers.size(math.tointeger(row.retained_bytes)), tile.label, 1, true)
              assert.matches(row.text, tile.label, 1, true)
              if tile.level == 2 then -- less the edges
                local part = tile.width * tile.height / (tiles[1].width * tiles[1].height)
                assert.near(row.retained_bytes / answer.whole_bytes, part, 0.06, row.text)
              end
            end
          end
          assert.is_true(n > 10, by)
          assert.matches("root", tiles[1].text)
        end
      end)

      it("names types by a letter and a pattern, ages and changes by figures", function()
        view:show "treemap"
        assert.matches("^T ", drawn()[2].text)
        assert.matches("^url", drawn()[2].fill)
        local types = page:texts ".legend li"
        for i, text in ipairs(types) do types[i] = text:match "%l+$" end
        assert.matches("table string closure ", table.concat(types, " "))
        view:show "treemap?colour=age"
        assert.matches("^[1-5] ", drawn()[2].text)
        view:show "treemap?colour=change"
        assert.matches("^%++ ", drawn()[2].text)
        assert.equal(4, #page:texts ".legend li")
      end)

      it("zooms by a click, back by Escape, and the address says where", function()
        view:show "treemap?by=class"
        local row = row_of(ask "treemap?by=class", "globals (_G)")
        click_tile(row.key)
        view:await()
        assert.equal("treemap?by=class&of=" .. row.key, view:state())
        assert.matches("globals", drawn()[1].label)
        assert.equal(row.retained_bytes, drawn()[1].bytes)
        assert.same({"root", "globals (_G)"}, page:texts ".crumbs li")
        for _, focus in ipairs {"document.querySelector('#page g.tile').focus()",
                                "document.activeElement.blur()"} do
          view:show("treemap?by=class&of=" .. row.key)
          page:run(focus)
          page:press "Escape"
          view:await()
          assert.equal("treemap?by=class", view:state())
          assert.equal("root", drawn()[1].key)
        end
      end)

      it("is walked by arrows, and Enter zooms in", function()
        view:show "treemap?by=place"
        page:run "document.querySelector('#page g.tile').focus()"
        local first = focused()
        assert.equal("root", first)
        local seen, n = {}, 0
        for _, key in ipairs {"Right", "Right", "Down", "Left", "Up"} do
          page:press(key)
          local label = page:run "return document.activeElement.getAttribute('aria-label')"
          if not seen[label] then n = n + 1 end
          seen[label] = true
          assert.equal(label:match "^[^,]*", page:texts ".details .bold" [1]:match "^[^,]*")
        end
        assert.is_true(n > 1)
        page:run "document.querySelectorAll('#page g.tile')[1].focus()"
        local key = focused()
        page:press "Enter"
        view:await()
        assert.equal("treemap?by=place&of=" .. key, view:state())
        assert.equal(key, focused())
      end)

      it("leads to the object that is chosen", function()
        view:show "treemap?by=object"
        page:run "document.querySelectorAll('#page g.tile')[1].focus()"
        local key = focused()
        assert.equal("Open " .. key, page:texts ".details .actions a" [2])
        assert.matches("/object%?at=" .. key, page:run
          "return document.querySelectorAll('.details .actions a')[1].href")
      end)

      it("says the same as a table", function()
        view:show "treemap?by=place"
        page:click ".as-table summary"
        page:await("the table", "return document.querySelector('.as-table table')")
        local answer, rows = ask "treemap?by=place", view:rows("retained", "share", "keeps alive")
        assert.equal(#answer.rows, #rows)
        for i, row in ipairs(answer.rows) do
          assert.equal(numbers.size(math.tointeger(row.retained_bytes)), rows[i].retained)
          assert.matches(row.text, rows[i]["keeps alive"], 1, true)
        end
      end)

      it("draws frames that are as wide as what hangs there", function()
        view:show "flame"
        local answer, by_key = ask "flame", {}
        for _, row in ipairs(answer.rows) do if row.key then by_key[row.key] = row end end
        local frames = drawn()
        for _, frame in ipairs(frames) do
          local row = by_key[frame.key]
          if row then
            assert.equal(row.retained_bytes, frame.bytes)
            assert.equal(row.depth + 1, frame.level)
            local part = frame.width / frames[1].width
            assert.near(row.retained_bytes / answer.whole_bytes, part, 0.01)
          end
        end
        assert.is_true(#frames > 10)
      end)

      it("sums up what is searched for, no byte twice", function()
        view:show "flame?search=listener"
        local answer, sum, depth = ask "flame", 0, nil
        for _, row in ipairs(answer.rows) do
          if depth and row.depth <= depth then depth = nil end
          if not depth and row.key and row.text:lower():find("listener", 1, true) then
            sum, depth = sum + row.retained_bytes, row.depth
          end
        end
        assert.is_true(sum > 0)
        assert.matches((", %s, .*%% of the heap"):format(numbers.size(math.tointeger(sum))
          :gsub("%.", "%%.")), page:texts ".toolbar output" [1])
        assert.is_true(page:run "return document.querySelectorAll('g.frame.found').length" > 0)
        page:run "document.querySelector('.flame-search').value = ''"
        page:type(".flame-search", "Listener")
        assert.matches("frame", page:texts ".toolbar output" [1])
      end)

      it("is red where there is more than before", function()
        view:show "flame?against=0"
        local answer = ask "flame?against=0"
        local row = row_of(answer, "_G: ")
        for _, frame in ipairs(drawn()) do
          if frame.key == row.key then
            assert.matches("%+%+%+ _G", frame.text)
            assert.matches(numbers.size(math.tointeger(row.retained_bytes - row.before_bytes)),
              frame.label, 1, true)
          end
        end
        assert.same({"a", "b"}, {table.unpack(page:run [[
          return Array.from(document.querySelectorAll("#page .control option"),
            (option) => option.textContent).slice(1)]])})
      end)

      it("is text that adds up", function()
        view:show "flame"
        local text = page:run [[
          let text = "";
          const save = heapview.save;
          heapview.save = (it) => { text = it; };
          document.querySelector(".save-folded").click();
          heapview.save = save;
          return text;]]
        local sum = 0
        for line in text:gmatch "[^\n]+" do
          local bytes = line:match "^root.* (%d+)$"
          assert.is_string(bytes, line)
          sum = sum + math.tointeger(bytes)
        end
        assert.equal(math.tointeger(ask "flame".whole_bytes), sum)
        assert.matches("\nroot;_G;%.[%w]+;", text)
      end)
    end)
  end

  it("tells what a report carries of a part, and what it does not", function()
    local view = heapview.written(page, dir, {"a", "b", "c"})
    local row = row_of(ask "treemap?by=class", "globals (_G)")
    view:show("treemap?by=class&of=" .. row.key)
    assert.equal(row.retained_bytes, drawn()[1].bytes)
    assert.is_true(#drawn() > 3)
    assert.matches("carries so much", page:texts ".note" [1])
    view:show "treemap?by=class&of=0123456789abcdef"
    assert.matches("does not carry", page:texts ".problem" [1])
    view:stop()
  end)

  it("can be read at 375 and at 1600 pixels, in the dark and on paper", function()
    local view = heapview.served(page, dir, {"a", "b", "c"})
    for _, width in ipairs {375, 1600} do
      page:size(width, 900)
      for _, scheme in ipairs {"light", "dark"} do
        page:prefer(scheme)
        for _, name in ipairs {"treemap", "flame?against=0"} do
          view:show(name)
          assert.equal(width, math.tointeger(page:run "return document.body.scrollWidth"))
          local texts = page:run [[
            return Array.from(document.querySelectorAll("#page g.tile"), (tile) => {
              const box = tile.querySelector("rect").getBoundingClientRect();
              return Array.from(tile.querySelectorAll("text")).every((text) =>
                text.getBoundingClientRect().right <= box.right + 1);
            });]]
          for i, fits in ipairs(texts) do assert.is_true(fits, name .. i) end
        end
      end
    end
    page:prefer("light", "screen")
    page:size(1200, 900)
    view:stop()
  end)
end)
