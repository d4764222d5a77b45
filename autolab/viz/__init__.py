"""Pictures of computations: `make_dot` (graphviz), `plot_losses` (matplotlib), `html.page` (widgets).

Each is loaded on first use.
"""

from importlib import import_module

_WHERE = {"make_dot": "dot", "to_dot": "dot", "Picture": "dot", "plot_losses": "curves"}

__all__ = ["Picture", "make_dot", "plot_losses", "to_dot"]


def __getattr__(name):
    if name == "html":
        return import_module(f"{__name__}.html")
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
