--[==[
cache.lua - a cache without a limit

Each request adds an entry to a cache, and none is ever used again.

    $ lua5.4 cache.lua
    $ heapdiff a b c
    3,500 objects allocated between a and b are still alive in c: 320.1 KB; 1 older container grew by 23.6 KB
    1,000 of them retain the others; by class and by what holds them:

    retained  shallow  objects  class                  held by
    300.7 KB  74.2 KB      500  {parts, source, user}  (local templates in main chunk @cache.lua of main thread).cache[*]
     19.4 KB  19.4 KB      500  string                 key of (local templates in main chunk @cache.lua of main thread).cache

    Containers older than a that grew until b and again until c
        grew                        bytes             entries  address         class                                 path
    +23.6 KB  440 B -> 12.1 KB -> 24.1 KB  10 -> 510 -> 1,010  0x562749a91c50  map[string] of {parts, source, user}  (local templates in main chunk @cache.lua of main thread).cache

    Why the first of them stays: heappath c 0x562749aedbe0

The templates stand first, and the second table shows the container: it grew from a to b and again
from b to c. Who holds it?
    $ heappath --format text c '{parts, source, user}'
    {parts, source, user} 0x562749b33190 is kept alive by: (local templates in main chunk @cache.lua of main thread).cache["shipped/user1010"]
    1,010 {parts, source, user} in the snapshot; this is the one that retains most

    reference                                                  class                                 address         shallow  retained
    main thread                                                main thread                           0x562749a8a2a8   3.3 KB  678.2 KB
    local templates in main chunk @cache.lua (now at line 81)  {cache, compiled, get}                0x562749a91bd0    152 B  671.2 KB
    .cache                                                     map[string] of {parts, source, user}  0x562749a91c50  24.1 KB  671.0 KB
    ["shipped/user1010"]                                       {parts, source, user}                 0x562749b33190    152 B     617 B

]==]
local heap = require "heap"

local templates = {cache = {}, compiled = 0}

local sources = {
  shipped = "Dear {name}, your order {order} of {date} is on its way",
}

-- Compiling a template is slow, so the result is kept. The leak: the key holds what is different in
-- each request, so no entry is ever used again; and there is no limit to their number.
function templates.get(name, user)
  local key = name .. "/" .. user
  local template = templates.cache[key]
  if not template then
    local source = sources[name]
    template = {source = source, parts = {}, user = user}
    for text, field in source:gmatch("([^{]*){(%w+)}") do
      template.parts[#template.parts + 1] = {text = text, field = field}
    end
    templates.cache[key] = template
    templates.compiled = templates.compiled + 1
  end
  return template
end

local function render(name, user, values)
  local out = {}
  for i, part in ipairs(templates.get(name, user).parts) do
    out[i] = part.text .. tostring(values[part.field])
  end
  return table.concat(out)
end

local next_user = 0
local function serve(requests)
  for _ = 1, requests do
    next_user = next_user + 1
    local user = "user" .. next_user
    render("shipped", user, {name = user, order = next_user, date = "today"})
  end
end

serve(10)
heap.snapshot("a")
serve(500)
heap.snapshot("b")
serve(500)
heap.snapshot("c")
