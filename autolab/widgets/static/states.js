// What is true after frame `index` of a trace. `statesAt` is the same function as Trace.states in trace/model.py.
import { isZero } from "./values.js";

// The kernel sends each value once and its place in a list everywhere else (see `pack` in explorer.py).
export function unpack(data) {
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

export function statesAt(trace, index) {
  const states = {};
  for (const node of trace.nodes) {
    states[node.id] = !node.grad_before ? "none" : isZero(node.grad_before) ? "zero" : "accumulated";
  }
  let run = 0;
  for (const frame of trace.frames.slice(0, index + 1)) {
    if (frame.run > run) {
      run = frame.run;
      for (const node of trace.nodes) {
        if (node.kind === "op" && !node.grad && states[node.id] !== "freed") states[node.id] = "none";
      }
    }
    if (frame.receiver !== null) states[frame.receiver] = frame.state;
  }
  return states;
}

// The gradient each node holds (a Value or null), by the same rules.
export function gradientsAt(trace, index) {
  const grads = {};
  for (const node of trace.nodes) grads[node.id] = node.grad_before;
  let run = 0;
  for (const frame of trace.frames.slice(0, index + 1)) {
    if (frame.run > run) {
      run = frame.run;
      for (const node of trace.nodes) if (node.kind === "op" && !node.grad) grads[node.id] = null;
    }
    // What is freed is gone, but a gradient that was asked for by retain_grad outlives its buffer.
    const kept = frame.event === "free" && frame.state !== "freed";
    if (frame.receiver !== null && !kept) grads[frame.receiver] = frame.state === "none" ? null : frame.total;
  }
  return grads;
}

// Ids of the nodes whose value is there: leaves and data always, the rest once computed.
export function computedAt(trace, index) {
  const known = new Set(trace.nodes.map((node) => node.id));
  for (const frame of trace.frames) if (frame.event === "compute") known.delete(frame.node);
  for (const frame of trace.frames.slice(0, index + 1)) if (frame.event === "compute") known.add(frame.node);
  return known;
}

// "" (not saved yet), "alive", "modified" or "freed" for every saved tensor.
export function savedAt(trace, index) {
  const known = computedAt(trace, index),
    shown = trace.frames.slice(0, index + 1);
  const freed = new Set(shown.filter((f) => f.event === "free").map((f) => f.node));
  const everFreed = new Set(trace.frames.filter((f) => f.event === "free").map((f) => f.node));
  const forwardOver = !trace.frames.slice(index + 1).some((f) => f.phase === "forward");
  const states = {};
  for (const saved of trace.saved) {
    if (freed.has(saved.node) || (saved.state === "freed" && !everFreed.has(saved.node))) states[saved.id] = "freed";
    else if (!known.has(saved.node)) states[saved.id] = "";
    else states[saved.id] = saved.state === "modified" && forwardOver ? "modified" : "alive";
  }
  return states;
}

// For every edge: "" (nothing yet), "forward" (the child is computed), "backward" (a gradient went along it).
export function edgesAt(trace, index) {
  const known = computedAt(trace, index);
  const shown = trace.frames.slice(0, index + 1);
  const run = Math.max(0, ...shown.map((frame) => frame.run));
  const sent = new Map();
  for (const frame of shown) if (frame.edge !== null && frame.run === run) sent.set(frame.edge, frame.value);
  const states = {};
  for (const edge of trace.edges) {
    states[edge.id] = {
      state: sent.has(edge.id) ? "backward" : known.has(edge.child) ? "forward" : "",
      sent: sent.get(edge.id) ?? null,
    };
  }
  return states;
}

// What frame `index` adds to: for "accumulate" `.grad` as it was, else what arrived earlier in the same pass, or null.
export function soFar(trace, index) {
  const now = trace.frames[index],
    leaf = now.event === "accumulate";
  for (const frame of trace.frames.slice(0, index).reverse()) {
    if (frame.receiver !== now.receiver) continue;
    if (leaf ? ["accumulate", "clear"].includes(frame.event) : frame.run === now.run)
      return frame.state === "none" ? null : frame.total;
  }
  return leaf ? trace.nodes.find((node) => node.id === now.receiver).grad_before : null;
}
