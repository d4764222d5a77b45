"""Winograd's convolution against the same sums taken the long way, and where it may not be used."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autolab as torch
from autolab.engine.kernels import convolution, threads, gpu as whole, winograd
from autolab.engine.kernels.layout import Geometry

F = torch.nn.functional


def of(size, padding):
    """The geometry of a 3 x 3 convolution."""
    out = tuple(n + 2 * p - 2 for n, p in zip(size, padding))
    return Geometry(size, out, (3, 3), (1, 1), padding, (1, 1))


def close(found, exact):
    """Within rounding of the largest number."""
    np.testing.assert_allclose(
        found, exact, rtol=0, atol=10 * np.finfo(found.dtype).eps * max(1, np.abs(exact).max())
    )


@pytest.fixture(params=["one block", "small blocks", "threads"])
def blocks(request, monkeypatch):
    """The ways in which the work is cut."""
    if request.param != "one block":
        monkeypatch.setattr(winograd, "NUMBERS", 1)
        monkeypatch.setattr(winograd, "COLUMNS", 1)
    if request.param == "threads":
        monkeypatch.setattr(threads, "WORTH_IT", -1)
        monkeypatch.setattr(threads, "TINY", -1)
        monkeypatch.setattr(threads, "available", lambda: 3)


pairs = lambda low, high: st.tuples(st.integers(low, high), st.integers(low, high))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    pairs(5, 11),
    pairs(-1, 6),
    pairs(1, 5),
    st.integers(1, 5),
    st.sampled_from([np.float32, np.float64]),
)
def test_it_is_the_convolution_and_its_two_adjoints(blocks, size, padding, filters, n, dtype):
    """Every size, so every way in which tiles reach over an edge; negative padding comes from gradients of wide
    padding."""
    geo, (o, c) = of(size, padding), filters
    rng = np.random.default_rng(n)
    x, weight, bias = (
        rng.standard_normal((n, c, *size)),
        rng.standard_normal((o, c, 3, 3)),
        rng.standard_normal(o),
    )
    g = rng.standard_normal((n, o, *geo.out))
    x, weight, bias, g = (a.astype(dtype).astype(np.float64) for a in (x, weight, bias, g))
    inner = tuple(
        slice(max(0, -p), m - max(0, -p)) for p, m in zip(padding, size)
    )  # what negative padding leaves
    cut = of(
        tuple(m + 2 * min(0, p) for p, m in zip(padding, size)), tuple(max(0, p) for p in padding)
    )
    part = (..., *inner)
    arrays = [a.astype(dtype) for a in (x, weight, bias, g)]

    made = winograd.forward(arrays[0], arrays[1], arrays[2], geo)
    assert made.dtype == dtype
    close(made, whole.forward(x[part], weight, bias, cut))
    close(winograd.grad_weight(arrays[3], arrays[0], geo), whole.grad_weight(g, x[part], cut))
    if min(padding) >= 0:
        back = Geometry(geo.out, size, (3, 3), (1, 1), tuple(2 - p for p in padding), (1, 1))
        found = winograd.forward(arrays[3], arrays[1], None, back, turned=True)
        close(found, whole.grad_input(g, weight, geo))


@pytest.mark.filterwarnings(
    "ignore:invalid value"
)  # the engine runs kernels without these warnings
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_where_the_definition_has_it(value):
    """As inf where that has inf: the differences would make NaN of it. And nowhere else."""
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((8, 96, 8, 8)), rng.standard_normal((96, 96, 3, 3))
    x[0, 0, 2, 2] = value
    geo = of((8, 8), (1, 1))
    assert winograd.pays(96, 96, 8, x.dtype, geo) and winograd.forward(x, weight, None, geo) is None
    images, filters = torch.tensor(x, requires_grad=True), torch.tensor(weight, requires_grad=True)
    y = F.conv2d(images, filters, padding=1).detach().numpy()
    touched = np.zeros((8, 96, 8, 8), bool)
    touched[0, :, 1:4, 1:4] = True
    np.testing.assert_array_equal(np.isfinite(y), ~touched)
    expected = value * weight[:, 0, ::-1, ::-1]  # the pixel, seen through each place of the filters
    np.testing.assert_array_equal(y[0, :, 1:4, 1:4], expected)

    g = np.ones((8, 96, 8, 8))
    g[3, 5, 0, 0] = value
    clean = rng.standard_normal((8, 96, 8, 8))
    found = convolution.grad_weight(g, clean, geo)
    assert not np.isfinite(found[5, :, 1:, 1:]).any() and np.isfinite(np.delete(found, 5, 0)).all()
    found = convolution.grad_input(g, weight, geo)
    touched[...] = False
    touched[3, :, :2, :2] = True
    np.testing.assert_array_equal(np.isfinite(found), ~touched)
