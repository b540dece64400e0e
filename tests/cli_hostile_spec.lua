-- cli_hostile_spec.lua - names and strings that try to reach the terminal: whatever a program has
-- in its heap, the commands print valid UTF-8 without a control character.

local cjson = require "cjson"
local support = require "tests.support"

local run, quote = support.run, support.quote

-- Class names, keys, global names, strings, a file name and a mark that try to reach the terminal.
local hostile = [[
  local heap = require "heap"
  local evil = "\27[31mred\7\nline\0nul\255\xC2\x9B31m\u{202E}"
  _G[evil] = {}
  heap.snapshot "a"
  for i = 1, 40 do
    _G[evil][i] = setmetatable({[evil .. i] = evil:rep(30)}, {__name = evil})
    _G[evil][evil .. i] = load("return function() end", "@" .. evil)()
  end
  heap.mark(evil)
  heap.snapshot "b"
  heap.snapshot "c"
  heap.snapshot((evil:gsub("%z", "")))
]]

describe("a hostile name", function()
  local bad
  setup(function() bad = select(2, support.lua(hostile)) end)

  for _, command in ipairs {
    "heaptop -n 0 c", "heaptop -n 0 --json c", "heapdiff -n 0 a b c", "heapdiff -n 0 a c",
    "heapdiff --json a b c", "heaptop --objects --type string c", "heapdiff --since nowhere c",
    "heappath --format text -k 3 c @$'\\e'x:1", "for f in *red*; do heaptop \"$f\"; done",
  } do
    it("never reaches the output raw: " .. command, function()
      local out, err = run("bash -c " .. quote(command), {cwd = bad})
      local text = out .. err
      assert.is_true(#text > 0)
      assert.not_matches("[%z\1-\9\11-\31\127]", text)
      assert.not_matches("\xC2[\x80-\x9F]", text)
      assert.not_matches("\u{202E}", text)
      assert.truthy(utf8.len(text))
    end)
  end

  it("can be asked for in the form in which it is printed", function()
    local top = cjson.decode((run({"heaptop", "--json", "c"}, {cwd = bad})))
    local class
    for _, found in ipairs(top.classes) do
      if found.objects == 40 and found.type == "table" then class = found.class end
    end
    local out, _, code = run({"heappath", "--format", "text", "c", class}, {cwd = bad})
    assert.equal(0, code)
    assert.not_matches("[%z\1-\9\11-\31\127]", out)
  end)
end)
