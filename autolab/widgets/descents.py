"""Compute the paths of optimizers, and the loss on a plane through their start, as plain data for `landscape.py`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import optim
from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from ..engine.exact.random import get_rng_state, manual_seed, set_rng_state

Make = Callable[[list[Any], float], Any]
KNOWN: dict[str, Make] = {
    "SGD": lambda p, lr: optim.SGD(p, lr=lr),
    "momentum": lambda p, lr: optim.SGD(p, lr=lr, momentum=0.9),
    "Nesterov": lambda p, lr: optim.SGD(p, lr=lr, momentum=0.9, nesterov=True),
    "Adagrad": lambda p, lr: optim.Adagrad(p, lr=lr),
    "RMSprop": lambda p, lr: optim.RMSprop(p, lr=lr),
    "Adam": lambda p, lr: optim.Adam(p, lr=lr),
    "AdamW": lambda p, lr: optim.AdamW(p, lr=lr),
    "LBFGS": lambda p, lr: optim.LBFGS(p, lr=1, max_iter=1, line_search_fn="strong_wolfe"),
}
"""What a name stands for: parameters and rate -> optimizer. LBFGS finds its step by a line search, whatever the rate
is."""

SEARCHES = 30  # line searches that look for the lowest point
FLAT = 1e-3  # relative to the slope at the start: anything less counts as flat
MOMENTA = ("momentum_buffer", "exp_avg")


@dataclass(frozen=True)
class Run:
    """One optimizer's path: for each step the point in all numbers, the loss, gradient and momentum (None if it has
    none)."""

    name: str
    points: list[np.ndarray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    gradients: list[np.ndarray] = field(default_factory=list)
    momenta: list[np.ndarray | None] = field(default_factory=list)


def named(parameters: Any) -> dict[str, Any]:
    """Return the parameters by name. Raises TypeError for anything else, ValueError if there are fewer than two
    numbers."""
    pairs = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters)
    found = {str(name): p for name, p in pairs}
    for name, p in found.items():
        if not isinstance(p, Tensor) or not p.is_leaf or not p.requires_grad:
            what = (
                "a tensor that is no leaf wanting a gradient"
                if isinstance(p, Tensor)
                else type(p).__name__
            )
            raise fail(
                TypeError,
                f"parameters[{name}]: expected a leaf of autolab with requires_grad=True, got {what}",
                "These are what an optimizer moves: write x = torch.tensor(1., requires_grad=True).",
            )
    if sum(p.numel() for p in found.values()) < 2:
        raise fail(
            ValueError,
            f"parameters: expected two numbers or more, got {sum(p.numel() for p in found.values())}",
            "A landscape has two directions. For one number, plot its curve.",
        )
    return found


def flat(parameters: list[Any]) -> np.ndarray:
    return np.concatenate([p.detach().cpu().numpy().ravel().astype(np.float64) for p in parameters])


def put(parameters: list[Any], numbers: np.ndarray) -> None:
    """Write all numbers through `.data`, so that no version counter changes."""
    at = 0
    for p in parameters:
        part = numbers[at : at + p.numel()].reshape(tuple(p.shape))
        p.data.copy_(p.data.new_tensor(part.tolist()))
        at += p.numel()


@contextlib.contextmanager
def untouched(parameters: list[Any]) -> Iterator[None]:
    """Restore the numbers, their version counters, `.grad` and the random state after the block."""
    versions = [p._version for p in parameters]
    numbers, grads, state = (
        [p.detach().clone() for p in parameters],
        [p.grad for p in parameters],
        get_rng_state(),
    )
    for p in parameters:
        p.grad = None
    try:
        yield
    finally:
        for p, was, grad, version in zip(parameters, numbers, grads, versions):
            p.data.copy_(was)
            p.grad, p._storage.version = grad, version
        set_rng_state(state)


def loss_of(closure: Callable[[], Any]) -> Any:
    """Return the loss as a tensor of one number. Raises TypeError if the function returns anything else."""
    loss = closure()
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        got = (
            f"a tensor of shape {tuple(loss.shape)}"
            if isinstance(loss, Tensor)
            else type(loss).__name__
        )
        raise fail(
            TypeError,
            f"loss_function() must return a tensor of one number, got {got}",
            "It is called without arguments, as an optimizer's closure: lambda: ((w * x - y) ** 2).mean().",
        )
    return loss


def gradient(closure: Callable[[], Any], parameters: list[Any]) -> tuple[float, np.ndarray]:
    """Return loss and gradient at the parameters' present values; `.grad` holds the gradient afterwards."""
    for p in parameters:
        p.grad = None
    loss = loss_of(closure)
    loss.backward()
    parts = [
        np.zeros(p.numel()) if p.grad is None else p.grad.cpu().numpy().ravel().astype(np.float64)
        for p in parameters
    ]
    return float(loss.item()), np.concatenate(parts)


def descend(
    name: str,
    make: Make,
    closure: Callable[[], Any],
    parameters: list[Any],
    start: np.ndarray,
    lr: float,
    steps: int,
) -> Run:
    """Return one optimizer's path of `steps` steps from `start`; it ends early if the loss is not finite any more."""
    put(parameters, start)
    manual_seed(0)  # a loss with random numbers draws the same for all
    optimizer, run = make(parameters, lr), Run(name)

    def recompute() -> Any:
        optimizer.zero_grad()
        loss = loss_of(closure)
        loss.backward()
        return loss

    for step in range(steps + 1):
        loss, grad = gradient(closure, parameters)
        run.points.append(flat(parameters))
        run.losses.append(loss)
        run.gradients.append(grad)
        run.momenta.append(_momentum(optimizer, parameters))
        if step == steps or not np.isfinite(loss):
            break
        optimizer.step(recompute) if isinstance(optimizer, optim.LBFGS) else optimizer.step()
    return run


def bottom(
    closure: Callable[[], Any], parameters: list[Any], start: np.ndarray
) -> np.ndarray | None:
    """Return the lowest point below `start`, found by line searches; None if none is found soon."""
    run = descend("LBFGS", KNOWN["LBFGS"], closure, parameters, start, 1.0, SEARCHES)
    steep = [float(np.linalg.norm(gradient)) for gradient in run.gradients]
    flat = np.isfinite(run.losses[-1]) and steep[-1] <= FLAT * steep[0]
    return run.points[-1] if flat else None


def _momentum(optimizer: Any, parameters: list[Any]) -> np.ndarray | None:
    parts = []
    for p in parameters:
        state = optimizer.state.get(p, {})
        kept = next((state[name] for name in MOMENTA if state.get(name) is not None), None)
        if kept is None:
            return None
        parts.append(kept.detach().cpu().numpy().ravel().astype(np.float64))
    return np.concatenate(parts)


@dataclass(frozen=True)
class Plane:
    """A plane through a point: two perpendicular directions of length 1, their names, and a sentence about them."""

    origin: np.ndarray
    directions: np.ndarray  # (2, numbers)
    names: tuple[str, str]
    words: str

    def place(self, numbers: np.ndarray) -> list[float]:
        """Return the two plane coordinates of a point; its other components are dropped."""
        return [float(c) for c in self.directions @ (numbers - self.origin)]

    def part(self, vector: np.ndarray) -> list[float]:
        return [float(c) for c in self.directions @ vector]

    def point(self, place: list[float]) -> np.ndarray:
        return self.origin + np.asarray(place) @ self.directions


def plane(
    kind: str, parameters: dict[str, Any], start: np.ndarray, grad: np.ndarray, points: np.ndarray
) -> Plane:
    """Return the plane to draw: the two numbers themselves if there are only two; else according to `kind`."""
    if len(start) == 2:
        names = [
            n if p.numel() == 1 else f"{n}[{i}]"
            for n, p in parameters.items()
            for i in range(p.numel())
        ]
        names = [f"parameter {n}" if n[0].isdigit() else n for n in names]
        return Plane(
            np.zeros(2),
            np.eye(2),
            (names[0], names[1]),
            f"The whole loss: it depends on {names[0]} and {names[1]} only.",
        )
    if kind == "path":
        moved = points - start
        first, second = np.linalg.svd(moved, full_matrices=False)[2][:2]
        share = np.linalg.svd(moved, compute_uv=False) ** 2
        part = share[:2].sum() / share.sum() if share.sum() else 1.0
        words = f"Two of {len(start):,} directions, those in which the paths moved most ({part:.0%} of their squared length)."
        return Plane(
            start, np.stack([first, second]), ("along the paths, 1", "along the paths, 2"), words
        )
    first = grad / (np.linalg.norm(grad) or 1.0)
    second = np.random.default_rng(0).standard_normal(len(start))
    second -= first * (first @ second)
    words = f"Two of {len(start):,} directions: the gradient at the start, and one at random at right angles to it."
    return Plane(
        start,
        np.stack([first, second / np.linalg.norm(second)]),
        ("along the gradient", "at random"),
        words,
    )


def surface(
    closure: Callable[[], Any], parameters: list[Any], plane: Plane, xs: np.ndarray, ys: np.ndarray
) -> np.ndarray:
    """Return the loss at each (x, y) of a plane: (len(ys), len(xs)), NaN where it is not finite."""
    from ..autograd import no_grad

    found = np.full((len(ys), len(xs)), np.nan)
    with no_grad():
        for i, y in enumerate(ys):
            for j, x in enumerate(xs):
                put(parameters, plane.point([float(x), float(y)]))
                manual_seed(0)
                found[i, j] = float(loss_of(closure).item())
    return np.where(np.isfinite(found), found, np.nan)
