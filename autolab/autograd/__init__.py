"""`torch.autograd`: torch's public names for the engine's autograd. Source:
https://docs.pytorch.org/docs/2.13/autograd.html"""

from importlib import import_module

from . import function, functional, grad_mode, graph  # noqa: F401
from ..engine import absent as _absent
from ..engine.autograd.anomaly import detect_anomaly, set_detect_anomaly  # noqa: F401
from ..engine.core.differentiate import backward, grad  # noqa: F401
from ..engine.autograd.function import Function  # noqa: F401
from ..engine.autograd.modes import enable_grad, inference_mode, no_grad  # noqa: F401
from ..engine.core.grad_mode import set_grad_enabled  # noqa: F401
from ..engine.autograd.gradcheck import gradcheck, gradgradcheck  # noqa: F401
from ..engine.core.tensor import Tensor

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad",
    "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """A tensor that shares memory with `t`: `Variable(t, requires_grad=True)`, as in tutorials from before PyTorch
    0.4."""

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        return data.detach().requires_grad_(requires_grad)


def __getattr__(name):
    if name == "profiler":  # loaded on first use
        return import_module(f"{__name__}.profiler")
    raise _absent.error("torch.autograd", name)
