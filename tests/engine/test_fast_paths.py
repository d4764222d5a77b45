"""What the compiled paths leave to be seen: results, histories, versions, and their lines in tracebacks."""

import linecache
import traceback

import numpy as np
import pytest

import autolab as torch
from autolab.engine.fast import compiled
from autolab.engine.fast import straight


@pytest.mark.parametrize(
    "name, expected", [("add_", 3.5), ("sub_", 2.5), ("mul_", 1.5), ("div_", 6.0)]
)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,)], ids=str)
@pytest.mark.parametrize(
    "other", [0.5, torch.tensor(0.5), torch.tensor([0.5])], ids=["float", "0-d", "one element"]
)
def test_an_update_changes_the_same_memory_and_counts(name, expected, shape, other):
    x = torch.full(shape, 3.0, requires_grad=True)
    if shape == () and not isinstance(other, float) and other.ndim:
        with (
            torch.no_grad(),
            pytest.raises(
                RuntimeError,
                match=r"output with shape \[\] doesn't match the broadcast shape \[1\]",
            ),
        ):
            getattr(x, name)(other)
        assert x.item() == 3 and x._version == 0
        return
    shared = x.detach()
    with torch.no_grad():
        assert getattr(x, name)(other) is x
    assert (
        x.dtype is torch.float32
        and x.shape == shape
        and x.is_leaf
        and x.requires_grad
        and x.grad_fn is None
    )
    assert set(np.ravel(x.tolist())) == {expected}
    assert shared.tolist() == x.tolist(), "it is the same memory"
    assert x._version == 1


def test_an_update_that_backward_must_notice():
    w = torch.ones(1, requires_grad=True)
    y = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.5)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.backward()


def test_an_update_that_does_not_fit_changes_nothing():
    x = torch.ones(3)
    with torch.no_grad(), pytest.raises(RuntimeError, match="must match the size"):
        x.add_(torch.ones(2))
    with (
        torch.no_grad(),
        pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape \[2, 3\]"),
    ):
        x.add_(torch.ones(2, 3))
    assert x.tolist() == [1, 1, 1] and x._version == 0


@pytest.mark.parametrize(
    "a, b",
    [
        ((1,), (4,)),
        ((4,), (1,)),
        ((1,), (1, 1)),
        ((2, 1), (1, 3)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((1, 1), (0,)),
    ],
    ids=str,
)
def test_broadcasting_is_the_same_the_first_time_and_from_then_on(a, b):
    compiled._broadcasting.cache_clear()
    found = []
    for _ in range(2):
        x = torch.full(a, 2.0, requires_grad=True) * 1
        y = torch.full(b, 3.0, requires_grad=True) * 1
        x.retain_grad()
        y.retain_grad()
        z = x * y
        z.sum().backward()
        found.append((z.shape, x.grad.tolist(), y.grad.tolist(), x.grad.shape, y.grad.shape))
    shape = np.broadcast_shapes(a, b)
    n = int(np.prod(shape))
    assert found[0] == found[1] and found[0][0] == shape and found[0][3:] == (a, b)
    assert np.sum(found[0][1]) == 3 * n and np.sum(found[0][2]) == 2 * n


def test_not_every_pair_of_shapes_is_kept():
    assert compiled._broadcasting.cache_info().maxsize == 1024


@pytest.mark.compiled
def test_compiled_functions_show_their_lines_in_tracebacks():
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) + torch.ones(2)
    frames = [f for f in traceback.extract_tb(caught.tb) if f.filename.endswith(">")]
    assert [f.filename.rpartition("<")[2] for f in frames] == [
        "fast path of add>",
        "general path of add>",
    ]
    assert all(f.line.startswith("return slow(") for f in frames)
    linecache.checkcache()
    assert linecache.getline(frames[0].filename, 1) == "def call(a0, a1):\n", (
        "still there when files were looked for"
    )


@pytest.mark.compiled
def test_a_step_says_when_it_must_not_be_taken():
    x = torch.ones(2, requires_grad=True)
    y = torch.tanh(x)
    node, g = y.grad_fn, np.ones(2, np.float32)
    ((leaf, _),) = node.next_functions
    leaves = {}
    assert node.step(g, True, leaves, None) == (None, None)
    assert leaves[leaf].tolist() == pytest.approx([1 - np.tanh(1) ** 2] * 2)
    handle = y.register_hook(lambda g: g)
    assert node.step(g, True, {}, None) is None, "has hooks"
    handle.remove()
    assert leaf.step(g, True, {}, None) is None, "a leaf is no operation"
    assert not straight.backward(leaf, g, True) and x.grad is None, "nothing was done"


def step(y, g=(3.0, 4.0)):
    """(where the walk goes on behind `y`, what arrives there, what leaves got), with names for nodes and lists for
    arrays."""
    leaves = {}
    node, given = y.grad_fn.step(np.array(g, np.float32), True, leaves, None)
    listed = given if given is None or node is None else given.tolist()
    return (
        node and node.name(),
        listed,
        {leaf.variable: got.tolist() for leaf, got in leaves.items()},
    )


@pytest.mark.compiled
def test_where_a_step_sends_gradients():
    a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    c = torch.tensor([5.0, 6.0])
    assert step(-a) == (None, None, {a: [-3, -4]}), "to a leaf, and nowhere else"
    assert step(-torch.sin(a)) == ("SinBackward0", [-3, -4], {}), "to another node"
    assert step(torch.sin(a) - c) == ("SinBackward0", [3, 4], {}), "past what needs no gradient"
    assert step(torch.sin(a) - b) == ("SinBackward0", [3, 4], {b: [-3, -4]}), "to a node and a leaf"
    assert step(a * b) == (None, None, {a: [3, 8], b: [3, 8]}), "to two leaves"
    assert step(a * a) == (None, None, {a: [6, 16]}), "twice to one"
    y = a + 1
    assert step(y - y) == ("AddBackward0", [0, 0], {}), "twice to one node"
    left, right = a.split(1)
    node, out, _ = step(left * right, (3.0,))
    assert node is None and [g.tolist() for g in out] == [[6], [3]], (
        "two outputs of one node are not one"
    )
    node, out, leaves = step(torch.sin(a) * torch.cos(b))
    assert node is None and len(out) == 2 and leaves == {}, "two nodes: the walk cannot go on alone"
    a.register_hook(lambda g: None)
    node, (gradient,), leaves = step(-a)
    assert node is None and gradient.tolist() == [-3, -4] and leaves == {a: [-3, -4]}, (
        "the leaf has a hook to be called"
    )


def test_what_a_leaf_gets_is_its_own():
    a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    g = np.array([3.0, 4.0], np.float32)
    for y in (a + b, (a * 1).reshape(2) + b, torch.sort(a)[0] + b):
        a.grad = b.grad = None
        y.backward(torch.from_numpy(g))
        a.grad.add_(100)
        assert b.grad.tolist() == [3, 4] and g.tolist() == [3, 4], "a.grad is nobody else's memory"
