// The address of an exported page holds the state of its explorers: #step=12&open=layer1&node=fc.weight. Of a second explorer on the page
// the names end in 2, of a third in 3.
import { clamp } from "./dom.js";
import { lastStep } from "./player.js";

const SETTLED = 300; // ms without a step until the address follows: browsers refuse hundreds of changes

const numbers = new WeakMap(); // of the models: a view may be made anew
const initials = new WeakMap(); // of the models: as the page began
let onThePage = 0;

export class Address {
  constructor(view) {
    if (!numbers.has(view.model)) numbers.set(view.model, (onThePage += 1));
    const number = numbers.get(view.model);
    Object.assign(this, { view, suffix: number > 1 ? String(number) : "", heard: () => this.read() });
  }

  // When the graph is there.
  begin() {
    if (this.initial) return this.write();
    const { model } = this.view, anew = initials.has(model);
    if (!anew) initials.set(model, this.state());
    this.initial = initials.get(model);
    addEventListener("hashchange", this.heard);
    if (anew) this.write(); // the address is older than what the learner has done since
    else queueMicrotask(this.heard);
  }

  key(name) {
    return name + this.suffix;
  }

  label(id) {
    return this.view.folding.byId.get(id)?.label ?? this.view.trace.nodes[Number(id.slice(1))].label;
  }

  // As the page began, or as it is now.
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

  // What is as it was at first is left out; what else stands in the address stays.
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
