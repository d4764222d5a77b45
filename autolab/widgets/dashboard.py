"""The training dashboard: curves of a running training, and controls to pause it and change its learning rate."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import traitlets as t

from ..viz import html
from ..viz.mime import Bundle, instead
from . import assets
from .charts import still
from .displayed import Displayed
from .history import History, digits, read_confusion, read_examples
from .running import STATES, Run, hears_while_busy

PERIOD = 0.1  # seconds between two updates of the browser


class TrainingDashboard(Displayed):
    """Shows a training while it runs; can pause, step and stop it, and change its learning rate during the run.

    training  : an iterable of records, such as a generator that trains one step, or one epoch, for each:
                {"epoch", "step", "train_loss", "val_loss", "train_accuracy", "val_accuracy" (0 to 1), "learning_rate",
                "gradient_norms": {layer: norm}, "examples", "confusion"}; all may be missing or None.
                `autolab.finetune.training(...)` is one.
    optimizer : its optimizer; the control of the learning rate sets `param_groups[i]["lr"]`.
    predict   : a function that returns (images, targets, predictions), predictions classes or scores: called when a
                record brings validation numbers. It runs between two steps: put the network into eval mode in it, and
                back. Twelve images, spread evenly, are shown; all count in the confusion matrix.
    classes   : names of the classes.
    pace      : the most records a second, so that one can watch; 0, the default, is as many as there can be. The viewer
                changes it too.

    It is driven by one of

        await dashboard.run()      # this cell ends when the training does
        dashboard.start()          # in the background: the cell ends at once
        dashboard.run_blocking()   # without an event loop, as in a script, and at full speed

    or by its button "Start",

    and pauses between two records: by its button, `pause()`, or the kernel's interrupt; `resume()`, the button or
    running again goes on. While a cell awaits `run()` the buttons answer in kernels with subshells (ipykernel 7 and
    JupyterLab 4.4 or newer). Elsewhere they are out of use that long, and the dashboard says so: use `start()`, or
    interrupt the kernel.

    Traits: `state` ("idle", "running", "paused", "finished", "stopped", "failed", read only); `learning_rates`, one for
    each parameter group, and `pace`, set from either side. `history.records` has every record. An error in the training
    is shown, and raised by `run()` and `run_blocking()`; `start()` prints it.

    Raises TypeError for a training that cannot be iterated over.
    """

    _esm = assets.loader("dashboard")
    _script = t.Unicode(assets.module("dashboard")).tag(sync=True)
    state = t.Enum(STATES, "idle").tag(sync=True)
    learning_rates = t.List(t.Float()).tag(sync=True)
    pace = t.Float(0.0).tag(sync=True)
    data = t.Dict().tag(sync=True)
    pictures = t.Dict().tag(sync=True)
    error = t.Unicode("").tag(sync=True)
    _reader: int | None  # the thread that is copying the optimizer's rates to `learning_rates`
    live = t.Bool(True).tag(sync=True)
    unheard = t.Bool(False).tag(
        sync=True
    )  # whether the buttons are blocked because a cell awaits the training

    def __init__(
        self,
        training: Iterable[Any],
        optimizer: Any = None,
        *,
        predict: Callable[[], Any] | None = None,
        classes: Sequence[str] | None = None,
        pace: float = 0,
    ):
        if not hasattr(training, "__iter__"):
            hint = ": call it, training(...)" if callable(training) else ""
            raise TypeError(
                f"training must be an iterable of records, got {type(training).__name__}{hint}"
            )
        if predict is not None and not callable(predict):
            raise TypeError(
                f"predict must be a function without arguments, got {type(predict).__name__}"
            )
        if optimizer is not None and not hasattr(optimizer, "param_groups"):
            raise TypeError(
                f"optimizer must be an optimizer of autolab or PyTorch, got {type(optimizer).__name__}"
            )
        self.optimizer, self.predict, self.classes = (
            optimizer,
            predict,
            classes and [str(c) for c in classes],
        )
        self.history = History()
        self._run = Run(training, self._take, self._changed)
        self._sent, self._reader = -math.inf, threading.get_ident()
        super().__init__(learning_rates=self._rates(), data=self.history.to_json(), pace=pace)
        self._reader = None
        self.on_msg(self._on_message)

    # -- driving -----------------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Train to the end on the event loop. After a pause or an interrupt, run again to go on.

        Raises what the training raised, and KeyboardInterrupt when the kernel was interrupted."""
        self.unheard = not hears_while_busy()
        try:
            await self._run.run()
        finally:
            self.unheard = False

    def start(self) -> None:
        """Train in the background, on the event loop of the notebook; returns at once. Same as `resume()`.

        Raises RuntimeError without an event loop, and when the training is over."""
        self._run.ask("run")

    resume = start

    def run_blocking(self) -> None:
        """Train to the end, or to a pause, without an event loop. Raises what the training raised."""
        self._run.run_blocking()

    def pause(self) -> None:
        """Pause before the next record. Raises RuntimeError if the training is over."""
        self._run.ask("pause")

    def step(self) -> None:
        """Take one record, then pause. Raises RuntimeError if the training is over."""
        self._run.ask("step")

    def stop(self) -> None:
        """End the training before the next record, for good. Raises RuntimeError if it is over."""
        self._run.ask("stop")

    @property
    def exception(self) -> BaseException | None:
        """Return the exception that the training raised, or None."""
        return self._run.error

    # -- learning rates ----------------------------------------------------------------------------------------------
    def _rates(self) -> list[float]:
        return (
            []
            if self.optimizer is None
            else [float(group["lr"]) for group in self.optimizer.param_groups]
        )

    @t.validate("learning_rates")
    def _set_rates(self, proposal: Any) -> list[float]:
        rates, now = [float(v) for v in proposal["value"]], self._rates()
        if self._reader == threading.get_ident():
            return rates  # just read from the optimizer, so there is nothing to set there
        if len(rates) != len(now):
            raise t.TraitError(
                "learning_rates cannot be set: no optimizer= was given" if self.optimizer is None else
                f"learning_rates: one for each of {len(now)} parameter groups, got {len(rates)}"
            )  # fmt: skip
        bad = next((v for v in rates if not (math.isfinite(v) and v >= 0)), None)
        if bad is not None:
            raise t.TraitError(f"a learning rate is a number of at least 0, got {bad}")
        for i, (old, new) in enumerate(zip(now, rates)):
            if old != new:
                group = self.optimizer.param_groups[i]
                if hasattr(group["lr"], "fill_"):  # PyTorch allows a tensor here
                    group["lr"].fill_(new)
                else:
                    group["lr"] = new
                which = f" of group {i}" if len(now) > 1 else ""
                self.history.mark(f"learning rate{which} {old:.3g} → {new:.3g}")
        return rates

    @t.validate("pace")
    def _set_pace(self, proposal: Any) -> float:
        if not (math.isfinite(proposal["value"]) and proposal["value"] >= 0):
            raise t.TraitError(
                f"pace: records a second, a number of at least 0 (0: as fast as it can), got {proposal['value']}"
            )
        self._run.pace = float(proposal["value"])
        return self._run.pace

    @t.observe("learning_rates")
    def _rates_changed(self, _: Any) -> None:
        if self.state != "running":  # otherwise the training thread does it soon
            self._update()

    # -- what the run says -------------------------------------------------------------------------------------------
    def _take(self, record: Any) -> None:
        self.history.add(record, self._rates())
        pictures = {**self.pictures, "classes": self.classes}
        if record.get("examples") is not None:
            pictures["examples"], pictures["confusion"] = read_examples(
                record["examples"], self.classes
            )
        if record.get("confusion") is not None:
            pictures["confusion"] = read_confusion(record["confusion"])
        elif self.predict is not None and any(
            record.get(name) is not None for name in ("val_loss", "val_accuracy")
        ):
            pictures["examples"], pictures["confusion"] = read_examples(
                self.predict(), self.classes
            )
        if len(pictures) > 1:
            self.pictures = pictures

    def _changed(self) -> None:
        error = self._run.error
        said = "" if error is None else f"{type(error).__name__}: {error}"
        turned = self.state != self._run.state or self.error != said
        if turned or time.monotonic() - self._sent >= PERIOD:
            self._sent = time.monotonic()
            self._update()
        if turned:
            self.error = said
            self.state = self._run.state  # last: code waiting for it finds everything else updated

    def _update(self) -> None:
        self.data = self.history.to_json()
        # The kernel's message thread may be setting a rate now, which the old value must not overwrite.
        self._reader = threading.get_ident()
        try:
            self.learning_rates = self._rates()
        finally:
            self._reader = None

    def _on_message(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        kind = content.get("kind")
        try:
            if kind in ("run", "pause", "step", "stop"):
                self._run.ask(kind)
        except RuntimeError as error:  # an error in a comm message is not shown below any cell
            self.error = str(error)
        self.send({"kind": "done"})

    # -- shown without a kernel --------------------------------------------------------------------------------------
    def to_html(self, path: str | os.PathLike[str], title: str = "Training") -> Path:
        """Write the curves, numbers and pictures so far to one HTML file that needs no kernel or network; return the
        path."""
        return html.write(path, [self], title=title)

    def export_state(self) -> dict[str, Any]:
        """Return the state for a page without a kernel: everything known so far, without controls of the training."""
        return self.get_state() | {"live": False, "data": self.history.to_json()}

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        # Without times, because a stored notebook must show the same on every run.
        picture = still(self.history.to_json(), repr(self))
        return instead(
            super()._repr_mimebundle_(**kwargs), self, "a training to watch and to steer", picture
        )

    def __repr__(self) -> str:
        count, epochs = len(self.history.records), self.history.epoch_count
        parts = [f"{count} {'record' if count == 1 else 'records'}"]
        if epochs:
            parts.append(f"{epochs} {'epoch' if epochs == 1 else 'epochs'}")
        for name, words in (("val_loss", "validation loss"), ("train_loss", "loss")):
            series = self.history.series.get(name)
            if series is not None:
                parts.append(f"{words} {digits(series.last, 4)}")
                break
        return f"TrainingDashboard({self.state}: {', '.join(parts)})"
