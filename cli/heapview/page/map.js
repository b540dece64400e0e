/*
** map.js - the page of the heap map: which objects lie where. The regions of the address space
** stand one after the other, in squares that say which type has most of them; a switch for each
** type, zoom down to eight bytes, the object under the pointer, and the snapshots as frames of one
** picture.
**
** Where something is on the way along all regions is told in bytes, as BigInt: addresses have 64
** bits. What is looked at stands in the page's address as `from` and `to`, or as the object `at`.
*/
const {make, chip, bytes, count, countOf} = heapview;
const SQUARE = 6; /* pixels, for which squares are asked; if they are fewer they are bigger */
const REST_MS = 120; /* so long the pointer rests before it is asked what is there */
const NAMED = 6; /* objects in a square */
const WHOLE = {at: null, from: null, to: null};
const KEYS = {table: "t", string: "s", closure: "f", upvalue: "v", proto: "p", userdata: "u",
  thread: "c"};

/* ==== Along the regions ============================================================= */

function regionsOf(answer) {
  let start = 0n;
  return answer.regions.map((row) => {
    const region = {from: BigInt(row.from), to: BigInt(row.to), start};
    start += region.to - region.from;
    return region;
  });
}

function alongOf(regions, address) {
  const region = regions.find((one) => address < one.to) || regions[regions.length - 1];
  const inside = address < region.from ? 0n : address - region.from;
  return region.start + (address < region.to ? inside : region.to - region.from);
}

function addressAt(regions, along) {
  let region = regions[0];
  for (const one of regions) if (one.start <= along) region = one;
  return region.from + (along - region.start);
}

function hex(address) {
  return `0x${address.toString(16)}`;
}

/* ==== What is looked at ============================================================= */

/* `in` only where it is not the last snapshot: so a written report has the answer. */
function frameOf(state) {
  const last = heapview.overview.snapshots.length - 1;
  const at = heapview.snapshotNumber(state.parameters);
  return {at, last, in: at === last ? null : at};
}

function heightFor(width) {
  return Math.max(220, Math.min(600, Math.round(Math.min(width * 0.6, innerHeight * 0.62))));
}

function squaresFor(width) {
  return Math.floor(width / SQUARE) * Math.floor(heightFor(width) / SQUARE);
}

async function askFor(root, state) {
  const frame = frameOf(state);
  if (heapview.isWritten()) return heapview.ask("map", {in: frame.in});
  const width = Math.round((root.clientWidth || 1200) / 64) * 64;
  const {at, from, to} = state.parameters;
  return heapview.ask("map", {at, in: frame.in, from, to, pixels: squaresFor(width)});
}

function offTypes(state) {
  return new Set((state.parameters.off || "").split(",").filter((type) => type !== ""));
}

/* Squares `first` to `end`, which may be beyond what is shown now. */
function showSquares(view, first, end, options) {
  const {answer, regions} = view;
  const size = BigInt(answer.square_bytes);
  const last = regions[regions.length - 1];
  const whole = last.start + last.to - last.from;
  const clip = (along) => (along < 0n ? 0n : along > whole ? whole : along);
  const at = view.along + BigInt(Math.floor(first)) * size;
  const to = view.along + BigInt(Math.ceil(end)) * size;
  const isAll = at <= 0n && to >= whole;
  heapview.change(isAll ? WHOLE : {at: null, from: hex(addressAt(regions, clip(at))),
    to: hex(addressAt(regions, clip(to)))}, options);
}

/* In, for a factor above 1, or out, around a square. */
function zoom(view, factor, around, options) {
  const n = view.answer.squares;
  const at = around === null ? n / 2 : around;
  const wanted = n / factor;
  if (factor > 1 && view.answer.square_bytes <= 8 && n <= 64) return;
  showSquares(view, at - (at / n) * wanted, at + (1 - at / n) * wanted, options);
}

function pan(view, share) {
  const n = view.answer.squares;
  showSquares(view, n * share, n * (1 + share));
}

function toFrame(view, at) {
  if (at < 0 || at > view.frame.last || at === view.frame.at) return;
  const {answer, state} = view;
  const part = state.parameters.at === undefined ? {}
    : {at: null, from: answer.from, to: answer.to}; /* other snapshots may not have it */
  heapview.change(Object.assign({in: at === view.frame.last ? null : at}, part));
  heapview.announce(`snapshot ${heapview.overview.snapshots[at].name}`);
}

function toggle(view, type) {
  const off = new Set(view.off);
  if (!off.delete(type)) off.add(type);
  heapview.change({off: [...off].join(",") || null}, {replace: true});
  heapview.announce(`${type} ${off.has(type) ? "off" : "on"}`);
}

function toggleChange(view) {
  heapview.change({colour: view.byChange ? null : "change"}, {replace: true});
}

/* ==== One square ==================================================================== */

function rangeOf(view, i) {
  const size = BigInt(view.answer.square_bytes);
  const at = view.along + BigInt(i) * size;
  const last = view.regions[view.regions.length - 1];
  const whole = last.start + last.to - last.from;
  const end = at + size > whole ? whole : at + size;
  return {from: addressAt(view.regions, at), to: addressAt(view.regions, end - 1n) + 1n};
}

/* What is known of it without asking: "0x55..: mostly table, 5 of 8 parts". */
function roughly(view, i) {
  const {type, level} = heapview.squares.dominant(view.squares, i, view.off);
  const range = rangeOf(view, i);
  const what = type === null ? "nothing" : `mostly ${type}, ${level} of 8 parts filled`;
  const fresh = view.squares.fresh[i] > 0 ? ", something new" : "";
  return `${hex(range.from)}, ${bytes(view.answer.square_bytes)}: ${what}${fresh}`;
}

async function askSquare(view, i) {
  const range = rangeOf(view, i);
  const {answer} = await heapview.ask("map", {in: view.frame.in, from: hex(range.from),
    to: hex(range.to), pixels: 1, limit: NAMED});
  return answer;
}

function objectText(row) {
  return `${row.text} ${row.begins}, ${bytes(row.shallow_bytes)}`;
}

function exactly(view, i, answer) {
  const range = rangeOf(view, i);
  const parts = answer.types.filter((row) => row.here_bytes > 0)
    .map((row) => `${row.type} ${bytes(row.here_bytes)}`);
  const lines = [`${hex(range.from)}, ${bytes(answer.square_bytes)}: ` +
    (parts.length > 0 ? parts.join(", ") : "nothing")];
  lines.push(...answer.list.map(objectText));
  const more = answer.objects_here - answer.list.length;
  if (more > 0) lines.push(`and ${countOf(more, "object", "objects")} more`);
  return lines;
}

function tell(view, i, lines) {
  const {size, columns} = view.place;
  const x = (i % columns) * size;
  const y = Math.floor(i / columns) * size;
  view.mark.hidden = false;
  view.mark.style.left = `${x - 1}px`;
  view.mark.style.top = `${y - 1}px`;
  view.mark.style.width = view.mark.style.height = `${size + 2}px`;
  view.here.textContent = lines.join("; ");
  view.tooltip.show(lines, x + size, y + size);
}

/* The square that the pointer or the keys are on; null: none. */
function pointAt(view, i, isHeard) {
  clearTimeout(view.timer);
  if (i === null || i < 0 || i >= view.answer.squares) {
    view.cursor = null;
    view.mark.hidden = true;
    view.tooltip.hide();
    return;
  }
  view.cursor = i;
  tell(view, i, [roughly(view, i)]);
  view.timer = setTimeout(async () => {
    const known = heapview.isWritten() ? null : await askSquare(view, i).catch(() => null);
    if (view.cursor !== i) return;
    if (known) tell(view, i, exactly(view, i, known));
    if (isHeard) heapview.announce(view.here.textContent);
  }, REST_MS);
}

/* The object, if there is one alone; else nearer. */
async function open(view, i) {
  if (i === null) return;
  const known = heapview.isWritten() ? null : await askSquare(view, i).catch(() => null);
  if (known && known.objects_here === 1) heapview.go("object", {at: known.list[0].address});
  else if (known) zoom(view, 8, i);
}

/* ==== The picture =================================================================== */

function options(view) {
  return {off: view.off, byChange: view.byChange, starts: view.starts,
    isFiltered: view.isFiltered};
}

function fit(view) {
  const width = view.box.clientWidth || 1200;
  view.place = heapview.squares.layout(view.answer.squares, width, heightFor(width));
  heapview.squares.draw(view.canvas, view.squares, view.place, options(view));
}

function squareAt(view, event) {
  const {size, columns} = view.place;
  const column = Math.floor(event.offsetX / size);
  const i = Math.floor(event.offsetY / size) * columns + column;
  return column < 0 || column >= columns || i >= view.answer.squares ? null : i;
}

/* The squares in which listed objects begin, where single ones can be seen. */
function startsOf(view) {
  const size = BigInt(view.answer.square_bytes);
  if (view.answer.list.length === 0 || size > 64n) return null;
  return view.answer.list.map((row) =>
    Number((alongOf(view.regions, BigInt(row.begins)) - view.along) / size))
    .filter((i) => i >= 0);
}

function onPointer(view) {
  const {canvas} = view;
  let from = null;
  canvas.addEventListener("pointermove", (event) => {
    const i = squareAt(view, event);
    if (i !== view.cursor) pointAt(view, i, false);
  });
  canvas.addEventListener("pointerleave", () => pointAt(view, null, false));
  canvas.addEventListener("pointerdown", (event) => { from = squareAt(view, event); });
  canvas.addEventListener("pointerup", (event) => {
    const to = squareAt(view, event);
    if (from === null || to === null) return;
    if (Math.abs(to - from) <= 1) open(view, to);
    else showSquares(view, Math.min(from, to), Math.max(from, to) + 1);
    from = null;
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(view, event.deltaY < 0 ? 2 : 0.5, squareAt(view, event), {replace: true});
  }, {passive: false});
}

function onCanvasKey(view, event) {
  const {columns} = view.place;
  const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns}[event.key];
  const at = view.cursor;
  if (step !== undefined) {
    const to = at === null ? 0 : at + step;
    if (to >= 0 && to < view.answer.squares) pointAt(view, to, true);
  } else if (event.key === "Enter") {
    open(view, at);
  } else if (event.key === "Escape") {
    heapview.change(WHOLE);
  } else {
    return;
  }
  event.preventDefault();
}

function markObject(view) {
  const row = view.answer.list.find((one) => one.address === view.state.parameters.at);
  if (!row) return;
  const i = Number((alongOf(view.regions, BigInt(row.begins)) - view.along) /
    BigInt(view.answer.square_bytes));
  view.cursor = i;
  tell(view, i, [objectText(row)]);
}

/* ==== Controls ====================================================================== */

function onKey(view, event) {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  const type = Object.keys(KEYS).find((one) => KEYS[one] === event.key);
  const actions = {
    "+": () => zoom(view, 2, view.cursor), "=": () => zoom(view, 2, view.cursor),
    "-": () => zoom(view, 0.5, view.cursor), "0": () => heapview.change(WHOLE),
    PageDown: () => pan(view, 0.5), PageUp: () => pan(view, -0.5),
    "[": () => toFrame(view, view.frame.at - 1), "]": () => toFrame(view, view.frame.at + 1),
    n: () => toggleChange(view)
  };
  if (type && view.answer.types.some((row) => row.type === type)) toggle(view, type);
  else if (actions[event.key]) actions[event.key]();
  else return;
  event.preventDefault();
}

function button(text, key, title, act, attributes) {
  return make("button", Object.assign({type: "button", title, "data-key": key, onclick: act,
    "aria-keyshortcuts": key}, attributes), text);
}

function zoomButtons(view) {
  if (heapview.isWritten()) return null;
  return make("div", {class: "map-group", role: "group", "aria-label": "Zoom"},
    button("+", "+", "twice as near", () => zoom(view, 2, view.cursor),
      {"aria-label": "Zoom in"}),
    button("\u2212", "-", "half as near", () => zoom(view, 0.5, view.cursor),
      {"aria-label": "Zoom out"}),
    button("Whole heap", "0", "all regions", () => heapview.change(WHOLE)),
    button("\u25c0", "PageUp", "to lower addresses", () => pan(view, -0.5),
      {"aria-label": "To lower addresses"}),
    button("\u25b6", "PageDown", "to higher addresses", () => pan(view, 0.5),
      {"aria-label": "To higher addresses"}));
}

function frameButtons(view) {
  const {snapshots} = heapview.overview;
  if (snapshots.length < 2) return null;
  const few = snapshots.length <= 8 ? snapshots.map((snapshot, at) =>
    make("button", {type: "button", class: "frame", "data-key": `frame-${at}`, "data-in": at,
      "aria-pressed": String(at === view.frame.at), onclick: () => toFrame(view, at)},
    snapshot.name || snapshot.file)) : [];
  return make("div", {class: "map-group", role: "group", "aria-label": "Frames"},
    button("[", "[", "the snapshot before", () => toFrame(view, view.frame.at - 1),
      {"aria-label": "The snapshot before"}), few,
    button("]", "]", "the next snapshot", () => toFrame(view, view.frame.at + 1),
      {"aria-label": "The next snapshot"}));
}

/* What is new and gone against the snapshot before, or new in the interval. */
function changeButton(view) {
  const {answer} = view;
  if (answer.since === null && !view.isFiltered) return null;
  const text = answer.since === null ? "New in the interval" : `Changed since ${answer.since}`;
  return button(text, "n", `${bytes(answer.new_bytes)} new, ${bytes(answer.gone_bytes)} gone`,
    () => toggleChange(view), {id: "map-change", "aria-pressed": String(view.byChange)});
}

function saveButtons(view) {
  const png = () => view.canvas.toBlob((blob) => heapview.save(blob, "image/png", "map.png"));
  const svg = () => heapview.save(heapview.squares.toSvg(view.squares, view.place,
    options(view)), "image/svg+xml", "map.svg");
  return [make("button", {type: "button", onclick: png}, "Save as PNG"),
    make("button", {type: "button", onclick: svg}, "Save as SVG")];
}

function legend(view) {
  const rows = view.answer.types.map((row) => make("button", {type: "button",
    class: "switch", "data-type": row.type, "data-bytes": row.here_bytes,
    "data-key": `type-${row.type}`, "aria-pressed": String(!view.off.has(row.type)),
    "aria-keyshortcuts": KEYS[row.type], onclick: () => toggle(view, row.type)},
  heapview.typeChip(row.type),
  `${row.type} `, make("span", {class: "faint"}, bytes(row.here_bytes))));
  const list = make("div", {class: "types", role: "group", "aria-label": "Types"}, rows);
  if (view.byChange) {
    list.append(make("span", {class: "changes"}, chip("+", heapview.colour("--more")), "new ",
      chip("\u2212", heapview.colour("--less")), "gone ",
      chip("\u00a0", heapview.colour("--edge")), "as before"));
  }
  return list;
}

function description(view) {
  const {answer} = view;
  const types = answer.types.map((row) => `${row.type} ${bytes(row.here_bytes)}`);
  return `Map of ${bytes(answer.here_bytes)} of objects from ${answer.from} to ${answer.to} in ` +
    `${count(answer.squares)} squares of ${bytes(answer.square_bytes)}: ${types.join(", ")}. ` +
    "Arrows move from square to square.";
}

function makeView(state, answer) {
  const regions = regionsOf(answer);
  const view = {
    state, answer, regions, frame: frameOf(state), off: offTypes(state), cursor: null,
    along: alongOf(regions, BigInt(answer.from)), squares: heapview.squares.planes(answer),
    byChange: state.parameters.colour === "change",
    isFiltered: state.parameters.since !== undefined || state.parameters.until !== undefined
  };
  view.starts = startsOf(view);
  return view;
}

function addPicture(root, view) {
  const {answer} = view;
  view.canvas = make("canvas", {id: "map", tabindex: 0, role: "application",
    "aria-label": description(view), "aria-roledescription": "heap map", "data-key": "map",
    "data-squares": answer.squares, "data-square-bytes": answer.square_bytes,
    "data-from": answer.from, "data-to": answer.to, "data-in": view.frame.at});
  view.mark = make("div", {class: "map-mark", hidden: true});
  view.box = make("div", {class: "map-box"}, view.canvas, view.mark);
  view.tooltip = heapview.tooltip(view.box);
  view.here = make("p", {id: "map-here", class: "faint"},
    heapview.isWritten()
      ? "This file has the whole map. Served, it is zoomed into, and names each object."
      : "A click goes nearer, or opens the object that is there alone.");
  root.append(make("div", {class: "map-group switches"}, legend(view), saveButtons(view)),
    view.box, view.here);
  view.canvas.addEventListener("keydown", (event) => onCanvasKey(view, event));
  onPointer(view);
  fit(view);
}

/* Blank lines part the words from tables, which have their own room here. */
function isSomething(item) {
  return item.table || item.line.some((part) => part.text !== "");
}

async function show(root, state) {
  const {answer, told} = await askFor(root, state);
  const hasPicture = answer.squares > 0;
  const above = hasPicture ? 1 : told.length; /* the sentence; behind it comes the picture */
  root.append(heapview.told(told.slice(0, above)));
  if (!hasPicture) return undefined;
  const view = makeView(state, answer);
  heapview.toolbar(root, zoomButtons(view), frameButtons(view), changeButton(view));
  addPicture(root, view);
  root.append(heapview.told(told.slice(above).filter(isSomething)));
  markObject(view);
  const press = (event) => onKey(view, event);
  const drawNoMore = heapview.onWidth(view.box, () => fit(view));
  addEventListener("keydown", press);
  return () => {
    clearTimeout(view.timer);
    removeEventListener("keydown", press);
    drawNoMore();
  };
}

heapview.tellKeys("map", "+ -", "nearer, farther");
heapview.tellKeys("map", "0", "the whole heap");
heapview.tellKeys("map", "PageUp, PageDown", "to lower, to higher addresses");
heapview.tellKeys("map", "[ ]", "the snapshot before, the next one");
heapview.tellKeys("map", "n", "what is new and gone, or types");
heapview.tellKeys("map", Object.values(KEYS).join(" "), "a type on or off");
heapview.define({name: "map", title: "Heap map", show,
  lead: "Which types of objects lie where in memory, hole by hole."});
