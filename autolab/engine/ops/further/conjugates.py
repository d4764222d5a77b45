"""The conjugates of real numbers: the numbers themselves. There are no gradients of complex tensors
(docs/differences.md)."""

from __future__ import annotations

from ..functions import composite
from ..checks import refuse_if


@composite(method=True)
def conj(input):
    """Return the tensor itself. Raises NotImplementedError for complex numbers. Source: torch.conj."""
    refuse_if(
        input.dtype.is_complex,
        "conj of complex numbers is not supported by autolab",
        "Complex tensors are for arithmetic and printing only here.",
        NotImplementedError,
    )
    return input
