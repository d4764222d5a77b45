// The lines of a graph: their labels, their routes, and what flows along them in a step.
import { svgEl } from "./dom";
import type { Equations } from "./equations";
import { localFactor } from "./marks";
import { path, type Direction, type Line, type Placed, type Point } from "./placement";
import { differs, type LineBox, type Moment } from "./scene";
import { signed, sizes, textWidth } from "./text";
import { hasTile, tile, tileSize } from "./tile";
import type { Link, Trace, TraceEdge, TraceFrame, TraceNode, Value } from "./types";
import { grouped, words } from "./values";

const LANE = 22; // px between the middle of a line and the lane of values above it or of gradients below it

interface Drawing {
  readonly trace: Trace;
  readonly nodeById: Map<string, TraceNode>;
  readonly edgeById: Map<string, TraceEdge>;
  readonly backward: boolean; // whether gradients flow in some step
  readonly direction: Direction;
}

export class Lines {
  constructor(
    private readonly graph: Drawing,
    private readonly equations: Equations,
  ) {}

  // Return whether the value on an edge is copied to another device.
  private copies({ parent, child }: TraceEdge): boolean {
    const [from, to] = [this.graph.nodeById.get(parent), this.graph.nodeById.get(child)];
    return to?.op === "to_copy" && Boolean(from?.device && to.device) && from?.device !== to.device;
  }

  draw(link: Link): LineBox {
    const single = link.edges.length === 1 ? (this.graph.edgeById.get(link.edges[0] as string) ?? null) : null;
    const source = this.graph.nodeById.get(this.graph.edgeById.get(link.edges[0] as string)?.parent ?? "");
    const tensor = Boolean(source?.shape?.length) && !link.update;
    const lanes = this.graph.direction === "LR" && tensor && single !== null;
    const line = svgEl("path", { class: "al-line" }) as SVGPathElement;
    const head = svgEl("path", { class: "al-head", d: "M0 0L-9 -4L-9 4Z" });
    const g = svgEl("g", { class: "al-edge", "data-id": link.id }, line);
    g.classList.toggle("al-plain", !link.differentiable && !link.update);
    g.classList.toggle("al-update", link.update);
    g.classList.toggle(
      "al-copy",
      link.edges.some((id) => this.copies(this.graph.edgeById.get(id) as TraceEdge)),
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
      const gradient = link.differentiable && this.graph.backward;
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

  // Return the size of the picture on a line; for a tensor whose numbers are not stored, only its shape is written.
  private laneSize(source: TraceNode): { width: number; height: number } {
    return hasTile(source.value) ? tileSize(source.shape ?? []) : { width: 0, height: 0 };
  }

  // Put a line where the layout placed it.
  place(line: LineBox, placed: Placed): void {
    line.points = placed.lines.get(line.edge.id) ?? [];
    const shift = line.lanes && line.gradTile ? -LANE : 0;
    line.line.setAttribute("d", path(line.points, this.graph.direction, shift));
    line.back?.setAttribute("d", path(line.points, this.graph.direction, LANE));
    line.look = null;
    const at = placed.labels.get(line.edge.id) ?? middleOf(line.points);
    line.pill?.setAttribute("transform", `translate(${at.x} ${at.y})`);
    const size = line.valueTile ? this.laneSize(this.graph.nodeById.get(line.single?.parent ?? "") as TraceNode) : null;
    if (size && line.valueTile) {
      line.valueTile.setAttribute("transform", `translate(${at.x - size.width / 2} ${at.y + shift - size.height / 2})`);
      line.gradTile?.setAttribute("transform", `translate(${at.x - size.width / 2} ${at.y + LANE - size.height / 2})`);
      line.shape?.setAttribute("x", String(at.x));
      line.shape?.setAttribute("y", String(at.y + shift - size.height / 2 - 6));
    } else if (line.shape) {
      line.shape.setAttribute("x", String(at.x + 8));
      line.shape.setAttribute("y", String(at.y + 4));
    }
  }

  update(line: LineBox, frame: TraceFrame | undefined, index: number, active: Set<string>, now: Moment): void {
    const { g, edge, single } = line;
    const states = edge.edges.map((id) => now.edges[id]?.state ?? "");
    const state = ["backward", "forward"].find((one) => states.includes(one)) ?? "";
    const forward = Boolean(frame && leadsTo(this.graph, edge, frame));
    const back = edge.edges.some((id) => active.has(id));
    const ends = ({ parent, child }: TraceEdge) => now.dimmed.has(parent) || now.dimmed.has(child);
    const dimmed = Boolean(now.dimmed.size) && edge.edges.every((id) => ends(this.graph.edgeById.get(id) as TraceEdge));
    const sent = single ? (now.edges[single.id]?.sent ?? null) : null;
    const back_ = frame?.phase === "backward" || state === "backward";
    if (!differs(line, [state, sent, forward, back, dimmed, back_, index === -1])) return;
    g.dataset.state = state;
    g.classList.toggle("al-now", forward || back);
    g.classList.toggle("al-waits", back_ && state !== "backward" && edge.differentiable);
    g.classList.toggle("al-dimmed", dimmed);
    this.turnHead(line, state);
    if (line.valueTile && single) {
      const source = this.graph.nodeById.get(single.parent) as TraceNode;
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
    fitPill(line);
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
    if (this.graph.nodeById.get(single.parent)?.shape?.length) return [];
    if (state === "backward") {
      if (!sent) return [];
      if (!now) return [["al-eqresult", signed(words(sent))]];
      const at = this.graph.trace.frames.findLastIndex((frame) => frame.edge === single.id && frame.index <= index);
      return this.equations.pieces(single, at);
    }
    const factor = localFactor(single);
    return state === "forward" && factor && edge.differentiable ? [["al-eqwait", signed(factor)]] : [];
  }

  // Put the arrow at the end where the flow arrives.
  private turnHead(line: LineBox, state: string): void {
    const { points } = line;
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last) return;
    const down = this.graph.direction === "TB";
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
}

// Return whether what a frame computes or changes comes along a line.
export function leadsTo(
  { edgeById }: { edgeById: Map<string, TraceEdge> },
  link: Link,
  { event, node, receiver }: TraceFrame,
): boolean {
  if (event !== "compute" && event !== "update") return false;
  return link.edges.some((id) => [node, event === "update" ? receiver : node].includes(edgeById.get(id)?.child ?? ""));
}

function shapeWordsOf(node: TraceNode | undefined): string {
  return node?.shape?.length ? sizes(node.shape) : "";
}

function middleOf(points: Point[]): Point {
  const [a, b] = [points[0] ?? { x: 0, y: 0 }, points[1] ?? { x: 0, y: 0 }];
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

// Size the background of a line's label.
export function fitPill({ pill, pillText }: LineBox): void {
  const text = pillText?.textContent ?? "";
  const width = text ? textWidth(text, 14, 600) + 18 : 0;
  pill?.firstElementChild?.setAttribute("x", String(-width / 2));
  pill?.firstElementChild?.setAttribute("width", String(width));
}

// Return what a line needs from the layout: its ends, and the room for its label.
export function roomOf({ edge, wide, lanes, shape, gradTile }: LineBox, direction: Direction): Line {
  return {
    id: edge.id,
    start: edge.start,
    end: edge.end,
    ...(lanes && gradTile ? { pitch: 2 * LANE + 22 } : {}),
    ...(wide
      ? { label: { width: wide, height: lanes ? (gradTile ? 2 * LANE + 60 : 54) : 28 } }
      : shape && direction === "TB"
        ? { label: { width: 2, height: 16 } }
        : {}),
  };
}
