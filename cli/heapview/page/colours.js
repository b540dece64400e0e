/*
** colours.js - what types look like. A colour alone tells nothing to many people, nor on paper: so
** each type has a letter and a pattern, too. The colours themselves are variables of
** colours.css, where light and dark have their own.
*/
const {make} = heapview;
const SVG = "http://www.w3.org/2000/svg";
const TILE = 8; /* pixels, of a pattern */

/* Strokes on a tile, as the data of a path; "": plain. */
const TYPES = {
  table: {letter: "T", stroke: ""},
  string: {letter: "S", stroke: "M1 2h2M5 6h2"},
  closure: {letter: "F", stroke: "M0 8L8 0M-2 2L2 -2M6 10L10 6"},
  upvalue: {letter: "V", stroke: "M0 0L8 8M-2 6L2 10M6 -2L10 2"},
  proto: {letter: "P", stroke: "M0 4H8"},
  userdata: {letter: "U", stroke: "M4 0V8"},
  thread: {letter: "C", stroke: "M0 4H8M4 0V8"},
  root: {letter: "R", stroke: "M0 0L8 8M0 8L8 0"},
  other: {letter: "?", stroke: "M4 3V5"}
};
const ALSO = {"function": "closure", coroutine: "thread"};
const values = new Map(); /* of variables, in the scheme of now */

function known(type) {
  const name = ALSO[type] || type;
  return Object.prototype.hasOwnProperty.call(TYPES, name) ? name : "other";
}

/* The value of a variable of colours.css, such as "--ink": for a canvas. */
function colour(variable) {
  if (!values.has(variable)) {
    const style = getComputedStyle(document.documentElement);
    values.set(variable, style.getPropertyValue(variable).trim());
  }
  return values.get(variable);
}

function typeColour(type) {
  return colour(`--type-${known(type)}`);
}

function typeLetter(type) {
  return TYPES[known(type)].letter;
}

/* The strokes of its pattern, on a tile of 8 pixels: for a canvas. */
function typeStroke(type) {
  return TYPES[known(type)].stroke;
}

function svgElement(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  return element;
}

function drawing(kind, width, height, role, label) {
  return d3.create("svg").attr("class", kind).attr("width", width).attr("height", height)
    .attr("viewBox", `0 0 ${width} ${height}`).attr("role", role).attr("aria-label", label);
}

let made = 0; /* names of patterns are of the whole document */

function typePattern(svg, type) {
  const name = known(type);
  const patterns = svg.typePatterns = svg.typePatterns || {};
  if (patterns[name]) return patterns[name];
  const id = `type-${name}-${++made}`;
  const pattern = svgElement("pattern",
    {id, width: TILE, height: TILE, patternUnits: "userSpaceOnUse"});
  pattern.append(
    svgElement("rect", {width: TILE, height: TILE, fill: typeColour(name)}),
    svgElement("path",
      {d: TYPES[name].stroke, stroke: colour("--pattern"), "stroke-width": 1, fill: "none"}));
  let definitions = svg.querySelector("defs");
  if (!definitions) svg.prepend(definitions = svgElement("defs", {}));
  definitions.append(pattern);
  return patterns[name] = `url(#${id})`;
}

/* A letter in its colour: it is looked at, and heard only where `isHeard`. */
function chip(letter, background, isHeard) {
  const element = heapview.make("span",
    {class: "chip", "aria-hidden": isHeard ? null : "true"}, letter);
  element.style.background = background;
  return element;
}

function typeChip(type) {
  return chip(typeLetter(type), typeColour(type));
}

/* The colour of a step between two variables: {from, to, part}. */
function stepColour({from, to, part}) {
  return d3.interpolateLab(colour(from), colour(to))(part);
}

/* What things look like: {letter, text}, and a colour or a step between two. */
function legend(label, steps) {
  return make("ul", {class: "legend", "aria-label": label}, steps.map((step) =>
    make("li", {}, chip(step.letter, step.colour || stepColour(step)), step.text)));
}

function typeLegend(types) {
  return legend("Types", types.map((type) =>
    ({letter: typeLetter(type), colour: typeColour(type), text: type})));
}

function onScheme(change) {
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => {
      values.clear();
      change();
    });
  }
}

Object.assign(heapview, {
  colour, typeColour, typeLetter, typeStroke, typePattern, svgElement, drawing, chip, typeChip,
  legend, stepColour, typeLegend, onScheme, types: Object.keys(TYPES)
});

/* A picture of a page as a file: SVG that stands alone, with the styles that it has on
** the screen, and nothing that runs or is loaded. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "visibility",
  "display"];

/* What the style sheet says of each element is written into its copy. */
function standAlone(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[i].setAttribute(name, style.getPropertyValue(name));
  });
  const box = svg.getBoundingClientRect();
  copy.setAttribute("width", Math.round(box.width));
  copy.setAttribute("height", Math.round(box.height));
  copy.prepend(svgElement("rect",
    {width: "100%", height: "100%", fill: colour("--paper")}));
  for (const element of to) element.removeAttribute("style");
  return copy;
}

function save(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const anchor = make("a", {href: url, download: name});
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function saveSvg(svg, name) {
  const text = new XMLSerializer().serializeToString(standAlone(svg));
  save(`<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`, "image/svg+xml", `${name}.svg`);
  heapview.announce(`saved as ${name}.svg`);
}

/* The button for a toolbar; `find` gives the picture. */
function saveButton(find, name) {
  return make("button", {type: "button", onclick: () => saveSvg(find(), name)}, "Save as SVG");
}

Object.assign(heapview, {save, saveButton});
