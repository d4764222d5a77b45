r"""Formulas of operations: LaTeX templates from the op's record, filled in with the learner's names and numbers.

A template such as `{self} \cdot {other}` keeps its braces when a name goes in, so `e^{{self}}` stays right for
`v_{3}`. A gradient rule writes `{g}` for the gradient of the result."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from ..values import Value, short, written

FEW = 4
"""Tensors of at most this many numbers are written out in a formula; bigger ones keep their symbol."""

_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
GREEK = frozenset(_GREEK.split())
INFIX = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "data": "{0}.data",
    "matmul": "{0} @ {1}",
    "mm": "{0} @ {1}",
    "mv": "{0} @ {1}",
    "dot": "{0} @ {1}",
    "bmm": "{0} @ {1}",
    "rsub": "{1} - {0}",
    "pow": "{0} ** {1}",
    "eq": "({0} == {1})",  # without parentheses, y = a == b = True would look like three equal things
    "gt": "({0} > {1})",
    "lt": "({0} < {1})",
    "ge": "({0} >= {1})",
    "le": "({0} <= {1})",
    "ne": "({0} != {1})",
}

_QUIET = frozenset(
    ["reduction", "ignore_index", "implicit"]
)  # bookkeeping that the learner did not write
_USUAL = {"alpha": 1, "beta": 1, "ord": 2, "negative_slope": 0.01, "groups": 1}
_ADDED = re.compile(r" \+ \{(\w+)\}")
_PER_SIDE = {
    "stride": 1,
    "padding": 0,
    "dilation": 1,
    "output_padding": 0,
}  # one number for each dimension, or one number for all
_PLACEHOLDER = re.compile(
    r"(\\(?:mathrm|operatorname|text|mathbf|begin|end))?\{([A-Za-z_][A-Za-z_0-9]*)\}"
)


_INNER = r"(?:[^{}]|\{[^{}]*\})*"
_GROUPED = re.compile(
    rf"(?<![\^_}}\\A-Za-z])\{{([A-Za-z]|\d+(?:\.\d+)?|[A-Za-z]_\{{\d+\}}|\\left\({_INNER}\\right\)|\\(?:bar|overline)\{{{_INNER}\}}"
    rf"|\\begin\{{bmatrix\}}{_INNER}\\end\{{bmatrix\}}(?!\}}\^))\}}(?!_)"
)
_REPEATED = re.compile(r"(.+)\((\d+)\)")
_NUMBER = re.compile(
    r"[-+]?[0-9._]+(e[-+]?[0-9_]+)?|[-+]?0x[0-9a-f_]+|[-+]?inf|nan|True|False", re.IGNORECASE
)
_UNSAFE = {"{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "&": r"\&", "$": r"\$", " ": r"\ "} | {
    c: rf"\char{ord(c)} " for c in "\\^~<>`#"
}
_NUMBERED = re.compile(rf"([A-Za-z]|{'|'.join(sorted(GREEK))})_?(\d+)")


@functools.lru_cache(maxsize=8192)
def symbol(label: str) -> str:
    """Return a variable's name in LaTeX: x, v_{3}, \\alpha, \\mathrm{fc1.weight}; a second `y` is y_{(2)}."""
    repeated = _REPEATED.fullmatch(label)
    if repeated:
        inner = symbol(repeated[1])
        return (
            rf"{inner}_{{({repeated[2]})}}"
            if "_" not in inner
            else rf"{{{inner}}}_{{({repeated[2]})}}"
        )
    if re.fullmatch("[A-Za-df-z]", label):
        return label
    if label == "e":
        return r"\mathit{e}"  # a variable, not the base of the natural logarithm
    if _NUMBER.fullmatch(label):
        return scientific(label)
    if label in GREEK:
        return "\\" + label
    numbered = _NUMBERED.fullmatch(label)
    if numbered:
        return rf"{symbol(numbered[1])}_{{{numbered[2]}}}"
    return rf"\mathrm{{{''.join(_UNSAFE.get(c, c) for c in label)}}}" if label else "?"


_PLAIN = re.compile(r"(?:\\left\()?-?[0-9.]+(?: \\cdot 10\^\{-?\d+\})?(?:\\right\))?")
_SAFE = {escaped: c for c, escaped in _UNSAFE.items()}
_ESCAPED = re.compile(r"\\char\d+ |\\.")


def plain_name(tex: str) -> str:
    r"""Return the name inside a `\mathrm{...}` that `symbol` made."""
    return _ESCAPED.sub(lambda m: _SAFE.get(m[0], m[0]), tex)


def scientific(text: str) -> str:
    """Return a number, as in the learner's code or from `short`, in LaTeX: 1.5e-07 becomes a power of ten."""
    if text in ("True", "False"):
        return rf"\mathrm{{{text}}}"
    if text.lstrip("+-") in ("nan", "inf"):
        return {"nan": r"\mathrm{nan}", "inf": r"\infty", "-inf": r"-\infty"}[text.lstrip("+")]
    text = text.replace("_", "").lower()
    if "x" in text:
        return rf"\mathrm{{{text}}}"
    mantissa, e, power = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if e else text


def is_number(tex: str) -> bool:
    """Return whether a formula is one number and nothing else."""
    return _PLAIN.fullmatch(tex) is not None


def in_parentheses(text: str) -> str:
    """Put a number in parentheses if its sign or power of ten could be misread inside a formula."""
    return (
        rf"\left({text}\right)" if text[0] == "-" or text[0] != "\\" and r"\cdot" in text else text
    )


def alone(tex: str) -> str:
    """Remove the parentheses that a number has as a factor; return other formulas unchanged."""
    return tex.removeprefix(r"\left(").removesuffix(r"\right)") if is_number(tex) else tex


def numbers(value: Value | None, digits: int = 3, column: bool = False) -> str | None:
    """Return a small value as LaTeX; None if it has too many numbers or is unknown. column: write one dimension as a
    column."""
    if value is None or value.data is None or len(value.shape) > 2:
        return None
    if value.shape == ():
        return scientific(short(value.data, digits))
    rows = (
        value.data
        if len(value.shape) == 2
        else [[item] for item in value.data]
        if column
        else [value.data]
    )
    if not 0 < sum(map(len, rows)) <= FEW:
        return None
    return (
        r"\begin{bmatrix}"
        + r" \\ ".join(" & ".join(scientific(short(c, digits)) for c in row) for row in rows)
        + r"\end{bmatrix}"
    )


def operand(value: Value | None, digits: int = 3, column: bool = False) -> str | None:
    """Return `numbers` in a form that can stand inside a formula."""
    text = numbers(value, digits, column)
    return in_parentheses(text) if text else text


_FACTORS = frozenset(["self", "other", "alpha", "beta", "value", "negative_slope", "weight"])


def attribute(item: Any, name: str = "", spelled: str = "") -> str:
    """Return an argument that is not a tensor as the learner wrote it, or with all its digits."""
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        text = scientific(spelled or written(item))
        return in_parentheses(text) if name in _FACTORS else text  # a power or an index needs none
    return ", ".join(map(attribute, item)) if isinstance(item, list) else symbol(str(item))


def names_in(template: str) -> set[str]:
    """Return the names of the placeholders in a template."""
    return {match[2] for match in _PLACEHOLDER.finditer(template) if not match[1]}


def fill(template: str, names: Mapping[str, str]) -> str:
    """Replace every `{name}` in the template that `names` contains, and keep the braces. An unknown argument becomes
    its own symbol."""

    def replace(match: re.Match[str]) -> str:
        if (
            match[1] or match[2] not in names and len(match[2]) == 1
        ):  # the n of a fraction, the T of a transpose
            return match[0]
        return f"{{{names[match[2]] if match[2] in names else symbol(match[2])}}}"

    return _bare(_PLACEHOLDER.sub(replace, template))


def _bare(text: str) -> str:
    """Remove braces around one letter or number if nothing needs them: `{x} + {2}` becomes `x + 2`."""
    return _GROUPED.sub(lambda m: m[1], text)


def forward(template: str, op: str, names: Mapping[str, str], order: list[str]) -> str:
    r"""Return the right-hand side of an operation: its template filled in, or `\operatorname{op}(x, y)` without a
    template."""
    if template:  # leave out the terms of omitted operands
        return fill(_ADDED.sub(lambda m: m[0] if m[1] in names else "", template), names)
    name = re.sub(r"_", r"\\_", op.rstrip("_"))
    return rf"\operatorname{{{name}}}({', '.join(names[n] for n in order if n in names)})"


def derivative(rule: str, names: Mapping[str, str]) -> str | None:
    r"""Return the factor of `{g}` in a rule that is linear in `{g}`, or None if the rule is not a single product.

    Use it only for scalars and elementwise operations: there, the gradient is `{g}` times the derivative."""
    if (
        rule.count("{g}") != 1
        or "{g1}" in rule
        or r"\sum" in rule
        or r"\text{ at }" in rule
        or re.search(r"[(\[]\{g\}|\{g\}[\[_^]", rule)
    ):
        return None
    for start in (r"{g} \cdot ", r"-{g} \cdot "):
        if rule.startswith(start):
            return fill(start[: start.index("{")] + rule[len(start) :], names)
    return fill(rule.replace("{g}", "1"), names)


def gradient_rule(rule: str, names: Mapping[str, str], upstream: str) -> str:
    r"""Return the whole rule with `{g}` replaced by `upstream`, the gradient of the result."""
    return fill(rule, {**names, "g": upstream})


def call_text(
    op: str, operands: list[str], attrs: Mapping[str, Any], spelled: Mapping[str, str]
) -> str:
    """Return the operation in plain text: `x * y`, `tanh(v1)`, `sum(v2, dim=1)`. `spelled`: attributes as the learner
    wrote them."""
    said = {k: spelled.get(k) or _plain_text(v) for k, v in attrs.items()}
    pattern = INFIX.get(op)
    if (
        pattern is not None and len(operands) == 1 and pattern.count("{") == 2
    ):  # one of the two was saved as a plain number
        before, after = (
            next((said[n] for n in names if attrs.get(n) is not None), None) for names in _BESIDE
        )
        operands = [
            *([] if before is None else [before]),
            *operands,
            *([] if after is None else [after]),
        ]
    if pattern is not None and pattern.count("{") == len(operands) and attrs.get("alpha", 1) == 1:
        if op == "pow" and operands[0].startswith("-"):
            operands = [f"({operands[0]})", operands[1]]  # -2 ** x is -(2 ** x)
        return pattern.format(*operands)
    shown = [
        said[k]
        if k.startswith("argument ")
        else f"{k}={said[k]}"  # without a keyword if the call was rejected before its arguments were named
        for k, v in attrs.items()
        if v is not None
        and v is not False
        and v != TO_THE_END
        and not k.endswith(("_sym_sizes", "_sym_numel", "_sym_strides", "_sizes_opt"))
        and k not in _QUIET
        and (k not in _USUAL or _USUAL[k] != v)
        and not (k in _PER_SIDE and set(v if isinstance(v, list) else [v]) == {_PER_SIDE[k]})
    ]
    return f"{op}({', '.join([*operands, *shown])})"


TO_THE_END = 2**63 - 1
"""Where the slice `x[1:]` ends."""
_BESIDE = ("self",), ("exponent", "other")


def _plain_text(item: Any) -> str:
    return written(item) if isinstance(item, float) else str(item)


def bar(text: str) -> str:
    """Return the symbol for the gradient of `text`."""
    return rf"\bar{{{text}}}" if len(text) == 1 else rf"\overline{{{text}}}"
