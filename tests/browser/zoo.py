"""Recordings of everything that may happen to a graph: each must be shown, stepped through, and legible."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import autolab as torch
from autolab.trace import Recording
from autolab.widgets import FreezePanel


def twice() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    x.grad.zero_()


def changed_in_place() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def not_a_number() -> None:
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()


def two_outputs() -> None:
    x = torch.tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]], requires_grad=True)
    values, _ = x.max(dim=1)
    values.sum().backward()


def large() -> None:
    torch.manual_seed(0)
    w = torch.randn(20, 30, requires_grad=True)
    (torch.randn(5, 20) @ w).tanh().mean().backward()


def cut() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        k = x * 2
    d = (x * x).detach()
    z = d * x + k
    z.backward()


def failed_in_a_layer() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()),
        torch.nn.Sequential(torch.nn.Linear(2, 2)),
    )
    model(torch.ones(1, 2))


def handed_back() -> None:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    spare = (x * y).detach() * x
    slope_of_the_loss, none = torch.autograd.grad(x.exp().sum(), [x, y], allow_unused=True)
    assert spare.requires_grad and none is None and slope_of_the_loss is not None


def hooked() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    (y * y).backward()


def zero() -> None:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    (x * 0).sum().backward()


def without_gradients() -> None:
    torch.tensor([1, 2]) + torch.tensor([3, 4])


def network() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    loss = ((model(torch.randn(4, 3)) - torch.randn(4, 2)) ** 2).mean()
    loss.backward()


def trained() -> None:
    w, b = torch.tensor([2.0, -1.0], requires_grad=True), torch.tensor(0.5, requires_grad=True)
    optimizer = torch.optim.Adam([{"params": [w]}, {"params": [b], "lr": 0.5}], lr=0.1)
    for _ in range(2):
        (((w * 3).sum() + b) ** 2).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    with torch.no_grad():
        b -= 0.25 * w[0]
        w[1] = 4.0


CASES: list[Callable[[], None]] = [
    trained,
    twice,
    changed_in_place,
    not_a_number,
    two_outputs,
    large,
    cut,
    handed_back,
    failed_in_a_layer,
    hooked,
    zero,
    without_gradients,
    network,
]


def recorded(case: Callable[[], None]) -> Recording:
    with torch.record() as recording, contextlib.suppress(RuntimeError):
        case()
    return recording


def convolutions() -> FreezePanel:
    """A graph from a function; momentum, a leftover gradient, a gradient of zeros with weight decay, a stranger."""
    nn = torch.nn
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Conv2d(4, 4, 3, bias=False),
                          nn.BatchNorm2d(4, affine=False))  # fmt: skip
    model = nn.Sequential(layer, nn.Flatten(), nn.Linear(64, 3))
    optimizer = torch.optim.SGD(
        [*model.parameters(), torch.zeros(2, requires_grad=True)],
        lr=0.1,
        momentum=0.9,
        weight_decay=0.1,
    )
    forward = lambda: model(torch.randn(2, 1, 8, 8)).sum()
    forward().backward()
    optimizer.step()
    model[2].zero_grad()
    layer[0].zero_grad(set_to_none=False)
    return FreezePanel(model, optimizer, forward=forward)
