/*
** numbers.js - counts, sizes, shares, changes and times as people read them: the same text as
** lib/numbers.c, to the digit. A KB is 1,024 bytes. Up to 2^53 a number is exact here, which is
** more than any heap has bytes.
*/
const UNITS = ["KB", "MB", "GB", "TB", "PB", "EB"];

function count(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function countOf(n, one, many) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/* Ten times n / unit, rounded to the nearest, halves to the even one. */
function tenths(n, unit) {
  const exact = (n * 10) / unit;
  const below = Math.floor(exact);
  const rest = exact - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}

function bytes(n) {
  if (n < 0) return `-${bytes(-n)}`;
  if (n < 1024) return `${count(n)} B`;
  let unit = 0;
  let scaled = tenths(n, 1024);
  while (scaled >= 10240) { /* would be told as 1024.0 */
    unit++;
    scaled = tenths(n, 1024 ** (unit + 1));
  }
  return `${count(Math.floor(scaled / 10))}.${scaled % 10} ${UNITS[unit]}`;
}

/* As printf's %.1f: toFixed goes up where a digit 5 is all that is left. */
function share(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  const text = percent % 1 === 0.25 ? `${Math.floor(percent)}.2` : percent.toFixed(1);
  return `${text}%`;
}

function bytesChange(from, to) {
  const sign = to > from ? "+" : to < from ? "-" : "";
  return sign + bytes(Math.abs(to - from));
}

/* Cut, not rounded, as the commands do: 350 ms; 61.2 s; 12.5 min. */
function duration(ns) {
  const ms = Math.floor(ns / 1e6);
  if (ms < 1000) return `${count(ms)} ms`;
  const [unit, name] = ms < 600e3 ? [1000, "s"] : ms < 120 * 60e3 ? [60e3, "min"] : [3600e3, "h"];
  const rest = Math.floor((10 * (ms % unit)) / unit);
  return `${count(Math.floor(ms / unit))}.${rest} ${name}`;
}

heapview.duration = duration;
heapview.count = count;
heapview.countOf = countOf;
heapview.bytes = bytes;
heapview.share = share;
heapview.bytesChange = bytesChange;
