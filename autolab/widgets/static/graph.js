// The graph: puts the state of one frame into the skeleton that picture.py drew.
import { svgEl, clamp, reducedMotion } from "./dom.js";
import { brief, thumbCells, isBad, shapeWords, words } from "./values.js";

export const STATE_WORDS = {
  none: "not yet",
  zero: "zero",
  contribution: "contribution",
  accumulated: "accumulated",
  freed: "freed",
};
const LEAST_SCALE = 0.85, MOST_SCALE = 1.5; // at the least, text of 13 units is 11 px

export class Graph {
  constructor(pane, trace, markup, layouts, actions) {
    this.pane = pane;
    this.trace = trace;
    this.layouts = layouts;
    const parsed = new DOMParser().parseFromString(markup, "image/svg+xml");
    this.svg = document.importNode(parsed.documentElement, true);
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", "Computation graph");
    this.svg.prepend(defs());
    pane.replaceChildren(this.svg);
    this.direction = "LR";
    this.nodeById = new Map(trace.nodes.map((node) => [node.id, node]));
    this.edgeById = new Map(trace.edges.map((edge) => [edge.id, edge]));
    this.cards = [...this.svg.querySelectorAll(".al-node")].map((g) => this.prepareCard(g, actions));
    this.lines = [...this.svg.querySelectorAll(".al-edge")].map((g) => this.prepareEdge(g));
    this.tightenText();
  }

  prepareCard(g, actions) {
    const node = this.nodeById.get(g.dataset.id);
    g.setAttribute("role", "button");
    g.setAttribute("tabindex", "0");
    g.classList.add(`al-${node.kind}`);
    if (isBad(node.value)) g.classList.add("al-hasbad");
    const shape = g.querySelector(".al-card");
    if (g.querySelector(".al-grad")) g.classList.add("al-wants");
    if (isBad(node.value)) {
      const inner = svgEl("rect", {
        class: "al-inner",
        x: 4,
        y: Number(shape.getAttribute("y")) + 4,
        rx: 4,
        width: Number(shape.getAttribute("width")) - 8,
        height: Number(shape.getAttribute("height")) - 8,
      });
      shape.after(inner);
    }
    g.addEventListener("click", () => actions.select(node.id));
    g.addEventListener("focus", () => actions.select(node.id));
    const part = (name) => g.querySelector(name);
    return {
      g,
      node,
      value: part(".al-value"),
      valueText: part(".al-value")?.textContent,
      thumb: part(".al-thumb"),
      grad: part(".al-grad"),
      number: part(".al-number"),
      word: part(".al-word"),
      strip: part(".al-strip"),
      gthumb: part(".al-gthumb"),
      tabs: [...g.querySelectorAll(".al-tab")].map((tab) => ({
        tab,
        rect: tab.querySelector("rect"),
        text: tab.querySelector("text"),
        full: tab.querySelector("text").textContent,
      })),
    };
  }

  prepareEdge(g) {
    const edge = this.edgeById.get(g.dataset.id),
      line = g.querySelector(".al-line"),
      flow = line.cloneNode();
    flow.setAttribute("class", "al-flow");
    line.after(flow);
    g.classList.toggle("al-plain", !edge.differentiable);
    return {
      g,
      edge,
      line,
      flow,
      head: g.querySelector(".al-head"),
      pill: g.querySelector(".al-pill"),
      pillText: g.querySelector(".al-pilltext"),
      at: g.querySelector(".al-head").getAttribute("transform"),
    };
  }

  // A font wider than Helvetica must not run over a card's edge.
  tightenText() {
    for (const { g } of this.cards) {
      const width = Number(g.dataset.w) - 12;
      for (const text of g.querySelectorAll("text")) {
        if (text.getComputedTextLength() > width) {
          text.setAttribute("textLength", width);
          text.setAttribute("lengthAdjust", "spacingAndGlyphs");
        }
      }
    }
  }

  // "LR" or "TB": moves everything to where that layout has it.
  arrange(direction) {
    const layout = this.layouts[direction];
    if (!layout || direction === this.direction) return;
    this.direction = direction;
    this.svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    const paper = this.svg.querySelector(".al-paper");
    paper.setAttribute("width", layout.width);
    paper.setAttribute("height", layout.height);
    for (const { g } of this.cards) {
      const [x, y] = layout.nodes[g.dataset.key];
      g.setAttribute("transform", `translate(${x - g.dataset.w / 2} ${y - g.dataset.h / 2})`);
    }
    for (const line of this.lines) {
      const [x, y, angle] = layout.heads[line.edge.id],
        pill = layout.pills[line.edge.id];
      line.line.setAttribute("d", layout.edges[line.edge.id]);
      line.flow.setAttribute("d", layout.edges[line.edge.id]);
      line.at = `translate(${x} ${y}) rotate(${angle})`;
      line.tail = line.look = null;
      if (pill) line.pill.setAttribute("transform", `translate(${pill[0]} ${pill[1]})`);
    }
  }

  size(direction = this.direction) {
    return this.layouts[direction] ?? this.svg.viewBox.baseVal;
  }

  // As large as the pane allows, but never so small that text cannot be read: then the pane scrolls. `zoom` multiplies;
  // "fit" shows everything.
  resize(width, height, zoom) {
    const { width: w, height: h } = this.size(),
      all = Math.min(width / w, height / h, this.direction === "TB" ? 1 : MOST_SCALE);
    this.scale = zoom === "fit" ? all : Math.max(all, LEAST_SCALE) * zoom;
    this.svg.setAttribute("width", Math.floor(w * this.scale));
    this.svg.setAttribute("height", Math.floor(h * this.scale));
  }

  update(index, now, selected, dimmed) {
    const frame = this.trace.frames[index];
    for (const card of this.cards) this.updateCard(card, frame, now, selected, dimmed.has(card.node.id));
    for (const line of this.lines) {
      this.updateEdge(line, frame, now);
      line.g.classList.toggle("al-dimmed", dimmed.has(line.edge.parent) || dimmed.has(line.edge.child));
    }
  }

  updateCard(card, frame, now, selected, dim) {
    const { g, node } = card, known = now.computed.has(node.id), state = now.states[node.id];
    const grad = state === "none" || state === "freed" ? null : now.gradients[node.id];
    const about = frame && (frame.node === node.id || (frame.receiver === node.id && frame.event !== "free"));
    const phase = about && (frame.phase === "backward" || frame.node === node.id) ? frame.phase : "";
    const picked = selected === node.id, tabs = card.tabs.map(({ tab }) => now.saved[tab.dataset.saved]);
    if (!differs(card, [known, state, grad, phase, picked, dim, ...tabs])) return;
    g.classList.toggle("al-pending", !known);
    g.classList.toggle("al-now-forward", phase === "forward");
    g.classList.toggle("al-now-backward", phase === "backward");
    g.classList.toggle("al-selected", picked);
    g.setAttribute("aria-pressed", String(picked));
    g.classList.toggle("al-dimmed", dim);
    g.setAttribute("aria-label", this.nameOf(node, known, state, grad) + (dim ? ", backward never comes here" : ""));
    if (card.value) card.value.textContent = known ? card.valueText : "…";
    if (card.thumb) card.thumb.style.display = known ? "" : "none";
    card.tabs.forEach((tab, i) => updateTab(tab, tabs[i]));
    if (card.grad) updateGradient(card, state, grad);
  }

  nameOf(node, known, state, grad) {
    const parts = [
      node.kind === "op"
        ? `${node.label}, result of ${node.op}`
        : `${node.label}, ${node.kind === "leaf" ? "leaf" : "data"}`,
    ];
    parts.push(
      !known
        ? "not computed yet"
        : node.shape && node.shape.length
          ? `shape ${shapeWords(node.shape)}`
          : `value ${words(node.value)}`,
    );
    if (node.requires_grad)
      parts.push(
        `gradient ${STATE_WORDS[state]}` +
          (grad && grad.shape.length === 0 && state !== "freed" ? ` ${words(grad)}` : ""),
      );
    if (node.cut) parts.push(`gradient cut by ${node.cut}`);
    return parts.join(", ");
  }

  updateEdge(line, frame, now) {
    const { g, edge, head, pill, pillText } = line, { state, sent } = now.edges[edge.id];
    const forward = Boolean(frame && frame.event === "compute" && frame.node === edge.child);
    const active = forward || Boolean(frame && frame.edge === edge.id);
    if (!differs(line, [state, sent, active])) return;
    g.dataset.state = state;
    g.classList.toggle("al-now", active);
    line.tail ??= tailOf(line.line);
    head.setAttribute("transform", state === "backward" ? line.tail : line.at);
    if (!pill) return;
    const words = { backward: pillWords(sent), forward: localFactor(edge) }[state] ?? "";
    pill.setAttribute("visibility", words ? "visible" : "hidden");
    pillText.textContent = words;
    pillText.removeAttribute("textLength");
    if (pillText.getComputedTextLength() > 44) pillText.setAttribute("textLength", 44);
  }

  // A token travels along the edges that this frame is about; nothing moves for those who asked for less motion.
  animate(frame, duration) {
    cancelAnimationFrame(this.moving);
    this.svg.querySelectorAll(".al-token").forEach((token) => token.remove());
    if (!frame || reducedMotion()) return;
    const back = frame.phase === "backward";
    const lines = this.lines.filter(({ edge }) =>
      back ? edge.id === frame.edge : frame.event === "compute" && edge.child === frame.node,
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
    const ids = [frame.node, frame.receiver],
      pane = this.pane.getBoundingClientRect();
    const boxes = this.cards.filter(({ node }) => ids.includes(node.id)).map(({ g }) => g.getBoundingClientRect());
    if (!boxes.length) return;
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

// Whether `look` is another than the part was last drawn with; drawing only what changed keeps big graphs quick.
function differs(part, look) {
  const same = part.look && part.look.length === look.length && look.every((value, i) => value === part.look[i]);
  part.look = look;
  return !same;
}

function updateTab({ tab, rect, text, full }, saved) {
  const gone = saved === "freed" || saved === "modified";
  tab.dataset.state = saved;
  rect.setAttribute("fill", saved === "freed" ? "url(#al-hatch)" : saved ? "#F0E442" : "none");
  text.textContent = !saved ? "" : gone ? `${full.split(" · ")[0]} · ${saved}` : full;
}

function updateGradient({ grad: strip, node, strip: paper, word, number, gthumb }, state, grad) {
  strip.dataset.state = state;
  paper.setAttribute("fill", state === "freed" ? "url(#al-freed)" : "#ffffff");
  word.textContent = STATE_WORDS[state];
  number.textContent = state === "zero" && !node.shape?.length ? "0" : gthumb && grad ? "" : brief(grad);
  if (!gthumb) return;
  const w = Number(gthumb.dataset.w), h = Number(gthumb.dataset.h);
  const frame = { x: -2, y: -2, width: w + 4, height: h + 4, fill: "#ffffff", stroke: "none" };
  gthumb.replaceChildren(grad ? svgEl("rect", frame) : "", ...thumbCells(grad, w, h));
}

function pillWords(sent) {
  if (!sent) return "?";
  return sent.shape.length ? shapeWords(sent.shape) : brief(sent);
}

// "× 2" for a local derivative that is one number, else "".
function localFactor(edge) {
  const found = /^\\frac.*=\s*(-?[\d.]+(?:e[-+]?\d+)?)$/.exec(edge.tex_numbers);
  return found ? `× ${found[1]}` : "";
}

// Where the arrow head stands, and points, when the gradient goes back: at the start of the line.
function tailOf(line) {
  const tip = line.getPointAtLength(0),
    from = line.getPointAtLength(6);
  return `translate(${tip.x} ${tip.y}) rotate(${(Math.atan2(tip.y - from.y, tip.x - from.x) * 180) / Math.PI})`;
}

function defs() {
  const hatch = (id, paper, ink) =>
    svgEl(
      "pattern",
      { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svgEl("rect", { width: 7, height: 7, fill: paper }),
      svgEl("rect", { width: 2, height: 7, fill: ink }),
    );
  return svgEl("defs", {}, hatch("al-hatch", "#fbf8d0", "#d9cf5a"), hatch("al-freed", "#ececec", "#c4c4c4"));
}
