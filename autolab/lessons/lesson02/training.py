"""Exercises of sections 9 and 12: a loop that runs anywhere, and gradients of several replicas."""

from __future__ import annotations

import numpy as np

import autolab as torch
from autolab.nn import functional as F

from ..exercise import Case, Exercise, Mistake
from .places import on_simulated

# 02.9 a loop that runs anywhere ---------------------------------------------------------------------------------------


@on_simulated
def trained(answer, sizes, device):
    torch.manual_seed(3)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    batches = [(torch.randn(n, 3), torch.arange(n) % 2) for n in sizes]
    result = answer(model, batches, optimizer, device)
    if result is ...:
        return {"result": result}
    return {
        "mean loss": result,
        "type": type(result).__name__,
        "has a graph": getattr(result, "requires_grad", False),
        "weights": model.weight.detach().cpu(),
        "model is on": str(model.weight.device),
        "batches are on": [str(x.device) for x, _ in batches],
    }


def train_epoch(
    model,
    batches,
    optimizer,
    device,
    x_to=True,
    y_to=True,
    move=True,
    clear=True,
    number=lambda loss: loss.item(),
    mean=lambda losses: sum(losses) / len(losses),
):
    """The right one; the switches make the usual wrong ones."""
    if move:
        model.to(device)
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(model(x.to(device) if x_to else x), y.to(device) if y_to else y)
        if clear:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(number(loss))
    return mean(losses)


def _as_in_courses(model, batches, optimizer, device):
    return train_epoch(
        model,
        batches,
        optimizer,
        device,
        False,
        False,
        number=lambda loss: loss.detach().numpy(),
        mean=lambda losses: float(np.mean(losses)),
    )


def _on_the_cpu(model, batches, optimizer, device):
    return train_epoch(model, batches, optimizer, "cpu")


anywhere = Exercise(
    id="02.9",
    title="A loop that runs anywhere",
    observe=trained,
    given=_as_in_courses,
    reference=train_epoch,
    cases=(
        Case("three batches of 4, device cuda:0", lambda: ((4, 4, 4), "cuda:0")),
        Case("batches of 2 and 6, device cuda:1", lambda: ((2, 6), "cuda:1"), public=False),
        Case("one batch of 5, device cpu", lambda: ((5,), "cpu"), public=False),
    ),
    mistakes=(
        Mistake(
            _as_in_courses,
            "The batch stays on the CPU while the model is on the device. Move x and y, and keep "
            "what .to() gives you.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, y_to=False),
            "x is moved. The loss needs the labels y in the same place.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, number=lambda loss: loss.detach().numpy()),
            "The batch is moved, and now the last line fails: NumPy cannot read the GPU. A single number is "
            "loss.item().",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, number=lambda loss: loss),
            "The number is right, but it is a tensor, and each loss in the list keeps its graph alive. Use "
            "loss.item().",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, number=lambda loss: loss.detach()),
            "The number is right, but it is a tensor on the device. Wanted is a plain number: loss.item().",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, clear=False),
            "Nobody clears the gradients: they add up from batch to batch.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, mean=sum),
            "This is the sum of the losses. Wanted is their mean.",
        ),
        Mistake(
            _on_the_cpu, "It runs, but on the CPU. It is meant to run on the device it is given."
        ),
    ),
    hints=(
        "Two lines know nothing of devices: the one that uses the batch, and the one that keeps the loss.",
        "x, y = x.to(device), y.to(device) is the first thing in the loop.",
        "batch_loss.append(loss.item())",
    ),
    leaves_out="other optimizers",
)


# 02.12 unequal parts --------------------------------------------------------------------------------------------------


@on_simulated
def averaged(answer, sizes, places):
    models, parts = [], []
    for number, (n, device) in enumerate(zip(sizes, places)):
        model = torch.nn.Linear(2, 1).to(device)
        with torch.no_grad():
            model.weight.copy_(torch.tensor([[1.0, -1.0]]))
            model.bias.fill_(0.0)
        x = torch.arange(2.0 * n).reshape(n, 2) + number
        model(x.to(device)).pow(2).mean().backward()
        models.append(model)
        parts.append(x)
    result = answer(models, list(sizes))
    if result is ...:
        return {"result": result}
    grads = [model.weight.grad for model in models]
    return {
        "gradients of weight": [None if g is None else g.cpu().tolist() for g in grads],
        "of bias": [None if m.bias.grad is None else m.bias.grad.cpu().tolist() for m in models],
        "they are on": [None if g is None else str(g.device) for g in grads],
        "weights unchanged": all(m.weight.tolist() == [[1.0, -1.0]] for m in models),
    }


def average_weighted(
    models, sizes, weight=lambda size, sizes: size / sum(sizes), give=lambda models: models
):
    """The right one; the switches make the usual wrong ones."""
    for same in zip(*(model.parameters() for model in models)):
        mean = sum(weight(n, sizes) * p.grad.to("cpu") for n, p in zip(sizes, same))
        for p in give(same):
            p.grad = mean.to(p.device)


def average_plain(models, sizes):
    for same in zip(*(model.parameters() for model in models)):
        mean = sum(p.grad.to("cpu") for p in same) / len(same)
        for p in same:
            p.grad = mean.to(p.device)


def _values_instead(models, sizes):
    with torch.no_grad():
        for same in zip(*(model.parameters() for model in models)):
            mean = sum(n * p.grad.to("cpu") for n, p in zip(sizes, same)) / sum(sizes)
            for p in same:
                p.copy_(mean.to(p.device))


unequal = Exercise(
    id="02.12",
    title="Unequal parts",
    observe=averaged,
    given=average_plain,
    reference=average_weighted,
    cases=(
        Case("parts of 3 and 1, on cuda:0 and cuda:1", lambda: ((3, 1), ("cuda:0", "cuda:1"))),
        Case(
            "parts of 1, 2 and 5, on cuda:1, cuda:0 and the CPU",
            lambda: ((1, 2, 5), ("cuda:1", "cuda:0", "cpu")),
            public=False,
        ),
        Case("one part of 4", lambda: ((4,), ("cuda:0",)), public=False),
    ),
    mistakes=(
        Mistake(
            average_plain,
            "Each part counts the same. But a part with three times the images has to count three times as much: "
            "its mean stands for more of them.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, lambda size, sizes: size),
            "Each gradient is multiplied by its number of images. Divide by all of them: weights that add up to 1.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, lambda size, sizes: size / len(sizes)),
            "You divide by the number of parts. The weights are size / sum(sizes), and add up to 1.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, lambda size, sizes: 1 / size),
            "You divide by the sizes. The gradients are means already; a large part has to count more, not less.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, give=lambda same: same[:1]),
            "Only the first replica gets the mean. The others would go their own way at the next step.",
        ),
        Mistake(
            _values_instead,
            "You wrote the mean into the weights. It belongs into p.grad; the step comes later.",
        ),
    ),
    hints=(
        "The mean over all images is (n1 * mean1 + n2 * mean2) / (n1 + n2).",
        "Multiply each gradient by sizes[i] / sum(sizes), and add.",
        'sum(n * p.grad.to("cpu") for n, p in zip(sizes, same)) / sum(sizes)',
    ),
    leaves_out="parts without any image",
)

EXERCISES = (anywhere, unequal)
