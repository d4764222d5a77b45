"""The simulated GPU itself: its arrays are as strict as CuPy's, its memory counts, its clock is the same on every
run."""

import gc

import numpy as np
import pytest

import autolab as torch
from autolab.engine.devices import device as devices
from autolab.engine.devices.simulated.array import SimArray


@pytest.fixture
def sim():
    with torch.cuda.simulate(devices=2, memory="64MiB") as simulation:
        yield simulation


@pytest.fixture
def gpu(sim):
    return sim.devices[0].backend


# -- arrays ------------------------------------------------------------------------------------------------------------
def test_an_array_is_no_numpy_array_and_does_not_become_one(gpu):
    a = gpu.from_host(np.ones(3))
    assert not isinstance(a, np.ndarray)
    with pytest.raises(
        TypeError,
        match="Implicit conversion to a NumPy array is not allowed. Please use `.get\\(\\)`",
    ):
        np.asarray(a)
    assert type(a.get()) is np.ndarray


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, h: a + h, lambda a, h: h + a, lambda a, h: a @ h, lambda a, h: np.add(a, h), lambda a, h: np.concatenate([a, h]),
        lambda a, h: a.__setitem__(0, h[:1]), lambda a, h: a[h.astype(int)], lambda a, h: a.dot(h), lambda a, h: np.where(a > 0, a, h),
    ],
)  # fmt: skip
def test_arrays_of_the_host_are_refused(gpu, mix):
    with pytest.raises(
        TypeError, match="Unsupported type <class 'numpy.ndarray'>|Implicit conversion"
    ):
        mix(gpu.from_host(np.ones(3)), np.ones(3))


def test_arrays_of_another_device_are_refused(sim):
    zero, one = (d.backend for d in sim.devices)
    a, b = zero.from_host(np.ones(3)), one.from_host(np.ones(3))
    with pytest.raises(ValueError, match="array device = 1 while current = 0"):
        a + b
    with pytest.raises(ValueError, match="array device = 1 while current = 0"):
        b + b
    with one:
        assert (b + b).device is one


def test_reductions_and_elements_give_arrays_not_scalars(gpu):
    a = gpu.from_host(np.arange(4.0))
    for x in (a.sum(), a[1], gpu.xp.max(a), a.mean(), gpu.xp.array_equal(a, a)):
        assert (type(x), x.shape) == (SimArray, ())
    assert float(a.sum()) == 6


def test_views_share_memory(gpu):
    a = gpu.from_host(np.arange(6.0).reshape(2, 3))
    before = gpu.pool.allocated
    rows, turned, piece = a[1], a.T, a[:, 1:]
    assert gpu.pool.allocated == before
    piece[...] = 0
    assert (rows.get().tolist(), turned.get().tolist()) == ([3, 0, 0], [[0, 3], [0, 0], [0, 0]])
    assert rows.base.data.ptr == a.data.ptr
    assert rows.data.ptr == a.data.ptr + 24


# -- memory ------------------------------------------------------------------------------------------------------------
def test_memory_is_counted_in_blocks_of_512_bytes_and_given_back(sim):
    assert torch.cuda.memory_allocated() == 0
    x = torch.ones(100, device="cuda")
    y = torch.ones(200, device="cuda")
    assert torch.cuda.memory_allocated() == 512 + 1024
    assert torch.cuda.memory_reserved() == 2 << 20
    view = y[:2]
    del y
    assert torch.cuda.memory_allocated() == 512 + 1024, "the view keeps the memory"
    del view, x
    assert torch.cuda.memory_allocated() == 0
    assert torch.cuda.max_memory_allocated() == 512 + 1024
    assert torch.cuda.memory_reserved() == 2 << 20
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 0


def test_out_of_memory_says_what_was_alive_and_changes_nothing(sim):
    x = torch.ones(8 << 20, device="cuda")
    with pytest.raises(torch.cuda.OutOfMemoryError) as caught:
        x.exp().exp()
    assert str(caught.value).startswith(
        "CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which 0 bytes is free. Including "
        "non-PyTorch memory, this process has 64.00 MiB memory in use. Of the allocated memory 64.00 MiB is allocated by PyTorch, and "
        "0 bytes is reserved by PyTorch but unallocated."
    )
    assert "the biggest 32.00 MiB (8388608,) float32" in caught.value.__notes__[0]
    assert (
        issubclass(torch.OutOfMemoryError, RuntimeError)
        and torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    )
    caught = None
    gc.collect()
    assert torch.cuda.memory_allocated() == 32 << 20
    assert x.sum().item() == 8 << 20


def test_the_graph_keeps_what_was_saved_until_backward(sim):
    x = torch.ones(1 << 18, device="cuda", requires_grad=True)
    y = x.exp().exp()
    assert torch.cuda.memory_allocated() == 3 << 20
    y.sum().backward()
    del y
    assert torch.cuda.memory_allocated() == 2 << 20, "x and its gradient"


# -- time --------------------------------------------------------------------------------------------------------------
def timed(work):
    """Simulated seconds that `work` takes the host, and that it takes until the device is done."""
    torch.cuda.synchronize()
    began = torch.cuda.perf_counter()
    work()
    returned = torch.cuda.perf_counter() - began
    torch.cuda.synchronize()
    return returned, torch.cuda.perf_counter() - began


def test_a_launch_returns_before_the_work_is_done(sim):
    a = torch.ones(1024, 1024, device="cuda")
    returned, done = timed(lambda: a @ a)
    assert returned == pytest.approx(5e-6)
    assert done == pytest.approx(5e-6 + 2 * 1024**3 / (0.7 * 8.1e12))
    assert timed(lambda: a @ a) == (pytest.approx(returned), pytest.approx(done))


@pytest.mark.parametrize(
    "wait", [lambda t: t.item(), lambda t: t.cpu(), repr, bool, float, lambda t: t.tolist()]
)
def test_whoever_reads_a_value_waits(sim, wait):
    a = torch.ones(1024, 1024, device="cuda")
    b = (a @ a).sum()
    before = torch.cuda.perf_counter()
    wait(b)
    assert torch.cuda.perf_counter() - before > 300e-6


def test_a_faster_gpu_is_faster():
    times = []
    for profile in ("laptop", "T4", "A100", "H200"):
        with torch.cuda.simulate(profile=profile, memory="1GiB"):
            a = torch.ones(1 << 24, device="cuda")
            times.append(timed(a.exp)[1])
            assert torch.cuda.get_device_name() == f"Simulated {profile}"
    assert times == sorted(times, reverse=True)
    assert times[1] == pytest.approx(5e-6 + 2 * (1 << 26) / (0.7 * 320e9))


def test_pinned_memory_is_faster_and_lets_the_host_run_on(sim):
    x = torch.ones(1 << 20)
    pageable, pinned = timed(lambda: x.to("cuda")), timed(lambda: x.pin_memory().to("cuda"))
    p = x.pin_memory()
    running = timed(lambda: p.to("cuda", non_blocking=True))
    assert (
        pageable[0] == pytest.approx(pageable[1]) == pytest.approx(5e-6 + 10e-6 + (1 << 22) / 6e9)
    )
    assert pinned[1] == pytest.approx(5e-6 + 10e-6 + (1 << 22) / 12e9)
    assert running[0] == pytest.approx(5e-6) and running[1] == pytest.approx(pinned[1])
    assert timed(lambda: x.to("cuda", non_blocking=True))[0] == pytest.approx(pageable[0]), (
        "only pinned memory can be copied meanwhile"
    )


def test_events_measure_the_device(sim):
    a = torch.ones(1024, 1024, device="cuda")
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    a @ a
    end.record()
    assert not end.query()
    with pytest.raises(RuntimeError, match="Both events must be completed"):
        start.elapsed_time(end)
    end.synchronize()
    assert start.elapsed_time(end) == pytest.approx(0.3787, abs=0.006)


def test_streams_overlap_and_wait_for_each_other(sim):
    a = torch.ones(1024, 1024, device="cuda")

    def both(wait):
        second = torch.cuda.Stream()
        a @ a
        if wait:
            second.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(second):
            a @ a

    one = timed(lambda: a @ a)[1]
    assert timed(lambda: both(False))[1] == pytest.approx(one, rel=0.05)
    assert timed(lambda: both(True))[1] == pytest.approx(2 * one, rel=0.05)


def test_small_work_is_slower_on_the_gpu_and_big_work_faster(sim):
    def seconds(n, device):
        a = torch.ones(n, n, device=device)
        return timed(lambda: a @ a)[1]

    assert seconds(16, "cpu") < seconds(16, "cuda")
    assert seconds(512, "cpu") > 10 * seconds(512, "cuda")


# -- events ------------------------------------------------------------------------------------------------------------
def test_a_kernel_that_falls_back_to_the_host_is_an_error(sim):
    from autolab.engine.core.record import OPS

    with pytest.raises(
        RuntimeError, match="exp\\(\\): the kernel for cuda:0 returned an array of the host"
    ):
        devices.usable("cuda:0").backend.adopt(OPS["exp"], np.ones(2))
