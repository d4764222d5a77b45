// Lines of the picture that Graphviz is not asked for, in what runs from top to bottom: the same as columns.py.
const ROUND = 8, LANE = 10, LINE_HIGH = 15, ROOM = 480;
export const BETWEEN = 14;

export class Updates {
  constructor(folding, { boxes, links, order }) {
    Object.assign(this, { folding, boxes });
    const steps = links.filter(({ update }) => update).map((link) => [link.id, this.step(link.start) || this.step(link.end)]);
    this.lines = new Map(steps.filter(([, step]) => step));
    this.links = links.filter(({ id }) => this.lines.has(id));
    const columns = new Map();
    for (const [key, box] of boxes) if (this.isUpdate(box)) columns.set(this.step(key), [...(columns.get(this.step(key)) ?? []), key]);
    this.below = [...columns.values()].flatMap((column) => column.slice(1).map((key, i) => [column[i], key]));
    const under = new Set(this.below.map(([, key]) => key));
    this.order = order.filter(([, key]) => !under.has(key));
  }

  nodeOf({ of }) {
    return this.folding.isPart(of) ? null : this.folding.trace.nodes[Number(of.slice(1))];
  }

  isUpdate(box) {
    return this.nodeOf(box)?.kind === "update";
  }

  step(key) {
    const box = this.boxes.get(key);
    const around = [...this.folding.opening(box.of), box.of].find((part) => this.folding.byId.get(part)?.kind === "step");
    return around ?? (this.isUpdate(box) ? box.of : "");
  }

  at(key) {
    return this.folding.placeOf(this.boxes.get(key).of);
  }

  made({ start, end }) {
    const [before, after] = [start, end].map((key) => this.boxes.get(key)), node = this.nodeOf(after);
    return this.isUpdate(before) && Boolean(node) && !/op|update/.test(node.kind) && before.frame === after.frame;
  }

  dot(put) {
    const lines = this.below.map(([start, end]) => `${start} -> ${end} [style=invis, weight=50];`), after = new Map(), middle = new Map();
    for (const link of this.links) {
      const { id, start, end } = link, gap = `gap_${end}`; // of a row, which stands below the loss
      if (this.made(link)) middle.set(start, gap);
      if (this.made(link)) put(this.boxes.get(start).frame, `${gap} [style=invis, width=0.1, height=0]; {rank=same; ${end} -> ${gap} -> ${start} [style=invis];}`);
      else if (this.step(start)) {
        const step = this.lines.get(id), first = after.get(step)?.[1] ?? end;
        after.set(step, [start, this.at(end) < this.at(first) ? end : first]);
      }
    }
    for (const [start, end] of after.values()) lines.push(`${start} -> ${end} [style=invis, weight=10];`);
    return [...lines, ...this.order.map(([start, end]) => `${start} -> ${middle.get(end) ?? end} [style=invis, weight=20];`)];
  }

  // `card(of)`: the card of what a box is of. Lines of the first of two columns (`halves`) run down between both.
  place(found, card, halves) {
    const lanes = new Map();
    for (const link of this.links) {
      const { id, start, end } = link, [from, to] = [start, end].map((key) => card(this.boxes.get(key).of).width / 2);
      const [left, y] = found.nodes[start], [right, down] = found.nodes[end], first = halves && !halves.second.has(start);
      const at = first ? right - to : right + to, x = this.made(link) ? left - from : left + from;
      const step = this.lines.get(id), middle = (x + at) / 2;
      if (!this.made(link) && !first && !lanes.has(step)) lanes.set(step, found.width + LANE * lanes.size);
      found.edges[id] = this.made(link) ? `M${x},${y}C${middle},${y} ${middle},${down} ${at},${down}` : first ? across(x, y, at, down, halves.turn(found) - LANE) : around(x, y, at, down, lanes.get(step));
      found.heads[id] = [at, down, first ? 0 : 180];
    }
    found.width += LANE * lanes.size;
  }
}

export class Halves {
  // `backbone`: end -> start; `card(of)`: the card of what a box is of.
  constructor(folding, { boxes, links, frames }, updates, backbone, card) {
    Object.assign(this, { boxes, card, link: null, second: new Set(), way: inOrder(backbone), lanes: new Set(updates.lines.values()).size });
    const goesOn = this.lanes > 1 || updates.links.some(({ start }) => updates.step(start)), last = new Set(updates.links.map(({ end }) => end));
    if (frames.length || goesOn || ![...boxes.values()].some(({ of }) => folding.isPart(of))) return;
    const high = (key) => card(boxes.get(key).of).height + LINE_HIGH, whole = [...this.way, ...last].reduce((sum, key) => sum + high(key), 0);
    if (!(ROOM < whole && whole <= 2 * ROOM)) return;
    let above = 0, best = Infinity;
    for (const [i, end] of this.way.slice(1).entries()) {
      const from = this.way[i], between = links.filter((link) => link.start === from && link.end === end);
      const other = links.filter((link) => !between.includes(link) && !updates.lines.has(link.id));
      const second = new Set([...connected(end, other.map((link) => [link.start, link.end])), ...last]);
      above += high(from);
      if (between.length !== 1 || second.has(from) || Math.max(above, whole - above) >= best) continue;
      best = Math.max(above, whole - above);
      Object.assign(this, { link: between[0], second });
    }
  }

  dot() {
    const width = (key) => (this.card(this.boxes.get(key).of).width + (this.second.has(key) ? 0 : 2 * LANE)) / 72;
    const wide = (second) => Math.max(0, ...this.way.filter((key) => this.second.has(key) === second && this.lanes).map(width));
    const heads = [["above_first", this.way[0], wide(false)], ["above_second", this.link.end, wide(true)]];
    const lines = heads.map(([above, key, w]) => `${above} [style=invis, width=${w.toFixed(3)}, height=0]; ${above} -> ${key} [style=invis, weight=20];`);
    return ["{rank=same; above_first -> above_second [style=invis];}", ...lines];
  }

  turn({ nodes }) {
    return Math.min(...[...this.second].map((key) => nodes[key][0] - this.card(this.boxes.get(key).of).width / 2)) - BETWEEN / 2;
  }

  place(found) {
    const { id, start, end: last } = this.link, size = (key) => this.card(this.boxes.get(key).of), [x, middle] = found.nodes[start];
    const [center, down] = found.nodes[last], end = center - size(last).width / 2, y = middle + size(start).height / 2, low = y + LINE_HIGH, turn = this.turn(found);
    const first = `M${x},${y}V${low - ROUND}Q${x},${low} ${x + ROUND},${low}H${turn - ROUND}Q${turn},${low} ${turn},${low - ROUND}`;
    found.edges[id] = `${first}V${down + ROUND}Q${turn},${down} ${turn + ROUND},${down}H${end}`;
    found.heads[id] = [end, down, 0];
    found.labels[id] = [x, y + LINE_HIGH / 2];
    found.height = Math.max(found.height, Math.trunc(low) + 4);
  }
}

function inOrder(backbone) {
  const after = new Map([...backbone].map(([end, start]) => [start, end])), way = [...after.keys()].filter((start) => !backbone.has(start)).slice(0, 1);
  while (after.has(way.at(-1))) way.push(after.get(way.at(-1)));
  return way;
}

function connected(start, pairs) {
  const beside = new Map(), seen = new Set([start]);
  for (const [a, b] of pairs) for (const [one, other] of [[a, b], [b, a]]) beside.set(one, [...(beside.get(one) ?? []), other]);
  for (const key of seen) for (const other of beside.get(key) ?? []) seen.add(other); // what is added is gone through, too
  return seen;
}

// A line from the right side of a box to the left side of one in the next column: it goes up or down at `turn`.
export function across(x, y, end, down, turn) {
  const way = down > y ? 1 : -1;
  if (Math.abs(down - y) < 2 * ROUND || turn < x + ROUND) {
    const middle = (x + end) / 2;
    return `M${x},${y}C${middle},${y} ${middle},${down} ${end},${down}`;
  }
  const first = `M${x},${y}H${turn - ROUND}Q${turn},${y} ${turn},${y + way * ROUND}`;
  return `${first}V${down - way * ROUND}Q${turn},${down} ${Math.min(turn + ROUND, end)},${down}H${end}`;
}

// The same to the right side of another.
function around(x, y, end, down, turn) {
  const way = Math.min(ROUND, Math.abs(down - y) / 2) * (down > y ? 1 : -1);
  return `M${x},${y}H${turn - ROUND}Q${turn},${y} ${turn},${y + way}V${down - way}Q${turn},${down} ${turn - ROUND},${down}H${end}`;
}
