"""Matrix products: mm, mv, dot, bmm, matmul, addmm, linear, inner, tensordot, kron. More are in
`further/added_products.py`."""

from __future__ import annotations

import math

import numpy as np

from ..exact.arguments import check_tensors
from ..core.errors import fail
from ..exact.refusals import check_dim
from ..kernels.threads import product
from .checks import refuse_if
from .functions import METHODS, composite, internal
from ..core.tensor import Tensor
from .expand import expand_op
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


def no_masks(name, a, b):
    """Raises torch's error for products of masks, which its kernels do not have."""
    if a.dtype is _BOOL and a.size and b.size:
        message = f"\"{name}\" not implemented for 'Bool'"
        raise fail(
            NotImplementedError, message, "Masks have no products: convert them with .float()."
        )


def scaled(array, factor):
    """`array` times a number, which is cut off to a whole one for whole numbers: what PyTorch's kernels do."""
    factor = int(factor) if array.dtype.kind in "biu" and isinstance(factor, float) else factor
    return array if factor == 1 else array * factor


def sum_of(self, beta, added, alpha):
    """beta * self + alpha * added; where beta is 0 nothing of `self` is read, not even nan."""
    added = scaled(added, alpha)
    return added + scaled(self, beta) if beta else added


def _product(name, kernel):
    """Return the kernel of a product that refuses masks."""

    def forward(xp, self, other):
        if self.dtype is _BOOL:
            no_masks(name, self, other)
        return kernel(xp, self, other)

    return forward


def _towards_first(m, g, second, sizes, strides):
    """The gradient of the left factor. As in PyTorch it lies column by column in memory where that factor does: the
    gradient of a weight that was transposed is contiguous then."""
    if strides[0] == 1 and strides[1] == sizes[0]:
        return m.t(m.mm(second, m.t(g)))
    return m.mm(g, m.t(second))


def _towards_second(m, g, first, sizes, strides):
    """The gradient of the right factor, as `_towards_first`."""
    if strides[0] == 1 and strides[1] == sizes[0]:
        return m.t(m.mm(m.t(g), first))
    return m.mm(m.t(first), g)


def _mm_first(m, g, mat2, self_sym_sizes, self_sym_strides):
    return _towards_first(m, g, mat2, self_sym_sizes, self_sym_strides)


def _mm_second(m, g, self, mat2_sym_sizes, mat2_sym_strides):
    return _towards_second(m, g, self, mat2_sym_sizes, mat2_sym_strides)


mm_op = internal(
    "mm(Tensor self, Tensor mat2)",
    forward=_product("addmm_impl_cpu_", lambda xp, self, mat2: product(self, mat2)),
    vjp={
        "self": _mm_first,
        "mat2": _mm_second,
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


def _addmm(xp, self, mat1, mat2, beta, alpha):
    if mat1.dtype is _BOOL:
        no_masks("addmm_impl_cpu_", mat1, mat2)
    result = product(mat1, mat2)
    return result + self if beta == 1 and alpha == 1 else sum_of(self, beta, result, alpha)


addmm_op = internal(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1)",
    forward=_addmm,
    vjp={
        "self": lambda m, g, beta, self_sym_sizes: times(m.sum_to(g, self_sym_sizes), beta),
        "mat1": lambda m, g, mat2, alpha, mat1_sym_sizes, mat1_sym_strides: times(
            _towards_first(m, g, mat2, mat1_sym_sizes, mat1_sym_strides), alpha
        ),
        "mat2": lambda m, g, mat1, alpha, mat2_sym_sizes, mat2_sym_strides: times(
            _towards_second(m, g, mat1, mat2_sym_sizes, mat2_sym_strides), alpha
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


def times(g, factor):
    return g if factor == 1 else g * factor


def _product_error(a, b):
    return fail(
        RuntimeError,
        f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})",
        f"The columns of the first ({a[1]}) must be as many as the rows of the second ({b[0]}): each entry of the product is a sum over them.",
    )


@composite(method=True)
def mm(input, mat2):
    """The product of two matrices, (n, k) and (k, m). Raises RuntimeError when they do not fit. Source: torch.mm."""
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
    return mm_op.call(input, mat2)


@composite(method=True)
def mv(input, vec):
    """The product of a matrix (n, k) and a vector (k). Source: torch.mv."""
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
    """The inner product of two vectors of one length. Source: torch.dot."""
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


@composite(method=True)
def vdot(input, other):
    """The inner product; for real tensors the same as `dot`. Source: torch.vdot."""
    return dot(input, other)


@composite(method=True)
def bmm(input, mat2):
    """Batches of matrix products: (b, n, k) and (b, k, m). Source: torch.bmm."""
    for x in (input, mat2):
        if x.ndim != 3:
            raise fail(
                RuntimeError,
                "batch1 must be a 3D tensor" if x is input else "batch2 must be a 3D tensor",
                "The first dimension counts the pairs.",
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
    return bmm_op.call(input, mat2)


def check_addmm(input, mat1, mat2):
    """The shape of the product. Raises RuntimeError for shapes and dtypes that do not go together."""
    a, b = mat1._array.shape, mat2._array.shape
    for name, shape in (("mat1", a), ("mat2", b)):
        if len(shape) != 2:
            raise fail(
                RuntimeError,
                f"{name} must be a matrix, got {len(shape)}-D tensor",
                "addmm multiplies two matrices.",
            )
    if a[1] != b[0]:
        raise _product_error(a, b)
    for names, first in (("self and mat2", input), ("mat1 and mat2", mat1)):
        if first.dtype is not mat2.dtype:
            raise fail(
                RuntimeError,
                f"{names} must have the same dtype, but got {first.dtype.short} and {mat2.dtype.short}",
                "Convert one of them: matrix products do not mix dtypes.",
            )
    return a[0], b[1]


@composite(method=True)
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """`beta * input + alpha * mat1 @ mat2`; `input` broadcasts. Source: torch.addmm."""
    target = check_addmm(input, mat1, mat2)
    if input._array.shape != target and input._array.shape != target[1:]:
        check_expand(input._array.shape, target)
    return addmm_op.call(input, mat1, mat2, beta, alpha)


def check_expand(shape, target):
    offset = len(target) - len(shape)
    if offset < 0:
        raise fail(
            RuntimeError,
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided ({len(target)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})",
            "The added tensor must broadcast to the product.",
        )
    for i, n in reversed([*enumerate(shape)]):  # PyTorch looks from the last dimension on
        if n not in (1, target[i + offset]):
            raise fail(
                RuntimeError,
                f"The expanded size of the tensor ({target[i + offset]}) must match the existing size ({n}) at non-singleton dimension "
                f"{i + offset}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}",
                "The added tensor must broadcast to the product.",
            )


# -- the general product -----------------------------------------------------------------------------------------------
@composite(method=True)
def matmul(input, other):
    """`input @ other` for vectors, matrices and batches of matrices, by torch's rules. Source: torch.matmul."""
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
        return _folded(input, other)
    return _batched(input, other)


def _folded(input, other):
    """(…, n, k) @ (k, m) or (k): all leading dimensions are rows of one matrix."""
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
        from ..exact.broadcasting import broadcast_error

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
METHODS["__rmatmul__"] = lambda self, other: (
    matmul(other, self) if isinstance(other, Tensor) else NotImplemented
)


@composite(namespace="nn.functional")
def linear(input, weight, bias=None):
    """`input @ weight.T + bias`: (…, in), (out, in), (out) -> (…, out). Source: torch.nn.functional.linear."""
    check_tensors("linear", input=input, weight=weight)
    if input._array.ndim == 2 and bias is not None:
        return addmm(bias, input, t_op.call(weight))
    if not input.ndim or not weight.ndim:
        message = f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        raise fail(
            RuntimeError,
            message,
            "The last dimension of the input is what the weights' rows are multiplied with.",
        )
    if bias is None:
        return matmul(input, t_op.call(weight))
    if weight.ndim == 1:
        return matmul(input, weight) + bias
    *batch, last = input.shape
    rows = input.reshape(math.prod(batch), last)
    return view_op.call(addmm(bias, rows, t_op.call(weight)), (*batch, weight.shape[0]))


@composite(method=True)
def inner(input, other):
    """Inner products along the last dimension of both. Source: torch.inner."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise fail(
            RuntimeError,
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}",
            "The sum runs over the last dimension of both.",
        )
    return tensordot(input, other, dims=[[-1], [-1]])


@composite()
def tensordot(a, b, dims=2):
    """Sums of products over the named dimensions (a number: the last of `a`, the first of `b`). Source:
    torch.tensordot."""
    if isinstance(dims, Tensor):
        dims = dims.item() if dims.numel() == 1 else dims.tolist()
    refuse_if(
        isinstance(dims, float),
        f"tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got dims={dims}",
        "A number says how many dimensions are summed over; two lists name them.",
    )
    if isinstance(dims, int):
        refuse_if(
            dims < 0, f"tensordot expects dims >= 0, but got dims={dims}", "It counts dimensions."
        )
        message = f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
        note = f"The tensors have {a.ndim} and {b.ndim} dimensions."
        refuse_if(dims > min(a.ndim, b.ndim), message, note)
        dims = range(a.ndim - dims, a.ndim), range(dims)
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    message = "both dimension lists should have same length"
    note = "Each dimension of one is summed together with one of the other."
    refuse_if(len(first) != len(second), message, note)
    first, second = [check_dim(d, a.ndim) for d in first], [check_dim(d, b.ndim) for d in second]
    for p, q in zip(first, second):
        if b.shape[q] == 1:  # a size of 1 stands for any: the sum runs over the other tensor alone
            a = a.sum(p, keepdim=True, dtype=a.dtype)
        elif a.shape[p] == 1:
            b = b.sum(q, keepdim=True, dtype=b.dtype)
        elif a.shape[p] != b.shape[q]:
            raise fail(
                RuntimeError,
                f"contracted dimensions need to match, but first has size {a.shape[p]} in dim {p} and second has size {b.shape[q]} in "
                f"dim {q}",
                "The sum runs over both dimensions together.",
            )
    free_a = [i for i in range(a.ndim) if i not in first]
    free_b = [i for i in range(b.ndim) if i not in second]
    rows, columns = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
    summed = math.prod(a.shape[d] for d in first)
    left = permuted(a, free_a + first).reshape(math.prod(rows), summed)
    right = permuted(b, second + free_b).reshape(summed, math.prod(columns))
    return mm(left, right).reshape([*rows, *columns])


def permuted(x, order):
    return x if order == list(range(x.ndim)) else permute_op.call(x, tuple(order))
