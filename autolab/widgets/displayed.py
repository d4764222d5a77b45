"""What all widgets have in common: where one is on display, and that kernel and browser let go of it afterwards."""

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
    """A widget that is let go when the cells that displayed it have run again and its last view is gone.

    ipywidgets keeps every widget for as long as the kernel lives, IPython keeps what a cell returned in `Out`, and the
    browser keeps the model of each: a cell run fifty times would leave fifty traces behind. Of a widget that is let go
    only the learner's own names remain; to display it again brings it back as it stood. Where the notebook does not say
    which cell runs, nothing is let go.
    """

    _script = t.Unicode("").tag(sync=True)  # set by each: what `_esm` makes a module of
    _views = t.Int(0).tag(sync=True)  # how many the browser shows (`entry.js`)
    _cells: set[str] | None = None  # where it is on display; None: in no cell that is known

    def __repr__(self) -> str:
        return object.__repr__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if (cell := _running_cell()) is not None:
            self._cells = {*(self._cells or ()), cell}
            _of_cell.setdefault(cell, weakref.WeakSet()).add(self)
        self.open()
        return super()._repr_mimebundle_(**kwargs)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Never without defaults: the browser's side has none, not even of the script."""
        return dict(super().get_state(key))

    def open(self) -> None:
        """Make it known to the browser, when it is not."""
        if self.comm is not None:  # type: ignore[has-type]
            return
        jupyterlite.send_as_json(get_ipython())
        if self.layout.comm is None:
            self.layout.open()
        if (comm := getattr(base, "comm", None)) is not None:
            # ipywidgets would look for bytes in all that is sent, number by number; there are none.
            known = {} if self._model_id is None else {"comm_id": self._model_id}
            data, metadata = (
                {"state": self.get_state(), "buffer_paths": []},
                {"version": base.__protocol_version__},
            )
            self.comm = comm.create_comm(
                target_name="jupyter.widget", data=data, metadata=metadata, **known
            )
        super().open()  # ipywidgets 7 has its own way

    @property
    def model_id(self) -> str:
        """Its id in the browser, to which it is made known."""
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
        ):  # else a learner's, who may use it elsewhere
            self.layout.close()
        _forget(self)


def _running_cell() -> str | None:
    """Return the id of the cell that runs, where there is a notebook and it says so; from now on is heard of cells that
    begin."""
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
    """ipykernel 7 has a thread for the messages of a page's widgets, and ends it without waiting for the last of them,
    as when the page is loaded anew. What asyncio says of these would stand in red under whichever cell ran last."""
    error = record.exc_info[0] if record.exc_info else None
    destroyed = re.search(rf"is pending!\ntask: .* coro=<{_IPYKERNELS}\(\) ", record.getMessage())
    return not destroyed and getattr(error, "__name__", "") != "UnknownSubshellError"


def _cell_begins(info: Any) -> None:
    message = jupyterlite.parent(get_ipython())
    known = message.get("metadata", {}).get("cellId") if message else getattr(info, "cell_id", None)
    cell = known or ""  # IPython of other kernels may have none
    for widget in list(_of_cell.pop(cell, ())):
        widget._run_again(cell)


def _forget(widget: Displayed) -> None:
    """Take a widget out of `Out`, `_` and what else IPython calls results of earlier cells."""
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
            ):  # else the learner has given the name to something
                shell.push({name: ""}, interactive=False)
