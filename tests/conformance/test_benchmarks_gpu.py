"""The benchmark of GPUs, run on a simulated one: what it measures, and that such times never pass for a GPU's."""

import pytest
from benchmarks import gpu

import autolab as torch

SIZES = {
    gpu.matmul: (16, 256),
    gpu.chain: (100, 10**6),
    gpu.lenet: (1, 2),
    gpu.optimizer: ("SGD", "Adam"),
}


def record():
    with torch.cuda.simulate(profile="T4"):
        return gpu.measure(sizes=SIZES)


@pytest.fixture(scope="module")
def measured():
    return record()


def test_every_work_runs_on_both_sides(measured):
    found = {(r["work"], r["size"], r["place"]) for r in measured["results"]}
    both = {
        (w.__name__, s, p)
        for w, sizes in SIZES.items()
        for s in sizes
        for p in ("autolab cpu", "autolab gpu")
    }
    assert found == both - {("optimizer", kind, "autolab cpu") for kind in ("SGD", "Adam")}
    assert all(r["seconds"] > 0 for r in measured["results"])
    peaks = [
        r["peak"]
        for r in measured["results"]
        if r["work"] == "lenet" and r["place"] == "autolab gpu"
    ]
    assert 0 < peaks[0] < peaks[1], "a bigger batch takes more memory"


def test_simulated_times_are_the_same_on_every_run(measured):
    assert [r["seconds"] for r in record()["results"]] == pytest.approx(
        [r["seconds"] for r in measured["results"]], rel=1e-6
    )


def test_simulated_times_are_called_so_and_not_saved(measured, tmp_path):
    assert gpu.text(measured).startswith(
        "# SIMULATED: computed from the data sheet of a T4, not measured\n"
    )
    with pytest.raises(ValueError, match="are not saved"):
        gpu.write(measured, tmp_path)
    assert not list(tmp_path.iterdir())
