"""The module that runs programs in the playground. It runs in a process of its own, with its stand-ins for Jupyter."""

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools" / "site"))
import run_it  # noqa: E402

KERNEL = ROOT / "tools" / "playground" / "kernel"
GUIDES = [
    (path.stem, program)
    for path in sorted((ROOT / "docs").glob("*.md"))
    for _, program in run_it.examples(path.read_text(encoding="utf-8"))
]
RUN = """
import json, sys
import playground
told = []
ok = playground.run(sys.stdin.read(), told.append)
for one in told:
    one.pop("html", None), one.pop("svg", None)
print(json.dumps([ok, told]), file=sys.__stdout__)
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=code,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{KERNEL}:{ROOT}", "PATH": "/usr/bin:/bin", "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    ok, told = json.loads(done.stdout)
    text = "".join(one["text"] for one in told if one["kind"] == "text")
    return ok, text, [one for one in told if one["kind"] != "text"]


def test_torch_is_autolab_and_the_page_says_so():
    ok, text, shown = run(
        "import torch.nn as nn, torch.nn.functional\nfrom torch import optim\nimport torch\n"
        "print(nn.Linear.__module__, torch.nn.functional.relu(torch.ones(1)), optim.SGD.__name__)"
    )
    assert ok and not shown
    assert text.startswith("torch is autolab here")
    assert text.endswith("autolab.nn.modules.linear tensor([1.]) SGD\n")


def test_widgets_and_plots_are_shown_and_the_last_value_is_printed():
    ok, text, shown = run(
        "import autolab\nx = autolab.tensor(2.0, requires_grad=True)\nz = x * x\nautolab.explore(z)\n"
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\ndisplay(z.detach())\nz.item()"
    )
    assert ok and [one["kind"] for one in shown] == ["page", "svg"]
    assert text == "tensor(4.)\n4.0\n"


def test_an_error_shows_the_learners_lines_and_its_explanation():
    ok, text, shown = run(
        "import autolab\nx = autolab.ones(2, 3, requires_grad=True)\nwith autolab.record():\n    y = x @ x"
    )
    assert not ok and [one["kind"] for one in shown] == ["error", "page"]
    assert 'File "playground.py", line 4' in shown[0]["text"]
    assert "engine" not in shown[0]["text"]
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in shown[0]["text"]


def test_a_program_that_prints_for_ever_is_cut():
    ok, text, _ = run("for n in range(40000):\n    print('number', n)")
    assert ok and 100_000 < len(text) < 100_200 and "more than 100,000 characters" in text


@pytest.mark.parametrize(
    "path", sorted((KERNEL.parent / "examples").glob("*.py")), ids=lambda p: p.stem
)
def test_every_example_has_a_title_and_shows_something(path):
    title, _, code = path.read_text(encoding="utf-8").partition("\n")
    assert title.startswith("# ") and len(title) < 90
    ok, _, shown = run(code)
    assert ok == (path.stem != "08_in_place") and shown[-1]["kind"] in ("page", "svg")


@pytest.mark.parametrize(("guide", "program"), GUIDES)
def test_an_example_of_a_guide_runs_in_the_playground(guide, program):
    ok, text, shown = run(program)
    assert ok, (text, shown)
    assert shown[-1]["kind"] == "page"


def test_a_page_gets_a_link_below_each_example_that_shows_a_graph():
    page = (
        "```python\nimport autolab\nx = autolab.ones(2)\nprint(x)\n```\nThen:\n"
        "```python\n>>> y = x.requires_grad_() * 2\n>>> e = autolab.explore(y)\n```\nEnd.\n"
    )
    made = run_it.with_links(page, "../playground/index.html")
    assert made.count("Run it") == 1 and made.index("Then") < made.index("Run it") < made.index(
        "End"
    )
    code = made.partition("#code=")[2].partition('"')[0]
    program = zlib.decompress(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)), -15).decode()
    assert program == (
        "import autolab\nx = autolab.ones(2)\ny = x.requires_grad_() * 2\ne = autolab.explore(y)\ne\n"
    )


def test_every_guide_with_a_graph_is_among_those_that_run():
    assert {name for name, _ in GUIDES} == {"engine_tour", "own_engine", "practice", "pytorch"}
