"""Functions of two operands, one of which may be a number: torch has an overload, and a node, for each case.

`exact/signatures.py` has already checked that the arguments are tensors or numbers."""

from __future__ import annotations

from ..core.dtype import NUMBERS
from .functions import METHODS, composite
from ..core.tensor import Tensor
from ..exact.arguments import mismatch
from ..inplace.changes import apply_inplace


def overloaded(name, of_tensors, of_number, number_first=None, *, doc, namespace="", inplace=True):
    """Make `name(input, other)` public. It runs `of_tensors`; `of_number` if the second operand is a number;
    `number_first` if the first one is.

    inplace: whether to make `x.<name>_(other)` public, too. Return the function."""

    def chosen(input, other):
        if isinstance(input, Tensor):
            return of_tensors if isinstance(other, Tensor) else of_number
        if number_first is None or not isinstance(other, Tensor):
            raise mismatch()
        return number_first

    def call(input, other):
        return chosen(input, other).call(input, other)

    def in_place(self, other):
        return apply_inplace(chosen(self, other), (self, other))

    call.__doc__ = f"{doc} Source: torch.{namespace and namespace + '.'}{name}."
    if inplace:
        in_place.__doc__ = f"Apply `{name}` in place. Source: torch.Tensor.{name}_."
        composite(f"{name}_", method=True, function=False)(in_place)
    return composite(name, namespace=namespace, method=not namespace)(call)


_OPERANDS = (Tensor, *NUMBERS)


def operators(**methods):
    """Make `methods` the Tensor methods `__<name>__` for tensors and numbers; return NotImplemented for other
    operands."""
    for name, run in methods.items():

        def method(self, other, run=run):
            return run(self, other) if isinstance(other, _OPERANDS) else NotImplemented

        method.__name__ = f"__{name}__"
        METHODS[f"__{name}__"] = method
