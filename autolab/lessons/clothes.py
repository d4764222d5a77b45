"""Pictures of clothes that are drawn, not photographed: they stand in where Fashion-MNIST is not on the computer."""

from __future__ import annotations

from typing import Any

import numpy as np

import autolab as torch

KINDS = ("T-shirt", "trousers", "pullover", "dress", "bag", "boot")


def clothes(count: int, seed: int = 0, size: int = 28) -> tuple[Any, Any]:
    """Return `count` drawings, float32 (count, 1, size, size) from 0 to 1, and their kinds, int64 (count,).

    A kind is its place in `KINDS`. Each drawing has a width, height, turn, place and shade of its own, and some noise.

    Example:

        >>> from autolab.lessons.clothes import clothes
        >>> images, labels = clothes(12)
        >>> images.shape, labels.tolist()
        (torch.Size([12, 1, 28, 28]), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5])
    """
    draw = np.random.default_rng(seed)
    labels = np.arange(count) % len(KINDS)
    pictures = np.stack([_picture(KINDS[label], draw, size) for label in labels])
    return torch.from_numpy(pictures[:, None].astype(np.float32)), torch.from_numpy(labels)


def _picture(kind: str, draw: np.random.Generator, size: int) -> np.ndarray:
    across, down = np.meshgrid(*[np.linspace(-1, 1, size)] * 2)
    turn = draw.normal(0, 0.12)
    x = (across * np.cos(turn) - down * np.sin(turn)) / draw.uniform(0.75, 1.1) + draw.normal(
        0, 0.06
    )
    y = (across * np.sin(turn) + down * np.cos(turn)) / draw.uniform(0.85, 1.1) + draw.normal(
        0, 0.06
    )
    shade = draw.uniform(0.4, 1.0) + draw.normal(0, 0.1, x.shape)
    return np.clip(_shape(kind, x, y) * shade, 0, 1)


def _shape(kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return where the garment is. x runs to the right and y down, both from -1 to 1."""
    side, whole = np.abs(x), (y > -0.8) & (y < 0.8)
    torso = (side < 0.45) & whole
    return {
        "T-shirt": torso | ((side < 0.85) & (y > -0.8) & (y < -0.3)),
        "trousers": whole & (side < 0.5) & ((side > 0.1) | (y < -0.4)),
        "pullover": torso
        | ((side > 0.55) & (side < 0.8) & (y > -0.8) & (y < 0.6))
        | ((side < 0.8) & (y > -0.8) & (y < -0.5)),
        "dress": whole & (side < 0.35 + 0.25 * y),
        "bag": ((side < 0.75) & (y > -0.1) & (y < 0.7))
        | (np.abs(np.hypot(x, y + 0.1) - 0.45) < 0.08),
        "boot": ((x > -0.5) & (x < 0.05) & whole)
        | ((x > -0.5) & (x < 0.75) & (y > 0.25) & (y < 0.8)),
    }[kind]
