"""Faults that random programs found, one test for each kind."""

import pytest
from goldens.oracle import check, error_of, same_as_torch


def derivative(torch, function, x, order):
    """The derivative of the given order, each time of a weighted sum of squares, so that none vanishes."""
    weights = torch.linspace(0.3, 1.7, x.numel(), dtype=x.dtype).reshape(x.shape)
    value = function(x).sum()
    for _ in range(order):
        (gradient,) = torch.autograd.grad(value, x, create_graph=True)
        value = (gradient.square() * weights).sum()
    return gradient


PARTS = {
    "glu": lambda t, x: t.nn.functional.glu(x, -1).exp(),
    "glu of three": lambda t, x: t.nn.functional.glu(x.view(2, 2, 2), -2).pow(3),
    "split": lambda t, x: (x.split([1, 3], -1)[1]).pow(4),
    "chunk": lambda t, x: (x.chunk(2, -1)[0] * x.chunk(2, -1)[1]).exp(),
    "unbind": lambda t, x: x.unbind(-1)[2].exp() * x.unbind(-1)[0].sin(),
    "cat": lambda t, x: t.cat([x, x.exp()], -1).pow(3),
    "stack": lambda t, x: t.stack([x.sin(), x], -1).pow(4),
}


@pytest.mark.parametrize("name", PARTS)
def test_higher_derivatives_along_a_dimension_counted_from_the_end(name):
    def ask(torch):
        start = torch.tensor([[0.3, -1.2, 0.7, 0.1], [0.9, 0.4, -0.6, 1.3]], dtype=torch.float64)
        x = start.requires_grad_()
        return [derivative(torch, lambda x: PARTS[name](torch, x), x, n) for n in (1, 2, 3)]

    check("test_found_by_use", f"derivatives of {name}", ask, rtol=1e-9)


@same_as_torch
def test_the_gradient_of_powers_of_zero(torch):
    x = torch.tensor([-3.0, -0.25, -0.0, 0.0, 4.0, float("nan")], requires_grad=True)
    found = []
    for base in (0, 0.0, -0.0):
        (base**x).sum().backward()
        found.append(x.grad)
        x.grad = None
    return found


@same_as_torch
def test_whole_ranges_with_limits_that_are_not_whole(torch):
    dtypes = (torch.uint8, torch.int16, torch.int32, torch.int64)
    limits = ((1, 4.5), (0.5, 7, 2), (0, 7, 1.5), (6, 0.5, -1.5), (-1.5, 2.5), (3, 3))
    return [
        torch.arange(*limit, dtype=dtype)
        for dtype in dtypes
        for limit in limits
        if dtype is not torch.uint8 or limit[0] >= 0
    ]


@same_as_torch
def test_limits_of_another_kind_than_the_tensor(torch):
    small = torch.tensor([0, 2, 200], dtype=torch.uint8)
    limits = ((2.0, -3), (-3, 150.0), (None, 2.5))
    found = [torch.clamp(small, *limit) for limit in limits]
    calls = [
        lambda: small.clamp_(max=1.5),
        lambda: torch.tensor([True]).clamp_(0, 3),
        lambda: torch.tensor([1], dtype=torch.int16).clamp_(0.5),
        lambda: torch.ones(2).clamp(0, torch.ones(2)),
        lambda: torch.ones(2).clamp(torch.zeros(1), 3.0),
    ]
    return found, [error_of(call) for call in calls]


@same_as_torch
def test_dtypes_by_the_names_of_cplusplus(torch):
    x, mask = torch.ones(2), torch.ones(2, dtype=torch.int16)
    calls = [
        lambda: torch.lerp(x, x.to(torch.int16), 0.5),
        lambda: torch.masked_fill(x, mask, 1.0),
        lambda: torch.masked_fill(x, mask.to(torch.uint8), 1.0),
        lambda: mask.cumsum_(0, dtype=torch.uint8),
        lambda: torch.addmm(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2).to(torch.int8)),
        lambda: torch.nn.functional.linear(x, torch.ones(2, 2, dtype=torch.int16)),
    ]
    return [error_of(call) for call in calls]
