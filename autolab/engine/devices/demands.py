"""What an op demands of the numbers in its arguments: an index in range, a probability between 0 and 1.

On the CPU such a check raises at once. A GPU is still computing when the op returns, and to look at its numbers the
host would have to wait; so the check goes into the queue too, and the error comes at the next wait, as CUDA's
device-side assertions do.
"""

from __future__ import annotations

import numpy as np

from ..core.device import of
from ..core.errors import fail
from .backend import AcceleratorError


def in_range(xp, index, low, high, error):
    """Demands low <= index < high of every entry. error: makes the exception from one offending entry."""
    if not index.size:
        return
    if xp is np:
        least, most = index.min(), index.max()
        if least < low or most >= high:
            raise error(int(most if most >= high else least))
    else:
        of(index).backend.demand_none(
            (index < low) | (index >= high), f"an index was not within {low} … {high - 1}"
        )


def none(xp, wrong, error):
    """Demands that no entry of the bool array `wrong` is true. error: makes the exception."""
    if xp is np:
        if wrong.any():
            raise error()
    else:
        of(wrong).backend.demand_none(wrong, error().args[0])


def device_side(message):
    """The exception of a demand that was not met on a GPU, in PyTorch's words. Source: torch.AcceleratorError."""
    return fail(
        AcceleratorError,
        "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to "
        "enable device-side assertions.\n",
        f"An earlier operation on the GPU found: {message}. It is told here because this is the first time that the host waited; run the same "
        "code on the CPU to be told where.",
    )
