"""The argument `m` of backward rules: all registered operations by name, on raw arrays or on Tensors.

The same rule works with both namespaces. With raw kernels it computes a gradient; with operations on Tensors it builds
the graph of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .record import OPS, Op


class Namespace:
    """The operations by name: `m.exp(x)`, `m.sum(x, dim, keepdim)`. Each is looked up on first use and then cached.

    >>> float(raw(np).exp(np.zeros(())))
    1.0
    """

    def __init__(self, traced: bool, xp: Any = None) -> None:
        self.traced, self.xp = traced, xp

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPS:
            raise AttributeError(f"no op named {name!r} is registered")
        call = self.binding(OPS[name])
        setattr(self, name, call)
        return call

    def binding(self, op: Op) -> Callable[..., Any]:
        """Return a function that takes the arguments of `op` in the order of its schema, and runs it."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if len(args) < len(op.params):
                named = op.defaults | kwargs
                args = (*args, *[named[p] for p in op.params[len(args) :]])
            return op.call(*args) if self.traced else op.forward(self.xp, *args)

        return call


TRACED = Namespace(traced=True)
_raw: dict[Any, Namespace] = {}


def raw(xp: Any) -> Namespace:
    """Return the raw namespace of an array module.

    >>> raw(np) is raw(np)
    True
    """
    if xp not in _raw:
        _raw[xp] = Namespace(traced=False, xp=xp)
    return _raw[xp]


def forget() -> None:
    """Clear the cached functions, because another engine runs the operations now.

    >>> _ = raw(np).exp
    >>> forget(), "exp" in vars(raw(np))
    (None, False)
    """
    for namespace in (TRACED, *_raw.values()):
        for name in set(vars(namespace)) - {"traced", "xp"}:
            delattr(namespace, name)
