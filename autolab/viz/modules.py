"""Draw a network as a graphviz picture in which each module is a box that stands for its operations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..trace.layers.folding import Folded, Folding, Link
from ..trace.model import Trace
from ..trace.captions.text import count_words, shape_text
from . import palette
from .dot import UPDATE, Picture, _box, _quoted, _statement, empty_picture, traced


def draw(
    source: Any,
    expanded: Collection[str] | str | None = None,
    *,
    rankdir: str = "LR",
    params: Mapping[str, Any] | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Picture:
    """Return the graph behind a result with its modules closed. Each is one box with its type, number of operations and
    parameters, and the shape of its result; lines between the same two boxes are merged and show their number.

    source   : a tensor of autolab or PyTorch, a list of them, a recording, or a Trace.
    expanded : modules that are drawn open, by path ("layer1", "layer1.0"); "all"; None: as `explore` begins. A graph
               without modules is in runs of operations, whose names are "ops 1–50".
    rankdir  : "LR" (data flows to the right) or "TB" (down).
    params, namespace : for tensors only, those of `autolab.trace.trace`: names for tensors, where variable names are
                        looked up.

    Raises ValueError for a module that is not in the graph, TypeError for what cannot be drawn. `make_dot` draws every
    operation, as torchviz does.

    Example:

        >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> picture = torch.viz.draw(model(torch.ones(1, 2)))
        >>> "0  Linear" in picture.source, "1  ReLU" in picture.source
        (True, True)
    """
    trace = traced(source, "source", params, namespace)
    folding = Folding(trace)
    if expanded is None:
        opened = folding.first()
    else:
        opened = list(folding.parts) if expanded == "all" else folding.named(expanded)
    folded = folding.fold(opened)
    picture = empty_picture(rankdir)
    picture.boxes = len(folded.boxes)
    names = ", ".join(trace.node(i).label for i in trace.meta.get("roots", ())[:3])
    picture.about = (
        f"graph of {names or 'nothing'}, {len(trace.nodes)} nodes in {len(folded.boxes)} boxes"
    )
    picture.body += _level(trace, folding, folded, None)
    picture.body += [_line(link) for link in folded.links]
    picture.body += [
        _statement(f"{start} -> {end}", {"style": "invis", "weight": "0"})
        for start, end in folded.order
    ]
    return picture


def _level(trace: Trace, folding: Folding, folded: Folded, frame: str | None) -> list[str]:
    """Return the boxes and frames directly inside an open part."""
    roots, lines = set(trace.meta.get("roots", ())), []
    for key, box in folded.boxes.items():
        if box.frame == frame:
            part = folding.parts.get(box.of)
            lines.append(
                _part(part)
                if part is not None
                else _box(trace, trace.node(box.of), box.of in roots, 0, key)
            )
    for other in folded.frames:
        part = folding.parts[other]
        if part.parent == frame:
            look = {
                "label": f"{part.name}  {part.type}",
                "style": "rounded,dashed",
                "color": palette.DATA,
            }
            look |= {
                "fontname": palette.FONTS,
                "fontsize": "11",
                "labeljust": "l",
                "class": f"al-module {other}",
            }
            lines.append(f"\tsubgraph {_quoted(f'cluster_{other}')} {{\n")
            lines += [f"\t\t{k}={_quoted(v)}\n" for k, v in look.items()]
            lines += [f"\t{line}" for line in _level(trace, folding, folded, other)] + ["\t}\n"]
    return lines


def _part(part: Any) -> str:
    size = part.amount
    size += f" · {count_words(part.parameters)} parameters" if part.parameters else ""
    shape = "" if part.shape is None else shape_text(part.shape)
    look = {
        "label": "\n".join(line for line in (part.name, part.type, size, shape) if line),
        "shape": "box3d",
    }
    look |= {
        "style": "filled",
        "fillcolor": palette.PAPER,
        "color": palette.FORWARD,
        "class": f"al-part {part.id}",
    }
    return _statement(part.id, look)


def _line(link: Link) -> str:
    attrs = {"class": f"al-edge {link.id}"}
    if not link.differentiable:
        attrs |= UPDATE if link.update else {"color": palette.DATA}
    if len(link.edges) > 1:
        attrs["label"] = f" ×{len(link.edges):,}"
    return _statement(f"{_quoted(link.start)} -> {_quoted(link.end)}", attrs)
