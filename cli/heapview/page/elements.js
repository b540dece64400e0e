/*
** elements.js - elements of the page, made by script. What comes from a heap is hostile: it becomes
** text and values of attributes here, never markup.
*/
/* make("a", {class: "crumb", href: link, onclick: open}, "text", element, ...): what is null or
** undefined is left out, of attributes and of children. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
}

/* Paths may be broken where they have a step, and so are not broken inside a name. */
function breakable(text) {
  const steps = text.split(/(?<=[/.\]])(?=[A-Za-z_[])/);
  return steps.flatMap((step, i) => (i > 0 ? [make("wbr"), step] : [step]));
}

/* The beginning and the end of a text, of n units at most: no character is cut in two. */
function head(text, n) {
  return text.slice(0, n).replace(/[\ud800-\udbff]$/, "");
}

function tail(text, n) {
  return text.slice(Math.max(0, text.length - n)).replace(/^[\udc00-\udfff]/, "");
}

/* For those who hear the page: told when there is a pause. The same again is told again. */
function announce(text) {
  const place = document.getElementById("told");
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}

function toolbar(root, ...children) {
  const row = make("div", {class: "toolbar"}, ...children);
  root.append(row);
  return row;
}

/* One of several: [{value, text}...]. `choose` gets the value. */
function choice(label, options, value, choose) {
  const select = make("select", {onchange: () => choose(select.value)},
    options.map((option) => make("option", {value: option.value}, option.text)));
  select.value = value;
  return make("label", {class: "control"}, make("span", {}, label), select);
}

/* What went wrong, in a box; `retry` may be tried. */
function problem(error, retry) {
  const box = make("div", {class: "problem", role: "alert"},
    make("p", {}, error.message || String(error)));
  if (error.command) box.append(make("p", {}, make("code", {}, error.command)));
  if (retry) box.append(make("button", {type: "button", onclick: retry}, "Try again"));
  return box;
}

/* What cannot be shown is said in `root`, unless the page was left. */
async function attempt(root, show) {
  try {
    await show(root);
  } catch (error) {
    if (error.aborted) throw error;
    root.append(problem(error));
  }
}

/* A box over `picture`, that tells of a point of it: {show(lines, x, y), hide()}. It stands beside
** the point, where there is room. */
function tooltip(picture) {
  const box = make("div", {class: "tooltip", hidden: true, "aria-hidden": "true"});
  picture.append(box);
  const place = (side, at, length, room) => {
    const isBehind = at + 14 + length <= room;
    box.style[side] = `${Math.max(4, isBehind ? at + 14 : at - length - 8)}px`;
  };
  const show = (lines, x, y) => {
    box.replaceChildren(...lines.map((line) => make("div", {}, line)));
    box.hidden = false;
    place("left", x, box.offsetWidth, picture.clientWidth - 4);
    place("top", y, box.offsetHeight, picture.clientHeight);
  };
  return {show, hide: () => { box.hidden = true; }};
}

/* What is drawn for a width is drawn anew for another one. Returns what ends that. */
function onWidth(element, draw) {
  let width = element.clientWidth;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width || element.clientWidth === 0) return;
    width = element.clientWidth;
    draw();
  });
  observer.observe(element);
  return () => observer.disconnect();
}

Object.assign(heapview, {make, head, tail, breakable, announce, toolbar, choice, problem, attempt,
  tooltip, onWidth});
