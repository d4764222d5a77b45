// The records of a trace as `unpack` returns them; trace/model.py says what each field means.

export interface Stats {
  min: number;
  max: number;
  mean: number;
  std: number;
  nan: number;
  inf: number;
}

export interface Value {
  shape: number[];
  dtype: string;
  data: unknown;
  stats: Stats | null;
  sample: number[] | null;
  text: string;
}

export interface TraceNode {
  id: string;
  kind: "leaf" | "data" | "op" | "update";
  op: string;
  name: string;
  label: string;
  shape: number[] | null;
  dtype: string;
  device: string;
  requires_grad: boolean;
  value: Value | null;
  grad: Value | null;
  module: string;
  cut: string;
  error: string;
  mark: string;
  attrs: Record<string, unknown>;
  outputs: { label: string; shape: number[] | null; value: Value | null }[];
}

export interface TraceEdge {
  id: string;
  parent: string;
  child: string;
  slot: number;
  differentiable: boolean;
  update: boolean;
  tex: string;
  tex_numbers: string;
}

export interface Saved {
  id: string;
  node: string;
  name: string;
  bytes: number | null;
}

export interface TraceFrame {
  index: number;
  phase: "forward" | "backward" | "update";
  event: string;
  run: number;
  node: string;
  edge: string | null;
  receiver: string | null;
  state: string;
  value: Value | null;
  total: Value | null;
  text: string;
}

export interface Beat {
  phase: "forward" | "backward" | "update";
  run: number;
  node: string;
  title: string;
  first: number;
  last: number;
  parts: number[];
  says: [string, string];
  notes: string[];
}

export interface Trace {
  nodes: TraceNode[];
  edges: TraceEdge[];
  saved: Saved[];
  frames: TraceFrame[];
  beats: Beat[];
  titles: Record<string, string>;
  groups: { id: string; path: string; type: string; kind: string; holds: string[]; call: number }[];
  meta: Record<string, unknown>;
  light?: boolean;
  steps?: number; // how many beats there are, where a question hides the later ones
}

// A closed module, iteration or run of operations; trace/folding.py.
export interface Part {
  id: string;
  name: string;
  label: string;
  type: string;
  parent: string | null;
  ops: number;
  parameters: number;
  shape: number[] | null;
  first: string;
  last: string;
  requires_grad: boolean;
  kind: string;
  amount: string;
}

export interface Link {
  id: string;
  start: string;
  end: string;
  differentiable: boolean;
  update: boolean;
  edges: string[];
}

export interface Folded {
  boxes: Map<string, { of: string; frame: string | null }>;
  links: Link[];
  frames: string[];
}
