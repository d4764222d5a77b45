"""A recording of devices as text, and the sentence of each step."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context
from typing import Any

from .model import Block, Copy, DeviceTrace, Kernel, Refusal, Wait
from ..model import Source
from ..captions.text import _table, shape_text

_ROUND = Context(prec=3, rounding=ROUND_HALF_UP)
_CALLS = {
    "__repr__": "print",
    "__str__": "print",
    "__format__": "print",
    "_repr_mimebundle_": "print",
}


def duration(seconds: float) -> str:
    """Return a duration with a unit and three significant digits: "0 s", "2.5 µs", "1.23 ms", "4 s"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9995:
            return f"{_three(seconds / size)} {unit}"
    return "0 s" if seconds < 5e-10 else f"{_three(seconds * 1e9)} ns"


def size(nbytes: int) -> str:
    """Return a size in binary units with three significant digits: "400 bytes", "19.5 KiB", "1 GiB"."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << power:
            return f"{_three(nbytes / (1 << power))} {unit}"
    return "1 byte" if nbytes == 1 else f"{nbytes} bytes"


def _three(value: float) -> str:
    # Round halves up, as JavaScript does.
    return (
        str(int(value + 0.5))
        if value >= 999.5
        else f"{float(_ROUND.create_decimal_from_float(value)):g}"
    )


def called(call: str) -> str:
    """Return the function in which the host waits, in the learner's notation: "synchronize()", "print()"."""
    return f"{_CALLS.get(call, call.strip('_') if call.startswith('__') else call)}()"


def named(block: Block) -> str:
    """Return the variable's name, or a description of the tensor: "a [10, 2] tensor"."""
    return block.name or f"a {shape_text(block.shape)} tensor"


def sentence(trace: DeviceTrace, index: int) -> str:
    """Return the sentence that describes a step."""
    step = trace.steps[index]
    first = trace.item(step.items[0])
    return _SENTENCES[step.phase](trace, step, first)


def _copy(trace: DeviceTrace, step: Any, c: Copy) -> str:
    known = c.tensor or c.made
    what = named(trace.tensor(known)) if known else "a tensor"
    host = "the host runs on" if c.waited is None else f"the host waits {duration(c.waited)}"
    memory = ", from page-locked memory" if c.pinned else ""
    return f"{what} is copied from {c.origin} to {c.target}: {size(c.bytes)} in {duration(c.end - c.start)}{memory}; {host}"


def _launch(trace: DeviceTrace, step: Any, k: Kernel) -> str:
    work = f"{k.name}{f' (for {k.op})' if k.op and k.op != k.name else ''}"
    makes = f" It makes {', '.join(named(trace.tensor(t)) for t in k.makes)}." if k.makes else ""
    if k.measured:
        return f"{work} takes {duration(k.end - k.start)} on {k.device}.{makes}"
    late = k.start - k.queued
    begins = "begins at once" if late < 5e-10 else f"begins {duration(late)} later"
    before = f", {k.ahead} ahead of it in the queue" if k.ahead else ""
    return f"{work} is launched on {k.device}: it {begins} and takes {duration(k.end - k.start)}{before}.{makes}"


def _wait(trace: DeviceTrace, step: Any, w: Wait) -> str:
    where = w.device if w.stream in (None, 0) else f"stream {w.stream} of {w.device}"
    took = w.end - w.start
    if took <= 0:
        return f"{called(w.call)}: {where} is done already, the host does not wait"
    return f"the host waits {duration(took)} for {where} in {called(w.call)}"


def _allocate(trace: DeviceTrace, step: Any, t: Block) -> str:
    return f"{named(t)} gets {size(t.taken)} on {t.device}"


def _free(trace: DeviceTrace, step: Any, t: Block) -> str:
    blocks = [trace.tensor(i) for i in step.items]
    words = ", ".join(named(b) for b in blocks[:4]) + (
        f" and {len(blocks) - 4} more" if len(blocks) > 4 else ""
    )
    verb = "is" if len(blocks) == 1 else "are"
    return (
        f"{words} {verb} freed: {size(sum(b.taken for b in blocks))} on {t.device}, "
        f"{size(trace.in_use(step.index, t.device))} still in use"
    )


def _refused(trace: DeviceTrace, step: Any, o: Refusal) -> str:
    return f"out of memory on {o.device}: {size(o.bytes)} asked for, {size(o.allocated)} of {size(o.memory)} in use"


_SENTENCES: dict[str, Any] = {
    "copy": _copy,
    "launch": _launch,
    "wait": _wait,
    "allocate": _allocate,
    "free": _free,
    "out of memory": _refused,
}


def render(trace: DeviceTrace, *, steps: bool = True) -> str:
    """Return the recording as text. `steps=False` leaves the steps out."""
    parts = ["Devices", *_table([_device_row(trace, d) for d in trace.devices])]
    sections: list[tuple[str, list[list[str]]]] = [
        ("Tensors", [_tensor_row(t) for t in trace.tensors if t.name]),
        ("Copies", [_copy_row(trace, c) for c in trace.copies]),
        ("Kernels", [_kernel_row(k) for k in trace.kernels]),
        ("The host waits", [_wait_row(w) for w in trace.waits]),
        (
            "Out of memory",
            [
                [o.device, duration(o.time), _refused(trace, None, o), _place(o.source)]
                for o in trace.refusals
            ],
        ),
    ]
    for title, rows in sections:
        if rows:
            parts += ["", title, *_table(rows)]
    if trace.devices:
        work = trace.host_end - trace.waited
        parts += [
            "",
            f"Host: {duration(trace.host_end)}, of which {duration(work)} at work and {duration(trace.waited)} waiting.",
        ]
    if steps and trace.steps:
        parts += [
            "",
            "Steps",
            *_table([[str(s.index), duration(s.time), s.text] for s in trace.steps], right=1),
        ]
    if trace.left_out:
        parts += ["", f"{trace.left_out:,} later events were left out: the recording was full."]
    if trace.why:
        parts += ["", trace.why]
    if trace.error:
        parts += ["", trace.error]
    return "\n".join(parts)


def _device_row(trace: DeviceTrace, d: Any) -> list[str]:
    memory = "" if d.memory is None else f"{size(d.memory)} of memory"
    before = f"{size(d.before)} in use before, " if d.before else ""
    peak = "" if d.memory is None else f"{before}peak {size(d.peak)} at {duration(d.peak_at)}"
    count = sum(t.device == d.name for t in trace.tensors)
    return [
        d.name,
        d.title,
        memory,
        peak or f"{count} {'tensor' if count == 1 else 'tensors'} with a name, or copied",
    ]


def _tensor_row(t: Block) -> list[str]:
    born = "before" if t.born is None else duration(t.born)
    died = "alive" if t.died is None else f"freed at {duration(t.died)}{_at(t.freed)}"
    return [
        t.name,
        f"{t.dtype} {shape_text(t.shape)}",
        t.device,
        size(t.bytes),
        f"{born}{_at(t.source)}",
        died,
    ]


def _copy_row(trace: DeviceTrace, c: Copy) -> list[str]:
    known = c.tensor or c.made
    what = named(trace.tensor(known)) if known else ""
    memory = "pinned" if c.pinned else "pageable"
    host = "host runs on" if c.waited is None else f"host waits {duration(c.waited)}"
    return [
        f"{c.origin} -> {c.target}",
        what,
        size(c.bytes),
        duration(c.start),
        duration(c.end - c.start),
        f"{memory}, {host}",
    ]


def _kernel_row(k: Kernel) -> list[str]:
    times = [
        f"queued {duration(k.queued)}",
        f"starts {duration(k.start)}",
        f"takes {duration(k.end - k.start)}",
    ]
    return [k.name, k.op, f"{k.device} stream {k.stream}", *times, k.phase]


def _wait_row(w: Wait) -> list[str]:
    stream = "" if w.stream is None else f" stream {w.stream}"
    return [
        f"{w.device}{stream}",
        called(w.call),
        duration(w.start),
        duration(w.end - w.start),
        _place(w.source),
    ]


def _place(source: Source | None) -> str:
    return "" if source is None else f"{source.file}:{source.line}"


def _at(source: Source | None) -> str:
    return "" if source is None else f" ({_place(source)})"
