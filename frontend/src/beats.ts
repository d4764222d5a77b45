// The beat that a step belongs to.
import type { Beat, Trace } from "./types";

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
