"""Plans and solutions travel with the wheel, and stay out of learners' folders."""

import ast
import json

import pytest

from autolab import cli
from autolab.classroom import cheatsheet, papers
from autolab.lessons import book
from autolab.lessons.solutions import of_lesson


def test_plans(tmp_path, capsys):
    assert cli.main(["plans"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("01  Lesson 1") and len(out) == len(papers.plans())
    assert all("minutes" in line and "|" not in line and ".." not in line for line in out)
    assert cli.main(["plans", "01"]) == 0 and capsys.readouterr().out.startswith("# Lesson 1")
    assert cli.main(["plans", "-o", str(tmp_path / "p")]) == 0
    assert sorted(p.name for p in (tmp_path / "p").iterdir()) == sorted(
        p.name for p in papers.plans().values()
    )
    assert (
        cli.main(["plans", "99"]) == 1
        and "no plan is called '99'; type one of 01" in capsys.readouterr().err
    )


def test_solutions(tmp_path, capsys):
    assert (
        cli.main(["solutions"]) == 0
        and "Solutions of the lessons 01, 02, 03" in capsys.readouterr().out
    )
    id, (first, *_) = next(iter(of_lesson("01").items()))
    assert cli.main(["solutions", id]) == 0
    assert capsys.readouterr().out.startswith(f"# %% {id}\n{first.source}")
    assert cli.main(["solutions", "01"]) == 0
    ast.parse(capsys.readouterr().out)
    assert cli.main(["solutions", "01.99"]) == cli.main(["solutions", "7"]) == 1
    assert "'01.99' has no solution; type one of 01.1" in capsys.readouterr().err
    assert cli.main(["solutions", "-o", str(tmp_path / "s")]) == 0
    for number in papers.known():
        cells = [
            "".join(c["source"])
            for solved in (tmp_path / "s").glob(f"{number}_*.ipynb")
            for c in json.loads(solved.read_text(encoding="utf-8"))["cells"]
        ]
        for id, (one, *_) in of_lesson(number).items():
            assert (
                sum(cell.startswith(one.source) and f'check("{id}"' in cell for cell in cells) == 1
            ), id
        assert set(of_lesson(number)) == set(book.lesson(number).EXERCISES)


def test_not_where_a_learner_works(tmp_path, capsys):
    cli.main(["lab", str(tmp_path), "--copy-only"])
    before = sorted(p.name for p in tmp_path.rglob("*"))
    for command in ("plans", "solutions"):
        assert cli.main([command, "-o", str(tmp_path)]) == 1
        assert "is a folder in which a learner works" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    assert not any("solution" in name or "solved" in name or name == "plans" for name in before)


def test_a_lesson_that_is_not_there():
    with pytest.raises(KeyError, match="no lesson is called '77'; the kit has 01"):
        papers.notebook("77")


def test_the_cheat_sheet_is_printed_from_the_course(tmp_path):
    assert cli.main(["cheatsheet", "-o", str(tmp_path / "sheet.html")]) == 0
    text = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    lines = [line for several in cheatsheet.takeaways().values() for line in several]
    assert len(cheatsheet.takeaways()) == len(papers.plans()) and len(lines) > 30
    assert (
        all(cheatsheet.inline(line) in text for line in lines)
        and text.count("<dt>") >= 12
        and "<dt>term</dt>" not in text
    )
    assert not any("](" in line or "http" in line for line in lines) and "http" not in text.replace(
        "http://www.w3.org", ""
    )
    assert (
        cheatsheet._without_links("first this. PyTorch says [it](there). `then` that.")
        == "First this. `then` that."
    )


def test_the_step_of_training_on_the_sheet_runs():
    import autolab as torch

    model = torch.nn.Linear(2, 1)
    names = {
        "model": model,
        "device": "cpu",
        "loss_of": torch.nn.functional.mse_loss,
        "loader": [(torch.ones(3, 2), torch.ones(3, 1))] * 9,
    }
    names["optimizer"] = torch.optim.SGD(model.parameters(), lr=0.1)
    before = torch.nn.functional.mse_loss(model(torch.ones(3, 2)), torch.ones(3, 1)).item()
    exec(cheatsheet.LOOP, names)
    assert names["loss"].item() < before
