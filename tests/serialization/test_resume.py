"""Training that is interrupted after any step, by SIGKILL too, ends with the same bits as one that is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import training
from goldens.oracle import ENGINE

import autolab as torch

pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own")
STEPS = training.EPOCHS * training.BATCHES


def bits(value):
    """Everything in a checkpoint, to the bit."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return {key: bits(v) for key, v in value.items()}
    return [bits(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "x.pth"
    reached = training.train(path)
    assert (reached["epoch"], reached["batch"]) == (training.EPOCHS - 1, training.BATCHES)
    assert bits(torch.load(path)) == bits(reached)
    return path.read_bytes(), bits(reached)


def test_stopped_after_every_step(uninterrupted, tmp_path):
    path = tmp_path / "x.pth"
    for k in range(STEPS):
        torch.manual_seed(k)
        training.train(path, stop_after=1)
    assert path.read_bytes() == uninterrupted[0]


@pytest.mark.parametrize("k", [1, 4, 7])
def test_killed(k, uninterrupted, tmp_path):
    """SIGKILL as soon as step k is reported, wherever the process then is: computing the next step, or writing it."""
    path = tmp_path / "x.pth"
    root = str(Path(torch.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
    }
    process = subprocess.Popen(
        [sys.executable, training.__file__, path],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    while process.stdout.readline().strip() != str(k):
        assert process.poll() is None
    process.kill()
    process.wait()
    found = torch.load(path)
    assert found["epoch"] * training.BATCHES + found["batch"] >= k
    assert bits(training.train(path)) == uninterrupted[1]
    assert path.read_bytes() == uninterrupted[0]


@pytest.mark.parametrize("part", ["rng", "epoch_rng", "optimizer", "scheduler"])
def test_every_part_matters(part, uninterrupted, tmp_path):
    """With one part of the checkpoint from elsewhere other bits come out: the tests above would notice."""
    path = tmp_path / "x.pth"
    state, early = (
        training.train(path, stop_after=6),
        training.train(tmp_path / "early.pth", stop_after=1),
    )
    torch.save({**torch.load(path), part: early[part]}, path)
    assert state[part] is not early[part]
    assert bits(training.train(path)) != uninterrupted[1]
