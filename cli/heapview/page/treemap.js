/*
** treemap.js - the page of areas: each rectangle is as large as what it retains, and lies in the
** one that keeps it alive. A click on one, or Enter, makes it the whole; Escape goes back up.
**
** What does not fit is not drawn: a rectangle is divided if it has room for that, and named if its
** name, or the beginning of it, fits. So some hundred are drawn of the some hundred that the answer
** has, and the picture is SVG: each can be reached, printed and saved.
*/
const {make, bytes, tiles} = heapview;
const HEAD = 18; /* pixels, of the name above what is in it */
const LEAST = 22; /* a smaller one is not divided */
const LINE = 15;
const ABOVE = 270; /* of the window, of what stands above the picture and the colours below */
const BY = [["object", "Object"], ["class", "Class"], ["place", "Place"], ["module", "Module"]];
const COLOURS = [["type", "Type"], ["age", "Age"], ["change", "Change"]];
const AGES = 5;
const NEW = [1e-9, 0.5, 0.999]; /* of a tile, from where on it has the next letter of change */

/* Where nothing is said the tree of places is shown, as that says most; an address is of that of
** objects. */
function byOf(parameters) {
  const isObject = /^0x/.test(parameters.of || "");
  const by = parameters.by || (isObject ? "object" : "place");
  return BY.some(([name]) => name === by) ? by : "place";
}

/* The fifths of what is there, from the oldest on; and how much is new. */
const STEPS = {
  age: d3.range(AGES).map((i) => ({letter: String(i + 1), from: "--old", to: "--new",
    part: i / (AGES - 1), text: i === 0 ? "allocated first"
      : i === AGES - 1 ? "allocated last" : `fifth ${i + 1}`})),
  change: [["=", "nothing new"], ["+", "some new"], ["++", "more than half new"],
    ["+++", "all new"]].map(([letter, text], i) =>
    ({letter, text, from: "--same", to: "--more", part: i / NEW.length}))
};

/* undefined: it is not known. */
function stepOf(row, answer, colour) {
  if (colour === "age") {
    return row.position === undefined || !answer.positions ? undefined
      : STEPS.age[Math.min(AGES - 1, Math.floor((AGES * row.position) / answer.positions))];
  }
  if (row.new_bytes === undefined || !(row.retained_bytes > 0)) return undefined;
  return STEPS.change[d3.bisectRight(NEW, row.new_bytes / row.retained_bytes)];
}

function looks(svg, node, answer, colour) {
  const {row} = node;
  if (row.kind === "rest") return {fill: heapview.typePattern(svg, "other"), letter: ""};
  if (colour === "type") {
    const type = tiles.typeOf(row);
    return {fill: heapview.typePattern(svg, type), letter: heapview.typeLetter(type)};
  }
  const step = stepOf(row, answer, colour);
  return step ? {fill: heapview.stepColour(step), letter: step.letter}
    : {fill: heapview.colour("--type-other"), letter: ""};
}

/* The tree with a rectangle for each node. Where there is no room for what is in one it has none:
** `inside` is what is drawn of it. */
function layOut(tree, width, height) {
  const root = d3.hierarchy(tree, (node) => node.children).sum((node) =>
    node.children.length === 0 ? node.bytes : 0);
  d3.treemap().size([width, height]).paddingOuter(2).paddingInner(1).round(true)
    .paddingTop((node) => (node.y1 - node.y0 > 2 * HEAD && node.x1 - node.x0 > 2 * LEAST
      ? HEAD : 2))(root);
  root.each((node) => {
    const isDivided = node.children && node.x1 - node.x0 > LEAST && node.y1 - node.y0 > LEAST;
    node.inside = isDivided ? node.children.filter((child) =>
      child.x1 - child.x0 >= 1 && child.y1 - child.y0 >= 1) : [];
  });
  return root;
}

/* The names of a tile: its own, and its bytes below, as far as they fit. */
function putNames(group, node, letter) {
  const width = node.x1 - node.x0 - 8;
  const height = node.y1 - node.y0;
  const isHead = node.inside.length > 0;
  const prefix = letter ? `${letter} ` : "";
  if (height < LINE || width < 12 || (isHead && height <= 2 * HEAD)) return;
  const size = bytes(node.data.bytes);
  const lines = isHead ? [`${prefix}${node.data.label}  ${size}`]
    : [`${prefix}${node.data.label}`, size];
  lines.slice(0, Math.floor((height - 2) / LINE)).forEach((line, i) => {
    const text = tiles.fitted(line, width) || (i === 0 ? tiles.fitted(letter, width) : "");
    if (text === "") return;
    group.append("text").attr("x", node.x0 + 4).attr("y", node.y0 + 12 + i * LINE).text(text);
  });
}

function cellOf(svg, node, view) {
  const {row} = node.data;
  const look = looks(svg.node(), node.data, view.answer, view.colour);
  const what = {datum: node, node: node.data,
    kind: `${row.kind}${node.inside.length > 0 ? " divided" : ""}`,
    label: tiles.describe(node.data, view.answer.whole_bytes)};
  const cell = tiles.drawTile(svg, what, node.depth + 1, {x: node.x0, y: node.y0,
    width: Math.max(node.x1 - node.x0, 0), height: Math.max(node.y1 - node.y0, 0)}, look.fill)
    .attr("data-kind", row.kind);
  putNames(cell, node, look.letter);
}

function draw(view, width, height) {
  const svg = heapview.drawing("treemap", width, height, "tree",
    "Treemap: arrows move, Enter zooms in, Escape zooms out");
  view.nodes = [];
  tiles.eachNode(layOut(view.tree, width, height), (node) => view.nodes.push(node), "inside");
  for (const node of view.nodes) cellOf(svg, node, view);
  svg.select("g.tile").attr("tabindex", 0).classed("chosen", true);
  return svg.node();
}

function centre(node) {
  return [(node.x0 + node.x1) / 2, (node.y0 + node.y1) / 2];
}

/* The nearest tile without others in it whose centre lies in the direction, and rather straight
** ahead than aside. */
function nearest(view, from, dx, dy) {
  const [x, y] = centre(from);
  let best = null;
  let least = Infinity;
  for (const node of view.nodes) {
    if (node === from || node.inside.length > 0) continue;
    const [nx, ny] = centre(node);
    const ahead = (nx - x) * dx + (ny - y) * dy;
    const aside = Math.abs((nx - x) * dy) + Math.abs((ny - y) * dx);
    if (ahead <= 0.5 || ahead + 2 * aside >= least) continue;
    least = ahead + 2 * aside;
    best = node;
  }
  return best;
}

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

function target(view, node, key) {
  const at = tiles.objectOf(node.data.row);
  let next;
  if (ARROWS[key]) next = nearest(view, node, ...ARROWS[key]);
  else if (key === "u") next = node.parent;
  else if (key === "o" && at) heapview.go("object", {at});
  else return undefined;
  return next ? next.data : null;
}

function radios(view, label, name, options, value) {
  return make("fieldset", {class: "radios"}, make("legend", {}, label), options.map(
    ([option, text, isOff]) => make("label", {}, make("input", {
      type: "radio", name, value: option, checked: option === value, disabled: isOff,
      onchange: () => tiles.goTo(view,
        name === "by" ? {by: option, of: null} : {colour: option === "type" ? null : option})
    }), text)));
}

function hasNew(view) {
  return view.answer.rows[0].new_bytes !== undefined;
}

function controls(view) {
  const colours = COLOURS.map(([name, text]) => [name, text, name === "change" && !hasNew(view)]);
  return [radios(view, "By", "by", BY, byOf(view.parameters)),
    radios(view, "Colour", "colour", colours, view.colour),
    heapview.saveButton(() => view.svg, "treemap")];
}

function fill(view) {
  const width = Math.max(view.picture.clientWidth || view.box.clientWidth, 280);
  const height = Math.max(Math.min(Math.round(width * 0.62), innerHeight - ABOVE), 320);
  const svg = draw(view, width, height);
  if (view.svg) view.svg.replaceWith(svg);
  else view.picture.prepend(svg);
  view.svg = svg;
}

tiles.definePage({
  name: "treemap", title: "Treemap",
  lead: "Who keeps what alive: each area is as large as what it retains.",
  keeps: (parameters) => ({by: byOf(parameters), colour: parameters.colour}),
  question: (parameters) => {
    const by = byOf(parameters);
    return {by: by === "object" ? null : by, of: parameters.of};
  },
  prepare: (view) => {
    const {colour} = view.parameters;
    const isKnown = colour === "age" || (colour === "change" && hasNew(view));
    view.colour = isKnown ? colour : "type";
  },
  controls,
  legend: ({colour, tree}) => (colour === "type" ? tiles.legendOf(tree)
    : heapview.legend(colour === "age" ? "Age" : "Change", STEPS[colour])),
  draw: (view) => {
    view.picture = make("div", {class: "picture"});
    view.box.append(view.picture);
    Object.assign(view, {
      node: ({data}) => data, to: (node, key) => target(view, node, key),
      open: (node) => tiles.zoomTo(view, node), leave: () => tiles.zoomOut(view),
      choose: (node) => tiles.choose(view, node),
      describe: (node) => tiles.describe(node, view.answer.whole_bytes)
    });
    fill(view);
    tiles.listen(view.picture, view);
    return heapview.onWidth(view.picture, () => fill(view));
  }
});
heapview.tellKeys("treemap", "o", "opens the object");
heapview.tellKeys("treemap", "u", "to the one that it lies in");
