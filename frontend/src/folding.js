// The open parts of a graph, and what is drawn: the same as `Folding.fold` in trace/layers/folding.py. From top to
// bottom (`rankdir` "TB"), the nodes in `rows` are inside the cards of operations, and modules in `single` are shown
// as the card of an operation.
import { timelineOf } from "./states.js";

const ALIAS_FROM = 4;

// Find numbers of the learner's code, which are written in the expression that uses them: { id, child: the first node
// that uses it }.
function numbersOf(trace) {
  const numbers = new Set(trace.nodes.filter(({ kind, name, shape }) => kind === "data" && !name && shape && !shape.length).map(({ id }) => id));
  const found = new Map();
  for (const { parent, child } of trace.edges) if (numbers.has(parent) && !found.has(parent)) found.set(parent, child);
  return [...found].map(([id, child]) => ({ id, child }));
}

export class Folding {
  constructor(trace, { parts, home, held, aliases, steps, network, rows, single }) {
    const down = network;
    this.rows = new Map(down ? Object.entries(rows) : []);
    this.within = new Map([...this.rows].reverse().flatMap(([op, inside]) => inside.map((node) => [node, op]))); // the first card that contains it
    for (const [node, card] of Object.entries(trace.merged ?? {})) if (!this.within.has(node)) this.within.set(node, card);
    for (const { id, child } of numbersOf(trace)) if (!this.within.has(id)) this.within.set(id, this.within.get(child) ?? child);
    this.single = new Map(down ? Object.entries(single) : []);
    this.down = down;
    this.network = network;
    this.trace = trace;
    this.steps = steps;
    this.parts = parts;
    this.byId = new Map(parts.map((part) => [part.id, part]));
    this.aliases = new Set(aliases);
    this.home = new Map(trace.nodes.map((node, i) => [node.id, home[i] < 0 ? null : parts[home[i]].id]));
    this.held = new Map(Object.entries(held).map(([node, places]) => [node, [places].flat().map((place) => parts[place].id)]));
    this.chains = new Map([[null, []]]); // part -> the part and all around it, outermost first
    for (const part of parts) this.chains.set(part.id, [...this.chains.get(part.parent), part.id]);
    if (parts.length) timelineOf(trace).sortParts([...this.byId.keys()], (id) => this.around(id));
  }

  isPart(id) {
    return this.byId.has(id);
  }

  homeOf(node) {
    return this.home.get(node) ?? this.held.get(node)?.[0] ?? null;
  }

  // Return the parts that contain a node, outermost first.
  around(node) {
    return this.chains.get(this.homeOf(node));
  }

  // Return the parts that must be open to see a node or part.
  opening(id) {
    return this.isPart(id) ? this.chains.get(this.byId.get(id).parent) : this.around(id);
  }

  // A module that is one card without rows is never closed.
  isOpen(part, expanded) {
    return expanded.has(part) || (this.single.has(part) && !this.rows.has(this.single.get(part)));
  }

  // Return the box that shows a node if `expanded` (a Set) is open: a closed part around it, the card that contains
  // it, or itself.
  boxOf(node, expanded) {
    const card = this.within.get(node) ?? node;
    return this.around(card).find((part) => !this.isOpen(part, expanded)) ?? card;
  }

  // Return what shows a node or part: a box, or the frame of an open part.
  shownAs(id, expanded) {
    if (!this.isPart(id)) return this.boxOf(id, expanded);
    return [...this.opening(id), id].find((part) => !this.isOpen(part, expanded)) ?? this.single.get(id) ?? id;
  }

  fold(expanded) {
    const closed = new Map([[null, null]]); // part -> the outermost closed part around it, or null
    const frameOf = new Map([[null, null]]); // part -> the innermost part around it that has a frame or is a box
    for (const { id, parent } of this.parts) {
      closed.set(id, closed.get(parent) ?? (this.isOpen(id, expanded) ? null : id));
      frameOf.set(id, this.single.has(id) ? frameOf.get(parent) : id);
    }
    const boxes = new Map(), links = new Map();
    const box = (key, of, home) => {
      const hidden = closed.get(home), shown = hidden ?? key;
      if (!boxes.has(shown))
        boxes.set(shown, hidden ? { of: hidden, frame: frameOf.get(this.byId.get(hidden).parent) } : { of, frame: frameOf.get(home) });
      return shown;
    };
    for (const edge of this.trace.edges) {
      const child = this.within.get(edge.child) ?? edge.child, end = box(child, child, this.homeOf(child)), card = this.within.get(edge.parent);
      if (card && !edge.update) continue; // it stays inside a card
      const [key, home] = card ? [card, this.homeOf(card)] : this.startOf(edge), start = box(key, card ?? edge.parent, home);
      if (start === end) continue;
      const single = start[0] === "n" && end[0] === "n";
      const { id, differentiable, update } = edge, name = single ? id : `${start} ${end} ${differentiable} ${update}`;
      if (!links.has(name)) links.set(name, { id, start, end, differentiable, update, edges: [] });
      links.get(name).edges.push(edge.id);
    }
    for (const { id, kind } of this.trace.nodes)
      if (!this.within.has(id) && (kind === "op" || kind === "update" || !this.held.has(id))) box(id, id, this.home.get(id));
    this.repeatLeaves(boxes, [...links.values()]);
    const frames = this.parts.map((part) => part.id).filter((id) => expanded.has(id) && closed.get(id) === null && frameOf.get(id) === id);
    const rank = ([key, { of }]) => (key.includes("_") ? this.trace.nodes.length : 0) + this.placeOf(of);
    const shown = (node) => closed.get(this.home.get(node)) ?? this.within.get(node) ?? node, order = new Map();
    for (const pair of this.steps.map((nodes) => nodes.map(shown))) if (pair[0] !== pair[1]) order.set(pair.join(), pair);
    return { boxes: new Map([...boxes].sort((a, b) => rank(a) - rank(b))), links: [...links.values()], frames, order: [...order.values()] };
  }

  // Return the position of a node, or of a part's first operation, in forward order.
  placeOf(id) {
    return Number((this.byId.get(id)?.first ?? id).slice(1));
  }

  startOf({ parent, child, update }) {
    const homes = this.held.get(parent);
    if (!homes || update) return [parent, this.homeOf(parent)];
    const home = this.home.get(child);
    return [home === homes[0] ? parent : `${parent}_${home}`, home];
  }

  repeatLeaves(boxes, links) {
    const uses = new Map();
    for (const link of links) {
      const of = boxes.get(link.start).of;
      if (link.start[0] !== "n" || this.home.get(of)) continue;
      if (!uses.has(link.start)) uses.set(link.start, []);
      uses.get(link.start).push(link);
    }
    for (const [start, found] of uses) {
      const ends = new Set(found.map((link) => link.end)), drawn = new Map(), leaf = boxes.get(start);
      if (ends.size <= ALIAS_FROM && [...ends].some((end) => end[0] !== "n")) continue;
      for (const link of found) {
        if (!link.edges.every((id) => this.aliases.has(id))) continue;
        if (!drawn.has(link.end)) drawn.set(link.end, `${leaf.of}_${link.id}`);
        link.start = drawn.get(link.end);
        if (!boxes.has(link.start)) boxes.set(link.start, { ...leaf });
      }
      if (found.every((link) => link.start !== start)) boxes.delete(start);
    }
  }
}
