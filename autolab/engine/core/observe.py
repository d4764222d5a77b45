"""The one hook through which the engine can be watched: recordings, the explorer, the profiler and anomaly mode are all observers."""
from __future__ import annotations

from contextlib import contextmanager

observer = None  # the engine tests `observe.observer is not None` once per op and per node; ~30 ns when nobody watches


class Observer:
    """Base class: every event does nothing. Values are raw arrays; `args` and `outputs` of `forward` are Tensors and numbers."""

    looks_for_anomalies = False  # whether it remembers where each operation ran, which messages about stale values then say

    def begin(self, node):
        """A custom function is about to run, `node` being its node; the ops inside it come before its `forward` event."""

    def forward(self, op, args, attrs, outputs, node, inplace=False):
        """An op ran; `node` is its Node, or None when nothing was recorded."""

    def failed(self, op, args, error, inplace=False):
        """`op` raised `error` when it was called with `args` (as `forward` has them; for a custom function `op` is its node). `op` is a name,
        and `args` a dict, where a function refused its arguments before any operation ran. The error is still on its way, and the event
        may come again with what is known better; the package itself may catch the error, so that the learner never sees it."""

    def backward_begin(self, roots, nodes, wanted, returns):
        """A backward pass from `roots` is planned: `nodes` is the set of all that get a gradient in it, those of leaves included. `wanted` is
        the set of nodes it was asked for, None for every leaf; `returns` says that their gradients are handed back, not accumulated. Roots are
        (node, output number) pairs."""

    def seed(self, node, output_nr, grad):
        """A backward pass starts here with `grad`."""

    def before_node(self, node, grads):
        """`node` is about to run; `grads` has one entry per output, None where nothing arrived."""

    def contribution(self, node, slot, target, target_nr, grad):
        """`node` sends `grad` along input `slot` to output `target_nr` of the node `target`."""

    def after_node(self, node, grad_inputs):
        """`node` has run."""

    def accumulate(self, tensor, grad, total):
        """`grad` arrived at a leaf; its `.grad` is now `total`."""

    def free(self, node):
        """The saved values of `node` were freed."""

    def backward_end(self, error):
        """The backward pass is over; `error` is the exception that ended it, or None."""

    def returned(self, targets, grads):
        """`grad()` hands the gradients of `targets`, (node, output number) pairs, back to its caller: Tensors, or None where there is none."""

    # What changes leaves and their gradients between two passes. `over` is False when it begins, and True when it is done or has failed.
    def step(self, optimizer, over):
        """`optimizer.step()`; a closure, and what PyTorch's own optimizers compute by operations, runs in between."""

    def update(self, optimizer, group, parameter, over):
        """`optimizer` changes `parameter` in place, by the settings of its parameter group `group`."""

    def zero_grad(self, owner, over):
        """`zero_grad()` of an optimizer or a module."""

    def grad_set(self, tensor):
        """`tensor.grad` was assigned or deleted; backward does not come here."""

    def data_set(self, tensor, value):
        """`tensor.data = value` ran: other memory, the same tensor."""

    # Devices other than the CPU. `device`, `source`, `target` are `torch.device`s; times are seconds on the device's clock.
    def launch(self, device, stream, name, start, duration, nbytes):
        """A kernel was put into stream number `stream`; it begins at `start`, lasts `duration` and moves `nbytes` of memory."""

    def transfer(self, source, target, nbytes, start, duration, pinned):
        """A copy between two devices was started; `pinned` says whether the host's side is page-locked."""

    def allocate(self, device, nbytes, allocated, reserved, address, what):
        """`nbytes` at `address` now belong to an array, `what` = (shape, NumPy dtype); `allocated` and `reserved` are the totals after it."""

    def free_memory(self, device, nbytes, allocated, reserved, address):
        """The block at `address` is free again."""

    def out_of_memory(self, device, nbytes, allocated, reserved, total):
        """`device` has no room for `nbytes`: OutOfMemoryError is raised next. Of its `total` bytes, `allocated` belong to arrays."""

    def synchronize(self, device, waited, stream=None):
        """The host waited `waited` seconds for `device` (for one of its streams, when `stream` is a number)."""


class _Several(Observer):
    """Passes every event on to each of `observers`, in order."""

    def __init__(self, observers):
        self.observers = tuple(observers)


def _fan_out(name):
    def event(self, *args, **kwargs):
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
    """Whether an observer does; see `Observer`."""
    several = observer.observers if isinstance(observer, _Several) else () if observer is None else (observer,)
    return any(o.looks_for_anomalies for o in several)


@contextmanager
def watching(o: Observer):
    """`with watching(o):` sends events to `o` inside the block."""
    add(o)
    try:
        yield o
    finally:
        remove(o)
