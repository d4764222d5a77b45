// The content of each node's card, before it is drawn: title, parameters, notes, slots, the longest number.
import { Card, PartCard, rowName, valueWords, type Look } from "./card";
import type { Folding } from "./scene";
import { madeOf, resultsOf, sharersOf } from "./states";
import { fitted } from "./text";
import type { Folded, Part, Trace, TraceNode, Value } from "./types";

export class Looks {
  private readonly longest = new Map<string, string>(); // the longest number that a node ever shows
  private readonly arrivals = new Map<string, string[]>(); // node -> edges whose gradients it receives, in order
  private readonly modules = new Map<string, Part[]>(); // operation -> modules that its card stands for
  private readonly leading: Set<string>;

  constructor(
    private readonly trace: Trace,
    private readonly folding: Folding,
    folded: Folded,
    private readonly lanes: boolean,
  ) {
    this.leading = new Set(folded.links.map(({ start }) => start));
    for (const [part, op] of folding.single)
      this.modules.set(op, [...(this.modules.get(op) ?? []), folding.byId.get(part) as Part]);
    const first = new Map<string, number>();
    for (const { event, receiver, node, edge, run, value, total } of trace.frames) {
      for (const id of receiver ? [node, receiver] : [node]) for (const one of [value, total]) this.keep(id, one);
      if (event !== "contribution" || !receiver || !edge) continue;
      if (!first.has(receiver)) first.set(receiver, run);
      const known = this.arrivals.get(receiver) ?? [];
      if (first.get(receiver) === run && !known.includes(edge)) this.arrivals.set(receiver, [...known, edge]);
    }
  }

  private keep(id: string, value: Value | null): void {
    if (value && !value.shape.length && value.text.length > (this.longest.get(id)?.length ?? 1))
      this.longest.set(id, value.text);
  }

  private node(id: string): TraceNode {
    return this.trace.nodes[Number(id.slice(1))] as TraceNode;
  }

  titleOf(part: Part): string {
    return this.trace.titles[part.id] ?? part.name;
  }

  // Return the card of a node or of a closed part.
  card(of: string): Card | PartCard {
    const part = this.folding.byId.get(of);
    if (!part) return new Card(this.look(this.node(of)));
    const inside = (node: TraceNode) => this.folding.around(node.id).includes(of);
    const wrong = this.trace.nodes.find((node) => (node.error || node.mark) && inside(node));
    return new PartCard(part, wrong ? (wrong.error ? "an operation failed" : wrong.mark) : "", this.titleOf(part));
  }

  private look(node: TraceNode): Look {
    const { trace, folding } = this;
    const [module] = this.modules.get(node.id) ?? [];
    const rows = (folding.rows.get(node.id) ?? [])
      .map((id) => this.node(id))
      .filter((one) => one.kind !== "op" && !isNumber(one))
      .map((one) => ({ node: one, name: fitted(rowName(one), 30, 12) }));
    const title = trace.titles[node.id] ?? (madeOf(node) || node.id);
    const sizes = rows.find((row) => row.name === "W" && row.node.shape?.length === 2)?.node.shape;
    const type = module && !title.startsWith(module.type) ? module.type : "";
    for (const one of [node.value, node.grad]) this.keep(node.id, one);
    return {
      node,
      title,
      kind: module && sizes ? `${sizes[1]} → ${sizes[0]}` : type,
      rows,
      notes: this.notes(node),
      slots: node.requires_grad && !node.shape?.length ? (this.arrivals.get(node.id) ?? []) : [],
      lanes: this.lanes && (node.kind === "op" || node.kind === "data") && this.leading.has(node.id),
      longest: this.longest.get(node.id) ?? "0",
      closes: module && folding.rows.has(node.id) ? module.id : "",
    };
  }

  private notes(node: TraceNode): string[] {
    const sharers = node.kind === "leaf" ? sharersOf(this.trace, node).length : 0;
    const device = this.deviceOf(node);
    return [
      node.error.split(":")[0] ?? "",
      node.mark,
      node.cut ? `cut: ${node.cut}` : "",
      sharers ? `shared by ${sharers} calls` : "",
      device ? `on ${node.device}${device === "sim" ? ", simulated" : ""}` : "",
    ].filter(Boolean);
  }

  // Return "gpu", "sim" for a simulated one, "" for the CPU.
  deviceOf({ device }: TraceNode): string {
    if (!device || device === "cpu") return "";
    const known = (this.trace.meta.devices ?? {}) as Record<string, { simulated: boolean }>;
    return device.startsWith("sim") || known[device]?.simulated ? "sim" : "gpu";
  }

  // Return the text for its value: a number, a shape, or those of several results.
  valueOf(node: TraceNode): string {
    const results = resultsOf(node) as { value: Value | null; shape: number[] | null }[];
    if (!results.length) return valueWords(node.value, node.shape);
    const few = results.slice(0, 3).map((one) => valueWords(one.value, one.shape) || "?");
    return few.join(", ") + (results.length > 3 ? ", …" : "");
  }
}

function isNumber(node: TraceNode): boolean {
  return node.kind === "data" && !node.name && !node.shape?.length;
}
