/*
** paths.js - why an object stays: the shortest path, which is known at once; and what is asked for
** by who wants to know, since it takes a search of the whole heap: more paths, how many cuts free
** it, what a cut would free, and the picture.
**
** The picture is drawn by Graphviz in the server. Names from the heap are in it, so its text is no
** markup here: it is parsed, and built anew from the few elements and attributes that a picture of
** boxes, arrows and texts has. The boxes of objects become links.
*/
(function (heapview) {
  "use strict";

  const {make, svgElement} = heapview;
  const SVG = "http://www.w3.org/2000/svg";
  const ELEMENTS = ["svg", "g", "polygon", "polyline", "path", "ellipse", "text"];
  const ATTRIBUTES = ["width", "height", "viewBox", "transform", "fill", "stroke", "stroke-width",
    "stroke-dasharray", "points", "d", "cx", "cy", "rx", "ry", "text-anchor", "x", "y",
    "font-family", "font-size", "font-weight"];
  const VALUE = /^[\w\s#.,%()+-]*$/;
  const MORE = 5; /* paths */

  /* {=== The picture =================================================================== */

  function copyAttributes(from, to) {
    for (const name of ATTRIBUTES) {
      const value = from.getAttribute(name);
      if (value !== null && VALUE.test(value) && !/url/i.test(value)) to.setAttribute(name, value);
    }
  }

  /* The box of an object has its address as its id. */
  function linkOf(from) {
    const id = from.getAttribute("id");
    if (from.getAttribute("class") !== "node" || !/^0x[0-9a-f]{1,16}$/.test(id)) return null;
    const link = svgElement("a", {href: heapview.link("object", {at: id}), "data-at": id});
    const title = svgElement("title");
    title.textContent = id;
    link.append(title);
    return link;
  }

  /* A tooltip makes Graphviz wrap a box in an element of its own: what is in that counts. */
  function rebuilt(from) {
    if (from.nodeType === Node.TEXT_NODE) return document.createTextNode(from.nodeValue);
    const isWrapped = from.localName === "a";
    if (!isWrapped && !ELEMENTS.includes(from.localName)) return null;
    const element = svgElement(isWrapped ? "g" : from.localName);
    const link = linkOf(from);
    const inside = link || element;
    if (!isWrapped) copyAttributes(from, element);
    if (link) element.append(link);
    for (const child of from.childNodes) {
      const isText = child.nodeType === Node.TEXT_NODE;
      const copy = isText && from.localName !== "text" ? null : rebuilt(child);
      if (copy) inside.append(copy);
    }
    return element;
  }

  /* The one place where a text is parsed, which the page's policy has to be told. */
  const trusted = window.trustedTypes
    ? trustedTypes.createPolicy("picture", {createHTML: (text) => text})
    : {createHTML: (text) => text};

  function pictureOf(text) {
    const parsed = new DOMParser()
      .parseFromString(trusted.createHTML(text), "image/svg+xml").documentElement;
    if (parsed.localName !== "svg" || parsed.namespaceURI !== SVG) {
      throw new Error("The picture cannot be read.");
    }
    const svg = rebuilt(parsed);
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", "Paths from the roots to the object");
    return svg;
  }

  async function showPicture(root, state) {
    const {at} = state.parameters;
    const {answer} = await heapview.askAbout("picture", {at});
    const svg = pictureOf(answer.svg);
    root.append(make("div", {class: "toolbar"}, heapview.saveButton(() => svg, `paths-to-${at}`)),
      make("div", {class: "drawing", tabindex: 0, role: "region", "aria-label": "Picture"}, svg));
  }

  /* }=================================================================================== */

  async function showIndependent(root, state) {
    const {told} = await heapview.askAbout("independent", {at: state.parameters.at});
    root.append(heapview.told(told));
  }

  async function showMore(root, state) {
    const {told} = await heapview.askAbout("paths", {at: state.parameters.at, limit: MORE});
    root.append(heapview.told(told));
  }

  /* What would go without one reference: the last one of the object's path, or what somebody names
  ** instead. */
  async function showCut(root, state, path) {
    const {at} = state.parameters;
    const cut = state.parameters.cut || (path && path.text) || at;
    const field = make("input", {type: "text", value: cut, maxlength: 500, autocomplete: "off",
      spellcheck: "false", "data-key": "cut-what"});
    root.append(make("form", {class: "toolbar cut", onsubmit: (event) => {
      event.preventDefault();
      heapview.go("object", Object.assign({}, state.parameters, {cut: field.value || null}));
    }}, make("label", {class: "control"}, "Cut ", field),
    make("button", {type: "submit", "data-key": "cut-ask"}, "What would be freed?")),
    make("p", {class: "faint"}, "A path or a variable: the reference of its last step; an " +
      "address, a place or a class: the objects themselves. A * stands for any text."));
    const {told} = await heapview.askAbout("cut", {at, of: cut});
    root.append(heapview.told(told));
  }

  /* One retainer after the other left out of account, as --ignore does: what is asked is the cut of
  ** the object itself, so of all references to it. */
  function showRetainers(root, state, path) {
    const {at} = state.parameters;
    const retainers = path.steps.filter((step) => step.address && step.address !== at);
    if (heapview.isWritten() || retainers.length === 0) return;
    const links = retainers.flatMap((step, i) => [i > 0 ? ", " : null, make("a", {
      href: heapview.link("object", {at, tab: "paths", show: "cut", cut: step.address}),
      "data-key": `without ${step.address}`
    }, heapview.head(step.label, 60))]);
    root.append(make("p", {class: "retainers"}, "Would it go without one of its retainers? ",
      links));
  }

  const WAYS = [
    {name: "picture", title: "Draw it", show: showPicture},
    {name: "cuts", title: "How many cuts free it?", show: showIndependent},
    {name: "cut", title: "What if it were cut?", show: showCut},
    {name: "more", title: "More paths", show: showMore}
  ];

  async function showPaths(root, state) {
    const {at, show} = state.parameters;
    const {answer, told} = await heapview.askAbout("paths", {at});
    if (show !== "more") root.append(heapview.told(told));
    if (!answer.reachable) return;
    root.append(make("div", {class: "toolbar"}, WAYS.map((way) => make("button", {
      type: "button", "data-key": way.name, "aria-pressed": String(way.name === show),
      onclick: () => heapview.go("object", Object.assign({}, state.parameters,
        {show: way.name === show ? null : way.name, cut: null}))
    }, way.title))));
    showRetainers(root, state, answer.paths[0]);
    const chosen = WAYS.find((way) => way.name === show);
    if (chosen) await chosen.show(root, state, answer.paths[0]);
  }

  Object.assign(heapview, {showPaths, pictureOf});
})(window.heapview = window.heapview || {});
