// The measures for colouring boxes: for each, its value for a box, or why there is nothing to show.
import { timelineOf } from "./states.js";
import { bytesOf, grouped, isBad, short, sizeWords } from "./values.js";

// Return the Euclidean norm of a value: NaN if one of its numbers is not finite, null if it is not known.
export function normOf(value) {
  if (!value) return null;
  if (isBad(value)) return NaN;
  if (value.data !== null && value.data !== undefined) return Math.hypot(...[value.data].flat(Infinity).map(Number));
  const { mean, std } = value.stats ?? {}, count = value.shape.reduce((a, b) => a * b, 1);
  return value.stats ? Math.sqrt(count * (mean * mean + std * std)) : null;
}

function timeWords(seconds) {
  const [size, unit] = seconds < 1e-3 ? [1e6, "µs"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
  return `${short(Number((seconds * size).toPrecision(3)))} ${unit}`;
}

const jointly = (norms) => (norms.length ? Math.hypot(...norms) : null);
const summed = (numbers) => (numbers.length ? numbers.reduce((a, b) => a + b, 0) : null);
const ABSENT = "this graph is too large: its numbers stay in the kernel";

// A box is { node: of a card, else null; last: the node whose result it has; nodes: all in it }. An amount has
// `of(box, index)`, which returns a number or null; a kind has [word, class of its swatch]. `note` explains the
// measure in the legend.
export function measuresOf(trace) {
  const line = timelineOf(trace), big = Boolean(trace.light), frozen = new Set(trace.meta.frozen ?? []);
  const backward = trace.frames.some(({ phase }) => phase === "backward");
  const leaves = (box) => box.nodes.filter(({ kind, requires_grad }) => kind === "leaf" && requires_grad);
  const known = (numbers) => numbers.filter((n) => n !== null && n !== undefined);
  return [
    {
      name: "Gradient norm",
      note: "of a box's parameters together, else of its result",
      missing: big ? ABSENT : backward ? "" : "there is no backward pass",
      hue: "backward",
      words: short,
      of: (box, index) => jointly(known((leaves(box).length ? leaves(box) : [box.last]).map(({ id }) => normOf(line.latest(id, index))))),
      all: () => trace.frames.flatMap(({ phase, total: sum }) => (phase === "backward" && sum ? [normOf(sum)] : [])),
    },
    {
      name: "Frozen and never",
      note: "whether a gradient comes",
      missing: big ? ABSENT : backward || frozen.size ? "" : "there is no backward pass, and no parameter is frozen",
      kinds: [["frozen", "sky"], ["part frozen", "halfsky"], ["never", "dots"], ["gradient", "warm"], ["wants none", "plain"]],
      of: (box, index, now) => {
        const still = ({ id, kind }) => frozen.has(id) || (kind === "leaf" && now.dimmed.has(id));
        const parameters = box.nodes.filter((node) => still(node) || (node.kind === "leaf" && node.requires_grad)), cold = parameters.filter(still);
        if (cold.length) return cold.length === parameters.length ? "frozen" : "part frozen";
        if (box.last.kind !== "data" && now.states[box.last.id] === "never") return "never";
        return box.last.requires_grad ? "gradient" : "wants none";
      },
    },
    {
      name: "Train or eval",
      note: "the mode its module was in when it ran",
      missing: trace.groups?.some(({ training }) => typeof training === "boolean") ? "" : "no mode of a module was recorded",
      kinds: [["train", "warm"], ["eval", "cool"], ["both", "halfsky"]],
      of: (box) => {
        const modes = new Set(box.nodes.map(({ id }) => modesOf(trace).get(id)).filter((mode) => typeof mode === "boolean"));
        return modes.size > 1 ? "both" : modes.size ? (modes.has(true) ? "train" : "eval") : null;
      },
    },
    {
      name: "First NaN",
      note: "NaN or inf in its value or gradient up to this step",
      missing: big ? ABSENT : firstBad(trace) ? "" : "no value and no gradient holds NaN or inf",
      kinds: [["first", "alarm"], ["NaN or inf", "halfalarm"]],
      of: (box, index, now) => {
        if (box.nodes.some(({ id }) => id === firstBad(trace)) && (index >= firstBadStep(trace))) return "first";
        return box.nodes.some(({ id, value }) => (now.computed.has(id) && isBad(value)) || isBad(line.latest(id, index))) ? "NaN or inf" : null;
      },
    },
    {
      name: "Device",
      note: "where its result is",
      ...devices(trace),
      of: (box) => box.last.device || null,
    },
    {
      name: "Bytes",
      note: "of its results; a view counts as large as it looks",
      missing: trace.nodes.some(({ kind, shape }) => kind === "op" && shape) ? "" : "no shapes are known",
      hue: "forward",
      words: (bytes) => sizeWords(Math.round(bytes)),
      of: (box) => summed(known(box.nodes.filter(({ kind }) => kind === "op").map(bytesOf))) ?? (box.node ? bytesOf(box.node) : null),
      all: () => known(trace.nodes.filter(({ kind }) => kind === "op").map(bytesOf)),
    },
    {
      name: "Time",
      note: "of its forward operations, as the profiler timed them",
      missing: big ? ABSENT : trace.nodes.some(({ time }) => time) ? "" : "not profiled: `with profile(), record():` times each operation",
      hue: "forward",
      words: timeWords,
      of: (box) => summed(known(box.nodes.map(({ time }) => time))),
      all: () => known(trace.nodes.map(({ time }) => time)),
    },
  ];
}

function devices({ nodes }) {
  const names = [...new Set(nodes.map(({ device }) => device).filter(Boolean))], looks = ["plain", "warm", "cool", "halfsky", "sky"];
  return { missing: names.length > 1 ? "" : `everything is on ${names[0] ?? "the CPU"}`, kinds: names.map((name, i) => [name, looks[i % looks.length]]) };
}

const modes = new WeakMap(), bad = new WeakMap();

// Return the mode of the innermost module around each node.
function modesOf(trace) {
  if (!modes.has(trace)) modes.set(trace, new Map(trace.groups.flatMap(({ nodes, training }) => nodes.map((node) => [node, training]))));
  return modes.get(trace);
}

// Return [node, step] of the first NaN or inf; for a given value, the first step.
function findBad(trace) {
  if (!bad.has(trace)) {
    const made = new Set(trace.frames.flatMap(({ event, node, receiver }) => (event === "compute" ? [node] : event === "update" ? [node, receiver] : [])));
    const given = trace.nodes.find(({ id, value }) => isBad(value) && !made.has(id));
    const frame = trace.frames.find(({ value, total: sum }) => isBad(value) || isBad(sum));
    bad.set(trace, given ? [given.id, 0] : frame ? [frame.event === "compute" ? frame.node : frame.receiver ?? frame.node, frame.index] : ["", 0]);
  }
  return bad.get(trace);
}

const firstBad = (trace) => findBad(trace)[0], firstBadStep = (trace) => findBad(trace)[1];

// Say where NaN or inf began; "" if there is none.
export function badWords(trace) {
  const [id, step] = findBad(trace), node = id && trace.nodes[Number(id.slice(1))];
  return node ? `first at ${node.label}${trace.frames[step]?.node === id ? `, step ${grouped(step + 1)}` : ""}` : "";
}
