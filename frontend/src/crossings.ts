// Order and position of a layout's items across the layers, with few line crossings and straight lines.

const BESIDE = 22; // px between boxes of a layer
const NARROW = 10; // px between lines
export const PORT = 26; // px between lines at one side of a box
const SWEEPS = 8;

export interface Item {
  id: string;
  along: number; // size along the direction of the layers
  across: number;
  kind: "box" | "frame" | "port" | "label" | "bend";
  order: number;
  layer: number;
  u: number; // start along the direction
  v: number; // centre across the direction
  inner?: Level; // the level inside a frame
  pinned?: "first" | "last";
}

export interface Step {
  line: string;
  start: Item;
  end: Item;
}

export interface Level {
  items: Item[];
  steps: Step[];
  along: number;
  across: number;
  routes: Map<string, Item[]>; // line -> the items that it passes through at this level
}

// Reduce crossings: sort each layer by the mean position of its items' neighbours, forwards and backwards.
export function reorder(rows: Item[][], steps: Step[]): void {
  const into = new Map<Item, Item[]>();
  const out = new Map<Item, Item[]>();
  for (const { start, end } of steps) {
    push(into, end, start);
    push(out, start, end);
  }
  for (const row of rows) row.sort((a, b) => a.order - b.order);
  const place = new Map<Item, number>();
  const number = (row: Item[]) => row.forEach((item, index) => place.set(item, index));
  rows.forEach(number);
  const sweep = (row: Item[], near: Map<Item, Item[]>) => {
    const wanted = new Map(
      row.map((item) => {
        const others = near.get(item) ?? [];
        const middle = others.reduce((sum, other) => sum + (place.get(other) ?? 0), 0) / others.length;
        return [item, others.length ? middle : (place.get(item) ?? 0)];
      }),
    );
    row.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0) || (place.get(a) ?? 0) - (place.get(b) ?? 0));
    number(row);
  };
  for (let turn = 0; turn < sweeps(rows) / 2; turn += 1) {
    for (const row of rows.slice(1)) sweep(row, into);
    for (const row of rows.slice(0, -1).reverse()) sweep(row, out);
  }
}

// Find each item's position across the layers: as near to its neighbours in the graph as adjacent items allow.
export function across(rows: Item[][], steps: Step[]): void {
  const near = new Map<Item, Near[]>();
  for (const { start, end } of steps) {
    push(near, start, { item: end, shift: 0 });
    push(near, end, { item: start, shift: 0 });
  }
  for (const row of rows) {
    let v = 0;
    for (const [index, item] of row.entries()) {
      if (index) v += apart(row[index - 1] as Item, item);
      item.v = v;
    }
    for (const item of row) item.v -= v / 2;
  }
  for (let turn = 0; turn < sweeps(rows); turn += 1)
    for (const row of turn % 2 ? [...rows].reverse() : rows) settle(row, near);
}

export type Ports = Map<Item, Map<string, { into: number; out: number }>>;

// Once the ends of all lines are known, align boxes and line labels with them.
export function straighten(rows: Item[][], level: Level, pitches: Map<string, number>): void {
  const ports = portsOf(level, pitches);
  const near = new Map<Item, Near[]>();
  for (const { line, start, end } of level.steps) {
    const out = ports.get(start)?.get(line)?.out ?? 0;
    const into = ports.get(end)?.get(line)?.into ?? 0;
    push(near, start, { item: end, shift: into - out });
    push(near, end, { item: start, shift: out - into });
  }
  for (let turn = 0; turn < sweeps(rows) / 2; turn += 1)
    for (const row of turn % 2 ? [...rows].reverse() : rows) settle(row, near);
}

interface Near {
  item: Item;
  shift: number;
}

// Use fewer rounds for a big graph, which is never seen as a whole.
function sweeps(rows: Item[][]): number {
  return rows.length > 600 ? 2 : SWEEPS;
}

function apart(a: Item, b: Item): number {
  const close = a.kind !== "box" && a.kind !== "frame" && b.kind !== "box" && b.kind !== "frame";
  return (a.across + b.across) / 2 + (close ? NARROW : BESIDE);
}

// Make the smallest moves that keep order and distances: adjacent items that would overlap become one block.
function settle(row: Item[], near: Map<Item, Near[]>): void {
  interface Block {
    sum: number; // sum of the items' wanted positions, each minus its offset
    weight: number;
    items: [Item, number][];
  }
  const blocks: Block[] = [];
  let offset = 0;
  for (const [index, item] of row.entries()) {
    if (index) offset += apart(row[index - 1] as Item, item);
    const others = near.get(item) ?? [];
    const wish = others.length
      ? others.reduce((sum, other) => sum + other.item.v + other.shift, 0) / others.length
      : item.v;
    const weight = item.kind === "bend" ? 4 : others.length || 0.5;
    blocks.push({ sum: (wish - offset) * weight, weight, items: [[item, offset]] });
    while (blocks.length > 1) {
      const [before, last] = [blocks.at(-2) as Block, blocks.at(-1) as Block];
      if (before.sum / before.weight <= last.sum / last.weight) break;
      blocks.splice(-2, 2, {
        sum: before.sum + last.sum,
        weight: before.weight + last.weight,
        items: [...before.items, ...last.items],
      });
    }
  }
  for (const { sum, weight, items } of blocks) for (const [item, own] of items) item.v = sum / weight + own;
}

// Find where lines leave and enter each item: side by side, in the order of their other ends.
export function portsOf(level: Level, pitches: Map<string, number>): Ports {
  const found: Ports = new Map<Item, Map<string, { into: number; out: number }>>();
  const sides: ["into" | "out", Map<Item, Step[]>][] = [
    ["into", new Map()],
    ["out", new Map()],
  ];
  for (const step of level.steps) {
    push(sides[0]?.[1] as Map<Item, Step[]>, step.end, step);
    push(sides[1]?.[1] as Map<Item, Step[]>, step.start, step);
  }
  for (const [side, at] of sides)
    for (const [item, steps] of at) {
      if (item.kind === "bend" || item.kind === "label" || item.kind === "port") continue;
      const other = (step: Step) => (side === "into" ? step.start.v : step.end.v);
      steps.sort((a, b) => other(a) - other(b));
      const pitch = Math.max(...steps.map(({ line }) => pitches.get(line) ?? PORT));
      const room = Math.min(pitch, (item.across - 16) / Math.max(1, steps.length));
      steps.forEach((step, index) => {
        const own = found.get(item) ?? found.set(item, new Map()).get(item);
        const known = own?.get(step.line) ?? { into: 0, out: 0 };
        own?.set(step.line, { ...known, [side]: (index - (steps.length - 1) / 2) * room });
      });
    }
  return found;
}

export function push<K, V>(map: Map<K, V[]>, key: K, item: V): void {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}
