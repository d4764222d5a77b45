"""Gradients of gradients: create_graph, up to the third derivative, compared with PyTorch."""

import math
import random

import pytest
from engine_programs import random_expression, run_dag
from goldens import oracle
from goldens.oracle import check, error_of, same_as_torch
from hypothesis import given, settings
from hypothesis import strategies as st


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


@pytest.mark.parametrize("seed", range(40))
def test_three_derivatives_of_a_random_expression(seed):
    program = random_expression(random.Random(1000 + seed))
    check("test_autograd_higher", f"expression {seed}", derivatives(program), rtol=1e-8, atol=1e-8)


@pytest.mark.skipif(
    not oracle.LIVE,
    reason="draws new expressions: needs PyTorch itself; the 40 fixed ones are compared with stored answers",
)
@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_three_derivatives_of_any_expression(rng):
    program = random_expression(rng, steps=6)
    found, expected = (
        oracle.plain(derivatives(program)(oracle.engine())),
        oracle.answer("", "", derivatives(program)),
    )
    assert not oracle.differences(found, expected, rtol=1e-7, atol=1e-7), program


CLOSED_FORMS = {
    # function, its first three derivatives at 0.7
    "sin": (lambda t, x: t.sin(x), [math.cos(0.7), -math.sin(0.7), -math.cos(0.7)]),
    "exp": (lambda t, x: t.exp(x), [math.exp(0.7)] * 3),
    "log": (lambda t, x: t.log(x), [1 / 0.7, -1 / 0.7**2, 2 / 0.7**3]),
    "power": (lambda t, x: x**5, [5 * 0.7**4, 20 * 0.7**3, 60 * 0.7**2]),
    "reciprocal": (lambda t, x: 1 / x, [-1 / 0.7**2, 2 / 0.7**3, -6 / 0.7**4]),
    "sqrt": (lambda t, x: t.sqrt(x), [0.5 * 0.7**-0.5, -0.25 * 0.7**-1.5, 0.375 * 0.7**-2.5]),
    "sigmoid": (lambda t, x: t.sigmoid(x), None),
    "tanh": (lambda t, x: t.tanh(x), None),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_known_derivatives(name):
    f, expected = CLOSED_FORMS[name]
    if expected is None:
        s = 1 / (1 + math.exp(-0.7))
        u = math.tanh(0.7)
        expected = {
            "sigmoid": [
                s * (1 - s),
                s * (1 - s) * (1 - 2 * s),
                s * (1 - s) * (1 - 6 * s + 6 * s * s),
            ],
            "tanh": [1 - u * u, -2 * u * (1 - u * u), (1 - u * u) * (6 * u * u - 2)],
        }[name]
    torch = oracle.engine()
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    y, found = f(torch, x), []
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        found.append(y.item())
    assert found == pytest.approx(expected, rel=1e-12)


@same_as_torch
def test_the_graph_of_a_gradient_has_torchs_node_names(torch):
    x = torch.tensor([0.5, 0.8], requires_grad=True)

    def names(f):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        seen, todo = [], [g.grad_fn]
        while todo and len(seen) < 12:
            node = todo.pop(0)
            if node is not None:
                seen.append(node.name())
                todo += [n for n, _ in node.next_functions]
        return seen

    return [
        names(f)
        for f in (
            torch.sin,
            torch.exp,
            torch.tanh,
            torch.sigmoid,
            torch.log,
            torch.sqrt,
            lambda t: t * t,
            lambda t: t**3,
        )
    ]


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
def test_the_gradient_of_grad_outputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    (g,) = torch.autograd.grad(x**2, x, grad_outputs=v, create_graph=True)
    return g, torch.autograd.grad((g * torch.tensor([1.0, 10.0])).sum(), [x, v])


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
