// What if a number were different: the rerun, what changed, and whether the gradient predicted it.
import { h, svgEl } from "./dom.js";
import { fitPill } from "./lines";
import { narrow } from "./marks.js";
import { panelKeys, pathsBetween } from "./paths.js";
import { replay, tensorOf, Unknown } from "./replay.js";
import { signed } from "./text";
import { relation, shapeWords, short } from "./values.js";

const WAIT = 5000, LISTED_NODES = 8, DIGITS = 7;
const tidy = (number) => Number(number.toPrecision(DIGITS));

export class WhatIf {
  constructor(view) {
    this.view = view;
    const { trace, veil } = view, made = new Set(trace.edges.filter(({ update }) => update).map(({ child }) => child));
    const given = veil.length || trace.light || !trace.frames.length ? [] : trace.nodes.filter((node) => ["leaf", "data"].includes(node.kind) && !made.has(node.id) && node.dtype !== "bool" && tensorOf(node.value)?.data.length);
    this.used = new Map(trace.edges.map(({ parent, child }) => [parent, child]).reverse()); // the first node that uses each node
    this.given = given.filter(({ id }) => this.used.has(id));
    this.steps = veil.length ? [] : trace.nodes.filter(({ kind, update }) => kind === "update" && typeof update?.settings.lr === "number");
    this.button = h("button", { type: "button", class: "al-whatif", title: "What if: change a number, and the graph runs again", text: "What if", onclick: () => this.open() });
    this.button.hidden = !(this.given.length || this.steps.length);
    this.which = h("select", { "aria-label": "Change", onchange: () => this.choose() });
    this.field = h("input", { type: "number", step: "any", class: "al-field al-wide", "aria-label": "Its value", oninput: () => this.set(this.field) });
    this.slider = h("input", { type: "range", step: "any", "aria-label": "Its value, by slider", oninput: () => this.set(this.slider) });
    this.said = h("div", { role: "status", "aria-live": "polite" });
    const small = (text, onclick) => h("button", { type: "button", class: "al-small", text, onclick });
    this.element = h(
      "div",
      { class: "al-aside", role: "group", "aria-label": "What if", hidden: true, onkeydown: panelKeys(() => this.close()) },
      h("div", { class: "al-buttons al-asidebar" }, this.which, "= ", this.field, this.slider, small("As recorded", () => this.choose()), small("Close", () => this.close())),
      this.said,
    );
  }

  // List all numbers that can be changed; on demand, because a graph may have thousands.
  list() {
    if (this.options) return;
    const use = ({ id }) => this.view.trace.nodes[Number(this.used.get(id).slice(1))].label;
    this.options = this.given.flatMap((node) => {
      const { data } = tensorOf(node.value);
      return data.map((value, at) => ({ name: data.length > 1 ? `${node.label}[${indices(at, node.shape)}]` : node.label === short(value) ? `the number ${node.label}, in ${use(node)}` : node.label, node, at, value }));
    });
    for (const call of new Set(this.steps.map(({ update }) => update.call))) {
      const steps = this.steps.filter(({ update }) => update.call === call);
      this.options.push({ name: `learning rate of ${call}`, steps, value: steps[0].update.settings.lr });
    }
    this.which.append(...this.options.map(({ name }, i) => h("option", { value: i, text: name })));
  }

  open() {
    this.list();
    const picked = this.options.findIndex(({ node }) => node?.id === this.view.model.get("selected"));
    this.view.tools.close();
    this.element.hidden = false;
    if (picked >= 0) this.which.value = picked;
    if (!this.view.alone && !Object.keys(this.view.model.get("local") ?? {}).length) this.view.model.send({ kind: "need-local" });
    this.choose();
    this.view.fit();
    this.field.focus();
  }

  // Show the change made by `explorer.what_if`.
  tryOut() {
    const { node, at, value } = this.view.model.get("tried") ?? {};
    if (!node) return;
    this.list();
    const is = (one) => (node === "lr" ? one.steps : one.node?.id === node && one.at === at);
    const place = this.options.findIndex(is);
    if (place < 0) return;
    this.element.hidden = false;
    this.which.value = place;
    this.choose();
    this.field.value = this.slider.value = value;
    this.run(value);
    this.view.fit();
  }

  close() {
    this.element.hidden = true;
    this.changed = this.gradients = null;
    this.view.redraw(false);
    this.view.fit();
    this.button.focus();
  }

  choose() {
    this.option = this.options[Number(this.which.value)];
    const { value } = this.option, reach = Math.max(1, 2 * Math.abs(value));
    [this.slider.min, this.slider.max] = this.option.steps ? [0, 4 * value || 1] : [value - reach, value + reach];
    this.slider.value = this.field.value = value;
    this.run(value);
  }

  set(from) {
    const value = from.value === "" ? NaN : Number(from.value);
    if (!Number.isFinite(value)) return this.said.replaceChildren("Type a number.");
    if (from === this.field) this.slider.value = value;
    else this.field.value = tidy(value);
    this.run(from === this.field ? value : tidy(value));
  }

  edits(value) {
    const { node, at, steps } = this.option;
    if (steps) return Object.fromEntries(steps.map(({ id }) => [id, { lr: value }]));
    const { shape, data } = tensorOf(node.value);
    return { [node.id]: { shape, data: data.map((item, i) => (i === at ? value : item)) } };
  }

  run(value) {
    this.value = value;
    clearTimeout(this.waiting);
    this.asked = null;
    if (value === this.option.value) return this.show(new Map());
    try {
      this.show(replay(this.view.trace, this.edits(value)));
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      if (this.view.alone) return this.fail(`This cannot be run again on a page without a kernel: ${error.message}.`);
      this.asked = `${this.which.value} ${value}`;
      this.view.model.send({ kind: "what-if", edits: this.edits(value), id: this.asked });
      this.waiting = setTimeout(() => this.fail(`${error.message}; and the notebook's kernel, which could, does not answer.`), WAIT);
    }
  }

  // Show the result of a rerun in the kernel.
  onMessage(message) {
    if (message?.kind !== "what-if" || message.id !== this.asked) return;
    clearTimeout(this.waiting);
    if (message.why) this.fail(`This cannot be run again: ${message.why}.`);
    else this.show(new Map(Object.entries(message.values).map(([id, value]) => [id, tensorOf(value)])));
  }

  fail(text) {
    this.changed = new Map();
    this.gradients = null;
    this.said.replaceChildren(text);
    this.view.redraw(false);
  }

  show(values) {
    const { trace } = this.view, moved = ([id, { data }]) => data.some((x, i) => !Object.is(x, tensorOf(trace.nodes[Number(id.slice(1))].value)?.data[i]));
    this.changed = new Map([...values].filter(moved));
    this.gradients = this.changed.size ? (values.gradients ?? null) : null;
    this.tell();
    this.view.redraw(false);
  }

  tell() {
    const { trace } = this.view, at = (id) => trace.nodes[Number(id.slice(1))], ids = [...this.changed.keys()].filter((id) => id !== this.option.node?.id && at(id).kind !== "update");
    if (!this.changed.size) return this.said.replaceChildren(this.value === this.option.value ? "Change the number, and the graph runs again." : "This change has no effect on any result.");
    const results = trace.nodes.filter(({ id, kind }) => kind === "op" && !this.used.has(id));
    const last = results.findLast(({ id }) => this.changed.has(id)) ?? at(ids.at(-1) ?? this.option.node.id);
    const shown = ids.filter((id) => id !== last.id).slice(0, LISTED_NODES), more = ids.length - shown.length - Number(ids.includes(last.id));
    const checked = this.check(last), item = (id) => [h("span", { class: "al-was", text: `${at(id).label}: ${numbersOf(tensorOf(at(id).value))}` }), " → ", h("b", { text: numbersOf(this.changed.get(id)) })];
    this.said.replaceChildren(
      h("p", {}, [last.id, ...shown].filter((id) => this.changed.has(id)).flatMap((id, i) => [i ? "; " : "", ...item(id)]), more > 0 ? `; and ${more} more` : "", "."),
      checked ? h("p", { text: checked }) : "",
      h("p", { class: "al-note", text: "Grey: as recorded. Bold: after the change. Inspect shows the recording." }),
    );
  }

  // Return "Moved by 0.01: predicted 0.84, happened 0.83."
  check(result) {
    const { trace, model } = this.view, { node, at, value } = this.option, before = tensorOf(result.value), after = this.changed.get(result.id);
    if (!node || before?.data.length !== 1 || !after) return "";
    const happened = after.data[0] - before.data[0], by = this.value - value, said = `Moved by ${inDigits(by)}: ${result.label} changes by ${inDigits(happened)}.`;
    if (!node.requires_grad) return `${said} ${node.label} has no gradient that could have predicted it.`;
    const found = pathsBetween(trace, node.id, result.id, Object.fromEntries(Object.entries(model.get("local") ?? {}).map(([id, rows]) => [id, rows.map((row) => row.map(Number))])));
    if (!found.count) return `${said} No gradient flows from ${result.label} to ${node.label}${trace.edges.some(({ update }) => update) ? ": a step of an optimizer lies between" : ""}.`;
    if (!found.sum) return `${said} The gradient is not known here.`;
    const predicted = found.sum[0][at] * by, rest = happened - predicted;
    const rounding = (result.dtype === "float64" ? 1e-14 : 5e-7) * Math.max(Math.abs(before.data[0]), Math.abs(after.data[0]));
    const how = Math.abs(rest) <= Math.max(rounding, 1e-5 * Math.abs(happened)) ? "as predicted, up to rounding" : `the rest, ${inDigits(rest)}, is curvature`;
    return `Moved by ${inDigits(by)}: predicted ${inDigits(predicted)} (gradient ${inDigits(found.sum[0][at])} times ${inDigits(by)}), happened ${inDigits(happened)}; ${how}.`;
  }

  // Return what the cards show while a number is changed: the final state, whatever the current step.
  moment(now) {
    const { graph, trace, folding } = this.view;
    for (const card of graph?.cards.filter(({ whatIf }) => whatIf) ?? []) {
      card.whatIf = false;
      card.g.classList.remove("al-changed");
      card.value?.removeAttribute("textLength");
      card.look = null;
    }
    if (!this.changed?.size) return now;
    const parts = folding.parts.map(({ id }) => [id, { ...now.parts[id], computed: Infinity }]);
    return { ...now, computed: new Set(trace.nodes.map(({ id }) => id)), parts: Object.fromEntries(parts) };
  }

  // Write into the cards the old value in grey, the new one in bold.
  mark() {
    const { graph } = this.view, long = [];
    for (const card of graph?.cards ?? []) {
      const now = this.changed?.get(card.node.id), text = card.value;
      if (!now) continue;
      card.whatIf = true;
      card.look = null;
      card.g.classList.add("al-changed");
      this.markGradient(card, long);
      card.g.setAttribute("aria-label", `${card.node.label}, what if: changed from ${numbersOf(tensorOf(card.node.value))} to ${numbersOf(now)}`);
      if (!text || now.data.length !== 1) continue;
      const span = (name, content) => svgEl("tspan", { class: name, text: content });
      text.replaceChildren(span("al-was", `${numbersOf(tensorOf(card.node.value))} `), span("al-new", `→ ${numbersOf(now)}`));
      text.removeAttribute("textLength");
      long.push([text, card.g.dataset.w - 62]);
    }
    for (const card of graph?.cards ?? []) if (!this.changed?.has(card.node.id) && this.gradients) this.markGradient(card, long);
    for (const line of graph?.lines ?? []) this.markLine(line);
    narrow(long);
  }

  // Write the chain rule after the change on a line.
  markLine(line) {
    const { single, pillText } = line, part = this.gradients?.parts?.get(single?.id), arrived = part && this.gradients.get(single.child);
    if (!pillText || part?.data.length !== 1 || arrived?.data.length !== 1) return;
    line.look = null; // restore it with the next step
    const [from, to] = [arrived, part].map(({ data }) => data[0]), sign = (number) => signed(inDigits(number));
    const words = from ? [["al-eqback", sign(from)], ["al-eqsign", " × "], ["al-eqforward", sign(to / from)], ["al-eqsign", " = "]] : [];
    pillText.replaceChildren(...[...words, ["al-eqresult", sign(to)]].map(([name, text]) => svgEl("tspan", { class: name, text })));
    line.pill.setAttribute("visibility", "visible");
    fitPill(line);
  }

  // Write the gradient after the change beside the recorded one.
  markGradient(card, long) {
    const now = this.gradients?.get(card.node.id), text = card.number;
    if (!text || now?.data.length !== 1) return;
    const { frames } = this.view.trace, was = frames.findLast(({ receiver, total, event }) => receiver === card.node.id && total && event !== "free")?.total;
    const before = tensorOf(was), old = before ? numbersOf(before) : "";
    card.whatIf = true;
    card.look = null;
    card.name.textContent = "grad";
    card.grad.dataset.state = "accumulated";
    for (const { edge, g, text: slot } of card.slots.length > 4 ? [] : card.slots) {
      g.classList.remove("al-open");
      slot.textContent = numbersOf(this.gradients.parts?.get(edge));
    }
    const changed = before?.data[0] !== now.data[0];
    text.replaceChildren(...(changed ? [svgEl("tspan", { class: "al-was", text: `${old} ` }), svgEl("tspan", { class: "al-new", text: `→ ${numbersOf(now)}` })] : [svgEl("tspan", { text: old })]));
    text.removeAttribute("textLength");
    long.push([text, card.g.dataset.w - 60]);
  }
}

function inDigits(number) {
  return short(tidy(number));
}

function numbersOf(value) {
  if (!value) return "not known";
  return value.data.length === 1 ? inDigits(value.data[0]) : `${shapeWords(value.shape)} ${relation(value.data[0])} ${value.data.slice(0, 4).map(inDigits).join(", ")}${value.data.length > 4 ? ", …" : ""}`;
}

function indices(at, shape) {
  const found = [];
  for (let rest = at, i = shape.length - 1; i >= 0; rest = Math.floor(rest / shape[i]), i -= 1) found.unshift(rest % shape[i]);
  return found.join(", ");
}
