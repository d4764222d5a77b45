// The training dashboard: curves, run controls, examples. The kernel trains and sends the data at most ten times a
// second (see dashboard.py). Its host needs get, set, save_changes, on, off and send.
import { h, followTheme, nameScrollers, rootIn } from "./dom.js";
import { color, inkOn, short } from "./values.js";
import { Chart, Strip, spanOfAll } from "./charts.js";
import { entry } from "./entry.js";

const UNHEARD = "While the cell waits for the training, this kernel hears no button: that takes ipykernel 7. To pause, interrupt " +
  "the kernel. Or run dashboard.start() in place of await dashboard.run(): then the buttons work.";
const PATIENCE = 4000, // ms to wait for an answer of the kernel
  QUIET = 5000; // ms between two screen reader announcements of numbers
const CURVES = { train: "train", val: "validation" };
// The button's next action; after the training it does nothing, and says why.
const RUN_WORDS = { idle: "Start", running: "Pause", paused: "Resume", finished: "Finished", stopped: "Stopped", failed: "Failed" };
// Choices of records per second; 0 means no limit.
const PACES = [[1, "1 a second"], [3, "3 a second"], [10, "10 a second"], [0, "as fast as it can"]];
const OVER = ["finished", "stopped", "failed"];

class Dashboard {
  constructor(model, el) {
    this.model = model;
    this.live = model.get("live") !== false;
    this.spoken = 0;
    const shadow = rootIn(el);
    this.loss = new Chart("Loss");
    this.accuracy = new Chart("Accuracy", { unit: true });
    this.rates = new Chart("Learning rate");
    this.strip = new Strip("Gradient norm by layer");
    this.status = h("p", { class: "al-hidden", role: "status", "aria-live": "polite" });
    this.alarm = h("div");
    this.where = h("span", { class: "al-count" });
    this.badge = h("span", { class: "al-badge" });
    this.log = h("input", { type: "checkbox", "aria-label": "Logarithmic loss", onchange: () => this.turn() });
    this.charts = h("div", { class: "al-charts", role: "group", "aria-label": "Curves" },
      this.loss.element, this.accuracy.element, this.rates.element, this.strip.element);
    this.examples = h("div", { class: "al-examples", role: "list", "aria-label": "Examples" });
    this.confusion = h("div", { class: "al-scroll" });
    this.pictures = h("div", { class: "al-charts", hidden: true },
      (this.examplesBox = h("figure", { class: "al-figure" }, h("figcaption", { text: "Examples" }), this.examples)),
      (this.confusionBox = h("figure", { class: "al-figure" }, h("figcaption", { text: "Confusion matrix" }), this.confusion)));
    this.numbers = h("div", { class: "al-scroll al-named", tabindex: "0", role: "group", "aria-label": "Numbers by epoch" });
    this.table = h("details", { open: !this.live, ontoggle: () => this.fillTable() }, h("summary", { text: "Numbers" }), this.numbers);
    this.root = h(
      "div",
      { class: "al al-dashboard", role: "group", "aria-label": "Training dashboard" },
      this.controls(),
      this.live ? null : h("p", { class: "al-why", text: "Saved state: there is no training behind this page, so nothing can be started here." }),
      (this.unheard = h("p", { class: "al-why", role: "note", hidden: true, text: UNHEARD })),
      this.alarm,
      this.charts,
      h("label", { class: "al-check" }, this.log, " Logarithmic loss"),
      this.pictures,
      this.table,
      this.status,
    );
    shadow.replaceChildren(h("style", { text: STYLE }), this.root);
    this.listen(el);
    this.fit();
    this.update();
    this.paint();
    this.showError();
  }

  controls() {
    const button = (text, kind) => h("button", { type: "button", text, onclick: () => this.ask(kind(), text) });
    this.main = button("Start", () => (this.model.get("state") === "running" ? "pause" : "run"));
    this.main.classList.add("al-playbutton");
    this.stepper = button("Step", () => "step");
    this.stopper = button("Stop", () => "stop");
    this.pace = h("select", { "aria-label": "Pace", onchange: () => this.setPace(Number(this.pace.value)) });
    this.ratesBox = h("div", { class: "al-rates", role: "group", "aria-label": "Learning rate" });
    this.buildRates();
    this.showPace();
    return h(
      "div",
      { class: "al-bar" },
      this.live ? h("div", { class: "al-buttons", role: "toolbar", "aria-label": "Training" }, this.main, this.stepper, this.stopper) : null,
      this.live ? h("label", { class: "al-rate" }, h("span", { class: "al-name", text: "Pace", "aria-hidden": "true" }), this.pace) : null,
      h("div", { class: "al-state3" }, this.badge, this.where),
      this.live ? this.ratesBox : null,
    );
  }

  setPace(pace) {
    this.model.set("pace", pace);
    this.model.save_changes();
    this.speak(`Pace: ${this.pace.selectedOptions[0].text}`);
    this.send("pace"); // the state contains it; an answer confirms its arrival
  }

  // If Python set a pace that is not among the choices, add it as a choice.
  showPace() {
    const pace = this.model.get("pace"),
      paces = PACES.some(([value]) => value === pace) ? PACES : [[pace, `${short(pace)} a second`], ...PACES];
    this.pace.replaceChildren(...paces.map(([value, text]) => h("option", { value: String(value), text })));
    this.pace.value = String(pace);
  }

  // Layers that are unfrozen during the run may join the optimizer as a new group.
  buildRates() {
    this.fields = this.model.get("learning_rates").map((_, i, all) => this.field(i, all.length));
    this.ratesBox.replaceChildren(...this.fields.map((f) => f.element));
    this.ratesBox.hidden = !this.fields.length;
  }

  // A rate is applied by Enter or when the field loses focus; the buttons divide and multiply.
  field(i, count) {
    const name = count > 1 ? `Learning rate of group ${i}` : "Learning rate",
      input = h("input", { type: "text", inputmode: "decimal", size: 8, autocomplete: "off", "aria-label": name,
        onchange: () => this.setRate(i, Number(input.value.replace(",", "."))),
        onkeydown: (event) => event.key === "Escape" || event.stopPropagation() });
    const times = (factor, sign, word) => h("button", { type: "button", class: "al-small", text: sign, "aria-label": `${name} ${word}`,
      onclick: () => this.model.get("unheard") || this.setRate(i, Number((this.model.get("learning_rates")[i] * factor).toPrecision(6))) });
    const element = h("div", { class: "al-rate" }, h("span", { class: "al-name", text: name, "aria-hidden": "true" }), input,
      times(0.1, "÷ 10", "divided by ten"), times(10, "× 10", "times ten"));
    return { input, element };
  }

  setRate(i, value) {
    const rates = [...this.model.get("learning_rates")],
      { input } = this.fields[i];
    if (!(Number.isFinite(value) && value >= 0) || input.value.trim() === "") {
      this.alert("A learning rate is a number of at least 0, such as 0.01.");
      input.setAttribute("aria-invalid", "true");
      return;
    }
    input.removeAttribute("aria-invalid");
    this.showError();
    rates[i] = value;
    this.model.set("learning_rates", rates);
    this.model.save_changes();
    this.speak(`Learning rate ${short(value)}`);
    this.send("rate"); // the state contains it; an answer confirms its arrival
  }

  // The kernel answers even if nothing changes. Without a kernel no answer comes, and a button must not seem broken.
  ask(kind) {
    if (OVER.includes(this.model.get("state")) || this.model.get("unheard")) return;
    this.send(kind);
  }

  send(kind) {
    this.model.send({ kind });
    clearTimeout(this.waiting);
    this.waiting = setTimeout(
      () => this.alert(this.model.get("state") === "running"
        ? "The kernel has not answered. Where a cell waits for the training, buttons may get through only when it has ended: " +
          "interrupt the kernel to pause, or use dashboard.start()."
        : "The kernel has not answered: it is busy, or this notebook is not running."), PATIENCE);
  }

  alert(text) {
    if (this.alarm.textContent !== text) this.alarm.replaceChildren(text ? h("p", { class: "al-error", role: "alert", text }) : "");
  }

  showError() {
    this.alert(this.model.get("error"));
  }

  speak(text) {
    this.status.textContent = text;
    this.spoken = performance.now();
  }

  listen(el) {
    const on = {
      "change:data": () => this.soon(),
      "change:state": () => this.turned(),
      "change:pace": () => this.showPace(),
      "change:learning_rates": () => this.soon(),
      "change:pictures": () => this.paint(),
      "change:error": () => this.showError(),
      "change:unheard": () => this.soon(),
      "msg:custom": () => this.answered(),
    };
    for (const [name, handler] of Object.entries(on)) this.model.on(name, handler);
    const sizes = new ResizeObserver(() => this.fit() && this.soon()),
      stop = followTheme(el, this.root);
    sizes.observe(this.root);
    this.leave = () => {
      for (const [name, handler] of Object.entries(on)) this.model.off(name, handler);
      clearTimeout(this.waiting);
      cancelAnimationFrame(this.frame);
      sizes.disconnect();
      stop();
    };
  }

  answered() {
    clearTimeout(this.waiting);
    this.showError();
  }

  turned() {
    this.answered();
    this.speak(this.stateWords());
    this.soon();
  }

  turn() {
    this.loss.log = this.log.checked;
    this.update();
  }

  // Draw at most once per frame of the screen, however many changes come.
  soon() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.update());
  }

  fit() {
    const inner = this.root.clientWidth - 24;
    if (inner <= 0 || inner === this.inner) return false;
    this.inner = inner;
    const columns = inner >= 720 ? 2 : 1;
    this.root.style.setProperty("--columns", columns);
    for (const chart of [this.loss, this.accuracy, this.rates]) chart.width = Math.floor((inner - 20 * (columns - 1)) / columns);
    return true;
  }

  stateWords() {
    const { count, x, epoch } = this.model.get("data"),
      place = count ? `${epoch === null || epoch === undefined ? "" : `epoch ${epoch}, `}step ${x}` : "no step yet";
    return `${this.model.get("state")}, ${place}`;
  }

  update() {
    const data = this.model.get("data"),
      state = this.model.get("state"),
      unheard = Boolean(this.model.get("unheard")),
      off = unheard || OVER.includes(state);
    this.unheard.hidden = !unheard;
    this.main.textContent = RUN_WORDS[state];
    for (const button of [this.main, this.stepper, this.stopper]) button.setAttribute("aria-disabled", String(off));
    for (const control of this.ratesBox.querySelectorAll("input, button")) control.disabled = unheard;
    this.pace.disabled = off;
    this.badge.textContent = state;
    this.badge.dataset.state = state;
    this.where.textContent = this.stateWords().slice(state.length + 2);
    const rates = this.model.get("learning_rates");
    if (rates.length !== this.fields.length) this.buildRates();
    rates.forEach((rate, i) => {
      const { input } = this.fields[i];
      if (this.root.getRootNode().activeElement !== input) input.value = String(Number(rate.toPrecision(6)));
    });
    const span = spanOfAll([data.series, data.rates]);
    for (const [chart, kind] of [[this.loss, "loss"], [this.accuracy, "accuracy"]])
      this.draw(chart, Object.entries(CURVES).flatMap(([key, name]) => (data.series[`${key}_${kind}`] ? [[name, data.series[`${key}_${kind}`]]] : [])), span);
    this.loss.element.hidden = false; // an empty chart is the initial state
    this.draw(this.rates, Object.entries(data.rates), span);
    this.strip.element.hidden = !data.norms.length;
    this.strip.update(data.norms);
    const room = `${data.norms.length} ${this.inner}`;
    if (room !== this.room) nameScrollers(this.root);
    this.room = room;
    this.fillTable();
    if (state === "running" && data.epoch !== this.saidEpoch && performance.now() - this.spoken > QUIET) {
      this.saidEpoch = data.epoch;
      this.speak(`${this.stateWords()}: ${this.loss.svg.getAttribute("aria-label")}`);
    }
  }

  draw(chart, series, span) {
    const { marks, epochs } = this.model.get("data");
    chart.element.hidden = !series.length;
    chart.update(series, marks, epochs, span);
  }

  fillTable() {
    if (!this.table.open) return;
    const { table } = this.model.get("data"),
      key = JSON.stringify(table);
    if (key === this.filled) return;
    this.filled = key;
    const columns = [["epoch", "epoch"], ["step", "step"], ["train loss", "train_loss"], ["validation loss", "val_loss"],
      ["train accuracy", "train_accuracy"], ["validation accuracy", "val_accuracy"], ["learning rate", "learning_rate"]];
    const used = columns.filter(([, name]) => table.some((row) => row[name] !== undefined && row[name] !== ""));
    const cell = (value) => (value === undefined ? "–" : Array.isArray(value) ? value.map(short).join(", ") : typeof value === "number" ? short(value) : String(value));
    this.numbers.replaceChildren(
      h("table", { class: "al-epochs", "aria-label": "Numbers by epoch" },
        h("thead", {}, h("tr", {}, used.map(([text]) => h("th", { scope: "col", text })))),
        h("tbody", {}, table.map((row) => h("tr", {}, used.map(([, name]) => h("td", { text: cell(row[name]) })))))),
    );
  }

  paint() {
    const { examples, confusion, classes } = this.model.get("pictures");
    this.pictures.hidden = !examples && !confusion;
    this.examplesBox.hidden = !examples;
    this.confusionBox.hidden = !confusion;
    if (examples) this.examples.replaceChildren(...examples.map(exampleView));
    if (confusion) this.confusion.replaceChildren(confusionTable(confusion, classes));
  }
}

function exampleView({ width, height, colour, pixels, target, prediction, probability, right }) {
  const canvas = h("canvas", { width, height, "aria-hidden": "true" }),
    image = new ImageData(width, height),
    bytes = Uint8Array.from(atob(pixels), (c) => c.charCodeAt(0));
  for (let i = 0; i < width * height; i++) {
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = colour ? bytes[3 * i + k] : bytes[i];
    image.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  const sure = typeof probability === "number" ? ` (${Math.round(100 * probability)} %)` : "";
  const words = right ? `✓ ${prediction}${sure}` : `✗ ${prediction}${sure}, is ${target}`;
  return h("div", { role: "listitem", class: right ? "al-example" : "al-example al-wrong" }, canvas,
    h("span", { class: "al-hidden", text: right ? "right: " : "wrong: " }), h("span", { text: words }));
}

// Rows are true classes, columns predicted classes; each cell is coloured white to blue and shows its number.
function confusionTable(counts, classes) {
  const top = Math.max(1, ...counts.flat()),
    name = (i) => classes?.[i] ?? String(i),
    total = counts.flat().reduce((a, b) => a + b, 0),
    right = counts.reduce((sum, row, i) => sum + row[i], 0);
  const cell = (value, r, c) => {
    const background = color(-value, top);
    return h("td", { style: `background:${background};color:${inkOn(background)}`, text: value || "", title: `true ${name(r)}, predicted ${name(c)}: ${value}` });
  };
  return h("table", { class: "al-confusion", "aria-label": "Confusion matrix" },
    h("caption", { text: `${right} of ${total} right; rows: true class, columns: predicted class` }),
    h("thead", {}, h("tr", {}, h("td", {}), counts.map((_, i) => h("th", { scope: "col", text: name(i) })))),
    h("tbody", {}, counts.map((row, r) => h("tr", {}, h("th", { scope: "row", text: name(r) }), row.map((value, c) => cell(value, r, c))))));
}

export default entry(Dashboard);
