"""Lazy layers: what they are before and after the first forward, their numbers, state dicts, copies, errors; the same
programs run on PyTorch."""

import re

import pytest
from goldens.oracle import engine, error_of, same_as_torch

torch = engine()
nn = torch.nn
ours = pytest.mark.skipif(torch.__name__ != "autolab", reason="what PyTorch has not")

BEFORE = """\
Sequential(
  (0): LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))
  (1): LazyBatchNorm2d(0, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
  (2): ReLU()
  (3): Flatten(start_dim=1, end_dim=-1)
  (4): LazyLinear(in_features=0, out_features=5, bias=True)
  (5): Linear(in_features=5, out_features=5, bias=True)
  (6): LazyLinear(in_features=0, out_features=2, bias=False)
)"""
AFTER = """\
Sequential(
  (0): Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))
  (1): BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
  (2): ReLU()
  (3): Flatten(start_dim=1, end_dim=-1)
  (4): Linear(in_features=64, out_features=5, bias=True)
  (5): Linear(in_features=5, out_features=5, bias=True)
  (6): Linear(in_features=5, out_features=2, bias=False)
)"""


def network(t):
    lazy = t.nn
    layers = (
        lazy.LazyConv2d(4, 3),
        lazy.LazyBatchNorm2d(),
        lazy.ReLU(),
        lazy.Flatten(),
        lazy.LazyLinear(5),
    )
    return lazy.Sequential(*layers, lazy.Linear(5, 5), lazy.LazyLinear(2, bias=False))


def images(t):
    return (t.arange(216, dtype=t.float32).reshape(2, 3, 6, 6) / 50).sin()


def told(action):
    """The error without the addresses in it."""
    return re.sub(r"0x[0-9a-f]+", "0x", error_of(action))


def test_repr_and_class():
    net = network(torch)
    assert repr(net) == BEFORE
    net(images(torch))
    assert repr(net) == AFTER
    assert [type(m) for m in net if hasattr(m, "weight")] == [
        nn.Conv2d,
        nn.BatchNorm2d,
        nn.Linear,
        nn.Linear,
        nn.Linear,
    ]


LAYERS = {
    "LazyLinear": (lambda l: l(3), (2, 5)),
    "LazyLinear, more dimensions": (lambda l: l(3, False), (2, 4, 5)),
    "LazyLinear, one row": (lambda l: l(3), (5,)),
    "LazyConv2d, groups": (lambda l: l(4, 3, 2, 1, 2, 2, False), (2, 6, 9, 9)),
    "LazyConv2d": (lambda l: l(4, (3, 2), padding="same", padding_mode="reflect"), (2, 3, 5, 5)),
    "LazyConv2d, alone": (lambda l: l(2, 1), (3, 5, 5)),
    "LazyBatchNorm1d": (lambda l: l(), (4, 3)),
    "LazyBatchNorm1d, plain": (lambda l: l(1e-3, None, False, False), (4, 3, 2)),
    "LazyBatchNorm2d": (lambda l: l(bias=False, momentum=None), (2, 3, 4, 4)),
    "LazyBatchNorm2d, batches only": (lambda l: l(track_running_stats=False), (2, 3, 2, 2)),
}


@same_as_torch
def test_every_layer(t):
    """Text, parameters, result, gradients, and the state of the random stream after the first forward."""
    found = []
    for name, (make, shape) in LAYERS.items():
        t.manual_seed(3)
        layer = make(getattr(t.nn, name.split(",")[0]))
        before = [
            repr(layer),
            t.rand(1),
            type(layer).__name__,
        ]
        x = t.linspace(-1, 2, t.empty(shape).numel()).reshape(shape).cos().requires_grad_()
        y = layer(x)
        after = [
            repr(layer),
            type(layer).__name__,
            y,
            y.grad_fn.name(),
            t.rand(1),
            dict(layer.state_dict()),
        ]
        if len(shape) > 1:
            (y * y).sum().backward()
            after += [
                x.grad.shape,
                [
                    (n, p.requires_grad, type(p).__name__, p.grad.shape)
                    for n, p in layer.named_parameters()
                ],
            ]
        found.append([name, before, after, len(layer._forward_pre_hooks)])
    return found


@same_as_torch
def test_errors_of_the_first_forward(t):
    nn, ones = t.nn, t.ones
    found = [
        told(lambda: nn.LazyLinear(2)(t.tensor(1.0))),
        told(lambda: nn.LazyLinear(2)(ones(1, 3, dtype=t.int64))),
        told(lambda: nn.LazyBatchNorm1d()(ones(3))),
        told(lambda: nn.LazyBatchNorm1d()(ones(3, 2, 2, 2))),
        told(lambda: nn.LazyBatchNorm2d()(ones(3, 2, 2))),
        told(lambda: nn.LazyConv2d(2, 1)(ones(3, 2))),
        told(lambda: nn.LazyConv2d(4, 1, groups=2)(ones(1, 3, 2, 2))),
        told(lambda: nn.LazyConv2d(3, 1, groups=0)),
        told(lambda: nn.LazyLinear()),
        told(lambda: nn.LazyLinear(2, 3, foo=1)),
    ]
    layer = nn.LazyLinear(2)
    layer(input=ones(1, 3))
    return [*found, told(lambda: layer(ones(1, 4)))]


def test_a_first_forward_that_fails_half_way():
    net = network(torch)
    assert error_of(lambda: net(torch.ones(2, 3, 2, 2))).startswith(
        "RuntimeError: Calculated padded input size per channel: (2 x 2)"
    )
    assert [type(m).__name__ for m in net[:2]] == ["Conv2d", "LazyBatchNorm2d"]
    net(images(torch))
    assert repr(net) == AFTER


@ours
def test_state_dicts_need_shapes():
    """PyTorch saves and loads layers without a shape; here the error says what to do first."""
    for action in (
        nn.LazyLinear(3).state_dict,
        lambda: nn.LazyLinear(3).load_state_dict(nn.Linear(2, 3).state_dict()),
    ):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            action()
        assert "call the network once" in caught.value.__notes__[0]


@same_as_torch
def test_dtypes(t):
    nn = t.nn
    found = []
    changes = [lambda m: m.double(), lambda m: m.half(), lambda m: m.float(), lambda m: m.cpu()]
    for change in (*changes, lambda m: m.to(t.float64), lambda m: m.to(t.ones(1).double())):
        layer = change(nn.LazyBatchNorm1d())
        found.append(
            [
                repr(layer.weight),
                layer.weight.dtype,
                layer.running_mean.dtype,
                layer.num_batches_tracked.dtype,
            ]
        )
    layer = nn.LazyLinear(2).double()
    t.manual_seed(0)
    found += [
        layer(t.ones(1, 2, dtype=t.float64)),
        layer.weight,
        nn.LazyLinear(2, dtype=t.float64).weight.dtype,
    ]
    return [*found, nn.LazyLinear(2).zero_grad()]
