// The parts of a drawn graph, and their state after a step.
import type { Drawn } from "./card";
import type { Point } from "./placement";
import type { Folded, Link, Part, TraceEdge, TraceNode, Value } from "./types";

export interface Moment {
  computed: { has(id: string): boolean };
  dimmed: Set<string>;
  states: Record<string, string>;
  gradients: Record<string, Value | null>;
  saved: Record<string, string>;
  edges: Record<string, { state: string; sent: Value | null }>;
  parts: Record<string, { computed: number; state: string }>;
  why: Record<string, string>;
  words: Record<string, string>;
}

export interface Folding {
  byId: Map<string, Part>;
  single: Map<string, string>;
  rows: Map<string, string[]>;
  down: boolean;
  fold(open: Set<string>): Folded;
  isPart(id: string): boolean;
  around(id: string): string[];
  boxOf(id: string, open: Set<string>): string;
  shownAs(id: string, open: Set<string>): string;
}

export interface Actions {
  select(id: string): void;
  toggle(part: string): void;
}

export interface CardBox extends Drawn {
  node: TraceNode;
  within: TraceNode[];
  valueText: string;
  tabs: never[];
  look: unknown[] | null;
  saved: string[];
  pin: SVGElement | null;
  lanes: boolean;
}

export interface PartBox {
  g: SVGElement;
  part: Part;
  value: SVGElement;
  grad: SVGElement | null;
  word: SVGElement | null;
  full: string;
  look: unknown[] | null;
}

export interface LineBox {
  g: SVGElement;
  edge: Link;
  line: SVGPathElement;
  back: SVGPathElement | null; // if gradients have a lane of their own
  head: SVGElement;
  backHead: SVGElement | null;
  pill: SVGElement | null;
  pillText: SVGElement | null;
  valueTile: SVGElement | null;
  gradTile: SVGElement | null;
  shape: SVGElement | null;
  lanes: boolean;
  wide: number;
  single: TraceEdge | null;
  points: Point[];
  look: unknown[] | null;
}

// Return whether `look` differs from the part's last look; drawing only changes keeps big graphs fast.
export function differs(part: { look: unknown[] | null }, look: unknown[]): boolean {
  const before = part.look;
  const same = before !== null && before.length === look.length && look.every((value, i) => value === before[i]);
  part.look = look;
  return !same;
}
