"""Exercises of the further notebooks: early stopping, loading what fits, the whole preparation."""

from __future__ import annotations

from functools import partial

import autolab as torch
from autolab import nn

from ..exercise import Case, Exercise, Mistake
from .networks import body, small, undisturbed

# 03.10 early stopping -------------------------------------------------------------------------------------------------


def stop_early(losses, patience, compare="best", count="row", late=0):
    """Return the best epoch and the last epoch trained; the other settings are typical mistakes."""
    best, stale, last = 0, 0, 0
    for epoch, loss in enumerate(losses):
        last = epoch
        if epoch == 0 or loss < (losses[best] if compare == "best" else losses[epoch - 1]):
            if compare == "best" or loss < losses[best]:
                best = epoch
            stale = 0 if count == "row" else stale
        else:
            stale += 1
        if stale >= patience + late:
            break
    return best, last


def epochs(answer, losses, patience):
    result = answer(list(losses), patience)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return {"(best, last)": result}
    return {"best": result[0], "last": result[1]}


early = Exercise(
    id="03.10",
    title="When to stop",
    observe=epochs,
    reference=stop_early,
    cases=(
        Case(
            "losses 1.0 0.6 0.7 0.65 0.5 0.6 0.55 0.58 0.59 0.4, patience = 3",
            lambda: ([1.0, 0.6, 0.7, 0.65, 0.5, 0.6, 0.55, 0.58, 0.59, 0.4], 3),
        ),
        Case(
            "losses 0.9 0.8 0.85 0.83 0.84 0.7, patience = 2",
            lambda: ([0.9, 0.8, 0.85, 0.83, 0.84, 0.7], 2),
            public=False,
        ),
        Case(
            "losses that fall to the end, patience = 2", lambda: ([3.0, 2.0, 1.0], 2), public=False
        ),
    ),
    mistakes=(
        Mistake(
            partial(stop_early, compare="before"),
            "You compare each epoch with the epoch before. But going up and coming halfway back "
            "is not an improvement, so compare with the best so far.",
        ),
        Mistake(
            partial(stop_early, count="total"),
            "You count every bad epoch. But after a new best epoch, the count starts again from "
            "zero.",
        ),
        Mistake(
            partial(stop_early, late=1),
            "Your function stops one epoch too late. Stop as soon as `patience` epochs in a row were not better than "
            "the best.",
        ),
        Mistake(
            lambda losses, patience: (stop_early(losses, patience)[1],) * 2,
            "You return the last epoch as the best one. But the weights to keep come from the best "
            "epoch.",
        ),
        Mistake(
            lambda losses, patience: stop_early(losses, patience)[::-1],
            "The two numbers are swapped. Return first the best epoch, then the last one.",
        ),
        Mistake(
            lambda losses, patience: (losses.index(min(losses)), stop_early(losses, patience)[1]),
            "Your best epoch comes after the stop. The training never got that far, so look only "
            "at the epochs before it.",
        ),
    ),
    hints=(
        "While you go through the losses, keep two numbers: the best epoch so far, and how "
        "many epochs have followed it.",
        "If a loss is below the best one, it becomes the best. Otherwise, count one more "
        "epoch without an improvement.",
        "Stop when epoch - best == patience. Return (best, epoch).",
    ),
    leaves_out="losses that are NaN",
)


# 03.11 load what fits -------------------------------------------------------------------------------------------------


def load_body(model, state):
    """Load everything except the head from a state dict; raise an error if an entry is missing."""
    head = {name: value for name, value in model.state_dict().items() if name.startswith("fc.")}
    rest = {name: value for name, value in state.items() if not name.startswith("fc.")}
    model.load_state_dict({**rest, **head})
    return sorted(head)


def _loosely(model, state):
    rest = {name: value for name, value in state.items() if not name.startswith("fc.")}
    model.load_state_dict(rest, strict=False)
    return ["fc.bias", "fc.weight"]


def _by_shape(model, state):
    own = model.state_dict()
    fitting = {
        name: value
        for name, value in state.items()
        if name in own and own[name].shape == value.shape
    }
    model.load_state_dict(fitting, strict=False)
    return sorted(own.keys() - fitting.keys())


def _nothing_returned(model, state):
    load_body(model, state)


@undisturbed
def loaded(answer, model, state):
    head = model.fc.weight.detach().clone()
    try:
        names = answer(model, state)
    except RuntimeError as error:
        words = "size mismatch" if "size mismatch" in str(error) else "missing or unexpected keys"
        return {"the error": f"RuntimeError about {words}"}
    in_file = {name: value for name, value in state.items() if not name.startswith("fc.")}
    now = body(model)
    if not in_file.keys() <= now.keys():
        return {"the error": None}
    same = all(name in now and torch.equal(now[name], value) for name, value in in_file.items())
    return {
        "the body is that of the file": same,
        "the head is as it was": torch.equal(model.fc.weight, head),
        "names left out": sorted(names) if isinstance(names, (list, tuple, set)) else names,
    }


def _renamed():
    return {f"module.{name}": value for name, value in small(1).state_dict().items()}


load = Exercise(
    id="03.11",
    title="Load all but the head",
    observe=loaded,
    given=lambda model, state: model.load_state_dict(state),
    reference=load_body,
    cases=(
        Case(
            "a file with 10 classes, a network with 3",
            lambda: (small(0), small(1, classes=10).state_dict()),
        ),
        Case(
            "a file with as many classes as the network",
            lambda: (small(0), small(1).state_dict()),
            public=False,
        ),
        Case(
            "a file whose names all begin with module.",
            lambda: (small(0), _renamed()),
            public=False,
            why="Your function loaded a file in which no name fits, without an error, although "
            "nothing from the file is in the network. It has to raise an error.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda model, state: model.load_state_dict(state),
            "The head in the file has another size, and that is an error with strict=False too. "
            'Leave out the entries that begin with "fc.".',
        ),
        Mistake(
            _nothing_returned,
            "The network is loaded correctly. Return the names that were left out, as a list.",
        ),
        Mistake(
            _by_shape,
            "You load whatever has the right size. If the number of classes happens to be the "
            "same, this includes the head. And a file without a single right name is loaded "
            "without an error, too.",
        ),
        Mistake(
            _loosely,
            "With strict=False, a file without a single right name is loaded without an error. Check "
            "what load_state_dict returns, or add the network's own head to the dict and stay "
            "strict.",
        ),
    ),
    hints=(
        'Make a new dict without the entries whose names begin with "fc.".',
        "With strict=True, which is the default, load_state_dict now complains that the head is "
        "missing. Take its entries from model.state_dict().",
        "model.load_state_dict({**rest, **head}); return sorted(head)",
    ),
    leaves_out="files that contain more than weights",
)


# 03.12 the whole preparation ------------------------------------------------------------------------------------------


def prepare(model, classes, lr, order="right", mode="eval"):
    """Prepare the training of a new head and return its optimizer; `order` and `mode` select typical mistakes."""
    if order == "optimizer first":
        optimizer = torch.optim.SGD(model.fc.parameters(), lr=lr, momentum=0.9)
    if order != "head first":
        model.requires_grad_(order == "nothing frozen")
    model.fc = nn.Linear(model.fc.in_features, classes)
    if order == "head first":
        model.requires_grad_(False)
    if order != "optimizer first":
        parameters = model.parameters() if order == "all in" else model.fc.parameters()
        optimizer = torch.optim.SGD(parameters, lr=lr, momentum=0.9)
    model.train(mode == "train")
    return optimizer


@undisturbed
def prepared(answer, model, classes, lr):
    optimizer = answer(model, classes, lr)
    if not isinstance(optimizer, torch.optim.Optimizer):
        return {"what is returned": type(optimizer).__name__}
    held = [id(p) for group in optimizer.param_groups for p in group["params"]]
    frozen = not any(
        p.requires_grad for name, p in model.named_parameters() if not name.startswith("fc.")
    )
    return {
        "what is returned": "an optimizer",
        "outputs of the head": model.fc.out_features,
        "the head learns": all(p.requires_grad for p in model.fc.parameters()),
        "the rest is frozen": frozen,
        "the optimizer has the new head": all(id(p) in held for p in model.fc.parameters()),
        "and nothing else": len(held) == len(list(model.fc.parameters())),
        "batch normalisation": "train" if model.bn1.training or model.bn2.training else "eval",
        "learning rate": optimizer.param_groups[0]["lr"],
    }


preparation = Exercise(
    id="03.12",
    title="The whole preparation",
    observe=prepared,
    reference=prepare,
    cases=(
        Case("classes = 5, lr = 0.1", lambda: (small(), 5, 0.1)),
        Case(
            "another network, classes = 2, lr = 0.01",
            lambda: (small(3, width=9, classes=8), 2, 0.01),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            partial(prepare, order="optimizer first"),
            "The optimizer was built before the head was replaced. So it trains the old head, "
            "which the network no longer uses.",
        ),
        Mistake(
            partial(prepare, order="head first"),
            "You froze the network after you replaced the head, so the new head is frozen too.",
        ),
        Mistake(
            partial(prepare, order="nothing frozen"),
            "Nothing is frozen. The optimizer doesn't hold the body, but backward() still "
            "computes all its gradients.",
        ),
        Mistake(
            partial(prepare, order="all in"),
            "All parameters are in the optimizer. It skips the frozen ones as long as their .grad"
            " is None, but this exercise asks for the head only.",
        ),
        Mistake(
            partial(prepare, mode="train"),
            "The frozen batch normalisations are in training mode, so their statistics move with "
            "every batch. Call model.eval(), because the head is trained in evaluation mode too.",
        ),
        Mistake(
            lambda model, classes, lr: prepare(model, classes, lr) and None,
            "Everything else may be right, but the function returns nothing. End with `return "
            "optimizer`.",
        ),
    ),
    hints=(
        "You need four steps, in this order: freeze, replace the head, build the optimizer, "
        "set the mode.",
        "Freeze first, because a new layer requires gradients from the beginning. Then write "
        "model.fc = torch.nn.Linear(...).",
        "optimizer = torch.optim.SGD(model.fc.parameters(), lr=lr); model.eval(); return optimizer",
    ),
    leaves_out="whether the preparation is the best one for your data",
)

EXERCISES = (early, load, preparation)
