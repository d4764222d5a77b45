"""PyTorch's errors for dimensions that are not there, and for arguments that it has and autolab has not."""

from __future__ import annotations

from ..core.errors import fail


def unsupported(function, argument, note=None):
    """Return the NotImplementedError for an argument that PyTorch has and this engine has not."""
    return fail(
        NotImplementedError,
        f"{function}(): argument '{argument}' is not supported by autolab",
        note or f"PyTorch accepts '{argument}' here; autolab refuses it rather than ignoring it. Leave it out.",
    )


def check_dim(dim, ndim):
    """Return `dim` counted from the front, for a tensor of `ndim` dimensions (a 0-d tensor counts as 1-d here).

    Raises IndexError when there is no such dimension.
    """
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    raise fail(
        IndexError,
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})",
        f"The tensor has {ndim} dimension{'' if ndim == 1 else 's'}; they are counted from 0, or from -1 backwards.",
    )


def no_dimensions(dim):
    """PyTorch's error for a dimension of a 0-d tensor, where an op needs a real one."""
    message = f"Dimension specified as {dim} but tensor has no dimensions"
    return fail(IndexError, message, "A 0-d tensor is a single number; unsqueeze(0) makes a list of one.")


def check_dims(dims, ndim):
    """Return the dimensions `dims` (an int or a sequence) counted from the front, as a tuple.

    Raises IndexError when one does not exist and RuntimeError when one appears twice.
    """
    wrapped = tuple(check_dim(dim, ndim) for dim in ((dims,) if isinstance(dims, int) else dims))
    for position, dim in enumerate(wrapped):
        if dim in wrapped[:position]:
            raise fail(
                RuntimeError,
                f"dim {dim} appears multiple times in the list of dims",
                "Name each dimension once; -1 and ndim - 1 are the same dimension.",
            )
    return wrapped
