// The two texts of a step: what they say, and the room that is kept for them.
import { describe, expect, it } from "vitest";
import { stepWords } from "../src/beats";
import { heightOf, linesOf } from "../src/narration.js";
import { goTo, setPlaying, whenHeld } from "../src/player.js";
import { lineCount } from "../src/text";
import { unpack } from "../src/unpack.js";
import { veiled } from "../src/ask.js";
import scalar from "./traces/scalar.json";

const { data } = scalar;
const trace = unpack(structuredClone(data));

function modelAt(step: number, until: number) {
  const state: Record<string, unknown> = {
    data: structuredClone(data),
    step,
    asked: "q",
    questions: [{ id: "q", until }],
    playing: false,
  };
  return {
    state,
    get: (name: string) => state[name],
    set: (name: string, value: unknown) => (state[name] = value),
    save_changes: () => undefined,
  };
}

describe("the texts of a step", () => {
  it("break between words", () => {
    expect(lineCount("", 100, 10)).toBe(0);
    expect(lineCount("one", 100, 10)).toBe(1);
    expect(lineCount("one two three four five six", 60, 10)).toBe(3);
  });

  it("get the room that the longest needs, at every width", () => {
    expect(heightOf(trace, 900, false)).toBe(54);
    expect(heightOf(trace, 500, false)).toBe(82);
    expect(heightOf(trace, 300, true)).toBeGreaterThanOrEqual(2 * 22 + 19);
  });

  it("number steps as the chips do", () => {
    expect(stepWords(trace, 0)).toBe("Step 1 of 6");
    expect(stepWords(trace, trace.frames.length - 1)).toBe("Step 6 of 6");
    const { first } = trace.beats[5];
    expect(stepWords(trace, first)).toBe("Step 6 of 6, part 1 of 2");
  });
});

describe("an open question", () => {
  const question = { id: "q", node: "n0", kind: "grad", form: "number", until: 10, shows: 10, choices: [], wrong: [] };

  it("says at its step why the steps end", () => {
    const hidden = veiled(trace, [question]);
    expect(linesOf(hidden, 10)[0]).toBe(
      "The next step shows the answer. Answer the question first, or choose “Show me”.",
    );
    expect(linesOf(hidden, 0)[0]).toContain("= 4");
    expect(stepWords(hidden, 10)).toBe("Step 6 of 6");
  });

  it("tells a learner who wants to go on", () => {
    const model = modelAt(10, 10);
    let told = 0;
    const forget = whenHeld(model, () => (told += 1));
    goTo(model, 12);
    setPlaying(model, true);
    expect([told, model.state.step, model.state.playing]).toEqual([2, 10, false]);
    goTo(model, 3);
    expect([told, model.state.step]).toEqual([2, 3]);
    forget();
  });
});
