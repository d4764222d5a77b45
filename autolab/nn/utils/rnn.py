"""Batches of sequences of different lengths: padded with zeros, or packed without padding.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pack_padded_sequence.html
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Sequence
from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.core.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence",
]  # fmt: skip


class PackedSequence(
    namedtuple("PackedSequence", "data batch_sizes sorted_indices unsorted_indices")
):
    """Sequences sorted by length, longest first, and stored step by step: data (all steps, *) has batch_sizes[t] rows
    for step t.

    sorted_indices: the order of the sequences; unsorted_indices: the inverse order. pack_padded_sequence and
    pack_sequence make this object.
    """

    def __new__(cls, data, batch_sizes, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence with data of another dtype or on another device; `self` if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        move = lambda t: None if t is None else t.to(data.device)
        return type(self)(
            data, self.batch_sizes, move(self.sorted_indices), move(self.unsorted_indices)
        )


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation (a 1-d tensor of positions); None for None."""
    if permutation is None:
        return None
    positions = autolab.arange(0, permutation.numel(), device=permutation.device)
    return autolab.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack input (steps, batch, *), or (batch, steps, *) with batch_first; sequence i has lengths[i] steps.

    enforce_sorted: the sequences are already sorted, longest first; otherwise this function sorts them. Raise
    RuntimeError for lengths that are not sorted, not positive, or not one per sequence."""
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=autolab.int64)
    else:
        lengths = autolab.as_tensor(lengths, dtype=autolab.int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = autolab.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    sizes = _batch_sizes(lengths.tolist(), input.size(1))  # type: ignore[union-attr]
    batch = input.size(1)
    rows = autolab.tensor(
        [t * batch + i for t, n in enumerate(sizes) for i in range(n)], device=input.device
    )
    flat = input.reshape(-1, *input.shape[2:])
    return PackedSequence(flat.index_select(0, rows), autolab.tensor(sizes, device="cpu"), order)


def _batch_sizes(lengths, batch):
    """Check the lengths, and return how many sequences are still active at each step."""
    checks = [
        (
            len(lengths) == batch,
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})",
            "One length for each sequence.",
        ),
        (
            not lengths or lengths[-1] > 0,
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
            "Leave empty sequences out.",
        ),
        (
            all(a >= b for a, b in zip(lengths, lengths[1:])),
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
            "not need ONNX exportability.",
            "At each step the sequences that go on are the first ones of the batch.",
        ),
    ]
    for holds, message, note in checks:
        if not holds:
            raise fail(RuntimeError, message, note)
    return [sum(n > t for n in lengths) for t in range(lengths[0] if lengths else 0)]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (padded, lengths), the inverse of pack_padded_sequence."""
    data, batch_sizes, _, back = sequence
    sizes = batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        raise unsupported("pad_packed_sequence", "total_length", "Pad the result: F.pad.")
    padded = data.new_full((steps, sizes[0], *data.shape[1:]), padding_value)
    row = step = 0
    while step < len(
        sizes
    ):  # as in PyTorch, join steps of equal batch size, so that the graph has as few nodes
        n, many = sizes[step], sizes.count(sizes[step])
        padded[step : step + many, :n] = data[row : row + many * n].view(many, n, *data.shape[1:])
        row, step = row + many * n, step + many
    lengths = autolab.tensor([sum(n > i for n in sizes) for i in range(sizes[0])], device="cpu")
    if batch_first:
        padded = padded.transpose(0, 1)
    if back is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Return one tensor (longest, batch, *), or (batch, longest, *) with batch_first, from tensors (length_i, *).

    Shorter tensors are padded at their end. Raise RuntimeError if `sequences` is not a sequence, or is empty."""
    message = ""
    if not isinstance(sequences, Iterable):
        message = f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
    elif not (sequences := tuple(sequences)):
        message = "received an empty list of sequences"
    if message:
        raise fail(RuntimeError, message, "Pass a list of tensors.")
    if padding_side != "right":
        raise unsupported("pad_sequence", "padding_side", "Turn with flip(0) before and after.")
    longest, first = max(s.size(0) for s in sequences), sequences[0]
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded = first.new_full((*shape, *first.shape[1:]), padding_value)
    for i, s in enumerate(sequences):
        place = slice(s.size(0))
        padded[(i, place) if batch_first else (place, i)] = s
    return padded


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of tensors (length_i, *)."""
    lengths = autolab.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)
