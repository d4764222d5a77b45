// Compare with another trace (difference.py): highlight the differences, and name and show the first one.
import { h } from "./dom.js";
import { labelAbove } from "./marks.js";
import { goTo } from "./player.js";
import { grouped } from "./values.js";

export class Compared {
  constructor(view) {
    this.view = view;
    this.facts = view.model.get("compared") ?? {};
    const { found = [], own, other, count } = this.facts;
    this.element = this.name = null;
    if (!other) return;
    this.name = own;
    this.places = [...new Set(found.map(({ at }) => at))].sort((a, b) => a - b);
    const button = (text, act) => h("button", { type: "button", class: "al-small", text, onclick: () => act() });
    this.first = button("First difference", () => this.go(this.places[0]));
    this.back = button("Previous", () => this.go(this.places.findLast((at) => at < this.step)));
    this.on = button("Next", () => this.go(this.places.find((at) => at > this.step)));
    this.said = h("p", { role: "status", "aria-live": "polite" });
    const many = count ? `${grouped(count)} difference${count > 1 ? "s" : ""}` : "no difference";
    this.element = h(
      "div",
      { class: "al-aside al-compared", role: "group", "aria-label": "Comparison" },
      h("div", { class: "al-buttons al-asidebar" }, h("span", {}, h("strong", { text: own }), " compared with ", h("strong", { text: other }), `: ${many}`), ...(count ? [this.first, this.back, this.on] : [])),
      this.said,
    );
  }

  get step() {
    return this.view.model.get("step");
  }

  go(at) {
    if (at !== undefined) goTo(this.view.model, at);
  }

  // Update the text about this step, and highlight all differences so far.
  update() {
    if (!this.element) return;
    const { found, other } = this.facts, { step } = this, here = found.filter(({ at }) => at === step);
    const [first] = this.places, before = found.filter(({ at }) => at < step).length;
    this.first.disabled = step === first;
    this.back.disabled = !(first < step);
    this.on.disabled = !(this.places.at(-1) > step);
    const same = !found.length ? `The same as in ${other}, step by step.` : step < first ? `The same so far; the first difference is at step ${grouped(first + 1)}.` : `The same here; ${grouped(before)} before.`;
    const words = here.length ? `${step === first ? "The first difference: " : ""}${here.map(({ what }) => what.replaceAll("`", "")).join("; ")}.` : same;
    if (this.said.textContent !== words) this.said.textContent = words;
    this.light(found.filter(({ at }) => at <= step), here);
  }

  light(found, here) {
    const { graph } = this.view, { other } = this.facts;
    if (!graph) return;
    graph.svg.querySelectorAll(".al-otherwise").forEach((old) => old.remove());
    for (const { g } of [...graph.cards, ...graph.parts, ...graph.lines]) {
      g.classList.remove("al-differs", "al-differshere");
      g.removeAttribute("aria-description");
    }
    const last = new Map(found.flatMap((one) => one.nodes.map((id) => [graph.elementOf(id), one])));
    for (const [g, one] of last) {
      if (!g) continue;
      g.classList.add("al-differs");
      g.classList.toggle("al-differshere", here.includes(one));
      g.setAttribute("aria-description", one.has ? `differs: ${one.has} in ${other}` : `not in ${other}`);
      labelAbove(g, "al-otherwise", one.has ? `${other}: ${one.has}` : "only here");
    }
    for (const { g, edge } of graph.lines) {
      const own = found.filter((one) => edge.edges.includes(one.edge));
      g.classList.toggle("al-differs", own.length > 0);
      g.classList.toggle("al-differshere", own.some((one) => here.includes(one)));
    }
  }

  // After a step, tell the other explorer. On a page this is done here; in a notebook the kernel does it.
  lead() {
    const { peer, steps } = this.facts, other = this.view.model.peer?.(peer), to = steps?.[this.step] ?? -1;
    if (other && to >= 0) goTo(other, to);
  }
}
