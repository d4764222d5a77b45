"""`Storage`: what all views of one memory share; `View`: what one of them remembers."""

from __future__ import annotations

from typing import Any, ClassVar

from .device import CPU, device


class Storage:
    """Version counter and device shared by a tensor and its views.

    version: how often the memory was modified in place. The graph remembers the version it saved and refuses a stale
    value. array: the array that owns the memory, set once a view of it is taken (a 0-d result is a NumPy scalar until
    then).

    >>> x = torch.zeros(3)
    >>> y = x[1:]
    >>> _ = y.add_(1)
    >>> x._storage is y._storage, x._version
    (True, 1)
    """

    # No __init__: two plain stores after object.__new__ cost 75 ns, a call of __init__ 145 ns, and one is made per op.
    __slots__ = ("version", "device", "array", "__weakref__")
    version: int
    device: device
    array: Any


class InferenceStorage(Storage):
    """Memory of a tensor made under `inference_mode`: it must not enter a graph."""

    __slots__ = ()


def new_storage(where: device = CPU, kind: type[Storage] = Storage, version: int = 0, array: Any = None) -> Storage:
    """A storage that nobody shares yet.

    >>> new_storage().version
    0
    """
    storage: Storage = object.__new__(kind)
    storage.version, storage.device, storage.array = version, where, array
    return storage


class View:
    """In the `_view` slot of every tensor that is not plain: what it is a view of, or why the fast lanes must leave it
    alone.

    base: the root tensor whose memory is shared; None for inference tensors and tensors on a device, which only need
    the marker. version: the memory's version for which the view's grad_fn holds. creation: 'default', 'no_grad',
    'multi', 'function' or 'inference'.

    How history follows when the shared memory changes is no affair of the core: `inplace/views.py` adds `refresh`,
    which brings a view's `grad_fn` up to date before anybody looks at it, and the other methods that are only named
    here.

    >>> x = torch.zeros(3)
    >>> x[1:]._view.base is x, x._view
    (True, None)
    """

    __slots__ = ("base", "version", "creation")
    refresh: ClassVar[Any]
    check_inplace: ClassVar[Any]
    rebase: ClassVar[Any]
    is_lost: ClassVar[Any]

    def __init__(self, base: Any, version: int, creation: str) -> None:
        self.base, self.version, self.creation = base, version, creation

    @classmethod
    def of(cls, source: Any, state: Any, multi: bool, op: Any) -> View:
        """The record of a new view of `source`."""
        parent: View | None = source._view
        if parent is not None and source._storage.__class__ is InferenceStorage:
            return parent
        base = source if parent is None or parent.base is None else parent.base
        creation = "inference" if state.inference else "no_grad" if not state.grad else "multi" if multi else "default"
        if creation == "default" and parent is not None:
            creation = parent.creation
        return cls(base, source._storage.version, creation)

    @classmethod
    def inference(cls) -> View:
        """The marker of a tensor made under `inference_mode`."""
        return cls(None, 0, "inference")


AWAY = View(None, 0, "default")
"""The marker of every tensor off the CPU that is no view: what has a `_view` is left to `apply`, so the fast lanes need
not ask for the device."""


def nowhere() -> None:
    """In the place of a view's AccumulateGrad (`_acc`): it requires grad because its base does, and no gradient gets
    from it to the base."""
