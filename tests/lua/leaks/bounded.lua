-- bounded.lua - what real programs keep and bound: the noise beside which leaks are looked for.
-- Each cache is a function that looks a key up, and makes what is not there.

local bounded = {}

---Numbers from 1 to n by chance, the same in each run and in each release of Lua.
function bounded.random(seed)
  local state = seed
  return function(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n + 1
  end
end

---At most `most` entries; the least recently used goes first.
function bounded.lru(most)
  local map, head, size = {}, {}, 0
  head.next, head.prev = head, head
  local function unlink(node) node.prev.next, node.next.prev = node.next, node.prev end
  return function(key)
    local node = map[key]
    if node then
      unlink(node)
    else
      node, size = {key = key, value = {key}}, size + 1
      map[key] = node
    end
    node.next, node.prev = head.next, head
    head.next.prev, head.next = node, node
    if size > most then
      map[head.prev.key], size = nil, size - 1
      unlink(head.prev)
    end
  end
end

---At most twice `most`: the younger half becomes the older one when it is full.
function bounded.generations(most)
  local young, old, size = {}, {}, 0
  return function(key)
    local value = young[key] or old[key] or {key}
    if young[key] then return end
    if size == most then young, old, size = {}, young, 0 end
    young[key], size = value, size + 1
  end
end

---What is made at most `most` times, and then taken at random.
function bounded.random_eviction(most, random)
  local map, keys = {}, {}
  return function(key)
    if map[key] then return end
    local i = #keys < most and #keys + 1 or random(most)
    if keys[i] then map[keys[i]] = nil end
    keys[i], map[key] = key, {key}
  end
end

return bounded
