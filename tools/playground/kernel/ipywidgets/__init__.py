"""Stands for ipywidgets in a page without Jupyter."""

from . import widgets  # noqa: F401

__version__ = "8.1.0"
