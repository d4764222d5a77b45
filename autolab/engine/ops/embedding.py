"""Looking rows up in a table of vectors. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.embedding.html"""

from __future__ import annotations

from ..devices import demands
from ..core.errors import fail
from ..exact.dtypes import as_indices
from ..kernels.scatter import add_at
from .functions import internal, register


def _embedding(xp, weight, indices, padding_idx, scale_grad_by_freq, sparse):
    if weight.ndim != 2:
        raise fail(RuntimeError, "'weight' must be 2-D", "One row for each index.")
    if indices.dtype.name not in ("int64", "int32"):
        from ..core.dtype import FROM_NUMPY

        raise fail(
            RuntimeError,
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{FROM_NUMPY[indices.dtype].short}Tensor instead (while checking arguments for embedding)",
            "Indices are whole numbers: call .long().",
        )
    rows = weight.shape[0]
    if not rows and indices.size:
        message = "index_select(): self indexing axis dim should be positive"
        raise fail(RuntimeError, message, "The table has no rows, so no index names one.")
    note = f"The table has {rows} rows, numbered from 0 to {rows - 1}."
    demands.in_range(
        xp, indices, 0, rows, lambda bad: fail(IndexError, "index out of range in self", note)
    )
    return weight[indices]


def _dense_backward(xp, grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        grad_output = (
            grad_output
            / xp.bincount(as_indices(indices.ravel()), minlength=num_weights)[indices][..., None]
        ).astype(grad_output.dtype, copy=False)
    grad = xp.zeros((num_weights, grad_output.shape[-1]), grad_output.dtype)
    add_at(xp, grad, indices, grad_output)  # an index may come several times: add up
    if 0 <= padding_idx < num_weights:
        grad[padding_idx] = 0
    return grad


def _dense_backward_rule(m, g, indices, padding_idx):
    rows = m.embedding(g, indices)
    if padding_idx < 0:
        return rows
    return m.masked_fill(rows, m.unsqueeze(indices == padding_idx, -1), 0)


def _weight_rule(m, g, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq):
    settings = weight_sym_argsize_0, padding_idx, scale_grad_by_freq
    return m.embedding_dense_backward(g, indices, *settings)


register(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)",
    method=False,
    forward=_embedding,
    vjp={"weight": _weight_rule},
    also_saves=("sparse",),
    latex=r"{weight}_{{indices}}",
    vjp_latex={"weight": r"\sum_k [{indices}_k = i] \cdot {g}_k"},
    samples=lambda s: [
        (s.randn(4, 2), s.index([1, 3, 1])),
        (s.randn(4, 2), s.index([[0, 1], [1, 2]])),
    ],
    doc="Rows of `weight` by index; `nn.functional.embedding` takes the index first. Source: torch.embedding",
)

internal(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq)",
    forward=_dense_backward,
    node="EmbeddingDenseBackwardBackward0",
    vjp={"grad_output": _dense_backward_rule},
    samples=lambda s: [
        (s.randn(3, 2), s.index([1, 3, 1]), 4, -1, False),
        (s.randn(3, 2), s.index([1, 3, 1]), 4, 3, False),
    ],
)
