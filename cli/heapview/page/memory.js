/*
** memory.js - the heap of a tracked program over time, as areas on top of each other: what was
** there before tracking at the bottom, then the lines that held most. Each moment is the one at
** which the heap was biggest in its part of the time. Areas are told by letters and patterns, too.
** A part of the time may be brushed; what is made of it is the page's to say.
*/
const {make, bytes, duration} = heapview;
const HEIGHT = 260;
const MARGIN = {left: 74, right: 32, top: 26, bottom: 26};
const TYPES = ["table", "string", "function", "userdata", "thread", "proto", "upvalue", "root"];

/* From the bottom to the top: {name, letter, type, values}. */
function layersOf(answer) {
  const layers = answer.lines.map((line, i) => ({
    name: line.site, values: line.bytes, letter: String.fromCharCode(65 + (i % 26)),
    type: TYPES[i % TYPES.length], peak: line.peak_bytes
  }));
  layers.push({name: "before tracking began", values: answer.before_tracking, letter: "0",
    type: "other", peak: null});
  return layers.reverse();
}

function scales(answer, width) {
  const last = Math.max(1, answer.heap_bytes.length - 1);
  const end = Math.max(1, answer.interval_ns * answer.heap_bytes.length);
  const x = d3.scaleLinear().domain([0, last]).range([MARGIN.left, width - MARGIN.right]);
  const y = d3.scaleLinear().domain([0, Math.max(1, answer.peak_bytes)])
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const time = d3.scaleLinear().domain([0, end]).range(x.range());
  return {x, y, time};
}

function drawLayers(svg, layers, {x, y}) {
  const dressed = layers.map((layer) => Object.assign({title: `${layer.letter}: ${layer.name}`,
    fill: heapview.typePattern(svg.node(), layer.type)}, layer));
  const area = ({from, to}) => d3.area().x((_, i) => x(i)).y0((_, i) => y(from[i]))
    .y1((value) => y(value)).curve(d3.curveStepAfter)(to);
  heapview.drawLayers(svg, heapview.stack(dressed, (layer) => layer.values), area, () => null);
}

/* Times that are told as they are: whole milliseconds, then tenths of a second. */
function timeTicks(time, n) {
  const unit = time.domain()[1] < 1e9 ? 1e6 : 1e8;
  return time.ticks(n).filter((value) => value % unit === 0);
}

function drawAxes(svg, {y, time}, width) {
  heapview.drawByteScale(svg, y, MARGIN.left, width - MARGIN.right);
  const below = svg.append("g").attr("class", "axis")
    .attr("transform", `translate(0,${HEIGHT - MARGIN.bottom})`);
  below.call(d3.axisBottom(time).tickValues(timeTicks(time, Math.max(2, width / 140)))
    .tickFormat((value) => duration(value)));
}

function drawPeak(svg, answer, {time, y}) {
  const at = time(Math.min(answer.peak_ns, time.domain()[1]));
  const isLeft = at < (time.range()[0] + time.range()[1]) / 2;
  svg.append("line").attr("class", "peak").attr("x1", at).attr("x2", at)
    .attr("y1", MARGIN.top - 8).attr("y2", y(0));
  svg.append("text").attr("class", "peak-label").attr("y", MARGIN.top - 12)
    .attr("x", at + (isLeft ? 6 : -6)).attr("text-anchor", isLeft ? "start" : "end")
    .text(`peak: ${bytes(answer.peak_bytes)} after ${duration(answer.peak_ns)}`);
}

/* What was held at the moment under the pointer, the most first. */
function momentText(answer, layers, i) {
  const held = layers.filter((layer) => layer.values[i] > 0)
    .sort((a, b) => b.values[i] - a.values[i])
    .map((layer) => `${layer.letter} ${bytes(layer.values[i])}`);
  return `${duration(i * answer.interval_ns)}: ${bytes(answer.heap_bytes[i])}` +
    (held.length > 0 ? ` = ${held.join(" + ")}` : "");
}

function follow(box, svg, answer, layers, {x}) {
  const tooltip = heapview.tooltip(box);
  const line = svg.append("line").attr("class", "moment").attr("y1", MARGIN.top)
    .attr("y2", HEIGHT - MARGIN.bottom).attr("visibility", "hidden");
  svg.on("pointermove", () => {
    const at = Math.round(x.invert(d3.mouse(svg.node())[0]));
    const i = Math.max(0, Math.min(answer.heap_bytes.length - 1, at));
    line.attr("x1", x(i)).attr("x2", x(i)).attr("visibility", "visible");
    tooltip.show([momentText(answer, layers, i)], x(i), 0);
  }).on("pointerleave", () => {
    tooltip.hide();
    line.attr("visibility", "hidden");
  });
}

/* part: {since, until} in nanoseconds, or null; choose(since, until) is called with another. */
function addPartBrush(svg, part, choose, {time}) {
  const [left, right] = time.range();
  const brush = d3.brushX().extent([[left, MARGIN.top], [right, HEIGHT - MARGIN.bottom]]);
  const place = svg.append("g").attr("class", "brush").call(brush);
  if (part) {
    const until = part.until === null ? time.domain()[1] : part.until;
    place.call(brush.move, [time(part.since || 0), Math.min(right, time(until))]);
  }
  brush.on("end", () => {
    const chosen = d3.event.selection;
    if (!d3.event.sourceEvent) return;
    if (chosen === null) choose(null, null);
    else choose(...chosen.map((at) => Math.max(0, Math.round(time.invert(at)))));
  });
}

function legend(layers) {
  return heapview.legend("Lines", layers.slice().reverse().map((layer) => {
    const most = layer.peak === null ? "" : ` ${bytes(layer.peak)} at the peak`;
    return {letter: layer.letter, colour: heapview.typeColour(layer.type),
      text: [layer.name, make("span", {class: "faint"}, most)]};
  }));
}

function draw(box, answer, part, choose) {
  const width = Math.max(box.clientWidth, 300);
  const layers = layersOf(answer);
  const to = scales(answer, width);
  const svg = heapview.drawing("chart memory", width, HEIGHT, "img",
    `The heap over time: at most ${bytes(answer.peak_bytes)}, after ` +
    `${duration(answer.peak_ns)}; ${bytes(answer.end_bytes)} at the end`)
    .attr("data-peak", answer.peak_bytes);
  drawAxes(svg, to, width);
  drawLayers(svg, layers, to);
  drawPeak(svg, answer, to);
  if (choose) addPartBrush(svg, part, choose, to);
  box.replaceChildren(svg.node());
  follow(box, svg, answer, layers, to);
}

/* Draws into `root`, and again where its width is another one; returns what ends that. */
function drawMemory(root, answer, part, choose) {
  const box = make("div", {class: "picture memory-box"});
  root.append(heapview.toolbar(root, heapview.saveButton(() => box.querySelector("svg"),
    "memory")), box, legend(layersOf(answer)));
  draw(box, answer, part, choose);
  return heapview.onWidth(box, () => draw(box, answer, part, choose));
}

heapview.drawMemory = drawMemory;
