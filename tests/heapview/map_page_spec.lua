-- map_page_spec.lua - the page of the heap map in a real browser, served and written: its squares
-- are those of the answer, types are switched off, it is zoomed into by keys and buttons, the
-- object under the keys is named and opened, and snapshots are frames.

local ask_view = require "tests.common.ask_view"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"

describe("the heap map's page", function()
  local missing = browser.missing()
  if missing then return pending(missing) end

  local page, dir

  setup(function()
    dir = support.take_leaking()
    page = browser.start()
    page:size(1200, 900)
  end)

  teardown(function() page:stop() end)

  local function ask(key) return ask_view(dir, key).answer end

  local function canvas()
    return page:run [[
      const map = document.getElementById("map");
      return Object.assign({}, map.dataset, {label: map.getAttribute("aria-label")});]]
  end

  -- Is square `i`, left of its letter, of the colour?
  local function is_colour(variable, i)
    return page:run([[
      const map = document.getElementById("map");
      const n = Number(map.dataset.squares);
      const place = heapview.squares.layout(n, map.parentElement.clientWidth, map.clientHeight);
      const scale = map.width / map.clientWidth;
      const x = (arguments[2] % place.columns + 0.1) * place.size * scale;
      const y = (Math.floor(arguments[2] / place.columns) + 0.4) * place.size * scale;
      const probe = document.createElement("canvas").getContext("2d");
      probe.fillStyle = heapview.colour(arguments[1]);
      probe.fillRect(0, 0, 1, 1);
      const wanted = probe.getImageData(0, 0, 1, 1).data.join();
      return map.getContext("2d").getImageData(x, y, 1, 1).data.join() === wanted;]], variable, i)
  end

  for _, way in ipairs {"served", "written"} do
    describe(way, function()
      local view

      setup(function() view = heapview[way](page, dir, {"a", "b", "c"}) end)

      teardown(function() view:stop() end)

      before_each(function()
        view:show "map"
        page:faults()
      end)

      after_each(function() assert.same({}, page:faults()) end)

      it("has the squares of the answer, and says what they are", function()
        local data = canvas()
        local answer = ask("map?pixels=" .. data.squares)
        assert.equal(answer.from, data.from)
        assert.equal(answer.to, data.to)
        assert.matches("^Map of .* in [%d,]+ squares of ", data.label)
        local switches = page:run [[
          return [...document.querySelectorAll(".switch")].map((one) => [one.dataset.type,
            Number(one.dataset.bytes), one.getAttribute("aria-pressed")]);]]
        for i, row in ipairs(answer.types) do
          assert.same({row.type, row.here_bytes, "true"}, switches[i])
        end
        assert.equal(#answer.regions, #view:rows("region", "filled"))
      end)

      it("begins in the upper half of a small window, and tells the rest below", function()
        for _, size in ipairs {{1000, 640}, {390, 844}} do
          page:size(size[1], size[2])
          view:show "map?colour=change"
          local top, bottom, words = table.unpack(page:run [[
            const box = document.getElementById("map").getBoundingClientRect();
            const rest = [...document.querySelectorAll(".told p")].slice(1);
            return [box.top, box.bottom, rest.map((line) => line.getBoundingClientRect().top)];]])
          assert.is_true(top < size[2] / 2, size[1] .. ": " .. top)
          assert.is_true(#words > 1)
          for _, at in ipairs(words) do assert.is_true(at > bottom) end
        end
        page:size(1200, 900)
      end)

      it("switches a type off and on by its key", function()
        page:press "t"
        view:await()
        assert.equal("map?off=table", view:state())
        assert.equal("false", page:run [[
          return document.querySelector("[data-type=table]").getAttribute("aria-pressed")]])
        page:press "t"
        view:await()
        assert.equal("map", view:state())
      end)

      it("goes from frame to frame", function()
        local whole = canvas()
        assert.same({"The snapshot before", "The next snapshot"}, page:run [[
          return ["[", "]"].map((key) => document.querySelector(
            `button[data-key="${key}"]`).getAttribute("aria-label"));]])
        page:press "["
        view:await()
        assert.equal("map?in=1", view:state())
        local frame = canvas()
        assert.equal("1", frame["in"])
        assert.equal(whole.from, frame.from)
        assert.equal(whole.squares, frame.squares)
        page:press("n", "]")
        view:await()
        assert.equal("map?colour=change", view:state())
        assert.equal("true", page:run [[
          return document.getElementById("map-change").getAttribute("aria-pressed")]])
      end)
    end)
  end

  describe("served", function()
    local view

    setup(function() view = heapview.served(page, dir, {"a", "b", "c"}) end)

    teardown(function() view:stop() end)

    it("is asked for anew, where it is left and shown again at once", function()
      view:show "verdict"
      assert.equal(ask("map").objects, page:run [[
        heapview.ask("map", {pixels: 99}).catch(() => null);
        heapview.askNoMore();
        return heapview.ask("map", {pixels: 99}).then((asked) => asked.answer.objects);]])
    end)

    it("is zoomed into, and back out", function()
      view:show "map"
      local whole = canvas()
      page:press "="
      view:await()
      local nearer = canvas()
      assert.is_true(tonumber(nearer.squares * nearer.squareBytes) <=
                     whole.squares * whole.squareBytes // 2 + 8)
      page:press "0"
      view:await()
      assert.equal("map", view:state())
      assert.same(whole, canvas())
    end)

    it("shows an object among its neighbours, as its own page leads to it", function()
      local object = ask("objects?limit=1&type=table").objects[1]
      view:show("object?at=" .. object.address)
      page:click "[data-key=on-map]"
      view:await()
      assert.equal("map?at=" .. object.address, view:state())
      assert.matches(object.address, page:texts "#map-here" [1], 1, true)
      page:press "["
      view:await()
      assert.matches("^map%?from=0x%x+&in=1&to=0x%x+$", view:state())
    end)

    it("makes what was not allocated in the interval faint", function()
      local object = ask("objects?limit=1&type=table").objects[1]
      local around = ("map?from=%s&to=0x%x&"):format(object.address, object.address + 56)
      view:show(around .. "since=0")
      assert.is_true(is_colour("--type-table", 1))
      view:show(around .. "since=0&until=0")
      assert.is_false(is_colour("--type-table", 1))
    end)

    it("shows what is gone in a frame as hollow squares, and what is new as full ones", function()
      view:show "map?colour=change"
      page:run [[
        window.looks = heapview.squares.planes({squares: 3, types: [],
          new_squares: "i", gone_squares: "ai"});]]
      assert.same({"--more", "--less", "blank"}, page:run [[
        return [0, 1, 2].map((i) => heapview.squares.look(looks, i,
          {byChange: true, off: new Set()})).map((seen) => (seen ? seen.fill : "blank"));]])
    end)

    it("draws an object where it lies, names it, and opens it", function()
      local object = ask("objects?limit=1&type=table").objects[1]
      view:show(("map?from=%s&to=0x%x"):format(object.address, object.address + 56))
      assert.equal("8", canvas().squareBytes)
      assert.is_true(is_colour("--type-table", 1))
      page:run 'document.getElementById("map").focus()'
      page:press "Right"
      page:await("its name", [[
        return document.getElementById("map-here").textContent.includes(arguments[1])]],
        object.address)
      page:press "Enter"
      page:await("its page", "return location.hash.includes(arguments[1])",
                 "/object?at=" .. object.address)
    end)
  end)
end)
