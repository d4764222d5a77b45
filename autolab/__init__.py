"""autolab: learn automatic differentiation by stepping through your own graph.

`import autolab as torch` runs PyTorch tutorial code: same names, same numbers for the same seed, same errors. What
PyTorch does not have: `explore(loss)` opens the graph explorer, `record()` records what your code does, `explain()`
shows where an error came from.
"""

from __future__ import annotations

import builtins as _builtins
import functools as _functools
import importlib as _importlib
import math as _math
from typing import Any as _Any, TypeGuard as _TypeGuard

from .engine import absent as _absent, documentation as _documentation
from .engine.ops import functions as _functions
from .engine.exact import signatures as _signatures
from .engine.core import dtype as _dtypes
from .engine.autograd.anomaly import is_anomaly_enabled  # noqa: F401
from .engine.autograd.autocast import autocast, is_autocast_enabled  # noqa: F401
from .engine.autograd.modes import enable_grad, inference_mode, is_grad_enabled, no_grad
from .engine.core.grad_mode import set_grad_enabled
from .engine.devices.device import (
    AcceleratorError,
    OutOfMemoryError,
    device,
    get_default_device,
    set_default_device,
)  # noqa: F401
from .engine.core.dtype import dtype, get_default_dtype, set_default_dtype  # noqa: F401
from .engine.exact.dtypes import can_cast, promote_types  # noqa: F401
from .engine.exact.limits import finfo, iinfo  # noqa: F401
from .engine.kernels.threads import available as get_num_threads, use as set_num_threads  # noqa: F401
from .engine.exact.printing import set_printoptions  # noqa: F401
from .engine.exact.random import (  # noqa: F401
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .engine.methods.size import Size  # noqa: F401
from .engine.core.tensor import Tensor  # noqa: F401
from .engine.exact.layout import layout, strided  # noqa: F401

from ._version import __version__  # noqa: E402,F401

try:
    from autolab_kit import warn_of_namesake as _warn_of_namesake
except ImportError:  # the package alone, without what is installed beside it
    pass
else:
    _warn_of_namesake(__path__[0])

bool, float, double, half = _dtypes.bool_, _dtypes.float32, _dtypes.float64, _dtypes.float16
short, int, long = _dtypes.int16, _dtypes.int32, _dtypes.int64
for _d in _dtypes.ALL:
    globals()[_d.name] = _d

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None

promote_types = _signatures.front(promote_types, "f", "promote_types")

_LAZY = {
    "nn": "autolab.nn",
    "optim": "autolab.optim",
    "utils": "autolab.utils",
    "vision": "autolab.vision",
    "finetune": "autolab.finetune",
    "autograd": "autolab.autograd",
    "distributions": "autolab.distributions",
    "functional": "autolab.functional",
    "viz": "autolab.viz",
    "widgets": "autolab.widgets",
    "trace": "autolab.trace",
    "lessons": "autolab.lessons",
    "linalg": "autolab.linalg",
    "random": "autolab.random",
    "cuda": "autolab.cuda",
    "accelerator": "autolab.accelerator",
    "amp": "autolab.amp",
    "return_types": "autolab.engine.ops.return_types",
    "func": "autolab.func",
    "testing": "autolab.testing",
    "serialization": "autolab.serialization",
    "hub": "autolab.hub",
    "backends": "autolab.backends",
    "profiler": "autolab.profiler",
    "specimens": "autolab.specimens",
    "practice": "autolab.practice",
    "progress": "autolab.progress",
    "inventory": "autolab.inventory",
    "room": "autolab.room",
}
globals().update(
    {name: f for name, f in _functions.NAMESPACES[""].items() if name not in _LAZY}
)  # `trace` is a package that can be called
_LAZY_NAMES = {
    "blame": ("autolab.widgets", "blame"),
    "compare": ("autolab.widgets", "compare"),
    "explain": ("autolab.widgets", "explain"),
    "explore": ("autolab.widgets", "explore"),
    "DrawDigit": ("autolab.widgets", "DrawDigit"),
    "record": ("autolab.trace", "record"),
    "record_devices": ("autolab.trace", "record_devices"),
    "save": ("autolab.serialization", "save"),
    "load": ("autolab.serialization", "load"),
    "vmap": ("autolab.func", "vmap"),
    **{
        name: ("autolab.nn.functional.top_level", name) for name in ("cosine_similarity", "dropout")
    },
}


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        module = _importlib.import_module(_LAZY[name])
        globals()[name] = module
        return module
    if name in _LAZY_NAMES:
        home, attribute = _LAZY_NAMES[name]
        globals()[name] = value = getattr(_importlib.import_module(home), attribute)
        return value
    raise _absent.error("torch", name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY, *_LAZY_NAMES])


def is_tensor(obj: object) -> _TypeGuard[Tensor]:
    """Whether `obj` is a Tensor. Source: torch.is_tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> _builtins.bool:
    """Whether the tensor's dtype is floating point. Source: torch.is_floating_point."""
    return input.is_floating_point()


@_functools.partial(_signatures.front, space="f", name="result_type")
def result_type(tensor1: _Any, tensor2: _Any) -> _dtypes.dtype:
    """The dtype that arithmetic on the two would have. Source: torch.result_type."""
    dims = [t.dtype for t in (tensor1, tensor2) if is_tensor(t) and t.ndim]
    zeros = [t.dtype for t in (tensor1, tensor2) if is_tensor(t) and not t.ndim]
    return _dtypes.result_type_of(dims, zeros, [t for t in (tensor1, tensor2) if not is_tensor(t)])


__all__ = [
    name
    for name in sorted({*globals(), *_LAZY_NAMES})
    if not name.startswith("_") and name != "annotations"
]

_documentation.complete(
    {
        "": dict(globals()),
        "Tensor.": _documentation.methods(Tensor),
    }
)
