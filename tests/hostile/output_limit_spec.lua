-- output_limit_spec.lua - what commands print of files that were made to be told at great length
-- (see tests/common/families_profiles.h): at most 200 times the file, and 4 MB with the last row,
-- and then how many rows were left out. What is cut off is whole: JSON is parsed.

local cjson = require "cjson"
local lfs = require "lfs"
local support = require "tests.common.support"
local families = require "lua_families"

local FILE_BYTES, TIMES, MORE_BYTES = 20000, 200, 5 << 20

local modes = {
  "", "-n 0", "--live -n 0", "--peak -n 0", "--leaks -n 0", "--by stack -n 0",
  "--by function -n 0", "--by file -n 0", "--by type", "--calls -n 0", "--advice -n 0", "--folded",
  "--blueprint -n 0", "--memprof", "--memprof --every 3600", "--lmprof", "--luamemprofiler",
}
local json_modes = {
  "--json", "--live --json", "--by stack --json", "--calls --json", "--advice --json",
}
-- An aggregate has no order of events.
local needs_events = {"--memprof", "--lmprof", "--luamemprofiler"}

local n, n_left_out = 0, 0

local function has_no_events(mode, errors)
  for _, option in ipairs(needs_events) do
    if mode:find(option, 1, true) == 1 then return errors:find("aggregate", 1, true) ~= nil end
  end
  return false
end

-- What it prints, but where it has nothing to say of such a profile.
local function check(dir, mode, bytes)
  local out, errors, code = support.run("heapprof " .. mode .. " p", {cwd = dir})
  n = n + 1
  if code ~= 0 and has_no_events(mode, errors) then return nil end
  assert.equal(0, code, errors)
  assert.is_true(#out <= TIMES * bytes + MORE_BYTES, #out)
  if errors ~= "" then
    assert.matches("^heapprof: [%d,]+ rows? %w+ left out: what is printed has at most 200 times " ..
                   "the bytes of what was read\n$", errors)
    assert.is_true(#out >= TIMES * bytes, #out)
    n_left_out = n_left_out + 1
  end
  return out
end

describe("what heapprof prints is limited by the file:", function()
  teardown(function()
    io.write(("\nfaults: what is printed of profiles made for long rows: %d cases, %d survived\n")
             :format(n, n))
  end)

  local names, step = families.profiles(), support.sanitized and 4 or 1
  for i = 1, #names, step do
    it(names[i], function()
      local dir = support.tmpdir()
      local path = dir .. "/p"
      families.write_profile(i, families.scale_profile(i, FILE_BYTES), path)
      local bytes = lfs.attributes(path, "size")
      for _, mode in ipairs(modes) do check(dir, mode, bytes) end
      for _, mode in ipairs(json_modes) do
        local out = check(dir, mode, bytes)
        if out then cjson.decode(out) end
      end
    end)
  end

  it("some of them reach it", function() assert.is_true(n_left_out > 0) end)
end)
