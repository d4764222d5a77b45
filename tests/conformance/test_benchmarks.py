"""The benchmark measures the same work in every backend, and writes what it says it writes."""

import json

import numpy as np
import pytest
from benchmarks import imports, interleave, report
from benchmarks.works import BACKENDS, WORKS, build


def numbers(results):
    return [
        np.asarray(r.detach().numpy() if hasattr(r, "detach") else getattr(r, "data", r), dtype=np.float64).ravel()
        for r in results
    ]


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("backend", [b for b in BACKENDS if b != "autolab"])
def test_every_backend_computes_the_same_numbers(backend, work):
    pytest.importorskip(backend)
    mine, other = build("autolab", work), build(backend, work)
    for _ in range(3):  # the regression moves with every call
        for a, b in zip(numbers(mine()), numbers(other())):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_short_run_gives_ratios_and_files(tmp_path, capsys):
    versions, results = interleave.run(
        rounds=2, seconds=0.01, works=("linear_regression",), names=("autolab", "autograd")
    )
    assert results["linear_regression"]["autolab"]["blocks"] == 2 and results["linear_regression"]["autolab"]["cpu"] > 0
    record = {
        "date": "2000-01-01",
        "machine": report.machine(),
        "versions": versions,
        "results": results,
        "imports": {
            "numpy_ms": 1.0,
            "autolab_ms": 2.0,
            "over_numpy_ms": 1.0,
            "target_ms": 150,
            "met": True,
            "heavy_modules_loaded": [],
        },
    }
    path = report.write(record, tmp_path)
    assert json.loads(path.read_text())["results"] == results
    assert "| one epoch of linear regression" in path.with_suffix(".md").read_text()


def test_a_missing_backend_is_reported(monkeypatch):
    versions, results = interleave.run(
        rounds=1, seconds=0.01, works=("linear_regression",), names=("autolab", "nonesuch")
    )
    assert versions["nonesuch"].startswith("missing") and list(results["linear_regression"]) == ["autolab"]


def test_import_loads_no_widgets_and_no_matplotlib():
    _, heavy = imports.once("autolab")
    assert heavy == []
