/*
** filter.js - the bar that says that pages show a part of the heap only: what was allocated in the
** interval that somebody brushed on the timeline. It stands above each page until it is cleared.
*/
(function (heapview) {
  "use strict";

  const {make, count} = heapview;

  /* A position on the axis by the mark that stands there, else by its number. */
  function place(position, overview) {
    const mark = (overview.marks || []).find((one) => String(one.position) === String(position));
    return mark ? mark.name : `position ${count(Number(position))}`;
  }

  function words(since, until, overview) {
    if (until === undefined) return `since ${place(since, overview)}`;
    if (since === undefined) return `before ${place(until, overview)}`;
    return `between ${place(since, overview)} and ${place(until, overview)}`;
  }

  /* How much that is; a written report may not know. */
  async function tellSum(element) {
    try {
      const {answer} = await heapview.ask("timeline", {bins: 1, limit: 1});
      element.textContent = `${heapview.countOf(answer.objects, "object", "objects")}, ` +
        `${heapview.bytes(answer.bytes)}. `;
    } catch (error) {
      element.remove();
    }
  }

  function showFilter() {
    const box = document.getElementById("filter");
    const {page, parameters} = heapview.state();
    const {since, until} = parameters;
    box.hidden = since === undefined && until === undefined;
    if (box.hidden) return;
    const all = Object.assign({}, parameters, {since: null, until: null});
    const sum = make("span", {class: "sum"});
    box.replaceChildren(
      make("span", {}, `Only what was allocated ${words(since, until, heapview.overview)}: `),
      sum, make("a", {href: heapview.link(page, all)}, "Show all"));
    tellSum(sum);
  }

  heapview.showFilter = showFilter;
})(window.heapview = window.heapview || {});
