"""Normalisation: the fused gradients against the composed rules, statistics in place, big channels, dtypes."""

import numpy as np
from goldens.oracle import same_as_torch

from autolab.engine.kernels import normalization as kernels


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
