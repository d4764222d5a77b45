"""A pass through a data set with worker processes.

Every worker has a pipe of its own, so that one that dies is noticed and harms no other. A worker fetches its next batch
while the batches of the others are used.
"""

import collections
import multiprocessing
import os
import pickle
import sys
import warnings
import weakref
from typing import Any
from multiprocessing import connection as connections

from autolab.engine.core.errors import fail
from autolab.utils.data import worker
from autolab.utils.data.fetch import Fetching
from autolab.utils.data.sampler import draw_seed


def _start(loader, base_seed):
    """Return (connection, process) of each worker. On Linux they fork, so that the data set may be defined in a
    notebook; elsewhere the system's default has to import it."""
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    crew: list[Any] = []
    forked = context.get_start_method() == "fork"
    for number in range(loader.num_workers):
        ours, theirs = context.Pipe()
        inherited = [ours, *(end for end, _ in crew)] if forked else []
        args = theirs, inherited, Fetching(loader), number, loader.num_workers, base_seed
        process = context.Process(
            target=worker.run, args=(*args, loader.worker_init_fn), daemon=True
        )
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns of a fork beside other threads. The worker uses none of theirs.
                message = ".*multi-threaded.*fork"
                warnings.filterwarnings("ignore", message, DeprecationWarning)
                process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            _end(crew, os.getpid())
            error.add_note(
                "The data set, collate_fn and worker_init_fn are pickled here: define them in a module that can be imported, "
                "or use num_workers=0."
            )
            raise
        theirs.close()
        crew.append((ours, process))
    return crew


def _end(crew, owner):
    if os.getpid() != owner:
        return  # a fork's copy of the crew: the workers are not its children
    for end, _ in crew:
        end.close()
    for _, process in crew:
        process.join(0.2)
        process.kill()
        process.join()


class WorkerPass:
    """One pass through the data set; `restart` begins another with the same workers."""

    def __init__(self, loader):
        # PyTorch makes one that it does not use: samplers that draw at once draw twice
        iter(loader._index_sampler)
        self._crew = _start(loader, draw_seed(loader.generator))
        self._finish = weakref.finalize(self, _end, self._crew, os.getpid())
        self._asked: Any = (
            collections.deque()
        )  # the workers that owe a batch, in the order of the batches
        self.restart(loader)

    def restart(self, loader):
        """Begin again at the start of the data set; drop what was fetched for the pass before."""
        self._indices = iter(loader._index_sampler)
        while self._asked:
            self._answer()
        for member in self._crew:
            member[0].send(None)
        for member in self._crew:
            self._ask(member)

    @property
    def ended(self):
        """Whether the workers are gone, after an error or for good."""
        return not self._finish.alive

    def end(self):
        """End the workers."""
        self._finish()

    def _ask(self, member):
        """Let a worker fetch the next batch, if there is one."""
        for indices in self._indices:
            try:
                member[0].send((indices,))
            except ConnectionError:
                raise self._death(member[1]) from None
            self._asked.append(member)
            return

    def _answer(self):
        """Return the worker whose turn it is and its answer. Raises RuntimeError when one has died."""
        end, process = self._asked.popleft()
        died = [p.sentinel for _, p in self._crew]
        ready = connections.wait([end, *died])
        try:
            if end in ready:
                return (end, process), end.recv()
        except (EOFError, ConnectionError):
            raise self._death(process) from None
        raise self._death(next(p for _, p in self._crew if p.sentinel in ready))

    def _death(self, process):
        message = f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly"
        note = "The process ended without an exception: killed, out of memory, or, where workers do not fork, a data set that "
        note += "they cannot import. num_workers=0 shows what happens."
        return fail(RuntimeError, message, note)

    def __next__(self):
        try:
            while self._asked and not self.ended:
                member, answer = self._answer()
                if isinstance(answer, str) and answer == worker.END:
                    continue
                self._ask(member)
                if isinstance(answer, worker.Failure):
                    raise answer.exception()
                return answer
        except (
            BaseException
        ):  # also Ctrl-C in the middle of a message: the workers are of no more use
            self.end()
            raise
        raise StopIteration
