// The beat that a frame belongs to. Learners call a beat a step, so steps are numbered by beats.
import type { Beat, Trace } from "./types";
import { grouped } from "./values";

// Return "Step 3 of 8", and within a beat of several parts "Step 3 of 8, part 1 of 2".
export function stepWords(trace: Trace, index: number): string {
  const { beats } = trace;
  const beat = beatAt(trace, index);
  if (!beat) return "No steps";
  const part = beat.parts.findIndex((at) => at >= index) + 1;
  const within = beat.parts.length > 1 && index < beat.last ? `, part ${part} of ${beat.parts.length}` : "";
  return `Step ${grouped(stepNumber(trace, index))} of ${grouped(trace.steps ?? beats.length)}${within}`;
}

export function stepNumber(trace: Trace, index: number): number {
  const beat = beatAt(trace, index);
  return beat ? Math.min(trace.beats.indexOf(beat) + 1, trace.steps ?? Infinity) : 0; // a question splits a beat
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
