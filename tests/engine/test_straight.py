"""The short cut for plain graphs gives what the general backward pass gives, to the last bit, and knows where it must not be taken."""
import numpy as np
import pytest

import autolab as torch
from autolab.engine import observe
from autolab.engine.autograd import straight


class Silent:
    """An observer that only watches: with it the general pass runs."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def network(seed):
    """Leaves and a loss whose graph has shared nodes, broadcasting, views and a leaf used many times."""
    rng = np.random.default_rng(seed)
    leaves = [torch.tensor(rng.normal(size=shape).astype("float32"), requires_grad=True) for shape in [(7,), (1,), (5, 7), (5, 1), ()]]
    made = list(leaves)
    for _ in range(30):
        a, b = (made[k] for k in rng.integers(0, len(made), 2))
        kind = rng.integers(0, 7)
        made.append(
            a + b if kind == 0 else a * b if kind == 1 else a - b if kind == 2 else torch.tanh(a) if kind == 3
            else (a**2).mean() if kind == 4 else a.sum() * b if kind == 5 else torch.sigmoid(a.reshape(-1)[:1])
        )
    return leaves, sum((torch.tanh(y).mean() for y in made[5:]), made[0].sum())


@pytest.mark.parametrize("seed", range(12))
def test_same_gradients_as_the_general_pass(seed):
    leaves, loss = network(seed)
    assert straight._plan(loss.grad_fn) is not None
    loss.backward(retain_graph=True)
    first = [leaf.grad.numpy().copy() if leaf.grad is not None else None for leaf in leaves]
    loss.backward()  # accumulates into what is there
    others, again = network(seed)
    with observe.watching(Silent()):
        again.backward(retain_graph=True)
        for leaf, found in zip(others, first):
            assert (leaf.grad is None) == (found is None)
            if found is not None:
                np.testing.assert_array_equal(leaf.grad.numpy(), found)
        again.backward()
    for leaf, other in zip(leaves, others):
        if other.grad is not None:
            np.testing.assert_array_equal(leaf.grad.numpy(), other.grad.numpy())
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_gradients_of_two_leaves_share_no_memory():
    a, b = (torch.zeros(3, requires_grad=True) for _ in range(2))
    (a + b).backward(torch.ones(3))
    a.grad[0] = 5
    assert b.grad.tolist() == [1, 1, 1]


def test_not_taken_where_somebody_may_look():
    def refused(change):
        x = torch.ones(3, requires_grad=True)
        y = change(x)
        return straight._plan(y.sum().grad_fn) is None

    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: g)
        return y

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def retained(x):
        y = x * 2
        y.retain_grad()
        return y

    def leaf_hook(x):
        x.register_hook(lambda g: g)
        return x * 2

    assert not refused(lambda x: x * 2)
    assert refused(hooked)
    assert refused(leaf_hook)
    assert refused(retained)
    assert refused(Twice.apply)
    assert refused(lambda x: x.unbind(0)[0])
    assert refused(lambda x: torch.max(x, 0).values)


def test_no_warnings_and_the_error_state_comes_back():
    before = np.geterr()
    x = torch.zeros(3, requires_grad=True)
    with np.errstate(all="raise"):
        torch.sqrt(x).sum().backward()
        assert np.geterr()["divide"] == "raise"
    assert np.geterr() == before
    assert x.grad.tolist() == [float("inf")] * 3


def test_a_changed_tensor_is_noticed():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    assert x.grad is None
