"""The engine: arrays, graph, gradients. Imports nothing of autolab above it.

`core/` is the engine in plain Python, and where to begin to read. Everything else here is put over it: what concerns
memory that is changed (`inplace/`), devices, digits and messages (`exact/`), the operations (`ops/`), and at last
`fast/`, which does what the core does in an eighth of the time.
"""

import os

from .core import tensor
from .autograd import modes, nodes  # noqa: F401 (before any function is decorated, or operation registered)
from .devices import device  # noqa: F401 (how devices are named)
from .inplace import changes, detached, views  # noqa: F401
from . import absent, ops  # noqa: F401
from .ops import functions
from .ops.creation import legacy_constructor
from . import methods  # noqa: F401
from .exact import failing, signatures  # noqa: F401

tensor.Tensor.__new__ = staticmethod(legacy_constructor)  # type: ignore[method-assign]
signatures.put_before_methods(tensor.Tensor)
_spaces = {space: functions.NAMESPACES[space] for space in ("linalg", "nn.functional")}
signatures.put_in_front({"f": functions.NAMESPACES[""], "m": functions.METHODS, **_spaces})
functions.attach_methods(tensor.Tensor)
absent.mark_methods(tensor.Tensor)
tensor.refuse_assignment(tensor.Tensor)

_plain = True


def is_plain() -> bool:
    """Return whether the core runs alone, without `engine/fast/`."""
    return _plain


def _switch(to_plain: bool) -> None:
    global _plain
    if to_plain is not _plain:
        from .fast import installation

        installation.remove() if to_plain else installation.install()
        _plain = to_plain


class plain:
    """Lets the engine run as `engine/core/` reads, without anything compiled, or with `plain(False)` fast again.

    At once and for all threads; as a context manager only for the block. The environment variable
    `AUTOLAB_ENGINE=plain` begins so."""

    def __init__(self, mode: bool = True) -> None:
        self._before = _plain
        _switch(bool(mode))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        _switch(self._before)


_chosen = os.environ.get("AUTOLAB_ENGINE", "")
if _chosen not in ("", "fast", "plain"):
    raise ValueError(f"AUTOLAB_ENGINE should be 'fast' or 'plain', but is {_chosen!r}")
_switch(_chosen == "plain")
