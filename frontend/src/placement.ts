// Place boxes in layers: data flows along one axis, long lines run between the boxes, open parts are frames around
// their boxes. Sizes are pixels and are never scaled; only the distances between layers adapt to the available width.

import { PORT, across, portsOf, push, reorder, straighten, type Item, type Level, type Step } from "./crossings";

export interface Box {
  key: string;
  width: number;
  height: number;
  frame: string | null;
}

export interface Line {
  id: string;
  start: string;
  end: string;
  // Room for the line's label.
  label?: { width: number; height: number };
  // px to the next line at the same side of a box.
  pitch?: number;
}

export interface Frame {
  id: string;
  parent: string | null;
  width: number; // of its header
  height: number;
}

export interface Point {
  x: number;
  y: number;
  // Whether a line may pass through it at an angle, as under a label.
  free?: boolean;
}

export interface Rectangle extends Point {
  width: number;
  height: number;
}

export interface Placed {
  width: number;
  height: number;
  boxes: Map<string, Point>;
  frames: Map<string, Rectangle>;
  lines: Map<string, Point[]>;
  labels: Map<string, Point>;
}

export type Direction = "LR" | "TB";

export interface Options {
  direction: Direction;
  // Available length along the axis of the layers; distances grow up to it.
  room?: number;
}

const LEAST_GAP = 26; // px between layers
const MOST_GAP = 110;
const PADDING = 14; // px around the contents of a frame
const MARGIN = 12; // px around the picture, because rings and saved tensors are drawn outside their boxes

export function layout(boxes: Box[], lines: Line[], frames: Frame[], options: Options): Placed {
  const plan = new Plan(boxes, lines, frames, options);
  const top = plan.level(null);
  return plan.place(top);
}

class Plan {
  private readonly turned: boolean;
  private readonly order = new Map<string, number>();
  private readonly frameById: Map<string, Frame>;
  private readonly boxByKey: Map<string, Box>;
  private readonly inFrame = new Map<string | null, Box[]>();
  private readonly under = new Map<string | null, Frame[]>();
  private readonly pitches: Map<string, number>;

  constructor(
    boxes: Box[],
    private readonly lines: Line[],
    frames: Frame[],
    private readonly options: Options,
  ) {
    this.turned = options.direction === "TB";
    this.frameById = new Map(frames.map((frame) => [frame.id, frame]));
    this.boxByKey = new Map(boxes.map((box) => [box.key, box]));
    this.pitches = new Map(lines.map(({ id, pitch }) => [id, pitch ?? PORT]));
    boxes.forEach((box, place) => {
      this.order.set(box.key, place);
      push(this.inFrame, box.frame, box);
    });
    for (const frame of frames) push(this.under, this.around(frame.parent), frame);
  }

  // Return the innermost existing frame, from this one outwards.
  private around(frame: string | null): string | null {
    return frame !== null && this.frameById.has(frame) ? frame : null;
  }

  // Return the item of a level that holds a box: the box, or the frame around it; null if the box is elsewhere.
  private holder(key: string, level: string | null): string | null {
    let inside = key;
    let frame = this.boxByKey.get(key)?.frame ?? null;
    while (frame !== level) {
      if (frame === null) return null;
      inside = frame;
      frame = this.around(this.frameById.get(frame)?.parent ?? null);
    }
    return inside;
  }

  level(frame: string | null): Level {
    const items = new Map<string, Item>();
    const add = (id: string, kind: Item["kind"], width: number, height: number, order: number): Item => {
      const [along, across] = this.turned ? [height, width] : [width, height];
      const item: Item = { id, along, across, kind, order, layer: 0, u: 0, v: 0 };
      items.set(id, item);
      return item;
    };
    for (const box of this.inFrame.get(frame) ?? [])
      add(box.key, "box", box.width, box.height, this.order.get(box.key) ?? 0);
    for (const inner of this.under.get(frame) ?? []) {
      const level = this.level(inner.id);
      const size = this.frameSize(inner, level);
      const first = Math.min(
        ...level.items.filter(({ kind }) => kind === "box" || kind === "frame").map((i) => i.order),
      );
      add(inner.id, "frame", size.width, size.height, first).inner = level;
    }
    const steps: Step[] = [];
    for (const { id, start, end } of this.lines) {
      const [from, to] = [this.holder(start, frame), this.holder(end, frame)];
      if ((from === null && to === null) || from === to) continue;
      const port = (side: "first" | "last") => {
        const item = add(`${side} ${id}`, "port", 2, 2, side === "first" ? -1 : Infinity);
        item.pinned = side;
        return item;
      };
      const [a, b] = [from === null ? port("first") : items.get(from), to === null ? port("last") : items.get(to)];
      if (a && b) steps.push({ line: id, start: a, end: b });
    }
    const level = { items: [...items.values()], steps, along: 0, across: 0, routes: new Map<string, Item[]>() };
    this.arrange(level, frame === null);
    return level;
  }

  private frameSize(frame: Frame, level: Level): { width: number; height: number } {
    const [width, height] = this.turned ? [level.across, level.along] : [level.along, level.across];
    return {
      width: Math.max(width, frame.width) + 2 * PADDING,
      height: height + frame.height + 2 * PADDING,
    };
  }

  private arrange(level: Level, top: boolean): void {
    layers(level);
    const rows = bends(level, this.lines, this.turned);
    reorder(rows, level.steps);
    across(rows, level.steps);
    straighten(rows, level, this.pitches);
    const least = Math.min(...level.items.map((item) => item.v - item.across / 2), Infinity);
    for (const item of level.items) item.v -= Number.isFinite(least) ? least : 0;
    level.across = Math.max(0, ...level.items.map((item) => item.v + item.across / 2));
    this.along(level, rows, top);
  }

  // Put the layers one after the other; distribute the remaining room between them.
  private along(level: Level, rows: Item[][], top: boolean): void {
    const sizes = rows.map((row) => Math.max(0, ...row.map((item) => item.along)));
    const gaps = sizes.length - 1;
    const own = sizes.reduce((sum, size) => sum + size, 0);
    const room = top && gaps > 0 && this.options.room ? (this.options.room - 2 * MARGIN - own) / gaps : 0;
    const [least, most] = this.turned ? [14, 22] : [LEAST_GAP / 2, MOST_GAP / 2];
    const gap = Math.max(least, Math.min(most, room));
    let u = 0;
    rows.forEach((row, layer) => {
      const size = sizes[layer] ?? 0;
      for (const item of row) {
        item.u = item.kind === "bend" ? u : u + (size - item.along) / 2;
        if (item.kind === "bend") item.along = size;
      }
      u += size + gap;
    });
    level.along = Math.max(0, u - gap);
  }

  place(top: Level): Placed {
    const placed: Placed = {
      width: 0,
      height: 0,
      boxes: new Map(),
      frames: new Map(),
      lines: new Map(),
      labels: new Map(),
    };
    const routes = new Map<string, Point[]>();
    this.put(top, { x: MARGIN, y: MARGIN }, placed, routes);
    for (const [line, points] of routes) placed.lines.set(line, points);
    const [width, height] = this.turned ? [top.across, top.along] : [top.along, top.across];
    placed.width = Math.ceil(width + 2 * MARGIN);
    placed.height = Math.ceil(height + 2 * MARGIN);
    return placed;
  }

  private put(level: Level, at: Point, placed: Placed, routes: Map<string, Point[]>): void {
    const point = (u: number, v: number): Point =>
      this.turned ? { x: at.x + v, y: at.y + u } : { x: at.x + u, y: at.y + v };
    for (const item of level.items) {
      const corner = point(item.u, item.v - item.across / 2);
      if (item.kind === "box") placed.boxes.set(item.id, corner);
      if (item.kind === "label") placed.labels.set(item.id.slice(6), point(item.u + item.along / 2, item.v));
      if (item.kind !== "frame" || !item.inner) continue;
      const [width, height] = this.turned ? [item.across, item.along] : [item.along, item.across];
      placed.frames.set(item.id, { ...corner, width, height });
    }
    const ports = portsOf(level, this.pitches);
    for (const [line, through] of level.routes) {
      const points: Point[] = [];
      through.forEach((item, place) => {
        const side = ports.get(item)?.get(line);
        if (place === 0) points.push(point(item.kind === "port" ? 0 : item.u + item.along, item.v + (side?.out ?? 0)));
        else if (place === through.length - 1)
          points.push(point(item.kind === "port" ? level.along : item.u, item.v + (side?.into ?? 0)));
        else if (item.kind === "label") points.push({ ...point(item.u + item.along / 2, item.v), free: true });
        else points.push(point(item.u, item.v), point(item.u + item.along, item.v));
      });
      const known = routes.get(line);
      if (!known) routes.set(line, points);
      else routes.set(line, joined(known, points, this.turned));
    }
    for (const item of level.items) {
      if (item.kind !== "frame" || !item.inner) continue;
      const frame = this.frameById.get(item.id);
      const corner = point(item.u, item.v - item.across / 2);
      this.put(item.inner, { x: corner.x + PADDING, y: corner.y + PADDING + (frame?.height ?? 0) }, placed, routes);
    }
  }
}

// Insert the part of a line inside a frame in place of the end that the outer level gave it.
function joined(outer: Point[], inner: Point[], turned: boolean): Point[] {
  const at = (point: Point | undefined) => (point ? (turned ? point.y : point.x) : 0);
  const entering = Math.abs(at(inner[0]) - at(outer.at(-1))) < Math.abs(at(inner.at(-1)) - at(outer[0]));
  return entering ? [...outer, ...inner] : [...inner, ...outer];
}

// Assign layers by the longest path from items without predecessors; an item with a single successor goes right
// before it.
function layers(level: Level): void {
  const into = new Map<Item, Step[]>();
  const out = new Map<Item, Step[]>();
  for (const step of level.steps) {
    push(into, step.end, step);
    push(out, step.start, step);
  }
  const waiting = new Map(level.items.map((item) => [item, into.get(item)?.length ?? 0]));
  const ready = level.items.filter((item) => !waiting.get(item));
  const done = new Set<Item>();
  const sorted: Item[] = [];
  const left = [...level.items].sort((a, b) => a.order - b.order);
  let next = 0;
  while (sorted.length < level.items.length) {
    let item = ready.shift();
    if (!item) {
      while (left[next] && done.has(left[next] as Item)) next += 1;
      item = left[next]; // two frames lead to each other: the earlier one comes first
    }
    if (!item || done.has(item)) continue;
    done.add(item);
    sorted.push(item);
    for (const step of out.get(item) ?? []) {
      if (done.has(step.end)) continue;
      const missing = (waiting.get(step.end) ?? 1) - 1;
      waiting.set(step.end, missing);
      if (!missing) ready.push(step.end);
    }
  }
  const place = new Map(sorted.map((item, index) => [item, index]));
  const forward = (step: Step) => (place.get(step.start) ?? 0) < (place.get(step.end) ?? 0);
  for (const step of level.steps.filter((one) => !forward(one))) [step.start, step.end] = [step.end, step.start];
  for (const item of sorted) item.layer = 0;
  const ahead = new Map<Item, Step[]>();
  for (const step of level.steps) push(ahead, step.start, step);
  for (const item of sorted)
    for (const step of ahead.get(item) ?? []) step.end.layer = Math.max(step.end.layer, item.layer + 1);
  const fed = new Set(level.steps.map(({ end }) => end));
  for (const item of [...sorted].reverse()) {
    const after = ahead.get(item) ?? [];
    if (!fed.has(item) && after.length && item.pinned !== "first")
      item.layer = Math.min(...after.map(({ end }) => end.layer)) - 1;
  }
  const last = Math.max(0, ...level.items.map(({ layer }) => layer));
  for (const item of level.items) if (item.pinned === "last") item.layer = Math.max(item.layer, last);
  for (const item of level.items) item.layer *= 2; // labels go between
}

// Add a bend for each layer that a line passes, and a label if it has one. Return the layers.
function bends(level: Level, lines: Line[], turned: boolean): Item[][] {
  const rows: Item[][] = [];
  const put = (item: Item) => (rows[item.layer] ??= []).push(item);
  for (const item of level.items) put(item);
  const labels = new Map(lines.map(({ id, label }) => [id, label]));
  const steps: Step[] = [];
  for (const step of level.steps) {
    const through = [step.start];
    const label = labels.get(step.line);
    const written =
      label && level.routes.get(step.line) === undefined && step.start.kind !== "port" ? label : undefined;
    for (let layer = step.start.layer + 1; layer < step.end.layer; layer += 1) {
      const own = written && layer === step.start.layer + 1;
      const [along, across] = own
        ? turned
          ? [written.height, written.width]
          : [written.width, written.height]
        : [0, 2];
      const kind = own ? "label" : "bend";
      const item: Item = {
        id: `${kind} ${step.line}`,
        along,
        across,
        kind,
        order: step.start.order,
        layer,
        u: 0,
        v: 0,
      };
      level.items.push(item);
      put(item);
      through.push(item);
    }
    through.push(step.end);
    level.routes.set(step.line, through);
    for (let i = 1; i < through.length; i += 1)
      steps.push({ line: step.line, start: through[i - 1] as Item, end: through[i] as Item });
  }
  level.steps = steps;
  for (let layer = 0; layer < rows.length; layer += 1) rows[layer] ??= [];
  return rows;
}

// Return the line through points as an SVG path: level at each point, curved between points.
export function path(points: Point[], direction: Direction, shift = 0): string {
  const turned = direction === "TB";
  // Use coordinates along and across, so that both directions share the code.
  const moved = points.map(({ x, y, free }) => (turned ? { u: y, v: x + shift, free } : { u: x, v: y + shift, free }));
  const write = (u: number, v: number) => (turned ? `${round(v)} ${round(u)}` : `${round(u)} ${round(v)}`);
  const slope = (index: number): number => {
    const [before, at, after] = [moved[index - 1], moved[index], moved[index + 1]];
    return at?.free && before && after && after.u !== before.u ? (after.v - before.v) / (after.u - before.u) : 0;
  };
  return moved
    .map((point, index) => {
      if (!index) return `M${write(point.u, point.v)}`;
      const before = moved[index - 1] as { u: number; v: number };
      const half = (point.u - before.u) / 2;
      const [start, end] = [slope(index - 1), slope(index)];
      if (Math.abs(before.v - point.v) < 0.5 && !start && !end) return `L${write(point.u, point.v)}`;
      const first = write(before.u + half, before.v + half * start);
      return `C${first} ${write(point.u - half, point.v - half * end)} ${write(point.u, point.v)}`;
    })
    .join("");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
