/*
** allocations.js - the page of a profile: who allocated what, how much of it lives, and what the
** heap had when it was biggest. The answer in a sentence first; then memory over time, the stacks
** as a flame graph, tables by site and the like, who called whom, and what could be allocated less.
** What is counted (`sort`), by what rows are (`by`), and the part of the time that is brushed in
** nanoseconds (`made_since`, `made_until`) stand in the page's address, and which end of a stack is
** on top (`stacks`).
*/
const {make} = heapview;
const NOT_OF_PROFILES = {in: null, since: null, until: null};
const ORDERS = [
  {value: "allocated", text: "all that was allocated"},
  {value: "live", text: "what lives at the end: leaks"},
  {value: "peak", text: "what lived at the peak"},
  {value: "soon_dead", text: "what was soon dead"}
];
const BYS = ["site", "function", "type", "file", "stack"].map((value) => ({value, text: value}));
const CARRIED_STACKS = 400;
const MOST_STACKS = 2000;
const MOST_SITES = 500; /* that are looked up in a snapshot */

function ask(name, parameters) {
  return heapview.ask(name, Object.assign({}, parameters, NOT_OF_PROFILES));
}

/* The same of the part of the time that is looked at. */
function askPart(state, name, parameters) {
  const {made_since, made_until} = state.parameters;
  return ask(name, Object.assign({made_since, made_until}, parameters));
}

/* What is the same without a parameter has none, so that a report has it under one key. */
function wanted(state) {
  const {sort = "allocated", by = "site"} = state.parameters;
  return {sort: sort === "allocated" ? null : sort, by: by === "site" ? null : by};
}

function section(root, name, title) {
  const box = make("section", {class: `of-profile ${name}`, "data-section": name},
    title ? make("h3", {}, title) : null);
  root.append(box);
  return box;
}

/* What cannot be told of this profile is said in its place; the others are shown. */
async function fill(root, name, title, show) {
  const box = section(root, name, title);
  try {
    return await show(box);
  } catch (error) {
    if (error.aborted) throw error;
    box.append(make("p", {class: "note"}, error.message));
    return null;
  }
}

async function showStacks(box, state) {
  const limit = heapview.isWritten() ? CARRIED_STACKS : MOST_STACKS;
  const {answer} = await askPart(state, "stacks", {limit, sort: wanted(state).sort});
  return drawStacks(box, answer, state.parameters.stacks,
    (stacks) => heapview.change({stacks}));
}

/* ==== Tables ======================================================================== */

/* A line may have several: a table and the string in it. */
function siteKey(row) {
  return `${row.maker} ${row.site}`;
}

/* What a snapshot has of the sites: {key: row}; empty where it was not tracked. */
async function sitesOf() {
  if (heapview.overview.snapshots.length === 0) return {};
  const limit = heapview.isWritten() ? 20 : MOST_SITES;
  const known = await heapview.ask("sites", {limit}).catch((error) => {
    if (error.aborted) throw error;
    return null;
  });
  return Object.fromEntries(known ? known.answer.sites.map((row) => [siteKey(row), row]) : []);
}

/* The table as it is told, and what of each site is in the snapshot, with a link to that. */
function withSnapshot(table, rows, known) {
  const isKnown = rows.some((row) => known[siteKey(row)] !== undefined);
  if (!isKnown) return table;
  const columns = [{heading: "in the snapshot", kind: "count",
    meaning: "objects that were allocated there and are in the snapshot"}, ...table.columns];
  const cells = rows.map((row) => {
    const there = known[siteKey(row)];
    return there === undefined ? {text: "", value: 0} : {text: heapview.count(there.objects),
      value: there.objects, link: heapview.keyOf("/allocations",
        {maker: row.maker, site: row.site})};
  });
  return Object.assign({}, table, {columns, rows: table.rows.map((row, i) =>
    Object.assign({}, row, {cells: [cells[i], ...row.cells]}))});
}

async function showTable(box, state) {
  const {sort, by} = wanted(state);
  const {answer, told} = await askPart(state, "allocations", {by, limit: 20, sort});
  const known = by === null ? await sitesOf() : {};
  box.append(heapview.told(told.map((item) =>
    (item.table ? {table: withSnapshot(item.table, answer.allocations, known)} : item))));
}

async function showSite(box, state) {
  const {site, maker} = state.parameters;
  const {told} = await heapview.ask("site_objects", {filter: maker, limit: 50, site});
  box.append(heapview.told(told), make("p", {}, make("a", {
    href: heapview.link("allocations",
      Object.assign({}, state.parameters, {maker: null, site: null}))
  }, "All sites")));
}

function controls(root, state) {
  const {sort, by} = state.parameters;
  heapview.toolbar(root,
    heapview.choice("Count", ORDERS, sort || "allocated", (value) =>
      heapview.change({sort: value === "allocated" ? null : value})),
    heapview.choice("By", BYS, by || "site", (value) =>
      heapview.change({by: value === "site" ? null : value})));
}

async function tell(box, state, name, parameters) {
  const {told} = await askPart(state, name, parameters);
  box.append(heapview.told(told));
}

function millisecondsField(name, label, value) {
  const field = make("input", {type: "number", min: 0, step: "any", name, class: "milliseconds",
    value: value === undefined ? null : Number(value) / 1e6});
  return {field, label: make("label", {class: "control"}, make("span", {}, label), field)};
}

/* The part by keys, for who has no pointer; all else on the page is about it. */
function partControls(box, state) {
  const {made_since, made_until} = state.parameters;
  const since = millisecondsField("since", "Allocated from ms", made_since);
  const until = millisecondsField("until", "to ms", made_until);
  const of = ({field}) => (field.value === "" ? null : Math.round(Number(field.value) * 1e6));
  box.append(make("form", {class: "toolbar", id: "part", onsubmit: (event) => {
    event.preventDefault();
    heapview.change({made_since: of(since), made_until: of(until)});
  }}, since.label, until.label, make("button", {type: "submit"}, "Show that part")));
}

function tellPart(root, state) {
  root.append(make("p", {class: "note"}, "Only what was allocated in a part of the time, and " +
    "what became of that until the end. ", make("a", {href: heapview.link("allocations",
    Object.assign({}, state.parameters, {made_since: null, made_until: null}))}, "Whole time")));
}

async function showMemory(box, state) {
  const {answer, told} = await ask("memory");
  const {made_since, made_until} = state.parameters;
  const part = made_since === undefined && made_until === undefined ? null
    : {since: Number(made_since || 0),
      until: made_until === undefined ? null : Number(made_until)};
  box.append(heapview.told(told.filter((item) => item.line)));
  const choose = heapview.isWritten() ? null
    : (since, until) => heapview.change({made_since: since, made_until: until});
  const leave = heapview.drawMemory(box, answer, part, choose);
  box.append(make("details", {}, make("summary", {}, "As a table"),
    heapview.told(told.filter((item) => item.table))));
  if (choose) partControls(box, state);
  return leave;
}

async function showBoxes(box) {
  const {answer} = await ask("blueprint");
  const svg = heapview.pictureOf(answer.svg);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "Functions as boxes, and arrows to what they called");
  box.append(make("div", {class: "toolbar"}, heapview.saveButton(() => svg, "blueprint")),
    make("div", {class: "drawing", tabindex: 0, role: "region", "aria-label": "Picture"}, svg));
}

async function show(root, state) {
  const leaves = [];
  const isPart = state.parameters.made_since || state.parameters.made_until;
  const add = async (name, title, part) => leaves.push(await fill(root, name, title, part));
  if (state.parameters.site) {
    await add("site", "Allocated there", (box) => showSite(box, state));
    return undefined;
  }
  if (isPart) tellPart(root, state);
  await add("findings", null, (box) => tell(box, state, "findings"));
  await add("profile", null, (box) => tell(box, state, "profile"));
  await add("memory", "Memory over time", (box) => showMemory(box, state));
  controls(root, state);
  await add("stacks", "By stack", (box) => showStacks(box, state));
  await add("table", null, (box) => showTable(box, state));
  await add("calls", "Who called whom", (box) => tell(box, state, "calls", {limit: 20}));
  if (!isPart) {
    await add("advice", null, (box) => tell(box, state, "advice", {limit: 20}));
    await add("sizes", "Sizes of blocks", (box) => tell(box, state, "sizes"));
    await add("boxes", "Memory Blueprint", showBoxes);
  }
  return () => leaves.filter((leave) => typeof leave === "function")
    .forEach((leave) => leave());
}

heapview.define({name: "allocations", title: "Allocations", show,
  lead: "Who allocates, how much of it lives, and how soon the rest died."});

/* The stacks of a profile as a flame graph. The outermost caller is on top and what it called is
** below it; or, the other way round, on top is what allocates, in one frame whoever called it, and
** below it are its callers. Both are drawn from one answer, and add up to its bytes. */
const ENDS = [
  {value: "", text: "the outermost caller", label: "Stacks, the outermost caller on top"},
  {value: "leaf", text: "what allocates", label: "Stacks, what allocates on top"}
];

/* ==== Trees ========================================================================= */

/* Rows in preorder, as a tree to draw: below a stack what it called. */
function treeOf(answer) {
  const root = {key: "all", label: "all stacks", bytes: answer.whole_bytes, parent: null,
    children: []};
  const way = [root];
  for (const row of answer.rows) {
    const node = {
      key: row.rest ? null : String(row.stack), label: row.rest ? `${row.site} stacks` : row.site,
      bytes: row.total_bytes, own: row.self_bytes, isRest: row.rest, maker: row.maker,
      parent: way[row.depth], children: []
    };
    way.length = row.depth + 1;
    node.parent.children.push(node);
    way.push(node);
  }
  return root;
}

/* The child of `parent` that is called so, with so many bytes more. */
function addTo(parent, like, isLeaf, more) {
  const name = isLeaf ? `${like.isRest} ${like.maker} ${like.label}` : like.label;
  parent.named = parent.named || new Map();
  let child = parent.named.get(name);
  if (!child) {
    child = {key: `${parent.key}/${parent.named.size}`, label: like.label, bytes: 0,
      isRest: like.isRest, maker: like.maker, parent, children: []};
    parent.named.set(name, child);
    parent.children.push(child);
  }
  child.bytes += more;
  return child;
}

/* Leaf first: each node's own bytes go to a frame for its site, and on to its callers. What a
** rest stands for has sites that are not told. */
function inverted(tree) {
  const root = {key: tree.key, label: tree.label, bytes: tree.bytes, parent: null, children: []};
  const waiting = tree.children.map((node) => ({node, caller: null}));
  const all = [root];
  while (waiting.length > 0) {
    const step = waiting.pop();
    const {node} = step;
    const own = node.isRest ? node.bytes : node.own;
    if (node.isRest) {
      addTo(root, {label: "smaller stacks", isRest: true}, true, own);
    } else if (own > 0) {
      let frame = root;
      for (let at = step; at; at = at.caller) frame = addTo(frame, at.node, frame === root, own);
    }
    waiting.push(...node.children.map((child) => ({node: child, caller: step})));
  }
  while (all.length > 0) {
    const frame = all.pop();
    frame.children.sort((a, b) => b.bytes - a.bytes);
    all.push(...frame.children);
  }
  return root;
}

const TYPE_OF_MAKER = {table: "table", growth: "table", concatenation: "string",
  function: "function", call: "thread", "C function": "userdata", host: "userdata"};

function lookOf(svg, node) {
  const type = node.isRest ? "other" : TYPE_OF_MAKER[node.maker] || "root";
  return {fill: heapview.typePattern(svg, type), letter: ""};
}

function describe(node, whole) {
  const parts = [node.label, heapview.bytes(node.bytes), heapview.share(node.bytes, whole)];
  if (node.own > 0 && node.own < node.bytes) parts.push(`${heapview.bytes(node.own)} itself`);
  return parts.join(", ");
}

/* `end` is what is on top; choose(end) is called for the other. Returns what ends it. */
function drawStacks(box, answer, end, choose) {
  const chosen = ENDS.find((one) => one.value === end) || ENDS[0];
  const tree = treeOf(answer);
  const bar = heapview.toolbar(box);
  const flame = heapview.drawFlame(box, chosen.value === "leaf" ? inverted(tree) : tree, {
    label: chosen.label, look: lookOf, describe: (node) => describe(node, answer.whole_bytes)
  });
  bar.append(heapview.choice("On top", ENDS, chosen.value, (value) => choose(value || null)),
    heapview.searchField(() => flame, {id: "stacks-search"}, "stack", "stacks"),
    heapview.saveButton(() => flame.svg(), "stacks"));
  return flame.leave;
}

heapview.drawStacks = drawStacks;
