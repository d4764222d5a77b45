// Colour the boxes by one measure; its value is also written on each box, and the legend explains it.
import { h, svgEl } from "./dom.js";
import { badWords, measuresOf } from "./measures.js";

const LEVELS = 5, FLAG = 16; // shades for an amount; px height of a flag

export class Colouring {
  // changed(): called when the legend appears, changes or disappears.
  constructor(view, changed) {
    Object.assign(this, { view, changed, measure: null });
    this.measures = measuresOf(view.trace);
    const offered = this.measures.filter(({ missing }) => !missing), others = this.measures.filter(({ missing }) => missing);
    this.select = h("select", { "aria-label": "Colour by", onchange: () => this.choose(this.select.value) }, ["none", ...offered.map(({ name }) => name)].map((name) => h("option", { value: name, text: name })));
    this.element = h(
      "div",
      { class: "al-tool", role: "group", "aria-label": "Colours" },
      h("div", { class: "al-name", "aria-hidden": "true", text: "Colour by" }),
      this.select,
      others.length ? h("details", { class: "al-without" }, h("summary", { text: `${others.length} more need data that this graph does not have` }), h("ul", {}, others.map(({ name, missing }) => h("li", { text: `${name}: ${missing}` })))) : null,
    );
    this.legend = h("ul", { class: "al-legend al-colours", "aria-label": "Colours", hidden: true });
  }

  choose(name) {
    this.measure = this.measures.find((measure) => measure.name === name && !measure.missing) ?? null;
    this.select.value = this.measure?.name ?? "none";
    this.drawn();
    this.explain();
    this.changed();
  }

  // Find which nodes each box shows; once per picture.
  drawn() {
    const { graph, trace, folding } = this.view;
    for (const { g } of this.boxes ?? []) this.unmark(g);
    this.boxes = [];
    this.view.pane.classList.toggle("al-coloured", Boolean(this.measure));
    if (!graph || !this.measure) return;
    const inside = new Map();
    for (const node of trace.nodes) {
      const box = folding.boxOf(node.id, graph.open);
      inside.has(box) ? inside.get(box).push(node) : inside.set(box, [node]);
    }
    const card = ({ g, node }) => ({ g, node, last: node, nodes: inside.get(node.id) ?? [node] });
    const part = ({ g, part: { id, last } }) => ({ g, node: null, last: trace.nodes[Number(last.slice(1))], nodes: inside.get(id) ?? [] });
    this.boxes = [...graph.cards.map(card), ...graph.parts.map(part)].filter(({ node }) => !(node?.kind === "data" && !node.name && !node.shape?.length));
    const found = (this.measure.all?.() ?? []).concat(this.measure.hue ? this.boxes.map((box) => this.measure.of(box, trace.frames.length - 1)) : []).filter((n) => n > 0 && Number.isFinite(n));
    this.ends = found.length ? [found.reduce((a, b) => Math.min(a, b)), found.reduce((a, b) => Math.max(a, b))] : [1, 1];
  }

  // Return the level of an amount: 0 to 4, by its logarithm.
  level(amount) {
    const [low, high] = this.ends;
    return amount <= 0 ? 0 : high > low ? Math.min(LEVELS - 1, Math.floor((LEVELS * Math.log(amount / low)) / Math.log(high / low))) : LEVELS - 1;
  }

  // Return [CSS class, text] for a box; null if nothing is known.
  lookOf(box, index, now) {
    const { of, hue, words, kinds } = this.measure, found = of(box, index, now);
    if (found === null || found === undefined) return null;
    if (!hue) return [kinds.find(([word]) => word === found)[1], found];
    return Number.isFinite(found) ? [`${hue}${Math.max(0, this.level(found))}`, words(found)] : ["alarm", "NaN or inf"];
  }

  update(index, now) {
    for (const box of this.boxes ?? []) {
      const look = this.lookOf(box, index, now);
      if (box.look?.join() === look?.join() && box.g.dataset.said !== undefined) continue;
      box.look = look;
      this.unmark(box.g);
      box.g.dataset.said = look ? `${this.measure.name.toLowerCase()}: ${look[1]}` : "";
      if (!look) continue;
      box.g.setAttribute("aria-description", box.g.dataset.said);
      box.g.querySelector(".al-card").dataset.look = look[0];
      const text = svgEl("text", { x: 5, y: -3.5, "font-size": 13 }), rect = svgEl("rect", { class: "al-flagpaper", x: 0, y: -FLAG, height: FLAG, rx: 3, "data-look": look[0] });
      text.textContent = look[1];
      box.g.append(svgEl("g", { class: "al-flag" }, rect, text));
      rect.setAttribute("width", Math.ceil(text.getComputedTextLength() || 7 * look[1].length) + 10);
    }
  }

  unmark(g) {
    g.querySelector(".al-flag")?.remove();
    delete g.querySelector(".al-card").dataset.look;
    delete g.dataset.said;
    g.removeAttribute("aria-description");
  }

  explain() {
    const { measure, legend } = this;
    legend.hidden = !measure;
    if (!measure) return;
    const item = (look, text) => h("li", {}, h("span", { class: "al-swatch", "data-look": look, "aria-hidden": "true" }), text);
    const [low, high] = this.ends, at = (i) => measure.words(low * (high / low) ** (i / LEVELS)), where = measure.name === "First NaN" ? `, ${badWords(this.view.trace)}` : "";
    const shades = measure.hue && (high > low ? Array.from({ length: LEVELS }, (_, i) => item(`${measure.hue}${i}`, i ? `from ${at(i)}` : `below ${at(1)}`)) : [item(`${measure.hue}${LEVELS - 1}`, measure.words(high))]);
    legend.replaceChildren(h("li", {}, h("b", { text: measure.name }), ` ${measure.note}${where}:`), ...(shades || measure.kinds.map(([word, look]) => item(look, word))));
  }
}
