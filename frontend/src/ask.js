// Questions in an explorer (asking.py): what an open question hides, and the form for the answer.
import { h, prose, svgEl } from "./dom.js";
import { agree, parse, parseShape, shapeOf } from "./answers.js";
import { endOfStep } from "./player.js";

const HELD = "The next step shows the answer. Answer the question first, or choose “Show me”.";
const HIDDEN = "hidden until the question is answered";

// Return the open questions, the next one to answer first.
export function openQuestions(model) {
  const all = new Map((model.get("questions") ?? []).map((asked) => [asked.id, asked]));
  return (model.get("asked") ?? "").split(" ").filter(Boolean).map((id) => all.get(id));
}

// Return the trace up to the first frame that would give away an answer, with a frame that says so in its place.
// Later nodes have no value, shape, formula, picture or saved tensors.
export function veiled(trace, open) {
  if (!open.length) return trace;
  const until = Math.min(...open.map((asked) => asked.until)), { phase } = trace.frames[until];
  const about = open.find((asked) => asked.until === until).node, kinds = new Set(open.map(({ kind }) => kind));
  const seen = new Set(trace.frames.slice(0, until).flatMap(({ event, node, receiver }) => (event === "compute" ? [node] : event === "update" ? [node, receiver] : [])));
  const made = new Set(trace.edges.filter(({ update }) => update).map(({ child }) => child));
  const later = new Set(trace.nodes.filter(({ id, kind }) => (kind === "op" || made.has(id)) && !seen.has(id)).map(({ id }) => id));
  const aboutGradient = new Set(open.filter(({ kind }) => kind === "grad").map(({ node }) => node));
  const gone = { value: null, missing: HIDDEN, tex: "", tex_numbers: "", outputs: [], layer: null, update: null };
  const shapeless = kinds.has("shape") ? { shape: null, attrs: {} } : {};
  // The final state must not show yet. Values that a graph lost before it was traced are lost from the start.
  const forward = trace.frames.findLastIndex((frame) => frame.phase === "forward") >= until;
  const untold = ({ state }) => (trace.meta.source === "recording" && (state === "freed" || (forward && state === "modified")) ? { state: "alive" } : {});
  const stop = { index: until, phase, event: "asked", run: trace.frames[until - 1]?.run ?? 0, node: about, text: HELD };
  return {
    ...trace,
    meta: { ...trace.meta, explanation: null },
    nodes: trace.nodes.map((node) => ({ ...node, grad: null, layer: null, ...(later.has(node.id) ? { ...gone, ...shapeless } : {}) })),
    edges: trace.edges.map((edge) => (later.has(edge.child) || aboutGradient.has(edge.parent) ? { ...edge, tex: "", tex_numbers: "" } : edge)),
    saved: trace.saved.map((saved) => ({ ...saved, ...untold(saved), ...(later.has(saved.node) ? { value: null, missing: HIDDEN, ...(kinds.has("shape") ? { shape: null, bytes: null } : {}) } : {}) })),
    groups: trace.groups.map((group) => (group.kind === "iteration" ? { ...group, type: "" } : group)),
    frames: [...trace.frames.slice(0, until), { ...NOTHING, ...stop }],
    beats: [...trace.beats.filter(({ first }) => first < until).map((beat) => (beat.last < until ? beat : { ...beat, last: until - 1, parts: [...beat.parts.filter((part) => part < until - 1), until - 1], says: ["", ""], notes: [] })), { phase, run: stop.run, node: about, title: "?", first: until, last: until, parts: [until], says: ["", ""], notes: [] }],
    later,
    steps: trace.beats.length,
  };
}

const NOTHING = { edge: null, receiver: null, state: "", value: null, total: null, tex: "", dropped: [], name: "" };

// Parts show what they were made of, and an iteration shows its loss: hide both.
export function veiledFolding(folding, open) {
  if (!open.length) return folding;
  return { ...folding, parts: folding.parts.map((part) => (part.kind === "iteration" ? { ...part, type: "" } : part)) };
}

// Put a question mark in place of the requested value or gradient, and draw nothing that belongs to an answer.
export function veilGraph(graph, trace, open) {
  if (!open.length) return;
  for (const card of graph.cards) {
    if (trace.later.has(card.node.id)) card.valueText = "";
    const asked = open.find(({ node }) => node === card.node.id || card.rows.some((row) => row.node.id === node));
    if (asked) mark(card, card.rows.find(({ node }) => node.id === asked.node)?.g, asked.kind);
  }
  for (const { shape, edge } of graph.lines) if (edge.edges.some((id) => trace.later.has(graph.edgeById.get(id).parent))) shape?.replaceChildren();
}

// Draw a plain box with a question mark in place of the value or the gradient; at the top of a card that shows no
// value.
function mark({ g, value, number }, row, kind) {
  if (kind === "next") return;
  const gradient = ["grad", "state"].includes(kind), at = row ? Number(row.firstElementChild.getAttribute("y")) + 18 : Number((gradient ? number : value)?.getAttribute("y") ?? 24);
  const x = Number(g.dataset.w) - 58;
  const box = svgEl("rect", { x, y: at - 15, width: 44, height: 20, rx: 5 });
  g.append(svgEl("g", { class: "al-question", "aria-hidden": "true" }, box, svgEl("text", { x: x + 22, y: at, "text-anchor": "middle", text: "?" })));
  g.setAttribute("aria-description", "the question is about it");
}

export class Ask {
  constructor(model) {
    this.model = model;
    this.open = openQuestions(model);
    this.now = this.open[0];
    const all = model.get("questions") ?? [], replies = model.get("replies") ?? {}, last = (id) => Object.keys(replies).indexOf(id);
    this.element = all.length ? h("div", { class: "al-ask", role: "group", "aria-label": "Question", tabindex: "-1" }) : null;
    if (!this.element) return;
    this.said = h("p", { class: "al-askedsaid", role: "status", "aria-live": "polite" });
    const over = all.filter(({ id }) => replies[id]?.over).sort((a, b) => last(b.id) - last(a.id))[0];
    this.element.append(...(this.now ? [this.form(all)] : []), this.said);
    const before = this.now && replies[this.now.id];
    // A live region is read when its text changes, not when it is inserted. If the learner has answered meanwhile, it
    // already has a newer text.
    setTimeout(() => (this.said.hasChildNodes() ? null : before ? this.tell(before) : over ? this.conclude(over, replies[over.id]) : null), 60);
  }

  form(all) {
    const { text, form, choices } = this.now, place = all.length - this.open.length + 1;
    const label = { number: "Your answer", shape: "The shape", choice: "Its gradient is", node: "The node" }[form];
    const options = () => choices.map(([value, words]) => h("option", { value, text: words }));
    this.field = choices.length
      ? h("select", { "aria-label": label }, h("option", { value: "", text: form === "node" ? "choose, or click it" : "choose" }), options())
      : h("input", { type: "text", class: "al-answer", autocomplete: "off", spellcheck: "false", "aria-label": label, "aria-describedby": "al-how" });
    const how = { number: "You can type a calculation, such as 2*3 or 1/3. The answer must be right within 0.5 %.", shape: "Type a shape as (2, 3), and () for a single number.", choice: "", node: "" }[form];
    return h(
      "form",
      // Keys typed here must not step.
      { onsubmit: (event) => this.submit(event), onkeydown: (event) => event.key === "Escape" || event.stopPropagation() },
      h("p", { class: "al-asked" }, h("strong", { text: all.length > 1 ? `Question ${place} of ${all.length}: ` : "Question: " }), prose(text)),
      h("div", { class: "al-buttons" }, this.field, h("button", { type: "submit", text: "Check" }), h("button", { type: "button", text: "Show me", onclick: () => this.giveUp() })),
      how ? h("span", { class: "al-note", id: "al-how", text: Array.isArray(this.now.answer) && form === "number" ? `Type a list, such as [1, 2]. ${how}` : how }) : null,
    );
  }

  // Called when a node of the graph is clicked or focused.
  pick(id) {
    if (this.now?.form === "node" && this.now.choices.some(([node]) => node === id)) this.field.value = id;
  }

  submit(event) {
    event.preventDefault();
    const { form } = this.now, text = this.field.value.trim();
    const given = form === "number" ? parse(text) : form === "shape" ? parseShape(text) : text;
    if (!text) this.say("Answer first.");
    else if (given === null) this.say(form === "shape" ? "That is not a shape. Type its sizes, such as (2, 3)." : "That is not a number or a list of numbers.");
    else this.judge(given, text);
  }

  judge(given, text) {
    const right = this.is(given, this.now.answer), before = this.reply(), words = this.now.choices.find(([value]) => value === text)?.[1] ?? text;
    const why = right ? "" : this.why(given);
    const again = before.tries && before.answer === words; // "Check" was pressed twice
    this.keep({ answer: words, tries: before.tries + (again ? 0 : 1), right, given, why, shown: false, over: right });
    if (!right) this.tell(this.reply());
  }

  giveUp() {
    this.keep({ ...this.reply(), right: false, shown: true, over: true });
  }

  // Show that the question is why the steps end here.
  insist() {
    this.element?.classList.add("al-insists");
  }

  reply() {
    return this.model.get("replies")[this.now.id] ?? { answer: "", tries: 0, right: null, given: null };
  }

  keep(reply) {
    const { model, now } = this;
    model.set("replies", { ...model.get("replies"), [now.id]: reply });
    if (reply.over) {
      model.set("asked", this.open.slice(1).map(({ id }) => id).join(" ")); // creates another view, which sees what was hidden
      model.set("step", Math.min(endOfStep(model, now.shows), ...openQuestions(model).map(({ until }) => until)));
    }
    model.save_changes();
  }

  is(given, answer) {
    const { form, tolerance } = this.now;
    if (form === "number") return agree(given, typeof answer === "string" && !/^-?(nan|inf)$/.test(answer) ? parse(answer) : answer, tolerance);
    if (form === "shape") return String(given) === String(typeof answer === "string" ? parseShape(answer) : answer);
    return given === answer || this.now.choices.some(([value, words]) => value === given && words === answer);
  }

  // Return what is wrong with an answer; "" if that is not known.
  why(given) {
    return this.now.wrong.find(([item]) => this.is(given, item))?.[1] ?? "";
  }

  tell({ given, answer, why }) {
    const { form, answer: right } = this.now;
    const sizes = form === "number" && String(shapeOf(given)) !== String(shapeOf(right)) && (Array.isArray(right) ? "Type as many numbers as the tensor has, in lists that have its shape." : "Type a single number.");
    this.said.classList.remove("al-right");
    this.say(`Not ${form === "choice" ? `“${answer}”` : answer}. ${why || sizes || "Look at the graph again."}`);
  }

  conclude({ text, said, kind }, { right, tries }) {
    const asked = this.now ? `${text.replaceAll("`", "")} ` : "";
    const what = kind === "state" ? `The answer: ${said}` : `It is ${said}`, next = kind === "state" ? " Step through the backward pass to see it." : "";
    this.say(right ? `${asked}Right: ${said}${tries > 1 ? ` (try ${tries})` : ""}.${next}` : `${asked}${what}.${next}`);
    this.said.classList.toggle("al-right", Boolean(right));
  }

  // Empty it first, so that a repeated text is read out again.
  say(text) {
    this.said.replaceChildren(...prose(text));
  }
}
