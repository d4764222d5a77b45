"""Joining and splitting: cat, stack, split, chunk, unbind."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..exact.arguments import int_argument, ints_argument
from ..core.dtype import promote_types
from ..core.errors import fail, type_name
from ..exact.refusals import check_dim, no_dimensions
from .checks import refuse_if
from .functions import NAMESPACES, composite, internal
from ..core.tensor import Tensor
from .indexing import at
from .shape import row_major


# -- joining -----------------------------------------------------------------------------------------------------------
def _cat(xp, tensors, dim):
    solid = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    return row_major(xp, xp.concatenate(solid, axis=dim))


def _cat_rule(m, g, tensors_sym_sizes, dim):
    grads, start, dim = [], 0, dim % len(g.shape)  # `dim` may be negative in a rule
    for shape in tensors_sym_sizes:
        n = 0 if shape == (0,) else shape[dim]
        part = m.slice(g, dim, start, start + n, 1)
        grads.append(m.reshape_raw(part, shape) if shape == (0,) else part)
        start += n
    return grads


_JOINED: dict[str, Any] = {
    "hidden": ("tensors_sym_sizes",),
    "latex": r"[{tensors}]",
    "vjp_latex": {"tensors": r"\mathrm{part}({g})"},
}
cat_op = internal(
    "cat(Tensor[] tensors, int dim=0)",
    forward=_cat,
    vjp={"tensors": _cat_rule},
    samples=lambda s: [([s.randn(2, 3), s.randn(1, 3)], 0)],
    **_JOINED,
)


def _same_dtype(tensors):
    d = functools.reduce(promote_types, [t.dtype for t in tensors])
    return [t.to(d) for t in tensors]


def _listed(tensors, kind, message):
    """Return the tensors to join as a list. Raise `kind(message)` if it is empty."""
    tensors = list(tensors)
    if not tensors:
        raise fail(kind, message, "The list is empty: there is nothing to join.")
    return tensors


@composite()
def cat(tensors, dim=0):
    """Join tensors along an existing dimension; all other sizes must agree. Source: torch.cat."""
    tensors = _listed(tensors, ValueError, "torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            message = f"expected Tensor as element {i} in argument 0, but got {type_name(t)}"
            raise fail(TypeError, message, "Make tensors of them first.")
        message = f"zero-dimensional tensor (at position {i}) cannot be concatenated"
        refuse_if(not t.ndim, message, "Use stack, or unsqueeze it first.")
    # Skip empty 1-d tensors, which match any shape.
    solid = [(i, t.shape) for i, t in enumerate(tensors) if t.shape != (0,)]
    first = solid[0][1] if solid else (0,)
    dim = check_dim(dim, len(first))
    for i, shape in solid:
        message = f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
        note = "torch.cat joins tensors along an existing dimension. To join single numbers use torch.stack."
        refuse_if(len(shape) != len(first), message, note)
        for d, (a, b) in enumerate(zip(first, shape)):
            refuse_if(
                a != b and d != dim,
                f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor "
                f"number {i} in the list.",
                "Only the joined dimension may differ.",
            )
    return cat_op.call(_same_dtype(tensors), dim)


for _name in ("concat", "concatenate"):
    NAMESPACES[""][_name] = cat

stack_op = internal(
    "stack(Tensor[] tensors, int dim=0)",
    forward=lambda xp, tensors, dim: row_major(xp, xp.stack(tensors, dim)),
    vjp={"tensors": lambda m, g, dim: m.unbind(g, dim % len(g.shape))},
    samples=lambda s: [([s.randn(2), s.randn(2)], 0)],
    **_JOINED,
)


@composite()
def stack(tensors, dim=0):
    """Join tensors of equal shape along a new dimension. Source: torch.stack."""
    tensors = _listed(tensors, RuntimeError, "stack expects a non-empty TensorList")
    first = tensors[0].shape
    dim = check_dim(dim, len(first) + 1)
    for i, t in enumerate(tensors):
        if t.shape != first:
            raise fail(
                RuntimeError,
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(t.shape)} at "
                f"entry {i}",
                "All tensors that you stack must have the same shape. torch.cat joins tensors of different sizes.",
            )
    return stack_op.call(_same_dtype(tensors), dim)


@composite()
def vstack(tensors):
    """Join tensors vertically, one below the other. Source: torch.vstack."""
    tensors = _listed(tensors, RuntimeError, "vstack expects a non-empty TensorList")
    return cat([t.reshape(1, -1) if t.ndim < 2 else t for t in tensors], 0)


# -- splitting ---------------------------------------------------------------------------------------------------------
def _sections(xp, self, sizes, dim):
    return tuple(xp.split(self, np.cumsum(sizes)[:-1].tolist(), dim))


def _equal(n, size):
    """Return the sizes of pieces of `n` entries; the last piece may be smaller."""
    full, rest = divmod(n, size or 1)
    return [size] * full + ([rest] if rest or not n else [])


_SPLIT: dict[str, Any] = {
    "variadic": True,
    "view": True,
    "vjp": {"self": lambda m, g, self_sym_sizes, dim: m.cat(list(g), dim)},
    "latex": r"\mathrm{part}({self})",
    "vjp_latex": {"self": r"[{g}]"},
}
split_op = internal(
    "split(Tensor self, int split_size, int dim=0)",
    forward=lambda xp, self, split_size, dim: _sections(
        xp, self, _equal(self.shape[dim], split_size), dim
    ),
    also_saves=("split_size",),
    samples=lambda s: [(s.randn(2, 5), 2, 1)],
    **_SPLIT,
)
split_with_sizes_op = internal(
    "split_with_sizes(Tensor self, int[] split_sizes, int dim=0)",
    forward=_sections,
    also_saves=("split_sizes",),
    samples=lambda s: [(s.randn(5), [2, 3], 0)],
    **_SPLIT,
)

unbind_op = internal(
    "unbind(Tensor self, int dim=0)",
    variadic=True,
    view=True,
    forward=lambda xp, self, dim: tuple(self[(*at(dim, i), ...)] for i in range(self.shape[dim])),
    vjp={"self": lambda m, g, dim: m.stack(list(g), dim)},
    latex=r"\mathrm{entry}({self})",
    vjp_latex={"self": r"[{g}]"},
    samples=lambda s: [(s.randn(2, 3), 1)],
)


def _divided(name, tensor, dim):
    """Return `dim` counted from the front. Raise PyTorch's error for a 0-d tensor."""
    message = f"{name} expects at least a 1-dimensional tensor"
    refuse_if(not tensor._array.ndim, message, "A 0-d tensor is a single number.")
    return check_dim(int_argument(name, "dim", 3, dim), tensor.ndim)


@composite()
def split(tensor, split_size_or_sections, dim=0):
    """Split a tensor into pieces of one size (the last may be smaller) or of given sizes; views. Source:
    torch.split."""
    dim = _divided("split", tensor, dim)
    size = ints_argument("split_with_sizes", "split_sizes", 2, split_size_or_sections)
    n = tensor.shape[dim]
    if isinstance(size, int):
        message = f"split expects split_size be non-negative, but got split_size={size}"
        refuse_if(size < 0, message, "Give a positive size.")
        message = f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        refuse_if(not size and n, message, "Give a positive size.")
        return split_op.call(tensor, size, dim)
    sizes, wrong = list(size), "have only non-negative entries"
    if sum(sizes) != n:
        wrong = f"to sum exactly to {n} (input tensor's size at dimension {dim})"
    refuse_if(
        sum(sizes) != n or min(sizes, default=0) < 0,
        f"split_with_sizes expects split_sizes {wrong}, but got split_sizes={sizes}",
        "Each size counts entries; together the pieces cover the dimension.",
    )
    return split_with_sizes_op.call(tensor, sizes, dim)


@composite("split", method=True, function=False)
def split_method(self, split_size, dim=0):
    """Split this tensor into pieces of `split_size` entries (the last may be shorter), or of the sizes in a list;
    views. Source: torch.Tensor.split."""
    return split(self, split_size, dim)


@composite(method=True)
def chunk(input, chunks, dim=0):
    """Split a tensor into at most `chunks` pieces of equal size; views. Source: torch.chunk."""
    dim = _divided("chunk", input, dim)
    message = f"chunk expects `chunks` to be greater than 0, got: {chunks}"
    refuse_if(chunks <= 0, message, "Pass at least 1.")
    return split_op.call(input, -(-input.shape[dim] // chunks), dim)


@composite(method=True)
def unbind(input, dim=0):
    """Return the entries along a dimension as a tuple of views. Source: torch.unbind."""
    if not input._array.ndim:
        raise no_dimensions(dim)
    d = check_dim(dim, input.ndim)
    return unbind_op.call(input, d) if input.shape[d] else ()
