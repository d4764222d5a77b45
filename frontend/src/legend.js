// What lines, badges and colours of the graph mean, below it.
import { h } from "./dom.js";
import { rehearsed, stateWord } from "./moods.js";
import { isBad } from "./values.js";

export function legend(trace) {
  const item = (name, text) =>
    h(
      "li",
      {},
      h("span", { class: `al-key al-key-${name}`, "aria-hidden": "true", text: name === "local" ? "× 2" : "" }),
      text,
    );
  return h(
    "ul",
    { class: "al-legend", "aria-label": "Legend" },
    item("forward", "forward: values"),
    item("backward", "backward: gradients"),
    item("local", "local derivative"),
    item("leaf", "leaf that wants a gradient"),
    item("saved", "saved for backward"),
    troubled(trace) ? item("bad", "NaN, inf or an error") : null,
    trace.frames.some((frame) => frame.phase === "backward") ? gradientStates(trace) : null,
    trace.edges.some((edge) => edge.update) ? item("update", "update: the same tensor, changed") : null,
    item("dimmed", "frozen since: never a gradient"),
  );
}

// Every state a gradient may be in, as it looks below a node.
function gradientStates(trace) {
  const handed = trace.frames.some((frame) => frame.event === "return");
  return Object.keys(STATES)
    .filter((state) => state !== "returned" || handed)
    .map((state, i) => {
      const word = state === "returned" ? "returned" : stateWord(state, "", rehearsed(trace));
      const badge = h("span", { class: "al-state", "data-state": state, text: word });
      return h("li", {}, i ? null : "gradient:", badge);
    });
}

// Which colour is which device; nothing when all is on the CPU.
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

// Whether something in the trace is shown in the colour of errors.
function troubled({ nodes, frames }) {
  const bad = (f) => f.event === "error" || isBad(f.value) || isBad(f.total);
  return nodes.some((node) => isBad(node.value) || node.mark) || frames.some(bad);
}
