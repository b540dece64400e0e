/*
** stacks.js - the stacks of a profile as a flame graph. The outermost caller is on top and what it
** called is below it; or, the other way round, on top is what allocates, in one frame whoever
** called it, and below it are its callers. Both are drawn from one answer, and add up to its bytes.
*/
(function (heapview) {
  "use strict";

  const {make} = heapview;
  const ENDS = [
    {value: "", text: "the outermost caller", label: "Stacks, the outermost caller on top"},
    {value: "leaf", text: "what allocates", label: "Stacks, what allocates on top"}
  ];

  /* {=== Trees ========================================================================= */

  /* Rows in preorder, as a tree to draw: below a stack what it called. */
  function treeOf(answer) {
    const root = {key: "all", label: "all stacks", bytes: answer.whole_bytes, children: []};
    const way = [root];
    for (const row of answer.rows) {
      const node = {
        key: row.rest ? null : String(row.stack), label: row.rest ? `${row.site} stacks` : row.site,
        bytes: row.total_bytes, own: row.self_bytes, isRest: row.rest, maker: row.maker,
        children: []
      };
      way.length = row.depth + 1;
      way[row.depth].children.push(node);
      way.push(node);
    }
    return root;
  }

  /* The child of `parent` that is called so, with so many bytes more. */
  function addTo(parent, like, isLeaf, more) {
    const name = isLeaf ? `${like.isRest} ${like.maker} ${like.label}` : like.label;
    parent.named = parent.named || new Map();
    let child = parent.named.get(name);
    if (!child) {
      child = {key: `${parent.key}/${parent.named.size}`, label: like.label, bytes: 0,
        isRest: like.isRest, maker: like.maker, children: []};
      parent.named.set(name, child);
      parent.children.push(child);
    }
    child.bytes += more;
    return child;
  }

  /* Leaf first: each node's own bytes go to a frame for its site, and on to its callers. What a
  ** rest stands for has sites that are not told. */
  function inverted(tree) {
    const root = {key: tree.key, label: tree.label, bytes: tree.bytes, children: []};
    const waiting = tree.children.map((node) => ({node, caller: null}));
    const all = [root];
    while (waiting.length > 0) {
      const step = waiting.pop();
      const {node} = step;
      const own = node.isRest ? node.bytes : node.own;
      if (node.isRest) {
        addTo(root, {label: "smaller stacks", isRest: true}, true, own);
      } else if (own > 0) {
        let frame = root;
        for (let at = step; at; at = at.caller) frame = addTo(frame, at.node, frame === root, own);
      }
      waiting.push(...node.children.map((child) => ({node: child, caller: step})));
    }
    while (all.length > 0) {
      const frame = all.pop();
      frame.children.sort((a, b) => b.bytes - a.bytes);
      all.push(...frame.children);
    }
    return root;
  }

  /* }=================================================================================== */

  const TYPE_OF_MAKER = {table: "table", growth: "table", concatenation: "string",
    function: "function", call: "thread", "C function": "userdata", host: "userdata"};

  function lookOf(svg, node) {
    const type = node.isRest ? "other" : TYPE_OF_MAKER[node.maker] || "root";
    return {fill: heapview.typePattern(svg, type), letter: ""};
  }

  function describe(node, whole) {
    const parts = [node.label, heapview.bytes(node.bytes), heapview.share(node.bytes, whole)];
    if (node.own > 0 && node.own < node.bytes) parts.push(`${heapview.bytes(node.own)} itself`);
    return parts.join(", ");
  }

  function searchField(flame) {
    const found = make("span", {class: "faint", role: "status"});
    const field = make("input", {type: "search", id: "stacks-search", oninput: () => {
      const {bytes, frames} = flame.search(field.value);
      found.textContent = field.value === "" ? ""
        : `${heapview.countOf(frames, "stack", "stacks")}, ${heapview.bytes(bytes)}`;
    }});
    return make("label", {class: "control"}, make("span", {}, "Search"), field, found);
  }

  /* `end` is what is on top; choose(end) is called for the other. Returns what ends it. */
  function drawStacks(box, answer, end, choose) {
    const chosen = ENDS.find((one) => one.value === end) || ENDS[0];
    const tree = treeOf(answer);
    const bar = heapview.toolbar(box);
    const flame = heapview.drawFlame(box, chosen.value === "leaf" ? inverted(tree) : tree, {
      label: chosen.label, look: lookOf, describe: (node) => describe(node, answer.whole_bytes)
    });
    bar.append(heapview.choice("On top", ENDS, chosen.value, (value) => choose(value || null)),
      searchField(flame), heapview.saveButton(() => flame.svg(), "stacks"));
    return flame.leave;
  }

  heapview.drawStacks = drawStacks;
})(window.heapview = window.heapview || {});
