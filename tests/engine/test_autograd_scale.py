"""Graphs of any size and shape: no recursion, no quadratic cost, nothing kept alive afterwards."""

import gc
import sys
import weakref

import pytest
from goldens import oracle
from goldens.oracle import same_as_torch

torch = oracle.engine()


def chain(x, length):
    y = x
    for _ in range(length):
        y = y * 1.0
    return y


def test_a_chain_of_100000_nodes_runs_forward_backward_and_is_freed():
    x = torch.tensor(2.0, requires_grad=True)
    y = chain(x, 100_000)
    y.backward()
    assert x.grad.item() == 1.0
    del y  # freeing must not recurse either


def test_a_chain_of_100000_nodes_is_freed_without_ever_running_backward():
    x = torch.tensor(2.0, requires_grad=True)
    y = chain(x, 100_000)
    assert y.item() == 2.0
    del y
    assert x.grad is None


def test_the_recursion_limit_does_not_matter():
    limit = sys.getrecursionlimit()
    x = torch.tensor(1.0, requires_grad=True)
    y = chain(x, 5_000)
    sys.setrecursionlimit(max(200, len_of_stack() + 120))
    try:
        y.backward(retain_graph=True)
        (g,) = torch.autograd.grad(y, x)
        del y
    finally:
        sys.setrecursionlimit(limit)
    assert g.item() == x.grad.item() == 1.0


def len_of_stack():
    frame, depth = sys._getframe(), 0
    while frame:
        frame, depth = frame.f_back, depth + 1
    return depth


def test_20_000_in_place_steps_on_one_tensor_run_and_are_freed():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    for _ in range(20_000):
        y.mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and y._version == 20_000


def test_paths_through_stacked_diamonds_are_counted_once_each():
    """60 diamonds make 2**60 paths; the cost must grow with the nodes, the gradient with the paths."""
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_fan_out_of_10_000_accumulates_every_contribution():
    x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    parts = [x * float(k) for k in range(10_000)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    total.backward()
    assert x.grad.item() == sum(range(10_000))


@pytest.fixture
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def build_and_run(retain=False):
    """A small graph with views, reductions, a broadcast, an in-place step and a matmul; returns weak references to its
    values."""
    x = torch.ones(4, 3, requires_grad=True)
    w = torch.ones(3, 2, requires_grad=True)
    h = (x @ w).tanh()
    v = h[1:]
    z = (v * 2 + v.sum(0)).relu()
    z = z.clone()
    z[0].mul_(3)
    loss = (z**2).mean()
    loss.backward(retain_graph=retain)
    return [weakref.ref(t) for t in (h, v, z, loss)] + [
        weakref.ref(t.grad_fn) for t in (h, v, z, loss) if weakrefable(t.grad_fn)
    ]


def weakrefable(obj):
    try:
        weakref.ref(obj)
        return True
    except TypeError:
        return False


@pytest.mark.parametrize("retain", [False, True])
def test_a_graph_dies_with_its_last_reference_without_the_garbage_collector(collector_off, retain):
    references = build_and_run(retain)
    assert [r() for r in references] == [None] * len(references)


def test_backward_leaves_no_reference_cycles(collector_off):
    build_and_run()  # imports and caches of the first run
    gc.collect()
    build_and_run()
    assert gc.collect() == 0


def test_a_failed_backward_leaves_no_reference_cycles(collector_off):
    def fails():
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y.add_(1)
        try:
            y.sum().backward()
        except RuntimeError:
            pass

    fails()
    gc.collect()
    fails()
    assert gc.collect() == 0


def test_arrays_saved_for_backward_are_freed_by_backward(collector_off):
    x = torch.ones(1000, requires_grad=True)
    h = x * 2
    y = (h * h).sum()
    saved = weakref.ref(h)
    del h
    y.backward()
    assert saved() is None
    with pytest.raises(RuntimeError, match="already been freed"):
        assert y.grad_fn.next_functions[0][0]._saved_self is None


@same_as_torch
def test_a_gradient_does_not_alias_what_others_hold(torch):
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    (x + y).backward(torch.ones(2))
    x.grad.mul_(5)
    first = (x.grad.clone(), y.grad.clone())
    seed = torch.ones(2)
    z = torch.ones(2, requires_grad=True)
    (z + 0).backward(seed)
    z.grad.add_(1)
    return first, seed, z.grad
