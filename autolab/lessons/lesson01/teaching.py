"""The exercise that the lesson ends with, a network that learns one digit; and an exercise about shapes."""

from __future__ import annotations

from functools import partial

import autolab as torch

from ..exercise import Case, Exercise, Mistake
from .backward import DATA

# 01.5 the loop that teaches a network -------------------------------------------------------------------------------


def teach(network, image, label, lr, steps, clear=True, sign=-1, rate=True, part=slice(None)):
    """Take `steps` steps down on the loss of one image; the switches make typical wrong answers."""
    for _ in range(steps):
        torch.nn.functional.cross_entropy(network(image), label).backward()
        with torch.no_grad():
            for p in list(network.parameters())[part]:
                p += sign * (lr if rate else 1) * p.grad
        if clear:
            network.zero_grad()
    return network


def numbers_after(answer, seed, lr, steps):
    """Return the numbers of a small network afterwards, and whether they are still its own leaves."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network, image = torch.nn.Linear(3, 4), torch.rand(2, 3)
    before = list(network.parameters())
    answer(network, image, torch.tensor([1, 3]), lr, steps)
    after = list(network.parameters())
    return {
        "weight": after[0],
        "bias": after[1],
        "still its own leaves": all(
            one is two and one.is_leaf and one.requires_grad
            for one, two in zip(before, after, strict=True)
        ),
    }


def _only_computes(network, image, label, lr, steps):
    for _ in range(steps):
        torch.nn.functional.cross_entropy(network(image), label)
    return network


teach_network = Exercise(
    id="01.5",
    title="Teach a network one digit",
    observe=numbers_after,
    given=_only_computes,
    reference=teach,
    variant=lambda **switches: partial(teach, **switches),
    avoid={"data": DATA},
    cases=(
        Case("a network of 16 numbers, lr = 0.5, 3 steps", lambda: (1, 0.5, 3)),
        Case("another one, lr = 0.1, 1 step", lambda: (2, 0.1, 1), public=False),
        Case("another one, lr = 0.1, 8 steps", lambda: (3, 0.1, 8), public=False),
    ),
    mistakes=(
        Mistake(
            _only_computes,
            "No parameter of the network has changed. There are three common reasons. Your loop may not use the loss yet. Or "
            "it says `p = p - …`, which creates a new tensor while the network keeps the old one, so write `p -= …` instead. "
            "Or it clears the gradients between backward() and the update.",
        ),
        Mistake(
            {"clear": False},
            "p.grad still contains the gradients of the earlier steps, added up. Clear it in every step, after the update "
            "has used it.",
        ),
        Mistake(
            {"sign": 1},
            "Your loop walks uphill, so the loss grows. Subtract the gradient instead of adding it.",
        ),
        Mistake(
            {"rate": False},
            "You don't use the learning rate lr, so each step is as long as the gradient. Multiply the gradient by lr.",
        ),
        Mistake(
            {"part": slice(1)},
            "Only the first parameter has changed. Go through all of network.parameters().",
        ),
        Mistake(
            {"part": slice(-1, None)},
            "Only the last parameter has changed. Go through all of network.parameters().",
        ),
    ),
    hints=(
        "One step consists of four parts: compute the loss, call backward(), change each parameter, and clear each gradient.",
        "Changing a parameter is not part of the function that you differentiate. So do it in place, under torch.no_grad().",
        "for p in network.parameters(): p -= lr * p.grad, and then p.grad = None.",
    ),
    leaves_out="networks with frozen parameters, whose .grad is None",
)


# 01.14 each row by itself ---------------------------------------------------------------------------------------------


def centre_rows(X, dim=1, keep=True, what="mean"):
    """Subtract from each row of X its mean; the switches make typical wrong answers."""
    centre = X.mean(dim, keepdim=keep) if what == "mean" else X.sum(dim, keepdim=keep)
    return X - centre


def value_and_freshness(answer, X):
    before = X.tolist()
    result = answer(X)
    return {"result": result, "X is left as it was": X.tolist() == before}


centre = Exercise(
    id="01.14",
    title="Subtract the mean of each row",
    observe=value_and_freshness,
    reference=centre_rows,
    variant=lambda **switches: partial(centre_rows, **switches),
    cases=(
        Case("X = [[1., 3.], [10., 30.]]", lambda: (torch.tensor([[1.0, 3.0], [10.0, 30.0]]),)),
        Case(
            "X of shape (2, 3)",
            lambda: (torch.tensor([[1.0, 2.0, 6.0], [0.0, -3.0, 9.0]]),),
            public=False,
        ),
        Case("X of shape (3, 1)", lambda: (torch.tensor([[1.0], [2.0], [3.0]]),), public=False),
    ),
    mistakes=(
        Mistake(
            {"keep": False},
            "The means are right, but they are subtracted from the wrong numbers. With the shape (2,) they count as one "
            "row, so they are spread over the columns. Turn them into a column of shape (2, 1), with "
            "mean(1, keepdim=True) or unsqueeze(1).",
        ),
        Mistake(
            {"dim": 0},
            "These are the means of the columns. Use dimension 1, which runs along a row.",
        ),
        Mistake(
            {"dim": 0, "keep": False},
            "These are the means of the columns. Use dimension 1, which runs along a row.",
        ),
        Mistake(
            lambda X: X - X.mean(),
            "You subtract one mean of the whole table. But each row has a mean of its own.",
        ),
        Mistake({"what": "sum"}, "This subtracts the sum of each row, not its mean."),
        Mistake(
            lambda X: X.sub_(X.mean(1, keepdim=True)),
            "The numbers are right, but you changed the caller's X in place.",
        ),
    ),
    hints=(
        "X.mean(1) returns one number for each row, so its shape is (2,). Which shape would make it a column?",
        "If a tensor of shape (2, 1) meets a tensor of shape (2, 3), it is repeated along the rows.",
        "X.mean(1, keepdim=True) keeps the dimension, and .unsqueeze(1) puts it back.",
    ),
    leaves_out="tensors of more than two dimensions",
)

EXERCISES = (teach_network, centre)
