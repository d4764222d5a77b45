// The graph: puts the state of one frame into the skeleton that picture.py drew.
import { svgEl, clamp, reducedMotion } from "./dom.js";
import { partWord, rehearsed } from "./moods.js";
import { keptWords } from "./kept.js";
import { localFactor, narrow, pillWords, together, updateGradient, updateRow, updateTab } from "./marks.js";
import { madeOf, resultsOf, sharersOf, whyMissing } from "./states.js";
import { Walk } from "./walk.js";
import { grouped, isBad, shapeWords, words } from "./values.js";

const MOST_SCALE = 1.5;
export const LEAST_SCALE = 0.85; // text of 13 units is then 11 px
const PILL_SIDES = 9, BESIDE = [9, 3.4]; // units that a pill is wider than its words; where a shape begins in its room

export class Graph {
  // actions: select(id) for nodes, toggle(id) for parts.
  constructor(pane, trace, folding, markup, layouts, actions) {
    this.pane = pane;
    this.trace = trace;
    this.folding = folding;
    this.layouts = layouts;
    const parsed = new DOMParser().parseFromString(markup, "image/svg+xml");
    this.svg = document.importNode(parsed.documentElement, true);
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", "Computation graph");
    this.svg.prepend(defs());
    pane.replaceChildren(this.svg);
    this.rankdir = this.direction = layouts.LR ? "LR" : "TB";
    this.open = new Set((this.svg.dataset.open ?? "").split(" ").filter(Boolean));
    this.links = new Map(folding.fold(this.open).links.map((link) => [link.id, link]));
    this.nodeById = new Map(trace.nodes.map((node) => [node.id, node]));
    this.edgeById = new Map(trace.edges.map((edge) => [edge.id, edge]));
    // A card that stands for a module begins with its name.
    this.moduleOf = new Map([...folding.single].map(([part, op]) => [op, [folding.byId.get(part).label, folding.byId.get(part).type]]));
    this.cards = [...this.svg.querySelectorAll(".al-node:not(.al-part)")].map((g) => this.prepareCard(g, actions));
    this.parts = [...this.svg.querySelectorAll(".al-part")].map((g) => this.preparePart(g, actions));
    this.headers = [...this.svg.querySelectorAll(".al-header")].map((g) => this.prepareHeader(g, actions));
    this.lines = [...this.svg.querySelectorAll(".al-edge")].map((g) => this.prepareEdge(g));
    this.walk = new Walk(this);
  }

  prepareCard(g, actions) {
    const node = this.nodeById.get(g.dataset.id);
    g.setAttribute("role", "button");
    g.classList.add(`al-${node.kind}`);
    const shape = g.querySelector(".al-card"), of = (name) => Number(shape.getAttribute(name));
    if (g.querySelector(".al-grad")) g.classList.add("al-wants");
    for (const tab of g.querySelectorAll(".al-tab"))
      tab.append(svgEl("title", { text: tab.dataset.saved.split(" ").map((id) => keptWords(this.trace, id)).join("\n") }));
    g.classList.toggle("al-wrong", Boolean(node.error || node.mark || g.querySelector(".al-wrongline")));
    // Last, so that nothing covers it; seen while the value or the gradient holds NaN or inf.
    g.append(svgEl("rect", { class: "al-inner", x: 3, y: of("y") + 3, rx: 5, width: of("width") - 6, height: of("height") - 6 }));
    g.addEventListener("click", () => actions.select(node.id));
    g.addEventListener("focus", () => actions.select(node.id));
    const close = g.querySelector(".al-close"), within = (this.folding.rows.get(node.id) ?? []).map((id) => this.nodeById.get(id));
    if (close) {
      g.setAttribute("aria-expanded", "true");
      onlyHere(close, () => actions.toggle(close.dataset.part));
    }
    const part = (name) => g.querySelector(name);
    return {
      g,
      node,
      within,
      rows: [...g.querySelectorAll(".al-grad[data-of]")].map((row) => this.prepareRow(row, actions)),
      value: part(".al-value"),
      valueText: part(".al-value")?.textContent,
      thumb: part(".al-thumb"),
      grad: part(".al-grad:not([data-of])"),
      number: part(".al-number"),
      word: part(".al-word"),
      strip: part(".al-strip"),
      gthumb: part(".al-gthumb"),
      tabs: [...g.querySelectorAll(".al-tab")].map((tab) => ({
        tab,
        rect: tab.querySelector("rect"),
        text: tab.querySelector("text"),
        full: tab.querySelector("text").textContent,
        count: within.length || g.querySelector(".al-grad[data-of]") ? tab.dataset.saved.split(" ").length : 0,
      })),
    };
  }

  // The gradient of an operation's result, or of a parameter in its card; a click on it selects that.
  prepareRow(g, { select }) {
    const of = (name) => g.querySelector(name), node = this.nodeById.get(g.dataset.of);
    onlyHere(g, () => select(node.id));
    return { g, node, grad: g, strip: of(".al-strip"), number: of(".al-number"), word: of(".al-word") };
  }

  // A closed part: a button that opens it.
  preparePart(g, actions) {
    const part = this.folding.byId.get(g.dataset.id), of = (name) => g.querySelector(name);
    asToggle(g, false, () => actions.toggle(part.id));
    g.classList.toggle("al-wrong", Boolean(g.querySelector(".al-wrongline")));
    return { g, part, value: of(".al-value"), full: of(".al-value").textContent, grad: of(".al-grad"), strip: of(".al-strip"), word: of(".al-word") };
  }

  // The label of an open part: a button that closes it.
  prepareHeader(g, actions) {
    const part = this.folding.byId.get(g.dataset.id);
    asToggle(g, true, () => actions.toggle(part.id));
    const failed = this.trace.nodes.some((node) => node.error && this.folding.around(node.id).includes(part.id));
    g.classList.toggle("al-wrong", failed);
    this.svg.querySelector(`.al-frame[data-id="${part.id}"]`).classList.toggle("al-wrong", failed);
    g.setAttribute("aria-label", `${part.label}, ${part.type}${failed ? ", an operation failed" : ""}`);
    return { g, part, frame: this.svg.querySelector(`.al-frame[data-id="${part.id}"]`) };
  }

  // The box of a node or part, or of the closed part that holds it; the header of an open part.
  elementOf(id) {
    const shown = this.folding.shownAs(id, this.open);
    return this.svg.querySelector(`.al-node[data-id="${shown}"], .al-header[data-id="${shown}"]`);
  }

  prepareEdge(g) {
    const edge = this.links.get(g.dataset.id),
      line = g.querySelector(".al-line"),
      flow = line.cloneNode();
    flow.setAttribute("class", "al-flow");
    line.after(flow);
    const shape = g.querySelector(".al-shape");
    if (shape) this.svg.append(shape); // above all rings: it stands close to the boxes
    g.classList.toggle("al-plain", !edge.differentiable && !edge.update);
    g.classList.toggle("al-update", edge.update);
    g.classList.toggle("al-copy", edge.edges.some((id) => this.copies(this.edgeById.get(id))));
    return {
      g,
      edge,
      line,
      flow,
      inner: g.querySelector(".al-inline"),
      head: g.querySelector(".al-head"),
      pill: g.querySelector(".al-pill"),
      pillText: g.querySelector(".al-pilltext"),
      shape,
      at: g.querySelector(".al-head").getAttribute("transform"),
    };
  }

  // A font wider than Helvetica must not run over a card's edge. Once, when the page first shows the graph: before that a
  // text has no length.
  tightenText() {
    this.tight = true;
    for (const card of this.cards) if (card.value) [card.value.textContent, card.look] = [card.valueText, null];
    const texts = [...this.cards, ...this.parts].flatMap(({ g }) => [...g.querySelectorAll("text")].map((text) => [text, g.dataset.w - 12]));
    const pills = this.lines.filter(({ pillText }) => pillText).map(({ pill, pillText }) => [pillText, pill.firstChild.getAttribute("width") - PILL_SIDES]);
    narrow([...texts, ...pills]);
  }

  // "LR", "TB" or "column": moves everything to where that layout has it.
  arrange(direction) {
    const layout = this.layouts[direction];
    if (!layout || direction === this.direction) return;
    this.direction = direction;
    this.svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    const paper = this.svg.querySelector(".al-paper");
    paper.setAttribute("width", layout.width);
    paper.setAttribute("height", layout.height);
    for (const { g } of [...this.cards, ...this.parts]) {
      const [x, y] = layout.nodes[g.dataset.key];
      g.setAttribute("transform", `translate(${x - g.dataset.w / 2} ${y - g.dataset.h / 2})`);
    }
    for (const { g, part, frame } of this.headers) {
      const [x, y, width, height] = layout.frames[part.id];
      for (const [name, value] of Object.entries({ x, y, width, height })) frame.setAttribute(name, value);
      g.setAttribute("transform", `translate(${x + 6} ${y + 5})`);
    }
    for (const line of this.lines) {
      const [x, y, angle] = layout.heads[line.edge.id],
        pill = layout.pills[line.edge.id];
      line.line.setAttribute("d", layout.edges[line.edge.id]);
      line.flow.setAttribute("d", layout.edges[line.edge.id]);
      line.inner?.setAttribute("d", layout.edges[line.edge.id]);
      line.at = `translate(${x} ${y}) rotate(${angle})`;
      line.tail = line.look = null;
      if (pill) line.pill.setAttribute("transform", `translate(${pill[0]} ${pill[1]})`);
      if (line.shape) ["x", "y"].forEach((name, i) => line.shape.setAttribute(name, layout.labels[line.edge.id][i] + BESIDE[i]));
    }
  }

  size(direction = this.direction) {
    return this.layouts[direction] ?? this.svg.viewBox.baseVal;
  }

  // As large as the pane allows, but never so small that text cannot be read: then the pane scrolls. `zoom` multiplies;
  // "fit" shows everything.
  resize(width, height, zoom) {
    if (!this.tight) this.tightenText();
    const { width: w, height: h } = this.size(),
      all = Math.min(width / w, height / h, this.direction === "LR" ? MOST_SCALE : 1);
    this.scale = zoom === "fit" ? all : Math.max(all, LEAST_SCALE) * zoom;
    this.svg.setAttribute("width", Math.floor(w * this.scale));
    this.svg.setAttribute("height", Math.floor(h * this.scale));
  }

  update(index, now, selected) {
    const frame = this.trace.frames[index], { dimmed } = now;
    this.long = []; // what `settle` measures
    for (const card of this.cards) this.updateCard(card, frame, now, selected, dimmed.has(card.node.id));
    for (const part of this.parts) this.updatePart(part, frame, now);
    for (const line of this.lines) {
      this.updateEdge(line, frame, now);
      const ends = ({ parent, child }) => dimmed.has(parent) || dimmed.has(child);
      line.g.classList.toggle("al-dimmed", Boolean(dimmed.size) && line.edge.edges.every((id) => ends(this.edgeById.get(id))));
    }
  }

  // Long words, once all else on the page has changed.
  settle() {
    narrow(this.long);
  }

  updatePart(box, frame, now) {
    const { g, part } = box, { computed, state } = now.parts[part.id];
    const here = frame && this.folding.around(frame.node).includes(part.id);
    const there = frame?.receiver && frame.event !== "free" && this.folding.around(frame.receiver).includes(part.id);
    const phase = here || (there && frame.phase !== "forward") ? frame.phase : "";
    const done = computed >= part.ops || !this.trace.frames.length;
    if (!differs(box, [computed, state, phase])) return;
    g.classList.toggle("al-pending", !done);
    g.classList.toggle("al-now-forward", phase === "forward");
    g.classList.toggle("al-now-backward", phase === "backward");
    g.classList.toggle("al-now-update", phase === "update");
    box.value.textContent = done ? box.full : computed ? `${grouped(computed)} of ${grouped(part.ops)} ${part.kind === "step" ? "done" : "computed"}` : "…";
    if (box.grad) {
      box.strip.setAttribute("fill", state in PATTERNS ? `url(#al-${state})` : PALETTE.paper);
      box.grad.dataset.state = state;
      box.word.textContent = partWord(this.trace, state);
    }
    const size = [part.amount.replace(/\bop(s?)\b/, "operation$1").replace(" · ", ", ")];
    if (part.parameters) size.push(`${grouped(part.parameters)} parameters`);
    size.push(done ? (part.shape ? `result of shape ${shapeWords(part.shape)}` : "done") : computed ? `${grouped(computed)} computed` : "not computed yet");
    if (g.classList.contains("al-wrong")) size.push(g.querySelector(".al-cut").textContent);
    if (part.requires_grad) size.push(`gradients ${partWord(this.trace, state)}`);
    g.setAttribute("aria-label", [part.label, part.type, ...size].filter(Boolean).join(", "));
  }

  updateCard(card, frame, now, selected, dim) {
    const { g, node } = card, known = now.computed.has(node.id), { state, grad, word, why } = this.gradientOf(node, now);
    const ids = [node.id, ...card.within.map(({ id }) => id)];
    const about = frame && (ids.includes(frame.node) || (ids.includes(frame.receiver) && frame.event !== "free"));
    const phase = about && (frame.phase !== "forward" || ids.includes(frame.node)) ? frame.phase : "";
    const failed = about && frame.event === "error";
    const picked = selected === node.id, tabs = card.tabs.map(({ tab }) => together(tab.dataset.saved.split(" ").map((id) => now.saved[id])));
    const rows = card.rows.map((row) => [row, this.gradientOf(row.node, now), selected === row.node.id, now.dimmed.has(row.node.id)]);
    const looks = rows.flatMap(([, { state, word, grad }, ...marks]) => [state, word, grad, ...marks]);
    const wanted = frame && card.rows.length ? [frame.node, frame.event === "free" ? null : frame.receiver] : [];
    for (const { g: row, node: { id } } of card.rows) row.classList.toggle("al-here", wanted.includes(id));
    if (!differs(card, [known, state, word, why, grad, phase, failed, picked, dim, ...tabs, ...looks])) return;
    g.classList.toggle("al-pending", !known);
    g.classList.toggle("al-hasbad", holdsBad(node, known, grad));
    g.classList.toggle("al-failed", Boolean(failed));
    g.classList.toggle("al-now-forward", phase === "forward");
    g.classList.toggle("al-now-backward", phase === "backward");
    g.classList.toggle("al-now-update", phase === "update");
    g.classList.toggle("al-selected", picked);
    g.setAttribute("aria-pressed", String(picked));
    g.classList.toggle("al-dimmed", dim);
    const inside = rows.filter(([{ node: n }]) => n !== node).map(([{ node: n }, { word, why }]) => {
      const sharers = sharersOf(this.trace, n), shared = sharers.length ? `, shared by ${sharers.join(" and ")}` : "";
      return `${n.name || madeOf(n)} ${shapeWords(n.shape ?? [])}${shared}, gradient ${why ? `${word}: ${why}` : word}`;
    });
    g.setAttribute("aria-label", [this.nameOf(node, known, why ? `${word}: ${why}` : word, grad), ...inside].join("; "));
    for (const [row, now, picked, dimmed] of rows) {
      row.g.classList.toggle("al-picked", picked);
      row.g.classList.toggle("al-dimmed", dimmed);
      updateRow(row, now);
    }
    if (card.value) card.value.textContent = known ? card.valueText : "…";
    if (card.thumb) card.thumb.style.display = known ? "" : "none";
    card.tabs.forEach((tab, i) => updateTab(tab, tabs[i], rehearsed(this.trace)));
    const long = card.grad && updateGradient(card, state, word, grad);
    if (long) this.long.push(long);
  }

  gradientOf(node, now) {
    const { id } = node, state = now.states[id], shown = !["none", "never", "freed"].includes(state) && !resultsOf(node).length;
    const grad = shown ? now.gradients[id] : null; // of several results Details have each one's
    return { state, grad, word: now.words[id], why: now.why[id] };
  }

  // `said`: the word for the state of its gradient, and why there is never one.
  nameOf(node, known, said, grad) {
    const parts = [...(this.moduleOf.get(node.id) ?? []), `${madeOf(node)}, ${kindWords(node)}`];
    if (node.mark) parts.push(node.mark);
    parts.push(
      !known
        ? "not computed yet"
        : node.error
          ? `failed: ${node.error}`
          : resultsOf(node).length
            ? resultsOf(node).map((o) => `${o.label} ${o.value ? words(o.value) : whyMissing(this.trace, o)}`).join(", ")
          : node.shape && node.shape.length
            ? `shape ${shapeWords(node.shape)}`
            : node.value ? `value ${words(node.value)}` : `value: ${whyMissing(this.trace, node)}`,
    );
    const never = said.startsWith("never");
    if (node.requires_grad || never) parts.push(`gradient ${said}` + (grad && grad.shape.length === 0 ? ` ${words(grad)}` : ""));
    const sharers = sharersOf(this.trace, node);
    if (sharers.length) parts.push(`shared by ${sharers.join(" and ")}`);
    if (node.cut && !never) parts.push(`gradient cut by ${node.cut}`);
    if (holdsBad(node, known, grad)) parts.push("holds NaN or inf");
    if (node.device && node.device !== "cpu") parts.push(`on ${node.device}`);
    return parts.join(", ");
  }

  updateEdge(line, frame, now) {
    const { g, edge, head, pill, pillText } = line, { state, sent } = stateOf(edge, now);
    const forward = Boolean(frame && this.leadsTo(edge, frame));
    const active = forward || Boolean(frame && frame.edge && edge.edges.includes(frame.edge));
    if (!differs(line, [state, sent, active])) return;
    g.dataset.state = state;
    for (const e of [g, line.shape]) e?.classList.toggle("al-now", active);
    line.tail ??= tailOf(line.line);
    head.setAttribute("transform", state === "backward" ? line.tail : line.at);
    if (!pill) return;
    const single = edge.edges.length === 1 && this.edgeById.get(edge.id);
    const words = !single
      ? `${grouped(edge.edges.length)} edges`
      : ({ backward: pillWords(sent), forward: localFactor(single) || pill.dataset.shape }[state] ?? "");
    pill.setAttribute("visibility", words ? "visible" : "hidden");
    pillText.textContent = words;
    pillText.removeAttribute("textLength");
    this.long.push([pillText, pill.firstChild.getAttribute("width") - PILL_SIDES]);
  }

  // Whether what flows along an edge is copied to another device.
  copies({ parent, child }) {
    const [from, to] = [this.nodeById.get(parent), this.nodeById.get(child)];
    return to.op === "to_copy" && Boolean(from.device && to.device) && from.device !== to.device;
  }

  // Whether what a frame computes or changes comes along a line.
  leadsTo(link, { event, node, receiver }) {
    if (event !== "compute" && event !== "update") return false;
    return link.edges.some((id) => [node, event === "update" ? receiver : node].includes(this.edgeById.get(id).child));
  }

  // A token travels along the edges that this frame is about; nothing moves for those who asked for less motion.
  animate(frame, duration) {
    cancelAnimationFrame(this.moving);
    this.svg.querySelectorAll(".al-token").forEach((token) => token.remove());
    if (!frame || reducedMotion()) return;
    const back = frame.phase === "backward";
    const lines = this.lines.filter(({ edge }) =>
      back ? edge.edges.includes(frame.edge) : this.leadsTo(edge, frame),
    );
    const tokens = lines.map(({ line }) => ({
      line,
      length: line.getTotalLength(),
      dot: svgEl("circle", { class: `al-token al-token-${frame.phase}`, r: 6 }),
    }));
    this.svg.append(...tokens.map((token) => token.dot));
    const start = performance.now();
    const tick = (time) => {
      const part = clamp((time - start) / duration, 0, 1),
        eased = part * part * (3 - 2 * part);
      for (const { line, length, dot } of tokens) {
        const { x, y } = line.getPointAtLength(length * (back ? 1 - eased : eased));
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", y);
      }
      if (part < 1) this.moving = requestAnimationFrame(tick);
      else tokens.forEach((token) => token.dot.remove());
    };
    if (tokens.length) tick(start);
  }

  // Scrolls the pane, never the page, until what this frame is about can be seen.
  follow(frame) {
    if (!frame) return;
    const ids = new Set([frame.node, frame.receiver].filter(Boolean).map((id) => this.folding.boxOf(id, this.open)));
    const boxes = [...this.cards, ...this.parts].filter(({ g }) => ids.has(g.dataset.id));
    this.reveal(boxes.map(({ g }) => g));
  }

  reveal(elements) {
    if (!elements.length) return;
    const pane = this.pane.getBoundingClientRect(), boxes = elements.map((g) => g.getBoundingClientRect());
    const left = Math.min(...boxes.map((b) => b.left)) - pane.left - 24,
      right = Math.max(...boxes.map((b) => b.right)) - pane.left + 24;
    const top = Math.min(...boxes.map((b) => b.top)) - pane.top - 24,
      bottom = Math.max(...boxes.map((b) => b.bottom)) - pane.top + 24;
    const by = (low, high, size) => (low < 0 || high - low > size ? low : Math.max(0, high - size));
    this.pane.scrollBy({
      left: by(left, right, this.pane.clientWidth),
      top: by(top, bottom, this.pane.clientHeight),
      behavior: reducedMotion() ? "auto" : "smooth",
    });
  }

  stop() {
    cancelAnimationFrame(this.moving);
  }
}


function kindWords({ kind, op }) {
  if (kind === "op") return `result of ${op}`;
  return { leaf: op ? `leaf, changed by ${op}` : "leaf", update: `update by ${op}` }[kind] ?? "data";
}

function asToggle(g, expanded, toggle) {
  g.setAttribute("role", "button");
  g.setAttribute("aria-expanded", String(expanded));
  g.addEventListener("click", toggle);
}

// State and last contribution of a line; of a merged one the furthest state that any of its edges is in.
function stateOf(link, now) {
  if (link.edges.length === 1) return now.edges[link.id];
  const states = link.edges.map((id) => now.edges[id].state);
  return { state: ["backward", "forward"].find((state) => states.includes(state)) ?? "", sent: null };
}

// Whether `look` is another than the part was last drawn with; drawing only what changed keeps big graphs quick.
function differs(part, look) {
  const same = part.look && part.look.length === look.length && look.every((value, i) => value === part.look[i]);
  part.look = look;
  return !same;
}

function holdsBad(node, known, grad) {
  return (known && isBad(node.value)) || isBad(grad);
}

// A click on it does this, and nothing else.
function onlyHere(g, act) {
  g.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
}

// Where the arrow head stands, and points, when the gradient goes back: at the start of the line.
function tailOf(line) {
  const tip = line.getPointAtLength(0),
    from = line.getPointAtLength(6);
  return `translate(${tip.x} ${tip.y}) rotate(${(Math.atan2(tip.y - from.y, tip.x - from.x) * 180) / Math.PI})`;
}

function defs() {
  const pattern = (id, size, turn, ...inside) =>
    svgEl("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` }, ...inside);
  const drawn = (id, [kind, paper, ink, turn]) => {
    const mark = kind === "dots" ? svgEl("circle", { cx: 2, cy: 2, r: 1.2, fill: ink }) : svgEl("rect", { width: 2, height: 7, fill: ink });
    return pattern(id, 7, turn, svgEl("rect", { width: 7, height: 7, fill: paper }), mark);
  };
  const simulated = [["paper", 14], ["stripe", 4]].map(([name, width]) => svgEl("rect", { class: `al-device${name}`, width, height: 14 }));
  return svgEl(
    "defs",
    {},
    drawn("al-hatch", ["stripes", PALETTE.faded, PALETTE["faded-stripe"], 45]),
    Object.entries(PATTERNS).map(([state, look]) => drawn(`al-${state}`, look)),
    pattern("al-simulated", 14, 45, ...simulated),
  );
}
