/*
** series.js - bytes by place over the snapshots, stacked: what never changed at the bottom, what
** grows most steadily on top, with the verdict of each. The rows are the ladder's of heapdiff, and
** each snapshot adds up to its whole.
*/
(function (heapview) {
  "use strict";

  const {make, bytes} = heapview;
  const LEFT = 68;
  const TOP = 12;
  const BOTTOM = 44;
  const LETTER_PIXELS = 15;

  /* {=== Layers ======================================================================== */

  function changeOf(series) {
    return heapview.bytesChange(series[0], series[series.length - 1]);
  }

  /* From the top down: rows, their rest, and what is level. */
  function layersOf(answer) {
    const rows = answer.paths.map((row) => ({label: row.held_by, type: row.type,
      verdict: row.verdict, series: row.bytes, class: row.class}));
    const n = answer.total_paths - rows.length;
    const layers = heapview.dress(rows);
    if (n > 0) {
      layers.push({label: heapview.countOf(n, "other place", "other places"), letter: "+",
        verdict: "smaller changes", series: answer.others.bytes,
        fill: heapview.typeColour("other")});
    }
    layers.push({label: "all else", letter: "=", verdict: "level", series: answer.level.bytes,
      fill: heapview.colour("--same")});
    return layers;
  }

  /* From the bottom up. */
  function stack(layers) {
    const n = layers[0].series.length;
    const below = new Array(n).fill(0);
    return layers.slice().reverse().map((layer) => {
      const from = below.slice();
      layer.series.forEach((value, k) => { below[k] += value; });
      return {layer, from, to: below.slice()};
    });
  }

  /* }=================================================================================== */

  /* {=== The chart ===================================================================== */

  /* The snapshot in which there is most room for a letter; -1: in none. */
  function thickest(part, y) {
    let best = -1;
    let most = LETTER_PIXELS;
    for (let k = 0; k < part.from.length; k++) {
      const pixels = y(part.from[k]) - y(part.to[k]);
      if (pixels > most) [best, most] = [k, pixels];
    }
    return best;
  }

  function drawAreas(svg, parts, x, y) {
    const area = (part) => d3.area().x((_, k) => x(k)).y0((_, k) => y(part.from[k]))
      .y1((_, k) => y(part.to[k]))(part.from);
    const group = svg.append("g").attr("class", "layers").attr("aria-hidden", "true");
    for (const part of parts) {
      group.append("path").attr("class", "layer").attr("data-letter", part.layer.letter)
        .attr("fill", part.layer.fill).attr("d", area(part)).append("title")
        .text(`${part.layer.label}: ${part.layer.verdict}`);
    }
    for (const part of parts) {
      const last = part.from.length - 1;
      const at = thickest(part, y);
      if (at < 0) continue;
      group.append("text").attr("class", "letter").attr("dy", "0.35em")
        .attr("x", x(at) + (at === 0 ? 10 : at === last ? -10 : 0))
        .attr("y", y((part.from[at] + part.to[at]) / 2)).attr("text-anchor", "middle")
        .text(part.layer.letter);
    }
  }

  function shortened(name, pixels) {
    const room = Math.max(4, Math.floor(pixels / 7));
    return name.length > room ? `\u2026${heapview.tail(name, room - 1)}` : name;
  }

  function timeText(seconds) {
    if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
    return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
  }

  function drawSnapshots(svg, answer, x, width, height) {
    const n = answer.snapshots.length;
    const room = (width - LEFT) / n;
    const every = Math.ceil(34 / room);
    const group = svg.append("g").attr("class", "scale").attr("aria-hidden", "true");
    answer.snapshots.forEach((snapshot, k) => {
      const anchor = k === 0 ? "start" : k === n - 1 ? "end" : "middle";
      const place = group.append("g").attr("transform", `translate(${x(k)},0)`);
      place.append("line").attr("class", "snapshot").attr("y1", TOP)
        .attr("y2", height - BOTTOM + 5);
      if (k % every !== 0 && k !== n - 1) return;
      place.append("text").attr("y", height - BOTTOM + 18).attr("text-anchor", anchor)
        .text(shortened(snapshot.name, room));
      if (snapshot.seconds === null || k === 0) return;
      place.append("text").attr("class", "faint").attr("y", height - BOTTOM + 34)
        .attr("text-anchor", anchor).text(`+${timeText(snapshot.seconds)}`);
    });
  }

  function draw(box, answer, layers) {
    const width = Math.max(300, box.clientWidth);
    const height = width < 600 ? 260 : 340;
    const n = answer.snapshots.length;
    const parts = stack(layers);
    const x = d3.scaleLinear([0, n - 1], [LEFT, width - 12]);
    const y = d3.scaleLinear([0, d3.max(answer.whole.bytes) || 1], [height - BOTTOM, TOP]);
    const svg = d3.create("svg").attr("class", "chart").attr("width", width)
      .attr("height", height).attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img")
      .attr("aria-label", `Bytes by place in ${n} snapshots; the table below has the figures`);
    heapview.drawByteScale(svg, y, LEFT, width - 12);
    drawAreas(svg, parts, x, y);
    drawSnapshots(svg, answer, x, width, height);
    box.replaceChildren(svg.node());
  }

  /* }=================================================================================== */

  function tableOf(answer, layers) {
    const columns = [{heading: "verdict", kind: "text"}].concat(
      answer.snapshots.map((snapshot) => ({heading: snapshot.name, kind: "bytes"})),
      {heading: "change", kind: "change"}, {heading: "place", kind: "text"});
    const row = (verdict, series, place) => ({
      style: verdict === "grows steadily" ? "alarm" : "plain",
      cells: [{text: verdict}].concat(series.map((value) => ({text: bytes(value), value})),
        {text: changeOf(series), value: series[series.length - 1] - series[0]}, {text: place})});
    const rows = layers.map((layer) =>
      row(layer.verdict, layer.series, `${layer.letter} ${layer.label}`));
    rows.push(row("", answer.whole.bytes, "all that is reachable"));
    return heapview.table({caption: "Bytes by place, with what each retains", columns, rows});
  }

  function legend(layers) {
    const list = make("ul", {class: "legend verdicts", "aria-label": "Places, from the top"});
    for (const layer of layers) {
      list.append(make("li", {}, heapview.chip(layer.letter, layer.fill, true),
        make("span", {class: "label"}, layer.label), " ",
        make("span", {class: layer.verdict === "grows steadily" ? "alarm" : "faint"},
          `${layer.verdict}, ${changeOf(layer.series)}`)));
    }
    return list;
  }

  /* Adds the chart of all snapshots to `root`. */
  async function addSeries(root) {
    const section = make("section", {class: "answer", id: "series"},
      make("h3", {}, "Over the snapshots"));
    root.append(section);
    let answer, told;
    try {
      ({answer, told} = await heapview.ask("series", {in: null, since: null, until: null}));
    } catch (error) {
      if (error.aborted) throw error;
      section.append(heapview.problem(error));
      return;
    }
    const layers = layersOf(answer);
    const box = make("div", {class: "picture series"});
    section.append(heapview.told(told.slice(0, 2)), box, legend(layers),
      heapview.asTable(() => tableOf(answer, layers)));
    draw(box, answer, layers);
    heapview.onWidth(box, () => draw(box, answer, layers));
  }

  heapview.addSeries = addSeries;
})(window.heapview = window.heapview || {});
