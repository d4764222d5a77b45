"""torch.func: grad, vjp, jacrev, hessian, vmap, functional_call — values,
nesting, structures, errors."""

import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch


def start(torch):
    x = torch.tensor([0.3, -0.5, 0.8], dtype=torch.float64)
    w = torch.tensor([[1.0, 2.0, -1.0], [0.5, -0.2, 0.3]], dtype=torch.float64)
    return x, w


def vector(x, w):
    return (w @ x).sin() * x[0]


@same_as_torch
def test_grad_and_value(torch):
    x, w = start(torch)
    f = torch.func
    scalar = lambda x, w: vector(x, w).sum()
    return (
        f.grad(scalar)(x, w),
        f.grad(scalar, argnums=(1, 0))(x, w),
        f.grad(scalar, argnums=-1)(x, w),
        f.grad(lambda d, k: (d["a"] * d["b"][0]).sum() * k)({"a": x, "b": (x * 2,)}, k=3.0),
        f.grad(f.grad(lambda t: t**4))(x[0]),
        f.grad(f.grad(f.grad(lambda t: t**4)))(x[0]),
        f.grad(lambda x: torch.ones(()) * 2)(x),
    )


@same_as_torch
def test_vjp(torch):
    x, w = start(torch)
    f = torch.func
    out, pull = f.vjp(vector, x, w)
    nested, pull_nested = f.vjp(lambda x: {"a": x.sin(), "b": [x.sum(), x * 2]}, x)
    v = torch.tensor([1.0, -2.0], dtype=torch.float64)
    return (
        out,
        pull(v),
        pull(v * 2),
        nested,
        pull_nested({"a": x, "b": [x.sum(), x]}),
        f.vmap(pull)(torch.eye(2, dtype=torch.float64)),
        error_of(lambda: pull(x)),
        error_of(lambda: f.vjp(lambda x: x, 3.0)),
    )


@same_as_torch
def test_jacobians(torch):
    x, w = start(torch)
    f = torch.func
    found = []
    for jacobian in (f.jacrev,):
        j = jacobian(lambda x: torch.outer(x, x[:2]))(x)
        found.append(
            (
                j,
                jacobian(vector)(x, w),
                jacobian(vector, argnums=(0, 1))(x, w),
                jacobian(vector, argnums=1)(x, w),
                jacobian(lambda x: (x * x, {"s": x.sum()}))(x),
                jacobian(lambda d: d["a"] * d["b"])({"a": x, "b": x * 2}),
                jacobian(lambda x: torch.ones(2, dtype=torch.float64))(x),
                jacobian(jacobian(torch.sin))(x),
                error_of(lambda: jacobian(torch.sin, argnums=1)(x)),
                jacobian(torch.sin).__name__,
            )
        )
    return (
        found,
        f.jacrev(vector, chunk_size=1)(x, w),
        f.jacrev(vector, chunk_size=3)(x, w),
        (error_of(lambda: f.jacrev(torch.sin)(torch.tensor([1, 2]))),),
    )


@same_as_torch
def test_hessian(torch):
    x, w = start(torch)
    f = torch.func
    scalar = lambda x, w: ((w @ x) ** 3).sum() + (x**2).sum()
    return (
        f.hessian(scalar)(x, w),
        f.hessian(scalar, argnums=(0, 1))(x, w),
        f.hessian(lambda x: x**3)(x),
        f.jacrev(f.jacrev(scalar))(x, w),
        f.vmap(f.hessian(lambda t: (t**4).sum()))(w),
        f.hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": x, "b": x + 1}),
    )


@same_as_torch
def test_vmap(torch):
    x, w = start(torch)
    f = torch.func
    torch.manual_seed(0)
    same = f.vmap(lambda t: torch.rand(2) + t[0] * 0, randomness="same")(w)
    return (
        same,
        f.vmap(torch.dot)(w, w),
        f.vmap(torch.mv, in_dims=(None, 0))(w, w),
        f.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(w),
        f.vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(w),
        f.vmap(
            lambda d, k=1: {"p": d["a"] + k, "q": (d["b"][0].sum(),)},
            in_dims=({"a": 0, "b": None},),
        )({"a": w, "b": [x]}, k=2),
        f.vmap(f.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(x, x),
        f.vmap(f.grad(lambda a: (a**2).sum()))(w),
        f.vmap(lambda a: a * 2, chunk_size=1)(w),
        f.vmap(lambda a: torch.ones(2))(w),
        torch.vmap(torch.sin)(x),
        error_of(lambda: f.vmap(torch.mul)(x, w)),
        error_of(lambda: f.vmap(lambda a: a, randomness="z")),
        error_of(lambda: f.vmap(lambda a: a * torch.rand(()))(x)),
    )


@same_as_torch
def test_errors_of_grad(torch):
    x, _ = start(torch)
    f = torch.func
    return (
        error_of(lambda: f.grad(lambda x: x)(x)),
        error_of(lambda: f.grad(lambda x: 3)(x)),
        error_of(lambda: f.grad(lambda x: x.sum())(3.0)),
        error_of(lambda: f.grad(lambda x: x.sum())(torch.tensor([1, 2]))),
        error_of(lambda: f.grad(lambda x: x.sum(), argnums=(0, 3))(x)),
    )


def network(torch):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


@same_as_torch
def test_functional_call(torch):
    net, f = network(torch), torch.func
    x = torch.tensor([[0.1, 0.2, 0.3], [1.0, -1.0, 0.5]])
    params = {name: p.detach() * 2 for name, p in net.named_parameters()}
    norm = torch.nn.BatchNorm1d(3)
    state = {name: b.clone() for name, b in norm.named_buffers()}
    loss = lambda p, a: (f.functional_call(net, p, a) ** 2).sum()
    tied = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    return (
        f.functional_call(net, params, x),
        f.functional_call(net, {"0.bias": torch.zeros(4)}, (x,)),
        f.functional_call(net, {"0.bias": torch.zeros(4)}, kwargs={"input": x}),
        net(x),
        f.grad(loss)(params, x),
        f.vmap(f.grad(loss), in_dims=(None, 0))(params, x),
        f.jacrev(lambda p: f.functional_call(net, p, x[0]))(params),
        f.functional_call(norm, state, x),
        state,
        dict(norm.named_buffers()),
        f.functional_call(tied, {"0.weight": torch.zeros(3, 3)}, x),
        error_of(lambda: f.functional_call(net, {"0.bias": 3}, x)),
        error_of(lambda: f.functional_call(net, {"0.bias": torch.zeros(5)}, x)),
        net(x),
    )


def test_errors_of_transforms_name_what_came():
    torch = oracle.engine()
    f, x, w = torch.func, torch.ones(3), torch.ones(2, 3)
    net = torch.nn.Linear(3, 3)
    _, pull = f.vjp(torch.sin, x)
    calls = {
        "structure of cotangents": lambda: pull((x, x)),
        "must be floating-point or complex Tensors, got Tensor with dtype": lambda: f.vjp(
            torch.argmax, x
        ),
        "got <class 'int'>": lambda: f.vjp(lambda x: (x, 3), x),
        "in_dims=\\(0, 0\\) is not compatible": lambda: f.vmap(torch.sin, (0, 0))(x),
        "in_dim=1 for an input of shape": lambda: f.vmap(torch.sin, 1)(x),
        "in_dim=0 for an input that is <class 'float'>": lambda: f.vmap(torch.mul)(x, 3.0),
        "at least one Tensor": lambda: f.vmap(torch.sin, (None,))(x),
        "must only return Tensors, got type <class 'int'>": lambda: f.vmap(lambda a: 3)(x),
        "no parameter or buffer `in_features`": lambda: f.functional_call(
            net, {"in_features": x}, w
        ),
        "has no attribute `7`": lambda: f.functional_call(net, {"7.bias": x}, w),
    }
    for message, call in calls.items():
        with pytest.raises((RuntimeError, ValueError, AttributeError), match=message):
            call()
