"""Joining and splitting: cat, stack, split, chunk, unbind."""

from __future__ import annotations


import numpy as np

from ..exact.arguments import int_argument, ints_argument
from ..core.errors import fail, type_name
from ..exact.refusals import check_dim, no_dimensions
from .functions import METHODS, NAMESPACES, composite, internal
from ..core.tensor import Tensor
from .shape import row_major


# -- joining -----------------------------------------------------------------------------------------------------------
def _cat(xp, tensors, dim):
    return row_major(
        xp, xp.concatenate([t for t in tensors if t.shape != (0,)] or tensors[:1], axis=dim)
    )


def _cat_rule(m, g, tensors_sym_sizes, dim):
    grads, start = [], 0
    for shape in tensors_sym_sizes:
        n = 0 if shape == (0,) else shape[dim]
        grads.append(
            m.reshape_raw(m.narrow_raw(g, dim, start, n), shape)
            if shape == (0,)
            else m.narrow_raw(g, dim, start, n)
        )
        start += n
    return grads


cat_op = internal(
    "cat(Tensor[] tensors, int dim=0)",
    forward=_cat,
    hidden=("tensors_sym_sizes",),
    vjp={"tensors": _cat_rule},
    latex=r"[{tensors}]",
    vjp_latex={"tensors": r"\mathrm{part}({g})"},
    samples=lambda s: [([s.randn(2, 3), s.randn(1, 3)], 0)],
)


def _between(array, dim, start, length):
    """The index of a part along `dim`; rules pass on a dimension as it was given, so -1 may come."""
    return (slice(None),) * (dim % array.ndim) + (slice(start, start + length),)


def _narrow(xp, self, dim, start, length):
    return self[_between(self, dim, start, length)]


narrow_raw = internal(
    "narrow_raw(Tensor self, int dim, int start, int length)",
    forward=_narrow,
    node="SliceBackward0",
    vjp={"self": lambda m, g, self_sym_sizes, dim, start: m.pad_raw(g, self_sym_sizes, dim, start)},
    latex=r"\mathrm{part}({self})",
    vjp_latex={"self": r"\mathrm{pad}({g})"},
    samples=lambda s: [(s.randn(2, 5), 1, 1, 3)],
)


def _pad(xp, self, shape, dim, start):
    out = xp.zeros(shape, self.dtype)
    out[_between(self, dim, start, self.shape[dim])] = self
    return out


pad_raw = internal(
    "pad_raw(Tensor self, int[] shape, int dim, int start)",
    forward=_pad,
    node="SliceBackwardBackward0",
    vjp={
        "self": lambda m, g, self_sym_sizes, dim, start: m.narrow_raw(
            g, dim, start, self_sym_sizes[dim]
        )
    },
    latex=r"\mathrm{pad}({self})",
    vjp_latex={"self": r"\mathrm{part}({g})"},
    samples=lambda s: [(s.randn(2, 2), (2, 5), 1, 1)],
)


def _same_dtype(tensors):
    from ..core.dtype import promote_types

    d = tensors[0].dtype
    for t in tensors[1:]:
        d = promote_types(d, t.dtype)
    return [t.to(d) for t in tensors]


def _nothing_to_join(kind, message):
    return fail(kind, message, "The list is empty: there is nothing to join.")


def stacked_list(function, tensors):
    """The tensors that `hstack` and its kin join. Raises RuntimeError when there are none."""
    tensors = list(tensors)
    if not tensors:
        raise _nothing_to_join(RuntimeError, f"{function} expects a non-empty TensorList")
    return tensors


@composite()
def cat(tensors, dim=0, *, out=None):
    """Joins tensors along an existing dimension; the other sizes must agree. Source: torch.cat."""
    if out is not None:
        from ..exact.refusals import unsupported

        raise unsupported("cat", "out")
    tensors = list(tensors)
    if not tensors:
        raise _nothing_to_join(ValueError, "torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise fail(
                TypeError,
                f"expected Tensor as element {i} in argument 0, but got {type_name(t)}",
                "Make tensors of them first.",
            )
    solid = [t for t in tensors if tuple(t.shape) != (0,)]
    if not solid:  # of no dimension in particular
        return cat_op.call(_same_dtype(tensors), 0)
    for i, t in enumerate(tensors):
        if not t.ndim:
            raise fail(
                RuntimeError,
                f"zero-dimensional tensor (at position {i}) cannot be concatenated",
                "Use stack, or unsqueeze it first.",
            )
    first = solid[0]
    dim = check_dim(dim, first.ndim)
    for i, t in enumerate(tensors):
        if tuple(t.shape) == (0,):
            continue
        if t.ndim != first.ndim:
            raise fail(
                RuntimeError,
                f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}",
                "cat joins along a dimension that all have; stack makes a new one.",
            )
        for d, (a, b) in enumerate(zip(first.shape, t.shape)):
            if a != b and d != dim:
                raise fail(
                    RuntimeError,
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
    hidden=("tensors_sym_sizes",),
    vjp={
        "tensors": lambda m, g, tensors_sym_sizes, dim: [
            m.reshape_raw(m.narrow_raw(g, dim, i, 1), s) for i, s in enumerate(tensors_sym_sizes)
        ]
    },
    latex=r"[{tensors}]",
    vjp_latex={"tensors": r"\mathrm{part}({g})"},
    samples=lambda s: [([s.randn(2), s.randn(2)], 0)],
)


@composite()
def stack(tensors, dim=0, *, out=None):
    """Joins tensors of one shape along a new dimension. Source: torch.stack."""
    if out is not None:
        from ..exact.refusals import unsupported

        raise unsupported("stack", "out")
    tensors = list(tensors)
    if not tensors:
        raise fail(
            RuntimeError, "stack expects a non-empty TensorList", "There is nothing to join."
        )
    if isinstance(tensors[0], Tensor):
        check_dim(dim, tensors[0].ndim + 1)
    for i, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise fail(
                RuntimeError,
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and {list(t.shape)} at "
                f"entry {i}",
                "Stacked tensors have one shape; the new dimension counts them.",
            )
    return stack_op.call(_same_dtype(tensors), check_dim(dim, tensors[0].ndim + 1))


@composite()
def hstack(tensors):
    """Joins side by side: along dimension 1, for vectors along 0. Source: torch.hstack."""
    tensors = [t.reshape(1) if not t.ndim else t for t in stacked_list("hstack", tensors)]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@composite()
def vstack(tensors):
    """Joins one below the other. Source: torch.vstack."""
    return cat([t.reshape(1, -1) if t.ndim < 2 else t for t in stacked_list("vstack", tensors)], 0)


# -- splitting ---------------------------------------------------------------------------------------------------------
def _split_rule(m, g, self_sym_sizes, dim):
    return m.cat(list(g), dim)


def _sections(xp, self, sizes, dim):
    edges = np.cumsum(sizes)[:-1].tolist()
    return tuple(xp.split(self, edges, dim))


split_op = internal(
    "split(Tensor self, int split_size, int dim=0)",
    variadic=True,
    view=True,
    vjp={"self": _split_rule},
    forward=lambda xp, self, split_size, dim: _sections(
        xp, self, _equal(self.shape[dim], split_size), dim
    ),
    also_saves=("split_size",),
    latex=r"\mathrm{part}({self})",
    vjp_latex={"self": r"[{g}]"},
    samples=lambda s: [(s.randn(5), 2, 0), (s.randn(2, 4), 2, 1)],
)
split_with_sizes_op = internal(
    "split_with_sizes(Tensor self, int[] split_sizes, int dim=0)",
    variadic=True,
    view=True,
    vjp={"self": _split_rule},
    forward=lambda xp, self, split_sizes, dim: _sections(xp, self, split_sizes, dim),
    also_saves=("split_sizes",),
    latex=r"\mathrm{part}({self})",
    vjp_latex={"self": r"[{g}]"},
    samples=lambda s: [(s.randn(5), [2, 3], 0)],
)
unbind_op = internal(
    "unbind(Tensor self, int dim=0)",
    variadic=True,
    view=True,
    forward=lambda xp, self, dim: tuple(
        self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim])
    ),
    vjp={"self": lambda m, g, dim: m.stack(list(g), dim)},
    latex=r"\mathrm{entry}({self})",
    vjp_latex={"self": r"[{g}]"},
    samples=lambda s: [(s.randn(2, 3), 0), (s.randn(2, 3), 1)],
)


def _equal(n, size):
    return [size] * (n // size) + ([n % size] if n % size or not n else []) if size else [0]


@composite(method=True)
def split(tensor, split_size_or_sections, dim=0):
    """Pieces of a given size (the last may be smaller), or of given sizes; views. Source: torch.split."""
    if not tensor._array.ndim:
        raise fail(
            RuntimeError,
            "split expects at least a 1-dimensional tensor",
            "A 0-d tensor is a single number.",
        )
    dim = check_dim(int_argument("split", "dim", 3, dim), tensor.ndim)
    split_size_or_sections = ints_argument(
        "split_with_sizes", "split_sizes", 2, split_size_or_sections
    )
    if isinstance(split_size_or_sections, int):
        if not split_size_or_sections and tensor.shape[dim]:
            message = f"split_size can only be 0 if dimension size is 0, but got dimension size of {tensor.shape[dim]}"
            raise fail(RuntimeError, message, "Give a positive size.")
        if split_size_or_sections < 0:
            raise fail(
                RuntimeError,
                f"split expects split_size be non-negative, but got split_size={split_size_or_sections}",
                "Give a positive size.",
            )
        return split_op.call(tensor, split_size_or_sections, dim)
    sizes = list(split_size_or_sections)
    if min(sizes, default=0) < 0 and sum(sizes) == tensor.shape[dim]:
        message = f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        raise fail(RuntimeError, message, "Each size counts entries.")
    if sum(sizes) != tensor.shape[dim]:
        raise fail(
            RuntimeError,
            f"split_with_sizes expects split_sizes to sum exactly to {tensor.shape[dim]} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={sizes}",
            "The pieces cover the dimension exactly.",
        )
    return split_with_sizes_op.call(tensor, sizes, dim)


def _split(self, split_size, dim=0):
    """Pieces of `split_size` entries each (the last may be shorter), or of the sizes in a list; views. Source:
    torch.Tensor.split."""
    return split(self, split_size, dim)


def _split_with_sizes(self, split_sizes, dim=0):
    """Pieces of the sizes in the list, which cover the dimension; views. Source: torch.Tensor.split_with_sizes."""
    return split(self, split_sizes, dim)


METHODS["split"], METHODS["split_with_sizes"] = _split, _split_with_sizes


@composite(method=True)
def chunk(input, chunks, dim=0):
    """At most `chunks` pieces of equal size; views. Source: torch.chunk."""
    if not input._array.ndim:
        raise fail(
            RuntimeError,
            "chunk expects at least a 1-dimensional tensor",
            "A 0-d tensor is a single number.",
        )
    if chunks <= 0:
        raise fail(
            RuntimeError,
            f"chunk expects `chunks` to be greater than 0, got: {chunks}",
            "Ask for one piece at least.",
        )
    dim = check_dim(dim, input.ndim)
    if not input.shape[dim]:  # as many empty pieces as were asked for
        return split_with_sizes_op.call(input, (0,) * chunks, dim)
    return split_op.call(input, -(-input.shape[dim] // chunks), dim)


@composite(method=True)
def unbind(input, dim=0):
    """The entries along a dimension as a tuple of views. Source: torch.unbind."""
    if not input._array.ndim:
        raise no_dimensions(dim)
    d = check_dim(dim, input.ndim)
    return unbind_op.call(input, d) if input.shape[d] else ()


def _places(given):
    """The tensor of `tensor_split` as a number of sections, or as a list of places."""
    what = "tensor_split expected tensor_indices_or_sections to"
    if given.dtype.name != "int64":
        raise fail(
            RuntimeError,
            f"{what} have dtype of long, but got {given.dtype.short}",
            "Places are whole numbers: call .long().",
        )
    if given.ndim > 1:
        message = f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with {given.ndim} dims"
        raise fail(
            RuntimeError, message, "One number asks for so many pieces, a list says where to cut."
        )
    return given.tolist()
