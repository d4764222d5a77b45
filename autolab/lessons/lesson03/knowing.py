"""Exercises on what a network knows: its features in two dimensions, a new head."""

from __future__ import annotations

import autolab as torch
from autolab import nn

from ..exercise import Case, Exercise, Mistake
from .networks import batch, body, small, undisturbed, unchanged

# 03.1 the strongest directions ----------------------------------------------------------------------------------------
# A direction and its opposite are equally good, so the sizes of the coordinates are compared.


def cloud(rows, offset):
    """Return rows of features that lie far from zero and vary differently along each axis."""
    draw = torch.Generator().manual_seed(rows)
    return torch.randn(rows, 4, generator=draw) * torch.tensor([3.0, 1.0, 0.3, 0.1]) + torch.tensor(
        offset
    )


def strongest(features, k, centre=True, pick="last", turned=True):
    """Return the coordinates of the rows along the k directions in which they differ most."""
    centred = features - features.mean(0) if centre else features
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    if pick == "rows":
        return centred @ vectors[-k:].T
    chosen = vectors[:, :k] if pick == "first" else vectors[:, -k:]
    chosen = chosen.flip(1) if turned else chosen
    return chosen if pick == "vectors" else centred @ chosen


def sizes(answer, features, k):
    coordinates = answer(features, k)
    return {"sizes of the coordinates": coordinates.abs()}


directions = Exercise(
    id="03.1",
    title="The strongest directions",
    observe=sizes,
    reference=strongest,
    cases=(
        Case("6 rows of 4 features, k = 2", lambda: (cloud(6, [5.0, 0.0, 2.0, 0.0]), 2)),
        Case("9 rows, k = 1", lambda: (cloud(9, [0.0, 7.0, 0.0, 0.0]), 1), public=False),
        Case("5 rows, k = 3", lambda: (cloud(5, [1.0, 1.0, 1.0, 1.0]), 3), public=False),
    ),
    mistakes=(
        Mistake(
            lambda f, k: strongest(f, k, centre=False),
            "The mean was not subtracted. So the strongest direction points from zero to the "
            "middle of the cloud, and it says little about how the rows differ.",
        ),
        Mistake(
            lambda f, k: (
                f @ torch.linalg.eigh((f - f.mean(0)).T @ (f - f.mean(0)))[1][:, -k:]
            ).flip(1),
            "The directions are right, but you projected the rows before their mean was "
            "subtracted. Project the centred rows instead.",
        ),
        Mistake(
            lambda f, k: strongest(f, k, pick="first", turned=False),
            "These are the weakest directions, because eigh sorts the eigenvalues from small to "
            "large.",
        ),
        Mistake(
            lambda f, k: strongest(f, k, turned=False),
            "The directions are right, but the strongest one has to come first, and eigh returns "
            "it last.",
        ),
        Mistake(
            lambda f, k: strongest(f, k, pick="rows"),
            "You took the last rows of the matrix. The eigenvectors are the columns, so you need "
            "vectors[:, -k:].",
        ),
        Mistake(
            lambda f, k: strongest(f, k, pick="vectors", turned=True),
            "These are the directions themselves. To get the coordinates, multiply the centred "
            "rows by the directions.",
        ),
    ),
    hints=(
        "First subtract features.mean(0), because only the differences between the rows matter.",
        "torch.linalg.eigh(centred.T @ centred) returns the eigenvalues from small to large, "
        "and the directions as columns.",
        "centred @ vectors[:, -k:].flip(1) begins with the strongest direction.",
    ),
    leaves_out="features with two equally strong directions",
)


# 03.2 a new head ------------------------------------------------------------------------------------------------------


@undisturbed
def after_new_head(answer, model, classes):
    before, flags = (
        body(model),
        {n: p.requires_grad for n, p in model.named_parameters() if not n.startswith("fc.")},
    )
    returned = answer(model, classes)
    if not isinstance(returned, nn.Module):
        return {"what is returned": type(returned).__name__}
    returned.eval()
    head = list(model.fc.parameters())
    same = unchanged(model, before) and all(
        dict(model.named_parameters())[n].requires_grad == f for n, f in flags.items()
    )
    return {
        "what is returned": type(returned).__name__,
        "outputs": tuple(returned(batch()[0]).shape),
        "the head is a": type(model.fc).__name__,
        "the head learns": all(p.requires_grad for p in head),
        "the rest is as it was": same,
    }


def _out_features(model, classes):
    model.fc.out_features = classes
    return model


def _frozen_head(model, classes):
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model.requires_grad_(False)


def _fixed_inputs(model, classes):
    model.fc = nn.Linear(64, classes)
    return model


def give_head(model, classes):
    """Replace model.fc by a new Linear layer."""
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


def _frozen_body():
    model = small(1, width=7)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("fc."))
    return model


new_head = Exercise(
    id="03.2",
    title="A new head for any network",
    observe=after_new_head,
    reference=give_head,
    cases=(
        Case("a head with 4 inputs, classes = 5", lambda: (small(), 5)),
        Case(
            "a frozen body, a head with 7 inputs, classes = 2",
            lambda: (_frozen_body(), 2),
            public=False,
        ),
        Case("a head with 3 inputs, classes = 10", lambda: (small(2, width=3), 10), public=False),
    ),
    mistakes=(
        Mistake(
            _fixed_inputs,
            "64 is the number of features of resnet_digits, but other networks have other "
            "numbers. Read it from the old head instead: model.fc.in_features.",
        ),
        Mistake(
            _out_features,
            "out_features is only the number that print() shows. Changing it doesn't change the "
            "shape of the weight, so the network still gives its old answers.",
        ),
        Mistake(
            lambda model, classes: nn.Sequential(model, nn.Linear(model.fc.out_features, classes)),
            "You put a second layer behind the old head, so the new layer only sees the old "
            "answers. Assign the new layer to model.fc instead.",
        ),
        Mistake(_frozen_head, "The new head is frozen, so it would keep its random weights."),
        Mistake(
            lambda model, classes: nn.Linear(model.fc.in_features, classes),
            "You returned the head alone. Assign it to model.fc, and return the network.",
        ),
        Mistake(
            lambda model, classes: give_head(model, classes) and None,
            "The head is in place, but the function returns nothing. End with `return model`.",
        ),
    ),
    hints=(
        "If you assign a module to an attribute, it replaces the module that was there: "
        "model.fc = ...",
        "A Linear layer knows its number of inputs, which is model.fc.in_features.",
        "Write model.fc = torch.nn.Linear(model.fc.in_features, classes), and then return model.",
    ),
    leaves_out="networks whose head has a name other than fc",
)

EXERCISES = (directions, new_head)
