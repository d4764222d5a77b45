// The area below the graph: what the step's node computes for each receiver, as pictures of its tensors.
import { h, svgEl } from "./dom";
import { beatAt } from "./beats";
import { arrivedAt, edgesInto } from "./states";
import { signed, sizes, textWidth } from "./text";
import { cells, hasTile, largest, paint, tile, tileSize, type Size } from "./tile";
import { short } from "./values";
import type { Beat, Trace, TraceEdge, TraceFrame, TraceNode, Value } from "./types";

const MOST_BEATS = 60;
const HIGH = 132; // px height of the pictures
const DIGITS = 32; // maximum number of cells with numbers
const CELL = { width: 58, height: 22 };
const SIGN = 24;
const TITLE = 26;

interface Piece {
  value: Value | null;
  shape: number[];
  name: string;
  frame: "forward" | "backward" | "empty";
  turned?: boolean;
}

interface Panel {
  to: string;
  why: string;
  pieces: Piece[];
  signs: string[];
  added: boolean; // whether rows of the first piece are added up in the second
  here: boolean;
}

export class Stage {
  readonly element: HTMLElement;
  private shown = "";

  constructor(private readonly trace: Trace) {
    this.element = h("div", {
      class: "al-workings",
      role: "group",
      "aria-label": "What this step computes",
      hidden: !this.possible,
    });
  }

  // Return whether to show the area at any step of this trace, so that it does not come and go: yes for networks and
  // other tensors.
  private get possible(): boolean {
    const { beats } = this.trace;
    return (
      beats.length < MOST_BEATS && beats.filter((beat) => this.panels(beat, beat.last).length).length * 2 > beats.length
    );
  }

  update(index: number): void {
    if (this.element.hidden) return;
    const beat = beatAt(this.trace, index);
    const panels = beat ? this.panels(beat, index) : [];
    const key = `${beat?.first} ${panels.map(({ here }) => here).join()} ${index === beat?.last}`;
    if (key === this.shown) return;
    this.shown = key;
    this.element.replaceChildren(...panels.map((panel) => draw(panel)));
    this.fit();
  }

  // Content that is too wide scrolls and becomes a tab stop.
  fit(): void {
    const { element } = this;
    if (element.scrollWidth > element.clientWidth + 1) element.setAttribute("tabindex", "0");
    else element.removeAttribute("tabindex");
  }

  private node(id: string): TraceNode | undefined {
    return this.trace.nodes[Number(id.slice(1))];
  }

  private panels(beat: Beat, index: number): Panel[] {
    if (beat.phase !== "backward") return this.forward(beat);
    const frames = this.trace.frames
      .slice(beat.first, beat.last + 1)
      .filter(({ event, value }) => event === "contribution" && value?.shape.length);
    const found: Panel[] = [];
    for (const frame of frames) {
      const panel = this.panel(frame, beat, index);
      if (panel) found.push(panel);
    }
    return found.filter(seen).slice(0, 3);
  }

  private forward(beat: Beat): Panel[] {
    const node = this.node(beat.node);
    if (!node?.shape?.length || node.error) return [];
    const known: Piece[] = edgesInto(this.trace, node.id)
      .map(({ parent }: TraceEdge) => this.node(parent))
      .filter((one: TraceNode | undefined): one is TraceNode => Boolean(one?.shape?.length))
      .slice(0, 3)
      .map((one: TraceNode) => ({
        value: one.value,
        shape: one.shape ?? [],
        name: one.name || this.trace.titles[one.id] || one.label,
        frame: "forward" as const,
      }));
    if (!known.length) return [];
    const out: Piece = { value: node.value, shape: node.shape, name: beat.title, frame: "forward" };
    if (!seen({ pieces: [...known, out] })) return [];
    return [
      {
        to: beat.title,
        why: "",
        pieces: [...known, out],
        signs: [...known.slice(1).map(() => ","), "→"],
        added: false,
        here: true,
      },
    ];
  }

  private panel(frame: TraceFrame, beat: Beat, index: number): Panel | null {
    const node = this.node(frame.node);
    const receiver = this.node(frame.receiver ?? "");
    const value = frame.value;
    if (!node || !receiver || !value) return null;
    const merged = (this.trace as unknown as { merged?: Record<string, string> }).merged ?? {};
    if (merged[receiver.id] === beat.node && receiver.kind === "op" && receiver.op !== "t") return null;
    const arrived = arrivedAt(this.trace, node.id, frame.index) as Value | null;
    if (!arrived) return null;
    const here =
      frame.index <= index &&
      (index === beat.last || beat.parts.filter((part) => part <= index).at(-1) === frame.index);
    const result: Piece = {
      value: frame.index <= index ? value : null,
      shape: value.shape,
      name: `gradient of ${this.name(receiver)}`,
      frame: frame.index <= index ? "backward" : "empty",
    };
    const gradient: Piece = {
      value: arrived,
      shape: arrived.shape,
      name: `gradient of ${this.name(node)}`,
      frame: "backward",
    };
    const to = this.name(receiver).replace(/ᵀ$/, "");
    const added =
      arrived.shape.length === value.shape.length + 1 && arrived.shape.slice(1).join() === value.shape.join();
    if (added)
      return {
        to,
        why: `add the ${arrived.shape[0]} rows`,
        pieces: [gradient, result],
        signs: ["Σ"],
        added: true,
        here,
      };
    const [first, second] = this.factors(node, receiver, gradient);
    if (first && second)
      return { to, why: "row times column", pieces: [first, second, result], signs: ["·", "="], added: false, here };
    if (!arrived.shape.length) return { to, why: "", pieces: [result], signs: [], added: false, here };
    return { to, why: "", pieces: [gradient, result], signs: ["→"], added: false, here };
  }

  // Return, for a matrix product, the factors of the gradient of one of its operands.
  private factors(node: TraceNode, receiver: TraceNode, gradient: Piece): [Piece, Piece] | [] {
    if (!["addmm", "mm", "matmul", "linear"].includes(node.op)) return [];
    const operands = edgesInto(this.trace, node.id)
      .map(({ parent }: TraceEdge) => this.node(parent))
      .filter((one: TraceNode | undefined): one is TraceNode => one?.shape?.length === 2);
    const other = operands.find((one: TraceNode) => one.id !== receiver.id);
    if (operands.length !== 2 || !other?.value) return [];
    const turned: Piece = {
      value: transposed(other.value),
      shape: [...(other.shape ?? [])].reverse(),
      name: `${this.name(other)}ᵀ`,
      frame: "forward",
    };
    return operands[0]?.id === receiver.id ? [gradient, turned] : [turned, gradient];
  }

  private name(node: TraceNode): string {
    if (node.kind === "op" && node.op === "t") {
      const inner = edgesInto(this.trace, node.id)[0] as TraceEdge | undefined;
      const of = inner && this.node(inner.parent);
      if (of) return `${this.name(of)}ᵀ`;
    }
    if (node.kind === "op") return this.trace.titles[node.id] ?? node.label;
    return node.module ? node.label.replace(`${node.module}.`, "") : node.label;
  }
}

// Return whether its tensors have pictures.
function seen({ pieces }: { pieces: Piece[] }): boolean {
  return pieces.some(({ value }) => hasTile(value));
}

function transposed(value: Value): Value {
  const data = value.data as number[][] | null;
  const turned =
    Array.isArray(data) && Array.isArray(data[0]) ? data[0].map((_, c) => data.map((row) => row[c])) : null;
  return { ...value, shape: [...value.shape].reverse(), data: turned };
}

function sizeOf(piece: Piece, written: boolean): Size & { digits: boolean } {
  const rows = cells(piece.value);
  const [count, wide] =
    piece.shape.length === 1 ? [1, piece.shape[0] ?? 1] : [piece.shape.at(-2) ?? 1, piece.shape.at(-1) ?? 1];
  const digits = written && Boolean(rows) && count * wide <= DIGITS && wide <= 4 && count <= 5;
  if (digits) return { width: wide * CELL.width, height: count * CELL.height, digits };
  return { ...tileSize(piece.shape), digits };
}

function picture(piece: Piece, x: number, middle: number, written: boolean): SVGElement[] {
  const { digits, ...size } = sizeOf(piece, written);
  const y = middle - size.height / 2;
  const words = [
    svgEl("text", {
      class: "al-label",
      x: x + size.width / 2,
      y: y + size.height + 16,
      "text-anchor": "middle",
      text: sizes(piece.shape),
    }),
  ];
  const rows = cells(piece.value);
  if (!digits || !rows)
    return [svgEl("g", { transform: `translate(${x} ${y})` }, tile(piece.value, size, piece.frame)), ...words];
  const top = largest(rows);
  const numbers = rows.flatMap((row, r) =>
    row.flatMap((number, c) => [
      svgEl("rect", {
        x: x + c * CELL.width,
        y: y + r * CELL.height,
        ...CELL,
        ...paint(number, top / 0.55),
      }),
      svgEl("text", {
        class: "al-cellnumber",
        x: x + (c + 1) * CELL.width - 7,
        y: y + r * CELL.height + 16,
        "text-anchor": "end",
        text: signed(short(number)),
      }),
    ]),
  );
  return [...numbers, svgEl("rect", { x, y, ...size, rx: 3, class: `al-tile al-tile-${piece.frame}` }), ...words];
}

function draw(panel: Panel): HTMLElement {
  const parts: SVGElement[] = [];
  const middle = TITLE + (HIGH - TITLE - 18) / 2;
  let x = 14;
  for (const [index, piece] of panel.pieces.entries()) {
    if (index) {
      const sign = panel.signs[index - 1] ?? "";
      parts.push(
        svgEl("text", { class: "al-workingsign", x: x + SIGN / 2, y: middle + 5, "text-anchor": "middle", text: sign }),
      );
      x += SIGN + 4;
    }
    parts.push(...picture(piece, x, middle, panel.added));
    x += Math.max(sizeOf(piece, panel.added).width, textWidth(sizes(piece.shape), 12)) + 8;
  }
  const width = Math.max(x + 8, 60 + textWidth(`to ${panel.to}`, 15, 600) + textWidth(panel.why, 12));
  const title = svgEl(
    "text",
    { class: "al-workingtitle", x: 8, y: 19 },
    svgEl("tspan", {
      class: "al-workingto",
      text: panel.pieces.at(-1)?.frame === "forward" ? panel.to : `to ${panel.to}`,
    }),
    svgEl("tspan", { class: "al-label", dx: 10, text: panel.why }),
  );
  const said = panel.pieces
    .map((piece, index) => `${index ? ` ${panel.signs[index - 1]} ` : ""}${piece.name} ${sizes(piece.shape)}`)
    .join("");
  return h(
    "div",
    { class: `al-working${panel.here ? "" : " al-later"}` },
    svgEl(
      "svg",
      { width, height: HIGH, viewBox: `0 0 ${width} ${HIGH}`, role: "img", "aria-label": `${panel.to}: ${said}` },
      title,
      parts,
    ),
  );
}
