"""`addmm_`: a product of matrices added in place (addmm is in `../matmul.py`).

Source: https://docs.pytorch.org/docs/2.13/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

from ...core.errors import fail
from ...exact.refusals import check_dim
from ..functions import composite
from ..indexing import written
from ..matmul import addmm_op, check_addmm


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
