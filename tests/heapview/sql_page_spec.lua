-- sql_page_spec.lua - the page for queries, in a real browser: a query is typed, run by a key or by
-- its address, answered as by heapsql, saved as CSV, refused in a sentence, given up.

local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"

describe("heapview's page for queries", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local dir = support.take_leaking()
  local page, view

  setup(function()
    page = browser.start()
    view = heapview.served(page, dir, {"a", "b", "c"})
  end)

  teardown(function()
    view:stop()
    page:stop()
  end)

  after_each(function() assert.same({}, page:faults()) end)

  local function type_query(text)
    page:run("document.querySelector('textarea').focus();" ..
      "document.querySelector('textarea').select();")
    page:type("textarea", text)
  end

  local function csv(query)
    return support.answer({"heapsql", "--csv", "a", "b", "c", query}, dir)
  end

  local function text(selector)
    return page:run("const one = document.querySelector(arguments[1]);" ..
      "return one && one.textContent", selector)
  end

  it("begins with an example, and tells the tables", function()
    view:show "sql"
    local shown = page:run "return document.querySelector('textarea').value"
    assert.matches("^select class, count", shown)
    assert.is_nil(text ".result table")
    local tables = page:texts ".schema summary"
    assert.same({"objects", "edges", "entries", "strings", "classes", "threads", "frames", "sites",
                 "stacks", "modules", "marks", "info"}, tables)
    assert.matches("a.objects, b.objects, c.objects", text ".schema p", 1, true)
  end)

  it("has only examples that are answered", function()
    view:show "sql"
    local n = page:run "return document.querySelectorAll('.page-sql option').length" - 1
    assert.equal(7, n)
    for i = 0, n - 1 do
      page:run([[
        const select = document.querySelector(".page-sql select");
        select.value = arguments[1];
        select.dispatchEvent(new Event("change"));]], i)
      local query = page:run "return document.querySelector('textarea').value"
      view:show("sql", {query = query})
      assert.is_nil(text ".result .problem", query)
      local rows = select(2, csv(query):gsub("\n", "\n")) - 1
      assert.equal(("%d row%s"):format(rows, rows == 1 and "" or "s"), text ".result p")
    end
  end)

  it("runs what is typed, by a key, and has it in its address", function()
    view:show "sql"
    type_query "select class, count(*) as n from c.objects group by 1 order by n desc, 1 limit 3"
    page:run [[
      document.querySelector("textarea").dispatchEvent(new KeyboardEvent("keydown",
        {key: "Enter", ctrlKey: true, bubbles: true, cancelable: true}));]]
    view:await()
    assert.matches("^sql%?query=select%%20class", view:state())
    local lines = {"class,n"}
    for _, row in ipairs(view:rows("class", "n")) do
      lines[#lines + 1] = row.class .. "," .. row.n
    end
    local query = page:run "return document.querySelector('textarea').value"
    assert.equal(csv(query), table.concat(lines, "\n") .. "\n")
    view:show "verdict"
    page:back()
    view:await()
    assert.equal("3 rows", text ".result p")
    assert.equal(query, page:run "return document.querySelector('textarea').value")
  end)

  it("leads from an address to its object, in the snapshot of its row", function()
    view:show("sql", {query = "select * from objects where class = 'Listener' limit 1"})
    assert.equal(support.answer("heapsql --csv a b c \"select address from objects where class " ..
      "= 'Listener' limit 1\"", dir):match "0x%x+", text ".result td a")
    assert.matches("/object%?at=0x%x+&in=0$",
      page:run "return document.querySelector('.result td a').getAttribute('href')")
  end)

  it("shows what a program has as text, and saves it to the byte", function()
    local query = "select '<b>&amp;</b>' as \"<i>\", 'a,\"b\"' || char(10) || 'c' as \"x,y\", " ..
      "null as none, 9007199254740993 as big, 1.5 as half"
    view:show("sql", {query = query})
    assert.equal("<b>&amp;</b>", text ".result td")
    assert.equal("9007199254740993", page:texts(".result td")[4])
    local saved = page:run [[
      let blob = null;
      const before = URL.createObjectURL;
      URL.createObjectURL = function (one) { blob = one; return before.call(URL, one); };
      document.querySelector(".result button").click();
      return new Promise((resolve) => setTimeout(resolve, 0)).then(() => {
        URL.createObjectURL = before;
        return blob.text();
      });]]
    assert.equal(csv(query), saved)
  end)

  it("has no way by which a text could become markup", function()
    view:show "verdict"
    for _, sink in ipairs {
      "document.body.innerHTML = '<b>'", "document.body.insertAdjacentHTML('beforeend', '<b>')",
      "new DOMParser().parseFromString('<b>', 'text/html')", "document.write('<b>')",
      "d3.select('body').html('<b>')", "trustedTypes.createPolicy('other', {})",
    } do
      assert.equal("TypeError", page:run("try { " .. sink .. "; return 'made'; } " ..
        "catch (error) { return error.name; }"), sink)
    end
    assert.is_true(#page:faults() > 0) -- the browser tells of each
  end)

  it("tells that there are more rows than it shows", function()
    view:show("sql", {query = "with recursive t(i) as (select 1 union all select i + 1 from t " ..
      "limit 2000) select i from t"})
    assert.equal("The first 1,000 rows; the CSV file has up to 100,000.", text ".result p")
  end)

  it("refuses what heapsql refuses, in its words", function()
    view:show("sql", {query = "select * from nowhere"})
    assert.matches("no such table: nowhere; each snapshot", text ".result .problem")
    view:show("sql", {query = "attach 'x' as y"})
    assert.matches("a query can only read the snapshots", text ".result .problem")
  end)

  it("gives up a query, and goes on", function()
    page:run("location.hash = arguments[1]", "#" .. view.token .. "/sql?query=" ..
      "with recursive t(i) as (select 1 union all select i%2B1 from t) select count(*) from t")
    page:await("a way out", "const way = document.querySelector('.result button');" ..
      "return way && way.textContent === 'Give it up';")
    page:run "document.querySelector('.result button').click()"
    page:await("its end", "return document.querySelector('.result').textContent === " ..
      "'It was given up.'")
    view:show("sql", {query = "select 1 as one"})
    assert.equal("1 row", text ".result p")
  end)
end)
