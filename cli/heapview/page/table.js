/*
** table.js - tables. Numbers stand at the right in digits of one width; a heading sorts by its
** column, once more the other way round, and the third time as it was. Where there is no room for
** it each row becomes a card with its subject on top (tables.css), so the parts of a table say what
** they are by `role`, too.
*/
const {make} = heapview;
const NUMBERS = ["bytes", "count", "share", "series", "change", "number"];
const LONG = 12; /* rows, from which on they can be filtered */
const UNBROKEN = ["object", "time", "flag"];

function isNumber(column) {
  return NUMBERS.includes(column.kind);
}

/* What a row is about stands in the last column that has words. */
function classOf(table, at) {
  const {kind} = table.columns[at];
  if (kind === "series") return "number series";
  if (isNumber(table.columns[at])) return "number";
  if (kind === "bar") return "bar";
  if (UNBROKEN.includes(kind)) return "unbroken";
  const follow = table.columns.slice(at + 1).map((column) => column.kind);
  return follow.every((other) => UNBROKEN.includes(other)) ? "words subject" : "words";
}

/* A text, with its link if it has one; or an element that was made of it. */
function part(from) {
  if (from.element) return from.element;
  const text = heapview.breakable(from.text === undefined ? String(from) : from.text);
  return from.link ? make("a", {href: heapview.linkTo(from.link)}, text) : text;
}

/* "8.1 KB -> 16.1 KB -> 16.1 KB" is broken behind an arrow only. */
function series(text) {
  return text.split(/(?<=-> )/).map((step) => make("span", {class: "step"}, step));
}

function bar(cell, most) {
  const fill = make("span", {class: "fill"});
  fill.style.width = `${most > 0 ? Math.max((100 * cell.value) / most, 1) : 0}%`;
  return make("span", {class: "track", "aria-hidden": "true"}, cell.value > 0 ? fill : null);
}

function compare(a, b) {
  if (a.value !== undefined && b.value !== undefined && a.value !== b.value) {
    return a.value === null || a.value < b.value ? -1 : 1;
  }
  return String(a.text).localeCompare(String(b.text), undefined, {numeric: true});
}

/* Numbers are looked at from the greatest on, names from the first. */
function ordered(table, rows, at, turn) {
  if (turn === 0) return rows;
  const sign = (isNumber(table.columns[at]) ? -1 : 1) * (turn === 1 ? 1 : -1);
  return rows.slice().sort((a, b) => sign * compare(a.cells[at], b.cells[at]));
}

/* The headings; `sort` is told the column, and which turn it is. */
function headings(table, sort) {
  let {at: by, turn} = table.order || {at: -1, turn: 0};
  const mark = () => cells.forEach((cell, i) =>
    cell.setAttribute("aria-sort", i !== by || turn === 0 ? "none"
      : isNumber(table.columns[by]) === (turn === 1) ? "descending" : "ascending"));
  const choose = (at) => {
    turn = by === at ? (turn + 1) % 3 : 1;
    by = at;
    mark();
    sort(at, turn);
  };
  const cells = table.columns.map((column, at) => make("th",
    {role: "columnheader", scope: "col", class: classOf(table, at), title: column.meaning},
    sort && column.heading !== ""
      ? make("button", {type: "button", onclick: () => choose(at)}, column.heading)
      : column.heading));
  if (table.order) mark();
  return cells;
}

/* A field that leaves the rows with a word in them. */
function filter(table, only) {
  const told = make("span", {class: "faint"});
  const apply = () => {
    const word = field.value.toLowerCase();
    const rows = table.rows.filter((row) =>
      row.cells.some((cell) => String(cell.text).toLowerCase().includes(word)));
    told.textContent = word === "" ? "" : `${heapview.count(rows.length)} of these rows`;
    only(rows);
  };
  const field = make("input", {type: "search", oninput: apply, spellcheck: "false"});
  return make("div", {class: "toolbar"},
    make("label", {class: "control"}, make("span", {}, "Only rows that have"), field), told);
}

/* Where the class of a row is its name alone, it leads to that class, too. */
function linked(table, column, cell) {
  const isClass = column.key === "class" || (table.linksClasses && column.heading === "class");
  const leads = isClass && !cell.link && cell.text && heapview.canShow("object");
  return leads ? {text: cell.text, link: `/${heapview.keyOf("object", {class: cell.text})}`}
    : cell;
}

function cellElement(table, row, at, most) {
  const column = table.columns[at];
  const cell = linked(table, column, row.cells[at]);
  const element = make("td", {role: "cell", class: classOf(table, at),
    "data-heading": column.heading});
  const deep = row.depth > 0 && at === table.columns.length - 1;
  if (deep) {
    element.style.paddingInlineStart = `${Math.min(row.depth, 40) * 1.1 + 0.5}em`;
    element.classList.add("deep");
    element.append(make("span", {class: "heard"}, `level ${row.depth}: `));
  }
  if (column.kind === "bar" && cell.value !== undefined) element.append(bar(cell, most));
  else if (column.kind === "series") element.append(...series(cell.text));
  else element.append(...[part(cell)].flat());
  return element;
}

function rowElements(table, row, most) {
  const style = row.style && row.style !== "plain" ? row.style : null;
  const cells = table.columns.map((column, at) => cellElement(table, row, at, most[at]));
  const line = make("tr", {role: "row", class: style}, cells);
  const actions = table.actions ? table.actions(row, table.columns) : [];
  if (!row.below && actions.length === 0) return [line];
  line.classList.add("has-below");
  const below = make("td", {role: "cell", colspan: table.columns.length},
    (row.below || []).map(part), row.below ? "\u2003" : null,
    make("span", {class: "actions"}, actions.map(part)));
  return [line, make("tr", {role: "row", class: "below"}, below)];
}

function hiddenRows(table) {
  if (!(table.hidden > 0)) return null;
  const text = `${heapview.count(table.hidden)} more ${table.rest || ""}`;
  return make("p", {class: "faint"}, table.more
    ? make("button", {type: "button", onclick: table.more}, `Show more of ${text}`) : text);
}

function meanings(table) {
  const told = table.columns.filter((column) => column.meaning);
  if (told.length === 0) return null;
  return make("details", {class: "meanings"}, make("summary", {}, "What the columns mean"),
    make("dl", {}, told.map((column) =>
      [make("dt", {}, column.heading), make("dd", {}, column.meaning)])));
}

const widths = new WeakMap(); /* at which it was looked last */

/* Where a table does not fit its series are broken; if that is not enough, it is shown as
** cards. */
function fit(box) {
  if (widths.get(box) === box.clientWidth) return;
  widths.set(box, box.clientWidth);
  box.classList.remove("tight", "cards");
  for (const way of ["tight", "cards"]) {
    if (box.scrollWidth > box.clientWidth) box.classList.add(way);
  }
}

const observer = new ResizeObserver((entries) => entries.forEach((entry) => fit(entry.target)));

/* {caption, columns: [{heading, kind, meaning}], rows: [{cells: [{text, value, link}], style,
** below: [part], depth}], hidden, rest, isFixed, actions(row, columns), order: {at, turn,
** choose}}: a tree is not sorted, nor what is fixed; an order says by which column the rows are
** sorted already, and choose(at, turn) is told which is wanted. Of a row the actions are parts with
** links, told under it; linksClasses: a column of that heading has names of classes alone. */
function table(from) {
  const body = make("tbody", {role: "rowgroup"});
  const most = from.columns.map((column, at) =>
    Math.max(0, ...from.rows.slice(0, 10000).map((row) => row.cells[at].value || 0)));
  const isFixed = from.isFixed || (from.rows.length < 3 && !from.order) ||
    from.rows.some((row) => row.depth > 0);
  let shown = {rows: from.rows, at: 0, turn: 0};
  const show = (change) => {
    shown = Object.assign(shown, change);
    body.replaceChildren(...ordered(from, shown.rows, shown.at, shown.turn).flatMap((row) =>
      rowElements(from, row, most)));
  };
  const sort = from.order ? from.order.choose : (at, turn) => show({at, turn});
  const heads = headings(from, isFixed ? null : sort);
  const only = isFixed || from.order || from.rows.length < LONG ? null
    : filter(from, (rows) => show({rows}));
  show({});
  const caption = make("caption", {class: from.caption ? null : "heard"},
    from.caption || from.columns.map((column) => column.heading).join(", "));
  const box = make("div", {class: "table"}, only,
    make("table", {role: "table", class: isFixed ? "fixed" : null}, caption,
      make("thead", {role: "rowgroup"}, make("tr", {role: "row"}, heads)), body),
    hiddenRows(from), meanings(from));
  observer.observe(box);
  return box;
}

/* A picture's figures as a table, made when it is opened: most look at the picture. */
function asTable(makeTable) {
  const box = make("details", {class: "as-table"}, make("summary", {}, "The same as a table"));
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(makeTable());
  });
  return box;
}

Object.assign(heapview, {table, asTable, part});

/* The words of an answer, which are the commands' own, as elements: lines, tables, and
** links to where a page shows the same. What of an answer comes first, and what is merely more of
** it, is the question's to say. */
const FOLDED = 300; /* letters of a line: what is longer is a command line with all its files */

/* "Why it stays: heappath c 0x55d0c0a3f2e0" is a link; beside it is what to type for the same. */
function parts(list) {
  return list.flatMap((from, i) => {
    if (from.action) {
      return [part({text: from.action, link: from.link}),
        make("code", {class: "command"}, from.text)];
    }
    return i + 1 < list.length && list[i + 1].action ? [] : part(from);
  });
}

/* Blanks in front stand for what belongs to the line above, and inside for columns. */
function line(from) {
  const style = from.style && from.style !== "plain" ? from.style : null;
  const text = from.line.map((one) => one.text).join("");
  const isLong = text.length > FOLDED && from.line.every((one) => !one.link);
  const element = make("p", {class: style},
    isLong ? heapview.folded(text, FOLDED) : parts(from.line));
  if (/\S {2,}\S/.test(text)) element.classList.add("columns");
  else if (text.startsWith(" ")) element.classList.add("more");
  return element;
}

/* What `options` has is each table's, too. */
function told(list, options) {
  const root = make("div", {class: "told"});
  for (const item of list || []) {
    root.append(item.table ? table(Object.assign({}, item.table, options)) : line(item));
  }
  return root;
}

heapview.told = told;
