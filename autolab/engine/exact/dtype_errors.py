"""PyTorch's errors for dtypes that an operation does not accept."""

from __future__ import annotations

from ..core.dtype import FROM_NUMPY
from ..core.errors import fail


def no_kernel(name, *refused):
    """Return a check for an op's record that refuses dtypes of the kinds `refused` ("Bool", "Complex"), for which torch
    has no kernel `name`.

    The check raises NotImplementedError in torch's words."""

    def check(dtypes, promoted):
        if promoted.short.startswith(refused):
            raise fail(
                NotImplementedError,
                f"\"{name}\" not implemented for '{promoted.short}'",
                "Remainders need real numbers. Convert first, for example with .float() or .abs().",
            )

    return check


def not_implemented(torch_name, d):
    """Return the error for a dtype for which PyTorch has no kernel."""
    return fail(
        NotImplementedError,
        f"\"{torch_name}\" not implemented for '{FROM_NUMPY[d].short}'",
        "This function needs floating-point numbers. Call .float() first.",
    )


WHOLE = ("Bool", "Byte", "Char", "Short", "Int", "Long")
"""The dtype kinds of integers and bool, for `no_kernel`."""
