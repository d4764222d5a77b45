// The legend below the graph: what lines, signs and colours mean.
import { h } from "./dom.js";
import { rehearsed, stateWord } from "./moods.js";
import { isBad } from "./values.js";

export function legend(trace) {
  const item = (name, meaning, sample = "") =>
    h("li", {}, h("span", { class: `al-key al-key-${name}`, "aria-hidden": "true" }, sample), meaning);
  const tensors = trace.nodes.some(({ shape }) => shape?.length);
  return h(
    "ul",
    { class: "al-legend", "aria-label": "Legend" },
    item("forward", "values, forward"),
    item("backward", "gradients, backward"),
    item("equation", "gradient × local derivative", "1 × 2 = 2"),
    item("slot", "a gradient comes here"),
    tensors ? item("signs", "negative, positive") : null,
    item("leaf", "leaf that requires a gradient"),
    troubled(trace) ? item("bad", "NaN, inf or an error") : null,
    trace.edges.some((edge) => edge.update) ? item("update", "update: the same tensor, changed") : null,
    item("dimmed", "frozen: it gets no gradient"),
    trace.frames.some((frame) => frame.phase === "backward") ? gradientStates(trace) : null,
  );
}

// Return every gradient state, with its look in Inspect.
function gradientStates(trace) {
  const handed = trace.frames.some((frame) => frame.event === "return");
  return Object.keys(STATES)
    .filter((state) => state !== "returned" || handed)
    .map((state, i) => {
      const word = state === "returned" ? "returned" : stateWord(state, "", rehearsed(trace));
      const badge = h("span", { class: "al-state", "data-state": state, text: word });
      return h("li", {}, i ? null : "in Inspect, a gradient is", badge);
    });
}

// Return which colour stands for which device; nothing if everything is on the CPU.
export function deviceLegend(devices) {
  if (!devices) return null;
  const item = (name, look, words) =>
    h("span", { class: "al-deviceitem" }, h("span", { class: `al-key al-key-${look}`, "aria-hidden": "true" }), h("strong", { text: name }), words);
  return h(
    "div",
    { class: "al-legend", role: "group", "aria-label": "Devices" },
    item("CPU", "cpu", ""),
    Object.entries(devices).map(([name, { title, simulated }]) => item(name, simulated ? "sim" : "gpu", title)),
    h("span", { class: "al-deviceitem" }, h("span", { class: "al-key al-key-copy", "aria-hidden": "true" }), "copied to another device"),
  );
}

// Return whether something in the trace is shown in the colour of errors.
function troubled({ nodes, frames }) {
  const bad = (f) => f.event === "error" || isBad(f.value) || isBad(f.total);
  return nodes.some((node) => isBad(node.value) || node.mark) || frames.some(bad);
}
