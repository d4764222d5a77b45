"""Freezing and its traps: the same programs run on PyTorch."""

import pytest
from goldens.oracle import check, error_of, same_as_torch

pytestmark = pytest.mark.trained
SUITE = "test_finetune_traps"


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


def step(t, model, optimizer, images, labels, set_to_none=True):
    """One step of training; the loss."""
    loss = t.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad(set_to_none=set_to_none)
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
def test_a_frozen_module_gets_no_gradients(torch):
    model, images, labels = network(torch)
    same = model[0].requires_grad_(False) is model[0]
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    found = [
        (name, p.requires_grad, p.grad is None, p.is_leaf) for name, p in model.named_parameters()
    ]
    model.requires_grad_(True)
    return [same, found, [p.requires_grad for p in model.parameters()]]


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
def test_nothing_left_to_train(torch):
    model, images, labels = network(torch)
    model.requires_grad_(False)
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    trained = filter(lambda p: p.requires_grad, model.parameters())
    return [
        loss.requires_grad,
        error_of(loss.backward),
        error_of(lambda: torch.optim.SGD(trained, lr=0.1)),
        error_of(lambda: torch.optim.SGD([{"params": []}], lr=0.1).step()),
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


@pytest.mark.parametrize("mode", ["train", "eval", "momentum=0", "momentum=None"])
def test_statistics_of_a_frozen_normalisation(mode):
    def program(torch):
        model, images, labels = network(torch)
        model[0].requires_grad_(False)
        norm = model[0][1]
        if mode == "eval":
            norm.eval()
        elif mode != "train":
            norm.momentum = 0.0 if mode == "momentum=0" else None
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        before = state(model)
        losses = [step(torch, model, optimizer, images + shift, labels) for shift in (0, 0.5, 1)]
        out = model[0](images + 2)
        model.train()
        return [losses, moved(model, before), state(norm), out, norm.training]

    check(SUITE, f"statistics, {mode}", program, rtol=1e-4)


OPTIMIZERS = {
    "SGD": dict(lr=0.1),
    "SGD with momentum": dict(lr=0.1, momentum=0.9),
    "SGD with weight decay": dict(lr=0.1, weight_decay=0.1),
    "SGD with both": dict(lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "Adam": dict(lr=0.01),
    "AdamW": dict(lr=0.01, weight_decay=0.1),
    "RMSprop": dict(lr=0.01, momentum=0.5),
    "Adagrad": dict(lr=0.1, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("set_to_none", [True, False])
def test_an_optimizer_built_before_freezing(name, set_to_none):
    """A gradient of None is passed over. A gradient of zero is not: momentum and weight decay go on."""

    def program(torch):
        model, images, labels = network(torch)
        optimizer = getattr(torch.optim, name.split()[0])(model.parameters(), **OPTIMIZERS[name])
        for _ in range(2):
            step(torch, model, optimizer, images, labels)
        model.requires_grad_(False)
        model[3].requires_grad_(True)
        optimizer.zero_grad(set_to_none=set_to_none)
        before = state(model)
        for _ in range(2):
            step(torch, model, optimizer, images, labels, set_to_none)
        parameters = [
            name for name in moved(model, before) if name in dict(model.named_parameters())
        ]
        return [parameters, model[0][0].weight, model[3].bias, len(optimizer.state)]

    check(SUITE, f"{name}, {'None' if set_to_none else 'zero'}", program, rtol=1e-3, atol=1e-5)


@same_as_torch
def test_a_gradient_that_was_there_before_freezing_is_still_stepped(torch):
    model, images, labels = network(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    model[1].requires_grad_(False)
    before = state(model)
    optimizer.step()
    first = [name for name in moved(model, before) if name.startswith("1.")]
    before = state(model)
    step(torch, model, optimizer, images, labels)
    return [first, [name for name in moved(model, before) if name.startswith("1.")]]


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


@same_as_torch(rtol=1e-4)
def test_a_shared_parameter_is_frozen_everywhere(torch):
    torch.manual_seed(0)
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    second.weight = first.weight
    first.requires_grad_(False)
    second(first(torch.randn(2, 3))).sum().backward()
    return [second.weight.requires_grad, first.weight.grad, second.bias.grad]
