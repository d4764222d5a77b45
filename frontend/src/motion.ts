// Motion along the lines of a graph: a number moves along its line, arrives, and only then the sum changes.
import { clamp, reducedMotion, svgEl } from "./dom";
import { leadsTo } from "./lines";
import type { CardBox, LineBox } from "./scene";
import { signed, textWidth } from "./text";
import type { Trace, TraceEdge, TraceFrame, TraceNode } from "./types";

const TOKEN = 600; // ms that a number needs for a line
const FIRST = 180; // ms until it starts
const APART = 900; // ms between the numbers of one beat

interface Scene {
  svg: SVGSVGElement;
  trace: Trace;
  cards: CardBox[];
  lines: LineBox[];
  nodeById: Map<string, TraceNode>;
  edgeById: Map<string, TraceEdge>;
}

export class Motion {
  private readonly moving: (Animation | number)[] = [];
  private readonly finals = new Map<Element, string | null>(); // the text after all numbers have arrived

  constructor(private readonly scene: Scene) {}

  // Move numbers along the lines of this step; their effects become visible when they arrive.
  animate(frame: TraceFrame | undefined, duration: number, from = frame?.index ?? 0): void {
    this.cancel();
    if (!frame || reducedMotion()) return;
    const back = frame.phase === "backward";
    const frames = back
      ? this.scene.trace.frames.slice(from, frame.index + 1).filter(({ event }) => event === "contribution")
      : [frame];
    const pace = Math.min(1, duration / 650);
    let start = FIRST * pace;
    for (const one of frames) {
      const lines = this.scene.lines.filter(({ edge }) =>
        back ? edge.edges.includes(one.edge ?? "") : leadsTo(this.scene, edge, one),
      );
      for (const line of lines) this.send(line, one, start, TOKEN * pace, back);
      if (lines.length) start += (frames.length > 3 ? APART / 2 : APART) * pace;
    }
  }

  private send(line: LineBox, frame: TraceFrame, delay: number, duration: number, back: boolean): void {
    const track = back && line.back ? line.back : line.line;
    const length = track.getTotalLength?.() ?? 0;
    if (!length) return;
    const value = back ? frame.value : (this.scene.nodeById.get(line.single?.parent ?? "")?.value ?? null);
    const token = svgEl("g", { class: `al-token al-token-${frame.phase}`, opacity: 0 });
    if (value && !value.shape.length) {
      const text = signed(value.text);
      const width = Math.max(24, textWidth(text, 14, 600) + 12);
      token.append(
        svgEl("rect", { x: -width / 2, y: -12, width, height: 24, rx: 12 }),
        svgEl("text", { y: 5, "text-anchor": "middle", text }),
      );
    } else token.append(svgEl("circle", { r: 7 }));
    this.scene.svg.append(token);
    const steps = 12;
    const keyframes = Array.from({ length: steps + 1 }, (_, i) => {
      const eased = ease(i / steps);
      const { x, y } = track.getPointAtLength(
        length * (back && track === line.line ? 1 - eased : back ? 1 - eased : eased),
      );
      return { transform: `translate(${x}px, ${y}px)`, opacity: i === steps ? 0 : 1 };
    });
    const move = token.animate(keyframes, { duration, delay, fill: "none" });
    move.onfinish = () => token.remove();
    move.oncancel = () => token.remove();
    this.moving.push(move);
    if (back) this.land(frame, delay + duration, line);
  }

  // Until the number arrives, its slot is empty and the sum is the previous one.
  private land(frame: TraceFrame, at: number, line: LineBox): void {
    const hidden = (element: Element | null | undefined) => {
      if (element) this.moving.push(element.animate([{ opacity: 0 }, { opacity: 0 }], { duration: at, fill: "none" }));
    };
    hidden(line.gradTile?.firstElementChild);
    const card = this.scene.cards.find(({ node }) => node.id === frame.receiver);
    if (!card) return;
    hidden(card.slots.find(({ edge }) => edge === frame.edge)?.text);
    const total = frame.total && !frame.total.shape.length ? signed(frame.total.text) : null;
    if (!card.number || total === null) return;
    const shown = card.number;
    if (!this.finals.has(shown)) {
      this.finals.set(shown, shown.textContent);
      shown.textContent = this.before(frame);
    }
    this.moving.push(
      window.setTimeout(() => {
        shown.textContent = total;
      }, at),
    );
  }

  private before(frame: TraceFrame): string {
    for (let i = frame.index - 1; i >= 0 && this.scene.trace.frames[i]?.run === frame.run; i -= 1) {
      const one = this.scene.trace.frames[i] as TraceFrame;
      if (one.receiver === frame.receiver && one.total && !one.total.shape.length) return signed(one.total.text);
    }
    return "";
  }

  // Finish all motion at once.
  cancel(): void {
    for (const one of this.moving.splice(0)) {
      if (typeof one === "number") clearTimeout(one);
      else one.cancel();
    }
    for (const [element, text] of this.finals) element.textContent = text;
    this.finals.clear();
    this.scene.svg.querySelectorAll(".al-token").forEach((token) => token.remove());
  }
}

function ease(part: number): number {
  const t = clamp(part, 0, 1);
  return t * t * (3 - 2 * t);
}
