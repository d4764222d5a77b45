// The explorer's view and its entry points. It needs only get, set, save_changes, on, off and send of its host, so it
// runs in any notebook and, with the small host of viz/html.py, in a page of its own.
import { h, themeOf, clamp } from "./dom.js";
import { unpack, momentAt } from "./states.js";
import { Graph } from "./graph.js";
import { Details } from "./details.js";
import { Controls, onKey } from "./controls.js";
import { startClock } from "./player.js";
import { layOut } from "./layout.js";

const DETAILS_WIDTH = 380;

class View {
  constructor(model, el) {
    this.model = model;
    this.host = el;
    this.trace = unpack(model.get("data"));
    this.zoom = 1;
    const shadow = el.shadowRoot ?? el.attachShadow({ mode: "open" });
    shadow.replaceChildren(h("style", { text: STYLE }));
    // JupyterLab's shortcuts look for this attribute on the event's target, which for them is the host element.
    el.setAttribute("data-lm-suppress-shortcuts", "true");
    this.pane = h("div", { class: "al-pane" });
    this.details = h("div", { class: "al-details", role: "region", "aria-label": "Details", tabindex: "0" });
    this.sentence = h("p", { class: "al-sentence", role: "status", "aria-live": "polite", "aria-atomic": "true" });
    this.controls = new Controls(model, (way) => this.setZoom(way));
    this.root = h(
      "div",
      {
        class: "al",
        role: "group",
        tabindex: "0",
        "data-lm-suppress-shortcuts": "true",
        "aria-label": "Autograd explorer. Arrow keys step, space plays or pauses, Home and End jump.",
      },
      this.controls.element,
      this.sentence,
      this.why(),
      h("div", { class: "al-main" }, h("div", { class: "al-left" }, this.pane, (this.legend = legend())), this.details),
    );
    shadow.append(this.root);
    this.text = new Details(this.details, this.trace, model.get("formulas"), { select: (id) => this.select(id) });
    this.root.addEventListener("keydown", (event) =>
      onKey(event, model, this.graph ? this.graph.cards.map((card) => card.g) : []),
    );
    this.listen();
    this.setTheme();
    this.drawGraph();
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
      "change:selected": () => this.update(false),
      "change:playing": () => this.controls.update(),
      "change:dimmed": () => this.update(false),
      "change:svg": () => this.drawGraph(),
    };
    for (const [name, handler] of Object.entries(events)) this.model.on(name, handler);
    const theme = () => this.setTheme(),
      system = matchMedia("(prefers-color-scheme: dark)");
    const watcher = new MutationObserver(theme),
      sizes = new ResizeObserver(() => this.fit());
    watcher.observe(document.body, { attributes: true });
    watcher.observe(document.documentElement, { attributes: true });
    sizes.observe(this.root);
    system.addEventListener("change", theme);
    this.leave = () => {
      for (const [name, handler] of Object.entries(events)) this.model.off(name, handler);
      watcher.disconnect();
      sizes.disconnect();
      system.removeEventListener("change", theme);
      this.graph?.stop();
    };
  }

  setTheme() {
    this.root.dataset.theme = themeOf(this.host);
  }

  select(id) {
    if (id === this.model.get("selected")) return;
    this.model.set("selected", id);
    this.model.save_changes();
  }

  drawGraph() {
    const markup = this.model.get("svg");
    if (markup) {
      this.graph = new Graph(this.pane, this.trace, markup, this.model.get("layouts"), {
        select: (id) => this.select(id),
      });
      this.fit();
    } else {
      this.pane.replaceChildren(h("p", { class: "al-why", text: "The graph is being laid out in the browser." }));
      layOut(this.model).catch((error) =>
        this.pane.replaceChildren(
          h("p", { class: "al-error", role: "alert", text: `The graph cannot be drawn: ${error.message}` }),
        ),
      );
    }
    this.update(false);
  }

  // Wide enough for graph and Details side by side, or one above the other; top to bottom where the page is narrow.
  fit() {
    const width = this.root.clientWidth - 24;
    if (!this.graph || width <= 0) return;
    const least = this.graph.size("LR").width * 0.85;
    const beside = width >= 860 && least <= width - DETAILS_WIDTH - 12;
    const narrow = width < 700;
    if (width !== this.width) this.text.forgetHeight();
    this.width = width;
    this.root.classList.toggle("al-beside", beside);
    this.root.classList.toggle("al-narrow", narrow);
    const down = narrow && least > width;
    this.graph.arrange(down ? "TB" : "LR");
    // A graph that runs down the page is scrolled through; one that runs across it should be seen whole.
    const height = down ? Infinity : parseFloat(getComputedStyle(this.pane).maxHeight) - 4;
    this.graph.resize(this.pane.clientWidth - 2, height || Infinity, this.zoom);
    this.update(false);
  }

  setZoom(way) {
    const current = this.zoom === "fit" ? 1 : this.zoom;
    this.zoom = way === 0 ? "fit" : clamp(current * (way > 0 ? 1.2 : 1 / 1.2), 0.4, 3);
    this.fit();
  }

  update(moved) {
    const { model, trace } = this,
      index = model.get("step"),
      frame = trace.frames[index],
      selected = model.get("selected");
    this.controls.update();
    const words = frame ? frame.text : "";
    if (this.shown !== index) {
      this.shown = index;
      this.sentence.replaceChildren(
        ...(frame
          ? [
              h("span", { class: "al-hidden", text: `Step ${index + 1} of ${trace.frames.length}, ` }),
              h("span", { class: `al-phase al-${frame.phase}`, text: frame.phase }),
              " ",
              words,
            ]
          : []),
      );
    }
    const now = momentAt(trace, index);
    this.text.update(index, now, selected);
    if (!this.graph) return;
    const dimmed = new Set(model.get("dimmed"));
    this.legend.lastChild.hidden = !dimmed.size;
    this.graph.update(index, now, selected, dimmed);
    if (moved) {
      this.graph.animate(frame, Math.min(650, 0.7 * model.get("interval")));
      this.graph.follow(frame);
    }
  }
}

function legend() {
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
    item("freed", "freed"),
    item("dimmed", "backward never comes here"),
  );
}

export default {
  initialize({ model }) {
    return startClock(model);
  },
  render({ model, el }) {
    let view = new View(model, el);
    const anew = () => {
      view.leave();
      view = new View(model, el);
    };
    model.on("change:data", anew);
    return () => {
      model.off("change:data", anew);
      view.leave();
    };
  },
};
