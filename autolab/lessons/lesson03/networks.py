"""A small network with the names of a ResNet, on which the checkers of lesson 3 try answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import autolab as torch
from autolab import nn


class Small(nn.Module):
    """Map (N, 5) to (N, classes): layer1 and bn1, layer2 and bn2, dropout, and the head fc with `width` inputs."""

    def __init__(self, width: int = 4, classes: int = 3) -> None:
        super().__init__()
        self.layer1, self.bn1 = nn.Linear(5, 6), nn.BatchNorm1d(6)
        self.layer2, self.bn2 = nn.Linear(6, width), nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        """Return logits of shape (N, classes)."""
        x = self.bn1(self.layer1(x)).relu()
        return self.fc(self.dropout(self.bn2(self.layer2(x)).relu()))


def small(seed: int = 0, **sizes: int) -> Small:
    """Return the network with the weights of one seed, in training mode, and leave the random stream as it is."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Small(**sizes)


def batch(seed: int = 0, count: int = 8, classes: int = 3) -> tuple[Any, Any]:
    """Return inputs (count, 5) and class numbers (count,)."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(count, 5, generator=draw), torch.randint(
        0, classes, (count,), generator=draw
    )


def undisturbed(observe: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return an observation that uses the same random numbers in every try and leaves the learner's stream as it is."""

    @wraps(observe)
    def run(*args: Any) -> dict[str, Any]:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return observe(*args)

    return run


def body(model: Any) -> dict[str, Any]:
    """Return copies of all weights and statistics except those of the head."""
    return {
        name: value.clone()
        for name, value in model.state_dict().items()
        if not name.startswith("fc.")
    }


def unchanged(model: Any, before: dict[str, Any]) -> bool:
    """Return whether the body is bit for bit as `body(model)` returned it."""
    now = model.state_dict()
    return all(name in now and torch.equal(now[name], value) for name, value in before.items())
