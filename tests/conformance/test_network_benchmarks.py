"""The benchmark of networks measures the same work in both backends, and says what it measured."""

import pytest
from benchmarks import networks


@pytest.mark.parametrize("work", ["lenet_32", "resnet9_32"])
def test_both_backends_compute_the_same_losses(work):
    pytest.importorskip("torch")
    mine, other = networks.build("autolab", work), networks.build("torch", work)
    for _ in range(2):
        assert mine() == pytest.approx(other(), rel=2e-4)


def test_a_short_run_gives_ratios_and_a_table():
    results = networks.run(["lenet_32"], [1], rounds=2, seconds=0.01, say=lambda line: None)
    (result,) = results
    assert result["backends"]["autolab"]["wall"] > 0 and result["backends"]["autolab"]["memory"] > 10
    text = networks.table({"date": "2000-01-01", "machine": {"cpu": "none"}, "results": results})
    assert "| LeNet training step, 32 images 28 x 28 | 1 | autolab |" in text
