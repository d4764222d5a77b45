"""Look up rows in a table of vectors. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.embedding.html"""

from __future__ import annotations

from ..devices import demands
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..kernels.scatter import add_at
from .checks import refuse_if
from .functions import internal
from .with_backward import rule


def _embedding(xp, weight, indices, padding_idx):
    refuse_if(weight.ndim != 2, "'weight' must be 2-D", "One row for each index.")
    refuse_if(
        indices.dtype.name not in ("int64", "int32"),
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        f"torch.{FROM_NUMPY[indices.dtype].short}Tensor instead (while checking arguments for embedding)",
        "Indices are whole numbers: call .long().",
    )
    rows = weight.shape[0]
    note = f"The table has {rows} rows, numbered from 0 to {rows - 1}."
    demands.in_range(
        xp, indices, 0, rows, lambda bad: fail(IndexError, "index out of range in self", note)
    )
    return weight[indices]


def _dense_backward(xp, grad_output, indices, num_weights, padding_idx):
    grad = xp.zeros((num_weights, grad_output.shape[-1]), grad_output.dtype)
    add_at(xp, grad, indices, grad_output)  # an index may repeat, so add up
    if 0 <= padding_idx < num_weights:
        grad[padding_idx] = 0
    return grad


def _dense_backward_rule(m, g, indices, padding_idx):
    rows = m.embedding(g, indices)
    if padding_idx < 0:
        return rows
    return m.masked_fill(rows, m.unsqueeze(indices == padding_idx, -1), 0)


internal(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1)",
    forward=_embedding,
    vjp={
        "weight": rule("embedding_dense_backward", "indices", "weight_sym_argsize_0", "padding_idx")
    },
    latex=r"{weight}_{{indices}}",
    vjp_latex={"weight": r"\sum_k [{indices}_k = i] \cdot {g}_k"},
    samples=lambda s: [(s.randn(4, 2), s.index([[0, 1], [1, 2]]))],
)

internal(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx)",
    forward=_dense_backward,
    node="EmbeddingDenseBackwardBackward0",
    vjp={"grad_output": _dense_backward_rule},
)
