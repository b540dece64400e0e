-- reader_profile_spec.lua - heap.reader about profiles: the same as heapprof --json tells.

local cjson = require "cjson"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"
local reader = require "heap.reader"

local dir = support.tmpdir()
local path = dir .. "/run.prof"

setup(function()
  local p = profiles.new {start_bytes = 5000}
  local main = p:stack(nil, {source = "@app.lua", name = "", line = 9, maker = "call"})
  local make = p:stack(main, {source = "@app.lua", name = "make", first_line = 1, line = 2,
                              maker = "table"})
  local grow = p:stack(main, {source = "@app.lua", name = "fill", first_line = 5, line = 6,
                              maker = "growth"})
  for i = 1, 2000 do
    p:tick(10000000)
    local block = p:new("table", make, 56)
    if i % 10 > 0 then p:free(block) end
  end
  for i = 0, 12 do p:new("part", grow, 24 << i) end
  p:write(path)
end)

-- Every field of JSON is in the table, null as nil.
local function contains(wanted, found, where)
  for key, value in pairs(wanted) do
    local here = where .. "." .. key
    if type(value) == "table" then
      contains(value, assert(found[key], here), here)
    elseif value ~= cjson.null then
      assert.equal(value, found[key], here)
    else
      assert.is_nil(found[key], here)
    end
  end
end

local function ask(...) return cjson.decode(support.answer({"heapprof", "--json", ...}, dir)) end

describe("reader.profile", function()
  it("tells who allocated", function()
    local wanted = ask "run.prof"
    local list = reader.profile(path)
    for i, row in ipairs(wanted.allocations) do row.peak_bytes = list[i].peak_bytes end
    contains(wanted.allocations, list, "allocations")
    assert.equal(#wanted.allocations, #list)
    assert.equal(1, #reader.profile(path, {n = 1}))
    assert.matches("@app.lua:2 in make", tostring(list))
    contains(wanted.advice, reader.profile(path, {report = "advice"}), "advice")
    contains(ask("run.prof", "--calls").functions,
             reader.profile(path, {report = "calls"}).functions, "calls")
    contains(ask("run.prof", "--live").profile, reader.profile(path, {report = "profile"}),
             "profile")
    local findings = reader.profile(path, {report = "findings"})
    assert.equal("@app.lua:6 in fill", findings[1].allocated.site)
  end)

  it("takes heapprof's options", function()
    contains(ask("run.prof", "--by", "type", "--live").allocations,
             reader.profile(path, {by = "type", order = "live"}), "live")
    contains(ask("run.prof", "--peak").allocations, reader.profile(path, {order = "peak"}), "peak")
    contains(ask("run.prof", "--leaks", "--since", "5s", "--until", "10s").allocations,
             reader.profile(path, {never_freed = true, since = 5, before = 10}), "leaks")
  end)

  it("refuses others", function()
    for _, options in ipairs {{by = "line"}, {order = 1}, {since = "x"}, {since = -1}, {n = 1.5},
                              {what = 1}, {report = "leaks"}} do
      assert.is_false(pcall(reader.profile, path, options))
    end
  end)

  it("says why a file cannot be read", function()
    local answer, message, code = reader.profile(dir .. "/none")
    assert.is_nil(answer)
    assert.matches("No such file", message)
    assert.equal("io", code)
    support.write_file(dir .. "/text", "no profile")
    assert.is_nil((reader.compare_profiles(path, dir .. "/text")))
  end)
end)

describe("reader.compare_profiles", function()
  it("tells what changed", function()
    local wanted = ask("--diff", "run.prof", "run.prof")
    local list = reader.compare_profiles(path, path)
    contains(wanted.sites, list, "sites")
    assert.equal(2, #list)
    assert.matches("^From .*run.prof to .*run.prof: 0 B allocated", tostring(list))
  end)
end)
