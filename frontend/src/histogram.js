// Histograms of a node's value, gradient and saved tensors, and of a parameter before and after a step.
import { h, svgEl } from "./dom.js";
import { keptName } from "./kept.js";
import { grouped, short } from "./values.js";

const PARTS = 16, ACROSS = 200, UP = 44;

let unfolded = false; // whether they were open when last shown on this page

// Return { low, high, counts, of }: how many numbers are in each of 16 equal bins; null without two different
// numbers.
export function histogramOf(value) {
  if (!value?.shape.length || !value.stats || !(value.stats.max > value.stats.min)) return null;
  const { min: low, max: high } = value.stats;
  if (value.counts) return { low, high, counts: value.counts, of: value.counts.reduce((a, b) => a + b, 0) };
  if (value.data === null || value.data === undefined) return null;
  const numbers = value.data.flat(Infinity).filter(Number.isFinite), counts = new Array(PARTS).fill(0);
  for (const number of numbers) counts[Math.max(0, Math.min(PARTS - 1, Math.floor(((number - low) / (high - low)) * PARTS)))] += 1;
  return { low, high, counts, of: numbers.length };
}

// Draw one histogram on an axis from `from` to `to`.
function bars({ low, high, counts }, from, to) {
  const x = (number) => ((number - from) / (to - from)) * ACROSS, most = Math.max(...counts), wide = (high - low) / counts.length;
  const bar = (count, i) => svgEl("rect", { x: x(low + i * wide), width: Math.max(1, x(low + wide) - x(low) - 0.6), y: UP - (UP * count) / most, height: (UP * count) / most });
  const zero = from < 0 && to > 0 ? svgEl("path", { class: "al-zero", d: `M${x(0)} 0V${UP}` }) : "";
  return svgEl("svg", { class: "al-bars", viewBox: `0 0 ${ACROSS} ${UP + 1}`, width: ACROSS, height: UP + 1, "aria-hidden": "true" }, zero, counts.map(bar), svgEl("path", { class: "al-axis", d: `M0 ${UP + 0.5}H${ACROSS}` }));
}

function figure(name, value, ends) {
  const found = histogramOf(value);
  if (!found) return null;
  const { low, high, counts, of } = found, [from, to] = ends ?? [low, high], most = Math.max(...counts), at = counts.indexOf(most), wide = (high - low) / counts.length;
  const all = value.shape.reduce((a, b) => a * b, 1), part = of < all ? `${grouped(of)} of its ${grouped(all)} numbers are counted; ` : "";
  const words = `${part}the fullest of ${counts.length} bins has ${grouped(most)} of ${grouped(of)}, from ${short(low + at * wide)} to ${short(low + (at + 1) * wide)}`;
  const axis = h("div", { class: "al-ends" }, h("span", { text: short(from) }), h("span", { text: short(to) }));
  return h("figure", { class: "al-histogram" }, h("figcaption", {}, h("b", { text: name }), ` ${words}`), bars(found, from, to), axis);
}

// Return [before, after] of the tensor that an optimizer's step or an in-place operation changed, or null.
function changeOf(trace, node) {
  const next = (id) => trace.edges.find(({ update, parent }) => update && parent === id)?.child, at = (id) => trace.nodes[Number(id.slice(1))];
  const before = node.kind === "update" ? trace.edges.find(({ update, child }) => update && child === node.id)?.parent : node.kind === "leaf" ? node.id : "";
  let after = before && next(before);
  if (after && at(after).kind === "update") after = next(after);
  return after ? [at(before), at(after)] : null;
}

// Return the text below the value of a leaf that has changed since: the picture has a card for each state.
export function changedSince(trace, node, now) {
  const after = node.kind === "leaf" && changeOf(trace, node)?.[1];
  return after && now.computed.has(after.id) ? h("p", { class: "al-note", text: `This was before it was changed in place: ${after.label} is the same tensor.` }) : "";
}

// Return the histograms of a node at one moment; nothing if no tensor has a distribution to show.
export function histograms(trace, node, now) {
  const change = changeOf(trace, node), changed = change && now.computed.has(change[1].id) ? change.map(({ value }) => histogramOf(value)) : [];
  const ends = changed.length && changed.every(Boolean) ? [Math.min(...changed.map(({ low }) => low)), Math.max(...changed.map(({ high }) => high))] : null;
  const gradient = ["none", "never", "freed"].includes(now.states[node.id]) ? null : now.gradients[node.id];
  const wanted = [
    ...(ends ? change.map(({ value }, i) => [["before the step", "after the step"][i], value, ends]) : now.computed.has(node.id) ? [["value", node.value]] : []),
    ["gradient", gradient],
    ...trace.saved.filter((saved) => saved.node === node.id && now.saved[saved.id] === "alive").map((saved) => [`saved ${saved.name}${keptName(trace, saved) ? `: ${keptName(trace, saved)}` : ""}`, saved.value]),
  ].filter(([, value]) => histogramOf(value));
  if (!wanted.length) return [];
  const box = h("details", { class: "al-kept al-histograms", open: unfolded }, h("summary", { text: "Histograms" }));
  const fill = () => box.childNodes.length < 2 && box.append(...wanted.map((each) => figure(...each)));
  if (unfolded) fill();
  box.addEventListener("toggle", () => {
    unfolded = box.open;
    if (unfolded) fill();
  });
  return [box];
}
