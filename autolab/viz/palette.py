"""The colours of graphviz, widgets and matplotlib: Okabe and Ito's, and never a colour as the only sign. Every colour
of the project is defined here; scripts and style sheets use its name (`widgets/assets.py` passes them on).

Source: M. Okabe and K. Ito, Color Universal Design (2008), https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
YELLOW, SKY, PURPLE, ORANGE, BLACK = "#F0E442", "#56B4E9", "#CC79A7", "#E69F00", "#000000"

FORWARD = "#0B5FC0"  # values: solid lines
BACKWARD = "#B3470A"  # gradients: dashed lines, arrows reversed
NEGATIVE, POSITIVE = "#7B3294", "#1B7837"  # the sign of a number
LEAF = "#197A48"  # a leaf that requires grad: bold border
DATA = "#767676"  # a leaf that does not require grad, and constants: plain border
SAVED = YELLOW  # a saved tensor: a tab on its node
FROZEN = SKY  # dash-dot border
BAD = PURPLE  # errors and NaN: thick double border
INK, PAPER, CUDA = "#1C2127", "#ffffff", "#dff3e4"
MUTED, SOFT, ALARM = (
    "#5A6571",
    "#D5DBE1",
    "#8f3a6e",
)  # text beside the main text; thin lines; text about errors
NOT_A_NUMBER = "#bbbbbb"  # in heat maps
NEVER = ("#ffffff", "#9a9a9a")  # dotted (paper, dots): no gradient comes here
PARTIAL, RETURNED = (
    ("#f6cdb0", "#eca97c"),
    ("#fbe6bd", ORANGE),
)  # striped: a partial gradient; a returned gradient
FREED, FADED = (
    ("#ececec", "#c4c4c4"),
    ("#fbf8d0", "#d9cf5a"),
)  # hatched (paper, stripe): freed, or waiting; a freed saved tensor
WORK, WORK_BACK = "#cfe3f0", "#f6d9c4"  # a kernel on its device, forward and backward

FIXED = {
    "blue": BLUE,
    "blue-deep": "#00588a",  # for a blue button under the pointer
    "vermillion": VERMILLION,
    "partial": PARTIAL[0],
    "partial-stripe": PARTIAL[1],
    "returned": RETURNED[0],
    "returned-stripe": RETURNED[1],
    "never": NEVER[0],
    "never-dot": NEVER[1],
    "minus": NEGATIVE,
    "plus": POSITIVE,
    "sky": SKY,
    "orange": ORANGE,
    "black": BLACK,
    "paper": PAPER,
    "on-paper": INK,
    "data": DATA,
    "saved": SAVED,
    "faded": FADED[0],
    "faded-stripe": FADED[1],
    "freed": FREED[0],
    "freed-stripe": FREED[1],
    "padding": "#f2f2f2",
    "padding-stripe": "#dcdcdc",
    "field": "#1fbf92",  # frame of a receptive field; visible on blue, white and vermillion cells
    "bad-line": BAD,
    "not-a-number": NOT_A_NUMBER,
}
"""What widgets paint alike in both themes, by name: `var(--blue)` in a style sheet, `PALETTE.blue` in a script."""

THEMES = {
    "fg": (INK, "#E9EDF2"),
    "muted": (MUTED, "#A6B1BD"),
    "bg": (PAPER, "#14181D"),
    "panel": ("#F6F8FA", "#1C2229"),
    "rule": (DATA, "#8f8f8f"),
    "soft": (SOFT, "#39424D"),
    "card": (PAPER, "#1C2229"),
    "ink": (INK, "#E9EDF2"),  # on a card
    "forward": (FORWARD, "#74B4FF"),
    "forward-text": (FORWARD, "#74B4FF"),
    "forward-soft": ("#E4EFFC", "#16304F"),
    "backward": (BACKWARD, "#FFA25E"),
    "backward-text": (BACKWARD, "#FFA25E"),
    "backward-soft": ("#FCEBDD", "#43270F"),
    "leaf": (LEAF, "#52C78F"),
    "negative": (NEGATIVE, "#C59BDA"),
    "positive": (POSITIVE, "#7FD19B"),
    "bad": (ALARM, "#e79cc8"),
    "focus": (INK, PAPER),
    "device": (CUDA, "#1d3b29"),
    "stripe": ("#f6fcf7", "#284a35"),  # on a simulated device
    "work": (WORK, "#123d57"),
    "workback": (WORK_BACK, "#5a3214"),
    "waitpaper": (FREED[0], "#3a3d41"),
    "wait": (FREED[1], "#5c5f63"),
    "onwait": (INK, PAPER),
}
"""What widgets paint by theme: name to (light, dark)."""

JUPYTER = {"fg": "--jp-ui-font-color1", "bg": "--jp-layout-color1"}
"""Where JupyterLab's own colour is taken, when there is one."""

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
    """Return (fill colour, extra graphviz style) of a node by device: cpu white, cuda light green, simulated devices
    with stripes."""
    kind = device.partition(":")[0]
    if kind in ("", "cpu"):
        return PAPER, ""
    return (CUDA, "") if kind == "cuda" else (f"{CUDA}:{PAPER}:{CUDA}:{PAPER}:{CUDA}", "striped")


PATTERNS = {
    "freed": ("stripes", *FREED, 45),
    "contribution": ("stripes", *PARTIAL, -45),
    "returned": ("stripes", *RETURNED, 90),
    "never": ("dots", *NEVER, 0),
}
"""Gradient state -> (what is drawn, paper, ink, degrees it is turned by) of states that a pattern tells, too; scripts
have it as `PATTERNS`. The others: "none" has no paper, "zero" a plain one, "accumulated" a full one."""


def css() -> str:
    """Return the colours as CSS variables of a widget: light ones on its host, dark ones where `data-theme` says so."""

    fixed = (f"--{name}: {color};" for name, color in FIXED.items())
    # Print colours too, because they carry meaning.
    exact = "print-color-adjust: exact; -webkit-print-color-adjust: exact;"
    return f':host {{ {exact} {" ".join([*fixed, *_variables(0)])} }}\n[data-theme="dark"] {{ {" ".join(_variables(1))} }}\n'


def page_css() -> str:
    """Return the colours as CSS variables of a whole page: dark where the reader's system prefers it, or its attribute
    `theme` says so."""
    light, dark = " ".join(_variables(0)), f"color-scheme: dark; {' '.join(_variables(1))}"
    by_system = f"@media (prefers-color-scheme: dark) {{ :root:not([theme=light]) {{ {dark} }} }}"
    return (
        f":root {{ color-scheme: light; {light} }}\n{by_system}\n:root[theme=dark] {{ {dark} }}\n"
    )


def _variables(theme: int) -> Iterator[str]:
    for name, pair in THEMES.items():
        theirs = JUPYTER.get(name)
        yield f"--{name}: {f'var({theirs}, {pair[theme]})' if theirs else pair[theme]};"


def ink(colour: Sequence[float]) -> str:
    """Return black or white, whichever contrasts more with the colour (at least 4.5:1). Source: WCAG 2.2, relative
    luminance."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return BLACK if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else PAPER
