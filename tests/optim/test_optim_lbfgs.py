"""L-BFGS: PyTorch's path, its number of evaluations, its state."""

import pytest
from goldens.oracle import check, error_of, same_as_torch


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def valley(x):
    return (x**4).sum() + (x * x.roll(1, 0)).sum() - x.sum()


PROBLEMS = {
    "valley": (valley, {"lr": 0.1}),
    "valley of few evaluations": (valley, {"lr": 0.1, "max_iter": 7, "max_eval": 4}),
    "valley of short memory": (valley, {"lr": 0.05, "history_size": 2, "max_iter": 9}),
    "valley wolfe": (valley, {"line_search_fn": "strong_wolfe"}),
    "rosenbrock wolfe": (rosenbrock, {"line_search_fn": "strong_wolfe", "max_iter": 10}),
    "rosenbrock wolfe short memory": (
        rosenbrock,
        {"line_search_fn": "strong_wolfe", "history_size": 3},
    ),
    "rosenbrock wolfe long step": (
        rosenbrock,
        {"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 4},
    ),
    "rosenbrock wolfe no room": (
        rosenbrock,
        {"line_search_fn": "strong_wolfe", "max_iter": 5, "max_eval": 3},
    ),
    "tolerance": (valley, {"tolerance_grad": 0.5, "line_search_fn": "strong_wolfe"}),
    "change": (valley, {"tolerance_change": 0.5, "lr": 0.1}),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_path(name):
    function, settings = PROBLEMS[name]

    def program(t):
        a = t.nn.Parameter(t.tensor([-1.2, 1.0], dtype=t.float64))
        b = t.nn.Parameter(t.tensor([[0.5, -0.7]], dtype=t.float64))
        optimizer = t.optim.LBFGS([a, b], **settings)
        losses = []

        def closure():
            optimizer.zero_grad()
            loss = function(t.cat([a, b.view(-1)]))
            loss.backward()
            losses.append(loss.item())
            return loss

        returned = [optimizer.step(closure).item() for _ in range(4)]
        return [a, b, losses, returned, dict(sorted(optimizer.state[a].items()))]

    check("test_optim_lbfgs", name, program, rtol=1e-5, atol=1e-7)


@same_as_torch(rtol=2e-6)
def test_a_parameter_without_gradient_counts_as_zero(t):
    a, b = t.nn.Parameter(t.tensor([2.0, 3.0])), t.nn.Parameter(t.ones(2))
    optimizer = t.optim.LBFGS([a, b], lr=0.5, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with t.no_grad():
        first = optimizer.step(closure)
    return [first, a, b, optimizer.state_dict()["state"][0]["n_iter"]]


@same_as_torch
def test_errors(t):
    p = t.nn.Parameter(t.ones(1))

    def closure():
        loss = (p * p).sum()
        loss.backward()
        return loss

    return {
        "groups": error_of(
            lambda: t.optim.LBFGS([{"params": [p]}, {"params": [t.nn.Parameter(t.ones(1))]}])
        ),
        "line search": error_of(lambda: t.optim.LBFGS([p], line_search_fn="armijo").step(closure)),
        "no closure": error_of(lambda: t.optim.LBFGS([p]).step()),
    }
