"""Operations on the shape of a tensor: view, reshape, squeeze, unsqueeze, flatten, narrow. The order of dimensions is
in `transposition.py`, joining and splitting in `joining.py`, expand and repeat in `expand.py`."""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import fail
from ..exact.arguments import int_argument
from ..exact.refusals import check_dim, check_dims
from ..exact.signatures import sizes
from .checks import refuse_if
from .functions import NAMESPACES, composite, internal, register
from ..core.tensor import materialise


def sizes_from(args, function, named=()):
    """Return the sizes of `f(2, 3)`, `f((2, 3))`, `f(torch.Size([2, 3]))` or `f(size=(2, 3))`. named: the keyword
    arguments.

    Raise PyTorch's TypeError for anything but a list of ints."""
    given = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if args and not named and set(map(type, given)) <= {int}:
        return tuple(given)
    return sizes(function, args, dict(named))


def by_sizes(name, op, doc, function=True):
    """Make an op of a tensor and a list of ints public: `x.flip(0, 1)`, `x.flip((0, 1))` and, unless `function` is
    False, `torch.flip(x, (0, 1))`."""

    def method(self, *sizes, **named):
        return op.call(self, sizes_from(sizes, name, named))

    def call(input, dims):
        return op.call(input, tuple(dims))

    method.__doc__ = call.__doc__ = f"{doc} Source: torch.{'' if function else 'Tensor.'}{name}."
    composite(name, method=True, function=False)(method)
    if function:
        composite(name)(call)


def inferred(shape, numel):
    """Return `shape` with -1 replaced by the right size. Raise RuntimeError in torch's words if the sizes do not match
    `numel`."""
    if math.prod(shape) == numel and (not shape or min(shape) >= 0):
        return shape
    known = math.prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and min(shape) == -1 and known and numel % known == 0:
        return tuple(numel // known if n == -1 else n for n in shape)
    message = f"shape '{list(shape)}' is invalid for input of size {numel}"
    if shape.count(-1) > 1:
        message = "only one dimension can be inferred"
    elif min(shape, default=0) < -1:
        message = f"invalid shape dimension {next(n for n in shape if n < -1)}"
    elif -1 in shape and not known:
        message = (
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can "
            "be any value and is ambiguous"
        )
    note = f"A reshape keeps the number of elements, here {numel}; one size may be -1, which the others determine."
    raise fail(RuntimeError, message, note)


def _is_copied(reshaped, array, xp):
    # `copy=False` would raise an error from NumPy 2.1 on, but Colab has 2.0.
    return reshaped.size and not xp.may_share_memory(reshaped, array)


def _view(xp, self, size):
    reshaped = self.reshape(inferred(tuple(size), self.size))
    if _is_copied(reshaped, self, xp):
        raise fail(
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead.",
            "view() only reads the same memory differently; this tensor's memory is not in that order (it was transposed, say), and reshape() "
            "copies when it must.",
        )
    return reshaped


def _register_reshape(schema, forward, **fields):
    """Register an op that only changes the shape; its gradient rule restores the shape of the input."""
    defaults = {
        "vjp": {"self": lambda m, g, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
        "latex": r"\mathrm{view}({self})",
        "vjp_latex": {"self": r"\mathrm{view}({g})"},
    }
    return internal(schema, forward=forward, **defaults | fields)


def _reshape(xp, self, size):
    return self.reshape(tuple(size))


view_op = _register_reshape(
    "view(Tensor self, int[] size)", _view, view=True, samples=lambda s: [(s.randn(2, 3), (6,))]
)
unsafe_view = _register_reshape(
    "unsafe_view(Tensor self, int[] size)", _reshape, samples=lambda s: [(s.randn(2, 3), (3, 2))]
)
reshape_raw = _register_reshape(
    "reshape_raw(Tensor self, int[] size)",
    _reshape,
    node="ReshapeAliasBackward0",
    samples=lambda s: [(s.randn(2, 3), (6,))],
)
by_sizes(
    "view",
    view_op,
    "Return the same memory with another shape. Raises RuntimeError when that is impossible without copying.",
    function=False,
)


@composite(method=True, function=False, name="reshape")
def reshape_method(self, *shape, **named):
    """Return the tensor in another shape: a view if the memory allows it, else a copy. Source: torch.reshape."""
    shape = inferred(sizes_from(shape, "reshape", named), self._array.size)
    if isinstance(self._array, np.generic) or self._array.flags.c_contiguous:
        return view_op.call(self, shape)
    # Ask first, because raising and catching an error takes as long as a small kernel.
    d = materialise(self)
    if _is_copied(d.reshape(shape), d, self.device.xp):
        return unsafe_view.call(self.clone_contiguous(), shape)
    return view_op.call(self, shape)


@composite()
def reshape(input, shape):
    """Return the tensor in another shape: a view if the memory allows it, else a copy. Source: torch.reshape."""
    return reshape_method(input, shape)


@composite(method=True, function=False)
def view_as(self, other):
    """Return `self.view(other.size())`. Source: torch.Tensor.view_as."""
    return view_op.call(self, other.shape)


# -- dimensions of size one --------------------------------------------------------------------------------------------
def row_major(xp, array):
    """Return the array in row-major order, as many of PyTorch's kernels do; images may keep the batch innermost (see
    kernels/)."""
    return array if array.ndim == 4 or array.flags.c_contiguous else xp.ascontiguousarray(array)


def _unsqueezed(xp, self, dim):
    d = check_dim(dim, self.ndim + 1)
    # The last stride is 1 in PyTorch here.
    if xp is np and d == self.ndim and d and self.strides[-1] not in (self.itemsize, 0):
        return np.lib.stride_tricks.as_strided(
            self, (*self.shape, 1), (*self.strides, self.itemsize)
        )
    return xp.expand_dims(self, d)


unsqueeze = register(
    "unsqueeze(Tensor self, int dim)",
    view=True,
    forward=_unsqueezed,
    vjp={"self": lambda m, g, dim: m.squeeze_dim(g, dim)},
    latex=r"\mathrm{unsqueeze}({self})",
    vjp_latex={"self": r"\mathrm{squeeze}({g})"},
    samples=lambda s: [(s.randn(2, 3), 0), (s.randn(2, 3), -1)],
    doc="Insert a dimension of size 1; a view. Source: torch.unsqueeze",
)


def _squeeze(xp, self, dims):
    dims = check_dims(dims, self.ndim)
    return self.squeeze(tuple(i for i, n in enumerate(self.shape) if n == 1 and i in dims))


_SQUEEZED = {
    "latex": r"\mathrm{squeeze}({self})",
    "vjp_latex": {"self": r"\mathrm{unsqueeze}({g})"},
}
squeeze_op = _register_reshape(
    "squeeze(Tensor self)",
    lambda xp, self: self.squeeze(),
    view=True,
    **_SQUEEZED,
    samples=lambda s: [s.randn(1, 3, 1)],
)


def _register_squeeze(name, kind, node, *samples):
    """Register an op that removes the given dimensions."""
    return _register_reshape(
        f"{name}(Tensor self, {kind} dim)",
        _squeeze,
        node=node,
        view=True,
        vjp={"self": lambda m, g, dim, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
        **_SQUEEZED,
        samples=lambda s: [(s.randn(*shape), dim) for shape, dim in samples],
    )


squeeze_dim = _register_squeeze("squeeze_dim", "int", "SqueezeBackward1", ((1, 3), 0), ((2, 3), 0))
squeeze_dims = _register_squeeze("squeeze_dims", "int[]", "SqueezeBackward2", ((1, 3, 1), (0, 2)))
# torch squeezes the product of a vector and a matrix in place
squeeze_product = _register_squeeze("squeeze_product", "int", "SqueezeBackward4", ((1, 3), 0))


@composite(method=True)
def squeeze(input, dim=None):
    """Remove dimensions of size 1 (all, or the given ones); a view. Source: torch.squeeze."""
    if dim is None:
        return squeeze_op.call(input)
    return (
        squeeze_dim.call(input, dim)
        if isinstance(dim, int)
        else squeeze_dims.call(input, tuple(dim))
    )


# -- flatten -----------------------------------------------------------------------------------------------------------
@composite(method=True)
def flatten(input, start_dim=0, end_dim=-1):
    """Return the tensor with dimensions start_dim … end_dim merged into one. Source: torch.flatten."""
    shape = input._array.shape
    a, b = (check_dim(d, len(shape)) for d in (start_dim, end_dim))
    if not shape:
        return view_op.call(input, (1,))
    if a > b:
        message = "flatten() has invalid args: start_dim cannot come after end_dim"
        raise fail(RuntimeError, message, "start_dim must not be after end_dim.")
    if a == b:
        return input
    return reshape_method(input, (*shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :]))


@composite(method=True)
def ravel(input):
    """Return all entries in one dimension. Source: torch.ravel."""
    return input.contiguous().view(-1)


@composite(method=True)
def unflatten(input, dim, sizes):
    """Return the tensor with one dimension split into several. Source: torch.unflatten."""
    d, sizes = check_dim(dim, input.ndim), tuple(sizes)
    n, known = input.shape[d], math.prod(s for s in sizes if s != -1)
    if not sizes or (n != known if -1 not in sizes else not known or n % known):
        message = f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
        raise fail(RuntimeError, message, "The product of the new sizes is the old size.")
    return view_op.call(input, (*input.shape[:d], *sizes, *input.shape[d + 1 :]))


@composite(method=True)
def narrow(input, dim, start, length):
    """Return `length` entries from `start` along a dimension; a view. Source: torch.narrow."""
    refuse_if(
        not input.ndim,
        "narrow() cannot be applied to a 0-dim tensor.",
        "A 0-d tensor is a single number.",
    )
    d, start = check_dim(dim, input.ndim), int_argument("narrow", "start", 3, start)
    n = input.shape[d]
    refuse_if(
        not -n <= start <= n,
        f"start out of range (expected to be in range of [{-n}, {n}], but got {start})",
        "Count entries from 0.",
        IndexError,
    )
    start = start + n if start < 0 else start
    refuse_if(
        not 0 <= length <= n - start,
        f"start ({start}) + length ({length}) exceeds dimension size ({n}).",
        "The piece must lie inside the dimension.",
    )
    return NAMESPACES["Tensor"]["slice"](input, d, start, start + length, 1)


@composite(method=True)
def atleast_1d(input):
    """Return the tensor with at least one dimension. Source: torch.atleast_1d."""
    return view_op.call(input, (1,)) if not input.ndim else input
