/*
** timeline.js - the page of the timeline: what lives, by when it was allocated, without anything
** having been tracked. An interval that is brushed here is what all other pages then show; below
** the chart stands what was allocated in it and stays, in the words of heapdiff --since. With
** several snapshots the chart of series.js follows.
**
** In the page's address: since, until (the interval), by, garbage, left, right (what is looked at
** closely), off (letters of the layers that are hidden), height (whole: no bin is cut).
*/
const {make, bytes, count} = heapview;
const ALL = {since: null, until: null};
const MOST_ROWS = 50; /* of the table: bins are taken together */
const MOST_MARKS = 400;

function numberOf(text) {
  return /^\d+$/.test(text || "") ? Number(text) : null;
}

/* ==== What is asked ================================================================== */

/* What stands for all is left out: so a written report has the answer. */
function askedOf(state) {
  const {by, garbage, left, right} = state.parameters;
  return {by: by === "class" ? null : by, garbage: garbage === "1" ? 1 : null,
    since: numberOf(left), until: numberOf(right)};
}

/* The brushed interval, within the axis. */
function endsOf(state, answer) {
  const {since, until} = state.parameters;
  const ends = [numberOf(since) || 0, numberOf(until) === null ? answer.positions
    : Math.min(numberOf(until), answer.positions)];
  return ends[0] <= ends[1] ? ends : [0, answer.positions];
}

function isWhole(ends, answer) {
  return ends[0] === 0 && ends[1] === answer.positions;
}

function choose(state, answer, ends) {
  heapview.change(isWhole(ends, answer) ? ALL
    : {since: ends[0] === 0 ? null : ends[0],
      until: ends[1] === answer.positions ? null : ends[1]});
}

/* ==== Controls ====================================================================== */

/* From mark to mark, for those who neither drag nor count. */
function markChoice(label, key, ends, at, answer, marks, chosen) {
  const ends_ = [{value: 0, text: "the start"}].concat(
    marks.map((mark) => ({value: mark.position, text: mark.name})),
    [{value: answer.positions, text: "the end"}]);
  const seen = new Set();
  const options = ends_.filter((one) => !seen.has(one.value) && seen.add(one.value));
  if (!seen.has(ends[at])) {
    options.push({value: ends[at], text: `object ${count(ends[at])}`});
  }
  options.sort((a, b) => a.value - b.value);
  const control = heapview.choice(label, options, ends[at], (value) => {
    const next = ends.slice();
    next[at] = Number(value);
    chosen(next.sort((a, b) => a - b));
  });
  control.querySelector("select").dataset.key = key;
  return control;
}

function zoomButtons(state, answer, ends) {
  const isClose = answer.since > 0 || answer.until < answer.positions;
  const closer = make("button", {type: "button", "data-key": "zoom",
    disabled: isWhole(ends, answer), title: "the brushed interval fills the chart",
    onclick: () => heapview.change({left: ends[0], right: ends[1]})}, "Look closer");
  const whole = make("button", {type: "button", "data-key": "whole", disabled: !isClose,
    onclick: () => heapview.change({left: null, right: null})}, "Whole axis");
  return [closer, whole];
}

function addControls(view, root) {
  const {state, answer, ends} = view;
  const kinds = ["class", "type", "place"].map((value) => ({value, text: value}));
  const by = heapview.choice("Layers by", kinds, answer.by,
    (value) => heapview.change({by: value === "class" ? null : value, off: null}));
  const what = heapview.choice("Of",
    [{value: "", text: "what lives"}, {value: "1", text: "garbage"}], answer.garbage ? "1" : "",
    (value) => heapview.change({garbage: value || null, off: null}));
  by.querySelector("select").dataset.key = "by";
  what.querySelector("select").dataset.key = "of";
  const chosen = (next) => choose(state, answer, next);
  const isWholeHeight = state.parameters.height === "whole";
  view.height = make("button", {type: "button", "data-key": "height",
    "aria-pressed": isWholeHeight, onclick: () => heapview.change(
      {height: isWholeHeight ? null : "whole"}, {replace: true})}, "Whole height");
  heapview.toolbar(root, by, what,
    markChoice("From", "from", ends, 0, answer, view.marks, chosen),
    markChoice("to", "to", ends, 1, answer, view.marks, chosen),
    zoomButtons(state, answer, ends), view.height,
    heapview.saveButton(() => view.chart.svg.node(), "timeline"));
}

/* All of the snapshot that is looked at, as the overview has them of the last; if they are not
** too many for a list. */
function marksOf(state, answer) {
  const {snapshots, marks} = heapview.overview;
  const isLast = heapview.snapshotNumber(state.parameters) === snapshots.length - 1;
  if (isLast && marks.length <= MOST_MARKS) return marks;
  return answer.marks.map((mark) => ({name: mark.text, position: mark.position}));
}

/* ==== The chart ===================================================================== */

function draw(view) {
  const {state, answer, ends} = view;
  const focused = document.activeElement && view.box.contains(document.activeElement)
    ? document.activeElement.dataset.key : null;
  view.chart = heapview.drawTimeline(view.box, answer, view.layers, view.off,
    state.parameters.height === "whole");
  view.height.hidden = view.chart.cut.length === 0 && state.parameters.height !== "whole";
  const within = ends.map((end) => Math.max(answer.since, Math.min(answer.until, end)));
  heapview.addBrush(view.chart, view.marks, within, (now) => tellBrush(view, now), (now) => {
    const next = now.map((end, i) => (end === within[i] ? ends[i] : end));
    choose(state, answer, next);
    heapview.announce(view.brushed.textContent);
  });
  const again = focused && view.box.querySelector(`[data-key="${focused}"]`);
  if (again) again.focus({preventScroll: true});
}

/* As the brush moves; what is in it is added up from the bins that it has. */
function tellBrush(view, ends) {
  const {answer} = view;
  if (isWhole(ends, answer)) {
    view.brushed.textContent = "Brush an interval: then all pages show what was allocated in it.";
    return;
  }
  const text = (at) => heapview.positionText(view.marks, at);
  view.brushed.textContent = `Brushed: from ${text(ends[0])} to ${text(ends[1])}`;
}

function addChart(view, root) {
  const {state, answer} = view;
  view.box = make("div", {class: "picture timeline"});
  view.brushed = make("p", {class: "brushed", id: "brushed"});
  const note = (layer) => `${bytes(layer.bytes)}, ${heapview.share(layer.bytes, answer.bytes)}`;
  const toggle = (letter) => {
    const off = view.off.includes(letter) ? view.off.replace(letter, "") : view.off + letter;
    heapview.change({off: off || null}, {replace: true});
  };
  root.append(view.box, view.brushed, heapview.layerLegend(view.layers, view.off, toggle, note));
  draw(view);
  return heapview.onWidth(view.box, () => draw(view));
}

/* ==== The same as a table =========================================================== */

function sum(list, from, until) {
  return list.slice(from, until).reduce((all, n) => all + n, 0);
}

function tableOf(view) {
  const {answer, layers} = view;
  const n = answer.bins.length - 1;
  const width = Math.ceil(n / MOST_ROWS) || 1;
  const named = layers.map((layer) =>
    ({heading: `${layer.letter} ${layer.label}`, kind: "bytes"}));
  const columns = [{heading: "objects allocated before", kind: "count"},
    {heading: "bytes", kind: "bytes"}, ...named, {heading: "marks", kind: "text"}];
  const rows = d3.range(0, n, width).map((from) => {
    const until = Math.min(n, from + width);
    const sums = [answer.bin_bytes].concat(layers.map((layer) => layer.bin_bytes))
      .map((list) => sum(list, from, until));
    const inside = view.marks.filter((mark) => mark.position >= answer.bins[from] &&
      (mark.position < answer.bins[until] || until === n));
    return {cells: [{text: count(answer.bins[from]), value: answer.bins[from]}].concat(
      sums.map((value) => ({text: bytes(value), value})),
      {text: inside.map((mark) => mark.name).join(", ")})};
  });
  return heapview.table({caption: "Bytes by when they were allocated", columns, rows});
}

/* An answer in a part of the page of its own: where it cannot be had, the others can. */
function addAnswer(root, id, title, fill) {
  const section = make("section", {class: "answer", id}, make("h3", {}, title));
  root.append(section);
  return heapview.attempt(section, fill);
}

async function show(root, state) {
  const {answer, told} = await heapview.ask("timeline", askedOf(state));
  const view = {state, answer, ends: endsOf(state, answer), marks: marksOf(state, answer),
    layers: heapview.dress(answer.layers), off: state.parameters.off || ""};
  addControls(view, root);
  const leave = addChart(view, root);
  try {
    if (!isWhole(view.ends, answer)) {
      await addAnswer(root, "interval", "Allocated there, and still alive", async (section) =>
        section.append(heapview.told((await heapview.ask("interval", {limit: 20})).told)));
    }
    root.append(make("section", {class: "answer", id: "layers"}, heapview.told(told)));
    root.append(heapview.asTable(() => tableOf(view)));
    if (heapview.overview.snapshots.length > 1) {
      await addAnswer(root, "series", "Over the snapshots", addSeries);
    }
  } catch (error) {
    leave();
    throw error;
  }
  return leave;
}

heapview.tellKeys("timeline", "Left, Right", "from bin to bin, or a handle of the brush");
heapview.tellKeys("timeline", "Shift+Left, Shift+Right", "a handle from mark to mark");
heapview.tellKeys("timeline", "Up, Down", "through the layers of a bin");
heapview.define({name: "timeline", title: "Timeline", show,
  lead: "What lives, by when it was allocated: the order of allocation is the axis."});

/* Bytes by place over the snapshots, stacked: what never changed at the bottom, what
** grows most steadily on top, with the verdict of each. The rows are the ladder's of heapdiff, and
** each snapshot adds up to its whole. */
const LEFT = 68;
const TOP = 12;
const BOTTOM = 44;
const LETTER_PIXELS = 15;

/* ==== Layers ======================================================================== */

function changeOf(series) {
  return heapview.bytesChange(series[0], series[series.length - 1]);
}

/* From the top down: rows, their rest, and what is level. */
function layersOf(answer) {
  const rows = answer.paths.map((row) => ({label: row.held_by, type: row.type,
    verdict: row.verdict, series: row.bytes, class: row.class}));
  const n = answer.total_paths - rows.length;
  const layers = heapview.dress(rows);
  if (n > 0) {
    layers.push({label: heapview.countOf(n, "other place", "other places"), letter: "+",
      verdict: "smaller changes", series: answer.others.bytes,
      fill: heapview.typeColour("other")});
  }
  layers.push({label: "all else", letter: "=", verdict: "level", series: answer.level.bytes,
    fill: heapview.colour("--same")});
  for (const layer of layers) layer.title = `${layer.label}: ${layer.verdict}`;
  return layers;
}

/* ==== The chart ===================================================================== */

/* In the snapshot in which there is most room; null: in none is enough. */
function letterPlace({from, to}, x, y) {
  const last = from.length - 1;
  const thickness = from.map((below, k) => y(below) - y(to[k]));
  const at = d3.scan(thickness, d3.descending);
  if (thickness[at] <= LETTER_PIXELS) return null;
  return {x: x(at) + (at === 0 ? 10 : at === last ? -10 : 0), y: y((from[at] + to[at]) / 2)};
}

function shortened(name, pixels) {
  const room = Math.max(4, Math.floor(pixels / 7));
  return name.length > room ? `\u2026${heapview.tail(name, room - 1)}` : name;
}

function timeText(seconds) {
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function drawSnapshots(svg, answer, x, width, height) {
  const n = answer.snapshots.length;
  const room = (width - LEFT) / n;
  const every = Math.ceil(34 / room);
  const group = svg.append("g").attr("class", "scale").attr("aria-hidden", "true");
  answer.snapshots.forEach((snapshot, k) => {
    const anchor = k === 0 ? "start" : k === n - 1 ? "end" : "middle";
    const place = group.append("g").attr("transform", `translate(${x(k)},0)`);
    place.append("line").attr("class", "snapshot").attr("y1", TOP)
      .attr("y2", height - BOTTOM + 5);
    if (k % every !== 0 && k !== n - 1) return;
    place.append("text").attr("y", height - BOTTOM + 18).attr("text-anchor", anchor)
      .text(shortened(snapshot.name, room));
    if (snapshot.seconds === null || k === 0) return;
    place.append("text").attr("class", "faint").attr("y", height - BOTTOM + 34)
      .attr("text-anchor", anchor).text(`+${timeText(snapshot.seconds)}`);
  });
}

function drawSeries(box, answer, layers) {
  const width = Math.max(300, box.clientWidth);
  const height = width < 600 ? 260 : 340;
  const n = answer.snapshots.length;
  const parts = heapview.stack(layers.slice().reverse(), (layer) => layer.series);
  const x = d3.scaleLinear([0, n - 1], [LEFT, width - 12]);
  const y = d3.scaleLinear([0, d3.max(answer.whole.bytes) || 1], [height - BOTTOM, TOP]);
  const svg = heapview.drawing("chart", width, height, "img",
    `Bytes by place in ${n} snapshots; the table below has the figures`);
  heapview.drawByteScale(svg, y, LEFT, width - 12);
  heapview.drawLayers(svg, parts, ({from, to}) =>
    d3.area().x((_, k) => x(k)).y0((_, k) => y(from[k])).y1((_, k) => y(to[k]))(from),
  (part) => letterPlace(part, x, y));
  drawSnapshots(svg, answer, x, width, height);
  box.replaceChildren(svg.node());
}

function seriesTable(answer, layers) {
  const columns = [{heading: "verdict", kind: "text"}].concat(
    answer.snapshots.map((snapshot) => ({heading: snapshot.name, kind: "bytes"})),
    {heading: "change", kind: "change"}, {heading: "place", kind: "text"});
  const row = (verdict, series, place) => ({
    style: verdict === "grows steadily" ? "alarm" : "plain",
    cells: [{text: verdict}].concat(series.map((value) => ({text: bytes(value), value})),
      {text: changeOf(series), value: series[series.length - 1] - series[0]}, {text: place})});
  const rows = layers.map((layer) =>
    row(layer.verdict, layer.series, `${layer.letter} ${layer.label}`));
  rows.push(row("", answer.whole.bytes, "all that is reachable"));
  return heapview.table({caption: "Bytes by place, with what each retains", columns, rows});
}

function legend(layers) {
  const list = make("ul", {class: "legend verdicts", "aria-label": "Places, from the top"});
  for (const layer of layers) {
    list.append(make("li", {}, heapview.chip(layer.letter, layer.fill, true),
      make("span", {class: "label"}, layer.label), " ",
      make("span", {class: layer.verdict === "grows steadily" ? "alarm" : "faint"},
        `${layer.verdict}, ${changeOf(layer.series)}`)));
  }
  return list;
}

async function addSeries(section) {
  const {answer, told} = await heapview.ask("series", {in: null, since: null, until: null});
  const layers = layersOf(answer);
  const box = make("div", {class: "picture series"});
  section.append(heapview.told(told.slice(0, 2)), box, legend(layers),
    heapview.asTable(() => seriesTable(answer, layers)));
  drawSeries(box, answer, layers);
  heapview.onWidth(box, () => drawSeries(box, answer, layers));
}
