"""The line search of L-BFGS: find a step length along a direction that satisfies the strong Wolfe conditions.

Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6, as implemented in PyTorch (torch/optim/lbfgs.py).
"""

from typing import Any, NamedTuple


class _Point(NamedTuple):
    """A point on the search line: its distance from the start, and the loss, gradient and slope there."""

    t: Any
    loss: Any
    grad: Any
    slope: Any


ENOUGH_LOWER, FLAT_ENOUGH = 1e-4, 0.9
"""c1: the loss must fall by at least this fraction of the decrease that the slope predicts; c2: the slope must flatten
to at most this fraction."""


def strong_wolfe(look, t, direction, start, limit, tolerance_change=1e-9):
    """Return (loss, gradient, t, number of evaluations) of a point that satisfies the strong Wolfe conditions.

    look: a function of t that returns (loss, gradient) there. start: (loss, gradient, slope) at t = 0. limit: the
    maximum number of rounds.
    """
    start = _Point(0, *start)
    evaluations = rounds = 0

    def at(t):
        nonlocal evaluations
        evaluations += 1
        loss, grad = look(t)
        return _Point(t, loss, grad, grad.dot(direction))

    def too_high(point):
        return point.loss > start.loss + ENOUGH_LOWER * point.t * start.slope

    def is_flat(point):
        return abs(point.slope) <= -FLAT_ENOUGH * start.slope

    # The first phase ends with one good point, or with two points that have a good one between them.
    before, point = start, at(t)
    while rounds < limit:
        if too_high(point) or (rounds > 1 and point.loss >= before.loss):
            break
        if is_flat(point):
            return point.loss, point.grad, point.t, evaluations
        if point.slope >= 0:
            break
        bounds = point.t + 0.01 * (point.t - before.t), point.t * 10
        before, point = point, at(_cubic_minimum(before, point, bounds))
        rounds += 1
    else:
        before = start
    bracket = [before, point]
    low, high = sorted((0, 1), key=lambda i: bracket[i].loss)
    # The second phase searches between these two points.
    stalled, longest = False, direction.abs().max()
    while rounds < limit and abs(bracket[1].t - bracket[0].t) * longest >= tolerance_change:
        t, stalled = _away_from_ends(_cubic_minimum(*bracket), [p.t for p in bracket], stalled)
        point = at(t)
        rounds += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = sorted((0, 1), key=lambda i: bracket[i].loss)
            continue
        done = is_flat(point)
        if not done and point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
        if done:
            break
    best = bracket[low]
    return best.loss, best.grad, best.t, evaluations


def _cubic_minimum(a, b, bounds=None):
    """Return the minimum, within bounds, of the cubic through two points with their slopes; if it has none, the
    middle."""
    lowest, highest = bounds or sorted((a.t, b.t))
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
    """Return (t, whether it is near an end). If t is near an end for the second time, move it inside by a tenth of the
    bracket."""
    largest, smallest = max(ends), min(ends)
    margin = 0.1 * (largest - smallest)
    if not min(largest - t, t - smallest) < margin:
        return t, False
    if not (stalled or t >= largest or t <= smallest):
        return t, True
    return (largest - margin if abs(t - largest) < abs(t - smallest) else smallest + margin), False
