"""What the prose says about the steps of a picture is what the explorer shows there; stored pictures are up to date."""

import ast
import json
import re
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from build_notebook import cells  # noqa: E402

from autolab.widgets import Explorer  # noqa: E402

COURSE = ROOT / "course"
NAMES = ["01_graphs", *(f"more/{path.stem}" for path in sorted((COURSE / "more").glob("01_*.ipynb")))]
CELLS = {
    f"{name} {c['id']}": c
    for name in NAMES
    for c in json.loads((COURSE / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
}
SOURCES = {id: "".join(c["source"]) for id, c in CELLS.items()}


def explorers(name):
    """Run the code of a lesson's source in this process: id and explorer of each cell that shows one."""
    space = {"__name__": "__main__"}
    for cell in cells(ROOT / "course" / "src" / name):
        if cell.cell_type == "markdown":
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        try:
            exec(compile(tree, cell.id, "exec"), space)
            result = eval(compile(ast.Expression(last.value), cell.id, "eval"), space) if last else None
        except Exception:
            if "raises-exception" not in cell.metadata.get("tags", []):
                raise
            continue
        if isinstance(result, Explorer) and "picture" in cell.metadata.get("tags", []):
            yield f"{name} {cell.id}", result


@pytest.fixture(scope="module")
def shown():
    """Each explorer of the lesson by its cell, made anew."""
    import matplotlib
    matplotlib.use("Agg")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(warnings, "formatwarning", warnings.formatwarning)       # the lesson sets its own
        warnings.simplefilter("ignore")
        return {id: found for name in NAMES for id, found in explorers(name)}


def cell_after(words):
    """The picture cell that follows the prose with these words."""
    ids = list(SOURCES)
    start = next(i for i, id in enumerate(ids) if words in " ".join(SOURCES[id].split()))
    return next(id for id in ids[start:] if "picture" in CELLS[id]["metadata"].get("tags", []))


@pytest.mark.parametrize(("words", "steps"), [
    ("The next picture shows such a graph as a **dry run**", {1: "z = x * x = 9", 2: "backward would start", 3: "z would send 3 to x", 4: "z would send 3 to x"}),
    ("Then step through the backward pass, which is the part *← gradients*",
     {5: "backward would start", 7: "to b (contribution 1 of 2", 9: "to b (contribution 2 of 2, so far 7)",
      11: "to x (contribution 1 of 3", 12: "to x (contribution 2 of 3", 14: "to x (contribution 3 of 3", 15: "x.grad would become 40"}),
    ("compare what `x.grad` holds after the first backward pass", {5: "x.grad is now 6", 11: "x.grad is now 12: 6 was added to what it held"}),
    ("`t.detach()` does this.", {3: "y would send 3 to w"}),
    ("In this picture the whole graph is a single node.", {2: "loss.grad would become 1"}),
    ("Which gradient reaches the root, although the root was not chosen?",
     {5: "would send 0 to root", 10: "root would send nan to x"}),
])
def test_steps_are_as_the_prose_says(shown, words, steps):
    frames = shown[cell_after(words)].trace.frames
    for step, text in steps.items():
        assert text in frames[step - 1].text


def test_no_picture_starts_with_a_gradient_left_over_from_before(shown):
    for id, explorer in shown.items():
        assert set(explorer.trace.states(-1).values()) == {"none"} or "look" in CELLS[id]["metadata"]["tags"], id


def test_a_changed_saved_tensor_is_shown_as_modified(shown):
    trace = shown[cell_after("Now here is the same graph after `y.add_(1)`")].trace
    assert [s.state for s in trace.saved] == ["modified"]
    assert {f.phase for f in trace.frames} == {"forward"}
    assert "a value that a gradient needs was changed in place" in trace.meta["why"]


def words_of(svg):
    return sorted(re.findall(r"<text[^>]*>(.*?)</text>", "".join(svg)))


def test_stored_pictures_have_the_words_of_the_explorers(shown):
    assert len(shown) >= 15
    for id, explorer in shown.items():
        data = CELLS[id]["outputs"][-1]["data"]
        assert "".join(data["text/plain"]) == explorer._repr_mimebundle_()[0]["text/plain"], id
        if "image/svg+xml" not in data:
            assert explorer.questions, f"{id}: only a picture that would tell an answer is not stored"
            continue
        assert words_of(data["image/svg+xml"]) == words_of(explorer._still()[0]), id
        assert words_of(explorer._still()[0]), id


def test_the_plan_names_the_slides_of_the_explorers(shown):
    plan = (ROOT / "course" / "plans" / "01_graphs.md").read_text(encoding="utf-8")
    named = re.findall(r"`#/(\d\d-\d\d)`", plan)
    assert sorted(named) == sorted(id.split()[1] for id in shown)
