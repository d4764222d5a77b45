"""Compare the result of a learner's code with the expected result, and describe the difference in
one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.exact.failing import sentences

RELATIVE, ABSOLUTE = (
    1e-4,
    1e-6,
)  # float32 arithmetic in another order stays within these tolerances; a wrong formula does not


def plain(value: Any) -> Any:
    """Return tensors, arrays, numbers and lists of numbers as a float64 array, and anything else
    unchanged."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if (
        isinstance(value, (bool, str, bytes, dict, set, frozenset))
        or value is None
        or value is Ellipsis
    ):
        return value
    try:
        array = np.asarray(value)
        return array.astype(np.float64) if array.dtype.kind in "biuf" else value
    except (TypeError, ValueError, RuntimeError):
        return value


class Unfit(Exception):
    """Raised when a result cannot be checked although the learner's code raised nothing. Its
    message is shown as it is."""


def _unfit(value: Any) -> bool:
    return (
        type(value).__name__ == Unfit.__name__
    )  # one that was raised in another process is of another class


def same(got: Any, want: Any) -> bool:
    """Return whether two values are equal within float32 accuracy. NaN equals NaN, shapes must
    agree, and a number equals a 0-d tensor."""
    if isinstance(want, dict):
        return (
            isinstance(got, dict)
            and got.keys() == want.keys()
            and all(same(got[k], want[k]) for k in want)
        )
    if isinstance(want, BaseException):
        return type(got) is type(want) and str(got)[:60] == str(want)[:60]
    got, want = plain(got), plain(want)
    if isinstance(want, np.ndarray):
        return (
            isinstance(got, np.ndarray)
            and got.shape == want.shape
            and np.allclose(got, want, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
        )
    if isinstance(got, np.ndarray):
        return False
    return type(got) is type(want) and bool(got == want)


def show(value: Any) -> str:
    """Return a value as text of at most about 80 characters."""
    if isinstance(value, BaseException):
        if _unfit(value):
            return "what cannot be tried"
        return f"{type(value).__name__}: {_short(str(value))}"
    if hasattr(value, "detach"):
        value = value.detach()
        return _short(" ".join(repr(value).split()))
    if isinstance(value, float):
        return f"{value:.6g}"
    return _short(" ".join(repr(value).split()))


def difference(got: Any, want: Any, tell: bool = True) -> str:
    """Return one sentence that says what is wrong with `got`. `tell=False` does not mention the
    expected numbers."""
    if _unfit(got):
        return f"{got}."
    if isinstance(got, BaseException):
        notes = " ".join(sentences(got))
        return f"Your code raised {show(got)}{' ' + notes if notes else ''}"
    if got is None and want is not None:
        return "This is None. A function without `return` gives None."
    got, want = plain(got), plain(want)
    if not isinstance(want, np.ndarray):
        return f"This is {show(got)}" + (
            f", it should be {show(want)}." if tell else ", which is not it."
        )
    if not isinstance(got, np.ndarray):
        return f"Numbers are wanted here, this is {show(got)} ({type(got).__name__})."
    if got.shape != want.shape:
        turned = want.ndim == 2 and got.shape == want.shape[::-1] and same(got.T, want)
        return f"The shape is {got.shape}, it should be {want.shape}." + (
            " It is the transpose." if turned else ""
        )
    return _numbers(got, want, tell)


def _numbers(got: np.ndarray, want: np.ndarray, tell: bool) -> str:
    """Return one sentence that says how `got` differs from `want`, an array of the same shape."""
    if np.isnan(got).any() and not np.isnan(want).any():
        return "There is a NaN (not a number) where a number should be."
    if want.ndim == 2 and want.shape[0] == want.shape[1] and same(got.T, want):
        return "It is the transpose: rows and columns have changed places."
    if want.any() and same(got, -want):
        return "Every number has the wrong sign." if want.size > 1 else "The sign is wrong."
    if want.any() and not got.any():
        return "It is zero throughout." if want.size > 1 else "It is zero."
    if not tell:
        return "The number is not right." if want.size == 1 else "The numbers are not right."
    used = np.abs(want) > ABSOLUTE
    ratio = got[used] / want[used]
    if (
        used.any()
        and same(got, ratio.flat[0] * want)
        and _round_factor(ratio.flat[0], 10 if want.size == 1 else 1000)
    ):
        subject = "Every number" if want.size > 1 else "It"
        return f"{subject} is {ratio.flat[0]:.4g} times what it should be."
    if want.size > 1 and same(got - want, np.full(want.shape, (got - want).flat[0])):
        return f"Every number is {abs((got - want).flat[0]):.4g} too {'large' if (got > want).all() else 'small'}."
    at = tuple(int(i) for i in np.argwhere(~np.isclose(got, want, rtol=RELATIVE, atol=ABSOLUTE))[0])
    where = f"At position {list(at)} it is" if at else "It is"
    return f"{where} {got[at]:.6g}, it should be {want[at]:.6g}."


def _round_factor(factor: float, limit: int) -> bool:
    """Return the factor between two arrays if it is a whole number or one over a whole number;
    other factors tell a learner nothing."""
    near = [
        abs(f - round(f)) < 1e-3 and 2 <= abs(round(f)) <= limit
        for f in (factor, 1 / factor if factor else 0.0)
    ]
    return any(near)


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 2].rstrip() + " …"
