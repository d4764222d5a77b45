"""Plans for the sum of all elements of an array, made once per shape: a sequence of additions of pieces of a buffer, in
the order of `exact/sums.py`."""

from __future__ import annotations

import functools
import math

import numpy as np

from .. import generated
from ..exact.sums import BLOCK, INTERLEAVED


def plan(dtype, shape, lanes):
    """Return a function that takes a row-major array of `shape`, and returns an array whose last number is the sum. It
    gives the same result as `exact.sums._rows` of one row."""
    wide, calls, n = INTERLEAVED * lanes, [], math.prod(shape)
    quarter, full = n // wide, n // lanes * lanes
    buffer = np.zeros(
        n + 1 + lanes, dtype
    )  # the row, a zero (torch starts from it: -0 becomes 0), the running sums
    parts = [buffer[i : i + lanes] for i in range(quarter * wide, full, lanes)]
    if quarter:
        chains = _plan_cascade(calls, buffer[: quarter * wide].reshape(quarter, wide))
        first, *others = (chains[i : i + lanes] for i in range(0, wide, lanes))
        parts = [first, *parts, *others]
    _plan_in_turn(
        calls, [np.zeros(lanes, dtype), *parts] if len(parts) == 1 else parts, buffer[n + 1 :]
    )
    bind = _straight(tuple(call for call, *_ in calls))
    return bind(
        buffer[:n].reshape(shape),
        buffer[full:],
        *(array for _, *arrays in calls for array in arrays),
    )


_ADD, _REDUCE = "add({}, {}, {})", "reduce({}, 0, None, {})"


@functools.cache
def _straight(calls):
    """Return a function that binds arrays to the calls of a plan. The calls are written one after the other, which
    takes 0.1 µs less than a loop, or 0.4 µs less per epoch."""
    arrays = [f"a{i}" for i in range("".join(calls).count("{}"))]
    body = "\n  ".join(["into[...] = x", *calls, "return in_order(last)"]).format(*arrays)
    environment = {"add": np.add, "reduce": np.add.reduce, "in_order": np.add.accumulate}
    source = f"def bind(into, last, {', '.join(arrays)}):\n def plan(x):\n  {body}\n return plan\n"
    return generated.function("bind", source, environment, f"fast/<sum of {len(calls)} calls>")


def _plan_cascade(calls, rows):
    """Append the calls of `exact.sums._cascade` for fewer than 256 rows; return the array that will hold the sums."""
    blocks, rest = len(rows) // BLOCK, len(rows) % BLOCK
    if not blocks:
        return _plan_in_turn(calls, rows)
    sums = np.empty((blocks, rows.shape[1]), rows.dtype)
    calls.append((_REDUCE, rows[: blocks * BLOCK].reshape(blocks, BLOCK, -1).swapaxes(0, 1), sums))
    if not rest:
        return _plan_in_turn(calls, sums)
    return _plan_in_turn(calls, [_plan_in_turn(calls, rows[-rest:]), _plan_in_turn(calls, sums)])


def _plan_in_turn(calls, rows, to=None):
    """Append calls that add up `rows` in order: a few rows by single additions, many by np.add.reduce. Return the array
    that will hold the sum."""
    if len(rows) == 1:
        return rows[0]
    to = np.empty_like(rows[0]) if to is None else to
    if rows.__class__ is np.ndarray and len(rows) > 5:
        calls.append((_REDUCE, rows, to))
    else:
        calls += [(_ADD, rows[0] if k == 1 else to, rows[k], to) for k in range(1, len(rows))]
    return to
