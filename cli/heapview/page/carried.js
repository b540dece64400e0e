/*
** carried.js - the answers that a written report has in it. Those of the page that opens stand as
** they are; the others are deflated, some hundred in a piece, and so is the index that tells which
** answer is in which piece. A piece is inflated when something of it is first asked for, in some
** milliseconds.
*/
(function (heapview) {
  "use strict";

  const MOST_INFLATED = 32; /* pieces, of a quarter of a megabyte each */
  let carried = null; /* of a page that is served */
  let index = null; /* promise of a map: key -> number of the piece */
  const inflated = new Map(); /* number -> promise, the one that was used last at the end */

  function readCarried() {
    const text = document.getElementById("carried").textContent.trim();
    carried = text === "" ? null : JSON.parse(text);
  }

  async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  async function readIndex() {
    const numbers = new Map();
    const keys = await inflate(carried.index);
    keys.forEach((list, number) => list.forEach((key) => numbers.set(key, number)));
    return numbers;
  }

  function piece(number) {
    const promise = inflated.get(number) || inflate(carried.pieces[number]);
    inflated.delete(number);
    inflated.set(number, promise);
    if (inflated.size > MOST_INFLATED) inflated.delete(inflated.keys().next().value);
    return promise;
  }

  /* Resolves with the answer, or with null: it is not carried. */
  async function carriedAnswer(key) {
    if (Object.prototype.hasOwnProperty.call(carried.questions, key))
      return carried.questions[key];
    index = index || readIndex();
    const number = (await index).get(key);
    return number === undefined ? null : (await piece(number))[key];
  }

  /* Of what is deflated. */
  async function carriedKeys() {
    index = index || readIndex();
    return [...(await index).keys()];
  }

  Object.assign(heapview, {readCarried, carriedAnswer, carriedKeys});
  heapview.isWritten = () => carried !== null;
  heapview.carriedObjects = () => carried &&
    {carried: carried.objects, named: carried.named, all: carried.all};
})(window.heapview = window.heapview || {});
