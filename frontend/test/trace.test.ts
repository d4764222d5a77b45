// What the scripts make of traces that Python packed: z = x * x + 3 * x, a network of two linear layers, and
// z = a * b + b with a = 3 * x, b = x * x.
import { describe, expect, it } from "vitest";
import { openQuestions, veiled } from "../src/ask.js";
import { Folding } from "../src/folding.js";
import { badgeOf } from "../src/kept.js";
import { pathsBetween, Paths } from "../src/paths.js";
import { replay } from "../src/replay.js";
import { statesAt } from "../src/states.js";
import { unpack } from "../src/unpack.js";
import network from "./traces/network.json";
import paths from "./traces/paths.json";
import scalar from "./traces/scalar.json";

const TRACES: Record<string, unknown> = { network, paths, scalar };

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
    const { gradients } = found as {
      gradients?: Map<string, { data: number[] }> & { parts: Map<string, { data: number[] }> };
    };
    expect(gradients?.get("n0")?.data).toEqual([9]);
    const slots = trace.edges.filter(({ parent }: { parent: string }) => parent === "n0");
    expect(slots.map(({ id }: { id: string }) => gradients?.parts.get(id)?.data)).toEqual([[3], [3], [3]]);
  });
});

describe("a graph with several paths", () => {
  const { trace } = read("paths");
  const { local } = paths as unknown as { local: Record<string, number[][]> };

  it("calls a result without a name what its card shows", () => {
    expect(trace.nodes.map(({ label }: { label: string }) => label)).toEqual(["x", "3", "a", "b", "a · b", "z"]);
    const texts = trace.frames.map(({ text }: { text: string }) => text).join();
    expect(texts).toContain("a · b would send 4 to a");
    expect(texts).toContain("z = (a · b) + b");
    expect(texts).not.toMatch(/v1/);
    const { wrong } = paths.questions[0] as unknown as { wrong: [number, string][] };
    expect(wrong[1]?.[1]).toBe(
      "That is what `a · b` sends, alone. `b` is used by `z` too: what comes along every path is added.",
    );
  });

  it("names each path differently", () => {
    const found = pathsBetween(trace, "n0", "n5", local);
    const panel = Object.assign(Object.create(Paths.prototype), { view: { trace }, local });
    const words = found.paths.map((path: unknown) => panel.words(path, true));
    expect(new Set(words).size).toBe(5);
    expect(words).toContain("x (2nd) → b → z: 2 · 1 = 2");
  });

  it("counts the multiplications that the lines show", () => {
    const { byPath, inReverse } = pathsBetween(trace, "n0", "n5", local);
    expect([byPath, inReverse]).toEqual([13n, 7n]);
    const one = pathsBetween(trace, "n4", "n5", local);
    expect([one.byPath, one.inReverse]).toEqual([1n, 1n]);
  });

  it("counts a tensor that is saved twice once, and frees nothing in a dry run", () => {
    const of = (node: string) =>
      trace.saved.filter((one: { node: string }) => one.node === node).map(({ id }: { id: string }) => id);
    expect(badgeOf(trace, of("n3"), () => "alive").text).toBe("keeps x · 4 B");
    expect(badgeOf(trace, of("n4"), () => "freed").text).toBe("would free a, b · 8 B");
    expect(badgeOf(trace, of("n2"), () => "alive").text).toBe("keeps 3");
    expect(badgeOf(trace, of("n4"), () => "").text).toBe("keeps nothing yet");
  });
});
