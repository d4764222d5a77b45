"""Names in PyTorch's profiler: of ops, of the calls it nests inside one op, and of functions made of several ops.

Source: PyTorch 2.13, torch.profiler.
"""

from __future__ import annotations

import functools
import re
from typing import Any

_PYTORCH_NAMES = {
    "unsafe_view": "_unsafe_view",
    "reshape_raw": "_reshape_alias",
    "to_copy": "_to_copy",
    "to_device": "_to_copy",
    "matmul_raw": "matmul",
    "sum_to": "sum",
    "index_spread": "index_put",
    "strided_take": "as_strided",
    "strided_spread": "as_strided_scatter",
    "strided_put": "as_strided_scatter",
    "max_pool2d_indices": "max_pool2d_with_indices",
    "unique_values": "_unique2",
}
"""What PyTorch calls the ops whose name or node does not tell."""


@functools.cache
def aten_name(op: Any) -> str:
    """Return PyTorch's name of an op: 'aten::mul', also for the variant that multiplies by a number."""
    name = _PYTORCH_NAMES.get(op.name, op.name)
    base = re.sub(r"Backward\d*$", "", op.node)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", base).lower()
    if op.name.startswith(snake + "_") or (
        base.endswith("Backward") and not op.name.endswith("backward")
    ):
        name = snake
    return "aten::" + name


def _chains(text):
    """Return {innermost or only name: the names from outer to inner} of lines 'a > b > c'; the key is autolab's name of
    the op."""
    chains = {}
    for line in text.split("\n"):
        if line.strip():
            key, _, names = line.strip().partition(": ")
            chains[f"aten::{key}"] = tuple(f"aten::{name}" for name in names.split(" > "))
    return chains


LAYERS = _chains("""
    relu: relu > clamp_min
    relu_: relu_ > clamp_min_
    t: t > transpose > as_strided
    transpose: transpose > as_strided
    permute: permute > as_strided
    expand: expand > as_strided
    select: select > as_strided
    slice: slice > as_strided
    squeeze: squeeze > as_strided
    unsqueeze: unsqueeze > as_strided
    diagonal: diagonal > as_strided
    unfold: unfold > as_strided
    narrow: narrow > slice > as_strided
    max_pool2d: max_pool2d > max_pool2d_with_indices
    convolution: convolution > _convolution
    nll_loss: nll_loss_nd > nll_loss > nll_loss_forward
    nll_loss2d: nll_loss_nd > nll_loss2d > nll_loss2d_forward
    _log_softmax: log_softmax > _log_softmax
    _softmax: softmax > _softmax
    rsub: rsub > sub
    stack: stack > cat
    isnan: isnan > ne
    embedding: embedding > index_select
    log_sigmoid: log_sigmoid > log_sigmoid_forward
    logcumsumexp: logcumsumexp > _logcumsumexp
    linalg_inv: linalg_inv > linalg_inv_ex
    linalg_solve: linalg_solve > linalg_solve_ex > _linalg_solve_ex
    native_batch_norm: batch_norm > _batch_norm_impl_index > native_batch_norm
    native_layer_norm: layer_norm > native_layer_norm
    native_group_norm: group_norm > native_group_norm
    _reshape_alias: reshape > view
""")
"""What PyTorch shows for one op of ours: the outer call first. Calls of one op that do nothing here (`empty`,
`resolve_conj`) are left out."""

COMPUTED_WHOLE = {
    "MaxPool2DWithIndicesBackward0": "aten::max_pool2d_with_indices_backward",
    "NativeBatchNormBackward0": "aten::native_batch_norm_backward",
    "NativeLayerNormBackward0": "aten::native_layer_norm_backward",
    "NativeGroupNormBackward0": "aten::native_group_norm_backward",
}
"""Nodes whose gradients one kernel computes, and what PyTorch calls it."""

MADE_BY = {
    f"aten::{name}": tuple(f"aten::{part}" for part in parts.split())
    for name, parts in {
        "ones": "empty fill_",
        "zeros": "empty zero_",
        "full": "empty fill_",
        "rand": "empty uniform_",
        "randn": "empty normal_",
        "randint": "empty random_",
        "arange": "empty arange",
        "linspace": "empty linspace",
        "eye": "empty eye",
        "randperm": "empty randperm",
        "ones_like": "empty_like fill_",
        "zeros_like": "empty_like zero_",
        "full_like": "empty_like fill_",
        "rand_like": "empty_like uniform_",
        "randn_like": "empty_like normal_",
        "randint_like": "empty_like random_",
    }.items()
}
"""Functions that make tensors: who allocates the memory, who fills it."""

COMPOSED = frozenset(
    """
    prelu add sub div pow square reshape permute movedim squeeze flatten ravel unflatten narrow conv1d conv2d conv_transpose1d
    conv_transpose2d broadcast_to broadcast_tensors tile repeat_interleave mv dot vdot bmm addmm addmv matmul outer inner
    tensordot kron einsum zeros ones empty full zeros_like ones_like empty_like full_like arange linspace logspace eye
    tril_indices triu_indices meshgrid select stack hstack vstack split chunk unbind tensor_split slogdet logdet cholesky
    matrix_power batch_norm layer_norm group_norm pixel_shuffle scatter scatter_add nonzero argwhere
    take_along_dim max_pool2d max_pool1d avg_pool1d adaptive_avg_pool1d roll diag rand randn randint randperm rand_like randn_like
    randint_like normal bernoulli multinomial softmax log_softmax linear pad avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d
    view_as reshape_as sum_to_size expand_as repeat new_zeros new_ones new_empty new_full copy_ to type_as zero_ fill_
    uniform_ normal_ exponential_ random_ bernoulli_ log_normal_ cauchy_ geometric_ detach dropout embedding one_hot
    cosine_similarity binary_cross_entropy binary_cross_entropy_with_logits nll_loss kl_div l1_loss mse_loss smooth_l1_loss
    huber_loss cosine_embedding_loss instance_norm rms_norm
    relu6 selu selu_ glu cross_entropy searchsorted bucketize histc bincount
    """.split()
)
"""Functions made of several ops that PyTorch shows as a call of its own."""

INLINED = {("aten::flatten", "aten::reshape")}
"""(function, function that it calls here, which PyTorch does not show inside it)."""

RENAMED = {"cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd"} | dict.fromkeys(
    ("float", "double", "half", "long", "int", "bool"), "to"
)
"""Functions that PyTorch shows under another name."""
