/*
** carried_names.js - what a written report can complete of a name: the classes that it carries, the
** addresses of its objects, and the paths that its first page and its tables of the biggest name.
** Where a heap is served all names are known to the server.
*/
(function (heapview) {
  "use strict";

  const MOST = 20; /* names that are offered */
  const TABLES = ["objects?limit=20", "growing?limit=20", "modules?limit=20"];
  let names = null; /* promise of {text, class} and {text, address}, once somebody looks for one */

  /* Rows of the answers, wherever they stand in them, that tell of an object and its path. */
  function pathsIn(answer) {
    const found = [];
    const waiting = [answer];
    while (waiting.length > 0) {
      const value = waiting.pop();
      if (value === null || typeof value !== "object") continue;
      const address = value.address || value.example;
      const path = value.held_by || value.path;
      if (typeof address === "string" && typeof path === "string") {
        found.push({text: path, note: value.class, address});
      }
      waiting.push(...Object.values(value));
    }
    return found;
  }

  async function readNames() {
    const known = new Map();
    const add = (name) => known.has(name.text) || known.set(name.text, name);
    for (const key of heapview.overview.verdict.concat(TABLES)) {
      const carried = await heapview.carriedAnswer(key);
      pathsIn(carried ? carried.answer : null).reverse().forEach(add);
    }
    for (const key of await heapview.carriedKeys()) {
      const {page, parameters} = heapview.parse(`#/${key}`);
      if (parameters.in !== undefined) continue;
      if (page === "class") add({text: parameters.class, note: "class", class: parameters.class});
      if (page === "object") add({text: parameters.at, note: "address", address: parameters.at});
    }
    return [...known.values()];
  }

  /* Those that have the text somewhere; what begins with it first. */
  async function carriedNames(text) {
    names = names || readNames();
    const part = text.toLowerCase();
    const at = (name) => name.text.toLowerCase().indexOf(part);
    const found = (await names).filter((name) => at(name) >= 0);
    return found.filter((name) => at(name) === 0).concat(found.filter((name) => at(name) > 0))
      .slice(0, MOST);
  }

  heapview.carriedNames = carriedNames;
})(window.heapview = window.heapview || {});
