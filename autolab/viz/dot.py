"""Computation graphs as graphviz pictures: `make_dot` with torchviz's signature, `to_dot` for any trace.

Source of the signature and its meaning: torchviz, https://github.com/szagoruyko/pytorchviz
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import graphviz

from ..trace import graph
from ..trace.model import Node, Saved, Trace
from ..trace.record import Recording
from ..trace.captions.text import shape_text
from . import layout, palette
from .mime import picture_bundle


class Picture(graphviz.Digraph):
    """A `graphviz.Digraph` that can draw itself even without the `dot` program (by pygraphviz, an extra)."""

    boxes = 0
    about = "graph"

    def __repr__(self) -> str:
        return f"<Picture: {self.about}>"

    def _repr_mimebundle_(self, include=None, exclude=None, **_):
        return picture_bundle(self.source, self.boxes, repr(self))

    def _repr_svg_(self):
        return self._repr_mimebundle_().get("image/svg+xml")

    def pipe(
        self,
        format: str | None = None,
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
        *,
        engine: str | None = None,
        encoding: str | None = None,
    ) -> bytes | str:
        """Return the picture as bytes (text if `encoding` is given), like `graphviz.Digraph.pipe`.

        Without a `dot` program, pygraphviz draws it, and only `format` is used. Raises
        `autolab.viz.layout.LayoutUnavailable` if that is missing too."""
        if shutil.which("dot"):
            return super().pipe(
                format, renderer, formatter, neato_no_op, quiet, engine=engine, encoding=encoding
            )
        self._only_dot(
            renderer=renderer, formatter=formatter, neato_no_op=neato_no_op, engine=engine
        )
        data = layout.render(self.source, format or self.format)
        return data if encoding is None else data.decode(encoding)

    def render(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
        quiet_view: bool = False,
        *,
        outfile: str | os.PathLike[str] | None = None,
        engine: str | None = None,
        raise_if_result_exists: bool = False,
        overwrite_source: bool = False,
    ) -> str:
        """Write the DOT text and the picture to files and return the picture's path, like `graphviz.Digraph.render`."""
        if shutil.which("dot"):
            return super().render(
                filename,
                directory,
                view,
                cleanup,
                format,
                renderer,
                formatter,
                neato_no_op,
                quiet,
                quiet_view,
                outfile=outfile,
                engine=engine,
                raise_if_result_exists=raise_if_result_exists,
                overwrite_source=overwrite_source,
            )
        self._only_dot(
            renderer=renderer,
            formatter=formatter,
            neato_no_op=neato_no_op,
            engine=engine,
            view=view or None,
            quiet_view=quiet_view or None,
        )
        source, picture, format = self._targets(filename, directory, outfile, format)
        if raise_if_result_exists and picture.exists():
            raise graphviz.FileExistsError(f"output file exists: {str(picture)!r}")
        data = layout.render(self.source, format)
        source.parent.mkdir(parents=True, exist_ok=True)
        if not cleanup:
            source.write_text(self.source, encoding=self.encoding)
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(data)
        return str(picture)

    def _targets(
        self, filename: Any, directory: Any, outfile: Any, format: str | None
    ) -> tuple[Path, Path, str]:
        if outfile is not None:
            picture = Path(outfile)
            source = (
                picture.with_suffix(".gv") if filename is None else Path(directory or "", filename)
            )
            return source, picture, format or picture.suffix[1:] or self.format
        source = Path(
            directory if directory is not None else self.directory or "", filename or self.filename
        )
        format = format or self.format
        return source, source.with_name(f"{source.name}.{format}"), format

    @staticmethod
    def _only_dot(**settings: Any) -> None:
        used = [name for name, value in settings.items() if value is not None]
        if used:
            raise layout.LayoutUnavailable(
                f"{', '.join(used)} needs Graphviz's own `dot` program, which is not on the PATH; install graphviz, or "
                f"leave {'it' if len(used) == 1 else 'them'} out and the picture is drawn without it"
            )


def make_dot(
    var: Any,
    params: Mapping[str, Any] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Picture:
    """Return a picture of the graph behind a result, for autolab and for torch tensors.

    var            : a tensor, or a tuple or list of tensors; or what `record()` gave, or its trace: then all that ran
                     is drawn.
    params         : names for tensors: `dict(model.named_parameters())`. Other tensors get their variable's name.
    show_attrs     : list the arguments each operation keeps (`alpha`, `dim` ...).
    show_saved     : draw what each operation saved for its backward: one tab per saved tensor, with version and state.
    max_attr_chars : longer attributes are cut.

    Every operand is an edge of its own (`x * x` has two), and depth is not limited. Raises TypeError for anything but
    tensors and recordings, and for params with a recording, ValueError for max_attr_chars below 1. Source:
    torchviz.make_dot.

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> picture = torch.viz.make_dot(x * x)
        >>> "MulBackward0" in picture.source
        True
    """
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict of name: tensor, got {type(params).__name__}")
    if (
        isinstance(max_attr_chars, bool)
        or not isinstance(max_attr_chars, int)
        or max_attr_chars < 1
    ):
        raise ValueError(
            f"max_attr_chars must be a whole number of at least 1, got {max_attr_chars!r}"
        )
    return to_dot(
        traced(var, "var", params),
        show_modules=False,
        show_attrs=show_attrs,
        show_saved=show_saved,
        max_attr_chars=max_attr_chars,
    )


def to_dot(
    source: Any,
    *,
    rankdir: str = "LR",
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
    show_modules: bool = True,
) -> Picture:
    """Return a picture of every operation of `source`: a trace, a recording, or a tensor or tensors of autolab or
    PyTorch.

    Data flows from left to right (rankdir "TB": from top to bottom). `show_modules` draws a frame around what each
    module made; `autolab.viz.draw` draws networks with their modules closed. The rest is as in `make_dot`. Raises
    TypeError for what cannot be drawn.

    In the SVG, the box of node "n3" has the title `n3` and the classes `al-node n3` and its kind, the line of edge
    "e5" the classes `al-edge e5`; a second box of a leaf that is used often has the class `al-alias` and its leaf's id
    as class."""
    trace = traced(source, "source")
    picture = empty_picture(rankdir)
    roots = set(trace.meta.get("roots", ()))
    modules: dict[str, list[Node]] = {}
    for node in trace.nodes:
        modules.setdefault(node.module if show_modules and node.kind == "op" else "", []).append(
            node
        )
    for module, members in modules.items():
        lines = [
            _box(trace, node, node.id in roots, max_attr_chars if show_attrs else 0)
            for node in members
        ]
        picture.body += _cluster(module, lines) if module else lines
    picture.body += _edges(trace)
    if show_saved:
        for saved in trace.saved:
            picture.body += _saved(saved)
    names = ", ".join(trace.node(i).label for i in trace.meta.get("roots", ())[:3])
    picture.boxes = len(trace.nodes) + (len(trace.saved) if show_saved else 0)
    picture.about = f"graph of {names or 'nothing'}, {len(trace.nodes)} nodes"
    return picture


def traced(
    source: Any,
    argument: str,
    params: Mapping[str, Any] | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Trace:
    """Return the trace of anything that can be drawn. Raises TypeError that names the argument for anything else, and
    for names given with something other than tensors."""
    if isinstance(source, Trace | Recording):
        names = [
            name
            for name, value in (("params", params), ("namespace", namespace))
            if value is not None
        ]
        if names:
            raise TypeError(
                f"{', '.join(names)}: only for tensors; this has been traced already and has its own names"
            )
        return source if isinstance(source, Trace) else source.trace()
    graph.tensors(source, argument, ", a recording or a trace")
    return graph.trace(source, params, namespace=namespace, backward=False, formulas=False)


def empty_picture(rankdir: str) -> Picture:
    """Return an empty picture with the style that all pictures share."""
    return Picture(
        "autolab",
        graph_attr={
            "rankdir": rankdir,
            "bgcolor": palette.PAPER,
            "pad": "0.2",
            "ranksep": "0.4",
            "nodesep": "0.25",
        },
        node_attr={
            "shape": "box",
            "style": "rounded,filled",
            "fontname": palette.FONTS,
            "fontsize": "12",
            "margin": "0.14,0.07",
            "fontcolor": palette.INK,
        },
        edge_attr={
            "fontname": palette.FONTS,
            "fontsize": "11",
            "color": palette.FORWARD,
            "arrowsize": "0.7",
        },
    )


def _statement(what: str, attrs: Mapping[str, str]) -> str:
    """Return one line of DOT. It does not use graphviz's own quoting, which is three times slower and matters at
    100,000 operations."""
    return f"\t{what} [{' '.join(f'{k}={_quoted(v)}' for k, v in attrs.items())}]\n"


def _quoted(text: str) -> str:
    """Return a DOT string: quotes and backslashes escaped, each line centred."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _cluster(module: str, lines: list[str]) -> list[str]:
    attrs = {
        "label": module,
        "style": "rounded,dashed",
        "color": palette.DATA,
        "fontname": palette.FONTS,
        "fontsize": "11",
        "class": "al-module",
    }
    return [
        f"\tsubgraph {_quoted('cluster_' + module)} {{\n",
        *(f"\t\t{k}={_quoted(v)}\n" for k, v in attrs.items()),
        *(f"\t{line}" for line in lines),
        "\t}\n",
    ]


def _box(
    trace: Trace, node: Node, is_root: bool, attr_chars: int, name: str = "", extra: str = ""
) -> str:
    colour, width = {"leaf": (palette.LEAF, "2.5"), "data": (palette.DATA, "1")}.get(
        node.kind, (palette.FORWARD, "1.2")
    )
    if node.ran and not node.requires_grad:
        colour, width = palette.DATA, "1"
    fill, style = palette.device_fill("sim" if trace.is_simulated(node.device) else node.device)
    attrs = {
        "label": "\n".join(_lines(trace, node, attr_chars)),
        "color": colour,
        "penwidth": width,
        "fillcolor": fill,
    }
    if style:
        attrs["style"] = style
    if is_root:
        attrs["peripheries"] = "2"
    if _is_bad(node):
        attrs |= {"color": palette.BAD, "penwidth": "2.5", "peripheries": "2"}
    attrs["class"] = f"al-node {node.id} al-{node.kind}{extra}"
    return _statement(_quoted(name) if name else node.id, attrs)


def _lines(trace: Trace, node: Node, attr_chars: int) -> list[str]:
    """Return the text in a node's box: name and operation, shape or value, and its attributes if wanted."""
    lines = [
        node.label if node.kind != "op" else f"{node.name} = {node.op}" if node.name else node.op
    ]
    if node.shape == () and node.value is not None:
        lines += [] if node.value.text == node.label else [node.value.text]
    elif node.shape is not None:
        lines.append(shape_text(node.shape))
    if node.grad_fn:
        lines.append(node.grad_fn)
    if _is_bad(node):
        lines.append("has NaN or infinity")
    if node.cut:
        lines.append(f"✂ cut by {node.cut}")
    if node.device not in ("", "cpu"):
        lines.append(f"{node.device} simulated" if trace.is_simulated(node.device) else node.device)
    if attr_chars:
        lines += [_cut(f"{k}: {attribute_text(v)}", attr_chars) for k, v in node.attrs.items()]
    return lines


def attribute_text(item: Any) -> str:
    """Return an attribute as Python writes it; lists from JSON become tuples."""
    return str(tuple(item)) if isinstance(item, list) else str(item)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def _is_bad(node: Node) -> bool:
    value = node.value
    if value is None:
        return False
    return bool(value.stats and (value.stats["nan"] or value.stats["inf"])) or value.data in (
        "nan",
        "inf",
        "-inf",
    )


UPDATE = {
    "color": f"{palette.LEAF}:{palette.PAPER}:{palette.LEAF}",
    "arrowhead": "normal",
}  # a double line: the same tensor after a change


def _edges(trace: Trace) -> list[str]:
    lines, drawn = [], set()
    for edge in trace.edges:
        parent, tail = trace.node(edge.parent), edge.parent
        if edge.alias:
            tail = f"{edge.parent}@{edge.child}"
            if tail not in drawn:
                drawn.add(tail)
                lines.append(_box(trace, parent, False, 0, tail, " al-alias"))
            tail = _quoted(tail)
        attrs = {"class": f"al-edge {edge.id}"}
        if not edge.differentiable:
            cut = trace.node(edge.child).cut and parent.requires_grad
            attrs |= {"color": palette.DATA, "arrowhead": "tee" if cut else "normal"}
        if edge.update:
            attrs |= UPDATE
        if len(parent.outputs) > 1:
            attrs["label"] = f" {parent.output_label(edge.parent_nr)}"
        lines.append(_statement(f"{tail} -> {edge.child}", attrs))
    return lines


def _saved(saved: Saved) -> list[str]:
    size = "" if saved.shape is None else f"{saved.dtype} {shape_text(saved.shape)}"
    facts = [
        f"version {saved.version}" if saved.version is not None else "",
        f"{saved.bytes} bytes" if saved.bytes is not None else "",
    ]
    number = saved.value.said if saved.value is not None and saved.shape == () else ""
    lines = [
        f"saved {saved.name}{number}",
        size,
        ", ".join(f for f in facts if f),
        "" if saved.state == "alive" else saved.state,
    ]
    attrs = {
        "label": "\n".join(line for line in lines if line),
        "shape": "tab",
        "color": palette.DATA,
        "fontsize": "11",
        "fillcolor": palette.SAVED if saved.state == "alive" else palette.FADED[0],
        "style": "filled" if saved.state == "alive" else "filled,dashed",
    }
    attrs["class"] = f"al-saved {saved.id} {saved.node}"
    line = {"style": "dotted", "color": palette.DATA, "arrowhead": "none", "class": "al-saved-line"}
    return [_statement(saved.id, attrs), _statement(f"{saved.node} -> {saved.id}", line)]
