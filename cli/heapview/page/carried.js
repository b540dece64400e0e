/*
** carried.js - the answers that a written report has in it. Those of the page that opens stand as
** they are; the others are deflated, some hundred in a piece, and so is the index that tells which
** answer is in which piece. A piece is inflated when something of it is first asked for, in some
** milliseconds.
*/
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

async function carriedKeys() {
  index = index || readIndex();
  return [...(await index).keys()];
}

Object.assign(heapview, {readCarried, carriedAnswer});
heapview.isWritten = () => carried !== null;
heapview.carriedObjects = () => carried &&
  {carried: carried.objects, named: carried.named, all: carried.all};

/* What a written report can complete of a name: the classes that it carries, the
** addresses of its objects, and the paths that its first page and its tables of the biggest name.
** Where a heap is served all names are known to the server. */
const MOST = 20; /* names that are offered */
const TABLES = ["objects?limit=20", "growing?limit=20", "modules?limit=20"];
let names = null; /* promise of {text, class} and {text, address}, once somebody looks for one */

/* Rows of the answers, wherever they stand in them, that tell of an object and its path. */
function pathsIn(answer) {
  const found = [];
  const waiting = [answer];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (value === null || typeof value !== "object") continue;
    const address = value.address || value.example;
    const path = value.held_by || value.path;
    if (typeof address === "string" && typeof path === "string") {
      found.push({text: path, note: value.class, address});
    }
    waiting.push(...Object.values(value));
  }
  return found;
}

async function readNames() {
  const known = new Map();
  const add = (name) => known.has(name.text) || known.set(name.text, name);
  for (const key of heapview.overview.verdict.concat(TABLES)) {
    const carried = await carriedAnswer(key);
    pathsIn(carried ? carried.answer : null).reverse().forEach(add);
  }
  for (const key of await carriedKeys()) {
    const {page, parameters} = heapview.parse(`#/${key}`);
    if (parameters.in !== undefined) continue;
    if (page === "class") add({text: parameters.class, note: "class", class: parameters.class});
    if (page === "object") add({text: parameters.at, note: "address", address: parameters.at});
  }
  return [...known.values()];
}

/* Those that have the text somewhere; what begins with it first. */
async function carriedNames(text) {
  names = names || readNames();
  const part = text.toLowerCase();
  const at = (name) => name.text.toLowerCase().indexOf(part);
  const found = (await names).filter((name) => at(name) >= 0);
  return found.filter((name) => at(name) === 0).concat(found.filter((name) => at(name) > 0))
    .slice(0, MOST);
}

heapview.carriedNames = carriedNames;
