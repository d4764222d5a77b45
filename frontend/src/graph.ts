// The graph: draws the cards and lines of what is open, and puts the state of one step into them.
import { reducedMotion, svgEl } from "./dom";
import { Card, Header, PartCard, fillTile } from "./card";
import { keptWords } from "./kept";
import { Equations } from "./equations";
import { Looks } from "./looks";
import { localFactor } from "./marks";
import { partWord } from "./moods";
import { layout, path, type Direction, type Placed, type Point } from "./placement";
import { resultsOf, timelineOf } from "./states";
import { signed, sizes, textWidth } from "./text";
import { hasTile, tile, tileSize } from "./tile";
import { grouped, isBad, shapeWords, words } from "./values";
import { Motion } from "./motion";
import { Naming } from "./naming";
import { differs, type Actions, type CardBox, type Folding, type LineBox, type Moment, type PartBox } from "./scene";
import { Walk } from "./walk";
import type { Beat, Folded, Link, Part, Trace, TraceEdge, TraceFrame, TraceNode, Value } from "./types";

const LANE = 22; // px that values run above, and gradients below, the middle of a line
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
  private readonly backward: boolean;
  private readonly motion: Motion;
  private readonly naming: Naming;
  private readonly equations: Equations;
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
    this.equations = new Equations(trace);
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
    for (const link of folded.links) this.lines.push(this.drawLine(link));
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

  // Whether what flows along an edge is copied to another device.
  private copies({ parent, child }: TraceEdge): boolean {
    const [from, to] = [this.nodeById.get(parent), this.nodeById.get(child)];
    return to?.op === "to_copy" && Boolean(from?.device && to.device) && from?.device !== to.device;
  }

  private get lanes(): boolean {
    return this.direction === "LR";
  }

  private drawLine(link: Link): LineBox {
    const single = link.edges.length === 1 ? (this.edgeById.get(link.edges[0] as string) ?? null) : null;
    const source = this.nodeById.get(this.edgeById.get(link.edges[0] as string)?.parent ?? "");
    const tensor = Boolean(source?.shape?.length) && !link.update;
    const lanes = this.lanes && tensor && single !== null;
    const line = svgEl("path", { class: "al-line" }) as SVGPathElement;
    const head = svgEl("path", { class: "al-head", d: "M0 0L-9 -4L-9 4Z" });
    const g = svgEl("g", { class: "al-edge", "data-id": link.id }, line);
    g.classList.toggle("al-plain", !link.differentiable && !link.update);
    g.classList.toggle("al-update", link.update);
    g.classList.toggle(
      "al-copy",
      link.edges.some((id) => this.copies(this.edgeById.get(id) as TraceEdge)),
    );
    const box: LineBox = {
      g,
      edge: link,
      line,
      head,
      back: null,
      backHead: null,
      pill: null,
      pillText: null,
      valueTile: null,
      gradTile: null,
      shape: null,
      lanes,
      wide: 0,
      single,
      points: [],
      look: null,
    };
    if (lanes && single && source) {
      const gradient = link.differentiable && this.backward;
      if (gradient) {
        box.back = svgEl("path", { class: "al-line al-backline" }) as SVGPathElement;
        box.backHead = svgEl("path", { class: "al-head al-backhead", d: "M0 0L-9 -4L-9 4Z" });
        g.append(box.back, box.backHead);
      }
      const size = this.laneSize(source);
      const shape = sizes(source.shape);
      box.wide = Math.max(size.width, textWidth(shape, 12)) + 12;
      box.shape = svgEl("text", { class: "al-shape", "text-anchor": "middle", text: shape });
      box.valueTile = svgEl("g");
      box.gradTile = gradient ? svgEl("g") : null;
      g.append(head, box.valueTile, box.gradTile ?? "", box.shape);
    } else {
      g.append(head);
      box.pillText = svgEl("text", { class: "al-pilltext", "text-anchor": "middle", y: 5 });
      box.pill = svgEl(
        "g",
        { class: "al-pill", visibility: "hidden" },
        svgEl("rect", { y: -13, height: 26, rx: 13 }),
        box.pillText,
      );
      const longest =
        single && !tensor ? this.equations.longest(single) : single ? "" : `${grouped(link.edges.length)} edges`;
      box.wide = longest && (link.differentiable || !single) ? textWidth(longest, 14, 600) + 22 : 0;
      if (tensor || !single) {
        const words = single ? shapeWordsOf(source) : "";
        box.shape = words ? svgEl("text", { class: "al-shape", "text-anchor": "start", text: words }) : null;
        if (box.shape) g.append(box.shape);
      }
      g.append(box.pill);
    }
    return box;
  }

  // The picture on a line; of a tensor whose numbers are not kept only its shape is written.
  private laneSize(source: TraceNode): { width: number; height: number } {
    return hasTile(source.value) ? tileSize(source.shape ?? []) : { width: 0, height: 0 };
  }

  // -- where it stands -------------------------------------------------------------------------------------------------
  arrange(direction: Direction, room?: number): void {
    this.direction = direction;
    const boxes = [...this.folded.boxes].map(([key, { frame }]) => {
      const card = this.cardOf.get(key) as Card;
      return { key, width: card.width, height: card.height, frame };
    });
    const lines = this.lines.map(({ edge, wide, lanes, shape, gradTile }) => ({
      id: edge.id,
      start: edge.start,
      end: edge.end,
      ...(lanes && gradTile ? { pitch: 2 * LANE + 22 } : {}),
      ...(wide
        ? { label: { width: wide, height: lanes ? (gradTile ? 2 * LANE + 60 : 54) : 28 } }
        : shape && direction === "TB"
          ? { label: { width: 2, height: 16 } }
          : {}),
    }));
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
    for (const line of this.lines) {
      line.points = placed.lines.get(line.edge.id) ?? [];
      const shift = line.lanes && line.gradTile ? -LANE : 0;
      line.line.setAttribute("d", path(line.points, this.direction, shift));
      line.back?.setAttribute("d", path(line.points, this.direction, LANE));
      line.look = null;
      const at = placed.labels.get(line.edge.id) ?? middleOf(line.points);
      line.pill?.setAttribute("transform", `translate(${at.x} ${at.y})`);
      const size = line.valueTile ? this.laneSize(this.nodeById.get(line.single?.parent ?? "") as TraceNode) : null;
      if (size && line.valueTile) {
        line.valueTile.setAttribute(
          "transform",
          `translate(${at.x - size.width / 2} ${at.y + shift - size.height / 2})`,
        );
        line.gradTile?.setAttribute(
          "transform",
          `translate(${at.x - size.width / 2} ${at.y + LANE - size.height / 2})`,
        );
        line.shape?.setAttribute("x", String(at.x));
        line.shape?.setAttribute("y", String(at.y + shift - size.height / 2 - 6));
      } else if (line.shape) {
        line.shape.setAttribute("x", String(at.x + 8));
        line.shape.setAttribute("y", String(at.y + 4));
      }
    }
  }

  // The middle of a box.
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

  // -- what is true after a step ---------------------------------------------------------------------------------------
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
    for (const line of this.lines) this.updateLine(line, frame, index, active, now);
  }

  settle(): void {}

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
    const said = { never: "none", returned: word, zero: scalar ? "" : "zero" }[state] ?? "";
    card.number.textContent = grad && scalar && state !== "returned" ? signed(grad.text) : grad && scalar ? "" : "";
    card.word.textContent = grad && scalar ? (state === "returned" ? `${signed(grad.text)} ${word}` : "") : said;
    if (card.gthumb) fillTile(card.gthumb, grad, node.shape, grad ? "backward" : "empty");
  }

  // The gradient that a node holds, or held when it passed it on.
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

  private updateLine(
    line: LineBox,
    frame: TraceFrame | undefined,
    index: number,
    active: Set<string>,
    now: Moment,
  ): void {
    const { g, edge, single } = line;
    const states = edge.edges.map((id) => now.edges[id]?.state ?? "");
    const state = ["backward", "forward"].find((one) => states.includes(one)) ?? "";
    const forward = Boolean(frame && this.leadsTo(edge, frame));
    const back = edge.edges.some((id) => active.has(id));
    const ends = ({ parent, child }: TraceEdge) => now.dimmed.has(parent) || now.dimmed.has(child);
    const dimmed = Boolean(now.dimmed.size) && edge.edges.every((id) => ends(this.edgeById.get(id) as TraceEdge));
    const sent = single ? (now.edges[single.id]?.sent ?? null) : null;
    const back_ = frame?.phase === "backward" || state === "backward";
    if (!differs(line, [state, sent, forward, back, dimmed, back_, index === -1])) return;
    g.dataset.state = state;
    g.classList.toggle("al-now", forward || back);
    g.classList.toggle("al-waits", back_ && state !== "backward" && edge.differentiable);
    g.classList.toggle("al-dimmed", dimmed);
    this.turnHead(line, state);
    if (line.valueTile && single) {
      const source = this.nodeById.get(single.parent) as TraceNode;
      const size = this.laneSize(source);
      if (!size.height) return;
      const known = now.computed.has(source.id) || source.kind !== "op";
      line.valueTile.replaceChildren(tile(known ? source.value : null, size, known ? "forward" : "empty"));
      line.gradTile?.replaceChildren(tile(sent, size, state === "backward" ? "backward" : "empty"));
      if (line.gradTile) line.gradTile.style.display = back_ ? "" : "none";
      line.back?.classList.toggle("al-off", !back_);
      line.backHead?.classList.toggle("al-off", !back_);
      return;
    }
    if (!line.pill || !line.pillText) return;
    const pieces = this.pillPieces(line, state, back, sent, index);
    line.pill.setAttribute("visibility", pieces.length ? "visible" : "hidden");
    line.pill.classList.toggle("al-boxed", back && pieces.length > 1);
    line.pillText.replaceChildren(...pieces.map(([name, text]) => svgEl("tspan", { class: name, text })));
    const width = pieces.length ? textWidth(pieces.map(([, text]) => text).join(""), 14, 600) + 18 : 0;
    const rect = line.pill.firstElementChild as SVGElement;
    rect.setAttribute("x", String(-width / 2));
    rect.setAttribute("width", String(width));
  }

  private pillPieces(
    line: LineBox,
    state: string,
    now: boolean,
    sent: Value | null,
    index: number,
  ): [string, string][] {
    const { single, edge } = line;
    if (!single) return [["al-eqwait", `${grouped(edge.edges.length)} edges`]];
    if (this.nodeById.get(single.parent)?.shape?.length) return [];
    if (state === "backward") {
      if (!sent) return [];
      if (!now) return [["al-eqresult", signed(words(sent))]];
      const at = this.trace.frames.findLastIndex((frame) => frame.edge === single.id && frame.index <= index);
      return this.equations.pieces(single, at);
    }
    const factor = localFactor(single);
    return state === "forward" && factor && edge.differentiable ? [["al-eqwait", signed(factor)]] : [];
  }

  // The arrow stands where what flows arrives.
  private turnHead(line: LineBox, state: string): void {
    const { points } = line;
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last) return;
    const down = this.direction === "TB";
    const put = (head: SVGElement, at: Point, back: boolean, shift: number) => {
      const angle = (down ? 90 : 0) + (back ? 180 : 0);
      head.setAttribute(
        "transform",
        `translate(${at.x + (down ? shift : 0)} ${at.y + (down ? 0 : shift)}) rotate(${angle})`,
      );
    };
    if (line.lanes) {
      put(line.head, last, false, line.gradTile ? -LANE : 0);
      if (line.backHead) put(line.backHead, first, true, LANE);
    } else
      put(
        line.head,
        state === "backward" || line.g.classList.contains("al-waits") ? first : last,
        state === "backward" || line.g.classList.contains("al-waits"),
        0,
      );
  }

  // Whether what a frame computes or changes comes along a line.
  leadsTo(link: Link, { event, node, receiver }: TraceFrame): boolean {
    if (event !== "compute" && event !== "update") return false;
    return link.edges.some((id) =>
      [node, event === "update" ? receiver : node].includes(this.edgeById.get(id)?.child ?? ""),
    );
  }

  // -- what each node keeps for backward, on demand --------------------------------------------------------------------
  showMemory(on: boolean): void {
    for (const card of this.cards) {
      card.pin?.remove();
      card.pin = on && card.saved.length ? svgEl("g", { class: "al-pin" }) : null;
      if (card.pin) card.g.append(card.pin);
      card.look = null;
    }
  }

  private showPin(card: CardBox, now: Moment): void {
    const states = card.saved.map((id) => now.saved[id] ?? "");
    const state = ["modified", "alive", "freed"].find((one) => states.includes(one)) ?? "";
    const bytes = card.saved.reduce((sum, id) => sum + (this.trace.saved[Number(id.slice(1))]?.bytes ?? 0), 0);
    const text = state
      ? `${card.saved.length} ${state === "alive" ? "saved" : state}${bytes ? ` · ${grouped(bytes)} B` : ""}`
      : "saves nothing yet";
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

  // -- what is seen ----------------------------------------------------------------------------------------------------
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

  // Scrolls the pane, never the page.
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

function shapeWordsOf(node: TraceNode | undefined): string {
  return node?.shape?.length ? sizes(node.shape) : "";
}

export function beatAt(trace: Trace, index: number): Beat | undefined {
  const { beats } = trace;
  let low = 0;
  let high = beats.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((beats[middle] as Beat).first <= index) low = middle;
    else high = middle - 1;
  }
  return beats[low];
}

function middleOf(points: Point[]): Point {
  const [a, b] = [points[0] ?? { x: 0, y: 0 }, points[1] ?? { x: 0, y: 0 }];
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
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
