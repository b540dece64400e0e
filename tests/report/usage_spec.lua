-- usage_spec.lua - what heapprof counts in profiles, held against a count of the same events in
-- plain Lua, which goes from block to block and not from event to event.

local cjson = require "cjson"
local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

-- ==== Random profiles ================================================================

local kinds = {"string", "table", "closure", "upvalue", "proto", "userdata", "thread", "part"}
local makers = {"C", "table", "closure", "concatenation", "growth", "call", "otherwise"}
local names = {"f", "g", "", "Bus:on"}

local function random_site()
  local maker = makers[math.random(#makers)]
  local name = math.random(0, #names)
  if math.random(20) == 1 then return {maker = math.random(2) == 1 and "host" or "unattributed"} end
  return {source = "@" .. math.random(3) .. ".lua", name = names[name], maker = maker,
          first_line = name, line = name + math.random(3), c = maker == "C" and "string.rep" or nil}
end

-- Stacks whose functions call each other in all ways, also themselves; blocks that live long or
-- not, of one unit of the clock or many.
local function random_profile(seed, n_events)
  math.randomseed(seed)
  local p = profiles.new {start_bytes = math.random(0, 100000)}
  local stacks, live = {}, {}
  for i = 1, 40 do
    local parent = i > 1 and math.random(5) > 1 and stacks[math.random(#stacks)] or nil
    stacks[i] = p:stack(parent, random_site())
  end
  for _ = 1, n_events do
    local stack, dice = stacks[math.random(#stacks)], math.random(10)
    local bytes = math.random(3) == 1 and math.random(10000) or math.random(100)
    local i = #live > 0 and math.random(#live)
    if math.random(4) == 1 then p:tick(math.random(1000000)) end
    if dice <= 5 or not i then
      live[#live + 1] = p:new(kinds[math.random(#kinds)], stack, bytes)
    elseif dice == 6 then
      p:resize(live[i], stack, bytes)
    elseif dice == 7 and math.random(10) == 1 then
      p:free_old(1)
    else
      p:free(live[i])
      live[i] = live[#live]
      live[#live] = nil
    end
  end
  return p
end

-- ==== The count in Lua ===============================================================

local ways = {
  site = function(s)
    return ("%s|%s|%d|%d|%s|%s"):format(s.source or s.maker, s.name or "?", s.first_line or 0,
                                        s.line or 0, s.maker, s.c or "")
  end,
  ["function"] = function(s)
    return ("%s|%s|%d"):format(s.source or s.maker, s.name or "?", s.first_line or 0)
  end,
  file = function(s) return s.source or s.maker end,
}

local function key_of(by, block, stack)
  if by == "type" then return block.type end
  if by == "stack" then return stack.id end
  return ways[by](stack.site)
end

-- The unit of the clock in which an interval begins: the first new one with so many bytes.
local function unit_of(p, bytes, open)
  if not bytes then return open end
  local clock, unit = 0, 0
  for _, e in ipairs(p.events) do
    if e.kind == "new" or e.kind == "resize" then clock = clock + e.bytes end
    if clock >> 12 ~= unit and clock >= bytes then return clock >> 12 end
    unit = clock >> 12
  end
  return math.huge
end

-- What each group has; of blocks that were born from one unit until another, as long as `is_before`
-- holds of what happens to them.
local function count(p, by, since, until_unit, is_before)
  local groups = {}
  local function group(block, stack)
    local key = key_of(by, block, stack)
    groups[key] = groups[key] or {allocated_bytes = 0, allocations = 0, objects = 0, resizes = 0,
                                  live_bytes = 0, live = 0, freed = 0, freed_bytes = 0, ages = 0}
    return groups[key]
  end
  local function add(g, field, n) g[field] = g[field] + n end
  for _, block in ipairs(p.blocks) do
    local is_in = block.born >= since and block.born < until_unit
    local last
    for i, state in ipairs(block.states) do
      if state.unit >= since and is_before(state) and (is_in or state.unit < until_unit) then
        local g = group(block, state.stack)
        add(g, "allocated_bytes", state.bytes)
        add(g, i == 1 and "allocations" or "resizes", 1)
        if i == 1 and block.type ~= "part" then add(g, "objects", 1) end
      end
      if is_before(state) then last = state end
    end
    if is_in and last then
      local g, freed = group(block, last.stack), block.freed
      if freed and is_before(freed) then
        add(g, "freed", 1)
        add(g, "freed_bytes", last.bytes)
        add(g, "ages", freed.age)
      else
        add(g, "live", 1)
        add(g, "live_bytes", last.bytes)
      end
    end
  end
  return groups
end

-- ====================================================================================

local dir = support.tmpdir()
local n_files = 0

local function ask(p, ...)
  n_files = n_files + 1
  local file = "p" .. n_files
  p:write(dir .. "/" .. file)
  return cjson.decode(support.answer({"heapprof", "--json", file, ...}, dir))
end

local maker_of = {["C function"] = "C", ["function"] = "closure",
                  ["other instruction"] = "otherwise"}

-- The row's name in the account above, from its fields in JSON.
local function key_of_row(by, row)
  if by == "type" then return row.type end
  local function known(x) return x ~= cjson.null and x or nil end
  local site = {source = known(row.source), name = known(row["function"]),
                maker = maker_of[row.maker] or row.maker, first_line = row.first_line,
                line = row.line, c = known(row.c_function)}
  return ways[by](site)
end

local sums = {"allocated_bytes", "allocations", "objects", "resizes", "live_bytes", "live", "freed",
              "freed_bytes"}

local function compare(expected, rows, by, field)
  local n = 0
  for _, group in pairs(expected) do n = n + (group[field] > 0 and 1 or 0) end
  assert.equal(n, #rows)
  local last = math.huge
  for _, row in ipairs(rows) do
    assert.is_true(row[field] > 0 and row[field] <= last)
    last = row[field]
    local group = expected[key_of_row(by, row)]
    assert.is_table(group)
    for _, name in ipairs(sums) do assert.equal(group[name], row[name], name) end
    if group.freed > 0 then
      assert.equal(math.floor(group.ages / group.freed + 0.5), row.mean_age_bytes)
    else
      assert.equal(cjson.null, row.mean_age_bytes)
    end
  end
end

-- Blocks that live after so many events, and how big they are then.
local function state_after(p, at)
  local bytes, by_site = 0, {}
  for _, block in ipairs(p.blocks) do
    local last
    for _, state in ipairs(block.states) do
      if state.at <= at then last = state end
    end
    if last and not (block.freed and block.freed.at <= at) then
      local key = ways.site(last.stack.site)
      by_site[key] = (by_site[key] or 0) + last.bytes
      bytes = bytes + last.bytes
    end
  end
  return bytes, by_site
end

local function always() return true end

describe("heapprof", function()
  for seed = 1, 4 do
    local p = random_profile(seed, 3000)
    for _, by in ipairs {"site", "function", "file", "type"} do
      it(("counts all by %s as Lua does, seed %d"):format(by, seed), function()
        local all = count(p, by, 0, math.huge, always)
        compare(all, ask(p, "--by", by).allocations, by, "allocated_bytes")
        compare(all, ask(p, "--live", "--by", by).allocations, by, "live_bytes")
      end)
    end

    it(("counts an interval as Lua does, seed %d"):format(seed), function()
      local since, until_unit = unit_of(p, 1 << 20), unit_of(p, 3 << 20)
      local function is_before(state) return state.unit < until_unit end
      local interval = {"--since", "1MB", "--until", "3MB"}
      local function asked(...) return ask(p, ..., table.unpack(interval)).allocations end
      local before = count(p, "site", since, until_unit, is_before)
      compare(before, asked("--by=site"), "site", "allocated_bytes")
      compare(before, asked("--live"), "site", "live_bytes")
      compare(count(p, "site", since, until_unit, always), asked("--leaks"), "site", "live_bytes")
      compare(count(p, "site", since, math.huge, always), ask(p, "--leaks", "--since", "1MB")
              .allocations, "site", "live_bytes")
    end)

    it(("divides what was allocated where an interval ends, seed %d"):format(seed), function()
      local whole = ask(p).profile
      local parts = {ask(p, "--until", "30%").profile, ask(p, "--since", "30%").profile}
      for _, field in ipairs {"allocated_bytes", "allocations", "resizes"} do
        assert.equal(whole[field], parts[1][field] + parts[2][field], field)
      end
      assert.equal(whole.until_ns, parts[2].until_ns)
      assert.equal(parts[1].until_ns, parts[2].since_ns)
    end)

    it(("finds the peak as Lua does, seed %d"):format(seed), function()
      local heap, peak, at = p.start_bytes, p.start_bytes, 0
      for i, e in ipairs(p.events) do
        heap = heap + (e.kind == "free" and -e.bytes or e.bytes or 0) - (e.old_bytes or 0)
        if heap > peak then peak, at = heap, i end
      end
      local bytes, by_site = state_after(p, at)
      local json = ask(p, "--peak")
      assert.equal(peak, json.profile.peak_bytes)
      assert.equal(p.events[at].time, json.profile.peak_ns)
      assert.equal(heap, json.profile.heap_bytes)
      assert.equal(bytes, json.whole_bytes)
      for _, row in ipairs(json.allocations) do
        assert.equal(by_site[key_of_row("site", row)], row.peak_bytes)
      end
    end)

    it(("adds up calls as Lua does, seed %d"):format(seed), function()
      local total, self, calls = {}, {}, {}
      local function add(t, key, bytes) t[key] = (t[key] or 0) + bytes end
      for id, group in pairs(count(p, "stack", 0, math.huge, always)) do
        local seen, at = {}, p.stacks[id]
        local bytes = group.allocated_bytes
        add(self, ways["function"](at.site), bytes)
        while at do
          local name, caller = ways["function"](at.site), at.parent
          if not seen[name] then add(total, name, bytes) end
          seen[name] = true
          local call = caller and ways["function"](caller.site) .. " > " .. name
          if call and not seen[call] then add(calls, call, bytes) end
          seen[call or 0] = true
          at = caller
        end
      end
      local json = ask(p, "--calls")
      local n_calls = 0
      local function text_of(name)
        local source, func, line = name:match "^(.-)|(.-)|(%d+)$"
        if source:sub(1, 1) ~= "@" then return source end
        return source .. (line == "0" and "" or ":" .. line) ..
          (func == "?" and "" or " in " .. (func == "" and "main chunk" or func))
      end
      local rows = {}
      for _, row in ipairs(json.functions) do rows[row["function"]] = row end
      for name, bytes in pairs(total) do
        local row = rows[text_of(name)]
        assert.equal(bytes, row.total_bytes, name)
        assert.equal(self[name] or 0, row.self_bytes, name)
      end
      for call, bytes in pairs(calls) do
        local from, to = call:match "^(.-) > (.*)$"
        for _, list in ipairs {{from, "called", to}, {to, "callers", from}} do
          local found
          for _, row in ipairs(rows[text_of(list[1])][list[2]]) do
            if row["function"] == text_of(list[3]) then found = row.total_bytes end
          end
          assert.equal(bytes, found, call)
          n_calls = n_calls + 1
        end
      end
      local n = 0
      for _, row in ipairs(json.functions) do n = n + #row.callers + #row.called end
      assert.equal(n_calls, n)
    end)

    it(("folds stacks as Lua does, seed %d"):format(seed), function()
      p:write(dir .. "/folded")
      local expected, found, n = {}, {}, 0
      for id, group in pairs(count(p, "stack", 0, math.huge, always)) do
        if group.allocated_bytes > 0 then
          local at, depth = p.stacks[id], 0
          while at do at, depth = at.parent, depth + 1 end
          local key = depth .. " " .. group.allocated_bytes
          expected[key] = (expected[key] or 0) + 1
        end
      end
      for line in support.answer({"heapprof", "--folded", "folded"}, dir):gmatch "[^\n]+" do
        local frames, bytes = line:match "^(.*) (%d+)$"
        local key = select(2, frames:gsub(";", "")) + 1 .. " " .. bytes
        found[key] = (found[key] or 0) + 1
        n = n + 1
      end
      assert.same(expected, found)
      assert.is_true(n > 20)
    end)
  end
end)
