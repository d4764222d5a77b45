"""Practice without a browser: right runs equal the engine's, learners with every belief play all
levels, answers are kept."""

import doctest
import json
import random
from datetime import datetime, timedelta, UTC
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import autolab
from autolab import progress
from autolab.practice import Practice
from autolab.practice.decision import alike
from autolab.practice.decisions import Decisions
from autolab.practice.levels import LEVELS, run, task
from autolab.practice.rules import RULES, Machine
from autolab.practice.due import due, in_a_row
from autolab.practice.session import _of_level
from autolab.trace.replay import array_of

ROOT = Path(autolab.__file__).parents[1]
SEEDS = range(3)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOLAB_PROGRESS", str(tmp_path / "progress.jsonl"))


@pytest.fixture(scope="module")
def tasks():
    return {(number, seed): task(number, seed) for number in LEVELS for seed in SEEDS}


def graphs(tasks, number):
    return [tasks[number, seed] for seed in SEEDS]


@pytest.mark.parametrize("number", LEVELS)
def test_the_right_run_is_the_engines(tasks, number):
    """The run is computed from derivatives alone; every contribution and every `.grad` equals what
    the engine recorded."""
    for drawn in graphs(tasks, number):
        machine = Machine(drawn.trace)
        machine.recorded = False
        played = machine.play()
        for leaf in drawn.trace.nodes:
            if leaf.kind == "leaf":
                want = (
                    leaf.grad if not any(f.event == "error" for f in drawn.trace.frames) else None
                )
                got = played.grads.get(leaf.id)
                assert want is None or np.allclose(got, array_of(want), rtol=1e-4)


@pytest.mark.parametrize("number", LEVELS)
def test_no_two_rules_answer_alike(tasks, number):
    level, beliefs = LEVELS[number], set()
    for drawn in graphs(tasks, number):
        assert {d.decision for d in drawn.decisions} - {"then"} == {*level.kinds} & {
            "who",
            "what",
            "how",
        }
        for one in drawn.decisions:
            given = [one.answer, *(wrong.answer for wrong in one.wrong)]
            assert one.judge(one.answer) and one.met(one.answer) is None
            for wrong in one.wrong:
                assert not one.judge(wrong.answer) and one.met(wrong.answer) is wrong
                beliefs.add(wrong.belief)
                assert "{" not in wrong.says and wrong.says.endswith(".")
                if wrong.rule:
                    assert wrong.ends and all(mine != right for _, mine, right in wrong.ends)
            if one.form == "number":
                assert not any(alike(a, b) for i, a in enumerate(given) for b in given[:i])
                assert one.whole is None or one.judge(one.whole)
            if one.form in ("choice", "node"):
                assert {*map(str, given), *map(str, one.also)} <= {
                    value for value, _ in one.choices
                }
    assert beliefs


class Learner:
    """Answers by a belief where the belief predicts an answer, else correctly; and by chance."""

    def __init__(self, belief=None, dice=None):
        self.belief, self.dice = belief, dice

    def answer(self, one):
        if self.dice is not None:
            return self.dice.choice(
                [value for value, _ in one.choices] or [self.dice.randint(-9, 9) * 0.7]
            )
        return next(
            (wrong.answer for wrong in one.wrong if wrong.belief == self.belief), one.answer
        )


def played_by(learner, game, drawn, facts):
    game._ask(drawn.asked, facts)
    replies = {}
    for one, plain in zip(drawn.decisions, game.questions):
        given = learner.answer(one)
        right, met = one.judge(given), one.met(given)
        replies[plain["id"]] = {
            "answer": str(given),
            "right": right,
            "tries": 1,
            "over": right,
            "belief": met.belief if met else "",
            "seconds": 1.5,
        }
        game.replies = dict(replies)
        if not right:
            replies[plain["id"]] = {
                **replies[plain["id"]],
                "answer": str(one.answer),
                "right": True,
                "tries": 2,
                "over": True,
                "belief": "",
            }
            game.replies = dict(replies)
    return game


@pytest.mark.parametrize("number", LEVELS)
def test_learners(number):
    """Right everywhere: perfect. By a belief: wrong exactly where the belief says something. By chance: the counts
    agree."""
    drawn, facts = _of_level(number, "none", "backward", 3)
    play, decisions = (
        partial(
            played_by, game=Practice(drawn.trace, drawn.asked, facts), drawn=drawn, facts=facts
        ),
        drawn.decisions,
    )
    right = play(Learner())
    assert (
        right.result.complete
        and right.result.perfect
        and progress.events("practice")[-1].right is True
    )
    for belief in sorted({wrong.belief for one in decisions for wrong in one.wrong}):
        before = len(progress.events("practice"))
        result, kept = play(Learner(belief)).result, progress.events("practice")[before:]
        missed = [one for one in decisions if any(wrong.belief == belief for wrong in one.wrong)]
        assert result.complete and not result.perfect and missed
        assert sum(result.asked.values()) - sum(result.at_once.values()) == len(missed)
        assert [e.belief for e in kept if e.right is False and e.belief] == [belief] * len(
            missed
        ) and kept[-1].id == str(number)
        assert kept[-1].right is False and {e.tries for e in kept if e.id != str(number)} == {1, 2}
    guesses = [Learner(dice=random.Random(i)) for i in range(3)]
    scores = [sum(play(guess).result.at_once.values()) for guess in guesses]
    assert min(scores) < len(decisions)


def test_a_wrong_run_is_that_of_the_wrong_engine(tasks):
    """Of the specimens: where the last contribution replaces what was there, the graph ends where the page says it
    does."""
    for drawn in graphs(tasks, 5):

        def program(torch, source=drawn.program):
            names = {"tensor": torch.tensor, "no_grad": torch.no_grad}
            exec(source, names)
            return names["x"].grad

        ends = Machine(drawn.trace).play(RULES["set"]).grads
        assert float(ends["n0"]) == float(
            autolab.specimens["set instead of add"].outcome(program).value
        )


def test_the_diamond_of_the_issue_ends_at_6_and_descends_elsewhere():
    x = autolab.tensor(2.0, requires_grad=True)
    a = x * 3
    b = a * 1.5 + x * x
    asked = Decisions(autolab.trace.trace(a * b))
    wrong = [
        w for one in asked.all() if one.decision == "how" for w in one.wrong if w.answer == "set"
    ]
    assert wrong and all(w.ends for w in wrong)
    quadratic = autolab.practice(level=5, seed=1)
    walks = quadratic.practice["walks"]
    assert abs(walks["set"][-1] - walks["right"][-1]) > 0.1 and walks["leaf"] == "x"


@pytest.mark.parametrize("number", LEVELS)
def test_forward(number):
    drawn = task(number, 1, forward=True)
    assert drawn.decisions and {one.decision for one in drawn.decisions} == {"value"}
    assert all(
        one.judge(one.answer) and not one.judge(one.answer + 1 + abs(one.answer))
        for one in drawn.decisions
    )


def test_forward_game_and_a_long_graph():
    game = autolab.practice(level=5, seed=1, mode="forward")
    assert [one["node"] for one in game.questions] == [
        "n2",
        "n4",
        "n5",
        "n6",
    ] and game.result.asked == {"value": 4}
    x = autolab.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(60):
        y = y * x
    assert len(autolab.practice(y).questions) == 60


def test_a_graph_of_ones_own():
    x, w = (
        autolab.tensor(3.0, requires_grad=True),
        autolab.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True),
    )
    x.grad = autolab.tensor(4.0)
    y = ((w * x) @ w).sum() + x * x
    game = autolab.practice(y)
    assert isinstance(game, Practice) and {"who", "what", "how", "then"} == set(game.result.asked)
    assert any(
        one["text"].startswith("74 has arrived at the leaf `x`, whose `.grad` held 4.")
        for one in game.questions
    )
    assert game.program == "" and game.seed is None and "your graph" in repr(game)
    big = autolab.randn(30, 40, requires_grad=True)
    shapes = [
        one for one in autolab.practice((big * 2).tanh().sum()).questions if one["form"] == "shape"
    ]
    assert [one["answer"] for one in shapes] == [[30, 40]]
    with pytest.raises(TypeError, match="no level"):
        game.another()
    with pytest.raises(TypeError, match="asks its own questions"):
        game.ask("x", "grad")


def test_a_graph_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x * 2 + x.exp()
    mine = autolab.tensor(3.0, requires_grad=True)
    ours = mine * mine * 2 + mine.exp()
    strip = lambda game: [(one["text"], one["answer"]) for one in game.questions]
    assert strip(autolab.practice(y)) == strip(
        autolab.practice(ours, namespace={"x": mine, "y": ours})
    )


def test_help_fades_and_levels_become_yours():
    for expected in ("full", "hints", "none", "none"):
        game = autolab.practice(level=3)
        assert game.help == expected
        game.replies = {
            one["id"]: {"answer": "", "right": True, "tries": 1, "over": True}
            for one in game.questions
        }
    assert (
        in_a_row(3) == 4
        and game.practice["yours"] == 4
        and " 3  a leaf used twice      contributions are added (yours, again on"
        in repr(autolab.practice)
    )
    missed = autolab.practice(level=3)
    missed.replies = {
        one["id"]: {"answer": "x", "right": False, "tries": 1, "over": True, "shown": True}
        for one in missed.questions
    }
    assert (
        in_a_row(3) == 0
        and autolab.practice(level=3).help == "full"
        and missed.result.complete
        and not missed.result.perfect
    )
    assert missed.practice["next"] == 3  # it was begun
    before = missed.program
    missed._on_message(missed, {"kind": "another"}, [])
    assert (
        missed.program != before
        and not missed.result.complete
        and missed.step == missed.questions[0]["until"]
    )
    missed._on_message(missed, {"kind": "another", "level": 4}, [])
    assert missed._facts["level"] == 4 and missed.practice["title"] == "an operand used twice"


def test_what_was_played_forward_makes_no_level_yours():
    for expected in ("full", "hints", "none"):
        game = autolab.practice(level=5, mode="forward")
        assert game.help == expected
        game.replies = {
            one["id"]: {"answer": "", "right": True, "tries": 1, "over": True}
            for one in game.questions
        }
    assert game.result.perfect and progress.events("practice")[-1].id == "5 forward"
    assert due().level == 1 and in_a_row(5) == 0 and "yours" not in game.practice


def test_what_is_due(monkeypatch):
    day = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    monkeypatch.setattr("autolab.practice.due._now", lambda: day[0])

    def done(level, right=True, times=1):
        for _ in range(times):
            progress.record("practice", str(level), right=right)
            path = progress.where()
            lines = path.read_text().splitlines()
            event = json.loads(lines[-1]) | {"time": f"{day[0]:%Y-%m-%dT%H:%M:%SZ}"}
            path.write_text("\n".join([*lines[:-1], json.dumps(event)]) + "\n")

    assert due() == (1, "the first one that is new")
    game = autolab.practice()
    assert game._facts["level"] == 1 and game.practice["why"] == "the first one that is new"
    done(1)
    assert due() == (1, "begun: 1 of 3 in a row")
    done(1, times=2)
    assert due().level == 2 and "(yours, again on 2026-03-02)" in repr(autolab.practice)
    done(2, right=False)
    day[0] += timedelta(days=1)
    assert due() == (1, "it comes again: last done on 2026-03-01") and "(yours, due again)" in repr(
        autolab.practice
    )
    done(1)
    assert due() == (2, "begun: 0 of 3 in a row")  # level 1 has two days now
    day[0] += timedelta(days=2)
    assert due().level == 1
    done(1, right=False)
    assert due() == (1, "begun: 0 of 3 in a row")
    for level in LEVELS:
        done(level, times=3)
    assert due() == (1, "all are yours; this one comes again first, on 2026-03-05")


def test_what_would_have_helped_helps(tasks):
    """Level 11: each offered remedy is tried on the program, and only the right one ends without an
    error."""
    kinds = set()
    for seed in range(12):
        drawn = task(11, seed)
        assert len(drawn.decisions) >= (
            4 if "_(" in drawn.program or "* " in drawn.program else 2
        ), drawn.program
        lines, names = (
            drawn.program.splitlines(),
            {"tensor": autolab.tensor, "no_grad": autolab.no_grad},
        )
        for one in drawn.decisions:
            if "What would have helped" not in one.text:
                continue
            kinds.add(one.answer)
            change = next((line for line in lines if "_(" in line), "")
            target, _, rest = change.partition(".")
            tried = {
                "out": [
                    line if line != change else f"{target} = {target}.{rest.replace('_(', '(')}"
                    for line in lines
                ],
                "no_grad": [
                    line if line != change else f"with no_grad(): {change}" for line in lines
                ],
                "clear": [*lines[:-1], "x.grad = None", lines[-1]],
                "detach": [*lines[:-1], "y.detach().backward()"],
                "retain": [
                    line.replace("backward()", "backward(retain_graph=True)") for line in lines
                ],
            }
            for key, _ in one.choices:
                try:
                    exec("\n".join(tried[key]), dict(names))
                    helped = True
                except RuntimeError:
                    helped = False
                assert helped == (key == one.answer), (key, drawn.program)
        after = next(
            (one for one in drawn.decisions if "The error has been raised" in one.text), None
        )
        scope = dict(names)
        try:
            exec(drawn.program, scope)
            asked = [float(d.answer) for d in drawn.decisions if "Both passes are over" in d.text]
            assert after is None and asked in ([], [scope["x"].grad.item()])
        except RuntimeError:
            grad = scope["x"].grad
            assert after is not None and (
                after.answer == "None" if grad is None else alike(float(after.answer), grad.item())
            )
    assert kinds == {"out", "retain"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": None}, "loss should be a result"),
        ({"level": 1, "loss": 1}, "got both"), ({"level": 13}, "level should be a whole number from 1 to 12"),
        ({"level": True}, "level should be"), ({"level": 1, "help": "some"}, "help should be one of full, hints, none"),
        ({"level": 1, "mode": "sideways"}, "mode should be one of"), ({"level": 1, "seed": 1.5}, "seed should be a whole number"),
        ({"loss": autolab.tensor(2.0)}, "nothing to decide"),
    ],
)  # fmt: skip
def test_what_cannot_be_practised(options, words):
    with pytest.raises(ValueError, match=words):
        autolab.practice(**options)


def test_levels_are_small_and_say_nothing_in_advance(tasks):
    for drawn in tasks.values():
        assert len(drawn.trace.nodes) <= 20 and len(drawn.decisions) <= 12
    for number in (5, 11):
        game = autolab.practice(level=number, seed=1)
        assert "image/svg+xml" not in game._repr_mimebundle_()[0] and not game.trace.meta.get(
            "failures"
        )
    assert run("x = tensor(2., requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.backward()\n").meta[
        "error"
    ]


def test_the_page_on_practice_questions_and_wrong_engines_runs():
    page = doctest.testfile(str(ROOT / "docs" / "practice.md"), module_relative=False)
    assert page.attempted > 30 and not page.failed
