"""Embedding bags: rows of a table joined group by group.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.embedding_bag.html
"""

from __future__ import annotations

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.core.tensor import Tensor


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sum, mean or maximum of rows of weight (rows, dim), one for each bag: (bags, dim).

    input: (bags, n) of row numbers, or (all,) with offsets (bags,): where each bag begins. An empty bag gives zeros,
    and the row `padding_idx` does not count. Raises ValueError or RuntimeError for what does not fit,
    NotImplementedError for options that courses do not use.
    """
    refused = {
        "scale_grad_by_freq": scale_grad_by_freq,
        "sparse": sparse,
        "max_norm": max_norm is not None,
        "per_sample_weights": per_sample_weights is not None,
        "include_last_offset": include_last_offset,
    }
    for name, value in refused.items():
        if value:
            raise unsupported("embedding_bag", name)
    input, starts = _as_bags(input, weight, offsets)
    if mode not in ("sum", "mean", "max"):
        raise fail(ValueError, "mode has to be one of sum, mean or max", f"It is {mode!r}.")
    _check_rows(input, weight)
    entries = input.tolist()
    ends = [*starts[1:], len(entries)]
    bags = [[row for row in entries[a:b] if row != padding_idx] for a, b in zip(starts, ends)]
    places = lambda numbers: autolab.tensor(numbers, dtype=autolab.int64, device=weight.device)
    rows = weight.index_select(0, places([row for bag in bags for row in bag]))
    if mode == "max":
        return _largest(rows, bags)
    owner = places([number for number, bag in enumerate(bags) for _ in bag])
    total = weight.new_zeros((len(bags), weight.size(1))).index_add(0, owner, rows)
    if mode == "sum":
        return total
    return total / places([max(len(bag), 1) for bag in bags]).to(weight.dtype).unsqueeze(1)


def _largest(rows, bags):
    """Return the maximum of each bag's rows, number by number; its gradient goes to the first row that has it."""
    parts = rows.split([len(bag) for bag in bags], 0)
    zeros = rows.new_zeros((rows.size(1),))
    largest = [part.max(0).values if len(part) else zeros for part in parts]
    return autolab.stack(largest) if largest else rows.new_zeros((0, rows.size(1)))


def _as_bags(input, weight, offsets):
    """Return (row numbers in one line, where each bag begins); raise PyTorch's errors for what does not fit."""
    starts = [] if offsets is None or offsets.dim() != 1 else offsets.tolist()
    if input.dim() == 2 and offsets is None:
        starts = [i * input.size(1) for i in range(input.size(0))]
    first, last = (starts[0], starts[-1]) if starts else (0, 0)
    got = " but got None" if offsets is None else ""
    checks = [
        (
            weight.dim() == 2,
            ValueError,
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}",
        ),
        (
            input.dim() != 2 or offsets is None,
            ValueError,
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}",
        ),
        (
            input.dim() in (1, 2),
            ValueError,
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}",
        ),
        (
            input.dim() == 2 or (offsets is not None and offsets.dim() == 1),
            ValueError,
            f"offsets has to be a 1D Tensor{got}",
        ),
        (
            first == 0,
            RuntimeError,
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {first}",
        ),
        (
            last <= input.numel(),
            RuntimeError,
            f"offsets[-1] can not be greater than input's length {input.numel()} but got offsets[-1] of {last}",
        ),
    ]
    for holds, kind, message in checks:
        if not holds:
            note = "The input is bags by numbers, or all numbers in one line and in `offsets` where each bag begins."
            raise fail(kind, message, note)
    return input.reshape(-1), starts


def _check_rows(input, weight):
    rows = weight.size(0)
    message = note = ""
    if input.dtype not in (autolab.int64, autolab.int32):
        message = (
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.short}Tensor instead (while checking arguments for embedding_bag)"
        )
        note = "Row numbers are whole numbers."
    elif outside := [(i, row) for i, row in enumerate(input.tolist()) if not 0 <= row < rows]:
        message = "Index {} of input takes value {} which is not in the valid range ".format(
            *outside[0]
        )
        message, note = message + f"[0, {rows})", "The table has no such row."
    if message:
        raise fail(RuntimeError, message, note)
