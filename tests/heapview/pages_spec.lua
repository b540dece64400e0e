-- pages_spec.lua - heapview's pages in a real browser, served and written: what they show is what
-- the commands say of the same files, and all of it can be reached by keys, by links and by
-- addresses.

local cjson = require "cjson"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"
local numbers = require "heap.numbers"

local size, count = numbers.size, numbers.count

local function integer(number)
  return math.tointeger(number) or number
end

describe("heapview's pages", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir

  setup(function()
    dir = support.take_leaking()
    support.lua([[
      local heap = require "heap"
      heap.track{file = "run.prof", stacks = true}
      local kept = {}
      for i = 1, 100 do kept[i % 50 + 1] = {("x"):rep(i)} end
      heap.untrack()
    ]], {cwd = dir, name = "tracked.lua"})
    page = browser.start()
  end)

  teardown(function() page:stop() end)

  local function answer(words)
    return cjson.decode(support.answer(words .. " --json", dir))
  end

  local function each_page(view)
    return view.page:run "return heapview.pages().map(function (page) { return page.name; })"
  end

  for _, way in ipairs {"served", "written"} do
    describe(way, function()
      local view

      setup(function()
        view = heapview[way](page, dir, {"a", "b", "c", "run.prof"})
        view:show "verdict"
      end)

      teardown(function() view:stop() end)

      before_each(function()
        page:size(1200, 900)
        page:faults()
      end)

      after_each(function() assert.same({}, page:faults()) end)

      it("open with the verdict, which is heapdiff's", function()
        view:show ""
        local diff = answer "heapdiff a b c"
        assert.matches(("%s objects allocated between a and b are still alive in c: %s"):format(
          count(integer(diff.objects)), size(integer(diff.retained_bytes))),
          page:texts "#page" [1], 1, true)
        local rows = view:rows("retained", "in each snapshot", "held by")
        assert.equal(integer(diff.total_groups), #rows)
        for i, group in ipairs(diff.groups) do
          assert.equal(size(integer(group.retained_bytes)), rows[i].retained)
          assert.equal(count(integer(group.objects)), rows[i].objects)
          assert.equal(group.example, rows[i].example)
          assert.equal(group.class, rows[i].class)
          assert.equal(group.held_by, rows[i]["held by"])
        end
        rows = view:rows("grew", "path")
        assert.equal(integer(diff.total_grown), #rows)
        for i, grown in ipairs(diff.grown) do
          assert.equal(grown.address, rows[i].example)
          assert.equal(grown.held_by, rows[i].path)
        end
      end)

      it("have no line that is wider than the window, from 375 to 1600 pixels", function()
        for _, width in ipairs {375, 700, 1600} do
          page:size(width, 800)
          for _, name in ipairs(each_page(view)) do
            view:show(name)
            local found = page:run "return document.documentElement.scrollWidth"
            assert.equal(width, integer(found), name)
          end
        end
      end)

      it("have nothing that the Tab key does not reach, and show where it is", function()
        for _, name in ipairs(each_page(view)) do
          view:show(name)
          local n = page:run [[
            // Tabs begin at the start of the page, wherever they ended before.
            const start = document.createElement("span");
            start.tabIndex = -1;
            document.body.prepend(start);
            start.focus();
            window.reached = new Set();
            window.unseen = [];
            addEventListener("focusin", function (event) {
              const style = getComputedStyle(event.target);
              reached.add(event.target);
              if (style.outlineStyle === "none" && style.boxShadow === "none") {
                unseen.push(event.target.outerHTML);
              }
            });
            return document.querySelectorAll("a, button, input, select, textarea, summary").length;
          ]]
          local tabs = {}
          for i = 1, integer(n) + 3 do tabs[i] = "Tab" end
          page:press(table.unpack(tabs))
          -- Of a list in which arrows move one has a stop, as has the chosen one of its likes.
          local missed = page:run [[
            const selector = "a[href], button, input, select, textarea, summary, [tabindex='0']";
            return Array.from(document.querySelectorAll(selector), function (element) {
              const is_there = element.checkVisibility({visibilityProperty: true}) &&
                !element.disabled && element.tabIndex >= 0 && !reached.has(element) &&
                !(element.type === "radio" && !element.checked);
              return is_there ? element.outerHTML : null;
            }).filter(Boolean);]]
          assert.same({}, missed, name)
          assert.same({}, page:run "return unseen", name)
        end
      end)

      it("are dark or light as is liked, and printed in dark on white", function()
        -- Of the text, from 0 to 255.
        local function lightness()
          local colour = page:run "return getComputedStyle(document.body).color"
          local r, g, b = colour:match "(%d+), (%d+), (%d+)"
          return (r + g + b) / 3
        end
        for _, name in ipairs(each_page(view)) do
          page:prefer "dark"
          view:show(name)
          assert.is_true(lightness() > 180, name)
          page:prefer("dark", "print")
          assert.is_true(lightness() < 60, name)
          assert.is_false(page:run "return document.getElementById('pages').checkVisibility()")
        end
        local shade = "return getComputedStyle(document.body).getPropertyValue('--type-table')"
        local on_paper = page:run(shade)
        page:prefer "light"
        assert.equal(page:run(shade), on_paper)
      end)

      it("are found by the keys of their numbers, and by going back and forward", function()
        view:show "verdict"
        local pages = each_page(view)
        for i, name in ipairs(pages) do
          page:press(tostring(i))
          view:await()
          assert.equal(name, view:state():match "^%w+")
        end
        for i = #pages - 1, 1, -1 do
          page:back()
          view:await()
          assert.equal(pages[i], view:state():match "^%w+")
        end
        for i = 2, #pages do
          page:forward()
          view:await()
          assert.equal(pages[i], view:state():match "^%w+")
        end
      end)
    end)
  end
end)
