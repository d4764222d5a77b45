"""Gradients of gradients: create_graph, up to the third derivative, compared with PyTorch."""

import random

import pytest
from engine_programs import random_expression, run_dag
from goldens.oracle import check, error_of, same_as_torch


def derivatives(program, order=3):
    """The question: value and all partial derivatives along (x, y) alternately, up to `order`, in float64."""

    def ask(torch):
        x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64, requires_grad=True)
        y = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)
        value = run_dag(torch, program, [x, y])[-1].sum()
        out = [value]
        for k in range(order):
            if not value.requires_grad:
                break
            gx, gy = torch.autograd.grad(value, [x, y], create_graph=True, materialize_grads=True)
            out += [gx, gy]
            value = (gx.sum() if k % 2 else gx[0] * 2 + gx[2]) + gy
        return out

    return ask


@pytest.mark.parametrize("seed", range(20))
def test_three_derivatives_of_a_random_expression(seed):
    program = random_expression(random.Random(1000 + seed))
    check("test_autograd_higher", f"expression {seed}", derivatives(program), rtol=1e-8, atol=1e-8)


@same_as_torch
def test_a_gradient_without_create_graph_has_no_graph(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(x**3, x)
    return g.requires_grad, g.grad_fn, error_of(lambda: torch.autograd.grad(g, x))


@same_as_torch
def test_create_graph_keeps_the_first_graph(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return (
        torch.autograd.grad(y, x, retain_graph=True),
        torch.autograd.grad(g, x),
        error_of(lambda: torch.autograd.grad(y, x)),
    )


@same_as_torch
def test_a_gradient_penalty_trains(torch):
    torch.manual_seed(0)
    w = torch.randn(4, 3, requires_grad=True)
    x = torch.randn(5, 3, requires_grad=True)
    out = torch.tanh(x @ w.t()).sum(1)
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    penalty = ((g.norm(dim=1) - 1) ** 2).mean()
    penalty.backward()
    return penalty, w.grad, x.grad


@same_as_torch
def test_hooks_take_part_in_the_second_derivative(torch):
    x = torch.tensor(2.0, requires_grad=True)
    h = x**2
    h.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(h * 3, x, create_graph=True)
    return g, torch.autograd.grad(g, x)


@same_as_torch
def test_double_backward_through_views_broadcasts_and_reductions(torch):
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    b = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = ((x.t()[1:] * b[1:, None]).exp().mean(0) ** 2 + x[:, ::2].sum(1)).prod()
    gx, gb = torch.autograd.grad(y, [x, b], create_graph=True)
    return gx, gb, torch.autograd.grad((gx**2).sum() + gb.sum(), [x, b])
