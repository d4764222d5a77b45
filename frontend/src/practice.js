// Be the engine (practice/session.py): the pass waits for the learner, and a wrong answer is carried out next to the
// right run.
import { h, prose, reducedMotion, svgEl } from "./dom.js";
import { agree, parse, parseShape } from "./answers.js";
import { openQuestions } from "./ask.js";
import { View } from "./explorer.js";
import { labelAbove } from "./marks.js";
import { startClock } from "./player.js";
import { entry } from "./entry.js";

const WORDS = { who: "which node", what: "what is sent", how: "how it arrives", then: "what is left", value: "values" };
const PAUSE = 450; // ms between two steps without a question

class Practice {
  constructor(model) {
    this.model = model;
    this.facts = model.get("practice");
    this.all = model.get("questions");
    this.open = openQuestions(model);
    this.now = this.open[0];
    this.begun = performance.now();
    this.said = h("div", { class: "al-askedsaid", role: "status", "aria-live": "polite" });
    this.place = h("div");
    this.element = h("div", { class: "al-ask al-practice", role: "group", "aria-label": "Practice", tabindex: "-1" }, this.heading(), this.place, this.said);
    // Keys used here must not step.
    this.element.addEventListener("keydown", (event) => event.key === "Escape" || event.stopPropagation());
    this.element.focus = (options) => (this.field ?? this.form ?? this.done ?? this.place).focus(options);
    this.now ? this.put() : this.finish();
    const before = this.all[this.all.length - this.open.length - 1], reply = before && this.replies()[before.id];
    // If the learner has answered meanwhile, there is already a newer text.
    if (reply) setTimeout(() => this.said.hasChildNodes() || this.say(h("p", { class: reply.right ? "al-right" : "", text: `${reply.shown ? "" : "Right. "}${before.said}` })), 60);
  }

  replies() {
    return this.model.get("replies") ?? {};
  }

  heading() {
    const { level, title, program, help, trains, mode, why } = this.facts, place = this.all.length - this.open.length + 1;
    const name = level ? `Level ${level}: ${title}` : "Be the engine";
    const parts = [why, trains, this.now && `question ${place} of ${this.all.length}`, mode === "forward" ? "forward" : "", `help: ${help}`];
    return [
      h("p", { class: "al-practicehead" }, h("strong", { text: name }), h("span", { class: "al-note", text: parts.filter(Boolean).join(" · ") })),
      program ? h("details", { open: this.shut() ? null : true, ontoggle: (event) => (closed.set(this.model, !event.target.open)) }, h("summary", { text: "The program" }), h("pre", { tabindex: "0", "aria-label": "The program", text: program.trim() })) : null,
    ].filter(Boolean);
  }

  shut() {
    return closed.get(this.model) ?? true;
  }

  // Show the question and the form for its answer.
  put() {
    const { form, text, choices, hint, formulas } = this.now, { help } = this.facts;
    const asked = h("p", { class: "al-asked", id: "al-decision" }, prose(text));
    const typed = form === "number" || form === "shape";
    this.field = typed ? h("input", { type: "text", class: "al-answer", autocomplete: "off", spellcheck: "false", "aria-label": text.replaceAll("`", ""), "aria-describedby": "al-how" }) : null;
    const button = ([value, words]) => h("button", { type: "button", text: words, onclick: () => this.judge(value, words) });
    const how = form === "shape" ? "Type a shape as (2, 3), and () for a single number." : `You can type a calculation, such as 2*3 or 3/4. The answer must be right within ${this.now.tolerance * 100} %.`;
    this.help = help === "hints" ? h("button", { type: "button", text: "Hint", onclick: () => this.hint() }) : null;
    const show = h("button", { type: "button", text: "Show me", onclick: () => this.giveUp() });
    this.form = h(
      "form",
      { tabindex: "-1", "aria-labelledby": "al-decision", onsubmit: (event) => this.submit(event) },
      asked,
      h("div", { class: "al-buttons" }, typed ? [this.field, h("button", { type: "submit", text: "Send" })] : choices.map(button), this.help, show),
      typed ? h("span", { class: "al-note", id: "al-how", text: how }) : null,
      form === "node" ? h("span", { class: "al-note", text: "Or click it in the graph; Enter on a card does the same." }) : null,
      typed && help === "full" && formulas.length ? h("div", { class: "al-buttons", role: "group", "aria-label": "Or a formula" }, h("span", { class: "al-note", text: "or:" }), formulas.map(button)) : null,
    );
    this.place.replaceChildren(this.form);
    if (help === "full") this.form.append(h("p", { class: "al-note", text: hint }));
  }

  hint() {
    this.hinted = true;
    this.help.disabled = true;
    this.say(h("p", { text: `Hint: ${this.now.hint}` }));
    this.field?.focus();
  }

  // Called when a card was clicked, or Enter pressed on it.
  chosen(id) {
    if (this.now?.form !== "node" || this.astray) return;
    const node = this.graph.nodeById.get(id);
    if (!node) return; // a closed part
    if (node.requires_grad) this.judge(id, node.label);
    else this.say(h("p", { text: "Nothing comes to it, and it sends nothing: it wants no gradient." }));
  }

  submit(event) {
    event.preventDefault();
    if (!this.field) return;
    const text = this.field.value.trim(), given = this.now.form === "shape" ? parseShape(text) : parse(text);
    if (!text) this.say(h("p", { text: "Answer first." }));
    else if (given === null) this.say(h("p", { text: this.now.form === "shape" ? "That is not a shape. Type its sizes, such as (2, 3)." : "That is not a number." }));
    else if (this.now.form === "number" && Array.isArray(given) && !Array.isArray(this.now.whole)) this.say(h("p", { text: "Type a single number." }));
    else this.judge(given, text);
  }

  right(given) {
    const { answer, also, whole, form, tolerance } = this.now;
    if (form !== "number") return [answer, ...also].some((item) => String(item) === String(given));
    if (Array.isArray(given)) return agree(given, whole, tolerance);
    return near(given, answer, tolerance);
  }

  judge(given, words) {
    const { now } = this, before = this.replies()[now.id] ?? { tries: 0, seconds: 0 }, right = this.right(given);
    const wrong = right ? null : now.wrong.find(({ answer }) => (now.form === "number" ? !Array.isArray(given) && near(given, answer, now.tolerance) : String(answer) === String(given)));
    const seconds = Math.round((performance.now() - this.begun) / 100) / 10;
    const help = this.facts.help === "full" ? "full" : this.hinted || before.help ? "hint" : "";
    this.keep({ answer: words, given, right, tries: before.tries + 1, over: right, shown: false, help, seconds, belief: wrong?.belief ?? "" });
    if (!right) this.carryOut(given, words, wrong);
  }

  giveUp() {
    const before = this.replies()[this.now.id] ?? { tries: 0, answer: "" };
    this.keep({ ...before, right: false, over: true, shown: true });
  }

  // Steps without a question are played, one by one. A new answer creates another view, which sees what was hidden.
  keep(reply) {
    const { model, now } = this;
    model.set("replies", { ...this.replies(), [now.id]: reply });
    if (reply.over) {
      model.set("selected", ""); // so that Details follow the steps again
      model.set("asked", this.open.slice(1).map(({ id }) => id).join(" "));
      const next = openQuestions(model)[0]?.until ?? Infinity, { frames } = model.get("data");
      playOn(model, now.until, Math.min(next, (frames.length ?? frames.node.length) - 1));
    }
    model.save_changes();
  }

  // Run the learner's rule up to its consequence, next to the right run.
  carryOut(given, words, wrong) {
    const { now } = this, off = typeof given === "number" && !now.whole ? given - now.answer : 0;
    const ends = wrong ? wrong.ends : Object.entries(now.spread).map(([name, [slope, end]]) => [name, fourDigits(end + slope * off), fourDigits(end)]);
    const says = wrong ? `${wrong.says}` : now.other || "That is not so.";
    this.astray = { at: wrong?.at ?? (now.form === "number" ? { [now.node]: words } : {}) };
    const back = h("button", { type: "button", class: "al-back", text: "Back", onclick: () => this.back() });
    this.place.replaceChildren(
      h(
        "div",
        { role: "group", "aria-label": "Your run" },
        h("p", {}, h("strong", { text: `Your answer: ${words}. ` }), wrong ? `The belief: ${wrong.belief}. ` : "", says),
        h("div", { class: "al-carried" }, ends.length ? endsTable(ends) : null, wrong ? descent(this.facts.walks, wrong.rule) : null),
        h("div", { class: "al-buttons" }, back),
      ),
    );
    this.field = back;
    this.mark();
    const told = ends.map(([name, mine, right]) => `${name} is ${mine}, in the right run ${right}`).join("; ");
    this.say(h("p", { class: "al-hidden", text: `Not right. ${says} ${told ? `Carried out: ${told}.` : ""}` }));
    back.focus({ preventScroll: true });
  }

  back() {
    this.astray = null;
    this.mark();
    this.say();
    this.put();
    this.element.focus();
  }

  // After drawing the graph: make cards clickable, and show the values of the learner's run.
  drawn(graph) {
    this.graph = graph;
    const of = (event) => event.target.closest?.(".al-node");
    graph.svg.addEventListener("click", (event) => of(event) && this.chosen(of(event).dataset.id));
    graph.svg.addEventListener("keydown", (event) => event.key === "Enter" && of(event) && this.chosen(of(event).dataset.id));
    this.mark();
  }

  mark() {
    if (!this.graph) return;
    for (const old of this.graph.svg.querySelectorAll(".al-yours")) old.remove();
    for (const [id, words] of Object.entries(this.astray?.at ?? {})) {
      const card = this.graph.svg.querySelector(`.al-node[data-id="${id}"]`);
      if (card) labelAbove(card, "al-yours", words.length > 12 ? "yours differs" : `yours: ${words}`);
    }
  }

  finish() {
    const replies = this.replies(), kinds = [...new Set(this.all.map(({ decision }) => decision))];
    const count = (kind) => this.all.filter(({ id, decision }) => decision === kind && replies[id]?.right && replies[id].tries === 1 && !replies[id].shown).length;
    const rows = kinds.map((kind) => [WORDS[kind], `${count(kind)} of ${this.all.filter(({ decision }) => decision === kind).length}`]);
    const live = this.model.get("live") !== false, again = h("button", { type: "button", text: "This graph again", onclick: () => this.again() });
    this.row = h("p", { hidden: true });
    this.more = h("span", { class: "al-buttons" });
    this.done = h("div", { tabindex: "-1", role: "group", "aria-label": "Result" },
      h("table", { class: "al-finals" }, h("caption", { text: "Right at the first try" }), h("tbody", {}, rows.map(([name, text]) => h("tr", {}, h("th", { scope: "row", text: name }), h("td", { text }))))),
      this.row,
      live ? null : h("p", { class: "al-note", text: "On this page answers are not kept." }),
      h("div", { class: "al-buttons" }, this.more, again));
    this.told();
    this.place.replaceChildren(this.done);
  }

  // Show the kernel's data about the level when the graph is done: how often it was right, and which level is next.
  told() {
    const { level, yours, next } = this.model.get("practice"), live = this.model.get("live") !== false;
    if (!this.done || !level || !live) return;
    const draw = (text, level) => h("button", { type: "button", text, onclick: () => this.model.send({ kind: "another", level }) });
    if (!this.more.hasChildNodes()) this.more.append(draw("Another graph"));
    if (next && next !== level && this.more.children.length < 2) this.more.append(draw(`Level ${next}`, next));
    this.row.hidden = yours === undefined;
    this.row.textContent = yours >= 3 ? "Three in a row were right at the first try: this level is yours." : `${yours} of 3 graphs in a row were right at the first try.`;
  }

  again() {
    const { model } = this;
    model.set("replies", {});
    model.set("asked", this.all.map(({ id }) => id).join(" "));
    model.set("step", this.all[0].until);
    model.save_changes();
  }

  pick() {}

  say(...content) {
    this.said.replaceChildren(...content);
  }
}

const closed = new WeakMap(); // models whose program is folded away

// Mirror of `alike` in practice/decision.py.
export function near(given, right, tolerance) {
  return Math.abs(given - right) <= tolerance * (Math.abs(right) > 1e-6 ? Math.abs(right) : 0.5);
}

// Return a number with four digits, like `words` in practice/decision.py.
function fourDigits(item) {
  return String(Number(item.toPrecision(4)));
}

function playOn(model, from, to) {
  if (reducedMotion() || to <= from) return void model.set("step", to);
  let step = from;
  const next = () => {
    if (model.get("step") !== step || step >= to) return; // the learner went elsewhere
    model.set("step", (step += 1));
    model.save_changes();
    setTimeout(next, PAUSE);
  };
  model.set("step", from);
  setTimeout(next, PAUSE);
}

function endsTable(ends) {
  const head = ["", "your run", "right run"].map((text) => h("th", { scope: "col", text }));
  const rows = ends.map(([name, mine, right]) => h("tr", {}, h("th", { scope: "row", text: name }), h("td", { class: "al-mine", text: mine }), h("td", { text: right })));
  return h("div", { class: "al-scroll al-named", role: "group", tabindex: "0", "aria-label": "Where it ends" }, h("table", { class: "al-finals" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

// Draw gradient descent by either rule, step by step.
function descent(walks, rule) {
  const right = walks?.right, mine = walks?.[rule];
  if (!right || !mine?.length) return null;
  const low = Math.min(...right), high = Math.max(...right), room = (high - low) * 0.6 || 1, W = 260, H = 110;
  const y = (value) => H - 8 - ((Math.max(low - room, Math.min(high + room, value)) - low + room) / (high - low + 2 * room)) * (H - 16);
  const line = (places, name) => svgEl("polyline", { class: name, points: places.map((value, i) => `${8 + (i * (W - 16)) / (right.length - 1)},${y(value)}`).join(" ") });
  const far = mine.length < right.length || Math.abs(mine.at(-1)) > 1e3;
  const words = `Gradient descent of ${walks.leaf} (rate ${walks.rate}): your rule takes it ${far ? "further and further away" : `to ${mine.at(-1)}`}, the right one to ${right.at(-1)}.`;
  return h("figure", { class: "al-descent" },
    svgEl("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img", "aria-label": words }, line(right, "al-walk"), line(mine, "al-walk al-walkmine")),
    h("figcaption", { text: words }));
}

class PracticeView extends View {
  panel(model) {
    return new Practice(model);
  }

  listen() {
    super.listen();
    const { leave } = this, told = () => this.ask.told();
    this.model.on("change:practice", told);
    this.leave = () => {
      this.model.off("change:practice", told);
      leave();
    };
  }

  drawGraph() {
    super.drawGraph();
    if (this.graph) this.ask.drawn(this.graph);
  }
}

export default entry(PracticeView, startClock, ["data", "asked"]);
