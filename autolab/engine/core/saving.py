"""Saved tensors: the arguments and results of an operation that its node keeps for backward.

An argument is saved as (Tensor, version). A result is saved as (array, storage, version), because the Tensor would hold
the node that holds it. Backward compares versions to detect in-place changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .record import Op
from .tensor import Tensor


def save(op: Op, args: Sequence[Any], outs: Sequence[Tensor], edges: Sequence[Any]) -> list[Any]:
    """Return the values that a node of `op` saves: one entry (see `Node.entries`) for each name that its rules read.

    edges: for each rule, the node that receives its gradient, or None. An entry that no gradient needs is None.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> node = (x * 2).grad_fn
    >>> node.op.saves, save(node.op, (x, 2), (), node.inputs)  # x is for the gradient of 2, which nobody wants
    (('other', 'self'), [2, None])
    """
    entries: list[Any] = []
    for kind, index, readers in zip(op.save_kinds, op.save_index, op.needed_by):
        always = readers is None or op.spread or len(op.rules) == 1
        if not always and all(edges[rule] is None for rule in readers or ()):
            entries.append(None)
        elif kind == "output":
            o = outs[index]
            entries.append((o._array, o._storage, o._storage.version))
        elif kind == "attr":
            entries.append(args[index])
        elif kind == "input":
            entries.append(_with_version(args[index]))
        else:
            entries.append(_fact(FACTS[kind.partition(":")[2]], args[index]))
    return entries


def _with_version(a: Any) -> Any:
    """Return an argument as a node saves it: a Tensor with its version (also inside a list), a number alone."""
    if a.__class__ in (list, tuple):
        return tuple([_with_version(item) for item in a])
    if not isinstance(a, Tensor):
        return a
    return a, a._storage.version


def _fact(fact: Callable[[Any], Any], a: Any) -> Any:
    """Return `fact` of an argument, or of each element of a list."""
    return tuple(_fact(fact, x) for x in a) if a.__class__ in (list, tuple) else fact(a)


FACTS: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda a: a._array.shape,
    "sizes_opt": lambda a: (0,) if a is None else a._array.shape,
    "numel": lambda a: int(a._array.size),
    "strides": lambda a: tuple(a.stride()),
    "argsize_0": lambda a: a._array.shape[0],
    "argsize_minus_1": lambda a: a._array.shape[-1],
    "argsize_minus_2": lambda a: a._array.shape[-2],
}
"""The properties of an argument that a rule may read: `self_sym_sizes` is the shape of self."""


def opened(node: Any, item: Any, traced: bool) -> Any:
    """Return a tensor that `node` saved: the Tensor if `traced`, else its array. Raise PyTorch's error if it was
    changed in place since then.

    >>> opened(None, (torch.tensor([1., 2.]), 0), traced=False)
    array([1., 2.], dtype=float32)
    """
    if item.__class__ is tuple:
        item, version = item
        if item._storage.version != version:
            raise node._stale(
                item._storage, version, item._array.shape, item._array.dtype, item.grad_fn
            )
    elif isinstance(item, PackedTensor):
        item = item.tensor(node, traced)
    return item if traced else getattr(item, "_array", item)


class PackedTensor:
    """A saved tensor after hooks have packed it (`autograd/packing.py`).

    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = torch.tensor([1., 2.], requires_grad=True).exp()
    >>> [isinstance(entry, PackedTensor) for entry in y.grad_fn.entries()]
    [True]
    """

    __slots__ = ()

    def tensor(self, node: Any = None, traced: bool = True) -> Tensor:
        """Return the original tensor; with `traced`, it has its history."""
        raise NotImplementedError


GONE = ("a saved tensor that backward freed",)


class Freed(list[Any]):
    """The entries of a node after a backward pass. Numbers and sizes remain; `GONE` replaces each tensor.

    >>> y = torch.tensor([1., 2.], requires_grad=True).softmax(0)
    >>> y.sum().backward()
    >>> y.grad_fn.op.saves, y.grad_fn.entries() == [GONE, 0]
    (('result', 'dim'), True)
    """
