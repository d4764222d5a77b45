"""The comparison of answers, and the sentences about differences."""

import numpy as np
import pytest

import autolab as torch
from autolab.lessons.compare import difference, same, show


@pytest.mark.parametrize(
    ("got", "want", "equal"),
    [
        (3, torch.tensor(3.0), True),
        (3.0, 3, True),
        (True, 1.0, False),
        (torch.tensor([1.0, 2.0]), [1, 2], True),
        (torch.tensor([1.0, 2.0]), [[1, 2]], False),
        (1.00001, 1.0, True),
        (1.001, 1.0, False),
        (float("nan"), float("nan"), True),
        ("a", "a", True),
        (None, None, True),
        (None, 0.0, False),
        (0.0, None, False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1.0}, {"b": 1}, False),
        (ValueError("x"), ValueError("x"), True),
        (ValueError("x"), ValueError("y"), False),
        (ValueError("x"), TypeError("x"), False),
    ],
)
def test_same(got, want, equal):
    assert same(got, want) is equal


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        (None, 1.0, "A function without `return` gives None."),
        ("text", 1.0, "Numbers are wanted here, this is 'text' (str)."),
        (-2.0, 2.0, "The sign is wrong."),
        ([-1.0, 2.0], [1.0, -2.0], "Every number has the wrong sign."),
        ([0.0, 0.0], [1.0, 2.0], "It is zero throughout."),
        ([3.0, 6.0], [1.0, 2.0], "Every number is 3 times what it should be."),
        ([0.5, 1.0], [1.0, 2.0], "Every number is 0.5 times what it should be."),
        ([2.0, 3.0], [1.0, 2.0], "Every number is 1 too large."),
        ([1.0, 5.0], [1.0, 2.0], "At position [1] it is 5, it should be 2."),
        (5.0, 4.0, "It is 5, it should be 4."),
        ([1.0, float("nan")], [1.0, 2.0], "There is a NaN"),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            [[1.0, 3.0], [2.0, 4.0]],
            "rows and columns have changed places",
        ),
        ([1.0], [1.0, 2.0], "The shape is (1,), it should be (2,)."),
        (
            ZeroDivisionError("division by zero"),
            1.0,
            "Your code raised ZeroDivisionError: division by zero",
        ),
    ],
)
def test_difference_says_what_is_wrong(got, want, words):
    assert words in difference(got, np.array(want) if isinstance(want, list) else want)


def test_difference_can_keep_the_wanted_numbers_to_itself():
    assert difference(5.0, 4.25, tell=False) == "The number is not right."
    assert "4.25" not in difference([5.0, 1.0], [4.25, 1.0], tell=False)


def test_difference_repeats_the_note_of_an_error():
    error = RuntimeError("message")
    error.add_note("What to do.")
    assert difference(error, 1.0) == "Your code raised RuntimeError: message What to do."


def test_show_is_short_and_on_one_line():
    assert show(torch.tensor([[1.0, 2.0], [3.0, 4.0]])) == "tensor([[1., 2.], [3., 4.]])"
    assert show(torch.tensor(2.0, requires_grad=True)) == "tensor(2.)"
    assert len(show(list(range(1000)))) <= 200 and "\n" not in show(list(range(1000)))
