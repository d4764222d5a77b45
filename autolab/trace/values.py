"""Turn arrays into small, JSON-ready values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

WHOLE = 64
"""A tensor of at most this many numbers is stored whole; a bigger one as statistics and a sample of this size."""

ALL = 17
"""Significant digits that tell any two numbers apart."""

FEW = 1 << 10
"""Of at most this many numbers a copy is kept, and statistics are found when they are asked for."""

BIG = 1 << 14
"""From this many numbers on, statistics are found in float32: a copy in float64 would take most of the time."""

GOLDEN = (5**0.5 - 1) / 2
"""The fractions of its multiples spread most evenly over 0 to 1."""


def number(item: Any) -> float | int | bool | str:
    """Return one array element as JSON: the shortest decimal that reads back as the same number; NaN and inf as
    strings; a complex number with all its digits."""
    if isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, (complex, np.complexfloating)):
        return short(item, ALL)
    value = float(item)
    if not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    # str() of a float32 scalar is the shortest text of *that* type: 0.1, where float() would give 0.10000000149011612.
    return value if isinstance(item, float) else float(str(item))


def listed(row: np.ndarray) -> list[Any]:
    """Return `number` of each element of a vector, all at once if all are finite."""
    if row.dtype.kind == "f":
        found = list(map(float, row.astype("S32").tolist()))  # `str` of each takes twice as long
        if all(map(math.isfinite, found)):
            return found
    return [number(item) for item in row]


def short(item: Any, digits: int = 3) -> str:
    """Return a number with three significant digits, as in pictures and formulas: 0.762, 12, 1.5e-07.

    Trailing zeros mean that digits were left out: 0.5 is the number itself, 0.500 is 0.50005 or 0.4998. `short` in
    `static/values.js` is the same function."""
    kind = type(item)
    if isinstance(item, (complex, np.complexfloating)):
        imaginary = short(item.imag, digits)
        return f"{short(item.real, digits)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"
    if kind is not float and kind is not int:
        item = number(item) if not isinstance(item, str) else item
        if isinstance(item, (bool, str)):
            return str(item)
    elif item != item or item in (math.inf, -math.inf):
        return str(number(item))
    if isinstance(item, int) and abs(item) < 100_000:
        return str(item)
    if item == 0:
        return "-0" if math.copysign(1, item) < 0 else "0"
    if 100 <= abs(item) < 100_000 and item == round(item):
        return str(round(item))
    if digits >= ALL:
        return repr(item).removesuffix(".0")
    text = f"{item:.{digits}g}"
    return text if float(text) == item else f"{item:#.{digits}g}".rstrip(".")


def written(item: Any) -> str:
    """Return a number with all its digits, as Python writes it: given numbers are not rounded."""
    item = number(item) if not isinstance(item, str) else item
    return str(item) if isinstance(item, (bool, str)) else repr(item)


def exact(item: Any, digits: int = 3) -> bool:
    """Return whether `short` shows the exact number, with no digit left out."""
    item = number(item) if not isinstance(item, str) else item
    return isinstance(item, (bool, str)) or float(short(item, digits)) == item


def sign(same: bool) -> str:
    """Return the sign between a name and its number: "=" if the displayed digits are exact, else "≈"."""
    return "=" if same else "≈"


def _flat(data: Any) -> Any:
    return (part for item in data for part in _flat(item)) if isinstance(data, list) else (data,)


def _short_text(data: Any) -> str:
    if isinstance(data, list):
        return "[" + ", ".join(_short_text(d) for d in data) + "]"
    return short(data)


def _nested(array: np.ndarray) -> Any:
    if array.ndim == 0:
        return number(array[()])
    return [_nested(row) for row in array] if array.ndim > 1 else listed(array)


@functools.cache
def type_name(dtype: np.dtype) -> str:
    """Return a dtype's name, such as "float32"; cached, because NumPy builds the name each time."""
    return dtype.name


BINS, COUNTED = 16, 1 << 12
"""A histogram has so many bins; of a tensor from `BIG` on, so many of its numbers are counted."""

_FIELDS = ("shape", "dtype", "data", "stats", "sample", "text", "counts")


class _Later:
    """Stores the function that computes a value until the value is first used."""

    __slots__ = ("_make",)
    _make: Callable[[], dict[str, Any]]


_keep_make = _Later.__dict__["_make"].__set__  # sets the attribute although a Value is frozen


@dataclass(frozen=True, slots=True)
class Value(_Later):
    """What a tensor held at one moment.

    shape : sizes, `()` for a scalar.
    dtype : "float32", "int64", "bool" ...
    data  : the numbers as nested lists (one number for a scalar) when there are at most 64, else None; None of complex
            numbers, which only `text` tells.
    stats : {"min", "max", "mean", "std", "nan", "inf"} over the finite numbers (the last two are counts);
            None for a scalar, an empty tensor, and bool.
    sample: of more than 64 numbers: 64 of the flattened tensor, one out of each 64th of it; else None.
    text  : one short line, three significant digits; a number in the learner's own code has all digits.
    counts: of more than 64 numbers: how many finite ones are in each of 16 equal bins between stats' min and max, of
            all or, from 16,384 numbers on, of 4,096 spread evenly; None where there is nothing to divide.
    """

    shape: tuple[int, ...]
    dtype: str
    data: Any
    stats: dict[str, Any] | None
    sample: list[Any] | None
    text: str
    counts: list[int] | None = None

    @classmethod
    def of(cls, array: Any, dtype: str = "") -> Value:
        """Return the value of an array (anything `numpy.asarray` takes); `dtype` names the type where NumPy has none
        (bfloat16)."""
        return cls.later(seen(array, dtype))

    @classmethod
    def later(cls, make: Callable[[], dict[str, Any]]) -> Value:
        """Return a value whose fields come from `make()`, which is called once, when a field is first used. If it
        returns another `_make` instead of some fields, these are computed when they are first used."""
        value: Value = object.__new__(cls)
        _keep_make(value, make)
        return value

    def __getattr__(self, name: str) -> Any:
        # Called for a missing attribute: a value made by `later` has none until it is used.
        if name not in _FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with np.errstate(all="ignore"):  # computing statistics must not warn
            found = self._make()
        object.__delattr__(self, "_make")
        for field, item in found.items():
            object.__setattr__(self, field, item)
        return getattr(self, name)

    @property
    def is_open(self) -> bool:
        """Whether the value has not been computed yet; computing it may take a while."""
        return hasattr(self, "_make")

    @classmethod
    def of_literal(cls, item: Any, text: str, dtype: str = "") -> Value:
        """Return the value of a number in the learner's own code, shown as it is written there."""
        array = np.asarray(item)
        data = None if array.dtype.kind == "c" else number(array[()])
        return cls((), dtype or type_name(array.dtype), data, None, None, text)

    def is_exact(self, digits: int = 3) -> bool:
        """Return whether the numbers with so many digits are exact."""
        return self.data is not None and all(exact(item, digits) for item in _flat(self.data))

    @property
    def said(self) -> str:
        """Return the text that follows a name: " = 0.5", " ≈ 0.762", or a description of a tensor of many numbers."""
        if self.data is None:
            return f": {self.text}"
        same = (
            self.is_exact() or self.shape == () and self.text != short(self.data)
        )  # the last is as it was written
        return f" {sign(same)} {self.text}"

    @property
    def is_zero_at_once(self) -> bool | None:
        """Return `is_zero` of a number whose text has not been requested yet, without writing the text; else None."""
        copy = self.copied
        return not copy.item if copy is not None and isinstance(copy.item, np.floating) else None

    @property
    def copied(self) -> Copy | None:
        """Return the stored copy of a small value whose text has not been requested yet, or None."""
        make = self._make if self.is_open else None
        return make if isinstance(make, Copy) else None

    def is_same(self, other: Value | None) -> bool:
        """Return whether another value has the same numbers, without writing the text of copies."""
        mine, theirs = self.copied, None if other is None else other.copied
        if mine is None or theirs is None:
            return self == other
        return self is other or mine.dtype == theirs.dtype and mine.is_like(theirs)

    @property
    def is_zero(self) -> bool:
        """Return whether every number is 0 (also True for an empty tensor)."""
        if (at_once := self.is_zero_at_once) is not None:
            return at_once
        if self.stats is not None:
            return (
                self.stats["min"] == 0 == self.stats["max"]
                and not self.stats["nan"]
                and not self.stats["inf"]
            )
        return math.prod(self.shape) == 0 or (self.shape == () and self.data == 0)

    def to_json(self) -> dict[str, Any]:
        """Return the value as plain data."""
        return {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "data": self.data,
            "stats": self.stats,
            "sample": self.sample,
            "text": self.text,
            "counts": self.counts,
        }

    @classmethod
    def from_json(cls, d: dict[str, Any]) -> Value:
        """Return the value that `to_json` was called on."""
        return cls(
            tuple(d["shape"]),
            d["dtype"],
            d["data"],
            d["stats"],
            d["sample"],
            d["text"],
            d.get("counts"),
        )


def extent(stats: dict[str, Any]) -> str:
    """Return the size of the numbers as text: "within ±0.031" (rounded up), "all 0.5"; if some are not finite, how
    many: "2 NaN, 1 inf".

    A gradient's mean is near 0 whatever its size, so it would say nothing. `static/values.js` has the same function.
    """
    wrong = [
        f"{stats[key]:,} {name}" for key, name in (("nan", "NaN"), ("inf", "inf")) if stats[key]
    ]
    if wrong:
        return ", ".join(wrong)
    low, high = stats["min"], stats["max"]
    return (
        f"all {short(low + 0)}"
        if low == high
        else f"within ±{short(rounded_up(max(abs(low), abs(high))))}"
    )


def rounded_up(item: float) -> float:
    """Return a number rounded up to three significant digits, if `short` would round it; never below `item`."""
    if exact(item):
        return item
    mantissa, _, power = f"{item:.2e}".partition("e")
    whole = round(float(mantissa) * 100)
    return float(f"{whole + (float(f'{whole}e{int(power) - 2}') < item)}e{int(power) - 2}")


@functools.lru_cache(maxsize=256)
def _picks(size: int, count: int = WHOLE) -> np.ndarray:
    """Return one index out of each 64th of `size` numbers, at irregular distances: with equal distances the picks could
    all lie in one column of a matrix, such as the padded border of an image."""
    places = np.arange(count)
    return ((places + places * GOLDEN % 1) * (size / count)).astype(np.intp)


def _counts(array: np.ndarray, stats: dict[str, Any] | None) -> list[int] | None:
    if stats is None or stats["min"] == "nan" or stats["min"] == stats["max"]:
        return None
    if array.size >= BIG:
        array = _picked(array, COUNTED)
    fits = array.dtype == np.float32 and 1e-30 < stats["max"] - stats["min"] < 1e30
    numbers = array.ravel() if fits else array.ravel().astype(np.float64)
    if stats["nan"] or stats["inf"]:
        numbers = numbers[np.isfinite(numbers)]
    bins = ((numbers - stats["min"]) / (stats["max"] - stats["min"]) * BINS).astype(np.intp)
    counts: list[int] = np.bincount(
        bins, minlength=BINS + 1
    ).tolist()  # values below the rounded minimum belong to the first bin
    counts[BINS - 1] += counts.pop()  # the maximum itself
    return counts


def _bounded(text: str, limit: int = 72) -> str:
    """Shorten a text between two numbers, because half a number would be wrong. Of very many brackets, remove the outer
    ones."""
    if len(text) <= limit:
        return text
    deep = len(text) - len(text.lstrip("["))
    if deep > limit // 4:
        return f"[...{_bounded(text[deep - 1 : len(text) - deep + 1], limit - 8)}...]"
    return text[: text.rindex(", ", 0, limit - 6)] + ", ...]"


class Copy:
    """A copy of a small array, turned into text when first needed."""

    __slots__ = ("dtype", "item")

    def __init__(self, item: Any, dtype: str) -> None:
        self.item, self.dtype = item, dtype

    def array(self) -> Any:
        """Return the numbers as a NumPy array."""
        return self.item

    def is_like(self, other: Copy) -> bool:
        """Return whether another copy has the same shape and the same bits."""
        mine, theirs = self.array(), other.array()
        return bool(mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes())

    def __call__(self) -> dict[str, Any]:
        array = self.array()
        return (_fields_of_few if array.size <= WHOLE else _fields_of_some)(array, self.dtype)


def seen(array: Any, dtype: str = "") -> Callable[[], dict[str, Any]]:
    """Read an array, which may change afterwards, and return a function for `Value.later` that turns the data into
    text."""
    if isinstance(array, np.generic):
        return Copy(array, dtype or type_name(array.dtype))
    array = np.asarray(array)
    shape, dtype = array.shape, dtype or type_name(array.dtype)
    if array.size <= FEW:
        return Copy(np.array(array), dtype)
    with np.errstate(all="ignore"):
        stats = _stats(array)
        counts = _counts(array, stats)
    return functools.partial(_fields_of_many, shape, dtype, stats, _picked(array), counts)


def _picked(array: np.ndarray, count: int = WHOLE) -> np.ndarray:
    picks = _picks(array.size, count)
    return (
        array.reshape(-1)[picks]
        if array.flags.c_contiguous
        else array[np.unravel_index(picks, array.shape)]
    )


def _fields_of_few(array: Any, dtype: str) -> dict[str, Any]:
    complex_ones = (
        array.dtype.kind == "c"
    )  # a page cannot use such numbers: they are listed, but neither coloured nor drawn
    data = array.tolist() if complex_ones else _nested(array)
    text = _bounded(_short_text(data)) if array.shape else short(data)
    stats = _stats(array) if array.shape else None
    return {
        "shape": array.shape,
        "dtype": dtype,
        "data": None if complex_ones else data,
        "stats": stats,
        "sample": None,
        "text": text,
        "counts": None,
    }


def _fields_of_some(array: np.ndarray, dtype: str) -> dict[str, Any]:
    stats = _stats(array)
    return _fields_of_many(array.shape, dtype, stats, _picked(array), _counts(array, stats))


def _fields_of_many(
    shape: tuple[int, ...],
    dtype: str,
    stats: dict[str, Any] | None,
    picked: np.ndarray,
    counts: list[int] | None,
) -> dict[str, Any]:
    about = f", {extent(stats)}, std {short(stats['std'])}" if stats else ""
    text = f"{dtype}[{', '.join(map(str, shape))}]{about}"
    sample = lambda: {"sample": None if picked.dtype.kind == "c" else listed(picked)}  # noqa: E731 - few ask for it
    found = {
        "shape": shape,
        "dtype": dtype,
        "data": None,
        "stats": stats,
        "text": text,
        "counts": counts,
    }
    return found | {"_make": sample}


def _stats_of_many(array: np.ndarray) -> dict[str, Any] | None:
    """Return what `_stats` returns, for short floats; None if one is not finite, or float32's range is too small."""
    flat = array.ravel(order="K")
    low, high = float(flat.min()), float(flat.max())
    if not math.isfinite(high - low):
        return None
    mean, deviation = low, 0.0
    if low < high:
        near = np.float32(np.add.reduce(flat, dtype=np.float32) / flat.size)
        rest = np.subtract(flat, near, dtype=np.float32)
        # summing small remainders loses few digits
        beside = float(np.add.reduce(rest)) / flat.size
        mean = float(near) + beside
        variance = float(np.add.reduce(np.square(rest, out=rest))) / flat.size - beside * beside
        if not 1e-30 < variance < math.inf or mean * mean > variance * 1e4:
            return None
        deviation = math.sqrt(variance)
        mean = round(mean, 7 - math.floor(math.log10(deviation)))  # further digits are not certain
    found = {"min": low, "max": high, "mean": mean, "std": deviation}
    return {name: float(f"{item:.7g}") for name, item in found.items()} | {"nan": 0, "inf": 0}


def _stats(array: np.ndarray) -> dict[str, Any] | None:
    if array.size == 0 or array.dtype.kind not in "iuf":
        return None
    if array.size >= BIG and array.dtype.kind == "f" and array.dtype.itemsize <= 4:
        with np.errstate(all="ignore"):
            found = _stats_of_many(array)
        if found is not None:
            return found
    finite, nan, inf = array.astype(np.float64, copy=False), 0, 0
    if array.dtype.kind == "f" and not (known := np.isfinite(finite)).all():
        nan = int(np.isnan(finite).sum())
        inf = int(known.size - known.sum()) - nan
        finite = finite[known]
    if finite.size == 0:
        return {"min": "nan", "max": "nan", "mean": "nan", "std": "nan", "nan": nan, "inf": inf}
    # For float32 data, float64 statistics have meaningless digits: keep seven.
    keep = (lambda v: float(f"{v:.7g}")) if array.dtype.itemsize < 8 else float
    return {
        "min": keep(finite.min()),
        "max": keep(finite.max()),
        "mean": keep(finite.mean()),
        "std": keep(finite.std()),
        "nan": nan,
        "inf": inf,
    }
