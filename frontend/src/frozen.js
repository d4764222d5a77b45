// Compute what freezing would do, without the network: the answers of an exported page to its switches. `facts` (see
// `facts` in frozen.py and reach.py) has the data; costs, warnings and reach have the same words as in frozen.py and
// reach.py, and a test compares them.
import { sizeWords } from "./values.js";

const MOST_NAMES = 4;

const below = (path, other) => path === "" || path === other || other.startsWith(`${path}.`);
const counted = (number) => number.toLocaleString("en");

// Return true, false or "mixed"; null without parameters of its own.
function trainableOf(layer) {
  const flags = new Set(layer.own.map(({ trained }) => trained));
  return flags.size === 0 ? null : flags.size > 1 ? "mixed" : [...flags][0];
}

function namesOf(paths) {
  if (paths.length === 1 && paths[0] === "") return "the network itself";
  if (paths.length === 1 && paths[0].startsWith("layer")) return paths[0];
  const shown = paths.slice(0, MOST_NAMES).map((path) => path || "the network itself").join(", ");
  const more = paths.length > MOST_NAMES ? ` and ${paths.length - MOST_NAMES} more` : "";
  return `${paths.length === 1 ? "layer" : "layers"} ${shown}${more}`;
}

function aboutThem(paths) {
  const said = namesOf(paths);
  return paths.includes(said) ? said : said[0].toUpperCase() + said.slice(1);
}

// -- what it costs ----------------------------------------------------------------------------------------------------
function percent(share) {
  if (share === 0 || share >= 0.001) return `${(100 * share).toFixed(1)}%`;
  const [digit, exponent] = (100 * share).toExponential(0).split("e");
  return Number(exponent) < -4 ? `${digit}e-${exponent.slice(1).padStart(2, "0")}%` : `${Number((100 * share).toPrecision(1))}%`;
}

export function costRows(layers, optimizer) {
  const sums = { trainable: 0, frozen: 0, gradients: 0, gradients_saved: 0 };
  let state = optimizer ? { now: 0, saved: 0, left: 0 } : null;
  for (const { trained, count, bytes, group, wanted, held } of layers.flatMap(({ own }) => own)) {
    sums[trained ? "trainable" : "frozen"] += count;
    sums[trained ? "gradients" : "gradients_saved"] += bytes;
    if (!state) continue;
    if (wanted === null && !held) state = null;
    else if (trained && group) state.now += held || wanted || 0;
    else if (!trained) {
      state.saved += Math.max(0, (wanted ?? 0) - held);
      state.left += held;
    }
  }
  const total = sums.trainable + sums.frozen;
  const rows = [
    ["Trainable", `${counted(sums.trainable)} parameters${total ? ` (${percent(sums.trainable / total)} of ${counted(total)})` : ""}`],
    ["Frozen", `${counted(sums.frozen)} parameters`],
    ["Gradients", `${sizeWords(sums.gradients)}; freezing saves ${sizeWords(sums.gradients_saved)}`],
  ];
  if (!optimizer) return rows;
  const left = state?.left ? `; ${sizeWords(state.left)} are still held for frozen parameters` : "";
  const said = state ? `${sizeWords(state.now)}; freezing saves ${sizeWords(state.saved)}${left}` : "not known before its first step";
  return [...rows, [`${optimizer.name} state`, said]];
}

// -- common mistakes ------------------------------------------------------------------------------------------------
const warning = (kind, paths, text) => ({ kind, path: paths[0], text, tone: kind === "statistics_fixed" ? "note" : "warning" });

export function trapsIn(layers, optimizer, head) {
  const flags = layers.flatMap(({ own }) => own).map(({ trained }) => trained);
  const found = [];
  if (flags.length && !flags.some(Boolean))
    found.push(warning("all_frozen", [""], "Everything is frozen: backward() would raise “element 0 of tensors does not require grad and does not have a grad_fn”."));
  else if (flags.length) {
    const inside = layers.filter((layer) => below(head, layer.path) && layer.own.length);
    if (inside.length && !inside.some(trainableOf))
      found.push(warning("frozen_head", [head], `The head (${namesOf([head])}) is frozen: a new head stays as it was drawn at random, and only the layers before it learn to live with it.`));
  }
  if (optimizer) found.push(...aboutOptimizer(layers, optimizer));
  return [...found, ...aboutModes(layers)];
}

function aboutOptimizer(layers, { strangers }) {
  const moved = new Map(), out = new Set(), found = [];
  for (const { path, own } of layers)
    for (const { trained, group, moves } of own) {
      if (!trained && moves) moved.set(moves, (moved.get(moves) ?? new Set()).add(path));
      else if (trained && !group) out.add(path);
    }
  for (const [why, paths] of moved)
    found.push(warning("stale_gradient", [...paths], `${aboutThem([...paths])}: frozen, but the next optimizer.step() moves the weights all the same: ${why}. zero_grad(), which sets .grad to None, ends this.`));
  if (out.size)
    found.push(warning("not_in_optimizer", [...out], `${aboutThem([...out])}: trainable, but not in the optimizer: gradients are computed and never used. optimizer.add_param_group({"params": ...}) adds them.`));
  if (strangers) {
    const which = strangers === 1 ? "parameter that is" : "parameters that are";
    found.push(warning("foreign_parameters", [""], `The optimizer holds ${strangers} ${which} not in this network: it was built before layers were replaced. Build it anew.`));
  }
  return found;
}

function aboutModes(layers) {
  const moving = [], fixed = [], noisy = [], owners = layers.filter(({ own }) => own.length);
  layers.forEach((layer, i) => {
    const { path, kind, mode, drops } = layer, trained = trainableOf(layer);
    const frozen = layer.own.length ? trained === false : !layers.slice(0, i).some(trainableOf);
    if (kind === "norm" && mode === "train" && !trained && frozen) moving.push(path);
    else if (kind === "norm" && mode === "eval" && trained) fixed.push(path);
    else if (kind === "dropout" && mode === "train" && drops) {
      const before = owners.filter((other) => layers.indexOf(other) < i).slice(-1);
      const after = owners.filter((other) => layers.indexOf(other) > i).slice(0, 1);
      if (after.length && ![...before, ...after].some(trainableOf)) noisy.push(path);
    }
  });
  const found = [];
  if (moving.length)
    found.push(warning("statistics_move", moving, `${aboutThem(moving)}: frozen, but in train mode: the weights stay, the running mean and variance still move with every batch. Frozen weights are not frozen statistics; eval mode freezes those.`));
  if (fixed.length)
    found.push(warning("statistics_fixed", fixed, `${aboutThem(fixed)}: weights and bias are trained, the statistics are those of before (eval mode). That is often wanted with few examples; it is no error.`));
  if (noisy.length)
    found.push(warning("dropout_active", noisy, `${aboutThem(noisy)}: drops numbers at random within the frozen part (train mode): the same image gives other features each time. eval mode ends this.`));
  return found;
}

// -- where backward stops ----------------------------------------------------------------------------------------------
function byOrder(layers) {
  const owners = layers.filter(({ own }) => own.length), first = owners.findIndex(trainableOf);
  const paths = (some) => some.map(({ path }) => path);
  if (first < 0) return { layer: null, unvisited: paths(owners), passed: [] };
  const passed = owners.slice(first).filter((layer) => trainableOf(layer) === false);
  return { layer: owners[first].path, unvisited: paths(owners.slice(0, first)), passed: paths(passed) };
}

// Find which operations of a trace backward would visit with the present settings. Return null if the trace lacks a
// parameter that is trained.
function inTrace(layers, { nodes, edges }) {
  const known = new Map(layers.flatMap(({ own }) => own).map((parameter) => [parameter.name, parameter.trained]));
  const named = nodes.map(({ parameter }) => parameter), used = new Set(named.filter((name) => name !== null));
  const couldWant = new Map(nodes.flatMap(({ parameter, wants }) => (parameter === null ? [] : [[parameter, wants]])));
  if (!used.size || [...known].some(([name, trained]) => trained && !couldWant.get(name))) return null;
  const wanting = new Set(), visited = new Set(), fromData = new Set(), parents = new Map(), children = new Map();
  nodes.forEach(({ op, parameter, wants }, i) => !op && (parameter === null ? wants : known.get(parameter)) && wanting.add(i));
  const isData = (i) => (nodes[i].op ? fromData.has(i) : named[i] === null && !nodes[i].number);
  for (const [parent, child, differentiable] of edges) {
    parents.set(child, [...(parents.get(child) ?? []), [parent, differentiable]]);
    children.set(parent, (children.get(parent) ?? new Set()).add(child));
  }
  nodes.forEach(({ op }, i) => {
    const before = parents.get(i) ?? [];
    if (op && before.some(([p, along]) => along && (visited.has(p) || wanting.has(p)))) visited.add(i);
    if (op && before.some(([p]) => isData(p))) fromData.add(i);
  });
  // Return the operations that combine a parameter with data; for a weight that is transposed first, the product.
  const usesOf = (name) => {
    const found = new Set();
    let level = new Set(named.flatMap((other, i) => (other === name ? [i] : [])));
    while (level.size) {
      const next = new Set([...level].flatMap((i) => [...(children.get(i) ?? [])]));
      for (const i of next) if (fromData.has(i)) found.add(i);
      level = new Set([...next].filter((i) => !fromData.has(i)));
    }
    return [...found];
  };
  const ops = nodes.flatMap(({ op }, i) => (op ? [i] : []));
  const end = ops.find((i) => visited.has(i) && fromData.has(i)) ?? ops.find((i) => visited.has(i)) ?? null;
  const met = new Map();
  for (const { path, own } of layers) {
    const uses = own.flatMap(({ name }) => usesOf(name));
    if (uses.length) met.set(path, uses.some((i) => visited.has(i)));
  }
  const layerOf = (i) => nodes[i].module || (layers.find(({ own }) => own.some(({ name, trained }) => trained && usesOf(name).includes(i)))?.path ?? null);
  const beside = new Set([...visited].flatMap((i) => parents.get(i).map(([p]) => p)).filter((p) => nodes[p].data && isData(p)));
  return {
    layer: end === null ? null : layerOf(end),
    unvisited: [...met].filter(([, there]) => !there).map(([path]) => path),
    passed: layers.filter((layer) => met.get(layer.path) && trainableOf(layer) === false).map(({ path }) => path),
    node: end === null ? "" : `n${end}`,
    dimmed: nodes.flatMap((_, i) => (wanting.has(i) || visited.has(i) || beside.has(i) ? [] : [`n${i}`])),
    visited: visited.size,
    operations: ops.length,
    traced: true,
  };
}

function reachWords(reach, hasGraph) {
  if (reach.layer === null) return ["Backward visits nothing: no parameter needs a gradient."];
  const said = [`Backward ends at ${namesOf([reach.layer])}, the last it reaches.`];
  if (reach.unvisited.length) said.push(`It never visits ${namesOf(reach.unvisited)}: no gradient is needed there or before.`);
  else said.push("It visits every layer that has parameters.");
  if (reach.passed.length) said.push(`It passes through frozen layers (${namesOf(reach.passed)}), because layers before them are trained.`);
  if (reach.traced) said.push(`${reach.visited} of ${reach.operations} operations of the graph are visited.`);
  else if (hasGraph) said.push("The graph was made while some of this was frozen, so this is by the order in which the layers are registered.");
  else said.push("This is by the order in which the layers are registered; give loss= or forward= to see the graph.");
  return said;
}

// -- the switches ---------------------------------------------------------------------------------------------------
// Do the work of freeze.py when a switch is turned, without a network: `answer` takes the same messages.
export class Rehearsal {
  constructor(model) {
    this.model = model;
    const { layers, graph, shown, ...rest } = model.get("facts");
    Object.assign(this, rest, { layers: structuredClone(layers), graph: graph && records(graph), shown: shown && records(shown) });
    this.traced = new Set(this.traced);
  }

  answer({ kind, path, value, name }) {
    if (kind === "trainable") this.train({ [path]: value });
    if (kind === "preset") this.train({ "": name === "All", ...(name === "Head only" ? { [this.head]: true } : {}) });
    if (kind === "mode") for (const layer of this.layers) if (layer.kind && below(path, layer.path)) layer.mode = value;
    if (kind === "from") {
      const first = this.layers.findIndex((layer) => layer.path === path);
      this.layers.forEach((layer, i) => layer.own.forEach((parameter) => (parameter.trained = i >= first)));
    }
    this.report();
  }

  // path -> true or false: the longest path that contains a layer decides.
  train(wanted) {
    for (const { path, own } of this.layers) {
      const over = Object.keys(wanted).filter((other) => below(other, path)).sort((a, b) => b.length - a.length)[0];
      if (over !== undefined) for (const parameter of own) parameter.trained = wanted[over];
    }
  }

  report() {
    const { model, layers, graph } = this, read = (some, of) => Object.fromEntries(some.map((layer) => [layer.path, of(layer)]));
    const reach = (graph && inTrace(layers, graph)) ?? byOrder(layers);
    const now = layers.flatMap(({ own }) => own).filter(({ trained }) => trained).map(({ name }) => name);
    const stale = graph && (now.length !== this.traced.size || now.some((name) => !this.traced.has(name)));
    model.set("trainable", read(layers.filter(({ own }) => own.length), trainableOf));
    model.set("modes", read(layers.filter(({ kind }) => kind), ({ mode }) => mode));
    model.set("data", {
      ...model.get("data"),
      costs: costRows(layers, this.optimizer),
      reach: reachWords(reach, Boolean(graph)),
      end: reach.layer,
      unvisited: reach.unvisited,
      stale: stale ? this.rerun : "",
      warnings: trapsIn(layers, this.optimizer, this.head),
    });
    this.mark();
  }

  // Mark the explorer, if the page contains it too.
  mark() {
    const explorer = this.explorer && this.model.peer?.(this.explorer), seen = this.shown ?? this.graph;
    if (!explorer || !seen) return;
    const reach = inTrace(this.layers, seen);
    explorer.set("dimmed", reach?.dimmed ?? []);
    explorer.set("selected", reach?.node ?? "");
  }
}

function records({ nodes, edges }) {
  return { nodes: nodes.map(([kind, parameter, wants, number, module]) => ({ op: kind === "op", data: kind === "data", parameter, wants, number, module })), edges };
}
