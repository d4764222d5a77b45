"""The formulas of op records: they parse, name only what exists, and state the number that the kernel computes."""

import re

import engine_counterparts_nn as networks
import numpy as np
import pytest
from engine_counterparts import NO_DERIVATIVE
from engine_latex import Unsupported, evaluate
from engine_ops import OPS, call_engine, cases, tensors
from latex2mathml.converter import convert

import autolab as torch

FORMULAS = [
    pytest.param(op, argument, template, id=f"{op.name}-{argument or 'value'}")
    for op in OPS.values()
    for argument, template in [(None, op.latex), *op.vjp_latex.items()]
    if template
]

NOT_NUMBERS = networks.NOT_NUMBERS | {
    # op -> its formulas ("value", or the argument of a gradient) that say what moves where, or name a function that
    # NumPy has not,
    # and so are not compared with the kernel
    "linalg_slogdet": "value",
    "argmax": "value",
    "argmin": "value",
    "as_strided": "value self",
    "bitwise_and": "value",
    "bitwise_not": "value",
    "bitwise_or": "value",
    "bitwise_xor": "value",
    "cat": "value",
    "cumprod": "value self",
    "cumsum": "value self",
    "diag_embed": "value self",
    "diagonal": "value self",
    "embedding": "value weight",
    "flip": "value self",
    "gather": "value self",
    "grid_sampler_2d": "value input grid",
    "index": "value self",
    "index_fill_tensor": "value self value",
    "index_put": "value self values",
    "index_select": "value self",
    "linalg_pinv": "value A",
    "linalg_vector_norm": "value",
    "max_dim": "self",
    "min_dim": "self",
    "nll_loss": "value self",
    "nll_loss2d": "value self",
    "permute": "value self",
    "prod": "self",
    "prod_all": "self",
    "repeat": "value self",
    "reshape_raw": "value self",
    "roll": "value self",
    "scatter": "value self src",
    "scatter_add": "value src",
    "scatter_value": "value self",
    "select": "value self",
    "slice": "value self",
    "sort": "value self",
    "split": "value self",
    "split_with_sizes": "value self",
    **{f"squeeze{form}": "value self" for form in ("", "_dim", "_dims", "_product")},
    "stack": "value",
    "strided_put": "value self source",
    "strided_spread": "value self",
    "strided_take": "value self",
    "topk": "value self",
    "tril": "value self",
    "triu": "value self",
    "unbind": "value self",
    "unfold": "value self",
    "unsafe_view": "value self",
    "unsqueeze": "value self",
    "view": "value self",
}


@pytest.mark.parametrize("op, argument, template", FORMULAS)
def test_it_parses_and_names_only_arguments(op, argument, template):
    known = {
        *op.params,
        *(op.outputs or ("result",)),
        "result",
        "n",
        *(("g", *(("g1",) if len(op.outputs) > 1 else ())) if argument else ()),
    }  # n: how many numbers a mean is over; g1: the gradient of the second result
    named = set(
        re.findall(
            r"\{([a-z_]\w*)\}",
            re.sub(r"\\(?:math\w+|text|begin|end|operatorname)\{[^{}]*\}", "", template),
        )
    )
    assert named <= known, f"{named - known} in {template}"
    filled = template
    for name in known:
        filled = filled.replace("{" + name + "}", "x")
    markup = convert(filled)
    assert markup.startswith("<math") and "<merror" not in markup


def test_every_op_with_a_gradient_has_a_formula_for_it():
    without = [
        op.name
        for op in OPS.values()
        if op.vjp and op.latex and op.name not in NO_DERIVATIVE and set(op.vjp_latex) != set(op.vjp)
    ]
    assert not without


ABSENT = {
    "min": -np.inf,
    "max": np.inf,
    "correction": 1,
}  # what an argument that is None stands for


def known_values(case, raw, keywords, outs):
    """The numbers for a formula's placeholders: arguments, outputs, and n."""
    op = case.op
    values = dict(op.defaults) | dict(zip(op.params, raw)) | keywords
    values = {k: ABSENT.get(k) if v is None else v for k, v in values.items()}
    values |= {name: o.detach().numpy() for name, o in zip(op.outputs or ("result",), outs)} | {
        "result": outs[0].detach().numpy()
    }
    if isinstance(raw[0], np.ndarray):
        values["n"] = raw[0].size / max(1, outs[0].numel())  # how many numbers went into each
    return {
        k: v if isinstance(v, (int, float, bool, np.ndarray)) else None for k, v in values.items()
    }


def stated(case):
    """(values, axis of the formula's sums, number of the kernel) for one sample."""
    raw, keywords = case.arguments()
    op = case.op
    out = call_engine(case, tensors(torch, raw, "float64", ()), keywords)
    outs = out if isinstance(out, (list, tuple)) else (out,)
    first = outs[0]
    dim = keywords.get("dim", dict(zip(op.params, raw)).get("dim", op.defaults.get("dim")))
    axis = (
        (None if dim == () else dim)
        if "dim" in op.params
        else broadcast_axes(raw[0].shape, first.shape)
        if isinstance(raw[0], np.ndarray)
        else None
    )
    return known_values(case, raw, keywords, outs), axis, first.detach().numpy()


def seeds_of(template, outs):
    """Numbers for the gradients of the results that a rule tells of, "g" of the first and "g1" of the second."""
    of = {name: out for name, out in zip(("g", "g1"), outs) if name == "g" or "{g1}" in template}
    return {
        name: np.linspace(0.5, 1.5, o.numel()).reshape(o.shape) * (2 - 3 * len(name))
        for name, o in of.items()
        if o.requires_grad
    }


def given_back(seeds, outs, x):
    """What backward gives x for such gradients of the results."""
    roots = [outs[{"g": 0, "g1": 1}[name]] for name in seeds]
    return torch.autograd.grad(
        roots, x, [torch.tensor(seed) for seed in seeds.values()], retain_graph=True
    )[0].numpy()


def broadcast_axes(big, small):
    """The axes of `big` that a tensor of shape `small` was repeated along."""
    padded = (0,) * (len(big) - len(small)) + tuple(small)
    return tuple(k for k, (a, b) in enumerate(zip(big, padded)) if a != b)


OTHER_FORM = {
    # samples of an argument that changes the function, where the formula states its usual form
    ("gelu", 1): "the tanh approximation",
    ("softplus", 0): "above the threshold it is the identity",
    ("transpose", 1): "three dimensions",
    ("dist", 1): "another norm than the Euclidean",
    **{("linalg_vector_norm", k): "another norm" for k in range(2, 8)},
}


def applies(case):
    """Whether the formula is about this sample: for a loss it states the mean, without weights."""
    if (case.name, case.number) in OTHER_FORM:
        return False
    raw, _ = case.arguments()
    values = dict(case.op.defaults) | dict(zip(case.op.params, raw))
    return values.get("reduction", 1) == 1 and (
        "reduction" not in values or values.get("weight") is None
    )


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.op.latex and applies(c)], ids=lambda case: case.key
)
def test_it_states_what_the_kernel_computes(case):
    """The value; `test_ops_latex_shapes.py` compares the gradients."""
    unlike = "value" in NOT_NUMBERS.get(case.name, "").split()
    template = case.op.latex
    values, axis, number = stated(case)
    try:
        found = evaluate(template, values, axis)
        same_size = found.size == number.size
        found = found.reshape(number.shape) if same_size else np.broadcast_to(found, number.shape)
    except (Unsupported, ValueError) as error:
        assert unlike, f"{template}: {error}"
        return
    if unlike:
        assert not np.allclose(found, number), f"{template} is right: take it off NOT_NUMBERS"
    else:
        np.testing.assert_allclose(found, number, rtol=1e-6, atol=1e-9, err_msg=template)
