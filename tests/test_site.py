"""The pages of lessons on the site: they are made of stored outputs, and their questions and graphs work."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = """
import sys
from pathlib import Path
sys.path[:0] = ["tools/site", "."]
import lessons
sys.__stdout__.write(lessons.page(Path(sys.argv[1])))
"""


def page_of(notebook):
    """Return a lesson's page, made in a process of its own as the site is built."""
    command = [sys.executable, "-c", MAKE, f"course/{notebook}.ipynb"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def page():
    return page_of("more/01_custom_function")


def test_a_question_is_answered_in_the_page_and_what_follows_is_hidden_until_then(page):
    before, _, after = page.partition("Show without an answer")
    state = json.loads(
        before.rpartition('<script type="application/json">')[2].partition("</script>")[0]
    )
    assert state["answer"] == "" and not state["live"]
    assert any("came true" in text for text in state["verdicts"].values())
    assert 'class="awaits"' in after and 'class="awaits"' not in before
    assert "Run this cell" not in page


def test_a_graph_of_a_lesson_is_there_with_its_question(page):
    states = [
        json.loads(part.partition("</script>")[0])
        for part in page.split('<script type="application/json">')[1:]
    ]
    assert [state["asked"] for state in states if "asked" in state] == ["q1"]


def test_what_a_cell_of_a_graph_needs_of_earlier_cells_is_found():
    sys.path.insert(0, str(ROOT / "tools" / "site"))
    import run_it

    cells = [
        "import autolab as torch\nprint('hello')",
        "x = torch.ones(2)\nlost = 3",
        "def twice(lost):\n    x = lost * 2\n    return x",
        "found = []\nfor k in range(2):\n    found.append(twice(x))\nfound.clear()",
    ]
    assert "".join(run_it.needed(cells, "y = found[0]\ntorch.explore(y)")) == (
        "import autolab as torch\nx = torch.ones(2)\ndef twice(lost):\n    x = lost * 2\n    return x\n"
        "found = []\nfor k in range(2):\n    found.append(twice(x))\nfound.clear()\n"
    )


def test_the_first_page_shows_every_picture_of_the_gallery_with_its_line():
    sys.path.insert(0, str(ROOT / "tools" / "site"))
    import start

    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = list(start.SHOWN.finditer(text))
    assert len(shown) >= text.count("](images/") - 2  # two more pictures belong to the same line
    assert not any("One picture" in one["line"] for one in shown)
