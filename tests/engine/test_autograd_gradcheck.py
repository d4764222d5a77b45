"""gradcheck and gradgradcheck: what they accept, what they find, and how they say it."""

import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch


def wrong(torch, factor=3.0, second=6.0):
    """x**2 with a wrong derivative (right: 2x and 2)."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            return factor * ctx.saved_tensors[0] * g

    return Wrong.apply


@same_as_torch
def test_the_message_of_a_wrong_backward(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return error_of(lambda: torch.autograd.gradcheck(wrong(torch), x)), torch.autograd.gradcheck(
        wrong(torch), x, raise_exception=False
    )


@same_as_torch
def test_a_scalar_a_matrix_and_several_inputs(torch):
    gradcheck = torch.autograd.gradcheck
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    c = torch.ones(2, dtype=torch.float64)
    return (
        gradcheck(lambda t: t.sin(), x),
        gradcheck(lambda t, m: (m @ m) * t, (x, a)),
        gradcheck(lambda m, k: m * k, (a, c)),
        gradcheck(lambda m: (m.sum(), m**2), (a,)),
        gradcheck(lambda m: m.t(), a),
        gradcheck(torch.nn.functional.relu, a),
    )


@same_as_torch
def test_what_it_refuses(torch):
    gradcheck = torch.autograd.gradcheck
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    calls = [
        lambda: gradcheck(lambda t: t * 2, torch.ones(2, dtype=torch.float64)),
        lambda: gradcheck(lambda t: t.detach(), x),
        lambda: gradcheck(lambda t: t.mul_(2), x),
        lambda: gradcheck(lambda t: t * 2, (x, 1.0)),
        lambda: gradcheck(lambda t: t > 0, x),
        lambda: gradcheck(lambda t: t.new_zeros(2), x),
    ]
    return [error_of(call) for call in calls]


@same_as_torch
def test_float32_warns_and_fails(torch):
    import warnings

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        passed = torch.autograd.gradcheck(lambda t: t**3, x, raise_exception=False)
    return passed, [str(w.message) for w in caught]


@same_as_torch
def test_gradgradcheck(torch):
    gradgradcheck = torch.autograd.gradgradcheck
    x = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)

    class WrongTwice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0].detach() ** 2 * g

    return (
        gradgradcheck(lambda t: t**3, x),
        gradgradcheck(
            lambda t: t.sigmoid(), x, torch.ones(2, dtype=torch.float64, requires_grad=True)
        ),
        gradgradcheck(WrongTwice.apply, x, raise_exception=False),
        torch.autograd.gradcheck(WrongTwice.apply, x),
    )


@pytest.mark.parametrize(
    "option", ["fast_mode", "check_forward_ad", "check_batched_grad", "masked"]
)
def test_options_that_are_refused(option):
    torch = oracle.engine()
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(torch.sin, x, **{option: False})
        with pytest.raises(NotImplementedError, match=f"argument '{option}' is not supported"):
            check(torch.sin, x, **{option: True})


@pytest.mark.parametrize(
    "factor, passes", [(2.0, True), (2.0 + 1e-2, False), (-2.0, False), (0.0, False)]
)
def test_it_tells_right_from_wrong(factor, passes):
    torch = oracle.engine()
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(wrong(torch, factor), x, raise_exception=False) is passes
    assert x.grad is None


def test_a_backward_that_is_not_deterministic_is_found():
    torch = oracle.engine()
    calls = []

    class Fickle(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(0)
            return g * (1 + 1e-7 * len(calls))

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(Exception, match="not reentrant"):
        torch.autograd.gradcheck(Fickle.apply, x)
    assert torch.autograd.gradcheck(Fickle.apply, x, nondet_tol=1e-3)
