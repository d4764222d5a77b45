"""What all optimizers share: printing, groups, state, errors; the same programs run on PyTorch."""

import copy
import warnings

import pytest
from goldens.oracle import check, engine, error_of, same_as_torch

import autolab

torch = engine()
SGD = """\
SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.1
    maximize: False
    momentum: 0.9
    nesterov: False
    weight_decay: 0
)"""
ADAMW = """\
AdamW (
Parameter Group 0
    amsgrad: False
    betas: (0.9, 0.999)
    capturable: False
    decoupled_weight_decay: True
    differentiable: False
    eps: 1e-08
    foreach: None
    fused: None
    lr: 0.001
    maximize: False
    weight_decay: 0.01
)"""


def test_repr():
    assert repr(torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1, momentum=0.9)) == SGD
    assert repr(torch.optim.AdamW(torch.nn.Linear(1, 1).parameters())) == ADAMW


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_defaults(name):
    def program(t):
        p = t.nn.Parameter(t.ones(1))
        optimizer = getattr(t.optim, name)([p])
        return [
            repr(optimizer),
            optimizer.defaults,
            list(optimizer.param_groups[0]),
            optimizer.state_dict(),
            sorted(optimizer.state[p]),
        ]

    check("test_optim_base", f"defaults {name}", program)


@same_as_torch
def test_errors(t):
    o, p = t.optim, lambda: [t.nn.Parameter(t.ones(1))]
    shared = p()
    attempts = {
        "empty": lambda: o.SGD([], lr=0.1),
        "tensor": lambda: o.SGD(t.ones(2), lr=0.1),
        "number": lambda: o.SGD([1.0], lr=0.1),
        "text": lambda: o.SGD(["a"], lr=0.1),
        "non-leaf": lambda: o.SGD([t.ones(1, requires_grad=True) * 1], lr=0.1),
        "set": lambda: o.SGD([{"params": set(p())}], lr=0.1),
        "group is no dict": lambda: o.SGD([{"params": p()}, 3], lr=0.1),
        "lr": lambda: o.SGD(p(), lr=-1),
        "momentum": lambda: o.SGD(p(), momentum=-1),
        "weight_decay": lambda: o.SGD(p(), weight_decay=-0.5),
        "nesterov": lambda: o.SGD(p(), nesterov=True),
        "nesterov dampening": lambda: o.SGD(p(), momentum=0.1, nesterov=True, dampening=0.1),
        "Adam lr": lambda: o.Adam(p(), lr=-1.0),
        "eps": lambda: o.Adam(p(), eps=-1),
        "beta 0": lambda: o.Adam(p(), betas=(1.0, 0.9)),
        "beta 1": lambda: o.Adam(p(), betas=(0.1, -0.9)),
        "betas": lambda: o.Adam(p(), betas=(0, 0.9)),
        "RMSprop eps": lambda: o.RMSprop(p(), eps=-1),
        "RMSprop momentum": lambda: o.RMSprop(p(), momentum=-1),
        "alpha": lambda: o.RMSprop(p(), alpha=-1),
        "lr_decay": lambda: o.Adagrad(p(), lr_decay=-1),
        "initial": lambda: o.Adagrad(p(), initial_accumulator_value=-1),
        "Adagrad eps": lambda: o.Adagrad(p(), eps=-1),
        "twice": lambda: o.SGD([{"params": shared}, {"params": shared}], lr=0.1),
        "base step": lambda: o.Optimizer(p(), {}).step(),
        "group count": lambda: o.SGD(p(), lr=0.1).load_state_dict(
            {"state": {}, "param_groups": []}
        ),
        "group size": lambda: o.SGD(p(), lr=0.1).load_state_dict(
            {"state": {}, "param_groups": [{"params": [0, 1]}]}
        ),
        "unknown": lambda: o.SGD(p(), foo=1),
    }
    return {name: error_of(action) for name, action in attempts.items()}


@pytest.mark.parametrize("option", ["foreach", "fused", "differentiable", "capturable"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_options_that_only_make_pytorch_faster_are_refused(name, option):
    parameters, kind = [autolab.nn.Parameter(autolab.ones(1))], getattr(autolab.optim, name)
    try:
        kind(parameters, **{option: False})
    except TypeError:
        return  # this optimizer has no such option, as in PyTorch
    with pytest.raises(NotImplementedError, match=option):
        kind(parameters, **{option: True})


@same_as_torch
def test_groups(t):
    a, b, c = (t.nn.Parameter(t.ones(i + 1)) for i in range(3))
    optimizer = t.optim.SGD(
        [{"params": a}, {"params": [b], "lr": 0.5, "name": "second"}], lr=0.1, momentum=0.9
    )
    optimizer.add_param_group({"params": c, "momentum": 0.0})
    for p in (a, b, c):
        p.grad = t.ones_like(p)
    optimizer.step()
    optimizer.param_groups[0]["lr"] = 1.0
    optimizer.step()
    found = [
        a,
        b,
        c,
        repr(optimizer),
        optimizer.state_dict(),
        [list(group) for group in optimizer.param_groups],
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t.optim.SGD([a, a], lr=0.1)
    return [*found, [str(w.message) for w in caught]]


def test_names_are_refused():
    with pytest.raises(TypeError, match="only optimize Tensors, but one of the params is tuple"):
        torch.optim.SGD(torch.nn.Linear(1, 1).named_parameters(), lr=0.1)


@same_as_torch
def test_saving_and_loading(t):
    def start():
        t.manual_seed(0)
        model = t.nn.Linear(3, 2)
        return model, t.optim.Adam(model.parameters(), lr=0.1, amsgrad=True)

    def train(model, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            model(t.ones(1, 3)).pow(2).sum().backward()
            optimizer.step()

    model, optimizer = start()
    train(model, optimizer, 3)
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    state = optimizer.state_dict()
    found = [
        sorted(state["state"][0]),
        state["state"][0]["step"],
        [v.dtype for v in state["state"][0].values()],
        state["param_groups"],
    ]
    train(model, optimizer, 2)
    again, loaded = start()
    again.load_state_dict(weights)
    loaded.load_state_dict(copy.deepcopy(state))
    loaded.param_groups[0]["lr"] = 0.1
    train(again, loaded, 2)
    close = all(t.allclose(p, q) for p, q in zip(model.parameters(), again.parameters()))
    double = t.optim.Adam(t.nn.Linear(3, 2).double().parameters())
    double.load_state_dict(state)
    first = double.state[double.param_groups[0]["params"][0]]
    return [
        *found,
        close,
        first["exp_avg"].dtype,
        first["step"].dtype,
        double.param_groups[0]["lr"],
        double.param_groups[0]["amsgrad"],
    ]


@same_as_torch
def test_zeroing(t):
    p = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([p], lr=0.1)
    found = [optimizer.zero_grad(), p.grad]
    (p * 3).sum().backward()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    found += [p.grad, p.grad is grad, grad._version]
    optimizer.zero_grad()
    found.append(p.grad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (p**2).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    return [*found, p.grad, p.grad.requires_grad, p.grad.grad_fn]


def test_an_optimizer_of_ones_own():
    class Sign(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p -= group["lr"] * p.grad.sign()

    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    p.grad = torch.tensor([0.3, -7.0])
    optimizer = Sign([p], 0.5)
    optimizer.step()
    assert p.tolist() == [0.5, 2.5]
    assert repr(optimizer) == "Sign (\nParameter Group 0\n    lr: 0.5\n)"


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_what_older_versions_saved(name):
    """Files that were written before a setting existed, and before counts were tensors, load and go on."""

    def program(t):
        p = t.nn.Parameter(t.ones(2))
        optimizer = getattr(t.optim, name)([p], lr=0.1)
        p.grad = t.ones(2)
        optimizer.step()
        saved = copy.deepcopy(optimizer.state_dict())
        for later in (
            "maximize",
            "foreach",
            "capturable",
            "differentiable",
            "fused",
            "decoupled_weight_decay",
        ):
            saved["param_groups"][0].pop(later, None)
        for count in {"step"} & set(saved["state"][0]):
            saved["state"][0][count] = saved["state"][0][count].item()
        optimizer.load_state_dict(saved)
        optimizer.step()
        group = optimizer.state_dict()["param_groups"][0]
        group["fused"] = group.get("fused") or None  # SGD's is False then, which means the same
        kinds = [
            type(value).__name__ for value in optimizer.state_dict()["state"].get(0, {}).values()
        ]
        return [
            p,
            sorted(group.items()),
            kinds,
            type(saved["state"].get(0, {}).get("step", 1.0)).__name__,
        ]

    check("test_optim_base", f"older {name}", program, rtol=1e-6)
