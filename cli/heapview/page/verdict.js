/*
** verdict.js - the page that opens. Its top names what leaks, so that it is read within seconds;
** then come the commands' own words about it, and what else is worth a look, with the ledger beside
** them. Which questions that takes depends on what was opened; the overview has them.
*/
(function (heapview) {
  "use strict";

  const {make, bytes, count} = heapview;
  const MOST_CULPRITS = 3;
  const WORTH_A_BOX = 0.05; /* of the heap, for what is not certain to leak */
  const ROWS_LEAD_ON = ["diff", "ladder", "leaks", "suspects", "interval"];
  const HEADINGS = {
    diff: "What stayed", ladder: "From snapshot to snapshot", leaks: "Leaks", suspects: "Suspects",
    waste: "Waste", info: "Every byte", interval: "In this interval", findings: "Findings",
    profile: "The profile", allocations: "Who allocates", advice: "Advice"
  };

  /* {=== What leaks, by name =========================================================== */

  function heapBytes() {
    const {snapshots} = heapview.overview;
    const number = heapview.state().parameters.in;
    return (snapshots[number] || last(snapshots)).bytes;
  }

  function last(list) {
    return list[list.length - 1];
  }

  /* "allocated between a and b, still alive in c" */
  function stayed() {
    const names = heapview.overview.snapshots.map((snapshot) => snapshot.name || snapshot.file);
    const now = names.pop();
    const when = names.length > 1 ? `between ${names[0]} and ${names[1]}` : `since ${names[0]}`;
    return `allocated ${when}, still alive in ${now}`;
  }

  /* What an answer accuses: {name, word, what, numbers, at}; the worst first. */
  const CULPRITS = {
    diff: (answer) => answer.groups.map((group) => ({
      name: group.held_by || group.class, word: stayed(), at: group.example,
      what: `${count(group.objects)} \u00d7 ${group.class}`, bytes: group.retained_bytes,
      series: group.at
    })),
    leaks: (answer) => answer.leaks.map((leak) => ({
      name: leak.held_by || leak.class, word: leak.prospect, at: leak.example,
      what: `${count(leak.objects)} \u00d7 ${leak.class}`, bytes: leak.retained_bytes,
      isUncertain: leak.prospect !== "grows"
    })).filter((leak) => !leak.isUncertain || leak.bytes > WORTH_A_BOX * heapBytes()),
    ladder: (answer) => (answer.paths || []).filter((row) => /^grows/.test(row.verdict))
      .map((row) => ({
        name: row.held_by, word: row.verdict, class: row.class,
        what: `${count(last(row.objects))} \u00d7 ${row.class}`, bytes: last(row.bytes),
        series: row.entries.some((n) => n > 0) ? row.entries : row.objects
      }))
  };

  function culprit(one) {
    const series = (one.series || []).map(count).join(" \u2192 ");
    return make("li", {class: one.isUncertain ? "culprit uncertain" : "culprit"},
      make("p", {class: "word"}, one.word),
      make("p", {class: "name"},
        heapview.part({text: one.name, link: one.at ? `/object?at=${one.at}` : null})),
      make("p", {}, make("strong", {}, bytes(one.bytes)), ` in ${one.what}`,
        series ? make("span", {class: "faint"}, ` (${series})`) : null),
      make("p", {class: "actions"}, actionsOf(one.at, one.class).map(heapview.part)));
  }

  function culprits(name, answer) {
    const list = CULPRITS[name] ? CULPRITS[name](answer) : [];
    if (list.length === 0) return null;
    const rest = list.length - MOST_CULPRITS;
    return make("div", {class: "culprits"},
      make("ul", {}, list.slice(0, MOST_CULPRITS).map(culprit)),
      rest > 0 ? make("p", {class: "faint"}, `and ${count(rest)} more below`) : null);
  }

  /* }=================================================================================== */

  /* {=== Answers ======================================================================= */

  function actionsOf(address, name) {
    if (address) {
      return [{text: "Why it stays", link: `/object?at=${address}`},
        {text: "What is in it", link: `/treemap?of=${address}`}];
    }
    return name ? [{text: "All of its class", link: `/${heapview.keyOf("object", {class: name})}`}]
      : [];
  }

  /* Of a row of a table: what can be looked at of the object that it names. */
  function actions(row) {
    const cell = row.cells.find((one) => (one.link || "").startsWith("/object?at="));
    return cell ? actionsOf(cell.text) : [];
  }

  function ledgerRow(name, objects, n, whole, style) {
    return {style, cells: [{text: name}, {text: objects === null ? "" : count(objects),
      value: objects || 0}, {text: count(n), value: n},
    {text: heapview.share(n, whole), value: n / whole}, {text: "", value: n}]};
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
        {heading: "bytes", kind: "bytes"}, {heading: "share", kind: "share"},
        {heading: "", kind: "bar"}]
    });
  }

  function section(name, answer, isFirst) {
    const body = name === "info" && answer.answer.gc_bytes !== undefined ? ledger(answer.answer)
      : heapview.told(answer.told, ROWS_LEAD_ON.includes(name) ? {actions} : {});
    return make("section", {class: `answer ${name}`},
      make("h3", {}, HEADINGS[name] || name),
      isFirst ? culprits(name, answer.answer) : null, body);
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
    return make("p", {class: "faint"}, make("code", {}, last.program), ` on Lua ${last.lua}`);
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
    const {since, until, in: number} = state.parameters;
    if (since !== undefined || until !== undefined) {
      return [heapview.keyOf("interval", {since, until})].concat(keys.slice(1));
    }
    const {length} = heapview.overview.snapshots;
    const isLast = number === undefined || Number(number) === length - 1;
    return isLast ? keys : keys.slice(1);
  }

  async function answer(key, isFirst) {
    const {page: name, parameters} = heapview.parse(`#/${key}`);
    const whole = name === "interval" ? {} : {since: null, until: null};
    try {
      return section(name, await heapview.ask(name, Object.assign(whole, parameters)), isFirst);
    } catch (error) {
      if (error.aborted) throw error;
      return make("section", {class: "answer"}, make("h3", {}, HEADINGS[name] || name),
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
    }
    side.append(further() || "");
    main.append(await heapview.moreAnswers(state) || "");
  }

  heapview.define({name: "verdict", title: "Verdict", show,
    lead: "What leaks, how sure that is, and what else could be given back."});
})(window.heapview = window.heapview || {});
