"""Workers of the DataLoader: PyTorch's batches and random numbers, errors that arrive, and no loop that hangs."""

import itertools
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from goldens.oracle import check, engine, same_as_torch

import autolab

ROOT = Path(__file__).parent.parent.parent
torch = engine()
data = torch.utils.data
forks = pytest.mark.skipif(
    sys.platform != "linux", reason="data sets defined inside a test need workers that fork"
)


class Numbers(data.Dataset):
    """0 … n - 1, and which worker fetched it; `act(i)` runs first."""

    def __init__(self, n, act=None):
        self.n, self.act = n, act

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.act is not None:
            self.act(i)
        info = data.get_worker_info()
        return i, -1 if info is None else info.id


def drawing(t, n=12):
    """A data set whose samples are random numbers of all three streams."""

    class Draws(t.utils.data.Dataset):
        def __len__(self):
            return n

        def __getitem__(self, i):
            return (
                i,
                t.rand(2),
                random.random(),
                np.random.rand(),
                t.utils.data.get_worker_info().seed,
            )

    return Draws()


LOADERS = {
    "one worker": dict(num_workers=1),
    "two workers": dict(num_workers=2),
    "shuffled": dict(num_workers=2, shuffle=True),
    "no batches": dict(num_workers=2, batch_size=None, shuffle=True),
    "drop_last": dict(num_workers=2, batch_size=5, drop_last=True, shuffle=True),
    "far ahead": dict(num_workers=2, prefetch_factor=9, shuffle=True),
    "persistent": dict(num_workers=2, persistent_workers=True, shuffle=True),
    "batches by hand": dict(num_workers=2, batch_size=1, batch_sampler=[[1, 2], [7], [3, 0]]),
}


@forks
@pytest.mark.parametrize("name", LOADERS)
def test_batches_and_random_numbers(name):
    def program(t):
        t.manual_seed(3)
        options = {"batch_size": 3, **LOADERS[name]}
        loader = t.utils.data.DataLoader(drawing(t), **options)
        return [list(loader), list(loader), t.rand(1)]

    check("test_workers", name, program)


@forks
@same_as_torch
def test_the_order_does_not_depend_on_the_number_of_workers(t):
    orders = []
    for workers in (0, 1, 2):
        t.manual_seed(0)
        s = t.utils.data.TensorDataset(t.arange(20))
        orders.append(
            [batch for (batch,) in t.utils.data.DataLoader(s, 6, shuffle=True, num_workers=workers)]
        )
    assert (
        [b.tolist() for b in orders[0]]
        == [b.tolist() for b in orders[1]]
        == [b.tolist() for b in orders[2]]
    )
    return orders


@forks
@same_as_torch
def test_iterable_data_is_shared_out_by_worker_info(t):
    d = t.utils.data

    class Count(d.IterableDataset):
        def __iter__(self):
            info = d.get_worker_info()
            return itertools.islice(range(11), info.id, None, info.num_workers)

    loader = d.DataLoader(Count(), batch_size=2, num_workers=2, persistent_workers=True)
    found = [
        list(loader),
        list(loader),
        list(d.DataLoader(Count(), batch_size=None, num_workers=2)),
    ]
    found.append(list(d.DataLoader(Count(), batch_size=2, num_workers=2, drop_last=True)))
    return found


@forks
@same_as_torch
def test_worker_init_fn_and_info(t):
    d = t.utils.data

    class Part(d.Dataset):
        seen = "not set"

        def __len__(self):
            return 4

        def __getitem__(self, i):
            info = d.get_worker_info()
            return {
                "i": i,
                "seen": self.seen,
                "id": info.id,
                "of": info.num_workers,
                "mine": info.dataset is self,
            }

    def init(worker_id):
        d.get_worker_info().dataset.seen = f"set by {worker_id}"

    part = Part()
    batches = list(d.DataLoader(part, batch_size=2, num_workers=2, worker_init_fn=init))
    return [batches, part.seen, d.get_worker_info()]


@forks
def test_workers_stay_when_they_are_persistent_and_go_when_not():
    fetched_by = Numbers(4)
    fetched_by.__class__ = type("Pids", (Numbers,), {"__getitem__": lambda self, i: os.getpid()})

    def pids(loader):
        return sorted(set(itertools.chain(*(batch.tolist() for batch in loader))))

    stay = data.DataLoader(fetched_by, batch_size=1, num_workers=2, persistent_workers=True)
    change = data.DataLoader(fetched_by, batch_size=1, num_workers=2)
    first = pids(stay)
    assert len(first) == 2 and os.getpid() not in first and pids(stay) == first
    assert not set(pids(change)) & set(pids(change))
    assert {p.pid for p in multiprocessing.active_children()} >= set(first)
    del stay._iterator, stay
    assert _gone(first)


@forks
def test_leaving_the_loop_early_ends_the_workers_and_a_persistent_loader_starts_again():
    loader = data.DataLoader(Numbers(40), batch_size=2, num_workers=2, persistent_workers=True)
    for first, _ in loader:
        assert first.tolist() == [0, 1]
        break
    assert [batch.tolist() for batch, _ in loader] == [[i, i + 1] for i in range(0, 40, 2)]
    for _ in data.DataLoader(Numbers(40), num_workers=2):
        break
    workers = [p.pid for p in multiprocessing.active_children()]
    del loader, _
    assert _gone(workers)


def _gone(pids, within=5.0):
    until = time.monotonic() + within
    while time.monotonic() < until:
        if not {p.pid for p in multiprocessing.active_children()} & set(pids):
            return True
        time.sleep(0.02)
    return False


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def _raises(error):
    def act(i):
        if i == 5:
            raise error

    return act


@forks
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad sample"), ValueError),
        (KeyError("name"), KeyError),
        (TwoArguments(1, 2), RuntimeError),
        (StopIteration("early"), RuntimeError if torch is autolab else StopIteration),
    ],
)
def test_an_error_arrives_with_its_traceback(error, kind):
    loader = data.DataLoader(Numbers(12, _raises(error)), batch_size=2, num_workers=2)
    batches = iter(loader)
    assert [next(batches)[0].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(kind) as caught:
        next(batches)
    text = str(caught.value)
    expected = rf"Caught {type(error).__name__} in DataLoader worker process 0\.\nOriginal Traceback \(most recent call"
    assert re.match(expected, text) and "raise error" in text and "test_workers.py" in text


@forks
def test_a_worker_that_is_killed_is_noticed():
    def act(i):
        if i == 7:
            os.kill(os.getpid(), signal.SIGKILL)

    started = time.monotonic()
    with pytest.raises(
        RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) (exited unexpectedly|is killed)"
    ) as caught:
        list(data.DataLoader(Numbers(12, act), batch_size=2, num_workers=2))
    assert time.monotonic() - started < 10
    if torch is autolab:
        assert "num_workers=0" in caught.value.__notes__[0]


@forks
def test_the_engine_computes_in_a_worker_what_it_computes_here():
    """Kernels use threads, which a forked process does not inherit."""
    torch.manual_seed(0)
    convolution, images = torch.nn.Conv2d(8, 32, 3), torch.rand(8, 8, 48, 48)

    class Features(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            with torch.no_grad():
                return convolution(images).sum((0, 2, 3))

    here = Features()[0]
    for found in data.DataLoader(Features(), batch_size=2, num_workers=2):
        assert torch.allclose(found, torch.stack([here, here]), rtol=1e-5)


@forks
def test_options_of_workers_are_checked():
    s = Numbers(3)
    with pytest.raises(NotImplementedError, match="'multiprocessing_context' is not supported"):
        data.DataLoader(s, num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(NotImplementedError, match="argument 'timeout' is not supported"):
        data.DataLoader(s, num_workers=1, timeout=3)
    with pytest.warns(
        UserWarning, match="will create 500 worker processes in total. Our suggested max number"
    ):
        data.DataLoader(s, num_workers=500)
    with pytest.raises(ValueError, match="persistent_workers attribute should not be set"):
        data.DataLoader(s, num_workers=1).persistent_workers = True


def run(code, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


SLOW = """
    import os, signal, sys, time
    import autolab
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal: what a shell runs behind it ignores Ctrl-C
    class Slow(autolab.utils.data.Dataset):
        def __len__(self):
            return 2
        def __getitem__(self, i):
            os.write(1, b"%d\\n" % os.getpid())  # at once, unlike print
            time.sleep(100)
    {how}
"""
LOOP = "list(autolab.utils.data.DataLoader(Slow(), num_workers=2))"


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@forks
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_sudden_death_leave_no_worker_behind(how):
    process = run(SLOW.format(how=LOOP), start_new_session=True)
    workers = [int(process.stdout.readline()) for _ in range(2)]
    assert all(alive(pid) for pid in workers)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: to everyone
    else:
        process.kill()
        for pid in (
            workers
        ):  # they sleep 100 seconds in __getitem__: what their data set does cannot be interrupted
            os.kill(pid, signal.SIGTERM)
    process.wait(10)
    errors = process.stderr.read()
    if how == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt") and errors.count("Traceback") == 1
    until = time.monotonic() + 10
    while any(alive(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in workers)


@forks
def test_idle_workers_notice_that_their_parent_is_gone():
    process = run(
        """
        import os, time
        import autolab
        class Pid(autolab.utils.data.Dataset):
            def __len__(self):
                return 40
            def __getitem__(self, i):
                return os.getpid()
        batches = iter(autolab.utils.data.DataLoader(Pid(), num_workers=2))
        print(next(batches).item(), next(batches).item(), flush=True)
        time.sleep(100)
        """
    )
    workers = [int(pid) for pid in process.stdout.readline().split()]
    process.kill()
    process.wait(10)
    until = time.monotonic() + 10
    while any(alive(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(set(workers)) == 2 and not any(alive(pid) for pid in workers)


def test_workers_that_are_spawned_import_the_data_set(tmp_path):
    (tmp_path / "squares.py").write_text(
        "from autolab.utils.data import Dataset\n"
        "class Squares(Dataset):\n"
        "    def __len__(self):\n        return 4\n"
        "    def __getitem__(self, i):\n        return i * i\n"
    )
    script = tmp_path / "main.py"
    script.write_text(
        "from squares import Squares\n"
        "from autolab.utils.data import DataLoader, workers\n"
        "spawn = workers.multiprocessing.get_context('spawn')\n"
        "workers.multiprocessing.get_context = lambda method: spawn\n"
        "if __name__ == '__main__':\n"
        "    loader = DataLoader(Squares(), batch_size=2, num_workers=1)\n"
        "    print([batch.tolist() for batch in loader])\n"
        "    try:\n"
        "        next(iter(DataLoader(Squares(), num_workers=1, collate_fn=lambda s: s)))\n"
        "    except Exception as error:\n"
        "        print(error.__notes__[0])\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines[:1] == ["[[0, 1], [4, 9]]"], done.stderr
    assert "collate_fn and worker_init_fn are pickled here" in lines[1]
