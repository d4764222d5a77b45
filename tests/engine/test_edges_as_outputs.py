"""A GradientEdge stands for a result where backward begins, as in PyTorch."""

import pytest
from goldens.oracle import same_as_torch

import autolab as torch


@same_as_torch
def test_backward_begins_at_an_edge_as_in_pytorch(torch):
    edge = torch.autograd.graph.get_gradient_edge
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    big = torch.ones(9, 9, requires_grad=True)
    low, high = torch.tensor([[3.0, 1.0]], requires_grad=True).chunk(2, 1)
    calls = [
        lambda: torch.autograd.grad(edge(z), x, retain_graph=True),
        lambda: torch.autograd.grad([edge(z), y], [x], [None, torch.ones(2)], retain_graph=True),
        lambda: torch.autograd.grad(edge(y), x, torch.tensor([1.0, 3.0]), retain_graph=True),
        lambda: torch.autograd.grad(
            edge(y), x, torch.ones(2, dtype=torch.float64), retain_graph=True
        ),
        lambda: torch.autograd.grad(edge(x), x, torch.ones(2), retain_graph=True),
        lambda: torch.autograd.grad(edge(z), edge(y), retain_graph=True),
        lambda: torch.autograd.grad(edge(y), x, retain_graph=True),
        lambda: torch.autograd.grad(edge(x), x, retain_graph=True),
        lambda: torch.autograd.grad(edge(y), x, torch.ones(3), retain_graph=True),
        lambda: torch.autograd.grad(edge(big @ big), big),
        lambda: torch.autograd.grad(edge(big @ big), big, torch.ones(9)),
        lambda: torch.autograd.grad(edge(high), edge(low), torch.ones(1, 1), allow_unused=True),
        lambda: torch.autograd.backward(edge(z), retain_graph=True) or x.grad,
        lambda: torch.autograd.backward([edge(z)], torch.tensor(2.0), retain_graph=True) or x.grad,
    ]
    said = []
    for call in calls:
        try:
            said.append(str(call()))
        except RuntimeError as error:
            said.append(str(error).splitlines()[0])
    return said


def test_what_a_node_does_not_know_is_asked_for():
    parts = torch.tensor([[3.0, 1.0]], requires_grad=True).chunk(2, 1)
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.grad(torch.autograd.graph.get_gradient_edge(parts[1]), parts[0])
    assert "pass its gradient" in "".join(caught.value.__notes__)


def test_a_recording_begins_at_an_edge():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as recording:
        y = (x * x).sum()
        torch.autograd.backward(torch.autograd.graph.get_gradient_edge(y))
    assert [frame.event for frame in recording.trace().frames if frame.phase == "backward"][
        0
    ] == "seed"
    assert x.grad.tolist() == [2, 4]
