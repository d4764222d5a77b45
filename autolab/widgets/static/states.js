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
function computedAt(trace, index) {
  const known = new Set(trace.nodes.map((node) => node.id));
  for (const frame of trace.frames) if (frame.event === "compute") known.delete(frame.node);
  for (const frame of trace.frames.slice(0, index + 1)) if (frame.event === "compute") known.add(frame.node);
  return known;
}

// "" (not saved yet), "alive", "modified" or "freed" for every saved tensor.
function savedAt(trace, index, computed) {
  const freeing = (frames) => new Set(frames.filter((f) => f.event === "free").map((f) => f.node));
  const freed = freeing(trace.frames.slice(0, index + 1)), everFreed = freeing(trace.frames);
  const forwardOver = !trace.frames.slice(index + 1).some((f) => f.phase === "forward");
  const states = {};
  for (const saved of trace.saved) {
    if (freed.has(saved.node) || (saved.state === "freed" && !everFreed.has(saved.node))) states[saved.id] = "freed";
    else if (!computed.has(saved.node)) states[saved.id] = "";
    else states[saved.id] = saved.state === "modified" && forwardOver ? "modified" : "alive";
  }
  return states;
}

// For every edge: "" (nothing yet), "forward" (the child is computed), "backward" (a gradient went along it).
function edgesAt(trace, index, computed) {
  const shown = trace.frames.slice(0, index + 1), sent = new Map();
  const run = shown.reduce((most, frame) => Math.max(most, frame.run), 0);
  for (const frame of shown) if (frame.edge !== null && frame.run === run) sent.set(frame.edge, frame.value);
  const states = {};
  for (const edge of trace.edges) {
    const state = sent.has(edge.id) ? "backward" : computed.has(edge.child) ? "forward" : "";
    states[edge.id] = { state, sent: sent.get(edge.id) ?? null };
  }
  return states;
}

// Everything that is true after frame `index`. A trace without frames is shown as it is in the end.
export function momentAt(trace, index) {
  const computed = computedAt(trace, index);
  const moment = {
    computed,
    states: statesAt(trace, index),
    gradients: gradientsAt(trace, index),
    saved: savedAt(trace, index, computed),
    edges: edgesAt(trace, index, computed),
  };
  if (trace.frames.length) return moment;
  for (const node of trace.nodes) {
    moment.gradients[node.id] = node.grad;
    moment.states[node.id] = !node.grad ? "none" : isZero(node.grad) ? "zero" : "accumulated";
  }
  return moment;
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
