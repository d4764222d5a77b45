"""Exercises on time: clocks, launches, copies, the profiler."""

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
    """Solve the exercise; the switches make the usual wrong answers."""
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
    "This is the time of the launches, 5 µs each. Synchronise after work(), and read the clock "
    "after that, not before."
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
            "You wait at the end, which is correct. But what was in the queue before counts too, "
            "so synchronise before you start the clock as well.",
        ),
        Mistake(
            _started_too_early,
            "You synchronise twice, but the clock already runs while you wait for the older "
            "work. Start it after the first wait instead.",
        ),
        Mistake(
            lambda work, clock: time_it(work, clock, times=2),
            "The time is correct, but work() ran twice. It could be a training step, for "
            "example, which must not be repeated.",
        ),
    ),
    hints=(
        "In which line does the host go on although the GPU hasn't finished yet?",
        "You need to wait twice: once before you read the clock for the first time, and once "
        "before the second time.",
        "torch.cuda.synchronize(); start = clock(); work(); torch.cuda.synchronize(); return clock() - start",
    ),
    leaves_out="work on several GPUs, or in other streams",
)


# 02.7 launches that do not grow ---------------------------------------------------------------------------------------


class Launches(Observer):
    """Count the kernels launched on any device, and the copies between devices."""

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
            "The numbers are correct, but there are still several launches for each row.",
        ),
        Mistake(
            lambda x: x - x.mean(),
            "You subtracted the mean of all numbers. But each row has its own mean, so use "
            "mean(dim=1).",
        ),
        Mistake(
            lambda x: x - x.mean(dim=0),
            "You subtracted the mean of each column. dim names the dimension that disappears, so "
            "the means of the rows need dim=1.",
        ),
        Mistake(
            lambda x: x - x.mean(dim=1),
            "x.mean(dim=1) has the shape (rows,), so broadcasting treats it as a row. With "
            "keepdim=True it remains a column instead.",
        ),
        Mistake(
            _on_the_host,
            "There are few launches now, but the data went to the CPU and back, and each copy "
            "costs more than the launches.",
        ),
        Mistake(
            _in_place,
            "The numbers are correct, and there are few launches. But you changed x itself, "
            "although the caller still needs it.",
        ),
        Mistake(
            lambda x: x.mean(dim=1, keepdim=True) - x,
            "The sign is wrong, because you subtracted x from the mean. Subtract the mean from x "
            "instead.",
        ),
    ),
    hints=(
        "x.mean(dim=1) computes the means of all rows with one call.",
        "Its shape is (rows,). With keepdim=True the shape is (rows, 1) instead, so it is "
        "broadcast along each row.",
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
    "Everything arrives, but all batches are moved before the first one is used, so they are in "
    "the GPU's memory together. Use yield in the loop."
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
            "There are two mistakes. The labels y stay behind on the CPU, and all batches are "
            "moved before the first one is used.",
        ),
        Mistake(
            _only_x,
            "You move one batch at a time, which is correct. But the labels y stay behind on the "
            "CPU.",
        ),
        Mistake(
            lambda loader, device: [(x.to(device), y.to(device)) for x, y in loader],
            NOT_ONE_AT_A_TIME,
        ),
        Mistake(
            _not_kept,
            "x.to(device) makes a copy, but you don't keep it. Yield the copies instead of x and y.",
        ),
        Mistake(
            _first_only,
            "return ends the loop at the first batch. Use yield instead, because it delivers a "
            "batch and then goes on.",
        ),
    ),
    hints=(
        "Two things are wrong: one half of each pair isn't moved, and each batch is moved too "
        "early.",
        "A function with yield in it delivers one value at a time: for x, y in loader: yield …",
        "yield x.to(device), y.to(device)",
    ),
    leaves_out="batches that are not pairs",
)


# 02.10 find the bottleneck


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
    """Solve the exercise; the switches make the usual wrong answers."""
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
            why="10 launches cost the host 50 µs, and 10 kernels cost the GPU 43 µs. But each "
            "kernel is in the table three times: in its own row, as the own time of mm, and "
            "in the total time of the matmul around it. Count it once.",
        ),
        Case(
            "3 products of 500 rows, then waiting",
            lambda: (500, 3, True),
            why="The host was busy with launches for only 15 µs here, and then it waited. "
            "Waiting is not work.",
        ),
        Case(
            "50 products of 16 rows, no waiting",
            lambda: (16, 50, False),
            why="50 launches cost the host 250 µs, but 50 short kernels cost the GPU only 125 µs.",
        ),
        Case(
            "20 products of 8 rows, then waiting",
            lambda: (8, 20, True),
            public=False,
            why="20 launches cost the host 100 µs, but 20 short kernels cost the GPU only 50 µs.",
        ),
        Case(
            "4 products of 270 rows, no waiting",
            lambda: (270, 4, False),
            public=False,
            why="4 launches cost the host 20 µs, and 4 kernels cost the GPU 28 µs. The total "
            "time of matmul includes the time of mm, so only own times may be added.",
        ),
        Case("1 product of 900 rows, then waiting", lambda: (900, 1, True), public=False),
    ),
    mistakes=(
        Mistake(
            lambda rows: bottleneck(rows, waiting=True),
            "You added own times, which is correct. But the host's own times include "
            "cudaDeviceSynchronize, in which the host only waits. Leave those rows out.",
        ),
        Mistake(
            lambda rows: bottleneck(rows, kernels=True),
            "For the host, you added own times and left out the waiting, which is correct. But "
            "each kernel is in the table twice: in its own row, and as the own time of the call "
            "that launched it. Use only one kind of rows for the GPU; row.device_type tells you "
            "the kind.",
        ),
    ),
    hints=(
        "The total time of a call includes the calls inside it. So which columns may be added up?",
        "self_cpu_time_total may be added up. However, one row is not work, because the host "
        'only waits there: it has "Synchronize" in row.key.',
        "For the GPU, add self_device_time_total only in the rows of kernels, that is, where "
        "row.device_type is DeviceType.CUDA.",
    ),
    leaves_out="profiles of several GPUs",
)

EXERCISES = (stopwatch, few_launches, moving, profiled)
