"""The one interface to watch the engine: recordings, the explorer, the profiler and anomaly mode are all observers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

observer: Any = None
"""The active observer, or None. The engine reads it once per operation and per node, which takes 30 ns."""


class Observer:
    """Base class of observers: every event does nothing. Values are raw arrays; `args` and `outputs` of `forward` are
    Tensors and numbers. docs/dev/contracts.md has a table of the events; device events are in `devices/events.py`.

    >>> Observer().backward_end(None)
    """

    def begin(self, node: Any) -> None:
        """A custom function with the node `node` is about to run. The operations inside it are reported before its
        `forward`."""

    def forward(
        self, op: Any, args: Any, attrs: Any, outputs: Any, node: Any, inplace: bool = False
    ) -> None:
        """An op ran; `node` is its Node, or None when nothing was recorded."""

    def failed(self, op: Any, args: Any, error: Any, inplace: bool = False) -> None:
        """`op` raised `error` when it was called with `args`. If a function refused its arguments before any operation
        ran, op is its name and `args` a dict. The same error may be reported again with more detail. The package itself
        may catch the error, so the learner may never see it."""

    def backward_begin(self, roots: Any, nodes: Any, wanted: Any, returns: bool) -> None:
        """A backward pass from `roots`, (node, output number) pairs, is planned. `nodes`: all nodes that get a
        gradient. `wanted`: the nodes whose gradients were requested, None for every leaf. `returns`: their gradients
        are returned."""

    def seed(self, node: Any, output_nr: int, grad: Any) -> None:
        """A backward pass starts at output `output_nr` of `node` with the gradient `grad`."""

    def before_node(self, node: Any, grads: Any) -> None:
        """`node` is about to run. `grads` has one entry per output, None if no gradient arrived."""

    def contribution(self, node: Any, slot: int, target: Any, target_nr: int, grad: Any) -> None:
        """`node` sends `grad` along input `slot` to output `target_nr` of the node `target`."""

    def after_node(self, node: Any, grad_inputs: Any) -> None:
        """`node` has run."""

    def accumulate(self, tensor: Any, grad: Any, total: Any) -> None:
        """`grad` arrived at a leaf; its `.grad` is now `total`."""

    def free(self, node: Any) -> None:
        """The saved values of `node` were freed."""

    def backward_end(self, error: Any) -> None:
        """The backward pass is over; `error` is the exception that ended it, or None."""

    def returned(self, targets: Any, grads: Any) -> None:
        """`grad()` returns the gradients of `targets`, (node, output number) pairs, to its caller: Tensors, or None."""

    # Events that change leaves between two passes. `over`: False when the event begins, True when it is done or has
    # failed.
    def step(self, optimizer: Any, over: bool) -> None:
        """`optimizer.step()` begins or ends."""

    def update(self, optimizer: Any, group: Any, parameter: Any, over: bool) -> None:
        """`optimizer` changes `parameter` in place, with the settings of its parameter group `group`."""

    def zero_grad(self, owner: Any, over: bool) -> None:
        """`zero_grad()` of an optimizer or a module begins or ends."""

    def grad_set(self, tensor: Any) -> None:
        """`tensor.grad` was assigned or deleted by the user; a backward pass does not report this event."""


class _ObserverGroup:
    """An observer that passes every event on to each of `observers`, in order."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self.observers = tuple(observers)

    def __getattr__(self, name: str) -> Callable[..., None]:
        def event(*args: Any, **kwargs: Any) -> None:
            for o in self.observers:
                getattr(o, name)(*args, **kwargs)

        return event


_observers: list[Observer] = []


def add(o: Observer) -> None:
    """Start to send events to the observer `o`.

    >>> from autolab.engine.core import observe
    >>> o = Observer()
    >>> add(o), observe.observer is o, remove(o), observe.observer is o
    (None, True, None, False)
    """
    _observers.append(o)
    _choose()


def remove(o: Observer) -> None:
    """Stop sending events to `o`; see `add` for an example. Raise ValueError if it was not observing.

    >>> remove(Observer())
    Traceback (most recent call last):
    ValueError: list.remove(x): x not in list
    """
    _observers.remove(o)
    _choose()


def _choose() -> None:
    global observer
    observer = _ObserverGroup(_observers) if len(_observers) > 1 else next(iter(_observers), None)


@contextmanager
def watching(o: Observer) -> Iterator[Any]:
    """Send events to `o` inside the block: `with watching(o):`.

    >>> class Names(Observer):
    ...     def forward(self, op, args, attrs, outputs, node, inplace=False):
    ...         print(op.name)
    >>> with watching(Names()):
    ...     _ = torch.ones(2) * 3
    mul
    """
    add(o)
    try:
        yield o
    finally:
        remove(o)


@contextmanager
def unwatched() -> Iterator[None]:
    """Send no events inside the block, because code inside it is not one of the learner's steps.

    >>> o = Observer()
    >>> with watching(o), unwatched():
    ...     print(observer)
    None
    """
    global observer
    before, observer = observer, None
    try:
        yield
    finally:
        observer = before
