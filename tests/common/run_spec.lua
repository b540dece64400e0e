-- run_spec.lua - tests/run.sh: what fails, what fails among others only, and what did not run at
-- all.

local support = require "tests.common.support"

-- Runs run.sh on programs of these texts; what it printed, without the names of folders, and
-- whether it succeeded.
local function run(programs)
  local folder, files = support.tmpdir(), {}
  for i, text in ipairs(programs) do
    files[i] = folder .. "/test_" .. i
    support.write_file(files[i], "#!/bin/sh\ncd " .. folder .. "\n" .. text)
    assert(os.execute("chmod +x " .. files[i]))
  end
  local out, _, code = support.run("tests/run.sh --only . " .. table.concat(files, " "))
  return (out:gsub(folder .. "/", "")), code == 0
end

local passes = "echo '[==========] 2 test(s) run.'; echo '[  PASSED  ] 2 test(s).'\n"
local fails = "echo '[==========] 2 test(s) run.'; echo '[  PASSED  ] 1 test(s).'\n" ..
  "echo '[  FAILED  ] 1 test(s), listed below:'; echo '[  FAILED  ] a_case'; exit 1\n"

describe("the runner of the suite", function()
  it("says nothing of what passed", function()
    local out, ok = run {passes, passes}
    assert.is_true(ok)
    assert.is_nil(out:find("run.sh:", 1, true))
  end)

  it("tells the case that failed, alone too, and counts it once", function()
    local out, ok = run {passes, fails}
    assert.is_false(ok)
    assert.is_truthy(out:find("\nrun.sh: failed: test_2: a_case\n", 1, true))
    assert.equal(1, select(2, out:gsub("\n%[  FAILED  %] 1 test", "")))
    assert.is_truthy(out:find("\n| [  FAILED  ] a_case\n", 1, true))
  end)

  it("tells what failed among others and passed alone, and succeeds", function()
    local out, ok = run {"[ ! -e once ] && touch once && {\n" .. fails .. "}\n" .. passes, passes}
    assert.is_true(ok)
    local told = "\nrun.sh: failed among others, passed alone: test_1: a_case\n"
    assert.is_truthy(out:find(told, 1, true))
    assert.is_nil(out:find("\n[  FAILED  ]", 1, true))
  end)

  it("has failed where no case was run", function()
    local out, ok = run {"exit 0\n"}
    assert.is_false(ok)
    assert.is_truthy(out:find("\nrun.sh: failed: test_1\n", 1, true))
  end)
end)
