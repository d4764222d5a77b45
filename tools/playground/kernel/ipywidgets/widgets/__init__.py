"""Stands for ipywidgets in a page without Jupyter."""

from . import widget  # noqa: F401
