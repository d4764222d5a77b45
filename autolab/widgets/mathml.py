"""Convert formulas to MathML, one element per form; the page fills in numbers and names (`static/mathml.js`)."""

from __future__ import annotations

import functools
import re

from ..trace import truth
from ..trace.model import Trace

HOLE = "#"
_CHANGING = re.compile(
    # keep these unchanged
    r"\\overset\{\\mathrm\{\w+\}\}\{=\}|\\(?:operatorname|text|mathbf|mathit|begin|end)\{[^{}]*\}"
    r"|(\\mathrm\{(?:[^{}\\]|\\char\d+ |\\.)*\}|(?<![\d.^_])\d+(?:\.\d+)?)",
    re.ASCII,  # the same as in JavaScript
)
_OVERLINE = re.compile(r'<mover>((?:(?!<mover>).)*<mo accent="true">&#x02015;</mo></mover>)')
_MATRIX = r"\begin{bmatrix}"


def formulas(trace: Trace) -> dict[str, str]:
    """Return MathML for every form of a formula in a trace. A form that cannot be converted is left out and shown as
    TeX."""
    sources = {
        tex
        for part in (trace.nodes, trace.edges)
        for record in part
        for tex in (record.tex, record.tex_numbers)
    }
    sources |= {frame.tex for frame in trace.frames}
    lines = [
        line for node in trace.nodes if node.update is not None for line in node.update["lines"]
    ]
    sources |= {line[kind] for line in lines for kind in ("tex", "tex_numbers")}
    sources |= {
        tex for node in trace.nodes if node.layer is not None for _, _, tex in node.layer["card"]
    }
    forms = {form_of(tex) for tex in sources if tex}
    return {form: mathml for form in sorted(forms) if (mathml := _mathml(form))}


def form_of(tex: str) -> str:
    r"""Return a formula without its numbers and its names of several letters: "v_{#} = # \cdot #"."""
    return _CHANGING.sub(lambda match: HOLE if match[1] else match[0], tex)


@functools.lru_cache(maxsize=20_000)
def _mathml(form: str) -> str:
    """Return the MathML of a form, one element for each part of a chain, because browsers don't break a line inside
    one. `<mtext>name0</mtext>` marks the first hole."""
    numbers = iter(range(form.count(HOLE)))
    pieces = [
        _piece(line)
        for line in _lines(re.sub(HOLE, lambda _: rf"\text{{name{next(numbers)}}}", form))
    ]
    return " ".join(pieces) if all(pieces) else ""


def _lines(tex: str) -> list[str]:
    """Split a chain of equations into parts that may stand on separate lines: `y = a b`, `= 2 \\cdot 3`, `= 6`; if it
    has only numbers: `2 \\cdot 3`, `= 6`."""
    sides = truth.split(tex)
    together = (
        1
        if r"\mathrel" in sides[0]
        or _MATRIX in sides[0]
        or r"\cdot" in sides[0]
        or len(sides) == 3
        and tex.count(_MATRIX) > 2
        else 3
    )
    return [
        " ".join(sides[:together]),
        *(" ".join(pair) for pair in zip(sides[together::2], sides[together + 1 :: 2])),
    ]


def _piece(tex: str) -> str:
    from latex2mathml.converter import convert

    try:
        mathml = convert(tex, display="block").replace(
            ' xmlns="http://www.w3.org/1998/Math/MathML"', ""
        )
    except Exception:  # the converter raises many types of errors for TeX it does not know
        return ""
    # An overline is a border in the style sheet, because the character does not stretch.
    mathml = _OVERLINE.sub(r'<mover class="al-overline">\1', mathml)
    # `\mathrel{+}=` is one sign; the converter makes two signs with a gap.
    return mathml.replace(
        "<mo><mrow><mo>&#x0002B;</mo></mrow></mo><mo>&#x0003D;</mo>", "<mo>+=</mo>"
    )
