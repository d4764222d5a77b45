"""no_grad, enable_grad, set_grad_enabled, inference_mode: as blocks and decorators, nested, in generators, per
thread."""

import threading
import warnings

import numpy as np
import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch


@same_as_torch
def test_nesting(torch):
    x = torch.ones(2, requires_grad=True)
    log = [torch.is_grad_enabled()]
    with torch.no_grad():
        log.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        with torch.enable_grad():
            log.append((torch.is_grad_enabled(), (x * 2).requires_grad))
            with torch.set_grad_enabled(False):
                log.append((torch.is_grad_enabled(), (x * 2).requires_grad))
            log.append(torch.is_grad_enabled())
        log.append(torch.is_grad_enabled())
    return log, torch.is_grad_enabled()


@same_as_torch
def test_decorators_with_and_without_parentheses(torch):
    x = torch.ones(2, requires_grad=True)
    log = []
    for mode in (
        torch.no_grad,
        torch.no_grad(),
        torch.enable_grad,
        torch.enable_grad(),
        torch.inference_mode,
        torch.inference_mode(),
        torch.inference_mode(False),
        torch.set_grad_enabled(False),
        torch.set_grad_enabled(True),
    ):

        @mode
        def f(t, *, k=2):
            """What f does."""
            return t * k, torch.is_grad_enabled()

        torch.set_grad_enabled(True)
        y, *flags = f(x, k=3)
        log.append((y.requires_grad, flags, f.__name__, f.__doc__, torch.is_grad_enabled()))
    return log


@same_as_torch
def test_the_mode_is_restored_after_an_error_and_a_return(torch):
    @torch.no_grad()
    def fails():
        raise ValueError("inside")

    @torch.no_grad()
    def recurses(n):
        return torch.is_grad_enabled() if n == 0 else recurses(n - 1)

    return error_of(fails), torch.is_grad_enabled(), recurses(5), torch.is_grad_enabled()


@pytest.mark.parametrize("kind", ["class", "generator function"])
def test_what_cannot_be_decorated(kind):
    torch = oracle.engine()

    def generator():
        yield 1

    with pytest.raises(TypeError, match="decorates functions, not classes or generator functions"):
        torch.no_grad()(generator if kind != "class" else type("C", (), {}))


@same_as_torch
def test_set_grad_enabled_as_a_function(torch):
    torch.set_grad_enabled(False)
    off = torch.is_grad_enabled(), (torch.ones(1, requires_grad=True) * 2).requires_grad
    torch.set_grad_enabled(True)
    return off, torch.is_grad_enabled()


@same_as_torch
def test_creation_and_leaf_flags_under_no_grad(torch):
    with torch.no_grad():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y.requires_grad_()
        v = x.view(2)
    return (
        x.requires_grad,
        y is z,
        z.is_leaf,
        z.requires_grad,
        v.requires_grad,
        v._is_view(),
        error_of(lambda: v.add_(1)),
    )


@same_as_torch
def test_nothing_is_recorded_in_inference_mode(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y, v = x * 2, x[0]
        y.add_(1)
        inside = torch.is_grad_enabled(), y.requires_grad, v.requires_grad, y.is_leaf
        with torch.inference_mode(False):
            again = (x * 2).requires_grad
    with torch.no_grad(), torch.inference_mode(False):
        recorded = (x * 2).requires_grad
    w = torch.ones(2, requires_grad=True)
    return inside, again, recorded, y.clone(), (y * 2).requires_grad, (w * y.clone()).requires_grad


@same_as_torch
def test_backward_under_no_grad_still_computes(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**2).sum()
    with torch.no_grad():
        y.backward()
    return x.grad, x.grad.requires_grad


def test_the_mode_belongs_to_the_thread():
    torch = oracle.engine()
    seen = {}

    def other():
        seen["start"] = torch.is_grad_enabled()
        with torch.no_grad():
            entered.set()
            go_on.wait(5)
            seen["inside"] = torch.is_grad_enabled()
        seen["after"] = torch.is_grad_enabled()

    entered, go_on = threading.Event(), threading.Event()
    with torch.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(5)
    seen["main"] = torch.is_grad_enabled()
    go_on.set()
    thread.join(5)
    assert seen == {"start": True, "inside": False, "after": True, "main": True}


@same_as_torch(only_cpu="NumPy reads host memory only")
def test_numbers_of_a_tensor_that_requires_grad_go_to_numpy_where_nothing_is_recorded(torch):
    makers = {
        "leaf": lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        "result": lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 2,
        "view": lambda: torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).T[1],
    }
    modes = [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.set_grad_enabled(False),
        torch.enable_grad,
    ]
    ways = [
        lambda t: t.numpy(),
        lambda t: np.asarray(t),
        lambda t: np.array(t, dtype="float64"),
        lambda t: np.stack([t, t]),
        lambda t: np.sin(t),
        lambda t: t.tolist(),
        lambda t: torch.from_numpy(t.numpy()).requires_grad,
    ]

    def outcome(make, mode, way):
        t = make()
        with warnings.catch_warnings(), mode():
            warnings.simplefilter("ignore")
            try:
                found = way(t)
            except RuntimeError as error:
                return str(error)
        return found.tolist() if hasattr(found, "tolist") else found

    def shared():
        w = torch.zeros(3, requires_grad=True)
        with torch.no_grad():
            w.numpy()[1] = 5.0
        return w

    return [
        (name, outcome(make, mode, way))
        for name, make in makers.items()
        for mode in modes
        for way in ways
    ], shared()
