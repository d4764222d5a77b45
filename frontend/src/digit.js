// A pad of 32x32 pixels. Its host only needs get, set, save_changes, on and off.
import { clamp, followTheme, h, rootIn } from "./dom.js";
import { entry } from "./entry.js";

const CELLS = 32, ZOOM = 10, FULL = 1.4, EDGE = 2.6; // a stroke is ink up to FULL pixels from its centre line, and white from EDGE on
const LOOK = 120; // ms between two requests to the network during a stroke
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Pad {
  constructor(model, host) {
    this.model = model;
    this.before = []; // the states that Undo restores
    this.pen = { x: 16, y: 8, down: false };
    const shadow = rootIn(host);
    this.canvas = h("canvas", { width: CELLS * ZOOM, height: CELLS * ZOOM, tabindex: "0", role: "application", "aria-describedby": "how",
      onpointerdown: (event) => this.begin(event), onpointermove: (event) => this.move(event), onpointerup: (event) => this.end(event),
      onpointercancel: (event) => this.end(event), onkeydown: (event) => this.key(event), onfocus: () => this.draw(), onblur: () => this.lift() });
    this.label = h("select", { onchange: () => this.set("label", Number(this.label.value)) },
      [...Array(10).keys()].map((digit) => h("option", { value: digit, text: String(digit) })));
    this.erase = this.button("Erase", () => this.erase.setAttribute("aria-pressed", String(this.erase.getAttribute("aria-pressed") !== "true")));
    this.erase.setAttribute("aria-pressed", "false");
    this.undo = this.button("Undo", () => this.before.length && this.set("pixels", this.before.pop()));
    this.status = h("p", { role: "status", "aria-live": "polite" });
    this.bars = [...Array(10).keys()].map((digit) => ({ bar: h("i"), percent: h("b"), digit }));
    this.odds = h("ol", { class: "al-odds", "aria-label": "What the network sees", hidden: true },
      this.bars.map(({ digit, bar, percent }) => h("li", {}, h("span", { text: digit }), h("span", { class: "al-track", "aria-hidden": "true" }, bar), percent)));
    this.root = h("div", { class: "al-digit", role: "group", "aria-label": "Draw a digit" }, this.canvas, this.odds,
      h("div", { class: "al-side" }, h("label", {}, "It is meant to be a", this.label),
        h("div", { class: "al-buttons" }, this.button("Clear", () => this.change("0".repeat(2 * CELLS * CELLS))), this.undo, this.erase,
          this.button("Begin again", () => this.change(model.get("first")))),
        h("p", { id: "how", text: "Draw within the dotted square, with mouse, pen or finger. By keyboard: arrow keys move the pen, space puts it down and lifts it." }),
        this.status));
    shadow.replaceChildren(h("style", { text: STYLE }), this.root);
    const forget = followTheme(host, this.root), update = () => this.update();
    const judge = () => this.judge();
    for (const name of ["pixels", "label"]) model.on(`change:${name}`, update);
    model.on("change:probabilities", judge);
    this.leave = () => {
      for (const name of ["pixels", "label"]) model.off(`change:${name}`, update);
      model.off("change:probabilities", judge);
      clearTimeout(this.looking);
      forget();
    };
    this.update();
  }

  button(text, onclick) {
    return h("button", { type: "button", text, onclick });
  }

  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
    this.update();
  }

  change(pixels) {
    if (pixels === this.model.get("pixels")) return;
    this.before.push(this.model.get("pixels"));
    this.set("pixels", pixels);
  }

  // During a stroke only `ink` changes; at its end the model is updated.
  keep() {
    clearTimeout(this.looking);
    this.looking = null;
    this.change(this.hex());
  }

  hex() {
    return [...this.ink].map((value) => value.toString(16).padStart(2, "0")).join("");
  }

  // Ask the network about an unfinished stroke.
  look() {
    if (this.odds.hidden || this.model.get("live") === false) return;
    this.looking ??= setTimeout(() => {
      this.looking = null;
      this.model.send({ kind: "look", pixels: this.hex() });
    }, LOOK);
  }

  // Show the ten probabilities; on a page without a kernel only those of the initial digit.
  judge() {
    const { model } = this, odds = model.get("probabilities") ?? [], known = odds.length > 0;
    this.odds.hidden = !model.get("sees") || (model.get("live") === false && model.get("pixels") !== model.get("first"));
    const best = Math.max(...odds);
    for (const { bar, percent, digit } of this.bars) {
      const part = known ? odds[digit] : 0;
      bar.style.width = `${100 * part}%`;
      percent.textContent = known ? `${(100 * part).toFixed(part > 0.9995 || part < 0.0005 ? 0 : 1)} %` : "";
      percent.parentElement.classList.toggle("al-best", part > 0 && part === best);
    }
  }

  stroke(from, to) {
    const erases = this.erase.getAttribute("aria-pressed") === "true", [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    for (let i = 0; i < this.ink.length; i += 1) {
      const [px, py] = [(i % CELLS) + 0.5 - from[0], Math.floor(i / CELLS) + 0.5 - from[1]];
      const along = clamp((px * dx + py * dy) / (dx * dx + dy * dy || 1), 0, 1);
      const value = Math.round(255 * clamp((EDGE - Math.hypot(px - along * dx, py - along * dy)) / (EDGE - FULL), 0, 1));
      this.ink[i] = erases ? Math.min(this.ink[i], 255 - value) : Math.max(this.ink[i], value);
    }
    this.draw();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * CELLS, ((event.clientY - box.top) / box.height) * CELLS];
  }

  begin(event) {
    if (event.button) return;
    this.canvas.setPointerCapture?.(event.pointerId);
    this.last = this.at(event);
    this.stroke(this.last, this.last);
  }

  move(event) {
    if (!this.last) return;
    const to = this.at(event);
    this.stroke(this.last, to);
    this.last = to;
    this.look();
  }

  end() {
    if (this.last) this.keep();
    this.last = undefined;
  }

  key(event) {
    const step = STEPS[event.key], pen = this.pen;
    if (!step && ![" ", "Enter", pen.down && "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const from = [pen.x + 0.5, pen.y + 0.5];
    if (step) Object.assign(pen, { x: clamp(pen.x + step[0], 0, CELLS - 1), y: clamp(pen.y + step[1], 0, CELLS - 1) });
    else pen.down = event.key !== "Escape" && !pen.down;
    if (pen.down) {
      this.stroke(from, [pen.x + 0.5, pen.y + 0.5]);
      this.keep();
    }
    this.status.textContent = `Pen ${pen.down ? "down" : "up"}, row ${pen.y + 1}, column ${pen.x + 1}.`;
    this.draw();
  }

  lift() {
    this.pen.down = false;
    this.draw();
  }

  draw() {
    const paper = this.canvas.getContext("2d"), side = CELLS * ZOOM, frame = 6 * ZOOM;
    paper.clearRect(0, 0, side, side);
    // Black on a transparent background: the style sheet inverts it in a dark theme.
    paper.fillStyle = PALETTE.black;
    for (let i = 0; i < this.ink.length; i += 1) {
      if (!this.ink[i]) continue;
      paper.globalAlpha = this.ink[i] / 255;
      paper.fillRect((i % CELLS) * ZOOM, Math.floor(i / CELLS) * ZOOM, ZOOM, ZOOM);
    }
    paper.globalAlpha = 1;
    paper.strokeStyle = PALETTE.data;
    paper.setLineDash([3, 5]);
    paper.strokeRect(frame, frame, side - 2 * frame, side - 2 * frame);
    paper.setLineDash([]);
    if (this.canvas.matches(":focus-visible")) {
      paper.lineWidth = this.pen.down ? 4 : 2;
      paper.strokeRect(this.pen.x * ZOOM, this.pen.y * ZOOM, ZOOM, ZOOM);
      paper.lineWidth = 1;
    }
  }

  update() {
    const pixels = this.model.get("pixels");
    this.ink = Uint8Array.from({ length: CELLS * CELLS }, (_, i) => parseInt(pixels.slice(2 * i, 2 * i + 2), 16));
    this.label.value = this.model.get("label");
    this.undo.disabled = !this.before.length;
    const inked = this.ink.filter((value) => value).length;
    this.canvas.setAttribute("aria-label", `Pad of 32 by 32 pixels, ${inked} of them with ink`);
    this.draw();
    this.judge();
  }
}

export default entry(Pad);
