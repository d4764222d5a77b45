// The name of a card for screen readers.
import { madeOf, resultsOf, sharersOf, whyMissing } from "./states";
import type { CardBox, Folding, Moment } from "./scene";
import { isBad, shapeWords, words } from "./values";
import type { Trace, TraceNode, Value } from "./types";

export class Naming {
  constructor(
    private readonly trace: Trace,
    private readonly folding: Folding,
  ) {}

  nameOf(card: CardBox, known: boolean, word: string, why: string, grad: Value | null, now: Moment): string {
    const { node } = card;
    const modules = [...this.folding.single]
      .filter(([, op]) => op === node.id)
      .flatMap(([id]) => [this.folding.byId.get(id)?.label, this.folding.byId.get(id)?.type]);
    const said = why ? `${word}: ${why}` : word;
    const name = madeOf(node);
    const parts = [...modules, ...(modules.includes(name) ? [] : [name]), kindWords(node)];
    if (node.mark) parts.push(node.mark);
    parts.push(this.valueSaid(node, known));
    const never = said.startsWith("never");
    if (node.requires_grad || never)
      parts.push(`gradient ${said}` + (grad && !grad.shape.length ? ` ${words(grad)}` : ""));
    const sharers = sharersOf(this.trace, node);
    if (sharers.length) parts.push(`shared by ${sharers.join(" and ")}`);
    if (node.cut && !never) parts.push(`gradient cut by ${node.cut}`);
    if ((known && isBad(node.value)) || isBad(grad)) parts.push("holds NaN or inf");
    if (node.device && node.device !== "cpu") parts.push(`on ${node.device}`);
    const inside = card.rows.map(({ node: one }) => {
      const shared = sharersOf(this.trace, one);
      const state = now.why[one.id] ? `${now.words[one.id]}: ${now.why[one.id]}` : now.words[one.id];
      return `${one.name || madeOf(one)} ${shapeWords(one.shape ?? [])}${shared.length ? `, shared by ${shared.join(" and ")}` : ""}${one.requires_grad ? `, gradient ${state}` : ""}`;
    });
    return [parts.join(", "), ...inside].join("; ");
  }

  private valueSaid(node: TraceNode, known: boolean): string {
    if (!known) return "not computed yet";
    if (node.error) return `failed: ${node.error}`;
    const results = resultsOf(node);
    if (results.length)
      return results
        .map(
          (one: { label: string; value: Value | null }) =>
            `${one.label} ${one.value ? words(one.value) : whyMissing(this.trace, one)}`,
        )
        .join(", ");
    if (node.shape?.length) return `shape ${shapeWords(node.shape)}`;
    return node.value ? `value ${words(node.value)}` : `value: ${whyMissing(this.trace, node)}`;
  }
}

function kindWords({ kind, op }: TraceNode): string {
  if (kind === "op") return `result of ${op}`;
  return { leaf: op ? `leaf, changed by ${op}` : "leaf", update: `update by ${op}`, data: "data" }[kind] ?? "data";
}
