"""The order of dimensions: permute, transpose, t, movedim, and the properties T, mT, H, mH. Views; no values are
computed."""

from __future__ import annotations

import warnings

from ..core.errors import fail
from ..exact.refusals import check_dim
from .functions import METHODS, NAMESPACES, composite, internal, register
from .shape import sizes_from


def _permute(xp, self, dims):
    if len(dims) != self.ndim:
        raise fail(
            RuntimeError,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}",
            "Name every dimension once, in the new order.",
        )
    dims = [check_dim(d, self.ndim) for d in dims]
    if len(set(dims)) != len(dims):
        raise fail(
            RuntimeError,
            "permute(): duplicate dims are not allowed.",
            "Name every dimension once, in the new order.",
        )
    return self.transpose(dims) if dims else self[...]


def inverse(dims):
    """The permutation that undoes `dims`."""
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d % len(dims)] = i
    return tuple(back)


permute_op = internal(
    "permute(Tensor self, int[] dims)",
    forward=_permute,
    view=True,
    vjp={"self": lambda m, g, dims: m.permute(g, inverse(dims))},
    latex=r"\mathrm{permute}({self})",
    vjp_latex={"self": r"\mathrm{permute}^{-1}({g})"},
    samples=lambda s: [(s.randn(2, 3, 4), (2, 0, 1))],
)
transpose = register(
    "transpose(Tensor self, int dim0, int dim1)",
    view=True,
    inplace=False,
    forward=lambda xp, self, dim0, dim1: (
        xp.swapaxes(self, *dims)
        if (dims := (check_dim(dim0, self.ndim), check_dim(dim1, self.ndim))) and self.ndim
        else self[...]
    ),
    vjp={"self": lambda m, g, dim0, dim1: m.transpose(g, dim0, dim1)},
    latex=r"{self}^{T}",
    vjp_latex={"self": r"{g}^{T}"},
    samples=lambda s: [(s.randn(2, 3), 0, 1), (s.randn(2, 3, 4), -1, 0)],
    doc="Swaps two dimensions; a view. Source: torch.transpose",
)


def _t(xp, self):
    if self.ndim > 2:
        raise fail(
            RuntimeError,
            f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D",
            "Use transpose(dim0, dim1) or .mT.",
        )
    return self.transpose()


t_op = register(
    "t(Tensor self)",
    forward=_t,
    view=True,
    vjp={"self": lambda m, g: m.t(g)},
    latex=r"{self}^{T}",
    vjp_latex={"self": r"{g}^{T}"},
    samples=lambda s: [s.randn(2, 3)],
    doc="Transpose of a matrix; a view. Source: torch.t",
)


@composite(method=True, function=False, name="permute")
def permute_method(self, *dims, **named):
    """Dimensions in another order; a view. Source: torch.permute."""
    return permute_op.call(self, sizes_from(dims, "permute", named))


@composite()
def permute(input, dims):
    """Dimensions in another order; a view. Source: torch.permute."""
    return permute_op.call(input, tuple(dims))


for _name in ("swapaxes", "swapdims"):
    METHODS[_name] = NAMESPACES[""][_name] = METHODS["transpose"]


def _only_a_number(name, instead):
    """PyTorch's warning for the transpose of a 0-d tensor, which is the tensor itself."""
    warnings.warn(
        f"Tensor.{name} is deprecated on 0-D tensors. {instead}", UserWarning, stacklevel=3
    )


_IDENTITY = "This function is the identity in these cases."
_CONJ = "Consider using x.conj()."


def T(self):
    """All dimensions reversed; for a matrix its transpose. Source: torch.Tensor.T."""
    if not self.ndim:
        _only_a_number("T", _IDENTITY)
    elif self.ndim != 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
            "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return permute_op.call(self, tuple(range(self.ndim - 1, -1, -1)))


def _matrices_transposed(self, name):
    if self.ndim < 2:
        raise fail(
            RuntimeError,
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.",
            "A vector has no transpose; use unsqueeze to make a row or a column of it.",
        )
    return transpose.call(self, -2, -1)


def mT(self):
    """The last two dimensions swapped. Source: torch.Tensor.mT."""
    if not self.ndim:
        _only_a_number("mT", _IDENTITY)
        return self
    return _matrices_transposed(self, "mT")


def _real(self, name):
    if self.dtype.is_complex:
        raise fail(
            NotImplementedError,
            f"tensor.{name} of complex numbers is not supported by autolab",
            "Conjugated views are not here; for real numbers the adjoint is the transpose.",
        )


def mH(self):
    """The adjoint of matrices: for real numbers the transpose. Source: torch.Tensor.mH."""
    _real(self, "mH")
    if not self.ndim:
        _only_a_number("mH", _CONJ)
        return self
    return _matrices_transposed(self, "mH")


def H(self):
    """The adjoint of a matrix: for real numbers the transpose. Source: torch.Tensor.H."""
    _real(self, "H")
    if not self.ndim:
        _only_a_number("H", _CONJ)
        return self
    if self.ndim != 2:
        batches = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise fail(
            RuntimeError,
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{batches}",
            "A vector has no transpose; use unsqueeze to make a row or a column of it.",
        )
    return transpose.call(self, 0, 1)


@composite(method=True)
def adjoint(input):
    """The last two dimensions swapped: `mH`. Raises RuntimeError for a vector. Source: torch.adjoint."""
    _real(input, "adjoint()")
    if not input.ndim:
        warnings.warn(f"adjoint() is deprecated on 0-D tensors. {_CONJ}", UserWarning, stacklevel=3)
        return input
    return _matrices_transposed(input, "adjoint()")


for _property in (T, mT, H, mH):
    METHODS[_property.__name__] = property(_property)


def _moved(ndim, source, destination):
    source = [check_dim(s, ndim) for s in ((source,) if isinstance(source, int) else source)]
    destination = [
        check_dim(d, ndim)
        for d in ((destination,) if isinstance(destination, int) else destination)
    ]
    if len(source) != len(destination):
        raise fail(
            RuntimeError,
            f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of dims as "
            f"destination ({destination} dims)",
            "Each moved dimension needs a place.",
        )
    order = [None] * ndim
    if not ndim:  # dimension 0 of a 0-d tensor is none
        return ()
    for s, d in zip(source, destination):
        order[d] = s
    rest = iter(i for i in range(ndim) if i not in source)
    return tuple(next(rest) if o is None else o for o in order)


@composite(method=True)
def movedim(input, source, destination):
    """Moves dimensions to other places; a view. Source: torch.movedim."""
    order = _moved(input.ndim, source, destination)
    return permute_op.call(input, order) if order else METHODS["alias"](input)


METHODS["moveaxis"] = NAMESPACES[""]["moveaxis"] = movedim
