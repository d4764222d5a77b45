"""`torch.amp`: automatic mixed precision with `autocast` and `GradScaler`. Source:
https://docs.pytorch.org/docs/2.13/amp.html"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from .engine import absent as _absent
from .engine.autograd.autocast import autocast
from .engine.autograd.modes import no_grad
from .engine.core.dtype import float16
from .engine.core.errors import fail
from .engine.core.tensor import Tensor
from .engine.devices.device import accelerator

__all__ = ["GradScaler", "autocast"]

__getattr__ = _absent.getattr_of("torch.amp")


class GradScaler:
    """Scale the loss up, so that small float16 gradients do not become zero, and scale the gradients down again before
    the step. Source: torch.amp.GradScaler.

    If gradients contain inf or NaN, the step is skipped and the factor halved; after `growth_interval` good steps it is
    doubled. Nothing happens unless `enabled`.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda" and accelerator() is None:
            message = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
            warnings.warn(message, stacklevel=2)
            enabled = False
        note = "The scale grows by the first factor and shrinks by the second."
        if enabled and growth_factor <= 1.0:
            raise fail(AssertionError, "The growth factor must be > 1.0.", note)
        if enabled and backoff_factor >= 1.0:
            raise fail(AssertionError, "The backoff factor must be < 1.0.", note)
        self._enabled, self._device, self._used = enabled, device, False
        self._found: dict[Any, float] = {}  # optimizer -> 1.0 if its gradients have an inf or NaN
        self._stepped: set[Any] = set()
        self._state = {
            "scale": float(init_scale),
            "growth_factor": growth_factor,
            "backoff_factor": backoff_factor,
            "growth_interval": growth_interval,
            "_growth_tracker": 0,
        }

    def is_enabled(self) -> bool:
        """Return whether scaling is enabled."""
        return self._enabled

    def get_scale(self) -> float:
        """Return the factor; 1.0 if disabled."""
        return self._state["scale"] if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or a list of tensors, times the factor. Raise ValueError for anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._used = True
            return outputs * outputs.new_tensor(self._state["scale"]).float()
        if isinstance(outputs, Iterable) and not isinstance(outputs, str):
            kind = type(outputs) if isinstance(outputs, (list, tuple)) else list
            return kind(self.scale(t) for t in outputs)
        message = "outputs must be a Tensor or an iterable of Tensors"
        raise fail(ValueError, message, "Pass the loss: scaler.scale(loss).backward().")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the factor, for example before they are clipped.

        Raise RuntimeError if they are already divided, ValueError for float16 gradients."""
        if not self._enabled:
            return
        self._check_used("unscale_")
        if optimizer in self._stepped:
            message = "unscale_() is being called after step()."
            raise fail(RuntimeError, message, "Call unscale_(), then step(), then update().")
        if optimizer in self._found:
            message = (
                "unscale_() has already been called on this optimizer since the last update()."
            )
            raise fail(RuntimeError, message, "Call it once for each step.")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        grads = [g for g in grads if g is not None]
        if any(g.dtype is float16 for g in grads):
            note = "Keep the parameters in float32; autocast converts them for the products."
            raise fail(ValueError, "Attempting to unscale FP16 gradients.", note)
        if not grads:
            message = "No inf checks were recorded for this optimizer."
            note = (
                "None of its parameters has a gradient: call scaler.scale(loss).backward() first."
            )
            raise fail(AssertionError, message, note)
        with no_grad():
            finite = [bool(g.isfinite().all()) for g in grads]
            for g in grads:
                g.mul_(1.0 / self._state["scale"])
        self._found[optimizer] = float(not all(finite))

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Divide the gradients, unless `unscale_` did, and call `optimizer.step()` if all gradients are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            message = "Closure use is not currently supported if GradScaler is enabled."
            raise fail(RuntimeError, message, "Call backward() before step().")
        self._check_used("step")
        if optimizer in self._stepped:
            message = "step() has already been called since the last update()."
            raise fail(RuntimeError, message, "Call scaler.update() after each step.")
        if optimizer not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(optimizer)
        return None if self._found[optimizer] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Update the factor for the next step; set it to `new_scale` if given."""
        if not self._enabled:
            return
        self._check_used("update")
        state = self._state
        if new_scale is not None:
            state["scale"] = float(new_scale)
        elif not self._found:
            message = "No inf checks were recorded prior to update."
            raise fail(AssertionError, message, "Call scaler.step(optimizer) first.")
        elif any(self._found.values()):
            state["scale"] *= state["backoff_factor"]
            state["_growth_tracker"] = 0
        else:
            state["_growth_tracker"] += 1
            if state["_growth_tracker"] == state["growth_interval"]:
                state["scale"] *= state["growth_factor"]
                state["_growth_tracker"] = 0
        self._found, self._stepped = {}, set()

    def state_dict(self) -> dict[str, Any]:
        """Return the factor and the settings; an empty dict if disabled."""
        return dict(self._state) if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`. Raise RuntimeError for an empty dict."""
        if not self._enabled:
            return
        if not state_dict:
            message = "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            raise fail(RuntimeError, message, "Save the state of an enabled GradScaler.")
        self._state = {name: state_dict[name] for name in self._state}

    def _check_used(self, function: str) -> None:
        if not self._used:
            message = f"Attempted {function} but _scale is None.  This may indicate your script did not use "
            message += "scaler.scale(loss or outputs) earlier in the iteration."
            raise fail(AssertionError, message, "Write scaler.scale(loss).backward().")
