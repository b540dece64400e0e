/*
** flame.js - the page of references: from the root along folded paths, each frame as wide as what
** hangs at its place retains. Against another snapshot frames are red where there is more than
** before, and blue where there is less. What is searched for is marked, and summed up. Saved as
** text it is a line for each way down, "root;_G;.bus 12345", which other flame graphs read, too.
*/
(function (heapview) {
  "use strict";

  const {make, bytes, tiles} = heapview;

  /* {=== Against another snapshot ====================================================== */

  /* From -1, all of it is gone, to 1, all of it is new. */
  function changeOf(node) {
    const before = node.before || 0;
    const most = Math.max(before, node.bytes);
    return most === 0 ? 0 : (node.bytes - before) / most;
  }

  const STEPS = [
    {least: 0.5, letter: "+++", text: "more than doubled, or new"},
    {least: 0.1, letter: "++", text: "more"},
    {least: 0.005, letter: "+", text: "a little more"},
    {least: -0.005, letter: "=", text: "the same"},
    {least: -0.1, letter: "\u2212", text: "a little less"},
    {least: -1, letter: "\u2212\u2212", text: "less"}
  ];

  function stepOf(node) {
    const change = changeOf(node);
    return STEPS.find((step) => change >= step.least);
  }

  function changeColour(step) {
    const at = STEPS.indexOf(step);
    const [to, part] = at < 3 ? ["--more", (3 - at) / 3] : ["--less", (at - 3) / 2];
    return d3.interpolateLab(heapview.colour("--same"), heapview.colour(to))(part);
  }

  function changeLegend() {
    return heapview.legend("Change", STEPS.map((step) =>
      ({letter: step.letter, colour: changeColour(step), text: step.text})));
  }

  /* }=================================================================================== */

  /* {=== Folded text =================================================================== */

  /* A name in a line: ";" joins names, and what follows the last blank is the number. */
  function folded(node) {
    return (node.row.steps || node.row.path || node.label).replace(/;/g, ",")
      .replace(/\s+/g, " ");
  }

  /* A line for each part that is itself and no more. The bytes of all add up to the whole. */
  function foldedText(tree) {
    const lines = [];
    const waiting = [{node: tree, way: "root"}];
    while (waiting.length > 0) {
      const {node, way} = waiting.pop();
      if (node.children.length === 0 && node.bytes > 0) lines.push(`${way} ${node.bytes}`);
      for (let i = node.children.length - 1; i >= 0; i--) {
        const child = node.children[i];
        waiting.push({node: child,
          way: child.isOwn ? way : `${way};${child.isRest ? `(${child.label})` : folded(child)}`});
      }
    }
    return `${lines.join("\n")}\n`;
  }

  /* }=================================================================================== */

  /* {=== The page ====================================================================== */

  function treeOf(answer) {
    const tree = tiles.treeOf(answer.rows);
    tiles.eachNode(tree, (node) => {
      node.isOwn = node.row.kind === "own";
      node.isRest = node.row.kind === "rest";
      node.type = tiles.typeOf(node.row);
      node.path = node.row.path;
    });
    return tree;
  }

  function parametersWith(parameters, changes) {
    const {of, against, search} = parameters;
    const all = Object.assign({of, against, search}, changes);
    if (all.of === "root") all.of = null;
    return all;
  }

  /* Several snapshots: the others, of which one may be what this one is compared with. */
  function againstChoice(parameters) {
    const {snapshots} = heapview.overview;
    const here = heapview.snapshotNumber(parameters);
    if (snapshots.length < 2) return null;
    const options = [{value: "", text: "nothing"}].concat(snapshots.map((snapshot, i) =>
      ({value: String(i), text: snapshot.name || snapshot.file})).filter((_, i) => i !== here));
    return heapview.choice("Compared with", options, parameters.against || "", (value) =>
      heapview.go("flame", parametersWith(parameters, {against: value || null})));
  }

  /* The field whose text is searched for while it is typed, and what was found. */
  function searchField(view) {
    const found = make("output", {class: "faint"});
    const input = make("input", {type: "search", class: "flame-search", "data-key": "search",
      placeholder: "a name or a path", value: view.parameters.search});
    const run = () => {
      const text = input.value.trim();
      const sum = view.flame.search(text);
      found.textContent = text === "" ? ""
        : `${heapview.countOf(sum.frames, "frame", "frames")}, ${bytes(sum.bytes)}, ` +
          `${heapview.share(sum.bytes, view.answer.whole_bytes)} of the heap`;
    };
    input.addEventListener("input", run);
    input.addEventListener("change", () => { /* also when the page is left, which goes elsewhere */
      if (view.isLeft) return;
      heapview.go("flame", parametersWith(view.parameters, {search: input.value.trim() || null}),
        {replace: true});
    });
    return {run, element: make("label", {class: "control"}, make("span", {}, "Search"), input,
      found)};
  }

  function look(view, svg, node) {
    if (view.isCompared) {
      const step = stepOf(node);
      return {fill: changeColour(step), letter: step.letter};
    }
    return {fill: heapview.typePattern(svg, node.type),
      letter: node.isRest ? "" : heapview.typeLetter(node.type)};
  }

  function describe(view, node) {
    const words = [tiles.describe(node, view.answer.whole_bytes)];
    if (view.isCompared) {
      words.push(`${heapview.bytesChange(node.before || 0, node.bytes)} than before`);
    }
    if (node.path && node.path !== node.label) words.push(node.path);
    return words.join(", ");
  }

  function openOf(view, node) {
    const {row} = node;
    const isTop = node === view.tree;
    if (!row.key || isTop) return true;
    if (row.opens) heapview.go("flame", parametersWith(view.parameters, {of: row.key}));
    else if (row.example) heapview.go("object", {at: row.example});
    return true;
  }

  function zoomOut(view) {
    const {above} = view.answer;
    if (above.length > 0) {
      heapview.go("flame", parametersWith(view.parameters, {of: above[above.length - 1].key}));
    }
  }

  function choose(view, node) {
    const zoom = node.row.opens && node !== view.tree
      ? heapview.link("flame", parametersWith(view.parameters, {of: node.key})) : null;
    view.details.replaceChildren(...tiles.details(node, view.answer, zoom));
  }

  function drawFlame(view, box) {
    return heapview.drawFlame(box, view.tree, {
      label: "Flame graph: arrows move, Enter zooms in, Escape zooms out",
      describe: (node) => describe(view, node), look: (svg, node) => look(view, svg, node),
      choose: (node) => choose(view, node), open: (node) => openOf(view, node),
      leave: () => zoomOut(view)
    });
  }

  function pathTo(parameters, row) {
    if (row.opens) return `/${heapview.keyOf("flame", parametersWith(parameters, {of: row.key}))}`;
    return row.example ? `/${heapview.keyOf("object", {at: row.example})}` : null;
  }

  async function show(root, state) {
    const {parameters} = state;
    const question = {of: parameters.of, against: parameters.against};
    const answer = await tiles.askFor("flame", question);
    const isCompared = answer.rows[0].before_bytes !== undefined;
    const view = {answer, parameters, isCompared, tree: treeOf(answer),
      details: make("div", {class: "details"})};
    const box = make("div");
    const linkOf = (key) => heapview.link("flame", parametersWith(parameters, {of: key}));
    const field = searchField(view);
    heapview.toolbar(root, field.element, againstChoice(parameters),
      heapview.saveButton(() => view.flame.svg(), "flame"),
      make("button", {type: "button", class: "save-folded", onclick: () =>
        heapview.save(foldedText(view.tree), "text/plain", "flame.folded")}, "Save as text"));
    root.append(tiles.crumbs(answer, linkOf), box,
      view.isCompared ? changeLegend() : tiles.legendOf(view.tree), view.details,
      tiles.asTable(answer, (row) => pathTo(parameters, row)));
    tiles.tellPart(root, answer);
    view.flame = drawFlame(view, box);
    field.run();
    choose(view, view.tree);
    const listenNoMore = tiles.onEscape(() => zoomOut(view));
    return () => {
      view.isLeft = true;
      view.flame.leave();
      listenNoMore();
    };
  }

  /* }=================================================================================== */

  heapview.tellKeys("flame", "Enter, Escape", "zooms in, zooms out");
  heapview.define({name: "flame", title: "Flame graph", show,
    lead: "From the root along references: each frame is as wide as what hangs there retains."});
})(window.heapview = window.heapview || {});
