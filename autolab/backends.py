"""`torch.backends`: what this engine was built with, and PyTorch's switches. They can be set and read, so that programs
which set them run; they change nothing here: NumPy and CuPy compute without cuDNN and in one way only. Source:
https://docs.pytorch.org/docs/2.13/backends.html"""

from __future__ import annotations

from typing import Any

from .engine.core.errors import fail

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]


class _Backend:
    """One of PyTorch's backends: `is_available()`, `is_built()` and switches with their defaults. Raises AttributeError
    for other names."""

    def __init__(self, name: str, *, available: bool = False, **switches: object) -> None:
        vars(self).update({"_name": f"torch.backends.{name}", "_available": available, **switches})

    def is_available(self) -> bool:
        return self._available

    is_built = is_available

    def version(self) -> None:
        """Return None, because autolab does not use this library."""

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") or name not in vars(self):
            raise fail(
                AttributeError,
                f"module '{self._name}' has no attribute '{name}'",
                "autolab has no such switch.",
            )
        vars(self)[name] = value

    def __getattr__(self, name: str) -> Any:
        raise fail(
            AttributeError,
            f"module '{self._name}' has no attribute '{name}'",
            "autolab has no such switch.",
        )

    def __repr__(self) -> str:
        return f"<module '{self._name}'>"


cudnn = _Backend(
    "cudnn",
    enabled=True,
    benchmark=False,
    benchmark_limit=None,
    deterministic=False,
    allow_tf32=True,
)
cuda = _Backend("cuda", matmul=_Backend("cuda.matmul", allow_tf32=False))
mps = _Backend("mps")
mkl = _Backend("mkl")
mkldnn = _Backend("mkldnn")
openmp = _Backend("openmp")
