// The paths between two nodes, each with its product of local derivatives, highlighted in the graph; their sum is the
// gradient. Counts and products are the same as in trace/questions/paths.py.
import { h } from "./dom.js";
import { fitPill } from "./lines";
import { relation, scaleOf, shapeWords, short, valueView } from "./values.js";
import { between, neighboursOf } from "./ways.js";

const ORDINALS = ["1st", "2nd", "3rd", "4th", "5th"];
const MOST_PATHS = 50, LISTED = 10, PATIENCE_LOCAL = 4000;

const place = (id) => Number(id.slice(1));
const numbersIn = (shape) => (shape ?? []).reduce((product, size) => product * size, 1);

// Return the edges on all paths along which a gradient can flow from `result` to `leaf`, parents first.
export function edgesBetween(trace, leaf, result) {
  const edges = trace.edges.filter((edge) => edge.differentiable && !edge.update).sort((a, b) => place(a.child) - place(b.child));
  const own = between(neighboursOf(edges), [leaf], [result]);
  return edges.filter(({ parent, child }) => own.has(parent) && own.has(child));
}

export function multiplied(a, b) {
  return a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
}

function added(a, b) {
  return a.map((row, i) => row.map((x, j) => x + b[i][j]));
}

// Return the number of paths, those to list, the sum of their products (null if a factor is unknown), and the number
// of multiplications path by path and in reverse mode. Counts are BigInt: fifty diamonds have 2 ** 50 paths.
export function pathsBetween(trace, leaf, result, local) {
  const edges = edgesBetween(trace, leaf, result), into = new Map(), of = (map, id) => map.get(id) ?? 0n;
  for (const edge of edges) into.set(edge.child, [...(into.get(edge.child) ?? []), edge]);
  const size = (id) => numbersIn(trace.nodes[place(id)].shape);
  const order = [...new Set(edges.flatMap(({ parent, child }) => [parent, child]))].sort((a, b) => place(a) - place(b));
  const scalar = order.every((id) => size(id) === 1), down = new Map([[leaf, 1n]]), up = new Map([[result, 1n]]), best = new Map([[leaf, [[]]]]), total = new Map();
  if (edges.some(({ id, parent }) => parent === leaf && local[id])) // its size squared: the derivatives of a big tensor are unknown and would be too large for a page
    total.set(leaf, Array.from({ length: size(leaf) }, (_, i) => Array.from({ length: size(leaf) }, (_, j) => Number(i === j))));
  const weight = (path) => Math.abs(path.reduce((product, { id }) => product * (local[id]?.[0][0] ?? 0), 1));
  for (const id of order) {
    if (id === leaf) continue;
    const coming = into.get(id) ?? [], known = coming.map((edge) => local[edge.id] && total.get(edge.parent) && multiplied(local[edge.id], total.get(edge.parent)));
    down.set(id, coming.reduce((sum, edge) => sum + of(down, edge.parent), 0n));
    total.set(id, known.length && known.every(Boolean) ? known.reduce(added) : null);
    const found = coming.flatMap((edge) => best.get(edge.parent).map((path) => [...path, edge]));
    if (scalar) found.sort((a, b) => weight(b) - weight(a));
    best.set(id, found.slice(0, MOST_PATHS));
  }
  for (const id of [...order].reverse()) for (const edge of into.get(id) ?? []) up.set(edge.parent, of(up, edge.parent) + of(up, id));
  const work = edges.map((edge) => [edge, BigInt(size(result) * size(edge.child) * size(edge.parent))]);
  const count = edges.length ? of(down, result) : 0n, many = count > BigInt(MOST_PATHS);
  return {
    count,
    scalar,
    paths: (many && !scalar ? [] : (best.get(result) ?? [])).map((path) => ({ edges: path, product: productOf(path, local) })),
    sum: total.get(result) ?? null,
    byPath: work.reduce((sum, [{ parent, child }, each]) => sum + each * of(up, child) * of(down, parent), 0n),
    inReverse: work.reduce((sum, [, each]) => sum + each, 0n),
  };
}

function productOf(path, local) {
  return path.every(({ id }) => local[id]) ? path.reduce((product, { id }) => (product ? multiplied(local[id], product) : local[id]), null) : null;
}

const few = (number) => short(Number(number.toPrecision(12))); // 0.1 * 3 is 0.30000000000000004
const boxWords = (matrix, rows, columns) => (rows * columns === 1 ? (matrix ? few(matrix[0][0]) : "?") : `${rows}×${columns}`);

// The field handles keys typed in it; Escape closes the panel.
export const panelKeys = (close) => (event) => {
  if (event.key === "Escape") close();
  if (event.key === "Escape" || event.target.matches("select, input")) event.stopPropagation();
};

export class Paths {
  constructor(view) {
    this.view = view;
    const { model, trace } = view;
    this.button = h("button", { type: "button", class: "al-small", title: "Paths: the chain rule along each", "aria-expanded": "false", text: "Paths", onclick: () => this.toggle() });
    const wants = trace.nodes.filter((node) => node.requires_grad && node.kind !== "update");
    this.possible = !view.veil.length && !trace.light && wants.some(({ kind }) => kind === "op");
    this.button.hidden = !this.possible;
    this.ends = [wants, wants.filter(({ kind }) => kind === "op")];
    [this.from, this.to] = ["From", "To"].map((name) => h("select", { "aria-label": name, onchange: () => this.choose() }));
    this.body = h("div", { class: "al-pathbody" });
    this.said = h("p", { class: "al-note", role: "status" });
    this.element = h(
      "div",
      { class: "al-aside", role: "group", "aria-label": "Paths", hidden: true, onkeydown: panelKeys(() => this.close()) },
      h("div", { class: "al-buttons al-asidebar" }, h("label", {}, "from ", this.from), h("label", {}, "to ", this.to), h("button", { type: "button", class: "al-small", text: "Close", onclick: () => this.close() })),
      this.said,
      this.body,
    );
    if (this.possible && model.get("ends")?.length) this.open(false);
  }

  toggle() {
    if (!this.element.hidden) return this.close();
    const { model, trace } = this.view, roots = trace.meta.roots ?? [], leaf = trace.nodes.find(({ kind, requires_grad }) => kind === "leaf" && requires_grad);
    const picked = model.get("selected"), [starts, results] = this.ends, own = starts.some(({ id }) => id === picked);
    const result = roots.findLast((id) => trace.nodes[place(id)].kind === "op") ?? results.at(-1).id;
    this.keep([own && picked !== result ? picked : (leaf ?? starts[0]).id, result]);
  }

  keep(ends) {
    this.view.model.set("ends", ends);
    this.view.model.save_changes();
  }

  choose() {
    this.keep([this.from.value, this.to.value]);
  }

  close() {
    this.keep([]);
    this.button.focus();
  }

  // Update to the present value of `ends`.
  update() {
    const ends = this.view.model.get("ends") ?? [];
    if (this.possible) ends.length ? this.open(true) : this.shut();
  }

  shut() {
    this.element.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.lit = null;
    this.light();
    this.view.fit();
  }

  open(drawn) {
    const { model, trace, alone } = this.view, [leaf, result] = model.get("ends");
    this.element.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    // A graph may have thousands of nodes, so list them only on demand.
    for (const [i, list] of [this.from, this.to].entries()) if (!list.length) list.append(...this.ends[i].map(({ id, label }) => h("option", { value: id, text: label })));
    [this.from.value, this.to.value] = [leaf, result];
    const local = Object.fromEntries(Object.entries(model.get("local") ?? {}).map(([id, rows]) => [id, rows.map((row) => row.map(Number))]));
    if (!Object.keys(local).length && !alone) this.ask();
    this.found = pathsBetween(trace, leaf, result, local);
    this.local = local;
    this.write(trace.nodes[place(leaf)], trace.nodes[place(result)]);
    this.lit = this.found.paths[0]?.edges ?? null;
    if (drawn) {
      this.light();
      this.view.fit();
    }
  }

  // Ask the kernel for the local derivatives.
  ask() {
    this.view.model.send({ kind: "need-local" });
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => Object.keys(this.local ?? {}).length || (this.said.textContent = "The local derivatives are in the notebook's kernel, which does not answer."), PATIENCE_LOCAL);
  }

  write(leaf, result) {
    const { count, paths, sum, scalar, byPath, inReverse } = this.found, number = (big) => big.toLocaleString("en-US");
    if (!count) {
      this.said.textContent = `No gradient flows from ${result.label} to ${leaf.label}.`;
      return this.body.replaceChildren();
    }
    const listed = count > BigInt(MOST_PATHS) ? paths.slice(0, LISTED) : paths, all = listed.length === Number(count);
    const which = all ? "" : listed.length ? `; the ${listed.length} largest` : "; too many to list";
    this.said.textContent = `${number(count)} path${count === 1n ? "" : "s"} from ${leaf.label} to ${result.label}${which}`;
    this.buttons = listed.map((path, i) => h("button", { type: "button", class: "al-small al-path", "aria-pressed": String(!i), onclick: () => this.pick(i) }, this.words(path, scalar)));
    const unknown = "not known: an operation on the way cannot be run again";
    const total = !sum ? unknown : scalar ? few(sum[0][0]) : `${sum.length}×${sum[0].length}`;
    const terms = scalar && all && sum && listed.length > 1 ? `${listed.map(({ product }) => few(product[0][0])).map((text, i) => (i && text[0] === "-" ? `(${text})` : text)).join(" + ")} ${relation(sum[0][0])} ` : "";
    const gradient = `the gradient of ${result.label} with respect to ${leaf.label}`;
    const lines = h("p", {}, count === 1n ? `One path: its product is ${gradient}, ` : `Their sum is ${gradient}: `, terms, h("b", { text: total }), ".");
    const matrices = scalar ? "" : " This counts products of whole Jacobians; the rules of operations need fewer.";
    const work = byPath === inReverse ? "" : h("p", { text: `Multiplications: ${number(byPath)} path by path, ${number(inReverse)} in reverse mode, because backward() follows each edge only once.${matrices}` });
    this.body.replaceChildren(
      h("ol", { class: "al-paths", "aria-label": "Paths" }, this.buttons.map((button) => h("li", {}, button))),
      lines,
      ...(sum && !scalar ? [this.numbers(sum, leaf, result)] : []),
      work,
    );
  }

  // Return "x → a → y: 2 · 3 = 6"; for tensors, the shapes of their Jacobians in the order of multiplication.
  words({ edges, product }, scalar) {
    const { trace } = this.view, label = (id) => trace.nodes[place(id)].label;
    const way = [...edges.map((edge) => label(edge.parent) + this.place(edge)), label(edges.at(-1).child)].join(" → ");
    const sizes = edges.map(({ id, child, parent }) => boxWords(this.local[id], ...[child, parent].map((node) => numbersIn(trace.nodes[place(node)].shape))));
    if (scalar) {
      const factors = sizes.map((text) => (text[0] === "-" ? `(${text})` : text)).join(" · ");
      const exact = edges.every(({ id }) => relation(this.local[id]?.[0][0] ?? 0) === "=") && (!product || relation(Number(product[0][0].toPrecision(12))) === "=");
      return `${way}: ${factors}${edges.length > 1 && product ? ` ${exact ? "=" : "≈"} ${few(product[0][0])}` : ""}`;
    }
    return [`${way}: `, ...sizes.reverse().flatMap((text, i) => [i ? " · " : "", h("span", { class: "al-jacobian", text })])];
  }

  // Return which operand an edge leads to, if several edges join the same nodes: " (2nd)".
  place({ id, parent, child }) {
    const same = this.view.trace.edges.filter((edge) => edge.parent === parent && edge.child === child);
    return same.length > 1 ? ` (${ORDINALS[same.findIndex((edge) => edge.id === id)] ?? "later"})` : "";
  }

  numbers(matrix, leaf, result) {
    const flat = matrix.flat(), shape = [matrix.length, matrix[0].length];
    const value = { shape, dtype: "float64", data: matrix, stats: null, text: "" };
    return h("details", { class: "al-kept" }, h("summary", { text: `The numbers of the sum, ${shapeWords(shape)}` }), flat.length && scaleOf(matrix) >= 0 ? valueView(value, `d ${result.label} / d ${leaf.label}`) : "");
  }

  pick(i) {
    this.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
    this.lit = this.found.paths[i].edges;
    this.view.update(false);
    this.light(true);
  }

  // After drawing a step, highlight the path and put its factors on the lines.
  light(seen = false) {
    const { graph } = this.view;
    if (!graph) return;
    const ids = new Set((this.lit ?? []).map(({ id }) => id)), nodes = new Set((this.lit ?? []).flatMap(({ parent, child }) => [parent, child]));
    graph.svg.classList.toggle("al-haslit", ids.size > 0);
    for (const line of graph.lines) {
      const own = line.edge.edges.filter((id) => ids.has(id)), was = line.g.classList.contains("al-lit");
      line.g.classList.toggle("al-lit", own.length > 0);
      if (was && !own.length) line.look = null; // restore its own label
      if (!own.length || !line.pill || line.edge.edges.length > 1 || !this.local[own[0]]) continue;
      const matrix = this.local[own[0]];
      line.look = null;
      line.pill.setAttribute("visibility", "visible");
      line.pillText.textContent = matrix.flat().length === 1 ? `× ${few(matrix[0][0])}` : `${matrix.length}×${matrix[0].length}`;
      fitPill(line);
    }
    const boxes = [...nodes].map((id) => graph.elementOf(id)).filter(Boolean);
    for (const { g } of [...graph.cards, ...graph.parts]) g.classList.toggle("al-onpath", boxes.includes(g));
    if (seen) graph.reveal(boxes);
  }
}
