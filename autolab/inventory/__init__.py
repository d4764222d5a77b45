"""A concept inventory: twenty programs and the question what their last line gives, before the
course and after it.

    autolab.inventory("before")     # the questions, in a widget; what was answered is kept
    autolab.inventory("after")      # the same ideas in other programs
    autolab.inventory()             # what was gained, idea by idea, when both are handed in
    autolab.inventory.hand_in()     # writes a file for the instructor, with these answers and nothing else

`autolab-kit inventory` does the same in a terminal and makes the table of a class. `items.py` has
the items, `sitting.py` the answers, `gain.py` the gain, `group.py` the class, and `asking.py` the
widget. docs/teaching.md says how to use it.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from .gain import Change, hake, report
from .group import Group, read_group
from .items import FORMS, ITEMS, PASS, Form, Item
from .sitting import SITTINGS, Sitting, hand_in, reset, sitting

__all__ = [
    "Change", "FORMS", "Form", "Group", "ITEMS", "Item", "PASS", "SITTINGS", "Sitting", "hake", "hand_in", "read_group",
    "report", "reset", "sitting",
]  # fmt: skip


class _Package(types.ModuleType):
    """The package `autolab.inventory`, which can also be called to ask the questions and to show
    the result."""

    def __call__(self, when: str | None = None) -> Any:
        """when: "before" or "after" shows the questions of that sitting in a widget; None shows
        what was gained. Raises ValueError for anything else."""
        if when is None:
            return report()
        from .asking import Inventory

        return Inventory(sitting(when))


sys.modules[__name__].__class__ = _Package
