"""Recordings of devices, compared exactly, because a simulated GPU's clock shows the same times on every run."""

import json
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import autolab as torch
from autolab.engine.core import observe
from autolab.engine.devices.backend import new_canonical
from autolab.trace.devices import recording as recorder
from autolab.trace.devices.model import DeviceTrace
from autolab.trace.devices.text import duration, render, size

LEARNER = """
x = torch.ones(100, 50)
x = x.to("cuda")
w = torch.full((50, 2), 0.5, device="cuda")
y = (x @ w).sum()
torch.cuda.synchronize()
total = y.item()
del y
"""

TEXT = """\
Devices
  cpu     CPU                            1 tensor with a name, or copied
  cuda:0  Simulated T4  1 GiB of memory  peak 22 KiB at 28.3 µs

Tensors
  x  float32 [100, 50]  cpu     19.5 KiB   0 s                     freed at 18.3 µs
  x  float32 [100, 50]  cuda:0  19.5 KiB   0 s (learner.py:3)      alive
  w  float32 [50, 2]    cuda:0  400 bytes  18.3 µs (learner.py:4)  alive
  y  float32 []         cuda:0  4 bytes    28.3 µs (learner.py:5)  freed at 50.8 µs (learner.py:8)

Copies
  cpu -> cuda:0  x  19.5 KiB  5 µs     13.3 µs  pageable, host waits 13.3 µs
  cuda:0 -> cpu     4 bytes   40.8 µs  10 µs    pageable, host waits 10 µs

Kernels
  full                 cuda:0 stream 0  queued 23.3 µs  starts 23.3 µs  takes 2.5 µs  forward
  matmul      mm       cuda:0 stream 0  queued 28.3 µs  starts 28.3 µs  takes 2.5 µs  forward
  add.reduce  sum_all  cuda:0 stream 0  queued 33.3 µs  starts 33.3 µs  takes 2.5 µs  forward

The host waits
  cuda:0  synchronize()  33.3 µs  2.5 µs  learner.py:6

Host: 50.8 µs, of which 25 µs at work and 25.8 µs waiting.

Steps
  0  18.3 µs  x is copied from cpu to cuda:0: 19.5 KiB in 13.3 µs; the host waits 13.3 µs
  1  23.3 µs  full is launched on cuda:0: it begins at once and takes 2.5 µs. It makes w.
  2  28.3 µs  matmul (for mm) is launched on cuda:0: it begins at once and takes 2.5 µs. It makes a [100, 2] tensor.
  3  33.3 µs  add.reduce (for sum_all) is launched on cuda:0: it begins at once and takes 2.5 µs. It makes y.
  4  33.3 µs  a [100, 2] tensor is freed: 1 KiB on cuda:0, 21 KiB still in use
  5  35.8 µs  the host waits 2.5 µs for cuda:0 in synchronize()
  6  50.8 µs  a tensor is copied from cuda:0 to cpu: 4 bytes in 10 µs; the host waits 10 µs
  7  50.8 µs  y is freed: 512 bytes on cuda:0, 20.5 KiB still in use"""


@pytest.fixture
def simulated():
    with torch.cuda.simulate() as simulation:
        yield simulation


def recorded(source, **given):
    """Return the recording of `source`, run as a learner's code (from its second line on)."""
    names = {"torch": torch, **given}
    block = "with torch.record_devices() as recording:\n" + textwrap.indent(
        source.removeprefix("\n"), "    "
    )
    exec(compile(block, "learner.py", "exec"), names)
    return names["recording"]


def steps(recording):
    return [(s.phase, s.text) for s in recording.trace().steps]


def test_the_text_is_the_same_to_the_digit(simulated):
    assert str(recorded(LEARNER)) == TEXT


def test_the_second_run_says_the_same():
    texts = []
    for _ in range(2):
        with torch.cuda.simulate():
            torch.ones(70, device="cuda")  # the clock of the simulation does not have to be at 0
            texts.append(recorded(LEARNER).text())
    assert texts[0] == texts[1]


def test_the_queue_grows_while_the_host_runs_on(simulated):
    trace = recorded("""
a = torch.ones(2000, 2000, device="cuda")
b = a @ a
c = b @ a
d = c + 1
torch.cuda.synchronize()
""").trace()
    assert [(k.op or k.name, k.ahead) for k in trace.kernels] == [
        ("ones", 0),
        ("mm", 1),
        ("mm", 2),
        ("add", 3),
    ]
    first, *others = trace.kernels
    for before, kernel in zip(trace.kernels, others):
        assert kernel.start == pytest.approx(before.end) and kernel.queued < kernel.start
    assert trace.steps[3].text == (
        f"add is launched on cuda:0: it begins {duration(others[-1].start - others[-1].queued)} later and takes "
        f"{duration(others[-1].end - others[-1].start)}, 3 ahead of it in the queue. It makes d."
    )
    assert [trace.queue(i, "cuda:0") for i in range(-1, 5)] == [
        [], ["k0"], ["k0", "k1"], ["k0", "k1", "k2"], ["k0", "k1", "k2", "k3"], []
    ]  # fmt: skip
    assert trace.waits[0].end == pytest.approx(others[-1].end)
    assert trace.host_end == pytest.approx(trace.end)


def test_pinned_memory_lets_the_host_run_on(simulated):
    trace = recorded("""
p = torch.ones(1000, 1000).pin_memory()
q = p.to("cuda", non_blocking=True)
torch.cuda.synchronize()
back = q.cpu()
""").trace()
    there, back = trace.copies
    assert (there.pinned, there.waited, there.bytes) == (True, None, 4_000_000)
    assert (back.pinned, back.origin, back.target) == (
        False,
        "cuda:0",
        "cpu",
    ) and back.waited == pytest.approx(back.end - back.queued)
    assert [trace.tensor(i).name for i in (there.tensor, there.made, back.tensor, back.made)] == [
        "p",
        "q",
        "q",
        "back",
    ]
    assert (there.end - there.start) < (back.end - back.start) / 1.9, (
        "pinned memory is copied twice as fast"
    )
    assert [s.phase for s in trace.steps] == ["copy", "wait", "copy"]
    assert trace.waits[0].call == "synchronize"
    assert trace.steps[0].text.endswith(", from page-locked memory; the host runs on")


def test_memory_over_time_and_what_is_alive(simulated):
    trace = recorded("""
a = torch.ones(1000, device="cuda")
b = torch.ones(2000, device="cuda")
del a
c = torch.ones(500, device="cuda")
""").trace()
    assert [(p[2], s) for p in trace.memory["cuda:0"] for s in [trace.steps[p[1]].phase]] == [
        (4096, "launch"), (4096 + 8192, "launch"), (8192, "free"), (8192 + 2048, "launch")
    ]  # fmt: skip
    assert [trace.in_use(i, "cuda:0") for i in range(-1, 4)] == [0, 4096, 12288, 8192, 10240]
    assert [[t.name for t in trace.alive(i)] for i in range(-1, 4)] == [
        [],
        ["a"],
        ["a", "b"],
        ["b"],
        ["b", "c"],
    ]
    device = trace.device("cuda:0")
    assert (device.peak, device.before, device.memory, device.simulated) == (
        12288,
        0,
        1 << 30,
        True,
    )
    a = trace.tensors[0]
    assert (a.bytes, a.taken, a.shape, a.dtype) == (4000, 4096, (1000,), "float32")
    assert (a.source.line, a.freed.line) == (2, 4)


def test_what_was_there_before(simulated):
    old = torch.ones(1000, device="cuda")
    hidden = [torch.ones(100, device="cuda")]
    trace = recorded("new = old + 1\ndel old", old=old).trace()
    assert trace.device("cuda:0").before == 4096 + 512
    known = {t.name: t for t in trace.tensors}
    assert (known["old"].born, known["old"].born_step, known["old"].died) == (None, -1, None), (
        "this test still holds it"
    )
    assert known["new"].born_step == 0 and trace.in_use(-1, "cuda:0") == 4608
    assert "4.5 KiB in use before" in render(trace)
    del hidden


def test_what_nothing_here_uses_is_idle(simulated):
    on = {"device": "cuda"}
    other, other_there = torch.ones(9), torch.ones(9, **on)
    w = torch.ones(4, requires_grad=True, **on)
    h = w.exp()  # saved by its node, and used in the backward pass only
    loss = h.sum()
    here = {
        "other": other,
        "other_there": other_there,
        "w": w,
        "h": h,
        "loss": loss,
        "a": torch.ones(5),
        "b": torch.ones(5),
    }
    trace = recorded("c = a + b\nloss.backward()\nnew = other_there.new_ones(3)", **here).trace()
    idle = {t.name: t.idle for t in trace.tensors if t.name in (*here, "c", "new", "w.grad")}
    assert {name for name, is_idle in idle.items() if is_idle} >= {"other", "w"}
    assert not any(idle[name] for name in ("a", "b", "c", "h", "w.grad"))


def test_gradients_get_their_names_and_kernels_their_phase(simulated):
    trace = recorded("""
w = torch.ones(50, 2, device="cuda", requires_grad=True)
loss = (w * 3).sum()
loss.backward()
with torch.no_grad():
    w -= w.grad
""").trace()
    names = [t.name for t in trace.tensors]
    assert names.count("w.grad") == 1 and names.count("w") == 1 and names.count("loss") == 1
    assert {(k.phase, k.op) for k in trace.kernels if k.source.line == 4} >= {
        ("backward", "backward"),
        ("backward", "MulBackward0"),
    }
    assert {k.phase for k in trace.kernels if k.source.line != 4} == {"forward"}


def test_a_modules_parameters_are_named(simulated):
    trace = recorded("""
model = torch.nn.Linear(3, 2).to("cuda")
x = torch.ones(4, 3, device="cuda")
y = model(x)
""").trace()
    assert {t.name for t in trace.tensors if t.device == "cuda:0"} >= {"weight", "bias", "x", "y"}


def test_two_devices_and_streams():
    with torch.cuda.simulate(devices=2):
        trace = recorded("""
a = torch.ones(1000, device="cuda:0")
b = a.to("cuda:1")
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    c = a * 2
s.synchronize()
""").trace()
    assert [d.name for d in trace.devices] == ["cpu", "cuda:0", "cuda:1"]
    (copy,) = trace.copies
    assert (copy.origin, copy.target, copy.bytes, copy.waited) == ("cuda:0", "cuda:1", 4000, None)
    assert [(k.name, k.device, k.stream) for k in trace.kernels] == [
        ("ones", "cuda:0", 0),
        ("multiply", "cuda:0", 1),
    ]
    assert (trace.waits[0].device, trace.waits[0].stream) == ("cuda:0", 1)
    assert trace.steps[-1].text == "the host waits 2.5 µs for stream 1 of cuda:0 in synchronize()"
    assert trace.queue(1, "cuda:1") == ["c0"] and trace.queue(0, "cuda:0") == ["k0"]


def test_no_room_is_a_step_even_when_it_is_caught():
    with torch.cuda.simulate(memory="4MiB"):
        recording = recorded("""
a = torch.ones(1000, device="cuda")
try:
    torch.empty(3_000_000, device="cuda")
except torch.OutOfMemoryError:
    pass
""")
    trace = recording.trace()
    (refusal,) = trace.refusals
    assert (refusal.bytes, refusal.allocated, refusal.memory, refusal.source.line) == (
        12_000_256,
        4096,
        4 << 20,
        4,
    )
    assert steps(recording)[-1] == (
        "out of memory",
        "out of memory on cuda:0: 11.4 MiB asked for, 4 KiB of 4 MiB in use",
    )
    assert trace.error == ""


def test_an_error_ends_the_recording_and_is_kept(simulated):
    recording = torch.record_devices()
    with pytest.raises(ZeroDivisionError), recording:
        torch.ones(3, device="cuda")
        raise ZeroDivisionError("division by zero")
    assert observe.observer is None or recording not in getattr(
        observe.observer, "observers", [observe.observer]
    )
    assert recording.trace().error == "ZeroDivisionError: division by zero"
    assert recording.text().endswith("ZeroDivisionError: division by zero")


def test_sim_devices_without_simulate():
    trace = recorded("""
x = torch.ones(10, device="sim:0")
y = x + 1
torch.nonzero(y)
""").trace()
    assert [(d.name, d.title) for d in trace.devices] == [("cpu", "CPU"), ("sim:0", "Simulated T4")]
    assert [k.name for k in trace.kernels[:2]] == ["ones", "add"] and trace.waits[
        0
    ].call == "nonzero"
    assert trace.kernels[0].queued == pytest.approx(5e-6)


def test_tensors_on_the_cpu_die_too(simulated):
    trace = recorded("""
x = torch.ones(10)
y = x.to("cuda")
del x
z = y + 1
""").trace()
    x = next(t for t in trace.tensors if t.device == "cpu")
    assert (x.name, x.bytes, x.died_step) == ("x", 40, 1)
    assert [t.name for t in trace.alive(0)] == ["x", "y"] and [t.name for t in trace.alive(1)] == [
        "y",
        "z",
    ]


def test_a_recording_keeps_nothing_alive(simulated):
    before = torch.cuda.memory_allocated()
    with torch.record_devices() as recording:
        for _ in range(3):
            big = torch.ones(1000, device="cuda")
            assert torch.cuda.memory_allocated() <= before + 2 * 4096
            big = big * 2
        del big
        assert torch.cuda.memory_allocated() == before
    assert recording.trace().device("cuda:0").peak == 2 * 4096


def test_a_recording_is_made_once_and_read_after_it_began(simulated):
    recording = torch.record_devices()
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        recording.trace()
    assert repr(recording) == str(recording) == "<DeviceRecording: empty; use it with `with`>"
    with recording:
        torch.ones(3, device="cuda")
        assert [s.phase for s in recording.trace().steps] == ["launch", "free"]
        assert repr(recording) == "<DeviceRecording: running>"
        torch.ones(3, device="cuda")
    assert len(recording.trace().steps) == 4
    assert repr(recording) == "<DeviceRecording: cuda:0, 4 steps>"
    with pytest.raises(RuntimeError, match="only once"), recording:
        pass


def test_a_full_recording_says_so(simulated, monkeypatch):
    monkeypatch.setattr(recorder, "MOST_STEPS", 6)
    recording = recorded("for i in range(5): a = torch.ones(4, device='cuda')")
    trace = recording.trace()
    assert len(trace.steps) == 6 and trace.left_out > 0
    assert f"{trace.left_out} later events were left out: the recording was full." in str(recording)


def test_it_is_data(simulated):
    trace = recorded(LEARNER).trace()
    data = trace.to_json()
    assert DeviceTrace.from_json(json.loads(json.dumps(data))).to_json() == data
    assert (
        trace.item("k1").name == "matmul"
        and trace.item("c0").bytes == 20_000
        and trace.item("t0").device == "cpu"
    )
    for wrong in ("k99", "", "x", "kk", "c"):
        with pytest.raises(KeyError):
            trace.item(wrong)


class Mark:
    """An event of a GPU that does not exist."""

    def __init__(self, seconds):
        self.seconds = seconds

    def seconds_to(self, later):
        return later.seconds - self.seconds

    def synchronize(self):
        Mark.waited_for = self.seconds


def test_a_real_gpu_is_measured_by_events_in_its_stream(monkeypatch):
    moments = iter([1.0, 1.5, 1.75])
    clock = iter([0.0, 0.1, 0.2, 0.6])
    queue = SimpleNamespace(number=0, mark=lambda: Mark(next(moments)))
    pool = SimpleNamespace(allocated=0, total=1 << 30)
    gpu = new_canonical(
        "cuda",
        0,
        lambda d: SimpleNamespace(
            device=d, simulated=False, queue=queue, pool=pool, name="NVIDIA X"
        ),
    )
    monkeypatch.setattr(recorder.DeviceRecording, "_now", lambda self, name: next(clock, 0.8))
    _tensor = torch.ones(2)  # a name that is not scanned
    recording = torch.record_devices()
    with recording:
        monkeypatch.setattr(_tensor._storage, "device", gpu.device)
        recording.allocate(gpu.device, 512, 512, 2 << 20, 4096, ((2,), np.dtype(np.float32)))
        recording.forward(SimpleNamespace(name="exp"), (), None, (_tensor,), None)
        recording.forward(SimpleNamespace(name="add"), (), None, (_tensor,), None)
        monkeypatch.undo()
        recording._blocks.clear()
    trace = recording.trace()
    assert [(k.op, k.measured, k.device) for k in trace.kernels] == [
        ("exp", True, "cuda:0"),
        ("add", True, "cuda:0"),
    ]
    first, second = trace.kernels
    assert (
        first.end == pytest.approx(0.5)
        and second.end == pytest.approx(0.75)
        and Mark.waited_for == 1.75
    )
    assert second.start == pytest.approx(max(first.end, first.queued)) and first.makes == ("t0",)
    assert [d.title for d in trace.devices] == ["CPU", "NVIDIA X"] and not trace.devices[
        1
    ].simulated


@pytest.mark.parametrize(
    "seconds, words",
    [(0, "0 s"), (2.5e-6, "2.5 µs"), (1.2345e-3, "1.23 ms"), (0.9996e-3, "1 ms"), (999.4e-6, "999 µs"), (4, "4 s"), (12e-9, "12 ns"),
     (1e-10, "0 s"), (61.234, "61.2 s"), (0.0999, "99.9 ms")],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    "count, words",
    [(0, "0 bytes"), (1, "1 byte"), (512, "512 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (20000, "19.5 KiB"),
     (1 << 20, "1 MiB"), ((1 << 20) - 1, "1024 KiB"), (1 << 30, "1 GiB"), (1000 * 1024, "1000 KiB")],
)  # fmt: skip
def test_bytes_in_words(count, words):
    assert size(count) == words
