"""Threads that share leaves, graphs and tensors lose nothing: every gradient arrives, as in PyTorch."""

import random
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import autolab as torch
from autolab.engine.fast.threads import shared

PACKAGE = str(Path(torch.__file__).parent)
THREADS, TIMES = 4, 6


def interleaved(work, seed):
    """Run `work(k)` in four threads, of which this is one. They hand over to each other at one line in three of the
    package, where Python itself would at any call."""
    chosen, start, failed = random.Random(seed), threading.Barrier(THREADS), []
    shared.first, shared.several = threading.get_ident(), False

    def at_line(frame, event, arg):
        if event == "line" and chosen.random() < 0.3:
            time.sleep(0)
        return at_line

    def at_call(frame, event, arg):
        return at_line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def run(k):
        start.wait()
        sys.settrace(at_call)
        try:
            work(k)
        except BaseException as error:
            failed.append(error)
        finally:
            sys.settrace(None)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(1, THREADS)]
    traced = sys.gettrace()
    for t in threads:
        t.start()
    run(0)
    sys.settrace(traced)
    for t in threads:
        t.join()
    assert not shared.inside
    if failed:
        raise failed[0]


def times(step):
    """A thread's work: `step(k)` several times."""

    def work(k):
        for _ in range(TIMES):
            step(k)

    return work


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "way",
    [
        "one number",
        "several",
        "branching",
        "hooked",
        "inputs",
        "create_graph",
        "kept graph",
        "looked at",
    ],
)
def test_no_gradient_is_lost(way, seed):
    w = leaf(2.0, 3.0)
    scalar = torch.tensor(2.0, requires_grad=True)
    kept = (w * 5).sum()
    if way == "hooked":
        w.register_hook(lambda g: g * 1)

    def step(k):
        if way == "one number":
            (scalar * 5).backward()
        elif way == "branching":
            (w * 2 + (w * 3) * 1).sum().backward()
        elif way == "inputs":
            (w * 5).sum().backward(inputs=[w])
        elif way == "create_graph":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (w * 5).sum().backward(create_graph=True)
        elif way == "kept graph":
            kept.backward(retain_graph=True)
        else:
            (w * 5).sum().backward()
        if way == "looked at":
            assert w.grad is not None

    interleaved(times(step), seed)
    expected = 5.0 * THREADS * TIMES
    assert (
        scalar.grad.item() == expected if way == "one number" else w.grad.tolist() == [expected] * 2
    )


def test_threads_train_one_network_together():
    """Not interleaved by force: with a switch of threads every microsecond a tenth of the gradients used to be lost now
    and then."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    model(x).sum().backward()
    once = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda: [model(x).sum().backward() for _ in range(25)])
            for _ in range(8)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    for p, g in zip(model.parameters(), once):
        torch.testing.assert_close(p.grad, 200 * g, rtol=1e-4, atol=1e-5)
