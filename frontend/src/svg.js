// Pieces of SVG for pictures that a page draws by itself, and how wide words are: the same as svg.py.

export const TITLE = 15;
export const TEXT = 13;
export const PAD = 8;
export const LINE = 18;
export const TAB = 19;
const WIDTHS = new Map(
  [
    [230, "'ijl|"],
    [290, " !,./:;I[]ft()"],
    [340, 'r-`"*'],
    [500, "ckszvxyJ{}"],
    [610, "ABEFKPSTVXYZL"],
    [720, "CDHNRUw&"],
    [780, "GOQ"],
    [850, "mMW%@"],
  ].flatMap(([width, letters]) => [...letters].map((c) => [c, width])),
);

// Width of text in Helvetica; `text_width` in svg.py.
export function widthOf(text, size, bold = false) {
  return (([...text].reduce((sum, c) => sum + (WIDTHS.get(c) ?? 560), 0) * size) / 1000) * (bold ? 1.12 : 1.04);
}

const PATH = /[\w.]+\.[A-Za-z_]\w*(\(\d+\))?$/;

// The end of a name in a model, else the beginning.
export function cut(text, size, width, bold = false) {
  if (widthOf(text, size, bold) <= width) return text;
  const path = PATH.exec(text), parts = path?.[0].split(".") ?? [];
  for (let i = 1; i < parts.length; i += 1) {
    const short = `${text.slice(0, path.index)}…${parts.slice(i).join(".")}`;
    if (widthOf(short, size, bold) <= width) return short;
  }
  const letters = [...text];
  while (letters.length && widthOf(`${letters.join("")}…`, size, bold) > width) letters.pop();
  return `${letters.join("")}…`;
}

// As Python rounds: halves go to the even number.
export function rounded(value) {
  return value % 1 === 0.5 && Math.floor(value) % 2 === 0 ? Math.floor(value) : Math.round(value);
}

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
export const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => ESCAPED[c]);
export const plainly = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : escaped(value));

export function markup(tag, attributes, ...inside) {
  const words = Object.entries(attributes).filter(([, value]) => value !== null).map(([name, value]) => ` ${name}="${plainly(value)}"`).join("");
  return inside.length ? `<${tag}${words}>${inside.join("")}</${tag}>` : `<${tag}${words}/>`;
}

export function labelled(name, x, y, words, look = {}) {
  return markup("text", { class: name, x, y, "font-size": TEXT, fill: PALETTE.ink, ...look }, escaped(words));
}

export function rings(w, h) {
  const ring = ([name, by]) => markup("rect", { class: name, x: -by, y: -by, width: w + 2 * by, height: h + 2 * by, rx: by + 5, fill: "none", stroke: "none" });
  return [["al-ring", 4], ["al-pick", 8]].map(ring).join("");
}

// The inner line of the double border of what is wrong.
export function double(w, y, h) {
  const place = { x: 3, y: y + 3, width: w - 6, height: h - 6, rx: 5 };
  return markup("rect", { class: "al-wrongline", ...place, fill: "none", stroke: PALETTE["bad-line"], "stroke-width": 1.2 });
}

// A plus or minus in a square: what a click does.
export function sign(x, y, path) {
  const square = markup("rect", { class: "al-sign", width: 16, height: 16, rx: 3, fill: PALETTE.paper, stroke: PALETTE.data });
  const line = markup("path", { class: "al-signline", d: path, fill: "none", stroke: PALETTE.ink, "stroke-width": 1.6 });
  return markup("g", { transform: `translate(${x} ${y})` }, square, line);
}
