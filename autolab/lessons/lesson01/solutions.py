"""Solutions of lesson 1, for `autolab.lessons.solutions`, which says how they are written."""
# ruff: noqa: F811
# mypy: ignore-errors

import autolab as torch


# %% 01.1
def w(x1, x2):
    return torch.log(x1 * x2) * torch.sin(x2)


# %% 01.1: with methods, step by step
def w(x1, x2):
    product = x1 * x2
    return product.log() * x2.sin()


# %% 01.2
def make_weight(values):
    return (torch.tensor(values) * 0.1).requires_grad_()


# %% 01.2: as a parameter, which is a leaf
def make_weight(values):
    return torch.nn.Parameter(torch.tensor(values) * 0.1)


# %% 01.6
def node_names(result):
    seen, waiting = [], [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.append(node)
            waiting += [parent for parent, _ in node.next_functions]
    return [node.name() for node in seen]


# %% 01.6: with a function that calls itself
def node_names(result):
    seen = {}

    def visit(node):
        if node is not None and node not in seen:
            seen[node] = node.name()
            for parent, _ in node.next_functions:
                visit(parent)

    visit(result.grad_fn)
    return list(seen.values())


# %% 01.3
def slope(a, w1, w2, w3, w4):
    return -(w3 * w1) - (w4 * w2)


# %% 01.3: path by path
def slope(a, w1, w2, w3, w4):
    through_b = -1 * w3 * w1
    through_c = -1 * w4 * w2
    return through_b + through_c


# %% 01.7
def clip(grad):
    return grad.clamp(-1, 1)


# %% 01.7: number by number
def clip(grad):
    return torch.where(
        grad > 1, torch.ones_like(grad), torch.where(grad < -1, -torch.ones_like(grad), grad)
    )


# %% 01.4
def descend(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        w.grad = None
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
    return w


# %% 01.4: with an optimizer
def descend(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        ((w - 3) ** 2).backward()
        optimizer.step()
    return w


# %% 01.8
def imitation_loss(student, teacher):
    return ((student - teacher.detach()) ** 2).mean()


# %% 01.8: with a copy that no graph knows
def imitation_loss(student, teacher):
    with torch.no_grad():
        target = teacher.clone()
    return ((student - target) ** 2).mean()


# %% 01.9
def jacobian(f, x):
    y, rows = f(x), []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        x.grad = None
        y.backward(gradient=v, retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


# %% 01.9: a fresh graph for each row
def jacobian(f, x):
    rows = []
    for i in range(len(f(x))):
        x.grad = None
        f(x)[i].backward()
        rows.append(x.grad)
    return torch.stack(rows)


# %% 01.10
raises = {
    "x + 2": False,
    "x * x": True,
    "-x": False,
    "x.exp()": True,
    "x.sum()": False,
    "x.relu()": True,
}


# %% 01.15
learns = {
    "w.detach() * w": True,
    "torch.tensor(w.item()) * v": False,
    "model.eval()(w)": True,
    "torch.stack([w, v])": True,
    "(w * 3).detach().requires_grad_()": False,
    "sum([w * 2, w * 3])": True,
}


# %% 01.11
def softplus(x):
    y = x.exp()
    y = y + 1
    return y.log()


# %% 01.11: in one line
def softplus(x):
    return torch.log(1 + torch.exp(x))


# %% 01.12a
wrong = ["Product", "MeanSquare"]


# %% 01.12b
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * (input > 0)


# %% 01.12b: the given code, with the mask fixed
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input <= 0] = 0
        return grad_input


# %% 01.13
def parabola_gradients(x, y, a, b, c):
    error = y - (a + b * x + c * x**2)
    grad_a = -2 * error.mean()
    grad_b = -2 * (x * error).mean()
    grad_c = -2 * (x**2 * error).mean()
    return grad_a, grad_b, grad_c


# %% 01.13: first to the error, then to each weight
def parabola_gradients(x, y, a, b, c):
    error = y - (a + b * x + c * x**2)
    arriving = -2 * error / len(error)
    return arriving.sum(), (arriving * x).sum(), (arriving * x**2).sum()


# %% 01.5
def teach(network, image, label, lr, steps):
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(network(image), label)
        loss.backward()
        with torch.no_grad():
            for p in network.parameters():
                p -= lr * p.grad
                p.grad = None
    return network


# %% 01.5: with an optimizer
def teach(network, image, label, lr, steps):
    optimizer = torch.optim.SGD(network.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(image), label).backward()
        optimizer.step()
    return network


# %% 01.14
def centre_rows(X):
    return X - X.mean(1, keepdim=True)


# %% 01.14: with the dimension put back by hand
def centre_rows(X):
    means = X.sum(1) / X.shape[1]
    return X - means.unsqueeze(1)
