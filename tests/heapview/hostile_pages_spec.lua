-- hostile_pages_spec.lua - names that try to get out of the text on heapview's pages: as markup, as
-- a script, as an address, as a request. A heap with 400 of them (tests/common/hostile.lua) and a
-- profile with them pass through every page, served and written: none opens a dialog, writes an
-- error to the console or asks for anything elsewhere, and what is shown is text that harms nobody.

local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local hostile = require "tests.common.hostile"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

local seed = 1
local names = hostile.names(seed, 300)

-- The texts of the page, those in attributes as well, and what must not be in it.
local look = [==[
  const tags = new Set(("HTML HEAD META TITLE LINK STYLE BODY SCRIPT NOSCRIPT HEADER FOOTER NAV " +
    "MAIN SECTION ASIDE ARTICLE H1 H2 H3 H4 DIV SPAN P A B I EM STRONG CODE PRE KBD SMALL BR " +
    "WBR UL OL LI DL DT DD TABLE CAPTION THEAD TBODY TFOOT TR TH TD FORM FIELDSET LEGEND LABEL " +
    "INPUT BUTTON SELECT OPTION OPTGROUP TEXTAREA DATALIST OUTPUT PROGRESS METER DIALOG " +
    "DETAILS SUMMARY FIGURE FIGCAPTION CANVAS svg g path rect line text tspan polygon polyline " +
    "ellipse circle title desc defs pattern clipPath use").split(" "));
  const texts = [], wrong = [];
  const add = function (text, element) {
    if (!text.isWellFormed()) wrong.push("half a character in " + element.outerHTML.toWellFormed());
    texts.push(text.toWellFormed());
  };
  for (const element of document.querySelectorAll("*")) {
    if (!tags.has(element.tagName)) wrong.push("<" + element.tagName + ">");
    for (const {name, value} of element.attributes) {
      const is_script = /^on|^src/.test(name) ||
        name === "style" && value !== "" && element.style.length === 0; // of markup
      if (is_script) wrong.push(name + "=" + value.toWellFormed());
      if (/href$/.test(name) && !/^#|^data:,$/.test(value)) {
        wrong.push(name + "=" + value.toWellFormed());
      }
      add(value, element);
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!/^(SCRIPT|STYLE)$/.test(node.parentNode.tagName)) add(node.data, node.parentNode);
  }
  return {texts: texts.join("\n"), wrong: wrong};
]==]

describe(("hostile names in heapview's pages (seed %d)"):format(seed), function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir
  local n_cases = 0

  setup(function()
    local args = {}
    for i = 1, 40 do args[i] = names[i]:gsub("%z.*", "") end
    dir = select(2, support.lua(hostile.heap(seed, 300), {args = args}))
    profiles.of_names(names):write(dir .. "/run.prof")
    page = browser.start()
  end)

  teardown(function()
    page:stop()
    io.write(("\nfaults: hostile names in pages, in a browser: %d cases, %d survived\n")
      :format(n_cases, n_cases))
  end)

  -- What is shown, in which nothing does harm.
  local function check(what)
    local seen = page:run(look)
    assert.same({}, seen.wrong, what)
    assert.is_nil(hostile.faults(seen.texts), what)
    assert.same({}, page:faults(), what)
    n_cases = n_cases + 1
    return seen.texts
  end

  for _, way in ipairs {"served", "written"} do
    describe(way, function()
      local view

      setup(function()
        view = heapview[way](page, dir, {"a", "b", "c", "run.prof"})
        page:faults()
      end)

      teardown(function() view:stop() end)

      it("are text on every page", function()
        view:show ""
        for _, name in ipairs(page:run "return heapview.pages().map((page) => page.name)") do
          view:show(name)
          check(name)
        end
      end)

      it("are text under the pointer", function()
        for _, name in ipairs(page:run "return heapview.pages().map((page) => page.name)") do
          view:show(name)
          local box = page:run [[
            const picture = document.querySelector("#page svg, #page canvas");
            if (!picture) return null;
            picture.scrollIntoView();
            const {left, top, width, height} = picture.getBoundingClientRect();
            return [left, top, width, Math.min(height, innerHeight - top)];]]
          for i = 1, box and 24 or 0 do
            local x, y = i * 7 % 25 / 25, i / 25
            page:point {{box[1] + box[3] * x, box[2] + box[4] * y}}
            check(name)
          end
        end
      end)

      -- From page to page, as many states as there is time for, not those of one page only.
      it("are text wherever a link leads", function()
        local visited, n, queue = {}, 0, {""}
        local most = support.sanitized and 20 or 150
        while #queue > 0 and n < most do
          local state = table.remove(queue, 1)
          if not visited[state] then
            visited[state], n = true, n + 1
            view:show(state)
            check(state)
            local links = page:run [[
              return Array.from(document.querySelectorAll("main a[href^='#'], nav a"),
                (link) => link.getAttribute("href").replace(/^#[^/]*\//, ""));]]
            for i = 1, #links, math.max(1, #links // 8) do queue[#queue + 1] = links[i] end
          end
        end
      end)
    end)
  end

  it("are in the answer to a query as the commands print them", function()
    local view = heapview.served(page, dir, {"c"})
    local query = "select class from c.classes where type = 'table' limit 1000 offset "
    local shown, n = {}, 0
    repeat
      view:show("sql", {query = query .. n})
      check(query .. n)
      local rows = view:rows "class"
      for _, row in ipairs(rows) do shown[row.class] = true end
      n = n + #rows
    until #rows < 1000
    for _, name in ipairs(names) do
      assert.is_true(name == "" or shown[hostile.text(name)], hostile.text(name))
    end
    for i = 1, #names, 20 do
      view:show("sql", {query = (names[i]:gsub("%z", ""))}) -- what is no text is refused
      check(names[i])
    end
    view:stop()
  end)
end)
