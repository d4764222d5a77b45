"""What the compiled paths leave to be seen: results, histories, versions, and their lines in tracebacks."""

import linecache
import traceback

import numpy as np
import pytest

import autolab as torch


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


def test_what_a_leaf_gets_is_its_own():
    a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    g = np.array([3.0, 4.0], np.float32)
    for y in (a + b, (a * 1).reshape(2) + b, torch.sort(a)[0] + b):
        a.grad = b.grad = None
        y.backward(torch.from_numpy(g))
        a.grad.add_(100)
        assert b.grad.tolist() == [3, 4] and g.tolist() == [3, 4], "a.grad is nobody else's memory"
