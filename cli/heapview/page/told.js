/*
** told.js - the words of an answer, which are the commands' own, as elements: lines, tables, and
** links to where a page shows the same. What of an answer comes first, and what is merely more of
** it, is the question's to say.
*/
(function (heapview) {
  "use strict";

  const {make} = heapview;
  const FOLDED = 300; /* letters of a line: what is longer is a command line with all its files */

  /* "Why it stays: heappath c 0x55d0c0a3f2e0" is a link; beside it is what to type for the same. */
  function parts(list) {
    return list.flatMap((from, i) => {
      if (from.action) {
        return [heapview.part({text: from.action, link: from.link}),
          make("code", {class: "command"}, from.text)];
      }
      return i + 1 < list.length && list[i + 1].action ? [] : heapview.part(from);
    });
  }

  /* Blanks in front stand for what belongs to the line above, and inside for columns. */
  function line(from) {
    const style = from.style && from.style !== "plain" ? from.style : null;
    const text = from.line.map((one) => one.text).join("");
    const isLong = text.length > FOLDED && from.line.every((one) => !one.link);
    const element = make("p", {class: style},
      isLong ? heapview.folded(text, FOLDED) : parts(from.line));
    if (/\S {2,}\S/.test(text)) element.classList.add("columns");
    else if (text.startsWith(" ")) element.classList.add("more");
    return element;
  }

  /* What `options` has is each table's, too. */
  function told(list, options) {
    const root = make("div", {class: "told"});
    for (const item of list || []) {
      root.append(item.table ? heapview.table(Object.assign({}, item.table, options)) : line(item));
    }
    return root;
  }

  heapview.told = told;
})(window.heapview = window.heapview || {});
