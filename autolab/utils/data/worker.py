"""What runs in a worker process of a DataLoader.

Messages to a worker: (epoch, number of the batch, its indices). Answers: (epoch, number, kind, content), kind one of
"batch", "error" (a Failure) and "end" (an iterable data set is exhausted). A worker ends when its connection is closed.
"""

from __future__ import annotations

import os
import pickle
import queue
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autolab.engine.exact.random import manual_seed

_LOOK_EVERY = 5.0  # seconds: how often an idle worker looks whether its parent still lives


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this is: `id` of `num_workers`, the `seed` of its random streams, its own copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The WorkerInfo of this worker process; None in the main process. Source: torch.utils.data.get_worker_info."""
    return _info


class _KeyErrorText(str):
    """A KeyError shows the repr of its argument, which would put the whole traceback on one line."""

    __repr__ = str.__str__


class Failure:
    """An exception and its traceback, as they travel from a worker to the main process."""

    def __init__(self, error, worker_id):
        self._kind = type(error)
        text = "".join(traceback.format_exception(error))
        self._message = f"Caught {self._kind.__name__} in DataLoader worker process {worker_id}.\nOriginal {text}"

    def without_kind(self):
        """Itself as a RuntimeError, when its own class cannot travel."""
        self._kind = RuntimeError
        return self

    def exception(self):
        """The exception to raise in the main process: of the same class, with the worker's traceback as its message."""
        if issubclass(
            self._kind, StopIteration
        ):  # would end the loop over the loader without a word
            return RuntimeError(self._message)
        try:
            return self._kind(
                _KeyErrorText(self._message) if self._kind is KeyError else self._message
            )
        except Exception:  # a class that cannot be made of a message
            return RuntimeError(self._message)


def _packed(epoch, number, kind, content, worker_id):
    from multiprocessing.reduction import ForkingPickler

    try:
        return bytes(ForkingPickler.dumps((epoch, number, kind, content)))
    except Exception as error:
        failure = content.without_kind() if kind == "error" else Failure(error, worker_id)
    try:
        return pickle.dumps((epoch, number, "error", failure))
    except Exception:
        return pickle.dumps((epoch, number, "error", failure.without_kind()))


class _Sender(threading.Thread):
    """Sends answers while the worker fetches the next batch: a pipe holds less than one."""

    def __init__(self, connection):
        super().__init__(daemon=True)
        self._connection = connection
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.put = self._answers.put

    def run(self):
        try:
            while (answer := self._answers.get()) is not None:
                self._connection.send_bytes(answer)
        except OSError:
            pass  # the main process has closed its end: nobody waits for the answers

    def finish(self):
        """Sends what is left."""
        self.put(None)
        self.join()


def _messages(connection, parent):
    """What the main process asks for, until it closes the connection or is gone."""
    while True:
        try:
            if not connection.poll(_LOOK_EVERY):
                if os.name == "posix" and os.getppid() != parent:
                    return
                continue
            yield connection.recv()
        except (EOFError, OSError):
            return


def _seed(base_seed, worker_id):
    """PyTorch's seeds of the three random streams in this worker. Returns the first."""
    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
    return seed


def run(connection, inherited, fetching, place, base_seed, init):
    """The life of a worker. `inherited`: the main process's ends of pipes that a fork has copied; `place`: (id, of how
    many)."""
    global _info
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the main process, which ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for end in inherited:
        end.close()
    worker_id, num_workers = place
    _info = WorkerInfo(worker_id, num_workers, _seed(base_seed, worker_id), fetching.dataset)
    failure = None
    try:
        if init is not None:
            init(worker_id)
    except Exception as error:
        failure = Failure(error, worker_id)
    sender = _Sender(connection)
    sender.start()
    current = None
    fetch: Callable[[Any], Any] | None = None
    for epoch, number, indices in _messages(connection, os.getppid()):
        try:
            if failure is None and epoch != current:
                current, fetch = epoch, fetching.start()
            kind, content = ("error", failure) if fetch is None else ("batch", fetch(indices))
        except StopIteration as error:
            kind, content = (
                ("end", None) if fetching.iterable else ("error", Failure(error, worker_id))
            )
        except Exception as error:
            kind, content = "error", Failure(error, worker_id)
        sender.put(_packed(epoch, number, kind, content, worker_id))
        del content
    sender.finish()
    sys.stdout.flush()
