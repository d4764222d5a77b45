// How many bytes operations keep for backward at each step: a strip with its peak marked, and a text with the same
// data.
import { h, svgEl } from "./dom.js";
import { goTo } from "./player.js";
import { stepNumber } from "./beats";
import { grouped, sizeWords } from "./values.js";

const HIGH_STRIP = 14, FINE = 1000; // px; maximum number of points

// Return { bytes: at each step, peak, step, largest: the biggest saved tensor at the peak }; null if nothing is known
// to be saved.
export function aliveOf({ saved, frames }) {
  const first = new Map(), last = new Map(), turns = new Map();
  for (const { index, event, node } of frames) {
    if (event === "compute" && !first.has(node)) first.set(node, index);
    if (event === "free" && !last.has(node)) last.set(node, index);
  }
  const turn = (index, kept, on) => (turns.get(index) ?? turns.set(index, []).get(index)).push([kept, on]);
  for (const kept of saved) {
    if (!kept.memory || !kept.bytes || !first.has(kept.node)) continue;
    turn(first.get(kept.node), kept, true);
    if (last.has(kept.node)) turn(last.get(kept.node), kept, false);
  }
  if (!turns.size) return null;
  const alive = new Map(), bytes = [], size = (holders) => Math.max(0, ...[...holders].map((kept) => kept.bytes)); // by memory
  let now = 0, peak = { peak: 0, step: 0, largest: null };
  for (const { index } of frames) {
    for (const [kept, on] of turns.get(index) ?? []) {
      if (!alive.has(kept.memory)) alive.set(kept.memory, new Set());
      const holders = alive.get(kept.memory), before = size(holders);
      if (on) holders.add(kept);
      else holders.delete(kept);
      now += size(holders) - before;
    }
    bytes.push(now);
    if (now > peak.peak) peak = { peak: now, step: index, largest: [...alive.values()].flatMap((holders) => [...holders]).reduce((a, b) => (b.bytes > a.bytes ? b : a)) };
  }
  return { bytes, ...peak };
}

export class Alive {
  constructor(view) {
    this.view = view;
    this.known = aliveOf(view.trace);
    if (!this.known) return;
    this.mark = svgEl("path", { class: "al-stripnow" });
    this.strip = h("div", { class: "al-strips", role: "img" }, this.draw());
    this.words = h("p", { class: "al-plain" });
    this.element = h(
      "div",
      { class: "al-tool", role: "group", "aria-label": "Kept for backward" },
      h("div", { class: "al-name", "aria-hidden": "true", text: "Kept for backward at each step" }),
      this.strip,
      this.words,
      h("button", { type: "button", class: "al-small", text: "Go to the peak", onclick: () => goTo(view.model, this.known.step) }),
      h("p", { class: "al-note", text: "Counted are the results that operations save, each memory once, from when it is saved until backward frees it; not parameters, inputs and numbers of the code." }),
    );
  }

  draw() {
    const { bytes, peak, step } = this.known, wide = Math.max(1, bytes.length - 1), each = Math.ceil(bytes.length / FINE);
    const y = (amount) => (HIGH_STRIP - 1) * (1 - amount / peak) + 1, points = [];
    for (let i = 0; i < bytes.length; i += each) points.push(`H${i}V${y(Math.max(...bytes.slice(i, i + each))).toFixed(1)}`);
    const area = svgEl("path", { class: "al-striparea", d: `M0 ${HIGH_STRIP}${points.join("")}H${wide}V${HIGH_STRIP}Z` });
    const top = svgEl("path", { class: "al-strippeak", d: `M${step} 0V${HIGH_STRIP}` });
    return svgEl("svg", { viewBox: `0 0 ${wide} ${HIGH_STRIP}`, preserveAspectRatio: "none", "aria-hidden": "true" }, area, top, this.mark);
  }

  update(index) {
    if (!this.known) return;
    const { bytes, peak, step, largest } = this.known, { nodes } = this.view.trace, frame = this.view.trace.frames[step], named = (id) => nodes[Number(id.slice(1))];
    const by = named(frame.node), holder = named(largest.node);
    const words = `${sizeWords(bytes[index])} now; at most ${sizeWords(peak)}, at step ${grouped(stepNumber(this.view.trace, step))}, when ${by.label} = ${by.op} was computed. The largest of it: ${sizeWords(largest.bytes)}, ${largest.name} of ${holder.label}.`;
    this.mark.setAttribute("d", `M${index} 0V${HIGH_STRIP}`);
    this.words.textContent = words;
    this.strip.title = `Kept for backward: ${words}`;
    this.strip.setAttribute("aria-label", this.strip.title);
  }
}
