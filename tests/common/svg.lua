-- svg.lua - reads the pictures that Graphviz makes of our graphs, strictly: what is no well-formed
-- XML, and any element or attribute but those that boxes, arrows and texts need, is an error. So a
-- name that became a link or a script would be found.

local svg = {}

local function set(words)
  local list = {}
  for word in words:gmatch("%S+") do list[word] = true end
  return list
end

local known_elements = set "svg g title polygon polyline path ellipse text"
local known_attributes = set [[
  width height viewBox xmlns xmlns:xlink id class transform fill stroke stroke-width
  stroke-dasharray points d cx cy rx ry text-anchor x y font-family font-size font-weight
]]

local entities = {amp = "&", lt = "<", gt = ">", quot = '"', apos = "'"}

local function decoded(text)
  assert(not text:find("]]>", 1, true), "]]> in a text")
  return (text:gsub("&([^;&]*);?", function(name)
    local number = name:match("^#(%d+)$")
    return number and utf8.char(tonumber(number)) or entities[name] or error("&" .. name)
  end))
end

local function attributes_of(text)
  local list, rest = {}, text
  while rest:find("%S") do
    local name, value, behind = rest:match('^%s+([%w:-]+)="([^"<]*)"(.*)$')
    assert(name and known_attributes[name] and not list[name], rest)
    list[name], rest = decoded(value), behind
  end
  return list
end

--- The texts of boxes and arrows: list of {class = "node" or "edge", bold = boolean, text}, and how
--- many boxes and arrows there are.
---@param picture string
---@return table[] texts
---@return table<string, integer> counts
function svg.read(picture)
  local texts, counts, open, at = {}, {node = 0, edge = 0, graph = 0}, {}, 1
  local body = picture:gsub("^<%?xml[^<>]*%?>%s*", ""):gsub("<!DOCTYPE[^<>]*>", "", 1)
  body = body:gsub("<!%-%-(.-)%-%->", function(comment)
    assert(not comment:find("--", 1, true), comment)
    return ""
  end)
  while body:find("%S", at) do
    local before, slash, name, attributes, closed, behind =
      body:match("^([^<]*)<(/?)([%w:]+)([^<>]-)(/?)>()", at)
    assert(name and known_elements[name], body:sub(at, at + 100))
    local inside = open[#open]
    if inside and inside.name == "text" then
      inside.text = decoded(before)
    elseif not (inside and inside.name == "title") then
      assert(not before:find("%S"), before)
    end
    at = behind
    if slash == "/" then
      assert(inside.name == name, name)
      open[#open] = nil
    else
      local element = {name = name, attributes = attributes_of(attributes)}
      local class = element.attributes.class
      if class then counts[class] = counts[class] + 1 end
      element.class = class or (inside and inside.class)
      element.bold = element.attributes["font-weight"] == "bold"
      if name == "text" then texts[#texts + 1] = element end
      if closed == "" then open[#open + 1] = element end
    end
  end
  assert(#open == 0, "something is not closed")
  return texts, counts
end

return svg
