"""`torch.cuda`: the GPUs there are, their memory, streams and times. Source:
https://docs.pytorch.org/docs/2.13/cuda.html

Three kinds of machine: with a GPU and CuPy, 'cuda' is the GPU; after `simulate()`, 'cuda' is a simulated GPU on any
machine; otherwise asking is safe (`is_available()` is False) and using raises, as in PyTorch without CUDA.
"""

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
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
)
from .properties import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .simulation import Simulation, clock, is_simulated, perf_counter, simulate
from .streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from .types import *  # noqa: F403 - FloatTensor and its kin, by dtype

_ABSENT = """CUDAGraph CUDAPluggableAllocator CudaError DeferredCudaCallError ExternalStream GreenContext MemPool amp caching_allocator_alloc
caching_allocator_delete caching_allocator_disabled caching_allocator_enable change_current_allocator check_error clock_rate comm cudaStatus
cudart current_blas_handle current_solver_handle device_memory_used get_allocator_backend get_arch_list get_gencode_flags
get_per_process_memory_fraction get_stream_from_external get_sync_debug_mode graph graph_pool_handle graphs gds has_half has_magma
host_memory_stats host_memory_stats_as_nested_dict ipc_collect is_current_stream_capturing is_tf32_supported jiterator list_gpu_processes
make_graphed_callables max_memory_cached memory_cached memory_snapshot memory_stats_as_nested_dict memory_usage nccl nvtx power_draw profiler
reset_accumulated_host_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached
reset_peak_host_memory_stats set_per_process_memory_fraction set_sync_debug_mode sparse temperature tunable use_mem_pool utilization""".split()
"""What `torch.cuda` has and autolab has not."""


def __getattr__(name):
    if name in _ABSENT:
        note = "PyTorch has it, autolab has not: it concerns the driver, or speed only. docs/differences.md lists what there is."
        raise _fail(AttributeError, f"module 'torch.cuda' has no attribute '{name}'", note)
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


default_generators = ()
"""PyTorch's generators of its GPUs; here every device draws from the one CPU stream."""

__all__ = [name for name in globals() if not name.startswith("_")]
