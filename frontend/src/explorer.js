// The explorer's view and its entry points. Its host only needs get, set, save_changes, on, off and send, so it runs
// in any notebook and, with the small host of viz/html.py, in a page of its own.
import { HOLDS_STOPS, h, prose } from "./dom.js";
import { deviceLegend, legend } from "./legend.js";
import { unpack, addDetails } from "./unpack.js";
import { momentAt } from "./states.js";
import { Folding } from "./folding.js";
import { Camera } from "./zoom.js";
import { Finder } from "./search.js";
import { beatAt } from "./beats";
import { Graph } from "./graph";
import { Details } from "./details.js";
import { onKey } from "./controls.js";
import { Bar } from "./bar.js";
import { Narration } from "./narration.js";
import { Stage } from "./workings";
import { goTo, quietWhilePlaying, startClock, whenHeld } from "./player.js";
import { Ask, openQuestions, veilGraph, veiled, veiledFolding } from "./ask.js";
import { Compared } from "./compare.js";
import { Paths } from "./paths.js";
import { Tools } from "./tools.js";
import { WhatIf } from "./whatif.js";
import { entry } from "./entry.js";
import { passWheel } from "./scrolling.js";
import { attend, stage } from "./stage.js";

const DETAILS_WIDTH = 360; // px beside the graph
const UNANSWERED = 2500; // ms to wait for an answer of the kernel
const BARS = 124, MARGIN = 16; // px: height of JupyterLab's own bars; height below an exported explorer
const LEAST_ROOM = 440, LEAST_PANE = 200, LEAST_DETAILS = 180; // px: minimum for the widget, the graph and Details in any window
const SHORT = 500, LEAST_SHORT = 100, TITLE = 36; // px: a lower window (a page at 200 %), the graph's height in it, a page's own title
const BELOW = 240; // px height of Details below the graph
const MOST_MEASURED = 200; // nodes of a graph that is laid out twice to see where Details fit
const LONG = 1.6; // factor of the available width
const NARROW = 700; // px width from which data flows across the page

export class View {
  constructor(model, el) {
    this.model = model;
    this.host = el;
    this.data = model.get("data");
    this.alone = model.get("live") === false; // an exported page has no kernel
    this.veil = openQuestions(model);
    this.trace = veiled(unpack(this.data), this.veil);
    this.ask = this.panel(model);
    this.compared = new Compared(this);
    this.paths = new Paths(this);
    this.whatIf = new WhatIf(this);
    this.folding = new Folding(this.trace, veiledFolding(model.get("folding"), this.veil));
    const many = `this graph has ${this.trace.nodes.length.toLocaleString("en")} nodes: its numbers stay in the notebook's kernel`;
    if (this.trace.light) this.trace.absent = this.alone ? many : "asked of the kernel";
    this.late = `${many}, which does not answer`;
    this.pane = h("div", { class: "al-pane", ...HOLDS_STOPS });
    this.details = h("div", { class: "al-details", role: "group", "aria-label": "Details", tabindex: "0", hidden: !model.get("inspecting") });
    passWheel(this.details);
    this.narration = new Narration();
    this.sentence = this.narration.element;
    this.camera = new Camera(this.pane, () => this.fit(), () => this.graph.svg.getBoundingClientRect());
    this.workings = new Stage(this.trace);
    this.finder = new Finder(this.trace, this.folding, {
      show: (id) => this.show(id),
      open: (parts) => this.open(parts),
    });
    this.finder.element.hidden = true;
    this.legend = h("div", { class: "al-legends", hidden: true }, legend(this.trace), deviceLegend(this.trace.meta.devices));
    this.tools = new Tools(this);
    this.bar = new Bar(model, this.trace, this.whatIf.button, this.tools.element);
    this.bar.folding = this.folding;
    this.root = stage(
      el,
      "al al-explorer",
      `Autograd explorer${this.compared.name ? ` of ${this.compared.name}` : ""}. Arrow keys step, with Shift by parts of a step; space plays or pauses, Home and End jump.`,
      this.explanation(),
      this.ask.element,
      this.sentence,
      this.why(),
      this.compared.element,
      this.paths.element,
      this.whatIf.element,
      this.finder.element,
      this.tools.bar,
      (this.main = h("div", { class: "al-main" }, h("div", { class: "al-left" }, this.tools.map.box, this.tools.colouring.legend), this.details)),
      this.workings.element,
      this.legend,
      this.bar.element,
    );
    this.formulas = { ...model.get("formulas") };
    this.text = new Details(this.details, this.trace, this.formulas, {
      select: (id) => this.select(id),
      goTo: (step) => goTo(model, step),
      layersAround: (id) => this.layersAround(id),
    });
    this.root.addEventListener("keydown", (event) =>
      onKey(event, model, this.graph?.walk, { ...this.camera.keys(), ...this.finder.keys(), ...this.tools.keys(), ...this.parts() }),
    );
    this.listen();
    this.tools.listen(this.root);
    this.root.classList.toggle("al-empty", !this.trace.nodes.length); // then show only the reason
    this.drawGraph();
    this.play();
    this.whatIf.tryOut();
  }

  // After an answer, move the focus to the reply.
  takeFocus() {
    (this.ask.element ?? this.root).focus();
  }

  // Return the panel that asks questions; a practice has its own.
  panel(model) {
    return new Ask(model);
  }

  // Return the keys that stop at each part of a step.
  parts() {
    const by = (way) => () => {
      const step = this.model.get("step"), stops = this.trace.beats.flatMap(({ parts }) => parts);
      goTo(this.model, (way > 0 ? stops.find((at) => at > step) : stops.findLast((at) => at < step)) ?? step);
    };
    return { "Shift+ArrowRight": by(1), "Shift+ArrowLeft": by(-1), i: () => this.inspect(this.details.hidden) };
  }

  // Show or hide Details.
  inspect(shown) {
    this.model.set("inspecting", shown);
    this.model.save_changes();
  }

  // Return the result of autolab.explain().
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

  // Return why there is nothing to step through.
  why() {
    const dry = this.trace.meta.backward === "dry" && this.trace.frames.length;
    const text =
      (dry ? "" : this.trace.meta.why) ||
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
      "change:interval": () => this.tools.pace.update(),
      "change:rankdir": () => this.drawGraph(),
      "change:inspecting": () => {
        this.details.hidden = !this.model.get("inspecting");
        this.tools.inspecting();
        this.fit();
        this.update(false);
      },
      "change:ends": () => this.paths.update(),
      "change:tried": () => this.whatIf.tryOut(),
      "change:local": () => {
        this.paths.update();
        if (this.whatIf.changed?.size) this.whatIf.tell();
      },
      "change:dimmed": () => this.update(false),
      "change:expanded": () => this.drawGraph(),
      "msg:custom": (message) => {
        this.onDetails(message);
        this.whatIf.onMessage(message);
      },
    };
    const forget = attend(this.host, this.root, this.model, events, () => this.fit());
    const loose = whenHeld(this.model, () => this.held());
    const resized = () => {
      this.text.forgetHeight();
      this.fit();
    };
    addEventListener("resize", resized);
    this.leave = () => {
      removeEventListener("resize", resized);
      forget();
      loose();
      for (const timer of [this.asking, this.unanswered]) clearTimeout(timer);
      this.left = true;
      this.graph?.stop();
      this.tools.leave();
    };
  }

  // Say again why the steps end here.
  held() {
    this.ask.insist?.();
    this.narration.forget();
    this.update(false);
  }

  play() {
    quietWhilePlaying(this.sentence, this.model);
    this.narration.forget(); // a screen reader reads rewritten text
    this.update(false);
  }

  select(id) {
    if (id === this.model.get("selected")) return;
    this.model.set("selected", id);
    this.model.save_changes();
  }

  drawGraph() {
    this.graph?.stop();
    const open = new Set(this.model.get("expanded")), direction = this.direction();
    this.graph = new Graph(this.pane, this.trace, this.folding, open, direction, {
      select: (id) => this.select(id),
      toggle: (id) => this.toggle(id),
    });
    this.graph.arrange(direction, this.room());
    // A network that is much longer than the page is read from top to bottom.
    if (direction === "LR" && !this.turned && !this.long && this.folding.network && this.graph.size().width > LONG * this.room()) {
      this.long = true;
      return this.drawGraph();
    }
    veilGraph(this.graph, this.trace, this.veil);
    this.graph.showMemory(Boolean(this.tools.memory));
    this.tools.drawn();
    this.settled = false;
    this.fit();
    this.update(false);
  }

  // Return the direction: across the page if it is wide enough and the learner has not turned the graph.
  direction() {
    const narrow = this.root.clientWidth > 0 && this.root.clientWidth < NARROW;
    return this.turned ?? (narrow || this.long ? "TB" : (this.model.get("rankdir") ?? "LR"));
  }

  // Return the px available for the graph's width.
  room() {
    const width = this.root.clientWidth - 26 - (this.beside ? DETAILS_WIDTH + 12 : 0);
    return width > 0 ? width : 900;
  }

  turn() {
    this.turned = this.graph.direction === "LR" ? "TB" : "LR";
    this.model.set("rankdir", this.turned);
    this.model.save_changes();
    this.drawGraph();
  }

  toggle(part) {
    const open = new Set(this.goal);
    if (!open.delete(part)) open.add(part);
    this.open([...open], part);
  }

  // Open the parts that hide a node or part, then focus it.
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

  // Return the open parts.
  get goal() {
    return [...this.graph.open];
  }

  // Draw the graph with exactly these parts open; then focus `focus` (a part or node).
  open(parts, focus = "") {
    const order = new Map(this.folding.parts.map(({ id }, place) => [id, place]));
    const wanted = parts.sort((a, b) => order.get(a) - order.get(b));
    if (wanted.join() === this.goal.join()) return;
    this.next = { focus, at: focus && this.graph.elementOf(focus).getBoundingClientRect() };
    this.model.set("expanded", wanted);
    this.model.save_changes();
  }

  // After opening or closing, put the part's label where its box was, and focus it. At first, and after opening or
  // closing everything, scroll to the current step's node, because the corner of the picture may be empty.
  settle() {
    const { focus, at } = this.next ?? {};
    this.next = null;
    this.settled = true;
    const element = focus && this.graph.elementOf(focus);
    if (!element) return this.graph.follow(this.trace.frames[this.model.get("step")]);
    const box = element.getBoundingClientRect();
    this.pane.scrollBy({ left: box.left - at.left, top: box.top - at.top });
    this.focus(focus);
  }

  // Put Details beside the graph if there is room, else below.
  fit() {
    this.workings.fit();
    // Paths and What if stand in the place of the sentence and of answered questions. A practice has its own sentences.
    const aside = ![this.paths, this.whatIf].every(({ element }) => element.hidden);
    this.sentence.classList.toggle("al-hidden", aside || Boolean(this.ask.facts));
    this.ask.element?.classList.toggle("al-hidden", aside && !this.ask.now);
    const width = this.root.clientWidth - 26;
    if (!this.graph || width <= 0) return;
    const narrow = width < NARROW;
    this.beside = !this.details.hidden && width >= 820 && !this.wholeOnlyAbove(width);
    this.short = window === top && innerHeight < SHORT;
    this.root.classList.toggle("al-short", this.short);
    if (width !== this.width) {
      this.text.forgetHeight();
      this.narration.reserve(this.trace, width, narrow);
    }
    this.width = width;
    this.root.classList.toggle("al-beside", this.beside);
    this.root.classList.toggle("al-narrow", narrow);
    this.bar.fit(this.bar.timeline.clientWidth || width - 300);
    const direction = this.direction(), room = this.room();
    if (direction !== this.graph.rankdir) return void this.drawGraph();
    if (room !== this.arranged?.room || this.graph !== this.arranged.graph) {
      this.graph.arrange(direction, room);
      this.arranged = { graph: this.graph, room };
    }
    this.bound(narrow);
    const high = parseFloat(getComputedStyle(this.pane).maxHeight) - 4;
    this.graph.resize(this.pane.clientWidth - 2, high || Infinity, this.camera.zoom);
    if (this.tools.map.fit(this.camera.zoom)) this.graph.resize(this.pane.clientWidth - 2, high || Infinity, this.camera.zoom);
    this.redraw(false); // keep the sentence
    this.tools.map.see();
    this.tools.place();
    if (!this.settled) this.settle();
  }

  // Return whether the whole graph can be seen with Details below it, but not with Details beside it.
  wholeOnlyAbove(width) {
    if (this.trace.nodes.length > MOST_MEASURED) return false;
    const wide = (room) => {
      this.graph.arrange(this.graph.direction, room);
      return this.graph.size().width;
    };
    if (this.tried?.graph !== this.graph || this.tried.width !== width) {
      const beside = width - DETAILS_WIDTH - 12;
      this.tried = { graph: this.graph, width, above: wide(beside) > beside && wide(width) <= width };
      this.arranged = null;
    }
    return this.tried.above;
  }

  // Fit everything into a window of usual height; the graph and Details scroll separately. If an output is a frame
  // that grows with its content, use the screen's height instead.
  bound(narrow) {
    const around = this.root.offsetHeight - this.main.offsetHeight;
    this.reach();
    if (this.short) {
      this.rest = Math.max(LEAST_SHORT, innerHeight - (this.alone ? TITLE : BARS) - around);
      this.pane.style.maxHeight = `${this.rest}px`;
      this.details.style.maxHeight = this.beside ? `${Math.max(LEAST_DETAILS, this.rest)}px` : "";
      return;
    }
    const deck = this.root.getRootNode().host?.closest(".reveal"); // a slide has its own title and margins
    const above = this.alone && !deck ? Math.min(BARS, this.root.getBoundingClientRect().top + scrollY + MARGIN) : BARS;
    const high = window === top ? innerHeight - above : Math.max(innerHeight, 0.7 * screen.availHeight);
    this.rest = Math.max(LEAST_PANE, Math.max(LEAST_ROOM, high) - around);
    this.pane.style.maxHeight = narrow ? "" : `${this.rest}px`;
    const beside = Math.min(this.rest, Math.max(LEAST_PANE + 60, this.graph.size().height));
    this.details.style.maxHeight = `${this.beside ? Math.max(LEAST_DETAILS, beside) : BELOW}px`;
  }

  // In a low window the sentence scrolls, also by keys.
  reach() {
    for (const said of this.root.querySelectorAll(".al-explained, .al-why"))
      if (this.short && said.scrollHeight > said.clientHeight + 1) said.tabIndex = 0;
      else said.removeAttribute("tabindex");
  }

  update(moved) {
    const { model, trace } = this, index = model.get("step"), frame = trace.frames[index], selected = model.get("selected");
    this.bar.update();
    this.tools.pace.update();
    this.narration.show(trace, index, frame ? this.where(frame) : "");
    if (!this.details.hidden) {
      this.askForDetails(index, selected);
      this.text.update(index, this.moment(), selected);
    } else if (trace.light) this.askForDetails(index, selected);
    this.redraw(moved);
  }

  // Return everything that is true after the current step.
  moment() {
    return momentAt(this.trace, this.model.get("step"), new Set(this.model.get("dimmed")));
  }

  // Draw the graph's state after the step; then read sizes.
  redraw(moved) {
    if (!this.graph) return this.text.settle();
    const { model, trace } = this, index = model.get("step"), frame = trace.frames[index], selected = model.get("selected"), now = this.whatIf.moment(this.moment());
    this.graph.update(index, now, selected);
    this.paths.light();
    this.compared.update();
    this.tools.update(index, now);
    this.whatIf.mark();
    this.workings.update(index);
    // All changes are done. Reading sizes causes a page layout, and another after each change in between.
    if (moved) this.graph.follow(frame);
    if (!this.details.hidden) this.text.settle();
    const before = this.before ?? index;
    this.before = index;
    if (!moved) return;
    this.compared.lead();
    if (index <= before) return; // going back shows no motion
    const beat = beatAt(trace, index), from = beat && before >= beat.first ? before + 1 : (beat?.first ?? index);
    this.graph.animate(frame, model.get("interval"), from);
  }

  // Return the closed part that hides the step's node.
  where(frame) {
    const box = this.graph && frame.node && this.folding.boxOf(frame.node, this.graph.open);
    return box && this.folding.isPart(box) ? ` (in ${this.folding.byId.get(box).label})` : "";
  }

  // Return the closed box that shows a node, with its convolutions, poolings and normalisations; null for other
  // nodes.
  layersAround(id) {
    const box = this.graph && this.folding.boxOf(id, this.graph.open);
    if (!box || !this.folding.isPart(box)) return null;
    const inside = (node) => node.layer && this.folding.around(node.id).includes(box);
    return { box, label: this.folding.byId.get(box).label, nodes: () => this.trace.nodes.filter(inside) };
  }

  // The numbers of a big trace arrive step by step, if the kernel is running.
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
