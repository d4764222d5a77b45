// A loss seen from above, with the paths of optimizers. Stepping uses computed data; a new start or learning rate is
// requested from the kernel.
import { h, svgEl } from "./dom.js";
import { short } from "./values.js";
import { goTo, quietWhilePlaying, startClock } from "./player.js";
import { Controls, onKey } from "./controls.js";
import { entry } from "./entry.js";
import { attend, sentenceBox, stage } from "./stage.js";

const SIZE = 420, LEFT = 62, TOP = 28; // as in landscape.py
const LONGEST = 70; // px length of the longest arrow

const COMPUTING = "The kernel computes the paths again.";
const LATE = "The kernel has not answered yet. If it was restarted, or the notebook was opened again, run this cell again.";
const PATIENCE = 10_000; // ms until a missing answer is reported

class Landscape {
  constructor(model, el) {
    this.model = model;
    const { names, words, told } = (this.data = model.get("data"));
    this.told = told[0]; // the message about another start
    this.controls = new Controls(model, null);
    this.sentence = sentenceBox();
    this.alone = model.get("live") === false;
    this.table = h("tbody");
    const heads = ["optimizer", "loss", ...names, "slope"].map((text) => h("th", { scope: "col", text }));
    this.root = stage(el, "al al-land", "Loss landscape. Arrow keys step, space plays or pauses, Home and End jump.", this.controls.element, this.sentence,
      h("div", { class: "al-main" }, this.map(),
        h("div", { class: "al-left" },
          h("div", { class: "al-scroll" }, h("table", { "aria-label": "Optimizers at this step" }, h("thead", {}, h("tr", {}, heads)), this.table)),
          this.fields(), legend(this.data.runs.some((run) => run.momenta.some(Boolean))), h("p", { class: "al-note", text: words }))));
    this.rows();
    this.root.addEventListener("keydown", (event) => !event.target.matches("[type=radio]") && onKey(event, model, []));
    this.listen(el);
    this.play();
  }

  map() {
    const place = h("div", { class: `al-map${this.alone ? "" : " al-live"}` });
    place.innerHTML = this.data.picture;
    this.svg = place.firstElementChild;
    this.over = svgEl("svg", { class: "al-over", x: LEFT, y: TOP, width: SIZE, height: SIZE, viewBox: `${LEFT} ${TOP} ${SIZE} ${SIZE}`, "aria-hidden": "true" });
    this.over.append(svgEl("rect", { x: LEFT, y: TOP, width: SIZE, height: SIZE, fill: "transparent" }));
    this.drawn = this.data.runs.map((run) => {
      const look = { stroke: run.color, "stroke-dasharray": run.dash || null };
      const rest = svgEl("path", { class: "al-rest", ...look, d: this.line(run.points) }), trail = svgEl("path", { class: "al-trail", ...look });
      const dot = svgEl("circle", { r: 6, fill: run.color, stroke: PALETTE.paper, "stroke-width": 2 });
      this.over.append(rest, trail, dot);
      return { run, trail, dot };
    });
    this.downhill = svgEl("path", { class: "al-arrow al-downhill" });
    this.inertia = svgEl("path", { class: "al-arrow al-inertia" });
    this.over.append(this.inertia, this.downhill);
    this.svg.append(this.over);
    if (!this.alone) this.over.addEventListener("click", (event) => this.begin(event));
    return place;
  }

  pixel([x, y]) {
    const [x0, x1, y0, y1] = this.data.box, near = (part) => Math.max(-9, Math.min(9, part));
    return [LEFT + SIZE * near((x - x0) / (x1 - x0)), TOP + SIZE * (1 - near((y - y0) / (y1 - y0)))];
  }

  // Return the first step at which a run is outside the picture; 0 if it never leaves it.
  outside(run, last) {
    const [x0, x1, y0, y1] = this.data.box;
    return run.points.slice(0, last + 1).findIndex(([x, y]) => !(x0 <= x && x <= x1 && y0 <= y && y <= y1)) + 1 || 0;
  }

  line(points) {
    return `M${points.map((p) => this.pixel(p).map((v) => v.toFixed(1)).join(" ")).join("L")}`;
  }

  // Choose another start by mouse.
  begin(event) {
    const [x0, x1, y0, y1] = this.data.box, at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    this.change("start", [x0 + ((at.x - LEFT) / SIZE) * (x1 - x0), y1 - ((at.y - TOP) / SIZE) * (y1 - y0)].map((v) => Number(v.toPrecision(4))));
  }

  change(name, value) {
    if (`${value}` === `${this.model.get(name)}`) { // nothing new, or already requested: Enter reports a field's change twice
      if (![COMPUTING, LATE].includes(this.sentence.textContent)) this.update();
      return;
    }
    this.model.set(name, value);
    this.model.save_changes();
    this.sentence.textContent = COMPUTING;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.sentence.textContent === COMPUTING && (this.sentence.textContent = LATE), PATIENCE);
  }

  fields() {
    const { names } = this.data, start = this.model.get("start");
    const field = (words, value, take, more = {}) =>
      h("label", {}, words, h("input", { type: "number", step: "any", "aria-label": words, value: Number(value.toPrecision(6)), disabled: this.alone, ...more, onchange: (event) => this.take(event.target, take), onkeydown: (event) => this.typed(event, take) }));
    const inputs = names.map((name, i) => field(`start, ${name}`, start[i], (v) => this.change("start", start.map((s, k) => (k === i ? v : s)))));
    const rate = field("rate", this.model.get("lr"), (v) => v > 0 && this.change("lr", v), { min: 0 });
    const how = this.alone ? "What was computed is shown here: another start or rate needs the notebook." : "Or click in the picture to start there.";
    return h("fieldset", {}, h("legend", { text: "Start and rate" }), inputs, rate, h("span", { class: "al-note", text: how }));
  }

  // JupyterLab stops Enter from reaching a field, so the typed value is read here.
  typed(event, take) {
    if (event.key !== "Escape") event.stopPropagation();
    if (event.key === "Enter") this.take(event.target, take);
  }

  take(input, take) {
    if (this.left) return; // removing a field also fires a change event
    const value = Number(input.value);
    input.dataset.taken = input.value;
    if (input.value === "" || !Number.isFinite(value) || take(value) === false) this.sentence.textContent = "A number is wanted here; the rate must be positive.";
  }

  rows() {
    this.cells = this.data.runs.map((run) => {
      const cells = [0, 1, 2, 3].map(() => h("td"));
      const radio = h("input", { type: "radio", name: "al-run", "aria-label": `Arrows of ${run.name}`, onchange: () => this.select(run.name) });
      const sample = svgEl("svg", { class: "al-sample", width: 30, height: 10, "aria-hidden": "true" }, svgEl("path", { d: "M2 5h26", stroke: run.color, "stroke-width": 2.5, "stroke-dasharray": run.dash || null }));
      this.table.append(h("tr", {}, h("th", { scope: "row" }, h("label", {}, radio, sample, run.name)), cells));
      return { run, cells, radio };
    });
  }

  select(name) {
    this.model.set("selected", name);
    this.model.save_changes();
  }

  listen(el) {
    const on = { "change:step": () => this.moved(), "change:selected": () => this.update(), "change:playing": () => this.play() };
    const forget = attend(el, this.root, this.model, on, () => this.fit());
    this.leave = () => {
      this.left = true;
      clearTimeout(this.waiting);
      forget();
    };
  }

  // After redrawing, focus the field in which a number was being typed, with the unfinished input.
  takeFocus(before) {
    const name = before.getAttribute("aria-label");
    const after = [...this.root.querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === name) ?? this.root;
    if (before.type === "number" && ![before.defaultValue, before.dataset.taken].includes(before.value)) after.value = before.value;
    after.focus();
  }

  moved() {
    if (this.model.get("step")) this.told = "";
    this.update();
  }

  // Keep all text at 11 px or more, however small the picture is.
  fit() {
    this.root.classList.toggle("al-narrow", this.root.clientWidth < 760);
    const scale = this.svg.clientWidth / this.svg.viewBox.baseVal.width;
    for (const text of scale ? this.svg.querySelectorAll("text") : []) text.style.fontSize = `${Math.max(12, 11.2 / scale)}px`;
  }

  play() {
    quietWhilePlaying(this.sentence, this.model);
    this.update();
  }

  update() {
    const step = this.model.get("step"), chosen = this.model.get("selected"), now = (run) => Math.min(step, run.points.length - 1);
    this.controls.update();
    for (const { run, trail, dot } of this.drawn) {
      trail.setAttribute("d", this.line(run.points.slice(0, now(run) + 1)));
      const [x, y] = this.pixel(run.points[now(run)]);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
    }
    for (const { run, cells, radio } of this.cells) {
      const at = now(run);
      radio.checked = run.name === chosen;
      [run.losses[at], ...run.points[at], run.norms[at]].forEach((value, i) => (cells[i].textContent = short(value)));
    }
    const run = this.data.runs.find(({ name }) => name === chosen) ?? this.data.runs[0], at = now(run);
    this.arrow(this.downhill, run.points[at], run.gradients[at], this.longest(run.gradients));
    this.arrow(this.inertia, run.points[at], run.momenta[at], this.longest(run.momenta));
    const best = this.data.runs.reduce((a, b) => (b.losses[now(b)] < a.losses[now(a)] ? b : a));
    const where = this.data.names.map((name, i) => `${name} = ${short(run.points[at][i])}`).join(", ");
    const ended = step > at ? ` It ended at step ${at}: its loss is no number.` : "";
    const out = this.outside(run, at), left = out ? ` It left the picture at step ${out - 1}.` : "";
    const alike = this.data.runs.every((one) => one.losses[now(one)] === run.losses[at]);
    const lowest = alike ? "" : best.losses[now(best)] === run.losses[at] ? " (the lowest)" : ` (lowest: ${best.name}, ${short(best.losses[now(best)])})`;
    const words = `${run.name} ${at ? `after step ${at}` : "at the start"}: ${where}, loss ${short(run.losses[at])}${lowest}.${left}${ended} ${this.told}`.trim();
    if (this.sentence.textContent !== words) this.sentence.textContent = words;
    this.lead(step);
  }

  longest(vectors) {
    return Math.max(...vectors.map((v) => (v ? Math.hypot(...this.toPixels(v)) : 0)), 1e-300);
  }

  toPixels([x, y]) {
    const [x0, x1, y0, y1] = this.data.box;
    return [x / (x1 - x0), -y / (y1 - y0)];
  }

  // Draw an arrow against a vector: downhill, or the direction of momentum. The longest of a path is LONGEST, shorter
  // ones scale by their square roots.
  arrow(path, place, vector, longest) {
    const length = vector ? Math.hypot(...this.toPixels(vector)) : 0;
    if (!length) return path.setAttribute("d", "");
    const [x, y] = this.pixel(place), [dx, dy] = this.toPixels(vector).map((v) => (-v / length) * LONGEST * Math.sqrt(length / longest));
    const [tx, ty] = [x + dx, y + dy], turn = Math.atan2(dy, dx), barb = (by) => `${(tx - 9 * Math.cos(turn + by)).toFixed(1)} ${(ty - 9 * Math.sin(turn + by)).toFixed(1)}`;
    path.setAttribute("d", `M${x} ${y}L${tx.toFixed(1)} ${ty.toFixed(1)}M${barb(0.45)}L${tx.toFixed(1)} ${ty.toFixed(1)}L${barb(-0.45)}`);
  }

  // Tell the explorer of the same steps. On a page this is done here; in a notebook the kernel does it.
  lead(step) {
    const { model, bounds } = this.model.get("linked") ?? {}, explorer = model && this.model.peer?.(model);
    if (explorer && this.roundOf(explorer, bounds) !== step && step <= bounds.length) goTo(explorer, step ? bounds[step - 1] : 0);
  }

  roundOf(explorer, bounds) {
    return bounds.filter((bound) => bound <= explorer.get("step")).length;
  }
}

function legend(momentum) {
  const item = (name, text) => h("li", {}, svgEl("svg", { class: "al-sample", width: 34, height: 12, "aria-hidden": "true" }, svgEl("path", { class: `al-arrow ${name}`, d: "M2 6h28M24 2l6 4l-6 4" })), text);
  return h("ul", { class: "al-legend", "aria-label": "Legend" }, item("al-downhill", "downhill: against the gradient"), momentum ? item("al-inertia", "where momentum carries") : null);
}

// On a page without a kernel the landscape follows its linked explorer, even if it is not shown.
function begin(model) {
  const stop = startClock(model);
  const follow = () => {
    const { model: id, bounds } = model.get("linked") ?? {}, explorer = id && model.peer?.(id);
    if (!explorer) return;
    explorer.on("change:step", () => goTo(model, bounds.filter((bound) => bound <= explorer.get("step")).length));
  };
  const waiting = model.peer && setTimeout(follow, 0);
  return () => {
    clearTimeout(waiting);
    stop();
  };
}

export default entry(Landscape, begin, ["data"]);
