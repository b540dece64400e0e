/*
** brush.js - an interval that is brushed on the timeline, by the pointer or with the two handles,
** which are sliders that the arrow keys move. Its ends are ends of bins, or marks where these are
** near; of a written report only marks, since it carries answers about these.
*/
(function (heapview) {
  "use strict";

  const NEAR = 6; /* pixels, from a mark */
  const LEAST = 4; /* pixels: less is no brush, but a click */
  const HANDLE = 10; /* pixels */
  const PAUSE_MS = 500; /* so long no key is pressed before the pages follow */

  /* Where an end may be: of bins and at marks, in ascending order. */
  function stopsOf(answer, marks) {
    const bins = heapview.isWritten() ? [answer.since, answer.until] : answer.bins;
    const all = new Set([...bins, ...marks.map((mark) => mark.position)]);
    return [...all].filter((at) => at >= answer.since && at <= answer.until).sort((a, b) => a - b);
  }

  /* The end that is nearest to the pointer; a mark that is near comes first. */
  function snap(brush, pixels) {
    const {x, answer} = brush.chart;
    const near = brush.marks.map((mark) => mark.position)
      .filter((at) => at >= answer.since && at <= answer.until && Math.abs(x(at) - pixels) <= NEAR)
      .sort((a, b) => Math.abs(x(a) - pixels) - Math.abs(x(b) - pixels));
    if (near.length > 0) return near[0];
    const to = Math.max(answer.since, Math.min(answer.until, x.invert(pixels)));
    const at = d3.bisectLeft(brush.stops, to);
    const below = brush.stops[Math.max(0, at - 1)];
    const above = brush.stops[Math.min(brush.stops.length - 1, at)];
    return to - below < above - to ? below : above;
  }

  function positionText(marks, position) {
    const mark = marks.find((one) => one.position === position);
    return `object ${heapview.count(position)}${mark ? `, ${mark.name}` : ""}`;
  }

  /* {=== Drawing ======================================================================= */

  function place(brush) {
    const {chart, ends} = brush;
    const at = ends.map((end) => Math.max(chart.left, Math.min(chart.right, chart.x(end))));
    brush.shades[0].attr("x", chart.left).attr("width", Math.max(0, at[0] - chart.left));
    brush.shades[1].attr("x", at[1]).attr("width", Math.max(0, chart.right - at[1]));
    brush.handles.forEach((handle, i) => {
      handle.attr("transform", `translate(${at[i]},0)`).attr("aria-valuenow", ends[i])
        .attr("aria-valuetext", positionText(brush.marks, ends[i]));
    });
    brush.handles[0].attr("aria-valuemax", ends[1]);
    brush.handles[1].attr("aria-valuemin", ends[0]);
    brush.moved(ends);
  }

  /* Moves an end; one does not pass the other. */
  function move(brush, i, to) {
    brush.ends[i] = i === 0 ? Math.min(to, brush.ends[1]) : Math.max(to, brush.ends[0]);
    place(brush);
  }

  function addHandle(brush, i) {
    const {chart} = brush;
    const middle = (chart.top + chart.bottom) / 2;
    const handle = chart.svg.append("g").attr("class", "handle").attr("tabindex", 0)
      .attr("role", "slider").attr("aria-orientation", "horizontal")
      .attr("data-key", i === 0 ? "since" : "until")
      .attr("aria-label", i === 0 ? "Allocated from here on" : "Allocated until here")
      .attr("aria-valuemin", chart.answer.since).attr("aria-valuemax", chart.answer.until);
    handle.append("line").attr("y1", chart.top).attr("y2", chart.bottom);
    handle.append("rect").attr("x", -HANDLE / 2).attr("y", middle - 16).attr("width", HANDLE)
      .attr("height", 32).attr("rx", 3);
    handle.append("rect").attr("class", "grip").attr("x", -HANDLE).attr("y", chart.top)
      .attr("width", 2 * HANDLE).attr("height", chart.bottom - chart.top);
    handle.on("keydown", () => press(brush, i, d3.event))
      .on("blur", () => settle(brush))
      .on("pointerdown", () => drag(brush, handle.node(), i, d3.event));
    return handle;
  }

  /* }=================================================================================== */

  /* {=== Keys ========================================================================== */

  /* One stop on; with Shift to the next mark, or the end. */
  function stopFrom(brush, from, by, isMark) {
    const {answer} = brush.chart;
    const marks = brush.marks.map((mark) => mark.position)
      .filter((at) => at > answer.since && at < answer.until);
    const stops = isMark ? [answer.since, ...marks, answer.until] : brush.stops;
    if (by > 0) {
      const next = stops.filter((at) => at > from);
      return next.length === 0 ? from : next[Math.min(next.length, by) - 1];
    }
    const before = stops.filter((at) => at < from);
    return before.length === 0 ? from : before[Math.max(0, before.length + by)];
  }

  function press(brush, i, event) {
    const {answer} = brush.chart;
    const from = brush.ends[i];
    const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10,
      PageUp: 10}[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (by !== undefined) move(brush, i, stopFrom(brush, from, by, event.shiftKey));
    else if (event.key === "Home") move(brush, i, answer.since);
    else if (event.key === "End") move(brush, i, answer.until);
    else if (event.key === "Enter") settle(brush);
    else return;
    event.preventDefault();
    clearTimeout(brush.timer);
    if (event.key !== "Enter") brush.timer = setTimeout(() => settle(brush), PAUSE_MS);
  }

  /* The pages follow, if anything changed. */
  function settle(brush) {
    clearTimeout(brush.timer);
    if (!brush.chart.svg.node().isConnected) return;
    const isSame = brush.ends.every((end, i) => end === brush.settled[i]);
    brush.settled = brush.ends.slice();
    if (!isSame) brush.chosen(brush.ends);
  }

  /* }=================================================================================== */

  /* {=== The pointer =================================================================== */

  function pixelsOf(brush, event) {
    return event.clientX - brush.chart.svg.node().getBoundingClientRect().left;
  }

  /* Follows the pointer until it is let go; `follow` gets its place in pixels. */
  function capture(brush, node, event, follow, done) {
    const onMove = (moved) => follow(pixelsOf(brush, moved));
    const stop = () => {
      node.removeEventListener("pointermove", onMove);
      node.removeEventListener("pointerup", stop);
      node.removeEventListener("pointercancel", stop);
      done();
    };
    node.setPointerCapture(event.pointerId);
    node.addEventListener("pointermove", onMove);
    node.addEventListener("pointerup", stop);
    node.addEventListener("pointercancel", stop);
  }

  function drag(brush, node, i, event) {
    if (event.button !== 0) return;
    capture(brush, node, event, (pixels) => move(brush, i, snap(brush, pixels)),
      () => settle(brush));
  }

  /* On the chart itself a new interval begins. */
  function begin(brush, event) {
    if (event.button !== 0) return;
    const from = pixelsOf(brush, event);
    const before = brush.ends.slice();
    let isBrush = false;
    capture(brush, brush.chart.surface.node(), event, (pixels) => {
      isBrush = isBrush || Math.abs(pixels - from) > LEAST;
      if (!isBrush) return;
      brush.ends = [snap(brush, from), snap(brush, pixels)].sort((a, b) => a - b);
      place(brush);
    }, () => {
      if (!isBrush || brush.ends[0] === brush.ends[1]) brush.ends = before;
      place(brush);
      settle(brush);
    });
  }

  /* }=================================================================================== */

  /* Puts a brush over a chart. `marks` are {name, position}, the oldest first, `ends` positions;
  ** `moved` is told of each step, and `chosen` of the interval that is left in the end. */
  function addBrush(chart, marks, ends, moved, chosen) {
    const brush = {chart, marks, ends: ends.slice(), settled: ends.slice(), moved, chosen, timer: 0,
      stops: stopsOf(chart.answer, marks)};
    brush.shades = [0, 1].map(() => chart.svg.append("rect").attr("class", "shade")
      .attr("y", chart.top).attr("height", chart.bottom - chart.top));
    brush.handles = [0, 1].map((i) => addHandle(brush, i));
    chart.surface.on("pointerdown", () => begin(brush, d3.event));
    place(brush);
    return brush;
  }

  Object.assign(heapview, {addBrush, positionText});
})(window.heapview = window.heapview || {});
