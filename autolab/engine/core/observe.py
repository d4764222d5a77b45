"""The one hook through which the engine can be watched: recordings, the explorer, the profiler and anomaly mode are all
observers."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# the engine tests `observe.observer is not None` once per op and per node; ~30 ns when nobody watches
observer: Observer | None = None


class Observer:
    """Base class: every event does nothing. Values are raw arrays; `args` and `outputs` of `forward` are Tensors and
    numbers."""

    # whether it remembers where each operation ran, which messages about stale values then say
    looks_for_anomalies = False

    def begin(self, node: Any) -> None:
        """A custom function is about to run, `node` being its node; the ops inside it come before its `forward`
        event."""

    def forward(self, op: Any, args: Any, attrs: Any, outputs: Any, node: Any, inplace: bool = False) -> None:
        """An op ran; `node` is its Node, or None when nothing was recorded."""

    def failed(self, op: Any, args: Any, error: Any, inplace: bool = False) -> None:
        """`op` raised `error` when it was called with `args` (as `forward` has them; for a custom function `op` is its
        node). `op` is a name, and `args` a dict, where a function refused its arguments before any operation ran. The
        error is still on its way, and the event may come again with what is known better; the package itself may catch
        the error, so that the learner never sees it."""

    def backward_begin(self, roots: Any, nodes: Any, wanted: Any, returns: bool) -> None:
        """A backward pass from `roots` is planned: `nodes` is the set of all that get a gradient in it, those of leaves
        included. `wanted` is the set of nodes it was asked for, None for every leaf; `returns` says that their
        gradients are handed back, not accumulated. Roots are (node, output number) pairs."""

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
        """`grad()` hands the gradients of `targets`, (node, output number) pairs, back to its caller: Tensors, or None
        where there is none."""

    # What changes leaves and their gradients between two passes. `over` is False when it begins, and True when it is
    # done or has failed.
    def step(self, optimizer: Any, over: bool) -> None:
        """`optimizer.step()`; a closure, and what PyTorch's own optimizers compute by operations, runs in between."""

    def update(self, optimizer: Any, group: Any, parameter: Any, over: bool) -> None:
        """`optimizer` changes `parameter` in place, by the settings of its parameter group `group`."""

    def zero_grad(self, owner: Any, over: bool) -> None:
        """`zero_grad()` of an optimizer or a module."""

    def grad_set(self, tensor: Any) -> None:
        """`tensor.grad` was assigned or deleted; backward does not come here."""

    def data_set(self, tensor: Any, value: Any) -> None:
        """`tensor.data = value` ran: other memory, the same tensor."""

    # Devices other than the CPU. `device`, `source`, `target` are `torch.device`s; times are seconds on the device's
    # clock.
    def launch(self, device: Any, stream: Any, name: str, start: float, duration: float, nbytes: int) -> None:
        """A kernel was put into stream number `stream`; it begins at `start`, lasts `duration` and moves `nbytes` of
        memory."""

    def transfer(self, source: Any, target: Any, nbytes: int, start: float, duration: float, pinned: bool) -> None:
        """A copy between two devices was started; `pinned` says whether the host's side is page-locked."""

    def allocate(self, device: Any, nbytes: int, allocated: int, reserved: int, address: int, what: Any) -> None:
        """`nbytes` at `address` now belong to an array, `what` = (shape, NumPy dtype); `allocated` and `reserved` are
        the totals after it."""

    def free_memory(self, device: Any, nbytes: int, allocated: int, reserved: int, address: int) -> None:
        """The block at `address` is free again."""

    def out_of_memory(self, device: Any, nbytes: int, allocated: int, reserved: int, total: Any) -> None:
        """`device` has no room for `nbytes`: OutOfMemoryError is raised next. Of its `total` bytes, `allocated` belong
        to arrays."""

    def synchronize(self, device: Any, waited: float, stream: Any = None) -> None:
        """The host waited `waited` seconds for `device` (for one of its streams, when `stream` is a number)."""


class _Several(Observer):
    """Passes every event on to each of `observers`, in order."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self.observers = tuple(observers)


def _fan_out(name: str) -> Callable[..., None]:
    def event(self: _Several, *args: Any, **kwargs: Any) -> None:
        for o in self.observers:
            getattr(o, name)(*args, **kwargs)
    event.__name__ = name
    return event


for _name in [name for name in vars(Observer) if not name.startswith("_")]:
    setattr(_Several, _name, _fan_out(_name))


def add(o: Observer) -> None:
    """Starts sending events to `o`."""
    global observer
    if observer is None:
        observer = o
    else:
        observer = _Several((*(observer.observers if isinstance(observer, _Several) else (observer,)), o))


def remove(o: Observer) -> None:
    """Stops sending events to `o`. Raises ValueError if it was not watching."""
    global observer
    rest = list(observer.observers if isinstance(observer, _Several) else () if observer is None else (observer,))
    rest.remove(o)
    observer = None if not rest else rest[0] if len(rest) == 1 else _Several(rest)


def looks_for_anomalies() -> bool:
    """Whether an observer does; see `Observer`.

    >>> looks_for_anomalies()
    False
    """
    several = observer.observers if isinstance(observer, _Several) else () if observer is None else (observer,)
    return any(o.looks_for_anomalies for o in several)


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
