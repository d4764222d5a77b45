// What is true after frame `index` of a trace. `statesAt` is the same function as Trace.states in trace/model.py.
import { isZero } from "./values.js";

// The kernel sends each value once and its place in a list everywhere else (see `pack` in packing.py).
export function unpack(data) {
  if (data.columns) return fromColumns(data);
  const at = (i) => (i === null || i === undefined ? null : data.values[i]);
  const restore = (item) => {
    const copy = { ...item };
    for (const key of ["value", "grad", "grad_before", "total"]) if (key in copy) copy[key] = at(copy[key]);
    if (copy.outputs) copy.outputs = copy.outputs.map(restore);
    return copy;
  };
  const trace = { ...data };
  for (const key of ["nodes", "edges", "saved", "frames"]) trace[key] = data[key].map(restore);
  return trace;
}

// What `details` in packing.py sends: the numbers of one step and one node of a trace that came as columns.
export function addDetails(trace, data) {
  const part = unpack(data), by = (list) => (record) => Object.assign(list[Number(record.id.slice(1))], record);
  part.nodes.forEach(by(trace.nodes));
  part.edges.forEach(by(trace.edges));
  part.saved.forEach(by(trace.saved));
  for (const frame of part.frames) Object.assign(trace.frames[frame.index], frame);
}

// A big trace (`columns` in packing.py) as records, without its numbers; sentences are put together here.
function fromColumns(data) {
  const { nodes, edges, saved, frames } = data, id = (letter, i) => (i < 0 ? null : letter + i);
  const trace = { ...data, values: [] };
  trace.nodes = nodes.label.map((label, i) => {
    const [kind, op, grad_fn, shape, dtype, device, requires_grad, module] = nodes.facts.table[nodes.facts.at[i]];
    const facts = { kind, op, grad_fn, shape, dtype, device, requires_grad, module, label, name: nodes.name[i] ?? "" };
    const [error, mark] = nodes.wrong[i] ?? ["", ""];
    return { id: `n${i}`, ...facts, error, mark, ...NO_NUMBERS, outputs: [], attrs: {}, cut: "", source: null, version: null };
  });
  trace.edges = edges.parent.map((parent, i) => {
    const [parent_nr, slot, differentiable, alias] = edges.facts.table[edges.facts.at[i]];
    const ends = { parent: `n${parent}`, child: `n${edges.child[i]}` };
    return { id: `e${i}`, ...ends, parent_nr, slot, differentiable, alias, tex: "", tex_numbers: "" };
  });
  trace.saved = saved.node.map((node, i) => {
    const [name, state] = saved.facts.table[saved.facts.at[i]];
    return { id: `s${i}`, node: `n${node}`, name, state, shape: null, value: null, bytes: null, version: null };
  });
  trace.frames = frames.node.map((node, index) => {
    const [phase, event, run, state] = frames.facts.table[frames.facts.at[index]];
    const where = { node: id("n", node) ?? "", edge: id("e", frames.edge[index]), receiver: id("n", frames.receiver[index]) };
    return { index, phase, event, run, state, ...where, value: null, total: null, tex: "", dropped: [] };
  });
  frames.dropped.frame.forEach((at, i) => trace.frames[at].dropped.push(`n${frames.dropped.node[i]}`));
  trace.frames.forEach((frame) => (frame.text = sentence(trace, frame)));
  return trace;
}

const NO_NUMBERS = { value: null, grad: null, grad_before: null, tex: "", tex_numbers: "", call: "", layer: null };

function sentence(trace, { event, node, receiver }) {
  const named = (name) => (name ? trace.nodes[Number(name.slice(1))].label : "");
  const op = node ? trace.nodes[Number(node.slice(1))].op : "";
  return {
    compute: `${named(node)} = ${op}`,
    seed: `backward starts at ${named(node)}`,
    contribution: `${named(node)} sends its contribution to ${named(receiver)}`,
    accumulate: `${named(receiver)}.grad is complete`,
    free: `${named(node)} is done: what it saved is freed`,
    hook: `a hook changed the gradient of ${named(node)}`,
    clear: `${named(node)}.grad was changed, not by backward`,
    error: node && trace.nodes[Number(node.slice(1))].error ? `${op} failed` : `error at ${named(node)}`,
  }[event];
}

// Where each node, edge and part occurs among the frames, found once: what is true after any frame is then a search in
// a short list, so stepping takes as long in a graph of 100,000 nodes as in one of ten.
class Timeline {
  constructor(trace) {
    this.trace = trace;
    this.nodes = new Map(trace.nodes.map((node) => [node.id, node]));
    this.edges = new Map(trace.edges.map((edge) => [edge.id, edge]));
    this.saved = new Map(trace.saved.map((saved) => [saved.id, saved]));
    this.computed = new Map();
    this.received = new Map();
    this.sent = new Map();
    this.freed = new Map();
    this.dropped = new Map();
    this.starts = []; // first frames of the backward passes
    this.lastForward = -1;
    let run = 0;
    for (const { index, event, node, receiver, edge, phase, run: of, dropped } of trace.frames) {
      if (of > run) this.starts.push([index, (run = of)]);
      if (phase === "forward") this.lastForward = index;
      const ran = event === "compute" || (event === "error" && this.nodes.get(node)?.error); // a failed operation has no result
      if (ran && !this.computed.has(node)) this.computed.set(node, index);
      if (event === "free" && !this.freed.has(node)) this.freed.set(node, index);
      if (receiver !== null) push(this.received, receiver, index);
      if (edge !== null) push(this.sent, edge, index);
      for (const id of dropped) push(this.dropped, id, index);
    }
  }

  runAt(index) {
    const found = lastUpTo(this.starts, index, (start) => start[0]);
    return found < 0 ? 0 : this.starts[found][1];
  }

  isComputed(id, index) {
    return (this.computed.get(id) ?? -1) <= index && this.nodes.has(id);
  }

  // Whether what flowed through a node in an earlier backward pass is gone.
  isPast(node, frame, index) {
    return node.kind === "op" && !node.grad && frame.run < this.runAt(index);
  }

  state(id, index) {
    const { frames } = this.trace, node = this.nodes.get(id), before = node.grad_before;
    const list = this.received.get(id) ?? [], found = lastUpTo(list, index);
    if (found < 0) return !before ? "none" : isZero(before) ? "zero" : "accumulated";
    const frame = frames[list[found]];
    if (frame.state !== "freed" && this.isPast(node, frame, index)) return "none";
    return this.isDropped(id, list[found], index) ? "freed" : frame.state;
  }

  // Whether the gradient that a node had after frame `since` was passed on and is gone.
  isDropped(id, since, index) {
    const list = this.dropped.get(id) ?? [];
    return list[lastUpTo(list, index)] > since;
  }

  // The gradient a node holds, by the same rules. What is freed is gone, but a gradient that was asked for by
  // retain_grad outlives its buffer.
  gradient(id, index) {
    const { frames } = this.trace, node = this.nodes.get(id);
    const list = this.received.get(id) ?? [], kept = (frame) => frame.event === "free" && frame.state !== "freed";
    let found = lastUpTo(list, index);
    while (found >= 0 && kept(frames[list[found]])) found -= 1;
    if (found < 0) return node.grad_before;
    const frame = frames[list[found]];
    const gone = frame.state === "none" || this.isPast(node, frame, index) || this.isDropped(id, list[found], index);
    return gone ? null : frame.total;
  }

  // "" (not saved yet), "alive", "modified" or "freed".
  savedState(id, index) {
    const saved = this.saved.get(id), freed = this.freed.get(saved.node);
    if (freed <= index || (saved.state === "freed" && freed === undefined)) return "freed";
    if (!this.isComputed(saved.node, index)) return "";
    return saved.state === "modified" && index >= this.lastForward ? "modified" : "alive";
  }

  // "" (nothing yet), "forward" (the child is computed), "backward" (a gradient went along it in this pass).
  edge(id, index) {
    const list = this.sent.get(id) ?? [], found = lastUpTo(list, index), frame = this.trace.frames[list[found]];
    if (frame && frame.run === this.runAt(index)) return { state: "backward", sent: frame.value };
    return { state: this.isComputed(this.edges.get(id).child, index) ? "forward" : "", sent: null };
  }

  // How far a closed part is: how many of its operations are computed; its gradients are "none" (not yet),
  // "contribution" (some work is left in this pass) or "accumulated".
  part(id, index) {
    const { computed, backward } = this.parts.get(id), run = this.runAt(index), { frames } = this.trace;
    const found = lastUpTo(backward, index), begun = found >= 0 && frames[backward[found]].run === run && run > 0;
    const more = found + 1 < backward.length && frames[backward[found + 1]].run === run;
    const state = !begun ? "none" : more ? "contribution" : "accumulated";
    return { computed: lastUpTo(computed, index) + 1, state };
  }

  // `around(id)`: the parts that a node is in, as one list for each innermost part.
  sortParts(ids, around) {
    this.parts = new Map(ids.map((id) => [id, { computed: [], backward: [] }]));
    for (const { index, phase, event, node, receiver } of this.trace.frames) {
      const here = around(node), there = phase === "backward" && receiver ? around(receiver) : here;
      const parts = here === there ? here : new Set([...here, ...there]);
      for (const part of parts) {
        if (event === "compute") this.parts.get(part).computed.push(index);
        else if (phase === "backward" && event !== "clear") this.parts.get(part).backward.push(index);
      }
    }
  }
}

function push(map, key, item) {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}

// Place of the last entry that is at most `limit`, or -1; the list is sorted.
function lastUpTo(list, limit, of = (item) => item) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const timelines = new WeakMap();

export function timelineOf(trace) {
  if (!timelines.has(trace)) timelines.set(trace, new Timeline(trace));
  return timelines.get(trace);
}

const perId = (find) => new Proxy({}, { get: (_, id) => find(id) });

// Everything that is true after frame `index`, worked out when it is asked for. A trace without frames is shown as it is
// in the end.
export function momentAt(trace, index) {
  const line = timelineOf(trace), over = !trace.frames.length, kept = (id) => line.nodes.get(id).grad;
  const inTheEnd = (id) => (!kept(id) ? "none" : isZero(kept(id)) ? "zero" : "accumulated");
  return {
    computed: { has: (id) => line.isComputed(id, index) },
    states: perId((id) => (over ? inTheEnd(id) : line.state(id, index))),
    gradients: perId((id) => (over ? kept(id) : line.gradient(id, index))),
    saved: perId((id) => line.savedState(id, index)),
    edges: perId((id) => line.edge(id, index)),
    parts: perId((id) => line.part(id, index)),
  };
}

export function statesAt(trace, index) {
  return Object.fromEntries(trace.nodes.map(({ id }) => [id, timelineOf(trace).state(id, index)]));
}

export function gradientsAt(trace, index) {
  return Object.fromEntries(trace.nodes.map(({ id }) => [id, timelineOf(trace).gradient(id, index)]));
}

const neighbours = new WeakMap();

// The edges that end at a node.
export function edgesInto(trace, id) {
  if (!neighbours.has(trace)) {
    const found = new Map();
    for (const edge of trace.edges) push(found, edge.child, edge);
    neighbours.set(trace, found);
  }
  return neighbours.get(trace).get(id) ?? [];
}

// The calls of modules that hold a leaf, where there are several; mirror of Trace.sharers.
export function sharersOf(trace, node) {
  if (node.kind !== "leaf") return [];
  const labels = trace.groups.filter(({ holds }) => holds.includes(node.id)).map(({ path, call }) => (call === 1 ? path : `${path} (call ${call})`));
  return labels.length > 1 ? labels : [];
}

// What went along an edge in the pass that frame `index` belongs to, up to that frame; undefined when nothing did.
export function sentAlong(trace, id, index) {
  const { state, sent } = timelineOf(trace).edge(id, index);
  return state === "backward" ? sent : undefined;
}

// What frame `index` adds to: for "accumulate" `.grad` as it was, else what arrived earlier in the same pass, or null.
export function soFar(trace, index) {
  const now = trace.frames[index], leaf = now.event === "accumulate", line = timelineOf(trace);
  const list = line.received.get(now.receiver) ?? [];
  for (let i = lastUpTo(list, index - 1); i >= 0; i -= 1) {
    const frame = trace.frames[list[i]];
    if (leaf ? ["accumulate", "clear"].includes(frame.event) : frame.run === now.run)
      return frame.state === "none" ? null : frame.total;
    if (!leaf) break;
  }
  return leaf ? line.nodes.get(now.receiver).grad_before : null;
}
