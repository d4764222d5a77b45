"""The engine: arrays, graph, gradients. Imports nothing of autolab above it.

`core/` is the engine in plain Python: begin to read there. The other rooms add to it: in-place changes and views
(`inplace/`), devices, PyTorch's exact digits and messages (`exact/`), the operations (`ops/`), and `fast/`, which does
the same work as the core in an eighth of the time.
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
    """Return whether the core runs alone, without the faster engine of `engine/fast/`."""
    return _plain


def _switch(to_plain: bool) -> None:
    global _plain
    if to_plain is not _plain:
        from .fast import installation

        installation.remove() if to_plain else installation.install()
        _plain = to_plain


class plain:
    """Run only the plain core, `engine/core/`, with nothing compiled; `plain(False)` turns the fast engine on again.

    The switch takes effect at once, for all threads. As a context manager it lasts for the block. With the environment
    variable `AUTOLAB_ENGINE=plain`, the program starts with the plain core."""

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
