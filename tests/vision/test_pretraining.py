"""The shipped weights are those that `tools/pretrain_digits.py` makes, on any processor and with any number of threads."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from goldens.oracle import ENGINE

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own")

ONE_EPOCH = """
import sys; sys.path.insert(0, 'tools')
import hashlib, pretrain_digits as tool
{change}
model = tool.pretrain(epochs=1)
print(hashlib.sha256(b''.join(value.numpy().tobytes() for value in model.state_dict().values())).hexdigest())
"""


def run(arguments, **environment):
    """The standard output of Python with these arguments and environment variables."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT), **environment)
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def processors():
    """Kernels of OpenBLAS that this processor can run: each rounds sums in its own way."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if platform.machine() != "x86_64":
        return []
    known = {"Sandybridge": " avx ", "Haswell": " avx2 ", "SKYLAKEX": " avx512vl "}
    return [name for name, flag in known.items() if flag in flags and works(name)]


def works(name):
    """Whether a plain product of NumPy's survives these kernels: chosen by name, OpenBLAS 0.3.34 crashes in some of them on AMD's Zen 4
    and 5 (https://github.com/OpenMathLib/OpenBLAS/issues/6021)."""
    product = "import numpy as np; assert (np.ones((32, 512)) @ np.ones((512, 2)) == 512).all()"
    return subprocess.run([sys.executable, "-c", product], env=dict(os.environ, OPENBLAS_CORETYPE=name)).returncode == 0


def checksums(settings, change=""):
    """{(processor, threads): checksum of the weights after an epoch}; processor "" is what OpenBLAS finds."""
    found = {}
    for processor, threads in settings:
        variables = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        if processor:
            variables["OPENBLAS_CORETYPE"] = processor
        found[processor, threads] = run(["-c", ONE_EPOCH.format(change=change)], **variables).split()[-1]
    return found


def test_processor_and_threads_make_no_difference():
    found = checksums([("", "2"), *((processor, "1") for processor in processors() or [""])])
    assert len(found) > 1 and len(set(found.values())) == 1, found


@pytest.mark.skipif(len(processors()) < 2, reason="this processor has one kind of kernel only")
def test_without_rounding_they_would():
    """So the test above can fail."""
    found = checksums([(processor, "1") for processor in processors()], "tool.round_to_grid = lambda model: None")
    assert len(set(found.values())) > 1, found


def test_the_script_makes_the_shipped_file():
    output = run(["tools/pretrain_digits.py", "--check"])
    assert output.splitlines()[-1] == "the same as the shipped file"
