"""A prediction: a question answered before anything runs, kept, and compared with what happened."""

from __future__ import annotations

import ast
import re
from html import escape
from typing import Any

import numpy as np
import traitlets

from . import assets
from .displayed import Displayed
from .message import Message, frame


class Prediction(Displayed):
    """Ask before running. The answer is kept in `answer` and compared by `reveal(actual)`.

    question: one sentence; `code` between backquotes is shown as code.
    choices: the answers offered, as text; without choices the learner types (`kind`: "number" or "text").
    because: answer -> one sentence on what this wrong answer gets wrong, said only after the reveal.

        guess = Prediction("What is `x.grad`?", choices=["6", "12"], because={"6": "backward() adds."})
        guess                      # shows it; the learner picks
        guess.reveal(x.grad)       # says whether it came true

    Traits: `answer` (text, "" until one is kept), `actual` (text, "" until revealed).
    """

    _esm = assets.module("predict")
    question = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Enum(["choice", "number", "text"], "choice").tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    answer = traitlets.Unicode("").tag(sync=True)
    actual = traitlets.Unicode("").tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)  # whether a kernel may be there; not on an exported page

    def __init__(self, question: str, choices: Any = (), kind: str = "", because: dict[str, str] | None = None) -> None:
        choices = [str(c) for c in choices]
        kind = "choice" if choices else kind or "text"
        if kind == "choice" and not choices:
            raise ValueError('a prediction of kind "choice" needs choices')
        self._because = dict(because or {})
        super().__init__(question=question, kind=kind, choices=choices)

    @traitlets.validate("answer")
    def _check_answer(self, proposal: Any) -> str:
        text = str(proposal["value"]).strip()
        if text and self.kind == "choice" and text not in self.choices:
            raise traitlets.TraitError(f"{text!r} is not among the choices: {', '.join(self.choices)}")
        if text and self.kind == "number" and numbers(text) is None:
            raise traitlets.TraitError(f"{text!r} is not a number")
        return text

    @property
    def made(self) -> bool:
        """Whether an answer was kept."""
        return bool(self.answer)

    @property
    def came_true(self) -> bool | None:
        """None before an answer is kept and revealed, then whether the two agree."""
        return agree(self.answer, self._actual) if self.made and self.actual else None

    _actual: Any = None

    def reveal(self, actual: Any) -> Message:
        """Compare the kept answer with what happened: a tensor, a number, True or False, an exception, or text."""
        self._actual = actual
        self.actual = shown = next((c for c in self.choices if agree(c, actual)), _text(actual))
        if not self.made:
            return Message("You made no prediction here", (("it is", shown),),
                           ("Guess first next time: what you predicted wrongly is what you will remember.",))
        rows = (("you predicted", self.answer), ("it is", shown))
        if self.came_true:
            return Message("Your prediction came true", rows, (), "agrees")
        why = next((text for key, text in self._because.items() if agree(key, self.answer)), "")
        return Message("Your prediction did not come true", rows, (why,) if why else (), "differs")

    def export_state(self) -> dict[str, Any]:
        """The state that a page without kernel needs, where there is nothing to compare with."""
        return self.get_state() | {"live": False}

    def __repr__(self) -> str:
        lines = [f"Predict: {self.question}", *(f"  ( ) {c}" for c in self.choices)]
        if self.kind != "choice":
            lines.append(f"  your {'number' if self.kind == 'number' else 'answer'}: {self.answer or '____'}")
        elif self.answer:
            lines = [line.replace("( )", "(x)") if line[6:] == self.answer else line for line in lines]
        return "\n".join(lines)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else (bundle or {})
        data.update({"text/plain": repr(self), "text/html": self._html()})
        return bundle if bundle else data

    def _html(self) -> str:
        """What a page without a kernel shows: the question and the answers, to be read."""
        items = "".join(f"<li>{_code(c)}</li>" for c in self.choices)
        body = f"<ul style='margin:4px 0 4px 1.5em'>{items}</ul>" if items else ""
        return (f"<div role='group' aria-label='Prediction' style='{frame()}'><strong>Predict</strong> "
                f"{_code(self.question)}{body}<div><em>Run this cell to answer here.</em></div></div>")


def agree(said: str, actual: Any) -> bool:
    """Whether an answer given as text means the same as what happened.

    Numbers and lists of numbers are compared as numbers, True is "yes", an exception is "an error" or its type's name.
    """
    if isinstance(actual, BaseException):
        return said.split(":")[0].strip().lower() in ("an error", "error", type(actual).__name__.lower())
    if isinstance(actual, bool) and said.strip().lower() in ("yes", "no"):
        return (said.strip().lower() == "yes") is actual
    if said.strip() == _text(actual):
        return True
    left, right = numbers(said), numbers(actual)
    if left is None or right is None or left.shape != right.shape:
        return False
    return np.allclose(left, right, rtol=1e-3, equal_nan=True)


def numbers(value: Any) -> np.ndarray | None:
    """A tensor, a number, a list or their text as a float array; None when it is none of these."""
    if isinstance(value, str):
        text = re.sub(r"(?<=\d),(?=\d{3}(\D|$))", "", value.strip()) if value.strip()[:1] not in "[(" else value
        text = re.sub(r"^tensor\((.*)\)$", r"\1", text)
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            value = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}.get(text.strip())
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if value is None or isinstance(value, (str, bool, dict, set)):
        return None
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _text(actual: Any) -> str:
    if isinstance(actual, BaseException):
        return f"an error: {type(actual).__name__}"
    if isinstance(actual, bool):
        return "yes" if actual else "no"
    if hasattr(actual, "detach"):
        actual = actual.detach().tolist()
    return actual if isinstance(actual, str) else " ".join(str(actual).split())


def _code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
