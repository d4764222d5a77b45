// The device explorer: where tensors are, what is in the queues, and the timeline, step by step. It needs no kernel.
import { grouped } from "./values.js";
import { h } from "./dom.js";
import { startClock, goTo, quietWhilePlaying } from "./player.js";
import { Controls, onKey } from "./controls.js";
import { Story } from "./measure.js";
import { Places } from "./places.js";
import { Timeline } from "./timeline.js";
import { Facts } from "./facts.js";
import { entry } from "./entry.js";
import { attend, sentenceBox, stage } from "./stage.js";

const DETAILS = 340;

class Devices {
  constructor(model, el) {
    this.model = model;
    this.story = new Story(model.get("data"));
    const { story } = this, select = (id) => this.select(id);
    this.controls = new Controls(model, (way) => this.time.step(way));
    this.sentence = sentenceBox();
    this.places = new Places(story, select);
    this.time = new Timeline(story, select);
    this.details = h("div", { class: "al-details", role: "group", "aria-label": "Details", tabindex: "0" });
    this.facts = new Facts(this.details, story, { select, goTo: (step) => goTo(model, step) });
    const label = "Device explorer. Arrow keys step, space plays or pauses, Home and End jump, up and down choose.";
    this.root = stage(
      el,
      "al al-devices",
      label,
      this.controls.element,
      this.sentence,
      this.why(),
      h("div", { class: "al-main" }, h("div", { class: "al-left" }, this.places.element, this.time.element, legendOf(story)), this.details),
    );
    this.root.addEventListener("keydown", (event) => onKey(event, model, null, this.keys()));
    this.listen(el);
    quietWhilePlaying(this.sentence, model);
    this.fit();
  }

  why() {
    const { story } = this, notes = [];
    if (!story.steps.length) notes.push("No device but the CPU did anything while this was recorded.");
    if (story.left_out) notes.push(`${story.left_out} later events are not shown: the recording was full.`);
    if (story.error) notes.push(story.error);
    return notes.length ? h("p", { class: "al-why", text: notes.join(" ") }) : null;
  }

  keys() {
    return { ...this.time.keys(), ArrowUp: () => this.choose(-1), ArrowDown: () => this.choose(1) };
  }

  // Move to the next item on the timeline, starting from the selected item or the step's item.
  choose(by) {
    const { events, steps, stepOf } = this.story, now = this.model.get("selected") || steps[this.model.get("step")]?.items[0];
    const at = events.findIndex(({ id }) => id === now), step = stepOf.get(now) ?? this.model.get("step");
    const next = at >= 0 ? events[at + by] : by > 0 ? events.find(({ id }) => stepOf.get(id) > step) : events.findLast(({ id }) => stepOf.get(id) < step);
    if (!next) return;
    this.select(next.id);
    this.time.reveal(next.id);
  }

  select(id) {
    if (id === this.model.get("selected")) return;
    this.model.set("selected", id);
    this.model.save_changes();
  }

  listen(el) {
    const on = { "change:step": () => this.update(true), "change:selected": () => this.update(false), "change:playing": () => this.play() };
    this.leave = attend(el, this.root, this.model, on, () => this.fit());
  }

  fit() {
    const width = this.root.clientWidth - 24;
    if (width <= 0) return;
    this.root.classList.toggle("al-beside", width >= 960);
    this.root.classList.toggle("al-narrow", width < 700);
    this.places.resize(width >= 960 ? width - DETAILS - 12 : width);
    const before = this.time.width;
    this.time.resize();
    this.update(before === undefined);
  }

  play() {
    quietWhilePlaying(this.sentence, this.model);
    this.said = null;
    this.update(false);
  }

  update(moved) {
    const step = this.model.get("step"), selected = this.model.get("selected"), now = this.story.steps[step];
    this.controls.update();
    if (now && this.said !== step) {
      this.said = step;
      this.sentence.replaceChildren(
        h("span", { class: "al-hidden", text: `Step ${grouped(step + 1)} of ${grouped(this.story.steps.length)}, ` }),
        h("span", { class: `al-phase al-phase-${now.phase.replaceAll(" ", "-")}`, text: now.phase }),
        " ",
        now.text,
      );
    }
    this.places.update(step, selected);
    this.time.update(step, selected, moved);
    this.facts.update(step, selected);
  }
}

function legendOf(story) {
  const item = (name, words) => h("li", {}, h("span", { class: `al-key al-key-${name}`, "aria-hidden": "true" }), words);
  const devices = story.devices.slice(1), some = (simulated) => devices.some((d) => d.simulated === simulated);
  const backward = story.kernels.some(({ phase }) => phase === "backward");
  return h(
    "ul",
    { class: "al-legend", "aria-label": "Legend" },
    item("cpu", "CPU"),
    some(false) ? item("gpu", "GPU") : null,
    some(true) ? item("sim", "simulated GPU") : null,
    item("queued", "in the queue"),
    item("running", "at work now"),
    item("done", backward ? "kernel done" : "done"),
    backward ? item("donebackward", "done, of a backward pass") : null,
    item("wait", "the host waits"),
    item("now", "now, on the host's clock"),
  );
}

export default entry(Devices, startClock, ["data"]);
