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
    bags = [
        [row for row in entries[a:b] if row != padding_idx]
        for a, b in zip(starts, [*starts[1:], len(entries)])
    ]
    places = lambda numbers: autolab.tensor(numbers, dtype=autolab.int64, device=weight.device)
    rows = weight.index_select(0, places([row for bag in bags for row in bag]))
    if mode == "max":
        return _largest(rows, bags)
    owner = places([number for number, bag in enumerate(bags) for _ in bag])
    total = weight.new_zeros((len(bags), weight.size(1))).index_add(0, owner, rows)
    if mode == "sum":
        return total
    counts = autolab.tensor(
        [max(len(bag), 1) for bag in bags], dtype=weight.dtype, device=weight.device
    )
    return total / counts.unsqueeze(1)


def _largest(rows, bags):
    """The maximum of each bag's rows, number by number; its gradient goes to the first row that has it."""
    found, start = [], 0
    for bag in bags:
        part = rows[start : start + len(bag)]
        found.append(part.max(0).values if bag else rows.new_zeros((rows.size(1),)))
        start += len(bag)
    return autolab.stack(found) if found else rows.new_zeros((0, rows.size(1)))


def _as_bags(input, weight, offsets):
    """Return (row numbers in one line, where each bag begins)."""
    if weight.dim() != 2:
        raise fail(
            ValueError,
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}",
            "A table of rows.",
        )
    if input.dim() == 2:
        if offsets is not None:
            raise fail(
                ValueError,
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}",
                "Each row of the input is a bag already.",
            )
        starts = (
            list(range(0, input.numel(), input.size(1))) if input.size(1) else [0] * input.size(0)
        )
        return input.reshape(-1), starts
    if input.dim() != 1:
        raise fail(
            ValueError,
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}",
            "Bags by numbers, or all numbers in one line.",
        )
    if offsets is None or offsets.dim() != 1:
        got = " but got None" if offsets is None else ""
        raise fail(
            ValueError, f"offsets has to be a 1D Tensor{got}", "It says where each bag begins."
        )
    starts = offsets.tolist()
    if starts and starts[0] != 0:
        raise fail(
            RuntimeError,
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {starts[0]}",
            "Otherwise the first numbers would belong to no bag.",
        )
    if starts and starts[-1] > input.numel():
        raise fail(
            RuntimeError,
            f"offsets[-1] can not be greater than input's length {input.numel()} but got offsets[-1] of {starts[-1]}",
            "A bag begins inside the input, or at its end when it is empty.",
        )
    return input, starts


def _check_rows(input, weight):
    if input.dtype not in (autolab.int64, autolab.int32):
        raise fail(
            RuntimeError,
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.short}Tensor instead (while checking arguments for embedding_bag)",
            "Row numbers are whole numbers.",
        )
    for place, row in enumerate(input.tolist()):
        if not 0 <= row < weight.size(0):
            raise fail(
                RuntimeError,
                f"Index {place} of input takes value {row} which is not in the valid range [0, {weight.size(0)})",
                "The table has no such row.",
            )
