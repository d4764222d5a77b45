"""What one asks a tensor without computing with it: is_nonzero, is_same_size, is_signed.

Source: https://docs.pytorch.org/docs/2.13/torch.html#tensors"""

from __future__ import annotations

from ..arguments import check_tensor, check_tensors
from ..overloading import public


@public("is_nonzero")
def is_nonzero(input):
    """Whether the only element is not 0. Raises RuntimeError unless there is one element. Source: torch.is_nonzero."""
    check_tensor("is_nonzero", input)
    return bool(input)


@public("is_same_size")
def is_same_size(input, other):
    """Whether both tensors have the same shape. Source: torch.is_same_size."""
    check_tensors("is_same_size", 1, input=input, other=other)
    return input.shape == other.shape


@public("is_signed")
def is_signed(input):
    """Whether numbers of the tensor's dtype have a sign: not so for uint8 and bool. Source: torch.is_signed."""
    check_tensor("is_signed", input)
    return input.dtype.is_signed
