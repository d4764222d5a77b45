"""Recordings as text. `AUTOLAB_WRITE_GOLDEN=1 pytest tests/trace` writes the expected texts anew: read the difference
before keeping it."""

import os
from pathlib import Path

import programs
import pytest

import autolab as torch

GOLDEN = Path(__file__).with_name("golden")


def recorded(program):
    with torch.record() as recording:
        try:
            program(torch)
        except RuntimeError:
            raise
    return recording


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_recording_reads_as_expected(name):
    recording = torch.record()
    try:
        with recording:
            programs.PROGRAMS[name](torch)
    except RuntimeError:
        assert recording.trace().meta["error"] is not None
    text = recording.text() + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("AUTOLAB_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
