// What a node saves for its backward: in the learner's words, and as a table.
import { breakable, h } from "./dom.js";
import { whyMissing } from "./states.js";
import { shapeWords, sizeWords, words } from "./values.js";

const OPERANDS = { self: "first operand", other: "second operand" };

// Return what a saved tensor is, in the learner's names: "self: what mul keeps of its first operand, x, for its
// backward".
export function keptWords(trace, id) {
  // A trace that shows what would be trained leaves out some saved tensors, so ids are not positions.
  const at = trace.saved[Number(id.slice(1))], saved = at?.id === id ? at : trace.saved.find((s) => s.id === id), node = trace.nodes[Number(saved.node.slice(1))], op = node.op.replace(/_$/, "");
  const name = keptName(trace, saved), which = saved.source_node === saved.node ? "own result" : OPERANDS[saved.name] ?? "operand";
  const of = name ? ` of its ${which}, ${name},` : "", version = saved.version === null ? "" : ` (version ${saved.version} of it)`;
  return `${saved.name}: what ${op} keeps${of} for its backward${version}`;
}

// Return the learner's name of a saved tensor, "" if it is not known.
export function keptName(trace, { source_node, source_nr }) {
  if (!source_node) return "";
  const { label, outputs } = trace.nodes[Number(source_node.slice(1))];
  return outputs[source_nr]?.label || label;
}

const opened = new WeakSet(); // nodes whose explanation is open: Details are rewritten when their size changes

// Return the table, with an explanation of its names; nothing if nothing was saved. `stateOf(id)`: a state and its
// word.
export function keptTable(trace, node, stateOf) {
  const rows = trace.saved.filter((s) => s.node === node.id);
  if (!rows.length) return [];
  const cells = (s) => [
    h("span", { title: keptWords(trace, s.id) }, h("span", {}, breakable(s.name)), keptName(trace, s) ? h("span", { class: "al-of", text: `: ${keptName(trace, s)}` }) : ""),
    s.value ? words(s.value).replace(/^\w+\[[\d, ]*\], /, "") : whyMissing(trace, s), // without dtype and shape, which are in the next column
    s.shape ? shapeWords(s.shape) : "",
    sizeWords(s.bytes),
    s.version ?? "",
  ];
  const row = (s) => {
    const [state, word] = stateOf(s.id);
    return h("tr", { "data-state": state }, cells(s).map((text) => h("td", {}, text)), h("td", { text: word }));
  };
  const head = ["saved", "value", "shape", "size", "version", "state"].map((text) => h("th", { scope: "col", text }));
  const table = { class: "al-saved", "aria-label": `Saved by ${node.label}` };
  const summary = `What ${rows.map((s) => s.name).join(", ")} mean${rows.length > 1 ? "" : "s"}`;
  return [
    h("div", { class: "al-scroll" }, h("table", table, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(row)))),
    h("details", { class: "al-kept", open: opened.has(node) }, h("summary", { text: summary, onclick: () => opened.delete(node) || opened.add(node) }), rows.map((s) => h("p", { text: keptWords(trace, s.id) }))),
  ];
}
