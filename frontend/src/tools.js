// Rarely needed tools behind one button: a dialog beside which the graph stays usable. Each tool has its own file.
import { clamp, h } from "./dom.js";
import { dotsIcon } from "./bar.js";
import { stepNumber } from "./beats";
import { goTo } from "./player.js";
import { grouped } from "./values.js";
import { Address } from "./address.js";
import { Alive } from "./alive.js";
import { Colouring } from "./colour.js";
import { Exports } from "./export.js";
import { Focus } from "./focus.js";
import { MiniMap } from "./map.js";

const SPEEDS = [["slow", 2400], ["normal", 1200], ["fast", 500], ["very fast", 150]]; // ms between two steps

// A field for the step's number, and the playing speed.
export class Pace {
  constructor(model, trace) {
    Object.assign(this, { model, trace });
    this.field = h("input", { type: "number", class: "al-field", min: 1, "aria-label": "Step number", title: "Step number (Enter)", onchange: () => this.go(), onkeydown: ({ key }) => key === "Enter" && this.go() }); // JupyterLab suppresses the `change` event of Enter
    this.speed = h("select", { "aria-label": "Speed", onchange: () => this.change() });
    this.count = h("span", { class: "al-count" });
    this.element = h("div", { class: "al-tool", role: "group", "aria-label": "Steps and speed" }, h("label", {}, "Step ", this.field), this.count, this.speed);
  }

  // Reset an input that is not a step number.
  go() {
    const wanted = Number(this.field.value);
    if (this.field.value && Number.isFinite(wanted)) goTo(this.model, this.trace.beats[clamp(Math.round(wanted), 1, this.trace.beats.length) - 1].last);
    this.update();
  }

  change() {
    this.model.set("interval", Number(this.speed.value));
    this.model.save_changes();
  }

  update() {
    const count = this.trace.steps ?? this.trace.beats.length, interval = this.model.get("interval"), step = stepNumber(this.trace, this.model.get("step"));
    this.element.hidden = !count;
    this.field.max = Math.max(1, count);
    this.field.style.setProperty("--digits", Math.max(3, String(count).length));
    if (this.field.getRootNode().activeElement !== this.field || Number(this.field.value) !== step) this.field.value = step || "";
    this.count.textContent = count ? `of ${grouped(count)}` : "No steps";
    if (Number(this.speed.value) === interval) return;
    const known = SPEEDS.some(([, time]) => time === interval) ? SPEEDS : [...SPEEDS, [`${interval} ms`, interval]];
    this.speed.replaceChildren(...known.map(([text, value]) => h("option", { value, text, selected: value === interval })));
  }
}

export class Tools {
  constructor(view) {
    this.view = view;
    this.focus = new Focus(view, () => this.close());
    this.map = new MiniMap(view.pane);
    this.button = h("button", { type: "button", "aria-haspopup": "dialog", "aria-expanded": "false", class: "al-iconbutton", title: "More: inspect, paths, memory, search, save, speed, zoom", "aria-label": "More", onclick: () => this.toggle() }, dotsIcon());
    this.colouring = new Colouring(view, () => this.recoloured());
    this.alive = new Alive(view);
    this.pace = new Pace(view.model, view.trace);
    const toggle = (text, key, on, act) => h("button", { type: "button", class: "al-small", "aria-pressed": String(on), title: key ? `${text} (${key})` : text, text, onclick: act });
    const act = (text, key, does) => h("button", { type: "button", class: "al-small", title: key ? `${text} (${key})` : text, text, onclick: does });
    this.inspect = toggle("Inspect", "i", !view.details.hidden, () => this.after(() => view.inspect(view.details.hidden)));
    this.memoryButton = toggle("Memory", "", false, () => this.after(() => this.showMemory()));
    this.searchButton = toggle("Search", "", false, () => this.show(this.searchButton, view.finder.element));
    this.legendButton = toggle("Legend", "", false, () => this.show(this.legendButton, view.legend));
    view.paths.button.addEventListener("click", () => this.close());
    this.looks = h("div", { class: "al-tool", role: "group", "aria-label": "Show" }, this.inspect, view.paths.button, this.memoryButton, this.searchButton, this.legendButton);
    const zoom = (way) => () => view.camera.step(way);
    this.views = h("div", { class: "al-tool", role: "group", "aria-label": "View" }, act("Zoom out", "-", zoom(-1)), act("Zoom in", "+", zoom(1)), act("Fit", "0", zoom(0)), act("Turn", "", () => view.turn()));
    this.sections = [{ element: this.looks }, { element: this.views }, this.pace, this.focus, this.colouring, ...(this.alive.known ? [this.alive] : []), new Exports(view)];
    this.panel = h(
      "div",
      { class: "al-tools", role: "dialog", "aria-label": "More", tabindex: "-1", hidden: true, onkeydown: (event) => this.onKey(event) },
      this.sections.map(({ element }) => element),
    );
    this.element = h("div", { class: "al-toolbox" }, this.button, this.panel);
    this.element.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !this.element.contains(relatedTarget) && this.close());
    this.bar = this.focus.bar;
    if (view.alone && !window.Reveal) this.address = new Address(view); // slides have an address of their own
  }

  // `root`: the explorer's element; a press elsewhere in it closes the dialog.
  listen(root) {
    root.addEventListener("pointerdown", (event) => !this.element.contains(event.target) && this.close());
  }

  // Close the dialog after an action, so that it does not cover the result in the graph.
  after(act) {
    this.close();
    act();
    this.button.focus();
  }

  showMemory() {
    this.memory = !this.memory;
    this.memoryButton.setAttribute("aria-pressed", String(this.memory));
    this.view.graph.showMemory(this.memory);
    this.view.update(false);
  }

  // Show an initially hidden element, or hide it again.
  show(button, element) {
    element.hidden = !element.hidden;
    button.setAttribute("aria-pressed", String(!element.hidden));
    this.view.fit();
    if (element.hidden) return;
    this.close();
    element.querySelector("input")?.focus();
  }

  inspecting() {
    this.inspect.setAttribute("aria-pressed", String(!this.view.details.hidden));
  }

  leave() {
    this.address?.leave();
  }

  toggle() {
    if (!this.panel.hidden) return this.close();
    this.panel.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    for (const section of this.sections) section.refresh?.();
    this.place();
    this.panel.querySelector("button:not(:disabled), select, input").focus({ preventScroll: true });
  }

  // Place the dialog above its button, within the explorer and the window.
  place() {
    if (this.panel.hidden) return;
    const room = this.view.root.getBoundingClientRect(), button = this.button.getBoundingClientRect();
    this.panel.style.maxHeight = `${Math.max(200, button.top - Math.max(0, room.top) - 12)}px`;
    this.panel.style.right = 0;
    const over = room.left + 4 - this.panel.getBoundingClientRect().left;
    if (over > 0) this.panel.style.right = `${-over}px`;
  }

  close() {
    this.panel.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  // Keys pressed in the dialog work as usual there and do not step.
  onKey(event) {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    this.close();
    this.button.focus();
  }

  keys() {
    return this.focus.keys();
  }

  // Called for a new picture: after opening, closing, turning.
  drawn() {
    this.map.draw(this.view.graph);
    this.colouring.drawn();
    this.focus.show();
    this.address?.begin();
  }

  recoloured() {
    if (this.view.graph) this.view.fit(); // the legend takes room
    this.view.update(false);
  }

  update(index, now) {
    this.alive.update(index);
    this.colouring.update(index, now);
    this.map.update();
    this.address?.write();
  }
}
