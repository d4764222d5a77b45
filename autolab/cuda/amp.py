"""`torch.cuda.amp`: the older names of `torch.amp.autocast("cuda")` and `torch.amp.GradScaler("cuda")`."""

from typing import Any as _Any

import warnings as _warnings

from ..amp import GradScaler as _GradScaler, autocast as _autocast

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    message = f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead."
    _warnings.warn(message, FutureWarning, stacklevel=3)


class GradScaler(_GradScaler):
    """The same as `torch.amp.GradScaler("cuda")`."""

    def __init__(self, *args: _Any, **kwargs: _Any) -> None:
        _warn("GradScaler")
        super().__init__("cuda", *args, **kwargs)


class autocast(_autocast):
    """The same as `torch.amp.autocast("cuda")`."""

    def __init__(
        self, enabled: bool = True, dtype: _Any = None, cache_enabled: bool = True
    ) -> None:
        _warn("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)
