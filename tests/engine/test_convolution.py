"""Convolution: its kernels against the definition, its layout in memory, its threads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autolab as torch
from autolab.engine.kernels import convolution as kernels
from autolab.engine.kernels import reuse as memory, threads
from autolab.engine.kernels.layout import Geometry

F = torch.nn.functional


@st.composite
def geometries(draw):
    """Sizes that fit, at most 8 x 8."""
    pairs = lambda low, high: draw(st.tuples(st.integers(low, high), st.integers(low, high)))
    kernel, stride, dilation, padding = pairs(1, 4), pairs(1, 3), pairs(1, 3), pairs(0, 3)
    size = tuple(
        draw(st.integers(max(1, d * (k - 1) + 1 - 2 * p), max(1, d * (k - 1) + 1 - 2 * p) + 4))
        for k, d, p in zip(kernel, dilation, padding)
    )
    out = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)
    )
    return Geometry(
        size, out, kernel, stride, padding, dilation, draw(st.sampled_from([1, 1, 2, 3]))
    )


def by_definition(x, weight, geo):
    """Cross-correlation as nested sums."""
    n, o, per = len(x), len(weight), weight.shape[1]
    y = np.zeros((n, o, *geo.out))
    for j in range(o):
        first = j // (o // geo.groups) * per
        for r in range(geo.out[0]):
            for c in range(geo.out[1]):
                for a in range(geo.kernel[0]):
                    for b in range(geo.kernel[1]):
                        row = r * geo.stride[0] - geo.padding[0] + a * geo.dilation[0]
                        column = c * geo.stride[1] - geo.padding[1] + b * geo.dilation[1]
                        if 0 <= row < geo.size[0] and 0 <= column < geo.size[1]:
                            y[:, j, r, c] += (
                                x[:, first : first + per, row, column] @ weight[j, :, a, b]
                            )
    return y


@pytest.fixture(params=["one block", "rows", "trimmed", "small blocks", "threads", "filters"])
def blocks(request, monkeypatch):
    """The ways in which the work is cut."""
    if request.param not in ("one block", "filters"):
        monkeypatch.setattr(kernels, "ROW", {True: 1, False: 1})
    if request.param in ("small blocks", "threads"):
        monkeypatch.setattr(kernels, "BLOCK", 1)
        monkeypatch.setattr(kernels, "COLUMNS", 1)
    if request.param == "trimmed":
        monkeypatch.setattr(kernels, "SPARED", 0)
    if request.param == "filters":
        monkeypatch.setattr(kernels, "_is_small", lambda columns, filters: True)
    if request.param in ("threads", "filters"):
        monkeypatch.setattr(threads, "WORTH_IT", -1)
        monkeypatch.setattr(threads, "TINY", -1)
        monkeypatch.setattr(threads, "available", lambda: 3)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(geometries(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_forward_is_the_definition_and_the_others_its_adjoints(
    blocks, geo, n, per_in, per_out, batch_innermost
):
    rng = np.random.default_rng(0)
    c, o = per_in * geo.groups, per_out * geo.groups
    x, weight, g = (
        rng.standard_normal((n, c, *geo.size)),
        rng.standard_normal((o, per_in, *geo.kernel)),
        rng.standard_normal((n, o, *geo.out)),
    )
    if batch_innermost:
        x = np.ascontiguousarray(x.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
    y = kernels.forward(x, weight, None, geo)
    np.testing.assert_allclose(y, by_definition(x, weight, geo), rtol=1e-12, atol=1e-12)
    bias = rng.standard_normal(o)
    np.testing.assert_allclose(
        kernels.forward(x, weight, bias, geo), y + bias[:, None, None], rtol=1e-12, atol=1e-12
    )
    dx, dw, db = (
        kernels.grad_input(g, weight, geo),
        kernels.grad_weight(g, x, geo),
        kernels.grad_bias(g),
    )
    assert dx.shape == x.shape and dw.shape == weight.shape
    inner = (y * g).sum()  # <conv(x, w), g> = <x, dx> = <w, dw>, as the map is linear in each
    np.testing.assert_allclose([(x * dx).sum(), (weight * dw).sum()], inner, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(db, g.sum((0, 2, 3)), rtol=1e-12, atol=1e-12)
    other = rng.standard_normal(x.shape)
    np.testing.assert_allclose(
        (other * dx).sum(),
        (kernels.forward(other, weight, None, geo) * g).sum(),
        rtol=1e-9,
        atol=1e-9,
    )
    other = rng.standard_normal(weight.shape)
    np.testing.assert_allclose(
        (other * dw).sum(), (kernels.forward(x, other, None, geo) * g).sum(), rtol=1e-9, atol=1e-9
    )


# -- memory ------------------------------------------------------------------------------------------------------------
def images(n=3, c=2, h=5, w=4, **options):
    return (
        torch.sin(torch.arange(float(n * c * h * w))).reshape(n, c, h, w).requires_grad_(**options)
    )


def test_the_order_in_memory_is_not_seen():
    """Results keep the batch innermost; strides, views and NumPy see PyTorch's order all the same."""
    x, w = images(), torch.ones(4, 2, 3, 3)
    y = F.conv2d(x, w)
    assert y._array.strides[0] == y._array.itemsize, "the batch is innermost"
    values = np.array(y._array)
    assert y.stride() == (24, 6, 2, 1) and y.is_contiguous() and y.stride(1) == 6
    for z in (F.conv2d(x, w), F.relu(F.conv2d(x, w)) * 1 + 0):
        flat = z.view(-1)
        assert flat.shape == (72,) and flat.is_contiguous() and z.view(3, 24).is_contiguous()
        assert flat._base is z and z.storage_offset() == 0
    np.testing.assert_array_equal(y.detach().view(-1).numpy(), values.ravel())
    assert F.conv2d(x, w).detach().numpy().flags.c_contiguous
    assert (
        F.conv2d(x, w).flatten(1)._base is not None
        and F.conv2d(x, w).reshape(12, 6)._base is not None
    )


def test_what_is_a_view_stays_one():
    """A view made of a result shares its memory, and gradients flow through both."""
    x = images()
    y = F.conv2d(x, torch.ones(1, 2, 2, 2)) * 1
    top = y[:, :, 0]
    with torch.no_grad():
        top.zero_()
    assert (y[:, :, 0] == 0).all() and y._version == 1 and (y.detach().numpy()[:, :, 0] == 0).all()
    z = F.conv2d(x, torch.ones(1, 2, 2, 2)) * 1
    z[:, :, 0] = 0.0
    (g,) = torch.autograd.grad(z.sum(), x)
    assert g[:, :, 0].abs().sum() == 0 and g[:, :, 1].abs().sum() > 0


def test_memory_is_used_again_only_when_nobody_looks():
    shape = (4, 64, 64)
    first = memory.empty(shape, np.dtype(np.float32))
    first.fill(1)
    part = first.reshape(-1)[5:9]
    address = first.__array_interface__["data"][0]
    del first
    second = memory.empty(shape, np.dtype(np.float32))
    assert not np.shares_memory(part, second), "a view still looks into the first block"
    second.fill(2)
    assert part.tolist() == [1] * 4
    del part
    third = memory.empty(shape, np.dtype(np.float32))
    assert third.__array_interface__["data"][0] == address
    assert memory.empty((2, 2), np.dtype(np.float32)).base is None, "small arrays are NumPy's"
    assert memory._kept <= memory.KEPT


# -- threads -----------------------------------------------------------------------------------------------------------
needs_blas = pytest.mark.skipif(threads._blas() is None, reason="NumPy's BLAS is not OpenBLAS")


@needs_blas
def test_blas_gets_its_threads_back():
    before = threads._blas()[0]()
    x = torch.ones(8, 16, 32, 32, requires_grad=True)
    F.conv2d(x, torch.ones(16, 16, 3, 3)).sum().backward()
    assert threads._blas()[0]() == before and threads._holders[0] == 0


@needs_blas
def test_an_error_in_a_thread_arrives(monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 3)
    done = []

    def work(part, parts):
        if part == 1:
            raise ValueError("from a thread")
        done.append(part)

    with pytest.raises(ValueError, match="from a thread"):
        threads.split(work, 1e12, 3)
    assert sorted(done) == [0, 2] and threads._holders[0] == 0


@needs_blas
def test_gradients_found_side_by_side_are_those_found_alone(monkeypatch):
    x = torch.randn(2, 8, 9, 7, dtype=torch.float64, requires_grad=True)
    layer = torch.nn.Conv2d(8, 6, 3, padding=1, dtype=torch.float64)
    wanted = [x, *layer.parameters()]
    alone = [t.numpy() for t in torch.autograd.grad(layer(x).square().sum(), wanted)]
    ran = []
    both = threads.both
    monkeypatch.setattr(threads, "WORTH_IT", -1)
    monkeypatch.setattr(threads, "_blas", lambda get=lambda: 2: (get, lambda n: None))
    monkeypatch.setattr(threads, "both", lambda *a: ran.append(a[2]) or both(*a))
    together = [t.numpy() for t in torch.autograd.grad(layer(x).square().sum(), wanted)]
    assert ran == [2.0 * 2 * 6 * 9 * 7 * 8 * 3 * 3]
    for found, expected in zip(together, alone):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_importing_changes_nothing_in_the_process():
    """No thread, no setting of BLAS, no library is loaded before the first big product."""
    import os
    import subprocess
    import sys

    code = (
        "import threading, numpy, autolab\nfrom autolab.engine.kernels import threads\n"
        "print(threading.active_count(), threads._blas.cache_info().currsize)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert found.stdout.split() == ["1", "0"]
