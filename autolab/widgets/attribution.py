"""Show by gradient which numbers a result depends on most: on the image, table or words that they came from."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from .. import autograd
from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from ..trace.values import number, short
from ..viz import palette
from . import heat

MOST_DRAWN = 8  # tensors; if there are more, draw those with the numbers in the table
MOST_CELLS = 4096  # numbers of one tensor that are drawn
# an inner outline, because a notebook's output cuts off outer ones
_FRAME = f"outline:1px solid {palette.DATA};outline-offset:-1px"


class Entry(NamedTuple):
    """One number: its tensor's name, its index, its value, its gradient, and its score."""

    name: str
    at: tuple[int, ...]
    value: float
    gradient: float
    score: float
    label: str = ""


@dataclass(frozen=True, repr=False)
class Blame:
    """The result of `blame`. `scores` and `gradients`: arrays of the shapes of the inputs, by name; `top`: the numbers
    with the largest absolute scores; `share`: each tensor's part of the sum of absolute scores."""

    method: str
    values: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    scores: dict[str, np.ndarray]
    labels: dict[str, list[str]]
    top: tuple[Entry, ...]

    @property
    def share(self) -> dict[str, float]:
        """Return each tensor's part of the sum of absolute scores; the parts add up to 1."""
        sums = {name: float(np.abs(scores).sum()) for name, scores in self.scores.items()}
        return {name: part / (sum(sums.values()) or 1.0) for name, part in sums.items()}

    @property
    def _shares(self) -> str:
        """Return the shares of all scores: by tensor, or of the table and the rest if there is only one tensor."""
        share, rest = self.share, len(self.scores) - MOST_DRAWN
        if not any(share.values()):
            return "All scores are 0"
        if len(share) == 1:
            whole = sum(float(np.abs(scores).sum()) for scores in self.scores.values())
            part = sum(abs(e.score) for e in self.top) / whole
            size, shown = sum(scores.size for scores in self.scores.values()), len(self.top)
            if shown == size:
                return "The table has all scores"
            return f"The table has {shown} of {size:,} numbers, and {part:.0%} of all scores"
        parts = (
            sorted(share.items(), key=lambda item: -item[1])[:MOST_DRAWN]
            if rest > 0
            else share.items()
        )
        words = ", ".join(f"{name} {part:.0%}" for name, part in parts)
        return f"Share of all scores: {words}" + (
            f", the other {rest} together {1 - sum(p for _, p in parts):.0%}" if rest > 0 else ""
        )

    @property
    def words(self) -> str:
        """Return the sentence that explains a score."""
        if self.method == "gradient":
            return "gradient: how much the result changes for each unit that the number changes, as long as that is little"
        return "gradient times input: about how much of the result would go if the number were 0 (exact where the result is linear in it)"

    @property
    def _key(self) -> str:
        if self.method == "gradient":
            return "Purple: the result falls when the number grows; green: it rises"
        return "Purple takes from the result, green adds to it"

    def __repr__(self) -> str:
        rows = [
            (_place(e), short(number(e.value)), short(number(e.gradient)), short(number(e.score)))
            for e in self.top
        ]
        head = ("number", "is", "gradient", "score")
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(4)]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths))
            )
            for row in [head, *rows]
        ]
        return "\n".join([f"Blame by {self.words}", *lines, self._shares])

    def _repr_html_(self) -> str:
        scale = max((abs(e.score) for e in self.top), default=0.0)
        names = (
            dict.fromkeys(e.name for e in self.top)
            if len(self.scores) > MOST_DRAWN
            else self.scores
        )
        drawn = "".join(
            f"<div style='margin:0 18px 10px 0'><div><b>{escape(n)}</b></div>{self._drawn(n, scale)}</div>"
            for n in names
        )
        cells = lambda e: (
            _place(e),
            short(number(e.value)),
            short(number(e.gradient)),
            short(number(e.score)),
        )
        rows = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:left'>{escape(c)}</td>" for c in cells(e))
            + "</tr>"
            for e in self.top
        )
        head = "".join(
            f"<th scope='col' style='text-align:left'>{c}</th>"
            for c in ("number", "is", "gradient", "score")
        )
        return (
            f"<div role='group' aria-label='Blame'><p>{escape(self.words)}. {self._key}; full colour: "
            f"±{short(number(scale))}. {escape(self._shares)}.</p><div style='display:flex;flex-wrap:wrap'>{drawn}</div>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _drawn(self, name: str, scale: float) -> str:
        """Return the scores drawn in place: words for labelled rows, cells for tables, small squares for images."""
        scores, values = self.scores[name], self.values[name]
        if name in self.labels:
            sums = scores.reshape(len(scores), -1).sum(1)
            pairs = zip(self.labels[name], sums)
            high = max(scale, float(np.abs(sums).max()))
            return " ".join(
                f"<span style='{_look(s, high)}' title='{short(number(s))}'>{escape(w)}</span>"
                for w, s in pairs
            )
        table = np.squeeze(scores)
        if table.ndim == 3 and table.shape[0] <= 4:
            table = table.sum(0)  # an image: sum over its channels
        if table.ndim > 2 or table.size > MOST_CELLS or table.size == 0:
            return f"<div>{scores.size:,} numbers of shape {tuple(scores.shape)}: too many dimensions to draw</div>"
        table = np.atleast_2d(table)
        if table.size <= 64 and table.size == values.size:
            numbers = values.reshape(table.shape)
            cell = lambda s, v: (
                f"<td style='{_look(s, scale)}' title='score {short(number(s))}'>{short(number(v))}</td>"
            )
            return (
                "<table>"
                + "".join(
                    "<tr>" + "".join(map(cell, s, v)) + "</tr>" for s, v in zip(table, numbers)
                )
                + "</table>"
            )
        high = max(scale, float(np.abs(table).max()))
        side = max(2, min(10, 280 // max(table.shape)))
        rects = "".join(
            f'<rect x="{x * side}" y="{y * side}" width="{side}" height="{side}" fill="{heat.color(float(s), high)}"/>'
            for y, row in enumerate(table) for x, s in enumerate(row) if s
        )  # fmt: skip
        width, height = table.shape[1] * side, table.shape[0] * side
        beside = _grey(values, table.shape, side, name)
        largest = short(number(float(np.abs(table).max())))
        words = f"Scores of {escape(name)}: {int((table != 0).sum())} of {table.size} are not 0, the largest is {largest}"
        return (
            f'<svg width="{width}" height="{height}" role="img" aria-label="{words}" style="{_FRAME}">'
            f'<rect width="{width}" height="{height}" fill="{palette.PAPER}"/>{rects}</svg>{beside}'
        )


def _grey(values: np.ndarray, shape: tuple[int, ...], side: int, name: str) -> str:
    """Return the image in grey, to show beside its scores; its largest number is white. Return "" if its shape is not
    the picture's."""
    image = np.squeeze(values)
    image = image.mean(0) if image.ndim == 3 else image
    low, high = float(image.min()), float(image.max())
    if image.shape != shape or not np.isfinite([low, high]).all() or low == high:
        return ""
    white = np.round((image - low) / (high - low), 3)
    rects = "".join(
        f'<rect x="{x * side}" y="{y * side}" width="{side}" height="{side}" fill-opacity="{v}"/>'
        for y, row in enumerate(white.tolist()) for x, v in enumerate(row) if v
    )  # fmt: skip
    size = f'width="{shape[1] * side}" height="{shape[0] * side}"'
    return (
        f' <svg {size} role="img" aria-label="{escape(name)} itself, white where it is largest" style="{_FRAME}">'
        f'<rect {size} fill="{palette.BLACK}"/><g fill="{palette.PAPER}">{rects}</g></svg>'
    )


def blame(
    loss: Any,
    inputs: Any,
    *,
    method: str = "gradient * input",
    top: int = 10,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> Blame:
    """Return which numbers a result depends on most.

    loss: a tensor of one number, of autolab or PyTorch, whose graph is still there (backward has not freed it).
    inputs: the tensors to blame, of any shape, in the graph and with requires_grad=True: one, a list, or a dict with
            their names, such as `{"image": x, **dict(model.named_parameters())}`.
    method: "gradient * input", or "gradient".
    top: how many numbers `.top` has. labels: name -> a word for each row of that tensor, to be coloured in its place.

    `.grad` and the graph are left as they are. An input that the result does not depend on has scores of 0.
    Raises TypeError for what is no tensor or wants no gradient, ValueError for a result of more than one number and
    other options.

    Example:

        >>> import autolab
        >>> x = autolab.tensor([1.0, -2.0, 3.0], requires_grad=True)
        >>> found = autolab.blame((x * autolab.tensor([1.0, 5.0, 0.1])).sum(), {"x": x}, top=2)
        >>> [(entry.at, entry.score) for entry in found.top]
        [((1,), -10.0), ((0,), 1.0)]
    """
    if method not in ("gradient * input", "gradient"):
        raise ValueError(f'method must be "gradient * input" or "gradient", got {method!r}')
    if not isinstance(top, int) or top < 1:
        raise ValueError(f"top must be a whole number, at least 1, got {top!r}")
    given = _named(inputs)
    _check_loss(loss)
    names = _words(labels or {}, given)
    values, gradients = _gradients(loss, given)
    scores = {
        name: g if method == "gradient" else g * values[name] for name, g in gradients.items()
    }
    entries = [
        Entry(name, tuple(map(int, at)), float(values[name][at]), float(gradients[name][at]), float(scores[name][at]),
              names[name][at[0]] if name in names and at else "")
        for name in given for at in _largest(scores[name], top)
    ]  # fmt: skip
    entries.sort(key=lambda e: -abs(e.score))
    return Blame(method, values, gradients, scores, names, tuple(entries[:top]))


def _check_loss(loss: Any) -> None:
    if not hasattr(loss, "grad_fn") or not hasattr(loss, "numel"):
        raise fail(
            TypeError,
            f"loss must be a tensor, got {type(loss).__name__}",
            "Give the result itself, not its .item().",
        )
    if loss.numel() != 1:
        raise fail(
            ValueError,
            f"loss must be one number, got shape {tuple(loss.shape)}",
            "Choose the one to explain: logits[0, 3].",
        )
    if not loss.requires_grad:
        raise fail(
            ValueError,
            "loss has no graph: it does not require a gradient",
            "Set x.requires_grad_() before you compute it, and compute it outside of no_grad().",
        )


def _words(labels: Mapping[str, Sequence[str]], given: dict[str, Any]) -> dict[str, list[str]]:
    names = {name: [str(word) for word in words] for name, words in labels.items()}
    for name, words in names.items():
        if name not in given or len(words) != (given[name].shape[0] if given[name].ndim else 1):
            raise ValueError(
                f"labels[{name!r}]: expected a word for each row of an input of that name, got {len(words)} words"
            )
    return names


def _named(inputs: Any) -> dict[str, Any]:
    one = hasattr(inputs, "requires_grad")
    if not one and (isinstance(inputs, str) or not isinstance(inputs, Iterable)):
        raise fail(
            TypeError,
            f"inputs must be a tensor, a list or a dict of tensors, got {type(inputs).__name__}",
            "For a network, pass dict(model.named_parameters()).",
        )
    pairs = (
        inputs.items()
        if isinstance(inputs, Mapping)
        else [("input", inputs)]
        if one
        else enumerate(inputs)
    )
    given = {str(name): tensor for name, tensor in pairs}
    for name, tensor in given.items():
        if not hasattr(tensor, "requires_grad"):
            raise fail(
                TypeError,
                f"inputs[{name}]: expected a tensor, got {type(tensor).__name__}",
                "Numbers have no graph.",
            )
        if not tensor.requires_grad:
            raise fail(
                TypeError,
                f"inputs[{name}] does not require a gradient",
                "Data wants none by itself: call .requires_grad_() on it before you compute the result.",
            )
    return given


def _gradients(
    loss: Any, given: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    grad: Any = (
        autograd.grad
        if isinstance(loss, Tensor)
        else importlib.import_module("torch.autograd").grad
    )
    found = grad(loss, [*given.values()], retain_graph=True, allow_unused=True)
    numbers = lambda tensor: np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
    values = {name: numbers(tensor) for name, tensor in given.items()}
    return values, {
        n: np.zeros_like(v) if g is None else numbers(g) for (n, v), g in zip(values.items(), found)
    }


def _largest(scores: np.ndarray, count: int) -> list[tuple[Any, ...]]:
    order = np.argsort(-np.abs(scores), axis=None, kind="stable")[:count]
    return list(zip(*np.unravel_index(order, scores.shape))) if scores.ndim else [()]


def _place(entry: Entry) -> str:
    at = f"[{', '.join(map(str, entry.at))}]" if entry.at else ""
    return f"{entry.name}{at}" + (f" ({entry.label})" if entry.label else "")


def _look(score: float, scale: float) -> str:
    """Return the CSS of a word or a cell: its colour, and a text colour that is readable on it."""
    paper = heat.color(float(score), scale)
    ink = palette.ink([part / 255 for part in bytes.fromhex(paper[1:])])
    return f"background:{paper};color:{ink};padding:1px 5px;border-radius:3px"
