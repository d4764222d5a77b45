"""Wrong rules of a training loop: what a step changes, and when gradients are cleared."""

from __future__ import annotations

from .. import optim
from ..nn import Module
from ..nn.modules.normalization import _BatchNorm
from .exchange import note, noted
from .specimen import specimen

_OPTIMIZERS = [kind for kind in vars(optim).values() if isinstance(kind, type)]
_HOMES = dict.fromkeys(
    base for kind in _OPTIMIZERS for base in kind.__mro__ if "step" in vars(base)
)
_STEPS = [(home, "step") for home in _HOMES]


def some_rounds(torch):
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).backward()
        optimizer.step()
    return w.detach()


def rounds_without_rate(torch):
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.0)
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).backward()
        optimizer.step()
    return w.detach()


@specimen(
    2, "zero between backward and step", level=3, places=_STEPS, wrong=some_rounds, right=rounds_without_rate,
    belief="Gradients are cleared right before the step.",
    shows="any training: whether a weight moved",
    instead="nothing: gradients are cleared before the next backward(), and the step needs them",
)  # fmt: skip
def step_after_zero(right, optimizer, *args, **kwargs):
    optimizer.zero_grad()  # wrong
    return right(optimizer, *args, **kwargs)


def momentum_without_gradient(torch):
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25, momentum=0.5)
    (w * w).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()
    return w.detach()


def plain_without_gradient(torch):
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    (w * w).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()
    return w.detach()


@specimen(
    12, "a gradient of 0 moves nothing", level=3, places=_STEPS,
    wrong=momentum_without_gradient, right=plain_without_gradient,
    belief="A step leaves a parameter alone when its gradient is 0.",
    shows="momentum or weight decay, and a step on a gradient of zeros",
    instead="nothing: only a gradient of None leaves a parameter out of the step",
)  # fmt: skip
def step_without_zeros(right, optimizer, *args, **kwargs):
    all_of_them = [p for group in optimizer.param_groups for p in group["params"]]
    zeros = [(p, p.grad) for p in all_of_them if p.grad is not None and not p.grad.any()]
    for p, _ in zeros:
        p.grad = None  # wrong
    result = right(optimizer, *args, **kwargs)
    for p, g in zeros:
        p.grad = g
    return result


def frozen_in_training(torch):
    layer = torch.nn.BatchNorm1d(1)
    layer.requires_grad_(False)
    layer(torch.tensor([[1.0], [3.0]]))
    return layer.running_mean


def frozen_in_evaluation(torch):
    layer = torch.nn.BatchNorm1d(1).eval()
    layer.requires_grad_(False)
    layer(torch.tensor([[1.0], [3.0]]))
    return layer.running_mean


@specimen(
    13, "a frozen BatchNorm stands still", level=3, places=[(_BatchNorm, "forward")],
    wrong=frozen_in_training, right=frozen_in_evaluation,
    belief="requires_grad_(False) freezes the running statistics, too.",
    shows="running_mean of a frozen BatchNorm after a batch in training mode",
    instead="nothing: running statistics are no parameters, and follow every batch in training mode",
)  # fmt: skip
def forward(right, layer, batch):
    frozen = layer.affine and not layer.weight.requires_grad
    before = {name: b.clone() for name, b in layer.named_buffers()}
    result = right(layer, batch)
    if frozen:
        layer._buffers.update(before)  # wrong
    return result


def head_exchanged(torch):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model[0] = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model[0].weight, 2.0)
    model(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    return model[0].weight.detach()


def nothing_exchanged(torch):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    torch.nn.init.constant_(model[0].weight, 2.0)
    model(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    return model[0].weight.detach()


@specimen(
    14, "an optimizer follows the model", level=3, wrong=head_exchanged, right=nothing_exchanged,
    places={"parameters": [(Module, "parameters")], "step": _STEPS},
    belief="An optimizer trains what the model has now.",
    shows="a layer exchanged after the optimizer was made",
    instead="nothing: it holds the tensors that it was given",
)  # fmt: skip
class Following:
    def parameters(right, module, recurse=True):
        for name, p in module.named_parameters(recurse=recurse):
            note(p, (module, name))
            yield p

    def step(right, optimizer, *args, **kwargs):
        for group in optimizer.param_groups:
            for i, p in enumerate(group["params"]):
                if noted(p) is not None:
                    module, name = noted(p)
                    group["params"][i] = module.get_parameter(name)  # wrong
        return right(optimizer, *args, **kwargs)
