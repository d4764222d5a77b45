"""The exercise that the lesson ends with: the learner's own steps mend a network. And one about shapes."""

from __future__ import annotations

from functools import partial

import autolab as torch

from ..exercise import Case, Exercise, Mistake
from .backward import DATA

# 01.5 the loop that mends ---------------------------------------------------------------------------------------------


def mend(network, image, label, lr, steps, clear=True, sign=-1, rate=True, part=slice(None)):
    """`steps` steps down on the loss of one image; the switches make the usual wrong ones."""
    for _ in range(steps):
        torch.nn.functional.cross_entropy(network(image), label).backward()
        with torch.no_grad():
            for p in list(network.parameters())[part]:
                p += sign * (lr if rate else 1) * p.grad
        if clear:
            network.zero_grad()
    return network


def numbers_after(answer, seed, lr, steps):
    """What became of a small network: its numbers, and whether they are still its own leaves."""
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


mend_network = Exercise(
    id="01.5",
    title="Mend a network",
    observe=numbers_after,
    given=_only_computes,
    reference=mend,
    variant=lambda **switches: partial(mend, **switches),
    avoid={"data": DATA},
    cases=(
        Case("a network of 16 numbers, lr = 0.5, 3 steps", lambda: (1, 0.5, 3)),
        Case("another one, lr = 0.1, 1 step", lambda: (2, 0.1, 1), public=False),
        Case("another one, lr = 0.1, 8 steps", lambda: (3, 0.1, 8), public=False),
    ),
    mistakes=(
        Mistake(
            _only_computes,
            "No number of the network has changed. Three ways lead there: nothing follows from the loss; `p = p "
            "- …` makes a new tensor and calls it "
            "p, while the network keeps its own (change p in place: `p -= …`); or the gradients are cleared "
            "between backward() and the update.",
        ),
        Mistake(
            {"clear": False},
            "p.grad still holds the gradients of the steps before, added up. Clear it in every step, after it "
            "was used.",
        ),
        Mistake({"sign": 1}, "It walks uphill, and the loss grows: subtract the gradient."),
        Mistake(
            {"rate": False},
            "The learning rate lr is not used: each step is as long as the gradient.",
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
        "One step is: the loss, backward(), change each parameter, clear each gradient.",
        "Changing a parameter is not part of the function you differentiate: do it under torch.no_grad(), in place.",
        "for p in network.parameters(): p -= lr * p.grad, then p.grad = None.",
    ),
    leaves_out="networks with frozen parameters, whose .grad is None",
)


# 01.14 each row by itself ---------------------------------------------------------------------------------------------


def centre_rows(X, dim=1, keep=True, what="mean"):
    """X less the mean of each row; the switches make the usual wrong ones."""
    centre = X.mean(dim, keepdim=keep) if what == "mean" else X.sum(dim, keepdim=keep)
    return X - centre


def value_and_freshness(answer, X):
    before = X.tolist()
    result = answer(X)
    return {"result": result, "X is left as it was": X.tolist() == before}


centre = Exercise(
    id="01.14",
    title="Each row less its own mean",
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
            "The means are right, and they are subtracted from the wrong numbers: of shape (2,) they count as "
            "one row, and go along the "
            "columns. As one column, of shape (2, 1), each goes to its own row: mean(1, keepdim=True), or "
            "unsqueeze(1).",
        ),
        Mistake({"dim": 0}, "These are the means of the columns. Dimension 1 runs along a row."),
        Mistake(
            {"dim": 0, "keep": False},
            "These are the means of the columns. Dimension 1 runs along a row.",
        ),
        Mistake(
            lambda X: X - X.mean(), "This is one mean for the whole table. Each row has its own."
        ),
        Mistake({"what": "sum"}, "This subtracts the sum of each row, not its mean."),
        Mistake(
            lambda X: X.sub_(X.mean(1, keepdim=True)),
            "The numbers are right, but the caller's X was changed in place.",
        ),
    ),
    hints=(
        "X.mean(1) gives one number for each row: shape (2,). What shape does it need to be a column?",
        "A tensor of shape (2, 1) is spread along the rows when it meets one of shape (2, 3).",
        "X.mean(1, keepdim=True) keeps the dimension; .unsqueeze(1) puts it back.",
    ),
    leaves_out="tensors of more than two dimensions",
)

EXERCISES = (mend_network, centre)
