"""A prediction: a question answered before code runs, stored, and compared with the result."""

from __future__ import annotations

import ast
import contextlib
import re
from typing import Any

import numpy as np
import traitlets

from .. import progress
from ..language import translate
from . import assets
from .displayed import Displayed
from .message import Message, frame, with_code


class Prediction(Displayed):
    """Ask before running. A click is an answer; `reveal` compares it with what happened.

    question: one sentence; `code` between backquotes is shown as code.
    choices: the answers offered, as text; without choices the learner types (`kind`: "number" or "text"). With
        `kind="words"` it asks for an explanation in the learner's own words, and shows those of `key` beside it,
        neither right nor wrong.
    because: answer -> one sentence about what is wrong with this answer, shown only after the reveal.
    id: with a name, the answer is stored in `autolab.progress` when it is compared.
    key: the correct answer: a text, or a function of the value given to `reveal`. None: that value itself.

        guess = Prediction("What is `x.grad`?", choices=["6", "12"], because={"6": "backward() adds."})
        guess                      # shows it; the learner picks
        guess.reveal(x.grad)       # says whether it came true, as soon as there is an answer

    Traits: `answer` (text, "" until there is one), `confidence` (1, a guess, to 4, certain; 0 until it is said),
    `reason` (the learner's own words), `actual` (text, "" until it is shown).
    """

    _esm = assets.loader("predict")
    _script = traitlets.Unicode(assets.module("predict")).tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Enum(["choice", "number", "text", "words"], "choice").tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    answer = traitlets.Unicode("").tag(sync=True)
    confidence = traitlets.Int(0, min=0, max=4).tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    actual = traitlets.Unicode("").tag(sync=True)
    live = traitlets.Bool(True).tag(
        sync=True
    )  # whether a kernel may be there; not on an exported page
    verdicts = traitlets.Dict().tag(
        sync=True
    )  # for a page: answer -> the text to show; "" -> the text for any other answer

    _outcome: Any = None  # the value given to `reveal`; until then there is no verdict
    _verdict: Verdict | None = None
    _kept: tuple[
        str, str | None
    ]  # the stored answer and the outcome it was compared with; None: not known any more

    def __init__(
        self, question: str, choices: Any = (), kind: str = "", because: dict[str, str] | None = None,
        id: str = "", key: Any = None,
    ) -> None:  # fmt: skip
        choices = [str(c) for c in choices]
        kind = "choice" if choices else kind or "text"
        if kind == "choice" and not choices:
            raise ValueError('a prediction of kind "choice" needs choices')
        self._because, self._id, self._key, self._kept = dict(because or {}), id, key, ("", "")
        super().__init__(question=question, kind=kind, choices=choices)

    @traitlets.validate("answer")
    def _check_answer(self, proposal: Any) -> str:
        text = str(proposal["value"]).strip()
        if text and self.kind == "choice" and text not in self.choices:
            raise traitlets.TraitError(
                f"{text!r} is not among the choices: {', '.join(self.choices)}"
            )
        if text and self.kind == "number" and numbers(text) is None:
            raise traitlets.TraitError(f"{text!r} is not a number")
        return text

    @property
    def made(self) -> bool:
        """Return whether there is an answer."""
        return bool(self.answer)

    @property
    def came_true(self) -> bool | None:
        """Return whether answer and outcome agree; None if one is missing, and always None for answers in words."""
        if self.kind == "words":
            return None
        return agree(self.answer, self._outcome) if self.made and self._verdict else None

    def reveal(self, *outcome: Any) -> Verdict:
        """Return the verdict, ready to display: it waits for an answer, or for "show me".

        outcome: the result: a tensor, a number, True or False, an exception, or text; with a `key`, the argument of
            that function.
        """
        self._outcome = (
            self._key(*outcome)
            if callable(self._key)
            else outcome[0]
            if self._key is None
            else self._key
        )
        self._verdict = self._verdict or Verdict(self)
        self._compare(asked=bool(self.actual))
        return self._verdict

    def recall(self, answer: str, confidence: int | None = None, reason: str = "") -> None:
        """Restore a stored answer; when compared, it is not stored again. Ignore a value that is not a possible
        answer."""
        with contextlib.suppress(traitlets.TraitError):
            self._kept = answer, None
            self.answer, self.confidence, self.reason = answer, confidence or 0, reason

    def show_me(self) -> None:
        """Give up: show the verdict without an answer."""
        self._compare(asked=True)

    @traitlets.observe("answer")
    def _answered(self, _: Any) -> None:
        if self.kind == "words":
            self._beside()
        self._compare()

    def _beside(self) -> None:
        """Return the author's explanation, to show beside the learner's."""
        self.actual = str(self._key) if self.made else ""
        if self.made and self._id and self._kept[0] != self.answer:
            self._kept = self.answer, self.actual
            progress.record("ask", self._id, given=self.answer)

    def _compare(self, asked: bool = False) -> None:
        if self._verdict is None or not (self.made or asked):
            return
        self.actual = self.outcome
        self._verdict.show(self.message(self.answer))
        kept, self._kept = self._kept, (self.answer, self.actual)
        if (
            self.made and self._id and kept not in (self._kept, (self.answer, None))
        ):  # a cell may run again, even on another day
            progress.record(
                "prediction", self._id, given=self.answer, right=self.came_true, belief=self._why(self.answer),
                confidence=self.confidence or None, because=self.reason, choices=tuple(self.choices) or None,
            )  # fmt: skip

    @property
    def outcome(self) -> str:
        """Return the outcome as text; if it is one of the choices, return that choice."""
        return next((c for c in self.choices if agree(c, self._outcome)), _text(self._outcome))

    @property
    def told(self) -> str:
        """Return the sentence that states the outcome."""
        return translate("It is: {outcome}", outcome=self.outcome)

    @property
    def _name(self) -> str:
        return translate("In your own words") if self.kind == "words" else translate("Predict")

    def _why(self, answer: str) -> str:
        return (
            ""
            if agree(answer, self._outcome)
            else next((text for key, text in self._because.items() if agree(key, answer)), "")
        )

    def message(self, answer: str) -> Message:
        """Return the message for an answer; for "", the message after "show me"."""
        if not answer:
            return Message(
                translate("You made no prediction here"), ((translate("it is"), self.outcome),)
            )
        rows = ((translate("you predicted"), answer), (translate("it is"), self.outcome))
        why = self._why(answer)
        if agree(answer, self._outcome):
            return Message(translate("Your prediction came true"), rows, (), "agrees")
        head = translate("Your prediction did not come true")
        return Message(head, rows, (why,) if why else (), "differs")

    def export_state(self) -> dict[str, Any]:
        """Return the state for a page without a kernel: unanswered, with the text for each answer if the outcome is
        known."""
        state = self.get_state() | {
            "live": False,
            "answer": "",
            "actual": "",
            "confidence": 0,
            "reason": "",
        }
        if self.kind == "words":
            return state | {"verdicts": {"": translate("In our words: {words}", words=self._key)}}
        if self._verdict is None:
            return state
        said = {
            answer: self.message(answer) for answer in (*self.choices, *self._because, self.outcome)
        }
        texts = {
            answer: " ".join([f"{m.head}.", f"{self.told}.", *m.paragraphs])
            for answer, m in said.items()
        }
        return state | {
            "verdicts": texts
            | {"": f"{translate('Your prediction did not come true')}. {self.told}."}
        }

    def __repr__(self) -> str:
        lines = [
            f"{self._name}: {self.question}",
            *(f"  ( ) {c}" for c in self.choices),
        ]
        if self.kind != "choice":
            kind = translate("your number") if self.kind == "number" else translate("your answer")
            lines.append(f"  {kind}: {self.answer or '____'}")
        elif self.answer:
            lines = [
                line.replace("( )", "(x)") if line[6:] == self.answer else line for line in lines
            ]
        return "\n".join(lines)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return _readable(super()._repr_mimebundle_(**kwargs), repr(self), self._html())

    def _html(self) -> str:
        """Return the HTML for pages without a kernel: the question and the answers."""
        items = "".join(f"<li>{with_code(c)}</li>" for c in self.choices)
        body = f"<ul style='margin:4px 0 4px 1.5em'>{items}</ul>" if items else ""
        return (
            f"<div role='group' aria-label='{self._name}' style='{frame()}'><strong>{self._name}</strong> "
            f"{with_code(self.question)}{body}<div><em>{translate('Run this cell to answer here.')}</em></div></div>"
        )


class Verdict(Displayed):
    """The verdict on a prediction. Until there is an answer, it says what it waits for, and offers "show me"."""

    _esm = assets.loader("verdict")
    _script = traitlets.Unicode(assets.module("verdict")).tag(sync=True)
    text = traitlets.Unicode("").tag(sync=True)  # HTML; "" while it waits
    asked = traitlets.Bool(False).tag(sync=True)  # whether "show me" was pressed
    live = traitlets.Bool(True).tag(sync=True)

    def __init__(self, prediction: Prediction) -> None:
        self._of, self._message = prediction, _waiting()
        super().__init__()

    def show(self, message: Message) -> None:
        """Show this message from now on."""
        self._message, self.text = message, message._repr_html_()

    @traitlets.observe("asked")
    def _asked(self, _: Any) -> None:
        self._of.show_me()

    def export_state(self) -> dict[str, Any]:
        """Return an empty state, because on a page the question itself shows the verdict."""
        return self.get_state() | {"live": False, "text": ""}

    def __repr__(self) -> str:
        return repr(self._message)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return _readable(super()._repr_mimebundle_(**kwargs), repr(self), self.text or self._html())

    def _html(self) -> str:
        """Return the HTML for pages without a kernel: the outcome, which opens on a click."""
        rest = tuple(
            (translate("not {answer}:", answer=key), text)
            for key, text in self._of._because.items()
        )
        said = Message(self._of.told, rest)._repr_html_()
        summary = translate("What it is (answer the question first)")
        return f"<details style='{frame()}'><summary>{summary}</summary>{said}</details>"


def _waiting() -> Message:
    text = translate("Answer the question above; then it is compared here.")
    return Message(translate("Your prediction first"), (), (text,))


def _readable(bundle: Any, text: str, html: str) -> Any:
    """Return a widget's bundle with text and HTML for viewers that can't show widgets."""
    data = bundle[0] if isinstance(bundle, tuple) else (bundle or {})
    data.update({"text/plain": text, "text/html": html})
    return bundle if bundle else data


def agree(said: str, actual: Any) -> bool:
    """Return whether a text answer means the same as the outcome.

    Numbers and lists of numbers are compared as numbers, True is "yes", an exception is "an error" or its type's name.
    """
    if isinstance(actual, BaseException):
        return said.split(":")[0].strip().lower() in (
            "an error",
            "error",
            type(actual).__name__.lower(),
        )
    if isinstance(actual, bool) and said.strip().lower() in ("yes", "no"):
        return (said.strip().lower() == "yes") is actual
    if said.strip() == _text(actual):
        return True
    left, right = numbers(said), numbers(actual)
    if left is None or right is None or left.shape != right.shape:
        return False
    return np.allclose(left, right, rtol=1e-3, equal_nan=True)


def numbers(value: Any) -> np.ndarray | None:
    """Return a tensor, a number, a list or a text of these as a float array; None for anything else."""
    if isinstance(value, str):
        text = (
            re.sub(r"(?<=\d),(?=\d{3}(\D|$))", "", value.strip())
            if value.strip()[:1] not in "[("
            else value
        )
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
