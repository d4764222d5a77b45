"""Matrix products: mm, mv, dot, bmm, matmul, addmm, linear, inner, tensordot."""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.tensor import Tensor
from ..exact.arguments import check_tensors
from ..exact.broadcasting import broadcast_error
from ..exact.refusals import check_dim
from ..kernels.threads import product
from .checks import refuse_if
from .expand import expand_op
from .functions import METHODS, NAMESPACES, composite, internal
from .outputs import write_out
from .shape import squeeze_product, unsafe_view, unsqueeze, view_op
from .transposition import permute_op, t_op


def _same_dtype(a, b, message):
    if a.dtype is not b.dtype:
        raise fail(
            RuntimeError,
            message,
            f"Matrix products do not convert: one factor is {a.dtype}, the other {b.dtype}. Convert one with .to(...).",
        )


def _same_product_dtype(a, b):
    if a.dtype is not b.dtype:
        kinds = f"{a.dtype.cpp_name} != {b.dtype.cpp_name}"
        _same_dtype(a, b, f"expected m1 and m2 to have the same dtype, but got: {kinds}")


_BOOL = np.dtype(bool)


def _product(name, kernel):
    """Return the kernel of a product that refuses bool, as PyTorch's kernels do."""

    def forward(xp, self, other):
        if self.dtype is _BOOL:
            message = f"\"{name}\" not implemented for 'Bool'"
            note = "Masks have no products: convert them with .float()."
            raise fail(NotImplementedError, message, note)
        return kernel(xp, self, other)

    return forward


def _gradient_of_first(m, g, second, sizes, strides):
    """Return the gradient of the left factor. As in PyTorch, it is column-major in memory if the factor is, so the
    gradient of a transposed weight is contiguous."""
    if strides[0] == 1 and strides[1] == sizes[0]:
        return m.t(m.mm(second, m.t(g)))
    return m.mm(g, m.t(second))


def _gradient_of_second(m, g, first, sizes, strides):
    """Return the gradient of the right factor, with a memory order as in `_gradient_of_first`."""
    if strides[0] == 1 and strides[1] == sizes[0]:
        return m.t(m.mm(m.t(g), first))
    return m.mm(m.t(first), g)


mm_op = internal(
    "mm(Tensor self, Tensor mat2)",
    forward=_product("addmm_impl_cpu_", lambda xp, self, mat2: product(self, mat2)),
    vjp={
        "self": lambda m, g, mat2, self_sym_sizes, self_sym_strides: _gradient_of_first(
            m, g, mat2, self_sym_sizes, self_sym_strides
        ),
        "mat2": lambda m, g, self, mat2_sym_sizes, mat2_sym_strides: _gradient_of_second(
            m, g, self, mat2_sym_sizes, mat2_sym_strides
        ),
    },
    also_saves=("self_sym_sizes", "self_sym_strides", "mat2_sym_sizes", "mat2_sym_strides"),
    latex=r"{self} \, {mat2}",
    vjp_latex={"self": r"{g} \, {mat2}^{T}", "mat2": r"{self}^{T} \, {g}"},
    samples=lambda s: [(s.randn(2, 3), s.randn(3, 4)), (s.randn(1, 3), s.randn(3, 1))],
)
mv_op = internal(
    "mv(Tensor self, Tensor vec)",
    forward=_product("addmv_impl_cpu", lambda xp, self, vec: self @ vec),
    vjp={
        "self": lambda m, g, vec: m.mm(m.unsqueeze(g, 1), m.unsqueeze(vec, 0)),
        "vec": lambda m, g, self: m.mv(m.t(self), g),
    },
    latex=r"{self} \, {vec}",
    vjp_latex={"self": r"{g} \, {vec}^{T}", "vec": r"{self}^{T} \, {g}"},
    samples=lambda s: [(s.randn(2, 3), s.randn(3))],
)
dot_op = internal(
    "dot(Tensor self, Tensor tensor)",
    forward=_product("dot", lambda xp, self, tensor: self.dot(tensor)),
    vjp={"self": lambda m, g, tensor: g * tensor, "tensor": lambda m, g, self: g * self},
    latex=r"{self}^{T} \, {tensor}",
    vjp_latex={"self": r"{g} \, {tensor}", "tensor": r"{g} \, {self}"},
    samples=lambda s: [(s.randn(3), s.randn(3))],
)
bmm_op = internal(
    "bmm(Tensor self, Tensor mat2)",
    forward=_product("bmm", lambda xp, self, mat2: xp.matmul(self, mat2)),
    vjp={
        "self": lambda m, g, mat2: m.bmm(g, m.transpose(mat2, 1, 2)),
        "mat2": lambda m, g, self: m.bmm(m.transpose(self, 1, 2), g),
    },
    latex=r"{self} \, {mat2}",
    vjp_latex={"self": r"{g} \, {mat2}^{T}", "mat2": r"{self}^{T} \, {g}"},
    samples=lambda s: [(s.randn(2, 3, 4), s.randn(2, 4, 5))],
)


def times(g, factor):
    return g if factor == 1 else g * factor


addmm_op = internal(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1)",
    forward=lambda xp, self, mat1, mat2, beta, alpha: (
        times(product(mat1, mat2), alpha) + times(self, beta)
    ),
    vjp={
        "self": lambda m, g, beta, self_sym_sizes: times(m.sum_to(g, self_sym_sizes), beta),
        "mat1": lambda m, g, mat2, alpha, mat1_sym_sizes, mat1_sym_strides: times(
            _gradient_of_first(m, g, mat2, mat1_sym_sizes, mat1_sym_strides), alpha
        ),
        "mat2": lambda m, g, mat1, alpha, mat2_sym_sizes, mat2_sym_strides: times(
            _gradient_of_second(m, g, mat1, mat2_sym_sizes, mat2_sym_strides), alpha
        ),
    },
    hidden=("self_sym_sizes",),
    also_saves=("mat1_sym_sizes", "mat1_sym_strides", "mat2_sym_sizes", "mat2_sym_strides"),
    latex=r"{beta} \cdot {self} + {alpha} \cdot {mat1} \, {mat2}",
    vjp_latex={
        "self": r"{beta} \cdot {g}",
        "mat1": r"{alpha} \cdot {g} \, {mat2}^{T}",
        "mat2": r"{alpha} \cdot {mat1}^{T} \, {g}",
    },
    samples=lambda s: [
        (s.randn(4), s.randn(2, 3), s.randn(3, 4)),
        (s.randn(2, 4), s.randn(2, 3), s.randn(3, 4)),
    ],
)


def _product_error(a, b):
    return fail(
        RuntimeError,
        f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})",
        f"The columns of the first ({a[1]}) must be as many as the rows of the second ({b[0]}): each entry of the product is a sum over them.",
    )


@composite(method=True)
def mm(input, mat2, *, out=None):
    """Return the product of two matrices, (n, k) and (k, m). Raise RuntimeError if the sizes do not match. Source:
    torch.mm."""
    if (casting := per_thread.state.autocast) is not None:
        input, mat2 = casting.lowered(input, mat2)
    for name, x in (("self", input), ("mat2", mat2)):
        if x.ndim != 2:
            raise fail(
                RuntimeError,
                f"{name} must be a matrix",
                f"mm takes matrices; this has {x.ndim} dimension(s). matmul (@) takes other shapes too.",
            )
    if input._array.shape[1] != mat2._array.shape[0]:
        raise _product_error(input._array.shape, mat2._array.shape)
    _same_product_dtype(input, mat2)
    result = mm_op.call(input, mat2)
    return result if out is None else write_out("mm", out, (input, mat2), result, converts=False)


@composite(method=True)
def mv(input, vec):
    """Return the product of a matrix (n, k) and a vector (k). Source: torch.mv."""
    if input.ndim != 2 or vec.ndim != 1:
        message = f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}"
        raise fail(RuntimeError, message, "mv takes a matrix and a vector.")
    (rows, columns), n = input._array.shape, vec._array.shape[0]
    if columns != n:
        message = f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({n})"
        raise fail(RuntimeError, message, "The vector needs one entry per column of the matrix.")
    _same_product_dtype(input, vec)
    return mv_op.call(input, vec)


@composite(method=True)
def dot(input, tensor):
    """Return the inner product of two vectors of equal length. Source: torch.dot."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise fail(
            RuntimeError,
            f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors",
            "dot takes vectors; use @ for matrices.",
        )
    _same_dtype(
        input,
        tensor,
        f"dot : expected both vectors to have same dtype, but found {input.dtype.short} and {tensor.dtype.short}",
    )
    if input._array.shape != tensor._array.shape:
        a, b = input.numel(), tensor.numel()
        raise fail(
            RuntimeError,
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, but got {a} and {b} "
            "elements respectively",
            "Both vectors need the same length.",
        )
    return dot_op.call(input, tensor)


METHODS["vdot"] = NAMESPACES[""]["vdot"] = dot


@composite(method=True)
def bmm(input, mat2, *, out=None):
    """Return the products of two batches of matrices: (b, n, k) and (b, k, m). Source: torch.bmm."""
    if (casting := per_thread.state.autocast) is not None:
        input, mat2 = casting.lowered(input, mat2)
    for x in (input, mat2):
        if x.ndim != 3:
            raise fail(
                RuntimeError,
                "batch1 must be a 3D tensor" if x is input else "batch2 must be a 3D tensor",
                "bmm takes batches of matrices: (batch, n, k) and (batch, k, m).",
            )
    a, b = input._array.shape, mat2._array.shape
    if (a[0], a[2]) != (b[0], b[1]):
        raise fail(
            RuntimeError,
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}].",
            "Each pair must fit: columns of the first are rows of the second.",
        )
    _same_dtype(
        input, mat2, f"expected scalar type {input.dtype.short} but found {mat2.dtype.short}"
    )
    result = bmm_op.call(input, mat2)
    return result if out is None else write_out("bmm", out, (input, mat2), result, converts=False)


@composite(method=True)
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """Return `beta * input + alpha * mat1 @ mat2`; `input` broadcasts. Source: torch.addmm."""
    if (casting := per_thread.state.autocast) is not None:
        input, mat1, mat2 = casting.lowered(input, mat1, mat2)
    a, b = mat1._array.shape, mat2._array.shape
    for name, shape in (("mat1", a), ("mat2", b)):
        if len(shape) != 2:
            message = f"{name} must be a matrix, got {len(shape)}-D tensor"
            raise fail(RuntimeError, message, "addmm needs two matrices, with two dimensions each.")
    if a[1] != b[0]:
        raise _product_error(a, b)
    for names, first in (("self and mat2", input), ("mat1 and mat2", mat1)):
        if first.dtype is not mat2.dtype:
            message = f"{names} must have the same dtype, but got {first.dtype.short} and {mat2.dtype.short}"
            _same_dtype(first, mat2, message)
    target = a[0], b[1]
    if input._array.shape != target and input._array.shape != target[1:]:
        expand_op.call(input, target)  # raises PyTorch's error if it does not broadcast
    return addmm_op.call(input, mat1, mat2, beta, alpha)


# -- the general product -----------------------------------------------------------------------------------------------
@composite(method=True)
def matmul(input, other, *, out=None):
    """Return `input @ other` for vectors, matrices and batches of matrices, by torch's rules. Source: torch.matmul."""
    if (casting := per_thread.state.autocast) is not None:
        input, other = casting.lowered(input, other)
    if out is not None:
        result = matmul(input, other)
        return write_out("matmul", out, (input, other), result, converts=False)
    n, k = input._array.ndim, other._array.ndim
    if n == 2 and k == 2:
        return mm(input, other)
    if not n or not k:
        raise fail(
            RuntimeError,
            f"both arguments to matmul need to be at least 1D, but they are {n}D and {k}D",
            "Use * for single numbers.",
        )
    if n == 1 and k == 1:
        return dot(input, other)
    if n == 2 and k == 1:
        return mv(input, other)
    if n == 1 and k == 2:
        return squeeze_product.call(mm(unsqueeze.call(input, 0), other), 0)
    if k <= 2:
        return _fold_into_matrix(input, other)
    return _batched(input, other)


def _fold_into_matrix(input, other):
    """Return (…, n, k) @ (k, m) or (k) as one product, with all leading dimensions as rows of one matrix."""
    *batch, last = input.shape
    rows = input.reshape(math.prod(batch), last)
    if other.ndim == 1:
        return unsafe_view.call(mv(rows, other), tuple(batch))
    return unsafe_view.call(mm(rows, other), (*batch, other.shape[1]))


def _batched(input, other):
    a = unsqueeze.call(input, 0) if input.ndim == 1 else input
    b = unsqueeze.call(other, -1) if other.ndim == 1 else other
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise broadcast_error([a.shape[:-2], b.shape[:-2]]) from None
    size = math.prod(batch)
    flat = [_flattened(x, batch, size) for x in (a, b)]
    result = bmm(*flat)
    shape = (*batch, a.shape[-2], b.shape[-1])
    if input.ndim == 1:
        shape = (*shape[:-2], shape[-1])
    if other.ndim == 1:
        shape = shape[:-1]
    return unsafe_view.call(result, shape)


def _flattened(x, batch, size):
    expanded = expand_op.call(x, (*batch, *x.shape[-2:]))
    return expanded.reshape(size, *x.shape[-2:])


def _operator(self, other):
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


METHODS["__matmul__"] = _operator
METHODS["__rmatmul__"] = lambda self, other: NotImplemented


@composite(namespace="nn.functional")
def linear(input, weight, bias=None):
    """Return `input @ weight.T + bias`: (…, in), (out, in), (out) -> (…, out). Source: torch.nn.functional.linear."""
    if (casting := per_thread.state.autocast) is not None:
        input, weight, bias = casting.lowered(input, weight, bias)
    check_tensors("linear", input=input, weight=weight)
    sides = input._array.ndim, weight._array.ndim
    if sides == (2, 2) and bias is not None:
        return addmm(bias, input, t_op.call(weight))
    if 0 in sides:
        message = f"both arguments to linear need to be at least 1D, but they are {sides[0]}D and {sides[1]}D"
        note = "The last dimension of the input is what the weights' rows are multiplied with."
        raise fail(RuntimeError, message, note)
    if sides[1] == 1:
        product = matmul(input, weight)
        return product if bias is None else product + bias
    if bias is None:
        return matmul(input, t_op.call(weight))
    *batch, last = input.shape
    rows = input.reshape(math.prod(batch), last)
    return view_op.call(addmm(bias, rows, t_op.call(weight)), (*batch, weight.shape[0]))


@composite(method=True)
def inner(input, other):
    """Return the inner products along the last dimension of both tensors. Source: torch.inner."""
    if not input.ndim or not other.ndim:
        return input * other
    refuse_if(
        input.shape[-1] != other.shape[-1],
        f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}",
        "The sum runs over the last dimension of both.",
    )
    return tensordot(input, other, dims=[[-1], [-1]])


@composite()
def tensordot(a, b, dims=2):
    """Return sums of products over the given dimensions (a number n: the last n of `a`, the first n of `b`). Source:
    torch.tensordot."""
    if isinstance(dims, int):
        refuse_if(
            not 0 <= dims <= min(a.ndim, b.ndim),
            f"tensordot expects 0 <= dims <= ndim_a and ndim_b, but got dims={dims}",
            f"The tensors have {a.ndim} and {b.ndim} dimensions.",
        )
        dims = range(a.ndim - dims, a.ndim), range(dims)
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    first, second = [check_dim(d, a.ndim) for d in first], [check_dim(d, b.ndim) for d in second]
    sizes = [a.shape[d] for d in first], [b.shape[d] for d in second]
    refuse_if(
        sizes[0] != sizes[1],
        f"contracted dimensions need to match, but the sizes are {sizes[0]} and {sizes[1]}",
        "The sum runs over both dimensions together.",
    )
    free_a = [i for i in range(a.ndim) if i not in first]
    free_b = [i for i in range(b.ndim) if i not in second]
    rows, columns = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
    left = permuted(a, free_a + first).reshape(math.prod(rows), math.prod(sizes[0]))
    right = permuted(b, second + free_b).reshape(math.prod(sizes[0]), math.prod(columns))
    return mm(left, right).reshape([*rows, *columns])


def permuted(x, order):
    return x if order == list(range(x.ndim)) else permute_op.call(x, tuple(order))
