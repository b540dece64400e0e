/*
** told.js - the words of an answer, which are the commands' own, as elements: lines, tables, and
** links to where a page shows the same. What of an answer comes first, and what is merely more of
** it, is the question's to say.
*/
(function (heapview) {
  "use strict";

  const {make, part} = heapview;

  /* Empty lines part paragraphs; blanks in front stand for what belongs to the line above. */
  function line(from) {
    const style = from.style && from.style !== "plain" ? from.style : null;
    const first = from.line.length > 0 ? from.line[0].text : "";
    const blanks = first.length - first.trimStart().length;
    const element = make("p", {class: style}, from.line.map(part));
    if (blanks > 0 && first.trim() !== "") element.classList.add("more");
    return element;
  }

  function told(list) {
    const root = make("div", {class: "told"});
    for (const item of list || []) {
      root.append(item.table ? heapview.table(item.table) : line(item));
    }
    return root;
  }

  heapview.told = told;
})(window.heapview = window.heapview || {});
