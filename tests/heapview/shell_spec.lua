-- shell_spec.lua - what all pages of heapview share (cli/heapview/page): the words for numbers, the
-- state in the address, keys, and what is said when something is not there.

local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local numbers = require "heap.numbers"
local support = require "tests.common.support"

describe("the shell of heapview", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir, view

  setup(function()
    page = browser.start()
    dir = support.take_leaking()
    view = heapview.served(page, dir, {"a", "b", "c"})
    view:show "verdict"
  end)

  teardown(function()
    view:stop()
    page:stop()
  end)

  local function shown(selector)
    return page:run([[
      const element = document.querySelector(arguments[1]);
      return element && element.checkVisibility() ? element.innerText : null;]], selector)
  end

  it("says numbers as the commands do", function()
    local asked = {0, 1, 999, 1000, 1023, 1024, 1075, 1076, 1077, 10188, 10291, 1048524, 1048525,
      1048575, 1048576, 1104, 1152, 1280, 1332, 2 ^ 52, 2 ^ 53 - 1}
    math.randomseed(1)
    for shift = 1, 52 do
      for _ = 1, 20 do asked[#asked + 1] = math.random(0, 1 << shift) end
      asked[#asked + 1] = (1 << shift) + (1 << shift) // 20
    end
    for i, n in ipairs(asked) do asked[i] = ("%d"):format(n) end
    local told = page:run([[return arguments[1].map(Number).map((n) =>
      [heapview.bytes(n), heapview.count(n), heapview.countOf(n, "entry", "entries")]);]], asked)
    for i, n in ipairs(asked) do
      n = math.tointeger(n)
      assert.same({numbers.size(n), numbers.count(n), numbers.count_of(n, "entry", "entries")},
        told[i])
    end
  end)

  it("rounds shares as printf does", function()
    local told = page:run [[
      return Array.from({length: 4001}, (_, n) => heapview.share(n, 4000));]]
    for n = 0, 4000 do
      assert.equal(("%.1f%%"):format(100 * n / 4000), told[n + 1])
    end
  end)

  it("cuts times as the commands do", function()
    local told = page:run [[
      return [0, 999999, 8700000, 999999999, 1e9, 61299e6, 599999e6, 600e9, 750e9, 7199e9, 7200e9,
              9e12].map(heapview.duration);]]
    assert.same({"0 ms", "0 ms", "8 ms", "999 ms", "1.0 s", "61.2 s", "599.9 s", "10.0 min",
                 "12.5 min", "119.9 min", "2.0 h", "2.5 h"}, told)
  end)

  it("has a key of a question as the server takes it", function()
    assert.equal("x?a=1%202&b=%C3%A9&z=%26", page:run [[
      return heapview.keyOf("x", {z: "&", b: "é", a: "1 2", c: "", d: null});]])
  end)

  it("goes to a page by its digit, and tells the keys", function()
    view:show "verdict"
    page:press "2"
    view:await()
    assert.equal(page:run "return heapview.pages()[1].title", shown "#title")
    view:show "sql"
    page:run "document.querySelector('#page textarea').focus()"
    page:press "1"
    view:await()
    assert.equal("SQL", shown "#title") -- it was typed
    page:press("Escape", "1")
    view:await()
    assert.equal("Verdict", shown "#title")
    page:press "?"
    assert.matches("the search field", shown "#keys")
    page:press "Escape"
    assert.is_nil(shown "#keys[open]")
  end)

  it("says that a word leaves the rows that have it", function()
    local asked = page:run [[
      const rows = Array.from({length: 60}, (_, i) => ({cells: [{text: String(i)}]}));
      const table = heapview.table({columns: [{heading: "n", kind: "text"}], rows});
      return table.querySelector("input[type=search]").closest("label").textContent;]]
    assert.equal("Only rows that have", asked)
  end)

  it("goes back and forward", function()
    view:show "verdict"
    page:press "2"
    view:await()
    local there = view:state()
    page:run "history.back()"
    page:await("verdict", "return document.getElementById('title').textContent === 'Verdict'")
    page:run "history.forward()"
    page:await("the page", "return location.hash.endsWith(arguments[1])", there)
  end)

  it("says what it is limited to, and lifts that", function()
    view:show "verdict?since=0&until=10"
    assert.matches("Only what was allocated between", shown "#filter")
    page:click "#filter a"
    view:await()
    assert.equal("verdict", view:state())
    assert.is_nil(shown "#filter")
  end)

  it("asks what else there is when somebody opens it, and has that in the address", function()
    view:show "verdict"
    assert.equal(0, page:run "return document.querySelectorAll('.more-answer[open]').length")
    page:run "document.querySelectorAll('.more-answers summary')[1].click()"
    page:await("the classes", "return document.querySelector('.more-answer[open] tbody tr')")
    assert.equal("verdict?more=classes", view:state())
    local first = page:run "return document.querySelector('.more-answer[open] tbody').innerText"
    view:show "sql"
    view:show "verdict?more=classes"
    assert.equal(first,
      page:run "return document.querySelector('.more-answer[open] tbody').innerText")
  end)

  describe("has tables that", function()
    local function shown_table()
      return page:run [[
        const rows = [...document.querySelectorAll(".page-verdict .trial tbody tr")];
        return rows.map((row) => row.innerText);]]
    end

    local function head(at)
      return page:run([=[
        const heading = document.querySelectorAll(".trial th")[arguments[1]];
        heading.querySelector("button").click();
        return heading.getAttribute("aria-sort");]=], at)
    end

    before_each(function()
      view:show "sql"
      view:show "verdict"
      page:run [[
        const numbers = [3, 20, 1, 4, 10, 5, 9, 2, 6, 50, 30, 8];
        const table = heapview.table({columns: [{heading: "bytes", kind: "bytes"},
          {heading: "name", kind: "text"}], rows: numbers.map((n) =>
          ({cells: [{text: `${n} B`, value: n}, {text: `name ${n}`}]}))});
        table.classList.add("trial");
        document.querySelector(".page-verdict").replaceChildren(table);]]
    end)

    it("are sorted by a heading: numbers from the most, names from the first", function()
      assert.equal("3 B\tname 3", shown_table()[1])
      assert.equal("descending", head(0))
      assert.equal("50 B\tname 50", shown_table()[1])
      assert.equal("ascending", head(0))
      assert.equal("1 B\tname 1", shown_table()[1])
      assert.equal("none", head(0))
      assert.equal("3 B\tname 3", shown_table()[1])
      assert.equal("ascending", head(1))
      assert.equal("2 B\tname 2", shown_table()[2]) -- and not name 10
    end)

    it("can be left with the rows that have a word", function()
      head(0)
      page:type(".trial input", "NAME 3")
      assert.same({"30 B\tname 30", "3 B\tname 3"}, shown_table())
      assert.matches("2 of these rows", shown ".trial .toolbar")
    end)
  end)

  it("saves pictures that stand alone, as they look", function()
    view:show "treemap"
    local told = page:run [[
      return new Promise((resolve) => {
        const made = URL.createObjectURL;
        HTMLAnchorElement.prototype.click = function () {};
        URL.createObjectURL = (blob) => {
          URL.createObjectURL = made;
          const {width} = document.querySelector("#page svg").getBoundingClientRect();
          blob.text().then((text) =>
            resolve({text, type: blob.type, width: String(Math.round(width))}));
          return made.call(URL, blob);
        };
        const button = [...document.querySelectorAll("#page button")]
          .find((one) => one.textContent === "Save as SVG");
        button.click();
      });]]
    assert.equal("image/svg+xml", told.type)
    assert.matches('^<%?xml version="1%.0" encoding="UTF%-8"%?>\n<svg ', told.text)
    assert.equal(told.width, told.text:match '<svg [^>]*width="(%d+)"')
    assert.matches('<text [^>]*font%-size="%d+px"', told.text)
    for _, active in ipairs {"<script", "<foreignObject", "href=", " on%a+=", " style=",
      "url%([^#)]*:"} do
      assert.is_nil(told.text:find(active), active)
    end
  end)

  it("takes hostile states for what they are: nothing", function()
    for _, state in ipairs {"", "constructor", "__proto__?a=b", "verdict?%E0%A4%A=1&=&x",
      "verdict?__proto__=1", "<img src=x onerror=alert(1)>"} do
      view:show(state)
      assert.equal("Verdict", shown "#title")
    end
    for _, wrong in ipairs {"x", "-1", "%00", "1e9", "constructor", "%E0%A4%A", ("9"):rep(99)} do
      for _, key in ipairs {"in", "since", "until"} do
        view:show("verdict?" .. key .. "=" .. wrong)
        assert.is_nil(shown "#filter", wrong)
        assert.is_nil(shown "#page .problem", wrong)
      end
    end
    view:show "object?at=%00root%00"
    assert.is_nil(shown "#page .problem")
    assert.same({}, page:faults())
  end)

  it("says what is done until the files are open, and the error of one that is damaged", function()
    page:open "about:blank"
    page:open(view.url .. "#0123/verdict") -- so the page itself asks nothing meanwhile
    page:await("a problem", "return document.querySelector('#page .problem')")
    local told = page:run [[
      const answers = [{ready: false, doing: "analysing c", doing_seconds: 2.9},
        {ready: false, doing: null}, {ready: true}, {ready: false, error: "c: it is damaged"}];
      const real = window.fetch;
      window.fetch = async (path) => new Response(JSON.stringify(answers.shift()));
      const box = document.getElementById("busy");
      const seen = [];
      const text = (id) => document.getElementById(id).textContent;
      const observer = new MutationObserver(() =>
        seen.push(box.hidden ? "nothing" : `${text("doing")} ${text("seconds")}`));
      observer.observe(box,
        {attributes: true, childList: true, characterData: true, subtree: true});
      return heapview.ready().then(() => heapview.ready()).catch((error) => error.message)
        .then((error) => {
          window.fetch = real;
          heapview.busy(null);
          return {seen: seen.slice(0, 3), error, isHidden: box.hidden};
        });]]
    assert.same({seen = {"analysing c 2 s", "working ", "nothing"}, error = "c: it is damaged",
                 isHidden = true}, told)
  end)

  it("says that an address without the token is of no use", function()
    page:open "about:blank"
    page:open(view.url .. "#0123/verdict")
    page:await("a problem", "return document.querySelector('#page .problem')")
    assert.matches("token", shown "#page .problem")
  end)

  it("says when the server has ended, and how to start it again", function()
    local other = heapview.served(page, dir, {"a", "c"})
    page:open "about:blank"
    other:show "verdict"
    other.stop()
    page:run "heapview.go('verdict', {in: 0})"
    page:await("a problem", "return document.querySelector('#page .problem')")
    assert.matches("heapview has ended", shown "#page .problem")
    assert.matches("heapview a c", shown "#page .problem")
  end)

  it("says in a report how much that carries, what it does not, and what shows it", function()
    local report = heapview.written(page, dir, {"a", "b", "c"})
    page:open "about:blank"
    report:show "verdict"
    assert.matches("^This file has the pages of [%d,]+ of the [%d,]+ objects that it names; " ..
                   "there are [%d,]+ in all%.$", shown "#carried-objects")
    local told = page:run [[
      return heapview.ask("nothing").catch((error) => [error.message, error.command]);]]
    assert.matches("does not carry", told[1])
    assert.equal("heapview a b c", told[2])
  end)
end)
