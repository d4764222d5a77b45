"""The code of docs/pytorch.md runs as it stands there."""

import linecache
import re
from pathlib import Path

import pytest

import autolab

torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_the_page_runs(capsys):
    names, shown = {}, []
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 5
    for number, block in enumerate(blocks):
        file = f"<page {number}>"
        linecache.cache[file] = len(block), None, block.splitlines(keepends=True), file
        exec(compile(block, file, "exec"), names)
        shown.append(capsys.readouterr().out)
    assert shown[2].startswith("(2, 2, 5, 5) self_attn ")
    groups = re.sub(r" \d+$", "", shown[3], flags=re.M).splitlines()
    assert groups == ["iteration iteration 1", "step optimizer.step()", "iteration iteration 2", "step optimizer.step()"]
    trace = names["recording"].trace()
    assert [n for n in trace.nodes if n.update and "momentum" in str(n.update["settings"])]
    assert autolab.viz.draw(names["recording"])
