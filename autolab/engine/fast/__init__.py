"""The engine of `core/`, with its questions answered beforehand: functions compiled from the records of operations.

`install()` puts them over the core, in the places that the core has for it, and `remove()` takes them away: lanes
before `apply` (`core/op.py`), what a node saves and does in backward (its class), a way through plain graphs
(`core/differentiate.py`), operators.
"""

from __future__ import annotations


def install() -> None:
    """Puts the fast engine over the core."""
    from . import installation

    installation.install()


def remove() -> None:
    """Takes it away: the core runs alone."""
    from . import installation

    installation.remove()
