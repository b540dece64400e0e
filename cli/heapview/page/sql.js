/*
** sql.js - the tables of heapsql over the snapshots that are open. The query stands in the page's
** address, so it can be sent; a result is a table here, and a CSV file with more of it.
*/
const {make, count} = heapview;
const MOST_SHOWN = 1000;
const MOST_SAVED = 100000;
const ALL = {in: null, since: null, until: null}; /* a query says itself what it is about */

/* Of the last snapshot, and of the first where there are more. */
function examples(snapshots) {
  const last = snapshots[snapshots.length - 1];
  const list = [
    ["Classes by what they retain", `select class, count(*) as objects,
  sum(shallow_bytes) as shallow_bytes, max(retained_bytes) as biggest
from ${last}.objects where reachable
group by class order by shallow_bytes desc limit 20`],
    ["The biggest objects", `select address, class, retained_bytes, path
from ${last}.objects order by retained_bytes desc limit 20`],
    ["Strings with a word in them", `select path_of(id) as path, length_bytes, text
from ${last}.strings where text like '%password%' limit 20`],
    ["Equal strings", `select count(*) as copies, length_bytes, text
from ${last}.strings group by text, length_bytes, hash
having count(*) > 1 order by count(*) * length_bytes desc limit 20`],
    ["Tables with empty slots", `select address, path,
  array_slots + hash_slots - array_used - hash_used as empty
from ${last}.objects where type = 'table' order by empty desc limit 20`],
    ["Where coroutines wait", `select function, line, status, count(*) as threads
from ${last}.threads group by 1, 2, 3 order by 4 desc limit 20`]
  ];
  if (snapshots.length > 1) {
    const first = snapshots[0];
    list.push([`Tables that grew since ${first}`, `select n.address, n.path,
  o.shallow_bytes as before, n.shallow_bytes as now
from ${last}.objects n join ${first}.objects o on o.address = n.address and o.type = n.type
where n.epoch < (select m.epoch from ${last}.marks m join ${first}.info i using (serial))
  and n.shallow_bytes > o.shallow_bytes
order by now - before desc limit 20`]);
  }
  return list.map(([text, query]) => ({text, query}));
}

/* Tables with their columns; those that "select *" leaves out are marked. */
function schema(answer) {
  const tables = new Map();
  for (const [table, column, type, hidden] of answer.rows) {
    if (!tables.has(table)) tables.set(table, []);
    tables.get(table).push(make("li", {title: type}, make("code", {}, column),
      hidden ? make("span", {class: "faint"}, " +") : null));
  }
  return make("section", {class: "schema"}, make("h3", {}, "Tables"),
    make("p", {class: "faint"}, `${answer.snapshots.map((name) => `${name}.objects`).join(", ")}`
      + " and so on; without a name in front: of all. + is not in \"select *\"."),
    Array.from(tables, ([table, columns]) =>
      make("details", {}, make("summary", {}, make("code", {}, table)),
        make("ul", {}, columns))));
}

function isNumber(answer, at) {
  return answer.rows.some((row) => row[at] !== null) &&
    answer.rows.every((row) => row[at] === null || typeof row[at] === "number");
}

/* Addresses lead to their objects, in the snapshot that the row says. */
function cellOf(answer, row, at) {
  const value = row[at];
  if (value === null) return {text: ""};
  if (typeof value === "number") return {text: String(value), value};
  if (!/^0x[0-9a-f]+$/.test(value)) return {text: value};
  const of = answer.snapshots.indexOf(row[answer.columns.indexOf("snapshot")]);
  const shift = heapview.overview.snapshots.length - answer.snapshots.length;
  return {text: value, link: `/object?at=${value}${of < 0 ? "" : `&in=${of + shift}`}`};
}

function tableOf(answer) {
  const columns = answer.columns.map((heading, at) =>
    ({heading, kind: isNumber(answer, at) ? "number" : "text"}));
  const rows = answer.rows.map((row) => ({cells: row.map((_, at) => cellOf(answer, row, at))}));
  return heapview.table({columns, rows});
}

/* RFC 4180, with lines that end as here. */
function csvOf(answer) {
  const field = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
  };
  return [answer.columns, ...answer.rows].map((row) => `${row.map(field).join(",")}\n`).join("");
}

async function saveCsv(query, shown) {
  const {answer} = shown.more
    ? await heapview.ask("sql", Object.assign({query, limit: MOST_SAVED}, ALL)) : {answer: shown};
  heapview.save(csvOf(answer), "text/csv", "query.csv");
  heapview.announce(`${count(answer.rows.length)} rows saved as query.csv`);
}

function result(query, answer) {
  const rows = heapview.countOf(answer.rows.length, "row", "rows");
  const told = make("p", {class: "faint"}, answer.more
    ? `The first ${rows}; the CSV file has up to ${count(MOST_SAVED)}.` : rows);
  const failed = (error) => told.replaceWith(heapview.problem(error));
  const save = make("button", {type: "button",
    onclick: () => saveCsv(query, answer).catch(failed)}, "Save as CSV");
  heapview.announce(rows);
  return [make("div", {class: "toolbar"}, told, save), tableOf(answer)];
}

function form(query, list) {
  const text = make("textarea", {class: "code", rows: 8, spellcheck: "false", autocomplete: "off",
    "aria-label": "Query", "data-key": "query"});
  text.value = query === undefined ? list[0].query : query;
  const run = () => heapview.go("sql", Object.assign({query: text.value}, ALL));
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  const options = [{value: "", text: "choose one"}]
    .concat(list.map((example, i) => ({value: i, text: example.text})));
  const pick = heapview.choice("Example", options, "", (i) => {
    if (i === "") return;
    text.value = list[i].query;
    text.focus();
  });
  return make("div", {}, text, make("div", {class: "toolbar"},
    make("button", {type: "button", onclick: run}, "Run ", make("kbd", {}, "Ctrl+Enter")), pick));
}

/* The answer comes when it comes: meanwhile it can be given up. */
async function answerIn(place, query) {
  const cancel = make("button", {type: "button", onclick: heapview.askNoMore}, "Give it up");
  place.replaceChildren(cancel);
  try {
    const {answer} = await heapview.ask("sql", Object.assign({query, limit: MOST_SHOWN}, ALL));
    place.replaceChildren(...result(query, answer));
  } catch (error) {
    if (error.aborted) place.replaceChildren(make("p", {class: "faint"}, "It was given up."));
    else place.replaceChildren(heapview.problem(error));
  }
}

async function show(root, state) {
  const {query} = state.parameters;
  const {answer} = await heapview.ask("tables", ALL);
  const place = make("div", {class: "result"});
  root.append(make("div", {class: "main"}, form(query, examples(answer.snapshots)), place),
    make("div", {class: "side"}, schema(answer)));
  if (query === undefined) return;
  await answerIn(place, query);
}

heapview.define({name: "sql", title: "SQL", show,
  lead: "Any other question: the tables of heapsql, which can be read and not changed."});
