/*
** app.js - the shell: which page is shown, and with what. All of that stands in the fragment of the
** address, "#TOKEN/page?key=value&...": so back and forward work, and an address can be sent. The
** token is the server's, a written report has none.
*/
const {make, count} = heapview;
const KEPT = ["in", "since", "until"]; /* from page to page */
const SWAP_MS = 300; /* so long the page before stays while the next one is drawn */
const pages = [];
const starters = [];
let state = {token: "", page: "", parameters: {}};
let shown = {root: null, leave: null, page: null};

/* {name, title, lead, show(root, state)}: lead is a sentence that says what is seen there. */
function define(page) {
  pages.push(page);
}

/* ==== The state ===================================================================== */

/* No name has a NUL in it, and no question takes one. */
function decoded(text) {
  try {
    return decodeURIComponent(text).replaceAll("\0", "");
  } catch (error) {
    return text;
  }
}

/* What is kept from page to page is a number: anything else would be wrong on all of them. */
function isMeant(key, value) {
  return !KEPT.includes(key) || /^\d{1,15}$/.test(value);
}

function parse(fragment) {
  const slash = fragment.indexOf("/");
  const token = slash < 0 ? fragment.slice(1) : fragment.slice(1, slash);
  const [page, query] = slash < 0 ? ["", ""] : fragment.slice(slash + 1).split(/\?(.*)/s);
  const parameters = {};
  for (const pair of (query || "").split("&")) {
    const at = pair.indexOf("=");
    const key = decoded(pair.slice(0, Math.max(at, 0)));
    const value = decoded(pair.slice(at + 1));
    if (at > 0 && isMeant(key, value)) parameters[key] = value;
  }
  return {token: token || state.token, page, parameters};
}

function keptParameters() {
  const kept = {};
  for (const key of KEPT) {
    if (state.parameters[key] !== undefined) kept[key] = state.parameters[key];
  }
  return kept;
}

/* Which snapshot is looked at: the last one where nothing is said. */
function snapshotNumber(parameters) {
  const last = heapview.overview.snapshots.length - 1;
  const {in: number} = parameters;
  return number === undefined || number === null ? last : Number(number);
}

/* Positions are those of one snapshot: in another one they would be another time. */
function link(page, parameters) {
  const all = Object.assign(keptParameters(), parameters);
  if (heapview.overview && snapshotNumber(all) !== snapshotNumber(state.parameters)) {
    for (const key of ["since", "until"]) {
      if (all[key] === state.parameters[key]) delete all[key];
    }
  }
  return `#${state.token}/${heapview.keyOf(page, all)}`;
}

/* Of a state as answers have it: "/object?at=0x55d0c0a3f2e0". */
function linkTo(path) {
  const to = parse(`#${path}`);
  return link(to.page, to.parameters);
}

function go(page, parameters, options) {
  const to = link(page, parameters);
  if (to === location.hash) return;
  if (options && options.replace) {
    history.replaceState(null, "", to);
    show();
  } else {
    location.hash = to;
  }
}

/* The same page with other parameters; null: without one. */
function change(changes, options) {
  go(state.page, Object.assign({}, state.parameters, changes), options);
}

/* The address has these, too, from now on; what is drawn has them already. */
function keep(parameters) {
  state.parameters = Object.assign({}, state.parameters, parameters);
  history.replaceState(null, "", link(state.page, state.parameters));
  document.getElementById("page").dataset.shown = location.hash;
}

/* ==== Showing a page ================================================================ */

function available() {
  return pages.filter((page) => heapview.overview.pages.includes(page.name));
}

/* Where they do not all fit, that of the page is in sight. */
function markLinks() {
  const list = document.getElementById("pages");
  const links = available().map((page, at) => make("a", {
    href: link(page.name), "aria-current": page.name === state.page ? "page" : null,
    "aria-keyshortcuts": at + 1
  }, page.title));
  list.replaceChildren(...links);
  const current = list.querySelector("[aria-current]");
  list.scrollLeft = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
}

function nameIt(page) {
  document.getElementById("title").textContent = page.title;
  document.getElementById("lead").textContent = page.lead || "";
  document.title = `${page.title} - ${heapview.overview.command}`;
}

/* The page before stays until the next one is drawn, if that is soon: nothing flickers. */
function swapIn(root, before) {
  if (!root.classList.contains("next")) return;
  const key = before.contains(document.activeElement)
    ? document.activeElement.getAttribute("data-key") : null;
  before.remove();
  root.classList.remove("next");
  if (key === null) return;
  const same = root.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (same) same.focus({preventScroll: true});
}

async function draw(page, root, before) {
  const timer = setTimeout(() => swapIn(root, before), SWAP_MS);
  let leave = null;
  try {
    leave = await page.show(root, state);
  } catch (error) {
    if (error.aborted) return null;
    root.append(heapview.problem(error));
  }
  clearTimeout(timer);
  swapIn(root, before);
  return leave;
}

async function show() {
  const before = shown;
  state = parse(location.hash);
  if (!available().some((page) => page.name === state.page)) state.page = available()[0].name;
  const page = available().find((one) => one.name === state.page);
  document.getElementById("page").dataset.shown = location.hash;
  document.getElementById("page").setAttribute("aria-busy", "true");
  const isOther = before.page !== page;
  heapview.askNoMore();
  if (typeof before.leave === "function") before.leave();
  for (const stale of document.querySelectorAll("#page > .next")) stale.remove();
  const old = document.querySelector("#page > :not(.next)") || make("div");
  const root = make("div", {class: `next page-${page.name}`});
  const mine = shown = {root, leave: null, page};
  document.getElementById("page").append(root);
  markLinks();
  nameIt(page);
  showFilter();
  if (isOther) scrollTo(0, 0);
  if (isOther && before.page) {
    heapview.announce(page.title);
    document.getElementById("title").focus({preventScroll: true});
  }
  const leave = await draw(page, root, old);
  if (mine === shown) document.getElementById("page").setAttribute("aria-busy", "false");
  if (mine === shown) mine.leave = leave;
  else if (typeof leave === "function") leave();
}

/* ==== Beginning ===================================================================== */

/* What is being done, {doing, seconds}; null: nothing. The seconds are not read out. */
function busy(progress) {
  const box = document.getElementById("busy");
  box.hidden = progress === null;
  if (progress === null) return;
  const doing = progress.doing || "working";
  const text = document.getElementById("doing");
  if (text.textContent !== doing) text.textContent = doing;
  document.getElementById("seconds").textContent = progress.doing_seconds >= 1
    ? `${Math.floor(progress.doing_seconds)} s` : "";
}

function nameOpened(overview) {
  const names = overview.snapshots.map((snapshot) => snapshot.name || snapshot.file);
  if (overview.profile) names.push(overview.profile.file);
  document.getElementById("opened").textContent = names.join(", ");
  const last = overview.snapshots.length - 1;
  if (last < 1) return;
  const choose = (value) => change({in: value});
  const options = overview.snapshots.map((snapshot, i) => ({value: i, text: names[i]}));
  const picker = document.getElementById("snapshot");
  const mark = () => {
    const at = snapshotNumber(parse(location.hash).parameters);
    picker.replaceChildren(heapview.choice("Snapshot", options, at, choose));
  };
  addEventListener("hashchange", mark);
  mark();
}

/* At the foot of a report: how much of the heap it has a page for. */
function tellCarried() {
  const n = heapview.carriedObjects();
  if (n === null || n.all === 0) return;
  document.querySelector("footer").append(make("p", {class: "faint", id: "carried-objects"},
    `This file has the pages of ${heapview.count(n.carried)} of the ` +
    `${heapview.countOf(n.named, "object", "objects")} that it names; there are ` +
    `${heapview.count(n.all)} in all.`));
}

async function start() {
  try {
    heapview.readCarried();
    await heapview.ready();
    const all = {in: null, since: null, until: null};
    heapview.overview = (await heapview.ask("overview", all)).answer;
  } catch (error) {
    busy(null);
    document.getElementById("page").replaceChildren(heapview.problem(error, () =>
      location.reload()));
    return;
  }
  nameOpened(heapview.overview);
  tellCarried();
  for (const starter of starters) starter(heapview.overview);
  addEventListener("hashchange", show);
  heapview.onScheme(show);
  show();
}

state = parse(location.hash);
Object.assign(heapview, {
  define, link, linkTo, parse, keep, go, change, keptParameters, snapshotNumber, busy,
  token: () => state.token,
  state: () => state,
  pages: () => available(),
  canShow: (name) => available().some((page) => page.name === name),
  onStart: (starter) => starters.push(starter)
});
addEventListener("DOMContentLoaded", start);

/* The bar that says that pages show a part of the heap only: what was allocated in the
** interval that somebody brushed on the timeline. It stands above each page until it is cleared. */

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
  const {page, parameters} = state;
  const {since, until} = parameters;
  box.hidden = since === undefined && until === undefined;
  if (box.hidden) return;
  const all = Object.assign({}, parameters, {since: null, until: null});
  const sum = make("span", {class: "sum"});
  box.replaceChildren(
    make("span", {}, `Only what was allocated ${words(since, until, heapview.overview)}: `),
    sum, make("a", {href: link(page, all)}, "Show all"));
  tellSum(sum);
}

