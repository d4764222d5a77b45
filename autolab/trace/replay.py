"""Run operations of a trace again from the numbers in the trace, and differentiate them by the engine's own rules."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.autograd.modes import enable_grad, no_grad
from ..engine.core import differentiate, observe
from ..engine.core.record import OPS
from ..engine.core.tensor import Tensor, wrap
from .model import Edge, Node, Trace
from .reader import is_tensor
from .values import Value


class Unknown(Exception):
    """An operation cannot be run again. The message is the reason, worded to follow the operation's name."""


def array_of(value: Value | None) -> np.ndarray | None:
    """Return the numbers of a value; None if it does not store all of them, or NumPy lacks the type (bfloat16)."""
    if (
        value is None
        or value.data is None
        or value.dtype == "bfloat16"
        or value.dtype.startswith("complex")
    ):
        return None
    return np.array(_numbers(value.data), dtype=value.dtype).reshape(value.shape)


def _numbers(data: Any) -> Any:
    return (
        [_numbers(item) for item in data]
        if isinstance(data, list)
        else float(data)
        if isinstance(data, str)
        else data
    )


class Again:
    """Runs single operations of a trace again.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> trace = torch.trace.trace(x * x)
    >>> again = Again(trace)
    >>> again.result("n1", [np.float32(4), np.float32(4)]).item()
    16.0
    >>> [again.local(edge).item() for edge in trace.edges]
    [3.0, 3.0]
    """

    def __init__(self, trace: Trace):
        self.trace = trace
        self.into: dict[str, list[Edge]] = {}
        for edge in trace.edges:
            self.into.setdefault(edge.child, []).append(edge)
        for edges in self.into.values():
            edges.sort(key=lambda edge: edge.slot)
        self._known: dict[str, Any] = {}

    def edge(self, edge_id: str) -> Edge:
        """Return the edge with that id."""
        return self.trace.edges[int(edge_id[1:])]

    def versions(self, node_id: str) -> list[tuple[str, str]]:
        """Return the nodes of the same leaf before and after a change: ("before" or "after", id)."""
        was = {edge.child: edge.parent for edge in self.trace.edges if edge.update}
        became = {parent: child for child, parent in was.items()}
        found = []
        for when, way in (("before", was), ("after", became)):
            other = way.get(node_id)
            while (
                other is not None and self.trace.node(other).kind == "update"
            ):  # a step between two states of a leaf
                other = way.get(other)
            if other is not None:
                found.append((when, other))
        return found

    def value(self, node_id: str, nr: int = 0) -> np.ndarray | None:
        """Return the recorded numbers of a node's result; None if not all are known."""
        node = self.trace.node(node_id)
        return array_of(node.outputs[nr].value if 0 < nr < len(node.outputs) else node.value)

    def operands(self, node_id: str) -> list[np.ndarray]:
        """Return the operands of an operation, by slot. Raises Unknown if the trace does not store them."""
        found = [self.value(edge.parent, edge.parent_nr) for edge in self.into.get(node_id, [])]
        if any(item is None for item in found):
            raise Unknown("what it was computed from is not kept in full")
        return found  # type: ignore[return-value]

    def result(self, node_id: str, operands: Sequence[Any]) -> np.ndarray:
        """Return the result of an operation for these operands. Raises Unknown."""
        with observe.unwatched(), np.errstate(all="ignore"), no_grad():
            return np.array(self._run(node_id, [_tensor(item) for item in operands])._array)

    def local(self, edge: Edge) -> np.ndarray:
        """Return the derivative of an edge's child with respect to its parent: an array of the child's shape followed
        by the parent's.

        Raises Unknown if the operation cannot be run again or no gradient flows along the edge.
        """
        slot = next(i for i, other in enumerate(self.into[edge.child]) if other.id == edge.id)
        return self.jacobian(edge.child, slot, self.operands(edge.child))

    def jacobian(self, node_id: str, slot: int, operands: Sequence[Any]) -> np.ndarray:
        """Return the derivative with respect to the operand at `slot`, at these operands."""
        with observe.unwatched(), np.errstate(all="ignore"), enable_grad():
            tensors = [_tensor(item) for item in operands]
            asked = tensors[slot]
            if np.asarray(asked._array).dtype.kind != "f":
                raise Unknown("no gradient flows to whole numbers")
            asked._req = True
            result = self._run(node_id, tensors)
            if result.grad_fn is None:
                raise Unknown("no gradient flows to this operand")
            rows = []
            for place in np.ndindex(*result.shape):
                seed = np.zeros(result.shape, np.asarray(result._array).dtype)
                seed[place] = 1
                (grad,) = differentiate.grad([result], [asked], [_tensor(seed)], retain_graph=True)
                rows.append(np.array(grad._array))  # type: ignore[union-attr]
            return np.array(rows).reshape((*result.shape, *asked.shape))

    def _run(self, node_id: str, tensors: list[Tensor]) -> Tensor:
        """Run the operation of a node on these operands. Raises `Unknown` if it cannot be run again."""
        node = self.trace.node(node_id)
        if node.op == "detach":
            return wrap(np.array(tensors[0]._array)[()])
        if node_id not in self._known:
            self._known[node_id] = self._find(node)
        record = self._known[node_id]
        if isinstance(record, str):
            raise Unknown(record)
        return _first(_named(record, node, self.into.get(node_id, []), tensors))

    def _find(self, node: Node) -> Any:
        """Return the record that gives the recorded result for the recorded operands, or the reason why there is
        none."""
        if node.kind != "op" or node.error:
            return "nothing was computed there" if node.error else "no operation made it"
        candidates = _by_node().get(node.grad_fn, []) or [
            op for op in [OPS.get(node.op.rstrip("_"))] if op
        ]
        why, recorded = (
            f"what {node.grad_fn or node.op} computes is not known here",
            self.value(node.id),
        )
        for record in candidates:
            if is_random(record):
                return "it was drawn at random"
            try:
                tensors = [_tensor(item) for item in self.operands(node.id)]
                found = _first(_named(record, node, self.into.get(node.id, []), tensors))
            except Unknown as unknown:
                why = str(unknown)
                continue
            except Exception as error:  # any error of this rerun must not reach the learner
                why = f"running it again fails with {type(error).__name__}"
                continue
            if recorded is None or _same(np.asarray(found._array), recorded):
                return record
            why = "running it again gives other numbers: something that it depends on is not kept"
        return why


@functools.cache
def _by_node() -> dict[str, list[Any]]:
    """Return the records by the name of their nodes; several operations may share one name."""
    found: dict[str, list[Any]] = {}
    for op in OPS.values():
        found.setdefault(op.node, []).append(op)
    return found


def _tensor(item: Any) -> Tensor:
    return wrap(np.array(item)[()] if np.ndim(item) == 0 else np.array(item))


def _first(results: Any) -> Tensor:
    return results[0] if isinstance(results, (tuple, list)) else results


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True))


def _named(record: Any, node: Node, edges: list[Edge], tensors: list[Tensor]) -> Any:
    """Return the operation for these tensors; its other arguments are taken from the node."""
    first = [record.params[i] for i, _, _ in record.rules]
    names = [
        *first,
        *(p for i, p in enumerate(record.params) if p not in first and i in record.tensors),
    ]
    given: dict[str, Any] = {}
    for edge, tensor in zip(edges, tensors):
        name = names[edge.slot] if edge.slot < len(names) else names[-1] if names else ""
        if record.lists and (
            name in record.lists or name == names[-1] and name in given or name in given
        ):
            name = next(n for n in names if n in record.lists)
        if name in record.lists:
            given.setdefault(name, []).append(tensor)
        elif not name or name in given:
            raise Unknown("its operands are not known by name")
        else:
            given[name] = tensor
    kind = node.dtype if node.dtype.startswith("float") else ""
    for (
        name
    ) in record.operands:  # operands of a type promotion: a literal number takes the result's type
        item: Any = given.get(name)
        if (
            kind
            and is_tensor(item)
            and item.shape == ()
            and str(np.asarray(item._array).dtype) != kind
            and not item._req
        ):
            given[name] = wrap(np.asarray(item._array).astype(kind)[()])
    return called(record, node, given)


def is_random(record: Any) -> bool:
    """Return whether an operation draws random numbers."""
    return any("generator" in name for name in record.params)


def called(record: Any, made: Any, given: dict[str, Any]) -> Any:
    """Run an operation again with the tensors and arguments in `given`, and its node `made` for all others. Raises
    Unknown."""
    return record.call(*(_argument(record, made, name, given) for name in record.params))


def _argument(record: Any, made: Any, name: str, given: dict[str, Any]) -> Any:
    if name in given:
        return given[name]
    if name in made.attrs and name != "dtype":
        item = made.attrs[name]
        if item in ("nan", "inf", "-inf"):  # the JSON form of these numbers
            return float(item)
        return tuple(item) if isinstance(item, list) else item
    if name in ("size", "output_size") and made.shape is not None:
        return made.shape if name == "size" else made.shape[-2:]
    for known in (record.defaults, record.constants):
        if name in known:
            return known[name]
    raise Unknown(f"its argument {name} is not kept")
