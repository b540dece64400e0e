/*
** fields.js - what is in an object: a table whose order, filter and page are the server's, since an
** object may have ten million fields. A heading sorts by its column, the biggest or the first on
** top, once more the other way round, and the third time as they are in the object.
*/
(function (heapview) {
  "use strict";

  const {make, bytes} = heapview;
  const ROWS = 50;

  /* The key by which the server sorts each column; numbers begin with the greatest. */
  const COLUMNS = [
    {heading: "field", kind: "text", key: "label"},
    {heading: "value", kind: "text", key: "value"},
    {heading: "shallow", kind: "bytes", key: "shallow_bytes"},
    {heading: "retained", kind: "bytes", key: "retained_bytes"}
  ];

  function sortKey(column, turn) {
    if (turn === 0) return null;
    return (column.kind === "bytes") === (turn === 1) ? `-${column.key}` : column.key;
  }

  /* Which column it is, and which turn: 0 where it is none. */
  function orderOf(sort) {
    const at = COLUMNS.findIndex((column) => sort && sort.replace(/^-/, "") === column.key);
    if (at < 0) return {at: -1, turn: 0};
    return {at, turn: sortKey(COLUMNS[at], 1) === sort ? 1 : 2};
  }

  function goTo(state, changed) {
    heapview.go("object", Object.assign({}, state.parameters, changed));
  }

  /* {=== Rows ========================================================================== */

  function labelOf(field) {
    const text = heapview.folded(field.label, 120);
    if (!field.key) return text;
    return heapview.objectLink(field.key, field.label);
  }

  function lengthOf(field) {
    if (field.length_bytes === undefined || field.length_bytes < 100) return null;
    return make("span", {class: "faint"}, ` ${bytes(field.length_bytes)}`);
  }

  /* An object by its class, a string by what it says, with a link each. */
  function valueOf(field) {
    const weak = field.weak ? make("span", {class: "faint"}, " (weak)") : null;
    if (!field.address) return make("span", {class: "code"}, field.value, weak);
    const isString = field.type === "string";
    return make("span", {}, heapview.typeChip(field.type),
      isString ? heapview.folded(field.value, 120) : null, lengthOf(field), isString ? " " : null,
      heapview.objectLink(field.address, isString ? field.address : field.value),
      isString ? null : make("span", {class: "faint"}, ` ${field.address}`),
      field.upvalue ? [" ", heapview.objectLink(field.upvalue, "upvalue")] : null, weak);
  }

  function bytesOf(n) {
    return n === null ? {text: ""} : {text: bytes(n), value: n};
  }

  function rowOf(field) {
    return {
      style: field.weak ? "faint" : "plain",
      cells: [{text: field.label, element: labelOf(field)},
        {text: field.value, element: valueOf(field)},
        bytesOf(field.shallow_bytes), bytesOf(field.retained_bytes)]
    };
  }

  /* }=================================================================================== */

  function filterForm(state) {
    const input = make("input", {type: "search", value: state.parameters.filter || "",
      "data-key": "filter", placeholder: "in names and values", "aria-label": "Filter fields",
      maxlength: 200});
    const apply = (event) => {
      event.preventDefault();
      goTo(state, {filter: input.value || null, from: null});
    };
    input.addEventListener("search", apply);
    return make("form", {class: "control", role: "search", onsubmit: apply},
      make("span", {}, "Filter"), input, make("button", {type: "submit"}, "Apply"));
  }

  function summary(answer) {
    const all = heapview.countOf(answer.total_fields, "field", "fields");
    return answer.matching === answer.total_fields ? all
      : `${heapview.count(answer.matching)} of ${all}`;
  }

  async function showFields(root, state) {
    const {at, sort, filter, from} = state.parameters;
    const {answer, told} = await heapview.askAbout("fields",
      {at, sort, filter, from: Number(from) || null, limit: ROWS});
    root.append(make("div", {class: "toolbar"}, filterForm(state),
      make("span", {role: "status"}, summary(answer))));
    if (answer.fields.length > 0) {
      root.append(heapview.table({
        columns: COLUMNS, rows: answer.fields.map(rowOf),
        order: Object.assign(orderOf(sort), {
          choose: (column, turn) => goTo(state, {sort: sortKey(COLUMNS[column], turn), from: null})
        })
      }));
    }
    root.append(heapview.told(told.filter((item) => item.line).slice(1)));
    const line = heapview.pager({
      from: answer.from, n: answer.fields.length, total: answer.matching, size: ROWS,
      one: "field", many: "fields", go: (to) => goTo(state, {from: to})
    });
    if (line) root.append(line);
  }

  heapview.showFields = showFields;
})(window.heapview = window.heapview || {});
