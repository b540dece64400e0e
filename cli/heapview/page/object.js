/*
** object.js - one object: in a sentence what it is and why it stays, then its figures, and then,
** one at a time, its fields, its paths, who refers to it, its dominators and what it keeps alive.
** All of that stands in the address: at (or class, for all objects of one), tab, and what that
** takes.
*/
(function (heapview) {
  "use strict";

  const {make, bytes, count} = heapview;
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

  /* {=== Figures ======================================================================= */

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

  /* What its type tells; the rows of a list. */
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

  /* }=================================================================================== */

  /* {=== Tabs ========================================================================== */

  async function showReferrers(root, state) {
    const from = Number(state.parameters.from) || 0;
    const {answer, told} = await askAbout("referrers",
      {at: state.parameters.at, limit: ROWS, from: from || null});
    root.append(heapview.told(told.filter((item) => item.table || item.style === "bold")));
    const line = pager({
      from, n: answer.referrers.length, total: answer.total_referrers, size: ROWS,
      one: "reference", many: "references",
      go: (to) => heapview.go("object", Object.assign({}, state.parameters, {from: to}))
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
    {name: "fields", title: "Fields", ofRoot: true, show: (...of) => heapview.showFields(...of)},
    {name: "paths", title: "Why it stays", show: (...of) => heapview.showPaths(...of)},
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
    try {
      await chosen.show(panel, state);
    } catch (error) {
      if (error.aborted) throw error;
      panel.append(heapview.problem(error));
    }
  }

  /* }=================================================================================== */

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

  /* All objects of a class: what they are like, and what holds them. */
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
  Object.assign(heapview, {askAbout, folded, objectLink, pager});
})(window.heapview = window.heapview || {});
