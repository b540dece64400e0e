-- golden_spec.lua - what the commands print, word by word: golden/NAME.txt has the question in its
-- first line and the answer below. Addresses and times are replaced, and digits that depend on the
-- libraries of the Lua release (parts of _G, of all strings, of the whole heap) are masked with #.
-- LUAHEAP_UPDATE=1 writes the files anew: read the diff before you commit it.

local support = require "tests.common.support"

-- A server that leaks in three ways, the work done 10 times between two snapshots:
--
--     _G -.bus-> Bus -.listeners-> {tick} -.tick-> array -[i]-> Listener -.fn-> closure -> upvalue
--     _G -.cache-> map -["user n"]-> {id, name}
--     _G -.log-> array of numbers              grows, but holds no object
--     _G -.recent-> {__mode = "v"} -[1]-> Listener
--
-- The path of modules is made long: then all strings are more than 10 KB wherever Lua looks for
-- them, and a column has one width.
local program = [[
  local heap = require "heap" package.path = package.path .. (";"):rep(900)
  local Listener = {__name = "Listener"}
  bus = setmetatable({listeners = {tick = {}}}, {__name = "Bus"})
  cache, log = {}, {}
  recent = setmetatable({}, {__mode = "v"})
  local served = 0
  local function serve()
    served = served + 1
    local n = served
    local listener = setmetatable({id = n, fn = function() return n end}, Listener)
    table.insert(bus.listeners.tick, listener)
    recent[1] = listener
    cache["user " .. n] = {id = n, name = ("x"):rep(100 + n)}
    for i = 1, 50 do log[#log + 1] = i end
  end
  for i = 1, 10 do serve() end
  heap.snapshot "a"
  for i = 1, 10 do serve() end
  heap.mark "served 20"
  heap.snapshot "b"
  for i = 1, 10 do serve() end
  list = nil
  for i = 1, 40 do list = {next = list} end
  collectgarbage()
  collectgarbage()
  heap.snapshot "c"
]]

local questions = {
  heaptop = "heaptop -n 2 --type table c",
  ["heaptop-classes"] = "heaptop --by class --sort count --type table -n 3 c",
  ["heaptop-bytes"] = "heaptop --by object --bytes --type table -n 4 c",
  ["heaptop-epoch"] = "heaptop --by epoch --type table c",
  ["heaptop-leaks"] = "heaptop --leaks c",
  ["heaptop-suspects"] = "heaptop --suspects c",
  ["heaptop-class"] = "heaptop --class Listener c",
  ["heaptop-growing"] = "heaptop --growing -n 0 c",
  ["heaptop-under"] = "heaptop --under _G.bus c",
  ["heaptop-waste"] = "heaptop --waste c",
  heapdiff = "heapdiff a b c",
  ["heapdiff-two"] = "heapdiff a b",
  ["heapdiff-since"] = "heapdiff --since a --until 'served 20' c",
  ["heapdiff-factor"] = "heapdiff --factor 10 --sort count -n 1 a b c",
  ["heapdiff-fingerprints"] = "heapdiff --fingerprints a b c",
  ["heapdiff-ladder"] = "heapdiff --ladder -n 8 a b c",
  ["heapdiff-owners"] = "heapdiff --owners -n 8 a c",
  ["heapdiff-halves"] = "heapdiff --before a b --after b c",
  ["heapdiff-color"] = "heapdiff --color=always --factor 20 a b c",
  ["heapdiff-clean"] = "heapdiff --since c c",
  heappath = "heappath --format text c Listener",
  heapsql = [[heapsql c "select class, type, address, shallow_bytes, retained_bytes, distance, ]] ..
    [[epoch, held_by from objects where id = id_of('_G.bus.listeners.tick[7]')" ]] ..
    [["select kind, label, weak, class_of(source) as holder from edges ]] ..
    [[where target = id_of('_G.bus.listeners.tick[30]')" "select null as empty where 0"]],
  ["heappath-k"] = "heappath --format text -k 3 c '_G.bus.listeners.tick[7]'",
  ["heappath-upvalue"] = "heappath --format text c '_G.bus.listeners.tick[7].fn'",
  ["heappath-long"] = "heappath --format text c '_G.list" .. (".next"):rep(39) .. "'",
  ["heappath-referrers"] = "heappath --format text --referrers c '_G.bus.listeners.tick[30]'",
  ["heappath-set"] = "heappath --format text --set Listener c",
  ["heappath-set-n"] = "heappath --format text -n 5 --set \"select id from objects where class in "
    .. "('Listener', 'array of number', '{id, name}', '{next}')\" c",
  ["heappath-ignore"] =
    "heappath --format text --ignore _G.bus --ignore '_G.c*.*' c '_G.bus.listeners.tick[30]'",
  ["heappath-cut"] = "heappath --cut _G.recent c Listener",
  ["heappath-what-if"] =
    [[heappath --what-if --cut '_G.cache["user *"]' --cut _G.bus.listeners c Listener]],
  ["heappath-dominators"] = "heappath --dominators c '_G.bus.listeners.tick[30]'",
}

-- Lines whose numbers are not the program's alone.
local of_libraries = {"globals %(_G%)", "  string$", "^  objects", "^    reachable",
                      "^    garbage", "^  string table", "^  collectgarbage", "the start$",
                      "^In all ", "^From a to c: ", "debug information", "@server.lua$"}

local function mask(text) return (text:gsub("%d", "#"):gsub("#x", "0x")) end

local function mask_line(line)
  for _, pattern in ipairs(of_libraries) do
    if line:find(pattern) then return mask(line) end
  end
end

-- What is masked leaves its width as it is, so that the columns stay columns.
local function normalise(text)
  text = text:gsub("0x%x+", "0x............")
  text = text:gsub("%d+%-%d+%-%d+ %d+:%d+:%d+", "TIME"):gsub("TIME UTC", "TIME")
  text = text:gsub("^%S+ server.lua\n[^,]+, process %d+, state %x+,",
                   "lua server.lua\nLua 5.4.#, process #, state #,")
  text = text:gsub("%d+%.%d%%", mask):gsub("and [%d,]+ more [cor]", mask):gsub("%(%d+ did", mask)
  text = text:gsub("\n[^\n]+  (%(%d+ other parts%))", "\nthe rest  %1")
  return (text:gsub("[^\n]+", mask_line))
end

describe("the output of", function()
  local dir
  setup(function() dir = select(2, support.lua(program, {name = "server.lua"})) end)

  for name, question in pairs(questions) do
    it(question, function()
      local path = ("%s/tests/cli/golden/%s.txt"):format(support.root, name)
      local out = support.run(question, {cwd = dir})
      local text = "$ " .. question .. "\n" .. normalise(out)
      if os.getenv "LUAHEAP_UPDATE" then support.write_file(path, text) end
      assert.equal(support.read_file(path), text)
    end)
  end
end)
