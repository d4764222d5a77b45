// Where the tensors are: for each device its queue, and its tensors as boxes whose length is their memory.
import { h } from "./dom.js";
import { bytesWords, nameOfItem, nameOfTensor } from "./measure.js";

const LEAST = 14, LETTER_WIDTH = 7.2, FEW = 24, GAP = 3, MOST_BOXES = 48, MOST_CHIPS = 8;

export class Places {
  constructor(story, select) {
    Object.assign(this, { story, select });
    this.boxes = new Map();
    this.areas = story.devices.map((device) => this.area(device));
    this.scale = h("div", { class: "al-bytescale" });
    this.idle = h("input", { type: "checkbox", onchange: () => this.showIdle() });
    this.element = h("div", { class: "al-places" }, this.areas.map(({ element }) => element), this.scale, this.choice());
    this.measure();
  }

  // Earlier variables that the recording does not use form one box, until the learner opens it.
  choice() {
    const some = this.story.tensors.filter((t) => t.idle).length;
    const words = `Show ${some === 1 ? "the tensor" : `each of the ${some} tensors`} from before that nothing here uses`;
    return some ? h("label", { class: "al-idle" }, this.idle, words) : "";
  }

  showIdle() {
    const { width } = this, { step, selected } = this.last;
    this.measure();
    this.width = undefined;
    this.resize(width);
    this.update(step, selected);
  }

  measure() {
    const { devices } = this.story;
    this.most = Math.max(1, ...devices.map((d) => (d.name === "cpu" ? this.mostOnHost() : Math.max(d.peak, d.before))));
  }

  mostOnHost() {
    const changes = this.story.tensors.filter((t) => t.device === "cpu" && (this.idle.checked || !t.idle)).flatMap((t) => [[t.born_step, t.taken], [t.died_step ?? Infinity, -t.taken]]);
    let sum = 0, most = 0;
    for (const [, bytes] of changes.sort((a, b) => a[0] - b[0])) most = Math.max(most, (sum += bytes));
    return most;
  }

  area(device) {
    const queue = h("p", { class: "al-queue" }), row = h("div", { class: "al-boxes" }), used = h("span", { class: "al-used" });
    const words = device.name === "cpu" ? "CPU" : device.name;
    const element = h(
      "section",
      { class: `al-area ${lookOf(device)}`, role: "group" },
      h("div", { class: "al-areahead" }, h("strong", { text: words }), device.name === "cpu" ? "" : h("span", { text: titleOf(device) }), used),
      device.name === "cpu" ? "" : queue,
      row,
    );
    return { device, element, queue, row, used, tallest: 0, shown: "" };
  }

  resize(width) {
    if (width === this.width) return;
    this.width = width;
    this.perByte = ((width - 26) * 0.94) / this.most;
    for (const area of this.areas) {
      area.tallest = 0;
      area.row.style.minHeight = "";
      area.shown = "";
    }
    const bytes = roundBytes(this.most / 5);
    this.scale.replaceChildren(
      h("span", { class: "al-scalebar", style: `width:${bytes * this.perByte}px`, "aria-hidden": "true" }),
      `${bytesWords(bytes)} of memory. A dashed box is not drawn to scale.`,
    );
  }

  update(step, selected) {
    this.last = { step, selected };
    if (!this.width) return;
    for (const area of this.areas) this.updateArea(area, step, selected);
  }

  updateArea(area, step, selected) {
    const { story } = this, { name, memory } = area.device, used = story.inUse(step, name);
    const words = name === "cpu" ? `${bytesWords(used)} in tensors with a name` : `${bytesWords(used)} of ${bytesWords(memory)} in use`;
    area.used.textContent = words;
    area.element.setAttribute("aria-label", `${name === "cpu" ? "CPU" : `${name}, ${titleOf(area.device)}`}: ${words}`);
    if (name !== "cpu") this.updateQueue(area, step);
    const there = story.alive(step, name), known = sumOf(there);
    const idle = this.idle.checked ? [] : there.filter((t) => t.idle && t.id !== selected), alive = there.filter((t) => !idle.includes(t));
    const big = alive.length > MOST_BOXES ? new Set([...alive].sort((a, b) => b.taken - a.taken).slice(0, MOST_BOXES - 1)) : null;
    const drawn = big ? alive.filter((t) => big.has(t)) : alive, rest = big ? alive.filter((t) => !big.has(t)) : [];
    const other = name === "cpu" ? 0 : used - known;
    const key = `${drawn.map((t) => t.id).join()} ${rest.length} ${other} ${idle.length}`;
    if (key !== area.shown) {
      area.shown = key;
      const focused = area.row.getRootNode().activeElement;
      area.row.replaceChildren(
        ...(other > 0 ? [this.lump("unknown, from before", other)] : []),
        ...drawn.map((t) => this.box(t, drawn.length <= FEW)),
        ...(rest.length ? [this.lump(`and ${rest.length} smaller`, sumOf(rest))] : []),
        ...(idle.length ? [this.lump(`${idle.length} not used here`, sumOf(idle), true)] : []),
      );
      this.putting = true; // only returns the focus
      if (focused && area.row.contains(focused)) focused.focus({ preventScroll: true });
      this.putting = false;
      area.tallest = Math.max(area.tallest, area.row.offsetHeight);
      area.row.style.minHeight = `${area.tallest}px`;
    }
    const now = story.steps[step], fresh = new Set(now ? [...now.items, ...(story.byId.get(now.items[0]).makes ?? []), story.byId.get(now.items[0]).made] : []);
    for (const tensor of drawn) {
      const box = this.boxes.get(tensor.id);
      box.classList.toggle("al-fresh", fresh.has(tensor.id));
      box.setAttribute("aria-pressed", String(tensor.id === selected));
    }
  }

  updateQueue(area, step) {
    const waiting = this.story.queue(step, area.device.name), shown = waiting.slice(0, MOST_CHIPS);
    const chip = (item) => h("span", { class: `al-chip al-chip-${this.story.state(item, step)}`, text: nameOfItem(this.story, item) });
    const rest = waiting.length - shown.length;
    area.queue.replaceChildren(
      h("span", { class: "al-name", text: "queue: " }),
      ...(shown.length ? shown.flatMap((item, i) => [i ? " then " : "", chip(item)]) : ["empty"]),
      rest > 0 ? ` and ${rest} more` : "",
    );
  }

  // `roomy`: whether there is room for the names of small boxes.
  box(tensor, roomy) {
    const least = roomy && tensor.name ? Math.min(110, Math.max(70, 14 + tensor.name.length * LETTER_WIDTH)) : LEAST;
    const width = Math.max(least, tensor.taken * this.perByte - GAP), small = tensor.taken * this.perByte - GAP < least;
    if (!this.boxes.has(tensor.id)) {
      const name = nameOfTensor(tensor);
      const about = `${name}, tensor of ${bytesWords(tensor.taken)} on ${tensor.device}`;
      const box = h("button", { type: "button", class: "al-box", "aria-label": about, title: about, "data-id": tensor.id });
      box.addEventListener("click", () => this.select(tensor.id));
      box.addEventListener("focus", () => this.putting || this.select(tensor.id));
      this.boxes.set(tensor.id, box);
    }
    const box = this.boxes.get(tensor.id);
    box.style.width = `${width}px`;
    box.classList.toggle("al-tiny", small);
    const fits = width >= 50;
    box.replaceChildren(...(fits ? [h("span", { text: nameOfTensor(tensor) }), h("span", { text: bytesWords(tensor.taken) })] : []));
    return box;
  }

  // `aside`: not drawn to scale, because it may be larger than everything relevant.
  lump(words, bytes, aside = false) {
    const length = bytes * this.perByte - GAP, width = aside ? 150 : Math.max(150, length), dashed = aside || length < 150 ? " al-tiny" : "";
    return h("div", { class: `al-box al-lump${dashed}`, style: `width:${width}px` }, h("span", { text: words }), h("span", { text: bytesWords(bytes) }));
  }
}

function sumOf(tensors) {
  return tensors.reduce((sum, t) => sum + t.taken, 0);
}

export function titleOf({ title, simulated }) {
  return simulated && !/simulated/i.test(title) ? `${title}, simulated` : title;
}

export function lookOf({ name, simulated }) {
  return name === "cpu" ? "al-on-cpu" : simulated ? "al-on-sim" : "al-on-gpu";
}

// Return the largest of 1, 2, 5, 10, 20, … 512, 1024 … of a unit that is at most `most`.
function roundBytes(most) {
  const unit = [2 ** 30, 2 ** 20, 2 ** 10, 1].find((u) => most >= u) ?? 1;
  const found = [500, 200, 100, 50, 20, 10, 5, 2, 1].find((n) => n * unit <= most);
  return (found ?? 1) * unit;
}
