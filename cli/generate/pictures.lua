-- pictures.lua - the pictures of the manual, as a browser shows heapview's pages: `make pictures`.
--
--     lua5.4 cli/generate/pictures.lua FOLDER      in the root of the repository, after `make`
--
-- Runs the programs below, opens their snapshots, and writes each page as a PNG of some 30 KB. A
-- picture has 48 colours: those that are frequent and not alike, which for pages of flat areas and
-- text is as good as all. The browser itself reduces and packs it, so nothing else is needed.

local cjson = require "cjson"
local browser = require "tests.common.browser"
local heapview = require "tests.common.heapview"
local support = require "tests.common.support"
local mime = require "mime"

local MOST_BYTES = 60000

-- Each: its name, an example, the files of it that are opened, and the state of the page, where an
-- object may be named by its path.
local pictures = {
  {"verdict", "listener", "a b c", "verdict"},
  {"treemap", "listener", "a b c", "treemap"},
  {"flame", "listener", "a b c", "flame?against=0"},
  {"timeline", "timeline", "c", "timeline"},
  {"map", "cache", "a b c", "map"},
  {"object", "listener", "a b c", "object?tab=paths&at={_G.bus.listeners.tick[700]}"},
  {"allocations", "listener", "run.prof c", "allocations"},
}

local WIDTH, HEIGHT = 1000, 640

-- Makes a PNG with a palette of a PNG without; both in base64.
local reduce = [==[
  const [, text, done] = arguments;
  const COLOURS = 48, ALIKE = 24;
  const word = function (n) { return [n >>> 24, n >>> 16 & 255, n >>> 8 & 255, n & 255]; };
  const crcTable = Uint32Array.from({length: 256}, function (_, n) {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xEDB88320 ^ n >>> 1 : n >>> 1;
    return n;
  });
  const chunk = function (type, bytes) {
    const body = [...type].map(function (c) { return c.charCodeAt(0); }).concat(...bytes);
    let crc = ~0;
    for (const byte of body) crc = crcTable[(crc ^ byte) & 255] ^ crc >>> 8;
    return [...word(body.length - 4), ...body, ...word(~crc >>> 0)];
  };
  const distance = function (a, b) {
    return Math.abs((a & 255) - (b & 255)) + Math.abs((a >> 8 & 255) - (b >> 8 & 255)) +
      Math.abs((a >> 16 & 255) - (b >> 16 & 255));
  };
  const nearest = function (colours, colour) {
    let best = 0;
    for (let i = 1; i < colours.length; i++) {
      if (distance(colours[i], colour) < distance(colours[best], colour)) best = i;
    }
    return best;
  };
  (async function () {
    const image = new Image();
    image.src = "data:image/png;base64," + text;
    await image.decode();
    const {width, height} = image;
    const canvas = new OffscreenCanvas(width, height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const pixels = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer);
    const counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
    const colours = [];
    for (const [colour] of [...counts].sort(function (a, b) { return b[1] - a[1]; })) {
      const alike = colours.some(function (one) { return distance(one, colour) < ALIKE; });
      if (!alike && colours.length < COLOURS) colours.push(colour);
    }
    const index = new Map();
    for (const colour of counts.keys()) index.set(colour, nearest(colours, colour));
    const rows = new Uint8Array((width + 1) * height);
    for (let y = 0; y < height; y++) {
      const row = rows.subarray(y * (width + 1) + 1);
      for (let x = 0; x < width; x++) row[x] = index.get(pixels[y * width + x]);
    }
    const packed = new Response(new Blob([rows]).stream()
      .pipeThrough(new CompressionStream("deflate")));
    const data = Array.from(new Uint8Array(await packed.arrayBuffer()));
    const palette = colours.map(function (c) { return [c & 255, c >> 8 & 255, c >> 16 & 255]; });
    const png = [137, 80, 78, 71, 13, 10, 26, 10,
      ...chunk("IHDR", [word(width), word(height), [8, 3, 0, 0, 0]]),
      ...chunk("PLTE", palette), ...chunk("IDAT", [data]), ...chunk("IEND", [])];
    let bytes = "";
    for (const byte of png) bytes += String.fromCharCode(byte);
    return btoa(bytes);
  })().then(done, function (error) { done("error: " + error); });
]==]

-- Each example is run once, tracked with stacks.
local folders = setmetatable({}, {__index = function(folders, name)
  local program = support.read_file(("examples/%s.lua"):format(name))
  local tracked = 'require "heap".track{file = "run.prof", stacks = true} ' .. program
  folders[name] = select(2, support.lua(tracked, {name = name .. ".lua"}))
  return folders[name]
end})

local function address_of(path, dir)
  local answer = support.answer({"heappath", "--json", "c", path}, dir)
  return cjson.decode(answer).address
end

local function take(page, picture, folder)
  local name, example, opened, state = table.unpack(picture)
  local files = {}
  for file in opened:gmatch "%S+" do files[#files + 1] = file end
  local view = heapview.served(page, folders[example], files)
  page:size(WIDTH, HEIGHT)
  view:show((state:gsub("{(.-)}", function(path) return address_of(path, folders[example]) end)))
  local shot = mime.b64(page:picture())
  view:stop()
  page:open "about:blank"
  local reduced = page:run_until(reduce, shot)
  assert(not reduced:find("^error"), reduced)
  local bytes = mime.unb64(reduced)
  assert(#bytes < MOST_BYTES, name .. " is too big: " .. #bytes)
  support.write_file(("%s/%s.png"):format(folder, name), bytes)
  print(("%s/%s.png: %d bytes"):format(folder, name, #bytes))
end

local function main(folder)
  local page = browser.start()
  page:prefer "light"
  local fine, message = pcall(function()
    for _, picture in ipairs(pictures) do take(page, picture, folder) end
  end)
  page:stop()
  if not fine then error(message, 0) end
end

local missing = browser.missing()
if missing then
  io.stderr:write("pictures: ", missing, "\n")
  os.exit(1, true)
end
main(arg[1])
