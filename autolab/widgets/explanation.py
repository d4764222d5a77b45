"""`autolab.explain()`: the explorer, opened where an error came from."""

from __future__ import annotations

import sys
from typing import Any

from ..engine.exact.failing import sentences
from ..trace import Recording
from ..trace.errors import explanation
from ..trace.layers.folding import Folding
from ..trace.model import Trace
from .explorer import Explorer, as_trace
from .message import Message


class Explanation(Explorer):
    """An Explorer opened at the cause of an error; `text` says in words what it shows."""

    def __init__(self, trace: Trace, **traits: Any):
        said = trace.meta["explanation"]
        node, folding = said["node"], Folding(trace)
        opened = folding.first() + [
            part for part in (folding.opening(node) if node else ()) if part not in folding.first()
        ]
        self.text = "\n".join([said["title"], *said["text"], said["more"]]).strip()
        super().__init__(trace, **{"expanded": opened, "step": said["step"]} | traits)

    def __repr__(self) -> str:
        return f"Explanation({self.trace.meta['explanation']['title']})"


def explain(error: Any = None) -> Explanation | Message:
    """Show where an error came from: the explorer, opened at the operation that caused it. In a notebook, in the next
    cell:

        h = x.relu()
        h @ w                # RuntimeError: mat1 and mat2 shapes cannot be multiplied
        autolab.explain()    # both operands, their shapes, what they were computed from

    error: the exception; by default the one being handled (inside `except`), else the last uncaught one. A
    recording, a trace or a tensor may be given instead: then the first NaN or inf in it is shown.

    It knows of operations that failed (which, with which operands), of backward passes (freed or changed values, who
    changed them, results of many numbers, graphs that were cut) and, in anomaly mode, of the first NaN. Inside `with
    autolab.record():` it also has every step before. Of an error of real PyTorch it shows the tensors in the line that
    raised it. Nothing is stored for it: all data comes from the error and its traceback.

    Returns the explorer, whose `text` says the same in words; a short message where there are no tensors to show.
    Raises TypeError for anything that is neither an exception nor something to explore.

    Example:

        >>> try:
        ...     torch.ones(2) @ torch.ones(3)
        ... except RuntimeError as error:
        ...     print(torch.explain(error))
        Explanation(RuntimeError: inconsistent tensor size...
    """
    if error is None:
        error = sys.exc_info()[1] or getattr(sys, "last_value", None)
        if error is None:
            return Message(
                "There is no error to explain.",
                paragraphs=("Call it after an exception, or with the exception.",),
            )
    if not isinstance(error, BaseException):
        also = "a recording, a trace or an exception"
        trace = (
            error.trace()
            if isinstance(error, Recording)
            else as_trace(error, called="error", also=also)
        )
        return Explanation(explanation.of_numbers(trace))
    cause = None
    try:
        cause = explanation.of_error(error)
        if cause is not None and cause.nodes:
            return Explanation(cause)
        title, said = explanation.in_words(error)
    except Exception as trouble:  # explaining an error must not raise another one
        title = f"{type(error).__name__}: {error}"
        known = sentences(error) if cause is None else cause.meta["explanation"]["text"]
        said = [*known, f"The graph cannot be drawn ({type(trouble).__name__})."]
    return Message(title, paragraphs=tuple(said))
