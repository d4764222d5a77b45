"""The reports of a training run: complete in the kernel, and of limited size for the browser."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..viz import confusion as pictures
from ..viz.panels import numbers

SCALARS = ("train_loss", "val_loss", "train_accuracy", "val_accuracy")
MOST_POINTS, MOST_COLUMNS, MOST_ROWS = (
    400,
    60,
    60,
)  # of a curve, of the gradient strip, of the table
MOST_EXAMPLES, MOST_PIXELS, MOST_MARKS = 12, 64, 40


class Series:
    """A curve that grows and stays small: when it has `most` points, neighbours are merged in pairs.

    A merged point keeps the mean, minimum and maximum of its values, so that a spike is not lost, and the position of
    the last. Values that are not finite are kept separately, by position (the first 40).
    """

    def __init__(self, most: int = MOST_POINTS):
        self.most, self.width = most, 1
        self.points: list[list[float]] = []  # [x, mean, low, high, count]
        self.bad: list[float] = []
        self.last: float | None = None

    def add(self, x: float, y: float) -> None:
        self.last = y
        if not math.isfinite(y):
            if len(self.bad) < MOST_MARKS:
                self.bad.append(x)
            return
        if self.points and self.points[-1][4] < self.width:
            _merge(self.points[-1], [x, y, y, y, 1])
            return
        if len(self.points) == self.most:
            self.width *= 2
            pairs = [self.points[i : i + 2] for i in range(0, self.most, 2)]
            for pair in pairs:
                if len(pair) == 2:
                    _merge(*pair)
            self.points = [pair[0] for pair in pairs]
        self.points.append([x, y, y, y, 1])

    def to_json(self) -> dict[str, Any]:
        columns = [[digits(point[i]) for point in self.points] for i in range(4)]
        data = {"x": columns[0], "y": columns[1], "bad": self.bad, "last": digits(self.last)}
        return data if self.width == 1 else data | {"low": columns[2], "high": columns[3]}

    def brief(self) -> dict[str, Any]:
        """Return only the means, with three digits: a network may have a hundred layers."""
        return {
            "y": [digits(point[1], 3) for point in self.points],
            "bad": self.bad,
            "last": digits(self.last, 3),
        }


def _merge(into: list[float], other: list[float]) -> None:
    count = into[4] + other[4]
    into[:] = [
        other[0], (into[1] * into[4] + other[1] * other[4]) / count, min(into[2], other[2]), max(into[3], other[3]),
        count,
    ]  # fmt: skip


def digits(value: float | None, most: int = 5) -> Any:
    """Return a number with five significant digits for JSON: NaN and inf as words."""
    if value is None:
        return None
    if not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return float(f"{value:.{most}g}")


def as_number(value: Any, where: str) -> float:
    """Return a number or a one-element tensor as a float. Raises TypeError naming `where` for anything else."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"{where} must be a number or a one-element tensor, got {value!r}"
        ) from None


class History:
    """The records of one training run. `records` has all of them, as numbers only; `to_json()` has limited size."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.series: dict[str, Series] = {}
        self.rates: dict[str, Series] = {}
        self.norms: dict[str, Series] = {}
        self.table: dict[Any, dict[str, Any]] = {}  # epoch -> its last numbers
        self.marks: list[dict[str, Any]] = []
        self.epochs: list[float] = []
        self.x = 0.0

    def add(self, record: Any, rates: Sequence[float] = ()) -> None:
        """Add one record. `rates` are the optimizer's learning rates, one per parameter group; they are stored if the
        record has none, and if there are several groups.

        Raises TypeError, without adding anything, if the record is not a mapping or a value in it is not a number."""
        values = self._read(record)
        if len(rates) > 1 or (len(rates) and "learning_rate" not in values):
            values["learning_rate"] = list(rates) if len(rates) > 1 else rates[0]
        self.x = self._place(values.get("step"))
        self.records.append(values)
        epoch = values.get("epoch", "")
        if self.table and epoch not in self.table:
            self.epochs.append(self.x)
        row = self.table.setdefault(epoch, {"epoch": epoch})
        row["step"] = self.x
        for name in SCALARS:
            if name in values:
                self.series.setdefault(name, Series()).add(self.x, values[name])
                row[name] = digits(values[name])
        rate = values.get("learning_rate")
        if rate is not None:
            several = rate if isinstance(rate, list) else [rate]
            for i, value in enumerate(several):
                self.rates.setdefault(
                    f"group {i}" if len(several) > 1 else "learning rate", Series()
                ).add(self.x, value)
            row["learning_rate"] = [digits(v) for v in several]
        for layer, value in values.get("gradient_norms", {}).items():
            self.norms.setdefault(layer, Series(MOST_COLUMNS)).add(self.x, value)

    def _place(self, step: float | None) -> float:
        """Return the x position of a record: its step, or one further if step numbers restart or are missing."""
        if step is None:
            return self.x + 1
        return step if not self.records or step >= self.x else self.x + 1

    def _read(self, record: Any) -> dict[str, Any]:
        where = f"record {len(self.records)}"
        if not isinstance(record, Mapping):
            raise TypeError(
                f"{where} of the training must be a dict such as {{'step': 1, 'train_loss': 0.5}}, got {record!r}"
            )
        values: dict[str, Any] = {}
        for key, value in record.items():
            if value is None or key in ("examples", "confusion"):
                continue
            name = f"{where}[{key!r}]"
            if key == "gradient_norms":
                if not isinstance(value, Mapping):
                    raise TypeError(
                        f"{name} must be a dict of layer: norm, got {type(value).__name__}"
                    )
                values[key] = {
                    str(layer): as_number(v, f"{name}[{layer!r}]") for layer, v in value.items()
                }
            elif key == "learning_rate" and isinstance(value, (list, tuple)):
                values[key] = [as_number(v, name) for v in value]
            elif key == "epoch" or (isinstance(value, (str, bool)) and key not in SCALARS):
                values[key] = value.item() if hasattr(value, "item") else value
            elif key in (*SCALARS, "learning_rate", "step") or isinstance(value, (int, float)):
                values[key] = as_number(value, name)
            else:
                values[key] = value  # unknown to us: stored unchanged
        return values

    def mark(self, text: str) -> None:
        """Mark this point of the training with a line across the curves."""
        self.marks = [*self.marks[1 - MOST_MARKS :], {"x": self.x, "text": text}]

    @property
    def epoch_count(self) -> int:
        return len([epoch for epoch in self.table if epoch != ""])

    def to_json(self) -> dict[str, Any]:
        """Return the data for the browser: never more than a fixed number of points, whatever the length of the run."""
        last = self.records[-1] if self.records else {}
        return {
            "count": len(self.records), "x": self.x, "epoch": last.get("epoch"),
            "series": {name: series.to_json() for name, series in self.series.items()},
            "rates": {name: series.to_json() for name, series in self.rates.items()},
            # A list, because JavaScript would order a layer called "2" before one called "0.1".
            "norms": [[name, series.brief()] for name, series in self.norms.items()],
            "epochs": _thinned(self.epochs, MOST_MARKS), "marks": self.marks,
            "table": _thinned(list(self.table.values()), MOST_ROWS),
        }  # fmt: skip


def _thinned(items: list[Any], most: int) -> list[Any]:
    """Return every n-th item, and the last."""
    if len(items) <= most:
        return list(items)
    step = math.ceil(len(items) / (most - 1))
    return [*items[:-1:step], items[-1]]


# -- pictures ----------------------------------------------------------------------------------------------------------
def read_examples(
    source: Any, classes: Sequence[str] | None = None
) -> tuple[list[dict[str, Any]], Any]:
    """Return (examples for the browser, confusion matrix or None) from the result of `predict` or a record's
    "examples".

    source: a tuple or dict (images, targets, predictions), images as `viz.plot_misclassified` takes them, predictions
    class indices or scores (examples, classes). Twelve are shown, spread evenly, because data sets are often
    sorted by class; the confusion matrix counts all of them.
    A dict may bring its own "confusion".

    Raises TypeError or ValueError that names the wrong part."""
    if isinstance(source, Mapping):
        missing = [key for key in ("images", "targets", "predictions") if key not in source]
        if missing:
            raise TypeError(
                f"examples must have images, targets and predictions; there is no {' and no '.join(missing)}"
            )
        own = source.get("confusion")
        source = tuple(source[key] for key in ("images", "targets", "predictions"))
    else:
        own = None
    if not isinstance(source, tuple) or len(source) != 3:
        raise TypeError(
            f"examples must be a tuple (images, targets, predictions) or such a dict, got {type(source).__name__}"
        )
    images, (truth, guess, sure) = pictures._images(source[0]), pictures._answers(*source[1:])
    if len(images) != len(truth):
        raise ValueError(f"examples: {len(images)} images, but {len(truth)} targets")
    count = min(MOST_EXAMPLES, len(images))
    shown = [i * len(images) // count for i in range(count)]
    images = images[shown]
    coloured = images.ndim == 4
    finite = images[np.isfinite(images)] if images.dtype.kind == "f" else images
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    levels = (
        pictures._visible(images)[0]
        if coloured
        else (np.nan_to_num(images) - low) / ((high - low) or 1)
    )
    shrink = max(1, math.ceil(max(images.shape[1:3]) / MOST_PIXELS))
    levels = np.clip(np.rint(levels[:, ::shrink, ::shrink] * 255), 0, 255).astype(np.uint8)
    name = lambda i: str(classes[i]) if classes is not None and i < len(classes) else str(i)
    examples = [
        {
            "height": picture.shape[0], "width": picture.shape[1], "colour": coloured,
            "pixels": base64.b64encode(picture.tobytes()).decode(), "target": name(int(truth[i])),
            "prediction": name(int(guess[i])), "right": bool(truth[i] == guess[i]),
            "probability": None if sure is None or not math.isfinite(sure[i]) else digits(float(sure[i]), 3),
        }
        for i, picture in zip(shown, levels)
    ]  # fmt: skip
    matrix = (
        own
        if own is not None
        else pictures.confusion_matrix(*source[1:], classes=len(classes) if classes else None)
    )
    return examples, read_confusion(matrix)


def read_confusion(matrix: Any) -> list[list[int]]:
    """Return counts (classes, classes), given as such or as (targets, predictions), as lists. Raises TypeError or
    ValueError for anything else."""
    if isinstance(matrix, tuple):
        matrix = pictures.confusion_matrix(*matrix)
    counts = numbers(matrix, "confusion")
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"confusion must have as many rows as columns, got shape {counts.shape}")
    return [[int(v) for v in row] for row in counts]
