"""Pictures of computations: `make_dot`, `draw` (graphviz), `plot_...` (matplotlib), `html.page` (widgets).

Each is loaded on first use.
"""

from importlib import import_module

_WHERE = {
    "make_dot": "dot",
    "to_dot": "dot",
    "Picture": "dot",
    "draw": "modules",
    "plot_losses": "curves",
    "plot_profile": "profile",
    "plot_filters": "filters",
    "plot_feature_maps": "filters",
    "plot_confusion": "confusion",
    "plot_misclassified": "confusion",
    "plot_weight_histograms": "histograms",
    "plot_gradient_histograms": "histograms",
}

__all__ = [
    "Picture",
    "draw",
    "make_dot",
    "plot_confusion",
    "plot_feature_maps",
    "plot_filters",
    "plot_gradient_histograms",
    "plot_losses",
    "plot_misclassified",
    "plot_profile",
    "plot_weight_histograms",
    "to_dot",
]


def __getattr__(name):
    if name == "html":
        return import_module(f"{__name__}.html")
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
