"""What a node keeps of an operation's arguments and results so that backward can use them.

An argument is kept as (Tensor, version), a result as (array, storage, version): the Tensor itself would hold the node
that holds it. By the version backward notices that a tensor was changed in place in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .record import Op
from .tensor import Tensor


def save(op: Op, args: Sequence[Any], outs: Sequence[Tensor], edges: Sequence[Any]) -> list[Any]:
    """Return what a node of `op` keeps: one entry (see `Node.entries`) for each name that its rules read.

    edges: per rule the node that its gradient goes to, or None. Only what some gradient will need is kept; None stands
    for the rest.

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
    """Return an argument as a node keeps it: a Tensor with its version, each Tensor of a list so, a number alone."""
    if a.__class__ in (list, tuple):
        return tuple([_with_version(item) for item in a])
    if not isinstance(a, Tensor):
        return a
    return a, a._storage.version


def _fact(fact: Callable[[Any], Any], a: Any) -> Any:
    """Return `fact` of an argument, or of each in a list."""
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
"""What a rule may read of an argument besides its numbers: `self_sym_sizes` is the shape of self."""


def opened(node: Any, item: Any, traced: bool) -> Any:
    """Return a tensor that `node` saved: the Tensor if `traced`, else its array. Raise PyTorch's error if it was
    changed in place since.

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
    """A saved tensor in the form in which hooks on saved tensors keep it (`autograd/packing.py`).

    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = torch.tensor([1., 2.], requires_grad=True).exp()
    >>> [isinstance(entry, PackedTensor) for entry in y.grad_fn.entries()]
    [True]
    """

    __slots__ = ()

    def tensor(self, node: Any = None, traced: bool = True) -> Tensor:
        """Return the tensor again, `traced` with the history that it had."""
        raise NotImplementedError


GONE = ("a saved tensor that backward freed",)


class Freed(list[Any]):
    """The entries of a node after a backward pass: numbers and sizes are still there; `GONE` stands for each tensor.

    >>> y = torch.tensor([1., 2.], requires_grad=True).softmax(0)
    >>> y.sum().backward()
    >>> y.grad_fn.op.saves, y.grad_fn.entries() == [GONE, 0]
    (('result', 'dim'), True)
    """
