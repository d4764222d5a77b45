// The chain rule as written on a line: the arrived gradient times the local derivative is what goes on.
import { localFactor } from "./marks";
import { signed } from "./text";
import type { Trace, TraceEdge, TraceFrame } from "./types";

export class Equations {
  constructor(private readonly trace: Trace) {}

  longest(edge: TraceEdge): string {
    const own = this.trace.frames.filter((frame) => frame.edge === edge.id && frame.value);
    const all = own.map((frame) =>
      this.pieces(edge, frame.index)
        .map(([, words]) => words)
        .join(""),
    );
    return [`× ${localFactor(edge)}`, ...all].reduce((most, text) => (text.length > most.length ? text : most), "");
  }

  // Return the chain rule on an edge as pieces: [class, text].
  pieces(edge: TraceEdge, index: number): [string, string][] {
    const frame = this.trace.frames[index];
    const factor = localFactor(edge).replace("× ", "");
    const value = frame?.value && !frame.value.shape.length ? signed(frame.value.text) : "";
    if (!value) return [];
    const arrived = this.arrived(edge.child, index);
    if (!factor || !arrived) return [["al-eqresult", value]];
    const bracket = (text: string) => (text.startsWith("−") ? `(${text})` : text);
    return [
      ["al-eqback", arrived],
      ["al-eqsign", " × "],
      ["al-eqforward", bracket(signed(factor))],
      ["al-eqsign", isRounded(frame, edge) ? " ≈ " : " = "],
      ["al-eqresult", value],
    ];
  }

  private arrived(id: string, index: number): string {
    const frames = this.trace.frames;
    const run = frames[index]?.run;
    for (let i = index; i >= 0 && frames[i]?.run === run; i -= 1) {
      const frame = frames[i] as TraceFrame;
      if (frame.receiver === id && frame.event !== "free" && frame.total && !frame.total.shape.length)
        return signed(frame.total.text);
    }
    return "";
  }
}

function isRounded(frame: TraceFrame | undefined, edge: TraceEdge): boolean {
  return Boolean(frame && (edge.tex_numbers.includes("\\approx") || /\.\d*0$|\.\d\d\d/.test(frame.value?.text ?? "")));
}
