/*
** culprits.js - what leaks, by name, in boxes that are read within seconds: who holds it, how much
** that is, how it grew, where it was allocated if that is known, and where to look for the line to
** change. It is read from the answers that the verdict is made of, whose words are told below the
** boxes, and from that about the paths of each.
*/
(function (heapview) {
  "use strict";

  const {make, bytes, count} = heapview;
  const MOST_BOXES = 3;
  const WORTH_A_BOX = 0.05; /* of the heap, for what is not certain to leak */
  const LEAST_OF_FIRST = 0.01; /* of what the first box has, for another one */

  function last(list) {
    return list[list.length - 1];
  }

  /* As the answers have them. */
  function names() {
    return heapview.overview.snapshots.map((snapshot) => snapshot.file);
  }

  function heapBytes() {
    const {snapshots} = heapview.overview;
    return snapshots[heapview.snapshotNumber(heapview.state().parameters)].bytes;
  }

  /* {=== Answers ======================================================================= */

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

  /* }=================================================================================== */

  /* {=== One box for each cause ========================================================= */

  function causes(list) {
    const boxes = [];
    for (const one of list) {
      const isWorth = boxes.length === 0 || one.bytes >= LEAST_OF_FIRST * boxes[0].bytes;
      if (isWorth && !boxes.some((boxed) => boxed.cause === one.cause)) boxes.push(one);
    }
    return boxes.slice(0, MOST_BOXES);
  }

  /* }=================================================================================== */

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

  Object.assign(heapview, {culprits, actionsOf});
})(window.heapview = window.heapview || {});
