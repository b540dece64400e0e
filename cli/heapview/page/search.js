/*
** search.js - the search field: an object by its address, its path, its place or its class, in the
** grammar of all commands. What is written is completed: arrows choose, Enter opens, Escape closes.
** What is no name is told in the commands' words. With nothing in it the field offers what was
** looked for before, and how names begin.
*/
const {make, bytes, count} = heapview;
const PAUSE_MS = 120; /* behind the last letter */
const MOST_RECENT = 5;
const HINTS = [
  {text: "_G.", note: "a path, as in Lua: _G.cache[12].owner"},
  {text: "package.loaded.", note: "what a module holds"},
  {text: "@", note: "a function by its place: @app.lua:42"},
  {text: "0x", note: "an address, as Lua prints it: table: 0x55d0c0a3f2e0"}
];
const recent = []; /* {text, address or class}, the last one first */
let input, list, message;
let shown = []; /* the rows that are offered */
let active = -1;
let asked = 0; /* of the answers that are under way only the last one counts */
let timer = null;

/* No answer that is under way counts any more. */
function forget() {
  clearTimeout(timer);
  return ++asked;
}

function close() {
  list.hidden = true;
  list.replaceChildren();
  shown = [];
  active = -1;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function activate(at) {
  active = at;
  [...list.children].forEach((option, i) =>
    option.setAttribute("aria-selected", String(i === at)));
  if (at < 0) {
    input.removeAttribute("aria-activedescendant");
  } else {
    input.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({block: "nearest"});
  }
}

function optionOf(row, at) {
  return make("li", {id: `found-${at}`, role: "option", "aria-selected": "false",
    onmousedown: (event) => event.preventDefault(), onclick: () => choose(row)},
  make("span", {class: "code"}, row.text),
  row.note ? make("span", {class: "faint"}, row.note) : null);
}

function offer(rows) {
  shown = rows;
  active = -1;
  input.removeAttribute("aria-activedescendant");
  list.replaceChildren(...rows.map(optionOf));
  list.hidden = rows.length === 0;
  input.setAttribute("aria-expanded", String(rows.length > 0));
}

function tell(text) {
  message.textContent = text;
  message.hidden = text === "";
}

function noteOf(name) {
  const size = bytes(name.retained_bytes);
  if (name.kind === "class") return `${count(name.objects)} objects, ${size}`;
  return name.class ? `${name.class}, ${size}` : size;
}

function rowOf(name) {
  return {text: name.text, note: noteOf(name), address: name.address,
    class: name.address ? null : name.class};
}

function offerBeginnings() {
  offer(recent.concat(heapview.isWritten() ? [] : HINTS));
}

async function complete() {
  const text = input.value.trim();
  const mine = forget();
  tell("");
  if (text === "") {
    offerBeginnings();
    return;
  }
  try {
    const rows = heapview.isWritten() ? await heapview.carriedNames(text)
      : (await heapview.askAbout("search", {of: text})).answer.names.map(rowOf);
    if (mine === asked && document.activeElement === input) offer(rows);
  } catch (error) {
    if (mine === asked) close();
  }
}

function remember(row) {
  const at = recent.findIndex((one) => one.text === row.text);
  if (at >= 0) recent.splice(at, 1);
  recent.unshift(row);
  recent.length = Math.min(recent.length, MOST_RECENT);
}

function open(row) {
  forget();
  remember(row);
  close();
  input.value = "";
  input.blur();
  heapview.go("object", row.address ? {at: row.address} : {class: row.class});
}

/* A hint is the beginning of a name. */
function choose(row) {
  if (row.address || row.class) {
    open(row);
  } else {
    input.value = row.text;
    complete();
  }
}

/* In a written report an address says where to look, and so does a name that it completes. */
async function findCarried(text) {
  const mine = forget();
  const row = (await heapview.carriedNames(text)).find((one) => one.text === text);
  if (mine !== asked) return;
  if (row) open(row);
  else tell("This file knows the names that it offers, and addresses. Of all others tells: " +
    heapview.overview.command);
}

async function find() {
  const text = input.value.trim();
  const address = /(0x[0-9a-fA-F]+)$/.exec(text);
  if (text === "") return;
  if (heapview.isWritten()) {
    if (address) open({text, address: address[1].toLowerCase()});
    else findCarried(text);
    return;
  }
  const mine = forget();
  try {
    const {answer} = await heapview.askAbout("find", {of: text});
    if (mine !== asked) return;
    open({text, note: `${answer.class}, ${bytes(answer.retained_bytes)}`,
      address: answer.address});
    if (answer.matches > 1) {
      heapview.announce(`The one of ${count(answer.matches)} that retains most.`);
    }
  } catch (error) {
    if (mine !== asked || error.aborted) return;
    close();
    tell(error.command ? `${error.message} ${error.command}` : error.message);
  }
}

function press(event) {
  const n = shown.length;
  if (event.key === "ArrowDown" && n > 0) activate(active + 1 < n ? active + 1 : 0);
  else if (event.key === "ArrowUp" && n > 0) activate(active > 0 ? active - 1 : n - 1);
  else if (event.key === "ArrowDown") complete();
  else if (event.key === "Enter" && active >= 0) choose(shown[active]);
  else if (event.key === "Enter") find();
  else if (event.key === "Tab" && active >= 0) input.value = shown[active].text;
  else if (event.key !== "Escape") return;
  else if (!list.hidden) close();
  else input.value = "";
  if (event.key === "Escape") tell("");
  if (event.key !== "Tab") event.preventDefault();
}

function start(overview) {
  if (overview.snapshots.length === 0) return;
  list = make("ul", {id: "found", role: "listbox", "aria-label": "Objects", hidden: true});
  message = make("p", {id: "refused", role: "alert", hidden: true});
  input = make("input", {
    type: "text", role: "combobox", "aria-label": "Find an object", "aria-autocomplete": "list",
    "aria-expanded": "false", "aria-controls": "found", "aria-keyshortcuts": "/",
    placeholder: "path, class, @file:line or address   /", autocomplete: "off",
    autocapitalize: "off", spellcheck: "false", maxlength: 500,
    onkeydown: press, onfocus: complete, onblur: close,
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(complete, PAUSE_MS);
    }
  });
  document.getElementById("search").replaceChildren(input, list, message);
}

heapview.onStart(start);
