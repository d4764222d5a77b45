// Curves that grow. Elements are created once; an update changes only lines and texts, so nothing flickers.
import { h, svgEl } from "./dom.js";
import { color, short } from "./values.js";

const HEIGHT = 190,
  LEFT = 58,
  RIGHT = 12,
  TOP = 10,
  BOTTOM = 24;

// Return about `count` round numbers between low and high; `ticks` in charts.py is the same function.
export function ticks(low, high, count = 4) {
  const span = high - low || Math.abs(high) || 1,
    size = 10 ** Math.floor(Math.log10(span / count)),
    step = [1, 2, 5, 10].map((m) => size * m).find((s) => s * count >= span * 0.999),
    found = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i++)
    found.push(Number((i * step).toPrecision(10)));
  return found;
}

function spanOf(values) {
  if (!values.length) return [0, 1];
  const low = values.reduce((a, b) => Math.min(a, b)),
    high = values.reduce((a, b) => Math.max(a, b));
  return high > low ? [low, high] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
}

// One chart. Lines are numbered: the first is solid blue, the second dashed vermillion, and so on (see dashboard.css).
export class Chart {
  constructor(title, options = {}) {
    this.title = title;
    this.options = options;
    this.width = 400;
    this.lines = new Map();
    this.gridG = svgEl("g");
    this.bands = svgEl("g");
    this.curves = svgEl("g");
    this.marksG = svgEl("g");
    this.svg = svgEl("svg", { role: "img", height: HEIGHT, class: "al-chart" }, this.gridG, this.bands, this.curves, this.marksG);
    const tick = svgEl("svg", { width: 6, height: 10, "aria-hidden": "true" }, svgEl("path", { class: "al-epoch", d: "M3 2v6" }));
    this.epochs = h("li", { class: "al-epochkey", hidden: true }, tick, "an epoch begins");
    this.legend = h("ul", { class: "al-legend al-lines", "aria-hidden": "true" }, this.epochs);
    this.element = h("figure", { class: "al-figure" }, h("figcaption", { text: title }), this.svg, this.legend);
  }

  line(name) {
    if (this.lines.has(name)) return this.lines.get(name);
    const kind = `al-line${this.lines.size % 6}`,
      words = h("span");
    const line = {
      band: svgEl("path", { class: `al-band ${kind}` }),
      path: svgEl("path", { class: `al-curve ${kind}` }),
      dot: svgEl("circle", { class: `al-dot ${kind}`, r: 3 }),
      bad: svgEl("path", { class: "al-badmark" }),
      words,
    };
    this.bands.append(line.band);
    this.curves.append(line.path, line.dot, line.bad);
    const sample = svgEl("svg", { width: 26, height: 8, "aria-hidden": "true" }, svgEl("path", { class: `al-curve ${kind}`, d: "M1 4h24" }));
    this.epochs.before(h("li", {}, sample, words));
    this.lines.set(name, line);
    return line;
  }

  // series: [[name, { x, y, low?, high?, bad, last }]]; marks: [{ x, text }]; epochs: [x].
  update(series, marks, epochs, span) {
    const log = this.log && series.every(([, s]) => (s.low ?? s.y).every((v) => v > 0)),
      scale = log ? Math.log10 : (v) => v;
    const [x0, x1] = span;
    const values = series.flatMap(([, s]) => [...s.y, ...(s.low ?? []), ...(s.high ?? [])]).map(scale);
    const [y0, y1] = this.options.unit ? [0, 1] : spanOf(values);
    const right = this.width - RIGHT,
      bottom = HEIGHT - BOTTOM,
      across = (x) => (LEFT + ((right - LEFT) * (x - x0)) / (x1 - x0)).toFixed(1),
      up = (y) => (bottom - ((bottom - TOP) * (scale(y) - y0)) / (y1 - y0)).toFixed(1);
    this.axes([x0, x1], [y0, y1], log, across, (t) => (bottom - ((bottom - TOP) * (t - y0)) / (y1 - y0)).toFixed(1));
    this.rules(marks, epochs, across);
    for (const [name, s] of series) {
      const line = this.line(name),
        point = (v) => (x, i) => `${across(x)} ${up(v[i])}`;
      line.path.setAttribute("d", s.x.length > 1 ? `M${s.x.map(point(s.y)).join("L")}` : "");
      line.band.setAttribute("d", s.low && s.x.length > 1
        ? `M${s.x.map(point(s.low)).join("L")}L${s.x.map(point(s.high)).reverse().join("L")}Z` : "");
      line.dot.setAttribute("visibility", s.x.length === 1 ? "visible" : "hidden");
      if (s.x.length === 1) {
        line.dot.setAttribute("cx", across(s.x[0]));
        line.dot.setAttribute("cy", up(s.y[0]));
      }
      line.bad.setAttribute("d", s.bad.map((x) => `M${across(x) - 4} ${bottom - 12}l8 8m0 -8l-8 8`).join(""));
      line.words.textContent = `${name} ${this.words(s.last)}${s.bad.length ? " (× not finite)" : ""}`;
    }
    const said = series.map(([name, s]) => `${name} ${this.words(s.last)}`).join(", ");
    this.svg.setAttribute("aria-label", `${this.title}${log ? ", logarithmic" : ""}: ${said || "no numbers yet"}`);
  }

  words(value) {
    return this.options.unit && typeof value === "number" ? `${(100 * value).toFixed(1)} %` : short(value ?? "–");
  }

  axes(x, y, log, across, place) {
    const key = String([x, y, log, this.width]);
    if (key === this.drawn) return;
    this.drawn = key;
    const right = this.width - RIGHT,
      bottom = HEIGHT - BOTTOM,
      parts = [svgEl("text", { x: 4, y: bottom + 17, text: "step" })];
    for (const tick of ticks(...y)) {
      const at = place(tick),
        text = log ? short(10 ** tick) : this.options.unit ? `${Math.round(100 * tick)} %` : short(tick);
      parts.push(svgEl("path", { class: "al-gridline", d: `M${LEFT} ${at}H${right}` }),
        svgEl("text", { x: LEFT - 6, y: Number(at) + 4, "text-anchor": "end", text }));
    }
    for (const tick of ticks(...x, Math.max(2, Math.floor(this.width / 90))))
      if (Number.isInteger(tick))
        parts.push(svgEl("text", { x: across(tick), y: bottom + 17, "text-anchor": "middle", text: String(tick) }));
    this.gridG.replaceChildren(...parts);
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
  }

  // Draw a tick where an epoch begins, and a line, titled with its text, where something was changed.
  rules(marks, epochs, across) {
    const key = JSON.stringify([marks, epochs, across(0), across(1)]);
    if (key === this.ruled) return;
    this.ruled = key;
    const bottom = HEIGHT - BOTTOM;
    this.epochs.hidden = !epochs.length;
    this.marksG.replaceChildren(
      ...epochs.map((x) => svgEl("path", { class: "al-epoch", d: `M${across(x)} ${bottom}v6` })),
      ...marks.map(({ x, text }) => svgEl("path", { class: "al-mark", d: `M${across(x)} ${TOP}V${bottom}` }, svgEl("title", { text }))),
    );
  }
}

// Return the x range of all curves, at least 1 wide.
export function spanOfAll(groups) {
  const xs = groups.flatMap((group) => Object.values(group)).flatMap((s) => (s.x.length ? [s.x[0], s.x.at(-1)] : []));
  return spanOf(xs);
}

// A row for each layer, a column for each time: the size of the gradient, on a logarithmic scale from white to
// vermillion.
export class Strip {
  constructor(title) {
    this.rows = new Map();
    this.body = h("div", { class: "al-rows", "data-scrolls": title });
    this.scale = h("div", { class: "al-scale" });
    this.element = h("figure", { class: "al-figure" }, h("figcaption", { text: title }), this.body, this.scale);
  }

  update(norms) {
    const positive = norms.flatMap(([, s]) => s.y.filter((v) => v > 0));
    const [low, high] = positive.length ? spanOf(positive.map(Math.log10)) : [0, 1];
    for (const [name, s] of norms) {
      if (!this.rows.has(name)) {
        const canvas = h("canvas", { role: "img", height: 1 }),
          last = h("span", { class: "al-num" });
        this.body.append(h("div", { class: "al-striprow" }, h("span", { class: "al-layername", title: name }, h("bdi", { text: name })), canvas, last));
        this.rows.set(name, { canvas, last });
      }
      const { canvas, last } = this.rows.get(name);
      canvas.width = Math.max(1, s.y.length);
      const paint = canvas.getContext("2d");
      s.y.forEach((v, i) => {
        paint.fillStyle = color(v > 0 ? (Math.log10(v) - low) / (high - low) : 0, 1);
        paint.fillRect(i, 0, 1, 1);
      });
      last.textContent = short(s.last ?? "–");
      canvas.setAttribute("aria-label", `${name}: gradient norm ${short(s.last ?? "–")}${s.bad.length ? ", at times not finite" : ""}`);
    }
    if (!positive.length) return;
    const ends = [low, (low + high) / 2, high].map((v) => h("span", { text: short(10 ** v) }));
    this.scale.replaceChildren(h("div", { class: "al-ramp al-positive" }), h("div", { class: "al-ends" }, ends));
    this.scale.setAttribute("role", "img");
    this.scale.setAttribute("aria-label", `Colour scale, logarithmic, from ${short(10 ** low)} (white) to ${short(10 ** high)} (vermillion)`);
  }
}
