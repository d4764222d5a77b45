"""The two walks that open ARCHITECTURE.md are true: these functions are called, in this order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CALLED = """
import sys
import autolab as torch

def calls(run):
    seen = []
    def watch(frame, event, arg):
        name = frame.f_code.co_filename
        if event == "call" and "engine" in name:
            seen.append(name.replace("\\\\", "/").rpartition("/engine/")[2] + " " + frame.f_code.co_name)
    sys.setprofile(watch)
    run()
    sys.setprofile(None)
    return seen

a, b = (torch.tensor(x, requires_grad=True) for x in (2.0, 3.0))
for _ in range(2):          # the second time everything that is compiled is there
    loss = a * b
    loss.backward()
print(*calls(lambda: a * b), sep="\\n")
loss = a * b
print("--")
print(*calls(lambda: loss.backward()), sep="\\n")
"""


def test_the_page_is_short():
    assert len(TEXT.split()) <= 1800


def walk(what, engine):
    """Return the steps that the page lists: ("dispatch.py", "apply"), …"""
    section = re.search(
        rf"\*\*`{re.escape(what)}`, {engine}\*\*\n\n(.*?)\n\n(?:\*\*|##)", TEXT, re.S
    )[1]
    return re.findall(r"^\d+\. `([^`]+)` `(\w+)`", section, re.MULTILINE)


@pytest.fixture(scope="module", params=["plain", "fast"])
def called(request):
    environment = os.environ | {"AUTOLAB_ENGINE": request.param, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", CALLED], env=environment, capture_output=True, text=True, check=True
    )
    return request.param, dict(zip(("a * b", "loss.backward()"), done.stdout.split("--\n")))


@pytest.mark.parametrize("what", ["a * b", "loss.backward()"])
def test_a_walk_is_what_happens(called, what):
    engine, happened = called[0], iter(called[1][what].splitlines())
    listed = walk(what, engine)
    assert len(listed) > (engine == "plain")
    for file, function in listed:
        assert any(line == f"{file} {function}" for line in happened), (
            f"{file} {function} is not called, or earlier than the page says"
        )


def test_the_lists_would_notice_another_order():
    """Check that the test above can fail."""
    steps = [f"{file} {function}" for file, function in walk("a * b", "plain")]
    happened = iter(reversed(steps))
    assert not all(any(line == step for line in happened) for step in steps)
