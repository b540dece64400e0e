-- where_to_cut_spec.lua - behind each path: what to clear for it to go, and code that names what
-- that is in; and that a row may retain more than the one above it.

local ask_view = require "tests.common.ask_view"
local support = require "tests.common.support"

describe("where to cut a path", function()
  local dir

  --  _G.shop.baskets -[user1..]-> {items} -.items-> {..};  _G.common -.data-> {1} (in 20 functions)
  --  _G.marks, a table with keys;  _G.deep -.next-> {} -.next-> ..
  setup(function()
    local names = {}
    for i = 1, 20 do names[i] = ("function f%d(t) return t.data end"):format(i) end
    dir = select(2, support.lua([[
      shop = {baskets = {}, seen = {}}
      function put(user) shop.baskets[user] = {items = {user}} end
      do
        local baskets = shop.baskets
        function drop(user) baskets[user] = nil end
      end
      for i = 1, 9 do put("user" .. i) end
      shop.seen[{}] = true
      common = {data = {inner = {}}}
      ]] .. table.concat(names, " ") .. [[
      local at = {}
      deep = at
      for i = 1, 40 do at.next = {} at = at.next end
      last, at = setmetatable({at}, {__mode = "v"}), nil
      local function wrap(next, cfg)
        return function() return next and next(), cfg end
      end
      router = {routes = {["/"] = wrap(nil, {link = 1})}}
      for i = 1, 40 do router.routes["/"] = wrap(router.routes["/"]) end
      at = {}
      mixed = at
      for i = 1, 40 do at["k" .. i] = {} at = at["k" .. i] end
      mixed_end, at = setmetatable({at}, {__mode = "v"}), nil
      pages = {}
      for i = 1, 12 do pages[("https://example.org/"):rep(10) .. i] = {page = i} end
      shared = {owner = {big = ("x"):rep(5000)}}
      also = {shared.owner}
      one_long_name_of_a_table = {and_a_field_with_a_long_name = {of_a_table_with_some = {
        the_last_field_of_all_fields_here = {middle = {tail = {}}},
        pages = {[("https://example.org/"):rep(10)] = {text = 1}},
      }}}
      local x = {}
      local function answer() return function() return x[1] end end
      function other() local x = {} return function() return x end end
      x[1], x[2] = {client = 1}, {client = 2}
      require "heap".snapshot "c"
    ]], {name = "shop.lua"}))
  end)

  local function told(object)
    return (support.run({"heappath", "--format", "text", "c", object}, {cwd = dir}))
  end

  local function path_of(object)
    local at = ask_view(dir, "find?of=" .. object, "c").answer.address
    return ask_view(dir, "paths?at=" .. at, "c").answer.paths[1]
  end

  it("is the entry that varies, not what is in it, and code has its field or variable", function()
    local out = told "_G.shop.baskets.user7.items"
    assert.match("\nTo cut this path, clear _G%.shop%.baskets%.user7, one of 9 entries\n", out)
    local code = out:match '\n    Code that names "baskets": ([^\n]+)\n'
    assert.match("put @shop%.lua:2", code)
    assert.match("drop @shop%.lua:5", code)
    local path = path_of "_G.shop.baskets.user7.items"
    assert.equal("_G.shop.baskets.user7", path.clear)
    assert.equal(3, path.total_functions) -- with the main chunk
    assert.equal(code, table.concat(path.functions, ", "))
  end)

  it("is the last reference where nothing varies", function()
    assert.match("\nTo cut this path, clear _G%.shop%.baskets\n", told "_G.shop.baskets")
  end)

  it("has the name around one that is in code everywhere", function()
    local out = told "_G.common.data"
    assert.match("\nTo cut this path, clear _G%.common%.data\n", out)
    assert.match('\n    Code that names "common": main chunk @shop%.lua\n', out)
  end)

  it("is told by the beginning of a key that has no room", function()
    assert.matches('\nTo cut this path, clear the entry of _G.pages whose key begins ' ..
                   '"https://example.org/https://example.org/...', told "{page}", 1, true)
  end)

  it("has its holder, too, where the whole path has no room", function()
    local cut = "\nTo cut this path, clear "
    local holder = "_G.one_long_name_of_a_table.and_a_field_with_a_long_name.of_a_table_with_some"
    assert.matches(cut .. ".the_last_field_of_all_fields_here of " .. holder .. "\n",
                   told(holder .. ".the_last_field_of_all_fields_here"), 1, true)
    assert.matches(cut .. ".tail of _G.one_long_name_of_a_table ... 3 more steps ... .middle\n",
                   told(holder .. ".the_last_field_of_all_fields_here.middle.tail"), 1, true)
    assert.matches(cut .. "the entry of " .. holder .. '.pages whose key begins "https',
                   told "{text}", 1, true)
  end)

  it("of a local variable has the functions that use that one, and no others", function()
    local out = told "{client}"
    assert.match("\nTo cut this path, clear %(local x in main chunk @shop.lua[^\n]*%)%[%d+%], " ..
                 "one of %d+ entries\n" ..
                 '    Code that names "x": main chunk @shop.lua, answer @shop.lua:%d+, ' ..
                 "@shop.lua:%d+\n", out)
  end)

  it("is not told of what stays for good", function()
    assert.not_match("To cut", told "_G.string")
  end)

  it("is where a chain begins, if the path is long", function()
    assert.match("\nTo cut this path, clear _G%.deep\n", told "_G.last[1]")
    assert.equal("_G.deep", path_of "_G.last[1]".clear)
    local chain = '\nTo cut this path, clear _G%.router%.routes%["/"%]\n' ..
                  '    Code that names "/": main chunk @shop.lua\n'
    assert.match(chain, told "{link}")
    assert.not_match("To cut", told "_G.mixed_end[1]")
  end)

  it("says that it frees less where other paths hold what is below it", function()
    local alone = "\n    That alone does not free all: .owner is held by other paths, too\n"
    assert.matches(alone, told "_G.shared.owner", 1, true)
    assert.not_match("That alone", told "_G.common.data")
    assert.not_match("That alone", told "_G.shop.baskets.user7.items")
  end)

  it("says why a field retains more than its object", function()
    local function last_line(object)
      local at = ask_view(dir, "find?of=" .. object, "c").answer.address
      local said = ask_view(dir, "fields?at=" .. at, "c").told
      return said[#said].line and said[#said].line[1].text or "a table"
    end
    assert.match("^What retains more than the object itself is reached", last_line "_G.shared")
    assert.equal("a table", last_line "_G.common")
  end)
end)
