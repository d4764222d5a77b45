"""Pictures of convolution, pooling and normalisation nodes: small copies of inputs, outputs and gradients.

A trace keeps few numbers of a tensor, but a feature map has thousands. So for these nodes small copies are made during
tracing: the first channels of the first image, with squares of numbers averaged if a map is wide. `Node.layer` holds
them as plain JSON:

    kind    "convolution", "max pooling", "average pooling" or "batch norm"
    names   what x, w, b, y of the card are called in this trace
    card    [[name, sentence, TeX], …], see `cards`
    panels  pictures: `Maps` or `Statistics` as dicts
    missing sentences: what cannot be shown, and why
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .layers import cards, panels
from .guard import attempt
from .layers.panels import KINDS, MOST_ROWS, POOL, View
from .reader import is_tensor

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft
    from .captions.labels import Book

MOST_LAYERS, MOST_RUNS = 64, 3  # limits: pictures in one trace; backward passes shown for one node
FINE_LAYERS, FINE, COARSE = (
    8,
    (8, 32),
    (4, 16),
)  # the first layers get more (channels, numbers along a side)
ARGUMENTS = {"x": ("input", "self"), "w": ("weight",), "b": ("bias",)}


@dataclass
class _Layer:
    """Data collected for one node during tracing; `view` is None if its sizes are not known."""

    op: str
    view: View | None
    panels: list[Any] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    runs: set[int] = field(default_factory=set)


class Pictures:
    """Makes the pictures while `builder` makes the trace, and returns them as JSON at the end (`of`)."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.layers: dict[str, _Layer] = {}
        self._results: dict[str, Any] = {}
        self._fine = self._drawn = 0

    # -- what the builder and the film tell ------------------------------------------------------------------------
    def result(self, draft: Draft, nr: int, tensor: Any) -> None:
        """Note that `tensor` is the result of an operation of an existing graph."""
        if nr == 0 and not self.builder.recording and _op(draft):
            self._results[draft.id] = tensor

    def computed(self, draft: Draft) -> None:
        """Take pictures of the operands of `draft`, which was just computed; in a recording they are still
        unchanged."""
        op = _op(draft)
        if not op or not self.builder.values or draft.id in self.layers:
            return
        sizes = self._sizes(draft, op)
        layer = self.layers[draft.id] = _Layer(op, None if sizes is None else View(sizes, POOL))
        if self._drawn >= MOST_LAYERS:
            layer.missing.append(f"A trace keeps pictures of its first {MOST_LAYERS} such layers.")
            return
        if layer.view is None:
            layer.missing.append("Nothing can be shown: the sizes of this layer are not known.")
            return
        if 0 in layer.view.sizes.x:
            layer.missing.append("There is nothing to show: x is empty.")
            return
        self._drawn += 1
        view = layer.view
        make = (
            self._convolution
            if KINDS[op] == "convolution"
            else self._pooling
            if _pools(op)
            else self._normalisation
        )
        attempt(lambda: make(draft, layer, view), None)

    def arrived(self, node_id: str, grads: tuple[Any, ...], run: int) -> None:
        """Take a picture of the complete gradients of a node's results in backward pass `run`."""
        layer = self.layers.get(node_id)
        if (
            layer is None
            or layer.view is None
            or not layer.panels
            or grads[0] is None
            or len(layer.runs) == MOST_RUNS
        ):
            return
        layer.runs.add(run)
        if "norm" not in KINDS[layer.op]:
            _picture(layer, "y", self._of(grads[0]), run)

    def contribution(self, draft: Draft, slot: int, grad: Any, run: int) -> None:
        """Take a picture of the gradient `grad` that `draft` sent to its operand `slot`."""
        layer = self.layers.get(draft.id)
        if layer is None or run not in layer.runs:
            return
        argument = next((name for i, name in enumerate(draft.operands) if i == slot), "")
        what = next((short for short, names in ARGUMENTS.items() if argument in names), "")
        edge = self.builder.edge_at(draft.id, slot)
        if edge is None or not what:
            return
        if "norm" not in KINDS[layer.op]:
            if what != "b":
                _picture(layer, what, self._of(grad), run, edge.id)
        elif what != "x":
            name = f"gradient of {'γ' if what == 'w' else 'β'}" + (
                f", pass {run}" if run > 1 else ""
            )
            table = layer.panels[-1]  # the table with scale and shift
            table.columns.append(
                panels.column(name, self._of(grad), False, len(table.names), run, edge.id)
            )

    def _of(self, grad: Any) -> np.ndarray:
        return np.asarray(self.builder.reader.array(grad) if is_tensor(grad) else grad)

    # -- where the numbers are -------------------------------------------------------------------------------------
    def _sizes(self, draft: Draft, op: str) -> cards.Sizes | None:
        shapes = {what: self._shape(draft, what) for what in ARGUMENTS}
        if (
            shapes["x"] is None
            or draft.shape is None
            or (op == "convolution" and shapes["w"] is None)
        ):
            return None
        bias = (
            shapes["b"] is not None or sum(draft.attrs.get("bias_sym_sizes_opt") or [0]) > 0
        )  # frozen, and not saved
        return cards.Sizes(
            op, shapes["x"], tuple(draft.shape), shapes["w"], bias, dict(draft.attrs)
        )

    def _shape(self, draft: Draft, what: str) -> tuple[int, ...] | None:
        for name in ARGUMENTS[what]:
            parent, nr = draft.operands.get(name, (None, 0))
            if parent is None:
                continue
            made = self.builder.draft(parent)
            shape = made.outputs[nr].shape if 0 < nr < len(made.outputs) else made.shape
            saved = self._saved(draft, name)
            if shape is None and saved is not None:
                shape = saved.shape
            if shape is not None:
                return tuple(shape)
        return None

    def _saved(self, draft: Draft, name: str) -> Any:
        return next((item for item in self.builder.saved_of(draft.id) if item.name == name), None)

    def _array(self, draft: Draft, name: str) -> np.ndarray | None:
        """Return an operand or saved tensor as an array; None if it is no longer available."""
        builder, saved = self.builder, self._saved(draft, name)
        parent, nr = draft.operands.get(name, (None, 0))
        if parent is not None and nr == 0 and (saved is None or saved.state != "modified"):
            made = builder.draft(parent)
            tensor = made.held()
            if tensor is not None and made.version == builder.reader.version(tensor):
                return np.asarray(builder.reader.array(tensor))
        if saved is None or saved.state != "alive" or saved.shape is None:
            return None
        fn = saved.grad_fn()
        tensor = None if fn is None else getattr(fn, f"_saved_{name}")
        return None if tensor is None else np.asarray(builder.reader.array(tensor))

    def _argument(self, draft: Draft, layer: _Layer, what: str) -> np.ndarray | None:
        """Return x or w; if it is no longer available, note that in `missing`."""
        name = next((n for n in ARGUMENTS[what] if n in draft.operands), ARGUMENTS[what][0])
        array = self._array(draft, name)
        if array is None:
            saved = self._saved(draft, name)
            # A factor of another operand's gradient was saved; if the node no longer reports it, it has been freed.
            factors = [
                (i, n)
                for i, n in enumerate(draft.operands)
                if n != name and n in ARGUMENTS["x"] + ARGUMENTS["w"]
            ]
            edges = [self.builder.edge_at(draft.id, i) for i, _ in factors]
            needed = any(edge is not None and edge.differentiable for edge in edges)
            state = saved.state if saved is not None else "freed" if needed else ""
            why = {
                "freed": "backward() has freed it. Explore before backward(), or record the code",
                "modified": "it was changed in place since",
            }.get(state, "no gradient needs it, so it was not kept")
            layer.missing.append(f"{what} cannot be shown: {why}.")
        return array

    def _result(self, draft: Draft, layer: _Layer) -> np.ndarray | None:
        """Return y; if it is no longer available, note that in `missing`."""
        builder = self.builder
        found = (
            draft.tensor()
            if draft.tensor is not None and builder.recording
            else self._results.get(draft.id)
        )
        if found is not None:
            return self._of(found)
        changed = any(s.source_node == draft.id and s.state == "modified" for s in builder.saved)
        for item in builder.saved_of(draft.id):
            fn = item.grad_fn()
            result = (
                None if fn is None or changed or draft.value is None else builder.reader.result(fn)
            )
            if result is not None:
                return np.asarray(result)
        why = (
            "it was changed in place since"
            if changed
            else "no later gradient needs it, so it was not kept"
        )
        how = (
            ""
            if builder.reader.library == "torch"
            else " Record the code with autolab.record() to see it"
        )
        layer.missing.append(f"y cannot be shown: {why}.{how + '.' if how else ''}")
        return None

    # -- the pictures ----------------------------------------------------------------------------------------------
    def _convolution(self, draft: Draft, layer: _Layer, view: View) -> None:
        self._fine += 1
        view.detail = FINE if self._fine <= FINE_LAYERS else COARSE
        _picture(layer, "w", self._argument(draft, layer, "w"))
        _picture(layer, "x", self._argument(draft, layer, "x"))
        _picture(layer, "y", self._result(draft, layer))

    def _pooling(self, draft: Draft, layer: _Layer, view: View) -> None:
        view.crop = panels.crop_of(view.sizes)
        x = self._argument(draft, layer, "x")
        if x is not None and KINDS[layer.op] == "max pooling":
            view.marks = panels.winners(view.sizes, x, view.crop)
        _picture(layer, "x", x)
        _picture(layer, "y", self._result(draft, layer))

    def _normalisation(self, draft: Draft, layer: _Layer, view: View) -> None:
        training = bool(view.sizes.attrs.get("training", True))
        columns = self._own_statistics(draft, layer, view, training) | {
            "running mean": (self._array(draft, "running_mean"), not training),
            "running variance": (self._array(draft, "running_var"), not training),
            "scale γ": (self._array(draft, "weight"), True),
            "shift β": (self._array(draft, "bias"), True),
        }
        known = {name: pair for name, pair in columns.items() if pair[0] is not None}
        if known:
            layer.panels.append(panels.statistics(view, known))

    def _own_statistics(
        self, draft: Draft, layer: _Layer, view: View, used: bool
    ) -> dict[str, tuple[Any, bool]]:
        """Return mean and variance of x. The operation saves them as mean and 1 / √(variance + eps) if it uses them."""
        mean, inverse = self._array(draft, "result1"), self._array(draft, "result2")
        eps = draft.attrs.get("eps")
        if used and mean is not None and inverse is not None and mean.size and eps is not None:
            wide = np.asarray(inverse, np.float64).ravel()[:MOST_ROWS]
            variance = np.maximum(wide**-2 - eps, 0)
        else:
            x = self._argument(draft, layer, "x")
            if x is None:
                return {}
            rows = panels.rows_of(x)
            mean, variance = rows.mean(1), rows.var(1)
        return {"batch mean": (mean, used), "batch variance": (variance, used)}

    # -- the result ------------------------------------------------------------------------------------------------
    def all(self, book: Book) -> dict[str, dict[str, Any]]:
        """Return `Node.layer` of the operations that have one, by node."""
        return {
            draft.id: found
            for draft in self.builder.nodes
            if (found := attempt(lambda: self._of_layer(draft, book), None)) is not None  # noqa: B023
        }

    def _of_layer(self, draft: Draft, book: Book) -> dict[str, Any] | None:
        """Return `Node.layer` of an operation; None if it has none."""
        op = _op(draft)
        if not op:
            return None
        layer, sizes = self.layers.get(draft.id) or _Layer(op, None), self._sizes(draft, op)
        lines = cards.card(sizes) if sizes is not None and book.wanted else []
        names = [
            f"{what} is {book.label(*draft.operands[name])}"
            for what, arguments in ARGUMENTS.items()
            for name in arguments
            if name in draft.operands and self._shape(draft, what) is not None
        ]
        return {
            "kind": KINDS[op],
            "names": f"{', '.join([*names, f'y is {book.label(draft.id)}'])}.",
            "card": [list(line) for line in lines],
            # copied: CPython 3.13 clears an object's own dict when the object is collected
            "panels": [dict(vars(panel())) for panel in layer.panels],
            "missing": layer.missing,
        }


def _picture(
    layer: _Layer, what: str, array: np.ndarray | None, run: int = 0, edge: str | None = None
) -> None:
    """Add the picture of `array` to a layer, unless there are no numbers or no view. what: "w" for
    kernels, otherwise feature maps."""
    if array is not None and array.size and layer.view is not None:
        make = panels.kernel_maps if what == "w" else panels.feature_maps
        layer.panels.append(make(layer.view, what, array, run, edge))


def _pools(op: str) -> bool:
    return "pooling" in KINDS[op]


def _op(draft: Draft) -> str:
    """Return the operation's name; "" for one without pictures, such as volumes and transposed convolutions."""
    name = getattr(draft.record, "name", "")
    volume = draft.shape is not None and len(draft.shape) > 4
    none = name == "convolution" and (volume or draft.attrs.get("transposed"))
    return name if name in cards.OPS and not none else ""
