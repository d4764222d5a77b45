"""Small programs whose recordings are stored as text in golden/; each function gets the library and runs inside a
recording."""


def diamond(torch):
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor([[1.0, -2.0], [0.5, 4.0]], requires_grad=True)
    s = x * x + 3 * x
    z = ((0.1 * s).tanh() * w).sum()
    z.backward()


def accumulate_and_zero(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x**2
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    x.grad = None
    y.backward(retain_graph=True)
    x.grad.zero_()
    y.backward()


def ways_out(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    c = y.detach()
    with torch.no_grad():
        n = y * 10
    mask = y > 3
    z = (y * c * n * mask).sum()
    z.backward()


def in_place(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.add_(1)
    y[0] = 5.0
    y.sum().backward()


def stale_value(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        pass


def backward_twice(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    y.backward()


def hooks(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g * 100)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.sum().backward()


def training(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    X, target = torch.tensor([[1.0, -1.0], [0.5, 2.0]]), torch.tensor([0, 1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(X), target)
        loss.backward()
        optimizer.step()


def by_hand(torch):
    w = torch.tensor(1.0, requires_grad=True)
    for _ in range(2):
        loss = (w * 3 - 6) ** 2
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
            w.grad.zero_()


def custom_function(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = torch.tensor(2.0, requires_grad=True)
    y = Cube.apply(x)
    y.backward()


def several_results(torch):
    x = torch.tensor([[1.0, 5.0], [3.0, 4.0]], requires_grad=True)
    a, b = x.unbind(0)
    largest, where = x.max(1)
    z = (a * b).sum() + largest.prod()
    z.backward()


def only_some(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    z = x * y
    torch.autograd.grad(z, x)


def higher_order(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    (dx,) = torch.autograd.grad(y, x, create_graph=True)
    dx.backward()


PROGRAMS = {
    name: f for name, f in list(globals().items()) if callable(f) and f.__module__ == __name__
}
