"""Pooling: kernels against the definition, ties, NaN and infinities as PyTorch has them."""

import numpy as np
import pytest
from goldens.oracle import check
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import autolab as torch
from autolab.engine.kernels import pooling as kernels
from autolab.engine.kernels import threads
from autolab.engine.kernels.pooling import Windows
from autolab.engine.ops.pooling import pooled


@st.composite
def windows(draw):
    """Sizes that fit, at most 9 x 9; half of them with windows that do not overlap."""
    pairs = lambda low, high: draw(st.tuples(st.integers(low, high), st.integers(low, high)))
    size, kernel, dilation = pairs(1, 9), pairs(1, 3), pairs(1, 2)
    stride = kernel if draw(st.booleans()) else pairs(1, 4)
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    ceil = draw(st.booleans())
    out = tuple(pooled(*args, ceil) for args in zip(size, kernel, stride, padding, dilation))
    assume(min(out) > 0)
    win = Windows(size, out, kernel, stride, padding, dilation)
    assume(all(inside(win, r, c) for r in range(out[0]) for c in range(out[1])))
    return win


def inside(win, r, c):
    """The positions of the image that window (r, c) sees, row by row."""
    found = []
    for a in range(win.kernel[0]):
        for b in range(win.kernel[1]):
            y = r * win.stride[0] - win.padding[0] + a * win.dilation[0]
            x = c * win.stride[1] - win.padding[1] + b * win.dilation[1]
            if 0 <= y < win.size[0] and 0 <= x < win.size[1]:
                found.append((y, x))
    return found


@settings(max_examples=60, deadline=None)
@given(windows(), st.integers(1, 2), st.booleans(), st.booleans(), st.booleans())
def test_maximum_and_its_gradient_are_the_definition(
    win, n, ties, batch_innermost, several_threads
):
    rng = np.random.default_rng(1)
    shape = (n, 3, *win.size)
    x = rng.integers(0, 3, shape).astype(float) if ties else rng.standard_normal(shape)
    if batch_innermost:
        x = np.ascontiguousarray(x.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
    g = rng.standard_normal((n, 3, *win.out))
    available, worth = (
        threads.available,
        threads.WORTH_IT,
    )
    if several_threads:
        threads.available, threads.WORTH_IT = (lambda: 2), -1
    try:
        y, where, dx = (
            kernels.maximum(x, win),
            kernels.max_indices(x, win),
            kernels.max_backward(g, x, kernels.maximum(x, win), win),
        )
    finally:
        threads.available, threads.WORTH_IT = available, worth
    expected = np.zeros(shape)
    for k in np.ndindex(n, 3):
        for r, c in np.ndindex(*win.out):
            seen = inside(win, r, c)
            first = max(seen, key=lambda at: x[k][at])  # max() takes the first of equal numbers
            assert y[k][r, c] == x[k][first] and where[k][r, c] == first[0] * win.size[1] + first[1]
            expected[k][first] += g[k][r, c]
    np.testing.assert_allclose(dx, expected, rtol=1e-12, atol=1e-12)


NAN, INF = float("nan"), float("inf")
EDGES = {
    "ties": [
        [1.0, 1.0, 2.0, 2.0],
        [1.0, 1.0, 2.0, 2.0],
        [0.0, -0.0, 3.0, 3.0],
        [-0.0, 0.0, 3.0, 1.0],
    ],
    "nan": [[1.0, NAN, 2.0, 3.0], [5.0, 1.0, NAN, NAN], [0.0, 1.0, 2.0, 3.0], [NAN, 0.0, INF, NAN]],
    "infinities": [
        [-INF, -INF, INF, INF],
        [-INF, -INF, 1.0, INF],
        [-INF, 1.0, INF, -INF],
        [-INF, -INF, -INF, 2.0],
    ],
}


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("kind", EDGES)
def test_edges_of_max_pooling(kind, padding):
    def ask(torch):
        x = torch.tensor([[EDGES[kind]]]).repeat(2, 2, 1, 1).requires_grad_()
        found = []
        for kernel, stride in ((2, 2), (3, 1), (2, 1)):
            y = torch.nn.functional.max_pool2d(x, kernel, stride, padding)
            seeds = torch.arange(1.0, y.numel() + 1).reshape(y.shape)
            found += [y, y.grad_fn._saved_result1, *torch.autograd.grad(y, x, seeds)]
        return found

    check("test_pooling", f"{kind} {padding}", ask)


@pytest.mark.parametrize("gradient", [INF, NAN])
def test_a_gradient_that_is_not_finite_reaches_the_winner_alone(gradient):
    def ask(torch):
        x = torch.arange(32.0).reshape(1, 2, 4, 4).requires_grad_()
        y = torch.nn.functional.max_pool2d(x, 2)
        return torch.autograd.grad(y, x, torch.full_like(y, gradient))

    check("test_pooling", f"gradient {gradient}", ask)


# -- settings that are no whole numbers: PyTorch's words, by its output ------------------------------------------------
def refusal(call):
    with pytest.raises(TypeError) as error:
        call()
    return str(error.value)


def test_settings_that_are_no_ints_are_refused():
    F, x = torch.nn.functional, torch.ones(1, 2, 6, 6)
    for value in (1.5, True, "a"):
        message = f"kernel_size' (position 2) must be tuple of ints, not {type(value).__name__}"
        assert message in refusal(lambda: F.max_pool2d(x, value))  # noqa: B023
    assert F.adaptive_avg_pool2d(x, (None, 1)).shape == (1, 2, 6, 1)


def test_indices_are_refused():
    for layer in (
        torch.nn.MaxPool1d(2, return_indices=True),
        torch.nn.MaxPool2d(2, return_indices=True),
    ):
        with pytest.raises(NotImplementedError, match="argument 'return_indices' is not supported"):
            layer(torch.ones(1, 4, 4))
