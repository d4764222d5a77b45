"""Initial values: the same seed gives PyTorch's numbers, bit for bit; gains; clipping and vectors of parameters."""

import math

import pytest
from goldens.oracle import check, engine, same_as_torch

torch = engine()
INITIAL = {
    "uniform_": lambda t, i, x: i.uniform_(x, -1, 2),
    "normal_": lambda t, i, x: i.normal_(x, 1, 0.5),
    "trunc_normal_": lambda t, i, x: i.trunc_normal_(x, 0.1, 0.9, -1.0, 1.0),
    "constant_": lambda t, i, x: i.constant_(x, 0.3),
    "ones_": lambda t, i, x: i.ones_(x),
    "zeros_": lambda t, i, x: i.zeros_(x),
    "xavier_uniform_": lambda t, i, x: i.xavier_uniform_(x, gain=2.0),
    "xavier_normal_": lambda t, i, x: i.xavier_normal_(x),
    "kaiming_uniform_": lambda t, i, x: i.kaiming_uniform_(x, nonlinearity="relu"),
    "kaiming_uniform_ fan_out": lambda t, i, x: i.kaiming_uniform_(x, a=0.2, mode="fan_out"),
    "kaiming_normal_": lambda t, i, x: i.kaiming_normal_(x, nonlinearity="tanh"),
}


@pytest.mark.parametrize("shape", [(3, 4), (20, 7)])
@pytest.mark.parametrize("name", INITIAL)
def test_bits(name, shape):
    def program(t):
        t.manual_seed(3)
        x = t.nn.Parameter(t.empty(shape))
        result = INITIAL[name](t, t.nn.init, x)
        return [
            result is x,
            x,
            x.requires_grad,
            x.grad_fn,
            t.rand(1),
        ]  # the stream stands where PyTorch's stands

    check("test_nn_init", f"{name} {shape}", program, rtol=0.0)


@pytest.mark.parametrize("shape", [(3, 4), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    def program(t):
        t.manual_seed(3)
        x = t.nn.init.orthogonal_(t.empty(shape), gain=2.0)
        return [x, t.rand(1)]

    check("test_nn_init", f"orthogonal_ {shape}", program)
    torch.manual_seed(3)
    rows = torch.nn.init.orthogonal_(torch.empty(shape)).reshape(shape[0], -1)
    product = rows @ rows.t() if rows.shape[0] <= rows.shape[1] else rows.t() @ rows
    assert torch.allclose(product, torch.eye(product.shape[0]), atol=1e-6)


def test_gains():
    gain = torch.nn.init.calculate_gain
    assert [gain(name) for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu")] == [
        1,
        1,
        1,
        5 / 3,
        math.sqrt(2),
        0.75,
    ]
    assert gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2)) and gain("leaky_relu", 1) == 1.0


LAYERS = {
    "Linear": lambda t: t.nn.Linear(5, 3),
    "wide Linear": lambda t: t.nn.Linear(100, 40),
    "Linear without bias": lambda t: t.nn.Linear(5, 3, bias=False),
    "Linear in double": lambda t: t.nn.Linear(5, 3, dtype=t.float64),
    "Embedding": lambda t: t.nn.Embedding(6, 3, padding_idx=2),
    "PReLU": lambda t: t.nn.PReLU(3, init=0.1),
    "three layers": lambda t: t.nn.Sequential(
        t.nn.Linear(4, 8), t.nn.Tanh(), t.nn.Linear(8, 8), t.nn.Linear(8, 1)
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_start_with_the_same_bits(name):
    def program(t):
        t.manual_seed(42)
        return [LAYERS[name](t).state_dict(), t.rand(1)]

    rtol = 1e-15 if "double" in name else 0.0
    check("test_nn_init", name, program, rtol=rtol)


@same_as_torch
def test_clipping(t):
    def parameters():
        a, b, c = t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(3)), t.nn.Parameter(t.ones(1))
        a.grad, b.grad = t.tensor([3.0, -4.0]), t.tensor([0.1, 12.0, 0.2])
        return [a, b, c]

    u, found = t.nn.utils, []
    for arguments in ((1.0,), (100.0,), (1.0, 1), (1.0, float("inf")), (2.0, 3.0)):
        ps = parameters()
        versions = [p.grad._version for p in ps[:2]]
        found.append(
            [
                u.clip_grad_norm_(ps, *arguments),
                [p.grad for p in ps],
                [p.grad._version - v for p, v in zip(ps, versions)],
            ]
        )
    ps = parameters()
    u.clip_grad_value_(ps, 2.5)
    found.append([p.grad for p in ps])
    return [*found, u.clip_grad_norm_(ps[2], 1.0)]


def test_an_infinite_norm_can_be_an_error():
    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.tensor([float("inf")])
    with pytest.raises(
        RuntimeError,
        match="The total norm of order 2.0 for gradients from `parameters` is non-finite",
    ):
        torch.nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)


@same_as_torch
def test_parameters_as_a_vector(t):
    t.manual_seed(0)
    m = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Linear(3, 1))
    vector = t.nn.utils.parameters_to_vector(m.parameters())
    found = [vector, vector.grad_fn.name()]
    t.nn.utils.vector_to_parameters(t.arange(float(vector.numel())), m.parameters())
    return [*found, m.state_dict(), [p.requires_grad for p in m.parameters()]]
