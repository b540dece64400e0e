-- object_spec.lua - the page about one object, and the search field, in a real browser: what they
-- show is what the answers say; order, filter and pages of fields stand in the address; and a
-- picture has links and texts alone, whatever the names.

local ask_view = require "tests.common.ask_view"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"
local numbers = require "heap.numbers"

local program = [[
  function one_line() return 1 end
  function two_lines()
  end
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  bus = {listeners = {tick = {}}}
  heap.snapshot "a"
  for i = 1, 120 do
    bus.listeners.tick[i] = setmetatable({id = i, text = ("x"):rep(i)}, Listener)
  end
  odd = {["<img src=x onerror=alert(1)>"] = {"<b>bold</b>", "xy" .. ("\u{1F98A}"):rep(100)}}
  again = {first = bus.listeners.tick[7]}
  heap.snapshot "b"
  bus.listeners.tick[121] = setmetatable({id = 121}, Listener)
  heap.snapshot "c"
]]

describe("heapview's object page", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir, view

  setup(function()
    dir = select(2, support.lua(program))
    page = browser.start()
    view = heapview.served(page, dir, {"a", "b", "c"})
    view:show "verdict"
  end)

  teardown(function()
    view:stop()
    page:stop()
  end)

  before_each(function()
    page:size(1200, 900)
    page:faults()
  end)

  after_each(function() assert.same({}, page:faults()) end)

  local function ask(key) return (ask_view(dir, key)) end

  local function address_of(name)
    return ask("find?of=" .. name).answer.address
  end

  local function texts(selector)
    return page:texts(selector)
  end

  local function labels()
    local list = {}
    for i, row in ipairs(view:rows("field", "value")) do list[i] = row.field end
    return list
  end

  -- Goes where a click leads, which takes a moment.
  local function click(selector, state)
    page:click(selector)
    page:await(state, "return location.hash.includes(arguments[1])", state)
    view:await()
  end

  it("says in a sentence what it is and why it stays", function()
    local at = address_of "_G.bus.listeners.tick"
    view:show("object", {at = at})
    local told = ask("object?at=" .. at)
    assert.equal(told.told[1].line[1].text, texts(".what .told p")[1])
    assert.truthy(texts(".what .told p")[1]:find("because of _G.bus.listeners.tick", 1, true))
    assert.equal(numbers.size(told.answer.retained_bytes), page:run [[
      const names = Array.from(document.querySelectorAll(".what .facts dt"));
      return names.find((name) => name.textContent === "Retains").nextSibling.textContent;]])
  end)

  it("says which lines a function has", function()
    for name, wanted in pairs {one_line = "@program%.lua, line 1,", two_lines = "lines 2 to 3,"} do
      view:show("object", {at = ask("object?at=" .. address_of("_G." .. name)).answer.proto})
      assert.matches(wanted, table.concat(texts ".what .facts dd", "\n"))
    end
  end)

  it("has its fields in pages, in order and filtered, all in the address", function()
    local at = address_of "_G.bus.listeners.tick"
    view:show("object", {at = at})
    assert.equal(50, #labels())
    assert.equal("[1]", labels()[1])
    click("[data-key='page Next']", "from=50")
    assert.equal("[51]", labels()[1])
    click("[data-key='page Last']", "from=71")
    assert.equal("[121]", labels()[50])
    click("th:nth-child(4) button", "sort=-retained_bytes")
    assert.equal("[120]", labels()[1])
    assert.equal("descending", page:run [[
      return document.querySelector("th:nth-child(4)").getAttribute("aria-sort");]])
    click("th:nth-child(4) button", "sort=retained_bytes")
    assert.equal("[121]", labels()[1])
    page:type("[data-key=filter]", "[11")
    click(".toolbar form button", "filter=")
    assert.equal(11, #labels())
    page:back()
    view:await()
    assert.equal(50, #labels())
    page:forward()
    view:await()
    assert.equal(11, #labels())
  end)

  it("leads from object to object", function()
    view:show("object", {at = address_of "_G.bus"})
    local inner = address_of "_G.bus.listeners"
    click("[data-at='" .. inner .. "']", inner)
    assert.truthy(texts(".what .told p")[1]:find("_G.bus.listeners", 1, true))
  end)

  it("has a tab for each question, which arrows and links reach", function()
    local at = address_of "_G.bus.listeners.tick[7]"
    view:show("object", {at = at})
    for tab, wanted in pairs {
      referrers = "2 references lead to Listener", dominators = "would go too if",
      paths = "is kept alive by: _G.again.first", under = "keeps", fields = "fields",
    } do
      view:show("object", {at = at, tab = tab})
      assert.truthy(table.concat(texts("#tab-panel"), "\n"):find(wanted, 1, true), tab)
      assert.equal("tab-" .. tab, page:run [[
        return document.querySelector("[role=tab][aria-selected=true]").id;]])
    end
    view:show("object", {at = at})
    page:run "document.querySelector('[role=tab][aria-selected=true]').focus()"
    page:press("Right", "Enter")
    page:await("the tab", "return location.hash.includes('tab=paths')")
    view:await()
    click("[data-key=cuts]", "show=cuts")
    assert.truthy(table.concat(texts("#tab-panel"), "\n"):find("2 independent paths lead", 1, true))
    click("[data-key=more]", "show=more")
    assert.truthy(table.concat(texts("#tab-panel"), "\n"):find("and by: ", 1, true))
  end)

  it("draws its paths, with a link at each box", function()
    local at = address_of "_G.bus.listeners.tick[7]"
    view:show("object", {at = at, tab = "paths", show = "picture"})
    local links = page:run [[
      return Array.from(document.querySelectorAll(".drawing a"), (a) => a.dataset.at);]]
    local has = {}
    for _, link in ipairs(links) do has[link] = true end
    for _, name in ipairs {"_G.bus", "_G.bus.listeners", "_G.again"} do
      assert.is_true(has[address_of(name)], name)
    end
    assert.truthy(table.concat(texts(".drawing text"), "\n"):find(".listeners", 1, true))
    click(".drawing a[data-at='" .. address_of "_G.bus" .. "']", address_of "_G.bus")
  end)

  it("builds a picture from boxes, arrows and texts alone", function()
    local bad = [[<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" viewBox="0 0 9 9">
      <script>alert(2)</script><style>*{fill:url(http://x/)}</style><g class="node" id="0x12">
      <title>o1</title><polygon points="1,2 3,4" fill="url(http://x/)" onclick="alert(3)"/>
      <a href="javascript:alert(4)"><text x="1">&lt;script&gt;</text></a></g>
      <g class="node" id="javascript:alert(5)"><foreignObject><b>x</b></foreignObject></g>
      <image href="http://x/y.png"/><use href="#a"/></svg>]]
    assert.equal('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" role="group" ' ..
      'aria-label="Paths from the roots to the object"><g><a href="#TOKEN/object?at=0x12" ' ..
      'data-at="0x12"><title>0x12</title><polygon points="1,2 3,4"/><g><text x="1">' ..
      '&lt;script&gt;</text></g></a></g><g/></svg>', (page:run([[
      return new XMLSerializer().serializeToString(heapview.pictureOf(arguments[1]))
        .replace(/#[0-9a-f]+\/object/, "#TOKEN/object");]], bad)))
    page:faults() -- what the browser refused when it read that
  end)

  it("shows names that look like markup as they are, and folds long texts", function()
    view:show("object", {at = address_of "_G.odd"})
    assert.same({'["<img src=x onerror=alert(1)>"]'}, labels())
    view:show("object", {at = ask("fields?at=" .. address_of "_G.odd").answer.fields[1].address})
    assert.truthy(table.concat(texts("#tab-panel td"), "\n"):find("<b>bold</b>", 1, true))
    assert.equal(1, #texts("#tab-panel .folded"))
    assert.is_true(page:run [[
      return document.querySelector("#tab-panel .folded summary").textContent.isWellFormed();]])
  end)

  it("is about the same object in other snapshots, by its age", function()
    local now = ask("object?at=" .. address_of "_G.bus.listeners.tick[7]").answer
    view:show("object", {at = now.address})
    local facts = table.concat(texts(".what .facts"), "\n")
    assert.truthy(facts:find("In a%s+it is not there"), facts)
    click(".what .facts [data-at='" .. now.elsewhere[2].address .. "']", "in=1")
    assert.truthy(texts(".what .told p")[1]:find("Listener", 1, true))
  end)

  it("tells of a class, of the root, and of what is not there", function()
    view:show("object", {class = "Listener"})
    assert.truthy(table.concat(texts(".told p"), "\n"):find("121 Listener tables retain", 1, true))
    view:show("object", {at = "root"})
    assert.truthy(table.concat(labels(), " "):find("registry", 1, true))
    view:show("object", {at = "0x10"})
    assert.truthy(texts(".problem")[1]:find("nothing is at 0x10", 1, true))
    view:show "object"
    assert.is_true(#view:rows("retained", "address") > 5)
  end)

  describe("and its search field", function()
    local function options()
      return texts("#found li .code")
    end

    local function await_options(wanted)
      page:await(wanted, [[return Array.from(document.querySelectorAll("#found:not([hidden]) li"),
        (li) => li.textContent).some((text) => text.includes(arguments[1]))]], wanted)
    end

    local function begin()
      view:show "verdict"
      page:run "document.querySelector('#search input').value = ''; document.activeElement.blur()"
      page:press "/"
    end

    before_each(begin)

    it("completes a path, and opens what is chosen by keys alone", function()
      page:type("#search input", "_G.bus.li")
      await_options "_G.bus.listeners"
      assert.same({"_G.bus.listeners"}, options())
      page:press("Down")
      assert.equal("found-0", page:run [[
        return document.querySelector("#search input").getAttribute("aria-activedescendant");]])
      page:press("Enter")
      local at = address_of "_G.bus.listeners"
      page:await("the object", "return location.hash.includes(arguments[1])", at)
      view:await()
      begin()
      await_options "_G.bus.listeners" -- it is remembered
    end)

    it("completes classes and places, and tells their counts", function()
      page:type("#search input", "listen")
      await_options "Listener"
      assert.truthy(table.concat(texts("#found li"), "\n"):find("Listener%s*121 objects"))
      page:press("Escape")
      assert.same({}, options())
    end)

    it("finds what is written, or says why not in the commands' words", function()
      page:type("#search input", "_G.again.first")
      page:press("Enter")
      page:await("the object", "return location.hash.includes('at=0x')")
      view:await()
      begin()
      page:type("#search input", "_G.again.none")
      page:press("Enter")
      page:await("the error", "return !document.querySelector('#refused').hidden")
      assert.equal(ask("find?of=_G.again.none").error, texts("#refused")[1])
      page:press("Escape")
      assert.is_true(page:run "return document.querySelector('#refused').hidden")
    end)

    it("says how names begin, and takes hostile ones as text", function()
      await_options "_G."
      assert.is_true(#options() >= 4)
      page:type("#search input", "<img src=x onerror=alert(1)>")
      page:press("Enter")
      page:await("the error", "return !document.querySelector('#refused').hidden")
      assert.truthy(texts("#refused")[1]:find("<img src=x onerror=alert(1)>", 1, true))
    end)
  end)

  it("tells what would be freed if a reference were cut", function()
    local at = address_of "_G.bus.listeners.tick"
    view:show("object", {at = at, tab = "paths"})
    click("[data-key=cut]", "show=cut")
    local function told(of) return ask(("cut?at=%s&of=%s"):format(at, of)).told[1].line[1].text end
    local wanted = told "_G.bus.listeners.tick"
    assert.equal(wanted, table.remove(texts "#tab-panel .told p"))
    assert.equal("_G.bus.listeners.tick", page:run [[
      const field = document.querySelector(".cut input");
      const was = field.value;
      field.value = "";
      return was;]])
    page:type(".cut input", "_G.odd")
    click("[data-key=cut-ask]", "cut=_G.odd")
    assert.equal(told "_G.odd", table.remove(texts "#tab-panel .told p"))
    assert.matches("frees .* but not ", told "_G.odd")
  end)

  it("tells whether it would go without one of its retainers", function()
    local at, without = address_of "_G.bus.listeners.tick[8]", address_of "_G.bus.listeners"
    view:show("object", {at = at, tab = "paths"})
    click(("[data-key='without %s']"):format(without), "cut=" .. without)
    local told = ask(("cut?at=%s&of=%s"):format(at, without)).told[1].line[1].text
    assert.equal(told, table.remove(texts "#tab-panel .told p"))
    assert.equal(0, #texts(("[data-key='without %s']"):format(at)))
  end)

  it("is in a written report, too, for what is named in it", function()
    local written = heapview.written(page, dir, {"a", "b", "c"})
    written:show("object", {at = address_of "_G.bus.listeners.tick"})
    assert.truthy(texts(".what .told p")[1]:find("_G.bus.listeners.tick", 1, true))
    assert.equal(50, #labels())
    page:click("[data-key='page Next']")
    page:await("the page", "return location.hash.includes('from=50')")
    written:await()
    assert.truthy(texts("#tab-panel .problem")[1]:find("does not carry that answer", 1, true))
  end)

  it("is found in a written report by the names that this carries", function()
    local written = heapview.written(page, dir, {"a", "b", "c"})
    local function write(text)
      page:run "document.querySelector('#search input').value = ''"
      page:type("#search input", text)
    end
    written:show "verdict"
    write "listen"
    page:await("the class", [[
      return [...document.querySelectorAll("#found .code")].some((one) =>
        one.textContent === "Listener")]])
    page:press("Escape")
    write "_G.bus.listeners.tick"
    page:press("Enter")
    page:await("the object", "return location.hash.includes(arguments[1])",
               "at=" .. address_of "_G.bus.listeners.tick")
    written:await()
    write "_G.odd.none"
    page:press("Enter")
    page:await("the sentence", "return !document.querySelector('#refused').hidden")
    assert.matches("heapview a b c$", texts "#refused" [1])
    page:press("Escape")
  end)
end)
