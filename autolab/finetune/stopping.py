"""Early stopping. Source: L. Prechelt, "Early Stopping - But When?", 1998, https://doi.org/10.1007/3-540-49430-8_3"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Literal

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.modules.module import Module


class EarlyStopping:
    """Says when a validation loss (or accuracy) has stopped getting better, and keeps the best weights.

    patience: so many values without improvement stop the training. min_delta: what counts as improvement. mode: "min"
    for losses, "max" for accuracies. A NaN is no improvement. `best` is the best value, `best_at` its number (from 0),
    `stale` how many values came since. Raises ValueError for settings that make no sense.

        stopping = EarlyStopping(patience=5)
        for epoch in range(100):
            ...
            if stopping.step(validation_loss, model):
                break
        stopping.restore(model)
    """

    def __init__(
        self, patience: int = 5, min_delta: float = 0.0, mode: Literal["min", "max"] = "min"
    ) -> None:
        if not isinstance(patience, int) or patience < 1:
            raise fail(
                ValueError,
                f"patience should be an integer of at least 1, but got {patience}",
                "patience counts epochs without an improvement.",
            )
        if not min_delta >= 0:
            raise fail(
                ValueError,
                f"min_delta should be at least 0, but got {min_delta}",
                "The sign comes from mode, so min_delta itself is not negative.",
            )
        if mode not in ("min", "max"):
            raise fail(
                ValueError,
                f"mode should be 'min' or 'max', but got {mode!r}",
                'Use "min" for a loss and "max" for an accuracy.',
            )
        self.patience, self.min_delta, self.mode = patience, min_delta, mode
        self.best: float | None = None
        self.best_at: int | None = None
        self.stale, self.seen = 0, 0
        self._weights: dict[str, Any] | None = None

    def step(self, value: float | Tensor, model: Module | None = None) -> bool:
        """Take in the newest value, and `model`'s weights if it is the best. Returns whether to stop."""
        value = float(value)
        if self._is_better(value):
            self.best, self.best_at, self.stale = value, self.seen, 0
            self._weights = None if model is None else deepcopy(model.state_dict())
        else:
            self.stale += 1
        self.seen += 1
        return self.stale >= self.patience

    def _is_better(self, value: float) -> bool:
        if self.best is None:
            return value == value
        gain = self.best - value if self.mode == "min" else value - self.best
        return gain > self.min_delta

    def restore(self, model: Module) -> None:
        """Give `model` the weights and running statistics it had at the best value. Raises RuntimeError without any."""
        if self._weights is None:
            raise fail(
                RuntimeError, "no weights were kept", "Pass the model: stopping.step(value, model)."
            )
        model.load_state_dict(self._weights)
