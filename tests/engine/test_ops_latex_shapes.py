"""The rules of gradients as the explorer shows them: both sides of the equation have one shape, and are the same
numbers.

`test_ops_latex.py` reads the records' formulas element by element; here sums over what was broadcast, and repetitions
of what was reduced, must be written out (`trace/captions/templates.py`), for every sample of every record."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import test_ops_latex as latex
from engine_latex import Unsupported, evaluate
from engine_ops import call_engine, cases, tensors

import autolab as torch
from autolab.trace.captions import templates

SUM = re.compile(r"(-?)\\sum(?:_\{([\d, ]+)\})? (.*)")
ONES = re.compile(r"(.*) \\cdot \\mathbf\{1\}_\{([\d \\times]+)\}")
REPEATED = re.compile(r"(.*?) \\text\{ (?:with \} (.*) \\text\{ )?repeated along dims? ([\d, ]+)\}")


def stated(template: str, values: dict[str, Any], axis: Any, parent: tuple[int, ...]) -> np.ndarray:
    """What a rule states, nothing added: sums, ones and repetitions are those written in it."""
    if found := REPEATED.fullmatch(template):
        dims = tuple(int(d) for d in found[3].split(", "))
        spread = lambda a: np.broadcast_to(np.expand_dims(a, dims), parent)  # noqa: E731
        if found[2] is None:
            return spread(stated(found[1], values, axis, parent))
        small = {
            name: spread(values[name])
            for name in ("g", "g1", "result", "result0", "min", "max")
            if f"{{{name}}}" in found[2]
        }
        return stated(found[1], values | small, axis, parent)
    if found := ONES.fullmatch(template):
        return stated(found[1], values, axis, parent) * np.ones(
            [int(n) for n in found[2].split(r" \times ")]
        )
    if template == r"\mathbf{0}":
        return np.zeros(parent)
    if (found := SUM.fullmatch(template)) and "\\sum_{{" not in template:
        inner = np.asarray(
            evaluate(found[3].replace(r"\left", "").replace(r"\right", ""), values, axis)
        )
        dims = (
            tuple(range(inner.ndim))
            if found[2] is None
            else tuple(int(d) for d in found[2].split(", "))
        )
        total = inner.sum(dims, keepdims=True)
        padded = (None,) * (inner.ndim - len(parent)) + parent  # a dimension of size 1 stays one
        total = total.reshape(
            [n for k, n in enumerate(total.shape) if padded[k] is not None or k not in dims]
        )
        return -total if found[1] else total
    return np.asarray(evaluate(template, values, axis))


def edges(case: Any) -> Any:
    """(argument, template as it is shown, values, axis, gradient) of one sample."""
    raw, keywords = case.arguments()
    op = case.op
    args = tensors(torch, raw, "float64", {op.params.index(name) for name in op.vjp})
    out = call_engine(case, args, keywords)
    outs = out if isinstance(out, (list, tuple)) else (out,)
    first = outs[0]
    given = dict(zip(op.params, args)) | keywords
    shapes = {
        name: tuple(item.shape) for name, item in given.items() if isinstance(item, torch.Tensor)
    }
    attrs = {name: item for name, item in (op.defaults | given).items() if name not in shapes}
    values = latex.known_values(case, raw, keywords, outs)
    dim = attrs.get("dim")
    for name in op.vjp_latex:
        x = given.get(name)
        if getattr(x, "requires_grad", False) and (
            seeds := latex.seeds_of(op.vjp_latex[name], outs)
        ):
            template = templates.gradient(
                op, name, attrs, tuple(first.shape), tuple(x.shape), shapes
            )
            gradient = latex.given_back(seeds, outs, x)
            yield name, template, values | seeds, None if dim == () else dim, gradient


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.op.latex and c.op.vjp_latex], ids=lambda case: case.key
)
def test_both_sides_have_one_shape(case: Any) -> None:
    listed = latex.NOT_NUMBERS.get(case.name, "").split()
    for name, template, values, axis, gradient in edges(case):
        if not template:
            assert (
                name in listed
                or (case.name, case.number) in latex.OTHER_FORM
                or not latex.applies(case)
            ), name
            continue
        if template.startswith(r"\mathrm{transpose}"):
            template, values = (
                "{g}",
                values | {"g": np.swapaxes(values["g"], values["dim0"], values["dim1"])},
            )
        try:
            found = stated(template, values, axis, gradient.shape)
        except (Unsupported, ValueError) as error:
            assert name in listed, f"{name}: {template}: {error}"
            continue
        if name not in listed:
            assert found.shape == gradient.shape, (
                f"{name}: {template} is of shape {found.shape}, the gradient of {gradient.shape}"
            )
            np.testing.assert_allclose(
                found, gradient, rtol=1e-6, atol=1e-9, err_msg=f"{name}: {template}"
            )
