-- binding_spec.lua - examples/heap.py: the library, asked from Python.

local support = require "tests.common.support"

local function python(dir, ...)
  return support.run({"python3", support.root .. "/examples/heap.py", ...},
    {cwd = dir, env = {LD_LIBRARY_PATH = support.build, PYTHONDONTWRITEBYTECODE = "1"}})
end

describe("the library, from Python,", function()
  if support.sanitized then return pending "libasan is not preloaded there" end
  local dir

  setup(function()
    dir = select(2, support.lua([[
      local heap = require "heap"
      local Session = {__name = "Session"}
      sessions = {}
      for _, name in ipairs {"a", "b", "c"} do
        for i = 1, 50 do sessions[#sessions + 1] = setmetatable({}, Session) end
        collectgarbage()
        heap.snapshot(name)
      end
    ]], {name = "app.lua"}))
  end)

  it("tells of classes, and what is new", function()
    local out, err, code = python(dir, "a", "b", "c")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("bytes +150  Session\n", out)
    assert.matches("\n +50 new Session at _G.sessions%[%*%]\n$", out)
  end)

  it("says why a file cannot be asked", function()
    local out, err, code = python(dir, "nothing")
    assert.equal("", out)
    assert.equal(1, code)
    assert.matches("RuntimeError: .*nothing", err)
  end)
end)
