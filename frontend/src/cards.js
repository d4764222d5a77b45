// The cards of nodes, closed parts and frames, where no kernel can draw them: the same SVG as Card, PartCard and Header in
// cards.py make (a test compares them). Of a big trace, whose numbers are not here, they are drawn without.
import { brief, bytesOf, cellsOf, grouped, rowsOf, shapeWords, sizeWords } from "./values.js";
import { GRADIENT_BORDERS, GRADIENT_FILLS, RowsCard, inModule, rowName } from "./rows.js";
import { LINE, PAD, TAB, TEXT, TITLE, cut, double, labelled, markup, plainly, rings, rounded, sign, widthOf } from "./svg.js";
import { madeOf, resultsOf, sharersOf, timelineOf } from "./states.js";
import { rehearsed, stateWord } from "./moods.js";

const MAX_TABS = 3, THUMB = 32, CELL = 12, MOST_CELLS = 8;

const titled = (words) => labelled("al-title", PAD, 18, words, { "font-size": TITLE, "font-weight": "bold" });
const bottomOf = (w, h, y) => `M1 ${plainly(y)}H${w - 1}V${plainly(h - 7)}q0 6 -6 6H7q-6 0 -6 -6Z`;
const ruleAt = (w, y) => markup("path", { class: "al-rule", d: `M1 ${plainly(y)}H${w - 1}`, stroke: PALETTE.data, fill: "none" });

function thumbSize(shape, value) {
  const table = rowsOf(value);
  if (!shape?.length || !table || table.length > MOST_CELLS || table[0].length > MOST_CELLS) return [0, 0];
  const cell = Math.min(CELL, Math.floor(THUMB / Math.max(table.length, table[0].length)));
  return [cell * table[0].length, cell * table.length];
}

// A number of parameters: 9,408; 148k; 8.39M.
function countWords(count) {
  const three = (number) => String(Number(number.toPrecision(3)));
  if (count < 10_000) return count.toLocaleString("en");
  return count < 999_500 ? `${three(count / 1000)}k` : `${three(count / 1e6)}M`;
}

// A number, else the shape; of several results those of the first three.
function resultWords(node) {
  if (!node.shape) return "";
  const several = resultsOf(node), parts = several.length ? several : [node];
  const words = parts.slice(0, 3).map(({ shape, value }) => (!shape ? "?" : !shape.length && value ? value.text : shapeWords(shape)));
  return [...words, ...(parts.length > 3 ? ["…"] : [])].join(", ");
}

class NodeCard {
  // grads: every gradient that the node is known to have had; module, note: words below the value; end: the state of its
  // gradient in the end, its word, and all the words that will stand there.
  constructor(node, saved, grads, module, note, look, { state, word, said }) {
    Object.assign(this, { node, saved, look, said, grad: grads.at(-1) ?? null });
    this.state = state;
    this.word = cut(word, TEXT, 150);
    this.bare = node.kind === "data" && !node.name && !node.shape?.length;
    const kind = { leaf: "leaf", data: this.bare ? "" : "data" }[node.kind] ?? node.op;
    this.title = cut(madeOf(node) || node.id, TITLE, node.kind === "leaf" ? 140 : 120, true);
    this.kind = cut(kind, TEXT, 120);
    this.value = this.bare ? "" : resultWords(node);
    this.thumb = thumbSize(node.shape, node.value);
    if (resultsOf(node).length) Object.assign(this, { thumb: [0, 0], grad: null });
    this.tabs = saved.slice(0, MAX_TABS).map(tabWords);
    if (saved.length > MAX_TABS) this.tabs[MAX_TABS - 1] = `and ${saved.length - MAX_TABS + 1} more`;
    const device = look[0] === null ? "" : look[0] === "sim" ? `${node.device} simulated` : node.device;
    this.wrong = [node.error.split(":")[0], node.mark].filter(Boolean);
    this.notes = [...this.wrong, node.cut ? `cut: ${node.cut}` : "", cut(module, TEXT, 130), note, device].filter(Boolean);
    const numbers = grads.filter(Boolean).map((g) => widthOf(g.shape.length ? brief(g) : g.text, TEXT, true));
    this.width = this.widthFor(numbers.length ? Math.max(...numbers) : 40);
    this.top = TAB * this.tabs.length;
    const over = this.value && this.thumb[1] > 24 ? LINE : 0;
    this.valueHeight = this.bare || node.error ? 0 : Math.max(LINE, this.thumb[1] + 4) + over;
    this.strip = node.requires_grad ? Math.max(LINE, this.thumb[1] + 4) + LINE : 0;
    this.height = this.top + 26 + this.valueHeight + LINE * this.notes.length + (this.bare ? 0 : 2) + this.strip;
  }

  widthFor(number) {
    const rows = [widthOf(this.title, TITLE, true) + 12 + widthOf(this.kind, TEXT), widthOf(this.value, TEXT) + this.thumb[0] + 8];
    rows.push(...[...this.notes, ...this.tabs].map((words) => widthOf(words, TEXT)));
    const gone = ({ name, state }) => widthOf(`${name} · ${state === "modified" ? state : "freed"}`, TEXT);
    rows.push(...this.saved.slice(0, MAX_TABS).map(gone));
    if (this.node.requires_grad) rows.push(...[...this.said, this.word].map((words) => widthOf(cut(words, TEXT, 150), TEXT)), widthOf("grad", TEXT) + 8 + (this.thumb[0] || number));
    return rounded(Math.max(this.bare ? 34 : 60, ...rows) + 2 * PAD);
  }

  draw() {
    const { node, width: w, height: h, top } = this, plain = node.kind === "leaf" ? [PALETTE.leaf, 3] : [PALETTE.data, 1.2];
    const [stroke, thick] = this.wrong.length ? [PALETTE["bad-line"], 2.5] : plain;
    const parts = this.tabs.map((words, i) => this.tab(i, words));
    const box = { x: 0, y: top, width: w, height: h - top, rx: 6 };
    parts.push(markup("rect", { class: "al-card", "data-device": this.look[0], ...box, fill: this.look[1], stroke, "stroke-width": thick }));
    if (this.wrong.length) parts.push(double(w, top, h - top));
    let y = top + 18;
    parts.push(labelled("al-title", PAD, y, this.title, { "font-size": TITLE, "font-weight": "bold" }));
    if (this.kind) parts.push(labelled("al-kind", w - PAD, y, this.kind, { "text-anchor": "end", fill: PALETTE.muted }));
    y += 6;
    if (!this.bare) {
      parts.push(labelled("al-value", PAD, y + 14, this.value));
      if (this.thumb[0]) parts.push(this.thumbnail("al-thumb", y + this.valueHeight - this.thumb[1] - 2, node.value));
    }
    y += this.valueHeight;
    for (const note of this.notes) {
      const [name, fill] = note.startsWith("cut: ") || this.wrong.includes(note) ? ["al-cut", PALETTE.alarm] : ["al-where", PALETTE.muted];
      parts.push(labelled(name, PAD, y + 14, note, { fill }));
      y += LINE;
    }
    if (this.strip) parts.push(this.gradient(y + 4));
    return parts.join("") + rings(w, h);
  }

  thumbnail(name, y, value) {
    const [w, h] = this.thumb, place = `translate(${this.width - PAD - w} ${plainly(y)})`;
    const look = { class: name, "data-w": w, "data-h": h, transform: place, stroke: PALETTE.data, "stroke-width": 0.5 };
    return markup("g", look, value ? cellsOf(value, w, h).map(([fill, d]) => markup("path", { fill, d })).join("") : "");
  }

  gradient(y) {
    const { width: w, strip: h, grad, state } = this, fill = GRADIENT_FILLS[state];
    const [stroke, dashes] = GRADIENT_BORDERS[state] ?? [null, null];
    const drawn = grad === null || (grad.shape.length && this.thumb[0]);
    const number = drawn ? "" : grad.shape.length ? brief(grad) : grad.text;
    return markup(
      "g",
      { class: "al-grad", "data-state": state },
      markup("path", { class: "al-strip", d: bottomOf(w, y + h, y), fill: fill ?? PALETTE.paper, stroke, "stroke-dasharray": dashes }),
      ruleAt(w, y),
      labelled("al-gradname", PAD, y + 14, "grad"),
      labelled("al-number", w - PAD, y + 14, number, { "text-anchor": "end" }),
      this.thumb[0] ? this.thumbnail("al-gthumb", y + 3, grad) : "",
      labelled("al-word", PAD, y + h - 5, this.word),
    );
  }

  tab(i, words) {
    const y = i * TAB, look = { x: 3, y: y + 1, width: this.width - 6, height: TAB, fill: PALETTE.saved, stroke: PALETTE.data };
    return markup("g", { class: "al-tab", "data-saved": this.saved[i].id }, markup("rect", look), labelled("al-tabname", PAD, y + 14.5, words));
  }
}

function tabWords({ name, bytes, version }) {
  return cut([name, sizeWords(bytes), version === null ? "" : `version ${version}`].filter(Boolean).join(" · "), TEXT, 180);
}

class PartCard {
  // said: the longest words for its gradients, where it is to be small; else null.
  constructor(part, look, wrong, said) {
    Object.assign(this, { part, look, wrong, said });
    this.title = cut(part.name, TITLE, 150, true);
    this.kind = cut(part.type, TEXT, 160);
    this.size = part.amount + (part.parameters ? ` · ${countWords(part.parameters)} parameters` : "");
    this.shape = part.shape ? shapeWords(part.shape) : "";
    const widest = Math.max(...[this.kind, this.size, this.shape, wrong].map((words) => widthOf(words, TEXT)));
    this.width = rounded(Math.max(widest, widthOf(this.title, TITLE, true) + 30, 96) + 2 * PAD);
    this.strip = part.requires_grad ? LINE + 4 : 0;
    this.height = 26 + (wrong ? 4 : 3) * LINE + 6 + this.strip;
    if (!said) return;
    this.split = PAD + rounded(widthOf(this.title, TITLE, true)) + 6;
    this.kind = [this.kind, part.amount].filter(Boolean).join(" · ");
    this.size = part.parameters ? `${countWords(part.parameters)} parameters` : "";
    const first = this.split - PAD + widthOf(this.kind, TEXT) + 24, ops = grouped(part.ops);
    const word = this.strip ? Math.max(...said.map((one) => widthOf(one, TEXT))) + 16 : 0;
    const second = Math.max(widthOf(this.size, TEXT), widthOf(`${ops} of ${ops} computed`, TEXT)) + word;
    this.width = rounded(Math.max(first, second, widthOf(wrong, TEXT), 96) + 2 * PAD);
    this.height = 23 + (wrong ? 2 : 1) * LINE + 1;
  }

  small() {
    const { width: w, height: h, strip, wrong } = this, y = h - LINE - 1, box = { x: 0, y: 0, width: w, height: h, rx: 6 };
    const [stroke, thick] = wrong ? [PALETTE["bad-line"], 2.5] : [PALETTE.blue, 1.6];
    const parts = [
      markup("path", { class: "al-pile", d: `M6 -4H${w - 1}q5 0 5 5V${h - 6}`, fill: "none", stroke: PALETTE.data }),
      markup("rect", { class: "al-card", "data-device": this.look[0], ...box, fill: this.look[1], stroke, "stroke-width": thick }),
      labelled("al-title", PAD, 16.5, this.title, { "font-size": TITLE, "font-weight": "bold" }),
      labelled("al-kind", this.split, 16.5, this.kind, { fill: PALETTE.muted }),
      sign(w - 20, 3, "M3 8H13M8 3V13"),
      ...(wrong ? [labelled("al-cut", PAD, 37, wrong, { fill: PALETTE.alarm }), double(w, 0, h)] : []),
    ];
    if (strip) {
      const inside = [
        markup("path", { class: "al-strip", d: bottomOf(w, h, y), fill: PALETTE.paper }),
        ruleAt(w, y),
        labelled("al-word", w - PAD, y + 14, "", { "text-anchor": "end" }),
      ];
      parts.push(markup("g", { class: "al-grad", "data-state": "none" }, ...inside));
    }
    parts.push(labelled("al-value", PAD, y + 14, this.size));
    return parts.join("") + rings(w, h);
  }

  draw() {
    if (this.said) return this.small();
    const { width: w, height: h, strip, wrong } = this, box = { x: 0, y: 0, width: w, height: h, rx: 6 };
    const [stroke, thick] = wrong ? [PALETTE["bad-line"], 2.5] : [PALETTE.blue, 1.6];
    const parts = [
      markup("path", { class: "al-pile", d: `M6 -5H${w - 1}q6 0 6 6V${h - 6}`, fill: "none", stroke: PALETTE.data }),
      markup("rect", { class: "al-card", "data-device": this.look[0], ...box, fill: this.look[1], stroke, "stroke-width": thick }),
      titled(this.title),
      sign(w - PAD - 16, 5, "M3 8H13M8 3V13"),
      labelled("al-kind", PAD, 38, this.kind, { fill: PALETTE.muted }),
      labelled("al-size", PAD, 56, this.size),
      labelled("al-value", PAD, 74, this.shape),
      ...(wrong ? [labelled("al-cut", PAD, 92, wrong, { fill: PALETTE.alarm }), double(w, 0, h)] : []),
    ];
    if (strip) {
      const y = h - strip;
      const inside = [
        markup("path", { class: "al-strip", d: bottomOf(w, h, y), fill: PALETTE.paper }),
        ruleAt(w, y),
        labelled("al-gradname", PAD, y + 15, "grad"),
        labelled("al-word", w - PAD, y + 15, "", { "text-anchor": "end" }),
      ];
      parts.push(markup("g", { class: "al-grad", "data-state": "none" }, ...inside));
    }
    return parts.join("") + rings(w, h);
  }
}

class Header {
  constructor(part) {
    this.title = cut(part.name, TITLE, 200, true);
    this.kind = cut(part.type, TEXT, 160);
    this.split = PAD + rounded(widthOf(this.title, TITLE, true)) + 8;
    this.width = this.split + rounded(widthOf(this.kind, TEXT)) + 16 + 2 * PAD;
    this.height = 26;
  }

  draw() {
    const { width: w, height: h } = this;
    return (
      markup("rect", { class: "al-card", x: 0, y: 0, width: w, height: h, rx: 6, fill: PALETTE.paper, stroke: PALETTE.data }) +
      titled(this.title) +
      labelled("al-kind", this.split, 18, this.kind, { fill: PALETTE.muted }) +
      sign(w - PAD - 14, 5, "M3 8H13") +
      rings(w, h)
    );
  }
}

// All cards of a trace, each made when it is asked for; `Cards` in picture.py.
export class Cards {
  constructor(trace, folding) {
    Object.assign(this, { trace, folding, made: new Map(), headers: new Map() });
    this.devices = trace.meta.devices ?? {};
    this.used = new Set(trace.edges.map(({ parent }) => parent));
    this.types = new Map(trace.groups.map((group) => [group.path, group.type]));
    this.saved = new Map();
    for (const saved of trace.saved) this.saved.has(saved.node) ? this.saved.get(saved.node).push(saved) : this.saved.set(saved.node, [saved]);
    this.wrong = new Map(); // part -> what is wrong with a node in it
    for (const { id, error, mark } of trace.nodes)
      for (const part of error || mark ? folding.opening(id) : []) if (!this.wrong.has(part)) this.wrong.set(part, error ? "an operation failed" : mark);
    this.grads = new Map();
    const old = new Map(); // node -> whether what it had is from before an update
    for (const { receiver, total, event } of trace.frames) {
      if (receiver === null || !total || event === "clear") continue;
      this.had(receiver, total);
      old.set(receiver, event === "update");
    }
    for (const { id, grad } of trace.nodes) if (grad || old.get(id)) this.had(id, grad);
  }

  had(id, grad) {
    if (!this.grads.has(id)) this.grads.set(id, []);
    this.grads.get(id).push(grad);
  }

  // The card of a node or closed part: { width, height, markup }.
  of(id) {
    if (!this.made.has(id)) this.made.set(id, drawn(this.folding.isPart(id) ? this.part(id) : this.node(id)));
    return this.made.get(id);
  }

  header(id) {
    if (!this.headers.has(id)) this.headers.set(id, drawn(new Header(this.folding.byId.get(id))));
    return this.headers.get(id);
  }

  nodeAt(id) {
    return this.trace.nodes[Number(id.slice(1))];
  }

  look({ device }) {
    if (device === "" || device === "cpu") return [null, PALETTE.paper];
    return this.devices[device]?.simulated || device.startsWith("sim") ? ["sim", "url(#al-simulated)"] : ["gpu", PALETTE.cuda];
  }

  part(id) {
    const part = this.folding.byId.get(id), said = rehearsed(this.trace) ? ["part would be in"] : ["in progress", "returned"];
    return new PartCard(part, this.look(this.nodeAt(part.last)), this.wrong.get(id) ?? "", this.folding.down ? said : null);
  }

  node(id) {
    if (this.folding.down && this.nodeAt(id).kind === "op") return this.withRows(this.nodeAt(id));
    const node = this.nodeAt(id), said = node.kind === "op" && this.folding.home.get(id) === null;
    const kind = this.types.get(node.module) ?? "";
    const module = !said ? "" : kind === "" || kind === node.module ? node.module : `${node.module} · ${kind}`;
    const start = this.copiedFrom(node), sharers = sharersOf(this.trace, node).length;
    const size = start && node.shape ? sizeWords(bytesOf(node)) : "";
    const note = size ? `${start} → ${node.device}, ${size}` : sharers ? `shared by ${sharers} calls` : "";
    return new NodeCard(node, this.saved.get(id) ?? [], this.grads.get(id) ?? [], module, note, this.look(node), this.told(id));
  }

  withRows(node) {
    const { folding } = this, parts = folding.around(node.id).filter((part) => folding.single.has(part)).map((part) => folding.byId.get(part));
    const made = madeOf(node) || node.id, inside = (folding.rows.get(node.id) ?? []).map((id) => this.nodeAt(id)), all = [node, ...inside];
    const title = parts.length ? parts.map(({ name }) => name).join(".") : made;
    const kind = !parts.length ? node.op : node.requires_grad ? parts.at(-1).type : `${parts.at(-1).type} · ${made}`;
    const rows = node.requires_grad ? [this.row(node, `${made}.grad`)] : [];
    rows.push(...inside.filter((n) => n.requires_grad).map((n) => this.row(n, rowName(n))));
    const others = [...new Set(inside.filter((n) => !n.requires_grad && n.kind === "data").map(inModule))];
    const look = this.look(node), wrong = all.flatMap(({ error, mark }) => [error.split(":")[0], mark]).filter(Boolean);
    const notes = [...new Set([...wrong, ...(node.cut ? [`cut: ${node.cut}`] : [])])].map((words) => [words, true]);
    const calls = Math.max(0, ...inside.map((n) => sharersOf(this.trace, n).length));
    if (calls) notes.push([`parameters shared by ${calls} calls`, false]);
    if (look[0] !== null) notes.push([look[0] === "sim" ? `${node.device} simulated` : node.device, false]);
    const shown = node.shape && !node.error && (!node.shape.length || !this.used.has(node.id));
    const value = shown ? resultWords(node) : "";
    const saved = all.flatMap(({ id }) => this.saved.get(id) ?? []).map(({ id }) => id);
    return new RowsCard(node, title, kind, rows, others, notes, value, saved, look, parts.length && folding.rows.has(node.id) ? parts[0].id : "");
  }

  row({ id }, name) {
    const { state, word, said } = this.told(id), numbers = (this.grads.get(id) ?? []).filter((g) => g && !g.shape.length).map((g) => g.text);
    return { of: id, name, state, word: cut(word, TEXT, 150), said: [said[0], ...said.slice(1).map((w) => cut(w, TEXT, 150))], numbers };
  }

  told(id) {
    const { trace } = this, last = trace.frames.length - 1, state = timelineOf(trace).state(id, last);
    const name = trace.frames.findLast(({ event, state, receiver }) => event === "return" && state === "returned" && receiver === id)?.name;
    const said = [rehearsed(trace) ? STATES.contribution[1] : "accumulated", ...(name === undefined ? [] : [stateWord("returned", name)])];
    return { state, said, word: stateWord(state, name, rehearsed(trace)) };
  }

  // The device that the operand was copied from, "" for other nodes.
  copiedFrom(node) {
    if (node.op !== "to_copy" || node.device === "") return "";
    const edge = this.trace.edges.find(({ child }) => child === node.id), start = edge ? this.nodeAt(edge.parent).device : node.device;
    return start === node.device ? "" : start;
  }
}

function drawn(card) {
  return { width: card.width, height: card.height, markup: card.draw() };
}
