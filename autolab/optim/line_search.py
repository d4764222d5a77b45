"""The line search of L-BFGS: how far to go along a direction, so that the strong Wolfe conditions hold.

Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6, as PyTorch has them (torch/optim/lbfgs.py).
"""

from typing import Any, NamedTuple


class _Point(NamedTuple):
    """A place on the line: how far, the loss there, its gradient, its slope along the line."""

    t: Any
    loss: Any
    grad: Any
    slope: Any


ENOUGH_LOWER, FLAT_ENOUGH = 1e-4, 0.9
"""c1: the loss falls by at least this share of what the slope promises; c2: the slope flattens to at most this
share."""


def strong_wolfe(look, t, direction, start, max_evaluations=25, tolerance_change=1e-9):
    """(loss, gradient, t, number of evaluations) of a place on the line that is low and flat enough.

    look: a function of t that returns (loss, gradient) there; start: (loss, gradient, slope) at t = 0.
    """
    search = _Search(look, direction, _Point(0, *start), max_evaluations)
    bracket = search.bracket(t)
    found = search.zoom(bracket, tolerance_change) if len(bracket) == 2 else bracket[0]
    return found.loss, found.grad, found.t, search.evaluations


class _Search:
    def __init__(self, look, direction, start, limit):
        self._look, self._direction, self._start, self._limit = look, direction, start, limit
        self.evaluations = self._rounds = 0

    def _at(self, t):
        loss, grad = self._look(t)
        self.evaluations += 1
        return _Point(t, loss, grad, grad.dot(self._direction))

    def _too_high(self, point):
        return point.loss > self._start.loss + ENOUGH_LOWER * point.t * self._start.slope

    def _is_flat(self, point):
        return abs(point.slope) <= -FLAT_ENOUGH * self._start.slope

    def bracket(self, t):
        """One good place, or two with a good one between them; the first place is at `t`."""
        before, point = self._start, self._at(t)
        while self._rounds < self._limit:
            if self._too_high(point) or (self._rounds > 1 and point.loss >= before.loss):
                return [before, point]
            if self._is_flat(point):
                return [point]
            if point.slope >= 0:
                return [before, point]
            bounds = point.t + 0.01 * (point.t - before.t), point.t * 10
            before, point = point, self._at(_cubic_minimum(before, point, bounds))
            self._rounds += 1
        return [self._start, point]

    def zoom(self, bracket, tolerance_change):
        """The good place between two."""
        low, high = sorted((0, 1), key=lambda i: bracket[i].loss)
        stalled, longest = False, self._direction.abs().max()
        while self._rounds < self._limit:
            if abs(bracket[1].t - bracket[0].t) * longest < tolerance_change:
                break
            t, stalled = _away_from_ends(
                _cubic_minimum(*bracket), [point.t for point in bracket], stalled
            )
            point = self._at(t)
            self._rounds += 1
            if self._too_high(point) or point.loss >= bracket[low].loss:
                bracket[high] = point
                low, high = sorted((0, 1), key=lambda i: bracket[i].loss)
                continue
            done = self._is_flat(point)
            if not done and point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
            if done:
                break
        return bracket[low]


def _cubic_minimum(a, b, bounds=None):
    """The minimum, within bounds, of the cubic through two points with their slopes; the middle where there is none."""
    lowest, highest = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (lowest + highest) / 2.0
    if a.t > b.t:
        a, b = b, a
    d2 = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, lowest), highest)


def _away_from_ends(t, ends, stalled):
    """(t, whether it is near an end): the second time near an end it is moved a tenth of the bracket inside."""
    largest, smallest = max(ends), min(ends)
    margin = 0.1 * (largest - smallest)
    if not min(largest - t, t - smallest) < margin:
        return t, False
    if not (stalled or t >= largest or t <= smallest):
        return t, True
    return (largest - margin if abs(t - largest) < abs(t - smallest) else smallest + margin), False
