/*
** timeline_chart.js - the chart of the timeline: bins side by side in the order of allocation,
** layers one on another, marks as lines, and a cursor that says what is in a bin, for the pointer
** and for the arrow keys. What is brushed is drawn by brush.js, over it.
*/
const {make, bytes, count, countOf} = heapview;
const LEFT = 68;
const RIGHT = 12;
const TOP = 40; /* two lines of names of marks */
const BOTTOM = 40;
const LETTER_PIXELS = 15; /* a layer that is as thick says its letter */
const NAME_PIXELS = 6.6; /* a letter of the name of a mark, about */
const MOST_NAME = 18;
const CUT = 3; /* times the height of nearly all bins: what is higher is cut */

function heightFor(width) {
  return width < 600 ? 280 : 360;
}

/* ==== Bins ========================================================================== */

/* So high is the scale. One big table that was allocated long ago, and grew since then, would
** leave no room for all else: so few bins that are far above the others are cut, and say so. */
function scaleTop(answer, parts, isWhole) {
  const last = parts[parts.length - 1];
  const sums = answer.bin_bytes.map((_, i) => (last ? last.to[i] : 0));
  const most = d3.max(sums) || 1;
  const usual = d3.quantile(sums.filter((sum) => sum > 0).sort(d3.ascending), 0.95) || most;
  const isCut = !isWhole && most > CUT * usual;
  const top = isCut ? 1.3 * usual : most;
  const cut = isCut ? d3.range(sums.length).filter((i) => sums[i] > top) : [];
  return {top, sums, cut};
}

function binAt(answer, position) {
  const n = answer.bins.length - 1;
  return Math.max(0, Math.min(n - 1, d3.bisectRight(answer.bins, position) - 1));
}

function outline(chart, {from, to}) {
  const at = (list) => (_, i) => Math.max(chart.top, chart.y(list[Math.min(i, list.length - 1)]));
  return d3.area().x((edge) => chart.x(edge)).y0(at(from)).y1(at(to))
    .curve(d3.curveStepAfter)(chart.answer.bins);
}

/* The middle of where the layer is thick enough for a letter for longest; null: nowhere. */
function letterPlace(chart, part) {
  const {x, answer} = chart;
  const y = (value) => Math.max(chart.top, chart.y(value));
  let [best, most, run] = [-1, 0, 0];
  part.to.forEach((to, i) => {
    run = y(part.from[i]) - y(to) >= LETTER_PIXELS ? run + 1 : 0;
    if (run > most) [best, most] = [i - Math.floor((run - 1) / 2), run];
  });
  const width = x(answer.bins[1]) - x(answer.bins[0]);
  if (most * width < LETTER_PIXELS / 2) return null;
  return {x: (x(answer.bins[best]) + x(answer.bins[best + 1])) / 2,
    y: (y(part.from[best]) + y(part.to[best])) / 2};
}

/* A jag at the top of each bin that is cut, and where most room is between two of them how high
** the highest is: below the jags, where that is more than there is room for. */
function drawCuts(chart) {
  const {svg, x, answer, cut, sums} = chart;
  if (cut.length === 0) return;
  const group = svg.append("g").attr("class", "cuts").attr("aria-hidden", "true");
  const spans = cut.map((bin) => {
    const left = x(answer.bins[bin]);
    return {left, right: Math.max(left + 3, x(answer.bins[bin + 1]))};
  });
  for (const {left, right} of spans) {
    const middle = (left + right) / 2;
    group.append("path").attr("d", `M${left - 2},${TOP + 6}L${middle},${TOP + 2}` +
      `L${middle},${TOP + 10}L${right + 2},${TOP + 6}`);
  }
  const [begin, end] = x.range();
  const rooms = d3.pairs([{right: begin}, ...spans, {left: end}],
    (before, after) => ({from: before.right, width: after.left - before.right}));
  const room = rooms.reduce((best, one) => (one.width > best.width ? one : best));
  const highest = bytes(d3.max(cut, (bin) => sums[bin]));
  const text = cut.length > 1 ? `${cut.length} bars are cut, up to ${highest}`
    : `${highest}, cut`;
  const half = (text.length * NAME_PIXELS) / 2;
  const middle = room.from + room.width / 2;
  group.append("text").attr("x", Math.max(begin + half, Math.min(middle, end - half)))
    .attr("y", room.width > 2 * half + 8 ? TOP + 11 : TOP + 25)
    .attr("text-anchor", "middle").text(text);
}

/* ==== Scales and marks ============================================================== */

function drawPositions(chart) {
  const {svg, x, height, width} = chart;
  const axis = svg.append("g").attr("class", "scale").attr("aria-hidden", "true");
  const ticks = x.ticks(Math.max(2, Math.floor(width / 130)));
  for (const tick of ticks) {
    const place = axis.append("g").attr("transform", `translate(${Math.round(x(tick)) + 0.5},0)`);
    place.append("line").attr("y1", height - BOTTOM).attr("y2", height - BOTTOM + 5);
    place.append("text").attr("y", height - BOTTOM + 17).attr("text-anchor", "middle")
      .text(count(tick));
  }
  axis.append("text").attr("x", (LEFT + width - RIGHT) / 2).attr("y", height - 5)
    .attr("text-anchor", "middle").text("objects in the order of allocation");
}

function shortened(name) {
  return name.length > MOST_NAME ? `${heapview.head(name, MOST_NAME - 1)}\u2026` : name;
}

/* Snapshots are named before other marks; a name for which there is no room is left out. */
function placeNames(chart) {
  const rows = [[], []];
  const named = chart.answer.marks.slice().sort((a, b) => b.is_snapshot - a.is_snapshot);
  return named.map((mark) => {
    const text = shortened(mark.text);
    const half = (text.length * NAME_PIXELS) / 2 + 3;
    const at = Math.max(half, Math.min(chart.width - half, chart.x(mark.position)));
    const row = rows.findIndex((list) =>
      list.every((other) => Math.abs(other.at - at) > other.half + half));
    if (row < 0) return null;
    rows[row].push({at, half});
    return {text, at, y: TOP - 6 - 15 * row};
  }).filter((name) => name !== null);
}

function drawMarks(chart) {
  const {svg, x, height} = chart;
  const group = svg.append("g").attr("class", "marks").attr("aria-hidden", "true");
  for (const mark of chart.answer.marks) {
    const line = group.append("line").attr("class", mark.is_snapshot ? "snapshot" : "mark")
      .attr("data-position", mark.position)
      .attr("x1", x(mark.position)).attr("x2", x(mark.position))
      .attr("y1", TOP - 3).attr("y2", height - BOTTOM);
    line.append("title").text(mark.text);
  }
  for (const name of placeNames(chart)) {
    group.append("text").attr("x", name.at).attr("y", name.y).attr("text-anchor", "middle")
      .text(name.text);
  }
}

/* ==== The cursor ==================================================================== */

function lastMarkBefore(marks, position) {
  const before = marks.filter((mark) => mark.position <= position);
  return before.length > 0 ? before[before.length - 1] : null;
}

/* "objects 1,204 to 2,408, after start" */
function binText(answer, bin) {
  const from = answer.bins[bin];
  const mark = lastMarkBefore(answer.marks, from);
  return `objects ${count(from)} to ${count(answer.bins[bin + 1])}` +
    (mark ? `, after ${mark.text}` : "");
}

function layerText(layer, bin) {
  return `${layer.letter} ${layer.label}: ${bytes(layer.bin_bytes[bin])} in ` +
    countOf(layer.bin_objects[bin], "object", "objects");
}

function cursorLines(chart, bin, letter) {
  const {answer, layers} = chart;
  const there = layers.filter((layer) => layer.bin_bytes[bin] > 0);
  const lines = [`${binText(answer, bin)}: ${bytes(answer.bin_bytes[bin])}`];
  const one = there.find((layer) => layer.letter === letter);
  if (one) lines.push(layerText(one, bin));
  return lines.concat(there.filter((layer) => layer !== one)
    .sort((a, b) => b.bin_bytes[bin] - a.bin_bytes[bin]).slice(0, one ? 4 : 5)
    .map((layer) => layerText(layer, bin)));
}

/* Of the bin with this number; null: of none. */
function pointAt(chart, bin, letter) {
  chart.bin = bin;
  chart.letter = letter || null;
  chart.cursor.style("display", bin === null ? "none" : null);
  for (const path of chart.svg.node().querySelectorAll("path.layer")) {
    path.classList.toggle("chosen", bin !== null && path.dataset.letter === letter);
  }
  if (bin === null) {
    chart.tooltip.hide();
    return;
  }
  const {x, answer} = chart;
  const lines = cursorLines(chart, bin, letter);
  chart.cursor.attr("x", x(answer.bins[bin]) - 0.5)
    .attr("width", Math.max(2, x(answer.bins[bin + 1]) - x(answer.bins[bin]) + 1));
  chart.surface.attr("aria-valuenow", bin).attr("aria-valuetext", lines.join("; "));
  chart.tooltip.show(lines, x(answer.bins[bin + 1]), TOP);
}

function letterAt(chart, bin, pixels) {
  const value = chart.y.invert(pixels);
  const part = chart.parts.find((one) => one.from[bin] <= value && value < one.to[bin]);
  return part ? part.layer.letter : null;
}

function nextLetter(chart, by) {
  const there = chart.parts.filter((part) => part.layer.bin_bytes[chart.bin] > 0)
    .map((part) => part.layer.letter);
  const at = there.indexOf(chart.letter);
  return there[at < 0 ? (by > 0 ? 0 : there.length - 1)
    : Math.max(0, Math.min(there.length - 1, at + by))] || null;
}

function press(chart, event) {
  const n = chart.answer.bins.length - 1;
  const bin = chart.bin === null ? 0 : chart.bin;
  const to = {ArrowLeft: bin - 1, ArrowRight: bin + 1, PageDown: bin - 10, PageUp: bin + 10,
    Home: 0, End: n - 1}[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    pointAt(chart, bin, nextLetter(chart, event.key === "ArrowUp" ? 1 : -1));
  } else if (event.key === "Escape" && chart.bin !== null) {
    pointAt(chart, null);
  } else if (to !== undefined) {
    pointAt(chart, Math.max(0, Math.min(n - 1, to)), chart.letter);
  } else {
    return;
  }
  event.preventDefault();
}

function addSurface(chart) {
  const {svg, width, height, answer} = chart;
  chart.cursor = svg.append("rect").attr("class", "cursor").attr("y", TOP)
    .attr("height", height - TOP - BOTTOM).style("display", "none");
  chart.surface = svg.append("rect").attr("class", "surface").attr("tabindex", 0)
    .attr("data-key", "bins").attr("role", "slider").attr("aria-orientation", "horizontal")
    .attr("aria-label", "Bins; up and down go through the layers of one")
    .attr("aria-valuemin", 0).attr("aria-valuemax", answer.bins.length - 2)
    .attr("aria-valuenow", 0).attr("aria-valuetext", binText(answer, 0))
    .attr("x", LEFT).attr("y", TOP).attr("width", width - LEFT - RIGHT)
    .attr("height", height - TOP - BOTTOM)
    .on("pointermove", () => {
      const [x, y] = d3.mouse(svg.node());
      const bin = binAt(answer, chart.x.invert(x));
      pointAt(chart, bin, letterAt(chart, bin, y));
    })
    .on("pointerleave", () => pointAt(chart, null))
    .on("focus", () => pointAt(chart, chart.bin === null ? 0 : chart.bin))
    .on("blur", () => pointAt(chart, null))
    .on("keydown", () => press(chart, d3.event));
}

/* Draws into `box`; `layers` are those of the answer, dressed, `off` the letters of those that
** are hidden; with `isWhole` no bin is cut. Returns the chart: {svg, x, y, answer, cut, ...}. */
function drawTimeline(box, answer, layers, off, isWhole) {
  const width = Math.max(300, box.clientWidth);
  const height = heightFor(width);
  const shown = layers.filter((layer) => !off.includes(layer.letter));
  const parts = stack(shown, (layer) => layer.bin_bytes);
  const {top, sums, cut} = scaleTop(answer, parts, isWhole);
  const svg = heapview.drawing("chart", width, height, "group",
    "Bytes by when they were allocated");
  const chart = {box, svg, answer, layers: shown, parts, sums, cut, width, height, bin: null,
    letter: null,
    left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM,
    x: d3.scaleLinear([answer.since, answer.until], [LEFT, width - RIGHT]),
    y: d3.scaleLinear([0, top], [height - BOTTOM, TOP])};
  drawByteScale(svg, chart.y, LEFT, width - RIGHT);
  drawLayers(svg, parts, (part) => outline(chart, part), (part) => letterPlace(chart, part));
  drawCuts(chart);
  drawPositions(chart);
  drawMarks(chart);
  addSurface(chart);
  box.replaceChildren(svg.node());
  chart.tooltip = heapview.tooltip(box);
  return chart;
}

heapview.drawTimeline = drawTimeline;

/* Charts that are stacked: what their layers look like, and their scale of bytes. A
** layer has the colour of its type, in shades where several layers have one type, and a letter, so
** that no colour has to be told from another; and neighbours have a line between them. */
const SHADES = [0, 0.42, 0.2, 0.6]; /* of white in the colour; neighbours differ most */

/* Adds {letter, fill} to each layer: {label, type, ...}; type null is all that has no layer. */
function dress(layers) {
  const used = {};
  return layers.map((layer, i) => {
    const type = layer.type || "other";
    const n = used[type] = (used[type] || 0) + 1;
    const mix = d3.interpolateRgb(heapview.typeColour(type), "#ffffff");
    const letter = layer.type ? String.fromCharCode(65 + (i % 26)) : "+";
    return Object.assign({}, layer, {letter, fill: mix(SHADES[(n - 1) % SHADES.length])});
  });
}

/* From the bottom up, what is below each layer, and on top of it. */
function stack(layers, valuesOf) {
  let below = null;
  return layers.map((layer) => {
    const values = valuesOf(layer);
    const from = below || values.map(() => 0);
    below = from.map((sum, i) => sum + values[i]);
    return {layer, from, to: below};
  });
}

/* pathOf(part) is a layer's outline, and placeOf(part) where its letter has room: {x, y}, or
** null. */
function drawLayers(svg, parts, pathOf, placeOf) {
  const group = svg.append("g").attr("class", "layers").attr("aria-hidden", "true");
  for (const part of parts) {
    const {letter, fill, title} = part.layer;
    const path = group.append("path").attr("class", "layer").attr("data-letter", letter)
      .attr("fill", fill).attr("d", pathOf(part));
    if (title) path.append("title").text(title);
  }
  for (const part of parts) {
    const place = placeOf(part);
    if (place === null) continue;
    group.append("text").attr("class", "letter").attr("x", place.x).attr("y", place.y)
      .attr("dy", "0.35em").attr("text-anchor", "middle").text(part.layer.letter);
  }
}

/* A switch for each layer. `off` has the letters of those that are not drawn. */
function layerLegend(layers, off, toggle, note) {
  const list = make("ul", {class: "legend layers", "aria-label": "Layers, biggest first"});
  for (const layer of layers) {
    const isOn = !off.includes(layer.letter);
    const chip = heapview.chip(layer.letter, isOn ? layer.fill : "none", true);
    if (!isOn) chip.classList.add("off");
    const button = make("button", {type: "button", class: "layer", "aria-pressed": isOn,
      "data-key": `layer-${layer.letter}`, "data-letter": layer.letter,
      onclick: () => toggle(layer.letter)}, chip, make("span", {class: "label"}, layer.label),
    " ", make("span", {class: "faint"}, note(layer)));
    list.append(make("li", {}, button));
  }
  return list;
}

/* Round numbers of bytes from 0 to `most`, about n of them: 512.0 KB, 1.0 MB, 1.5 MB. */
function byteTicks(most, n) {
  const step = 2 ** Math.max(0, Math.round(Math.log2(Math.max(most, 1) / n)));
  return d3.range(0, most * 1.0001, step);
}

function drawByteScale(svg, y, left, right) {
  const ticks = byteTicks(y.domain()[1], 5);
  const lines = svg.append("g").attr("class", "scale").attr("aria-hidden", "true")
    .selectAll("g").data(ticks).enter().append("g")
    .attr("transform", (tick) => `translate(0,${Math.round(y(tick)) + 0.5})`);
  lines.append("line").attr("x1", left).attr("x2", right);
  lines.append("text").attr("x", left - 6).attr("dy", "0.32em").attr("text-anchor", "end")
    .text((tick) => bytes(tick));
}

Object.assign(heapview, {dress, stack, drawLayers, layerLegend, drawByteScale});

/* An interval that is brushed on the timeline, by the pointer or with the two handles,
** which are sliders that the arrow keys move. Its ends are ends of bins, or marks where these are
** near; of a written report only marks, since it carries answers about these. */
const NEAR = 6; /* pixels, from a mark */
const LEAST = 4; /* pixels: less is no brush, but a click */
const HANDLE = 10; /* pixels */
const PAUSE_MS = 500; /* so long no key is pressed before the pages follow */

/* Where an end may be: of bins and at marks, in ascending order. */
function stopsOf(answer, marks) {
  const bins = heapview.isWritten() ? [answer.since, answer.until] : answer.bins;
  const all = new Set([...bins, ...marks.map((mark) => mark.position)]);
  return [...all].filter((at) => at >= answer.since && at <= answer.until).sort((a, b) => a - b);
}

/* The end that is nearest to the pointer; a mark that is near comes first. */
function snap(brush, pixels) {
  const {x, answer} = brush.chart;
  const near = brush.marks.map((mark) => mark.position)
    .filter((at) => at >= answer.since && at <= answer.until && Math.abs(x(at) - pixels) <= NEAR)
    .sort((a, b) => Math.abs(x(a) - pixels) - Math.abs(x(b) - pixels));
  if (near.length > 0) return near[0];
  const to = Math.max(answer.since, Math.min(answer.until, x.invert(pixels)));
  const at = d3.bisectLeft(brush.stops, to);
  const below = brush.stops[Math.max(0, at - 1)];
  const above = brush.stops[Math.min(brush.stops.length - 1, at)];
  return to - below < above - to ? below : above;
}

function positionText(marks, position) {
  const mark = marks.find((one) => one.position === position);
  return `object ${heapview.count(position)}${mark ? `, ${mark.name}` : ""}`;
}

/* ==== Drawing ======================================================================= */

function place(brush) {
  const {chart, ends} = brush;
  const at = ends.map((end) => Math.max(chart.left, Math.min(chart.right, chart.x(end))));
  brush.shades[0].attr("x", chart.left).attr("width", Math.max(0, at[0] - chart.left));
  brush.shades[1].attr("x", at[1]).attr("width", Math.max(0, chart.right - at[1]));
  brush.handles.forEach((handle, i) => {
    handle.attr("transform", `translate(${at[i]},0)`).attr("aria-valuenow", ends[i])
      .attr("aria-valuetext", positionText(brush.marks, ends[i]));
  });
  brush.handles[0].attr("aria-valuemax", ends[1]);
  brush.handles[1].attr("aria-valuemin", ends[0]);
  brush.moved(ends);
}

/* Moves an end; one does not pass the other. */
function move(brush, i, to) {
  brush.ends[i] = i === 0 ? Math.min(to, brush.ends[1]) : Math.max(to, brush.ends[0]);
  place(brush);
}

function addHandle(brush, i) {
  const {chart} = brush;
  const middle = (chart.top + chart.bottom) / 2;
  const handle = chart.svg.append("g").attr("class", "handle").attr("tabindex", 0)
    .attr("role", "slider").attr("aria-orientation", "horizontal")
    .attr("data-key", i === 0 ? "since" : "until")
    .attr("aria-label", i === 0 ? "Allocated from here on" : "Allocated until here")
    .attr("aria-valuemin", chart.answer.since).attr("aria-valuemax", chart.answer.until);
  handle.append("line").attr("y1", chart.top).attr("y2", chart.bottom);
  handle.append("rect").attr("x", -HANDLE / 2).attr("y", middle - 16).attr("width", HANDLE)
    .attr("height", 32).attr("rx", 3);
  handle.append("rect").attr("class", "grip").attr("x", -HANDLE).attr("y", chart.top)
    .attr("width", 2 * HANDLE).attr("height", chart.bottom - chart.top);
  handle.on("keydown", () => pressHandle(brush, i, d3.event))
    .on("blur", () => settle(brush))
    .call(d3.drag().container(chart.svg.node())
      .on("drag", () => move(brush, i, snap(brush, d3.event.x)))
      .on("end", () => settle(brush)));
  return handle;
}

/* ==== Keys ========================================================================== */

/* One stop on; with Shift to the next mark, or the end. */
function stopFrom(brush, from, by, isMark) {
  const {answer} = brush.chart;
  const marks = brush.marks.map((mark) => mark.position)
    .filter((at) => at > answer.since && at < answer.until);
  const stops = isMark ? [answer.since, ...marks, answer.until] : brush.stops;
  if (by > 0) {
    const next = stops.filter((at) => at > from);
    return next.length === 0 ? from : next[Math.min(next.length, by) - 1];
  }
  const before = stops.filter((at) => at < from);
  return before.length === 0 ? from : before[Math.max(0, before.length + by)];
}

function pressHandle(brush, i, event) {
  const {answer} = brush.chart;
  const from = brush.ends[i];
  const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10,
    PageUp: 10}[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (by !== undefined) move(brush, i, stopFrom(brush, from, by, event.shiftKey));
  else if (event.key === "Home") move(brush, i, answer.since);
  else if (event.key === "End") move(brush, i, answer.until);
  else if (event.key === "Enter") settle(brush);
  else return;
  event.preventDefault();
  clearTimeout(brush.timer);
  if (event.key !== "Enter") brush.timer = setTimeout(() => settle(brush), PAUSE_MS);
}

/* The pages follow, if anything changed. */
function settle(brush) {
  clearTimeout(brush.timer);
  if (!brush.chart.svg.node().isConnected) return;
  const isSame = brush.ends.every((end, i) => end === brush.settled[i]);
  brush.settled = brush.ends.slice();
  if (!isSame) brush.chosen(brush.ends);
}

/* On the chart itself a new interval begins. */
function dragNew(brush) {
  let from = 0;
  let before = null;
  let isBrush = false;
  return d3.drag().container(brush.chart.svg.node()).on("start", () => {
    from = d3.event.x;
    before = brush.ends.slice();
    isBrush = false;
  }).on("drag", () => {
    isBrush = isBrush || Math.abs(d3.event.x - from) > LEAST;
    if (!isBrush) return;
    brush.ends = [snap(brush, from), snap(brush, d3.event.x)].sort((a, b) => a - b);
    place(brush);
  }).on("end", () => {
    if (!isBrush || brush.ends[0] === brush.ends[1]) brush.ends = before;
    place(brush);
    settle(brush);
  });
}

/* Puts a brush over a chart. `marks` are {name, position}, the oldest first, `ends` positions;
** `moved` is told of each step, and `chosen` of the interval that is left in the end. */
function addBrush(chart, marks, ends, moved, chosen) {
  const brush = {chart, marks, ends: ends.slice(), settled: ends.slice(), moved, chosen, timer: 0,
    stops: stopsOf(chart.answer, marks)};
  brush.shades = [0, 1].map(() => chart.svg.append("rect").attr("class", "shade")
    .attr("y", chart.top).attr("height", chart.bottom - chart.top));
  brush.handles = [0, 1].map((i) => addHandle(brush, i));
  chart.surface.call(dragNew(brush));
  place(brush);
  return brush;
}

Object.assign(heapview, {addBrush, positionText});
