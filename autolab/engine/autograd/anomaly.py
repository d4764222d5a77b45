"""Anomaly mode: remember where each operation ran, and stop at the first NaN that a backward rule produces.

It is an ordinary observer of the engine. Source: torch.autograd.detect_anomaly."""

from __future__ import annotations

import traceback
import warnings

import numpy as np

from ..core import observe
from ..core.errors import fail

_ENABLED = "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."


class _Anomaly(observe.Observer):
    def __init__(self, check_nan):
        self.check_nan = check_nan

    def forward(self, op, args, attrs, outputs, node, inplace=False):
        if node is not None:
            node.metadata["traceback_"] = _user_stack()

    def after_node(self, node, grad_inputs):
        if not self.check_nan:
            return
        for i, g in enumerate(grad_inputs):
            if g is not None and np.isnan(g).any():
                explain(node)
                raise fail(
                    RuntimeError,
                    f"Function '{node.name().rsplit('::', 1)[-1]}' returned nan values in its {i}th output.",
                    "A derivative was 0 times infinity or 0 divided by 0 here; look at the input of this operation.",
                )


def _user_stack():
    return traceback.format_list(
        [
            f
            for f in traceback.extract_stack()
            if "/autolab/engine/" not in f.filename.replace("\\", "/")
        ]
    )


def explain(node):
    """Warn, and show the line of the forward pass that made `node`."""
    where = node.extra().get("metadata", {}).get("traceback_")
    if where is None:
        text = (
            f"Error detected in {node.name()}. No forward pass information available. "
            "Enable detect anomaly during forward pass for more information."
        )
    else:
        text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(where)}"
    warnings.warn(text, UserWarning, stacklevel=2)


_current: _Anomaly | None = None


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on. Source: torch.is_anomaly_enabled."""
    return _current is not None


def _switch(to):
    global _current
    if _current is not None:
        observe.remove(_current)
    _current = to
    if to is not None:
        observe.add(to)


class set_detect_anomaly:
    """Switch anomaly mode on or off at once; as a context manager, only for the block. Source:
    torch.autograd.set_detect_anomaly."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = _current
        _switch(_Anomaly(check_nan) if mode else None)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        _switch(self._before)


class detect_anomaly(set_detect_anomaly):
    """Find the operation whose backward produces a NaN: `with detect_anomaly():`. Source:
    torch.autograd.detect_anomaly."""

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan
        warnings.warn(_ENABLED, UserWarning, stacklevel=2)

    def __enter__(self):
        super().__init__(True, self.check_nan)
