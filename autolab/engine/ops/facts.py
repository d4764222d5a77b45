"""Functions that are not operations of the graph: is_nonzero, detach_.

Source: https://docs.pytorch.org/docs/2.13/torch.html#tensors
"""

from __future__ import annotations

from .functions import composite


@composite(method=True)
def is_nonzero(input):
    """Return whether the only element is not 0. Raise RuntimeError unless there is exactly one element. Source:
    torch.is_nonzero."""
    return bool(input)


@composite()
def detach_(input):
    """Call `input.detach_()`. Source: torch.detach_."""
    return input.detach_()
