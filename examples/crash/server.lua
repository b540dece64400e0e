-- server.lua - a shop's server that keeps the basket of each visitor, and nobody ever removes one.
-- It has no luaheap in it. When there is no memory left it aborts, so that a core tells why:
-- run.sh runs it under a limit, as a service has one, and looks into that core.

local shop = {
  baskets = {},
  prices = {tea = 3, coffee = 5, cocoa = 4},
  room = (" "):rep(1 << 20), -- for the last words
}

local function put(visitor, article)
  local basket = shop.baskets[visitor] or {visitor = visitor, articles = {}}
  shop.baskets[visitor] = basket
  table.insert(basket.articles, {name = article, price = shop.prices[article]})
end

local function serve()
  for i = 1, math.huge do
    local visitor = "visitor" .. i
    put(visitor, "tea")
    put(visitor, "cocoa")
  end
end

local _, why = pcall(serve)
shop.room = nil
collectgarbage()
io.stderr:write("server.lua: ", tostring(why), "\n")
os.execute("kill -ABRT $PPID") -- as a host in C does of itself where nobody catches the error
