"""The inventory: each item asks what it should ask, answers are kept, and results are computed
correctly."""

import json

import pytest

import autolab
from autolab import cli, inventory, progress
from autolab.inventory.asking import Inventory
from autolab.inventory.items import FORMS, ITEMS, PASS, said
from autolab.progress import store
from autolab.specimens import SPECIMENS, Outcome

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    """A progress file of its own for each test."""
    monkeypatch.setenv("AUTOLAB_PROGRESS", str(tmp_path / "progress.jsonl"))
    store._waiting.clear()
    return tmp_path / "progress.jsonl"


each_form = pytest.mark.parametrize(
    ("item", "letter"), [pytest.param(i, f, id=f"{i.number}{f}") for i in ITEMS for f in FORMS]
)


@each_form
def test_the_right_engine_gives_the_key_and_the_specimen_its_distractor(item, letter):
    form = item.form(letter)
    assert item.given_by(letter) == form.key
    assert tuple(item.given_by(letter, number) for number in item.numbers) == form.beliefs
    assert len({*form.choices, PASS}) == 5


@pytest.mark.skipif(torch is None, reason="compares with PyTorch")
@each_form
def test_pytorch_gives_the_key_too(item, letter):
    if '"cuda"' in item.form(letter).text:
        pytest.skip("needs a GPU")
    assert said(Outcome.of(lambda: item.form(letter).run(torch))) == item.form(letter).key


def test_twenty_ideas_in_two_forms_of_the_same_build():
    assert len({item.number for item in ITEMS}) == len({item.idea for item in ITEMS}) == 20
    assert sorted(number for item in ITEMS for number in item.numbers) == sorted(SPECIMENS), (
        "none is left out"
    )
    for item in ITEMS:
        a, b = item.a, item.b
        assert a.text != b.text and len(a.text.splitlines()) == len(b.text.splitlines())
        kinds = [
            [choice if choice in ("None", "an error") else "value" for choice in form.choices]
            for form in (a, b)
        ]
        assert kinds[0] == kinds[1], "the same kinds of answers stand for the same mistakes"


def test_no_choice_gives_itself_away():
    """Neither its position, nor its length, nor its words show which choice is right."""
    forms = [item.form(letter) for item in ITEMS for letter in FORMS]
    lengths = [sorted(forms[i].choices, key=len) for i in range(len(forms))]
    alone = lambda by, i, key: len(by[i]) != len(by[i + (1 if i == 0 else -1)]) and by[i] == key
    for end in (0, -1):
        assert sum(alone(by, end, form.key) for by, form in zip(lengths, forms)) <= len(forms) / 4
    for word in ("None", "an error"):
        offered = [form for form in forms if word in form.choices]
        right = [form for form in offered if form.key == word]
        assert 0 < len(right) <= 0.4 * len(offered), f"who always answers {word} does not do well"
    places = [
        form.shuffled(str(n), learner).index(form.key)
        for learner in "abcdefgh"
        for n, form in enumerate(forms)
    ]
    assert all(0.15 < places.count(i) / len(places) < 0.35 for i in range(4)) and max(places) == 3
    assert (
        forms[0].shuffled("x", "learner") == forms[0].shuffled("x", "learner")
        and forms[0].shuffled("x", "me")[-1] == PASS
    )


def answered(when, right, wrong=PASS):
    """A sitting handed in: `right` items rightly, the others by `wrong`, "belief" or a choice."""
    one = inventory.sitting(when)
    for n, item in enumerate(ITEMS):
        form = one.form(item)
        one = one.answer(
            item, form.key if n < right else form.beliefs[0] if wrong == "belief" else wrong
        )
    return one.end()


def test_a_sitting_survives_and_the_other_one_has_the_other_form():
    before = inventory.sitting("before")
    before = before.answer(ITEMS[0], "0").answer(ITEMS[1], PASS).answer(ITEMS[0], "None")
    assert inventory.sitting("before") == before and before.answers == {5: "None", 6: PASS}
    assert inventory.sitting("after").letter != before.letter
    assert "2 of 20 answered, not handed in" in repr(inventory()) and "after   not begun" in repr(
        inventory()
    )
    with pytest.raises(ValueError, match="choice should be one of .*, but is '3.5'"):
        before.answer(ITEMS[0], "3.5")
    with pytest.raises(ValueError, match='when should be "before" or "after", but is \'later\''):
        inventory("later")
    with pytest.raises(ValueError, match="handed in already"):
        before.end().answer(ITEMS[2], PASS)
    inventory.reset("before")
    assert inventory.sitting("before").answers == {}


def test_both_forms_are_first_for_some(monkeypatch):
    letters = set()
    for name in "abcdefgh":
        monkeypatch.setattr(progress, "learner", lambda name=name: name)
        letters.add(inventory.sitting("before").letter)
        assert {inventory.sitting("before").letter, inventory.sitting("after").letter} == {"A", "B"}
    assert letters == {"A", "B"}


def test_nothing_is_told_before_both_are_handed_in():
    answered("before", 5)
    assert "right" not in repr(autolab.progress()) and "5 of" not in repr(inventory())
    answered("after", 15, "belief")
    text = repr(inventory())
    assert text.splitlines()[0] == "The inventory: 5 of 20 right before, 15 after"
    assert "You gained 67% of the 15 answers that you could gain" in text
    rows = [line.split()[0] for line in text.splitlines()[1:21]]
    assert (rows.count("learned"), rows.count("known")) == (10, 5) and rows[0] == "learned"
    assert "You answered as if: After backward() a loss is only its number" in text


def test_what_was_right_before_leaves_nothing_to_gain():
    answered("before", 20)
    answered("after", 19)
    assert "there was nothing to gain" in repr(inventory()) and "lost" in repr(inventory())
    assert inventory.hake(0.5, 0.25) == -0.5


def test_a_class(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "class"
    folder.mkdir()
    for name, before, after in (("ann", 4, 12), ("bob", 8, 20), ("cy", 20, None)):
        monkeypatch.setenv("AUTOLAB_PROGRESS", str(tmp_path / f"{name}.store"))
        progress.record("ask", "01.q1", given="private")
        answered("before", before, "belief")
        if after is not None:
            answered("after", after)
        assert cli.main(["inventory", "--hand-in", str(folder / f"{name}.jsonl")]) == 0
    assert "private" not in (folder / "ann.jsonl").read_text()
    (folder / "noise.jsonl").write_text(
        '{"kind": "inventory", "id": "before.A.99"}\n[]\n{"time": "t", "kind": "inventory", "id": "x"}\n'
    )
    capsys.readouterr()
    assert cli.main(["inventory", "--class", str(folder), "-o", str(tmp_path / "t.csv")]) == 0
    text = capsys.readouterr().out
    assert (
        text.startswith("2 learners with both sittings")
        and "2 left out, who did not hand in both: cy, noise" in text
    )
    assert "With fewer than 10 learners" in text
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert (
        lines[0] == "misconception,idea,before,after,gain,belief before,belief after,belief"
        and len(lines) == 27
    )
    assert lines[-1] == ",all,30,80,0.71,,,", "12 of 40 before, 32 of 40 after: 20 of 28"
    assert lines[1].startswith("5,") and ",100,100,,0,0," in lines[1], (
        "where all were right before, the gain is undefined"
    )
    assert cli.main(["inventory", "--class", str(tmp_path / "none")]) == 1
    assert "there is no *.jsonl" in capsys.readouterr().err
    assert (
        "Nobody has handed in both" in repr(inventory.Group({}, ("x",)))
        and inventory.Group({}).csv == "misconception\n"
    )


def test_in_a_terminal(monkeypatch, capsys):
    typed = iter(["9", "x", "1", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    assert cli.main(["inventory", "before"]) == 0
    out = capsys.readouterr().out
    assert (
        "Type a number from 1 to 5, or press Enter to stop." in out
        and "2 of 20" in out
        and "1 of 20 answered, not handed in" in out
    )
    monkeypatch.setattr("builtins.input", lambda _: "5")
    assert cli.main(["inventory", "before"]) == 0
    assert "handed in, 20 of 20 answered" in capsys.readouterr().out
    assert cli.main(["inventory", "before"]) == 0
    assert "Type the number" not in capsys.readouterr().out, "nothing is left to answer"
    assert (
        cli.main(["inventory", "--reset", "before"]) == 0
        and inventory.sitting("before").answers == {}
    )


def test_the_widget_keeps_answers_and_ends(path):
    widget = inventory("before")
    assert (
        isinstance(widget, Inventory)
        and len(widget.items) == 20
        and "0 of 20 answered" in repr(widget)
    )
    first = widget.items[0]
    widget.answers = {first["number"]: first["choices"][0]}
    widget.answers = {first["number"]: first["choices"][1]}
    assert [e.given for e in progress.events("inventory")] == first["choices"][:2]
    again = inventory("before")
    assert again.answers == widget.answers and not again.said
    widget.answers = {item["number"]: PASS for item in widget.items}
    widget.handed_in = True
    assert "handed in, 20 of 20" in widget.said and json.loads(path.read_text().splitlines()[-1])[
        "id"
    ].endswith(".done")
    assert inventory("before").handed_in
