// What a node saves for its backward: in the learner's words, and as a table.
import { breakable, h } from "./dom.js";
import { mood } from "./moods.js";
import { whyMissing } from "./states.js";
import { shapeWords, sizeWords, words } from "./values.js";

const OPERANDS = { self: "first operand", other: "second operand" };
const MOST_NAMES = 24; // characters of the names in a badge

function savedOf(trace, id) {
  // A trace that shows what would be trained leaves out some saved tensors, so ids are not positions.
  const at = trace.saved[Number(id.slice(1))];
  return at?.id === id ? at : trace.saved.find((one) => one.id === id);
}

// Return the state of what a card's operations save, and the text of its badge: "keeps a, b · 8 B". A tensor that is
// saved twice is counted once.
export function badgeOf(trace, ids, stateOf) {
  const states = ids.map(stateOf), state = ["modified", "alive", "freed"].find((one) => states.includes(one)) ?? "";
  if (!state) return { state, text: "keeps nothing yet" };
  const tensors = [...new Map(ids.map((id) => savedOf(trace, id)).map((one) => [one.source_node ? `${one.source_node} ${one.source_nr} ${one.version}` : one.id, one])).values()];
  const names = [...new Set(tensors.map((one) => keptName(trace, one) || one.name))].join(", ");
  const what = names.length > MOST_NAMES ? `${tensors.length} tensors` : names, bytes = tensors.reduce((sum, one) => sum + (isNumber(trace, one) ? 0 : (one.bytes ?? 0)), 0);
  const verb = state === "freed" ? mood(trace, "freed", "would free") : "keeps";
  return { state, text: `${verb} ${what}${state === "modified" ? ", changed since" : ""}${bytes ? ` · ${sizeWords(bytes)}` : ""}` };
}

// Return what a saved tensor is, in the learner's names: "x: mul keeps its first operand for the backward pass. PyTorch
// calls it _saved_self.".
export function keptWords(trace, id) {
  const saved = savedOf(trace, id), node = trace.nodes[Number(saved.node.slice(1))], op = node.op.replace(/_$/, "");
  const name = keptName(trace, saved), which = saved.source_node === saved.node ? "result" : OPERANDS[saved.name] ?? (name ? "operand" : saved.name);
  const version = saved.version ? `, in version ${saved.version},` : "";
  return `${name || saved.name}: ${op} keeps its ${which}${version} for the backward pass. PyTorch calls it _saved_${saved.name}.`;
}

// Numbers of the code take no memory worth counting.
function isNumber(trace, { source_node }) {
  const { kind, name, shape } = trace.nodes[Number(source_node?.slice(1))] ?? {};
  return kind === "data" && !name && !shape?.length;
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
  const columns = [
    ["saved", (s) => h("span", { title: keptWords(trace, s.id) }, breakable(keptName(trace, s) || s.name), keptName(trace, s) ? h("span", { class: "al-of", text: ` (${s.name})` }) : "")],
    ["value", (s) => (s.value ? words(s.value).replace(/^\w+\[[\d, ]*\], /, "") : whyMissing(trace, s))], // without dtype and shape
    ["shape", (s) => (s.shape?.length ? shapeWords(s.shape) : "")],
    ["size", (s) => sizeWords(s.bytes)],
    ["version", (s) => s.version || ""],
    ["state", (s) => stateOf(s.id)[1]],
  ].filter(([, cell]) => rows.some((s) => cell(s) !== ""));
  const row = (s) => h("tr", { "data-state": stateOf(s.id)[0] }, columns.map(([, cell]) => h("td", {}, cell(s))));
  const head = columns.map(([text]) => h("th", { scope: "col", text }));
  const table = { class: "al-saved", "aria-label": `Saved by ${node.label}` };
  return [
    h("div", { class: "al-scroll" }, h("table", table, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(row)))),
    h("details", { class: "al-kept", open: opened.has(node) }, h("summary", { text: "What it keeps, and why", onclick: () => opened.delete(node) || opened.add(node) }), rows.map((s) => h("p", { text: keptWords(trace, s.id) }))),
  ];
}
