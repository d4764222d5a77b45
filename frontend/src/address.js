// The address of an exported page stores the state of its explorers: #step=12&open=layer1&node=fc.weight. For a
// second explorer on the page the names end in 2, for a third in 3.
import { clamp } from "./dom.js";
import { lastStep } from "./player.js";

const SETTLED = 300; // ms without a step until the address is updated: browsers refuse hundreds of changes

const numbers = new WeakMap(); // number of each model, because a view may be recreated
const initials = new WeakMap(); // initial state of each model
let onThePage = 0;

export class Address {
  constructor(view) {
    if (!numbers.has(view.model)) numbers.set(view.model, (onThePage += 1));
    const number = numbers.get(view.model);
    Object.assign(this, { view, suffix: number > 1 ? String(number) : "", heard: () => this.read() });
  }

  // Called when the graph exists.
  begin() {
    if (this.initial) return this.write();
    const { model } = this.view, anew = initials.has(model);
    if (!anew) initials.set(model, this.state());
    this.initial = initials.get(model);
    addEventListener("hashchange", this.heard);
    if (anew) this.write(); // the learner has acted since, so the address is outdated
    else queueMicrotask(this.heard);
  }

  key(name) {
    return name + this.suffix;
  }

  label(id) {
    return this.view.folding.byId.get(id)?.label ?? this.view.trace.nodes[Number(id.slice(1))].label;
  }

  // The initial and the present state.
  state() {
    const { model, graph } = this.view, selected = model.get("selected");
    const open = [...(graph?.open ?? model.get("expanded"))].map((id) => this.label(id));
    return { step: String(model.get("step") + 1), open: open.join(), node: selected ? this.label(selected) : "", rankdir: model.get("rankdir") };
  }

  read() {
    const given = new URLSearchParams(location.hash.slice(1)), { view } = this, { model, trace, folding } = view, of = (name) => given.get(this.key(name));
    const step = Number(of("step"));
    if (Number.isInteger(step) && step > 0) model.set("step", clamp(step - 1, 0, lastStep(model)));
    if (of("node")) model.set("selected", trace.nodes.findLast(({ label }) => label === of("node"))?.id ?? "");
    if (view.graph && ["LR", "TB"].includes(of("rankdir")) && of("rankdir") !== model.get("rankdir")) view.turn();
    if (of("open") === null || !view.graph) return;
    const wanted = of("open").split(","), parts = folding.parts.filter(({ label }) => wanted.includes(label)).map(({ id }) => id);
    view.open([...new Set(parts.flatMap((id) => [...folding.opening(id), id]))]);
  }

  // Write only what differs from the initial state; keep other parts of the address.
  write() {
    clearTimeout(this.timer);
    if (!this.initial) return;
    this.timer = setTimeout(() => {
      const kept = new URLSearchParams(location.hash.slice(1)), now = this.state();
      for (const [name, value] of Object.entries(now))
        if (value === this.initial[name]) kept.delete(this.key(name));
        else kept.set(this.key(name), value);
      const words = kept.toString().replaceAll("%2C", ",");
      if (words === location.hash.slice(1)) return;
      try {
        history.replaceState(history.state, "", words ? `#${words}` : location.pathname + location.search);
      } catch {
        // a page within another may not change its address
      }
    }, SETTLED);
  }

  leave() {
    clearTimeout(this.timer);
    removeEventListener("hashchange", this.heard);
  }
}
