// Values of a trace as text, heat tables and thumbnails. Colours as in heat.py, rounding as in trace/values.py.
import { h, svgEl } from "./dom.js";

const NEGATIVE = channels(PALETTE.minus),
  ZERO = channels(PALETTE.paper),
  POSITIVE = channels(PALETTE.plus);
const MOST_ROWS = 12,
  MOST_COLUMNS = 8;
const SAMPLE = 30,
  SAMPLE_ROW = 6; // numbers that fit beside a graph

export function color(value, scale) {
  if (typeof value === "string" || Number.isNaN(value)) return PALETTE["not-a-number"];
  const part = scale > 0 ? Math.max(-1, Math.min(1, Number(value) / scale)) : 0;
  const end = part > 0 ? POSITIVE : NEGATIVE;
  return (
    "#" +
    ZERO.map((z, i) =>
      Math.floor(z + (end[i] - z) * Math.abs(part) + 0.5)
        .toString(16)
        .padStart(2, "0"),
    ).join("")
  );
}

// Return red, green and blue of "#rrggbb", 0 to 255.
function channels(color) {
  return [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
}

// Return black or white, whichever is more readable on `background` (#rrggbb): never below 4.58:1.
export function inkOn(background) {
  const [r, g, b] = channels(background).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? PALETTE.black : PALETTE.paper;
}

// Return a number with three significant digits, with trailing zeros if digits were left out; `short` in
// trace/values.py is the same function.
export function short(item) {
  if (typeof item === "boolean") return item ? "True" : "False";
  if (typeof item !== "number") return String(item);
  if (item === 0) return Object.is(item, -0) ? "-0" : "0";
  const size = Math.abs(item);
  if (size >= 100 && size < 100000 && Number.isInteger(item)) return String(item);
  const [digits, exponent] = item.toExponential(2).split("e"), tiny = Number(exponent) < -4 || Number(exponent) >= 3;
  if (!tiny) return isExact(item) ? String(Number(item.toPrecision(3))) : item.toPrecision(3);
  const sign = exponent[0] === "-" ? "-" : "+";
  return (isExact(item) ? String(Number(digits)) : digits) + "e" + sign + exponent.slice(1).padStart(2, "0");
}

// Return whether `short` shows the exact number.
export function isExact(item) {
  if (typeof item !== "number" || !Number.isFinite(item)) return true;
  const size = Math.abs(item);
  return Number(item.toExponential(2)) === item || (size >= 100 && size < 100000 && Number.isInteger(item));
}

// Return the sign between a name and numbers: "=" if the displayed digits are exact.
export function relation(...items) {
  return items.flat(Infinity).every(isExact) ? "=" : "≈";
}

export function shapeWords(shape) {
  if (!shape) return "unknown";
  return "[" + shape.join(", ") + "]";
}

export function sizeWords(bytes) {
  if (bytes === null || bytes === undefined) return "";
  let size = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (size < 1000 || unit === "GB") return unit === "B" ? `${size} B` : `${size.toFixed(1)} ${unit}`;
    size /= 1000;
  }
  return "";
}

// Return the bytes of a tensor of this shape and dtype ("float32" has 4 per number, "bool" 1); null if the shape is
// unknown.
export function bytesOf({ shape, dtype }) {
  const bits = /\d+$/.exec(dtype);
  return shape ? shape.reduce((a, b) => a * b, bits ? Math.floor(Number(bits[0]) / 8) : 1) : null;
}

// Return the numbers as rows if they are a whole vector or matrix, else null.
export function rowsOf(value) {
  if (!value || value.data === null || value.data === undefined || value.shape.includes(0)) return null;
  if (value.shape.length === 1) return [value.data];
  return value.shape.length === 2 ? value.data : null;
}

export function scaleOf(table) {
  return Math.max(
    0,
    ...table
      .flat()
      .filter((v) => typeof v !== "string")
      .map((v) => Math.abs(Number(v))),
  );
}

export function isZero(value) {
  if (!value) return false;
  if (value.stats) return value.stats.min === 0 && value.stats.max === 0 && !value.stats.nan && !value.stats.inf;
  return value.shape.includes(0) || (value.shape.length === 0 && value.data === 0);
}

export function isBad(value) {
  if (!value) return false;
  if (value.stats) return value.stats.nan + value.stats.inf > 0;
  return ["nan", "inf", "-inf"].includes(value.data);
}

// Return one short line: the number, the numbers, or a description of the tensor.
export function words(value) {
  if (!value) return "unknown";
  return value.text;
}

// Return a text that fits into a card or a label beside a thumbnail.
export function brief(value) {
  if (!value) return "";
  if (value.shape.length === 0) return value.text;
  return value.stats ? extent(value.stats) : "";
}

// Return the size of the numbers, or how many are not finite; `extent` in trace/values.py is the same function.
export function extent({ min, max, nan, inf }) {
  if (nan || inf) return [nan && `${grouped(nan)} NaN`, inf && `${grouped(inf)} inf`].filter(Boolean).join(", ");
  return min === max ? `all ${short(min + 0)}` : `within ±${short(roundedUp(Math.max(Math.abs(min), Math.abs(max))))}`;
}

function roundedUp(item) {
  if (isExact(item)) return item;
  const [digits, exponent] = item.toExponential(2).split("e"), at = Number(exponent) - 2;
  const whole = Math.round(Number(digits) * 100);
  return Number(`${whole + (Number(`${whole}e${at}`) < item ? 1 : 0)}e${at}`);
}

// For 55,998. Creating a formatter for each number would take longer than the rest of a box.
const GROUPING = new Intl.NumberFormat("en-US");

export function grouped(number) {
  return GROUPING.format(number);
}

// Return [colour, path] of each square of a thumbnail; same as `cells` in heat.py.
export function cellsOf(value, width, height) {
  const table = rowsOf(value);
  if (!table || !width) return [];
  const w = width / table[0].length,
    t = height / table.length,
    top = scaleOf(table);
  const paper = [PALETTE.paper, `M-2 -2h${width + 4}v${height + 4}h${-width - 4}z`];
  return [paper, ...table.flatMap((row, r) => row.map((v, c) => [color(v, top), `M${c * w} ${r * t}h${w}v${t}h${-w}z`]))];
}

export function thumbCells(value, width, height) {
  return cellsOf(value, width, height).map(([fill, d]) => svgEl("path", { fill, d }));
}

// Return a value for the Details: a number, a coloured table with its scale, or statistics. `why` is shown if there
// is none.
export function valueView(value, label, why = "not kept") {
  if (!value) return h("span", { class: "al-unknown", text: why });
  if (value.shape.length === 0)
    return h("span", {
      class: "al-scalar" + (isBad(value) ? " al-bad" : ""),
      title: String(value.data ?? value.text),
      text: words(value),
    });
  const table = rowsOf(value);
  if (!table) return statistics(value, label);
  return h("div", { class: "al-heatbox" }, heatTable(table, label, value.shape), scaleBar(scaleOf(table), table.flat().filter((v) => typeof v === "string").length, table.flat().length));
}

// Return the note below a node's value: that it was recomputed (`Node.again`), and how it may have changed since
// (`meta.changed`).
export function againNote(trace, node, value) {
  const changed = trace.meta.changed?.[node?.id];
  if (!value || !(node?.again || changed)) return null;
  const text = node.again ? `computed again from its operands: ${changed ?? "the graph did not keep it"}` : changed;
  return h("div", { class: "al-note", text });
}

function heatTable(table, label, shape) {
  const top = scaleOf(table),
    cut = table.length > MOST_ROWS || table[0].length > MOST_COLUMNS;
  const body = table.slice(0, MOST_ROWS).map((row) =>
    h(
      "tr",
      {},
      row.slice(0, MOST_COLUMNS).map((v) => {
        const background = color(v, top);
        return h("td", {
          style: `background:${background};color:${inkOn(background)}`,
          title: String(v),
          text: short(v),
        });
      }),
      row.length > MOST_COLUMNS ? h("td", { class: "al-more", text: "…" }) : null,
    ),
  );
  if (table.length > MOST_ROWS)
    body.push(h("tr", {}, h("td", { class: "al-more", colspan: MOST_COLUMNS + 1, text: "…" })));
  const caption = `${shapeWords(shape)}${cut ? ", shown in part" : ""}`;
  return h("table", { class: "al-heat", "aria-label": label }, h("caption", { text: caption }), h("tbody", {}, body));
}

// `broken` of the `all` numbers are NaN or infinite.
export function scaleBar(top, broken = 0, all = 1) {
  const ends = [-top, 0, top].map((v) => h("span", { text: short(v) === "-0" ? "0" : short(v) }));
  const grey = broken ? `${grouped(broken)} NaN or inf: grey` : "";
  if (!top) return h("div", { class: "al-scale" }, h("span", { text: !broken ? "all 0" : broken < all ? `${grey}, the others 0` : grey }));
  return h(
    "div",
    {
      class: "al-scale",
      role: "img",
      "aria-label": `Colour scale from ${short(-top)} (purple) through 0 (white) to ${short(top)} (green)${grey && `; ${grey}`}`,
    },
    h("div", { class: "al-ramp" }),
    h("div", { class: "al-ends" }, ends),
    grey ? h("div", { text: grey }) : null,
  );
}

function statistics(value, label) {
  const s = value.stats,
    rows = [
      ["shape", shapeWords(value.shape)],
      ["dtype", value.dtype],
    ];
  const part = s && s.nan + s.inf ? " of the finite" : "";
  if (s && s.min !== "nan") for (const name of ["min", "mean", "max", "std"]) rows.push([name + part, short(s[name])]);
  if (s && s.nan) rows.push(["NaN", grouped(s.nan)]);
  if (s && s.inf) rows.push(["inf", grouped(s.inf)]);
  if (value.dtype.startsWith("complex")) rows.push(["numbers", value.text]);
  const box = h(
    "div",
    { class: "al-stats" },
    h(
      "table",
      { "aria-label": `${label}: statistics` },
      h(
        "tbody",
        {},
        rows.map(([name, text]) => h("tr", {}, h("th", { scope: "row", text: name }), h("td", { text }))),
      ),
    ),
  );
  const sample = value.sample ?? (value.data === null ? null : [value.data].flat(Infinity));
  if (sample && sample.length) {
    const part = sample.slice(0, SAMPLE),
      grid = [];
    for (let i = 0; i < part.length; i += SAMPLE_ROW) grid.push(part.slice(i, i + SAMPLE_ROW));
    box.append(
      h("div", { class: "al-note", text: value.sample ? "a sample of the numbers" : "the first numbers" }),
      h("div", { class: "al-scroll" }, heatTable(grid, `${label}: sample`, [part.length])),
      scaleBar(scaleOf(grid), part.filter((v) => typeof v === "string").length, part.length),
    );
  }
  return box;
}
