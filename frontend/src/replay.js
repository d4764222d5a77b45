// Rerun a recording with other numbers on a page: for the operations in RULES, with the numbers in the trace.
// trace/questions/what_if.py does the same in Python for all operations. A tensor is { shape, data }, data flat.

const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1);
const tensor = (shape, data) => ({ shape, data });
const full = (shape, item) => tensor(shape, Array.from({ length: sizeOf(shape) }, () => item));

export class Unknown extends Error {}

export function tensorOf(value) {
  if (!value || value.data === null || value.data === undefined) return null;
  return tensor(value.shape, [value.data].flat(Infinity).map((item) => (typeof item === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[item] : Number(item))));
}

function commonShape(a, b) {
  const rank = Math.max(a.length, b.length), at = (shape, i) => shape[i - rank + shape.length] ?? 1;
  return Array.from({ length: rank }, (_, i) => {
    const [x, y] = [at(a, i), at(b, i)];
    if (x !== y && x !== 1 && y !== 1) throw new Unknown("its operands do not go together");
    return x === 1 ? y : x;
  });
}

// Return, for each number of `big`, its position in `small`, which was broadcast to it.
function placesIn(small, big) {
  return Array.from({ length: sizeOf(big) }, (_, flat) => {
    let rest = flat, place = 0, stride = 1;
    for (let i = 1; i <= big.length; i += 1) {
      const index = rest % big[big.length - i], size = small[small.length - i] ?? 1;
      rest = Math.floor(rest / big[big.length - i]);
      place += size > 1 ? index * stride : 0;
      stride *= size;
    }
    return place;
  });
}

function spread(a, shape) {
  const places = placesIn(a.shape, shape);
  return tensor(shape, places.map((place) => a.data[place]));
}

// Sum over the dimensions that were broadcast.
function summedTo(a, shape) {
  const sum = full(shape, 0), places = placesIn(shape, a.shape);
  a.data.forEach((x, i) => (sum.data[places[i]] += x));
  return sum;
}

const each = (a, f) => tensor(a.shape, a.data.map(f));

function both(a, b, f) {
  const shape = commonShape(a.shape, b.shape), [x, y] = [spread(a, shape), spread(b, shape)];
  return tensor(shape, x.data.map((item, i) => f(item, y.data[i])));
}

const scaled = (a, by) => each(a, (x) => x * by);

function transposed(a) {
  if (a.shape.length < 2) return a;
  const [rows, columns] = a.shape;
  return tensor([columns, rows], Array.from({ length: rows * columns }, (_, i) => a.data[(i % rows) * columns + Math.floor(i / rows)]));
}

function product(a, b) {
  if (a.shape.length > 2 || b.shape.length > 2 || !a.shape.length || !b.shape.length) throw new Unknown("only products of vectors and matrices are run again");
  const [n, k] = a.shape.length === 2 ? a.shape : [1, a.shape[0]], m = b.shape.length === 2 ? b.shape[1] : 1;
  const data = Array.from({ length: n * m }, (_, i) => {
    let sum = 0;
    for (let j = 0; j < k; j += 1) sum += a.data[Math.floor(i / m) * k + j] * b.data[j * m + (i % m)];
    return sum;
  });
  return tensor([...(a.shape.length === 2 ? [n] : []), ...(b.shape.length === 2 ? [m] : [])], data);
}

const asRows = (a, rows) => (a.shape.length === 2 ? a : tensor(rows ? [1, a.shape[0]] : [a.shape[0], 1], a.data));

function productBack(g, [a, b]) {
  const left = asRows(a, true), right = asRows(b, false), own = tensor([left.shape[0], right.shape[1]], g.data);
  return [tensor(a.shape, product(own, transposed(right)).data), tensor(b.shape, product(transposed(left), own).data)];
}

// Return the shape that a reduction would have with keepdim=True.
function keptShape(shape, { dim }) {
  const dims = dim === undefined || dim === null || (Array.isArray(dim) && !dim.length) ? null : [dim].flat().map((d) => (d + shape.length) % shape.length);
  return shape.map((size, i) => (!dims || dims.includes(i) ? 1 : size));
}

const reduction = ([a], attrs, shape) => tensor(shape, summedTo(a, keptShape(a.shape, attrs)).data);
const reduced = (g, [a], attrs) => [spread(tensor(keptShape(a.shape, attrs), g.data), a.shape)];
const share = ([a], shape) => sizeOf(shape) / sizeOf(a.shape);
const other = (b, attrs) => b ?? tensor([], [attrs.other]); // a number instead of an operand
const two = (f, back) => ({ run: ([a, b], attrs) => both(a, other(b, attrs), (x, y) => f(x, y, attrs)), back: (g, [a, b], attrs) => back(g, a, other(b, attrs), attrs) });
const one = (f, slope) => ({ run: ([a]) => each(a, f), back: (g, [a], attrs, result) => [both(g, both(a, result, slope), (x, y) => x * y)] });
const times = (a, b) => both(a, b, (x, y) => x * y);
const powerOf = ([a, b], { exponent }) => b ?? tensor([], [exponent]);
const matmul = { run: ([a, b]) => product(a, b), back: productBack };

export const RULES = {
  add: two((x, y, { alpha = 1 }) => x + alpha * y, (g, a, b, { alpha = 1 }) => [g, scaled(g, alpha)]),
  sub: two((x, y, { alpha = 1 }) => x - alpha * y, (g, a, b, { alpha = 1 }) => [g, scaled(g, -alpha)]),
  rsub: two((x, y, { alpha = 1 }) => y - alpha * x, (g, a, b, { alpha = 1 }) => [scaled(g, -alpha), g]),
  mul: two((x, y) => x * y, (g, a, b) => [times(g, b), times(g, a)]),
  div: two((x, y) => x / y, (g, a, b) => [both(g, b, (x, y) => x / y), times(g, both(a, b, (x, y) => -x / (y * y)))]),
  neg: one((x) => -x, () => -1),
  exp: one(Math.exp, (x, y) => y),
  log: one(Math.log, (x) => 1 / x),
  tanh: one(Math.tanh, (x, y) => 1 - y * y),
  sigmoid: one((x) => 1 / (1 + Math.exp(-x)), (x, y) => y * (1 - y)),
  relu: one((x) => (x > 0 || Number.isNaN(x) ? x : 0), (x, y) => Number(y > 0)),
  sqrt: one(Math.sqrt, (x, y) => 0.5 / y),
  pow: {
    run: (given, attrs) => both(given[0], powerOf(given, attrs), (x, y) => x ** y),
    back: (g, given, attrs, result) => {
      const [a, b] = [given[0], powerOf(given, attrs)];
      const base = times(g, both(a, b, (x, y) => (y === 0 ? 0 : y * x ** (y - 1))));
      return given.length < 2 ? [base] : [base, times(g, both(a, result, (x, y) => (y === 0 ? 0 : y * Math.log(x))))];
    },
  },
  sum: { run: reduction, back: reduced },
  mean: { run: (given, attrs, shape) => scaled(reduction(given, attrs, shape), share(given, shape)), back: (g, given, attrs) => [scaled(reduced(g, given, attrs)[0], share(given, g.shape))] },
  mm: matmul, matmul, mv: matmul, dot: matmul,
  t: { run: ([a]) => transposed(a), back: (g) => [transposed(g)] },
  addmm: {
    run: ([c, a, b], { alpha = 1, beta = 1 }) => both(product(a, b), c, (x, y) => alpha * x + beta * y),
    back: (g, [c, a, b], { alpha = 1, beta = 1 }) => [scaled(g, beta), ...productBack(scaled(g, alpha), [a, b])],
  },
  detach: { run: ([a]) => a, back: (g) => [full(g.shape, 0)] },
};

// Run a trace with other numbers. edits: node id -> a tensor, or { lr } for an update. Return the new values of the
// changed nodes by id, with the gradients of the last pass in `gradients` (its `parts`: what goes along each edge); throw Unknown if an operation in between
// cannot be run again.
export function replay(trace, edits) {
  const into = new Map(), node = (id) => trace.nodes[Number(id.slice(1))], values = new Map(), held = new Map(), grads = new Map();
  for (const edge of trace.edges) into.set(edge.child, [...(into.get(edge.child) ?? []), edge].sort((a, b) => a.slot - b.slot));
  const changed = (id) => values.has(id), value = (id) => values.get(id) ?? tensorOf(node(id).value);
  const operands = (id) => (into.get(id) ?? []).map(({ parent, parent_nr }) => {
    const found = parent_nr ? null : value(parent);
    if (!found) throw new Unknown(`${node(id).label} is computed from numbers that the page does not have`);
    return found;
  });
  const ruleOf = (id) => {
    const rule = RULES[node(id).op.replace(/_$/, "")];
    if (!rule) throw new Unknown(`${node(id).op} is not among the operations that a page can run again`);
    return rule;
  };
  const rounded = (id, result) => (node(id).dtype === "float32" ? each(result, Math.fround) : result);
  const compute = (id) => {
    if (!(into.get(id) ?? []).some(({ parent }) => changed(parent))) return;
    values.set(id, rounded(id, ruleOf(id).run(operands(id), node(id).attrs, node(id).shape)));
  };
  // Return all gradients of one pass, or null if nothing that affects it has changed.
  const backward = (run) => {
    const found = new Map(trace.frames.filter((f) => f.run === run && f.event === "seed").map(({ node: id, value: seed }) => [id, tensorOf(seed)]));
    const way = trace.frames.filter((f) => f.run === run && f.event === "contribution" && f.edge), parts = new Map(); // by edge
    if (!way.some(({ node: child, receiver }) => changed(child) || changed(receiver) || (into.get(child) ?? []).some(({ parent }) => changed(parent)))) return null;
    for (const child of new Set(way.map((f) => f.node))) {
      const given = operands(child), sent = ruleOf(child).back(found.get(child), given, node(child).attrs, value(child));
      (into.get(child) ?? []).forEach(({ id, parent, differentiable }, i) => {
        if (!differentiable || !sent[i]) return;
        const part = summedTo(sent[i], given[i].shape), before = found.get(parent);
        parts.set(id, part);
        found.set(parent, before ? both(before, part, (x, y) => x + y) : part);
      });
    }
    return Object.assign(found, { parts });
  };
  const step = ({ node: id, receiver }) => {
    const { kind, update } = node(id), before = into.get(id)?.find((edge) => edge.update)?.parent, lr = edits[id]?.lr;
    if (kind !== "update") {
      if (into.get(id)?.some(({ parent }) => changed(parent))) throw new Unknown(`${node(id).label} was changed in place, outside the graph`);
      return;
    }
    held.set(receiver, held.get(before));
    if (lr === undefined && !changed(before) && !held.get(before)?.changed) return;
    if (update?.optimizer !== "SGD" || Object.keys(update.settings).some((name) => name !== "lr")) throw new Unknown(`the step of ${node(id).op} is not run again here, only that of plain SGD`);
    const grad = held.get(before);
    if (!grad?.total) throw new Unknown(`the gradient for ${node(id).label} is not known`);
    const moved = both(value(before), grad.total, (w, g) => w - (lr ?? update.settings.lr) * g);
    for (const to of [id, receiver]) values.set(to, rounded(to, moved));
  };
  for (const [id, edit] of Object.entries(edits)) if (edit.data) values.set(id, edit);
  for (const frame of trace.frames) {
    const { event, receiver, run } = frame;
    if (event === "compute") compute(frame.node);
    else if (event === "update") step(frame);
    else if (event === "clear") held.set(receiver, { total: tensorOf(frame.total), changed: false });
    else if (event === "accumulate") {
      if (!grads.has(run)) grads.set(run, backward(run));
      const now = grads.get(run)?.get(receiver), before = held.get(receiver) ?? { total: tensorOf(node(receiver).grad_before), changed: false };
      if (!now && !before.changed) held.set(receiver, { total: tensorOf(frame.total), changed: false });
      else {
        const part = now ?? tensorOf(frame.value);
        held.set(receiver, { total: before.total ? both(before.total, part, (x, y) => x + y) : part, changed: true });
      }
    }
  }
  const runs = trace.frames.filter(({ event }) => event === "contribution").map(({ run }) => run), last = runs.at(-1);
  values.gradients = last === undefined ? null : (grads.get(last) ?? backward(last)); // of the last pass; null if none changed
  return values;
}
