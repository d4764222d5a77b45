// The picture of a folded graph where no kernel can draw it: the same DOT, places and lines as picture.py and geometry.py
// make, with the cards of cards.js.

import { BETWEEN, Halves, Updates, across } from "./columns.js";
import { LINE, TEXT, escaped, labelled, rounded, widthOf } from "./svg.js";
import { grouped, shapeWords } from "./values.js";

const FORWARD = PALETTE.blue, LEAF = PALETTE.leaf, RULE = PALETTE.data, PAPER = PALETTE.paper;
const MAX_PILLS = 150, PILL = [50, 20], SHAPE = [9, 3.4], HEADER = [6, 5], MARGIN = 6;
const NUMBERS = /-?\d+(?:\.\d+)?(?:e-?\d+)?/g;

export class Drawing {
  constructor(folding, folded, cards) {
    Object.assign(this, { folding, folded, cards });
    const pill = ({ start, end, edges }) => edges.length > 1 || (start[0] === "n" && end[0] === "n");
    const few = folded.links.length <= MAX_PILLS;
    this.updates = folding.down ? new Updates(folding, folded) : null;
    this.along = folding.down ? this.backbone() : new Map(); // the longest way
    this.halves = folding.down ? new Halves(folding, folded, this.updates, this.along, (of) => cards.of(of)) : null;
    const quiet = this.halves?.link ? this.beside(this.along) : new Map(); // what leads from these says no shape, for their cards say it
    const said = folded.links.filter((link) => !quiet.has(link.start) && !this.updates?.lines.has(link.id));
    this.shapes = new Map(folding.network ? said.map((link) => [link.id, this.shapeOf(link)]).filter(([, words]) => words) : []);
    this.again = new Map(folding.down ? folded.links.map((link) => [link.id, this.callsOf(link)]).filter(([, calls]) => calls) : []);
    this.inColumns = new Set([...this.again.values()].flat());
    this.pills = new Set(few && !folding.down ? folded.links.filter((l) => l.differentiable && pill(l)).map((l) => l.id) : []);
  }

  parentOf(part) {
    return this.folding.byId.get(part).parent;
  }

  // What runs across also from top to bottom; two columns also as one, for where the page is narrow.
  ways(rankdir) {
    return rankdir === "LR" ? ["LR", "TB"] : this.halves?.link ? ["TB", "column"] : ["TB"];
  }

  halvesOf(way) {
    return this.halves?.link && way === "TB" ? this.halves : null;
  }

  dot(rankdir) {
    const { boxes, links, frames, order } = this.folded, inside = new Map(), lines = [], halves = this.halvesOf(rankdir);
    const put = (frame, line) => (inside.get(frame) ?? inside.set(frame, []).get(frame)).push(line);
    const { down } = this.folding, straight = new Set([...this.along].flat());
    const first = [...boxes.keys()].sort((a, b) => straight.has(b) - straight.has(a));
    for (const key of first) put(boxes.get(key).frame, box(key, this.cards.of(boxes.get(key).of)));
    if (down) for (const [key, before] of this.beside(this.along)) put(boxes.get(key).frame, `{rank=same; ${before} -> ${key} [style=invis];}`);
    const [enter, leave] = rankdir === "LR" ? ["w", "e"] : ["n", "s"];
    for (const link of links) {
      const { id, start, end } = link;
      if (this.again.has(id) || this.updates?.lines.has(id) || halves?.link.id === id) continue;
      const { of, frame } = boxes.get(start);
      const weight = this.folding.isPart(of) || this.folding.trace.nodes[Number(of.slice(1))].kind.match(/op|update/) ? 8 : 1;
      if (down) lines.push(this.straight(link));
      else if (this.pills.has(id)) {
        put(this.aroundBoth(frame, boxes.get(end).frame), box(id, { width: this.pillWidth(id), height: PILL[1] }));
        lines.push(`${start} -> ${id}:${enter} [id="${id}a", weight=${weight}];`);
        lines.push(`${id}:${leave} -> ${end} [id="${id}b", weight=${weight}];`);
      } else lines.push(`${start} -> ${end} [id="${id}a", weight=${weight}, minlen=2${this.label(id)}];`);
    }
    if (down) lines.push(...this.updates.dot(put), ...this.columns(put), ...(halves?.dot() ?? []));
    else for (const [start, end] of order) lines.push(`${start} -> ${end} [style=invis, weight=0];`);
    const space = down ? `nodesep=${halves ? (BETWEEN / 72).toFixed(2) : 0.12}; ranksep=0.02` : "nodesep=0.24; ranksep=0.15";
    const cluster = (part) => {
      const { width, height } = this.cards.header(part), size = `FIXEDSIZE="TRUE" WIDTH="${width}" HEIGHT="${height}"`;
      const label = `<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR><TD ${size}></TD></TR></TABLE>>`;
      return [
        `subgraph cluster_${part} { id=${part}; margin=${down ? 5 : 12}; labeljust=l; label=${label};`,
        ...(inside.get(part) ?? []),
        ...frames.filter((other) => this.parentOf(other) === part).flatMap(cluster),
        "}",
      ];
    };
    return [
      `digraph { rankdir=${rankdir === "LR" ? "LR" : "TB"}; ${space}; edge [arrowhead=none];`,
      'node [shape=box, fixedsize=true, label=""];',
      ...frames.filter((part) => this.parentOf(part) === null).flatMap(cluster),
      ...(inside.get(null) ?? []),
      ...lines,
      "}",
    ].join("\n");
  }

  // The longest way through the picture, end -> start of each of its lines.
  backbone() {
    const { boxes } = this.folded, into = new Map(), length = new Map(), found = new Map();
    const made = (key) => this.folding.isPart(boxes.get(key).of) || /op|update/.test(this.folding.trace.nodes[Number(boxes.get(key).of.slice(1))].kind);
    const places = new Map([...boxes.keys()].sort((a, b) => made(a) - made(b)).map((key, i) => [key, i])); // what nothing made comes first
    for (const { start, end, update } of this.folded.links)
      if (places.get(start) < places.get(end) && !update) into.has(end) ? into.get(end).push(start) : into.set(end, [start]);
    const longest = (keys) => keys.reduce((best, key) => (length.get(key) > length.get(best) ? key : best));
    for (const key of places.keys()) length.set(key, 1 + Math.max(0, ...(into.get(key) ?? []).map((start) => length.get(start))));
    let at = length.size ? longest([...length.keys()]) : "";
    while (into.has(at)) {
      found.set(at, longest(into.get(at)));
      at = found.get(at);
    }
    return found;
  }

  // What only a box of the backbone uses and nothing leads to -> the box before that one.
  beside(backbone) {
    const { boxes, links } = this.folded, ends = new Set(links.map(({ end }) => end)), used = new Map(), found = new Map();
    for (const { start, end } of links) used.has(start) ? used.get(start).add(end) : used.set(start, new Set([end]));
    for (const [key, users] of used) {
      const before = backbone.get([...users][0]);
      if (users.size === 1 && before && before !== key && !ends.has(key) && boxes.get(before).frame === boxes.get(key).frame) found.set(key, before);
    }
    return found;
  }

  straight(link) {
    const { id, start, end, update } = link, straight = this.along.get(end) === start || update || this.falls(link);
    return `${start} -> ${end} [id="${id}a", weight=${straight ? 100 : 1}${this.label(id)}];`;
  }

  label(id) {
    const words = this.shapes.get(id), { down } = this.folding;
    if (!words) return "";
    const size = `FIXEDSIZE="TRUE" WIDTH="${rounded(widthOf(words, TEXT) + 9)}" HEIGHT="${down ? 1 : LINE}"`;
    return `${down ? "" : ","} label=<<TABLE BORDER="1" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" ${size}><TR><TD></TD></TR></TABLE>>`;
  }

  pillWidth(id) {
    return Math.max(PILL[0], rounded(widthOf(this.shapes.get(id) ?? "", TEXT)) + 12);
  }

  shapeOf({ edges }) {
    const found = edges.map((id) => this.folding.trace.edges[Number(id.slice(1))]), sources = new Set(found.map((e) => `${e.parent} ${e.parent_nr}`));
    if (sources.size > 1) return `${grouped(sources.size)} tensors`;
    const { shape } = this.folding.trace.nodes[Number(found[0].parent.slice(1))];
    return shape ? shapeWords(shape) : "";
  }

  // The two calls of one module that a line leads from and to; null for others.
  callsOf({ start, end }) {
    const { byId } = this.folding, { boxes } = this.folded;
    const called = (key) => this.in(boxes.get(key).of).filter((id) => byId.has(id)).map((id) => [callOf(byId.get(id))[0], byId.get(id)]);
    const ends = new Map(called(end));
    for (const [path, from] of called(start)) {
      const to = ends.get(path) ?? from;
      if (callOf(from)[1] < callOf(to)[1] && from.parent === to.parent) return [from.id, to.id];
    }
    return null;
  }

  in(of) {
    return [...this.folding.opening(of), of];
  }

  // The call whose column a box stands in.
  column(key) {
    return this.in(this.folded.boxes.get(key).of).find((part) => this.inColumns.has(part));
  }

  // Whether a line leads from one layer's call to the next layer's at the same time.
  falls({ start, end }) {
    const [a, b] = [start, end].map((key) => this.folding.byId.get(this.column(key)));
    return Boolean(a && b) && a !== b && callOf(a)[1] === callOf(b)[1];
  }

  columns(put) {
    const below = new Set(this.folded.links.filter((link) => this.falls(link)).map(({ end }) => this.column(end)));
    const pairs = [...this.again.values()].filter((pair) => !pair.some((part) => below.has(part))).sort(([a, c], [b, d]) => (a < b ? -1 : a > b ? 1 : c < d ? -1 : 1)), follow = new Map(pairs), first = new Map();
    for (const [key, { of }] of this.folded.boxes) for (const part of this.in(of)) if (!first.has(part)) first.set(part, key);
    for (const [start, end] of follow) {
      let around = this.parentOf(start);
      while (around !== null && !this.folded.frames.includes(around)) around = this.parentOf(around);
      put(around, `{rank=same; above_${start} -> above_${end} [style=invis];}`);
    }
    const parts = new Set([...follow].flat());
    return [...parts].map((p) => `${first.get(p)} [group=${p}]; above_${p} [style=invis, width=0, height=0, group=${p}]; above_${p} -> ${first.get(p)} [style=invis, weight=20];`);
  }

  // Sizes and places in Graphviz's SVG, and the lines that it was not asked for.
  places(picture, way) {
    const halves = this.halvesOf(way), found = placesIn(picture), lines = new Map(this.folded.links.map((link) => [link.id, link]));
    for (const [id, [, call]] of this.again) {
      const { start, end } = lines.get(id), card = (key) => this.cards.of(this.folded.boxes.get(key).of).width / 2;
      const [left, y] = found.nodes[start], [right, down] = found.nodes[end], x = left + card(start), at = right - card(end);
      found.edges[id] = across(x, y, at, down, found.frames[call] ? found.frames[call][0] - 4 : at - 14);
      found.heads[id] = [at, down, 0];
      found.labels[id] = [x - 3, y - 9];
    }
    halves?.place(found);
    this.updates?.place(found, (of) => this.cards.of(of), halves);
    return found;
  }

  aroundBoth(a, b) {
    const chain = new Set();
    for (; a !== null; a = this.parentOf(a)) chain.add(a);
    while (b !== null && !chain.has(b)) b = this.parentOf(b);
    return b;
  }

  // The whole picture as SVG; `open`: the ids of all open parts, for the script that reads it.
  svg(places, open) {
    const { width, height } = places, parts = [`<rect class="al-paper" width="${width}" height="${height}" fill="${PAPER}"/>`];
    for (const part of this.folded.frames) {
      const [x, y, w, h] = places.frames[part];
      const look = `rx="8" fill="none" stroke="${RULE}" stroke-dasharray="2 3"`;
      parts.push(`<rect class="al-frame" data-id="${part}" x="${x}" y="${y}" width="${w}" height="${h}" ${look}/>`);
    }
    for (const link of this.folded.links) parts.push(this.line(link, places));
    const place = (id) => this.folding.placeOf(id);
    const labels = [...this.folded.frames].sort((a, b) => place(a) - place(b)); // before what is in the frame
    for (const [key, { of }] of this.folded.boxes) {
      while (labels.length && place(labels[0]) <= place(of)) parts.push(this.header(labels.shift(), places));
      const { width: w, height: h, markup: inside } = this.cards.of(of), [x, y] = places.nodes[key];
      const name = this.folding.isPart(of) ? "al-node al-part" : "al-node";
      const data = `data-id="${of}" data-key="${key}" data-w="${w}" data-h="${h}"`;
      parts.push(`<g class="${name}" ${data} transform="translate(${x - w / 2} ${y - h / 2})">${inside}</g>`);
    }
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} data-open="${open.join(" ")}"${this.folding.down ? ' data-rankdir="TB"' : ""}`;
    return `${head} font-family="Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif">${parts.join("")}</svg>`;
  }

  header(part, places) {
    const { width: w, height: h, markup: inside } = this.cards.header(part), [x, y] = places.frames[part];
    const place = `translate(${x + HEADER[0]} ${y + HEADER[1]})`;
    return `<g class="al-header" data-id="${part}" data-w="${w}" data-h="${h}" transform="${place}">${inside}</g>`;
  }

  line({ id, differentiable, update, edges }, places) {
    const [x, y, angle] = places.heads[id], color = update ? LEAF : differentiable ? FORWARD : RULE, d = places.edges[id];
    const inner = update ? `<path class="al-inline" d="${d}" fill="none" stroke="${PAPER}" stroke-width="1.4"/>` : "";
    const path = `<path class="al-line" d="${d}" fill="none" stroke="${color}" stroke-width="${update ? 4.2 : 1.6}"/>${inner}`;
    const place = `translate(${x} ${y}) rotate(${angle})`;
    const head = `<path class="al-head" d="M0 0L-10 -4.5L-10 4.5Z" fill="${color}" transform="${place}"/>`;
    return `<g class="al-edge" data-id="${id}">${path}${head}${this.pills.has(id) ? pill(places.pills[id], this.pillWidth(id), edges.length === 1 ? this.shapes.get(id) ?? null : null) : this.shapes.has(id) ? shapeAt(places.labels[id], this.shapes.get(id)) : ""}</g>`;
  }
}

function callOf({ label }) {
  const [path, call] = label.split(" (call ");
  return [path, call ? parseInt(call) : 1];
}

function shapeAt([x, y], words) {
  return labelled("al-shape", x + SHAPE[0], y + SHAPE[1], words, { fill: PALETTE.muted, stroke: PAPER, "stroke-width": 3, "paint-order": "stroke" });
}

function pill([x, y], w, shape) {
  const h = PILL[1], data = shape === null ? "" : ` data-shape="${escaped(shape)}"`;
  return (
    `<g class="al-pill"${data} visibility="hidden" transform="translate(${x} ${y})">` +
    `<rect x="${-w / 2}" y="${-h / 2}" width="${w}" height="${h}" rx="${h / 2}" fill="${PAPER}"/>` +
    `<text class="al-pilltext" x="0" y="4.5" font-size="13" text-anchor="middle"></text></g>`
  );
}

function box(name, { width, height }) {
  return `${name} [id=${name}, width=${(width / 72).toFixed(3)}, height=${(height / 72).toFixed(3)}];`;
}

// Sizes and places by id in Graphviz's SVG, as `geometry` in geometry.py reads them.
export function placesIn(picture) {
  const graph = new DOMParser().parseFromString(picture, "image/svg+xml").querySelector("g.graph");
  const round = (v) => Math.round(v * 10) / 10;
  const pairs = (words) => {
    const numbers = words?.match(NUMBERS) ?? [], points = [];
    for (let i = 0; i + 1 < numbers.length; i += 2) points.push([Number(numbers[i]), Number(numbers[i + 1])]);
    return points;
  };
  const corners = (g) => pairs(g.querySelector("polygon")?.getAttribute("points"));
  const drawn = [...graph.querySelectorAll("g")].filter((g) => ["node", "cluster", "edge"].includes(g.getAttribute("class")));
  const points = new Map(drawn.map((g) => [g, g.querySelector("path") ? pairs(g.querySelector("path").getAttribute("d")) : corners(g)]));
  const all = [...points.values(), ...drawn.map(corners)].flat(), [left, top, right, bottom] = sides(all.length ? all : [[0, 0]]);
  const moved = ([x, y]) => [round(x - left + MARGIN), round(y - top + MARGIN)];
  const found = { width: Math.round(right - left + 2 * MARGIN), height: Math.round(bottom - top + 2 * MARGIN) };
  Object.assign(found, { nodes: {}, pills: {}, edges: {}, heads: {}, frames: {}, labels: {} });
  const lines = new Map();
  for (const g of drawn) {
    const name = g.id, kind = g.getAttribute("class");
    if (kind === "edge") {
      lines.set(name, points.get(g).map(moved));
      const [x, above, , below] = sides(corners(g));
      if (Number.isFinite(x)) found.labels[name.slice(0, -1)] = moved([x, (above + below) / 2]);
      continue;
    }
    const [x, y, xx, yy] = sides(points.get(g).map(moved));
    if (kind === "cluster") found.frames[name] = [x, y, round(xx - x), round(yy - y)];
    else found[name[0] === "e" ? "pills" : "nodes"][name] = [round((x + xx) / 2), round((y + yy) / 2)];
  }
  for (const [name, points] of lines) {
    if (!name.endsWith("a")) continue;
    const edge = name.slice(0, -1), rest = lines.get(`${edge}b`);
    found.edges[edge] = curve(points) + (rest ? "L" + curve(rest).slice(1) : "");
    found.heads[edge] = headOf(rest ?? points);
  }
  return found;
}

// Left, top, right and bottom of points.
function sides(points) {
  const found = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) [found[0], found[1], found[2], found[3]] = [Math.min(found[0], x), Math.min(found[1], y), Math.max(found[2], x), Math.max(found[3], y)];
  return found;
}

function curve([[x, y], ...rest]) {
  return `M${x},${y}C${rest.map((p) => p.join(",")).join(" ")}`;
}

function headOf(points) {
  const [x2, y2] = points.at(-1);
  const [x1, y1] = points.slice(0, -1).findLast(([x, y]) => x !== x2 || y !== y2) ?? points[0];
  return [x2, y2, Math.round((Math.atan2(y2 - y1, x2 - x1) * 1800) / Math.PI) / 10];
}
