-- access_spec.lua - each page can be used by those who see little, hear it, or have no mouse: in
-- both schemes all text has its contrast, each control has a name, headings are in order, and all
-- that can be clicked can be reached by keys.

local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"

-- Texts with less contrast to what they stand on than they need: "0.5 text". Pictures have grounds
-- of their own, which colours_spec.lua knows.
local contrast = [[
  const parse = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    return {rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1};
  };
  const luminance = (rgb) => {
    const linear = rgb.map((n) => {
      const part = n / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.alpha > 0.99) return colour.rgb;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor).rgb;
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const element = text.parentElement;
    if (text.data.trim() === "" || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest("svg, script, style, [disabled], .heard")) continue;
    const style = getComputedStyle(element);
    const pair = [parse(style.color).rgb, ground(element)].map(luminance);
    const found = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (found < 4.5) bad.push(`${found.toFixed(1)} ${element.tagName} ${text.data.trim()}`);
  }
  return bad;]]

-- What looks as if it could be clicked, and is not reached by the Tab key or arrows.
local unreachable = [[
  const bad = [];
  for (const element of document.querySelectorAll("#page *, header *, nav *, footer *")) {
    if (getComputedStyle(element).cursor !== "pointer" || !element.checkVisibility()) continue;
    const control = element.closest("a[href], button, input, select, textarea, label, summary, " +
      "[tabindex], option");
    if (!control) bad.push(element.outerHTML.slice(0, 80));
  }
  return bad;]]

local structure = [[
  const bad = [];
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!heading.checkVisibility()) continue;
    const here = Number(heading.tagName[1]);
    if (here > level + 1) bad.push(`${heading.tagName} after H${level}: ${heading.textContent}`);
    level = here;
  }
  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) bad.push(`twice: #${element.id}`);
    ids.add(element.id);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) bad.push("a table without a caption");
  }
  if (document.title === "") bad.push("no title");
  return bad;]]

local named = {
  button = true, link = true, textbox = true, searchbox = true, combobox = true, checkbox = true,
  radio = true, slider = true, image = true, img = true, listbox = true, tab = true, dialog = true,
  navigation = true, menuitem = true, treeitem = true, option = true,
}

-- Roles of what has no name in the tree that screen readers read.
local function nameless(page)
  local bad = {}
  for _, node in ipairs(page:devtools("Accessibility.getFullAXTree").nodes) do
    local role = node.role and node.role.value
    local name = node.name and node.name.value
    if not node.ignored and named[role] and (name or "") == "" then bad[#bad + 1] = role end
  end
  return bad
end

-- Leaves a, b and c, and the profile of it all.
local program = [[
  local heap = require "heap"
  heap.track {stacks = true, file = "run.prof"}
  heap.snapshot "a"
  sessions = {}
  for i = 1, 100 do sessions[i] = {name = "session " .. i, of = sessions} end
  heap.snapshot "b"
  heap.snapshot "c"]]

-- States of the pages that look unlike the page alone.
local states = {
  "verdict?more=classes", "verdict?in=0", "verdict?since=0&until=1000", "treemap?by=class",
  "timeline?since=0&until=1000", "object?at=root", "object?class=string",
}
local tabs = {"fields", "paths", "referrers", "dominators", "under"}

describe("heapview's pages, for everybody", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, view, shown

  setup(function()
    local _, dir = support.lua(program)
    page = browser.start()
    view = heapview.served(page, dir, {"a", "b", "c", "run.prof"})
    view:show "verdict"
    shown = page:run "return heapview.pages().map((page) => page.name)"
    assert.equal(8, #shown)
    local example = page:run("return document.querySelector('.culprit a').hash"):match "0x%x+"
    table.move(states, 1, #states, #shown + 1, shown)
    for _, tab in ipairs(tabs) do
      shown[#shown + 1] = ("object?at=%s&tab=%s"):format(example, tab)
    end
  end)

  teardown(function()
    view:stop()
    page:stop()
  end)

  for _, scheme in ipairs {"light", "dark"} do
    it("have texts that can be read: " .. scheme, function()
      page:prefer(scheme)
      for _, name in ipairs(shown) do
        view:show(name)
        assert.same({name}, {name, table.unpack(page:run(contrast))})
      end
    end)
  end

  it("have names for all that is used, in a structure that can be heard", function()
    page:devtools "Accessibility.enable"
    for _, name in ipairs(shown) do
      view:show(name)
      assert.same({name}, {name, table.unpack(page:run(structure))})
      assert.same({name}, {name, table.unpack(nameless(page))})
    end
  end)

  it("can be used without a mouse", function()
    for _, name in ipairs(shown) do
      view:show(name)
      assert.same({name}, {name, table.unpack(page:run(unreachable))})
    end
  end)

  it("would not pass these checks if they were wrong", function()
    page:prefer "light"
    view:show "verdict"
    page:run [[
      const root = document.getElementById("page").firstElementChild;
      const add = (tag, text, colour) => {
        const element = heapview.make(tag, {id: "page"}, text);
        element.style.color = colour;
        element.style.cursor = "pointer";
        root.append(element);
      };
      add("div", "too faint", "#999");
      add("h6", "too deep", "");
      add("button", "", "");]]
    assert.same({"2.8 DIV too faint"}, page:run(contrast))
    assert.same({"H6 after H3: too deep", "twice: #page", "twice: #page", "twice: #page"},
      page:run(structure))
    assert.same({"button"}, nameless(page))
    assert.equal(2, #page:run(unreachable))
  end)
end)
