"""The game: which engine was given, and in which line it is wrong."""

import autolab
import pytest
from autolab import specimens
from autolab.specimens.game import Game
from autolab.specimens.specimen import RIGHT

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


def chain():
    x = autolab.tensor(3.0, requires_grad=True)
    (x * 2).exp().backward()
    return x.grad


def diamond():
    x = autolab.tensor(2.0, requires_grad=True)
    a, b = x * 3, x * 5
    (a * b).backward()
    return x.grad


def game_of(given):
    """A game of level 1 with a given engine."""
    candidates = [RIGHT, *(s for s in specimens if s.level == 1)]
    return Game(candidates, RIGHT if given == RIGHT.name else specimens[given])


def test_a_graph_that_tells_nothing_apart_says_so():
    trial = game_of("set instead of add").try_(chain)
    assert not trial.tells and trial.right.same_as(trial.given) and trial.before == trial.after
    assert (
        "This graph gives the same with every engine still possible (10): the right engine; "
        in repr(trial)
    )
    assert "yours gives the same" in repr(trial) and "they differ" not in trial._repr_markdown_()


def test_a_graph_that_tells_them_apart():
    game = game_of("set instead of add")
    trial = game.try_(diamond)
    assert trial.tells and game.left == ["set instead of add"]
    assert repr(trial).startswith(
        "Try 1. The right engine gives tensor(60.); yours gives tensor(30.).\n9 engines are excluded; 1 still possible"
    )
    assert "they differ" in trial._repr_markdown_()


def test_the_name_and_the_line_end_it():
    game = game_of("set instead of add")
    game.try_(diamond)
    asked = game.name("set instead of add")
    assert (
        not asked.right
        and "“set instead of add” is right. Which line is it?" in repr(asked)
        and "return +second" in repr(asked)
    )
    assert "Line 1 is not the one." in repr(game.name(3, line=1)) and not game.over
    verdict = game.name(3, line=2)
    assert verdict.right and game.over
    assert (
        "Right: “set instead of add”. Line 2 is `return +second`; in its place the engine has: `return first + second`."
        in repr(verdict)
    )
    assert (
        specimens[3].belief in repr(verdict)
        and repr(game) == "Catch it: named after 1 try: set instead of add."
    )


def test_the_right_engine_is_one_of_them():
    game = game_of(RIGHT.name)
    for specimen in specimens:
        if specimen.level == 1:
            game.try_(specimen.goes_wrong.program)
    assert (
        game.left == ["the right engine"]
        and game.hint == "One engine is left: name it, and its line."
    )
    assert repr(game.name("the right engine")) == "Right: nothing was exchanged." and game.over
    assert game.rule(0) == "Nothing was exchanged."


def test_a_name_that_a_try_had_excluded():
    game = game_of("set instead of add")
    game.try_(chain)
    game.try_(diamond)
    assert repr(game.name("the right engine")) == "No: try 2 had told it from “the right engine”."


def test_a_name_that_no_try_had_excluded():
    game = game_of("set instead of add")
    verdict = game.name("the right engine")
    assert (
        not verdict.right
        and "no try had told the two apart" in verdict.why
        and verdict.why.endswith(game.hint)
    )
    assert "the right engine" not in game.left and len(game.left) == 9
    lucky = game.name(3, 2)
    assert lucky.right and "Your tries had not excluded backward clears .grad first; " in lucky.why


def test_every_engine_can_be_caught():
    """The examples on which they go wrong tell all 26 apart."""
    programs = [s.goes_wrong.program for s in specimens]
    given = {one.name: [one.outcome(p) for p in programs] for one in [RIGHT, *specimens]}
    for name, mine in given.items():
        alike = [
            n for n, theirs in given.items() if all(a.same_as(b) for a, b in zip(mine, theirs))
        ]
        assert alike == [name]


def test_levels_grow_and_a_seed_chooses_the_same():
    sizes = [len(specimens.catch(seed=0, level=level).candidates) for level in (1, 2, 3)]
    assert sizes == sorted(set(sizes)) and sizes[-1] == 26
    assert specimens.catch(seed=7)._given is specimens.catch(seed=7)._given
    assert len({specimens.catch(seed=seed, level=1)._given.name for seed in range(60)}) == sizes[0]


def test_nothing_that_is_shown_tells():
    """Games with different engines look the same until the player tries a program."""
    assert (
        repr(game_of(3)) == repr(game_of(25))
        and game_of(3)._repr_markdown_() == game_of(25)._repr_markdown_()
    )
    assert game_of(3).hint == game_of(25).hint


def test_a_hint_is_a_place_to_look():
    game = game_of(RIGHT.name)
    first = game.hint
    game.try_(specimens[1].goes_wrong.program)
    assert first == f"Try {specimens[1].shows}." and game.hint == f"Try {specimens[4].shows}."


@pytest.mark.parametrize("call, kind, message", [
    (lambda: specimens.catch(seed="a"), TypeError, r"seed should be an int or None, but is 'a' \(str\)"),
    (lambda: specimens.catch(level=4), ValueError, "level should be 1, 2 or 3, but is 4"),
    (lambda: specimens.catch(level=True), ValueError, "level should be 1, 2 or 3, but is True"),
    (lambda: game_of(3).try_(chain()), TypeError, r"function should be a function, but is tensor\(806.8576\) \(Tensor\)"),
    (lambda: game_of(3).name("add"), ValueError, "name should be one of the candidates, or its number, but is 'add'"),
    (lambda: game_of(3).name(3, line=3), ValueError, "line should be the number of a line, 1 to 2, but is 3"),
    (lambda: game_of(3).name(0, line=1), ValueError, "line should be None, for the right engine has no wrong line, but is 1"),
    (lambda: game_of(3).rule(2), ValueError, "name should be one of the candidates, or its number, but is 2"),
])  # fmt: skip
def test_bad_arguments(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert caught.value.__notes__


def test_a_function_that_raises_is_told_like_any_other():
    def misspelt():
        return autolab.tenser(1)

    trial = game_of(3).try_(misspelt)
    assert not trial.tells and "The right engine gives AttributeError: " in repr(trial)
