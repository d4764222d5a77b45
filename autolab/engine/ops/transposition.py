"""The order of dimensions: permute, transpose, t, movedim, and the properties T and mT. All return views."""

from __future__ import annotations

import warnings

from ..core.errors import fail
from ..exact.refusals import check_dim, check_dims
from .checks import refuse_if
from .functions import METHODS, NAMESPACES, composite, internal, register
from .shape import by_sizes


_EACH = "Name every dimension once, in the new order."


def _permute(xp, self, dims):
    if len(dims) != self.ndim:
        message = (
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
        raise fail(RuntimeError, message, _EACH)
    dims = [check_dim(d, self.ndim) for d in dims]
    refuse_if(len(set(dims)) != len(dims), "permute(): duplicate dims are not allowed.", _EACH)
    return self.transpose(dims) if dims else self[...]


def inverse(dims):
    """Return the permutation that undoes `dims`."""
    order = [d % len(dims) for d in dims]
    return tuple(map(order.index, range(len(dims))))


permute_op = internal(
    "permute(Tensor self, int[] dims)",
    forward=_permute,
    view=True,
    vjp={"self": lambda m, g, dims: m.permute(g, inverse(dims))},
    latex=r"\mathrm{permute}({self})",
    vjp_latex={"self": r"\mathrm{permute}^{-1}({g})"},
    samples=lambda s: [(s.randn(2, 3, 4), (2, 0, 1))],
)


def _swapped(xp, self, dim0, dim1):
    dims = check_dim(dim0, self.ndim), check_dim(dim1, self.ndim)
    return xp.swapaxes(self, *dims) if self.ndim else self[...]


transpose = register(
    "transpose(Tensor self, int dim0, int dim1)",
    view=True,
    forward=_swapped,
    vjp={"self": lambda m, g, dim0, dim1: m.transpose(g, dim0, dim1)},
    latex=r"{self}^{T}",
    vjp_latex={"self": r"{g}^{T}"},
    samples=lambda s: [(s.randn(2, 3), 0, 1), (s.randn(2, 3, 4), -1, 0)],
    doc="Swap two dimensions; a view. Source: torch.transpose",
)


def _t(xp, self):
    if self.ndim > 2:
        message = f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D"
        raise fail(RuntimeError, message, "Use transpose(dim0, dim1) or .mT.")
    return self.transpose()


t_op = register(
    "t(Tensor self)",
    forward=_t,
    view=True,
    vjp={"self": lambda m, g: m.t(g)},
    latex=r"{self}^{T}",
    vjp_latex={"self": r"{g}^{T}"},
    samples=lambda s: [s.randn(2, 3)],
    doc="Return the transpose of a matrix; a view. Source: torch.t",
)


by_sizes("permute", permute_op, "Return the dimensions in another order; a view.")


for _name in ("swapaxes", "swapdims"):
    METHODS[_name] = NAMESPACES[""][_name] = METHODS["transpose"]


def T(self):
    """Return the tensor with all dimensions reversed; for a matrix, its transpose. Source: torch.Tensor.T."""
    if self.ndim != 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
            "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return permute_op.call(self, tuple(range(self.ndim - 1, -1, -1)))


def mT(self):
    """Return the tensor with the last two dimensions swapped. Source: torch.Tensor.mT."""
    refuse_if(
        self.ndim < 2,
        f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.",
        "A vector has no transpose; use unsqueeze to make a row or a column of it.",
    )
    return transpose.call(self, -2, -1)


METHODS["T"], METHODS["mT"] = property(T), property(mT)


@composite(method=True)
def movedim(input, source, destination):
    """Move dimensions to other positions; a view. Source: torch.movedim."""
    source, destination = (check_dims(dims, input.ndim) for dims in (source, destination))
    refuse_if(
        len(source) != len(destination),
        f"movedim: Invalid source or destination dims: {len(source)} dims cannot go to {len(destination)} places",
        "Each moved dimension needs a place.",
    )
    order = [i for i in range(input.ndim) if i not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return permute_op.call(input, tuple(order))


METHODS["moveaxis"] = NAMESPACES[""]["moveaxis"] = movedim
