-- browser_spec.lua - the browser of the specs sees what a page does: what is shown, what keys and
-- clicks change, and each fault that heapview's pages must not have, made by a page that has them.

local browser = require "tests.common.browser"
local support = require "tests.common.support"

local plain = [[
<!DOCTYPE html><meta charset="utf-8"><title>plain</title>
<link rel="icon" href="data:,">
<style>
  @media (prefers-color-scheme: dark) { #scheme::after { content: "dark" } }
  @media print { #paper { display: none } }
</style>
<p id="scheme"></p><p id="paper">paper</p>
<button id="first">first</button> <button id="second">second</button>
<input id="field"> <a id="link" href="#two">two</a>
<p id="told"></p>
<div id="area" style="width: 100px; height: 50px"></div>
<script>
  const told = document.getElementById("told");
  ["first", "second"].forEach(function (id) {
    document.getElementById(id).onclick = function () {
      setTimeout(function () { told.textContent = "clicked " + id; }, 50);
    };
  });
  document.getElementById("field").onkeydown = function (event) {
    if (event.key === "Enter") told.textContent = "typed " + event.target.value;
  };
  const area = document.getElementById("area");
  area.onmousedown = function (event) { told.textContent = "from " + event.offsetX; };
  area.onmouseup = function (event) { told.textContent += " to " + event.offsetX; };
</script>
]]

local policy = [[<meta http-equiv="Content-Security-Policy"
  content="script-src 'unsafe-inline'; style-src 'none'">]]

local faulty = {
  {"<script>console.error('oops')</script>", "^SEVERE: .*oops"},
  {"<script>throw new Error('thrown')</script>", "^SEVERE: .*thrown"},
  {"<script>Promise.reject(new Error('rejected'))</script>", "^SEVERE: .*rejected"},
  {policy .. "<script>eval('1')</script>", "^SEVERE: .*EvalError"},
  {policy .. "<p style='color: red'>red</p>", "^SEVERE: .*Content Security Policy"},
  {"<img src='http://example.org/x.png'>", "^request: http://example.org/x.png$"},
  {"<script>fetch('http://127.0.0.1:1/x')</script>", "^request: http://127.0.0.1:1/x$"},
  {"<script>new WebSocket('ws://127.0.0.1:1/')</script>", "^request: ws://127.0.0.1:1/$"},
  {"<link rel='stylesheet' href='other.css'>", "^request: file://.*/other.css$"},
}

describe("the browser of the specs #browser", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir

  local function write(name, text)
    support.write_file(dir .. "/" .. name, text)
    return "file://" .. dir .. "/" .. name
  end

  local function await_told(text)
    page:await(text, "return told.textContent === arguments[1]", text)
  end

  setup(function()
    dir = support.tmpdir()
    page = browser.start()
  end)

  teardown(function() page:stop() end)

  before_each(function()
    page:open(write("plain.html", plain))
  end)

  it("shows a page, and does what a person does", function()
    assert.same({"first", "second"}, page:texts "button")
    page:click "#first"
    await_told "clicked first"
    page:press("Tab", "Space")
    await_told "clicked second"
    page:type("#field", "caf\u{E9}")
    page:press "Enter"
    await_told "typed caf\u{E9}"
    local box = page:run "const b = area.getBoundingClientRect(); return [b.left, b.top]"
    page:point({{box[1] + 10, box[2] + 10}, {box[1] + 60, box[2] + 20}}, true)
    await_told "from 10 to 60"
    assert.same({}, page:faults())
  end)

  it("goes back and forward", function()
    page:click "#link"
    assert.matches("#two$", page:url())
    page:back()
    assert.not_matches("#two$", page:url())
    page:forward()
    assert.matches("#two$", page:url())
  end)

  it("has the size, the scheme and the medium that are asked for", function()
    for _, width in ipairs {375, 1600} do
      page:size(width, 700)
      assert.equal(width, page:run "return window.innerWidth")
      assert.equal("\137PNG", page:picture():sub(1, 4))
    end
    local scheme = "return getComputedStyle(document.querySelector('#scheme'), '::after').content"
    page:prefer "dark"
    assert.equal('"dark"', page:run(scheme))
    page:prefer("light", "print")
    assert.equal("none", page:run(scheme))
    assert.equal("none", page:run "return getComputedStyle(paper).display")
    page:prefer "light"
  end)

  it("tells what no page may do", function()
    for i, fault in ipairs(faulty) do
      page:open(write(i .. ".html", fault[1]))
      browser.await(fault[1], function()
        for _, line in ipairs(page:faults()) do
          if line:match(fault[2]) then return true end
        end
      end)
    end
  end)

  it("fails where a dialog opens", function()
    page:run "setTimeout(function () { alert('harm'); }, 0)"
    local seen
    browser.await("the dialog", function()
      local fine, message = pcall(page.run, page, "return 1")
      seen = message
      return not fine
    end)
    assert.matches("^unexpected alert open: .*harm", seen)
  end)

  it("says which script failed", function()
    local function fails() page:run "throw new Error('of the script')" end
    assert.error_matches(fails, "of the script")
  end)
end)

describe("a command in the background", function()
  it("ends when it is told to, and says what it printed", function()
    local started = browser.background({"sh", "-c", "echo pid $$; exec sleep 1000"})
    local pid = started.wait("pid (%d+)")
    assert.equal("pid " .. pid .. "\n", started.stop())
    assert.not_equal(0, select(3, support.run {"sh", "-c", "kill -0 " .. pid}))
  end)

  it("ends with the process that started it", function()
    local out = support.lua([[
      package.path = arg[1] .. "/?.lua;" .. package.path
      local started = require "tests.common.browser".background {
        "sh", "-c", "echo pid $$; exec sleep 1000"}
      io.write(started.wait("pid (%d+)"))
      io.stdout:flush()
      require "tests.common.support".run "kill -9 $PPID"
    ]], {args = {support.root}, fails = true})
    browser.await("its end", function()
      return select(3, support.run {"sh", "-c", "kill -0 " .. out}) ~= 0
    end)
  end)
end)
