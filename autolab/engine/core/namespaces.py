"""The `m` of a backward rule: every registered op by its name, on raw arrays or on Tensors.

One rule, two namespaces: with raw kernels a rule computes a gradient; with traced ops it builds the graph of the gradient.
"""
from __future__ import annotations

from ..fast import generated
from .plain import PLAIN


class Namespace:
    """`m.exp(x)`, `m.sum(x, dim, keepdim)`: resolved on first use and kept."""

    def __init__(self, traced, xp=None):
        self.traced, self.xp = traced, xp

    def __getattr__(self, name):
        from .op import OPS
        try:
            op = OPS[name]
        except KeyError:
            raise AttributeError(f"no op named {name!r} is registered") from None
        f = _bind(op, op.call if self.traced else op.forward, () if self.traced else (self.xp,))
        setattr(self, name, f)
        return f


def _bind(op, target, leading):
    """A function with the op's signature that calls `target(*leading, *all arguments in schema order)`."""
    if PLAIN:
        def call(*args, **kwargs):
            return target(*leading, *args, *[kwargs[p] if p in kwargs else op.defaults[p] for p in op.params[len(args):]])

        return call
    shown = [p if p not in op.defaults else f"{p}=_d_{p}" for p in op.params]
    environment = {f"_d_{p}": v for p, v in op.defaults.items()} | {"_target": target} | {f"_l{i}": v for i, v in enumerate(leading)}
    given = ", ".join([*(f"_l{i}" for i in range(len(leading))), *op.params])
    return generated.function(op.name, f"def {op.name}({', '.join(shown)}):\n return _target({given})", environment, f"rules' {op.name}")


TRACED = Namespace(traced=True)
_raw: dict = {}


def raw(xp) -> Namespace:
    """The raw namespace of an array module."""
    found = _raw.get(xp)
    if found is None:
        found = _raw[xp] = Namespace(traced=False, xp=xp)
    return found
