"""Cards of batch, layer and group normalisation."""

from __future__ import annotations

import math
from fractions import Fraction

from ..captions.formulas import scientific
from ..values import written
from .sizes import OUT, Line, Sizes, indices, per_side, times


def _eps(sizes: Sizes) -> str:
    eps = sizes.attrs.get("eps")
    return r"\varepsilon" if eps is None else scientific(written(eps))


def _affine(sizes: Sizes, feature: str, at: str, over: str, count: str) -> list[Line]:
    """Lines for scale and shift, one of each per `feature`: how many there are, and their gradients."""
    where = "per channel" if feature == "c" else "per position"
    if sizes.weight is None and not sizes.bias:
        return [Line("parameters", "None: made without weight and bias.")]
    features = math.prod(sizes.weight) if sizes.weight else sizes.x[1]
    both = sizes.weight is not None and sizes.bias
    kinds = (
        f"{features:,} scales γ and as many shifts β: {2 * features:,}" if both else f"{features:,}"
    )
    lines = [Line("parameters", f"{kinds}, one {where}.")]
    if sizes.weight is not None:
        tex = rf"\bar{{\gamma}}_{{{feature}}} = \sum_{{{over}}} \bar{{y}}_{{{at}}} \cdot \hat{{x}}_{{{at}}}"
        lines.append(
            Line("gradient of the scale γ", f"The sum of {count} products, one {where}.", tex)
        )
    if sizes.bias:
        tex = rf"\bar{{\beta}}_{{{feature}}} = \sum_{{{over}}} \bar{{y}}_{{{at}}}"
        lines.append(
            Line("gradient of the shift β", f"The sum of {count} gradients, one {where}.", tex)
        )
    return lines


def batch_norm(sizes: Sizes) -> list[Line]:
    n, _, *size = sizes.x
    letters = list(OUT[: len(size)]) if len(size) <= 2 else ["i"]
    at, over = indices("n", "c", letters), indices("n", letters)
    m, eps, training = math.prod((n, *size)), _eps(sizes), sizes.attrs.get("training", True)
    gamma = r"\gamma_{c} \cdot " if sizes.weight is not None else ""
    beta = r" + \beta_{c}" if sizes.bias else ""
    root = rf"\sqrt{{\sigma_{{c}}^{{2}} + {eps}}}"
    top = r"\gamma_{c}" if sizes.weight is not None else "1"
    scale = rf"\frac{{{top}}}{{{root}}}"
    forward = rf"y_{{{at}}} = {gamma}\hat{{x}}_{{{at}}}{beta}, \quad \hat{{x}}_{{{at}}} = \frac{{x_{{{at}}} - \mu_{{c}}}}{{{root}}}"
    affine = _affine(sizes, "c", at, over, times((n, *size)))
    if not training:
        return [
            Line(
                "forward (evaluation)",
                "Mean μ and variance σ² are the running ones, fixed numbers: what else is in the batch does not matter.",
                forward,
            ),
            Line(
                "multiplications",
                f"2 for each number, by 1/√(σ² + ε) and by γ: {times((*sizes.x, 2))}.",
            ),
            affine[0],
            Line(
                "gradient of x",
                "Only scaled: the running mean and variance do not depend on x.",
                rf"\bar{{x}}_{{{at}}} = {scale} \cdot \bar{{y}}_{{{at}}}",
            ),
            *affine[1:],
        ]
    momentum = sizes.attrs.get("momentum")
    running = []
    if momentum is not None:
        keep, share = written(float(1 - Fraction(repr(momentum)))), written(momentum)
        running = [
            Line(
                "running statistics",
                f"Kept for evaluation, not used in training. Their variance is divided by {m} - 1 instead of {m}.",
                rf"\mu_{{c}}^{{\text{{running}}}} \leftarrow {keep} \cdot \mu_{{c}}^{{\text{{running}}}} + {share} \cdot \mu_{{c}}",
            )
        ]
    return [
        Line(
            "mean and variance (training)",
            f"Over the whole batch, {times((n, *size))} numbers per channel.",
            rf"\mu_{{c}} = \frac{{1}}{{{m}}} \sum_{{{over}}} x_{{{at}}}, \quad "
            rf"\sigma_{{c}}^{{2}} = \frac{{1}}{{{m}}} \sum_{{{over}}} (x_{{{at}}} - \mu_{{c}})^{{2}}",
        ),
        Line(
            "forward",
            "Each channel gets mean 0 and variance 1, then its own scale γ and shift β.",
            forward,
        ),
        *running,
        Line(
            "multiplications",
            f"3 for each number: its square, by 1/√(σ² + ε), by γ: {times((*sizes.x, 3))}.",
        ),
        affine[0],
        Line(
            "gradient of x",
            "Less its mean, and less its part along x̂: a shift or a scale of the whole channel changes nothing in y.",
            rf"\bar{{x}}_{{{at}}} = {scale} \cdot \left( \bar{{y}}_{{{at}}} - \frac{{1}}{{{m}}} \sum \bar{{y}} - "
            rf"\hat{{x}}_{{{at}}} \cdot \frac{{1}}{{{m}}} \sum \bar{{y}} \cdot \hat{{x}} \right)",
        ),
        *affine[1:],
    ]


def _rows_norm(
    sizes: Sizes, m: int, rows: int, row: str, at: str, feature: str, words: str, count: str
) -> list[Line]:
    """Layer and group norm: each row (`row` its index) of `m` numbers is normalised by itself."""
    eps = _eps(sizes)
    gamma = rf"\gamma_{{{feature}}} \cdot " if sizes.weight is not None else ""
    beta = rf" + \beta_{{{feature}}}" if sizes.bias else ""
    root = rf"\sqrt{{\sigma_{{{row}}}^{{2}} + {eps}}}"
    g = rf"\gamma_{{{feature}}} \bar{{y}}" if sizes.weight is not None else r"\bar{y}"
    affine = _affine(sizes, feature, at, indices("n", "i") if feature == "c" else row, count)
    return [
        Line(
            "mean and variance",
            f"{words}: {rows:,} times over {m:,} numbers, in training and evaluation alike.",
            rf"\mu_{{{row}}} = \frac{{1}}{{{m}}} \sum x_{{{at}}}, \quad "
            rf"\sigma_{{{row}}}^{{2}} = \frac{{1}}{{{m}}} \sum (x_{{{at}}} - \mu_{{{row}}})^{{2}}",
        ),
        Line(
            "forward",
            "Mean 0 and variance 1, then scale γ and shift β.",
            rf"y_{{{at}}} = {gamma}\hat{{x}}_{{{at}}}{beta}, \quad \hat{{x}}_{{{at}}} = \frac{{x_{{{at}}} - \mu_{{{row}}}}}{{{root}}}",
        ),
        Line(
            "multiplications",
            f"3 for each number: its square, by 1/√(σ² + ε), by γ: {times((*sizes.x, 3))}.",
        ),
        affine[0],
        Line(
            "gradient of x",
            "Less its mean, and less its part along x̂: a shift or a scale of all that is normalised together changes nothing.",
            rf"\bar{{x}}_{{{at}}} = \frac{{1}}{{{root}}} \cdot \left( {g}_{{{at}}} - \frac{{1}}{{{m}}} \sum {g} - "
            rf"\hat{{x}}_{{{at}}} \cdot \frac{{1}}{{{m}}} \sum {g} \cdot \hat{{x}} \right)",
        ),
        *affine[1:],
    ]


def layer_norm(sizes: Sizes) -> list[Line]:
    shape = per_side(sizes.attrs["normalized_shape"], 1)
    m = math.prod(shape)
    rows = math.prod(sizes.x) // max(1, m)
    words = f"Each sample by itself, over its last {'dimension' if len(shape) == 1 else f'{len(shape)} dimensions'}"
    return _rows_norm(sizes, m, rows, "n", r"n,\,k", "k", words, f"{rows:,}")


def group_norm(sizes: Sizes) -> list[Line]:
    n, channels, *size = sizes.x
    groups = sizes.attrs["group"]
    words = f"Each sample's {channels} channels in {groups} {'group' if groups == 1 else 'groups'}"
    m = channels // groups * math.prod(size)
    return _rows_norm(sizes, m, n * groups, r"n,g", r"n,\,c,\,i", "c", words, times((n, *size)))
