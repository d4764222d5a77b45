"""Exercises on freezing: who gets a gradient, the silenced error, batch normalisation, frozen for good."""

from __future__ import annotations

from functools import partial

import autolab as torch
from autolab import nn

from ..exercise import Case, Exercise, Mistake
from .networks import batch, body, small, unchanged, undisturbed

# 03.3 who gets a gradient ---------------------------------------------------------------------------------------------
# y = c(b(a(x))), three Linear layers

LEARN = {
    "a.requires_grad_(False)": (
        "b c",
        "a is the first layer and it is frozen, so only b and c are trained. The gradient of "
        "the input of b isn't needed.",
    ),
    "y = c(a(x))": (
        "a c",
        "b isn't used here, so no path leads from the result to its weights. Their .grad "
        "stays None.",
    ),
    "b.eval()": (
        "a b c",
        "eval() changes what dropout and batch normalisation do, but it has nothing to do "
        "with gradients.",
    ),
    "h = b(a(x)).detach(); y = c(h)": (
        "c",
        "detach() cuts the path, so neither b nor a gets a gradient.",
    ),
    "with no_grad(): h = a(x)": (
        "b c",
        "Under no_grad() nothing is recorded, so the path ends at h. But b and c ran outside "
        "the block.",
    ),
    "all frozen, loss.requires_grad = True": (
        "nobody",
        "The flag makes the loss a leaf of its own, and no node leads from it to any weight.",
    ),
}


def _row(answer, code):
    """Return one row of the table, in which spaces or commas may separate the layers."""
    said = answer[code]
    if isinstance(said, (list, tuple, set)):
        said = " ".join(map(str, said))
    return {
        "result": said if said is ... else " ".join(sorted(str(said).replace(",", " ").split()))
    }


who_learns = Exercise(
    id="03.3",
    title="Who gets a gradient",
    tell=False,
    observe=_row,
    reference={code: who for code, (who, _) in LEARN.items()},
    cases=tuple(
        Case(code, partial(tuple, [code]), why=f"{code}: {why}") for code, (_, why) in LEARN.items()
    ),
    hints=(
        "Ask two questions about each layer. Does it require a gradient? Does a path of nodes"
        " lead from the loss to it?",
        "With requires_grad=False the answer to the first question is no. detach() and "
        "no_grad() cut the path.",
        "Try it out: make three Linear layers, call backward() once, and print "
        "layer.weight.grad is not None for each of them.",
    ),
    leaves_out="layers that are used twice",
)


# 03.4 a head that does not learn --------------------------------------------------------------------------------------


def train_head(model, inputs, labels, steps, lr, trained="head", silence=False, before=True):
    """Train the head of `model` for some steps; the other settings are typical mistakes."""
    if before:
        model.requires_grad_(False)
    if trained == "head":
        model.fc.requires_grad_(True)
    elif trained == "weight":
        model.fc.weight.requires_grad_(True)
    elif trained == "all":
        model.requires_grad_(True)
    optimizer = torch.optim.SGD(
        model.parameters() if trained == "all" else model.fc.parameters(), lr=lr
    )
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        if silence:
            loss.requires_grad = True
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@undisturbed
def after_training(answer, model, inputs, labels, steps, lr):
    before, head = body(model), [p.detach().clone() for p in model.fc.parameters()]
    answer(model, inputs, labels, steps, lr)
    return {
        "weight and bias of the head moved": [
            not torch.equal(p, q) for p, q in zip(model.fc.parameters(), head)
        ],
        "loss afterwards": nn.functional.cross_entropy(model(inputs), labels),
        "the rest is as it was": unchanged(model, before),
        "frozen besides the head": not any(
            p.requires_grad for n, p in model.named_parameters() if n[:3] != "fc."
        ),
    }


def _pretrained(seed):
    return small(seed).eval()


mend_head = Exercise(
    id="03.4",
    title="Fix a head that does not learn",
    observe=after_training,
    given=partial(train_head, trained="nothing", silence=True),
    reference=train_head,
    cases=(
        Case("3 steps with lr = 0.5", lambda: (_pretrained(0), *batch(0), 3, 0.5)),
        Case("1 step with lr = 0.1", lambda: (_pretrained(1), *batch(1), 1, 0.1), public=False),
        Case("0 steps", lambda: (_pretrained(2), *batch(2), 0, 0.1), public=False),
    ),
    mistakes=(
        Mistake(
            partial(train_head, trained="nothing", silence=True),
            "loss.requires_grad = True silences the error, and that is all it does. The head is still "
            "frozen, so no path leads from the loss to any weight.",
        ),
        Mistake(
            partial(train_head, trained="nothing"),
            "Without the flag you get the error back, and the error is right: everything is "
            "frozen, the head included. Unfreeze model.fc.",
        ),
        Mistake(
            partial(train_head, trained="all"),
            "Now everything is trained. But the body should stay frozen, so that only the head "
            "learns.",
        ),
        Mistake(
            partial(train_head, trained="weight"),
            "The weight of the head learns, but its bias does not. Both are parameters of "
            "model.fc.",
        ),
        Mistake(
            partial(train_head, before=False),
            "The head is right. But the body is unchanged only because the optimizer doesn't hold"
            " it. It still collects gradients, so backward() runs through the whole network for "
            "nothing.",
        ),
        Mistake(
            partial(train_head, silence=True),
            "The loss now depends on the head, so it is the result of an operation and refuses "
            "the flag. Take that line out.",
        ),
    ),
    hints=(
        "Take out the line with loss.requires_grad and read the error. Which parameters of "
        "this network require a gradient?",
        "First freeze everything, and then unfreeze the head. The order matters.",
        "After the loop that freezes, write model.fc.requires_grad_(True). You don't need "
        "loss.requires_grad at all.",
    ),
    leaves_out="optimizers with momentum or weight decay",
)


# 03.5 train mode, except for what is frozen ---------------------------------------------------------------------------


def train_mode(model, how="right"):
    """Put the trained layers into training mode; `how` selects a typical mistake."""
    norms = [
        m
        for m in (model.children() if how == "children" else model.modules())
        if isinstance(m, nn.BatchNorm1d)
    ]
    if how == "eval":
        return model.eval()
    model.train()
    if how == "momentum":
        for norm in norms:
            norm.momentum = 0.0
    elif how == "modules":
        for module in model.children():
            if not any(p.requires_grad for p in module.parameters()):
                module.eval()
    elif how != "train":
        for norm in norms:
            if how == "all" or not norm.weight.requires_grad:
                norm.eval()
    return model


def modes(answer, model):
    answer(model)
    every = {
        name: "train" if module.training else "eval" for name, module in model.named_children()
    }
    layers = {name: every[name] for name in ("bn1", "bn2", "dropout", "fc")}
    inside = [
        "train" if m.training else "eval"
        for m in model.layer1.modules()
        if isinstance(m, nn.BatchNorm1d)
    ]
    return {**layers, "inside layer1": inside, "momentum": [model.bn1.momentum, model.bn2.momentum]}


def _nested():
    model = small()
    model.add_module("layer1", nn.Sequential(model.layer1, nn.BatchNorm1d(4)).requires_grad_(False))
    return model


def _frozen(*names, training=True):
    model = small().train(training)
    for name in names:
        model.get_submodule(name).requires_grad_(False)
    return model


frozen_statistics = Exercise(
    id="03.5",
    title="Train mode, except for what is frozen",
    observe=modes,
    reference=train_mode,
    cases=(
        Case("layer1 and bn1 frozen", lambda: (_frozen("layer1", "bn1"),)),
        Case(
            "nothing frozen, the network in eval mode",
            lambda: (_frozen(training=False),),
            public=False,
        ),
        Case(
            "all frozen but the head",
            lambda: (_frozen("layer1", "bn1", "layer2", "bn2"),),
            public=False,
        ),
        Case("a frozen normalisation inside layer1", lambda: (_nested(),), public=False),
    ),
    mistakes=(
        Mistake(
            partial(train_mode, how="children"),
            "A batch normalisation inside another module is missed, because `model.children()` "
            "only goes one level deep. `model.modules()` visits all levels.",
        ),
        Mistake(
            partial(train_mode, how="train"),
            "bn1 is in training mode at the end, so its statistics change with every batch. If "
            "you did put it into evaluation mode, model.train() came later and undid it.",
        ),
        Mistake(
            partial(train_mode, how="eval"),
            "Everything is in evaluation mode. But dropout and the layers that are trained should"
            " be in training mode.",
        ),
        Mistake(
            partial(train_mode, how="momentum"),
            "With momentum = 0 the statistics don't change, but in training mode the layer still "
            "normalises by the batch. So the answer for one image depends on the others. Use "
            "eval() instead.",
        ),
        Mistake(
            partial(train_mode, how="all"),
            "You put every batch normalisation into evaluation mode, including the ones that are "
            "trained.",
        ),
        Mistake(
            partial(train_mode, how="modules"),
            "A module without parameters, such as dropout, counts as frozen in your code. Check "
            "only the batch normalisations.",
        ),
    ),
    hints=(
        "First call model.train(), and then put the frozen normalisations back into "
        "evaluation mode.",
        "Go through model.modules() and look for each torch.nn.BatchNorm1d whose parameters "
        "have requires_grad False.",
        "if isinstance(m, torch.nn.BatchNorm1d) and not m.weight.requires_grad: m.eval()",
    ),
    leaves_out="normalisations without parameters, and other kinds of normalisation",
)


# 03.6 frozen for good -------------------------------------------------------------------------------------------------


def freeze_for_good(layer, flag=True, grad="none"):
    """Freeze a layer; `flag` and `grad` say what is done about requires_grad and .grad."""
    for parameter in layer.parameters():
        if flag:
            parameter.requires_grad_(False)
        if grad == "none":
            parameter.grad = None
        elif grad == "zero" and parameter.grad is not None:
            parameter.grad.zero_()


@undisturbed
def later(answer, build, zero):
    """Take two steps, freeze the layer, take two more, and return how far it moves in these."""
    layer, head = nn.Linear(3, 2), nn.Linear(2, 1)
    optimizer, x = build([*layer.parameters(), *head.parameters()]), torch.ones(4, 3)

    def step():
        if zero:
            optimizer.zero_grad(set_to_none=False)
        (head(layer(x)) ** 2).mean().backward()
        optimizer.step()

    step()
    step()
    answer(layer)
    before, left = layer.weight.detach().clone(), [p.grad for p in layer.parameters()]
    words = ["None" if grad is None else "numbers" if grad.any() else "zeros" for grad in left]
    moved = []
    for _ in range(2):
        step()
        moved.append(not torch.equal(layer.weight, before))
    return {
        "the layer moved": moved,
        ".grad when frozen": words,
        "requires_grad": layer.weight.requires_grad,
    }


def _sgd(**settings):
    return partial(torch.optim.SGD, lr=0.1, **settings)


for_good = Exercise(
    id="03.6",
    title="Frozen for good",
    observe=later,
    given=partial(freeze_for_good, grad="left"),
    reference=freeze_for_good,
    cases=(
        Case("SGD with momentum, zero_grad(set_to_none=False)", lambda: (_sgd(momentum=0.9), True)),
        Case(
            "SGD with weight decay, zero_grad(set_to_none=False)",
            lambda: (_sgd(weight_decay=0.1), True),
            public=False,
        ),
        Case(
            "Adam, gradients not cleared",
            lambda: (partial(torch.optim.Adam, lr=0.1), False),
            public=False,
        ),
        Case("plain SGD, gradients not cleared", lambda: (_sgd(), False), public=False),
    ),
    mistakes=(
        Mistake(
            partial(freeze_for_good, grad="left"),
            "requires_grad = False stops new gradients. The last one is still in .grad, and "
            "zero_grad(set_to_none=False) turns it into zeros. So momentum changes the weights "
            "anyway.",
        ),
        Mistake(
            partial(freeze_for_good, grad="zero"),
            "A gradient of zeros is a gradient, so momentum and weight decay change the weights. "
            "The optimizer skips a parameter only if its .grad is None.",
        ),
        Mistake(
            partial(freeze_for_good, flag=False),
            ".grad is None now, but the next backward() fills it again, because requires_grad is "
            "still True.",
        ),
        Mistake(
            partial(freeze_for_good, flag=False, grad="zero"),
            "The next backward() fills the zeroed gradients again, because requires_grad is still "
            "True.",
        ),
    ),
    hints=(
        "You have to do two things for each parameter: prevent new gradients, and remove the "
        "old one.",
        "An optimizer skips a parameter whose .grad is None, but it doesn't skip a gradient "
        "of zeros.",
        "for p in layer.parameters(): p.requires_grad_(False); p.grad = None",
    ),
    leaves_out="optimizers that are built later",
)

EXERCISES = (who_learns, mend_head, frozen_statistics, for_good)
