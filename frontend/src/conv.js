// The convolution explorer: image, kernel and output as grids, with a sliding frame. All numbers come from conv.py;
// here they are only selected by step. Its host only needs get, set, save_changes, on and off.
import { HOLDS_STOPS, h, nameScrollers } from "./dom.js";
import { goTo, quietWhilePlaying, startClock } from "./player.js";
import { Controls, onKey } from "./controls.js";
import { color, grouped, inkOn, relation, scaleOf, short } from "./values.js";
import { entry } from "./entry.js";
import { attend, sentenceBox, stage } from "./stage.js";

const LARGE_CELL = 44,
  SMALL_CELL = 22,
  MOST_COLUMNS_WITH_NUMBERS = 10,
  MOST_ROWS_WITH_NUMBERS = 16;

// Return a number short enough for a cell; `brief` in conv.py is the same function.
export function cellText(value) {
  const text = short(value);
  if (typeof value === "string" || value === 0) return text;
  if (Math.abs(value) < 0.01) return value.toExponential(0);
  return text.includes("e") ? value.toExponential(1).replace("e+", "e") : text.replace(/^(-?)0\./, "$1.");
}

// A grid of numbers with a heading, on which frames can be drawn. `paint` returns the content of each cell: { value,
// note }; value is null for a cell that is still empty, note is for cells outside the tensor.
class Grid {
  constructor(name, rows, columns, options = {}) {
    this.size = options.small || columns > MOST_COLUMNS_WITH_NUMBERS ? SMALL_CELL : LARGE_CELL;
    this.columns = columns;
    this.grid = Boolean(options.choose);
    this.cells = [];
    const line = (r) =>
      Array.from({ length: columns }, (_, c) => {
        const cell = h("td", this.grid ? { role: "gridcell", tabindex: "-1", onclick: () => options.choose(r, c) } : {});
        this.cells.push(cell);
        return cell;
      });
    this.table = h(
      "table",
      { class: "al-cells", role: this.grid ? "grid" : null },
      h("tbody", {}, Array.from({ length: rows }, (_, r) => h("tr", {}, line(r)))),
    );
    this.frames = {};
    this.title = h("div", { class: "al-gridname" });
    this.box = h("div", { class: "al-over" }, this.table);
    this.element = h("div", { class: "al-grid", style: `--cell:${this.size}px` }, this.title, this.box);
    this.rename(name);
  }

  rename(name) {
    this.title.textContent = name;
    this.table.setAttribute("aria-label", name);
  }

  paint(at, top, names) {
    this.cells.forEach((cell, i) => {
      const { value, note } = at(Math.floor(i / this.columns), i % this.columns);
      const empty = value === null || value === undefined;
      const background = empty ? "" : color(value, top);
      cell.className = note ? "al-padding" : empty ? "al-empty" : "";
      cell.style.background = note ? "" : background;
      cell.style.color = empty || note ? "" : inkOn(background);
      cell.textContent = empty || this.size < LARGE_CELL ? "" : cellText(value);
      const name = `${names(Math.floor(i / this.columns), i % this.columns)}${note ? ` (${note})` : ""}`;
      cell.title = empty ? `${name}: ${note ? "no gradient is kept here" : "not yet"}` : `${name} = ${value}`;
      if (this.grid) cell.setAttribute("aria-label", cell.title);
    });
  }

  // Draw the frame `kind` around rows and columns from `corner`; null removes it.
  frame(kind, corner, spans = [1, 1], dashed = false) {
    const frame = (this.frames[kind] ??= this.box.appendChild(h("div", { "aria-hidden": "true" })));
    frame.className = `al-frame al-frame-${kind}${dashed ? " al-dashed" : ""}`;
    frame.hidden = !corner;
    if (!corner) return;
    const [top, left, height, width] = [...corner, ...spans].map((n) => `${n * this.size}px`);
    Object.assign(frame.style, { top, left, height, width });
  }
}

function chunk(flat, length) {
  return Array.from({ length: flat.length / length }, (_, i) => flat.slice(i * length, (i + 1) * length));
}

class Convolution {
  constructor(model, el) {
    this.model = model;
    this.host = el;
    this.data = model.get("data");
    const { kernel, dilation } = this.data;
    this.spans = kernel.map((k, i) => dilation[i] * (k - 1) + 1);
    this.scales = this.findScales();
    this.controls = new Controls(model);
    this.sentence = sentenceBox();
    this.stage = h("div", { class: "al-stage", role: "group", "aria-label": "Image, kernel and output", ...HOLDS_STOPS });
    this.details = h("div", { class: "al-details", role: "group", "aria-label": "Details", tabindex: "0" });
    this.root = stage(
      el,
      "al al-conv",
      "Convolution explorer. Arrow keys step, space plays or pauses, Home and End jump.",
      h("div", { class: "al-top" }, this.controls.element, this.switches()),
      this.sentence,
      h("div", { class: "al-main" }, h("div", { class: "al-left" }, this.stage, legendOfConv()), this.details),
    );
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.build();
    this.listen();
    this.play();
  }

  switches() {
    const turn = (direction) => this.set("direction", direction);
    this.ways = ["forward", "backward"].map((way) =>
      h("button", { type: "button", text: way === "forward" ? "Forward" : "Backward", onclick: () => turn(way) }),
    );
    const filters = this.data.weight.length;
    this.filter = h(
      "select",
      { "aria-label": "Filter", onchange: () => this.toFilter(Number(this.filter.value)) },
      this.data.weight.map((_, o) => h("option", { value: o, text: `filter ${o}` })),
    );
    return h("div", { class: "al-buttons", role: "group", "aria-label": "Direction" }, this.ways, filters > 1 ? this.filter : null);
  }

  build() {
    const { image, weight, bias, output_shape: shape, kernel } = this.data;
    const small = image.length * image[0].length > MOST_ROWS_WITH_NUMBERS;
    this.images = image.map((channel) => new Grid("", channel.length, channel[0].length, { small }));
    this.kernels = weight[0].map(() => new Grid("", ...kernel));
    this.bias = bias ? new Grid("", 1, 1) : null;
    this.output = new Grid("", shape[1], shape[2], { choose: (r, c) => this.choose(r, c) });
    const column = (...grids) => h("div", { class: "al-column" }, grids.filter(Boolean).map((grid) => grid.element));
    const sign = (text) => h("div", { class: "al-sign", "aria-hidden": "true", text });
    this.signs = [sign(""), sign("")];
    this.stage.append(
      column(...this.images), this.signs[0], column(...this.kernels, this.bias), this.signs[1], column(this.output),
    );
  }

  // Use one colour scale per tensor for all steps, so that a colour keeps its meaning while contributions arrive.
  findScales() {
    const { frames, image, weight, bias, gradient } = this.data;
    const all = (key) => scaleOf([frames.flatMap((f) => f[key])]);
    return {
      forward: { image: scaleOf(image.flat()), kernel: scaleOf(weight.flat(2)), output: all("value"), bias: scaleOf([bias ?? []]) },
      backward: {
        image: all("image_total"), kernel: all("kernel_total"), output: scaleOf(gradient.flat()),
        bias: bias ? all("bias_total") : 0,
      },
    };
  }

  listen() {
    const update = () => this.update(), changes = { "change:step": update, "change:selected": update, "change:direction": update, "change:playing": () => this.play() };
    this.leave = attend(this.host, this.root, this.model, changes, () => this.fit());
  }

  // Put Details beside the grids if both fit, else below them.
  fit() {
    const width = this.root.clientWidth - 24, parts = [...this.stage.children];
    this.root.classList.toggle("al-narrow", width < 700);
    // 14 px between the parts of the stage, 18 around them, 392 for Details.
    this.root.classList.toggle("al-beside", parts.reduce((sum, part) => sum + part.offsetWidth + 14, 396) <= width);
    nameScrollers(this.root);
  }

  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  frameOf([o, r, c]) {
    const [, rows, columns] = this.data.output_shape;
    return (o * rows + r) * columns + c;
  }

  get cell() {
    return this.data.frames[this.model.get("step")].cell;
  }

  toFilter(o) {
    goTo(this.model, this.frameOf([o, this.cell[1], this.cell[2]]));
  }

  choose(r, c) {
    const wanted = [this.cell[0], r, c];
    this.set("selected", String(wanted) === String(this.model.get("selected")) ? [] : wanted);
  }

  // In the output, the arrow keys move from cell to cell, and Enter and Space select; elsewhere the explorer handles
  // the keys.
  onKey(event) {
    const place = this.output.cells.indexOf(event.target),
      columns = this.output.columns;
    const go = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (plain && event.key === "Escape" && this.model.get("selected").length) this.set("selected", []);
    else if (plain && place >= 0 && go) this.output.cells[place + go]?.focus();
    else if (plain && place >= 0 && [" ", "Enter"].includes(event.key)) event.target.click();
    else if (event.target.closest("select")) return event.stopPropagation();
    else return onKey(event, this.model, null);
    event.preventDefault();
    event.stopPropagation();
  }

  // Return the totals up to this step as functions of the position; undefined where nothing has arrived.
  totalsAt(step, filter) {
    const { frames, bias } = this.data,
      image = new Map();
    let kernel = null,
      biasTotal = null;
    for (const frame of frames.slice(0, step + 1)) {
      this.places(frame).forEach((place, i) => image.set(String(place), frame.image_total[i]));
      if (frame.cell[0] === filter) [kernel, biasTotal] = [frame.kernel_total, bias && frame.bias_total];
    }
    return { image, kernel, bias: biasTotal };
  }

  // Return the [channel, row, column] in the padded image of every number in a frame's window, in the frame's order.
  places(frame) {
    const { kernel, dilation } = this.data,
      [top, left] = frame.corner;
    return this.channels(frame.cell[0]).flatMap((channel) =>
      Array.from({ length: kernel[0] * kernel[1] }, (_, i) => [
        channel,
        top + Math.floor(i / kernel[1]) * dilation[0],
        left + (i % kernel[1]) * dilation[1],
      ]),
    );
  }

  // Return the channels that filter `o` reads: all, or those of its group.
  channels(o) {
    const { weight, groups } = this.data,
      read = weight[0].length,
      first = Math.floor(o / (weight.length / groups)) * read;
    return Array.from({ length: read }, (_, i) => first + i);
  }

  inPadding(r, c) {
    const [top, , left] = this.data.pads,
      [height, width] = this.data.size;
    return r < top || c < left || r >= top + height || c >= left + width;
  }

  play() {
    quietWhilePlaying(this.sentence, this.model);
    this.said = null;
    this.update();
  }

  update() {
    const { model, data } = this,
      step = model.get("step"),
      backward = model.get("direction") === "backward",
      frame = data.frames[step],
      selected = model.get("selected");
    this.controls.update();
    this.ways.forEach((button, i) => button.setAttribute("aria-pressed", String(backward === (i === 1))));
    this.filter.value = frame.cell[0];
    this.root.style.setProperty("--slide", `${Math.min(250, 0.7 * model.get("interval"))}ms`);
    this.say(frame, step, backward);
    this.paint(frame, step, backward);
    this.mark(frame, selected, backward);
    this.describe(selected.length ? data.frames[this.frameOf(selected)] : frame, Boolean(selected.length), backward);
    // Backward, the names are longer.
    this.fit();
  }

  say(frame, step, backward) {
    const { bias, gradient } = this.data,
      [o, r, c] = frame.cell,
      where = `[${frame.cell.join(", ")}]`,
      many = frame.products.length;
    const sum = many === 1 ? `One product, ${short(frame.sum)}` : `${many} products add up to ${short(frame.sum)}`;
    const words = backward
      ? `Gradient ${short(gradient[o][r][c])} arrives at output${where}. Times the kernel it goes to the window of the ` +
        `image, times the window to the kernel${bias ? ", and as it is to the bias" : ""}.`
      : bias
        ? `${sum}; with the bias ${short(bias[o])}, output${where} is ${short(frame.value)}.`
        : `${sum}: output${where}.`;
    const phase = backward ? "backward" : "forward";
    const key = phase + step;
    if (this.said === key) return;
    this.said = key;
    this.sentence.replaceChildren(
      h("span", { class: "al-hidden", text: `Step ${grouped(step + 1)} of ${grouped(this.data.frames.length)}, ` }),
      h("span", { class: `al-phase al-${phase}`, text: phase }),
      " ",
      words,
    );
  }

  paint(frame, step, backward) {
    const { data } = this,
      o = frame.cell[0],
      grad = backward ? ".grad" : "",
      top = this.scales[backward ? "backward" : "forward"];
    const so = backward ? this.totalsAt(step, o) : null,
      [kh, kw] = data.kernel,
      [before, , side] = data.pads;
    this.images.forEach((grid, ch) => {
      const name = `image${grad}[${ch}]`;
      grid.rename(name + (backward ? " so far" : ""));
      const at = (r, c) => {
        const note = this.inPadding(r, c) ? "padding" : "";
        if (!backward) return { value: data.image[ch][r][c], note };
        return { value: note ? null : so.image.get(`${ch},${r},${c}`), note };
      };
      grid.paint(at, top.image, (r, c) => (this.inPadding(r, c) ? name : `image${grad}[${ch}, ${r - before}, ${c - side}]`));
    });
    this.kernels.forEach((grid, ch) => {
      grid.rename(`weight${grad}[${o}, ${ch}]` + (backward ? " so far" : ""));
      const at = (r, c) => ({ value: backward ? so.kernel?.[(ch * kh + r) * kw + c] : data.weight[o][ch][r][c] });
      grid.paint(at, top.kernel, (r, c) => `weight${grad}[${o}, ${ch}, ${r}, ${c}]`);
    });
    if (this.bias) {
      this.bias.rename(`bias${grad}[${o}]` + (backward ? " so far" : ""));
      this.bias.paint(() => ({ value: backward ? so.bias : data.bias[o] }), top.bias, () => `bias${grad}[${o}]`);
    }
    this.output.rename(`output${grad}[${o}]`);
    const at = (r, c) => {
      const index = this.frameOf([o, r, c]);
      if (backward) return { value: data.gradient[o][r][c] };
      return { value: index <= step ? data.frames[index].value : null };
    };
    this.output.paint(at, top.output, (r, c) => `output${grad}[${o}, ${r}, ${c}]`);
    this.signs[0].textContent = backward ? "" : "∗";
    this.signs[1].textContent = backward ? "←" : "=";
  }

  mark(frame, selected, backward) {
    const [o, r, c] = frame.cell,
      here = selected.length && selected[0] === o,
      field = here ? this.data.frames[this.frameOf(selected)].corner : null;
    this.images.forEach((grid, channel) => {
      const read = this.channels(o).includes(channel);
      grid.frame("field", read ? field : null, this.spans);
      grid.frame("now", read ? frame.corner : null, this.spans, backward);
    });
    this.output.frame("field", here ? selected.slice(1) : null);
    this.output.frame("now", [r, c], [1, 1], backward);
    const used = new Set(this.places(frame).map(String));
    const gaps = this.data.dilation.some((d) => d > 1);
    this.images.forEach((grid, channel) =>
      grid.cells.forEach((cell, i) =>
        cell.classList.toggle("al-used", gaps && used.has(`${channel},${Math.floor(i / grid.columns)},${i % grid.columns}`)),
      ),
    );
    const focus = selected.length && here ? selected : frame.cell;
    const held = this.output.cells.indexOf(this.root.getRootNode().activeElement);
    this.output.cells.forEach((cell, i) => {
      const current = Math.floor(i / this.output.columns) === focus[1] && i % this.output.columns === focus[2];
      cell.tabIndex = (held < 0 ? current : i === held) ? 0 : -1;
      cell.setAttribute("aria-selected", String(Boolean(here) && current));
    });
  }

  describe(frame, chosen, backward) {
    const { data } = this,
      [o, r, c] = frame.cell,
      where = `[${frame.cell.join(", ")}]`,
      [top, left] = [frame.corner[0] - data.pads[0], frame.corner[1] - data.pads[2]],
      places = this.places(frame);
    const span = (from, length) => (length === 1 ? `${from}` : `${from} to ${from + length - 1}`);
    const outside = places.filter(([, row, column]) => this.inPadding(row, column)).length;
    const field = `Receptive field: rows ${span(top, this.spans[0])}, columns ${span(left, this.spans[1])} of the image` +
      (data.dilation.some((d) => d > 1) ? `, every ${data.dilation.join(" by ")} pixels` : "") +
      (outside ? `; ${outside} of ${places.length} numbers are padding (0)` : "") + ".";
    const window_ = places.map(([ch, row, column]) => data.image[ch][row][column]),
      weights = data.weight[o].flat(2);
    const g = short(data.gradient[o][r][c]);
    const parts = backward
      ? [
          this.three(o, [["weight", weights], [`× ${g}, to the image`, frame.to_image]], "to the image"),
          this.three(o, [["window", window_], [`× ${g}, to the kernel`, frame.to_kernel]], "to the kernel"),
          h("p", { class: "al-note", text: "Each is added to what is there: windows overlap, and the kernel is used at every step." }),
        ]
      : [
          this.three(o, [["window", window_], ["× weight", weights], ["= products", frame.products]], "products"),
          h("p", { class: "al-total", text: this.total(frame) }),
        ];
    this.details.replaceChildren(
      h("div", { class: "al-heading" }, h("h2", { text: `output${backward ? ".grad" : ""}${where} ${relation(backward ? data.gradient[o][r][c] : frame.value)} ${backward ? g : short(frame.value)}` }),
        chosen ? h("button", { type: "button", class: "al-small", text: "Follow the step", onclick: () => this.set("selected", []) }) : null),
      h("p", { class: "al-note", text: field }),
      ...parts.flat(),
    );
  }

  // Return tables side by side, one row of tables per channel.
  three(o, columns, about) {
    const [kh, kw] = this.data.kernel,
      size = kh * kw,
      channels = this.data.weight[0].length;
    return Array.from({ length: channels }, (_, ch) =>
      h("div", { class: "al-three" }, columns.map(([name, flat]) => {
        // A filter reads the image channels of its group, counted from the group's first channel.
        const channel = /window|image/.test(name) ? this.channels(o)[ch] : ch;
        const grid = new Grid(channels > 1 ? `${name} [${channel}]` : name, kh, kw);
        const rows = chunk(flat.slice(ch * size, (ch + 1) * size), kw);
        grid.table.setAttribute("aria-label", `${about}: ${name}, channel ${ch}`);
        grid.paint((r, c) => ({ value: rows[r][c] }), scaleOf([flat]), (r, c) => `${name} ${ch}, ${r}, ${c}`);
        return grid.element;
      })),
    );
  }

  total(frame) {
    const { bias } = this.data,
      signed = (v, first) => (first ? short(v) : String(v).startsWith("-") ? ` − ${short(v).slice(1)}` : ` + ${short(v)}`);
    const few = frame.products.length <= 9;
    const sum = few ? frame.products.map((v, i) => signed(v, i === 0)).join("") : `sum of ${frame.products.length} products`;
    const plus = bias ? `${few ? "" : ` ${relation(frame.sum)} ${short(frame.sum)}`}${signed(bias[frame.cell[0]])} (bias)` : "";
    const terms = [...(few ? frame.products : [frame.sum]), ...(bias ? [bias[frame.cell[0]]] : [])];
    const adds = Math.abs(terms.reduce((a, b) => a + b, 0) - frame.value) <= 1e-9 * Math.max(...terms.map(Math.abs), 1e-30);
    return `${sum}${plus} ${adds || !few ? relation(terms, frame.value) : "≈"} ${short(frame.value)}`;
  }
}

function legendOfConv() {
  const item = (name, text) => h("li", {}, h("span", { class: `al-key al-key-${name}`, "aria-hidden": "true" }), text);
  return h(
    "ul",
    { class: "al-legend", "aria-label": "Legend" },
    item("now", "this step's window"),
    item("field", "receptive field of the chosen output"),
    item("padding", "padding"),
    item("empty", "nothing yet"),
    item("ramp", "negative, 0, positive"),
  );
}

export default entry(Convolution, startClock);
