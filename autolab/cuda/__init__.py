"""`torch.cuda`: the available GPUs, their memory, streams and timing. Source:
https://docs.pytorch.org/docs/2.13/cuda.html

There are three cases. With a GPU and CuPy, 'cuda' is the GPU. After `simulate()`, 'cuda' is a simulated GPU on any
machine. Otherwise `is_available()` is False and using 'cuda' raises an error, as in PyTorch without CUDA.
"""

from importlib import import_module as _import_module

from ..engine import absent as _absent
from ..engine.devices import device as _devices
from ..engine.devices.device import AcceleratorError, OutOfMemoryError
from ..engine.core.errors import fail as _fail
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
)
from .properties import (
    current_device,
    device,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    is_bf16_supported,
    set_device,
    synchronize,
)
from .random import manual_seed, manual_seed_all
from .simulation import Simulation, clock, is_simulated, perf_counter, simulate
from .streams import (
    Event,
    Stream,
    current_stream,
    stream,
)
from .types import *  # noqa: F403 - FloatTensor and its kin, by dtype


def __getattr__(name):
    if name == "amp":  # loaded on first use
        return _import_module("autolab.cuda.amp")
    raise _absent.error("torch.cuda", name)


__all__ = [name for name in globals() if not name.startswith("_")]
