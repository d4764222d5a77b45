"""Products added to something: baddbmm, and addmm in place (addmm is in `../matmul.py`).

Source: https://docs.pytorch.org/docs/2.13/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

from ...core.errors import fail
from ...exact.refusals import check_dim
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


# -- batches of matrices -----------------------------------------------------------------------------------------------
def _size(t, dim):
    return t._array.shape[check_dim(dim, t._array.ndim)]


def _check_batches(batch1, batch2):
    for name, t in (("batch1", batch1), ("batch2", batch2)):
        if t._array.ndim != 3:
            raise fail(
                RuntimeError, f"{name} must be a 3D tensor", "The first dimension counts the pairs."
            )


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
