/*
** layers.js - charts that are stacked: what their layers look like, and their scale of bytes. A
** layer has the colour of its type, in shades where several layers have one type, and a letter, so
** that no colour has to be told from another; and neighbours have a line between them.
*/
(function (heapview) {
  "use strict";

  const {make, bytes} = heapview;
  const SHADES = [0, 0.42, 0.2, 0.6]; /* of white in the colour; neighbours differ most */

  /* Adds {letter, fill} to each layer: {label, type, ...}; type null is all that has no layer. */
  function dress(layers) {
    const used = {};
    return layers.map((layer, i) => {
      const type = layer.type || "other";
      const n = used[type] = (used[type] || 0) + 1;
      const mix = d3.interpolateRgb(heapview.typeColour(type), "#ffffff");
      const letter = layer.type ? String.fromCharCode(65 + (i % 26)) : "+";
      return Object.assign({}, layer, {letter, fill: mix(SHADES[(n - 1) % SHADES.length])});
    });
  }

  /* A switch for each layer. `off` has the letters of those that are not drawn. */
  function layerLegend(layers, off, toggle, note) {
    const list = make("ul", {class: "legend layers", "aria-label": "Layers, biggest first"});
    for (const layer of layers) {
      const isOn = !off.includes(layer.letter);
      const chip = heapview.chip(layer.letter, isOn ? layer.fill : "none", true);
      if (!isOn) chip.classList.add("off");
      const button = make("button", {type: "button", class: "layer", "aria-pressed": isOn,
        "data-key": `layer-${layer.letter}`, "data-letter": layer.letter,
        onclick: () => toggle(layer.letter)}, chip, make("span", {class: "label"}, layer.label),
      " ", make("span", {class: "faint"}, note(layer)));
      list.append(make("li", {}, button));
    }
    return list;
  }

  /* Round numbers of bytes from 0 to `most`, about n of them: 512.0 KB, 1.0 MB, 1.5 MB. */
  function byteTicks(most, n) {
    const step = 2 ** Math.max(0, Math.round(Math.log2(Math.max(most, 1) / n)));
    return d3.range(0, most * 1.0001, step);
  }

  /* The lines of the scale, and their texts at the left. */
  function drawByteScale(svg, y, left, right) {
    const ticks = byteTicks(y.domain()[1], 5);
    const lines = svg.append("g").attr("class", "scale").attr("aria-hidden", "true")
      .selectAll("g").data(ticks).enter().append("g")
      .attr("transform", (tick) => `translate(0,${Math.round(y(tick)) + 0.5})`);
    lines.append("line").attr("x1", left).attr("x2", right);
    lines.append("text").attr("x", left - 6).attr("dy", "0.32em").attr("text-anchor", "end")
      .text((tick) => bytes(tick));
  }

  Object.assign(heapview, {dress, layerLegend, drawByteScale});
})(window.heapview = window.heapview || {});
