// The timeline: the host's work, and for each device its copies, the kernels in its streams, its memory. Elements are
// created once; zooming moves them, stepping changes their classes.
import { HOLDS_STOPS, clamp, h, reducedMotion, svgEl } from "./dom.js";
import { ticks } from "./charts.js";
import { bytesWords, nameOfItem, timeWords } from "./measure.js";
import { lookOf, titleOf } from "./places.js";

const AXIS = 24, HEAD = 26, HOST = 34, COPY = 36, STREAM = 28, MEMORY = 74, PAD = 8;
const UNREAD = { "aria-hidden": "true" }; // a listbox holds only options, and its other texts are announced elsewhere
const LETTER = 7, MOST_WIDTH = 200_000, STRIDE = 26; // px; STRIDE: initial width of a step

export class Timeline {
  constructor(story, select) {
    Object.assign(this, { story, select });
    this.end = Math.max(story.end, 1e-9) * 1.02;
    this.marks = [];
    const name = "Timeline: up and down arrows choose";
    this.svg = svgEl("svg", { class: "al-time", role: "listbox", tabindex: "0", "aria-label": name, "aria-describedby": "al-peaks" });
    this.gutter = h("div", { class: "al-gutter", "aria-hidden": "true" });
    this.heads = h("div", { class: "al-heads", "aria-hidden": "true" });
    this.pane = h("div", { class: "al-timepane", ...HOLDS_STOPS }, this.svg);
    this.peaks = h("p", { class: "al-hidden", id: "al-peaks", text: peakWords(story) });
    this.element = h("div", { class: "al-timebox" }, this.gutter, this.pane, this.heads, this.peaks);
    this.pane.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.build();
  }

  // -- drawing once ----------------------------------------------------------------------------------------------------
  build() {
    const { story } = this, parts = [];
    this.axis = svgEl("g", { class: "al-axis", ...UNREAD });
    let y = AXIS;
    this.name(0, AXIS, "time");
    parts.push(this.hostRow(y));
    this.name(y, HOST, "CPU", true);
    this.hostY = y;
    y += HOST;
    this.memories = [];
    for (const device of story.devices.slice(1)) {
      this.heads.append(
        h("div", { class: `al-head ${lookOf(device)}`, style: `top:${y}px;height:${HEAD}px` },
          h("strong", { text: device.name }), h("span", { text: `${titleOf(device)}, ${bytesWords(device.memory)}` })),
      );
      y += HEAD;
      const work = story.work.get(device.name);
      this.name(y, COPY, "copies");
      parts.push(...work.filter((item) => item.origin).map((copy) => this.copy(copy, y)));
      y += COPY;
      const streams = [...new Set([0, ...work.map((item) => item.stream)])].sort((a, b) => a - b);
      for (const stream of streams) {
        this.name(y, STREAM, streams.length > 1 ? `stream ${stream}` : "kernels");
        parts.push(...work.filter((item) => item.stream === stream).map((item) => this.bar(item, y)));
        y += STREAM;
      }
      this.name(y, MEMORY, "memory");
      parts.push(this.memory(device, y));
      for (const o of story.refusals.filter((r) => r.device === device.name)) parts.push(this.refusal(o, y));
      y += MEMORY;
    }
    this.height = y + 4;
    this.nowLine = svgEl("path", { class: "al-nowline", ...UNREAD });
    this.link = svgEl("path", { class: "al-launchline", ...UNREAD });
    this.svg.append(patterns(), this.axis, ...parts, this.link, this.nowLine);
    this.svg.setAttribute("height", this.height);
    this.gutter.style.height = `${this.height}px`;
  }

  name(y, height, text, bold = false) {
    this.gutter.append(h("div", { class: bold ? "al-rowname al-bold" : "al-rowname", style: `top:${y}px;height:${height}px`, text }));
  }

  // Return one selectable item on the timeline.
  option(item, ...kids) {
    const g = svgEl("g", { class: "al-item", role: "option", id: `al-item-${item.id}`, "aria-selected": "false", "data-id": item.id }, ...kids);
    g.addEventListener("click", () => this.select(item.id));
    g.setAttribute("aria-label", `${nameOfItem(this.story, item)}, ${timeWords(item.start ?? item.time)}${item.end ? `, takes ${timeWords(item.end - item.start)}` : ""}`);
    return g;
  }

  hostRow(y) {
    const top = y + 4, height = HOST - 8, { story } = this;
    const busy = svgEl("rect", { class: "al-hostbusy", y: top, height, rx: 3 }), words = text("al-hostword", top + height / 2 + 4, "at work");
    this.marks.push({ place: () => this.span(busy, 0, story.host_end) });
    const g = svgEl("g", {}, busy);
    const waits = story.copies.filter((c) => c.waited > 0).map((c) => [c, c.queued, c.queued + c.waited, story.stepOf.get(c.id)]);
    waits.push(...story.waits.map((w) => [w, w.start, w.end, story.stepOf.get(w.id)]));
    for (const [item, start, end, step] of waits) {
      const rect = svgEl("rect", { class: "al-hostwait", y: top, height, rx: 3, fill: "url(#al-waits)" }), word = text("al-hostword", top + height / 2 + 4, "waits");
      const shape = item.id[0] === "w" ? this.option(item, rect, word) : svgEl("g", { class: "al-item", ...UNREAD }, rect, word);
      const drop = svgEl("path", { class: "al-waitend" });
      shape.append(drop);
      g.append(shape);
      this.marks.push({
        item, step, g: shape, wait: true,
        place: () => {
          const [x, w] = this.span(rect, start, end, 2);
          fitWords(word, x, w, "waits");
          drop.setAttribute("d", item.id[0] === "w" ? `M${x + w} ${top}V${this.streamsEnd(item.device)}` : "");
        },
      });
    }
    const [from, to] = widestGap(waits, story.host_end);
    this.marks.push({ place: () => fitWords(words, this.x(from), this.x(to) - this.x(from), "at work") });
    words.setAttribute("aria-hidden", "true");
    g.append(words);
    return g;
  }

  streamsEnd(name) {
    return this.memories.find((m) => m.device.name === name)?.top ?? this.height;
  }

  // Draw an arrow from the host (top) to the device, or back, with its text if there is room.
  copy(copy, y) {
    const line = svgEl("path", { class: "al-copyline" }), head = svgEl("path", { class: "al-copyhead", d: "M0 0L-9 -4L-9 4Z" });
    const route = copy.origin === "cpu" || copy.target === "cpu" ? "" : `${copy.origin} → ${copy.target} `;
    const words = `${route}${bytesWords(copy.bytes)} in ${timeWords(copy.end - copy.start)}`, label = text("al-copyword", y + COPY / 2 + 4, words);
    const g = this.option(copy, svgEl("rect", { class: "al-catch", y, height: COPY }), line, head, label);
    const up = copy.target === "cpu", [from, to] = up ? [y + COPY - 2, y + 4] : [y + 4, y + COPY - 2];
    this.marks.push({
      item: copy, step: this.story.stepOf.get(copy.id), g, label, row: y, words,
      place: () => {
        const x = this.x(copy.start), w = Math.max(8, this.x(copy.end) - x), angle = (Math.atan2(to - from, w) * 180) / Math.PI;
        line.setAttribute("d", `M${x} ${from}L${x + w} ${to}`);
        head.setAttribute("transform", `translate(${x + w} ${to}) rotate(${angle})`);
        g.firstChild.setAttribute("x", x);
        g.firstChild.setAttribute("width", w);
        return { start: x, end: x + w, width: words.length * LETTER + 4 };
      },
    });
    return g;
  }

  bar(item, y) {
    const kind = item.origin ? "al-barcopy" : `al-bar-${item.phase}`, name = item.origin ? "copy" : item.name;
    const rect = svgEl("rect", { class: "al-barshape", y: y + 3, height: STREAM - 6, rx: 3 }), words = text("al-barword", y + STREAM / 2 + 4, "");
    const made = item.origin ? svgEl("g", { class: "al-item", ...UNREAD }, rect, words) : this.option(item, rect, words);
    if (item.origin) made.addEventListener("click", () => this.select(item.id));
    made.classList.add(kind);
    this.marks.push({
      item, step: this.story.stepOf.get(item.id), g: made, bar: true, y: y + 3,
      place: () => {
        const [x, w] = this.span(rect, item.start, item.end, 1.5);
        fitWords(words, x, w, name);
      },
    });
    return made;
  }

  memory(device, y) {
    const { story } = this, points = lasting(story.memory[device.name] ?? [], device.peak), near = device.memory <= 4 * device.peak;
    const most = near ? device.memory : Math.max(device.peak, 1), top = y + 18, bottom = y + MEMORY - 6, up = (v) => bottom - ((bottom - top) * v) / most;
    const clip = `al-clip-${device.name.replace(":", "-")}`, until = svgEl("rect", { x: 0, y, height: MEMORY });
    const all = svgEl("path", { class: "al-memall" }), sofar = svgEl("path", { class: "al-memnow", "clip-path": `url(#${clip})` });
    const peak = svgEl("path", { class: "al-peakmark" }), peakWord = text("al-peakword", top - 5, `peak ${bytesWords(device.peak)}, by the host's clock`);
    const booked = bookedFor(story, device), kernel = booked && this.marks.find((m) => m.bar && m.item === booked), lead = svgEl("path", { class: "al-bookline" });
    const limit = svgEl("path", { class: "al-limit" }), limitWord = text("al-limitword", top - 5, `limit ${bytesWords(device.memory)}`);
    this.memories.push({ device, until, top: y });
    this.marks.push({
      place: () => {
        let path = `M0 ${up(device.before)}`;
        for (const [time, , allocated] of points) path += `H${this.x(time).toFixed(1)}V${up(allocated).toFixed(1)}`;
        path += `H${this.x(story.end)}`;
        all.setAttribute("d", path);
        sofar.setAttribute("d", `${path}V${bottom}H0Z`);
        const at = this.x(device.peak_at), room = peakWord.textContent.length * LETTER;
        peak.setAttribute("d", `M${at - 4} ${up(device.peak) - 8}h8l-4 7Z`);
        lead.setAttribute("d", kernel ? `M${at} ${up(device.peak) - 8}L${this.x(booked.start)} ${kernel.y + STREAM - 6}` : "");
        const left = at + 8 + room > this.width;
        peakWord.setAttribute("x", left ? at - 8 : at + 8);
        peakWord.setAttribute("text-anchor", left ? "end" : "start");
        peakWord.setAttribute("y", Math.max(top, up(device.peak)) - 6);
        limit.setAttribute("d", near ? `M0 ${up(device.memory)}H${this.width}` : "");
        // Keep the limit's label clear of the peak's.
        limitWord.setAttribute("x", at < this.width / 2 ? this.width - 4 : 4);
        limitWord.setAttribute("text-anchor", at < this.width / 2 ? "end" : "start");
        limitWord.style.display = near && this.width > 2 * room + 24 * LETTER ? "" : "none";
      },
    });
    return svgEl("g", UNREAD, svgEl("clipPath", { id: clip }, until), sofar, all, limit, lead, peak, peakWord, limitWord);
  }

  refusal(o, y) {
    const cross = svgEl("path", { class: "al-refused" }), label = text("al-refusedword", y + MEMORY - 12, `${bytesWords(o.bytes)} refused`);
    const g = this.option(o, cross, label);
    this.marks.push({
      item: o, step: this.story.stepOf.get(o.id), g,
      place: () => {
        const x = this.x(o.time), left = x + 130 > this.width;
        cross.setAttribute("d", `M${x - 6} ${y + 32}l12 12m0 -12l-12 12`);
        label.setAttribute("x", left ? x - 10 : x + 10);
        label.setAttribute("text-anchor", left ? "end" : "start");
      },
    });
    return g;
  }

  // -- positions ----------------------------------------------------------------------------------------------------
  x(time) {
    return PAD + (time / this.end) * (this.width - 2 * PAD);
  }

  span(rect, start, end, least = 0) {
    const x = this.x(start), w = Math.max(least, this.x(end) - x);
    rect.setAttribute("x", x.toFixed(2));
    rect.setAttribute("width", w.toFixed(2));
    return [x, w];
  }

  resize() {
    const seen = this.pane.clientWidth;
    if (seen <= 0) return;
    this.zoom = clamp(this.zoom ?? (this.story.steps.length * STRIDE) / seen, 1, MOST_WIDTH / seen);
    const width = Math.max(200, Math.floor(seen * this.zoom));
    if (width === this.width) return;
    this.width = width;
    this.svg.setAttribute("width", width);
    this.spans = new Map();
    for (const mark of this.marks) {
      const room = mark.place();
      if (mark.label) this.spans.set(mark, room);
    }
    this.drawAxis();
    this.last = null;
  }

  drawAxis() {
    const count = clamp(Math.floor(this.width / 110), 2, 400);
    this.axis.replaceChildren(
      ...ticks(0, this.end / 1.02, count).flatMap((time) => {
        const x = this.x(time), word = text("al-tick", 15, timeWords(time));
        word.setAttribute("x", x);
        word.setAttribute("text-anchor", x < 30 ? "start" : x > this.width - 30 ? "end" : "middle");
        return [svgEl("path", { class: "al-gridline", d: `M${x} ${AXIS - 4}V${this.height}` }), word];
      }),
    );
  }

  // 1: in, -1: out, 0: show everything.
  step(way, at = this.pane.clientWidth / 2) {
    const before = this.width, place = this.pane.scrollLeft + at;
    this.zoom = way === 0 ? 1 : this.zoom * 1.6 ** way;
    this.resize();
    this.update(this.index, this.selected, false);
    this.pane.scrollLeft = (place * this.width) / before - at;
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.step(-clamp(event.deltaY, -100, 100) / 100, event.clientX - this.pane.getBoundingClientRect().left);
  }

  keys() {
    const pan = (by) => () => this.pane.scrollBy({ left: by * 120 });
    return { "+": () => this.step(1), "=": () => this.step(1), "-": () => this.step(-1), 0: () => this.step(0),
      "Shift+ArrowLeft": pan(-1), "Shift+ArrowRight": pan(1) };
  }

  // -- a step ----------------------------------------------------------------------------------------------------------
  update(index, selected, moved) {
    this.index = index;
    this.selected = selected;
    if (!this.width) return;
    const { story } = this, about = story.steps[index]?.items[0];
    for (const mark of this.marks) {
      if (!mark.item) continue;
      const { item, g } = mark, state = mark.step > index ? "later" : mark.bar ? story.state(item, index) : "done";
      const look = `${state} ${item.id === about} ${item.id === selected}`;
      if (look === mark.look) continue;
      mark.look = look;
      for (const name of ["later", "queued", "running", "done"]) g.classList.toggle(`al-${name}`, state === name);
      g.classList.toggle("al-current", item.id === about);
      g.classList.toggle("al-chosen", item.id === selected);
      if (g.getAttribute("role")) g.setAttribute("aria-selected", String(item.id === selected));
    }
    if (selected && story.events.some(({ id }) => id === selected)) this.svg.setAttribute("aria-activedescendant", `al-item-${selected}`);
    else this.svg.removeAttribute("aria-activedescendant");
    const x = this.x(story.now(index));
    for (const { until } of this.memories) until.setAttribute("width", x);
    this.drawLink(story.byId.get(selected || about));
    const gaps = this.placeLabels(selected || about, x).sort((a, b) => a - b);
    this.nowLine.setAttribute("d", `M${x} ${AXIS - 6}${gaps.map((y) => `V${y + 8}M${x} ${y + COPY - 10}`).join("")}V${this.height}`);
    if (moved) this.follow(story.byId.get(about), x);
  }

  // Draw a link from the moment at which the host queued it to its start.
  drawLink(item) {
    const mark = item && !item.origin && this.marks.find((m) => m.bar && m.item === item);
    this.link.setAttribute("d", mark ? `M${this.x(item.queued)} ${this.hostY + HOST - 4}L${this.x(item.start)} ${mark.y}` : "");
  }

  // Place the labels of copies right or left of their arrows if there is room, and clear of the current-time line if
  // possible; the selected copy's label first. Return where that line must still be interrupted for labels (y of the
  // row).
  placeLabels(first, now) {
    const taken = new Map();
    for (const [mark, { start, end }] of this.spans) (taken.get(mark.row) ?? taken.set(mark.row, []).get(mark.row)).push([start, end, mark]);
    const gaps = [], order = [...this.spans].sort(([a], [b]) => (b.item.id === first) - (a.item.id === first) || a.item.start - b.item.start);
    for (const [mark, { start, end, width }] of order) {
      const row = taken.get(mark.row), free = (x) => x >= 0 && x + width <= this.width && row.every(([a, b, of]) => of === mark || x + width <= a || b <= x);
      const seen = mark.item.id === first || mark.step <= this.index, places = seen ? [end + 5, start - width - 5].filter(free) : [];
      const at = places.find((x) => now < x || now > x + width) ?? places[0];
      mark.label.style.display = at === undefined ? "none" : "";
      if (at === undefined) continue;
      row.push([at, at + width]);
      mark.label.setAttribute("x", at);
      if (at <= now && now <= at + width) gaps.push(mark.row);
    }
    return gaps;
  }

  follow(item, x) {
    const seen = [this.pane.scrollLeft, this.pane.scrollLeft + this.pane.clientWidth], from = Math.min(x, this.x(item?.start ?? 0)), to = Math.max(x, this.x(item?.end ?? 0));
    if (from - 20 >= seen[0] && to + 40 <= seen[1]) return;
    // If the item is longer than the pane, show its end, or the host's present time.
    const left = to - from > this.pane.clientWidth * 0.6 ? x - this.pane.clientWidth * 0.8 : from - this.pane.clientWidth * 0.3;
    this.pane.scrollTo({ left, behavior: reducedMotion() ? "auto" : "smooth" });
  }

  reveal(id) {
    const item = this.story.byId.get(id);
    if (item && id[0] !== "t") this.follow(item, this.x(item.start ?? item.time));
  }
}

// Return the kernel launched with the peak's memory: the host allocated it then, the GPU runs the kernel later.
function bookedFor(story, { name, peak, before, peak_at: at }) {
  const after = story.work.get(name).filter((item) => !item.origin && item.queued > at);
  return peak > before && after.length ? after.reduce((a, b) => (b.queued < a.queued ? b : a)) : null;
}

// Return the texts about the peaks and limits of the memory curves, with the clock they refer to.
function peakWords(story) {
  const peak = (device) => {
    const { name, peak, peak_at: at, memory } = device, kernel = bookedFor(story, device);
    const runs = kernel ? `, for the kernel ${kernel.name}, which the GPU begins at ${timeWords(kernel.start)}` : "";
    return `Memory of ${name}: peak ${bytesWords(peak)}, booked by the host at ${timeWords(at)}${runs}${memory ? `; limit ${bytesWords(memory)}` : ""}.`;
  };
  return story.devices.slice(1).map(peak).join(" ");
}

// Return the longest period in which the host does not wait.
function widestGap(waits, end) {
  let best = [0, 0], from = 0;
  for (const [, start, until] of [...waits.toSorted((a, b) => a[1] - b[1]), [null, end, end]]) {
    if (start - from > best[1] - best[0]) best = [from, start];
    from = Math.max(from, until);
  }
  return best;
}

// Return the points of a memory curve without those of zero duration, except the peak.
function lasting(points, peak) {
  return points.filter(([time, , allocated], i) => points[i + 1]?.[0] !== time || (allocated === peak && time > 0));
}

function text(name, y, words) {
  const made = svgEl("text", { class: name, y });
  made.textContent = words;
  return made;
}

// Return the text that fits into a bar, shortened, or none.
function fitWords(word, x, width, words) {
  const letters = Math.floor((width - 8) / LETTER);
  word.textContent = letters >= words.length ? words : letters >= 4 ? `${words.slice(0, letters - 1)}…` : "";
  word.setAttribute("x", x + 5);
}

function patterns() {
  const pattern = svgEl("pattern", { id: "al-waits", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svgEl("rect", { class: "al-waitpaper", width: 7, height: 7 }), svgEl("rect", { class: "al-waitink", width: 2, height: 7 }));
  return svgEl("defs", {}, pattern);
}
