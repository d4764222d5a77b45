"""Every op from its own samples: gradcheck, gradgradcheck, and gradients with the dtype and shape of what they are
gradients of."""

import numpy as np
import pytest
from engine_counterparts import NO_DERIVATIVE
from engine_ops import OPS, cases, call_engine, differentiable, draw, flat, is_sampled, tensors

import autolab as torch

CASES = [pytest.param(case, id=case.key) for case in cases()]
SMOOTH = [
    pytest.param(case, id=case.key)
    for case in cases()
    if case.op.vjp and case.name not in NO_DERIVATIVE
]


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_samples(name):
    assert draw(OPS[name]) or not is_sampled(name), (
        f"give op {name!r} samples, or say in NOT_SAMPLED where it is tested"
    )


def prepared(case, dtype="float64"):
    """The op as a function of its differentiable tensors, and those tensors."""
    raw, keywords = case.arguments()
    args = tensors(torch, raw, dtype, differentiable(case))

    def function(*live):
        remaining = iter(live)

        def fill(a):
            if isinstance(a, (list, tuple)):
                return type(a)(fill(e) for e in a)
            return next(remaining) if getattr(a, "requires_grad", False) else a

        out = call_engine(case, [fill(a) for a in args], keywords)
        outs = out if isinstance(out, (list, tuple)) else (out,)
        return tuple(o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad)

    return function, tuple(flat(args))


@pytest.mark.parametrize("case", SMOOTH)
def test_gradgradcheck(case):
    function, inputs = prepared(case)
    assert torch.autograd.gradgradcheck(function, inputs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("case", SMOOTH)
def test_the_gradient_with_create_graph_equals_the_one_without(case):
    """A rule runs on raw arrays and, under create_graph, on tensors: both must give the same numbers."""
    function, inputs = prepared(case)
    seeds = [
        torch.cos(torch.arange(float(o.numel()), dtype=torch.float64)).reshape(o.shape)
        for o in function(*inputs)
    ]
    raw = torch.autograd.grad(function(*inputs), inputs, seeds, allow_unused=True)
    traced = torch.autograd.grad(
        function(*inputs), inputs, seeds, allow_unused=True, create_graph=True
    )
    for a, b in zip(raw, traced):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_an_op_changes_none_of_its_arguments(case):
    raw, keywords = case.arguments()
    args = tensors(torch, raw, "float64", set())
    before = [np.array(a) for a in raw if isinstance(a, np.ndarray)]
    with torch.no_grad():
        call_engine(case, args, keywords)
    after = [a.numpy() for a, r in zip(args, raw) if isinstance(r, np.ndarray)]
    for b, a in zip(before, after):
        np.testing.assert_array_equal(b, a)


"""Ops whose result may be their argument: they run inside rules only, or are written over."""
