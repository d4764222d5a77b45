"""Shared by all widgets: track where a widget is displayed, and release it in kernel and browser afterwards."""

from __future__ import annotations

import logging
import re
import warnings
import weakref
from typing import Any

import anywidget
import traitlets as t
from IPython import get_ipython
from ipywidgets.widgets import widget as base

from .. import jupyterlite

_of_cell: dict[str, weakref.WeakSet[Displayed]] = {}
"""Id of a cell -> what its latest run has displayed."""


class Displayed(anywidget.AnyWidget):
    """A widget that is released when the cells that displayed it have run again and its last view is gone.

    ipywidgets keeps every widget as long as the kernel runs, IPython keeps a cell's result in `Out`, and the browser
    keeps each widget's model: a cell run fifty times would leave fifty traces behind. A released widget exists only
    under the learner's own names; displaying it again restores it in the same state. If the notebook does not say which
    cell runs, nothing is released.
    """

    _script = t.Unicode("").tag(sync=True)  # set by each widget: `_esm` makes it a module
    _views = t.Int(0).tag(sync=True)  # how many views the browser shows (`entry.js`)
    _cells: set[str] | None = None  # the cells that display it; None: no known cell

    def __repr__(self) -> str:
        return object.__repr__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if (cell := _running_cell()) is not None:
            self._cells = {*(self._cells or ()), cell}
            _of_cell.setdefault(cell, weakref.WeakSet()).add(self)
        self.open()
        return super()._repr_mimebundle_(**kwargs)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state, always with defaults: the browser has none, not even for the script."""
        return dict(super().get_state(key))

    def open(self) -> None:
        """Register it in the browser, if it is not registered."""
        if self.comm is not None:  # type: ignore[has-type]
            return
        jupyterlite.send_as_json(get_ipython())
        if self.layout.comm is None:
            self.layout.open()
        if (comm := getattr(base, "comm", None)) is not None:
            # ipywidgets would search all data for bytes, number by number; there are none.
            known = {} if self._model_id is None else {"comm_id": self._model_id}
            data, metadata = (
                {"state": self.get_state(), "buffer_paths": []},
                {"version": base.__protocol_version__},
            )
            self.comm = comm.create_comm(
                target_name="jupyter.widget", data=data, metadata=metadata, **known
            )
        super().open()  # ipywidgets 7 needs its own way

    @property
    def model_id(self) -> str:
        """Return its id in the browser; this registers it there."""
        self.open()
        return str(super().model_id)

    def _run_again(self, cell: str) -> None:
        self._cells = (self._cells or set()) - {cell}
        self._views_changed(None)

    @t.observe("_views")
    def _views_changed(self, _: Any) -> None:
        if self._cells == set() and self._views <= 0 and self.comm is not None:
            self._let_go()

    def _let_go(self) -> None:
        before = set(vars(self))
        self.close()
        for name in set(vars(self)) - before:  # `close` also takes away its display, for good
            delattr(self, name)
        self._views, self._cells = 0, None
        if not self.layout.get_state(
            drop_defaults=True
        ):  # otherwise the learner's, who may use it elsewhere
            self.layout.close()
        _forget(self)


def _running_cell() -> str | None:
    """Return the id of the running cell, if a notebook provides it; from now on, watch for cells that start."""
    shell = get_ipython()
    message = jupyterlite.parent(shell)
    if message is None and not hasattr(shell, "get_parent"):
        return None
    if _cell_begins not in shell.events.callbacks["pre_run_cell"]:
        shell.events.register("pre_run_cell", _cell_begins)
        logging.getLogger("asyncio").addFilter(_not_of_a_subshell)
        warnings.filterwarnings(
            "ignore", rf"coroutine '{_IPYKERNELS}' was never awaited", RuntimeWarning
        )
    return (message or shell.get_parent()).get("metadata", {}).get("cellId")


_IPYKERNELS = r"(_async_in_context\.<locals>\.run_in_context|Kernel\.\w+)"


def _not_of_a_subshell(record: logging.LogRecord) -> bool:
    """Drop a log record of a closing subshell. ipykernel 7 has a thread for messages from a page's widgets, and ends it
    without waiting for the last ones, for example when the page is reloaded. Otherwise asyncio's report would appear in
    red under the cell that ran last."""
    error = record.exc_info[0] if record.exc_info else None
    destroyed = re.search(rf"is pending!\ntask: .* coro=<{_IPYKERNELS}\(\) ", record.getMessage())
    return not destroyed and getattr(error, "__name__", "") != "UnknownSubshellError"


def _cell_begins(info: Any) -> None:
    message = jupyterlite.parent(get_ipython())
    known = message.get("metadata", {}).get("cellId") if message else getattr(info, "cell_id", None)
    cell = known or ""  # IPython in other kernels may provide none
    for widget in list(_of_cell.pop(cell, ())):
        widget._run_again(cell)


def _forget(widget: Displayed) -> None:
    """Remove a widget from `Out`, `_` and IPython's other names for results of earlier cells."""
    shell = get_ipython()
    history = shell.user_ns.get("_oh", {})
    for number in [n for n, result in history.items() if result is widget]:
        del history[number]
        for names in (shell.user_ns, shell.user_ns_hidden):
            names.pop(f"_{number}", None)
    for name in ("_", "__", "___"):
        if getattr(shell.displayhook, name, None) is widget:
            setattr(shell.displayhook, name, "")
            if (
                shell.user_ns.get(name) is widget
            ):  # otherwise the learner has used the name for something else
                shell.push({name: ""}, interactive=False)
