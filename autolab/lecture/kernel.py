"""Runs in the kernel of a notebook that becomes a lecture: each displayed widget also stores what a
page without a kernel needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..trace import Trace
from ..trace.beats import tell
from ..viz import html
from ..widgets import Message, Prediction
from ..widgets.displayed import Displayed

PAGE = "application/vnd.autolab.page+json"
MOST_STOPS = 60
"""With more steps than this, the clicker goes from the end of one phase to the end of the next."""


def begin() -> None:
    """Let displayed widgets and revealed predictions store a form `PAGE` beside their other forms,
    from now on."""
    shown, revealed = Displayed._repr_mimebundle_, Prediction.reveal

    def displayed(self: Displayed, **kwargs: Any) -> Any:
        bundle = shown(self, **kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data[PAGE] = html.form(self) | {"kind": type(self).__name__, "stops": stops(self)}
            if isinstance(self, Prediction) and self.kind != "words" and self._id:
                data[PAGE]["asked"] = self._id
        return bundle

    def reveal(self: Prediction, *outcome: Any) -> Message:
        revealed(self, *outcome)
        told = self.message(self.answer)
        again = html.form(self)
        again |= {
            "verdicts": again["state"].get("verdicts", {}),
            "actual": self.outcome,
            "because": self._because,
        }
        again |= {"kind": "Revealed", "state": None, "stops": [], "lines": 1.4 * len(self.choices)}
        return Told(**vars(told), page=again)

    Displayed._repr_mimebundle_, Prediction.reveal = displayed, reveal  # type: ignore[method-assign]


@dataclass(frozen=True, repr=False)
class Told(Message):
    """The message of a reveal. On a slide, the question itself shows it to the person who answered."""

    page: dict[str, Any] = field(default_factory=dict)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self._repr_html_(), PAGE: self.page}


def stops(widget: Any) -> list[int]:
    """Return the steps at which a clicker stops, without the first one; [] for a widget without
    steps and for a practice, which its own player steps."""
    trace = getattr(widget, "trace", None)
    if "step" not in getattr(widget, "keys", ()) or trace is None or "practice" in widget.keys:
        return []
    frames: Any = getattr(trace, "frames", None) or getattr(trace, "steps", ())
    beats = tell(trace)["beats"] if isinstance(trace, Trace) else []
    every = [beat.last for beat in beats if beat.last] or list(range(1, len(frames)))
    if len(every) > MOST_STOPS:
        of = [(getattr(f, "phase", ""), getattr(f, "run", 0)) for f in frames]
        every = [i for i in every if i == every[-1] or of[i] != of[i + 1]]
    return every[:: -(-len(every) // MOST_STOPS)] if len(every) > MOST_STOPS else every
