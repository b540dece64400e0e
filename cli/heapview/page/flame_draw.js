/*
** flame_draw.js - heapview.drawFlame: a tree as frames, of references or of stacks. The root is on
** top, and each frame below the one that it hangs at, as wide as its bytes; what is left free below
** a frame are its own. A click makes a frame as wide as the picture, with those above it.
**
**     const flame = heapview.drawFlame(box, tree, {describe: (node) => ...});
**     flame.search("session")     -> {bytes, frames}: marks what has the text in its name
**     flame.svg()                 the picture
**     flame.leave()               ends it
**
** A tree is {key, label, bytes, before, children}, the biggest child first. Of the options all may
** be missing: `label` of the whole picture for those who hear it; name(node) is what stands in a
** frame; describe(node) what the pointer and those who hear are told; look(svg, node) gives {fill,
** letter}; choose(node) is called when a frame is chosen; open(node) when it is clicked, and where
** it returns true the frame does not become wide; leave() when Escape leads above the root.
*/
(function (heapview) {
  "use strict";

  const {make, bytes} = heapview;
  const ROW = 20; /* pixels, of a frame */
  const LEAST = 1.5; /* a narrower one is not drawn, nor what is below it */

  /* {=== Frames ======================================================================== */

  function parents(tree) {
    const above = new Map([[tree, null]]);
    const waiting = [tree];
    while (waiting.length > 0) {
      const node = waiting.pop();
      for (const child of node.children) {
        above.set(child, node);
        waiting.push(child);
      }
    }
    return above;
  }

  /* Those that are drawn where `top` is as wide as the picture: {node, x, width, depth}. */
  function layOut(flame, width) {
    const frames = [];
    const way = [];
    for (let at = flame.above.get(flame.top); at; at = flame.above.get(at)) way.unshift(at);
    way.forEach((node, depth) => frames.push({node, x: 0, width, depth, isAbove: true}));
    const waiting = [{node: flame.top, x: 0, width, depth: way.length}];
    while (waiting.length > 0) {
      const frame = waiting.pop();
      const {node} = frame;
      frames.push(frame);
      let {x} = frame;
      const below = [];
      for (const child of node.children) {
        if (child.isOwn) continue;
        const wide = node.bytes > 0 ? (frame.width * child.bytes) / node.bytes : 0;
        if (wide >= LEAST) below.push({node: child, x, width: wide, depth: frame.depth + 1});
        x += wide;
      }
      waiting.push(...below.reverse());
    }
    return frames;
  }

  function defaultLook(svg, node) {
    return {fill: heapview.typePattern(svg, node.type || "other"), letter: ""};
  }

  function drawFrame(svg, frame, flame) {
    const {node} = frame;
    const {options} = flame;
    const look = (options.look || defaultLook)(svg.node(), node);
    const name = options.name ? options.name(node) : node.label;
    const cell = svg.append("g").datum(frame)
      .attr("class", `tile frame${frame.isAbove ? " above" : ""}${node.isRest ? " rest" : ""}`)
      .attr("role", "treeitem").attr("tabindex", -1).attr("aria-level", frame.depth + 1)
      .attr("aria-label", flame.describe(node)).attr("data-bytes", node.bytes);
    if (node.key) cell.attr("data-key", node.key);
    cell.append("rect").attr("x", frame.x).attr("y", frame.depth * ROW)
      .attr("width", Math.max(frame.width - 0.5, 0.5)).attr("height", ROW - 1)
      .attr("fill", look.fill);
    const prefix = look.letter ? `${look.letter} ` : "";
    const text = frame.width > 24
      ? heapview.tiles.fitted(`${prefix}${name}  ${bytes(node.bytes)}`, frame.width - 8) : "";
    if (text === "") return;
    cell.append("text").attr("x", frame.x + 4).attr("y", frame.depth * ROW + 14).text(text);
  }

  /* }=================================================================================== */

  /* {=== Moving ======================================================================== */

  function frameOf(event) {
    const cell = event.target.closest("g.frame");
    return cell ? d3.select(cell).datum() : null;
  }

  function focusOn(flame, node) {
    const cells = d3.select(flame.svg).selectAll("g.frame");
    const found = cells.filter((frame) => frame.node === node);
    if (found.empty()) return;
    cells.attr("tabindex", -1);
    found.attr("tabindex", 0);
    found.node().focus({preventScroll: true});
    found.node().scrollIntoView({block: "nearest", inline: "nearest"});
  }

  /* The frame before or behind it in its row. */
  function beside(flame, frame, step) {
    const row = flame.frames.filter((other) => other.depth === frame.depth)
      .sort((a, b) => a.x - b.x);
    const next = row[row.indexOf(frame) + step];
    return next ? next.node : null;
  }

  function below(flame, frame) {
    const next = flame.frames.find((other) => flame.above.get(other.node) === frame.node);
    return next ? next.node : null;
  }

  function target(flame, frame, key) {
    switch (key) {
      case "ArrowUp": return flame.above.get(frame.node);
      case "ArrowDown": return below(flame, frame);
      case "ArrowLeft": return beside(flame, frame, -1);
      case "ArrowRight": return beside(flame, frame, 1);
      default: return undefined;
    }
  }

  function zoom(flame, node) {
    if (flame.options.open && flame.options.open(node)) return;
    flame.top = node;
    fill(flame);
    focusOn(flame, node);
  }

  function zoomOut(flame) {
    const node = flame.above.get(flame.top);
    if (node) zoom(flame, node);
    else if (flame.options.leave) flame.options.leave();
  }

  function press(flame, event) {
    const frame = frameOf(event);
    if (!frame) return;
    const to = target(flame, frame, event.key);
    if (to) focusOn(flame, to);
    else if (event.key === "Enter" || event.key === " ") zoom(flame, frame.node);
    else if (event.key === "Escape" || event.key === "Backspace") zoomOut(flame);
    else if (to === undefined) return;
    event.preventDefault();
  }

  /* }=================================================================================== */

  function fill(flame) {
    const width = Math.max(flame.box.clientWidth, 280);
    flame.frames = layOut(flame, width);
    const height = ROW * (1 + d3.max(flame.frames, (frame) => frame.depth));
    const svg = d3.create("svg").attr("class", "flame").attr("role", "tree")
      .attr("aria-label", flame.options.label || "Flame graph")
      .attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
    for (const frame of flame.frames) drawFrame(svg, frame, flame);
    svg.select("g.frame").attr("tabindex", 0);
    if (flame.svg) flame.svg.replaceWith(svg.node());
    else flame.box.prepend(svg.node());
    flame.svg = svg.node();
    mark(flame);
  }

  /* {=== Search ======================================================================== */

  /* What has the text in its name, and the bytes of all: none is counted twice that lies below
  ** another one. */
  function search(flame, text) {
    flame.found = new Set();
    const wanted = text.toLowerCase();
    let sum = 0;
    const waiting = wanted === "" ? [] : [{node: flame.tree, isBelow: false}];
    while (waiting.length > 0) {
      const {node, isBelow} = waiting.pop();
      const isFound = !node.isRest && !node.isOwn && node.label.toLowerCase().includes(wanted);
      if (isFound) flame.found.add(node);
      if (isFound && !isBelow) sum += node.bytes;
      for (const child of node.children) waiting.push({node: child, isBelow: isBelow || isFound});
    }
    flame.isSearched = wanted !== "";
    mark(flame);
    return {bytes: sum, frames: flame.found.size};
  }

  function mark(flame) {
    d3.select(flame.svg).selectAll("g.frame")
      .classed("found", (frame) => flame.isSearched && flame.found.has(frame.node))
      .classed("faded", (frame) => flame.isSearched && !flame.found.has(frame.node));
  }

  /* }=================================================================================== */

  function choose(flame, frame) {
    d3.select(flame.svg).selectAll("g.frame").classed("chosen", (other) => other === frame);
    if (flame.options.choose) flame.options.choose(frame.node);
  }

  function listen(flame) {
    const {box} = flame;
    const act = (event, what) => {
      const frame = frameOf(event);
      if (frame) what(frame);
    };
    box.addEventListener("keydown", (event) => press(flame, event));
    box.addEventListener("focusin", (event) => act(event, (frame) => choose(flame, frame)));
    box.addEventListener("click", (event) => act(event, (frame) => zoom(flame, frame.node)));
    heapview.tiles.tooltip(box, (event) => {
      const frame = frameOf(event);
      return frame ? flame.describe(frame.node) : null;
    });
  }

  /* Draws into `element`, and again when its width is another one. */
  function drawFlame(element, tree, options) {
    const box = make("div", {class: "picture framed"});
    element.append(box);
    const flame = {
      box, tree, top: tree, options: options || {}, above: parents(tree), found: new Set(),
      isSearched: false, svg: null,
      describe: (node) => (flame.options.describe ? flame.options.describe(node)
        : `${node.label}, ${bytes(node.bytes)}, ${heapview.share(node.bytes, tree.bytes)}`)
    };
    fill(flame);
    listen(flame);
    return {
      search: (text) => search(flame, text),
      svg: () => flame.svg,
      leave: heapview.onWidth(box, () => fill(flame))
    };
  }

  heapview.drawFlame = drawFlame;
})(window.heapview = window.heapview || {});
