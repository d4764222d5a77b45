// The graph: draw the cards and lines of the open parts, and update them to the state of one step.
import { reducedMotion, svgEl } from "./dom";
import { Card, Header, PartCard, fillTile } from "./card";
import { badgeOf, keptWords } from "./kept";
import { Equations } from "./equations";
import { beatAt } from "./beats";
import { Lines, roomOf } from "./lines";
import { Looks } from "./looks";
import { partWord } from "./moods";
import { layout, type Direction, type Placed, type Point } from "./placement";
import { resultsOf, timelineOf } from "./states";
import { signed, sizes, textWidth } from "./text";
import { tileSize } from "./tile";
import { grouped, isBad, shapeWords } from "./values";
import { Motion } from "./motion";
import { Naming } from "./naming";
import { differs, type Actions, type CardBox, type Folding, type LineBox, type Moment, type PartBox } from "./scene";
import { Walk } from "./walk";
import type { Beat, Folded, Link, Part, Trace, TraceEdge, TraceFrame, TraceNode, Value } from "./types";

const MOST_SCALE = 1;
export const LEAST_SCALE = 0.85;

export class Graph {
  readonly svg: SVGSVGElement;
  readonly cards: CardBox[] = [];
  readonly parts: PartBox[] = [];
  readonly headers: { g: SVGElement; part: Part; frame: SVGElement }[] = [];
  readonly lines: LineBox[] = [];
  readonly links: Map<string, Link>;
  readonly nodeById: Map<string, TraceNode>;
  readonly edgeById: Map<string, TraceEdge>;
  readonly walk: Walk;
  readonly rankdir: Direction;
  scale = 1;
  private placed!: Placed;
  private readonly folded: Folded;
  private readonly cardOf = new Map<string, Card | PartCard>();
  private readonly headerOf = new Map<string, Header>();
  readonly backward: boolean;
  private readonly motion: Motion;
  private readonly naming: Naming;
  private readonly edges: Lines;
  private readonly looks: Looks;

  constructor(
    readonly pane: HTMLElement,
    readonly trace: Trace,
    readonly folding: Folding,
    readonly open: Set<string>,
    public direction: Direction,
    private readonly actions: Actions,
  ) {
    this.rankdir = direction;
    this.nodeById = new Map(trace.nodes.map((node) => [node.id, node]));
    this.edgeById = new Map(trace.edges.map((edge) => [edge.id, edge]));
    this.folded = folding.fold(open);
    this.links = new Map(this.folded.links.map((link) => [link.id, link]));
    this.backward = trace.frames.some(({ phase }) => phase === "backward");
    this.svg = svgEl("svg", { role: "group", "aria-label": "Computation graph", class: "al-graph" }) as SVGSVGElement;
    this.svg.append(defs());
    this.looks = new Looks(trace, folding, this.folded, direction === "LR");
    this.edges = new Lines(this, new Equations(trace));
    this.naming = new Naming(trace, folding);
    this.motion = new Motion(this);
    this.draw();
    pane.replaceChildren(this.svg);
    this.walk = new Walk(this);
  }

  // -- what is drawn ---------------------------------------------------------------------------------------------------
  private draw(): void {
    const { svg, folded, folding } = this;
    const frames = new Map<string, SVGElement>();
    for (const id of folded.frames) {
      const part = folding.byId.get(id) as Part;
      const frame = svgEl("rect", { class: "al-frame", "data-id": id, rx: 12 });
      frames.set(id, frame);
      svg.append(frame);
      this.headerOf.set(id, new Header(part, this.looks.titleOf(part)));
    }
    for (const [key, { of }] of folded.boxes) this.cardOf.set(key, this.looks.card(of));
    for (const link of folded.links) this.lines.push(this.edges.draw(link));
    svg.append(...this.lines.map(({ g }) => g));
    const place = (id: string) => Number((folding.byId.get(id)?.first ?? id).slice(1));
    const labels = [...folded.frames].sort((a, b) => place(a) - place(b));
    for (const [key, { of }] of folded.boxes) {
      while (labels.length && place(labels[0] as string) <= place(of))
        this.drawHeader(labels.shift() as string, frames);
      this.drawBox(key, of);
    }
    for (const id of labels) this.drawHeader(id, frames);
  }

  private drawHeader(id: string, frames: Map<string, SVGElement>): void {
    const header = this.headerOf.get(id) as Header;
    const g = header.draw();
    const frame = frames.get(id) as SVGElement;
    const failed = this.trace.nodes.some((node) => node.error && this.folding.around(node.id).includes(id));
    for (const e of [g, frame]) e.classList.toggle("al-wrong", failed);
    g.addEventListener("click", () => this.actions.toggle(id));
    g.setAttribute("aria-label", `${header.part.label}, ${header.part.type}${failed ? ", an operation failed" : ""}`);
    this.headers.push({ g, part: header.part, frame });
    this.svg.append(g);
  }

  private drawBox(key: string, of: string): void {
    const card = this.cardOf.get(key);
    if (card instanceof PartCard) {
      const drawn = card.draw();
      drawn.g.dataset.key = key;
      drawn.g.addEventListener("click", () => this.actions.toggle(of));
      drawn.g.classList.toggle("al-wrong", Boolean(card.wrong));
      this.parts.push({ ...drawn, part: card.part, full: sizes(card.part.shape), look: null });
      this.svg.append(drawn.g);
    } else if (card) {
      const { node } = card.look;
      const drawn = card.draw();
      drawn.g.dataset.key = key;
      const pick = () => this.actions.select(node.id);
      drawn.g.addEventListener("click", pick);
      drawn.g.addEventListener("focus", pick);
      drawn.g.classList.toggle("al-wrong", Boolean(node.error || node.mark));
      drawn.g.classList.toggle("al-wants", node.requires_grad);
      const device = this.looks.deviceOf(node);
      if (device) drawn.g.querySelector(".al-card")?.setAttribute("data-device", device);
      for (const row of drawn.rows)
        row.g.addEventListener("click", (event) => {
          event.stopPropagation();
          this.actions.select(row.node.id);
        });
      const within = (this.folding.rows.get(node.id) ?? []).map((id) => this.nodeById.get(id) as TraceNode);
      const ids = new Set([node.id, ...within.map(({ id }) => id)]);
      const saved = this.trace.saved.filter((one) => ids.has(one.node)).map(({ id }) => id);
      const valueText = card.look.lanes && node.shape?.length ? "" : this.looks.valueOf(node);
      this.cards.push({
        ...drawn,
        node,
        within,
        valueText,
        tabs: [],
        look: null,
        saved,
        pin: null,
        lanes: card.look.lanes,
      });
      this.svg.append(drawn.g);
    }
  }

  // -- positions ----------------------------------------------------------------------------------------------------
  arrange(direction: Direction, room?: number): void {
    this.direction = direction;
    const boxes = [...this.folded.boxes].map(([key, { frame }]) => {
      const card = this.cardOf.get(key) as Card;
      return { key, width: card.width, height: card.height, frame };
    });
    const lines = this.lines.map((line) => roomOf(line, direction));
    const frames = this.folded.frames.map((id) => {
      const header = this.headerOf.get(id) as Header;
      return { id, parent: this.folding.byId.get(id)?.parent ?? null, width: header.width, height: header.height };
    });
    this.placed = layout(boxes, lines, frames, { direction, ...(room ? { room } : {}) });
    this.move();
  }

  private move(): void {
    const { placed, svg } = this;
    svg.setAttribute("viewBox", `0 0 ${placed.width} ${placed.height}`);
    for (const { g } of [...this.cards, ...this.parts]) {
      const { x, y } = placed.boxes.get(g.dataset.key ?? "") as Point;
      g.setAttribute("transform", `translate(${x} ${y})`);
    }
    for (const { g, part, frame } of this.headers) {
      const at = placed.frames.get(part.id);
      if (!at) continue;
      for (const [name, value] of Object.entries(at)) frame.setAttribute(name, String(value));
      g.setAttribute("transform", `translate(${at.x + 6} ${at.y + 6})`);
    }
    for (const line of this.lines) this.edges.place(line, placed);
  }

  // Return the centre of a box.
  centre(key: string): [number, number] {
    const { x, y } = this.placed.boxes.get(key) as Point;
    const card = this.cardOf.get(key) as Card;
    return [x + card.width / 2, y + card.height / 2];
  }

  size(): { width: number; height: number } {
    return this.placed;
  }

  // Text keeps its size unless the learner zooms.
  resize(width: number, height: number, zoom: number | "fit"): void {
    const { width: w, height: h } = this.placed;
    const all = Math.min(width / w, height / h, MOST_SCALE);
    this.scale = zoom === "fit" ? all : zoom;
    this.svg.setAttribute("width", String(Math.floor(w * this.scale)));
    this.svg.setAttribute("height", String(Math.floor(h * this.scale)));
  }

  // -- the state after a step ---------------------------------------------------------------------------------------
  update(index: number, now: Moment, selected: string): void {
    this.motion.cancel();
    const frame = this.trace.frames[index];
    const beat = beatAt(this.trace, index);
    const active = new Set<string>();
    if (beat)
      for (let i = beat.first; i <= index; i += 1)
        if (this.trace.frames[i]?.edge) active.add(this.trace.frames[i]?.edge as string);
    this.svg.dataset.phase = frame?.phase ?? "";
    for (const card of this.cards) this.updateCard(card, frame, beat, index, now, selected);
    for (const part of this.parts) this.updatePart(part, frame, now);
    for (const line of this.lines) this.edges.update(line, frame, index, active, now);
  }

  private updateCard(
    card: CardBox,
    frame: TraceFrame | undefined,
    beat: Beat | undefined,
    index: number,
    now: Moment,
    selected: string,
  ): void {
    const { g, node } = card;
    const known = now.computed.has(node.id);
    const grad = this.gradientOf(node, index, now);
    const word = now.words[node.id] ?? "";
    const why = now.why[node.id] ?? "";
    const state = now.states[node.id] ?? "none";
    const about =
      frame && (beat?.node === node.id || frame.node === node.id || card.within.some(({ id }) => id === frame.node));
    const phase = about ? frame.phase : "";
    const failed = Boolean(about && frame?.event === "error");
    const picked = selected === node.id;
    const dim = now.dimmed.has(node.id);
    const slots = card.slots.map(({ edge }) => (now.edges[edge]?.state === "backward" ? now.edges[edge]?.sent : null));
    const rows = card.rows.map((row) => [
      now.states[row.node.id],
      this.gradientOf(row.node, index, now),
      selected === row.node.id,
      now.dimmed.has(row.node.id),
    ]);
    const memory = card.pin ? card.saved.map((id) => now.saved[id]).join() : "";
    if (!differs(card, [known, state, word, why, grad, phase, failed, picked, dim, memory, ...slots, ...rows.flat()]))
      return;
    g.classList.toggle("al-pending", !known);
    g.classList.toggle("al-hasbad", (known && isBad(node.value)) || isBad(grad));
    g.classList.toggle("al-failed", failed);
    for (const name of ["forward", "backward", "update"]) g.classList.toggle(`al-now-${name}`, phase === name);
    g.classList.toggle("al-selected", picked);
    g.setAttribute("aria-pressed", String(picked));
    g.classList.toggle("al-dimmed", dim);
    g.setAttribute("aria-label", this.naming.nameOf(card, known, word, why, grad, now));
    if (card.value) card.value.textContent = known ? card.valueText : "";
    if (card.thumb) fillTile(card.thumb, known ? node.value : null, node.shape, known ? "forward" : "empty");
    this.showGradient(card, node, state, word, grad);
    for (const [i, slot] of card.slots.entries()) {
      const sent = slots[i];
      slot.g.classList.toggle("al-open", !sent);
      slot.text.textContent = sent ? signed(sent.text) : "";
    }
    if (card.slots.length > 4)
      (card.slots[0] as { text: SVGElement }).text.textContent =
        `${slots.filter(Boolean).length} of ${slots.length} gradients have arrived`;
    for (const [i, row] of card.rows.entries()) {
      const [rowState, rowGrad, rowPicked, rowDim] = rows[i] as [string, Value | null, boolean, boolean];
      row.g.dataset.state = rowState;
      row.g.classList.toggle("al-picked", rowPicked);
      row.g.classList.toggle("al-dimmed", rowDim);
      fillTile(row.value, row.node.value, row.node.shape, "forward");
      if (row.node.requires_grad && this.backward && rowState !== "never")
        fillTile(row.grad, rowGrad, row.node.shape, rowGrad ? "backward" : "empty");
      else row.grad.replaceChildren();
    }
    if (card.pin) this.showPin(card, now);
  }

  private showGradient(card: CardBox, node: TraceNode, state: string, word: string, grad: Value | null): void {
    if (!card.grad || !card.number || !card.word) return;
    card.grad.dataset.state = state;
    const scalar = !node.shape?.length;
    const number = grad && scalar ? signed(grad.text) : "";
    const freed = state === "freed" && this.trace.frames.length > 0;
    const name = freed ? word : "grad";
    // Numbers of freed gradients are struck out, or left out where the word needs their room.
    const room = Number(card.g.dataset.w) - 36 - textWidth(name, 12);
    const fits = textWidth(number, 16, 600) <= room && (scalar || tileSize(node.shape ?? []).width <= room);
    const said = { never: "none", returned: `${number} ${word}`.trim(), zero: scalar ? "" : "zero" }[state] ?? "";
    if (card.name) card.name.textContent = scalar || fits ? name : "grad";
    card.number.textContent = state === "returned" || (freed && !fits) ? "" : number;
    card.word.textContent = number && state !== "returned" ? "" : said;
    if (card.gthumb) fillTile(card.gthumb, grad, node.shape, grad ? "backward" : "empty");
  }

  // Return the gradient that a node holds, or held when it passed it on.
  private gradientOf(node: TraceNode, index: number, now: Moment): Value | null {
    const state = now.states[node.id] ?? "none";
    if (["none", "never"].includes(state) || resultsOf(node).length) return null;
    if (state === "freed") return this.trace.frames.length ? timelineOf(this.trace).latest(node.id, index) : null;
    return now.gradients[node.id] ?? null;
  }

  private updatePart(box: PartBox, frame: TraceFrame | undefined, now: Moment): void {
    const { g, part } = box;
    const { computed, state } = now.parts[part.id] as { computed: number; state: string };
    const inside = (id: string | null | undefined) =>
      Boolean(id) && this.folding.around(id as string).includes(part.id);
    const here = frame && inside(frame.node);
    const there = frame?.receiver && frame.event !== "free" && inside(frame.receiver);
    const phase = frame && (here || (there && frame.phase !== "forward")) ? frame.phase : "";
    const done = computed >= part.ops || !this.trace.frames.length;
    if (!differs(box, [computed, state, phase])) return;
    g.classList.toggle("al-pending", !done);
    for (const name of ["forward", "backward", "update"]) g.classList.toggle(`al-now-${name}`, phase === name);
    box.value.textContent = done
      ? box.full
      : computed
        ? `${grouped(computed)} of ${grouped(part.ops)} ${part.kind === "step" ? "done" : "computed"}`
        : "";
    const word = partWord(this.trace, state);
    if (box.grad && box.word) {
      box.grad.dataset.state = state;
      box.word.textContent = state === "none" ? "" : word;
    }
    const size = [part.amount.replace(/\bop(s?)\b/, "operation$1").replace(" · ", ", ")];
    if (part.parameters) size.push(`${grouped(part.parameters)} parameters`);
    size.push(
      done
        ? part.shape
          ? `result of shape ${shapeWords(part.shape)}`
          : "done"
        : computed
          ? `${grouped(computed)} computed`
          : "not computed yet",
    );
    if (g.classList.contains("al-wrong")) size.push(g.querySelector(".al-cut")?.textContent ?? "");
    if (part.requires_grad) size.push(`gradients ${word}`);
    g.setAttribute("aria-label", [part.label, part.type, ...size].filter(Boolean).join(", "));
  }

  // -- saved tensors of each node, on demand ------------------------------------------------------------------------
  showMemory(on: boolean): void {
    for (const card of this.cards) {
      card.pin?.remove();
      card.pin = on && card.saved.length ? svgEl("g", { class: "al-pin" }) : null;
      if (card.pin) card.g.append(card.pin);
      card.look = null;
    }
  }

  private showPin(card: CardBox, now: Moment): void {
    const { state, text } = badgeOf(this.trace, card.saved, (id: string) => now.saved[id] ?? "");
    const width = textWidth(text, 12) + 14;
    const x = Number(card.g.dataset.w) - width - 8;
    const titled = card.saved.map((id) => keptWords(this.trace, id)).join("\n");
    card.pin?.setAttribute("data-state", state);
    card.pin?.replaceChildren(
      svgEl("title", { text: titled }),
      svgEl("rect", { x, y: -11, width, height: 20, rx: 10 }),
      svgEl("text", { x: x + width / 2, y: 3.5, "text-anchor": "middle", text }),
    );
  }

  animate(frame: TraceFrame | undefined, duration: number, from?: number): void {
    this.motion.animate(frame, duration, from);
  }

  stop(): void {
    this.motion.cancel();
  }

  // -- the visible part ---------------------------------------------------------------------------------------------
  elementOf(id: string): SVGElement | null {
    const shown = this.folding.shownAs(id, this.open);
    return this.svg.querySelector(`.al-node[data-id="${shown}"], .al-header[data-id="${shown}"]`);
  }

  follow(frame: TraceFrame | undefined): void {
    if (!frame) return;
    const ids = new Set(
      [frame.node, frame.receiver].filter(Boolean).map((id) => this.folding.boxOf(id as string, this.open)),
    );
    this.reveal([...this.cards, ...this.parts].filter(({ g }) => ids.has(g.dataset.id ?? "")).map(({ g }) => g));
  }

  // Scroll the pane, never the page.
  reveal(elements: Element[]): void {
    const { pane } = this;
    if (!elements.length || (pane.scrollWidth <= pane.clientWidth + 1 && pane.scrollHeight <= pane.clientHeight + 1))
      return;
    const room = pane.getBoundingClientRect();
    const boxes = elements.map((g) => g.getBoundingClientRect());
    const least = (side: "left" | "top") => Math.min(...boxes.map((box) => box[side])) - room[side] - 24;
    const most = (side: "right" | "bottom", start: "left" | "top") =>
      Math.max(...boxes.map((box) => box[side])) - room[start] + 24;
    const by = (low: number, high: number, size: number) =>
      low < 0 || high - low > size ? low : Math.max(0, high - size);
    pane.scrollBy({
      left: by(least("left"), most("right", "left"), pane.clientWidth),
      top: by(least("top"), most("bottom", "top"), pane.clientHeight),
      behavior: reducedMotion() ? "auto" : "smooth",
    });
  }
}

function defs(): SVGElement {
  const stripes = svgEl("pattern", {
    id: "al-simulated",
    width: 14,
    height: 14,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  stripes.append(
    svgEl("rect", { class: "al-devicepaper", width: 14, height: 14 }),
    svgEl("rect", { class: "al-devicestripe", width: 4, height: 14 }),
  );
  return svgEl("defs", {}, stripes);
}
