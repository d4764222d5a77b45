"""The one hook through which the engine can be watched: recordings, the explorer, the profiler and anomaly mode are all
observers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

observer: Any = None
"""Who watches, or None: the engine asks once per op and per node, which takes 30 ns."""


class Observer:
    """Base class: every event does nothing. Values are raw arrays; `args` and `outputs` of `forward` are Tensors and
    numbers. docs/dev/contracts.md has the events in a table; those of devices are in `devices/events.py`.

    >>> Observer().backward_end(None)
    """

    def begin(self, node: Any) -> None:
        """A custom function, its node being `node`, is about to run; the ops inside it come before its `forward`."""

    def forward(
        self, op: Any, args: Any, attrs: Any, outputs: Any, node: Any, inplace: bool = False
    ) -> None:
        """An op ran; `node` is its Node, or None when nothing was recorded."""

    def failed(self, op: Any, args: Any, error: Any, inplace: bool = False) -> None:
        """`op` raised `error` when it was called with `args`; a name and a dict, where a function refused its arguments
        before any operation ran. The event may come again with what is known better, and the package itself may catch
        the error, so that the learner never sees it."""

    def backward_begin(self, roots: Any, nodes: Any, wanted: Any, returns: bool) -> None:
        """A backward pass from `roots`, (node, output number) pairs, is planned. `nodes`: all that get a gradient in
        it. `wanted`: the nodes it was asked for, None for every leaf; `returns`: their gradients are handed back."""

    def seed(self, node: Any, output_nr: int, grad: Any) -> None:
        """A backward pass starts here with `grad`."""

    def before_node(self, node: Any, grads: Any) -> None:
        """`node` is about to run; `grads` has one entry per output, None where nothing arrived."""

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
        """`grad()` hands the gradients of `targets`, (node, output number) pairs, to its caller: Tensors, or None."""

    # What changes leaves between two passes. `over`: False when it begins, True when it is done or has failed.
    def step(self, optimizer: Any, over: bool) -> None:
        """`optimizer.step()`."""

    def update(self, optimizer: Any, group: Any, parameter: Any, over: bool) -> None:
        """`optimizer` changes `parameter` in place, by the settings of its parameter group `group`."""

    def zero_grad(self, owner: Any, over: bool) -> None:
        """`zero_grad()` of an optimizer or a module."""

    def grad_set(self, tensor: Any) -> None:
        """`tensor.grad` was assigned or deleted; backward does not come here."""


class _Several:
    """Passes every event on to each of `observers`, in order."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self.observers = tuple(observers)

    def __getattr__(self, name: str) -> Callable[..., None]:
        def event(*args: Any, **kwargs: Any) -> None:
            for o in self.observers:
                getattr(o, name)(*args, **kwargs)

        return event


_observers: list[Observer] = []


def add(o: Observer) -> None:
    """Starts sending events to `o`.

    >>> from autolab.engine.core import observe
    >>> o = Observer()
    >>> add(o), observe.observer is o, remove(o), observe.observer is o
    (None, True, None, False)
    """
    _observers.append(o)
    _choose()


def remove(o: Observer) -> None:
    """Stops sending events to `o`; see `add` for an example. Raises ValueError if it was not watching.

    >>> remove(Observer())
    Traceback (most recent call last):
    ValueError: list.remove(x): x not in list
    """
    _observers.remove(o)
    _choose()


def _choose() -> None:
    global observer
    observer = _Several(_observers) if len(_observers) > 1 else next(iter(_observers), None)


@contextmanager
def watching(o: Observer) -> Iterator[Any]:
    """`with watching(o):` sends events to `o` inside the block.

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
    """Send no events inside the block: what runs there is not a step of the learner's.

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
