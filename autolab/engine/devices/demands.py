"""Checks on the values of arguments that also work on a GPU: an index in range, a probability between 0 and 1.

On the CPU a failed check raises at once. A GPU is still computing when the op returns, and the host would have to wait
to read its numbers. So the check is put into the queue too, and the error is raised at the next wait, as with CUDA's
device-side assertions.
"""

from __future__ import annotations

import numpy as np

from ..core.device import of
from ..core.errors import fail
from .backend import AcceleratorError


def in_range(xp, index, low, high, error):
    """Check low <= index < high for every entry. error: a function that makes the exception from one wrong entry."""
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
    """Check that no entry of the bool array `wrong` is true. error: a function that makes the exception."""
    if xp is np:
        if wrong.any():
            raise error()
    else:
        of(wrong).backend.demand_none(wrong, error().args[0])


def device_side(message):
    """Return the exception for a failed check on a GPU, in PyTorch's words. Source: torch.AcceleratorError."""
    return fail(
        AcceleratorError,
        "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to "
        "enable device-side assertions.\n",
        f"An earlier operation on the GPU found: {message}. It is told here because this is the first time that the host waited; run the same "
        "code on the CPU to be told where.",
    )
