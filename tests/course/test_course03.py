"""The numbers in lesson 3's prose are those that its notebook printed, and what PyTorch can run prints the same
there."""

import contextlib
import io
import json
import html
import re
from pathlib import Path

import pytest

import autolab
from autolab.lessons.book import lesson

COURSE = Path(__file__).parents[2] / "course"
NOTEBOOKS = [COURSE / "03_finetuning.ipynb", *sorted((COURSE / "more").glob("03_*.ipynb"))]
CELLS = [c for path in NOTEBOOKS for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def source(cell):
    return "".join(cell["source"])


def tags(cell):
    return cell["metadata"].get("tags", [])


def printed(cell):
    return "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")


def percentages(cell):
    return [int(number) for number in re.findall(r"(\d+) %", printed(cell))]


PROSE = " ".join(" ".join(source(c).split()) for c in CELLS if c["cell_type"] == "markdown")


def cell_with(words):
    (found,) = [c for c in CELLS if c["cell_type"] == "code" and words in source(c)]
    return found


def test_table_of_exercise_3_has_the_rows_of_the_checker():
    rows = re.findall(r'^    "(.+)": \.\.\.,$', source(cell_with('check("03.3"')), re.MULTILINE)
    assert rows == list(lesson("03").EXERCISES["03.3"].reference)


def test_every_prediction_is_revealed_with_one_of_its_choices():
    for cell in CELLS:
        if "reveal" not in tags(cell):
            continue
        id = f"03.{source(cell).split('.reveal')[0].splitlines()[-1]}"
        shown = re.sub("</?code>", "`", "".join(cell["outputs"][0]["data"]["text/html"]))
        said = html.unescape(re.search(r"It is: ([^<]+)", shown)[1])
        choices = lesson("03").QUESTIONS[id].choices
        said = "an error" if said.startswith("an error") else said
        assert said in choices if choices else said.isdigit(), id


# -- numbers -----------------------------------------------------------------------------------------------------------
def test_every_comparison_that_is_printed_came_out_as_the_prose_says():
    scratch, head, *others = percentages(cell_with("methods = {"))
    assert len(others) == 4 and scratch < head and min(others) >= scratch + 5 and others[0] >= head + 5
    learned, kept = percentages(cell_with("new_only ="))
    assert learned > 33 and kept < 20
    learned, kept = percentages(cell_with("rehearsed ="))
    assert learned > 33 and kept > 60
    before, after = percentages(cell_with("before, after = reads_mine"))
    assert after >= before
    before, after = map(float, re.findall(r"\d+\.\d", printed(cell_with("before, after = to_blame"))))
    assert after < before / 10


def test_nothing_printed_depends_on_how_a_processor_rounds():
    """What was trained is printed in lines that nbval leaves out, and these hold no other numbers."""
    left_out = re.search(r"\[trained\]\nregex: (.*)", (COURSE.parent / "autolab/classroom/nbval_sanitize.cfg").read_text("utf-8"))[1]
    compared = printed(cell_with("methods = {")) + printed(cell_with("stopping.restore(model)"))
    assert not re.search(r"\d", re.sub(left_out, "", compared))


def test_the_best_epoch_has_a_lower_loss_than_the_first():
    first, best = map(float, re.findall(r"\d+\.\d+", printed(cell_with("stopping.restore(model)"))))
    assert best < first


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ('print("images through the body:"', ["images through the body: 50"]),
        ('print("have a gradient:"', ["have a gradient: ['conv1', 'bn1', 'layer1', 'layer3', 'fc']"]),
        ("def three_steps_then_frozen", ["momentum, grad zero      when frozen  0.0620   five steps later -1.4049",
                                         "weight decay, grad None  when frozen  0.4219   five steps later  0.4219"]),
        ("start = F.cross_entropy", ["layers that have changed: bn1 conv1 layer1 layer2 layer3"]),
        ("optimizer.add_param_group({\"params\": list(model.layer3.parameters()), \"lr\"",
         ["layer3 unfrozen:             fc", "and given to the optimizer:  fc layer3"]),
        ("class Adapter", ["trained: 5120"]),
        ("def loss_on_old", ["train: 0 weights changed; loss on 0 to 4: 0.10 before, 0.29 after",
                             "eval : 0 weights changed; loss on 0 to 4: 0.10 before, 0.10 after"]),
        ("file.exists()", ["trained: 2,565 of 11,179,077 numbers"]),
        ("for with_optimizer in", ["with    the optimizer's state: weights up to 0.000 apart"]),
    ],
)
def test_what_the_prose_builds_on_is_what_was_printed(words, lines):
    assert set(lines) <= set(printed(cell_with(words)).splitlines())


def test_numbers_in_the_prose():
    assert "$0.9^{30} \\approx 4\\,\\%$" in PROSE and round(100 * 0.9**30) == 4
    assert "$8 \\cdot 64 \\cdot 3 \\cdot 3 + 64 \\cdot 8 = 5120$" in PROSE and 8 * 64 * 3 * 3 + 64 * 8 == 5120
    assert "$512 \\cdot 5 + 5 = 2565$" in PROSE and 512 * 5 + 5 == 2565
    assert "$-\\log \\frac1{10} = \\log 10 \\approx 2.3$" in PROSE
    assert autolab.tensor(10.0).log().item() == pytest.approx(2.3, abs=0.05)
    assert "a head of random numbers: loss 2.3" in printed(cell_with("fresh.fc ="))


def test_table_of_the_methods_is_that_of_the_documentation():
    documented = (COURSE.parent / "docs" / "finetuning.md").read_text(encoding="utf-8")
    pairs = {"from scratch": "from scratch", "head only": "head only, cached features", "full": "full",
             "gradual": "gradual unfreezing", "discriminative": "discriminative rates", "LoRA": "LoRA adapters"}
    for here, there in pairs.items():
        mean = re.search(rf"\| {re.escape(there)} \| ([\d.]+ ± [\d.]+) ", documented)[1]
        assert f"| {here} | {mean} |" in PROSE
    assert "Head only gains 8 points" in PROSE


# -- PyTorch -----------------------------------------------------------------------------------------------------------
PLAIN = ("def who_gets_a_gradient", "def three_steps_then_frozen", "w.requires_grad_(False)            # frozen")


@pytest.mark.parametrize("words", PLAIN)
def test_cells_without_the_kit_print_the_same_on_pytorch(words):
    torch = pytest.importorskip("torch", "2.13")
    cell, out = cell_with(words), io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source(cell), {"torch": torch, "nn": torch.nn})
    assert out.getvalue() == printed(cell)


def test_a_checkpoint_of_the_lesson_is_read_by_pytorch(tmp_path):
    torch = pytest.importorskip("torch", "2.13")
    model = autolab.vision.models.resnet_digits(weights="DEFAULT")
    autolab.save({"model": model.state_dict()}, tmp_path / "run.pth")
    read = torch.load(tmp_path / "run.pth", weights_only=True)["model"]
    assert list(read) == list(model.state_dict())
    assert all((read[name].numpy() == value.numpy()).all() for name, value in model.state_dict().items())
