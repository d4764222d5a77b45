"""The layers Flatten and Unflatten. Source: https://docs.pytorch.org/docs/stable/nn.html#utilities"""

from __future__ import annotations

import autolab
from autolab.engine.core.errors import fail
from autolab.nn.modules.layer import Layer


class Flatten(Layer, function=autolab.flatten):
    """Merge the dimensions `start_dim` to `end_dim` into one; by default all but the batch dimension.

    Example:

        >>> nn.Flatten()(torch.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    start_dim: int = 1
    end_dim: int = -1


class Unflatten(Layer, function=autolab.unflatten):
    """Split the dimension `dim` into dimensions of the sizes `unflattened_size` (a tuple of ints, one may be -1)."""

    dim: int
    unflattened_size: tuple[int, ...]

    def _set_up(self, settings):
        super()._set_up(settings)
        sizes = self.unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise fail(
                TypeError,
                f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}",
                "Write for example Unflatten(1, (3, 4)).",
            )
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise fail(
                    TypeError,
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}",
                    "Sizes are whole numbers.",
                )
