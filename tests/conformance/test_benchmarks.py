"""The benchmark measures the same work in every backend, and writes what it says it writes."""

import json
import shutil

import autolab
import numpy as np
import pytest
from benchmarks import imports, interleave, report, works
from benchmarks.works import BACKENDS, WORKS, build

SMALL = [name for name, work in WORKS.items() if work.part in ("scalars", "arrays", "regression")]
ALIKE = [*SMALL, "growth_16_4", "nodes_1000", "lenet_32", "resnet9_32"]
STEPS = {"resnet9_32": 2}
"""Of training compared in single precision; else 3. A ResNet-9's third loss is no measure there: with eight seeds
PyTorch's was up to 0.1 % off its own in double precision (0.2 % without oneDNN), autolab's up to 0.06 % (0.2 % without
Winograd). In double precision all three are compared, below."""


def numbers(once):
    before = getattr(once, "before", None)
    results = once(*(() if before is None else (before(),)))
    return [
        np.asarray(
            r.detach().numpy() if hasattr(r, "detach") else getattr(r, "data", r), dtype=np.float64
        ).ravel()
        for r in results
    ]


@pytest.mark.parametrize(
    "backend, work",
    [(b, w) for w in ALIKE for b in WORKS[w].backends if b not in ("autolab", "tinygrad")],
    ids=str,
)
def test_every_backend_computes_the_same_numbers(backend, work):
    pytest.importorskip(backend)
    mine, other = build("autolab", work), build(backend, work)
    for _ in range(STEPS.get(work, 3)):  # what is trained moves with every call
        for a, b in zip(numbers(mine), numbers(other)):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


def test_a_recorded_step_is_the_same_step():
    pytest.importorskip("torch")
    assert numbers(build("autolab", "recorded_trace")) == numbers(build("torch", "recorded_trace"))


def test_resnet9_trains_alike_in_double_precision(request):
    torch = pytest.importorskip("torch")
    losses = []
    for backend in (torch, autolab):
        request.addfinalizer(lambda backend=backend: backend.set_default_dtype(backend.float32))
        backend.set_default_dtype(backend.float64)
        once = build(backend.__name__, "resnet9_32")
        losses.append([once()[0] for _ in range(3)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-11)
    assert losses[0][0] > 5 * losses[0][2]  # they did train


@pytest.mark.parametrize("work", ["linear_regression", "lenet_32"])
def test_tinygrad_computes_the_same_numbers(work):
    pytest.importorskip("tinygrad")
    if shutil.which("clang") is None:
        pytest.skip("tinygrad compiles with clang")
    mine, other = build("autolab", work), build("tinygrad", work)
    for _ in range(4):  # its compiled form runs from the third call on
        for a, b in zip(numbers(mine), numbers(other)):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


def test_a_short_run_gives_ratios_and_files(tmp_path):
    versions, results = interleave.run(
        2, 0.01, ("linear_regression", "lenet_32"), ("autolab", "autograd"), threads=(1,)
    )
    regression, lenet = results
    assert (
        regression["backends"]["autolab"]["blocks"] == 2
        and regression["backends"]["autolab"]["cpu"] > 0
    )
    assert lenet["backends"]["autograd"] == {"cannot": WORKS["lenet_32"].cannot["autograd"]}
    assert lenet["backends"]["autolab"]["memory"] > 10
    imported = {
        "numpy_ms": 1.0,
        "autolab_ms": 2.0,
        "over_numpy_ms": 1.0,
        "target_ms": 150,
        "met": True,
        "heavy_modules_loaded": [],
    }
    record = {
        "date": "2000-01-01",
        "machine": report.machine(),
        "versions": versions,
        "results": results,
        "imports": imported,
    }
    path = report.write(record, tmp_path)
    assert json.loads(path.read_text())["results"] == results
    text = path.with_suffix(".md").read_text()
    assert (
        "| one epoch of linear regression" in text
        and "| LeNet training step, 32 images 28 x 28 | 1 | autolab |" in text
    )
    assert "cannot: has no convolution" in text


def test_tables_of_growth_and_of_nodes_and_verdicts():
    def result(work, cpu, threads=1):
        mine = {
            "cpu": cpu,
            "wall": cpu,
            "memory": 50,
            "cpu_ratio": 0.5,
            "wall_ratio": 0.5,
            "memory_ratio": 0.7,
        }
        torch = {
            "cpu": 2 * cpu,
            "wall": 2 * cpu,
            "memory": 100,
            "cpu_ratio": 1.0,
            "wall_ratio": 1.0,
            "memory_ratio": 1.0,
        }
        return {
            "work": work,
            "threads": threads,
            "load": 0.1,
            "backends": {"torch": torch, "autolab": mine},
        }

    results = [
        result("growth_16_4", 100.0),
        result("nodes_10000", 9000.0),
        result("scalar_chain", 2000.0),
        result("lenet_32", 900.0, 2),
    ]
    record = {"date": "2000-01-01", "machine": {}, "versions": {}, "results": results}
    text = report.table(record)
    assert "| 4 | – | 100.0 µs (0.50) | – |" in text
    assert "| 10,000 | 0.900 | 1.800 | 0.50 |" in text
    assert report.targets(record) == [
        "scalar_chain, 1 thread(s): 0.50 of PyTorch's time, target 0.45: missed",
        "lenet_32, 2 thread(s): 0.50 of PyTorch's time, target 1.0: met",
        "lenet_32, 2 thread(s): 0.70 of PyTorch's peak memory, target 0.6: missed",
    ]


def test_a_missing_backend_is_reported(monkeypatch):
    monkeypatch.setitem(
        works.WORKS, "linear_regression", works.Work("regression", "", ("nonesuch",))
    )
    versions, results = interleave.run(1, 0.01, ("linear_regression",), ("autolab", "nonesuch"))
    assert versions["nonesuch"].startswith("missing") and list(results[0]["backends"]) == [
        "autolab"
    ]


def test_libraries_choose_their_kernels_by_themselves(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE" not in interleave.environment(2)
    assert interleave.environment(2)["OMP_NUM_THREADS"] == "2"


def test_import_loads_no_widgets_and_no_matplotlib():
    _, heavy = imports.once("autolab")
    assert heavy == []


def test_every_backend_has_its_place():
    assert set(BACKENDS) == {b for work in WORKS.values() for b in (*work.backends, *work.cannot)}
