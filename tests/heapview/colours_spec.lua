-- colours_spec.lua - each text of the page can be read, in light and in dark: the contrast of all
-- colours that stand on one another in cli/heapview/page/colours.css, as WCAG 2 defines it.

local function read(name)
  local file = assert(io.open(name))
  local text = file:read "a"
  file:close()
  return text
end

-- The variables of a :root block, over those that were there before.
local function variables(block, before)
  local all = setmetatable({}, {__index = before})
  for name, value in block:gmatch "%-%-([%w-]+):%s*(#%x+);" do
    all[name] = value
  end
  return all
end

local style = read "cli/heapview/page/colours.css"
local printed = read "cli/heapview/page/pages.css"
local light = variables(assert(style:match ":root (%b{})"))
local dark = variables(assert(style:match "prefers%-color%-scheme: dark%) {%s*:root (%b{})"), light)
local paper = variables(assert(printed:match "@media print {%s*:root (%b{})"), light)

local function luminance(colour)
  local sum = 0
  local weights = {0.2126, 0.7152, 0.0722}
  assert(#colour == 7, colour)
  for i, weight in ipairs(weights) do
    local part = tonumber(colour:sub(2 * i, 2 * i + 1), 16) / 255
    sum = sum + weight * (part <= 0.04045 and part / 12.92 or ((part + 0.055) / 1.055) ^ 2.4)
  end
  return sum
end

local function contrast(a, b)
  local one, other = luminance(a), luminance(b)
  return (math.max(one, other) + 0.05) / (math.min(one, other) + 0.05)
end

local texts = { -- ink, the grounds that it stands on
  {"ink", {"paper", "raised", "note-paper", "alarm-paper"}},
  {"faint", {"paper", "raised", "note-paper", "alarm-paper"}},
  {"link", {"paper", "raised", "note-paper", "alarm-paper"}},
  {"alarm", {"paper", "raised", "alarm-paper"}},
  {"paper", {"ink"}},
  {"on-type", {"type-table", "type-string", "type-closure", "type-upvalue", "type-proto",
    "type-userdata", "type-thread", "type-root", "type-other", "more", "less", "same", "old",
    "new"}},
}
local shapes = { -- what must be seen, and is no text
  {"edge", {"paper", "raised"}},
  {"focus", {"paper", "raised"}},
  {"bar", {"paper"}},
}

local function check(scheme, pairs_of, least)
  for _, pair in ipairs(pairs_of) do
    for _, ground in ipairs(pair[2]) do
      local found = contrast(scheme[pair[1]], scheme[ground])
      local message = ("%s on %s: %.2f"):format(pair[1], ground, found)
      assert.is_true(found >= least, message)
    end
  end
end

describe("colours of the page", function()
  for name, scheme in pairs {light = light, dark = dark, paper = paper} do
    it("can be read: " .. name, function()
      check(scheme, texts, 4.5)
    end)
    it("can be seen: " .. name, function()
      check(scheme, shapes, 3)
    end)
  end

  it("has each type in both schemes", function()
    local types = {}
    for name in style:match(":root (%b{})"):gmatch "%-%-type%-(%w+)" do
      assert.is_not_nil(rawget(dark, "type-" .. name), name)
      types[#types + 1] = name
    end
    assert.are.equal(9, #types)
  end)
end)
