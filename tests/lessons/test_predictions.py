"""Predictions: kept, compared, explained; and readable where there is no kernel."""

import re
from pathlib import Path

import pytest
import traitlets

import autolab as torch
from autolab import progress as progress_file
from autolab.lessons import book, in_words, predict, progress
from autolab.lessons.book import lesson
from autolab.widgets.predict import Prediction, agree

SOURCES = Path(__file__).parents[2] / "course" / "src"


@pytest.fixture
def doubled():
    return Prediction(
        "What is `x.grad` after two calls?",
        choices=["6", "12", "an error"],
        because={"6": "backward() adds."},
    )


def test_a_right_guess_comes_true(doubled):
    doubled.answer = "12"
    message = doubled.reveal(torch.tensor(12.0))
    assert repr(message) == "Your prediction came true\n  you predicted  12\n  it is          12"
    assert doubled.came_true is True and doubled.actual == "12"


def test_a_wrong_guess_is_explained(doubled):
    doubled.answer = "6"
    text = repr(doubled.reveal(torch.tensor(12.0)))
    assert text.startswith("Your prediction did not come true") and text.endswith(
        "backward() adds."
    )
    assert doubled.came_true is False


def test_without_a_guess_it_waits_and_then_compares(doubled):
    verdict = doubled.reveal(torch.tensor(12.0))
    assert (
        repr(verdict).startswith("Your prediction first")
        and doubled.actual == ""
        and "12" not in verdict.text
    )
    assert doubled.came_true is None and not doubled.made
    doubled.answer = "6"
    assert (
        repr(verdict).startswith("Your prediction did not come true")
        and "backward() adds." in verdict.text
    )
    assert doubled.actual == "12"


def test_running_all_cells_answers_nothing_and_loses_nothing(doubled):
    for _ in range(2):
        verdict = doubled.reveal(torch.tensor(12.0))
    assert doubled.answer == doubled.actual == "" and verdict is doubled.reveal(12.0)
    doubled.answer = "12"
    assert repr(doubled.reveal(12.0)).startswith("Your prediction came true")
    assert "it is          6" in repr(doubled.reveal(6.0)), "the program was changed and run again"


def test_show_me_gives_up(doubled):
    verdict = doubled.reveal(torch.tensor(12.0))
    verdict.asked = True
    assert (
        repr(verdict) == "You made no prediction here\n  it is  12"
        and doubled.actual == "12"
        and not doubled.made
    )


def test_what_readers_see_of_a_verdict_is_folded_away(doubled):
    data = doubled.reveal(12.0)._repr_mimebundle_()[0]
    assert (
        "12" not in data["text/plain"]
        and data["text/html"].startswith("<details")
        and "It is: 12" in data["text/html"]
    )


def test_a_key_makes_the_answer_of_what_happened():
    which = Prediction(
        "Which?",
        choices=["both", "neither"],
        key=lambda names: "both" if len(names) == 2 else "neither",
    )
    which.answer = "both"
    assert repr(which.reveal(["a", "b"])).startswith("Your prediction came true")
    assert repr(which.reveal([])).startswith("Your prediction did not")
    fixed = Prediction("Which line?", choices=["1", "2"], key="2")
    fixed.answer = "2"
    assert repr(fixed.reveal()).startswith("Your prediction came true")


def test_a_page_knows_what_to_say_to_each_answer_and_keeps_none(doubled):
    doubled.answer = "6"
    doubled.reveal(12.0)
    state = doubled.export_state()
    assert (state["answer"], state["actual"], state["live"]) == ("", "", False)
    assert (
        state["verdicts"]["6"] == "Your prediction did not come true. It is: 12. backward() adds."
    )
    assert state["verdicts"]["12"].startswith("Your prediction came true")
    assert Prediction("?", choices=["a", "b"]).export_state()["verdicts"] == {}


def test_the_choices_are_in_an_order_of_the_learners_own(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOLAB_PROGRESS", str(tmp_path / "progress.jsonl"))
    ids = [
        id
        for number in ("01", "02", "03")
        for id, q in lesson(number).QUESTIONS.items()
        if q.choices
    ]
    mine = {id: predict(id).choices for id in ids}
    assert mine == {id: predict(id).choices for id in ids}, "the same tomorrow"
    (tmp_path / "progress.id").unlink()
    assert mine != {id: predict(id).choices for id in ids}
    assert all(len(choices) > 2 for choices in mine.values())
    orders = [
        QUESTION.shuffled(id, str(n)).index(QUESTION.choices[0])
        for n in range(60)
        for id, QUESTION in lesson("01").QUESTIONS.items()
        if len(QUESTION.choices) == 3
    ]
    share = orders.count(0) / len(orders)
    assert abs(share - 1 / 3) < 5 * (2 / 9 / len(orders)) ** 0.5, (
        "no place is the right one: five standard deviations"
    )


def test_an_exception_may_be_what_happened(doubled):
    doubled.answer = "an error"
    assert "came true" in repr(doubled.reveal(RuntimeError("second time")))


def test_an_outcome_that_is_no_choice_is_shown_as_it_is(doubled):
    doubled.answer = "6"
    assert "it is          7.5" in repr(doubled.reveal(7.5))


@pytest.mark.parametrize(
    ("said", "actual", "result"),
    [
        ("12", torch.tensor(12.0), True),
        ("12.", 12, True),
        ("12", torch.tensor(11.0), False),
        ("1,048,576", 2**20, True),
        ("[2, 4]", torch.tensor([2.0, 4.0]), True),
        ("[2., 4.]", [2, 4], True),
        ("2", torch.tensor([2.0, 2.0]), False),
        ("nan", torch.tensor(float("nan")), True),
        ("inf", float("inf"), True),
        ("0", torch.tensor(float("nan")), False),
        ("None", None, True),
        ("0", None, False),
        ("yes", True, True),
        ("no", True, False),
        ("no", False, True),
        ("an error", TypeError("x"), True),
        ("TypeError", TypeError("x"), True),
        ("12", TypeError("x"), False),
        ("only (2)", "only (2)", True),
        ("only (1)", "only (2)", False),
        ("40", 40.0, True),
        ("40.5", 40.0, False),
    ],
)
def test_agree(said, actual, result):
    assert agree(said, actual) is result


def test_answers_that_cannot_be_are_refused(doubled):
    with pytest.raises(traitlets.TraitError, match="is not among the choices: 6, 12, an error"):
        doubled.answer = "13"
    number = Prediction("How many?", kind="number")
    with pytest.raises(traitlets.TraitError, match="'many' is not a number"):
        number.answer = "many"
    number.answer = " 40 "
    assert number.answer == "40"
    with pytest.raises(ValueError, match="needs choices"):
        Prediction("?", kind="choice")


def test_text_and_html_can_be_read_without_a_kernel(doubled):
    data = doubled._repr_mimebundle_()[0]
    assert (
        data["text/plain"]
        == "Predict: What is `x.grad` after two calls?\n  ( ) 6\n  ( ) 12\n  ( ) an error"
    )
    assert data["text/html"].count("<li>") == 3 and "<code>x.grad</code>" in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data
    other = Prediction("What is `x.grad` after two calls?", choices=["6", "12", "an error"])
    assert (
        repr(doubled) == repr(other)
        and data["text/html"] == other._repr_mimebundle_()[0]["text/html"]
    )


def test_markup_in_a_question_stays_text():
    data = Prediction("Is `a < b` <script>?", choices=["<i>"])._repr_mimebundle_()[0]
    html = data["text/html"]
    assert "<code>a &lt; b</code>" in html and "<script>" not in html and "<i>" not in html


def test_predictions_count_in_the_progress():
    q9, q18 = predict("01.q6"), predict("01.q20")
    q9.answer, q18.answer = "12", "1"
    q9.reveal(12.0)
    q18.reveal(4.0)
    assert repr(progress("01")).endswith("Predictions: 2 of 36 made, 1 of them came true.")
    assert "came true" not in repr(predict("01.q6"))


def test_what_was_answered_is_there_again_another_day(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOLAB_PROGRESS", str(tmp_path / "progress.jsonl"))
    q6, words = predict("01.q6"), in_words("01.w2")
    q6.answer, q6.confidence, q6.reason, words.answer = "6", 2, "it is x's", "Nothing yet."
    q6.reveal(12.0)
    for _ in range(2):  # a kernel that knows nothing; all cells run twice
        book.record.predictions.clear()
        q6, words = predict("01.q6"), in_words("01.w2")
        assert (q6.answer, q6.confidence, q6.reason, q6.actual) == ("6", 2, "it is x's", "")
        assert words.answer == "Nothing yet." and words.actual
        assert repr(progress("01")).endswith("Predictions: 1 of 36 made, 0 of them came true.")
        assert repr(q6.reveal(12.0)).startswith("Your prediction did not come true")
        assert len(progress_file.events()) == 2, "kept once"
    with monkeypatch.context() as joined:
        joined.setattr(book, "WATCHERS", [print])
        assert predict("01.q6").answer == "", "in a room it is asked anew"
    mended = predict("01.q6")
    mended.answer = "12"
    mended.reveal(12.0)
    assert [e.right for e in progress_file.events("prediction")] == [False, True]
    book.reset("01")
    assert predict("01.q6").answer == "" == in_words("01.w2").answer
    progress_file.record("prediction", "01.q6", given="a choice of another version")
    assert predict("01.q6").answer == ""


def test_ones_own_words_are_neither_right_nor_wrong_and_stand_beside_the_lessons():
    words = in_words("01.w2")
    assert repr(words).startswith("In your own words: Before backward()") and words.actual == ""
    ours = words.export_state()["verdicts"][""]
    assert ours.startswith("In our words: For x, nothing has come back yet")
    words.answer = "one is a number, the other is not"
    assert words.came_true is None and f"In our words: {words.actual}" == ours
    event = progress_file.events("ask")[-1]
    assert (event.id, event.given, event.right) == (
        "01.w2",
        "one is a number, the other is not",
        None,
    )
    words.answer = ""
    assert words.actual == ""


def test_every_question_for_ones_own_words_is_asked_once():
    for number in ("01", "02", "03", "04"):
        files = [*SOURCES.glob(f"{number}_*/*.py"), *SOURCES.glob(f"more/{number}_*/*.py")]
        text = "\n".join(p.read_text(encoding="utf-8") for p in files)
        assert sorted(re.findall(r'^in_words\("([^"]+)"\)$', text, re.M)) == sorted(
            getattr(lesson(number), "WORDS", ())
        )
