"""A trace as text, for people: the graph, what is saved for backward, and the steps, one line each."""

from __future__ import annotations

from typing import Any

from ..model import Group, Node, Saved, Trace


def render(trace: Trace, *, frames: bool = True) -> str:
    """Return the trace as text. `frames=False` leaves the steps out."""
    parts = [_heading(trace), *_graph(trace)]
    if trace.saved:
        parts += ["", "Saved for backward", *_table([_saved_row(s, trace) for s in trace.saved])]
    for kind, heading in (
        ("iteration", "Iterations"),
        ("module", "Modules"),
        ("step", "Optimizer steps"),
    ):
        rows = [row for g in trace.groups if g.kind == kind for row in _group_rows(g, trace)]
        if rows:
            parts += ["", heading, *_table(rows)]
    rehearsed, why = trace.meta.get("backward") == "dry", trace.meta.get("why") or ""
    if frames and trace.frames:
        back = "rehearsed" if rehearsed else "backward"
        rows = [
            [str(f.index), f"{back} {f.run}" if f.phase == "backward" else f.phase, f.text]
            for f in trace.frames
        ]
        parts += ["", "Steps", *([why] if rehearsed else []), *_table(rows, right=1)]
    if never := _never(trace):
        parts += ["", "No gradient comes to", *_table(never)]
    if why and not (rehearsed and frames):
        parts += ["", why]
    error = trace.meta.get("error")
    if error:
        parts += [
            "",
            f"{error['type']}: {error['message']}".removesuffix(": "),
            *error.get("notes", []),
        ]
    return "\n".join(parts)


def _never(trace: Trace) -> list[list[str]]:
    """Return the lines about nodes that could have a gradient and get none, by backward pass."""
    wants = [
        (p, trace.node(n), why)
        for p in trace.passes
        for n, why in p.never.items()
        if trace.node(n).requires_grad
    ]
    several = len(trace.passes) > 1
    return [
        [node.label, f"in backward {p.run}: {why}" if several else why] for p, node, why in wants
    ]


def _heading(trace: Trace) -> str:
    roots = [trace.node(i).label for i in trace.meta.get("roots", [])]
    of = f" of {', '.join(roots[:5])}{', ...' if len(roots) > 5 else ''}" if roots else ""
    return f"{'Recording' if trace.meta.get('source') == 'recording' else 'Graph'}{of}"


def _graph(trace: Trace) -> list[str]:
    changed = trace.meta.get("changed", {})
    return _table([_node_row(n, changed.get(n.id, "")) for n in trace.nodes])


def _node_row(node: Node, changed: str) -> list[str]:
    made = node.call or ("leaf" if node.kind == "leaf" else "constant")
    size = "" if node.shape is None else f"{node.dtype} {shape_text(node.shape)}"
    value = "" if node.value is None or node.value.text == node.label else node.value.text
    facts = [
        node.grad_fn or ("requires grad" if node.kind == "leaf" else ""),
        "failed" if node.error else "",
        f"cut by {node.cut}" if node.cut else "",
        f"grad {node.grad.text}" if node.grad is not None else "",
        f"module {node.module}" if node.module and node.kind == "op" else "",
        f"version {node.version}" if node.version else "",
        changed,
        f"{node.source.file}:{node.source.line}" if node.source is not None else "",
    ]
    return [node.made, made, size, value, "; ".join(f for f in facts if f)]


def _group_rows(group: Group, trace: Trace) -> list[list[str]]:
    if group.kind != "step":
        return [[group.label, group.type, ", ".join(trace.node(n).label for n in group.nodes)]]
    around = next((f"{g.path}: " for g in trace.groups if g.id == group.parent), "")
    updates = [u for n in group.nodes if (u := trace.node(n).update) is not None]
    return [
        ["" if i else around + group.label, "" if i else group.type, _update_text(u)]
        for i, u in enumerate(updates)
    ]


def joined(line: dict[str, str]) -> str:
    """Return one line of an update with symbols and, if there are few, with numbers."""
    return f"{line['text']} {line['sign']} {line['numbers']}" if line["numbers"] else line["text"]


def _update_text(update: dict[str, Any]) -> str:
    """Return all lines of one update: "b = 0.9 * b + w.grad = 1.2; w = w - lr * b = 0.8 - 0.1 * 1.2 = 0.68"."""
    lines = [joined(line) for line in update["lines"]]
    known = update["lines"] and update["lines"][-1]["numbers"]
    return ", ".join(lines if known else [*lines, f"{update['name']}: {update['change']}"])


def _saved_row(saved: Saved, trace: Trace) -> list[str]:
    if saved.source_node is None:
        what = saved.name
    elif saved.source_node == saved.node:
        what = f"{saved.name} is its own result"
    else:
        what = f"{saved.name} is {trace.node(saved.source_node).output_label(saved.source_nr)}"
    size = "" if saved.shape is None else f"{saved.dtype} {shape_text(saved.shape)}"
    facts = [
        f"version {saved.version}" if saved.version is not None else "",
        f"{saved.bytes} bytes" if saved.bytes is not None else "",
        saved.state,
    ]
    return [trace.node(saved.node).label, what, size, ", ".join(f for f in facts if f)]


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as PyTorch's Size prints it: (2, 3) becomes [2, 3]; a scalar is []."""
    return f"[{', '.join(map(str, shape))}]"


def count_words(count: int) -> str:
    """Return a parameter count as text: 9,408; 148k; 8.39M."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:.3g}k" if count < 999_500 else f"{count / 1e6:.3g}M"


def _table(rows: list[list[str]], right: int = 0) -> list[str]:
    """Return rows with aligned columns, two spaces apart. The last column is not padded; the first `right` columns are
    right-aligned."""
    widths = (
        [min(40, max((len(row[i]) for row in rows), default=0)) for i in range(len(rows[0]) - 1)]
        if rows
        else []
    )
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if i < right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths))
        ]
        lines.append("  " + "  ".join([*cells, row[-1]]).rstrip())
    return lines
