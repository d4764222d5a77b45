r"""Formula templates fitted to one call. A record states an operation's usual formula, element by element.

`value` and `gradient` fit the formula to the given arguments (a loss's reduction, factors of 1) and `gradient` also to
the shapes: what was broadcast is summed, `\sum_{0} \bar y`; what was reduced is repeated, `\bar y \cdot \mathbf{1}_{2
\times 3}`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from typing import Any

from . import formulas

Shape = tuple[int, ...]

_ONES = {"alpha", "beta", "value"}
_MEAN = re.compile(r"\\frac\{1\}\{n\} \\sum ")
_OVER_N = re.compile(r"\\frac\{(\{g\}|2)\}\{n\}")
_STRUCTURED = re.compile(
    r"\\text|\\,|\^\{-?T\}|\\ast|\\star|\\hat|\\overline|\\left\\\||\\gamma|\\mathrm\{(?!sgn|trunc|round|erf|arsinh|arcosh|artanh|atan2)"
    r"|\}_|\\(?:max|min|prod)_|\\sum_(?!\{\{dim\}\})|'\(|\}\[|\[c =|^\[|\(b\)"
)
"""A rule that says what moves where, or a product of matrices: its shape is not that of its largest operand."""


def _usual(name: str, attrs: Mapping[str, Any], operands: Mapping[str, Any]) -> bool:
    """Return whether the formula in the operation's record holds for these arguments."""
    given = attrs.get
    return not (
        name == "gelu" and given("approximate", "none") != "none"
        or name == "softplus" and given("threshold", 20) < 10
        or name == "logit" and given("eps") is not None
        or "reduction" in attrs and ("weight" in operands or "pos_weight" in operands)
    )  # fmt: skip


def _usual_rule(name: str, attrs: Mapping[str, Any]) -> bool:
    """Return whether the record's gradient rules hold; they depend on more arguments than the formula does."""
    norm = {"linalg_vector_norm": "ord"}.get(name)
    return norm is None or attrs.get(norm, 2) == 2


def value(
    record: Any, attrs: Mapping[str, Any], shapes: Mapping[str, Shape | None], shape: Shape | None
) -> str:
    """Return the forward template for a result of `shape` from operands of `shapes`; "" if the record's template does
    not hold."""
    if record is None or not _usual(record.name, attrs, shapes):
        return ""
    if record.name == "expand" and shape is not None and shapes.get("self") != shape:
        return rf"{{self}} \cdot {_ones(shape)}"
    template = _plain(record, record.latex, attrs, shapes.get("self"))
    if record.name == "transpose" and shape is not None and len(shape) != 2:
        return r"\mathrm{transpose}_{{dim0}, {dim1}}({self})"
    return template


def gradient(
    record: Any,
    argument: str,
    attrs: Mapping[str, Any],
    child: Shape | None,
    parent: Shape | None,
    shapes: Mapping[str, Shape | None],
) -> str:
    """Return the rule for the gradient of an argument of shape `parent`; "" if no rule holds. `shapes`: of all
    operands."""
    base = argument.partition("[")[0]
    rule = (
        record.vjp_latex.get(argument) or record.vjp_latex.get(base, "")
        if record is not None
        else ""
    )
    if not rule or not _usual(record.name, attrs, shapes) or not _usual_rule(record.name, attrs):
        return ""
    if record.name == "transpose" and parent is not None and len(parent) != 2:
        return r"\mathrm{transpose}_{{dim0}, {dim1}}({g})"
    if (
        record.name == "native_batch_norm"
        and argument == "input"
        and attrs.get("training") is False
    ):
        rule = r"\frac{{weight}}{\sqrt{\sigma^2 + {eps}}} \cdot {g}"  # treat mean and variance as constants
    rule = _plain(record, rule, attrs, shapes.get("self"))
    if child is None or parent is None:
        return rule
    if rule == "0":
        return r"\mathbf{0}" if parent else rule
    if _STRUCTURED.search(rule):
        return _batched(rule, child, parent) if record.name in _MATRICES else rule
    rule = re.sub(r"^(-?)\\sum (?=\{)", r"\1", rule)  # the dimensions follow from the shapes
    return _fitted(
        rule,
        child,
        parent,
        {n: s for n, s in shapes.items() if s is not None},
        _dims(record, attrs, parent),
    )


_MATRICES = {"matmul_raw", "linalg_solve_triangular", "linalg_solve"}


def _plain(record: Any, template: str, attrs: Mapping[str, Any], shape: Shape | None) -> str:
    """Return the template without factors of 1, and for the requested reduction. shape: of the argument `self`."""
    for name in _ONES & set(record.params):
        if attrs.get(name, record.defaults.get(name, record.constants.get(name))) == 1:
            template = template.replace(rf"{{{name}}} \cdot ", "")
    if not attrs.get("diagonal"):
        template = template.replace("_{{diagonal}}", "")
    if attrs.get("dim") in (None, []) or shape is not None and len(shape) < 2:
        template = template.replace("_{{dim}}", "")  # the reduction covers all dimensions
    if "correction" in record.params and attrs.get("correction", 1) in (None, 0, 1):
        template = template.replace(
            " - {correction}", "" if attrs.get("correction", 1) == 0 else " - 1"
        )
    reduction = attrs.get("reduction", 1)
    if reduction == 0:
        template = _MEAN.sub("", template)
    if reduction == 2:
        template = _MEAN.sub(lambda m: r"\sum ", template)
    if reduction == 1:
        return template
    return _OVER_N.sub(lambda m: m[1], template).replace(r"\frac{1}{n} \cdot ", "")


def _dims(record: Any, attrs: Mapping[str, Any], parent: Shape) -> tuple[int, ...]:
    """Return the dimensions that a reduction removed; () if it kept them or there is none."""
    if "keepdim" not in record.params or attrs.get("keepdim"):
        return ()
    dim = attrs.get("dim")
    dims = (
        range(len(parent)) if dim is None or dim == [] else [dim] if isinstance(dim, int) else dim
    )
    return tuple(sorted(d % len(parent) for d in dims)) if parent else ()


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that these shapes broadcast to. Raises ValueError if they are incompatible. NumPy's function
    allows only 32 dimensions."""
    wide: list[int] = []
    for sizes in itertools.zip_longest(*map(reversed, shapes), fillvalue=1):
        several = {*sizes} - {1}
        if len(several) > 1:
            raise ValueError(f"shapes {shapes} don't broadcast")
        wide.append(*(several or {1}))
    return tuple(reversed(wide))


def _fitted(
    rule: str, child: Shape, parent: Shape, shapes: Mapping[str, Shape], dims: tuple[int, ...]
) -> str:
    """Return an elementwise rule with the implied sums and repetitions written out."""
    named = formulas.names_in(rule)
    beside = [shapes[n] for n in named if n in shapes]
    if 0 < len(child) == len(parent) - len(dims) and dims != tuple(range(len(dims))):
        where = f"dim {dims[0]}" if len(dims) == 1 else f"dims {', '.join(map(str, dims))}"
        if parent not in beside:
            return rf"{_product(rule)} \text{{ repeated along {where}}}"
        small = ", ".join(
            f"{{{n}}}" for n in ("g", "g1", "result", "result0", "min", "max") if n in named
        )
        return rf"{rule} \text{{ with }} {small} \text{{ repeated along {where}}}"
    try:
        natural = broadcast(child, *beside)
    except ValueError:
        return ""
    if natural == parent:
        return rule
    if len(natural) >= len(parent) and _spreads(parent, natural):
        summed = _axes(natural, parent)
        over = "" if len(summed) == len(natural) else f"_{{{', '.join(map(str, summed))}}}"
        minus, rest = (
            ("-", rule[1:]) if rule.startswith("-") and not _is_sum(rule[1:]) else ("", rule)
        )
        return rf"{minus}\sum{over} {_product(rest)}"
    if _spreads(natural, parent):
        return rf"{_product(rule)} \cdot {_ones(parent)}"
    return ""


def _ones(shape: Shape) -> str:
    sizes = r" \times ".join(map(str, shape))
    return rf"\mathbf{{1}}_{{{sizes}}}"


def _batched(rule: str, child: Shape, parent: Shape) -> str:
    """Return a matrix rule with the sum over the batch, if the operand was used for each matrix of a batch."""
    if len(parent) < 2 or len(child) < 2:
        return rule
    batch, own = child[:-2], parent[:-2]
    summed = _axes(batch, own) if batch != own and _spreads(own, batch) else ()
    return rf"\sum_{{{', '.join(map(str, summed))}}} {_product(rule)}" if summed else rule


def _axes(big: Shape, small: Shape) -> tuple[int, ...]:
    """Return the axes of `big` along which a tensor of shape `small` was repeated."""
    padded = (0,) * (len(big) - len(small)) + small
    return tuple(k for k, (a, b) in enumerate(zip(big, padded)) if a != b)


def _spreads(small: Shape, big: Shape) -> bool:
    try:
        return broadcast(small, big) == big
    except ValueError:
        return False


def _is_sum(rule: str) -> bool:
    """Return whether a plus or minus stands outside all brackets."""
    depth = 0
    for i, c in enumerate(rule):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and c in "+-" and i:
            return True
    return False


def _product(rule: str) -> str:
    return rf"\left({rule}\right)" if _is_sum(rule) or rule.startswith("-") else rule


_COUNTED = {
    "mean", "mean_all", "var", "std", "mse_loss", "smooth_l1_loss", "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}  # fmt: skip
OF_ALL = {
    "split", "split_with_sizes", "unbind", "aminmax", "linalg_slogdet", "linalg_svd", "linalg_eigh",
    "histogram", "frexp",
}  # fmt: skip
"""Operations whose formula tells of all of their results; that of others is about the first."""
VECTORS = {"mv", "addmv", "dot", "vdot", "addr"}
"""Products in which a tensor of one dimension stands for a column."""


def count(record: Any, child: Shape | None, parent: Shape | None) -> int | None:
    """Return the n of a mean or a variance: how many numbers each result is computed from."""
    if (
        record is None
        or record.name not in _COUNTED
        or child is None
        or parent is None
        or not math.prod(child)
    ):
        return None
    return math.prod(parent) // math.prod(child)
