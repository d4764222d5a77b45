"""Answers to lesson 1 as learners give them: right ones, written in more than one way, and wrong ones with the words
that the checker has to find for them."""

import math

from lessons import given

import autolab as torch
from autolab.lessons.lesson01 import EXERCISES


def _custom(backward, saves_output=False):
    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            output = input.clamp(min=0)
            ctx.save_for_backward(output if saves_output else input)
            return output

        @staticmethod
        def backward(ctx, grad_output):
            (saved,) = ctx.saved_tensors
            return backward(grad_output, saved)

    return MyReLU


# 01.2 and 01.6


def weight_then_flag(values):
    w = 0.1 * torch.tensor(values)
    w.requires_grad = True
    return w


def weight_retained(values):
    w = torch.tensor(values, requires_grad=True) * 0.1
    w.retain_grad()
    return w


def names_by_level(result):
    level, seen = {result.grad_fn}, set()
    while level:
        seen |= level
        level = {p for node in level for p, _ in node.next_functions if p is not None} - seen
    return [node.name() for node in seen]


def names_every_visit(result):
    def visit(node):
        return [node.name()] + [
            n for p, _ in node.next_functions if p is not None for n in visit(p)
        ]

    return visit(result.grad_fn)


def names_without_test_for_none(result):
    def visit(node):
        return [node.name()] + [n for p, _ in node.next_functions for n in visit(p)]

    return visit(result.grad_fn)


def names_first_parent(result):
    names, node = [], result.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


# 01.3 to 01.4


def slope_by_engine(a, *weights):
    a = torch.tensor(a, requires_grad=True)
    w1, w2, w3, w4 = weights
    (10 - (w3 * (w1 * a) + w4 * (w2 * a))).backward()
    return a.grad


def hook_that_prints(grad):
    grad.clamp(-1, 1)


def descend(start, lr, steps, where="end"):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        if where == "start":
            w.grad = None
        loss = (w - 3) ** 2
        loss.backward()
        if where == "between":
            w.grad = torch.zeros_like(w)
        with torch.no_grad():
            w -= lr * w.grad
        if where == "end":
            w.grad.zero_()
    return w


def descend_uphill(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        ((w - 3) ** 2).backward()
        with torch.no_grad():
            w += lr * w.grad
        w.grad = None
    return w


def descend_rebinding(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        loss = (w - 3) ** 2
        loss.backward()
        w = w - lr * w.grad
    return w


# 01.8 to 01.11


def all_under_no_grad(student, teacher):
    with torch.no_grad():
        return ((student - teacher) ** 2).mean()


def teacher_switched_off(student, teacher):
    teacher.requires_grad = False
    return ((student - teacher) ** 2).mean()


def jacobian_by_grad(f, x):
    y = f(x)
    return torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))])


def jacobian_new_graph(f, x):
    rows = []
    for i in range(len(f(x))):
        x.grad = None
        f(x)[i].backward()
        rows.append(x.grad)
    return torch.stack(rows)


def jacobian_rows(f, x, clear=True, retain=True, ones=False):
    y, rows = f(x), []
    for i in range(len(y)):
        v = torch.ones_like(y) if ones else torch.zeros_like(y)
        v[i] = 1
        if clear:
            x.grad = None
        y.backward(gradient=v, retain_graph=retain)
        rows.append(x.grad.clone())
    return torch.stack(rows)


def jacobian_total(f, x):
    f(x).sum().backward()
    return x.grad


def softplus_clone(x):
    y = x.exp().clone()
    y += 1
    return y.log()


def softplus_data(x):
    y = x.exp()
    y.data += 1
    return y.log()


def softplus_no_grad(x):
    y = x.exp()
    with torch.no_grad():
        y += 1
    return y.log()


# 01.12 and 01.13


def parabola(x, y, a, b, c):
    error = (a + b * x + c * x * x) - y
    return 2 * error.mean(), 2 * (error * x).mean(), 2 * (error * x * x).mean()


def parabola_by_engine(x, y, *weights):
    a, b, c = (torch.tensor(float(w), requires_grad=True) for w in weights)
    ((y - (a + b * x + c * x**2)) ** 2).mean().backward()
    return a.grad, b.grad, c.grad


def parabola_wrong_c(x, y, a, b, c, local):
    error = y - (a + b * x + c * x**2)
    return -2 * error.mean(), -2 * (x * error).mean(), -2 * (local * error).mean()


def parabola_old_error(x, y, a, b, c):
    error = y - (a + b * x)
    return -2 * error.mean(), -2 * (x * error).mean(), -2 * (x**2 * error).mean()


# 01.5 and 01.14


def mend(network, image, label, lr, steps, clear=True, sign=-1, inside=True):
    for _ in range(steps):
        torch.nn.functional.cross_entropy(network(image), label).backward()
        with torch.no_grad():
            for p in network.parameters():
                p += sign * lr * p.grad
                if clear:
                    p.grad.zero_()
    return network


def mend_rebinding(network, image, label, lr, steps):
    for _ in range(steps):
        torch.nn.functional.cross_entropy(network(image), label).backward()
        for p in network.parameters():
            p = p - lr * p.grad  # noqa: PLW2901


def mend_data(network, image, label, lr, steps):
    for _ in range(steps):
        network.zero_grad()
        torch.nn.functional.cross_entropy(network(image), label).backward()
        for p in network.parameters():
            p.data -= lr * p.grad


def mend_recorded(network, image, label, lr, steps):
    for _ in range(steps):
        torch.nn.functional.cross_entropy(network(image), label).backward()
        for p in network.parameters():
            p -= lr * p.grad  # noqa: PLW2901


def mend_weight_only(network, image, label, lr, steps):
    for _ in range(steps):
        network.zero_grad()
        torch.nn.functional.cross_entropy(network(image), label).backward()
        with torch.no_grad():
            network.weight -= lr * network.weight.grad


def descend_data(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        w.grad = None
        ((w - 3) ** 2).backward()
        w.data -= lr * w.grad
    return w


def w_by_math(x1, x2):
    return math.log(x1 * x2) * torch.sin(x2)


(TWICE,), (LEARNS,) = given("01.10"), given("01.15")
*_, names_recursive = given("01.6")

OTHER_WAYS = {
    "01.1": [lambda x1, x2: x2.sin() * (x2 * x1).log()],
    "01.2": [weight_then_flag],
    "01.6": [names_by_level],
    "01.3": [slope_by_engine],
    "01.7": [lambda grad: torch.clamp(grad, min=-1, max=1)],
    "01.4": [descend],
    "01.9": [jacobian_by_grad, jacobian_new_graph],
    "01.11": [softplus_clone],
    "01.12a": [("MeanSquare", "Product")],
    "01.12b": [_custom(lambda g, y: torch.where(y > 0, g, torch.zeros_like(g)), saves_output=True)],
    "01.13": [parabola, parabola_by_engine],
    "01.5": [mend],
    "01.14": [lambda X: (X.T - X.mean(1)).T],
}

WRONG = {
    "01.1": [
        (
            lambda x1, x2: (x1.log() + x2.log()) * x2.sin(),
            "Different graphs may compute the same function",
        ),
        (
            lambda x1, x2: (x1 * x2).log() + x2.sin(),
            "The last node of the picture is a Mul; yours is an Add",
        ),
        (lambda x1, x2: (x1 * x2).log() * x1.sin(), "the Sin node hangs on x2; yours hangs on x1"),
        (lambda x1, x2: (x1 * x2 * x2.sin()).log(), "the Log node comes before the last Mul"),
        (
            lambda x1, x2: (x1 + x2).log() * x2.sin(),
            "In the picture a Mul node feeds the Log; in yours an Add does",
        ),
        (lambda x1, x2: ((x1 * x2).log() * x2.sin()).detach(), "nothing was recorded"),
        (
            lambda x1, x2: math.log(x1 * x2) * math.sin(x2),
            "nothing was recorded. What leaves the graph: Python's math",
        ),
        (lambda x1, x2: (x1.data * x2).log() * x2.sin(), "x1 is not in the graph: `.data`"),
        (
            lambda x1, x2: (x1 * x2).log() * math.sin(x2),
            "Python's math, NumPy, `.data` and detach() take numbers out",
        ),
        (w_by_math, "Python's math, NumPy, `.data` and detach() take numbers out"),
        (lambda x1, x2: x1.log() * x2.sin(), "another Mul feeds the Log"),
        (lambda x1, x2: 0.63, "Set your graph beside the picture"),
        (lambda x1, x2: undefined_name, "NameError: name 'undefined_name' is not defined"),  # noqa: F821
        (0.63, "Pass the function itself"),
    ],
    "01.2": [
        (
            lambda values: torch.tensor(values, requires_grad=True) * 0.1,
            "w is the result of a multiplication",
        ),
        (
            lambda values: torch.tensor(values),
            "Nothing asks for gradients: requires_grad is False.",
        ),
        (lambda values: torch.tensor(values), "Second: The factor 0.1 got lost."),
        (
            lambda values: torch.tensor(values) * 0.1,
            "Nothing asks for gradients: requires_grad is False",
        ),
        (
            lambda values: (torch.tensor(values, requires_grad=True) * 0.1).detach(),
            "the flag has to be switched on again",
        ),
        (lambda values: torch.tensor(values, requires_grad=True), "The factor 0.1 got lost"),
        (weight_retained, "an optimizer would refuse it"),
        (lambda values: None, "This is None. A function without `return` gives None."),
    ],
    "01.6": [
        (names_every_visit, "You list a node once for every way that leads to it"),
        (lambda r: list(set(names_recursive(r))), "Two different nodes may have the same name"),
        (names_first_parent, "You follow only the first entry of next_functions"),
        (
            lambda r: [n for n in names_recursive(r) if "Accumulate" not in n],
            "The AccumulateGrad nodes are missing",
        ),
        (names_without_test_for_none, "You walked into a None"),
        (lambda r: [r.grad_fn.name()], "This is the last node only"),
    ],
    "01.3": [
        (lambda a, w1, w2, w3, w4: -w4 * w2, "the last path only; the other path adds 4.0"),
        (lambda a, w1, w2, w3, w4: -w3 * w1, "the first path only; the other path adds -15.0"),
        (lambda a, w1, w2, w3, w4: w1 * w3 + w2 * w4, "L = 10 - d has the local derivative -1"),
        (lambda a, w1, w2, w3, w4: -w1 * w3 * w2 * w4, "add over the paths"),
        (
            lambda a, w1, w2, w3, w4: w4 * w2,
            "two mistakes. First: This is the gradient of the last path only",
        ),
        (lambda a, w1, w2, w3, w4: -a * (w1 * w3 + w2 * w4), "There is a factor a too much"),
        (lambda a, w1, w2, w3, w4: -w3 - w4, "A path stops one edge early"),
        (
            lambda a, w1, w2, w3, w4: -11,
            "It is -11, it should be -0.5",
        ),  # right for the public input only
        (lambda a, w1, w2, w3, w4: 2 * -(w1 * w3 + w2 * w4), "It is 2 times what it should be"),
        (lambda a, w1, w2, w3, w4: print(), "A function without `return` gives None"),
    ],
    "01.7": [
        (hook_that_prints, "a hook without `return` gives None"),
        (lambda grad: grad.clamp_(-1, 1), "you changed the arriving gradient in place"),
        (lambda grad: grad.clamp(max=1), "The lower bound is -1"),
        (lambda grad: grad.clamp(min=-1), "The upper bound is 1"),
        (lambda grad: grad / grad.norm(), "each number is to be clipped by itself"),
        (lambda grad: torch.sign(grad), "Numbers between -1 and 1 are to stay"),
    ],
    "01.4": [
        (lambda *a: descend(*a, where="never"), "still holds the gradients of all steps before"),
        (lambda *a: descend(*a, where="between"), "every update subtracts zero"),
        (descend_rebinding, "`w = w - …` makes a new w"),
        (descend_uphill, "It walks uphill"),
        (descend_data, "`.data` goes behind the engine's back"),
        (
            lambda start, lr, steps: descend(start, -lr, steps, where="never"),
            "Second: It walks uphill",
        ),
    ],
    "01.8": [
        (lambda s, t: ((s - t) ** 2).mean(), "The teacher gets a gradient too"),
        (lambda s, t: ((s.detach() - t) ** 2).mean(), "You cut the wrong side"),
        (all_under_no_grad, "Nothing connects the loss with the student"),
        (lambda s, t: ((s - t) ** 2).mean().detach(), "Nothing connects the loss with the student"),
        (lambda s, t: ((s - t) ** 2).mean().item(), "item() gives a plain Python number"),
        (teacher_switched_off, "you switched the caller's tensor off for good"),
        (
            lambda s, t: ((s - t.detach()) ** 2).sum(),
            "The loss is a sum of squares. Wanted is their mean.",
        ),
        (lambda s, t: ((s - t) ** 2).sum(), "Second: The loss is a sum of squares"),
    ],
    "01.9": [
        (jacobian_total, "the sum of all rows. A gradient of ones adds the rows up"),
        (lambda f, x: jacobian_rows(f, x, ones=True), "Every row is the sum of all rows"),
        (
            lambda f, x: jacobian_rows(f, x, clear=False),
            "x.grad was not cleared between the backward passes",
        ),
        (lambda f, x: jacobian_rows(f, x, retain=False), "retain_graph=True keeps it"),
        (lambda f, x: jacobian_rows(f, x).T, "Rows and columns have changed places"),
        (
            lambda f, x: torch.autograd.functional.jacobian(f, x),
            "a function of the library does the work",
        ),
        (
            lambda f, x: jacobian_rows(f, x, clear=False).T,
            "Second: Rows and columns have changed places",
        ),
        (
            lambda f, x: torch.autograd.grad(f(x), x),
            "grad can be implicitly created only for scalar outputs",
        ),
    ],
    "01.10": [
        (TWICE | {"x + 2": True}, "x + 2: A sum has the local derivative 1"),
        (TWICE | {"x * x": False}, "x * x: A product needs its factors"),
        (TWICE | {"x.exp()": False}, "x.exp(): exp saves its result"),
        (TWICE | {"x.sum()": True}, "x.sum(): A sum needs only the shape"),
        (
            TWICE | {"x.relu()": False},
            "x.relu(): relu needs to know where its result was above zero",
        ),
        ({"x + 2": False}, "There is no 'x * x' in"),
    ],
    "01.15": [
        (LEARNS | {"w.detach() * w": False}, "detach() cuts one use"),
        (LEARNS | {"model.eval()(w)": False}, "It stops no recording"),
        (LEARNS | {"frozen * (w * 3)": False}, "It is a factor on the path"),
        (LEARNS | {"(w * 3).detach().requires_grad_()": True}, "The path to w was cut before"),
        (LEARNS | {"torch.tensor(w.item()) * v": True}, "the new tensor is data"),
        (LEARNS | {"sum([w * 2, w * 3])": False}, "they hold their graphs"),
    ],
    "01.11": [
        (softplus_no_grad, "they stop the recording, not the counting of changes"),
        (softplus_data, "The error is gone and the gradient is wrong, which is worse"),
        (lambda x: (x + 1).exp().log(), "that is another function"),
        (
            lambda x: torch.log(1 + torch.exp(x.detach().requires_grad_())),
            "The cut before exp keeps the gradient from x",
        ),
    ],
    "01.12a": [
        (["Product"], "MeanSquare is wrong: the mean divides by the number of elements"),
        (["MeanSquare"], "the gradient for x is g * y and the one for y is g * x"),
        (["Product", "MeanSquare", "Reciprocal"], "Reciprocal is right"),
        (["Product", "MeanSquare", "Shift"], "Shift is right"),
        ("product", "There is no product; the suspects are Reciprocal, Product, MeanSquare, Shift"),
    ],
    "01.12b": [
        (_custom(lambda g, x: (x > 0).float()), "The arriving gradient is ignored"),
        (_custom(lambda g, x: g), "Where the input was negative, the local derivative is 0"),
        (_custom(lambda g, x: g * (x < 0)), "The mask is the wrong way round"),
        (
            _custom(lambda g, x: g.clamp(min=0)),
            "The sign of the input decides, not the sign of the gradient",
        ),
        (_custom(lambda g, y: g * y, True), "You multiply by the value of ReLU"),
        (_custom(lambda g, x: g * (x >= 0)), "At exactly 0 ReLU has a corner"),
    ],
    "01.5": [
        (lambda network, *rest: network, "No number of the network has changed"),
        (mend_rebinding, "`p = p - …` makes a new tensor"),
        (
            mend_recorded,
            "a leaf Variable that requires grad is being used in an in-place operation",
        ),
        (lambda *a: mend(*a, clear=False), "p.grad still holds the gradients of the steps before"),
        (lambda *a: mend(*a, sign=1), "It walks uphill"),
        (lambda n, i, l, lr, steps: mend(n, i, l, 1, steps), "The learning rate lr is not used"),
        (lambda n, i, l, lr, steps: mend(n, i, l, 1, steps, clear=False), "There are two mistakes"),
        (mend_weight_only, "Only the first parameter has changed"),
        (mend_data, "`.data` goes behind the engine's back"),
    ],
    "01.14": [
        (lambda X: X - X.mean(1), "they count as one row, and go along the columns"),
        (lambda X: X - X.mean(0), "the means of the columns"),
        (lambda X: X - X.mean(), "one mean for the whole table"),
        (lambda X: X - X.sum(1), "Second: This subtracts the sum of each row"),
        (lambda X: X.sub_(X.mean(1).unsqueeze(1)), "the caller's X was changed in place"),
    ],
    "01.13": [
        (parabola_old_error, "The error is still the error of the line"),
        (
            lambda x, *rest: tuple(len(x) * g for g in parabola(x, *rest)),
            "this is 3 times too large",
        ),
        (lambda *args: tuple(g / 2 for g in parabola(*args)), "The factor 2 is missing"),
        (lambda *args: tuple(-g for g in parabola(*args)), "The sign is wrong"),
        (
            lambda x, *rest: parabola_wrong_c(x, *rest, local=x),
            "with respect to c is x ** 2, not x",
        ),
        (
            lambda x, y, a, b, c: parabola_wrong_c(x, y, a, b, c, local=2 * c * x),
            "is the derivative of c * x ** 2 with respect to x",
        ),
        (
            lambda x, *rest: parabola_wrong_c(x, *rest, local=1),
            "the path from the error to c has one more factor",
        ),
        (lambda x, y, a, b, c: parabola(x, y, a, b, c)[:2], "Three gradients are wanted"),
        (lambda *args: parabola(*args)[::-1], "Look at grad_a"),
    ],
}

RIGHT = {id: given(id) + OTHER_WAYS.get(id, []) for id in EXERCISES}
WRONG = {id: WRONG[id] for id in EXERCISES}

# What the notebook gives where that is not a function that returns `...`.
SKELETONS = {
    "01.10": dict.fromkeys(TWICE, ...),
    "01.15": dict.fromkeys(LEARNS, ...),
    "01.12a": ...,
    "01.12b": ...,
    "01.13": lambda x, y, a, b, c: (
        -2 * (y - a - b * x).mean(),
        -2 * (x * (y - a - b * x)).mean(),
        ...,
    ),
}
