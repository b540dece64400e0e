/*
** save.js - a picture of a page as a file: SVG that stands alone, with the styles that it has on
** the screen, and nothing that runs or is loaded.
*/
(function (heapview) {
  "use strict";

  const {make} = heapview;
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
    copy.prepend(heapview.svgElement("rect",
      {width: "100%", height: "100%", fill: heapview.colour("--paper")}));
    for (const element of to) element.removeAttribute("style");
    return copy;
  }

  /* As the browser saves what is downloaded. */
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
})(window.heapview = window.heapview || {});
