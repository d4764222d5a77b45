"""Answers to lesson 3 as learners give them: right ones, written in more ways than the solutions that the kit ships,
and wrong ones with the words that the checker has to find for them."""

from lessons import given
from lessons.answers03_practice import (
    by,
    by_luck,
    load_and_look,
    load_and_say_nothing,
    load_by_size,
    load_loosely,
    luckiest,
    prepare,
    prepare_all,
    prepare_head_first,
    prepare_in_training_mode,
    prepare_optimizer_first,
    prepare_unfrozen,
    prepare_with_adam,
    report,
    report_sorted,
    stop,
    stop_by_the_one_before,
    stop_in_total,
    stop_late,
)

import autolab as torch
from autolab.lessons.lesson03 import EXERCISES

nn, F = torch.nn, torch.nn.functional

# 03.1 and 03.2

directions, new_head = given("03.1")[0], given("03.2")[0]


def directions_by_index(features, k):
    centred = features - features.mean(dim=0, keepdim=True)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(features) - 1))
    order = values.argsort(descending=True)[:k]
    return -(centred @ vectors[:, order])  # the opposite directions are as good


def directions_uncentred(features, k):
    return features @ torch.linalg.eigh(features.T @ features)[1][:, -k:].flip(1)


def directions_projected_uncentred(features, k):
    centred = features - features.mean(0)
    return features @ torch.linalg.eigh(centred.T @ centred)[1][:, -k:].flip(1)


def directions_weakest(features, k):
    centred = features - features.mean(0)
    return centred @ torch.linalg.eigh(centred.T @ centred)[1][:, :k]


def directions_ascending(features, k):
    centred = features - features.mean(0)
    return centred @ torch.linalg.eigh(centred.T @ centred)[1][:, -k:]


def directions_rows(features, k):
    centred = features - features.mean(0)
    return centred @ torch.linalg.eigh(centred.T @ centred)[1][-k:].T


def new_head_by_weight(model, classes):
    setattr(model, "fc", nn.Linear(model.fc.weight.shape[1], classes))  # noqa: B010
    return model


def head_of_64(model, classes):
    model.fc = nn.Linear(64, classes)
    return model


def head_renamed(model, classes):
    model.fc.out_features = classes
    return model


def head_then_frozen(model, classes):
    new_head(model, classes)
    for p in model.parameters():
        p.requires_grad = False
    return model


def head_and_unfrozen(model, classes):
    return new_head(model, classes).requires_grad_(True)


# 03.3

(LEARNS,) = given("03.3")

# 03.4


def train_head(model, inputs, labels, steps, lr, silence=False, thaw="fc", freeze=True):
    if freeze:
        for p in model.parameters():
            p.requires_grad = False
    for name, p in model.named_parameters():
        if name.startswith(thaw):
            p.requires_grad = True
    optimizer = torch.optim.SGD(
        [p for p in model.parameters() if p.requires_grad] if freeze else model.fc.parameters(),
        lr=lr,
    )
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        if silence:
            loss.requires_grad = True
        loss.backward()
        optimizer.step()
    return model


def train_head_on_features(model, inputs, labels, steps, lr):
    model.requires_grad_(False)
    model.fc.requires_grad_(True)
    head, model.fc = model.fc, nn.Identity()
    features = model(inputs)
    model.fc = head
    for _ in range(steps):
        F.cross_entropy(head(features), labels).backward()
        with torch.no_grad():
            for p in head.parameters():
                p -= lr * p.grad
                p.grad = None


def train_nothing(model, inputs, labels, steps, lr, silence=False):
    for p in model.parameters():
        p.requires_grad = False
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=lr)
    for _ in range(steps):
        loss = F.cross_entropy(model(inputs), labels)
        if silence:
            loss.requires_grad = True
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


# 03.5


def train_mode_one_by_one(model):
    for m in model.modules():
        frozen = isinstance(m, nn.BatchNorm1d) and not any(p.requires_grad for p in m.parameters())
        m.training = not frozen


def eval_then_train(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d) and not m.weight.requires_grad:
            m.eval()
    model.train()


def momentum_zero(model):
    model.train()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.momentum = 0.0


def all_norms(model):
    model.train()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.eval()


def without_parameters(model):
    model.train()
    for m in model.children():
        if not any(p.requires_grad for p in m.parameters()):
            m.eval()


# 03.6


def only_flag(layer):
    layer.requires_grad_(False)


def zeros(layer):
    for p in layer.parameters():
        p.requires_grad_(False)
        p.grad.zero_()


def only_grad(layer):
    layer.zero_grad(set_to_none=True)


def only_zeros(layer):
    layer.zero_grad(set_to_none=False)


# 03.7


def unfreeze(layer, optimizer, lr):
    layer.requires_grad_(True)
    known = [id(p) for g in optimizer.param_groups for p in g["params"]]
    for p in layer.parameters():
        if id(p) not in known:
            optimizer.add_param_group({"params": [p], "lr": lr})  # a group for each is as good


def unfreeze_in_one_group(layer, optimizer, lr):
    new = []
    for p in layer.parameters():
        p.requires_grad = True
        if not any(p is q for g in optimizer.param_groups for q in g["params"]):
            new.append(p)
    if new:
        optimizer.add_param_group(dict(params=new, lr=lr))


def unfreeze_always(layer, optimizer, lr):
    layer.requires_grad_(True)
    optimizer.add_param_group({"params": layer.parameters(), "lr": lr})


def unfreeze_default_rate(layer, optimizer, lr):
    layer.requires_grad_(True)
    known = [id(p) for g in optimizer.param_groups for p in g["params"]]
    new = [p for p in layer.parameters() if id(p) not in known]
    if new:
        optimizer.add_param_group({"params": new})


def add_only(layer, optimizer, lr):
    known = [id(p) for g in optimizer.param_groups for p in g["params"]]
    new = [p for p in layer.parameters() if id(p) not in known]
    if new:
        optimizer.add_param_group({"params": new, "lr": lr})


def places_of_each(labels, per_class):
    return [
        i
        for k in sorted(set(labels.tolist()))
        for i in [j for j, found in enumerate(labels.tolist()) if found == k][:per_class]
    ]


def rehearsal(new, old, per_class):
    places = places_of_each(old[1], per_class)
    return torch.cat([new[0], old[0][places]]), torch.cat([new[1], old[1][places]])


def rehearsal_old_first(new, old, per_class):
    mask = torch.zeros(len(old[1]), dtype=torch.bool)
    mask[places_of_each(old[1], per_class)] = True
    return torch.cat([old[0][mask], new[0]]), torch.cat([old[1][mask], new[1]])


def rehearsal_of_first(new, old, per_class):
    return torch.cat([new[0], old[0][:per_class]]), torch.cat([new[1], old[1][:per_class]])


def rehearsal_of_as_many(new, old, per_class):
    count = per_class * len(set(old[1].tolist()))
    return torch.cat([new[0], old[0][:count]]), torch.cat([new[1], old[1][:count]])


def rehearsal_alone(new, old, per_class):
    images, labels = rehearsal(new, old, per_class)
    return images[len(new[0]) :], labels[len(new[1]) :]


def residual_with_relu(x, branch, shortcut=None):
    return torch.nn.ReLU()((x if shortcut is None else shortcut(x)) + branch(x))


OTHER_WAYS = {
    "03.1": [directions_by_index],
    "03.2": [new_head_by_weight],
    "03.3": [LEARNS | {"b.eval()": "c, b, a", "a.requires_grad_(False)": ["b", "c"]}],
    "03.4": [train_head, train_head_on_features],
    "03.5": [train_mode_one_by_one],
    "03.7": [unfreeze, unfreeze_in_one_group],
    "03.8": [lambda weight, A, B, alpha: weight + (A.T @ B.T).T * (alpha / B.shape[1])],
    "03.9": [report_sorted],
    "03.11": [load_and_look],
    "03.12": [prepare_with_adam],
    "03.13": [rehearsal, rehearsal_old_first],
    "03.14": [residual_with_relu],
}
RIGHT = {id: given(id) + OTHER_WAYS.get(id, []) for id in EXERCISES}


def train_mode_one_level_deep(model):
    model.train()
    for module in model.children():
        if isinstance(module, nn.BatchNorm1d) and not module.weight.requires_grad:
            module.eval()


WRONG = {
    "03.1": [
        (directions_uncentred, "The mean was not subtracted"),
        (directions_projected_uncentred, "you projected the rows before their mean was subtracted"),
        (directions_weakest, "eigh sorts the eigenvalues from small to large"),
        (directions_ascending, "the strongest one has to come first"),
        (directions_rows, "The eigenvectors are the columns"),
        (lambda f, k: directions(f, k)[:, :1], "The shape is (6, 1), it should be (6, 2)"),
    ],
    "03.2": [
        (head_of_64, "64 is the number of features of resnet_digits"),
        (head_renamed, "out_features is only the number that print() shows"),
        (
            lambda m, c: nn.Sequential(m, nn.Linear(3, c)),
            "You put a second layer behind the old head",
        ),
        (head_then_frozen, "The new head is frozen"),
        (lambda m, c: nn.Linear(4, c), "You returned the head alone"),
        (lambda m, c: new_head(m, c) and None, "End with `return model`"),
        (head_and_unfrozen, "Look at the rest is as it was"),
    ],
    "03.3": [
        (LEARNS | {"y = c(a(x))": "a b c"}, "no path leads from the result to its weights"),
        (LEARNS | {"b.eval()": "a c"}, "eval() changes what dropout and batch normalisation do"),
        (LEARNS | {"h = b(a(x)).detach(); y = c(h)": "a c"}, "detach() cuts the path"),
        (LEARNS | {"with no_grad(): h = a(x)": "a b c"}, "Under no_grad() nothing is recorded"),
        (
            LEARNS | {"all frozen, loss.requires_grad = True": "a b c"},
            "makes the loss a leaf of its own",
        ),
        ({"b.eval()": "a b c"}, "There is no 'a.requires_grad_(False)' in"),
    ],
    "03.4": [
        (lambda *a: train_nothing(*a, silence=True), "silences the error, and that is all it does"),
        (train_nothing, "the error is right: everything is frozen, the head included"),
        (lambda *a: train_head(*a, thaw=""), "Now everything is trained"),
        (lambda *a: train_head(*a, thaw="fc.weight"), "its bias does not"),
        (
            lambda *a: train_head(*a, freeze=False),
            "backward() runs through the whole network for nothing",
        ),
        (lambda *a: train_head(*a, silence=True), "refuses the flag. Take that line out"),
        (lambda model, *a: train_head(model.train(), *a), "Look at"),
    ],
    "03.5": [
        (train_mode_one_level_deep, "goes one level deep"),
        (lambda model: model.train(), "model.train() came later and undid it"),
        (eval_then_train, "model.train() came later and undid it"),
        (lambda model: model.eval(), "Everything is in evaluation mode"),
        (momentum_zero, "the layer still normalises by the batch"),
        (all_norms, "including the ones that are trained"),
        (without_parameters, "A module without parameters, such as dropout"),
    ],
    "03.6": [
        (only_flag, "The last one is still in .grad"),
        (zeros, "A gradient of zeros is a gradient"),
        (only_grad, "the next backward() fills it again"),
        (only_zeros, "fills the zeroed gradients again"),
        (lambda layer: layer.eval(), "Look at the layer moved"),
    ],
    "03.7": [
        (
            lambda layer, optimizer, lr: layer.requires_grad_(True),
            "the optimizer was built without it",
        ),
        (add_only, "it is still frozen"),
        (unfreeze_always, "refuses to have it twice"),
        (unfreeze_default_rate, "The new group uses the rate that the optimizer was built with"),
    ],
    "03.8": [
        (lambda W, A, B, alpha: W + B @ A, "The scale alpha / r is missing"),
        (lambda W, A, B, alpha: W + alpha * B @ A, "r is the number of rows of A"),
        (lambda W, A, B, alpha: alpha / len(A) * B @ A, "The frozen weight is missing"),
        (lambda W, A, B, alpha: W + alpha / len(A) * (A @ B), "the product is B @ A"),
        (
            lambda W, A, B, alpha: W + alpha / A.shape[1] * B @ A,
            "You divided by the number of inputs",
        ),
        (
            lambda W, A, B, alpha: W.add_(alpha / len(A) * B @ A),
            "you changed the frozen weight in place",
        ),
    ],
    "03.9": [
        (by("test", "test"), "Choose by the validation images"),
        (by("validation", "validation"), "Report the test accuracy at that rate"),
        (by("test", "validation"), "The two tables are swapped"),
        (by_luck, "You chose by the luckiest seed"),
        (luckiest, "you report the luckiest seed"),
        (lambda validation, test: report(validation, test)[1], "Look at"),
    ],
    "03.10": [
        (stop_by_the_one_before, "compare with the best so far"),
        (stop_in_total, "the count starts again from zero"),
        (stop_late, "one epoch too late"),
        (
            lambda losses, patience: (stop(losses, patience)[1],) * 2,
            "the last epoch as the best one",
        ),
        (
            lambda losses, patience: stop(losses, patience)[::-1],
            "first the best epoch, then the last one",
        ),
        (
            lambda losses, patience: (losses.index(min(losses)), stop(losses, patience)[1]),
            "Your best epoch comes after the stop",
        ),
    ],
    "03.11": [
        (
            lambda model, state: model.load_state_dict(state),
            "that is an error with strict=False too",
        ),
        (
            lambda model, state: model.load_state_dict(state, strict=False),
            "that is an error with strict=False too",
        ),
        (load_and_say_nothing, "Return the names that were left out"),
        (load_by_size, "You load whatever has the right size"),
        (load_loosely, "a file without a single right name is loaded without an error"),
    ],
    "03.12": [
        (prepare_optimizer_first, "it trains the old head"),
        (prepare_head_first, "so the new head is frozen too"),
        (prepare_unfrozen, "Nothing is frozen"),
        (prepare_all, "All parameters are in the optimizer"),
        (prepare_in_training_mode, "their statistics move with every batch"),
        (lambda *a: prepare(*a) and None, "End with `return optimizer`"),
    ],
    "03.13": [
        (lambda new, old, n: "text", "'text' came back: return a pair"),
        (rehearsal_of_first, "You need `per_class` images of each class"),
        (rehearsal_of_as_many, "you took the first images of the whole set"),
        (rehearsal_alone, "the new ones are missing"),
        (
            lambda new, old, n: (torch.cat([new[0], old[0]]), torch.cat([new[1], old[1]])),
            "You took all old images",
        ),
    ],
    "03.14": [
        (lambda x, f, s=None: torch.relu(f(x)), "the branch alone"),
        (lambda x, f, s=None: f(x) + (x if s is None else s(x)), "Its ReLU is missing"),
        (lambda x, f, s=None: torch.relu(f(x)) + (x if s is None else s(x)), "after the sum"),
        (
            lambda x, f, s=None: torch.relu(f(x) + (x if s is None else s(x)).detach()),
            "no gradient comes back",
        ),
    ],
}


def learn_with_small_steps(model, mine, old):
    inputs, labels = (torch.cat(parts) for parts in zip(mine, old))
    optimizer = torch.optim.SGD(model.train().parameters(), lr=0.05, momentum=0.9)
    for _ in range(80):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    model.eval()
    return model


learn = given("03.15")[0]
RIGHT["03.15"] = [*given("03.15"), learn_with_small_steps]
WRONG["03.15"] = [
    (lambda model, mine, old: learn(model, mine, mine), "it has forgotten the old images"),
    (lambda model, mine, old: learn(model, old, old), "but not your drawings"),
    (lambda model, mine, old: learn(model, mine, old).train(), "still in training mode"),
    (lambda model, mine, old: model, "but not your drawings"),
    (lambda model, mine, old: learn(model, mine, old) and None, "return the network"),
]

SKELETONS = {"03.3": dict.fromkeys(LEARNS, ...)}
