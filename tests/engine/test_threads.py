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


@pytest.mark.parametrize("seed", range(3))
def test_no_gradient_of_a_result_is_lost(seed):
    w = leaf(2.0, 3.0)
    h = w * 2
    h.retain_grad()
    loss = (h * 3).sum()
    interleaved(times(lambda k: loss.backward(retain_graph=True)), seed)
    assert (
        h.grad.tolist() == [3.0 * THREADS * TIMES] * 2
        and w.grad.tolist() == [6.0 * THREADS * TIMES] * 2
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


@pytest.mark.parametrize("seed", range(3))
def test_a_leaf_has_one_node_whoever_asks_first(seed):
    w, found = leaf(2.0), []

    def step(k):
        shared.enter()  # all are known before the first asks
        while not shared.several:
            time.sleep(0)
        found.append((w * k).grad_fn.next_functions[0][0])

    interleaved(step, seed)
    assert len({id(n) for n in found}) == 1


@pytest.mark.parametrize("seed", range(3))
def test_views_that_threads_make_share_one_memory(seed):
    """Of a number, of which the array is made when the first view is, and of images, which are put in order then."""
    number = torch.tensor(2.0) * 3
    images = torch.nn.functional.conv2d(torch.ones(2, 1, 4, 4), torch.ones(3, 1, 3, 3))
    views = []
    interleaved(lambda k: views.extend([number.view(1), images.view(-1)]), seed)
    number.add_(1)
    images.add_(1)
    assert [v.tolist() for v in views] == [[7.0] if v.numel() == 1 else [10.0] * 24 for v in views]
