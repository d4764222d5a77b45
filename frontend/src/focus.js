// Highlight what a node depends on, or what depends on it, and dim everything else.
import { h } from "./dom.js";
import { grouped } from "./values.js";
import { neighboursOf, reached } from "./ways.js";

const MOST_NAMES = 8;

function listed(names) {
  const all = [...new Set(names)], few = all.slice(0, MOST_NAMES), more = all.length - few.length;
  return few.join(", ") + (more ? ` and ${grouped(more)} more` : "");
}

export class Focus {
  // close(): closes the dialog.
  constructor(view, close) {
    Object.assign(this, { view, close, kept: null });
    const button = (text, key, act) => h("button", { type: "button", class: "al-small", title: `${text} (${key})`, text, onclick: act });
    this.around = h("b");
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
    );
    this.said = h("span", { "aria-live": "polite" });
    this.all = h("button", { type: "button", class: "al-small", hidden: true, text: "Show all", onclick: () => this.clear() });
    this.bar = h("div", { class: "al-bar al-focusbar" }, this.said, this.all);
  }

  keys() {
    const known = { b: () => this.reach("back"), a: () => this.reach("on") };
    return this.kept ? { ...known, Escape: () => this.clear() } : known;
  }

  refresh() {
    const id = this.target();
    this.around.textContent = id ? this.label(id) : "";
  }

  // Return the closed part that is or was focused last, else the selected node, else the step's node.
  target() {
    const { model, trace, graph } = this.view;
    return graph?.walk.part || model.get("selected") || trace.frames[model.get("step")]?.node || trace.nodes[0]?.id;
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

  keep(found, words) {
    this.kept = found;
    this.tell(words);
    this.show();
    this.view.graph?.reveal([...this.view.pane.querySelectorAll(".al-node:not(.al-aside)")]);
  }

  clear() {
    this.kept = null;
    this.tell("");
    this.show();
  }

  tell(text) {
    this.said.textContent = text;
    this.all.hidden = !this.kept;
  }

  // Dim the other elements in the present picture.
  show() {
    const { graph, folding } = this.view, kept = this.kept;
    if (!graph) return;
    const inside = (link) => link.edges.some((id) => kept.has(graph.edgeById.get(id).parent) && kept.has(graph.edgeById.get(id).child));
    const lines = new Set(kept && graph.lines.filter(({ edge }) => inside(edge)).map(({ edge }) => edge));
    const boxes = new Set(kept && [...kept].map((node) => folding.boxOf(node, graph.open))), repeated = new Set([...lines].map(({ start }) => start));
    const seen = ({ id, key }) => (key?.includes("_") ? repeated.has(key) : boxes.has(id));
    const open = (part) => [...boxes].some((box) => folding.opening(box).includes(part));
    for (const { g } of [...graph.cards, ...graph.parts]) g.classList.toggle("al-aside", Boolean(kept) && !seen(g.dataset));
    for (const { g, shape, edge } of graph.lines) for (const e of [g, shape]) e?.classList.toggle("al-aside", Boolean(kept) && !lines.has(edge));
    for (const { g, frame, part } of graph.headers) for (const e of [g, frame]) e.classList.toggle("al-aside", Boolean(kept) && !open(part.id));
  }
}
