// The card of an operation that is drawn with its parameters, one row for each: the same SVG as RowsCard in rows.py makes.
import { shapeWords } from "./values.js";
import { madeOf } from "./states.js";
import { LINE, TEXT, TITLE, cut, double, labelled, markup, plainly, rings, rounded, sign, widthOf } from "./svg.js";

const ROWS_TOP = 22, SIDE = 6, GAP = 6;
export const GRADIENT_BORDERS = { returned: [PALETTE["returned-stripe"], "6 2"], never: [PALETTE["never-dot"], "1.5 3"], freed: [PALETTE["freed-stripe"], "3 2"] };
export const GRADIENT_FILLS = { accumulated: PALETTE.vermillion, returned: PALETTE.returned, contribution: PALETTE.partial, freed: PALETTE.freed };

export const savedWords = (count, state = "saved") => `${count} ${state}`;

// What a parameter is called inside its module, or what an operation on it made; and its shape.
export function rowName(node) {
  const name = node.kind === "op" ? `${madeOf(node) || node.id} · ${node.op}` : inModule(node);
  return `${cut(name, TEXT, 130)} ${node.shape ? shapeWords(node.shape) : ""}`;
}

export function inModule({ name, module, label }) {
  return (name.startsWith(`${module}.`) ? name.slice(module.length + 1) : name) || label;
}

function rowWidth({ name, word, said, numbers }) {
  const number = Math.max(0, ...numbers.map((n) => widthOf(n, TEXT, true) + GAP));
  return widthOf(name, TEXT) + number + GAP + Math.max(...[...said, word].map((w) => widthOf(w, TEXT)));
}

export class RowsCard {
  // As in rows.py; a row: { of, name, word, state, said, numbers }; a note: [words, whether it is an alarm].
  constructor(node, title, kind, rows, others, notes, value, saved, look, closes) {
    Object.assign(this, { node, rows, notes, value, saved, look, closes });
    this.title = cut(title, TITLE, 130, true);
    this.kind = cut(kind, TEXT, 130);
    const all = others.join(", ");
    this.others = widthOf(all, TEXT) <= 190 ? all : `${cut(others[0], TEXT, 120)} and ${others.length - 1} more`;
    this.split = SIDE + rounded(widthOf(this.title, TITLE, true)) + 6;
    this.tabWidth = saved.length ? rounded(widthOf(savedWords(saved.length, "modified"), TEXT)) + 8 : 0;
    this.end = closes ? 24 : 4;
    const widths = [this.split - SIDE + widthOf(this.kind, TEXT) + GAP + this.tabWidth + this.end - 4, widthOf(this.others, TEXT)];
    widths.push(...notes.map(([words]) => widthOf(words, TEXT)), widthOf(value, TEXT), ...rows.map(rowWidth));
    this.width = rounded(Math.max(60, ...widths) + 2 * SIDE);
    this.height = ROWS_TOP + LINE * (notes.length + Boolean(value) + Boolean(this.others) + rows.length) + 2;
  }

  draw() {
    const { width: w, height: h } = this, wrong = this.notes.some(([, alarm]) => alarm);
    const stroke = { stroke: wrong ? PALETTE["bad-line"] : PALETTE.data, "stroke-width": wrong ? 2.5 : 1.2 };
    const parts = [markup("rect", { class: "al-card", "data-device": this.look[0], x: 0, y: 0, width: w, height: h, rx: 6, fill: this.look[1], ...stroke })];
    if (wrong) parts.push(double(w, 0, h));
    parts.push(labelled("al-title", SIDE, 16.5, this.title, { "font-size": TITLE, "font-weight": "bold" }));
    parts.push(labelled("al-kind", this.split, 16.5, this.kind, { fill: PALETTE.muted }));
    if (this.closes) parts.push(markup("g", { class: "al-close", "data-part": this.closes }, sign(w - 20, 3, "M3 8H13")));
    if (this.saved.length) parts.push(this.tab());
    let y = ROWS_TOP;
    const line = (name, words, fill) => {
      parts.push(labelled(name, SIDE, y + 14, words, { fill }));
      y += LINE;
    };
    for (const [words, alarm] of this.notes) line(alarm ? "al-cut" : "al-where", words, alarm ? PALETTE.alarm : PALETTE.muted);
    if (this.value) line("al-value", this.value, PALETTE.ink);
    if (this.others) line("al-where", this.others, PALETTE.muted);
    for (const row of this.rows) {
      parts.push(this.row(row, y));
      y += LINE;
    }
    return parts.join("") + rings(w, h);
  }

  tab() {
    const x = this.width - this.end - this.tabWidth, look = { fill: PALETTE.saved, stroke: PALETTE.data };
    const words = labelled("al-tabname", x + 4, 15.5, savedWords(this.saved.length));
    const rect = markup("rect", { x, y: 2, width: this.tabWidth, height: LINE, ...look });
    return markup("g", { class: "al-tab", "data-saved": this.saved.join(" ") }, rect, words);
  }

  row(row, y) {
    const w = this.width, own = row.of === this.node.id, [border, dashes] = GRADIENT_BORDERS[row.state] ?? [null, null];
    const d = row === this.rows.at(-1) ? `M1 ${plainly(y)}H${w - 1}V${plainly(y + LINE - 5)}q0 6 -6 6H7q-6 0 -6 -6Z` : `M1 ${plainly(y)}H${w - 1}v${LINE}H1Z`;
    const at = SIDE + rounded(widthOf(row.name, TEXT)) + GAP;
    return markup(
      "g",
      { class: "al-grad", "data-of": row.of, "data-state": row.state },
      markup("path", { class: "al-strip", d, fill: GRADIENT_FILLS[row.state] ?? PALETTE.paper, stroke: border, "stroke-dasharray": dashes }),
      markup("path", { class: "al-rule", d: `M1 ${plainly(y)}H${w - 1}`, stroke: PALETTE.data, fill: "none" }),
      own ? "" : markup("rect", { class: "al-leafmark", x: 1, y, width: 3, height: LINE, fill: PALETTE.leaf }),
      labelled("al-gradname", SIDE, y + 14, row.name),
      own ? labelled("al-number", at, y + 14, row.numbers.at(-1) ?? "") : "",
      labelled("al-word", w - SIDE, y + 14, row.word, { "text-anchor": "end" }),
    );
  }
}
