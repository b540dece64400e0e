-- heapview.lua - heapview in a browser, served or written, for the specs of its pages.
--
--     local heapview = require "tests.common.heapview"
--     local page = browser.start()
--     local view = heapview.served(page, dir, {"a", "b", "c"})     -- or heapview.written
--     view:show "treemap?by=class"
--     assert.equal("array of Listener", view:tables()[1].rows[1]["class"])
--     view:stop()

local browser = require "tests.common.browser"
local support = require "tests.common.support"

local heapview = {}

local View = {}
View.__index = View

local function command(words)
  return {support.build .. "/bin/heapview", table.unpack(words)}
end

--- Starts a server for files of a directory, without waiting until they are analysed.
---@param page table of tests/common/browser.lua
---@param dir string
---@param files string[]
---@return table view
function heapview.served(page, dir, files)
  local words = command {"--port=0", table.unpack(files)}
  if support.sanitized then
    table.move({"-u", "LD_PRELOAD", "ASAN_OPTIONS=" .. os.getenv "LUAHEAP_ASAN_COMMANDS",
                table.unpack(words)}, 1, #words + 3, 1, words)
  end
  local started = browser.background(words, {cwd = dir})
  local url, token = started.wait "http://127%.0%.0%.1:%d+/#%x+":match "^(.*)#(.*)$"
  local function stop()
    local printed = started.stop()
    if not printed:match "^http[^\n]*\n$" then error("heapview printed:\n" .. printed, 2) end
  end
  return setmetatable({page = page, url = url, token = token, stop = stop}, View)
end

--- Writes a report, which is read from then on.
---@param page table
---@param dir string
---@param files string[]
---@return table view
function heapview.written(page, dir, files)
  local file = support.tmpname ".html"
  support.answer(command {"-o", file, table.unpack(files)}, dir)
  return setmetatable({page = page, url = "file://" .. file, token = "", file = file,
                       stop = function() end}, View)
end

-- Waits until the page that the address names is drawn.
function View:await()
  self.page:await("the page", [[
    const root = document.getElementById("page");
    return root && root.dataset.shown === location.hash &&
      root.getAttribute("aria-busy") === "false";]])
end

local function encoded(value)
  return (tostring(value):gsub("[^%w_.~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

--- Goes to a state of the page, such as "object?at=root", as a link does.
---@param state string
---@param parameters? table<string, string|integer>
function View:show(state, parameters)
  local sign = state:find("?", 1, true) and "&" or "?"
  for key, value in pairs(parameters or {}) do
    state, sign = state .. sign .. key .. "=" .. encoded(value), "&"
  end
  local fragment = "#" .. self.token .. "/" .. state
  if self.is_open then
    self.page:run("location.hash = arguments[1]", fragment)
  else
    self.page:open(self.url .. fragment)
    self.is_open = true
  end
  self:await()
end

--- The state that is shown, as show() takes it.
---@return string
function View:state()
  return (self.page:url():match("#%x*/(.*)$"))
end

--- The tables that are shown: of each the headings, and rows with the text of each cell under its
--- heading, and that of the line below the row under "below".
---@return {headings: string[], rows: table<string, string>[]}[]
function View:tables()
  return self.page:run [[
    return Array.from(document.querySelectorAll("#page table"), function (table) {
      const text = function (element) {
        const actions = element.querySelector(".actions");
        return element.textContent.slice(0, -actions?.textContent.length || undefined);
      };
      const headings = Array.from(table.querySelectorAll("thead th"), text);
      const rows = [];
      for (const row of table.querySelectorAll("tbody tr")) {
        if (row.classList.contains("below")) {
          rows[rows.length - 1].below = text(row);
        } else {
          rows.push(Object.fromEntries(Array.from(row.cells, function (cell, at) {
            return [headings[at], text(cell)];
          })));
        }
      }
      return {headings: headings, rows: rows};
    });]]
end

--- The table that has all of these headings.
---@param ... string
---@return table<string, string>[] rows
function View:rows(...)
  local wanted = {...}
  for _, one in ipairs(self:tables()) do
    local has, n = {}, 0
    for _, heading in ipairs(one.headings) do has[heading] = true end
    for _, heading in ipairs(wanted) do n = n + (has[heading] and 1 or 0) end
    if n == #wanted then return one.rows end
  end
  error("no table with the headings " .. table.concat(wanted, ", "), 2)
end

return heapview
