/*
** flame.js - the page of references: from the root along folded paths, each frame as wide as what
** hangs at its place retains. Against another snapshot frames are red where there is more than
** before, and blue where there is less. What is searched for is marked, and summed up. Saved as
** text it is a line for each way down, "root;_G;.bus 12345", which other flame graphs read, too.
*/
const {make, bytes, tiles} = heapview;
/* ==== Against another snapshot ====================================================== */

/* From -1, all of it is gone, to 1, all of it is new. */
function changeOf(node) {
  const before = node.before || 0;
  const most = Math.max(before, node.bytes);
  return most === 0 ? 0 : (node.bytes - before) / most;
}

const STEPS = [
  {least: 0.5, letter: "+++", text: "more than doubled, or new", to: "--more", part: 1},
  {least: 0.1, letter: "++", text: "more", to: "--more", part: 2 / 3},
  {least: 0.005, letter: "+", text: "a little more", to: "--more", part: 1 / 3},
  {least: -0.005, letter: "=", text: "the same", to: "--less", part: 0},
  {least: -0.1, letter: "\u2212", text: "a little less", to: "--less", part: 1 / 2},
  {least: -1, letter: "\u2212\u2212", text: "less", to: "--less", part: 1}
].map((step) => Object.assign({from: "--same"}, step));

function stepOf(node) {
  const change = changeOf(node);
  return STEPS.find((step) => change >= step.least);
}

/* ==== Folded text =================================================================== */

/* A name in a line: ";" joins names, and what follows the last blank is the number. */
function folded(node) {
  return (node.row.steps || node.row.path || node.label).replace(/;/g, ",")
    .replace(/\s+/g, " ");
}

/* A line for each part that is itself and no more. The bytes of all add up to the whole. */
function foldedText(tree) {
  const lines = [];
  const waiting = [{node: tree, way: "root"}];
  while (waiting.length > 0) {
    const {node, way} = waiting.pop();
    if (node.children.length === 0 && node.bytes > 0) lines.push(`${way} ${node.bytes}`);
    for (let i = node.children.length - 1; i >= 0; i--) {
      const child = node.children[i];
      waiting.push({node: child,
        way: child.isOwn ? way : `${way};${child.isRest ? `(${child.label})` : folded(child)}`});
    }
  }
  return `${lines.join("\n")}\n`;
}

/* ==== The page ====================================================================== */

/* Several snapshots: the others, of which one may be what this one is compared with. */
function againstChoice(view) {
  const {snapshots} = heapview.overview;
  const here = heapview.snapshotNumber(view.parameters);
  if (snapshots.length < 2) return null;
  const options = [{value: "", text: "nothing"}].concat(snapshots.map((snapshot, i) =>
    ({value: String(i), text: snapshot.name || snapshot.file})).filter((_, i) => i !== here));
  return heapview.choice("Compared with", options, view.parameters.against || "", (value) =>
    tiles.goTo(view, {against: value || null}));
}

/* What was found stands in the address, but not when the page is left, which goes elsewhere. */
function controls(view) {
  view.field = searchField(() => view.flame, {class: "flame-search", value: view.parameters.search,
    placeholder: "a name or a path", "data-key": "search", onchange: (event) => {
      if (view.isLeft) return;
      tiles.goTo(view, {search: event.target.value.trim() || null}, {replace: true});
    }}, "frame", "frames", view.answer.whole_bytes);
  return [view.field, againstChoice(view), heapview.saveButton(() => view.flame.svg(), "flame"),
    make("button", {type: "button", class: "save-folded", onclick: () =>
      heapview.save(foldedText(view.tree), "text/plain", "flame.folded")}, "Save as text")];
}

function look(view, svg, node) {
  if (view.isCompared) {
    const step = stepOf(node);
    return {fill: heapview.stepColour(step), letter: step.letter};
  }
  return {fill: heapview.typePattern(svg, node.type),
    letter: node.isRest ? "" : heapview.typeLetter(node.type)};
}

function describe(view, node) {
  const words = [tiles.describe(node, view.answer.whole_bytes)];
  if (view.isCompared) {
    words.push(`${heapview.bytesChange(node.before || 0, node.bytes)} than before`);
  }
  if (node.path && node.path !== node.label) words.push(node.path);
  return words.join(", ");
}

function draw(view) {
  view.flame = drawFlame(view.box, view.tree, {
    label: "Flame graph: arrows move, Enter zooms in, Escape zooms out",
    describe: (node) => describe(view, node), look: (svg, node) => look(view, svg, node),
    choose: (node) => tiles.choose(view, node),
    open: (node) => {
      if (node.key && node !== view.tree) tiles.zoomTo(view, node);
    },
    leave: () => tiles.zoomOut(view)
  });
  view.field.querySelector("input").dispatchEvent(new Event("input"));
  return view.flame.leave;
}

tiles.definePage({
  name: "flame", title: "Flame graph",
  lead: "From the root along references: each frame is as wide as what hangs there retains.",
  keeps: ({against, search}) => ({against, search}),
  question: ({of, against}) => ({of, against}),
  prepare: (view) => {
    view.isCompared = view.answer.rows[0].before_bytes !== undefined;
    tiles.eachNode(view.tree, (node) => {
      node.isOwn = node.row.kind === "own";
      node.isRest = node.row.kind === "rest";
      node.type = tiles.typeOf(node.row);
      node.path = node.row.path;
    });
  },
  controls,
  legend: (view) => (view.isCompared ? heapview.legend("Change", STEPS)
    : tiles.legendOf(view.tree)),
  draw
});

/* A tree as frames, of references or of stacks. The root is on
** top, and each frame below the one that it hangs at, as wide as its bytes; what is left free below
** a frame are its own. A click makes a frame as wide as the picture, with those above it.
**
**     const flame = heapview.drawFlame(box, tree, {describe: (node) => ...});
**     flame.search("session")     -> {bytes, frames}: marks what has the text in its name
**     flame.svg()                 the picture
**     flame.leave()               ends it
**
** A tree is {key, label, bytes, parent, children}, the biggest child first. Of the options `label`
** is of the whole picture for those who hear it, and look(svg, node) gives {fill, letter};
** describe, and in place of what a flame graph does by itself choose, open and leave are those of
** tiles.listen. */
const ROW = 20; /* pixels, of a frame */
const LEAST = 1.5; /* a narrower one is not drawn, nor what is below it */

/* ==== Frames ======================================================================== */

/* Those that are drawn where `top` is as wide as the picture: {node, x, width, depth}. */
function layOut(flame, width) {
  const frames = [];
  const way = [];
  for (let at = flame.top.parent; at; at = at.parent) way.unshift(at);
  way.forEach((node, depth) => frames.push({node, x: 0, width, depth, isAbove: true}));
  const waiting = [{node: flame.top, x: 0, width, depth: way.length}];
  while (waiting.length > 0) {
    const frame = waiting.pop();
    const {node} = frame;
    frames.push(frame);
    let {x} = frame;
    const below = [];
    for (const child of node.children) {
      if (child.isOwn) continue;
      const wide = node.bytes > 0 ? (frame.width * child.bytes) / node.bytes : 0;
      if (wide >= LEAST) below.push({node: child, x, width: wide, depth: frame.depth + 1});
      x += wide;
    }
    waiting.push(...below.reverse());
  }
  return frames;
}

function drawFrame(svg, frame, flame) {
  const {node} = frame;
  const look = flame.look(svg.node(), node);
  const what = {datum: frame, node, label: flame.describe(node),
    kind: `frame${frame.isAbove ? " above" : ""}${node.isRest ? " rest" : ""}`};
  const cell = tiles.drawTile(svg, what, frame.depth + 1, {x: frame.x, y: frame.depth * ROW,
    width: Math.max(frame.width - 0.5, 0.5), height: ROW - 1}, look.fill);
  const prefix = look.letter ? `${look.letter} ` : "";
  const text = frame.width > 24
    ? tiles.fitted(`${prefix}${node.label}  ${bytes(node.bytes)}`, frame.width - 8) : "";
  if (text === "") return;
  cell.append("text").attr("x", frame.x + 4).attr("y", frame.depth * ROW + 14).text(text);
}

/* ==== Moving ======================================================================== */

function beside(flame, frame, step) {
  const row = flame.frames.filter((other) => other.depth === frame.depth)
    .sort((a, b) => a.x - b.x);
  const next = row[row.indexOf(frame) + step];
  return next ? next.node : null;
}

function below(flame, frame) {
  const next = flame.frames.find((other) => other.node.parent === frame.node);
  return next ? next.node : null;
}

function target(flame, frame, key) {
  switch (key) {
    case "ArrowUp": return frame.node.parent;
    case "ArrowDown": return below(flame, frame);
    case "ArrowLeft": return beside(flame, frame, -1);
    case "ArrowRight": return beside(flame, frame, 1);
    default: return undefined;
  }
}

function widen(flame, node) {
  flame.top = node;
  fill(flame);
  flame.focusOn(node);
}

function fill(flame) {
  const width = Math.max(flame.box.clientWidth, 280);
  flame.frames = layOut(flame, width);
  const height = ROW * (1 + d3.max(flame.frames, (frame) => frame.depth));
  const svg = heapview.drawing("flame", width, height, "tree", flame.label);
  for (const frame of flame.frames) drawFrame(svg, frame, flame);
  svg.select("g.frame").attr("tabindex", 0);
  if (flame.svg) flame.svg.replaceWith(svg.node());
  else flame.box.prepend(svg.node());
  flame.svg = svg.node();
  mark(flame);
}

/* ==== Search ======================================================================== */

/* What has the text in its name, and the bytes of all: none is counted twice that lies below
** another one. */
function search(flame, text) {
  flame.found = new Set();
  const wanted = text.toLowerCase();
  let sum = 0;
  const waiting = wanted === "" ? [] : [{node: flame.tree, isBelow: false}];
  while (waiting.length > 0) {
    const {node, isBelow} = waiting.pop();
    const isFound = !node.isRest && !node.isOwn && node.label.toLowerCase().includes(wanted);
    if (isFound) flame.found.add(node);
    if (isFound && !isBelow) sum += node.bytes;
    for (const child of node.children) waiting.push({node: child, isBelow: isBelow || isFound});
  }
  flame.isSearched = wanted !== "";
  mark(flame);
  return {bytes: sum, frames: flame.found.size};
}

function mark(flame) {
  d3.select(flame.svg).selectAll("g.frame")
    .classed("found", (frame) => flame.isSearched && flame.found.has(frame.node))
    .classed("faded", (frame) => flame.isSearched && !flame.found.has(frame.node));
}

function drawFlame(element, tree, options) {
  const box = make("div", {class: "picture framed"});
  element.append(box);
  const flame = {
    box, tree, top: tree, found: new Set(), isSearched: false, svg: null,
    node: (frame) => frame.node, to: (frame, key) => target(flame, frame, key),
    open: (node) => widen(flame, node),
    leave: () => flame.top.parent && widen(flame, flame.top.parent),
    choose: () => null
  };
  Object.assign(flame, options);
  fill(flame);
  flame.focusOn = tiles.listen(box, flame);
  return {
    search: (text) => search(flame, text),
    svg: () => flame.svg,
    leave: heapview.onWidth(box, () => fill(flame))
  };
}

/* The field whose text is searched for while it is typed, and what was found in the flame graph
** that `find` gives; with its share of `whole`, if that is given. */
function searchField(find, attributes, one, many, whole) {
  const found = make("output", {class: "faint"});
  const input = make("input", Object.assign({type: "search", oninput: () => {
    const text = input.value.trim();
    const sum = find().search(text);
    found.textContent = text === "" ? "" : `${heapview.countOf(sum.frames, one, many)}, ` +
      bytes(sum.bytes) + (whole ? `, ${heapview.share(sum.bytes, whole)} of the heap` : "");
  }}, attributes));
  return make("label", {class: "control"}, make("span", {}, "Search"), input, found);
}

Object.assign(heapview, {drawFlame, searchField});
