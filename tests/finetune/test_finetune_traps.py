"""Freezing and its traps: the same programs run on PyTorch."""

import pytest
from goldens.oracle import error_of, same_as_torch

pytestmark = pytest.mark.trained


def network(t):
    """Two convolutions with normalisation and a head, and a batch for it."""
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU()),
        nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()),
        nn.Flatten(),
        nn.Linear(4 * 4 * 4, 3),
    )
    return model, t.randn(6, 1, 8, 8), t.arange(6) % 3


def step(t, model, optimizer, images, labels):
    """One step of training; the loss."""
    loss = t.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def state(model):
    """Every tensor of the model, as it is now."""
    return {name: value.clone() for name, value in model.state_dict().items()}


def moved(model, before):
    """The names of what has changed since `before`."""
    return [
        name
        for name, value in model.state_dict().items()
        if not bool((value == before[name]).all())
    ]


@same_as_torch
def test_the_graph_begins_where_something_is_trained(torch):
    model, images, _ = network(torch)
    model.requires_grad_(False)
    model[3].requires_grad_(True)
    features = model[2](model[1](model[0](images)))
    scores = model[3](features)
    names = [type(node).__name__ for node, _ in scores.grad_fn.next_functions if node is not None]
    return [
        features.requires_grad,
        features.grad_fn is None,
        type(scores.grad_fn).__name__,
        sorted(names),
    ]


@same_as_torch
def test_only_leaves_are_frozen(torch):
    weight = torch.nn.Parameter(torch.ones(2))
    half = weight / 2
    loss = half.sum()

    def freeze_a_result():
        half.requires_grad = False

    def train_a_result():
        half.requires_grad = True

    loss_of_frozen = torch.nn.Linear(2, 1).requires_grad_(False)(torch.ones(2))
    loss_of_frozen.requires_grad = True  # silences the error of backward, and trains nothing
    loss_of_frozen.backward()
    return [
        error_of(freeze_a_result),
        error_of(lambda: half.requires_grad_(False)),
        error_of(train_a_result),
        half.requires_grad_(True) is half,
        error_of(loss.backward),
        loss_of_frozen.grad,
        error_of(lambda: torch.arange(3).requires_grad_()),
    ]


@same_as_torch(rtol=1e-4)
def test_an_optimizer_built_of_trained_parameters_never_trains_the_others(torch):
    model, images, labels = network(torch)
    model[0].requires_grad_(False)
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.01)
    model[0].requires_grad_(True)
    before = state(model)
    step(torch, model, optimizer, images, labels)
    unfrozen_but_still = [
        name for name in ("0.0.weight", "0.1.weight") if name not in moved(model, before)
    ]
    gradient_is_there = model[0][0].weight.grad is not None
    optimizer.add_param_group({"params": model[0].parameters(), "lr": 0.001})
    step(torch, model, optimizer, images, labels)
    steps = [float(optimizer.state[p]["step"]) for p in (model[3].weight, model[0][0].weight)]
    return [unfrozen_but_still, gradient_is_there, steps, model[0][0].weight, repr(optimizer)]


@same_as_torch(rtol=1e-4)
def test_a_new_head_is_not_what_the_optimizer_trains(torch):
    model, images, labels = network(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step(torch, model, optimizer, images, labels)
    saved = optimizer.state_dict()
    model[3] = torch.nn.Linear(64, 3)
    before = state(model)
    step(torch, model, optimizer, images, labels)
    wrong = [name for name in ("3.weight", "3.bias") if name not in moved(model, before)]
    anew = torch.optim.SGD(model.parameters(), lr=0.5)
    anew.load_state_dict(saved)  # fits by position: the head gets the momentum of the old head
    smaller = torch.optim.SGD(model[3].parameters(), lr=0.5)
    grouped = torch.optim.SGD(
        [{"params": model[0].parameters()}, {"params": model[3].parameters()}], lr=0.5
    )
    return [
        wrong,
        anew.param_groups[0]["lr"],
        anew.state[model[3].bias]["momentum_buffer"],
        error_of(lambda: smaller.load_state_dict(saved)),
        error_of(lambda: grouped.load_state_dict(saved)),
    ]


@same_as_torch(rtol=1e-4)
def test_freezing_between_forward_and_backward_comes_too_late(torch):
    model, images, labels = network(torch)
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    model[0].requires_grad_(False)
    loss.backward()
    found = [(name, p.grad is not None) for name, p in model.named_parameters()]
    model.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    model[0].requires_grad_(True)
    loss.backward()
    return [found, [(name, p.grad is not None) for name, p in model.named_parameters()]]
