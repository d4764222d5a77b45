"""Programs as a learner writes them, for `test_sentences.py`; each function gets the library."""


def logistic_regression(torch):
    x, w, b = (
        torch.tensor([0.5, -1.25]),
        torch.tensor([0.3, 0.7], requires_grad=True),
        torch.tensor(0.1, requires_grad=True),
    )
    p = torch.sigmoid(torch.dot(w, x) + b)
    loss = -torch.log(p)
    loss.backward()


def shared_twice(torch):
    x = torch.tensor([1.5, -0.5], requires_grad=True)
    y = x * x - x / 3
    z = y.exp() + y
    z.sum().backward()


def broadcast_column(torch):
    x = torch.tensor([[1.0], [2.0]], requires_grad=True)
    y = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
    z = (x * y).tanh()
    z.sum().backward()


def reductions(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    a = x.mean(dim=0)
    b = x.sum(dim=1, keepdim=True)
    (a.prod() + (b * x).mean()).backward()


def clamped(torch):
    x = torch.tensor([-2.0, 0.3, 4.0], requires_grad=True)
    y = torch.clamp(x, min=-1.0, max=2.5)
    y = torch.nn.functional.leaky_relu(y, 0.2)
    (y * y).sum().backward()


def comparisons(torch):
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    big = x > 0
    equal = x == 3
    y = torch.where(big, x * 2, -x)
    y.masked_fill(equal, 0.0).sum().backward()


def second_backward(torch):
    x = torch.tensor(1.5, requires_grad=True)
    y = x * x * 2
    y.backward(retain_graph=True)
    y.backward()


def given_gradient(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    y.backward(torch.tensor([1.0, 0.1, 0.01]))


def softmax_of_scores(torch):
    scores = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    p = scores.softmax(dim=0)
    loss = -p[1].log()
    loss.backward()


def matrices(torch):
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = torch.tensor([[0.5, -1.0], [1.5, 2.0]], requires_grad=True)
    c = a @ b
    d = c.t() @ a
    d.sum().backward()


def hooked(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g / 3)
    (y * y).sum().backward()


def indexed(torch):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    row = x[1]
    part = x[:, 1:]
    (row.sum() * part.sum()).backward()


def momentum(torch):
    w = torch.tensor(1.0, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.25, momentum=0.5)
    for _ in range(3):
        loss = (w - 3) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()


def numbers_without_end(torch):
    x = torch.tensor(1 / 3, requires_grad=True)
    y = x / 7 + 1e-4
    z = y * 1e6 - 2.5
    z.backward()


def not_finite(torch):
    x = torch.tensor([0.0, 1.0, -1.0], requires_grad=True)
    y = 1 / x
    z = x.log()
    (y * 0).sum().backward()
    z.sum().backward()


def several_ways(torch):
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    a, b, c = x.unbind(0)
    (a * b + b * c + c * a).backward()


def parts_without_names(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    (x.split(2)[0] * x.chunk(2)[1]).sum().backward()


PROGRAMS = {
    name: f for name, f in list(globals().items()) if callable(f) and not name.startswith("_")
}
