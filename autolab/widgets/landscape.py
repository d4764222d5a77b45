"""A loss seen from above, and several optimizers on their way down."""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import traitlets as t

from ..engine.core.errors import fail
from ..viz import html, palette
from ..viz.mime import Bundle, instead
from . import assets, descents
from .charts import ticks
from .displayed import Displayed
from .svg import FONT, element, label

SIZE, LEFT, TOP = 420, 62, 28  # px: the square that is drawn into, and the room for its axes
WIDTH, HEIGHT = LEFT + SIZE + 104, TOP + SIZE + 46
BANDS = 12


class NoLoss(ValueError):
    """Raised for a start at which the loss is not finite."""


class LossLandscape(Displayed):
    """Contours of a loss over two directions, and optimizers that race down from one start.

    loss_function: called without arguments, as an optimizer's closure; returns a tensor of one number.
    parameters: autolab leaves that require grad, as a list, as a dict with their names, or
                `model.named_parameters()`; two numbers or more in all. With exactly two, the picture shows the whole
                loss; else see `directions`.
    optimizers: names ("SGD", "momentum", "Nesterov", "Adagrad", "RMSprop", "Adam", "AdamW", "LBFGS"), or name ->
                function of parameters and rate that makes one. A step of LBFGS is one line search, whatever the rate
                is.
    start: coordinates in the picture; by default where the parameters stand. lr: the rate of all. steps: of each.
    directions: of a loss of more than two numbers. "gradient": along the gradient at the start, and one at random;
                "path": the two in which the paths moved most (their principal components).
    resolution: the loss is computed at resolution * resolution places.

    Traits, set from either side: `step` (from 0, the start), `selected` (the optimizer whose arrows are drawn),
        `start`, `lr`,
    `playing`, `interval` (milliseconds). Setting `start` or `lr` needs the kernel, which recomputes everything. The
    parameters, their `.grad` and the random stream are left as they were. `runs` has the computed paths.

    Raises TypeError for parameters that are not leaves and for functions that don't return one number, ValueError for
    unknown optimizers and numbers out of range.

    Example:

        >>> from autolab.widgets import LossLandscape
        >>> w, b = (torch.tensor(v, requires_grad=True) for v in (2.0, -1.0))
        >>> valley = lambda: w * w + 10 * b * b
        >>> race = LossLandscape(valley, {"w": w, "b": b}, optimizers=["SGD", "Adam"], lr=0.05, steps=3)
        >>> [round(loss, 4) for loss in race.runs["SGD"].losses]
        [14.0, 3.24, 2.6244, 2.1258]
    """

    _esm = assets.loader("landscape")
    _script = t.Unicode(assets.module("landscape")).tag(sync=True)
    step = t.Int(0).tag(sync=True)
    selected = t.Unicode("").tag(sync=True)
    start = t.List(t.Float()).tag(sync=True)
    lr = t.Float(0.1).tag(sync=True)
    playing = t.Bool(False).tag(sync=True)
    interval = t.Int(500).tag(sync=True)
    data = t.Dict().tag(sync=True)
    linked = t.Dict().tag(sync=True)  # the explorer: its id, and the last frame of each step
    live = t.Bool(True).tag(sync=True)  # whether a kernel may be there; not on an exported page

    def __init__(
        self, loss_function: Callable[[], Any], parameters: Any, *,
        optimizers: Sequence[str] | Mapping[str, Any] = ("SGD", "momentum", "Adam", "LBFGS"),
        start: Sequence[float] | None = None, lr: float = 0.1, steps: int = 30, directions: str = "gradient",
        resolution: int = 33,
    ):  # fmt: skip
        if not callable(loss_function):
            raise fail(
                TypeError,
                f"loss_function must be callable, got {type(loss_function).__name__}",
                "Give the function, not what it returned: lambda: ((w * x - y) ** 2).mean().",
            )
        if directions not in ("gradient", "path"):
            raise ValueError(f'directions must be "gradient" or "path", got {directions!r}')
        if not isinstance(lr, int | float) or not 0 < lr < float("inf"):
            raise ValueError(f"lr must be a positive number, got {lr!r}")
        for name, value, least in (("steps", steps, 1), ("resolution", resolution, 5)):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
        self._closure, self._steps, self._resolution, self._kind = (
            loss_function,
            steps,
            resolution,
            directions,
        )
        self._parameters = descents.named(
            parameters if isinstance(parameters, Mapping) else _pairs(parameters)
        )
        self._makes = _makers(optimizers)
        with descents.untouched(self._all):
            here = descents.flat(self._all)
            _, grad = descents.gradient(loss_function, self._all)
            self._here, self._slope = here, grad
        self._plane: descents.Plane | None = None
        computed = self._computed(None if start is None else list(start), float(lr))
        super().__init__(**computed, lr=float(lr), selected=next(iter(self._makes)))
        self._explorer: Any = None
        self.observe(self._again, ["start", "lr"])

    @property
    def _all(self) -> list[Any]:
        return list(self._parameters.values())

    @t.validate("lr")
    def _positive(self, proposal: Any) -> float:
        if not 0 < proposal["value"] < float("inf"):
            raise t.TraitError(f"lr must be a positive number, got {proposal['value']}")
        return float(proposal["value"])

    @t.validate("start")
    def _two_finite(self, proposal: Any) -> list[float]:
        if len(proposal["value"]) != 2 or not np.isfinite(proposal["value"]).all():
            raise t.TraitError(f"start must be two finite numbers, got {proposal['value']}")
        return list(proposal["value"])

    @t.validate("step")
    def _step_within(self, proposal: Any) -> int:
        return max(
            0,
            min(
                proposal["value"], len(self.data["frames"]) - 1 if self.data else proposal["value"]
            ),
        )

    @t.validate("selected")
    def _known_run(self, proposal: Any) -> str:
        if proposal["value"] not in self._makes:
            raise t.TraitError(
                f"there is no {proposal['value']!r}; there are {', '.join(self._makes)}"
            )
        return str(proposal["value"])

    def _again(self, change: Any) -> None:
        """Recompute for another start or another learning rate. Reject a start without a finite loss, and say so."""
        try:
            computed = self._computed(list(self.start), self.lr)
        except NoLoss as error:
            with self._unheard():
                self.set_trait(change["name"], change["old"])
            self._tell(self.data, f"Not taken: {error}.")
            raise
        told = (
            "The explorer shows the steps from before, and goes its own way now."
            if self._part()
            else ""
        )
        with self.hold_sync():
            self.playing, self.step = False, 0
            self._tell(computed["data"], told)

    def _tell(self, data: dict[str, Any], words: str) -> None:
        """Send data and a message. The number makes a repeated message count as new."""
        self.data = data | {"told": [words, self.data["told"][1] + 1]}

    @contextmanager
    def _unheard(self) -> Iterator[None]:
        self.unobserve(self._again, ["start", "lr"])
        try:
            yield
        finally:
            self.observe(self._again, ["start", "lr"])

    def _part(self) -> bool:
        """Disconnect from the explorer of the steps, if there is one."""
        if self._explorer is None:
            return False
        self._explorer.unobserve(self._led, "step")
        self.unobserve(self._lead, "step")
        self._explorer, self.linked = None, {}
        return True

    def _computed(self, start: list[float] | None, lr: float) -> dict[str, Any]:
        """Return all paths from a start, and the loss around them."""
        with descents.untouched(self._all):
            begin = (
                self._here
                if start is None or self._plane is None and len(self._here) > 2
                else self._point(start)
            )
            runs = [
                descents.descend(n, make, self._closure, self._all, begin, lr, self._steps)
                for n, make in self._makes.items()
            ]
            if not np.isfinite(runs[0].losses[0]):
                words = (
                    f"the loss at the start is {runs[0].losses[0]:g}: no way leads down from there"
                )
                raise fail(NoLoss, words, "Begin where the loss is a finite number.")
            if self._plane is None:
                points = np.concatenate([np.stack(run.points) for run in runs])
                self._plane = descents.plane(
                    self._kind, self._parameters, self._here, self._slope, points
                )
                if start is not None and len(self._here) > 2:
                    return self._computed(start, lr)
            self.runs = {run.name: run for run in runs}
            bottom = descents.bottom(self._closure, self._all, begin) if len(begin) == 2 else None
            xs, ys = self._window(runs, bottom)
            heights = descents.surface(self._closure, self._all, self._plane, xs, ys)
        here = self._plane.place(begin)
        lines = [self._line(i, run) for i, run in enumerate(runs)]
        picture, box = _picture(xs, ys, heights, self._plane)
        longest = max(len(run.points) for run in runs)
        data = {
            "frames": [0] * longest,
            "runs": lines,
            "picture": picture,
            "box": box,
            "names": list(self._plane.names),
        }
        return {"data": data | {"words": self._plane.words, "told": ["", 0]}, "start": here}

    def _point(self, start: list[float]) -> np.ndarray:
        return (
            np.asarray(start, dtype=np.float64) if self._plane is None else self._plane.point(start)
        )

    def _window(
        self, runs: list[descents.Run], bottom: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the range of the picture: the lowest point and all paths, except parts of a path where the loss
        exceeds four times its initial value."""
        assert self._plane is not None
        high = max(4 * abs(runs[0].losses[0]), 1e-12)
        seen = [
            self._plane.place(p)
            for run in runs
            for p, loss in zip(run.points, run.losses)
            if np.isfinite(loss) and loss <= high
        ]
        seen += [] if bottom is None else [self._plane.place(bottom)]
        low, top = np.min(seen, axis=0), np.max(seen, axis=0)
        half = np.maximum(
            (top - low) * 0.65,
            max(float((top - low).max()) * 0.25, 1e-3 * (1 + float(np.abs(top).max()))),
        )
        middle = (low + top) / 2
        return tuple(np.linspace(m - h, m + h, self._resolution) for m, h in zip(middle, half))  # type: ignore[return-value]

    def _line(self, number: int, run: descents.Run) -> dict[str, Any]:
        assert self._plane is not None
        color, dash = palette.LINES[number % len(palette.LINES)]
        return {
            "name": run.name,
            "color": color,
            "dash": _DASHES[number % len(_DASHES)],
            "points": [self._plane.place(p) for p in run.points],
            "losses": [loss if np.isfinite(loss) else str(loss) for loss in run.losses],
            "gradients": [
                self._plane.part(g) if np.isfinite(g).all() else None for g in run.gradients
            ],
            "norms": [
                float(np.linalg.norm(g)) if np.isfinite(g).all() else "nan" for g in run.gradients
            ],
            "momenta": [
                None if m is None or not np.isfinite(m).all() else self._plane.part(m)
                for m in run.momenta
            ],
        }

    def explorer(self, optimizer: str | None = None, steps: int = 3) -> Any:
        """Return an Explorer of the first steps of one optimizer; stepping in it moves the landscape to the same step,
        and vice versa. optimizer: by default the first."""
        from ..trace import record
        from .explorer import explore

        name = optimizer or next(iter(self._makes))
        if name not in self._makes:
            raise ValueError(f"there is no optimizer {name!r}; there are {', '.join(self._makes)}")
        if not 1 <= steps <= len(self.runs[name].points) - 1:
            raise ValueError(f"steps must be 1 to {len(self.runs[name].points) - 1}, got {steps}")
        traces = []
        with descents.untouched(self._all):
            for count in range(1, steps + 1):
                descents.put(self._all, self.runs[name].points[0])
                with record() as recording:
                    self._train(name, count)
                traces.append(recording.trace())
        explorer = explore(traces[-1])
        self._part()
        self.selected, self._explorer = name, explorer
        self.linked = {
            "model": explorer.model_id,
            "bounds": [len(trace.frames) - 1 for trace in traces],
        }
        explorer.observe(self._led, "step")
        self.observe(self._lead, "step")
        return explorer

    def _train(self, name: str, count: int) -> None:
        optimizer = self._makes[name](self._all, self.lr)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = self._closure()
            loss.backward()
            return loss

        for _ in range(count):
            optimizer.step(closure)

    def _led(self, change: Any) -> None:
        self.step = bisect.bisect_right(self.linked["bounds"], change["new"])

    def _lead(self, change: Any) -> None:
        bounds = self.linked["bounds"]
        if (
            change["new"] <= len(bounds)
            and bisect.bisect_right(bounds, self._explorer.step) != change["new"]
        ):
            self._explorer.step = 0 if change["new"] == 0 else bounds[change["new"] - 1]

    def export_state(self) -> dict[str, Any]:
        """Return the state for a page without a kernel: it shows the computed paths."""
        return self.get_state() | {"live": False}

    def to_html(self, path: str | os.PathLike[str], title: str = "autolab landscape") -> Path:
        """Write the landscape in its present state to one HTML file that needs no kernel or network; return the
        path."""
        return html.write(path, [self], title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        return instead(
            super()._repr_mimebundle_(**kwargs),
            self,
            "a loss with optimizers on their way down",
            self._still(),
        )

    def _still(self) -> str:
        """Return the picture with all complete paths."""
        paths = [
            element("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (self._pixel(p) for p in run["points"])),
                    fill="none", stroke=run["color"], stroke_width=2.5, stroke_dasharray=run["dash"] or None)
            for run in self.data["runs"]
        ]  # fmt: skip
        names = [
            element(
                "text",
                run["name"],
                x=LEFT + 8,
                y=TOP + 18 + 17 * i,
                font_size=13,
                fill=run["color"],
                font_weight=700,
            )
            for i, run in enumerate(self.data["runs"])
        ]
        frame = element(
            "svg",
            *paths,
            x=LEFT,
            y=TOP,
            width=SIZE,
            height=SIZE,
            viewBox=f"{LEFT} {TOP} {SIZE} {SIZE}",
        )
        return str(self.data["picture"]).replace("</svg>", frame + "".join(names) + "</svg>")

    def _pixel(self, place: Sequence[float]) -> tuple[float, float]:
        x0, x1, y0, y1 = self.data["box"]
        clip = lambda part: max(-9.0, min(9.0, part))
        return LEFT + SIZE * clip((place[0] - x0) / (x1 - x0)), TOP + SIZE * (
            1 - clip((place[1] - y0) / (y1 - y0))
        )

    def __repr__(self) -> str:
        # Without an address, because a stored notebook must print the same on every run.
        ends = ", ".join(f"{run.name} {run.losses[-1]:.3g}" for run in self.runs.values())
        return f"LossLandscape({len(self.data['frames']) - 1} steps, loss in the end: {ends})"


_DASHES = ("", "7 4", "9 3 2 3", "2 3", "9 3 2 3 2 3", "12 4", "1 2")  # as palette.LINES, for SVG


def _pairs(parameters: Any) -> Any:
    """Return `model.named_parameters()` or other pairs of name and tensor as a dict; tensors alone stay unchanged."""
    listed = list(parameters)
    return (
        dict(listed)
        if listed and all(isinstance(p, tuple) and len(p) == 2 for p in listed)
        else listed
    )


def _makers(optimizers: Sequence[str] | Mapping[str, Any]) -> dict[str, descents.Make]:
    if isinstance(optimizers, str):
        optimizers = [optimizers]
    if not optimizers:
        raise ValueError("optimizers: name one or more")
    if isinstance(optimizers, Mapping):
        return dict(optimizers)
    unknown = [name for name in optimizers if name not in descents.KNOWN]
    if unknown:
        raise fail(
            ValueError,
            f"optimizers: unknown {unknown[0]!r}; there are {', '.join(descents.KNOWN)}",
            'Another one is given as a function: {"mine": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr)}.',
        )
    return {name: descents.KNOWN[name] for name in optimizers}


def _picture(
    xs: np.ndarray, ys: np.ndarray, heights: np.ndarray, plane: descents.Plane
) -> tuple[str, list[float]]:
    """Return contours, axes and the loss scale as SVG, and the shown range [left, right, bottom, top]."""
    from contourpy import contour_generator

    box = [float(xs[0]), float(xs[-1]), float(ys[0]), float(ys[-1])]
    across = lambda x: LEFT + SIZE * (x - box[0]) / (box[1] - box[0])
    up = lambda y: TOP + SIZE * (1 - (y - box[2]) / (box[3] - box[2]))
    finite = heights[np.isfinite(heights)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    levels = [
        low + (high - low) * (k / BANDS) ** 2.5 for k in range(BANDS + 1)
    ]  # levels are closer together in the valley
    contours = contour_generator(xs, ys, np.ma.masked_invalid(heights), fill_type="OuterOffset")
    path = lambda points: "M" + "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)
    parts = [element("rect", width=WIDTH, height=HEIGHT, fill=palette.PAPER)]
    for k in range(BANDS if high > low else 0):
        filled: Any = contours.filled(levels[k], levels[k + 1] + (high - low) * 1e-9)
        polygons, offsets = filled
        d = "".join(
            path(p[a:b]) + "Z" for p, o in zip(polygons, offsets) for a, b in zip(o[:-1], o[1:])
        )
        parts.append(
            element(
                "path",
                d=d,
                fill=_shade(k),
                stroke=palette.DATA,
                stroke_width=0.4,
                fill_rule="evenodd",
            )
        )
    parts.append(
        element("rect", x=LEFT, y=TOP, width=SIZE, height=SIZE, fill="none", stroke=palette.DATA)
    )
    for x in ticks(box[0], box[1], 5):
        parts.append(
            label(
                "al-name", across(x), TOP + SIZE + 16, f"{x:g}", text_anchor="middle", font_size=12
            )
        )
    for y in ticks(box[2], box[3], 5):
        parts.append(
            label("al-name", LEFT - 6, up(y) + 4, f"{y:g}", text_anchor="end", font_size=12)
        )
    parts.append(
        label("al-name", LEFT + SIZE / 2, TOP + SIZE + 36, plane.names[0], text_anchor="middle")
    )
    parts.append(label("al-name", 8, TOP - 11, plane.names[1]))
    parts += _scale(levels)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    words = f"Contours of the loss over {plane.names[0]} and {plane.names[1]}, from {low:.3g} to {high:.3g}"
    return (
        f'{head} role="img" aria-label="{words}" font-family="{FONT}">{"".join(parts)}</svg>',
        box,
    )


def _scale(levels: list[float]) -> list[str]:
    """Return the legend: which shade stands for which loss."""
    tall, x = SIZE / (2 * BANDS), LEFT + SIZE + 14
    parts = [label("al-name", x, TOP + 10, "loss")]
    for k in range(BANDS):
        y = TOP + 20 + (BANDS - 1 - k) * tall
        parts.append(
            element(
                "rect",
                x=x,
                y=y,
                width=16,
                height=tall,
                fill=_shade(k),
                stroke=palette.DATA,
                stroke_width=0.4,
            )
        )
        if k % 3 == 0 or k == BANDS - 1:
            value = levels[k] if k < BANDS - 1 else levels[-1]
            parts.append(
                label(
                    "al-name",
                    x + 21,
                    y + (tall if k < BANDS - 1 else 8),
                    f"{value:.3g}",
                    font_size=12,
                )
            )
    return parts


def _shade(band: int) -> str:
    """Return a shade from white (low) to grey (high); the paths' colours are visible on all shades."""
    paper, grey = (bytes.fromhex(color[1:]) for color in (palette.PAPER, palette.DATA))
    part = 0.75 * band / (BANDS - 1)
    return "#" + "".join(f"{int(p + (g - p) * part + 0.5):02x}" for p, g in zip(paper, grey))
