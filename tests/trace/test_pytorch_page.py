"""The code of docs/pytorch.md runs as written."""

import linecache
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)  # it writes a page
    names, shown = {}, []
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 8
    for number, block in enumerate(blocks):
        file = f"<page {number}>"
        linecache.cache[file] = len(block), None, block.splitlines(keepends=True), file
        exec(compile(block, file, "exec"), names)
        shown.append(capsys.readouterr().out)
        if number == 3:
            trace = names["recording"].trace()
    weights, *groups = shown[3].splitlines()
    assert weights.startswith("(4, 4, 6, 6) encoder.layers.0.self_attn ")
    assert groups == [
        "iteration iteration 1",
        "step optimizer.step()",
        "iteration iteration 2",
        "step optimizer.step()",
    ]
    assert {n.update["optimizer"] for n in trace.nodes if n.update} == {"Adam"}
    assert len([n for n in names["explorer"].trace.nodes if n.op == "convolution"]) == 20
    assert (tmp_path / "resnet18.html").stat().st_size > 500_000
    assert shown[5] == "2565 parameters are trained\n"
    assert "2x192 and 64x5" in shown[6] and "It was given c1: float32 [2, 192]" in shown[6]
    assert "line 2: y = torch.ones(2, 3" in shown[7] and "line 4: y += 1" in shown[7]
