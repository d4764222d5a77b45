"""Activation checkpointing: PyTorch's gradients, errors and number of recomputations; less memory than without."""

import weakref

import pytest
from goldens.oracle import ENGINE, engine, error_of, same_as_torch

torch = engine()
ours = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own")


def network(t, dropout=0.0):
    t.manual_seed(0)
    nn = t.nn
    return nn.Sequential(
        nn.Linear(3, 8),
        nn.Tanh(),
        nn.Dropout(dropout),
        nn.Linear(8, 8),
        nn.Sigmoid(),
        nn.Linear(8, 2),
    )


def grads(t, run, dropout=0.0):
    """Loss and all gradients of `run(network, input)`; what is drawn from the random stream afterwards."""
    m = network(t, dropout)
    x = t.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
    loss = run(m, x).pow(2).sum()
    loss.backward()
    return [loss, x.grad, [p.grad for p in m.parameters()], t.rand(2)]


@same_as_torch
def test_gradients_are_those_without(t):
    ck = t.utils.checkpoint
    ways = {
        "without": lambda m, x: m(x),
        "whole": lambda m, x: ck.checkpoint(m, x, use_reentrant=False),
        "part": lambda m, x: m[3:](ck.checkpoint(m[:3], x, use_reentrant=False)),
        "nested": lambda m, x: ck.checkpoint(
            lambda y: m[3:](ck.checkpoint(m[:3], y, use_reentrant=False)), x, use_reentrant=False
        ),
    }
    result = {name: grads(t, way) for name, way in ways.items()}
    result["dropout"] = {name: grads(t, ways[name], 0.5) for name in ways}
    return result


@same_as_torch
def test_how_often_it_runs(t):
    ck, runs = t.utils.checkpoint, []

    def f(x, scale=1.0):
        runs.append(t.is_grad_enabled())
        return (x.exp() * scale).sin()

    def count(action):
        runs.clear()
        return [action(), list(runs)]

    x = t.tensor([0.5, 1.0], requires_grad=True)
    y = ck.checkpoint(f, x, use_reentrant=False, scale=2.0)
    twice = count(lambda: (y.sum().backward(retain_graph=True), y.sum().backward(), x.grad)[-1])
    with t.no_grad():
        quiet = count(lambda: ck.checkpoint(f, x, use_reentrant=False))
    return {
        "twice": twice,
        "no_grad": quiet,
        "grad": count(
            lambda: t.autograd.grad(ck.checkpoint(f, x, use_reentrant=False).sum(), x)[0]
        ),
        "second": count(
            lambda: t.autograd.grad(
                t.autograd.grad(
                    ck.checkpoint(f, x, use_reentrant=False).sum(), x, create_graph=True
                )[0].sum(),
                x,
            )[0]
        ),
        "list": count(
            lambda: t.autograd.grad(
                ck.checkpoint(lambda xs: f(xs[0]), [x], use_reentrant=False).sum(), x
            )[0]
        ),
    }


@same_as_torch
def test_errors(t):
    ck = t.utils.checkpoint
    x = t.tensor([0.5, 1.0], requires_grad=True)

    def changed():
        y = x * 1
        z = ck.checkpoint(lambda a: a.exp() * 2, y, use_reentrant=False)
        y.add_(1)
        z.sum().backward()

    return {
        "inplace": error_of(changed).partition(" is at version")[0],
        "inside": error_of(lambda: ck.checkpoint(lambda a: 1 / 0, x, use_reentrant=False)),
        "freed": error_of(
            lambda: [
                y := ck.checkpoint(t.exp, x, use_reentrant=False),
                *[y.sum().backward() for _ in "12"],
            ]
        ),
    }


@ours
def test_inner_tensors_are_not_kept():
    """Bytes that the graph keeps for backward: counted where they are stored, through weak references to them."""
    kept = []

    def block(x):
        for _ in range(10):
            x = (x * 1.5).tanh()
            kept.append(weakref.ref(x._array if x._array.base is None else x._array.base))
        return x

    x = torch.randn(100_000, requires_grad=True)
    for use, expected in ((False, 10), (True, 1)):
        kept.clear()
        y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if use else block(x)
        assert sum(reference() is not None for reference in kept) == expected
        y.sum().backward()
    del y


@ours
@pytest.mark.parametrize("option", ["debug", "context_fn", "determinism_check", "early_stop"])
def test_options_that_are_refused(option):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match=f"argument '{option}' is not supported"):
        torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False, **{option: True})


@ours
def test_the_older_variant_is_refused():
    with pytest.raises(NotImplementedError, match="use_reentrant") as caught:
        torch.utils.checkpoint.checkpoint(torch.exp, torch.ones(2), use_reentrant=True)
    assert "use_reentrant=False" in caught.value.__notes__[0]


@ours
@pytest.mark.parametrize(
    "what", ["different metadata", "recomputing saved 1 tensors, the original"]
)
def test_another_result_of_recomputing_is_an_error(what):
    runs, x = [], torch.tensor([0.5, 1.0], requires_grad=True)

    def f(x):
        runs.append(0)
        if len(runs) == 1:
            return x.exp().sum() if "metadata" in what else x.exp().sin().sum()
        return x[:1].exp().sum()

    y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    with pytest.raises(torch.utils.checkpoint.CheckpointError, match=what):
        y.backward()
