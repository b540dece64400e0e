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

/* {=== The state ===================================================================== */

/* Where nothing is said the tree of places is shown, as that says most; an address is of that of
** objects. */
function byOf(parameters) {
  const isObject = /^0x/.test(parameters.of || "");
  const by = parameters.by || (isObject ? "object" : "place");
  return BY.some(([name]) => name === by) ? by : "place";
}

function parametersWith(parameters, changes) {
  const all = Object.assign({by: byOf(parameters), of: parameters.of, colour: parameters.colour},
    changes);
  if (all.of === "root") all.of = null;
  return all;
}

/* As answers have links. */
function pathTo(parameters, row) {
  const at = tiles.objectOf(row);
  const inside = parametersWith(parameters, {of: row.key});
  if (row.opens) return `/${heapview.keyOf("treemap", inside)}`;
  return at ? `/${heapview.keyOf("object", {at})}` : null;
}

/* }=================================================================================== */

/* {=== Colours ======================================================================= */

const AGES = 5;

/* 1 is the oldest fifth of what is there, 5 the youngest. */
function ageOf(row, answer) {
  if (row.position === undefined || !answer.positions) return null;
  return Math.min(AGES, 1 + Math.floor((AGES * row.position) / answer.positions));
}

/* How much is new: none, some, more than half, all of it. */
const NEW = [{letter: "=", text: "nothing new", least: 0},
  {letter: "+", text: "some new", least: 1e-9},
  {letter: "++", text: "more than half new", least: 0.5},
  {letter: "+++", text: "all new", least: 0.999}];

function changeOf(row) {
  if (row.new_bytes === undefined || !(row.retained_bytes > 0)) return null;
  const part = row.new_bytes / row.retained_bytes;
  return NEW.filter((step) => part >= step.least).length - 1;
}

function mixed(from, to, part) {
  return d3.interpolateLab(heapview.colour(from), heapview.colour(to))(part);
}

function ageColour(age) {
  return age === null ? heapview.colour("--type-other")
    : mixed("--old", "--new", (age - 1) / (AGES - 1));
}

function changeColour(step) {
  return step === null ? heapview.colour("--type-other")
    : mixed("--same", "--more", step / (NEW.length - 1));
}

/* What a tile looks like: {fill, letter}. */
function looks(svg, node, answer, colour) {
  const {row} = node;
  if (row.kind === "rest") return {fill: heapview.typePattern(svg, "other"), letter: ""};
  if (colour === "age") {
    const age = ageOf(row, answer);
    return {fill: ageColour(age), letter: age === null ? "" : String(age)};
  }
  if (colour === "change") {
    const step = changeOf(row);
    return {fill: changeColour(step), letter: step === null ? "" : NEW[step].letter};
  }
  const type = tiles.typeOf(row);
  return {fill: heapview.typePattern(svg, type), letter: heapview.typeLetter(type)};
}

function legend(tree, answer, colour) {
  if (colour === "age") {
    return heapview.legend("Age", d3.range(1, AGES + 1).map((age) => ({
      letter: String(age), colour: ageColour(age),
      text: age === 1 ? "allocated first" : age === AGES ? "allocated last" : `fifth ${age}`
    })));
  }
  if (colour === "change") {
    return heapview.legend("Change", NEW.map((step, i) =>
      ({letter: step.letter, colour: changeColour(i), text: step.text})));
  }
  return tiles.legendOf(tree);
}

/* }=================================================================================== */

/* {=== Areas ========================================================================= */

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

function drawn(root) {
  const list = [];
  const waiting = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    list.push(node);
    for (let i = node.inside.length - 1; i >= 0; i--) waiting.push(node.inside[i]);
  }
  return list;
}

/* }=================================================================================== */

/* {=== The picture =================================================================== */

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
  const cell = svg.append("g").datum(node)
    .attr("class", `tile ${row.kind}${node.inside.length > 0 ? " divided" : ""}`)
    .attr("role", "treeitem").attr("tabindex", -1).attr("aria-level", node.depth + 1)
    .attr("aria-label", tiles.describe(node.data, view.answer.whole_bytes))
    .attr("data-bytes", row.retained_bytes).attr("data-kind", row.kind);
  if (row.key) cell.attr("data-key", row.key);
  cell.append("rect").attr("x", node.x0).attr("y", node.y0)
    .attr("width", Math.max(node.x1 - node.x0, 0)).attr("height", Math.max(node.y1 - node.y0, 0))
    .attr("fill", look.fill);
  putNames(cell, node, look.letter);
}

function draw(view, width, height) {
  const svg = d3.create("svg").attr("class", "treemap").attr("role", "tree")
    .attr("aria-label", "Treemap: arrows move, Enter zooms in, Escape zooms out")
    .attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
  view.nodes = drawn(layOut(view.tree, width, height));
  for (const node of view.nodes) cellOf(svg, node, view);
  const first = svg.select("g.tile");
  first.attr("tabindex", 0);
  return svg.node();
}

/* }=================================================================================== */

/* {=== Moving ======================================================================== */

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

function focusOn(view, node) {
  const cells = d3.select(view.svg).selectAll("g.tile");
  cells.attr("tabindex", (other) => (other === node ? 0 : -1));
  cells.filter((other) => other === node).node().focus({preventScroll: true});
}

function zoomTo(view, row) {
  if (row.key && row.opens && row.key !== view.answer.rows[0].key) {
    heapview.go("treemap", parametersWith(view.parameters, {of: row.key}));
    return;
  }
  const at = tiles.objectOf(row);
  if (at) heapview.go("object", {at});
}

function zoomOut(view) {
  const {above} = view.answer;
  if (above.length === 0) return;
  heapview.go("treemap", parametersWith(view.parameters, {of: above[above.length - 1].key}));
}

function press(view, event) {
  const cell = event.target.closest("g.tile");
  if (!cell) return;
  const node = d3.select(cell).datum();
  const arrow = ARROWS[event.key];
  if (arrow) {
    const next = nearest(view, node, ...arrow);
    if (next) focusOn(view, next);
  } else if (event.key === "Enter" || event.key === " ") {
    zoomTo(view, node.data.row);
  } else if (event.key === "Escape" || event.key === "Backspace") {
    zoomOut(view);
  } else if (event.key === "o" && tiles.objectOf(node.data.row)) {
    heapview.go("object", {at: tiles.objectOf(node.data.row)});
  } else if (event.key === "u" && node.parent) {
    focusOn(view, node.parent);
  } else {
    return;
  }
  event.preventDefault();
}

function choose(view, node) {
  const zoom = node.data.row.opens && node.depth > 0
    ? heapview.link("treemap", parametersWith(view.parameters, {of: node.data.key})) : null;
  view.details.replaceChildren(...tiles.details(node.data, view.answer, zoom));
  d3.select(view.svg).selectAll("g.tile").classed("chosen", (other) => other === node);
}

function nodeAt(event) {
  const cell = event.target.closest("g.tile");
  return cell ? d3.select(cell).datum() : null;
}

/* }=================================================================================== */

/* {=== The page ====================================================================== */

function radios(label, name, options, value, parameters) {
  return make("fieldset", {class: "radios"}, make("legend", {}, label), options.map(
    ([option, text, isOff]) => make("label", {}, make("input", {
      type: "radio", name, value: option, checked: option === value, disabled: isOff,
      onchange: () => heapview.go("treemap", parametersWith(parameters,
        name === "by" ? {by: option, of: null} : {colour: option === "type" ? null : option}))
    }), text)));
}

function controls(view) {
  const {answer, parameters} = view;
  const hasNew = answer.rows[0].new_bytes !== undefined;
  const colours = COLOURS.map(([name, text]) => [name, text, name === "change" && !hasNew]);
  return [radios("By", "by", BY, byOf(parameters), parameters),
    radios("Colour", "colour", colours, view.colour, parameters),
    heapview.saveButton(() => view.svg, "treemap")];
}

function fill(view, root) {
  const width = Math.max(view.picture.clientWidth || root.clientWidth, 280);
  const height = Math.max(Math.min(Math.round(width * 0.62), innerHeight - ABOVE), 320);
  const svg = draw(view, width, height);
  if (view.svg) view.svg.replaceWith(svg);
  else view.picture.prepend(svg);
  view.svg = svg;
}

function listen(view) {
  const {picture, answer} = view;
  picture.addEventListener("keydown", (event) => press(view, event));
  picture.addEventListener("focusin", (event) => {
    const node = nodeAt(event);
    if (node) choose(view, node);
  });
  picture.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node) zoomTo(view, node.data.row);
  });
  tiles.tooltip(picture, (event) => {
    const node = nodeAt(event);
    return node ? tiles.describe(node.data, answer.whole_bytes) : null;
  });
}

async function show(root, state) {
  const {parameters} = state;
  const by = byOf(parameters);
  const question = {by: by === "object" ? null : by, of: parameters.of};
  const answer = await tiles.askFor("treemap", question);
  const tree = tiles.treeOf(answer.rows);
  const hasNew = answer.rows[0].new_bytes !== undefined;
  const known = COLOURS.some(([name]) => name === parameters.colour);
  const colour = known && (parameters.colour !== "change" || hasNew) ? parameters.colour : "type";
  const view = {answer, tree, parameters, colour,
    picture: make("div", {class: "picture"}), details: make("div", {class: "details"})};
  const linkOf = (key) => heapview.link("treemap", parametersWith(parameters, {of: key}));
  heapview.toolbar(root, controls(view));
  root.append(tiles.crumbs(answer, linkOf), view.picture, legend(tree, answer, colour),
    view.details, tiles.asTable(answer, (row) => pathTo(parameters, row)));
  tiles.tellPart(root, answer);
  fill(view, root);
  listen(view);
  choose(view, view.nodes[0]);
  const followNoMore = heapview.onWidth(view.picture, () => fill(view, root));
  const listenNoMore = tiles.onEscape(() => zoomOut(view));
  return () => {
    followNoMore();
    listenNoMore();
  };
}

heapview.tellKeys("treemap", "Enter, Escape", "zooms in, zooms out");
heapview.tellKeys("treemap", "o", "opens the object");
heapview.tellKeys("treemap", "u", "to the one that it lies in");
heapview.define({name: "treemap", title: "Treemap", show,
  lead: "Who keeps what alive: each area is as large as what it retains."});
