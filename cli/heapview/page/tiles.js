/*
** tiles.js - what treemap and flame have in common: the rows of an answer as a tree, the way to it,
** and all of it as a table, for those who do not see pictures.
**
** A written report carries the top of each tree alone. What it does not carry anew is looked for
** there: a part of a picture is the same picture with fewer pieces.
*/
const {make, bytes, count, share} = heapview;
/* ==== Answers as trees ============================================================== */

/* Rows in preorder as a tree: {row, key, label, bytes, before, children}. The objects of a part
** themselves, and what is too small, are children like others. */
function treeOf(rows) {
  const way = [];
  for (const row of rows) {
    const node = {
      row, key: row.key || null, label: row.text, bytes: row.retained_bytes,
      before: row.before_bytes, children: [], parent: null
    };
    way.length = row.depth - rows[0].depth;
    if (way.length > 0) {
      node.parent = way[way.length - 1];
      node.parent.children.push(node);
    }
    way.push(node);
  }
  return way[0];
}

/* In preorder; `below`: where a node has those below it. */
function eachNode(tree, visit, below = "children") {
  const waiting = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    visit(node);
    waiting.push(...node[below].slice().reverse());
  }
}

function partOf(answer, key) {
  const {rows} = answer;
  const at = rows.findIndex((row) => row.key === key);
  if (at < 0) return null;
  let end = at + 1;
  while (end < rows.length && rows[end].depth > rows[at].depth) end++;
  const above = [];
  for (let i = at, depth = rows[at].depth; i >= 0 && depth > 0; i--) {
    if (rows[i].depth < depth) above.unshift(rows[i]);
    depth = Math.min(depth, rows[i].depth);
  }
  const part = rows.slice(at, end).map((row) =>
    Object.assign({}, row, {depth: row.depth - rows[at].depth}));
  return Object.assign({}, answer, {rows: part, above, isPart: true});
}

/* The part with the key `of` of the answer about the root; else, of an object, the few parts that
** are carried with it. */
async function askForLess(name, parameters) {
  const {of} = parameters;
  const whole = await heapview.ask(name, Object.assign({}, parameters, {of: null}));
  const part = partOf(whole.answer, of);
  if (part !== null && part.rows.length > 1) return part;
  if (!/^0x/.test(of)) return part;
  const few = await heapview.ask(name, {at: of, depth: 2, limit: 30}).catch(() => null);
  return few === null ? part : Object.assign({isPart: true}, few.answer);
}

/* The answer with the part `of` on top, or as much of it as is carried. */
async function askFor(name, parameters) {
  try {
    return (await heapview.ask(name, parameters)).answer;
  } catch (error) {
    if (!error.notCarried || !parameters.of) throw error;
    const less = await askForLess(name, parameters).catch(() => null);
    if (less === null) throw error;
    return less;
  }
}

/* ==== In words ====================================================================== */

function typeOf(row) {
  return row.type || (row.kind === "rest" || row.kind === "shared" ? "other" : "root");
}

/* "_G.bus: array of Listener, 326.8 KB, 91.9% of the heap, 1,020 objects" */
function describe(node, whole) {
  const {row} = node;
  const words = [node.label, bytes(node.bytes), `${share(node.bytes, whole)} of the heap`];
  if (row.objects > 1) words.push(`${count(row.objects)} objects`);
  if (row.type && !node.label.includes(row.type)) words.push(row.type);
  return words.join(", ");
}

/* The address of the object that a part is, or the biggest of those that it has. */
function objectOf(row) {
  if (row.example) return row.example;
  return ["object", "list", "tree"].includes(row.kind) && row.key !== "root" ? row.key : null;
}

function detailList(node, answer) {
  const {row} = node;
  const facts = [["retained", `${bytes(node.bytes)}, ${share(node.bytes, answer.whole_bytes)}`]];
  if (row.shallow_bytes !== undefined) facts.push(["itself", bytes(row.shallow_bytes)]);
  if (row.objects > 1) facts.push(["objects", count(row.objects)]);
  if (row.class) facts.push(["class", row.class]);
  if (row.type) facts.push(["type", row.type]);
  if (row.new_bytes !== undefined) facts.push(["new", bytes(row.new_bytes)]);
  if (row.before_bytes !== undefined) {
    facts.push(["before", bytes(row.before_bytes)],
      ["change", heapview.bytesChange(row.before_bytes, node.bytes)]);
  }
  if (row.position !== undefined) {
    facts.push(["allocated",
      `after ${share(row.position, answer.positions)} of all that is there`]);
  }
  if (row.path && row.path !== node.label) facts.push(["path", row.path]);
  return make("dl", {}, facts.map(([name, text]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, text))));
}

/* What is told of the part that is chosen, with what can be done there: `zoom` is a link. */
function details(node, answer, zoom) {
  const at = objectOf(node.row);
  const actions = [];
  if (zoom) actions.push(make("a", {href: zoom}, "Zoom in"));
  if (at) {
    const words = node.row.kind === "group" && node.row.objects > 1
      ? `Open the biggest, ${at}` : `Open ${at}`;
    actions.push(make("a", {href: heapview.link("object", {at})}, words));
  }
  if (node.row.kind === "group" && node.row.class) {
    actions.push(make("a", {href: heapview.link("object", {class: node.row.class})},
      "Open the class"));
  }
  return [make("p", {class: "bold"}, node.label), detailList(node, answer),
    make("p", {class: "actions"}, actions)];
}

/* ==== The way and the table ========================================================= */

/* From the root to what is on top; `linkOf(key)` leads to a part. */
function crumbs(answer, linkOf) {
  const items = [];
  answer.above.forEach((row, i) => {
    const gap = i > 0 && row.depth > answer.above[i - 1].depth + 1
      ? row.depth - answer.above[i - 1].depth - 1 : 0;
    if (gap > 0) items.push(make("li", {class: "faint"}, `${count(gap)} more`));
    items.push(make("li", {}, make("a", {href: linkOf(row.key)}, row.text)));
  });
  items.push(make("li", {"aria-current": "location"}, answer.rows[0].text));
  return make("ol", {class: "crumbs", "aria-label": "The way from the root"}, items);
}

const COLUMNS = [
  {heading: "retained", kind: "bytes", meaning: "that would go with it"},
  {heading: "share", kind: "share", meaning: "of the heap"},
  {heading: "objects", kind: "count"},
  {heading: "type", kind: "text"}
];

function cellsOf(row, answer, linkOf) {
  const cells = [
    {text: bytes(row.retained_bytes), value: row.retained_bytes},
    {text: share(row.retained_bytes, answer.whole_bytes),
      value: row.retained_bytes / answer.whole_bytes},
    {text: row.objects ? count(row.objects) : "", value: row.objects},
    {text: row.type || ""}
  ];
  if (answer.rows[0].new_bytes !== undefined) {
    cells.push({text: row.new_bytes === undefined ? "" : bytes(row.new_bytes),
      value: row.new_bytes});
  }
  if (answer.rows[0].before_bytes !== undefined) {
    cells.push({text: bytes(row.before_bytes), value: row.before_bytes});
  }
  cells.push({text: row.text, link: linkOf(row)});
  return cells;
}

function asTable(answer, linkOf) {
  return heapview.asTable(() => {
    const columns = COLUMNS.slice();
    if (answer.rows[0].new_bytes !== undefined) {
      columns.push({heading: "new", kind: "bytes",
        meaning: "of the retained: allocated since the first snapshot, or the first mark"});
    }
    if (answer.rows[0].before_bytes !== undefined) {
      columns.push({heading: "before", kind: "bytes", meaning: "in the other snapshot"});
    }
    columns.push({heading: "keeps alive", kind: "text"});
    return heapview.table({
      columns, rows: answer.rows.map((row) => ({
        depth: row.depth, cells: cellsOf(row, answer, linkOf),
        style: row.key ? null : "faint"
      }))
    });
  });
}

/* So much of a text as fits in some pixels; "": not enough to be of use. */
const ruler = document.createElement("canvas").getContext("2d");
function fitted(text, width, font) {
  ruler.font = font || "12px system-ui, sans-serif";
  if (ruler.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ruler.measureText(`${text.slice(0, middle)}\u2026`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : `${heapview.head(text, low)}\u2026`;
}

/* Makes `box` a picture whose tiles are reached, told, chosen and opened. Of a tile, as it was
** drawn, picture.node(datum) is its node, and picture.to(datum, key) the node to which a key leads;
** null: to none; undefined: the key is no other's. picture.open(node) is called for Enter or a
** click, picture.leave() for Escape, picture.choose(node) for what has the focus, and
** picture.describe(node) says what it is. picture.svg is the drawing. Returns focusOn(node). */
function listen(box, picture) {
  const cells = () => d3.select(picture.svg).selectAll("g.tile");
  const datumAt = (event) => {
    const cell = event.target.closest("g.tile");
    return cell ? d3.select(cell).datum() : null;
  };
  const on = (name, act) => box.addEventListener(name, (event) => {
    const datum = datumAt(event);
    if (datum) act(datum, event);
  });
  const focusOn = (node) => {
    const found = cells().filter((datum) => picture.node(datum) === node);
    if (found.empty()) return;
    cells().attr("tabindex", -1);
    found.attr("tabindex", 0).node().focus({preventScroll: true});
    found.node().scrollIntoView({block: "nearest", inline: "nearest"});
  };
  on("keydown", (datum, event) => {
    const to = picture.to(datum, event.key);
    if (to) focusOn(to);
    else if (event.key === "Enter" || event.key === " ") picture.open(picture.node(datum));
    else if (event.key === "Escape" || event.key === "Backspace") picture.leave();
    else if (to === undefined) return;
    event.preventDefault();
  });
  on("focusin", (datum) => {
    cells().classed("chosen", (other) => other === datum);
    picture.choose(picture.node(datum));
  });
  on("click", (datum) => picture.open(picture.node(datum)));
  const tooltip = heapview.tooltip(box);
  box.addEventListener("pointermove", (event) => {
    const datum = datumAt(event);
    const around = box.getBoundingClientRect();
    if (!datum) tooltip.hide();
    else {
      tooltip.show([picture.describe(picture.node(datum))], event.clientX - around.left,
        event.clientY - around.top);
    }
  });
  box.addEventListener("pointerleave", tooltip.hide);
  return focusOn;
}

/* A rectangle of a tree, at {x, y, width, height}; `what` is drawn there of a node. */
function drawTile(svg, what, level, {x, y, width, height}, fill) {
  const {datum, kind, label, node} = what;
  const cell = svg.append("g").datum(datum).attr("class", `tile ${kind}`).attr("role", "treeitem")
    .attr("tabindex", -1).attr("aria-level", level).attr("aria-label", label)
    .attr("data-bytes", node.bytes);
  if (node.key) cell.attr("data-key", node.key);
  cell.append("rect").attr("x", x).attr("y", y).attr("width", width).attr("height", height)
    .attr("fill", fill);
  return cell;
}

/* Escape goes up from anywhere on the page, not from its picture alone. Returns what ends it. */
function onEscape(goUp) {
  const press = (event) => {
    const isElsewhere = event.target.closest("input:not([type=radio]), select, textarea, dialog");
    if (event.key !== "Escape" || event.defaultPrevented || isElsewhere) return;
    if (!document.querySelector("dialog[open]")) goUp();
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}

function legendOf(tree) {
  const letters = new Set();
  eachNode(tree, (node) => letters.add(heapview.typeLetter(typeOf(node.row))));
  return heapview.typeLegend(heapview.types.filter((type) =>
    letters.has(heapview.typeLetter(type))));
}

/* ==== A page of a tree ============================================================== */

/* Its parameters with what changes: that is, for the part that is on top, `of`. */
function parametersWith(view, changes) {
  const all = Object.assign({of: view.parameters.of}, view.page.keeps(view.parameters), changes);
  if (all.of === "root") all.of = null;
  return all;
}

function goTo(view, changes, options) {
  heapview.go(view.page.name, parametersWith(view, changes), options);
}

function linkTo(view, key) {
  return heapview.link(view.page.name, parametersWith(view, {of: key}));
}

function pathTo(view, row) {
  const at = objectOf(row);
  if (row.opens) {
    return `/${heapview.keyOf(view.page.name, parametersWith(view, {of: row.key}))}`;
  }
  return at ? `/${heapview.keyOf("object", {at})}` : null;
}

function zoomTo(view, node) {
  const {row} = node;
  const at = objectOf(row);
  if (row.key && row.opens && node !== view.tree) goTo(view, {of: row.key});
  else if (at) heapview.go("object", {at});
}

function zoomOut(view) {
  const {above} = view.answer;
  if (above.length > 0) goTo(view, {of: above[above.length - 1].key});
}

function choose(view, node) {
  const zoom = node.row.opens && node !== view.tree ? linkTo(view, node.key) : null;
  view.details.replaceChildren(...details(node, view.answer, zoom));
}

/* Defines the page of a tree's picture: {name, title, lead}, as of any page, and
**
**     keeps(parameters)      what stays in its address when another part is on top
**     question(parameters)   what is asked
**     prepare(view)          adds to the view what only this page has
**     controls(view)         elements above the picture
**     legend(view)           an element below it
**     draw(view)             draws into view.box; returns what ends it
**
** The view is {page, answer, tree, parameters, box, details}. */
function definePage(page) {
  const {name, title, lead} = page;
  const show = async (root, {parameters}) => {
    const answer = await askFor(name, page.question(parameters));
    const view = {page, answer, parameters, tree: treeOf(answer.rows), box: make("div"),
      details: make("div", {class: "details"})};
    page.prepare(view);
    heapview.toolbar(root, page.controls(view));
    root.append(crumbs(answer, (key) => linkTo(view, key)), view.box, page.legend(view),
      view.details, asTable(answer, (row) => pathTo(view, row)));
    if (answer.isPart) {
      root.append(make("p", {class: "note"},
        "This file carries so much of it. Where the snapshots are, more is shown."));
    }
    const drawNoMore = page.draw(view);
    const listenNoMore = onEscape(() => zoomOut(view));
    choose(view, view.tree);
    return () => {
      view.isLeft = true;
      drawNoMore();
      listenNoMore();
    };
  };
  heapview.tellKeys(name, "Enter, Escape", "zooms in, zooms out");
  heapview.define({name, title, lead, show});
}

heapview.tiles = {
  definePage, goTo, zoomTo, zoomOut, choose, legendOf, treeOf, eachNode, typeOf, describe, objectOf,
  fitted, listen, drawTile
};
