"""Exercises on optimizers: which parameters they hold, adapters, choosing a learning rate."""

from __future__ import annotations

from functools import partial
from statistics import mean

import autolab as torch

from ..exercise import Case, Exercise, Mistake
from .networks import batch, small, undisturbed

# 03.7 unfreeze, and tell the optimizer --------------------------------------------------------------------------------


def unfreeze(layer, optimizer, lr, flag=True, add="new", rate=True):
    """Train a layer from now on; `flag`, `add` and `rate` leave out parts of this."""
    if flag:
        layer.requires_grad_(True)
    known = {id(p) for group in optimizer.param_groups for p in group["params"]}
    parameters = [p for p in layer.parameters() if add == "all" or id(p) not in known]
    if parameters and add != "nothing":
        optimizer.add_param_group({"params": parameters, **({"lr": lr} if rate else {})})


@undisturbed
def after_unfreezing(answer, everything):
    model = small().eval()
    model.layer2.requires_grad_(False)
    trained = (
        list(model.parameters())
        if everything
        else [p for p in model.parameters() if p.requires_grad]
    )
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9)
    inputs, labels = batch()

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    step()
    answer(model.layer2, optimizer, 0.01)
    before = model.layer2.weight.detach().clone()
    step()
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    return {
        "layer2 requires a gradient": [p.requires_grad for p in model.layer2.parameters()],
        "its learning rate": [
            rates.get(id(p), "none: not in the optimizer") for p in model.layer2.parameters()
        ],
        "layer2 moved": not torch.equal(model.layer2.weight, before),
        "momentum of the head kept": model.fc.weight in optimizer.state,
    }


tell = Exercise(
    id="03.7",
    title="Unfreeze, and tell the optimizer",
    observe=after_unfreezing,
    reference=unfreeze,
    cases=(
        Case("an optimizer that doesn't hold the layer", lambda: (False,)),
        Case("an optimizer that was built with all parameters", lambda: (True,), public=False),
    ),
    mistakes=(
        Mistake(
            partial(unfreeze, add="nothing"),
            "The layer gets gradients, but it doesn't change, because the optimizer was built "
            "without it.",
        ),
        Mistake(
            partial(unfreeze, flag=False),
            "The optimizer holds the layer now, but it is still frozen. So it gets no gradient, "
            "and the optimizer skips it.",
        ),
        Mistake(
            partial(unfreeze, add="all"),
            "This optimizer had the layer from the start, and it refuses to have it twice. Add "
            "only the parameters that are not yet in any of its groups.",
        ),
        Mistake(
            partial(unfreeze, rate=False),
            "The new group uses the rate that the optimizer was built with. Give it its own rate:"
            ' {"params": ..., "lr": lr}.',
        ),
    ),
    hints=(
        "Two things are needed: the layer must require gradients, and the optimizer must hold"
        " its parameters.",
        'optimizer.add_param_group({"params": [...], "lr": lr}) adds parameters, but it '
        "refuses parameters that are already in a group.",
        'Collect known = {id(p) for g in optimizer.param_groups for p in g["params"]}. Then '
        "add the parameters p of the layer whose id(p) is not in known, if there are any.",
    ),
    leaves_out="learning-rate schedules, because a schedule that was built earlier doesn't know the "
    "new group",
)


# 03.8 merge an adapter ------------------------------------------------------------------------------------------------


def factors(out, into, rank, alpha):
    draw = torch.Generator().manual_seed(rank)
    return (
        torch.randn(out, into, generator=draw),
        torch.randn(rank, into, generator=draw),
        torch.randn(out, rank, generator=draw),
        alpha,
    )


def merged(answer, weight, A, B, alpha):
    before = weight.clone()
    result = answer(weight, A, B, alpha)
    return {"merged weight": result, "the frozen weight is as it was": torch.equal(weight, before)}


def _in_place(weight, A, B, alpha):
    weight += alpha / A.shape[0] * B @ A
    return weight


merge = Exercise(
    id="03.8",
    title="Merge an adapter",
    observe=merged,
    reference=lambda weight, A, B, alpha: weight + alpha / A.shape[0] * (B @ A),
    cases=(
        Case("weight (3, 4), rank 2, alpha = 6", lambda: factors(3, 4, 2, 6.0)),
        Case("weight (5, 5), rank 1, alpha = 2", lambda: factors(5, 5, 1, 2.0), public=False),
        Case("weight (2, 6), rank 4, alpha = 1", lambda: factors(2, 6, 4, 1.0), public=False),
    ),
    mistakes=(
        Mistake(lambda weight, A, B, alpha: weight + B @ A, "The scale alpha / r is missing."),
        Mistake(
            lambda weight, A, B, alpha: weight + alpha * (B @ A),
            "You scaled by alpha. But the scale is alpha / r, and r is the number of rows of A.",
        ),
        Mistake(
            lambda weight, A, B, alpha: alpha / A.shape[0] * (B @ A),
            "This is only the part that the adapter adds. The frozen weight is missing.",
        ),
        Mistake(
            lambda weight, A, B, alpha: weight + alpha / A.shape[0] * (A @ B),
            "A @ B has the wrong order. The input is multiplied by A first and then by B: x A^T "
            "B^T = x (B A)^T, so the product is B @ A.",
        ),
        Mistake(
            lambda weight, A, B, alpha: weight + alpha / A.shape[1] * (B @ A),
            "You divided by the number of inputs. But the rank r is the number of rows of A.",
        ),
        Mistake(
            _in_place,
            "The result is right, but you changed the frozen weight in place. If you call "
            "your function twice, the adapter is added twice. Return a new tensor instead.",
        ),
    ),
    hints=(
        "The layer computes x W^T + (alpha / r) x A^T B^T. Factor out x.",
        "Because x A^T B^T = x (B A)^T, a multiple of B @ A is added to W.",
        "weight + alpha / A.shape[0] * (B @ A)",
    ),
    leaves_out="convolutions",
)


# 03.9 an honest number ------------------------------------------------------------------------------------------------


def honest(validation, test):
    """Return the rate with the best mean validation accuracy, and the mean test accuracy at that rate."""
    best = max(validation, key=lambda rate: mean(validation[rate]))
    return best, mean(test[best])


def told(answer, validation, test):
    result = answer(validation, test)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return {"(rate, accuracy)": result}
    return {"rate": result[0], "accuracy": result[1]}


def _by(choose, tell):
    """Return a report that chooses by one table and reports a number from one of them."""

    def report(validation, test):
        tables = {"validation": validation, "test": test}
        best = max(tables[choose], key=lambda rate: mean(tables[choose][rate]))
        return best, mean(tables[tell][best])

    return report


def _by_best_seed(validation, test):
    best = max(validation, key=lambda rate: max(validation[rate]))
    return best, mean(test[best])


def _best_of_test(validation, test):
    best, _ = honest(validation, test)
    return best, max(test[best])


report = Exercise(
    id="03.9",
    title="An honest number",
    observe=told,
    reference=honest,
    cases=(
        Case(
            "three rates, three seeds",
            lambda: (
                {0.05: [80.0, 82.0, 78.0], 0.1: [84.0, 83.0, 85.0], 0.2: [90.0, 60.0, 81.0]},
                {0.05: [79.0, 83.0, 81.0], 0.1: [78.0, 80.0, 79.0], 0.2: [88.0, 63.0, 77.0]},
            ),
        ),
        Case(
            "two rates, two seeds",
            lambda: (
                {0.4: [50.0, 70.0], 0.8: [66.0, 64.0]},
                {0.4: [70.0, 72.0], 0.8: [61.0, 65.0]},
            ),
            public=False,
        ),
        Case("one rate, one seed", lambda: ({0.1: [70.0]}, {0.1: [68.0]}), public=False),
    ),
    mistakes=(
        Mistake(
            _by("test", "test"),
            "You chose the rate by the test images, so they are no longer images that played no "
            "part in the choice, and their accuracy is too good. Choose by the validation images.",
        ),
        Mistake(
            _by("validation", "validation"),
            "The rate is right. But you report the accuracy that you used for the choice, and the"
            " largest of several numbers is partly luck. Report the test accuracy at that rate.",
        ),
        Mistake(
            _by("test", "validation"),
            "The two tables are swapped. Choose by validation, and report from test.",
        ),
        Mistake(
            _by_best_seed,
            "You chose by the luckiest seed. A single seed says little, so compare the means over"
            " the seeds.",
        ),
        Mistake(
            _best_of_test,
            "The rate is right, but you report the luckiest seed. Report the mean over the seeds "
            "instead.",
        ),
    ),
    hints=(
        "Use the validation images for the choice, and the test images only once, at the end.",
        "Compare the rates by their mean over the seeds: max(validation, key=lambda lr: ...).",
        "Return this rate and the mean of test[rate].",
    ),
    leaves_out="the spread over the seeds, which you should report beside every mean",
)

EXERCISES = (tell, merge, report)
