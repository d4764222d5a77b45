"""A pass through a data set with worker processes.

Every worker has a pipe of its own, so that one that dies, even in the middle of a message, is noticed and harms no
other.
"""

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import time
import warnings
import weakref
from multiprocessing import connection as connections
from typing import Any

from autolab.engine.core.errors import fail
from autolab.utils.data import worker
from autolab.utils.data.fetch import Fetching
from autolab.utils.data.sampler import draw_seed

_GRACE = 1.0  # seconds that workers have to finish the batch in hand before they are ended


def _context():
    """Return how processes are started: by fork on Linux, so that the data set may be defined in a notebook.

    Elsewhere the system's default has to import it.
    """
    return multiprocessing.get_context("fork" if sys.platform == "linux" else None)


class _Crew:
    """The processes and the connections to them."""

    def __init__(self, loader, base_seed):
        context, fetching = _context(), Fetching(loader)
        forked = context.get_start_method() == "fork"
        self.connections: list[Any] = []
        self.processes: list[Any] = []
        self._ended = weakref.finalize(self, _end, self.connections, self.processes, os.getpid())
        for number in range(loader.num_workers):
            ours, theirs = context.Pipe()
            self.connections.append(ours)
            process = context.Process(
                target=worker.run,
                args=(
                    theirs,
                    tuple(self.connections) if forked else (),
                    fetching,
                    (number, loader.num_workers),
                    base_seed,
                    loader.worker_init_fn,
                ),
                daemon=True,
            )
            try:
                _start(process)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                self.end()
                error.add_note(
                    f"Start method '{context.get_start_method()}' pickles the data set, collate_fn and worker_init_fn: "
                    "define them in a module that can be imported, or use num_workers=0."
                )
                raise
            self.processes.append(process)
            theirs.close()

    def receive(self, timeout):
        """The next answer and the number of the worker that sent it; None after `timeout` seconds (None: no limit).

        Raises RuntimeError when a worker has died.
        """
        sources = {end: number for number, end in enumerate(self.connections)}
        deaths = {process.sentinel: number for number, process in enumerate(self.processes)}
        ready: list[Any] = connections.wait([*sources, *deaths], timeout)
        for end in ready:
            if end in sources:
                try:
                    return sources[end], end.recv()
                except (EOFError, ConnectionError):
                    raise self._death([sources[end]]) from None
        if dead := [deaths[sentinel] for sentinel in ready]:
            raise self._death(dead)
        return None

    def _death(self, numbers):
        pids = ", ".join(str(self.processes[number].pid) for number in numbers)
        return fail(
            RuntimeError,
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly",
            "The process ended without an exception: killed, out of memory, or, where workers do not fork, a data set that "
            "they cannot import. num_workers=0 shows what happens.",
        )

    def end(self):
        """Ends the workers; harmless when they have ended."""
        self._ended()


@contextlib.contextmanager
def _interrupts_wait():
    """Ctrl-C comes after the block: in the middle of a fork it would be lost, for Python drops exceptions of what runs
    after one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(process):
    with warnings.catch_warnings(), _interrupts_wait():
        # Python 3.12 warns of a fork beside other threads. The worker uses none of theirs: it runs the data set's code,
        # and the engine makes new threads in a new process.
        warnings.filterwarnings(
            "ignore", message=".*multi-threaded.*fork", category=DeprecationWarning
        )
        process.start()


def _end(ends, processes, owner):
    if os.getpid() != owner:
        return  # a fork's copy of the crew: the workers are not its children
    for end in ends:
        end.close()
    deadline = time.monotonic() + _GRACE
    for act in (
        lambda process: None,
        lambda process: process.terminate(),
        lambda process: process.kill(),
    ):
        for process in processes:
            if process.is_alive():
                act(process)
                process.join(max(0.05, deadline - time.monotonic()))
        deadline = time.monotonic() + _GRACE


class WorkerPass:
    """One pass through the data set; `restart` begins another with the same workers."""

    def __init__(self, loader):
        self._timeout, self._many = loader.timeout or None, loader.num_workers
        self._prefetch = loader.prefetch_factor * loader.num_workers
        iter(
            loader._index_sampler
        )  # PyTorch makes one it does not use: samplers that draw at once draw twice
        self._epoch = 0
        self._crew: Any = _Crew(loader, draw_seed(loader.generator))
        self.restart(loader)

    def restart(self, loader):
        """Begin again at the start of the data set; what was fetched for the pass before is dropped."""
        self._indices = iter(loader._index_sampler)
        self._epoch += 1
        self._sent = self._next = 0
        self._tasks, self._batches = {}, {}  # number of a batch: its worker; later the batch
        self._active = [True] * self._many
        self._turns = itertools.cycle(range(self._many))
        try:
            for _ in range(self._prefetch):
                self._send_next()
        except BaseException:
            self.end()
            raise

    @property
    def ended(self):
        """Whether the workers are gone, after an error or for good."""
        return self._crew is None

    def end(self):
        """End the workers."""
        if self._crew is not None:
            self._crew.end()
            self._crew = None

    def _send_next(self):
        """Give the next batch to the next worker in turn that has samples left."""
        if not any(self._active):
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        chosen = next(w for w in self._turns if self._active[w])
        try:
            self._crew.connections[chosen].send((self._epoch, self._sent, indices))
        except ConnectionError:
            raise self._crew._death([chosen]) from None
        self._tasks[self._sent] = chosen
        self._sent += 1

    def __next__(self):
        if self._crew is None:
            raise StopIteration
        try:
            while True:
                number = self._wanted()
                if number is not None:
                    return self._handed_out(number)
                if not self._tasks:
                    break
                self._take(self._answer())
        except (
            BaseException
        ):  # Ctrl-C may come in the middle of a message: the workers are of no more use
            self.end()
            raise
        raise StopIteration

    def _wanted(self):
        """The number of the batch that may be handed out now, or None."""
        while (
            self._next < self._sent
            and self._next not in self._tasks
            and self._next not in self._batches
        ):
            self._next += 1  # handed out, or its worker had no samples left
        return self._next if self._next in self._batches else None

    def _handed_out(self, number):
        content = self._batches.pop(number)
        self._send_next()
        if isinstance(content, worker.Failure):
            raise content.exception()
        return content

    def _answer(self):
        answer = self._crew.receive(self._timeout)
        if answer is None:
            raise fail(
                RuntimeError,
                f"DataLoader timed out after {self._timeout} seconds",
                "A worker took longer than `timeout` for a batch: is it waiting for something?",
            )
        return answer

    def _take(self, answer):
        chosen, (epoch, number, kind, content) = answer
        if epoch != self._epoch:
            return  # of a pass that was left early
        del self._tasks[number]
        if kind != "end":
            self._batches[number] = content
        elif self._active[chosen]:
            self._active[chosen] = False
            self._send_next()
