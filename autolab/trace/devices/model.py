"""What devices did while code ran, as JSON-ready data: like `trace/model.py`, but for memory, copies, queues and time.

Times are seconds since the recording began, on the host's clock: simulated time on a simulated GPU, real time on a real
one. Bytes are bytes. Ids are strings: tensors "t0", copies "c0", kernels "k0", waits "w0", refusals "o0", each in the
order in which they came.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from ..model import Source, _Record


@dataclass(slots=True)
class DeviceInfo(_Record):
    """name: "cpu", "cuda:0". title: "CPU", "Simulated T4". memory: bytes it has, None for the CPU. before: bytes in use
    when the recording began. peak, peak_at: most bytes in use at once, and when."""

    name: str
    title: str
    simulated: bool
    memory: int | None
    before: int = 0
    peak: int = 0
    peak_at: float = 0.0


@dataclass(slots=True)
class Block(_Record):
    """A tensor's memory: `bytes` of data that occupy `taken` bytes on the device (an allocator rounds up). name: the
    variable, "" for a temporary. born, born_step: when and after which step it was allocated; None and -1 if before the
    recording. died, died_step: when and after which step it was freed; None while it exists. source, freed: the lines
    that made and freed it. On the CPU only tensors with a name, and copies, are known. idle: it existed before the
    recording, and no recorded operation used it."""

    _parts = {"source": Source, "freed": Source}
    _tuples = ("shape",)
    id: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int
    taken: int
    born: float | None
    born_step: int
    source: Source | None
    died: float | None = None
    died_step: int | None = None
    freed: Source | None = None
    idle: bool = False


@dataclass(slots=True)
class Copy(_Record):
    """A copy between two devices. stream: the GPU queue that it is in. pinned: whether the host memory is page-locked.
    waited: seconds the host waited for it, None if it did not wait. tensor, made: ids of the original and of the copy,
    "" if not known."""

    _parts = {"source": Source}
    id: str
    origin: str
    target: str
    stream: int
    bytes: int
    queued: float
    start: float
    end: float
    pinned: bool
    call: str
    phase: str
    source: Source | None
    waited: float | None = None
    tensor: str = ""
    made: str = ""


@dataclass(slots=True)
class Kernel(_Record):
    """A kernel in a queue: added to the queue at `queued`, running from `start` to `end`.

    name: the kernel's. op: the operation or node of the graph it works for, "" when not known. ahead: how many kernels
    and copies were before it in the queue. phase: "forward" or "backward". makes: ids of the tensors it writes first.
    measured: whether the times were measured between two points in a real GPU's stream; they then cover a whole
        operation."""

    _parts = {"source": Source}
    _tuples = ("makes",)
    id: str
    name: str
    device: str
    stream: int
    queued: float
    start: float
    end: float
    bytes: int
    phase: str
    call: str
    source: Source | None
    ahead: int = 0
    op: str = ""
    makes: tuple[str, ...] = ()
    measured: bool = False


@dataclass(slots=True)
class Wait(_Record):
    """The host waits for a device or one of its streams. call: the function that waits ("synchronize", "item")."""

    _parts = {"source": Source}
    id: str
    device: str
    stream: int | None
    start: float
    end: float
    call: str
    source: Source | None


@dataclass(slots=True)
class Refusal(_Record):
    """A device had no room for `bytes`; `allocated` and `reserved` bytes of its `memory` were in use."""

    _parts = {"source": Source}
    id: str
    device: str
    bytes: int
    allocated: int
    reserved: int
    memory: int
    time: float
    source: Source | None


@dataclass(slots=True)
class Step(_Record):
    """One step. phase: "copy", "launch", "wait", "allocate", "free" or "out of memory". time: the host's time after it.
    items: ids of the objects that it involves, the main one first."""

    _tuples = ("items",)
    index: int
    phase: str
    time: float
    items: tuple[str, ...]
    text: str


@dataclass(slots=True)
class DeviceTrace(_Record):
    """A recording of devices. memory: for each device the points at which its memory changed, as [time, step, bytes
    allocated, bytes reserved]. end: when the last of them finished. left_out: how many events came after the recording
    was full. why: sentences about events that could not be followed."""

    _parts = {
        "devices": DeviceInfo,
        "tensors": Block,
        "copies": Copy,
        "kernels": Kernel,
        "waits": Wait,
        "refusals": Refusal,
        "steps": Step,
    }
    devices: tuple[DeviceInfo, ...] = ()
    tensors: tuple[Block, ...] = ()
    copies: tuple[Copy, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    waits: tuple[Wait, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    steps: tuple[Step, ...] = ()
    memory: dict[str, list[list[Any]]] = field(default_factory=dict)
    end: float = 0.0
    host_end: float = 0.0
    error: str = ""
    left_out: int = 0
    why: str = ""

    def device(self, name: str) -> DeviceInfo:
        """Return the device with this name. Raises KeyError."""
        return next((d for d in self.devices if d.name == name), None) or _missing(name)

    def tensor(self, name: str) -> Block:
        """Return the tensor with this id. Raises KeyError."""
        return _by_number(self.tensors, name)

    def item(self, name: str) -> Any:
        """Return the item with this id. Raises KeyError."""
        lists: dict[str, Any] = {
            "t": self.tensors,
            "c": self.copies,
            "k": self.kernels,
            "w": self.waits,
            "o": self.refusals,
        }
        return _by_number(lists.get(name[:1], ()), name)

    def alive(self, step: int) -> list[Block]:
        """Return the tensors that exist after a step (-1: before the first), in order of allocation."""
        return [
            t
            for t in self.tensors
            if t.born_step <= step and (t.died_step is None or step < t.died_step)
        ]

    def queue(self, step: int, device: str) -> list[str]:
        """Return the ids of the unfinished kernels and copies in a device's queues after a step, in the order in which
        they will start."""
        if not 0 <= step < len(self.steps):
            return []
        now = self.steps[step].time
        work: list[Kernel | Copy] = [k for k in self.kernels if k.device == device]
        work += [c for c in self.copies if device == queue_of(c)]
        return [w.id for w in sorted(work, key=lambda w: w.start) if w.queued <= now < w.end]

    def in_use(self, step: int, device: str) -> int:
        """Return the bytes allocated on a device after a step."""
        points = self.memory.get(device, [])
        found = bisect_right(points, step, key=lambda point: point[1])
        return points[found - 1][2] if found else self.device(device).before

    @property
    def waited(self) -> float:
        """Return the total seconds that the host waited."""
        return sum(w.end - w.start for w in self.waits) + sum(c.waited or 0.0 for c in self.copies)


def queue_of(copy: Copy) -> str:
    """Return the device whose stream holds a copy."""
    return copy.origin if copy.target == "cpu" else copy.target


def _by_number(records: tuple[Any, ...], name: str) -> Any:
    number = name[1:]
    return (
        records[int(number)] if number.isdigit() and int(number) < len(records) else _missing(name)
    )


def _missing(name: str) -> Any:
    raise KeyError(name)
