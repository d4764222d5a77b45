// Unpack a trace from the columns made by `pack` in packing.py, and add numbers that arrive later.
import { mood } from "./moods.js";

const HOLE = "\x7f";

const known = new WeakMap();

// Return the beats in packed data; [] if there are none.
export function beatsOf(data) {
  if (!data?.beats) return [];
  if (!known.has(data)) known.set(data, records(data.beats));
  return known.get(data);
}

export function unpack(data) {
  const trace = { ...data }, values = records(data.values), at = (i) => (i === null ? null : values[i]);
  for (const part of ["nodes", "edges", "saved", "frames"]) {
    trace[part] = records(data[part]);
    for (const record of trace[part]) {
      for (const key of ["value", "grad", "grad_before", "total"]) if (key in record) record[key] = at(record[key]);
      if (record.outputs) record.outputs = record.outputs.map((output) => ({ ...output, value: at(output.value) }));
    }
  }
  trace.beats = beatsOf(data);
  if (!trace.beats.length) trace.beats = trace.frames.map(({ index, phase, run, node }) => ({ phase, run, node, title: node ? (trace.nodes[Number(node.slice(1))]?.label ?? "") : "", first: index, last: index, parts: [index], says: ["", ""], notes: [] }));
  trace.titles = data.titles ? Object.fromEntries(records(data.titles).map(({ of, title }) => [of, title])) : {};
  trace.passes = data.passes.map((pass) => ({ ...pass, never: Object.fromEntries(records(pass.never).map(({ of, why }) => [of, why])) }));
  if (data.light) for (const frame of trace.frames) frame.text = sentence(trace, frame);
  return trace;
}

// Add the data of `details` in packing.py: the numbers of one step and one node of a trace sent without numbers.
export function addDetails(trace, data) {
  const part = unpack(data), by = (list) => (record) => Object.assign(list[Number(record.id.slice(1))], record);
  part.nodes.forEach(by(trace.nodes));
  part.edges.forEach(by(trace.edges));
  part.saved.forEach(by(trace.saved));
  for (const frame of part.frames) Object.assign(trace.frames[frame.index], frame);
}

// Copy one object that has all names: if a dozen names are added one by one, browsers create a hash table, ten times
// as large.
function records({ length, columns, rows, at }) {
  const empty = JSON.parse(JSON.stringify(Object.fromEntries(Object.keys(columns).map((name) => [name, null]))));
  const found = Array.from({ length }, () => ({ ...empty }));
  for (const [name, column] of Object.entries(columns)) {
    const number = column.at, own = Number.isInteger(number) ? { ...column, at: at.map((place) => rows[place][number]) } : column;
    itemsOf(own, length).forEach((item, i) => (found[i][name] = item));
  }
  return found;
}

function itemsOf(column, length) {
  if ("each" in column) return column.each;
  if ("forms" in column) return texts(column, length);
  if ("lists" in column) return itemsOf(column.lists, length).map((words) => (words ? words.split(" ") : []));
  if ("count" in column) return Array.from({ length }, (_, i) => i);
  if ("all" in column) return Array.from({ length }, () => column.all);
  const different = itemsOf(column.table, column.at.reduce((most, place) => Math.max(most, place), -1) + 1);
  return column.at.map((place) => different[place]);
}

// Split the forms at their holes once; the numbers of all texts are in one list.
function texts({ forms, at, fill }, length) {
  const cut = forms.map((form) => form?.split(HOLE)), numbers = fill?.split(" ");
  let next = 0;
  return Array.from({ length }, (_, i) => {
    const pieces = cut[at ? at[i] : 0];
    if (!pieces) return null;
    let text = pieces[0];
    for (let k = 1; k < pieces.length; k += 1, next += 1) text += (numbers ? numbers[next] : next) + pieces[k];
    return text;
  });
}

function sentence(trace, { event, node, receiver, name, state }) {
  const named = (of) => (of ? trace.nodes[Number(of.slice(1))].label : "");
  const op = node ? trace.nodes[Number(node.slice(1))].op : "", say = (...words) => mood(trace, ...words);
  return {
    compute: `${named(node)} = ${op}`,
    seed: `backward ${say("starts", "would start")} at ${named(node)}`,
    contribution: `${named(node)} ${say("sends", "would send")} its contribution to ${named(receiver)}`,
    accumulate: `${named(receiver)}.grad ${say("is", "would be")} complete`,
    free: `${named(node)} ${say("is", "would be")} done: what it saved ${say("is", "would be")} freed`,
    rule: `an exchanged rule changed the gradient of ${named(node)}`,
    hook: `a hook ${say("changed", "would change")} the gradient of ${named(node)}`,
    return: `grad() returns ${state === "returned" ? "the gradient" : "nothing"} for ${named(receiver)}${name ? ` as ${name}` : ""}`,
    update: `${named(receiver)} is changed`,
    clear: `${named(node)}.grad was changed, not by backward`,
    error: node && trace.nodes[Number(node.slice(1))].error ? `${op} failed` : `error at ${named(node)}`,
  }[event];
}
