"""Normalisation: the fused gradients against the composed rules, statistics in place, big channels, dtypes."""

import numpy as np
import pytest
from goldens.oracle import check, same_as_torch

import autolab as torch
from autolab.engine.kernels import normalization as kernels

F = torch.nn.functional


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
