"""Widgets for notebooks. Each is loaded when first asked for: importing this costs nothing."""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "ConvExplorer": "conv",
    "DeviceExplorer": "devices",
    "DrawDigit": "digit",
    "Explorer": "explorer",
    "FreezePanel": "freeze",
    "Blame": "attribution",
    "blame": "attribution",
    "Comparison": "difference",
    "compare": "difference",
    "LossLandscape": "landscape",
    "TrainingDashboard": "dashboard",
    "explain": "explanation",
    "explore": "explorer",
    "Prediction": "predict",
    "ReceptiveField": "field",
    "Message": "message",
}

__all__ = [
    "Blame",
    "Comparison",
    "ConvExplorer",
    "DeviceExplorer",
    "DrawDigit",
    "Explorer",
    "FreezePanel",
    "LossLandscape",
    "Message",
    "Prediction",
    "ReceptiveField",
    "TrainingDashboard",
    "blame",
    "compare",
    "explain",
    "explore",
]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
