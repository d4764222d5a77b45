// The Details: what this step does, and everything known about the selected node.
import { breakable, h, nameScrollers } from "./dom.js";
import { fitFormulas, renew } from "./fitting.js";
import { stepNumber } from "./beats";
import { againNote, grouped, valueView, shapeWords, words, short, isBad } from "./values.js";
import { arrivedAt, soFar, edgesInto, madeOf, ownStep, resultsOf, sentAlong, sharersOf, whyMissing } from "./states.js";
import { mood, rehearsed } from "./moods.js";
import { changedSince, histograms } from "./histogram.js";
import { keptName, keptTable } from "./kept.js";
import { mathmlOf } from "./mathml.js";
import { Pictures } from "./pictures.js";

// What happened, or what would happen in a dry run.
const EVENT_WORDS = {
  compute: ["A value is computed"],
  seed: ["The gradient starts", "The gradient would start"],
  contribution: ["A contribution arrives", "A contribution would arrive"],
  accumulate: ["The gradient is accumulated", "The gradient would be accumulated"],
  free: ["The buffer is freed", "The buffer would be freed"],
  update: ["A leaf is changed"],
  hook: ["A hook changes the gradient", "A hook would change the gradient"],
  rule: ["An exchanged rule changes the gradient"],
  return: ["The gradient is handed back"],
  clear: ["The gradient is cleared"],
  error: ["An error"],
  asked: ["A question"],
};

const MOST_KEPT = 640, MOST_LAYERS = 24;

// Return a value within a line of text: its numbers, or only its shape if there are many.
function inLine(value) {
  return words(value).length > 30 ? `shape ${shapeWords(value.shape)}` : words(value);
}

// Return "indices: where", or "indices" for a result without a name.
function outputWords({ name, label }) {
  return !label || label.startsWith(`${name} of `) ? name : `${name}: ${label}`;
}

function settingText(value) {
  return Array.isArray(value) ? `(${value.join(", ")})` : typeof value === "boolean" ? short(value) : String(value);
}

function attributeText(value) {
  if (Array.isArray(value)) return `[${value.map(attributeText).join(", ")}]`;
  return typeof value === "boolean" ? short(value) : JSON.stringify(value);
}

function settingWords({ optimizer, settings }) {
  return [optimizer, ...Object.entries(settings).map(([name, value]) => `${name} = ${settingText(value)}`)].join(", ");
}

function smallButton(text, onclick) {
  return h("button", { type: "button", class: "al-small", text, onclick });
}

export class Details {
  constructor(element, trace, formulas, actions) {
    Object.assign(this, { element, trace, formulas, actions, tallest: 0 });
    this.nodeById = new Map(trace.nodes.map((node) => [node.id, node]));
    this.pictures = new Pictures(trace, (tex) => this.formula(tex, ""));
    this.element.addEventListener("click", () => this.fit()); // a card was opened, or numbers were
    this.offers = new Map(); // by closed box; reused, so that the focus stays during a step
  }

  forgetHeight() {
    this.tallest = 0;
    this.element.style.minHeight = "";
  }

  update(index, now, selected) {
    const frame = this.trace.frames[index],
      node = this.nodeById.get(selected || (frame ? frame.node : this.trace.meta.roots?.[0]) || "n0");
    const about = !selected || selected === frame?.node; // a step of another node is not told beside a chosen node
    renew(this.element, () => [
      frame && about ? this.step(frame, index, now) : null,
      node ? this.pictures.view(node, index, now.computed.has(node.id)) : null,
      node ? this.offer(node) : null,
      node ? this.node(node, now, Boolean(selected), frame) : null,
    ]);
  }

  // Runs after all other page changes of a step, because reading sizes causes a page layout.
  settle() {
    this.fit();
    // Grow if needed and never shrink, so that the page below does not jump at every step.
    const high = Math.min(MOST_KEPT, Math.max(this.tallest, this.element.offsetHeight));
    if (high !== this.tallest) this.element.style.minHeight = `${(this.tallest = high)}px`;
  }

  // A closed box has no pictures of its own: offer those of the layers inside it, without opening it.
  offer(node) {
    const around = this.actions.layersAround(node.id);
    if (!around) return null;
    if (!this.offers.has(around.box)) this.offers.set(around.box, this.makeOffer(around.label, around.nodes()));
    const offer = this.offers.get(around.box);
    for (const button of offer?.querySelectorAll("button") ?? []) button.setAttribute("aria-pressed", String(button.dataset.node === node.id));
    return offer;
  }

  makeOffer(label, nodes) {
    if (!nodes.length) return null;
    const words = (node) => [node.module || node.label, node.layer.kind].join(", ");
    const button = (node) =>
      h("button", { type: "button", class: "al-small", "data-node": node.id, text: words(node), onclick: () => this.actions.select(node.id) });
    const more = nodes.length - MOST_LAYERS;
    return h(
      "section",
      { class: "al-offer", role: "group", "aria-label": `Pictures of the layers in ${label}` },
      h("div", { class: "al-name", text: `pictures in ${label}` }),
      nodes.slice(0, MOST_LAYERS).map(button),
      more > 0 ? h("span", { class: "al-note", text: `and ${more} more: open the box` }) : null,
    );
  }

  fit() {
    fitFormulas(this.element);
    nameScrollers(this.element);
  }

  label(id, nr = 0) {
    const node = this.nodeById.get(id);
    return node?.outputs[nr]?.label || (node?.label ?? id);
  }

  // Return what sends gradients on: a result, or the operation if it has several.
  ruleOf(id) {
    const node = this.nodeById.get(id);
    return resultsOf(node).length ? node.call : this.label(id);
  }

  formula(tex, caption) {
    if (!tex) return null;
    const box = h("div", { class: "al-formula" });
    const mathml = mathmlOf(this.formulas, tex);
    if (mathml) box.innerHTML = mathml;
    else box.append(h("code", { text: tex }));
    return h("div", { class: "al-row" }, h("div", { class: "al-name", text: caption }), box);
  }

  // `of`: the node or step that can say why there is no value.
  quantity(caption, value, label, of = null) {
    const shown = valueView(value, label, whyMissing(this.trace, of));
    return h("div", { class: "al-row" }, h("div", { class: "al-name", text: caption }), shown, againNote(this.trace, of, value));
  }

  step(frame, index, now) {
    const box = h(
      "section",
      { class: `al-step al-${frame.event === "error" ? "broken" : frame.phase}` },
      h("h2", { text: this.heading(frame) }),
    );
    const show = {
      compute: this.compute,
      update: this.update_,
      contribution: this.contribution,
      accumulate: this.sum,
      seed: this.seed,
      hook: this.changed,
      rule: this.changed,
      free: this.free,
      return: this.handed,
      error: this.error,
    }[frame.event];
    if (show) box.append(...show.call(this, frame, index, now).filter(Boolean));
    return box;
  }

  heading({ event, state }) {
    if (event === "return" && state !== "returned") return "No gradient is handed back";
    const [is, would] = EVENT_WORDS[event] ?? [event];
    return would ? mood(this.trace, is, would) : is;
  }

  // Show what grad() returns for one of its inputs.
  handed(frame) {
    const label = this.label(frame.receiver, frame.nr), name = frame.name ? `handed back as ${frame.name}` : "handed back by grad()";
    return [
      this.formula(frame.tex, "formula"),
      frame.value ? this.quantity(name, frame.value, `gradient of ${label}, ${name}`) : h("p", { class: "al-plain", text: `None is ${name}.` }),
      h("p", { class: "al-plain", text: `grad() accumulates nothing: ${label}.grad stays as it was.` }),
    ];
  }

  compute(frame) {
    const node = this.nodeById.get(frame.node);
    const locals = edgesInto(this.trace, node.id).filter((e) => e.differentiable);
    return [
      this.formula(node.tex, "formula"),
      node.tex_numbers !== node.tex ? this.formula(node.tex_numbers, "with numbers") : null,
      ...(resultsOf(node).length ? [] : [this.quantity("value", frame.value, `value of ${node.label}`, node)]), // listed below, one by one
      ...locals.map((edge) => this.derivative(edge)),
    ];
  }

  // Show how an optimizer's step or an in-place operation changed a leaf.
  update_(frame) {
    const node = this.nodeById.get(frame.node), leaf = this.nodeById.get(frame.receiver), { update } = node;
    const changed = edgesInto(this.trace, frame.node).find((edge) => edge.update), before = this.nodeById.get(changed?.parent);
    const lines = update?.lines.length ? update.lines.map((line) => this.pair(line.tex, line.tex_numbers)) : [this.formula(node.tex, "formula")];
    return [
      update ? h("p", { class: "al-plain", text: [update.call, settingWords(update)].filter(Boolean).join(": ") }) : null,
      ...lines,
      before ? this.quantity("before", before.value, `${before.label}, before`) : null,
      this.quantity("after", frame.value, `${leaf.label}, after`),
      h("p", { class: "al-plain", text: `${leaf.label} is the same tensor, changed in place: no gradient flows through an update.` }),
    ];
  }

  // Return a formula with symbols, and beside it with numbers.
  pair(tex, numbers) {
    const row = this.formula(tex, "");
    row.append(h("div", { class: "al-pair" }, row.lastElementChild, numbers ? this.formula(numbers, "").lastElementChild : ""));
    return row;
  }

  // Show symbols and numbers of one edge's rule in one line, because they are short and belong together.
  derivative(edge) {
    const name = `${edge.tex.startsWith("\\frac") ? "local derivative" : "gradient rule"} for ${this.operand(edge)}`;
    if (!edge.tex) return null;
    // Otherwise there is no formula, as for a learner's own function.
    const known = ![" = ", " \\approx "].some((sign) => edge.tex_numbers.startsWith(edge.tex + sign));
    const both = known && edge.tex_numbers && edge.tex_numbers !== edge.tex;
    const row = this.formula(known ? edge.tex : edge.tex_numbers, name);
    const numbers = both ? this.formula(edge.tex_numbers, "").lastElementChild : "";
    row.append(h("div", { class: "al-pair" }, row.lastElementChild, numbers));
    return row;
  }

  operand(edge) {
    const twice = edgesInto(this.trace, edge.child).filter((e) => e.parent === edge.parent && e.parent_nr === edge.parent_nr).length > 1;
    return this.label(edge.parent, edge.parent_nr) + (twice ? ` (operand ${edge.slot + 1})` : "");
  }

  seed(frame) {
    return [this.formula(frame.tex, "formula"), this.quantity(mood(this.trace, "starts with", "would start with"), frame.value, "starting gradient")];
  }

  contribution(frame, index, now) {
    const edge = edgesInto(this.trace, frame.node).find((e) => e.id === frame.edge),
      parent = this.label(frame.receiver, frame.nr);
    return [
      edge ? this.derivative(edge) : null,
      ...this.arrived(frame.node, index),
      frame.tex && (!edge || ![edge.tex, edge.tex_numbers].includes(frame.tex))
        ? this.formula(frame.tex, "chain rule")
        : null,
      this.arrivals(frame, index),
      ...this.sum(frame, index, now, parent),
    ];
  }

  // Show the gradient that has arrived at a node up to a step, for each of its results that has one.
  arrived(id, index) {
    const each = this.nodeById.get(id).outputs.map((out, nr) => [this.label(id, nr), arrivedAt(this.trace, id, index, nr)]).filter(([, grad]) => grad);
    const all = each.length ? each : [[this.label(id), arrivedAt(this.trace, id, index)]];
    return all.map(([label, grad]) => this.quantity(`gradient at ${label}`, grad, `gradient at ${label}`));
  }

  // Show what the node has sent to each of its operands so far, one line each.
  arrivals(frame, index) {
    const edges = edgesInto(this.trace, frame.node).filter((e) => e.differentiable);
    if (edges.length < 2) return null;
    const sent = new Map();
    for (const { id } of edges) {
      const value = sentAlong(this.trace, id, index);
      if (value !== undefined) sent.set(id, inLine(value));
    }
    return h(
      "div",
      { class: "al-row" },
      h("div", { class: "al-name", text: `${this.ruleOf(frame.node)} ${mood(this.trace, "sends", "would send")}` }),
      h(
        "ul",
        { class: "al-sent" },
        edges.map((edge) =>
          h(
            "li",
            { class: edge.id === frame.edge ? "al-this" : "" },
            `to ${this.operand(edge)}: `,
            h("b", { text: sent.get(edge.id) ?? "not yet" }),
          ),
        ),
      ),
    );
  }

  sum(frame, index) {
    const before = soFar(this.trace, index),
      label = this.label(frame.receiver, frame.nr),
      what = frame.event === "accumulate" ? `${label}.grad` : `gradient at ${label}`;
    const part = (name, value, missing) => {
      const shown = value ? valueView(value, `${what}, ${name}`) : h("span", { class: "al-scalar", text: missing });
      return h("div", { class: "al-term" }, h("div", { class: "al-name", text: name }), shown);
    };
    return [
      h(
        "div",
        { class: "al-row" },
        h("div", { class: "al-name", text: what }),
        h(
          "div",
          { class: "al-sum" },
          part("before", before, "nothing"),
          part(mood(this.trace, "arrives", "would arrive"), frame.value, whyMissing(this.trace)),
          frame.state === "never" ? null : part(mood(this.trace, "now", "would be"), frame.total, whyMissing(this.trace)),
        ),
      ),
    ];
  }

  // Show a gradient before and after a hook or a replaced rule.
  changed(frame) {
    const label = this.label(frame.receiver, frame.nr), by = frame.event === "hook" ? "hook" : "rule";
    return [
      this.quantity("has arrived", frame.value, `gradient at ${label}, has arrived`),
      this.quantity(mood(this.trace, `the ${by} gives`, `the ${by} would give`), frame.total, `gradient at ${label}, after the ${by}`),
    ];
  }

  free(frame) {
    const saved = this.trace.saved.filter((s) => s.node === frame.node),
      label = this.ruleOf(frame.node),
      them = saved.length > 1 ? "them" : "it";
    const names = [...new Set(saved.map((s) => keptName(this.trace, s) || s.name))].join(", ");
    const kept = `${label} kept ${names} for this step, and ${mood(this.trace, "frees", "would free")} ${them} now.`;
    const text = saved.length ? `${kept} A second backward pass through ${label} would need ${them}.` : `${label} had saved no tensors.`;
    return [h("p", { class: "al-plain", text })];
  }

  savedWord(state) {
    return state === "freed" && rehearsed(this.trace) ? "would be freed" : state || "not yet";
  }

  error(frame) {
    const { failures, error: last } = this.trace.meta, error = failures?.[frame.node] ?? last;
    if (!error) return [h("div", { class: "al-error", role: "note", text: frame.text })];
    return [
      h(
        "div",
        { class: "al-error", role: "note" },
        h("b", { text: error.message ? `${error.type}: ` : error.type }),
        error.message,
        (error.notes ?? []).map((note) => h("p", { text: note })),
      ),
      error.operands?.length ? this.operands(error.operands) : null,
      this.places(error.places ?? []),
      error.inside ? this.line(error.inside, "raised in ") : null,
      error.source && !this.nodeById.get(frame.node)?.source ? this.line(error.source) : null,
    ];
  }

  // Show the operands of a failed operation side by side, so that a mismatch is visible.
  operands(rows) {
    const cells = ({ name, node, nr, shape, dtype, device }) => [name, this.label(node, nr), shapeWords(shape), dtype, device];
    return h(
      "div",
      { class: "al-scroll" },
      h(
        "table",
        { class: "al-operands", "aria-label": "What it was given" },
        h("thead", {}, h("tr", {}, ["operand", "is", "shape", "dtype", "device"].map((text) => h("th", { scope: "col", text })))),
        h("tbody", {}, rows.map((row) => h("tr", {}, cells(row).map((text) => h("td", { text }))))),
      ),
    );
  }

  // Show other nodes involved in the error: which one saved a tensor, which one changed it.
  places(places) {
    if (!places.length) return null;
    const button = ({ node }) =>
      h("button", { type: "button", class: "al-small", onclick: () => this.actions.select(node), text: this.label(node) });
    return h(
      "ul",
      { class: "al-places", "aria-label": "What has to do with it" },
      places.map((place) => {
        const node = this.nodeById.get(place.node), line = place.line ?? node?.source;
        return h("li", {}, node ? [button(place), " "] : null, place.words, line ? this.line(line) : null);
      }),
    );
  }

  toStep({ id }, frame) {
    const { frames } = this.trace, step = ownStep(this.trace, id);
    if (step < 0 || frames[step] === frame) return null;
    const word = { compute: "Computed in", update: "Changed in", error: "Failed in" }[frames[step].event] ?? "First gradient:";
    return smallButton(`${word} step ${grouped(stepNumber(this.trace, step))}`, () => this.actions.goTo(step));
  }

  line({ file, line, text }, before = "") {
    return h(
      "div",
      { class: "al-source" },
      h("div", { class: "al-name", text: `${before}${file}, line ${line}` }),
      text.trim() ? h("code", { text: text.trim() }) : null,
    );
  }

  node(node, now, picked, frame) {
    const known = now.computed.has(node.id),
      state = now.states[node.id];
    const title = h(
      "h2",
      {},
      h("span", { text: madeOf(node) }),
      node.error ? `: ${node.op} failed` : { op: ` = ${node.op}`, leaf: ", a leaf", update: `, by ${node.op}` }[node.kind] ?? ", data",
    );
    const box = h(
      "section",
      { class: "al-about" },
      h(
        "div",
        { class: "al-heading" },
        title,
        picked ? this.toStep(node, frame) : null,
        picked ? smallButton("Follow the steps", () => this.actions.select("")) : null,
      ),
    );
    if (known && node.error) box.append(h("p", { class: "al-bad", text: `${node.call} failed: there is no result.` }));
    else if (known && resultsOf(node).length); // they are listed below, one by one
    else if (known) box.append(this.quantity("value", node.value, `value of ${node.label}`, node), changedSince(this.trace, node, now));
    else
      box.append(h("div", { class: "al-row" }, h("div", { class: "al-name", text: "value" }), h("span", { class: "al-unknown", text: "not computed yet" })));
    if (node.requires_grad || state === "never") {
      const holds = !["none", "never", "freed"].includes(state), several = resultsOf(node).length > 0;
      const grad = holds && !several ? now.gradients[node.id] : null;
      box.append(
        h(
          "div",
          { class: "al-row" },
          h("div", { class: "al-name", text: "gradient" }),
          h(
            "div",
            { class: "al-gradcell" },
            h("span", { class: "al-state", "data-state": state, text: now.words[node.id] }),
            now.why[node.id] ? h("span", { text: now.why[node.id] }) : null,
            grad ? valueView(grad, `gradient of ${node.label}`) : null,
          ),
        ),
        ...(holds && several && frame ? this.arrived(node.id, frame.index) : []),
      );
    }
    box.append(...this.saved(node, now));
    if (!(frame?.event === "compute" && frame.node === node.id))
      box.append(...[this.formula(node.tex, "formula")].filter(Boolean));
    box.append(this.facts(node), ...this.outputs(node), ...histograms(this.trace, node, now));
    if (node.source) box.append(this.line(node.source));
    return box;
  }

  facts(node) {
    const own = this.trace.meta.library === "foreign"; // objects of a learner's own engine have nothing but their shape
    const graph = own ? [] : [
      ["grad_fn", node.grad_fn || "None"],
      ["is_leaf", node.grad_fn ? "False" : "True"],
      ["requires_grad", node.requires_grad ? "True" : "False"],
    ];
    const facts = [
      ...(node.kind === "update" ? Object.entries(node.update?.settings ?? {}).map(([name, value]) => [name, settingText(value)]) : graph),
      ["shape", shapeWords(node.shape)],
      ["dtype", own ? "" : node.dtype],
      ["device", own ? "" : [node.device, this.trace.meta.devices?.[node.device]?.title].filter(Boolean).join(", ")],
    ];
    if (node.error) facts.length = 0; // these facts describe a result
    if (node.mark) facts.unshift(["here", node.mark]);
    for (const [name, value] of Object.entries(node.attrs ?? {}))
      facts.push([name, attributeText(value)]);
    const sharers = sharersOf(this.trace, node);
    if (sharers.length) facts.push(["shared by", sharers.join(", ")]);
    else if (node.module) facts.push(["module", node.module]);
    if (node.version) facts.push(["version", String(node.version)]);
    if (node.cut) facts.push(["cut by", node.cut]);
    const full = node.value && node.value.shape.length === 0 ? String(node.value.data ?? "") : "";
    if (full && full !== words(node.value)) facts.push(["all digits", full]);
    if (isBad(node.value)) facts.push(["warning", "holds NaN or inf"]);
    return h(
      "dl",
      { class: "al-facts" },
      facts
        .filter(([, text]) => text)
        .map(([name, text]) => {
          const long = name === "grad_fn" || text.length > 9 ? "al-long" : null; // a row of its own
          return [h("dt", { class: long }, breakable(name)), h("dd", { class: long, text })];
        }),
    );
  }

  outputs(node) {
    const outputs = node.outputs ?? [];
    const shown = outputs.map((out) => this.quantity(outputWords(out), out.value, `output ${out.name}`));
    return outputs.length < 2 ? [] : [h("div", { class: "al-name", text: "outputs" }), ...shown];
  }

  saved(node, { saved }) {
    return keptTable(this.trace, node, (id) => [saved[id], this.savedWord(saved[id])]);
  }
}
