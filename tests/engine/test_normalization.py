"""Normalisation: the fused gradients against the composed rules, statistics in place, big channels, dtypes."""

import numpy as np
import pytest
from goldens.oracle import check, same_as_torch
from hypothesis import given, settings
from hypothesis import strategies as st

import autolab as torch
from autolab.engine.kernels import normalization as kernels

F = torch.nn.functional


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 5),
    st.integers(1, 5),
    st.lists(st.integers(1, 4), max_size=2),
    st.booleans(),
    st.booleans(),
)
def test_batch_norm_is_the_definition(n, channels, rest, training, batch_innermost):
    rng = np.random.default_rng(3)
    shape = (n, channels, *rest)
    a = rng.standard_normal(shape)
    if batch_innermost and len(shape) == 4:
        a = np.ascontiguousarray(a.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
    x = torch.from_numpy(a).requires_grad_()
    weight, bias = (
        torch.from_numpy(rng.standard_normal(channels)).requires_grad_() for _ in range(2)
    )
    mean, var = (
        torch.from_numpy(rng.standard_normal(channels)),
        torch.from_numpy(rng.random(channels) + 0.5),
    )
    old = mean.numpy().copy(), var.numpy().copy()
    y = F.batch_norm(x, mean, var, weight, bias, training, 0.3, 1e-3)
    axes = tuple(d for d in range(len(shape)) if d != 1)
    column = (1, channels) + (1,) * len(rest)
    mu, sigma = (a.mean(axes), a.var(axes)) if training else old
    expected = (
        (a - mu.reshape(column))
        / np.sqrt(sigma.reshape(column) + 1e-3)
        * weight.detach().numpy().reshape(column)
    )
    np.testing.assert_allclose(
        y.detach().numpy(), expected + bias.detach().numpy().reshape(column), rtol=1e-10, atol=1e-10
    )
    if training:
        count = a.size // channels
        np.testing.assert_allclose(mean.numpy(), 0.7 * old[0] + 0.3 * mu, rtol=1e-12)
        np.testing.assert_allclose(
            var.numpy(), 0.7 * old[1] + 0.3 * sigma * count / (count - 1), rtol=1e-12
        )
    else:
        assert (mean.numpy() == old[0]).all() and (var.numpy() == old[1]).all()
    seeds = torch.from_numpy(rng.standard_normal(shape))
    raw = torch.autograd.grad(y, (x, weight, bias), seeds, retain_graph=True)
    traced = torch.autograd.grad(
        y, (x, weight, bias), seeds, create_graph=True
    )  # made of other ops instead
    for r, t in zip(raw, traced):
        np.testing.assert_allclose(r.numpy(), t.detach().numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "wanted",
    [(True, False, False), (False, True, False), (False, False, True), (True, False, True)],
)
@pytest.mark.parametrize("kind", ["batch", "layer", "group"])
def test_gradients_that_nobody_wants_are_not_made(kind, wanted):
    def ask(torch):
        F = torch.nn.functional
        made = lambda *s, k: torch.sin(torch.arange(float(np.prod(s))) + k).reshape(s)
        x, w, b = (
            made(3, 4, 5, k=0),
            made(5 if kind == "layer" else 4, k=1),
            made(5 if kind == "layer" else 4, k=2),
        )
        leaves = [t.requires_grad_() for t, want in zip((x, w, b), wanted) if want]
        y = {
            "batch": lambda: F.batch_norm(x, None, None, w, b, True),
            "layer": lambda: F.layer_norm(x, (5,), w, b),
            "group": lambda: F.group_norm(x, 2, w, b),
        }[kind]()
        (y * y * made(3, 4, 5, k=4)).sum().backward()
        return [y, *(t.grad for t in leaves), [n is None for n, _ in y.grad_fn.next_functions]]

    check("test_normalization", f"{kind} {wanted}", ask, rtol=1e-5)


@same_as_torch(rtol=1e-5)
def test_far_from_zero(torch):
    """A mean a thousand times the deviation leaves the variance its digits: it is taken in two passes."""
    x = torch.sin(torch.arange(4000.0)).reshape(10, 4, 100) + 1000
    return [F_batch(torch, x), torch.nn.functional.layer_norm(x, (100,)).abs().mean()]


def F_batch(torch, x):
    var = torch.zeros(4)
    y = torch.nn.functional.batch_norm(x, torch.zeros(4), var, training=True, momentum=1.0)
    return [(var * 1000).round(), (y.abs().mean() * 1000).round()]


@same_as_torch
def test_statistics_do_not_count_as_written(torch):
    """As in PyTorch: the running statistics change in memory, their version does not, so an earlier graph still
    runs."""
    x = torch.arange(12.0).reshape(4, 3).requires_grad_()
    mean, var = torch.zeros(3), torch.ones(3)
    y = torch.nn.functional.batch_norm(x, mean, var, training=True)
    torch.nn.functional.batch_norm(x, mean, var, training=True)
    y.sum().backward()
    return [mean, var, mean._version, var._version, x.grad.abs().max() < 1e-5]


@same_as_torch(rtol=3e-3)
def test_half_precision(torch):
    F = torch.nn.functional
    x = torch.sin(torch.arange(48.0)).reshape(2, 4, 6).half().requires_grad_()
    outs = [
        F.layer_norm(x, (6,)),
        F.group_norm(x, 2),
        F.batch_norm(x, torch.zeros(4).half(), torch.ones(4).half(), training=True),
    ]
    return [
        [y, *torch.autograd.grad(y, x, torch.cos(torch.arange(48.0)).reshape(2, 4, 6).half())]
        for y in outs[:2]
    ] + [outs[2]]


def test_blocks_and_threads_give_the_same_numbers(monkeypatch):
    from autolab.engine.kernels import threads

    rng = np.random.default_rng(4)
    rows, g, weight = (
        rng.standard_normal((7, 50)),
        rng.standard_normal((7, 50)),
        rng.standard_normal(7),
    )
    plain = kernels.standardize(rows, weight, weight, 1e-5)
    back = kernels.standardize_backward(g, rows, plain[1], plain[3], weight)
    monkeypatch.setattr(kernels, "BLOCK", 800)
    monkeypatch.setattr(threads, "WORTH_IT", -1)
    monkeypatch.setattr(threads, "TINY", -1)
    monkeypatch.setattr(threads, "available", lambda: 3)
    for found, expected in zip(
        (
            *kernels.standardize(rows, weight, weight, 1e-5),
            *kernels.standardize_backward(g, rows, plain[1], plain[3], weight),
        ),
        (*plain, *back),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
