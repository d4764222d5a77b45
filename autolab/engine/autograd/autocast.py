"""Automatic mixed precision: inside `autocast`, products compute in a smaller dtype and losses in float32. Source:
https://docs.pytorch.org/docs/2.13/amp.html"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..core import op as operations
from ..core.dtype import dtype as dtype_class, float16, float64
from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.record import OPS
from ..core.tensor import Tensor
from ..devices.device import accelerator, device
from .modes import Mode

IN_FLOAT32 = {
    "cpu": "prod prod_all grid_sampler_2d linalg_cholesky linalg_det linalg_inv linalg_solve linalg_svd",
    "cuda": "acos asin cosh cumprod cumsum exp linalg_vector_norm log log10 log1p log2 native_group_norm "
    "native_layer_norm pow_base pow_scalar pow_tensor prod prod_all reciprocal rsqrt sinh softplus sum sum_all tan "
    "_softmax _log_softmax",
}
"""The operations that compute in float32 on a type of device. Losses compute in float32 on every device; see
`in_float32`."""


class Casting:
    """The settings of the `autocast` blocks around the running code: one dtype for each type of device."""

    def __init__(self, dtypes: dict[str, Any], copies: dict[int, Any]) -> None:
        self.dtypes, self.copies = dtypes, copies

    def lowered(self, *tensors: Any) -> list[Any]:
        """Return the arguments of a matrix product in the dtype of the block. A parameter that is used several times is
        converted only once."""
        return [self._lowered(t) for t in tensors]

    def _lowered(self, t: Any) -> Any:
        wanted = self.dtypes.get(t._storage.device.type) if isinstance(t, Tensor) else None
        if wanted is None or t.dtype in (wanted, float64) or not t.dtype.is_floating_point:
            return t
        if not (t._req and t.is_leaf and per_thread.state.grad):
            return t.to(wanted)
        if id(t) not in self.copies:
            # keep `t` alive, so that no other object gets its id
            self.copies[id(t)] = t, t.to(wanted)
        return self.copies[id(t)][1]

    def widened(self, values: Iterable[Any], types: Iterable[str]) -> list[Any]:
        """Return `values` with float16 tensors converted to float32 if an `autocast` block is active for their type of
        device, which must be among `types`."""
        chosen = self.dtypes.keys() & types
        return [
            t.float()
            if isinstance(t, Tensor) and t.dtype is float16 and t._storage.device.type in chosen
            else t
            for t in values
        ]


def in_float32(
    function: Callable[..., Any], types: Iterable[str] = tuple(IN_FLOAT32)
) -> Callable[..., Any]:
    """Decorate a function so that it computes in float32 inside `autocast`."""

    @functools.wraps(function)
    def widened(*args: Any, **kwargs: Any) -> Any:
        state = per_thread.state
        if (casting := state.autocast) is None:
            return function(*args, **kwargs)
        args = tuple(casting.widened(args, types))
        kwargs = dict(zip(kwargs, casting.widened(kwargs.values(), types)))
        if casting.dtypes.keys().isdisjoint(types):
            return function(*args, **kwargs)
        state.autocast = None  # a product inside the function keeps its dtype
        try:
            return function(*args, **kwargs)
        finally:
            state.autocast = casting

    return widened


@functools.cache
def _prepare(device_type: str) -> None:
    """Let the operations of IN_FLOAT32 check for `autocast` from now on. Programs without `autocast` skip the check."""
    for name in IN_FLOAT32[device_type].split():
        op = OPS[name]
        op.call = in_float32(op.runs or operations.engine.runner(op), (device_type,))


class autocast(Mode):
    """Compute products of float32 tensors on `device_type` in `dtype`, and losses in float32, inside the block or the
    decorated function. Source: torch.autocast.

    Raise NotImplementedError for bfloat16, the default on the CPU, because autolab does not have it: pass
    torch.float16.

    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.float16):
    ...     print((x @ x).dtype, (x + x).dtype)
    torch.float16 torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype_class | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            message = f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
            raise fail(ValueError, message, "Pass device.type: 'cpu' or 'cuda'.")
        self.device = device(device_type).type
        self.fast_dtype = float16 if dtype is None else dtype
        self._cached = cache_enabled is not False
        if enabled and self.device == "cuda" and accelerator() is None:
            message = "CUDA is not available or torch_xla is imported. Disabling autocast."
            warnings.warn(message, stacklevel=2)
            enabled = False
        elif enabled and self.device == "cpu" and dtype is None:
            note = "Pass dtype=torch.float16, or leave autocast out."
            message = (
                "autocast on the CPU computes in bfloat16 by default, which autolab does not have"
            )
            raise fail(NotImplementedError, message, note)
        elif enabled and self.fast_dtype is not float16:
            name = self.device.upper()
            message = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            )
            message += (
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            warnings.warn(message, stacklevel=2)
            enabled = False
        self._enabled = enabled
        if enabled:
            _prepare(self.device)

    def __enter__(self) -> autocast:
        state = per_thread.state
        self._before = before = state.autocast
        dtypes = dict(before.dtypes) if before else {}
        dtypes.pop(self.device, None)
        if self._enabled:
            dtypes[self.device] = self.fast_dtype
        copies = before.copies if before and self._cached else {}
        state.autocast = Casting(dtypes, copies)
        return self

    def __exit__(self, *error: object) -> None:
        per_thread.state.autocast = self._before

    def _clone(self) -> Any:
        return self


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether the code runs inside an `autocast` block for this type of device. Source:
    torch.is_autocast_enabled."""
    casting = per_thread.state.autocast
    return casting is not None and device_type in casting.dtypes
