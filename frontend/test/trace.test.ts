// What the scripts make of two traces that Python packed: z = x * x + 3 * x, and a network of two linear layers.
import { describe, expect, it } from "vitest";
import { openQuestions, veiled } from "../src/ask.js";
import { Folding } from "../src/folding.js";
import { replay } from "../src/replay.js";
import { statesAt } from "../src/states.js";
import { unpack } from "../src/unpack.js";
import network from "./traces/network.json";
import scalar from "./traces/scalar.json";

const TRACES: Record<string, unknown> = { network, scalar };

interface Given {
  data: unknown;
  folding: ConstructorParameters<typeof Folding>[1];
  states: Record<string, string>[];
  expanded: string[];
}

function read(name: string) {
  const given = structuredClone(TRACES[name]) as Given;
  const trace = unpack(given.data);
  return { ...given, trace, folded: new Folding(trace, given.folding) };
}

describe.each(["scalar", "network"])("%s", (name) => {
  const { trace, states } = read(name);

  it("has the states of gradients that Python finds", () => {
    states.forEach((known: Record<string, string>, index: number) => expect(statesAt(trace, index)).toEqual(known));
  });

  it("is told in beats that span all frames", () => {
    const { beats, frames } = trace;
    expect(beats[0].first).toBe(0);
    expect(beats.at(-1).last).toBe(frames.length - 1);
    for (const [i, beat] of beats.slice(1).entries()) expect(beat.first).toBe(beats[i].last + 1);
  });
});

describe("folding", () => {
  it("writes numbers of the code in the cards that use them", () => {
    const { folded } = read("scalar");
    expect([...folded.fold(new Set()).boxes.keys()]).toEqual(["n0", "n1", "n3", "n4"]);
  });

  it("draws a network as its layers, the loss as one card, parameters inside", () => {
    const { folded, expanded, trace } = read("network");
    const boxes = [...folded.fold(new Set(expanded)).boxes.keys()];
    const titles = boxes.map((id) => trace.titles[id] ?? trace.nodes[Number(id.slice(1))].label);
    expect(titles.filter((title) => ["Linear 1", "ReLU", "Linear 2", "loss"].includes(title))).toHaveLength(4);
    expect(boxes).toHaveLength(6); // and the two inputs
  });

  it("closes a part into one box", () => {
    const { folded } = read("network");
    expect([...folded.fold(new Set()).boxes.keys()]).toEqual(expect.arrayContaining(["g1", "g3"]));
  });
});

describe("a question", () => {
  const { trace } = read("scalar");
  const asked = {
    id: "q",
    node: "n0",
    kind: "grad",
    form: "number",
    until: 10,
    shows: 10,
    text: "",
    answer: 7,
    choices: [],
    wrong: [],
  };
  const model = { get: (name: string) => ({ questions: [asked], asked: "q" })[name] };

  it("hides what tells its answer, in frames and in beats", () => {
    const hidden = veiled(trace, openQuestions(model));
    expect(hidden.frames.at(-1).event).toBe("asked");
    expect(hidden.frames).toHaveLength(11);
    expect(hidden.beats.at(-1)).toMatchObject({ title: "?", first: 10, last: 10 });
    for (const { says, notes } of hidden.beats) expect([...says, ...notes].join(" ")).not.toContain("7");
    expect(hidden.beats.at(-2).last).toBe(9);
  });
});

describe("what if", () => {
  it("runs values and gradients again", () => {
    const { trace } = read("scalar");
    const found = replay(trace, { n0: { shape: [], data: [3] } });
    expect(found.get("n4").data).toEqual([18]);
    expect((found as { gradients?: Map<string, { data: number[] }> }).gradients?.get("n0")?.data).toEqual([9]);
  });
});
