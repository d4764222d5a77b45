// How the graph is looked at: which step, how fast it plays, the direction it is drawn in.
import { clamp, h } from "./dom.js";
import { icon } from "./controls.js";
import { goTo, stepCount } from "./player.js";

const TURNED = {
  TB: ["Left to right", "M2 7v2h8v3l4-4-4-4v3z"],
  LR: ["Top to bottom", "M7 2h2v8h3l-4 4-4-4h3z"],
};

// The button that turns the graph.
export class Turning {
  constructor(turn) {
    this.element = h("button", { type: "button", onclick: turn });
  }

  update(rankdir) {
    const [name, path] = TURNED[rankdir];
    this.element.title = name;
    this.element.setAttribute("aria-label", name);
    this.element.replaceChildren(icon(path));
  }
}

const SPEEDS = [["slow", 2400], ["normal", 1200], ["fast", 500], ["very fast", 150]]; // ms between two steps

// A field for the step's number, and how fast it plays.
export class Pace {
  constructor(model) {
    this.model = model;
    this.field = h("input", { type: "number", class: "al-field", min: 1, "aria-label": "Step number", title: "Step number (Enter)", onchange: () => this.go(),
      onkeydown: (event) => event.key === "Enter" && this.go() }); // JupyterLab takes Enter away from a field
    this.speed = h("select", { "aria-label": "Speed", onchange: () => this.change() });
    this.element = h("div", { class: "al-buttons" }, this.field, this.speed);
  }

  // What is no number of a step is put back.
  go() {
    const wanted = Number(this.field.value);
    if (this.field.value && Number.isFinite(wanted)) goTo(this.model, clamp(Math.round(wanted), 1, stepCount(this.model)) - 1);
    this.update();
  }

  change() {
    this.model.set("interval", Number(this.speed.value));
    this.model.save_changes();
  }

  update() {
    const count = stepCount(this.model), interval = this.model.get("interval");
    this.element.hidden = !count;
    this.field.max = Math.max(1, count);
    this.field.style.setProperty("--digits", Math.max(3, String(count).length));
    if (this.field.getRootNode().activeElement !== this.field || Number(this.field.value) !== this.model.get("step") + 1) this.field.value = count ? this.model.get("step") + 1 : "";
    this.element.title = `Speed of playing: a step every ${interval / 1000} s`;
    if (Number(this.speed.value) === interval) return;
    const known = SPEEDS.some(([, time]) => time === interval) ? SPEEDS : [...SPEEDS, [`${interval} ms`, interval]];
    this.speed.replaceChildren(...known.map(([text, value]) => h("option", { value, text, selected: value === interval })));
  }
}
