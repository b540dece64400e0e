-- browser.lua - a real browser for the specs: headless Chromium, led by W3C WebDriver.
--
--     local browser = require "tests.common.browser"
--     local page = browser.start()              -- browser.missing() says why there can be none
--     page:open("file:///tmp/report.html")
--     page:await("the table", "return document.querySelectorAll('tr').length > 3")
--     page:press("Tab", "Enter")
--     assert.same({}, page:faults())
--     page:stop()
--
-- chromedriver (of Debian's chromium-driver) listens on a port of its own choice, and starts
-- Chromium with a profile in the temporary directory. Chromium hears of its driver through a pipe,
-- and the driver is killed by a shell that waits for the end of this process: so whatever happens
-- here, nothing is left. It takes half a second to start; so one browser does for many tests.
--
-- Nothing is expected at once: what is waited for may take minutes, on a loaded machine. No name
-- is resolved but 127.0.0.1, and the faults of a page are what no page may do: write an error to
-- the console, ask for anything elsewhere, open a dialog.

local cjson = require "cjson"
local http = require "socket.http"
local ltn12 = require "ltn12"
local mime = require "mime"
local socket = require "socket"
local support = require "tests.common.support"

local browser = {}

local patience_s = 240 -- for whatever is waited for
local element_key = "element-6066-11e4-a52e-4f735466cecf" -- the standard's

http.TIMEOUT = patience_s

local Page = {}
Page.__index = Page

local function program(names)
  for _, name in ipairs(names) do
    if select(3, support.run {"sh", "-c", "command -v " .. name}) == 0 then return name end
  end
end

local function programs()
  return program {"chromium", "chromium-browser", "google-chrome"}, program {"chromedriver"}
end

--- Why no browser can be had here, as one sentence; nil: there is one. A sanitizer has nothing to
--- find in scripts, and what answers these is asked by specs of its own.
---@return string?
function browser.missing()
  if os.getenv "SANITIZED" == "1" then return "pages are tried without a sanitizer" end
  local chromium, driver = programs()
  if chromium and driver then return nil end
  return "pages are not tried: there is no Chromium here (Debian: chromium and chromium-driver)"
end

-- ==== The driver ======================================================================

-- One command of WebDriver. An error of the driver's is nil, its name, and what it says.
local function call(page, method, path, body)
  local answer = {}
  local text = body and (next(body) and cjson.encode(body) or "{}")
  local _, code = http.request {
    url = page.driver .. path, method = method, sink = ltn12.sink.table(answer),
    source = text and ltn12.source.string(text),
    headers = text and {["Content-Length"] = #text, ["Content-Type"] = "application/json"},
  }
  local decoded, content = pcall(cjson.decode, table.concat(answer))
  if not decoded then error(("WebDriver %s %s: %s"):format(method, path, code), 0) end
  local value = content.value
  if code == 200 then return value end
  return nil, value.error, value.message
end

-- The same, where an error of the driver's is one of the test's.
local function command(page, method, path, body)
  local value, name, message = call(page, method, path, body)
  if name then error(("%s: %s"):format(name, message), 0) end
  return value
end

local function post(page, path, body)
  return command(page, "POST", page.session .. path, body or {})
end

--- Tries again, until it is not nil or false, for a minute; what it was is then an error.
---@param what string
---@param try fun(): any
---@return any
function browser.await(what, try)
  local give_up = socket.gettime() + patience_s
  local pause = 0.005
  while true do
    local value = try()
    if value then return value end
    if socket.gettime() > give_up then error("waited in vain for " .. what, 0) end
    socket.sleep(pause)
    pause = math.min(pause * 1.5, 0.25)
  end
end

--- Starts a command that runs until `stop` is called, or this process ends in whatever way. What it
--- prints goes to a file, whose text `wait` searches until the pattern is there.
---@param words string[]
---@param options? {cwd: string, env: table<string, string>}
---@return {wait: fun(pattern: string): string, stop: fun(): string}
function browser.background(words, options)
  local log, quoted = support.tmpname(), {}
  for i, word in ipairs(words) do quoted[i] = support.quote(word) end
  local line = ("cd %s && exec env %s >%s 2>&1"):format(
    support.quote(options and options.cwd or support.root), table.concat(quoted, " "), log)
  local pipe = io.popen(("{ (%s) </dev/null & cat; kill $!; wait $!; } 2>/dev/null"):format(line),
    "w")
  local function printed()
    local file = io.open(log, "rb")
    local text = file and file:read("a") or ""
    if file then file:close() end
    return text
  end
  local started = {}
  function started.wait(pattern)
    local function found() return printed():match(pattern) end
    local fine, match = pcall(browser.await, pattern, found)
    return fine and match or error(("%s, after it printed:\n%s"):format(match, printed()), 2)
  end
  function started.stop()
    if pipe then pipe:close() end
    pipe = nil
    return printed()
  end
  return started
end

-- No sandbox: as root, as in most containers, it cannot be had. /dev/shm is small in containers.
local arguments = {
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
  "--remote-debugging-pipe", "--disable-background-networking", "--force-color-profile=srgb",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--hide-scrollbars",
  "--window-size=1200,900", "--lang=en-US",
}

local function capabilities(chromium, home)
  local words = {"--user-data-dir=" .. home .. "/profile", table.unpack(arguments)}
  return {capabilities = {alwaysMatch = {
    browserName = "chrome",
    ["goog:loggingPrefs"] = {browser = "ALL", performance = "ALL"},
    ["goog:chromeOptions"] = {
      binary = chromium, args = words,
      perfLoggingPrefs = {enableNetwork = true, enablePage = false},
      prefs = {["download.default_directory"] = home .. "/downloads"},
    },
  }}}
end

--- Starts a browser. Its pages are one after the other: open() leaves the one before.
---@return table page
function browser.start()
  local chromium, driver = programs()
  chromium = support.answer("command -v " .. chromium, "/"):match("%S+")
  local home = support.tmpdir()
  local words = {"-u", "LD_PRELOAD", "-u", "ASAN_OPTIONS", "HOME=" .. home, "TMPDIR=" .. home}
  table.move({driver, "--port=0"}, 1, 2, #words + 1, words)
  local started = browser.background(words)
  local page = setmetatable({
    driver = "http://127.0.0.1:" .. started.wait("successfully on port (%d+)"),
    started = started, downloads = home .. "/downloads", expected = {},
  }, Page)
  local session = command(page, "POST", "/session", capabilities(chromium, home))
  page.session = "/session/" .. session.sessionId
  page:devtools("Page.setDownloadBehavior", {behavior = "allow", downloadPath = page.downloads})
  page:open("about:blank")
  page:faults() -- those of the browser's own first page
  return page
end

--- Ends the browser and its driver.
function Page:stop()
  pcall(call, self, "DELETE", self.session)
  self.started.stop()
end

--- A command of the DevTools protocol.
---@param name string
---@param parameters? table
---@return table
function Page:devtools(name, parameters)
  return post(self, "/goog/cdp/execute", {cmd = name, params = parameters or {}})
end

-- ==== What is there ===================================================================

--- Goes to an address, and waits until all of it is loaded.
---@param url string
function Page:open(url)
  self.origin = url:match("^%w+://[^/]*/") or url
  self.file = url:match("^file:[^#]*")
  post(self, "/url", {url = url})
end

--- The value of the body of a JavaScript function; `...` are its arguments.
---@param body string
---@return any
function Page:run(body, ...)
  -- cjson takes an empty list for an object.
  local value = post(self, "/execute/sync", {script = body, args = {"", ...}})
  if value == cjson.null then return nil end
  return value
end

--- The same of a function that tells its value later, to the function that is its last argument:
--- for cli/generate/pictures.lua.
---@param body string
---@return any
function Page:run_until(body, ...)
  return post(self, "/execute/async", {script = body, args = {"", ...}})
end

--- Waits until the body of a JavaScript function returns something, and returns that.
---@param what string
---@param body string
---@return any
function Page:await(what, body, ...)
  local words = table.pack(...)
  local fine, value = pcall(browser.await, what, function()
    return self:run(body, table.unpack(words, 1, words.n))
  end)
  if fine then return value end
  local text = self:run "return document.body ? document.body.innerText : 'nothing'"
  error(("%s; the page at %s shows:\n%s"):format(value, self:url(), text:sub(1, 2000)), 2)
end

---@return string
function Page:url()
  return command(self, "GET", self.session .. "/url")
end

--- What is seen of the elements that a selector of CSS finds, in order.
---@param selector string
---@return string[]
function Page:texts(selector)
  return self:run([[
    return Array.from(document.querySelectorAll(arguments[1]), function (element) {
      return element.innerText === undefined ? element.textContent : element.innerText;
    });]], selector)
end

-- ==== What a person does ==============================================================

-- Runs a command for the first element, when it is there and nothing covers it.
local function on_element(page, selector, path, body)
  local message
  local fine = pcall(browser.await, selector, function()
    local found = call(page, "POST", page.session .. "/element",
      {using = "css selector", value = selector})
    local id = found and found[element_key]
    if not id then return false end
    local _, name, said = call(page, "POST", page.session .. "/element/" .. id .. path, body or {})
    message = name and name .. ": " .. said
    return not name
  end)
  if not fine then
    error(("%s: %s in the page at %s"):format(selector, message or "not there", page:url()), 3)
  end
end

---@param selector string
function Page:click(selector)
  on_element(self, selector, "/click")
end

--- Types into a field, behind what is in it.
---@param selector string
---@param text string
function Page:type(selector, text)
  on_element(self, selector, "/value", {text = text})
end

local keys = {
  Backspace = "\u{E003}", Tab = "\u{E004}", Enter = "\u{E007}", Shift = "\u{E008}",
  Control = "\u{E009}", Alt = "\u{E00A}", Escape = "\u{E00C}", PageUp = "\u{E00E}",
  PageDown = "\u{E00F}", End = "\u{E010}", Home = "\u{E011}", Left = "\u{E012}", Up = "\u{E013}",
  Right = "\u{E014}", Down = "\u{E015}", Space = " ",
}

--- Presses keys, one after the other, wherever the focus is: "Tab", "Shift+Tab", "/".
---@param ... string
function Page:press(...)
  local actions = {}
  for _, chord in ipairs {...} do
    local down = {}
    for name in chord:gmatch("[^+]+") do down[#down + 1] = keys[name] or name end
    for i = 1, #down do actions[#actions + 1] = {type = "keyDown", value = down[i]} end
    for i = #down, 1, -1 do actions[#actions + 1] = {type = "keyUp", value = down[i]} end
  end
  post(self, "/actions", {actions = {{type = "key", id = "keyboard", actions = actions}}})
end

--- Moves the pointer through points of the window, {x, y} each; with `button` it is held down.
---@param points number[][]
---@param button? boolean
function Page:point(points, button)
  local actions = {}
  for i, at in ipairs(points) do
    actions[#actions + 1] = {type = "pointerMove", duration = 20, x = at[1] // 1, y = at[2] // 1}
    if button and i == 1 then actions[#actions + 1] = {type = "pointerDown", button = 0} end
  end
  if button then actions[#actions + 1] = {type = "pointerUp", button = 0} end
  post(self, "/actions", {actions = {{
    type = "pointer", id = "mouse", parameters = {pointerType = "mouse"}, actions = actions,
  }}})
end

function Page:back() post(self, "/back") end

function Page:forward() post(self, "/forward") end

-- ==== How it looks ====================================================================

--- The size of the window in its own pixels; a window on a screen could not be as narrow.
---@param width integer
---@param height integer
---@param scale? number pixels of a picture for each
function Page:size(width, height, scale)
  self:devtools("Emulation.setDeviceMetricsOverride",
    {width = width, height = height, deviceScaleFactor = scale or 1, mobile = false})
end

--- What the person prefers, "light" or "dark", and "screen" or "print".
---@param scheme string
---@param medium? string
function Page:prefer(scheme, medium)
  self:devtools("Emulation.setEmulatedMedia", {
    media = medium or "screen",
    features = {
      {name = "prefers-color-scheme", value = scheme},
      {name = "prefers-reduced-motion", value = "reduce"},
    },
  })
end

--- What the window shows, as a PNG.
---@return string
function Page:picture()
  return (mime.unb64(command(self, "GET", self.session .. "/screenshot")))
end

-- ==== What no page may do =============================================================

local function log(page, kind)
  return post(page, "/se/log", {type = kind})
end

local function is_own(page, url)
  return url:match("^data:") or url:match("^blob:") or url:match("^about:") or
    page.file and url:gsub("#.*", "") == page.file or
    not page.file and url:sub(1, #page.origin) == page.origin
end

local function add_requests(page, list)
  for _, entry in ipairs(log(page, "performance")) do
    local message = cjson.decode(entry.message).message
    local url
    if message.method == "Network.requestWillBeSent" then
      url = message.params.request.url
    elseif message.method == "Network.webSocketCreated" then
      url = message.params.url
    end
    if url and not is_own(page, url) then list[#list + 1] = "request: " .. url end
  end
end

--- What the page did since it was opened, or asked last, that it must not: errors on the console
--- (with them what its policy refused), requests to elsewhere. A dialog is an error in itself.
---@return string[]
function Page:faults()
  local list = {}
  for _, entry in ipairs(log(self, "browser")) do
    if entry.level == "SEVERE" or entry.level == "WARNING" then
      list[#list + 1] = entry.level .. ": " .. entry.message
    end
  end
  add_requests(self, list)
  return list
end

-- ====================================================================================

return browser
