"""Exercises on training: a loop that runs anywhere, and gradients of several replicas, and a network of one's own."""

from __future__ import annotations

from typing import Any

from functools import partial

import numpy as np

import autolab as torch
from autolab.nn import functional as F

from autolab.vision.datasets import Digits
from autolab.vision.models import lenet5

from ..compare import Unfit, show
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
    """Solve the exercise; the switches make the usual wrong answers."""
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
            "what .to() returns.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, y_to=False),
            "You moved x. The loss needs the labels y on the same device, so move them too.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, number=lambda loss: loss.detach().numpy()),
            "You moved the batch, but now the last line of the loop fails, because NumPy cannot "
            "read the GPU. Use loss.item() for a single number.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, number=lambda loss: loss),
            "The number is correct, but it is a tensor, and each loss in the list keeps its "
            "graph alive. Use loss.item() instead.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, number=lambda loss: loss.detach()),
            "The number is correct, but it is a tensor on the device. Use loss.item() instead, "
            "so that you get a plain number.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, clear=False),
            "You don't clear the gradients, so they add up from batch to batch. Call "
            "optimizer.zero_grad() before the backward pass.",
        ),
        Mistake(
            lambda m, b, o, d: train_epoch(m, b, o, d, mean=sum),
            "This is the sum of the losses. Return their mean instead.",
        ),
        Mistake(
            _on_the_cpu,
            "It runs, but on the CPU. It should run on the device that it receives as an argument.",
        ),
    ),
    hints=(
        "Two lines don't work on a GPU: the line that should move the batch, and the line that "
        "stores the loss.",
        "x, y = x.to(device), y.to(device) should be the first line in the loop.",
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
        "gradients of bias": [
            None if m.bias.grad is None else m.bias.grad.cpu().tolist() for m in models
        ],
        "they are on": [None if g is None else str(g.device) for g in grads],
        "weights unchanged": all(m.weight.tolist() == [[1.0, -1.0]] for m in models),
    }


def average_weighted(
    models, sizes, weight=lambda size, sizes: size / sum(sizes), give=lambda models: models
):
    """Solve the exercise; the switches make the usual wrong answers."""
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
            "Each part counts the same. But a part with three times as many images has to count "
            "three times as much, because its mean represents more images.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, lambda size, sizes: size),
            "You multiplied each gradient by its number of images. Divide by all of them, that "
            "is, by sum(sizes), so that the weights add up to 1.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, lambda size, sizes: size / len(sizes)),
            "You divided by the number of parts. Divide by the number of all images instead: the "
            "weights are size / sum(sizes), and they add up to 1.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, lambda size, sizes: 1 / size),
            "You divided by the sizes. But the gradients are means already, so a replica with "
            "a large part has to count more, not less.",
        ),
        Mistake(
            lambda m, s: average_weighted(m, s, give=lambda same: same[:1]),
            "Only the first replica gets the mean. The weights of the replicas would differ "
            "after the next step, so give the mean to all of them.",
        ),
        Mistake(
            _values_instead,
            "You wrote the mean into the weights. Write it into p.grad instead, because the step "
            "comes later.",
        ),
    ),
    hints=(
        "The mean over all images is (n1 * mean1 + n2 * mean2) / (n1 + n2).",
        "Multiply each gradient by sizes[i] / sum(sizes), and add up the results.",
        'sum(n * p.grad.to("cpu") for n, p in zip(sizes, same)) / sum(sizes)',
    ),
    leaves_out="parts without any image",
)

# 02.14 LeNet on the GPU -----------------------------------------------------------------------------------------------


@on_simulated
def lenet_trained(answer, kinds, count, device):
    torch.manual_seed(5)
    digits = Digits(train=True, size=32)
    chosen = (digits.targets[:, None] == torch.tensor(kinds)).any(1).nonzero()[:count, 0]
    images, labels = digits.data[chosen].unsqueeze(1).float() / 255, digits.targets[chosen]
    result = answer(images, labels, device)
    if result is ...:
        return {"result": result}
    if (
        not isinstance(result, tuple | list)
        or len(result) != 2
        or not isinstance(result[0], torch.nn.Module)
    ):
        raise Unfit(f"{show(result)} came back: return a pair, the model and the list of losses")
    model, losses = result
    there: dict[str, Any] = {
        "shapes of the weights": sorted(tuple(p.shape) for p in model.parameters())
    }
    there["the model is on"] = sorted({str(p.device) for p in model.parameters()})
    there["losses are plain numbers"] = len(losses) > 0 and all(
        isinstance(one, float) for one in losses
    )
    with torch.no_grad():
        read = model.eval()(images.to(device)).argmax(1).cpu() == labels
    return there | {"reads at least nine of ten training images": read.float().mean().item() >= 0.9}


def train_lenet(
    images, labels, device, epochs=40, build=lenet5, move=True, number=lambda loss: loss.item()
):
    """Solve the exercise; the switches make the usual wrong answers."""
    model = build().to(device) if move else build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(epochs):
        for x, y in zip(images.split(16), labels.split(16)):
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(number(loss))
    return model, losses


def _one_layer():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1024, 10))


own_network = Exercise(
    id="02.14",
    title="A LeNet on the GPU",
    observe=lenet_trained,
    reference=train_lenet,
    variant=lambda **switches: partial(train_lenet, **switches),
    cases=(
        Case("8 images of 0 and 1, on cuda:0", lambda: ((0, 1), 8, "cuda:0")),
        Case(
            "8 images of 0 and 4, on the CPU",
            lambda: ((0, 4), 8, "cpu"),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            {"move": False},
            "The batch is on the device, but the model is still on the CPU. Call model.to(device) before "
            "you build the optimizer.",
        ),
        Mistake(
            {"number": lambda loss: loss},
            "The list contains tensors, and each of them keeps its graph in memory. Store loss.item() instead.",
        ),
        Mistake(
            {"epochs": 1},
            "The network has the right layers, but it doesn't read its own training images yet. "
            "Train it for more epochs, or use a larger learning rate.",
        ),
        Mistake(
            {"build": _one_layer},
            "This network doesn't have LeNet's layers. Build the seven layers in the order of the table.",
        ),
    ),
    hints=(
        "Write a class with __init__ and forward first, and try it: LeNet()(images[:1]).shape should be (1, 10).",
        "nn.Sequential can hold all layers: nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), and so on. "
        "Put nn.Flatten() before the first nn.Linear(400, 120).",
        "The function builds the model, moves it, builds the optimizer, and runs the loop of train_epoch "
        "for about 40 epochs. It returns model, losses.",
    ),
    leaves_out="how fast the training is, and images that it was not trained on",
)

EXERCISES = (anywhere, unequal, own_network)
