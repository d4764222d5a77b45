"""autograd.functional: jacobian, hessian — values, structure, create_graph, errors."""

import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch


def inputs(torch, **options):
    return (
        torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, **options),
        torch.tensor([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]], dtype=torch.float64, **options),
    )


def vector(x, w):
    return (w * x).sin().sum(1)


def scalar(x, w):
    return ((w @ x) ** 3).sum() + (x**2).sum()


@same_as_torch
def test_jacobian_structures(torch):
    jacobian = torch.autograd.functional.jacobian
    x, w = inputs(torch)
    return (
        jacobian(vector, (x, w)),
        jacobian(lambda x, w: (vector(x, w), x.sum()), (x, w)),
        jacobian(lambda x: (x * 2, x[:1]), x),
        jacobian(lambda x: x.sum(), x),
        jacobian(lambda x: x.reshape(3, 1) * x, x),
    )


@same_as_torch
def test_jacobian_create_graph_and_vectorize(torch):
    jacobian = torch.autograd.functional.jacobian
    x, w = inputs(torch, requires_grad=True)
    j = jacobian(lambda x: x**3, x, create_graph=True)
    constant = lambda x: torch.ones(2, dtype=torch.float64)
    return (
        j,
        j.requires_grad,
        torch.autograd.grad(j.diagonal().sum(), x),
        jacobian(lambda x: x**3, x).requires_grad,
        jacobian(lambda x: x**2, x, vectorize=True),
        jacobian(constant, x),
        error_of(lambda: jacobian(lambda x: 5, x)),
        error_of(lambda: jacobian(lambda x: x, 5)),
        x.grad,
    )


@same_as_torch
def test_hessian(torch):
    hessian = torch.autograd.functional.hessian
    x, w = inputs(torch)
    return (
        hessian(lambda x: scalar(x, w), x),
        hessian(scalar, (x, w)),
        error_of(lambda: hessian(lambda x: x * 2, x)),
        hessian(lambda x: x.sum(), x),
        hessian(lambda x: x.sum() ** 1, x[0]),
    )


@pytest.mark.parametrize(
    "name, options",
    [(name, {"strict": True}) for name in ("jacobian", "hessian")]
    + [("jacobian", {"strategy": "forward-mode"})],
)
def test_options_that_are_refused(name, options):
    torch = oracle.engine()
    with pytest.raises(NotImplementedError, match=f"argument '{[*options][0]}' is not supported"):
        getattr(torch.autograd.functional, name)(lambda x: x**2, torch.ones(()), **options)


@same_as_torch
def test_inputs_are_left_as_they_were(torch):
    x, w = inputs(torch, requires_grad=True)
    y = x * 2
    j = torch.autograd.functional.jacobian(lambda t: t**2, y)
    return (
        x.grad,
        y.requires_grad,
        y.grad_fn.name(),
        j,
        j.requires_grad,
        torch.autograd.functional.jacobian(lambda t: t.exp(), y, create_graph=True).requires_grad,
    )
