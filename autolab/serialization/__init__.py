"""Saving to files and loading from them (`torch.save`, `torch.load`, `torch.serialization`).

The files have PyTorch's format: PyTorch's files are read without PyTorch, and PyTorch loads files written here with
`weights_only=True`. Source: https://docs.pytorch.org/docs/2.13/notes/serialization.html
"""

from autolab.serialization.names import (
    add_safe_globals,
    safe_globals,
)
from autolab.serialization.reading import load
from autolab.serialization.writing import save

__all__ = [
    "add_safe_globals",
    "load",
    "safe_globals",
    "save",
]
