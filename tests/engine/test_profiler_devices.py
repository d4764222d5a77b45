"""The profiler while GPUs are simulated: simulated times, and what each call had the GPU do. The numbers follow from
the profile of a T4: 5 µs for a launch, 2.5 µs for the shortest kernel, 0.7 of 8.1 TFLOP/s and of 320 GB/s, 10 µs for a
copy at 6 GB/s."""

import re

import pytest
from conformance import seeds

import autolab as torch
from autolab.profiler import ProfilerActivity, profile

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


@pytest.fixture
def sim():
    with torch.cuda.simulate(devices=2, memory="64MiB", profile="T4") as simulation:
        yield simulation


def product():
    a = torch.ones(1000, 1000, device="cuda")
    torch.cuda.synchronize()
    with profile(activities=BOTH) as prof:
        with torch.profiler.record_function("mine"):
            (a @ a).relu()
        torch.cuda.synchronize()
    return prof


def times(prof):
    calls = [a for a in prof.key_averages() if a.device_type.name == "CPU"]
    return {
        a.key: (
            round(a.cpu_time_total, 3),
            round(a.self_device_time_total, 3),
            round(a.device_time_total, 3),
        )
        for a in calls
    }


def test_calls_cost_the_host_their_launches_and_the_device_its_kernels(sim):
    assert times(product()) == {
        "mine": (10, 0, 388.448),
        "aten::matmul": (5, 0, 352.734), "aten::mm": (5, 352.734, 352.734),  # 2e9 FLOP / (0.7 * 8.1e12)
        "aten::relu": (5, 0, 35.714), "aten::clamp_min": (5, 35.714, 35.714),  # 8e6 bytes / (0.7 * 320e9)
        "cudaDeviceSynchronize": (383.448, 0, 0),  # all of 388.448 but the 5 µs in which the host launched relu
    }  # fmt: skip


def test_the_same_on_every_run(sim):
    tables = {str(product().key_averages().table(sort_by="self_cuda_time_total")) for _ in range(2)}
    assert len(tables) == 1
    text = tables.pop()
    assert "Self CUDA   Self CUDA %    CUDA total  CUDA time avg    # of Calls" in text
    assert text.endswith("Self CPU time total: 393.448us\nSelf CUDA time total: 388.448us\n")
    assert text.index("aten::mm ") < text.index("aten::clamp_min") < text.index("aten::relu")


def test_copies_are_named_as_pytorch_names_them(sim):
    x = torch.ones(1500)
    with profile(activities=BOTH) as prof:
        y = x.cuda()
        z = x.pin_memory().to("cuda:1", non_blocking=True)
        y.cpu()
        z.to("cuda:0")
    kernels = [
        (k.name, k.device) for e in prof.events() for k in e.kernels if k.name.startswith("Memcpy")
    ]
    assert kernels == [
        ("Memcpy HtoD (Pageable -> Device)", 0), ("Memcpy HtoD (Pinned -> Device)", 1),
        ("Memcpy DtoH (Device -> Pageable)", 0), ("Memcpy PtoP (Device -> Device)", 1),
    ]  # fmt: skip
    waits = [e.name for e in prof.events() if e.name.startswith("cuda")]
    assert waits == ["cudaStreamSynchronize"] * 2, (
        "the copy from pageable memory, and the one to the host"
    )


@pytest.mark.parametrize("moved", [False, True])
def test_the_course_prints_its_table_with_a_gpu(sim, moved):
    cells = [cell.code for cell in seeds.cells("autograd")]
    number = next(n for n, code in enumerate(cells) if "profile(use_cuda=run_on_gpu)" in code)
    measured = cells[number].replace("range(1000)", "range(50)")
    if moved:  # the course itself leaves both on the CPU
        measured = measured.replace("\nwith", "\nx, conv1d = x.to(device), conv1d.to(device)\nwith")
    names, printed = {"th": torch}, []
    with pytest.warns(FutureWarning, match="use_device = 'cuda'"):
        exec(measured, names)
    exec(cells[number + 1], names | {"print": printed.append})
    table = printed[0]
    assert re.search(r"aten::convolution .* 50 *\n", table) and "Self CPU time total: " in table
    assert ("Self CUDA %" in table) is ("Self CUDA time total: " in table) is moved
    if moved:
        kernels = [e for e in names["prf"].key_averages() if e.key == "matmul"]
        assert (kernels[0].count, kernels[0].self_device_time_total) == (
            50,
            pytest.approx(50 * 4.507, abs=0.1),
        )


def test_the_cpu_takes_simulated_time_too(sim):
    a = torch.ones(1000, 1000)
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        a @ a
    assert times(prof)["aten::mm"] == (5335.333, 0, 0)  # 2 µs + 2e9 FLOP / 375e9
    assert "CUDA" not in prof.key_averages().table()
