/*
** verdict.js - the page that opens: what leaks, in the words of the commands, and then what else is
** worth a look. Which questions those are depends on what was opened; the overview has them.
*/
(function (heapview) {
  "use strict";

  const {make} = heapview;

  function fact(name, value) {
    return [make("dt", {}, name), make("dd", {}, value)];
  }

  function opened(snapshot) {
    return make("section", {class: "opened"}, make("h3", {}, snapshot.name || snapshot.file),
      make("dl", {class: "facts"}, fact("file", snapshot.file),
        snapshot.time ? fact("taken", snapshot.time) : null,
        fact("objects", heapview.count(snapshot.objects)),
        fact("bytes", heapview.bytes(snapshot.bytes)),
        snapshot.lua ? fact("Lua", snapshot.lua) : null));
  }

  async function show(root) {
    const {overview} = heapview;
    for (const key of overview.verdict || []) {
      const section = make("section", {class: "answer"});
      root.append(section);
      const answer = await heapview.ask(key);
      section.append(heapview.told(answer.told));
    }
    root.append(make("section", {class: "files"}, make("h2", {}, "What was opened"),
      overview.snapshots.map(opened)));
  }

  heapview.define({name: "verdict", title: "Verdict", show,
    lead: "What leaks, how sure that is, and what else could be given back."});
})(window.heapview = window.heapview || {});
