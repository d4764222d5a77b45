"""SVG helpers shared by the widgets' pictures: elements, texts and their widths, colours of devices.

Sizes are SVG user units (CSS pixels at scale 1).
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from ..trace.model import Node
from ..viz import palette
from ..viz.palette import DATA as RULE
from ..viz.palette import INK, PAPER

TITLE, TEXT = 15, 13  # font sizes; the widget never scales the picture below 11 px for TEXT
PAD, LINE, TAB = 8, 18, 19
FONT = ", ".join(f"'{name}'" if " " in name else name for name in palette.FONTS.split(","))

_WIDTHS = {  # of Helvetica, in thousandths of the font size
    c: w
    for w, chars in (
        (230, "'ijl|"),
        (290, " !,./:;I[]ft()"),
        (340, 'r-`"*'),
        (500, "ckszvxyJ{}"),
        (610, "ABEFKPSTVXYZL"),
        (720, "CDHNRUw&"),
        (780, "GOQ"),
        (850, "mMW%@"),
    )
    for c in chars
}


_PATH = re.compile(r"[\w.]+\.[A-Za-z_]\w*(\(\d+\))?$", re.ASCII)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of `text` in Helvetica or a font of the same metrics, rounded up a little."""
    return sum(_WIDTHS.get(c, 560) for c in text) * size / 1000 * (1.12 if bold else 1.04)


def fit(text: str, size: float, width: float, bold: bool = False) -> str:
    """Return `text`, or as much of it as fits into `width`, with an ellipsis. For a name in a model keep the end, which
    identifies it (layer4.1.conv2.weight), else the beginning."""
    if text_width(text, size, bold) <= width:
        return text
    if path := _PATH.search(text):
        parts = path[0].split(".")
        for i in range(1, len(parts)):
            short = f"{text[: path.start()]}…{'.'.join(parts[i:])}"
            if text_width(short, size, bold) <= width:
                return short
    while text and text_width(text + "…", size, bold) > width:
        text = text[:-1]
    return text + "…"


def size_words(count: int | None) -> str:
    """Return bytes in readable form: 12 B, 3.1 kB, 2.0 MB."""
    if count is None:
        return ""
    size, units = float(count), ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{count} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def bytes_each(dtype: str) -> int:
    """Return the bytes of one number: 4 for "float32", 1 for "bool"."""
    bits = re.search(r"\d+$", dtype)
    return int(bits[0]) // 8 if bits else 1


def element(tag: str, *inside: str, **attributes: Any) -> str:
    """Return an SVG element; `class_` and `stroke_width` stand for class and stroke-width; attributes of None are left
    out."""
    words = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{f"{value:g}" if isinstance(value, float) else escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{words}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{words}/>"


def label(name: str, x: float, y: float, words: str, **attributes: Any) -> str:
    """Return a text of class `name`, with font size TEXT by default."""
    given = {"font_size": TEXT, "fill": INK} | attributes
    return element("text", escape(words), class_=name, x=float(x), y=float(y), **given)


STRIPES = (
    '<defs><pattern id="al-simulated" width="14" height="14" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="14" height="14" fill="{palette.CUDA}"/><rect width="4" height="14" fill="{PAPER}"/></pattern></defs>'
)


def device_look(node: Node, devices: dict[str, Any]) -> tuple[str | None, str]:
    """Return ("gpu" or "sim", None for the CPU; fill) for a node's device. devices: a trace's `meta["devices"]`."""
    if node.device in ("", "cpu"):
        return None, PAPER
    known = devices.get(node.device, {})
    return (
        ("sim", "url(#al-simulated)")
        if known.get("simulated") or node.device.startswith("sim")
        else ("gpu", palette.CUDA)
    )


def sign(x: float, y: float, path: str) -> str:
    """Return a plus or minus in a square, which shows what a click does."""
    square = element("rect", class_="al-sign", width=16, height=16, rx=3, fill=PAPER, stroke=RULE)
    stroke = {"fill": "none", "stroke": INK, "stroke_width": 1.6}
    return element(
        "g",
        square,
        element("path", class_="al-signline", d=path, **stroke),
        transform=f"translate({x} {y})",
    )


def double(w: float, y: float, h: float) -> str:
    """Return the inner line of the double border that marks an error."""
    place = {"x": 3, "y": y + 3, "width": w - 6, "height": h - 6, "rx": 5}
    return element(
        "rect", class_="al-wrongline", **place, fill="none", stroke=palette.BAD, stroke_width=1.2
    )


def rings(w: float, h: float) -> str:
    """Return outlines around the step's node and around the selected node."""
    parts = []
    for name, by in (("al-ring", 4), ("al-pick", 8)):
        size = {"width": w + 2 * by, "height": h + 2 * by, "rx": by + 5}
        parts.append(element("rect", class_=name, x=-by, y=-by, **size, fill="none", stroke="none"))
    return "".join(parts)
