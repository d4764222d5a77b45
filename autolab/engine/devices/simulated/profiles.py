"""The GPU models that can be simulated: their memory, their speed, and the cost of a call on the host.

Peak numbers come from the vendors; kernels reach a fraction of them, see `EFFICIENCY`. The host's costs are typical of
a PyTorch program: about 5 µs of Python and driver per launch, 10 µs per copy.

Sources: NVIDIA's data sheets of T4 (https://www.nvidia.com/en-us/data-center/tesla-t4/), A100 80GB PCIe
(https://www.nvidia.com/en-us/data-center/a100/), H200 SXM (https://www.nvidia.com/en-us/data-center/h200/); the laptop
is an RTX 3050 (4 GB).
"""

from __future__ import annotations

from dataclasses import dataclass

GB, GIB, TERA = 10**9, 2**30, 10**12
EFFICIENCY = 0.7
"""The fraction of a peak (bandwidth, FLOP/s) that a good kernel reaches."""


@dataclass(frozen=True)
class Profile:
    """name; memory (bytes); bandwidth of that memory (bytes/s); flops (float32, 1/s); link to the host (bytes/s,
    pinned; pageable memory has half); launch: the cost of a launch on the host (s); kernel: the time of the shortest
    kernel (s); copy: the latency of a copy (s); processors: number of streaming multiprocessors; capability: CUDA's
    (major, minor); link to other GPUs (bytes/s)."""

    name: str
    memory: int
    bandwidth: float
    flops: float
    link: float
    launch: float
    kernel: float
    copy: float
    processors: int
    capability: tuple[int, int]
    peer: float

    def duration(self, nbytes, flops=0) -> float:
        """Return the seconds of a kernel that moves `nbytes` and computes `flops` floating-point operations."""
        work = max(nbytes / self.bandwidth, flops / self.flops) / EFFICIENCY
        return round(max(self.kernel, work), 10)


# name      memory      GB/s          float32        PCIe       launch   kernel  copy    SMs  CC      GPU to GPU
PROFILES = {
    "laptop": Profile(
        "laptop", 4 * GIB, 192 * GB, 9.1 * TERA, 12 * GB, 6.0e-6, 2.5e-6, 12e-6, 20, (8, 6), 6 * GB
    ),
    "T4": Profile(
        "T4", 15 * GIB, 320 * GB, 8.1 * TERA, 12 * GB, 5.0e-6, 2.5e-6, 10e-6, 40, (7, 5), 8 * GB
    ),
    "A100": Profile(
        "A100",
        80 * GIB,
        1935 * GB,
        19.5 * TERA,
        25 * GB,
        5.0e-6,
        2.0e-6,
        10e-6,
        108,
        (8, 0),
        300 * GB,
    ),
    "H200": Profile(
        "H200", 141 * GB, 4800 * GB, 67 * TERA, 55 * GB, 4.0e-6, 2.0e-6, 8e-6, 132, (9, 0), 450 * GB
    ),
}
