"""Flatten and Unflatten as layers. Source: https://docs.pytorch.org/docs/stable/nn.html#utilities"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.engine.core.errors import fail
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class Flatten(Module):
    """Joins the dimensions `start_dim` to `end_dim` into one; by default all but the batch dimension.

    Example:

        >>> nn.Flatten()(torch.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """`input.flatten(start_dim, end_dim)`."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The two dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension `dim` into several of the sizes `unflattened_size` (a tuple of ints, one may be -1)."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise fail(
                TypeError,
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}",
                "Write for example Unflatten(1, (3, 4)).",
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise fail(
                    TypeError,
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}",
                    "Sizes are whole numbers.",
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """`input.unflatten(dim, unflattened_size)`."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and its new sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
