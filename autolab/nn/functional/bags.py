"""Embedding bags: rows of a table, combined in groups.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.EmbeddingBag.html
"""

from __future__ import annotations

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.record import OPS


def join_bags(input, weight, offsets, mode, padding_idx):
    """Return the sum, mean or maximum of the rows of weight (rows, dim) in each bag: (bags, dim).

    input: row numbers (bags, n), or (all,) with offsets (bags,), the start of each bag. An empty bag gives zeros, and
    the row `padding_idx` is not counted. Raise ValueError or RuntimeError for wrong arguments.
    """
    if mode not in ("sum", "mean", "max"):
        raise fail(ValueError, "mode has to be one of sum, mean or max", f"It is {mode!r}.")
    numbers, starts = _as_bags(input, offsets)
    if outside := [(i, row) for i, row in enumerate(numbers) if not 0 <= row < len(weight)]:
        message = "Index {} of input takes value {} which is not in the valid range "
        message = message.format(*outside[0]) + f"[0, {len(weight)})"
        raise fail(RuntimeError, message, "padding_idx must be the number of a row of the table.")
    ends = [*starts[1:], len(numbers)]
    bags = [[row for row in numbers[a:b] if row != padding_idx] for a, b in zip(starts, ends)]
    places = lambda numbers: autolab.tensor(numbers, dtype=autolab.int64, device=weight.device)
    rows = weight.index_select(0, places([row for bag in bags for row in bag]))
    if mode == "max":
        return _largest(rows, bags)
    owner = places([number for number, bag in enumerate(bags) for _ in bag]).unsqueeze(1)
    zeros = weight.new_zeros((len(bags), weight.size(1)))
    total = OPS["scatter_add"].call(zeros, 0, owner.expand(rows.shape), rows)
    if mode == "sum":
        return total
    return total / places([max(len(bag), 1) for bag in bags]).to(weight.dtype).unsqueeze(1)


def _largest(rows, bags):
    """Return the elementwise maximum of each bag's rows; the gradient goes to the first row that has it."""
    parts = rows.split([len(bag) for bag in bags], 0)
    zeros = rows.new_zeros((rows.size(1),))
    largest = [part.max(0).values if len(part) else zeros for part in parts]
    return autolab.stack(largest) if largest else rows.new_zeros((0, rows.size(1)))


def _as_bags(input, offsets):
    """Return (row numbers in one list, the start of each bag). Raise ValueError for wrong arguments."""
    if input.dim() == 2 and offsets is None:
        return input.flatten().tolist(), [i * input.size(1) for i in range(input.size(0))]
    if input.dim() == 1 and offsets is not None and offsets.dim() == 1:
        return input.tolist(), offsets.tolist()
    message = "offsets has to be a 1D Tensor" + " but got None" * (offsets is None)
    if input.dim() != 1:
        message = f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
    if input.dim() == 2:
        message = "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
        message += f"sequences. However, found offsets of type {type(offsets)}"
    note = (
        "Pass a 2-D input (bags, indices), or a 1-D input and `offsets` with the start of each bag."
    )
    raise fail(ValueError, message, note)
