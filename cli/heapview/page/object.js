/*
** object.js - one object: in a sentence what it is and why it stays, then its figures, and then,
** one at a time, its fields, its paths, who refers to it, its dominators and what it keeps alive.
** All of that stands in the address: at (or class, for all objects of one), tab, and what that
** takes.
*/
const {make, bytes, count, svgElement} = heapview;
const FOLDED = 200; /* letters of a string that are shown at once */
const ROWS = 20;
const WEAK = {k: "keys", v: "values", kv: "keys and values"};

/* What was brushed on the timeline changes nothing about one object. */
function askAbout(question, parameters) {
  return heapview.ask(question, Object.assign({since: null, until: null}, parameters));
}

/* A long text is opened by who wants to read it. No letter is cut in two. */
function folded(text, most) {
  const limit = most || FOLDED;
  if (text.length <= limit) return make("span", {class: "code"}, text);
  return make("details", {class: "folded"},
    make("summary", {}, make("span", {class: "code"}, `${heapview.head(text, limit)}\u2026`)),
    make("pre", {}, text));
}

function objectLink(address, text, parameters) {
  const to = Object.assign({at: address}, parameters);
  return make("a", {href: heapview.link("object", to), "data-at": address}, text || address);
}

/* "21 to 40 of 1,204 fields", and to the pages before and behind: {from, n, total, size, one,
** many, go}. */
function pager(page) {
  const {from, n, total, size} = page;
  if (total <= n && from === 0) return null;
  const button = (text, to, enabled) => make("button", {type: "button",
    "data-key": `page ${text}`, disabled: !enabled, onclick: () => page.go(to || null)}, text);
  return make("div", {class: "toolbar pager"},
    make("span", {}, n > 0 ? `${count(from + 1)} to ${count(from + n)} of ` : "none of ",
      heapview.countOf(total, page.one, page.many)),
    button("First", 0, from > 0),
    button("Previous", Math.max(from - size, 0), from > 0),
    button("Next", from + n, from + n < total),
    button("Last", Math.max(total - size, 0), from + n < total));
}

/* ==== Figures ======================================================================= */

function fact(name, ...value) {
  return [make("dt", {}, name), make("dd", {}, ...value)];
}

function given(value) {
  return value !== null && value !== undefined;
}

function slots(o) {
  const empty = o.array_slots + o.hash_slots - o.entries;
  return `${count(o.entries)} in ${count(o.array_slots)} + ${count(o.hash_slots)} slots` +
    (empty > 0 ? `, ${count(empty)} of them empty` : "");
}

function factsOfType(o) {
  const facts = [];
  if (given(o.entries)) facts.push(...fact("Entries", slots(o)));
  if (given(o.weak_mode)) facts.push(...fact("Weak", WEAK[o.weak_mode]));
  if (given(o.length_bytes)) {
    facts.push(...fact("Length", bytes(o.length_bytes)), ...fact("Content", folded(o.content)));
  }
  if (given(o.file)) {
    const lines = o.line === o.last_line ? `line ${o.line}` : `lines ${o.line} to ${o.last_line}`;
    const place = `${o.file}, ${o.line > 0 ? lines : "the main chunk"}`;
    facts.push(...fact("Code", make("span", {class: "code"}, place),
      `, ${heapview.countOf(o.instructions, "instruction", "instructions")}`));
  }
  if (given(o.proto)) facts.push(...fact("Prototype", objectLink(o.proto)));
  if (given(o.user_bytes)) facts.push(...fact("Block", bytes(o.user_bytes)));
  if (given(o.status)) facts.push(...fact("Status", o.status));
  if (given(o.frames) && o.frames.length > 0) {
    facts.push(...fact("Stack", make("ol", {class: "frames"}, o.frames.map((frame) =>
      make("li", {class: "code"}, frame)))));
  }
  return facts;
}

/* The same object in the other snapshots: by its age, never by its address alone. */
function elsewhere(o) {
  return o.elsewhere.flatMap((there) => {
    if (!there.address) return fact(`In ${there.name}`, "it is not there");
    return fact(`In ${there.name}`, objectLink(there.address, there.address, {in: there.in}),
      ` ${bytes(there.shallow_bytes)} of its own`);
  });
}

function facts(o) {
  const state = heapview.state().parameters;
  return make("dl", {class: "facts"},
    fact("Type", heapview.typeChip(o.type), o.type),
    fact("Class", make("a", {href: heapview.link("object", {class: o.class, in: state.in})},
      o.class)),
    heapview.isWritten() ? [] : fact("Lies", make("a", {"data-key": "on-map",
      href: heapview.link("map", {at: o.address})}, "on the heap map")),
    fact("Retains", bytes(o.retained_bytes)),
    fact("Its own", bytes(o.shallow_bytes)),
    given(o.distance) ? fact("Distance", `${heapview.countOf(o.distance, "reference",
        "references")} from a root`) : [],
    given(o.immediate_dominator) ? fact("Dominator", objectLink(o.immediate_dominator)) : [],
    given(o.metatable) ? fact("Metatable", objectLink(o.metatable)) : [],
    factsOfType(o), elsewhere(o));
}

/* ==== Tabs ========================================================================== */

async function showReferrers(root, state) {
  const from = Number(state.parameters.from) || 0;
  const {answer, told} = await askAbout("referrers",
    {at: state.parameters.at, limit: ROWS, from: from || null});
  root.append(heapview.told(told.filter((item) => item.table || item.style === "bold")));
  const line = pager({
    from, n: answer.referrers.length, total: answer.total_referrers, size: ROWS,
    one: "reference", many: "references",
    go: (to) => heapview.change({from: to})
  });
  if (line) root.append(line);
}

async function showDominators(root, state) {
  const {told} = await askAbout("dominators", {at: state.parameters.at, limit: ROWS});
  root.append(heapview.told(told));
}

async function showUnder(root, state) {
  const {at} = state.parameters;
  const {told} = await askAbout("under", {at, limit: ROWS});
  root.append(heapview.told(told), make("p", {},
    make("a", {href: heapview.link("treemap", {of: at})}, "The same as a treemap")));
}

/* "root": of the root, too. */
const tabs = [
  {name: "fields", title: "Fields", ofRoot: true, show: (...of) => showFields(...of)},
  {name: "paths", title: "Why it stays", show: (...of) => showPaths(...of)},
  {name: "referrers", title: "Referrers", show: showReferrers},
  {name: "dominators", title: "Dominators", show: showDominators},
  {name: "under", title: "What it keeps alive", ofRoot: true, show: showUnder}
];

function tabList(state, own, chosen) {
  const {at} = state.parameters;
  const list = make("div", {class: "tabs", role: "tablist", "aria-label": "About this object"},
    own.map((tab) => make("a", {
      role: "tab", id: `tab-${tab.name}`, "data-key": `tab ${tab.name}`,
      "aria-selected": String(tab === chosen), "aria-current": tab === chosen ? "true" : null,
      "aria-controls": "tab-panel",
      href: heapview.link("object", {at, tab: tab === own[0] ? null : tab.name})
    }, tab.title)));
  heapview.roving(list, "[role=tab]");
  return list;
}

async function showTab(root, state) {
  const isRoot = state.parameters.at === "root";
  const own = tabs.filter((tab) => !isRoot || tab.ofRoot);
  const chosen = own.find((tab) => tab.name === state.parameters.tab) || own[0];
  const panel = make("div", {class: `tab tab-${chosen.name}`, role: "tabpanel", id: "tab-panel",
    "aria-labelledby": `tab-${chosen.name}`});
  root.append(tabList(state, own, chosen), panel);
  await heapview.attempt(panel, () => chosen.show(panel, state));
}

async function showObject(root, state) {
  const {at} = state.parameters;
  if (at === "root") {
    root.append(make("p", {class: "bold"}, "The root: what Lua itself and its host hold."));
  } else {
    const {answer, told} = await askAbout("object", {at});
    root.append(make("section", {class: "what", "data-at": answer.address}, heapview.told(told),
      facts(answer)));
  }
  await showTab(root, state);
}

async function showClass(root, state) {
  const name = state.parameters.class;
  root.append(make("h3", {}, `Class ${name}`));
  const about = await askAbout("class", {class: name, limit: ROWS});
  root.append(heapview.told(about.told), make("h3", {}, "What holds them"));
  const held = await askAbout("set", {class: name, limit: ROWS});
  root.append(heapview.told(held.told));
}

async function showBiggest(root) {
  root.append(make("p", {}, "Look for an object in the field above (",
    make("kbd", {}, "/"), "), or choose one of the biggest:"));
  const {told} = await askAbout("objects", {limit: ROWS});
  root.append(heapview.told(told));
}

heapview.define({
  name: "object", title: "Object",
  lead: "One object: what it is, what is in it, and why it stays.",
  show: async function (root, state) {
    if (state.parameters.at) await showObject(root, state);
    else if (state.parameters.class) await showClass(root, state);
    else await showBiggest(root);
  }
});
Object.assign(heapview, {askAbout, folded});

/* What is in an object: a table whose order, filter and page are the server's, since an
** object may have ten million fields. A heading sorts by its column, the biggest or the first on
** top, once more the other way round, and the third time as they are in the object. */
const FIELD_ROWS = 50;

/* The key by which the server sorts each column; numbers begin with the greatest. */
const COLUMNS = [
  {heading: "field", kind: "text", key: "label"},
  {heading: "value", kind: "text", key: "value"},
  {heading: "shallow", kind: "bytes", key: "shallow_bytes"},
  {heading: "retained", kind: "bytes", key: "retained_bytes"}
];

function sortKey(column, turn) {
  if (turn === 0) return null;
  return (column.kind === "bytes") === (turn === 1) ? `-${column.key}` : column.key;
}

/* Which column it is, and which turn: 0 where it is none. */
function orderOf(sort) {
  const at = COLUMNS.findIndex((column) => sort && sort.replace(/^-/, "") === column.key);
  if (at < 0) return {at: -1, turn: 0};
  return {at, turn: sortKey(COLUMNS[at], 1) === sort ? 1 : 2};
}

/* ==== Rows ========================================================================== */

function labelOf(field) {
  const text = folded(field.label, 120);
  if (!field.key) return text;
  return objectLink(field.key, field.label);
}

function lengthOf(field) {
  if (field.length_bytes === undefined || field.length_bytes < 100) return null;
  return make("span", {class: "faint"}, ` ${bytes(field.length_bytes)}`);
}

/* An object by its class, a string by what it says, with a link each. */
function valueOf(field) {
  const weak = field.weak ? make("span", {class: "faint"}, " (weak)") : null;
  if (!field.address) return make("span", {class: "code"}, field.value, weak);
  const isString = field.type === "string";
  return make("span", {}, heapview.typeChip(field.type),
    isString ? folded(field.value, 120) : null, lengthOf(field), isString ? " " : null,
    objectLink(field.address, isString ? field.address : field.value),
    isString ? null : make("span", {class: "faint"}, ` ${field.address}`),
    field.upvalue ? [" ", objectLink(field.upvalue, "upvalue")] : null, weak);
}

function bytesOf(n) {
  return n === null ? {text: ""} : {text: bytes(n), value: n};
}

function rowOf(field) {
  return {
    style: field.weak ? "faint" : "plain",
    cells: [{text: field.label, element: labelOf(field)},
      {text: field.value, element: valueOf(field)},
      bytesOf(field.shallow_bytes), bytesOf(field.retained_bytes)]
  };
}

function filterForm(state) {
  const input = make("input", {type: "search", value: state.parameters.filter || "",
    "data-key": "filter", placeholder: "in names and values", "aria-label": "Filter fields",
    maxlength: 200});
  const apply = (event) => {
    event.preventDefault();
    heapview.change({filter: input.value || null, from: null});
  };
  input.addEventListener("search", apply);
  return make("form", {class: "control", role: "search", onsubmit: apply},
    make("span", {}, "Filter"), input, make("button", {type: "submit"}, "Apply"));
}

function summary(answer) {
  const all = heapview.countOf(answer.total_fields, "field", "fields");
  return answer.matching === answer.total_fields ? all
    : `${heapview.count(answer.matching)} of ${all}`;
}

async function showFields(root, state) {
  const {at, sort, filter, from} = state.parameters;
  const {answer, told} = await askAbout("fields",
    {at, sort, filter, from: Number(from) || null, limit: FIELD_ROWS});
  root.append(make("div", {class: "toolbar"}, filterForm(state),
    make("span", {role: "status"}, summary(answer))));
  if (answer.fields.length > 0) {
    root.append(heapview.table({
      columns: COLUMNS, rows: answer.fields.map(rowOf),
      order: Object.assign(orderOf(sort), {
        choose: (column, turn) =>
          heapview.change({sort: sortKey(COLUMNS[column], turn), from: null})
      })
    }));
  }
  root.append(heapview.told(told.filter((item) => item.line).slice(1)));
  const line = pager({
    from: answer.from, n: answer.fields.length, total: answer.matching, size: FIELD_ROWS,
    one: "field", many: "fields", go: (to) => heapview.change({from: to})
  });
  if (line) root.append(line);
}

/* Why an object stays: the shortest path, which is known at once; and what is asked for
** by who wants to know, since it takes a search of the whole heap: more paths, how many cuts free
** it, what a cut would free, and the picture.
**
** The picture is drawn by Graphviz in the server. Names from the heap are in it, so its text is no
** markup here: it is parsed, and built anew from the few elements and attributes that a picture of
** boxes, arrows and texts has. The boxes of objects become links. */
const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = ["svg", "g", "polygon", "polyline", "path", "ellipse", "text"];
const ATTRIBUTES = ["width", "height", "viewBox", "transform", "fill", "stroke", "stroke-width",
  "stroke-dasharray", "points", "d", "cx", "cy", "rx", "ry", "text-anchor", "x", "y",
  "font-family", "font-size", "font-weight"];
const VALUE = /^[\w\s#.,%()+-]*$/;
const MORE = 5; /* paths */

/* ==== The picture =================================================================== */

function copyAttributes(from, to) {
  for (const name of ATTRIBUTES) {
    const value = from.getAttribute(name);
    if (value !== null && VALUE.test(value) && !/url/i.test(value)) to.setAttribute(name, value);
  }
}

/* The box of an object has its address as its id. */
function linkOf(from) {
  const id = from.getAttribute("id");
  if (from.getAttribute("class") !== "node" || !/^0x[0-9a-f]{1,16}$/.test(id)) return null;
  const link = svgElement("a", {href: heapview.link("object", {at: id}), "data-at": id});
  const title = svgElement("title");
  title.textContent = id;
  link.append(title);
  return link;
}

/* A tooltip makes Graphviz wrap a box in an element of its own: what is in that counts. */
function rebuilt(from) {
  if (from.nodeType === Node.TEXT_NODE) return document.createTextNode(from.nodeValue);
  const isWrapped = from.localName === "a";
  if (!isWrapped && !ELEMENTS.includes(from.localName)) return null;
  const element = svgElement(isWrapped ? "g" : from.localName);
  const link = linkOf(from);
  const inside = link || element;
  if (!isWrapped) copyAttributes(from, element);
  if (link) element.append(link);
  for (const child of from.childNodes) {
    const isText = child.nodeType === Node.TEXT_NODE;
    const copy = isText && from.localName !== "text" ? null : rebuilt(child);
    if (copy) inside.append(copy);
  }
  return element;
}

/* The one place where a text is parsed, which the page's policy has to be told. */
const trusted = window.trustedTypes
  ? trustedTypes.createPolicy("picture", {createHTML: (text) => text})
  : {createHTML: (text) => text};

function pictureOf(text) {
  const parsed = new DOMParser()
    .parseFromString(trusted.createHTML(text), "image/svg+xml").documentElement;
  if (parsed.localName !== "svg" || parsed.namespaceURI !== SVG) {
    throw new Error("The picture cannot be read.");
  }
  const svg = rebuilt(parsed);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Paths from the roots to the object");
  return svg;
}

async function showPicture(root, state) {
  const {at} = state.parameters;
  const {answer} = await askAbout("picture", {at});
  const svg = pictureOf(answer.svg);
  root.append(make("div", {class: "toolbar"}, heapview.saveButton(() => svg, `paths-to-${at}`)),
    make("div", {class: "drawing", tabindex: 0, role: "region", "aria-label": "Picture"}, svg));
}

async function showIndependent(root, state) {
  const {told} = await askAbout("independent", {at: state.parameters.at});
  root.append(heapview.told(told));
}

async function showMore(root, state) {
  const {told} = await askAbout("paths", {at: state.parameters.at, limit: MORE});
  root.append(heapview.told(told));
}

/* What would go without one reference: the last one of the object's path, or what somebody names
** instead. */
async function showCut(root, state, path) {
  const {at} = state.parameters;
  const cut = state.parameters.cut || (path && path.text) || at;
  const field = make("input", {type: "text", value: cut, maxlength: 500, autocomplete: "off",
    spellcheck: "false", "data-key": "cut-what"});
  root.append(make("form", {class: "toolbar cut", onsubmit: (event) => {
    event.preventDefault();
    heapview.change({cut: field.value || null});
  }}, make("label", {class: "control"}, "Cut ", field),
  make("button", {type: "submit", "data-key": "cut-ask"}, "What would be freed?")),
  make("p", {class: "faint"}, "A path or a variable: the reference of its last step; an " +
    "address, a place or a class: the objects themselves. A * stands for any text."));
  const {told} = await askAbout("cut", {at, of: cut});
  root.append(heapview.told(told));
}

/* One retainer after the other left out of account, as --ignore does: what is asked is the cut of
** the object itself, so of all references to it. */
function showRetainers(root, state, path) {
  const {at} = state.parameters;
  const retainers = path.steps.filter((step) => step.address && step.address !== at);
  if (heapview.isWritten() || retainers.length === 0) return;
  const links = retainers.flatMap((step, i) => [i > 0 ? ", " : null, make("a", {
    href: heapview.link("object", {at, tab: "paths", show: "cut", cut: step.address}),
    "data-key": `without ${step.address}`
  }, heapview.head(step.label, 60))]);
  root.append(make("p", {class: "retainers"}, "Would it go without one of its retainers? ",
    links));
}

const WAYS = [
  {name: "picture", title: "Draw it", show: showPicture},
  {name: "cuts", title: "How many cuts free it?", show: showIndependent},
  {name: "cut", title: "What if it were cut?", show: showCut},
  {name: "more", title: "More paths", show: showMore}
];

async function showPaths(root, state) {
  const {at, show} = state.parameters;
  const {answer, told} = await askAbout("paths", {at});
  if (show !== "more") root.append(heapview.told(told));
  if (!answer.reachable) return;
  root.append(make("div", {class: "toolbar"}, WAYS.map((way) => make("button", {
    type: "button", "data-key": way.name, "aria-pressed": String(way.name === show),
    onclick: () => heapview.change({show: way.name === show ? null : way.name, cut: null})
  }, way.title))));
  showRetainers(root, state, answer.paths[0]);
  const chosen = WAYS.find((way) => way.name === show);
  if (chosen) await chosen.show(root, state, answer.paths[0]);
}

Object.assign(heapview, {pictureOf});
