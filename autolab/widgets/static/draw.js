// The picture of a folded graph where no kernel can draw it: the same DOT, places and lines as picture.py and geometry.py
// make, with the cards of cards.js.

const FORWARD = PALETTE.blue, LEAF = PALETTE.leaf, RULE = PALETTE.data, PAPER = PALETTE.paper;
const MAX_PILLS = 150, PILL = [50, 20], HEADER = [6, 5], MARGIN = 6;
const NUMBERS = /-?\d+(?:\.\d+)?(?:e-?\d+)?/g;

export class Drawing {
  constructor(folding, folded, cards) {
    Object.assign(this, { folding, folded, cards });
    const pill = ({ start, end, edges }) => edges.length > 1 || (start[0] === "n" && end[0] === "n");
    const few = folded.links.length <= MAX_PILLS;
    this.pills = new Set(few ? folded.links.filter((l) => l.differentiable && pill(l)).map((l) => l.id) : []);
  }

  parentOf(part) {
    return this.folding.byId.get(part).parent;
  }

  dot(rankdir) {
    const { boxes, links, frames, order } = this.folded, inside = new Map(), lines = [];
    const put = (frame, line) => (inside.get(frame) ?? inside.set(frame, []).get(frame)).push(line);
    for (const [key, { of, frame }] of boxes) put(frame, box(key, this.cards.of(of)));
    const [enter, leave] = rankdir === "LR" ? ["w", "e"] : ["n", "s"];
    for (const { id, start, end } of links) {
      const { of, frame } = boxes.get(start);
      const weight = this.folding.isPart(of) || this.folding.trace.nodes[Number(of.slice(1))].kind.match(/op|update/) ? 8 : 1;
      if (this.pills.has(id)) {
        put(this.aroundBoth(frame, boxes.get(end).frame), box(id, { width: PILL[0], height: PILL[1] }));
        lines.push(`${start} -> ${id}:${enter} [id="${id}a", weight=${weight}];`);
        lines.push(`${id}:${leave} -> ${end} [id="${id}b", weight=${weight}];`);
      } else lines.push(`${start} -> ${end} [id="${id}a", weight=${weight}, minlen=2];`);
    }
    for (const [start, end] of order) lines.push(`${start} -> ${end} [style=invis, weight=0];`);
    const cluster = (part) => {
      const { width, height } = this.cards.header(part), size = `FIXEDSIZE="TRUE" WIDTH="${width}" HEIGHT="${height}"`;
      const label = `<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR><TD ${size}></TD></TR></TABLE>>`;
      return [
        `subgraph cluster_${part} { id=${part}; margin=12; labeljust=l; label=${label};`,
        ...(inside.get(part) ?? []),
        ...frames.filter((other) => this.parentOf(other) === part).flatMap(cluster),
        "}",
      ];
    };
    return [
      `digraph { rankdir=${rankdir}; nodesep=0.24; ranksep=0.15; edge [arrowhead=none];`,
      'node [shape=box, fixedsize=true, label=""];',
      ...frames.filter((part) => this.parentOf(part) === null).flatMap(cluster),
      ...(inside.get(null) ?? []),
      ...lines,
      "}",
    ].join("\n");
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
    const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} data-open="${open.join(" ")}"`;
    return `${head} font-family="Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif">${parts.join("")}</svg>`;
  }

  header(part, places) {
    const { width: w, height: h, markup: inside } = this.cards.header(part), [x, y] = places.frames[part];
    const place = `translate(${x + HEADER[0]} ${y + HEADER[1]})`;
    return `<g class="al-header" data-id="${part}" data-w="${w}" data-h="${h}" transform="${place}">${inside}</g>`;
  }

  line({ id, differentiable, update }, places) {
    const [x, y, angle] = places.heads[id], color = update ? LEAF : differentiable ? FORWARD : RULE, d = places.edges[id];
    const inner = update ? `<path class="al-inline" d="${d}" fill="none" stroke="${PAPER}" stroke-width="1.4"/>` : "";
    const path = `<path class="al-line" d="${d}" fill="none" stroke="${color}" stroke-width="${update ? 4.2 : 1.6}"/>${inner}`;
    const place = `translate(${x} ${y}) rotate(${angle})`;
    const head = `<path class="al-head" d="M0 0L-10 -4.5L-10 4.5Z" fill="${color}" transform="${place}"/>`;
    return `<g class="al-edge" data-id="${id}">${path}${head}${this.pills.has(id) ? pill(places.pills[id]) : ""}</g>`;
  }
}

function pill([x, y]) {
  const [w, h] = PILL;
  return (
    `<g class="al-pill" visibility="hidden" transform="translate(${x} ${y})">` +
    `<rect x="${-w / 2}" y="${-h / 2}" width="${w}" height="${h}" rx="${h / 2}" fill="${PAPER}"/>` +
    `<text class="al-pilltext" x="0" y="4.5" font-size="13" text-anchor="middle"></text></g>`
  );
}

function box(name, { width, height }) {
  return `${name} [id=${name}, width=${(width / 72).toFixed(3)}, height=${(height / 72).toFixed(3)}];`;
}

// Sizes and places by id in Graphviz's SVG, as `geometry` in geometry.py reads them.
export function placesIn(picture) {
  const root = new DOMParser().parseFromString(picture, "image/svg+xml").documentElement;
  const graph = root.querySelector("g.graph"), view = root.getAttribute("viewBox").split(/[ ,]+/).map(Number);
  const [, dx, dy] = /translate\(([-\d.]+)[ ,]+([-\d.]+)\)/.exec(graph.getAttribute("transform")).map(Number);
  const round = (v) => Math.round(v * 10) / 10;
  const pointsOf = (g, shape, attribute) => {
    const numbers = (g.querySelector(shape)?.getAttribute(attribute) ?? "").match(NUMBERS) ?? [];
    const points = [];
    for (let i = 0; i + 1 < numbers.length; i += 2)
      points.push([round(Number(numbers[i]) + dx + MARGIN), round(Number(numbers[i + 1]) + dy + MARGIN)]);
    return points;
  };
  const found = { width: Math.round(view[2] + 2 * MARGIN), height: Math.round(view[3] + 2 * MARGIN) };
  Object.assign(found, { nodes: {}, pills: {}, edges: {}, heads: {}, frames: {} });
  const lines = new Map();
  for (const g of graph.querySelectorAll("g")) {
    const name = g.id, kind = g.getAttribute("class");
    if (kind === "edge") lines.set(name, pointsOf(g, "path", "d"));
    if (kind !== "node" && kind !== "cluster") continue;
    const points = pointsOf(g, "polygon", "points"), xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
    const [left, top, right, bottom] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    if (kind === "cluster") found.frames[name] = [left, top, round(right - left), round(bottom - top)];
    else found[name[0] === "e" ? "pills" : "nodes"][name] = [round((left + right) / 2), round((top + bottom) / 2)];
  }
  for (const [name, points] of lines) {
    if (!name.endsWith("a")) continue;
    const edge = name.slice(0, -1), rest = lines.get(`${edge}b`);
    found.edges[edge] = curve(points) + (rest ? "L" + curve(rest).slice(1) : "");
    found.heads[edge] = headOf(rest ?? points);
  }
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
