/*
** ask.js - answers to questions, by name: from the server, or from what a written report carries.
** Both know a question by its key, such as "treemap?by=class&limit=200", so a page cannot tell them
** apart. The last answers are kept: going back costs nothing.
*/
const MOST_KEPT = 64;
const PATIENCE_MS = 500; /* before it is told what takes so long */
const kept = new Map(); /* key -> promise, the one that was asked for last at the end */
const open = new Map(); /* those of them that are not answered yet */
let leaving = new AbortController(); /* ends what was asked for the page that was left */
let awaited = 0; /* answers */
let telling = false;

/* The parameters in ascending order of their names; what is not given is left out. */
function keyOf(name, parameters) {
  const given = Object.entries(parameters || {})
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return given.length === 0 ? name : `${name}?${given.join("&")}`;
}

function failure(message, properties) {
  return Object.assign(new Error(message), properties);
}

function command() {
  return heapview.overview ? heapview.overview.command : "heapview a b c";
}

function notCarried() {
  return failure("This file does not carry that answer. Where the snapshots are, this shows it:",
    {notCarried: true, command: command()});
}

function lost(error) {
  if (error.name === "AbortError") return failure("The page was left.", {aborted: true});
  return failure("heapview has ended. Start it again:", {lost: true, command: command()});
}

async function get(path, signal) {
  let response, text;
  try {
    response = await fetch(path, {
      headers: {"X-Heapview-Token": heapview.token()}, signal, cache: "no-store"
    });
    text = await response.text();
  } catch (error) {
    throw lost(error);
  }
  let body;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw failure(`The server's answer cannot be read (status ${response.status}).`);
  }
  if (body.error !== undefined) throw failure(body.error, {status: response.status});
  return body;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/* Tells what takes so long, for as long as any answer is awaited. */
async function tellProgress() {
  await pause(PATIENCE_MS);
  while (awaited > 0) {
    const progress = await get("progress").catch(() => null);
    if (awaited > 0) heapview.busy(progress || {});
    await pause(PATIENCE_MS);
  }
  heapview.busy(null);
  telling = false;
}

function tellWhile(promise) {
  const settle = () => { awaited--; };
  awaited++;
  promise.then(settle, settle);
  if (telling) return;
  telling = true;
  tellProgress();
}

/* Resolves when all files are analysed; tells what is done until then. */
async function ready() {
  for (let ms = 100; !heapview.isWritten(); ms = Math.min(ms * 1.5, 1000)) {
    const progress = await get("progress");
    if (progress.ready) break;
    heapview.busy(progress);
    await pause(ms);
  }
  heapview.busy(null);
}

async function answerCarried(key) {
  const answer = await heapview.carriedAnswer(key);
  if (answer === null) throw notCarried();
  if (answer.error !== undefined) throw failure(answer.error);
  return answer;
}

/* From the server; it is open until it is answered. */
function served(key) {
  const promise = get(`ask/${key}`, leaving.signal);
  const close = () => {
    if (open.get(key) === promise) open.delete(key);
  };
  open.set(key, promise);
  promise.then(close, close);
  tellWhile(promise);
  return promise;
}

function answerTo(key) {
  return heapview.isWritten() ? answerCarried(key) : served(key);
}

/* Of the last snapshot all is told that does not say of which: so it has one key. */
function withoutLast(parameters) {
  const n = heapview.overview ? heapview.overview.snapshots.length : 0;
  if (parameters.in !== undefined && Number(parameters.in) === n - 1) delete parameters.in;
  return parameters;
}

/* What has the key "since", "until" or "in" in the page's address is asked for, too, unless the
** page says otherwise. */
function ask(name, parameters) {
  const all = Object.assign({}, heapview.keptParameters(), parameters);
  const key = keyOf(name, withoutLast(all));
  const promise = kept.get(key) || answerTo(key);
  kept.delete(key);
  kept.set(key, promise);
  promise.catch(() => forget(key, promise));
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return promise;
}

function forget(key, promise) {
  if (kept.get(key) === promise) kept.delete(key);
}

/* Ends what was asked and is not answered: if somebody asks the same at once it is asked anew. */
function askNoMore() {
  for (const [key, promise] of open) forget(key, promise);
  open.clear();
  leaving.abort();
  leaving = new AbortController();
}

Object.assign(heapview, {ask, askNoMore, keyOf, ready});
