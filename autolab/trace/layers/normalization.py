"""Cards of batch normalisation."""

from __future__ import annotations

import math
from fractions import Fraction

from ..captions.formulas import scientific
from ..values import written
from .sizes import OUT, Line, Sizes, indices, times


def _eps(sizes: Sizes) -> str:
    eps = sizes.attrs.get("eps")
    return r"\varepsilon" if eps is None else scientific(written(eps))


def _affine(sizes: Sizes, at: str, over: str, count: str) -> list[Line]:
    """Return the lines for scale and shift, one of each per channel: their count and their gradients."""
    if sizes.weight is None and not sizes.bias:
        return [Line("parameters", "None: made without weight and bias.")]
    features = math.prod(sizes.weight) if sizes.weight else sizes.x[1]
    both = sizes.weight is not None and sizes.bias
    kinds = (
        f"{features:,} scales γ and as many shifts β: {2 * features:,}" if both else f"{features:,}"
    )
    lines = [Line("parameters", f"{kinds}, one per channel.")]
    if sizes.weight is not None:
        tex = rf"\bar{{\gamma}}_{{c}} = \sum_{{{over}}} \bar{{y}}_{{{at}}} \cdot \hat{{x}}_{{{at}}}"
        lines.append(
            Line("gradient of the scale γ", f"The sum of {count} products, one per channel.", tex)
        )
    if sizes.bias:
        tex = rf"\bar{{\beta}}_{{c}} = \sum_{{{over}}} \bar{{y}}_{{{at}}}"
        lines.append(
            Line("gradient of the shift β", f"The sum of {count} gradients, one per channel.", tex)
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
    affine = _affine(sizes, at, over, times((n, *size)))
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
