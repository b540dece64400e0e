--[==[
cache.lua - a cache without a limit

Each request adds an entry to a cache, and none is ever used again.

    $ lua5.4 cache.lua
    $ heapdiff a b c
    3,500 objects allocated between a and b are still alive in c: 320.1 KB; 1 older container grew by 23.6 KB
    1,000 of them retain the others; by class and by what holds them:

    retained  shallow  objects    in each snapshot  example         class                  held by
    300.7 KB  74.2 KB      500  10 -> 510 -> 1,010  0x560ca4d14000  {parts, source, user}  (local templates in main chunk @cache.lua of main thread).cache[*]
     19.4 KB  19.4 KB      500  10 -> 510 -> 1,010  0x560ca4d25570  string                 key of (local templates in main chunk @cache.lua of main thread).cache

    Containers older than a that grew until b and again until c
        grew                        bytes             entries  example         class                                 path
    +23.6 KB  440 B -> 12.1 KB -> 24.1 KB  10 -> 510 -> 1,010  0x560ca4caa290  map[string] of {parts, source, user}  (local templates in main chunk @cache.lua of main thread).cache

    Why the first group stays: heappath c 0x560ca4d14000

The templates stand first, and the second table shows the container: it grew from a to b and again
from b to c. Who holds it?
    $ heappath --format text c '{parts, source, user}'
    {parts, source, user} 0x560ca4d8fc00 is kept alive by: (local templates in main chunk @cache.lua of main thread).cache["shipped/user1010"]
    1,010 {parts, source, user} in the snapshot; this is the one that retains most

    reference                                                   class                                 address         shallow  retained
    main thread                                                 main thread                           0x560ca4c9f2a8   3.3 KB  678.2 KB
    local templates in main chunk @cache.lua (now at line 107)  {cache, compiled, get}                0x560ca4caa210    152 B  671.2 KB
    .cache                                                      map[string] of {parts, source, user}  0x560ca4caa290  24.1 KB  671.0 KB
    ["shipped/user1010"]                                        {parts, source, user}                 0x560ca4d8fc00    152 B     617 B

    To cut this path and its like, remove entries of (local templates in main chunk @cache.lua of main thread).cache: it has 1,010
        Code that names "cache": get @cache.lua:70, main chunk @cache.lua

What does one more cost, and what of it? A template is kept for its parts, which are all the same:
    $ heaptop --class '{parts, source, user}' c
    1,010 {parts, source, user} tables retain 607.6 KB together, 86.9% of the heap
    One more costs 616 B: the median of what one retains; on average one costs 616 B
    Allocated: 10 before a, 500 between a and b, 500 since b
    The one that retains most: (local templates in main chunk @cache.lua of main thread).cache["shipped/user1010"], 617 B
    Why it stays: heappath c 0x560ca4d8fc00

    each      least  median  90% at most   most  together
    shallow   152 B   152 B        152 B  152 B  149.9 KB
    retained  614 B   616 B        616 B  617 B  607.6 KB
    entries       3       3            3      3     3,030

    Fields, and the bytes that only they keep alive
       bytes  instances   share  values  field    of class or type
    426.1 KB      1,010  100.0%   1,010  .parts   array of {field, text}
     31.5 KB      1,010  100.0%   1,010  .user    string
         0 B      1,010  100.0%   1,010  .source  string

    Who refers to them
    references  from  class                                 by
         1,010     1  map[string] of {parts, source, user}  [*]

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
