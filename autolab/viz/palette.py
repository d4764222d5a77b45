"""One visual language for graphviz, widgets and matplotlib: Okabe and Ito's colours, and never a colour alone.

Source: M. Okabe and K. Ito, Color Universal Design (2008), https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
YELLOW, SKY, PURPLE, ORANGE, BLACK = "#F0E442", "#56B4E9", "#CC79A7", "#E69F00", "#000000"

FORWARD = BLUE  # values: solid lines
BACKWARD = VERMILLION  # gradients: dashed lines, arrows reversed
LEAF = GREEN  # a leaf that wants a gradient: bold border
DATA = "#767676"  # a leaf that does not, and constants: plain border
SAVED = YELLOW  # a saved tensor: a tab on its node
FROZEN = SKY  # dash-dot border
BAD = PURPLE  # errors and NaN: thick double border
INK, PAPER, CUDA = "#1b1b1b", "#ffffff", "#dff3e4"

FONTS = "Helvetica,Arial,Liberation Sans,DejaVu Sans,sans-serif"
"""In graphviz's form. Where Helvetica is missing, text would overflow its box without the others."""

LINES = (
    (BLUE, "-"),
    (VERMILLION, "--"),
    (GREEN, "-."),
    (ORANGE, ":"),
    (PURPLE, (0, (5, 1, 1, 1, 1, 1))),
    (SKY, (0, (8, 2))),
    (BLACK, (0, (1, 1))),
)
"""(colour, matplotlib line style) for one curve after another; both differ, so a curve is known in print too."""


def device_fill(device: str) -> tuple[str, str]:
    """(fill colour, extra graphviz style) of a node by device: cpu white, cuda light green, simulated devices with
    stripes."""
    kind = device.partition(":")[0]
    if kind in ("", "cpu"):
        return PAPER, ""
    return (CUDA, "") if kind == "cuda" else (f"{CUDA}:{PAPER}:{CUDA}:{PAPER}:{CUDA}", "striped")
