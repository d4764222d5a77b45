"""Products added to something: addmv, addbmm, baddbmm; in place, addmm too. (addmm is in `../matmul.py`, addr in
`vector_products.py`.)

Source: https://docs.pytorch.org/docs/2.13/torch.html#blas-and-lapack-operations"""

from __future__ import annotations

from ...core.errors import fail
from ...exact.refusals import check_dim
from ...kernels.threads import product
from ..functions import composite, internal
from ..indexing import written
from ..matmul import addmm_op, check_addmm, check_expand, no_masks, sum_of


def _times(m, g, factor):
    return g if factor == 1 else m.mul_scalar(g, factor)


def same_size(target, shape):
    """Raises RuntimeError where an in-place product has another shape than its target."""
    if target._array.shape != tuple(shape):
        message = f"Bad in-place call: input tensor size {list(target._array.shape)} and output tensor size {list(shape)} should match"
        raise fail(RuntimeError, message, "A tensor keeps its shape when it is changed in place.")


# -- matrix and matrix -------------------------------------------------------------------------------------------------
@composite(method=True, function=False)
def addmm_(self, mat1, mat2, *, beta=1, alpha=1):
    """`addmm` in place. Source: torch.Tensor.addmm_."""
    same_size(self, check_addmm(self, mat1, mat2))
    return written(addmm_op, (self, mat1, mat2, beta, alpha), apart=False)


# -- matrix and vector -------------------------------------------------------------------------------------------------
def _addmv(xp, self, mat, vec, beta, alpha):
    no_masks("addmv_impl_cpu", mat, vec)
    return sum_of(self, beta, product(mat, vec), alpha)


addmv_op = internal(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1)",
    forward=_addmv,
    hidden=("self_sym_sizes",),
    also_saves=("beta", "alpha"),
    vjp={
        "self": lambda m, g, beta, self_sym_sizes: _times(m, m.sum_to(g, self_sym_sizes), beta),
        "mat": lambda m, g, vec, alpha: _times(m, m.unsqueeze(g, 1) * vec, alpha),
        "vec": lambda m, g, mat, alpha: _times(m, m.mv(m.t(mat), g), alpha),
    },
    latex=r"{beta} \cdot {self} + {alpha} \cdot {mat} \, {vec}",
    vjp_latex={
        "self": r"{beta} \cdot {g}",
        "mat": r"{alpha} \cdot {g} \, {vec}^{T}",
        "vec": r"{alpha} \cdot {mat}^{T} \, {g}",
    },
    samples=lambda s: [
        (s.randn(2), s.randn(2, 3), s.randn(3)),
        (s.randn(1), s.randn(2, 3), s.randn(3), {"beta": 0.5, "alpha": 2.0}),
    ],
)


def _check_addmv(input, mat, vec):
    if mat._array.ndim != 2 or vec._array.ndim != 1 or input._array.ndim > 1:
        message = f"vector + matrix @ vector expected, got {input._array.ndim}, {mat._array.ndim}, {vec._array.ndim}"
        raise fail(
            RuntimeError, message, "addmv multiplies a matrix and a vector, and adds a vector."
        )
    rows, columns = mat._array.shape
    if vec._array.shape != (columns,) or input._array.size not in (1, rows):
        message = f"size mismatch, got input ({input._array.size}), mat ({rows}x{columns}), vec ({vec._array.size})"
        raise fail(
            RuntimeError, message, "The vector has an entry per column, what is added one per row."
        )
    if not input.dtype is mat.dtype is vec.dtype:
        message = f"addmv input tensors must have the same dtype, but got {input.dtype.short}, {mat.dtype.short}, and {vec.dtype.short}"
        raise fail(RuntimeError, message, "Convert one of them: matrix products do not mix dtypes.")


@composite(method=True)
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """`beta * input + alpha * mat @ vec`; `input` broadcasts. Source: torch.addmv."""
    _check_addmv(input, mat, vec)
    return addmv_op.call(input, mat, vec, beta, alpha)


@composite(method=True, name="addmv_")
def addmv_(input, mat, vec, *, beta=1, alpha=1):
    """`addmv` in place. Source: torch.addmv_."""
    _check_addmv(input, mat, vec)
    same_size(input, mat._array.shape[:1])
    return written(addmv_op, (input, mat, vec, beta, alpha), apart=False)


# -- batches of matrices -----------------------------------------------------------------------------------------------
def _size(t, dim):
    return t._array.shape[check_dim(dim, t._array.ndim)]


def _check_batches(batch1, batch2):
    for name, t in (("batch1", batch1), ("batch2", batch2)):
        if t._array.ndim != 3:
            raise fail(
                RuntimeError, f"{name} must be a 3D tensor", "The first dimension counts the pairs."
            )


def _addbmm(xp, self, batch1, batch2, beta, alpha):
    no_masks("addmm_impl_cpu_", batch1, batch2)
    b, n, k = batch1.shape
    # the sum over pairs is one product: the pairs' columns side by side, their rows below each other
    together = product(
        xp.moveaxis(batch1, 0, 1).reshape(n, b * k), batch2.reshape(b * k, batch2.shape[2])
    )
    return sum_of(self, beta, together, alpha)


def _of_all(m, g, *sizes):
    """The gradient of the sum, for each of its pairs."""
    return m.expand(m.unsqueeze(g, 0), sizes)


addbmm_op = internal(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1)",
    forward=_addbmm,
    hidden=("self_sym_sizes",),
    also_saves=("beta", "alpha"),
    vjp={
        "self": lambda m, g, beta, self_sym_sizes: _times(m, m.sum_to(g, self_sym_sizes), beta),
        "batch1": lambda m, g, alpha, batch2, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2: (
            _times(
                m,
                m.bmm(
                    _of_all(m, g, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2),
                    m.transpose(batch2, 1, 2),
                ),
                alpha,
            )
        ),
        "batch2": lambda m, g, alpha, batch1, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2: (
            _times(
                m,
                m.bmm(
                    m.transpose(batch1, 1, 2),
                    _of_all(m, g, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2),
                ),
                alpha,
            )
        ),
    },
    latex=r"{beta} \cdot {self} + {alpha} \cdot \sum_b {batch1}_b \, {batch2}_b",
    vjp_latex={
        "self": r"{beta} \cdot {g}",
        "batch1": r"{alpha} \cdot {g} \, {batch2}_b^{T}",
        "batch2": r"{alpha} \cdot {batch1}_b^{T} \, {g}",
    },
    samples=lambda s: [
        (s.randn(3, 2), s.randn(2, 3, 4), s.randn(2, 4, 2)),
        (s.randn(2), s.randn(2, 3, 4), s.randn(2, 4, 2), {"beta": 0.5, "alpha": 2.0}),
    ],
)


def _check_addbmm(input, batch1, batch2):
    """The shape of the sum of products. Raises RuntimeError for what does not go together."""
    target = (_size(batch1, 1), _size(batch2, 2))
    check_expand(input._array.shape, target)
    _check_batches(batch1, batch2)
    a, b = batch1._array.shape, batch2._array.shape
    if a[0] != b[0]:
        message = f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}"
        raise fail(RuntimeError, message, "The first dimension counts the pairs.")
    if a[2] != b[1]:
        message = f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})"
        raise fail(
            RuntimeError,
            message,
            "Each pair must fit: columns of the first are rows of the second.",
        )
    for names, first in (("mat1 and mat2", batch1), ("self and mat2", input)):
        if first.dtype is not batch2.dtype:
            message = f"{names} must have the same dtype, but got {first.dtype.short} and {batch2.dtype.short}"
            raise fail(
                RuntimeError, message, "Convert one of them: matrix products do not mix dtypes."
            )
    return target


@composite(method=True)
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * (the sum of batch1[b] @ batch2[b])`: (b, n, k) and (b, k, m) give (n, m); `input`
    broadcasts. Source: torch.addbmm."""
    _check_addbmm(input, batch1, batch2)
    return addbmm_op.call(input, batch1, batch2, beta, alpha)


@composite(method=True, function=False)
def addbmm_(self, batch1, batch2, *, beta=1, alpha=1):
    """`addbmm` in place. Source: torch.Tensor.addbmm_."""
    same_size(self, _check_addbmm(self, batch1, batch2))
    return written(addbmm_op, (self, batch1, batch2, beta, alpha), apart=False)


def _baddbmm(xp, self, batch1, batch2, beta, alpha):
    no_masks("baddbmm", batch1, batch2)
    return sum_of(self, beta, xp.matmul(batch1, batch2), alpha)


baddbmm_op = internal(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1)",
    forward=_baddbmm,
    hidden=("self_sym_sizes",),
    also_saves=("beta", "alpha"),
    vjp={
        "self": lambda m, g, beta, self_sym_sizes: _times(m, m.sum_to(g, self_sym_sizes), beta),
        "batch1": lambda m, g, batch2, alpha: _times(m, m.bmm(g, m.transpose(batch2, 1, 2)), alpha),
        "batch2": lambda m, g, batch1, alpha: _times(m, m.bmm(m.transpose(batch1, 1, 2), g), alpha),
    },
    latex=r"{beta} \cdot {self} + {alpha} \cdot {batch1} \, {batch2}",
    vjp_latex={
        "self": r"{beta} \cdot {g}",
        "batch1": r"{alpha} \cdot {g} \, {batch2}^{T}",
        "batch2": r"{alpha} \cdot {batch1}^{T} \, {g}",
    },
    samples=lambda s: [
        (s.randn(2, 3, 2), s.randn(2, 3, 4), s.randn(2, 4, 2)),
        (s.randn(3, 1), s.randn(2, 3, 4), s.randn(2, 4, 2), {"beta": 0.5, "alpha": 2.0}),
    ],
)


def _check_baddbmm(input, batch1, batch2):
    """The shape of the products. Raises RuntimeError for what does not go together."""
    target = (_size(batch1, 0), _size(batch1, 1), _size(batch2, 2))
    check_expand(input._array.shape, target)
    if not input.dtype is batch1.dtype is batch2.dtype:
        kinds = [t.dtype.cpp_name for t in (input, batch1, batch2)]
        message = "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(
            *kinds
        )
        raise fail(RuntimeError, message, "Convert one of them: matrix products do not mix dtypes.")
    _check_batches(batch1, batch2)
    a, b = batch1._array.shape, batch2._array.shape
    if (a[0], a[2]) != b[:2]:
        raise fail(
            RuntimeError,
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}].",
            "Each pair must fit: columns of the first are rows of the second.",
        )
    return target


@composite(method=True)
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * batch1 @ batch2`: (b, n, k) and (b, k, m) give (b, n, m); `input` broadcasts. Source:
    torch.baddbmm."""
    _check_baddbmm(input, batch1, batch2)
    return baddbmm_op.call(input, batch1, batch2, beta, alpha)


@composite(method=True, function=False)
def baddbmm_(self, batch1, batch2, *, beta=1, alpha=1):
    """`baddbmm` in place. Source: torch.Tensor.baddbmm_."""
    same_size(self, _check_baddbmm(self, batch1, batch2))
    return written(baddbmm_op, (self, batch1, batch2, beta, alpha), apart=False)
