/*
** colours.js - what types look like. A colour alone tells nothing to many people, nor on paper: so
** each type has a letter and a pattern, too. The colours themselves are variables of
** colours.css, where light and dark have their own.
*/
(function (heapview) {
  "use strict";

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

  let made = 0; /* names of patterns are of the whole document */

  /* The fill of what has this type in the picture `svg`. */
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

  /* What things look like: steps are {letter, colour, text}. */
  function legend(label, steps) {
    const {make} = heapview;
    return make("ul", {class: "legend", "aria-label": label}, steps.map((step) =>
      make("li", {}, chip(step.letter, step.colour), step.text)));
  }

  /* Of the types of a picture, those that it has. */
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
    colour, typeColour, typeLetter, typeStroke, typePattern, svgElement, chip, typeChip, legend,
    typeLegend, onScheme, types: Object.keys(TYPES)
  });
})(window.heapview = window.heapview || {});
