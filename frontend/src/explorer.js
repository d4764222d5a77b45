// The explorer's view and its entry points. It needs only get, set, save_changes, on, off and send of its host, so it
// runs in any notebook and, with the small host of viz/html.py, in a page of its own.
import { HOLDS_STOPS, h, prose } from "./dom.js";
import { rehearsed } from "./moods.js";
import { grouped } from "./values.js";
import { deviceLegend, legend } from "./legend.js";
import { unpack, addDetails } from "./unpack.js";
import { momentAt } from "./states.js";
import { Folding } from "./folding.js";
import { Camera } from "./zoom.js";
import { Finder } from "./search.js";
import { Graph, LEAST_SCALE } from "./graph.js";
import { Details } from "./details.js";
import { Controls, onKey } from "./controls.js";
import { Pace, Turning } from "./view.js";
import { goTo, quietWhilePlaying, startClock } from "./player.js";
import { Late, layOut, drawHere, engineOf } from "./layout.js";
import { Ask, openQuestions, veilGraph, veiled, veiledFolding } from "./ask.js";
import { Compared } from "./compare.js";
import { Paths } from "./paths.js";
import { Tools } from "./tools.js";
import { WhatIf } from "./whatif.js";
import { entry } from "./entry.js";
import { passWheel } from "./scrolling.js";
import { attend, sentenceBox, stage } from "./stage.js";

const DETAILS_WIDTH = 380, CLOSE = 860, CLOSE_DETAILS = 330; // beside the graph; in JupyterLab beside its side bar, on 1280 px
const PATIENCE = 15000, BUSY = 1500, UNANSWERED = 2500; // ms that an answer of the kernel is waited for; where the browser can draw itself
const BARS = 124, MARGIN = 16; // px: what JupyterLab's own bars take of a window's height; what is below an exported explorer
const LEAST_ROOM = 440, LEAST_PANE = 180, LEAST_DETAILS = 180; // px that the widget, the graph and Details have in any window
const SHORT = 500, LEAST_SHORT = 100, TITLE = 36; // px: a window that is lower (a page at 200 %), what the graph has there, a page's own title
const MANY = 30; // nodes from which on a search box helps

export class View {
  constructor(model, el) {
    this.model = model;
    this.host = el;
    this.data = model.get("data");
    this.alone = model.get("live") === false; // an exported page: there is no kernel
    this.veil = openQuestions(model);
    this.trace = veiled(unpack(this.data), this.veil);
    this.ask = this.panel(model);
    this.compared = new Compared(this);
    this.paths = new Paths(this);
    this.whatIf = new WhatIf(this);
    this.foldings = {};
    this.folding = this.foldingOf(model.get("rankdir"));
    const many = `this graph has ${this.trace.nodes.length.toLocaleString("en")} nodes: its numbers stay in the notebook's kernel`;
    if (this.trace.light) this.trace.absent = this.alone ? many : "asked of the kernel";
    this.late = `${many}, which does not answer`;
    this.pane = h("div", { class: "al-pane", ...HOLDS_STOPS });
    this.details = h("div", { class: "al-details", role: "group", "aria-label": "Details", tabindex: "0" });
    passWheel(this.details);
    this.sentence = sentenceBox();
    this.camera = new Camera(this.pane, () => this.fit(), () => this.graph?.svg.clientWidth || 1);
    this.turning = new Turning(() => this.turn());
    this.pace = new Pace(model);
    this.tools = new Tools(this);
    this.controls = new Controls(model, (way) => this.camera.step(way), [this.turning.element, this.paths.button, this.tools.element]);
    this.controls.count.after(this.pace.element);
    this.finder = new Finder(this.trace, this.folding, {
      show: (id) => this.show(id),
      open: (parts) => this.open(parts),
    });
    const searched = this.folding.parts.length || this.trace.nodes.length > MANY;
    this.root = stage(
      el,
      "al",
      `Autograd explorer${this.compared.name ? ` of ${this.compared.name}` : ""}. Arrow keys step, space plays or pauses, Home and End jump.`,
      this.controls.element,
      searched ? this.finder.element : null,
      this.tools.bar,
      this.explanation(),
      this.sentence,
      this.why(),
      this.compared.element,
      this.ask.element,
      this.paths.element,
      this.whatIf.element,
      (this.main = h("div", { class: "al-main" }, h("div", { class: "al-left al-graphside" }, this.tools.map.box, this.tools.colouring.legend, (this.legend = legend(this.trace)), deviceLegend(this.trace.meta.devices)), this.details)),
    );
    this.formulas = { ...model.get("formulas") };
    this.text = new Details(this.details, this.trace, this.formulas, {
      select: (id) => this.select(id),
      goTo: (step) => goTo(model, step),
      layersAround: (id) => this.layersAround(id),
    });
    this.root.addEventListener("keydown", (event) =>
      onKey(event, model, this.graph?.walk, { ...this.camera.keys(), ...this.finder.keys(), ...this.tools.keys() }),
    );
    this.listen();
    this.tools.listen(this.root);
    this.root.classList.toggle("al-empty", !this.trace.nodes.length); // then only why is said
    this.drawGraph();
    this.play();
    this.whatIf.tryOut();
  }

  // After an answer: where what is said about it stands.
  takeFocus() {
    (this.ask.element ?? this.root).focus();
  }

  // What asks; a practice has its own.
  panel(model) {
    return new Ask(model);
  }

  foldingOf(rankdir) {
    return (this.foldings[rankdir] ??= new Folding(this.trace, veiledFolding(this.model.get("folding"), this.veil), rankdir));
  }

  // What autolab.explain() found.
  explanation() {
    const said = this.trace.meta.explanation;
    if (!said?.text.length) return null;
    return h(
      "div",
      { class: "al-explained", role: "note", "aria-label": "Explanation" },
      said.text.map((text) => h("p", {}, prose(text))),
      said.more ? h("p", { class: "al-more" }, prose(said.more)) : null,
    );
  }

  why() {
    const text =
      this.trace.meta.why ||
      (this.trace.frames.length
        ? ""
        : "There is nothing to step through here: this result was not computed from a recorded operation.");
    return text ? h("p", { class: "al-why", text }) : null;
  }

  listen() {
    const events = {
      "change:step": () => this.update(true),
      "change:selected": () => {
        this.ask.pick(this.model.get("selected"));
        this.update(false);
      },
      "change:playing": () => this.play(),
      "change:interval": () => this.pace.update(),
      "change:rankdir": () => this.turning.update(this.model.get("rankdir")),
      "change:ends": () => this.paths.update(),
      "change:tried": () => this.whatIf.tryOut(),
      "change:local": () => {
        this.paths.update();
        if (this.whatIf.changed?.size) this.whatIf.tell();
      },
      "change:dimmed": () => this.update(false),
      "change:svg": () => this.drawGraph(),
      "change:dot": () => this.layOut(),
      "msg:custom": (message) => {
        this.onDetails(message);
        this.whatIf.onMessage(message);
      },
    };
    const forget = attend(this.host, this.root, this.model, events, () => this.fit());
    const resized = () => {
      this.text.forgetHeight();
      this.fit();
    };
    addEventListener("resize", resized);
    this.leave = () => {
      removeEventListener("resize", resized);
      forget();
      for (const timer of [this.patience, this.owed, this.asking, this.unanswered]) clearTimeout(timer);
      this.left = true;
      this.graph?.stop();
      this.tools.leave();
    };
  }

  play() {
    this.turning.update(this.model.get("rankdir"));
    quietWhilePlaying(this.sentence, this.model);
    this.controls.update(this.trace.frames[this.model.get("step")]?.phase);
    this.shown = ""; // a screen reader reads what is written anew
    this.update(false);
  }

  select(id) {
    if (id === this.model.get("selected")) return;
    this.model.set("selected", id);
    this.model.save_changes();
  }

  drawGraph() {
    const markup = this.model.get("svg"), before = this.graph;
    if (markup) {
      if (!this.drawing) this.silent = false;
      before?.stop();
      const layouts = this.model.get("layouts");
      this.folding = this.finder.folding = this.foldingOf(layouts.LR ? "LR" : "TB");
      this.graph = new Graph(this.pane, this.trace, this.folding, markup, layouts, {
        select: (id) => this.select(id),
        toggle: (id) => this.toggle(id),
      });
      veilGraph(this.graph, this.trace, this.veil);
      this.tools.drawn();
      this.legend.querySelector(".al-key-local").parentElement.hidden = this.folding.down; // no line has one there
      if (!this.outdated()) this.waiting(false);
      this.settled = false;
      this.fit();
    } else {
      this.graph = null;
      this.pane.replaceChildren(h("p", { class: "al-why", text: "The graph is being laid out in the browser." }));
      if (this.alone) this.drawHere(this.model.get("expanded"));
      else this.layOut();
    }
    this.update(false);
  }

  // Whether this picture was asked for before the one that is waited for, which is still to come.
  outdated() {
    const same = (parts) => parts.length === this.wanted.length && this.wanted.every((id) => parts.includes(id));
    return Boolean(this.wanted) && same(this.model.get("expanded")) && !same([...this.graph.open]);
  }

  // In the browser, when the kernel has no Graphviz. A message may be lost, or wait until a cell has ended: what draws is then
  // asked for again, and the picture that the kernel does not make is made here.
  async layOut() {
    const dots = this.model.get("dot"), wanted = () => !this.left && this.model.get("dot") === dots;
    if (!Object.keys(dots).length) return;
    try {
      await layOut(this.model, dots);
      this.owed = setTimeout(() => wanted() && this.drawHere(this.model.get("expanded")), BUSY);
    } catch (error) {
      if (!wanted()) return;
      const late = error instanceof Late;
      this.cannot(late ? `The graph is not drawn yet: ${error.message}. If no cell is running, run this one again.` : `The graph cannot be drawn: ${error.message}`);
      if (late) this.layOut();
    }
  }

  // Said beside the picture that is there, else in its place; once.
  cannot(text) {
    if (this.graph) this.finder.say(text);
    else if (this.pane.textContent !== text) this.pane.replaceChildren(h("p", { class: "al-error", role: "alert", text }));
  }

  // From top to bottom, or from left to right.
  turn() {
    const open = (this.wanted = [...this.goal]);
    this.model.set("rankdir", this.model.get("rankdir") === "TB" ? "LR" : "TB");
    this.waiting(true);
    if (this.alone) this.drawHere(open);
    else this.askFor(open);
  }

  toggle(part) {
    const open = new Set(this.goal);
    if (!open.delete(part)) open.add(part);
    this.open([...open], part);
  }

  // Opens the parts that hide a node or part, then focuses it.
  show(id) {
    const open = new Set([...this.goal, ...this.folding.opening(id)]);
    if (open.size > this.goal.length) this.open([...open], id);
    else this.focus(id);
  }

  focus(id) {
    const element = this.graph.elementOf(id);
    element?.focus({ preventScroll: true });
    if (element) this.graph.reveal([element]);
  }

  // The open parts: those that will be, where the picture of them is still being made.
  get goal() {
    return this.wanted ?? [...this.graph.open];
  }

  // Draws the graph with these parts open, and no others; then `focus` (a part or node) gets the focus. The kernel does
  // it; on an exported page, and where the kernel is gone or busy, the browser.
  open(parts, focus = "") {
    const order = new Map(this.folding.parts.map(({ id }, place) => [id, place]));
    const wanted = parts.sort((a, b) => order.get(a) - order.get(b));
    if (wanted.join() === this.goal.join()) return;
    this.wanted = wanted;
    this.next = { focus, at: focus && this.graph.elementOf(focus).getBoundingClientRect() };
    this.waiting(true);
    if (this.alone) this.drawHere(wanted);
    else this.askFor(wanted);
  }

  async askFor(wanted) {
    const engine = await engineOf(this.model), gone = engine?.comm_live === false;
    if (gone) return this.drawHere(wanted, engine);
    clearTimeout(this.patience);
    const late = () => {
      this.silent = true; // until it is heard of
      if (engine) this.drawHere(wanted, engine);
      else this.giveUp("the kernel does not answer; run the cell again");
    };
    this.patience = setTimeout(late, !engine ? PATIENCE : this.silent ? 0 : BUSY);
    this.model.set("expanded", wanted);
    this.model.save_changes();
  }

  drawHere(wanted, engine) {
    const folding = this.foldingOf(this.model.get("rankdir")), awaited = this.wanted;
    const still = () => this.wanted === awaited; // and not drawn by the kernel, or another one asked for
    const draw = async () => {
      this.drawing = true;
      await drawHere(this.model, folding, wanted, engine, still).catch((error) => this.giveUp(error.message, true));
      this.drawing = false;
      if (still()) this.waiting(false); // the picture was the one that is there
    };
    setTimeout(draw, 20); // first a paint: laying out keeps the browser busy
  }

  giveUp(reason, here = false) {
    this.waiting(false);
    this.next = null;
    this.finder.say(`This cannot be drawn: ${reason}.`);
    if (!this.graph) this.pane.replaceChildren(h("p", { class: "al-error", role: "alert", text: `The graph cannot be drawn: ${reason}` }));
    if (here) return;
    this.model.set("rankdir", this.graph.rankdir);
    this.model.set("expanded", [...this.graph.open]);
    this.model.save_changes();
  }

  waiting(now) {
    clearTimeout(this.patience);
    if (!now) this.wanted = null;
    this.pane.setAttribute("aria-busy", String(now));
  }

  // After opening or closing: the label of the part is where its box was, and has the focus. At first, and where all were
  // opened or closed at once, what the step is about is seen: the corner of the picture may be empty.
  settle() {
    const { focus, at } = this.next ?? {};
    if (!this.wanted) this.next = null;
    this.settled = true;
    const element = focus && this.graph.elementOf(focus);
    if (!element) return this.graph.follow(this.trace.frames[this.model.get("step")]);
    const box = element.getBoundingClientRect();
    this.pane.scrollBy({ left: box.left - at.left, top: box.top - at.top });
    this.focus(focus);
  }

  // Wide enough for graph and Details side by side, or one above the other; top to bottom where the page is narrow.
  fit() {
    const width = this.root.clientWidth - 24;
    if (!this.graph || width <= 0) return;
    const turned = this.graph.rankdir === "TB", close = width < CLOSE, narrow = width < 700, roomy = width >= (turned ? 700 : 860);
    const room = width - (close ? CLOSE_DETAILS : DETAILS_WIDTH) - 12, needs = (way) => this.graph.size(way).width * LEAST_SCALE;
    const one = this.graph.layouts.column && needs("TB") > (roomy ? room : width), least = needs(one ? "column" : this.graph.rankdir);
    const beside = roomy && (least <= room || least > width); // what is not seen whole anyway gets all of the height
    this.short = window === top && innerHeight < SHORT;
    this.root.classList.toggle("al-short", this.short);
    if (width !== this.width) this.text.forgetHeight();
    this.width = width;
    this.root.classList.toggle("al-beside", beside);
    this.root.classList.toggle("al-narrow", narrow);
    this.root.classList.toggle("al-close-by", close);
    this.bound(beside, narrow);
    const down = turned || (narrow && least > width);
    this.graph.arrange(one ? "column" : down ? "TB" : "LR");
    // A graph that runs down the page is scrolled through; one that runs across it should be seen whole.
    const high = () => parseFloat(getComputedStyle(this.pane).maxHeight) - parseFloat(getComputedStyle(this.pane).paddingTop) - 4;
    const resize = () => this.graph.resize(this.pane.clientWidth - 2, (down && !turned ? Infinity : high()) || Infinity, this.camera.zoom);
    resize();
    if (this.tools.map.fit(this.camera.zoom)) resize();
    if (!beside && !narrow) this.details.style.maxHeight = `${Math.max(LEAST_DETAILS, this.rest - this.pane.offsetHeight - 12)}px`;
    this.redraw(false); // what is said stays
    this.tools.map.see();
    if (!this.settled) this.settle();
  }

  // Buttons, sentence, graph and formula are seen at once in a window of usual height: the graph and Details scroll by themselves. Where
  // an output is a frame that grows with it, the screen says what is usual.
  bound(beside, narrow) {
    const above = this.main.offsetTop - this.root.offsetTop;
    this.reach();
    if (this.short) {
      this.rest = Math.max(LEAST_SHORT, innerHeight - (this.alone ? TITLE : BARS) - above - 12);
      this.pane.style.maxHeight = `${this.rest}px`;
      this.details.style.maxHeight = beside ? `${Math.max(LEAST_DETAILS, this.rest)}px` : "";
      return;
    }
    const deck = this.root.getRootNode().host?.closest(".reveal"); // a slide has its own title and margins
    const around = this.alone && !deck ? Math.min(BARS, this.root.getBoundingClientRect().top + scrollY + MARGIN) : BARS;
    const high = window === top ? innerHeight - around : Math.max(innerHeight, 0.7 * screen.availHeight);
    const legends = [...this.main.querySelectorAll(".al-graphside > .al-legend:not([hidden])")].reduce((sum, legend) => sum + legend.offsetHeight + 6, 0);
    this.rest = Math.max(LEAST_ROOM, high) - above - legends - 12;
    this.pane.style.maxHeight = narrow ? "" : `${Math.max(LEAST_PANE, this.rest - (beside ? 0 : LEAST_DETAILS + 12))}px`;
    this.details.style.maxHeight = beside ? `${Math.max(LEAST_DETAILS, this.rest)}px` : "";
  }

  // In a low window what is said scrolls: by keys, too.
  reach() {
    for (const said of this.root.querySelectorAll(".al-explained, .al-why, .al-sentence"))
      if (this.short && said.scrollHeight > said.clientHeight + 1) said.tabIndex = 0;
      else said.removeAttribute("tabindex");
  }

  update(moved) {
    const { model, trace } = this,
      index = model.get("step"),
      frame = trace.frames[index],
      selected = model.get("selected");
    this.controls.update(this.trace.frames[this.model.get("step")]?.phase);
    this.pace.update();
    const words = frame ? frame.text + this.where(frame) : "";
    if (this.shown !== `${index} ${words}`) {
      this.shown = `${index} ${words}`;
      this.sentence.replaceChildren(
        ...(frame
          ? [
              h("span", { class: "al-hidden", text: `Step ${grouped(index + 1)} of ${grouped(trace.frames.length)}, ` }),
              h("span", { class: `al-phase al-${frame.phase}`, text: frame.phase + (frame.phase === "backward" && rehearsed(trace) ? ", rehearsed" : "") }),
              " ",
              words,
            ]
          : []),
      );
      if (this.short) this.reach();
    }
    this.askForDetails(index, selected);
    this.text.update(index, this.moment(), selected);
    this.redraw(moved);
  }

  // All that is true after the step that is shown.
  moment() {
    return momentAt(this.trace, this.model.get("step"), new Set(this.model.get("dimmed")));
  }

  // The graph as it is after the step; then sizes are read.
  redraw(moved) {
    if (!this.graph) return this.text.settle();
    const { model, trace } = this, index = model.get("step"), frame = trace.frames[index], selected = model.get("selected"), now = this.whatIf.moment(this.moment());
    this.legend.lastChild.hidden = !now.dimmed.size;
    this.graph.update(index, now, selected);
    this.paths.light();
    this.compared.update();
    this.tools.update(index, now);
    this.whatIf.mark();
    // All is changed now. What is read lays the page out, and again when something has changed in between.
    if (moved) this.graph.follow(frame);
    this.text.settle();
    this.graph.settle();
    if (!moved) return;
    this.compared.lead();
    this.graph.animate(frame, Math.min(650, 0.7 * model.get("interval")));
  }

  // Which closed part hides what a step is about.
  where(frame) {
    const box = this.graph && frame.node && this.folding.boxOf(frame.node, this.graph.open);
    return box && this.folding.isPart(box) ? ` (in ${this.folding.byId.get(box).label})` : "";
  }

  // The closed box that shows a node, and the convolutions, poolings and normalisations in it; null for other nodes.
  layersAround(id) {
    const box = this.graph && this.folding.boxOf(id, this.graph.open);
    if (!box || !this.folding.isPart(box)) return null;
    const inside = (node) => node.layer && this.folding.around(node.id).includes(box);
    return { box, label: this.folding.byId.get(box).label, nodes: () => this.trace.nodes.filter(inside) };
  }

  // The numbers of a big trace come step by step, when the kernel is there to send them.
  askForDetails(step, selected) {
    const key = `${step} ${selected}`;
    if (!this.trace.light || this.alone || this.asked?.has(key)) return;
    clearTimeout(this.asking);
    this.asking = setTimeout(() => {
      (this.asked ??= new Set()).add(key);
      this.model.send({ kind: "need-details", step, selected });
      this.unanswered ??= setTimeout(() => {
        this.trace.absent = this.late;
        this.update(false);
      }, UNANSWERED);
    }, 60);
  }

  onDetails(message) {
    if (message?.kind !== "details") return;
    clearTimeout(this.unanswered);
    this.unanswered = null;
    this.trace.absent = "asked of the kernel";
    addDetails(this.trace, message);
    Object.assign(this.formulas, message.formulas);
    this.update(false);
  }
}

export default entry(View, startClock, ["data", "asked", "compared"]);
