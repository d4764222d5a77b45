"""The shipped weights are those that `tools/pretrain_digits.py` makes, on any processor and with any number of
threads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from blas_kernels import environment, processors
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
    environment = dict(os.environ) | environment | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def checksums(settings, change=""):
    """{(processor, threads): checksum of the weights after an epoch}; processor "" is what OpenBLAS finds."""
    return {
        (processor, threads): run(
            ["-c", ONE_EPOCH.format(change=change)], **environment(processor, threads)
        ).split()[-1]
        for processor, threads in settings
    }


PROCESSORS = processors()


def test_processor_and_threads_make_no_difference():
    found = checksums([("", 2), ((PROCESSORS or [""])[0], 1)])
    assert len(found) == 2 and len(set(found.values())) == 1, found


def test_the_script_makes_the_shipped_file():
    output = run(["tools/pretrain_digits.py", "--check"])
    assert output.splitlines()[-1] == "the same as the shipped file"
