"""Stands for IPython in a page without Jupyter: no shell runs."""

__version__ = "8.24.0"
version_info = (8, 24, 0)  # Matplotlib reads it


def get_ipython() -> None:
    """Return None, as outside of IPython."""
