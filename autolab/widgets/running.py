"""Run an iterable of training records in short slices, so that other users of the thread get a turn in between."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

STATES = ("idle", "running", "paused", "finished", "stopped", "failed")
OVER = ("finished", "stopped", "failed")
SLICE, BREATH, NAP = (
    0.05,
    0.002,
    0.03,
)  # seconds per slice of training, for others after it, and between checks while paused


class Run:
    """One training, and the commands for it: run, pause, step, stop. A command only sets a flag, so any thread may send
    one.

    records : an iterable of records; its iterator is taken at the first step and closed by `stop`.
    take    : called with each record, in the thread that trains.
    changed : called when `state` changed and after every slice.

    An error from `records` ends the run ("failed"); one from `take`, such as a record without numbers, pauses it. Both
    are kept in `error` and raised. A kernel interrupt never ends a record midway, because that would end a generator
    for good: it pauses before the next record and is then raised as KeyboardInterrupt. A second interrupt takes effect
    at once.
    """

    def __init__(
        self, records: Iterable[Any], take: Callable[[Any], None], changed: Callable[[], None]
    ):
        self._source, self._records = records, None
        self._take, self._changed = take, changed
        self.state, self.error = "idle", None
        self.pace, self._taken = (
            0.0,
            0.0,
        )  # records per second at most on the event loop (0: no limit); time of the last one
        self._wanted, self._driving = "pause", False
        self._loop = _loop_here()
        self._task: asyncio.Task[None] | None = None

    _records: Iterator[Any] | None
    error: BaseException | None

    # -- commands ----------------------------------------------------------------------------------------------------
    def ask(self, command: str) -> None:
        """Send the command "run", "pause", "step" or "stop". If nothing drives the run, start a driver.

        Raises RuntimeError if the run is over."""
        self._check()
        self._wanted = command
        if self._driving or (command == "pause" and self.state != "running"):
            return
        if command in ("pause", "stop"):
            self._slice()  # takes no record
        elif self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin)
        elif command == "step":
            self._slice()
        else:
            raise RuntimeError("there is no event loop to train on: call run_blocking()")

    def _check(self) -> None:
        if self.state in OVER:
            raise RuntimeError(
                f"this training is over ({self.state}): make a new one to train again"
            ) from self.error

    def _begin(self) -> None:
        if not self._driving and self.state not in OVER:
            self._task = asyncio.ensure_future(self._in_background())

    # -- drivers -----------------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Train to the end, giving the event loop time in between; while paused, wait.

        Raises what the training raised; KeyboardInterrupt or CancelledError after an interrupt, then paused."""
        if self.state in OVER:
            if self.error is not None:
                raise self.error
            return
        self._wanted = "run"
        if not self._driving:
            await self._drive()
            return
        while self._driving:
            await asyncio.sleep(NAP)
        if self.error is not None:
            raise self.error

    def run_blocking(self) -> None:
        """Train to the end, or to the pause, in this thread. Raises what the training raised."""
        if self._driving:
            raise RuntimeError(
                "this training is running already, on the event loop: await run() waits for it"
            )
        if self.state in OVER:
            if self.error is not None:
                raise self.error
            return
        self._wanted = "run"
        self._driving = True
        try:
            while self._slice() and self.state != "paused":
                pass
        finally:
            self._driving = False

    async def _in_background(self) -> None:
        try:
            await self._drive()
        except KeyboardInterrupt:
            pass  # paused: nothing waits for this task
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)

    async def _drive(self) -> None:
        self._driving, self._loop = True, asyncio.get_running_loop()
        try:
            while self._slice():
                await asyncio.sleep(NAP if self.state == "paused" else BREATH)
                while self._wanted == "run" and (left := self._due() - time.monotonic()) > 0:
                    await asyncio.sleep(min(NAP, left))
        except asyncio.CancelledError:
            self._become("paused")
            raise
        finally:
            self._driving = False

    def _due(self) -> float:
        """Return the time at which the next record may be taken, so that a person can watch."""
        return self._taken + 1 / self.pace if self.pace else 0.0

    def _slice(self) -> bool:
        """Train for 50 ms, or carry out another command; return whether there is more to do."""
        command = self._wanted
        if command == "stop":
            if hasattr(self._records, "close"):
                self._records.close()  # type: ignore[union-attr]
            self._become("stopped")
            return False
        if command == "pause":
            self._become("paused")
            return True
        self._become("running")
        end = time.monotonic() + SLICE
        with _interrupts_counted() as interrupts:
            while True:
                if not self._one():
                    return False
                if interrupts:
                    self._wanted = "pause"
                    self._become("paused")
                    raise KeyboardInterrupt
                if self._wanted != "run" or self.pace or time.monotonic() >= end:
                    break
        if command == "step" and self._wanted == "step":
            self._wanted = "pause"
            self._become("paused")
        self._changed()
        return True

    def _one(self) -> bool:
        try:
            if self._records is None:
                self._records = iter(self._source)
            record = next(self._records)
            self._taken = time.monotonic()
        except StopIteration:
            self._become("finished")
            return False
        except BaseException as error:
            self._fail("failed", error)
            raise
        try:
            self._take(record)
        except BaseException as error:
            self._fail("paused", error)
            raise
        return True

    def _fail(self, state: str, error: BaseException) -> None:
        self.error, self._wanted = error, "pause"
        self._become(state)

    def _become(self, state: str) -> None:
        if state == self.state:
            return
        if state == "running":
            self.error = None
        self.state = state
        self._changed()


def home() -> Callable[[Callable[[], None]], None]:
    """Return a function that runs its argument in this thread: at once, or between two turns of this thread's event
    loop if another thread calls it, as kernels with subshells do for a widget's messages."""
    loop, thread = _loop_here(), threading.get_ident()

    def call(action: Callable[[], None]) -> None:
        if loop is None or loop.is_closed() or threading.get_ident() == thread:
            action()
        else:
            loop.call_soon_threadsafe(action)

    return call


def hears_while_busy() -> bool:
    """Return whether this kernel handles a widget's messages while a cell runs: with subshells, as in ipykernel 7.
    Return True outside of kernels. Source:
    https://github.com/jupyter/enhancement-proposals/blob/master/91-kernel-subshells/kernel-subshells.md"""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython is not None else None
    return kernel is None or bool(getattr(kernel, "_supports_kernel_subshells", False))


def _loop_here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@contextlib.contextmanager
def _interrupts_counted() -> Iterator[list[int]]:
    """Count SIGINT in a list instead of raising it; raise the second one. Only the main thread gets signals."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        if len(noted) > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
