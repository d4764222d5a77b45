"""What runs in a worker process of a DataLoader.

Messages to a worker: None where a pass begins, else (the indices of a batch,). The answer to each is the batch, a
Failure, or END where an iterable data set is exhausted. A worker ends when its connection is closed.
"""

from __future__ import annotations

import contextlib
import random
import signal
import traceback
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from autolab.engine.exact.random import manual_seed

END = "the data set of this worker is exhausted"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this is: `id` of `num_workers`, the `seed` of its random streams, its own copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the WorkerInfo of this worker process; None in the main process. Source:
    torch.utils.data.get_worker_info."""
    return _info


class _KeyErrorText(str):
    """A KeyError shows the repr of its argument, which would put the whole traceback on one line."""

    __repr__ = str.__str__


class Failure:
    """An exception and its traceback, as they travel from a worker to the main process."""

    def __init__(self, error):
        self.kind, number = type(error), _info.id if _info else 0
        text = "".join(traceback.format_exception(error))
        self.message = (
            f"Caught {self.kind.__name__} in DataLoader worker process {number}.\nOriginal {text}"
        )

    def exception(self):
        """Return the exception to raise: of the same class, with the worker's traceback as its message."""
        kind = self.kind
        if kind is StopIteration:  # it would end the loop over the loader without a word
            kind = RuntimeError
        try:
            return kind(_KeyErrorText(self.message) if kind is KeyError else self.message)
        except Exception:  # a class that cannot be made of a message
            return RuntimeError(self.message)


def _send(connection, answer):
    try:
        packed = ForkingPickler.dumps(answer)
    except Exception as error:
        failure = answer if isinstance(answer, Failure) else Failure(error)
        failure.kind = RuntimeError  # its own class may be what cannot travel
        packed = ForkingPickler.dumps(failure)
    with contextlib.suppress(OSError):  # the main process has closed its end
        connection.send_bytes(packed)


def _messages(connection):
    with contextlib.suppress(EOFError, OSError):
        while True:
            yield connection.recv()


def _seed(base_seed, number):
    """Give this worker PyTorch's seeds of the three random streams; return the first."""
    random.seed(base_seed + number)
    manual_seed(base_seed + number)
    words = [number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
    return base_seed + number


def run(connection, inherited, fetching, number, many, base_seed, init):
    """Answer messages until the connection is closed. inherited: the main process's ends of pipes, which a fork
    copies."""
    global _info
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process
    for end in inherited:
        end.close()
    _info = WorkerInfo(number, many, _seed(base_seed, number), fetching.dataset)
    fetch, failure = None, None
    try:
        if init is not None:
            init(number)
    except Exception as error:
        failure = Failure(error)
    for message in _messages(connection):
        try:
            if message is None:
                fetch = fetching.start()
                continue
            answer = failure or fetch(*message)  # type: ignore[misc]
        except StopIteration as error:
            answer = END if fetching.iterable else Failure(error)
        except Exception as error:
            answer = Failure(error)
        _send(connection, answer)
