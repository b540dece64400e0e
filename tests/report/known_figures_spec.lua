-- known_figures_spec.lua - what heapprof counts of programs whose allocations follow from their
-- text: binary trees, a sparse matrix, n queens, a string filter, functions in a loop. Sizes are
-- Lua 5.4's on 64 bits: a table has 56 bytes and 16 for each slot of its array, 24 (a power of 2 of
-- them) for each of its hash; a function 32 and 8 for each upvalue; a string 25 and its length.

local cjson = require "cjson"
local support = require "tests.common.support"

-- Runs the program tracked; the rows by site, by "line maker" or "line function".
local function profile_of(program, options)
  local text = ([[local heap = require "heap"  local function work() %s end
    heap.track {%sfile = "run.prof"}
    work()
    collectgarbage()  collectgarbage()
    heap.untrack()
  ]]):format(program, options or "stacks = true, ")
  local _, dir = support.lua(text, {name = "app.lua"})
  local json = cjson.decode(support.answer({"heapprof", "--json", "run.prof"}, dir))
  local rows = {}
  for _, row in ipairs(json.allocations) do
    local c = row.c_function ~= cjson.null and row.c_function
    rows[("%d %s"):format(row.line, c or row.maker)] = row
  end
  return rows, json, dir
end

-- The program has its first line on the first of the file.
local function expect(rows, name, expected)
  local row = assert(rows[name], name)
  for field, value in pairs(expected) do assert.equal(value, row[field], name .. ": " .. field) end
  return row
end

describe("the figures of", function()
  it("binary trees", function()
    local rows, json = profile_of [[
      local function tree(depth)
        if depth == 0 then return {} end
        local left, right = tree(depth - 1), tree(depth - 1)
        return {left, right}
      end
      kept = tree(5)
      for i = 1, 20 do tree(8) end
    ]]
    local leaves, inner = 20 * 256 + 32, 20 * 255 + 31
    expect(rows, "2 table", {objects = leaves, allocations = leaves, allocated_bytes = 56 * leaves,
                             live = 32, live_bytes = 56 * 32, freed = 20 * 256, resizes = 0})
    expect(rows, "4 table", {objects = inner, allocations = 2 * inner,
                             allocated_bytes = (56 + 32) * inner, live = 2 * 31,
                             live_bytes = (56 + 32) * 31, freed = 2 * 20 * 255})
    assert.equal(0, json.profile.unattributed_bytes)
  end)

  it("a sparse matrix", function()
    local rows = profile_of [[
      matrix = {}
      for i = 1, 64 do
        local row = {}
        for j = 1, 8 do row[j * 1000] = i * j end
        matrix[i] = row
      end
    ]]
    -- The hash of a row has 1, 2, 4 and 8 slots, the array of the matrix 1, 2, 4 ... 64.
    expect(rows, "3 table", {objects = 64, allocated_bytes = 64 * 56, live = 64})
    expect(rows, "4 growth", {objects = 0, allocations = 4 * 64, live = 64, freed = 3 * 64,
                              allocated_bytes = 64 * 24 * (1 + 2 + 4 + 8),
                              live_bytes = 64 * 24 * 8})
    expect(rows, "5 growth", {allocations = 1, resizes = 6, live = 1, live_bytes = 64 * 16,
                              allocated_bytes = 16 * (1 + 2 + 4 + 8 + 16 + 32 + 64)})
  end)

  it("n queens", function()
    local rows = profile_of [[
      local n, board = 8, {0, 0, 0, 0, 0, 0, 0, 0}
      found = {}
      local function is_free(row, column)
        for i = 1, row - 1 do
          local at = board[i]
          if at == column or at - i == column - row or at + i == column + row then return false end
        end
        return true
      end
      local function add(row)
        if row > n then
          found[#found + 1] = {table.unpack(board)}
          return
        end
        for column = 1, n do
          if is_free(row, column) then
            board[row] = column
            add(row + 1)
          end
        end
      end
      add(1)
      assert(#found == 92)
    ]]
    expect(rows, "12 table", {objects = 92, live = 2 * 92, live_bytes = 92 * (56 + 8 * 16)})
    expect(rows, "12 growth", {allocations = 1, resizes = 7, live_bytes = 128 * 16})
  end)

  it("a string filter", function()
    local rows, json = profile_of [[
      local line, kept = ("x"):rep(99), {}
      for i = 1, 500 do
        local upper = line:upper()
        if i % 10 == 0 then kept[i] = upper end
      end
      lines = kept
    ]]
    local row = expect(rows, "3 string.upper", {objects = 500, allocations = 500, live = 50,
                                                allocated_bytes = 500 * 124, freed = 450,
                                                freed_bytes = 450 * 124, type = "string"})
    assert.same("string.upper at @app.lua:3 in work", row.site)
    assert.equal("allocates most", json.findings[1].kind)
    assert.equal("string.upper at @app.lua:3 in work", json.findings[1].allocated.site)
  end)

  it("functions in a loop", function()
    local rows = profile_of [[
      local last
      for i = 1, 1000 do
        last = function() return i end
      end
    ]]
    -- Each with an upvalue of its own.
    expect(rows, "3 function", {objects = 2000, allocations = 2000, allocated_bytes = 1000 * 80,
                                freed = 2000, live = 0})
  end)

  it("a table that grows, with the advice to give it its size", function()
    local _, _, dir = profile_of [[
      local t = {}
      for i = 1, 4096 do t[i] = i end
    ]]
    local advice = cjson.decode(support.answer({"heapprof", "--advice", "--json", "run.prof"}, dir))
    assert.same({"table without its size", 13, 1, 4096, 16 * 8191, "@app.lua:2 in work"},
                {advice.advice[1].kind, advice.advice[1].times, advice.advice[1].objects,
                 advice.advice[1].most, advice.advice[1].bytes, advice.advice[1].site})
  end)

  it("recursive functions, which count once", function()
    local _, _, dir = profile_of [[
      local function even(n) if n == 0 then return {} end local t = odd(n - 1) return t end
      function odd(n) local t = even(n - 1) return t end
      for i = 1, 100 do even(10) end
    ]]
    local json = cjson.decode(support.answer({"heapprof", "--calls", "--json", "run.prof"}, dir))
    local functions = {}
    for _, row in ipairs(json.functions) do functions[row["function"]:match "in (.*)"] = row end
    local even, odd = functions.even, functions.odd
    -- All that they allocate besides 100 tables is room for their calls.
    assert.is_true(even.self_bytes >= 100 * 56 and even.self_bytes <= 100 * 56 + 2000)
    assert.equal(even.self_bytes + odd.self_bytes, even.total_bytes)
    assert.is_true(odd.total_bytes >= 100 * 56 and odd.total_bytes <= even.total_bytes)
    assert.equal("@app.lua:1 in even", odd.callers[1]["function"])
    assert.equal(odd.total_bytes, odd.callers[1].total_bytes)
  end)

  it("calls, some of which are tail calls", function()
    local _, _, dir = profile_of([[
      local function leaf() return {} end
      local function tail() return leaf() end
      for i = 1, 100 do local a, b = tail(), leaf() end
    ]], "stacks = true, time = true, ")
    local json = cjson.decode(support.answer({"heapprof", "--calls", "--json", "run.prof"}, dir))
    local functions = {}
    for _, row in ipairs(json.functions) do functions[row["function"]:match "in (.*)"] = row end
    assert.same({200, 100, 100, 0}, {functions.leaf.calls, functions.leaf.tail_calls,
                                     functions.tail.calls, functions.tail.tail_calls})
    assert.is_true(functions.leaf.self_bytes >= 200 * 56)
    assert.equal(functions.leaf.total_bytes // 200, functions.leaf.bytes_per_call)
    local text = support.answer({"heapprof", "--calls", "run.prof"}, dir)
    assert.matches("\n *total +share +self +blocks +calls +tail calls +per call +function\n", text)
    assert.matches(" 200 +100 +%d+ B +@app.lua:1 in leaf\n", text)
  end)
end)
