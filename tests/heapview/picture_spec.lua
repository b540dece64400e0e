-- picture_spec.lua - the paths to an object as SVG, drawn by Graphviz inside heapview: well-formed,
-- of boxes, arrows and texts alone whatever names are in them, with the addresses of objects as ids
-- of their boxes, and without a word on stderr. And the questions of the object page, from outside.

local cjson = require "cjson"
local lfs = require "lfs"
local ask_view = require "tests.common.ask_view"
local hostile = require "tests.common.hostile"
local support = require "tests.common.support"
local svg = require "tests.common.svg"

local dir = support.take_leaking()

local function ask(key, ...) return ask_view(dir, key, ...) end

local function address_of(name)
  return ask("find?of=" .. name).answer.address
end

local function ids_in(picture)
  local ids = {}
  for id in picture:gmatch('<g id="(0x%x+)" class="node">') do ids[id] = true end
  return ids
end

describe("The picture of an object", function()
  local at = address_of "_G.bus.listeners.tick[30]"

  it("has the boxes of its paths, with the addresses of their objects", function()
    local answer = ask("picture?at=" .. at).answer
    local _, counts = svg.read(answer.svg)
    local ids = ids_in(answer.svg)
    assert.is_true(counts.node > 2 and counts.edge >= counts.node - 1)
    for _, step in ipairs(ask("paths?at=" .. at).answer.paths[1].steps) do
      assert.is_true(ids[step.address], step.label)
    end
  end)

  it("has so many paths as are wanted", function()
    assert.equal(1, ask("picture?limit=1&at=" .. at).answer.paths)
    local all = ask("picture?limit=1000&at=" .. at).answer
    assert.is_true(all.paths >= 1 and all.paths <= 20)
    svg.read(all.svg)
  end)

  it("is refused for the root and for garbage", function()
    local answer, code = ask "picture?at=root"
    assert.equal("no path leads to the root", answer.error)
    assert.equal(1, code)
    local garbage = ask("objects?garbage=1&limit=1").answer.objects[1]
    if garbage then
      assert.equal("nothing keeps it alive, so there is nothing to draw",
                   ask("picture?at=" .. garbage.address).error)
    end
  end)

  it("needs no thread", function()
    if support.sanitized then return pending "the search for leaks starts a thread" end
    local place = support.tmpdir() -- the build may be where another user cannot go
    assert(os.execute(("cp %s/tests/ask_view %s/c %s && chmod -R a+rX %s"):format(
      support.quote(support.build), dir, place, place)))
    -- Root may start as many as it likes. Nobody else is this user.
    local is_root = lfs.attributes(support.temporary, "uid") == 0
    local user = is_root and "setpriv --reuid 64321 --regid 64321 --clear-groups" or ""
    local out = support.run(("prlimit --nproc=1 %s ./ask_view 'picture?at=%s' c"):format(user, at),
                            {cwd = place})
    svg.read(cjson.decode(out).answer.svg)
  end)

  it("is of texts alone, whatever the names", function()
    local names = select(2, support.lua(hostile.heap(7, 40)))
    local function of(key) return ask_view(names, key, "c").answer end
    local objects = of("fields?limit=400&at=" .. of("find?of=_G.H").address).fields
    assert.is_true(#objects > 150)
    for i = 1, #objects, 11 do
      local _, counts = svg.read(of("picture?limit=3&at=" .. objects[i].address).svg)
      assert.is_true(counts.node > 1)
    end
  end)
end)

describe("Questions about an object", function()
  it("are answered by pages that add up", function()
    local at = address_of "_G.bus.listeners.tick"
    local whole = ask("fields?limit=10000&at=" .. at).answer
    local seen = {}
    for from = 0, whole.matching - 1, 7 do
      local page = ask(("fields?from=%d&limit=7&at=%s"):format(from, at)).answer.fields
      table.move(page, 1, #page, #seen + 1, seen)
    end
    assert.same(whole.fields, seen)
    local least = math.huge
    for _, field in ipairs(ask("fields?sort=-retained_bytes&at=" .. at).answer.fields) do
      local bytes = field.retained_bytes ~= cjson.null and field.retained_bytes or 0
      assert.is_true(bytes <= least)
      least = bytes
    end
  end)

  it("find it in the other snapshots", function()
    local elsewhere = ask("object?at=" .. address_of "_G.bus").answer.elsewhere
    assert.equal(2, #elsewhere)
    local first = ask("object?in=0&at=" .. elsewhere[1].address).answer
    assert.equal(elsewhere[1].shallow_bytes, first.shallow_bytes)
    assert.equal(address_of "_G.bus", first.elsewhere[2].address)
  end)

  it("are those of heappath", function()
    local name = "_G.bus.listeners.tick[30]"
    local at = address_of(name)
    local function heappath(...)
      return cjson.decode(support.answer({"heappath", "--json", "c", name, ...}, dir))
    end
    assert.same(heappath("--referrers").referrers, ask("referrers?at=" .. at).answer.referrers)
    assert.same(heappath("--dominators").dominators, ask("dominators?at=" .. at).answer.dominators)
    local wanted = heappath("-k", "2").paths
    for i, path in ipairs(ask("paths?limit=2&at=" .. at).answer.paths) do
      assert.equal(wanted[i].text, path.text)
    end
  end)

  it("say in the commands' words that nothing is found", function()
    local answer, code = ask "find?of=_G.bus.nothing"
    assert.equal(1, code)
    assert.truthy(answer.error:find("_G.bus is a table, but has no field 'nothing'", 1, true))
    assert.equal("which object?", ask("find").error)
  end)
end)
