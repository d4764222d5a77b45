"""The short cut for plain graphs gives what the general backward pass gives, to the last bit, and knows where it must
not be taken."""

import numpy as np
import pytest

import autolab as torch
from autolab.engine.core import backward, differentiate, observe
from autolab.engine.fast import straight


class Silent:
    """An observer that only watches: with it the general pass runs."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


@pytest.fixture
def handed_over(monkeypatch):
    """How often the general pass had to finish what was begun here."""
    calls = []
    general = straight.execute
    monkeypatch.setattr(
        straight,
        "execute",
        lambda *args, **kwargs: (calls.append(args), general(*args, **kwargs))[1],
    )
    return calls


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y


def retained(x):
    y = x * 2
    y.retain_grad()
    x.kept = y
    return y


def leaf_hook(x):
    x.register_hook(lambda g: g * 3)
    return x * 2


def leaf_hook_after_other_leaves(x):
    w = torch.full((3,), 2.0, requires_grad=True)
    x.w = w
    y = torch.tanh(w * x) * w
    x.register_hook(lambda g: g * 3)
    return y


def hooked_behind_a_branch(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return torch.exp(y) + torch.tanh(y)


def node_hook(x):
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 3,))
    return torch.exp(y)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


WATCHED = [
    hooked, retained, leaf_hook, leaf_hook_after_other_leaves, hooked_behind_a_branch, node_hook, Twice.apply,
    lambda x: x.unbind(0)[0], lambda x: x.unbind(0)[0] * x.unbind(0)[2],
]  # fmt: skip


@pytest.mark.parametrize("of", WATCHED)
@pytest.mark.parametrize("before", [None, 10.0])
@pytest.mark.compiled
def test_hands_over_where_somebody_may_look(of, before, handed_over):
    def gradients():
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        if before is not None:
            x.grad = torch.full((3,), before)
        loss = (of(x).exp() * 2).sum()
        return x, loss

    x, loss = gradients()
    loss.backward()
    assert len(handed_over) == 1
    other, again = gradients()
    with observe.watching(Silent()):
        again.backward()
    assert len(handed_over) == 1
    assert x.grad.tolist() == other.grad.tolist()
    if hasattr(x, "w"):
        assert x.w.grad.tolist() == other.w.grad.tolist()
    if hasattr(x, "kept"):
        assert x.kept.grad.tolist() == other.kept.grad.tolist()
    with pytest.raises(RuntimeError, match="a second time|modified"):
        loss.backward()


def test_a_plain_graph_is_not_handed_over(handed_over):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    (torch.exp(y) * y + x).sum().backward()
    assert not handed_over
    assert x.grad.tolist() == pytest.approx([2 * np.exp(2) * 3 + 1] * 3)


@pytest.fixture
def gpu():
    return torch.ones(3, device="sim")


@pytest.mark.compiled
def test_a_tensor_on_a_device_concerns_its_own_graph_only(gpu, handed_over, monkeypatch):
    general = []
    monkeypatch.setattr(
        differentiate,
        "execute",
        lambda *args, **kwargs: general.append(args) or backward.execute(*args, **kwargs),
    )
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    y = torch.sin(x)
    (y * x)[0].backward()
    (x * x).backward(torch.ones(2))
    (x[0] * 3).backward()
    assert not handed_over and not general
    assert x.grad.tolist() == pytest.approx([2 + np.sin(1) + np.cos(1) + 2 + 3, 8])


@pytest.mark.compiled
def test_what_a_leaf_on_a_device_gets(gpu, handed_over):
    x, w = gpu.requires_grad_(), torch.ones(3, requires_grad=True)
    (w * x.cpu() + x.cpu()).sum().backward()
    assert len(handed_over) == 1
    assert (
        x.grad.device == x.device and x.grad.tolist() == [2, 2, 2] and w.grad.tolist() == [1, 1, 1]
    )


def test_after_an_error_leaves_that_had_everything_have_their_gradient():
    """As in PyTorch: `late` had all its contributions before the node failed, `early` and `both` had not."""
    early, both, late = (torch.ones(3, requires_grad=True) for _ in range(3))
    y = early * both
    z = torch.exp(y)
    total = (z * both * late).sum()
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    assert (early.grad, both.grad) == (None, None)
    assert late.grad.tolist() == pytest.approx([np.e] * 3)


"""Ops of several outputs, of which only the first has a gradient."""
