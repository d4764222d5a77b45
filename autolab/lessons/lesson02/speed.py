"""Exercises of sections 6 to 8 and 10: clocks, launches, copies, the profiler."""

from __future__ import annotations

import autolab as torch
from autolab.engine.core import observe
from autolab.engine.core.observe import Observer

from ..exercise import Case, Exercise, Mistake
from .places import on_simulated

# 02.6 a stopwatch that waits ------------------------------------------------------------------------------------------


@on_simulated
def measured(answer, size, products, queued):
    a, other = torch.ones(size, size, device="cuda"), torch.ones(1000, 1000, device="cuda")
    torch.cuda.synchronize()
    for _ in range(queued):
        other @ other
    calls: list[None] = []

    def work():
        calls.append(None)
        for _ in range(products):
            a @ a

    seconds = answer(work, torch.cuda.perf_counter)
    if not isinstance(seconds, (int, float)):
        return {"seconds": seconds}
    return {"microseconds": round(1e6 * seconds, 3), "work() was called": len(calls)}


def time_it(work, clock, before=True, after=True, times=1):
    """The right one; the switches make the usual wrong ones."""
    if before:
        torch.cuda.synchronize()
    start = clock()
    for _ in range(times):
        work()
    if after:
        torch.cuda.synchronize()
    return (clock() - start) / times


def _started_too_early(work, clock):
    start = clock()
    torch.cuda.synchronize()
    work()
    torch.cuda.synchronize()
    return clock() - start


ONLY_LAUNCHES = (
    "This is the time of the launches, 5 µs each. Synchronise after work(), and read the clock after that, "
    "not before."
)

stopwatch = Exercise(
    id="02.6",
    title="A stopwatch that waits",
    observe=measured,
    given=lambda work, clock: time_it(work, clock, before=False, after=False),
    reference=time_it,
    cases=(
        Case("one product of 1,000 rows", lambda: (1000, 1, 0)),
        Case(
            "five products of 500 rows, with other work still in the queue",
            lambda: (500, 5, 3),
            public=False,
        ),
        Case("nothing, with other work still in the queue", lambda: (8, 0, 4), public=False),
    ),
    mistakes=(
        Mistake(lambda work, clock: time_it(work, clock, before=False, after=False), ONLY_LAUNCHES),
        Mistake(lambda work, clock: time_it(work, clock, after=False), ONLY_LAUNCHES),
        Mistake(
            lambda work, clock: time_it(work, clock, before=False),
            "You wait at the end. But what was in the queue before counts too: synchronise before you start the "
            "clock as well.",
        ),
        Mistake(
            _started_too_early,
            "You synchronise twice, but the clock runs already while you wait for the older work. "
            "Start it after the first wait.",
        ),
        Mistake(
            lambda work, clock: time_it(work, clock, times=2),
            "The time is right, but work() ran twice. It may be a training step, which is not to be repeated.",
        ),
    ),
    hints=(
        "Where does the host run on, although the GPU is not done?",
        "Two waits are needed: one before the first look at the clock, one before the second.",
        "torch.cuda.synchronize(); start = clock(); work(); torch.cuda.synchronize(); return clock() - start",
    ),
    leaves_out="work on several GPUs, or in other streams",
)


# 02.7 launches that do not grow ---------------------------------------------------------------------------------------


class Launches(Observer):
    """Counts the kernels that are launched on any device, and the copies between devices."""

    def __init__(self):
        self.kernels = self.copies = 0

    def launch(self, *about):
        self.kernels += 1

    def transfer(self, *about):
        self.copies += 1

    def __enter__(self):
        observe.add(self)
        return self

    def __exit__(self, *error):
        observe.remove(self)


@on_simulated
def launched(answer, rows, columns):
    x = (torch.arange(float(rows * columns)) % 7).reshape(rows, columns).to("cuda")
    before = x.cpu().tolist()
    with Launches() as count:
        result = answer(x)
    if result is ... or not hasattr(result, "device"):
        return {"result": result}
    return {
        "result": result.cpu(),
        "on": str(result.device),
        "fewer launches than rows": count.kernels < rows,
        "copies to or from the GPU": count.copies,
        "x changed": x.cpu().tolist() != before,
    }


def centre(x):
    return x - x.mean(dim=1, keepdim=True)


def centre_in_a_loop(x):
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] - x[i].mean()
    return out


def _on_the_host(x):
    return centre(x.cpu()).to(x.device)


def _in_place(x):
    x -= x.mean(dim=1, keepdim=True)
    return x


few_launches = Exercise(
    id="02.7",
    title="One launch instead of many",
    observe=launched,
    given=centre_in_a_loop,
    reference=centre,
    cases=(
        Case("x of the shape (20, 3)", lambda: (20, 3)),
        Case("x of the shape (30, 30)", lambda: (30, 30), public=False),
        Case("x of the shape (12, 1)", lambda: (12, 1), public=False),
    ),
    mistakes=(
        Mistake(
            centre_in_a_loop,
            "The numbers are right, but there are still several launches for each row.",
        ),
        Mistake(
            lambda x: x - x.mean(),
            "That is the mean of all numbers. Each row has its own: mean(dim=1).",
        ),
        Mistake(
            lambda x: x - x.mean(dim=0),
            "That is the mean of each column. dim names the dimension that is averaged "
            "away; for the rows' means that is dim=1.",
        ),
        Mistake(
            lambda x: x - x.mean(dim=1),
            "x.mean(dim=1) has the shape (rows,), and broadcasting lays it along the "
            "columns. keepdim=True keeps it a column.",
        ),
        Mistake(
            _on_the_host,
            "Few launches, but the data went to the CPU and back, and each copy costs more than the "
            "launches.",
        ),
        Mistake(
            _in_place,
            "Right, and few launches. But x itself was changed: the caller still needs it.",
        ),
        Mistake(lambda x: x.mean(dim=1, keepdim=True) - x, "The sign is wrong: x minus the mean."),
    ),
    hints=(
        "x.mean(dim=1) computes the means of all rows in one go.",
        "Its shape is (rows,). With keepdim=True it is (rows, 1), and then it is broadcast along each row.",
        "return x - x.mean(dim=1, keepdim=True)",
    ),
    leaves_out="tensors with other numbers of dimensions",
)


# 02.8 batches on the device -------------------------------------------------------------------------------------------


class Loader:
    """A loader of pairs that knows how many it has handed out."""

    def __init__(self, batches):
        self.batches, self.handed_out = batches, 0

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        for batch in self.batches:
            self.handed_out += 1
            yield batch


@on_simulated
def arrived(answer, sizes, device):
    loader = Loader([(torch.full((n, 2), float(n)), torch.arange(n)) for n in sizes])
    batches, ahead = [], 0
    for number, batch in enumerate(answer(loader, device), 1):
        x, y = batch
        ahead = max(ahead, loader.handed_out - number)
        batches.append((x.cpu().tolist(), y.cpu().tolist(), str(x.device), str(y.device)))
    return {
        "sizes": [len(x) for x, *_ in batches],
        "x": [x for x, *_ in batches],
        "y": [y for _, y, *_ in batches],
        "x on": [f[2] for f in batches],
        "y on": [f[3] for f in batches],
        "taken ahead": ahead,
    }


def on_device(loader, device):
    for x, y in loader:
        yield x.to(device), y.to(device)


def _only_x(loader, device):
    for x, y in loader:
        yield x.to(device), y


def _not_kept(loader, device):
    for x, y in loader:
        x.to(device), y.to(device)
        yield x, y


def _first_only(loader, device):
    for x, y in loader:
        return iter([(x.to(device), y.to(device))])


NOT_ONE_AT_A_TIME = (
    "Everything arrives, but all batches are moved before the first one is used: they are in the GPU's "
    "memory together. Use yield in the loop."
)

moving = Exercise(
    id="02.8",
    title="Batches that arrive on the device",
    observe=arrived,
    given=lambda loader, device: [(x.to(device), y) for x, y in loader],
    reference=on_device,
    cases=(
        Case("batches of 4, 4 and 2, device cuda:0", lambda: ((4, 4, 2), "cuda:0")),
        Case("batches of 1, 3, device cuda:1", lambda: ((1, 3), "cuda:1"), public=False),
        Case("no batch at all", lambda: ((), "cuda:0"), public=False),
        Case("batches of 2, 2, device cpu", lambda: ((2, 2), "cpu"), public=False),
    ),
    mistakes=(
        Mistake(
            lambda loader, device: [(x.to(device), y) for x, y in loader],
            "The labels y stay behind on the CPU, and all batches are moved before the first one is used.",
        ),
        Mistake(_only_x, "One at a time, that is right. But the labels y stay behind on the CPU."),
        Mistake(
            lambda loader, device: [(x.to(device), y.to(device)) for x, y in loader],
            NOT_ONE_AT_A_TIME,
        ),
        Mistake(_not_kept, "x.to(device) makes a copy, and nobody keeps it."),
        Mistake(
            _first_only,
            "return ends the loop at the first batch. yield hands out a batch and goes on.",
        ),
    ),
    hints=(
        "Two things are missing: one half of each pair, and the moving at the right time.",
        "A function with yield in it hands out one value at a time: for x, y in loader: yield …",
        "yield x.to(device), y.to(device)",
    ),
    leaves_out="batches that are no pairs",
)


# 02.10 who holds up whom ----------------------------------------------------------------------------------------------


@on_simulated
def judged(answer, size, products, wait):
    from autolab.profiler import ProfilerActivity, profile

    a = torch.ones(size, size, device="cuda")
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        for _ in range(products):
            torch.matmul(a, a)
        if wait:
            torch.cuda.synchronize()
    return {"result": answer(prof.key_averages())}


def bottleneck(rows, own=True, waiting=False, kernels=False):
    """The right one; the switches make the usual wrong ones."""
    rows = [row for row in rows if waiting or "Synchronize" not in row.key]
    host = sum(row.self_cpu_time_total if own else row.cpu_time_total for row in rows)
    once = own and not kernels
    gpu = sum(
        row.self_device_time_total if own or kernels else row.device_time_total
        for row in rows
        if not once or row.device_type.name == "CPU"
    )
    return "host" if host > gpu else "GPU"


profiled = Exercise(
    id="02.10",
    title="Find the bottleneck",
    observe=judged,
    given=lambda rows: bottleneck(rows, own=False, waiting=True),
    reference=bottleneck,
    tell=False,
    cases=(
        Case(
            "10 products of 230 rows, then waiting",
            lambda: (230, 10, True),
            why="10 launches cost the host 50 µs, 10 kernels the GPU 43 µs. A kernel is in the table three times: in its "
            "own row, as the own time of mm, and in the total of matmul around it. Count it once.",
        ),
        Case(
            "3 products of 500 rows, then waiting",
            lambda: (500, 3, True),
            why="The host launched for 15 µs here; the rest of its time it stood still. Waiting is no work.",
        ),
        Case(
            "50 products of 16 rows, no waiting",
            lambda: (16, 50, False),
            why="50 launches cost the host 250 µs, 50 short kernels the GPU 125 µs.",
        ),
        Case(
            "20 products of 8 rows, then waiting",
            lambda: (8, 20, True),
            public=False,
            why="20 launches cost the host 100 µs, 20 short kernels the GPU 50 µs.",
        ),
        Case(
            "4 products of 270 rows, no waiting",
            lambda: (270, 4, False),
            public=False,
            why="4 launches cost the host 20 µs, 4 kernels the GPU 28 µs. The total time of matmul contains that of mm: "
            "only own times may be added.",
        ),
        Case("1 product of 900 rows, then waiting", lambda: (900, 1, True), public=False),
    ),
    mistakes=(
        Mistake(
            lambda rows: bottleneck(rows, waiting=True),
            "Own times can be added, that is right. But the host's include cudaDeviceSynchronize, and that is "
            "standing still: leave those rows out.",
        ),
        Mistake(
            lambda rows: bottleneck(rows, kernels=True),
            "Own times, without the waiting: that is right for the host. But each kernel is in the table twice, in "
            "its own row and as the own time of the call that launched it. Take only one kind of rows: "
            "row.device_type tells them apart.",
        ),
    ),
    hints=(
        "Total times contain the calls inside. Which columns may be added up?",
        'self_cpu_time_total may be added. One row is no work at all: the waiting, with "Synchronize" in row.key.',
        "For the GPU add self_device_time_total of the kernels' rows only: row.device_type is DeviceType.CUDA.",
    ),
    leaves_out="profiles of several GPUs",
)

EXERCISES = (stopwatch, few_launches, moving, profiled)
