"""`simulate()`: make 'cuda' a simulated GPU, so that code for a GPU runs unchanged on a machine without one.

NumPy computes the numbers; memory, time and errors follow the GPU that the profile describes. Time is *simulated* time:
nothing sleeps, and a program takes the same time on every machine. `perf_counter()` and `torch.cuda.Event` read this
time. Ops on the CPU take simulated time, too (`engine/devices/simulated/host.py`), so that the two can be compared.
"""

from __future__ import annotations

import re

from ..engine.devices import device as _devices
from ..engine.core import observe
from ..engine.core.errors import fail
from ..engine.devices.simulated.clock import Clock
from ..engine.devices.simulated.device import simulation
from ..engine.devices.simulated.host import HostWork
from ..engine.devices.simulated.profiles import PROFILES
from ..engine.devices.device import DeviceLike
from .properties import backend

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
}


class Simulation:
    """A running simulation, returned by `simulate()`: a context manager; `stop()` ends it. `devices` are its
    `torch.device`s, `clock` its host clock (`clock.now` in seconds)."""

    def __init__(self, devices: int, memory: int, profile: str) -> None:
        self.profile, self.memory = PROFILES[profile], memory
        self._backends = simulation("cuda", devices, memory, profile)
        self.devices = tuple(b.device for b in self._backends)
        self.clock = self._backends[0].clock
        self._before, self._index = (
            _devices.register_backends("cuda", self._backends),
            _devices.current_index("cuda"),
        )
        _devices.set_current_index("cuda", 0)
        self._host_work = HostWork(self.clock)
        observe.add(self._host_work)
        self.running = True

    def stop(self) -> None:
        """End the simulation and restore the former meaning of 'cuda'. Tensors on the simulated GPUs still work with
        each other."""
        if not self.running:
            return
        if _devices.backends("cuda") is not self._backends:
            raise fail(
                RuntimeError,
                "a later simulation is still running",
                "Stop simulations in the reverse order of their start.",
            )
        self.running = False
        observe.remove(self._host_work)
        for b in self._backends:
            b.close()
        _devices.register_backends("cuda", self._before)
        _devices.set_current_index("cuda", self._index)

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "" if self.running else ", stopped"
        n = len(self.devices)
        return f"<Simulation: {n} simulated {self.profile.name}{'s' if n > 1 else ''} with {self.memory / (1 << 30):.3g} GiB each{state}>"


def simulate(
    devices: int = 1, memory: int | str | None = "1GiB", profile: str = "T4"
) -> Simulation:
    """Make 'cuda' refer to simulated GPUs until `.stop()` or the end of a `with` block; return the `Simulation`.

    devices: the number of GPUs. memory: of each GPU, in bytes or as text ("1GiB", "512 MB"); None: the real amount of
    such a GPU (the tensors are in the computer's own memory, which limits what can be used). profile: "laptop", "T4",
    "A100" or "H200", see `engine/devices/simulated/profiles.py`. Raise ValueError for an unknown profile, less than one
    device, or an invalid size of memory."""
    if profile not in PROFILES:
        raise fail(
            ValueError,
            f"simulate(): unknown profile {profile!r}, expected one of {', '.join(map(repr, PROFILES))}",
            "The profile says how fast the simulated GPU is.",
        )
    if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
        raise fail(
            ValueError,
            f"simulate(): devices must be a positive int, got {devices!r}",
            "devices=2 gives 'cuda:0' and 'cuda:1'.",
        )
    return Simulation(
        devices, PROFILES[profile].memory if memory is None else _bytes(memory), profile
    )


def _bytes(memory: int | str) -> int:
    size: object = memory
    if isinstance(memory, str):
        parts = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]*)", memory.strip())
        if parts and parts[2].upper() in _UNITS:
            size = int(float(parts[1]) * _UNITS[parts[2].upper()])
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    raise fail(
        ValueError,
        f"simulate(): memory must be a size such as '1GiB' or a number of bytes, got {memory!r}",
        "1GiB is 2**30 bytes.",
    )


def is_simulated(device: DeviceLike = None) -> bool:
    """Return whether a GPU (by default 'cuda') is simulated. Raise AssertionError if there is none."""
    return backend(device).simulated


def clock(device: DeviceLike = None) -> Clock:
    """Return the host's simulated clock: `clock().now` in seconds. Raise AssertionError for a GPU that is not
    simulated."""
    b = backend(device)
    if not b.simulated:
        raise fail(
            RuntimeError,
            f"{b.device} is a real GPU and has no simulated clock",
            "Use time.perf_counter() after synchronize().",
        )
    return b.clock


def perf_counter() -> float:
    """Return the result of `time.perf_counter()` on the computer of the 'cuda' device, in seconds; under `simulate()`,
    it is simulated.

    With a simulated GPU, time advances by a fixed cost per launch and copy, by the waiting in `synchronize()`,
    `.item()`, `.cpu()` and printing, and by the time of ops on CPU tensors. Your own Python code takes no time. With a
    real GPU, or none, it is `time.perf_counter()`."""
    import time

    there = _devices.backends("cuda")
    return there[0].clock.now if there and there[0].simulated else time.perf_counter()
