// Draw a node, a closed part, and the label of an open part. A card's size is known before it is drawn, so the layout
// never depends on the current step.
import { svgEl } from "./dom";
import { fitted, signed, sizes, textWidth } from "./text";
import { hasTile, tile, tileSize, type Size } from "./tile";
import type { Part, Trace, TraceNode, Value } from "./types";

const PAD = 14;
const SIGN = 22; // px: the disc with the operation's sign
const TITLE = 15;
const NUMBER = 16;
const LABEL = 12;
const ROW = 23;
const MOST_TITLE = 190;
const MOST_SLOTS = 4;
const SIGNS: Record<string, string> = {
  add: "+", sub: "−", rsub: "−", mul: "×", div: "÷", neg: "−", pow: "^", matmul: "@", mm: "@", mv: "@", bmm: "@", addmm: "@", sum: "Σ", mean: "x̄",
  exp: "eˣ", log: "ln", relu: "⌐", sigmoid: "σ", tanh: "th", t: "ᵀ",
}; // prettier-ignore

export interface Row {
  node: TraceNode;
  name: string;
}

export interface Look {
  node: TraceNode;
  title: string;
  kind: string;
  // Parameters that are drawn in the card.
  rows: Row[];
  notes: string[];
  // Edges whose gradients arrive here, if there are several.
  slots: string[];
  // Whether its value and gradient are shown on its lines.
  lanes: boolean;
  longest: string; // the longest number that it will show
  closes: string; // id of the part that the card closes, or ""
}

export interface Slot {
  edge: string;
  g: SVGElement;
  text: SVGElement;
}

export class Card {
  readonly width: number;
  readonly height: number;
  private readonly scalar: boolean;
  private readonly size: Size;
  private readonly valueRow: boolean;
  private readonly gradRow: boolean;
  private readonly slotWidth: number;

  constructor(readonly look: Look) {
    const { node, rows, slots, lanes } = look;
    this.scalar = !node.shape?.length;
    // If a tensor's numbers are not stored, only its shape is shown.
    this.size = node.value && !hasTile(node.value) ? { width: 0, height: 0 } : tileSize(node.shape ?? []);
    const shown = !node.error && node.shape !== null && (!lanes || this.scalar);
    this.valueRow = shown;
    this.gradRow = node.requires_grad && (!lanes || this.scalar);
    const number = this.scalar ? textWidth(look.longest, NUMBER, 600) : this.size.width;
    this.slotWidth = Math.max(30, textWidth(look.longest, 14, 600) + 14);
    const slotted = this.gradRow && slots.length > 1;
    const count = Math.min(slots.length, MOST_SLOTS);
    const mark = node.kind === "op" || node.kind === "update" ? SIGN + 8 : 4;
    const texts = [
      mark + textWidth(this.title, TITLE, 600) + (node.kind === "leaf" ? 52 : 0) + (look.closes ? 22 : 0),
      textWidth(this.kind, LABEL),
      ...(this.valueRow || this.gradRow ? [44 + number] : []),
      ...(slotted ? [4 + count * this.slotWidth + (count - 1) * 18] : []),
      ...rows.map((row) => rowWidth(row) - 2 * PAD),
      ...look.notes.map((note) => textWidth(note, LABEL)),
      ...(this.valueRow && !this.scalar ? [44 + textWidth(sizes(node.shape), LABEL) + 8 + this.size.width] : []),
    ];
    const least = node.kind === "data" ? 20 : !this.scalar ? 58 : rows.length ? 92 : 104;
    this.width = Math.ceil(Math.max(least, ...texts) + 2 * PAD);
    const high = lanes && node.kind === "op" && node.requires_grad ? 76 : 0; // two lanes meet at its sides
    this.height = Math.max(high, this.below() + (slotted ? 34 : 0) + 12);
  }

  private get title(): string {
    return fitted(this.look.title, MOST_TITLE, TITLE, 600);
  }

  private get kind(): string {
    return fitted(this.look.kind, MOST_TITLE, LABEL);
  }

  private get line(): number {
    return this.scalar ? ROW : Math.max(ROW, this.size.height + 8);
  }

  private below(): number {
    const { rows, notes, kind } = this.look;
    const parameters = rows.reduce((sum, row) => sum + rowHeight(row), 0);
    return (
      32 +
      (kind ? 18 : 0) +
      parameters +
      notes.length * 17 +
      (this.valueRow ? this.line : 0) +
      (this.gradRow ? this.line : 0)
    );
  }

  draw(): Drawn {
    const { look, width, height } = this;
    const { node } = look;
    const g = svgEl("g", {
      class: `al-node al-${node.kind}`,
      "data-id": node.id,
      "data-w": width,
      "data-h": height,
      role: "button",
    });
    const drawn: Drawn = {
      g,
      value: null,
      thumb: null,
      grad: null,
      name: null,
      number: null,
      word: null,
      gthumb: null,
      slots: [],
      rows: [],
    };
    const ring = { x: -4, y: -4, width: width + 8, height: height + 8, rx: 13 };
    const text = (name: string, x: number, y: number, words: string, more: Record<string, unknown> = {}) =>
      svgEl("text", { class: name, x, y, text: words, ...more });
    g.append(
      svgEl("rect", { class: "al-ring", ...ring }),
      svgEl("rect", { class: "al-pick", ...ring }),
      svgEl("rect", { class: "al-card", width, height, rx: 10 }),
    );
    let x = PAD;
    if (node.kind === "leaf") {
      g.append(svgEl("rect", { class: "al-leafbar", x: 0, y: 14, width: 4, height: height - 28, rx: 2 }));
      g.append(
        svgEl("circle", { class: "al-leafmark", cx: width - PAD - 34, cy: 22, r: 4 }),
        text("al-kind", width - PAD, 27, "leaf", { "text-anchor": "end" }),
      );
      x += 4;
    } else if (node.kind !== "data") {
      g.append(svgEl("circle", { class: "al-disc", cx: PAD + 8, cy: 22, r: SIGN / 2 }));
      g.append(text("al-discsign", PAD + 8, 27, SIGNS[node.op.replace(/_$/, "")] ?? "ƒ", { "text-anchor": "middle" }));
      x += SIGN + 6;
    }
    g.append(text("al-title", x, 27, this.title));
    let y = 32;
    if (look.kind) {
      g.append(text("al-kind", PAD, y + 13, this.kind));
      y += 18;
    }
    for (const row of look.rows) {
      drawn.rows.push(this.drawRow(g, row, y));
      y += rowHeight(row);
    }
    for (const note of look.notes) {
      g.append(text(/^(cut|shared|on )/.test(note) ? "al-where" : "al-cut", PAD, y + 13, note));
      y += 17;
    }
    const left = node.kind === "leaf" ? PAD + 4 : PAD;
    if (this.valueRow) {
      const middle = y + this.line / 2 + 5;
      g.append(text("al-label", left, middle, "value"));
      const value = (drawn.value = text("al-value", width - PAD, middle + 1, "", { "text-anchor": "end" }));
      g.append(value);
      if (!this.scalar) {
        value.setAttribute("class", "al-value al-shapewords");
        value.setAttribute("x", String(width - PAD - this.size.width - 8));
        if (this.size.width)
          g.append(
            (drawn.thumb = place("al-thumb", width - PAD - this.size.width, y + (this.line - this.size.height) / 2)),
          );
      }
      y += this.line;
    }
    if (this.gradRow) {
      const grad = svgEl("g", { class: "al-grad", "data-state": "none" });
      const middle = y + this.line / 2 + 5;
      drawn.number = text("al-number", width - PAD, middle + 1, "", { "text-anchor": "end" });
      drawn.word = text("al-word", width - PAD, middle, "", { "text-anchor": "end" });
      drawn.name = text("al-gradname al-label", left, middle, "grad");
      grad.append(drawn.name, drawn.number, drawn.word);
      if (!this.scalar) {
        if (this.size.width)
          grad.append(
            (drawn.gthumb = place("al-gthumb", width - PAD - this.size.width, y + (this.line - this.size.height) / 2)),
          );
      }
      g.append(grad);
      drawn.grad = grad;
      y += this.line;
      if (look.slots.length > 1) drawn.slots = this.drawSlots(g, left, y + 4);
    }
    g.append(svgEl("rect", { class: "al-inner", x: 3, y: 3, width: width - 6, height: height - 6, rx: 8 }));
    return drawn;
  }

  private drawSlots(g: SVGElement, left: number, y: number): Slot[] {
    const { slots } = this.look;
    if (slots.length > MOST_SLOTS) {
      const text = svgEl("text", { class: "al-label", x: left, y: y + 17 });
      g.append(text);
      return slots.map((edge) => ({ edge, g: text, text }));
    }
    return slots.map((edge, index) => {
      const x = left + index * (this.slotWidth + 18);
      if (index) g.append(svgEl("text", { class: "al-plus", x: x - 9, y: y + 18, "text-anchor": "middle", text: "+" }));
      const text = svgEl("text", { x: x + this.slotWidth / 2, y: y + 18, "text-anchor": "middle" });
      const slot = svgEl(
        "g",
        { class: "al-slot" },
        svgEl("rect", { x, y, width: this.slotWidth, height: 26, rx: 6 }),
        text,
      );
      g.append(slot);
      return { edge, g: slot, text };
    });
  }

  private drawRow(g: SVGElement, row: Row, y: number): DrawnRow {
    const size = tileSize(row.node.shape ?? []);
    const middle = y + rowHeight(row) / 2;
    const value = place("al-rowvalue", 46, stacked(size) ? middle - size.height - 2 : middle - size.height / 2);
    const grad = place(
      "al-rowgrad",
      46 + (stacked(size) ? 0 : size.width + 8),
      middle + (stacked(size) ? 2 : -size.height / 2),
    );
    const group = svgEl(
      "g",
      { class: "al-grad", "data-of": row.node.id, "data-state": "none" },
      svgEl("rect", { class: "al-rowback", x: 6, y, width: this.width - 12, height: rowHeight(row), rx: 4 }),
      svgEl("text", { class: "al-gradname al-label", x: PAD, y: middle + 4, text: row.name }),
      value,
      grad,
    );
    g.append(group);
    return { node: row.node, g: group, value, grad, size };
  }
}

// Return whether the gradient goes below the value (wide tensors) rather than to its right (high ones).
function stacked({ width, height }: Size): boolean {
  return width > height;
}

function rowHeight(row: Row): number {
  const size = tileSize(row.node.shape ?? []);
  return (stacked(size) ? 2 * size.height + 4 : size.height) + 10;
}

function rowWidth(row: Row): number {
  const size = tileSize(row.node.shape ?? []);
  return 46 + (stacked(size) ? size.width : 2 * size.width + 8) + PAD;
}

function place(name: string, x: number, y: number): SVGElement {
  return svgEl("g", { class: name, transform: `translate(${x} ${y})` });
}

export interface DrawnRow {
  node: TraceNode;
  g: SVGElement;
  value: SVGElement;
  grad: SVGElement;
  size: Size;
}

export interface Drawn {
  g: SVGElement;
  value: SVGElement | null;
  thumb: SVGElement | null;
  grad: SVGElement | null;
  name: SVGElement | null;
  number: SVGElement | null;
  word: SVGElement | null;
  gthumb: SVGElement | null;
  slots: Slot[];
  rows: DrawnRow[];
}

// Return the text for a value on a card: a number, else its shape.
export function valueWords(value: Value | null, shape: number[] | null): string {
  if (shape?.length) return sizes(shape);
  return value ? signed(value.text) : "";
}

export function fillTile(
  place: SVGElement,
  value: Value | null,
  shape: number[] | null,
  frame: "forward" | "backward" | "empty",
): void {
  place.replaceChildren(tile(value, tileSize(shape ?? []), frame));
}

// Return the short name of a parameter in the card of its operation: "W" or "b", as on a blackboard.
export function rowName(node: TraceNode): string {
  const name = node.module ? node.label.replace(`${node.module}.`, "") : node.label;
  return { weight: "W", bias: "b" }[name] ?? name;
}

// A closed part.
export class PartCard {
  readonly width: number;
  readonly height = 92;
  private readonly title: string;
  private readonly kind: string;
  private readonly size: string;

  constructor(
    readonly part: Part,
    readonly wrong: string,
    title: string,
  ) {
    this.title = fitted(title, MOST_TITLE, TITLE, 600);
    this.kind = title === part.type || title.startsWith(`${part.type} `) ? "" : part.type;
    this.size = [this.kind, part.amount].filter(Boolean).join(" · ");
    const parameters = part.parameters ? `${part.parameters.toLocaleString("en-US")} parameters` : "";
    const texts = [
      textWidth(this.title, TITLE, 600) + 32,
      textWidth(this.size, LABEL),
      textWidth(parameters, LABEL),
      textWidth(wrong, LABEL),
      60 + textWidth(sizes(part.shape), LABEL),
    ];
    this.width = Math.ceil(Math.max(112, ...texts) + 2 * PAD);
  }

  draw(): { g: SVGElement; value: SVGElement; grad: SVGElement | null; word: SVGElement | null } {
    const { part, width, height } = this;
    const ring = { x: -4, y: -4, width: width + 8, height: height + 8, rx: 13 };
    const word = part.requires_grad
      ? svgEl("text", { class: "al-word", x: width - PAD, y: 80, "text-anchor": "end" })
      : null;
    const grad = word
      ? svgEl(
          "g",
          { class: "al-grad", "data-state": "none" },
          svgEl("text", { class: "al-label", x: PAD, y: 80, text: "grad" }),
          word,
        )
      : null;
    const value = svgEl("text", { class: "al-value al-shapewords", x: PAD, y: 62 });
    const g = svgEl(
      "g",
      {
        class: "al-node al-part",
        "data-id": part.id,
        "data-w": width,
        "data-h": height,
        role: "button",
        "aria-expanded": "false",
      },
      svgEl("rect", { class: "al-ring", ...ring }),
      svgEl("path", { class: "al-pile", d: `M8 -4H${width - 6}q10 0 10 10V${height - 8}` }),
      svgEl("rect", { class: "al-card", width, height, rx: 10 }),
      svgEl("text", { class: "al-title", x: PAD, y: 27, text: this.title }),
      svgEl("path", { class: "al-plusmark", d: `M${width - PAD - 10} 22h10m-5 -5v10` }),
      svgEl("text", { class: "al-kind", x: PAD, y: 45, text: this.size }),
      this.wrong ? svgEl("text", { class: "al-cut", x: PAD, y: 62, text: this.wrong }) : value,
      grad,
    );
    return { g, value, grad, word };
  }
}

// The label of an open part's frame: a button that closes it.
export class Header {
  readonly height = 28;
  readonly width: number;
  private readonly split: number;

  constructor(
    readonly part: Part,
    private readonly title: string,
  ) {
    this.split = textWidth(title, TITLE, 600) + 10;
    this.width = Math.ceil(this.split + textWidth(this.kind, LABEL) + 34);
  }

  private get kind(): string {
    return this.title === this.part.type || this.title.startsWith(`${this.part.type} `) ? "" : this.part.type;
  }

  draw(): SVGElement {
    const { part, width, height } = this;
    return svgEl(
      "g",
      {
        class: "al-header",
        "data-id": part.id,
        "data-w": width,
        "data-h": height,
        role: "button",
        "aria-expanded": "true",
      },
      svgEl("rect", { class: "al-card", width, height, rx: 8 }),
      svgEl("text", { class: "al-title", x: 9, y: 19, text: this.title }),
      svgEl("text", { class: "al-kind", x: 9 + this.split, y: 19, text: this.kind }),
      svgEl("path", { class: "al-plusmark", d: `M${width - 20} 14h10` }),
      svgEl("rect", { class: "al-ring", x: -3, y: -3, width: width + 6, height: height + 6, rx: 10 }),
    );
  }
}

export type { Trace };
