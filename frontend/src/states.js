// The state after frame `index` of a trace. `statesAt` is the same function as Trace.states in trace/model.py.
import { rehearsed, stateWord } from "./moods.js";
import { isZero } from "./values.js";

// Where each node, edge and part occurs among the frames, found once: the state after any frame is then a search in a
// short list, so a step takes as long in a graph of 100,000 nodes as in one of ten.
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
    this.starts = []; // first frames of the backward passes
    this.changes = new Map(); // of a node's state: [frame, state, position of its gradient]
    this.log = []; // the same in order: [node, frame, state before, state]
    this.fresh = new Map(); // node -> frames at which a pass that reaches it again begins
    this.why = new Map(); // node -> [frame, why it gets no gradient from then on]
    this.lastForward = -1;
    this.follow();
    for (const { index, event, node, receiver, edge, phase } of trace.frames) {
      if (phase === "forward") this.lastForward = index;
      const ran = event === "compute" || (event === "error" && this.nodes.get(node)?.error); // a failed operation has no result
      if (ran && !this.computed.has(node)) this.computed.set(node, index);
      if (event === "update") for (const id of [node, receiver]) this.computed.set(id, index); // the leaf's state from here on
      if (event === "free" && !this.freed.has(node)) this.freed.set(node, index);
      if (receiver !== null) push(this.received, receiver, index);
      if (edge !== null) push(this.sent, edge, index);
    }
  }

  // Mirror of Trace.states, for all frames at once. A gradient is found in a frame's `total`, in `grad_before`
  // (BEFORE the first frame), or nowhere (GONE).
  follow() {
    const held = new Map(); // node -> state and position of the content of its `.grad`
    const start = ({ id, grad_before: before }) => (before ? [isZero(before) ? "zero" : "accumulated", BEFORE] : ["none", GONE]);
    const now = (id) => (this.changes.get(id)?.at(-1).slice(1) ?? start(this.nodes.get(id)));
    const change = (id, index, state, place) => {
      this.log.push([id, index, now(id)[0], state]);
      push(this.changes, id, [index, state, place]);
    };
    const begin = ({ fresh, never }, index) => {
      for (const id of fresh) {
        const node = this.nodes.get(id);
        push(this.fresh, id, index);
        if (node.kind !== "op" || !node.grad) change(id, index, ...(held.get(id) ?? start(node)));
      }
      for (const [id, why] of Object.entries(never)) {
        push(this.why, id, [index, why]);
        if (now(id)[0] === "none") change(id, index, "never", GONE);
      }
    };
    const begins = new Map((this.trace.passes ?? []).map((pass) => [pass.run, pass]));
    let run = 0;
    for (const { index, event, receiver, state, dropped, run: of } of this.trace.frames) {
      if (of > run) {
        this.starts.push([index, (run = of)]);
        if (begins.has(run)) begin(begins.get(run), index);
      }
      for (const id of dropped) change(id, index, "freed", GONE);
      if (receiver === null) continue;
      // A gradient kept by retain_grad outlives its buffer.
      const kept = event === "free" && state !== "freed", gone = ["none", "never", "freed"].includes(state);
      const place = kept ? now(receiver)[1] : gone ? GONE : index;
      change(receiver, index, state, place);
      if (["accumulate", "update", "clear"].includes(event)) held.set(receiver, [state, place]);
    }
  }

  runAt(index) {
    const found = lastUpTo(this.starts, index, (start) => start[0]);
    return found < 0 ? 0 : this.starts[found][1];
  }

  isComputed(id, index) {
    return (this.computed.get(id) ?? -1) <= index && this.nodes.has(id) && !this.trace.later?.has(id); // `later`: a question hides it
  }

  // Return [state, position of the gradient] of a node.
  at(id, index) {
    const list = this.changes.get(id) ?? [], found = lastUpTo(list, index, (change) => change[0]);
    if (found >= 0) return list[found].slice(1);
    const before = this.nodes.get(id).grad_before;
    return [!before ? "none" : isZero(before) ? "zero" : "accumulated", BEFORE];
  }

  state(id, index) {
    return this.at(id, index)[0];
  }

  // Return the gradient that a node holds; a freed gradient is gone.
  gradient(id, index) {
    const place = this.at(id, index)[1];
    return place === GONE ? null : place === BEFORE ? this.nodes.get(id).grad_before : this.trace.frames[place].total;
  }

  // Return the last gradient that came to a node in its pass, even if it was passed on and freed since.
  latest(id, index) {
    const list = this.changes.get(id) ?? [];
    for (let i = lastUpTo(list, index, (change) => change[0]); i >= 0; i -= 1) {
      const [, state, place] = list[i];
      if (place >= 0) return this.trace.frames[place].total;
      if (place === BEFORE) break;
      if (state !== "freed") return null;
    }
    return this.nodes.get(id).grad_before;
  }

  // Return why no gradient comes to a node in this pass; mirror of Trace.why_never.
  whyNever(id, index) {
    if (this.state(id, index) !== "never") return "";
    const list = this.why.get(id) ?? [], found = lastUpTo(list, index, (why) => why[0]);
    return found < 0 ? "" : list[found][1];
  }

  // Return the learner's variable for the gradient that `grad()` returned, "" if not known.
  returnedAs(id, index) {
    const [state, place] = this.at(id, index);
    return state === "returned" ? this.trace.frames[place].name : "";
  }

  // Return "" (not saved yet), "alive", "modified" or "freed". If no frame says when a tensor was freed: a graph
  // traced afterwards lacks it from the start; a recording lost it at the end.
  savedState(id, index) {
    const saved = this.saved.get(id), freed = this.freed.get(saved.node), { frames, meta } = this.trace;
    const since = freed ?? (saved.state !== "freed" ? Infinity : meta.source === "recording" ? frames.length - 1 : 0);
    if (since <= index) return "freed";
    if (!this.isComputed(saved.node, index)) return "";
    return saved.state === "modified" && index >= this.lastForward ? "modified" : "alive";
  }

  // Return "" (nothing yet), "forward" (the child is computed), or "backward" (a gradient went along it, in this pass
  // or the last one that used it).
  edge(id, index) {
    const list = this.sent.get(id) ?? [], found = lastUpTo(list, index), { child } = this.edges.get(id);
    const again = this.fresh.get(child) ?? [], begun = again[lastUpTo(again, index)] ?? -1;
    if (found >= 0 && list[found] >= begun) return { state: "backward", sent: this.trace.frames[list[found]].value };
    return { state: this.isComputed(child, index) ? "forward" : "", sent: null };
  }

  // Return the progress of a closed part: how many of its operations are computed; its gradients are "none" (not
  // yet), "never" (in all of it), "contribution" (its pass is not finished), "returned" or "accumulated".
  part(id, index) {
    const { computed, backward, quiet } = this.parts.get(id), { frames } = this.trace;
    const found = lastUpTo(backward, index), last = frames[backward[found]], next = frames[backward[found + 1]];
    let state = !last ? "none" : next && next.run === last.run ? "contribution" : last.event === "return" ? "returned" : "accumulated";
    const still = quiet[lastUpTo(quiet, index, (change) => change[0])]?.[1];
    if (state !== "contribution" && still) state = still;
    return { computed: lastUpTo(computed, index) + 1, state };
  }

  // `around(id)`: the parts that contain a node, as one list per innermost part.
  sortParts(ids, around) {
    this.parts = new Map(ids.map((id) => [id, { computed: [], backward: [], wants: 0, none: 0, never: 0, quiet: [] }]));
    for (const { id, kind, requires_grad } of this.trace.nodes)
      if (kind === "op" && requires_grad) for (const part of around(id)) this.parts.get(part).none = this.parts.get(part).wants += 1;
    for (const [id, index, before, state] of this.log) {
      const { kind, requires_grad } = this.nodes.get(id);
      if (kind === "op" && requires_grad && before !== state) for (const part of around(id)) turn(this.parts.get(part), index, before, state);
    }
    for (const { index, phase, event, node, receiver } of this.trace.frames) {
      const here = around(node), there = phase === "backward" && receiver ? around(receiver) : here;
      const parts = here === there ? here : new Set([...here, ...there]);
      for (const part of parts) {
        if (event === "compute" || (event === "update" && node !== receiver)) this.parts.get(part).computed.push(index);
        else if (phase === "backward") this.parts.get(part).backward.push(index);
      }
    }
  }
}

// Update a part when one operation changes its state; note from when on all its operations are "none" or "never".
function turn(part, index, before, state) {
  if (before in part) part[before] -= 1;
  if (state in part) part[state] += 1;
  const { wants, none, never, quiet } = part, now = never === wants ? "never" : none + never === wants ? "none" : "";
  if ((quiet.at(-1)?.[1] ?? "none") !== now) quiet.push([index, now]);
}

function push(map, key, item) {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}

// Return the index of the last entry that is at most `limit`, or -1; the list is sorted.
function lastUpTo(list, limit, of = (item) => item) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const BEFORE = -2, GONE = -1;
const timelines = new WeakMap();

export function timelineOf(trace) {
  if (!timelines.has(trace)) timelines.set(trace, new Timeline(trace));
  return timelines.get(trace);
}

const perId = (find) => new Proxy({}, { get: (_, id) => find(id) });

// Return everything that is true after frame `index`, computed on demand. A trace without frames is shown in its
// final state. `dimmed`: nodes frozen in the FreezePanel, and those that only lead to them.
export function momentAt(trace, index, dimmed = new Set()) {
  const line = timelineOf(trace), over = !trace.frames.length, kept = (id) => line.nodes.get(id).grad;
  const frozen = (id) => dimmed.has(id) && line.nodes.get(id).kind !== "data"; // data never has a gradient
  // The `.grad` of an earlier pass is real, even while a dry run describes what would happen.
  const wordOf = (id) => stateWord(line.state(id, index), line.returnedAs(id, index), rehearsed(trace) && line.at(id, index)[1] !== BEFORE);
  const inTheEnd = (id) => (!kept(id) ? "none" : isZero(kept(id)) ? "zero" : "accumulated");
  return {
    computed: { has: (id) => line.isComputed(id, index) },
    dimmed,
    states: perId((id) => (frozen(id) ? "never" : over ? inTheEnd(id) : line.state(id, index))),
    gradients: perId((id) => (frozen(id) ? null : over ? kept(id) : line.gradient(id, index))),
    saved: perId((id) => line.savedState(id, index)),
    edges: perId((id) => line.edge(id, index)),
    parts: perId((id) => line.part(id, index)),
    why: perId((id) => (frozen(id) ? frozenWords(line.nodes.get(id)) : over ? "" : line.whyNever(id, index))),
    words: perId((id) => (frozen(id) ? stateWord("never") : over ? stateWord(inTheEnd(id)) : wordOf(id))),
  };
}

function frozenWords({ kind }) {
  return kind === "op" ? "all that it is computed from is frozen now" : "it is frozen now";
}

// Return a node's own step: where it was computed or changed; for a leaf, where its first gradient came. -1 if there
// is none.
export function ownStep({ frames }, id) {
  const own = frames.findIndex((f) => (f.node === id && ["compute", "update", "error"].includes(f.event)) || (f.event === "update" && f.receiver === id));
  return own < 0 ? frames.findIndex((f) => f.receiver === id && f.event !== "clear") : own;
}

export function statesAt(trace, index) {
  return Object.fromEntries(trace.nodes.map(({ id }) => [id, timelineOf(trace).state(id, index)]));
}

export function gradientsAt(trace, index) {
  return Object.fromEntries(trace.nodes.map(({ id }) => [id, timelineOf(trace).gradient(id, index)]));
}

const neighbours = new WeakMap();

// Return why a node, a saved tensor or a step has no value; for a big trace `absent` says where its numbers are.
export function whyMissing(trace, record) {
  return record?.missing || trace.absent || "not kept";
}

// Return the edges that end at a node.
export function edgesInto(trace, id) {
  if (!neighbours.has(trace)) {
    const found = new Map();
    for (const edge of trace.edges) push(found, edge.child, edge);
    neighbours.set(trace, found);
  }
  return neighbours.get(trace).get(id) ?? [];
}

const named = ({ label, outputs }) => outputs.slice(1).filter((o, i) => ![`${label}[${i + 1}]`, `${o.name} of ${label}`].includes(o.label));

// Return "a, b" if several results have names; mirror of Node.made.
export function madeOf(node) {
  return [node.label, ...named(node).map((o) => o.label)].join(", ");
}

// Return the results that `madeOf` stands for, if there are several; mirror of Node.results.
export function resultsOf(node) {
  const { label, outputs } = node, own = named(node);
  return outputs.length && outputs[0].label !== label ? outputs : own.length ? [outputs[0], ...own] : [];
}

// Return the module calls that hold a leaf, if there are several; mirror of Trace.sharers.
export function sharersOf(trace, node) {
  if (node.kind !== "leaf") return [];
  const labels = trace.groups.filter(({ holds }) => holds.includes(node.id)).map(({ path, call }) => (call === 1 ? path : `${path} (call ${call})`));
  return labels.length > 1 ? labels : [];
}

// Return what went along an edge in the pass of frame `index`, up to that frame; undefined if nothing did.
export function sentAlong(trace, id, index) {
  const { state, sent } = timelineOf(trace).edge(id, index);
  return state === "backward" ? sent : undefined;
}

// Return the gradient that has arrived at result `nr` of a node in its pass, up to a step. (`.grad`, if it is kept,
// may include other passes.)
export function arrivedAt(trace, node, index, nr = 0) {
  const { run } = trace.frames[index], list = timelineOf(trace).received.get(node) ?? [];
  for (let i = lastUpTo(list, index); i >= 0; i -= 1) {
    const frame = trace.frames[list[i]];
    if (frame.run !== run || frame.phase !== "backward") return null;
    if (frame.event !== "accumulate" && frame.nr === nr) return frame.total;
  }
  return null;
}

// Return what frame `index` adds to: for "accumulate" the previous `.grad`, else what arrived earlier in the same
// pass, or null.
export function soFar(trace, index) {
  const now = trace.frames[index], leaf = now.event === "accumulate", line = timelineOf(trace);
  const list = line.received.get(now.receiver) ?? [];
  for (let i = lastUpTo(list, index - 1); i >= 0; i -= 1) {
    const frame = trace.frames[list[i]];
    if (frame.nr !== now.nr) continue; // another result of the same operation
    if (leaf ? ["accumulate", "update", "clear"].includes(frame.event) : frame.run === now.run && frame.phase === "backward")
      return frame.state === "none" ? null : frame.total;
    if (!leaf) break;
  }
  return leaf ? line.nodes.get(now.receiver).grad_before : null;
}
