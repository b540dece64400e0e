/*
** map_squares.js - the squares of the heap map on a canvas. Each is filled with the colour and the
** pattern of the type that has most of it, the fainter the less of it is filled; or, where changes
** are looked at, with how much of it is new, hollow where more is gone. A type that is switched off
** leaves the square to the next one. 26,000 squares take some 30 ms.
*/
const {svgElement} = heapview;
const FULL = 8; /* eighths */
const LEAST = 3; /* pixels */
const MOST = 28;
const TILE = 8; /* of a pattern */
const LETTER_FROM = 14; /* pixels, from which a letter can be read in a square */

/* The eighths of each square, from letters with numbers in front: "12a3b". */
function eighths(text, n) {
  const list = new Uint8Array(n);
  let at = 0;
  for (const [, times, letter] of text.matchAll(/(\d*)([a-i])/g)) {
    const end = Math.min(n, at + (times === "" ? 1 : Number(times)));
    list.fill(letter.charCodeAt(0) - 97, at, end);
    at = end;
  }
  return list;
}

/* {types: [{type, levels}], fresh, gone, n} */
function planes(answer) {
  const n = answer.squares;
  return {
    n, fresh: eighths(answer.new_squares, n), gone: eighths(answer.gone_squares, n),
    types: answer.types.map((row) => ({type: row.type, levels: eighths(row.squares, n)}))
  };
}

/* As big as fit, in rows of the whole width. */
function layout(n, width, height) {
  let size = MOST;
  while (size > LEAST &&
    Math.ceil(n / Math.max(1, Math.floor(width / size))) * size > height) size--;
  const columns = Math.max(1, Math.min(n, Math.floor(width / size)));
  return {size, columns, rows: Math.ceil(n / columns)};
}

/* The type that has most of square `i`, of those that are not switched off; and all of them. */
function dominant(squares, i, off) {
  let most = 0;
  let all = 0;
  let type = null;
  for (const plane of squares.types) {
    if (off.has(plane.type)) continue;
    const level = plane.levels[i];
    all += level;
    if (level > most) [most, type] = [level, plane.type];
  }
  return {type, level: Math.min(all, FULL)};
}

/* {fill: what it is called, alpha, letter}; null: it is blank. */
function lookByType(squares, i, options) {
  const {type, level} = dominant(squares, i, options.off);
  if (type === null) return null;
  const isDim = options.isFiltered && squares.fresh[i] === 0;
  return {fill: type, letter: heapview.typeLetter(type),
    alpha: (0.3 + (0.7 * level) / FULL) * (isDim ? 0.25 : 1)};
}

function lookByChange(squares, i, options) {
  const {level} = dominant(squares, i, options.off);
  const fresh = squares.fresh[i];
  const gone = squares.gone[i];
  if (fresh === 0 && gone === 0) {
    return level === 0 ? null : {fill: "--edge", letter: "", alpha: 0.2 + level / 32};
  }
  const isNew = fresh >= gone;
  return {fill: isNew ? "--more" : "--less", letter: isNew ? "+" : "\u2212", isHollow: !isNew,
    alpha: 0.6 + (0.4 * Math.max(fresh, gone)) / FULL};
}

function look(squares, i, options) {
  return (options.byChange ? lookByChange : lookByType)(squares, i, options);
}

function isVariable(fill) {
  return fill.startsWith("--");
}

function tile(context, type) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = TILE;
  const on = canvas.getContext("2d");
  on.fillStyle = heapview.typeColour(type);
  on.fillRect(0, 0, TILE, TILE);
  on.strokeStyle = heapview.colour("--pattern");
  on.stroke(new Path2D(heapview.typeStroke(type)));
  return context.createPattern(canvas, "repeat");
}

function gapOf(size) {
  return size >= 6 ? 1 : 0;
}

/* Where another object begins in a row of small squares. */
function drawStarts(context, starts, place) {
  context.fillStyle = heapview.colour("--ink");
  for (const i of starts || []) {
    const x = (i % place.columns) * place.size;
    context.fillRect(x, Math.floor(i / place.columns) * place.size, 1.5, place.size);
  }
}

function hollow(context, x, y, side) {
  const edge = Math.max(1, Math.round(side / 5));
  context.globalAlpha = 1;
  context.fillStyle = heapview.colour("--hole");
  context.fillRect(x + edge, y + edge, side - 2 * edge, side - 2 * edge);
}

/* options: off (a Set of types), isFiltered, byChange, starts. */
function draw(canvas, squares, place, options) {
  const scale = window.devicePixelRatio || 1;
  const width = place.columns * place.size;
  const height = place.rows * place.size;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  const fills = new Map();
  const side = place.size - gapOf(place.size);
  context.scale(scale, scale);
  context.font = `${Math.round(place.size * 0.6)}px sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < squares.n; i++) {
    const x = (i % place.columns) * place.size;
    const y = Math.floor(i / place.columns) * place.size;
    const seen = look(squares, i, options);
    context.globalAlpha = 1;
    context.fillStyle = heapview.colour("--hole");
    context.fillRect(x, y, side, side);
    if (seen === null) continue;
    if (!fills.has(seen.fill)) {
      fills.set(seen.fill, isVariable(seen.fill) ? heapview.colour(seen.fill)
        : tile(context, seen.fill));
    }
    context.globalAlpha = seen.alpha;
    context.fillStyle = fills.get(seen.fill);
    context.fillRect(x, y, side, side);
    if (seen.isHollow && side > 4) hollow(context, x, y, side);
    if (place.size < LETTER_FROM || seen.letter === "") continue;
    context.globalAlpha = 1;
    context.fillStyle = heapview.colour(seen.isHollow ? "--ink" : "--on-type");
    context.fillText(seen.letter, x + side / 2, y + side / 2);
  }
  context.globalAlpha = 1;
  drawStarts(context, options.starts, place);
}

/* The same as a drawing; what looks the same in a row is one piece of it. */
function toSvg(squares, place, options) {
  const width = place.columns * place.size;
  const height = place.rows * place.size;
  const svg = svgElement("svg", {width, height, viewBox: `0 0 ${width} ${height}`});
  svg.append(svgElement("rect", {width, height, fill: heapview.colour("--hole")}));
  const sameLook = (a, b) => a === b || (a !== null && b !== null && a.fill === b.fill &&
    a.alpha === b.alpha);
  for (let i = 0, end; i < squares.n; i = end) {
    const seen = look(squares, i, options);
    for (end = i + 1; end < squares.n && end % place.columns !== 0; end++) {
      if (!sameLook(seen, look(squares, end, options))) break;
    }
    if (seen === null) continue;
    svg.append(svgElement("rect", {
      x: (i % place.columns) * place.size, y: Math.floor(i / place.columns) * place.size,
      width: (end - i) * place.size, height: place.size, "fill-opacity": seen.alpha.toFixed(3),
      fill: isVariable(seen.fill) ? heapview.colour(seen.fill)
        : heapview.typePattern(svg, seen.fill)
    }));
  }
  return `${new XMLSerializer().serializeToString(svg)}\n`;
}

heapview.squares = {planes, layout, dominant, look, draw, toSvg};
