/*
** verdict.js - the page that opens. Its top names what leaks, so that it is read within seconds;
** then come the commands' own words about it, and what else is worth a look, with the ledger beside
** them. Which questions that takes depends on what was opened; the overview has them.
*/
const {make, bytes, count} = heapview;
const ENOUGH_MARKS = 4; /* to tell when a heap grew; that of the snapshot is one of them */
const FOLDED = 120; /* letters of a command line that are shown at once */
const NARROW = "(max-width: 700px)"; /* what is secondary is folded there */
const ROWS_LEAD_ON = ["diff", "ladder", "leaks", "suspects", "interval"];
const HEADINGS = {
  diff: "What stayed", ladder: "From snapshot to snapshot", leaks: "Leaks", suspects: "Suspects",
  waste: "Waste", epochs: "When it grew", info: "Every byte", interval: "In this interval",
  findings: "Findings", profile: "The profile", allocations: "Who allocates", advice: "Advice"
};

/* ==== Answers ======================================================================= */

/* Of a row of a table: what can be looked at of the object that it names. */
function actions(row, columns) {
  const cell = row.cells[columns.findIndex((column) => column.kind === "object")];
  return cell && cell.link ? actionsOf(cell.text) : [];
}

function ledgerRow(name, objects, n, whole, style) {
  return {style, cells: [{text: name}, {text: objects === null ? "" : count(objects),
    value: objects || 0}, {text: count(n), value: n},
  {text: heapview.share(n, whole), value: n / whole}]};
}

/* What is there, to the byte: the last row is the sum of the others, and Lua's own figure. With
** external strings, which Lua leaves out, the last two rows are. */
function ledger(info) {
  const external = info.external_bytes || 0;
  const whole = info.gc_bytes + external;
  const rows = [
    ledgerRow("reachable", info.reachable_objects, info.reachable_bytes, whole),
    ledgerRow("garbage", info.garbage_objects, info.garbage_bytes, whole),
    ledgerRow("string table", null, info.string_table_bytes, whole)
  ];
  if (info.unaccounted_bytes !== 0) {
    rows.push(ledgerRow("unaccounted", null, info.unaccounted_bytes, whole));
  }
  rows.push(ledgerRow("collectgarbage(\"count\")", info.objects, info.gc_bytes, whole, "bold"));
  if (external > 0) rows.push(ledgerRow("external strings", null, external, whole, "bold"));
  return heapview.table({
    isFixed: true, rows,
    columns: [{heading: "what", kind: "text"}, {heading: "objects", kind: "count"},
      {heading: "bytes", kind: "bytes"}, {heading: "share", kind: "share"}]
  });
}

/* "S string 8.5 KB": the reachable bytes by type, which add up to what the ledger has of them. */
function types(info) {
  return make("ul", {class: "legend types", "aria-label": "Reachable, by type"},
    info.types.map((row) => make("li", {"data-bytes": row.bytes}, heapview.typeChip(row.type),
      `${row.type} `, make("span", {class: "faint"}, bytes(row.bytes)))));
}

/* What the last of several snapshots tells by itself knows less than all of them together. */
function headingOf(name, isFirst) {
  const {snapshots} = heapview.overview;
  const {name: own, file} = snapshots[snapshots.length - 1] || {};
  if (name === "leaks" && !isFirst) return `From ${own || file} alone`;
  return HEADINGS[name] || name;
}

function headline(told) {
  const first = (told || []).find((item) => item.line);
  return first ? make("span", {class: "headline"},
    ` ${first.line.map((one) => one.text).join("")}`) : null;
}

/* What comes after the first can be folded, and is, where there is little room. */
async function section(name, answer, isFirst) {
  const heading = make("h3", {}, headingOf(name, isFirst));
  if (name === "info" && answer.answer.gc_bytes !== undefined) {
    return make("section", {class: "answer info"}, heading, ledger(answer.answer),
      types(answer.answer));
  }
  const body = heapview.told(answer.told, ROWS_LEAD_ON.includes(name) ? {actions} : {});
  if (!isFirst) {
    return make("details", {class: `answer ${name}`, open: !matchMedia(NARROW).matches},
      make("summary", {}, heading, headline(answer.told)), body);
  }
  return make("section", {class: `answer ${name}`}, heading,
    await culprits(name, answer.answer), body);
}

/* ==== What is there besides ========================================================= */

function opened(overview) {
  if (overview.snapshots.length === 0) return null;
  return heapview.table({
    caption: "What was opened", isFixed: true,
    columns: [{heading: "snapshot", kind: "text"}, {heading: "taken", kind: "time"},
      {heading: "objects", kind: "count"}, {heading: "bytes", kind: "bytes"}],
    rows: overview.snapshots.map((snapshot) => ({cells: [
      {text: snapshot.name && snapshot.name !== snapshot.file
        ? `${snapshot.name} (${snapshot.file})` : snapshot.file},
      {text: snapshot.time || ""},
      {text: count(snapshot.objects), value: snapshot.objects},
      {text: bytes(snapshot.bytes), value: snapshot.bytes}
    ]}))
  });
}

function program(overview) {
  const last = overview.snapshots[overview.snapshots.length - 1];
  if (!last || !last.program) return null;
  return make("p", {class: "faint program"}, heapview.folded(last.program, FOLDED),
    ` on Lua ${last.lua}`);
}

function further() {
  const others = heapview.pages().filter((page) => page.name !== "verdict" && page.lead);
  if (others.length === 0) return null;
  return make("section", {class: "further"}, make("h3", {}, "Look further"),
    make("dl", {}, others.map((page) => [
      make("dt", {}, make("a", {href: heapview.link(page.name)}, page.title)),
      make("dd", {}, page.lead)])));
}

/* Of an interval that somebody brushed the question is what of it lives; of another snapshot than
** the last one, what that alone tells. */
function questions(state) {
  const keys = (heapview.overview.verdict || []).slice();
  const {since, until} = state.parameters;
  if (since !== undefined || until !== undefined) {
    return [heapview.keyOf("interval", {limit: 20, since, until})].concat(keys.slice(1));
  }
  const {snapshots, marks} = heapview.overview;
  if (snapshots.length === 1 && marks.length >= ENOUGH_MARKS) keys.splice(1, 0, "epochs");
  const isLast = heapview.snapshotNumber(state.parameters) === snapshots.length - 1;
  return isLast ? keys : keys.slice(1);
}

async function answer(key, isFirst) {
  const {page: name, parameters} = heapview.parse(`#/${key}`);
  const whole = name === "interval" ? {} : {since: null, until: null};
  try {
    return await section(name, await heapview.ask(name, Object.assign(whole, parameters)),
      isFirst);
  } catch (error) {
    if (error.aborted || error.lost) throw error;
    return make("section", {class: "answer"}, make("h3", {}, headingOf(name, isFirst)),
      heapview.problem(error));
  }
}

async function show(root, state) {
  const {overview} = heapview;
  const main = make("div", {class: "main"});
  const side = make("div", {class: "side"}, opened(overview), program(overview));
  if (overview.snapshots.length > 0) root.classList.add("wide");
  root.append(main, side);
  const keys = questions(state);
  for (const key of keys) {
    (key === "info" ? side : main).append(await answer(key, key === keys[0]));
    if (key === keys[0]) main.append(...await earlyAnswers(state));
  }
  side.append(further() || "");
  main.append(await moreAnswers(state) || "");
}

heapview.define({name: "verdict", title: "Verdict", show,
  lead: "What leaks, how sure that is, and what else could be given back."});

/* What leaks, by name, in boxes that are read within seconds: who holds it, how much
** that is, how it grew, where it was allocated if that is known, and where to look for the line to
** change. It is read from the answers that the verdict is made of, whose words are told below the
** boxes, and from that about the paths of each. */
const MOST_BOXES = 3;
const WORTH_A_BOX = 0.05; /* of the heap, for what is not certain to leak */
const LEAST_OF_FIRST = 0.01; /* of what the first box has, for another one */

function last(list) {
  return list[list.length - 1];
}

function names() {
  return heapview.overview.snapshots.map((snapshot) => snapshot.file);
}

function heapBytes() {
  const {snapshots} = heapview.overview;
  return snapshots[heapview.snapshotNumber(heapview.state().parameters)].bytes;
}

/* ==== Answers ======================================================================= */

/* Each gives boxes: {name, word, what, bytes, cause, series, at, class, made, isUncertain}. */

/* "allocated between a and b, still alive in c" */
function stayed() {
  const all = names();
  const now = all.pop();
  const when = all.length > 1 ? `between ${all[0]} and ${all[1]}` : `since ${all[0]}`;
  return `allocated ${when}, still alive in ${now}`;
}

function ofGroup(group) {
  return {name: group.held_by || group.class, word: stayed(), at: group.example,
    what: `${count(group.objects)} \u00d7 ${group.class}`, bytes: group.retained_bytes,
    cause: group.cause, series: group.at, made: group.allocated};
}

/* What it grew by counts: that it was there before is no fault. */
function ofGrown(row) {
  const steps = names();
  return {name: row.held_by, at: row.address,
    word: steps.length > 2 ? `grew until ${steps[1]}, and again until ${steps[2]}`
      : `grew since ${steps[0]}`,
    what: row.class, bytes: last(row.shallow_bytes) - row.shallow_bytes[0], isMore: true,
    cause: row.cause, series: row.entries};
}

function ofDiff(answer) {
  if (!answer.same_state) return ofLadder(answer);
  return answer.groups.map(ofGroup).concat(answer.grown.map(ofGrown))
    .sort((a, b) => b.bytes - a.bytes);
}

/* What is alive of an interval that somebody chose is not to blame for that. */
function ofInterval(answer) {
  return answer.groups.map((group) => Object.assign(ofGroup(group),
    {word: "allocated there, still alive", isUncertain: true}));
}

function ofLeaks(answer) {
  return answer.leaks.map((leak, i) => ({
    name: leak.held_by || leak.class, word: leak.prospect, at: leak.example,
    what: `${count(leak.objects)} \u00d7 ${leak.class}`, bytes: leak.retained_bytes,
    cause: i, made: leak.allocated, isUncertain: leak.prospect !== "grows"
  })).filter((leak) => !leak.isUncertain || leak.bytes > WORTH_A_BOX * heapBytes());
}

function ofLadder(answer) {
  return (answer.paths || []).filter((row) => row.verdict === "grows steadily").map((row) => ({
    name: row.held_by, word: row.verdict, class: row.class,
    what: `${count(last(row.objects))} \u00d7 ${row.class}`, bytes: last(row.bytes),
    cause: row.cause, series: row.entries.some((n) => n > 0) ? row.entries : row.objects
  }));
}

const ANSWERS = {diff: ofDiff, interval: ofInterval, leaks: ofLeaks, ladder: ofLadder};

/* ==== One box for each cause ========================================================= */

function causes(list) {
  const boxes = [];
  for (const one of list) {
    const isWorth = boxes.length === 0 || one.bytes >= LEAST_OF_FIRST * boxes[0].bytes;
    if (isWorth && !boxes.some((boxed) => boxed.cause === one.cause)) boxes.push(one);
  }
  return boxes.slice(0, MOST_BOXES);
}

function actionsOf(address, name) {
  if (address) {
    return [{text: "Why it stays", link: `/object?at=${address}&tab=paths`},
      {text: "What is in it", link: `/treemap?of=${address}`}];
  }
  return name ? [{text: "All of its class", link: `/${heapview.keyOf("object", {class: name})}`}]
    : [];
}

function made(allocated) {
  if (!allocated) return null;
  const [, from] = allocated.stack || [];
  return make("p", {}, "allocated at ", make("strong", {}, allocated.site),
    from ? `, from ${from}` : null);
}

/* Where to look for the line that should let go. A report that does not carry it has none. */
async function code(address) {
  if (!address) return null;
  try {
    const {answer} = await heapview.askAbout("paths", {at: address});
    const [path] = answer.paths;
    if (!path || !path.functions) return null;
    const rest = path.total_functions - path.functions.length;
    return make("p", {class: "code-to-look-at"}, `code that names ${path.name}: `,
      path.functions.join(", "), rest > 0 ? ` and ${count(rest)} more` : null);
  } catch (error) {
    if (error.aborted || error.lost) throw error;
    return null;
  }
}

async function box(one) {
  const series = (one.series || []).map(count).join(" -> ");
  return make("li", {class: one.isUncertain ? "culprit uncertain" : "culprit"},
    make("p", {class: "word"}, one.word),
    make("p", {class: "name"},
      heapview.part({text: one.name, link: one.at ? `/object?at=${one.at}` : null})),
    make("p", {}, make("strong", {}, (one.isMore ? "+" : "") + bytes(one.bytes)),
      ` in ${one.what}`, series ? make("span", {class: "faint"}, ` (${series})`) : null),
    made(one.made), await code(one.at),
    make("p", {class: "actions"}, actionsOf(one.at, one.class).map(heapview.part)));
}

async function culprits(name, answer) {
  const list = ANSWERS[name] ? ANSWERS[name](answer) : [];
  if (list.length === 0) return null;
  const boxes = causes(list);
  const rest = list.length - boxes.length;
  return make("div", {class: "culprits"},
    make("ul", {}, await Promise.all(boxes.map(box))),
    rest > 0 ? make("p", {class: "faint"}, `and ${count(rest)} more below`) : null);
}

/* The other questions of the commands, on the verdict page: each is asked when somebody
** opens it, so that a page of twelve tables costs no more than one. Which one is open stands in the
** address ("more=classes"). */
const FIRST_ROWS = 20; /* which a written report carries, too */
const MORE_ROWS = 10; /* times as many */

/* `least`: so many snapshots does it need; `most`: with more it stands above. What comes `early`
** stands behind the first answer: who comes from other tools looks for it at once. */
const QUESTIONS = [
  {name: "ladder", title: "All classes and places that changed, and how many in each snapshot",
    least: 2, most: 3, isEarly: true, isOfAll: true},
  {name: "objects", title: "The biggest objects", least: 1},
  {name: "classes", title: "Classes: how many objects, and what they retain", least: 1},
  {name: "modules", title: "Modules and globals: what each keeps alive", least: 1},
  {name: "threads", title: "Coroutines: where they stand, and what they hold", least: 1},
  {name: "growing", title: "Collections that look as if they had no limit", least: 1},
  {name: "waste", title: "All that could be given back", least: 1},
  {name: "epochs", title: "When what lives was allocated", least: 1, isWhole: true},
  {name: "sites", title: "Where objects were allocated, if that was tracked", least: 1},
  {name: "owners", title: "Who owns the growth", least: 2, isOfAll: true},
  {name: "strings", title: "Strings that are new", least: 2}
];

/* What rows are hidden is shown by asking for more of them, where there is somebody to ask. */
async function fill(body, question, limit) {
  try {
    const all = {since: null, until: null};
    if (question.isOfAll) all.in = null;
    const parameters = question.isWhole ? all : Object.assign(all, {limit});
    const answer = await heapview.ask(question.name, parameters);
    const more = heapview.isWritten() ? null : () => fill(body, question, limit * MORE_ROWS);
    body.replaceChildren(heapview.told(answer.told, {more, linksClasses: true}));
  } catch (error) {
    if (!error.aborted) body.replaceChildren(heapview.problem(error));
  }
}

function part(question, state) {
  const body = make("div");
  const details = make("details", {class: "more-answer", open: state.parameters.more ===
    question.name}, make("summary", {}, question.title), body);
  const load = () => {
    if (body.childNodes.length > 0) return null;
    body.append(make("p", {class: "faint"}, "asking \u2026"));
    return fill(body, question, FIRST_ROWS);
  };
  details.addEventListener("toggle", () => {
    if (details.open) heapview.keep({more: question.name});
    if (details.open) load();
  });
  return {details, loaded: details.open ? load() : null};
}

function partsOf(state, isEarly) {
  const n = heapview.overview.snapshots.length;
  return QUESTIONS.filter((question) => n >= question.least && n <= (question.most || n) &&
    Boolean(question.isEarly) === isEarly).map((question) => part(question, state));
}

async function earlyAnswers(state) {
  const parts = partsOf(state, true);
  await Promise.all(parts.map((one) => one.loaded));
  return parts.map((one) => one.details);
}

async function moreAnswers(state) {
  const parts = partsOf(state, false);
  if (parts.length === 0) return null;
  await Promise.all(parts.map((one) => one.loaded));
  return make("section", {class: "more-answers"}, make("h3", {}, "More answers"),
    parts.map((one) => one.details));
}

