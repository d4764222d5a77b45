"""A pad of 32x32 pixels to draw a digit on: by mouse, pen, finger or keyboard."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import traitlets as t

from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from ..viz import palette
from . import assets
from .displayed import Displayed
from .predict import _readable

SIDE = 32


class DrawDigit(Displayed):
    """A pad to draw a digit on.

    image: the initial picture: 32x32 numbers from 0 (paper) to 1 (ink), as a tensor or an array (32, 32) or (1, 32,
        32); None: empty. label: which digit it is meant to be, 0 to 9; the learner may choose another.

    Draw with mouse, pen or finger. By keyboard: arrow keys move the pen, the space bar puts it down and lifts it.
    `image` is the present picture, `label` the intended digit. Traits: `pixels` (two hexadecimal digits each,
    row by row), `label`, `probabilities`.

    network: a function of a batch of pictures (1, 1, 32, 32) that returns ten scores for each; its ten probabilities
    stand beside the pad, and change while you draw. None: there are none.

    Raises ValueError for other shapes, numbers and labels.

    Example:

        >>> import autolab
        >>> pad = autolab.DrawDigit(label=7)
        >>> pad.image.shape, pad.label, pad.blank
        (torch.Size([1, 32, 32]), 7, True)
    """

    _esm = assets.loader("digit")
    _script = t.Unicode(assets.module("digit")).tag(sync=True)
    pixels = t.Unicode("00" * SIDE * SIDE).tag(sync=True)
    label = t.Int(0).tag(sync=True)
    first = t.Unicode("").tag(sync=True)  # the picture that "Begin again" restores
    live = t.Bool(True).tag(sync=True)  # whether a kernel may be there; not on an exported page
    sees = t.Bool(False).tag(sync=True)  # whether a network reads the pad
    probabilities = t.List(t.Float(), []).tag(sync=True)
    """The network's probability of each digit; empty where there is no network or nothing is drawn."""

    def __init__(self, image: Any = None, label: int = 0, network: Any = None) -> None:
        if isinstance(label, bool) or label not in range(10):
            raise fail(
                ValueError,
                f"label should be a digit from 0 to 9, but is {label!r}",
                "Say which digit it is meant to be.",
            )
        pixels = "00" * SIDE * SIDE if image is None else _hexadecimal(image)
        super().__init__(pixels=pixels, label=int(label), first=pixels, sees=network is not None)
        self.network = network
        if network is not None:
            self.observe(lambda change: self._look(change["new"]), "pixels")
            self.on_msg(lambda _, message, buffers: self._look(message["pixels"]))
            self._look(pixels)

    def _look(self, pixels: str) -> None:
        """Show the network's probabilities for a picture, also for an unfinished one."""
        import autolab

        if not pixels.strip("0"):
            self.probabilities = []
            return
        ink = np.frombuffer(bytes.fromhex(pixels), np.uint8).reshape(1, 1, SIDE, SIDE)
        with autolab.no_grad():
            scores = self.network(autolab.from_numpy(ink.astype(np.float32) / 255))
            self.probabilities = autolab.softmax(scores.detach()[0], 0).tolist()

    @t.validate("pixels")
    def _check_pixels(self, proposal: Any) -> str:
        if not re.fullmatch(rf"[0-9a-f]{{{2 * SIDE * SIDE}}}", proposal["value"]):
            raise t.TraitError(f"pixels should be {2 * SIDE * SIDE} hexadecimal digits")
        return str(proposal["value"])

    @t.validate("label")
    def _check_label(self, proposal: Any) -> int:
        if proposal["value"] not in range(10):
            raise t.TraitError(f"label should be a digit from 0 to 9, but is {proposal['value']}")
        return int(proposal["value"])

    @property
    def image(self) -> Tensor:
        """Return the present picture: a new float32 tensor (1, 32, 32) from 0, paper, to 1, ink."""
        import autolab

        return autolab.from_numpy(self._bytes.astype(np.float32) / 255)

    @property
    def blank(self) -> bool:
        """Return whether the pad is empty."""
        return not self._bytes.any()

    @property
    def _bytes(self) -> np.ndarray:
        return np.frombuffer(bytes.fromhex(self.pixels), np.uint8).reshape(1, SIDE, SIDE)

    def export_state(self) -> dict[str, Any]:
        """Return the state for an exported page, which has no network."""
        return self.get_state() | {"live": False}

    def __repr__(self) -> str:
        ink = int((self._bytes > 0).sum())
        return f"DrawDigit(meant to be a {self.label}, {ink:,} of {SIDE * SIDE:,} pixels have ink)"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return _readable(super()._repr_mimebundle_(**kwargs), repr(self), self._html())

    def _html(self) -> str:
        """Return the HTML for pages without a kernel: the digit."""
        size = 5
        rects = "".join(
            f'<rect x="{x * size}" y="{y * size}" width="{size}" height="{size}" fill="{palette.INK}" fill-opacity="{v / 255:.2f}"/>'
            for y, row in enumerate(self._bytes[0]) for x, v in enumerate(row) if v
        )  # fmt: skip
        side = SIDE * size
        return (
            f'<svg width="{side}" height="{side}" role="img" aria-label="A drawn digit, meant to be a {self.label}">'
            f'<rect width="{side}" height="{side}" fill="{palette.PAPER}" stroke="{palette.DATA}"/>{rects}</svg>'
        )


def _hexadecimal(image: Any) -> str:
    array = np.asarray(
        image.detach().cpu() if hasattr(image, "detach") else image, dtype=np.float64
    )
    if array.shape not in ((SIDE, SIDE), (1, SIDE, SIDE)):
        raise fail(
            ValueError,
            f"image should be of shape (1, 32, 32), but is of {array.shape}",
            "One grey picture of 32x32 pixels.",
        )
    if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
        raise fail(
            ValueError,
            "image should hold numbers from 0 to 1, but has others",
            "Divide bytes by 255.",
        )
    return np.rint(array * 255).astype(np.uint8).tobytes().hex()
