/*
** verdict.js - the page that opens. Its top names what leaks, so that it is read within seconds;
** then come the commands' own words about it, and what else is worth a look, with the ledger beside
** them. Which questions that takes depends on what was opened; the overview has them.
*/
(function (heapview) {
  "use strict";

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

  /* {=== Answers ======================================================================= */

  /* Of a row of a table: what can be looked at of the object that it names. */
  function actions(row) {
    const cell = row.cells.find((one) => (one.link || "").startsWith("/object?at="));
    return cell ? heapview.actionsOf(cell.text) : [];
  }

  function ledgerRow(name, objects, n, whole, style) {
    return {style, cells: [{text: name}, {text: objects === null ? "" : count(objects),
      value: objects || 0}, {text: count(n), value: n},
    {text: heapview.share(n, whole), value: n / whole}]};
  }

  /* What is there, to the byte: its last row is the sum of the others, and Lua's own figure. */
  function ledger(info) {
    const whole = info.gc_bytes;
    const rows = [
      ledgerRow("reachable", info.reachable_objects, info.reachable_bytes, whole),
      ledgerRow("garbage", info.garbage_objects, info.garbage_bytes, whole),
      ledgerRow("string table", null, info.string_table_bytes, whole)
    ];
    if (info.unaccounted_bytes !== 0) {
      rows.push(ledgerRow("unaccounted", null, info.unaccounted_bytes, whole));
    }
    rows.push(ledgerRow("collectgarbage(\"count\")", info.objects, whole, whole, "bold"));
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

  /* Its first line, for who has not opened it. */
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
      await heapview.culprits(name, answer.answer), body);
  }

  /* }=================================================================================== */

  /* {=== What is there besides ========================================================= */

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

  /* }=================================================================================== */

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
      if (key === keys[0]) main.append(...await heapview.earlyAnswers(state));
    }
    side.append(further() || "");
    main.append(await heapview.moreAnswers(state) || "");
  }

  heapview.define({name: "verdict", title: "Verdict", show,
    lead: "What leaks, how sure that is, and what else could be given back."});
})(window.heapview = window.heapview || {});
