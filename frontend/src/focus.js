// Highlight what a node depends on, what depends on it, or what lies between two nodes, and dim everything else.
import { h } from "./dom.js";
import { goTo } from "./player.js";
import { grouped } from "./values.js";
import { ownStep } from "./states.js";
import { between, neighboursOf, reached } from "./ways.js";

const MOST_NAMES = 8;

function listed(names) {
  const all = [...new Set(names)], few = all.slice(0, MOST_NAMES), more = all.length - few.length;
  return few.join(", ") + (more ? ` and ${grouped(more)} more` : "");
}

export class Focus {
  // close(): closes the dialog.
  constructor(view, close) {
    Object.assign(this, { view, close, kept: null, from: null });
    const button = (text, key, act) => h("button", { type: "button", class: "al-small", title: `${text} (${key})`, text, onclick: act });
    this.around = h("b");
    this.own = button("Its own step", "s", () => this.goToStep());
    const after = (act) => () => {
      close();
      act();
    };
    this.element = h(
      "div",
      { class: "al-tool", role: "group", "aria-label": "Around a node" },
      h("div", { class: "al-name" }, "Around ", this.around),
      button("What it depends on", "b", after(() => this.reach("back"))),
      button("What depends on it", "a", after(() => this.reach("on"))),
      button("Paths to…", "p", after(() => this.pick())),
      this.own,
    );
    this.said = h("span", { "aria-live": "polite" });
    this.all = h("button", { type: "button", class: "al-small", hidden: true, text: "Show all", onclick: () => this.clear() });
    this.bar = h("div", { class: "al-bar al-focusbar" }, this.said, this.all);
  }

  listen(root) {
    const chosen = (event) => this.from && event.target.closest?.(".al-node, .al-header")?.dataset.id;
    const choose = (event, id) => {
      event.preventDefault();
      event.stopPropagation();
      this.between(id);
    };
    this.view.pane.addEventListener("click", (event) => chosen(event) && !this.view.camera.dragged && choose(event, chosen(event)), { capture: true });
    root.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && chosen(event) && choose(event, chosen(event)), { capture: true });
  }

  keys() {
    const known = { b: () => this.reach("back"), a: () => this.reach("on"), p: () => this.pick(), s: () => this.goToStep() };
    return this.from || this.kept ? { ...known, Escape: () => this.clear() } : known;
  }

  refresh() {
    const id = this.target();
    this.around.textContent = id ? this.label(id) : "";
    this.own.disabled = this.stepOf(id) < 0;
  }

  // Return the closed part that is or was focused last, else the selected node, else the step's node.
  target() {
    const { model, trace, graph } = this.view;
    return graph?.walk.part || model.get("selected") || trace.frames[model.get("step")]?.node || trace.nodes[0]?.id;
  }

  stepOf(id) {
    return ownStep(this.view.trace, this.view.folding.byId.get(id)?.first ?? id);
  }

  label(id) {
    const { folding, trace } = this.view;
    return folding.byId.get(id)?.label ?? trace.nodes[Number(id.slice(1))].label;
  }

  // Return the nodes that an id stands for.
  nodesOf(id) {
    const { folding, trace } = this.view;
    return folding.isPart(id) ? trace.nodes.map((node) => node.id).filter((node) => folding.around(node).includes(id)) : [id];
  }

  ways() {
    return (this.neighbours ??= neighboursOf(this.view.trace.edges));
  }

  reach(way) {
    const id = this.target(), of = this.label(id), own = this.nodesOf(id);
    const found = reached(this.ways()[way], own), others = [...found].filter((node) => !own.includes(node));
    const words = way === "back" ? [`${of} depends on`, `${of} depends on nothing`] : [`On ${of} depend`, `Nothing depends on ${of}`];
    const most = `the ${grouped(this.view.trace.nodes.length - own.length)} other nodes`;
    this.keep(found, others.length ? `${words[0]} ${grouped(others.length)} of ${most}: ${listed(others.map((node) => this.label(node)))}` : words[1]);
  }

  pick() {
    this.from = this.target();
    this.kept = null;
    this.show();
    this.tell(`Paths from ${this.label(this.from)} to… which node? Click it, or go there and press Enter.`, "Cancel");
    this.view.focus(this.from);
  }

  between(to) {
    const from = this.from, ways = this.ways(), [start, end] = [from, to].map((id) => this.nodesOf(id));
    this.from = null;
    const on = between(ways, start, end), back = on.size ? on : between(ways, end, start);
    const names = (on.size ? [from, to] : [to, from]).map((id) => this.label(id)).join(" to ");
    const inner = [...back].filter((node) => !start.includes(node) && !end.includes(node)).sort((a, b) => a.slice(1) - b.slice(1));
    if (back.size) this.keep(back, `Paths from ${names}: ${inner.length ? `through ${listed(inner.map((node) => this.label(node)))}` : "nothing lies between"}`);
    else {
      this.clear();
      this.tell(`No path leads from ${this.label(from)} to ${this.label(to)}, nor back.`);
    }
  }

  keep(found, words) {
    this.from = null;
    this.kept = found;
    this.tell(words);
    this.show();
    this.view.graph?.reveal([...this.view.pane.querySelectorAll(".al-node:not(.al-aside)")]);
  }

  clear() {
    this.kept = this.from = null;
    this.tell("");
    this.show();
  }

  tell(text, cancel = "Show all") {
    this.said.textContent = text;
    this.all.textContent = cancel;
    this.all.hidden = !this.kept && !this.from;
  }

  goToStep() {
    const step = this.stepOf(this.target());
    if (step >= 0) goTo(this.view.model, step);
  }

  // Dim the other elements in the present picture.
  show() {
    const { graph, folding, pane } = this.view, kept = this.kept;
    if (!graph) return;
    const inside = (link) => link.edges.some((id) => kept.has(graph.edgeById.get(id).parent) && kept.has(graph.edgeById.get(id).child));
    const lines = new Set(kept && graph.lines.filter(({ edge }) => inside(edge)).map(({ edge }) => edge));
    const boxes = new Set(kept && [...kept].map((node) => folding.boxOf(node, graph.open))), repeated = new Set([...lines].map(({ start }) => start));
    const seen = ({ id, key }) => (key?.includes("_") ? repeated.has(key) : boxes.has(id));
    const open = (part) => [...boxes].some((box) => folding.opening(box).includes(part));
    for (const { g } of [...graph.cards, ...graph.parts]) g.classList.toggle("al-aside", Boolean(kept) && !seen(g.dataset));
    for (const { g, shape, edge } of graph.lines) for (const e of [g, shape]) e?.classList.toggle("al-aside", Boolean(kept) && !lines.has(edge));
    for (const { g, frame, part } of graph.headers) for (const e of [g, frame]) e.classList.toggle("al-aside", Boolean(kept) && !open(part.id));
    pane.classList.toggle("al-picking", Boolean(this.from));
  }
}
