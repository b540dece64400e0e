/*
** keys.js - the page by keyboard alone: a digit chooses a page, `/` the search field, `?` tells the
** keys. Lists in which arrows move, such as the pages' own, have one stop of the Tab key. Keys do
** nothing while somebody types.
*/
const {make} = heapview;
const own = []; /* of pages: {page, keys, meaning} */

/* For the list of keys: those that a page has of its own. */
function tellKeys(page, keys, meaning) {
  own.push({page, keys, meaning});
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function rows() {
  const pages = heapview.pages();
  const common = [
    ...pages.map((page, at) => [String(at + 1), page.title]),
    ["/", "the search field"],
    ["?", "this list"],
    ["Tab, Shift+Tab", "to the next control, and back"],
    ["arrows", "from one to the next in a picture or a list"],
    ["Enter", "opens what is chosen"],
    ["Escape", "closes, goes up, or leaves a field"],
    ["Alt+Left, Alt+Right", "back and forward"]
  ];
  const here = heapview.state().page;
  return common.concat(own.filter((row) => row.page === here)
    .map((row) => [row.keys, row.meaning]));
}

function showKeys() {
  const dialog = document.getElementById("keys");
  dialog.querySelector("dl").replaceChildren(...rows().flatMap(([keys, meaning]) =>
    [make("dt", {}, make("kbd", {}, keys)), make("dd", {}, meaning)]));
  if (!dialog.open) dialog.showModal();
}

function press(event) {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
  if (!heapview.overview || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const page = heapview.pages()[Number(event.key) - 1];
  const search = document.querySelector("#search input");
  if (/^[1-9]$/.test(event.key) && page) heapview.go(page.name);
  else if (event.key === "/" && search) search.focus();
  else if (event.key === "?") showKeys();
  else return;
  event.preventDefault();
}

/* One of the elements that `selector` finds has the stop of the Tab key; arrows, Home and End go
** from there. */
function roving(root, selector) {
  const all = () => [...root.querySelectorAll(selector)];
  const choose = (element) => {
    for (const other of all()) other.tabIndex = other === element ? 0 : -1;
  };
  root.addEventListener("focusin", (event) => {
    const element = event.target.closest(selector);
    if (element) choose(element);
  });
  root.addEventListener("keydown", (event) => {
    const list = all();
    const at = list.indexOf(event.target);
    const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1,
      Home: 0, End: list.length - 1}[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    if (list[to]) list[to].focus();
  });
  choose(root.querySelector(`${selector}[aria-current]`) || root.querySelector(selector));
}

function start() {
  addEventListener("keydown", press);
  document.getElementById("show-keys").addEventListener("click", showKeys);
  document.getElementById("close-keys").addEventListener("click", () =>
    document.getElementById("keys").close());
  document.getElementById("skip").addEventListener("click", () =>
    document.getElementById("title").focus());
}

Object.assign(heapview, {tellKeys, roving});
addEventListener("DOMContentLoaded", start);
