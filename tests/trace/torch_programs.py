"""Further programs that either library runs, for `test_torch_record.py`; each function gets the library."""


def broadcasting(torch):
    x = torch.tensor([[1.0], [2.0]], requires_grad=True)
    y = x + torch.tensor([1.0, 2.0, 3.0])
    z = y * y
    z.mean().backward()


def repeated_operand(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x * x
    y.backward()


def views(torch):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    a = x.view(3, 2)
    b = a.t()
    c = b.reshape(6)[1:4]
    d = x.transpose(0, 1).unsqueeze(0).squeeze().expand(3, 2)
    (c.sum() + d.sum()).backward()


def parts(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    a, b = x.chunk(2)
    c, d = x.split([1, 3])
    e = torch.cat([a * b, c, d]).sum() + torch.stack([a, b]).prod()
    e.backward()


def several_outputs(torch):
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    top, where = x.sort(dim=0)
    (values.sum() + (top * top).sum()).backward()


def masks(torch):
    x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    y = torch.where(x > 0, x, x * 0.1)
    z = y.masked_fill(y > 1, 0.0)
    w = z[torch.tensor([0, 1, 1])]
    w.sum().backward()


def mlp_with_adam(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    X, target = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0], [0.0]])
    for _ in range(2):
        loss = torch.nn.functional.mse_loss(model(X), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def one_number_with_momentum(torch):
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (w * 3 - 1) ** 2
        loss.backward()
        optimizer.step()


def adam_of_one_number(torch):
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).backward()
        optimizer.step()


def zeros_in_grad(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        (w * w).sum().backward()
        optimizer.step()


def modules(torch):
    torch.manual_seed(0)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            for layer in self.layers:
                x = x + torch.relu(layer(x))
            return x * self.scale

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block()
            self.head = torch.nn.Linear(2, 1)

        def forward(self, x):
            return self.head(self.block(self.block(x)))

    net = Net()
    out = net(torch.ones(1, 2))
    out.sum().backward()


def convolutional(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(2),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 2),
    )
    x = torch.arange(32.0).view(2, 1, 4, 4) / 32
    loss = torch.nn.functional.cross_entropy(net(x), torch.tensor([0, 1]))
    loss.backward()


def evaluation(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2), torch.nn.GELU()).eval()
    with torch.no_grad():
        y = net(torch.tensor([[1.0, 2.0]]))
        y.argmax(dim=1)


def failing_forward(torch):
    x = torch.ones(2, 3, requires_grad=True)
    h = (x * 2).relu()
    h @ torch.ones(2, 2)


def failing_backward(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.sigmoid()
    z = y * 2
    y.mul_(3)
    z.sum().backward()
    (y.sum() + z.sum()).backward()


def of_a_view(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    v = y[1:]
    v.mul_(10)
    (y.sum() + v.sum()).backward()


def asked_for(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    h = x * w
    loss = (h * h).sum()
    gx, gh = torch.autograd.grad(loss, [x, h], retain_graph=True)
    loss.backward(inputs=[w])


def gradients_of_gradients(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x.exp() * x
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (g * g).backward()


def by_hand(torch):
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    for _ in range(2):
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None


def data_of_a_leaf(torch):
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    (w * w).sum().backward()
    w.data.mul_(2)
    w.data = torch.tensor([5.0, 6.0])
    (w * 3).sum().backward()


def retained(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    z = y.sum()
    z.backward(retain_graph=True)
    z.backward()


def node_hooks(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(
        lambda inputs, outputs: tuple(None if g is None else g + 1 for g in inputs)
    )
    y.sum().backward()


def frozen(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    net[0].weight.requires_grad_(False)
    net(torch.ones(1, 2)).sum().backward()


def two_roots(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = (x * 2).sum(), (x * x).sum()
    torch.autograd.backward([a, b], [torch.tensor(1.0), torch.tensor(3.0)])


def a_leaf_alone(torch):
    x = torch.tensor(1.0, requires_grad=True)
    x.backward()
    x.backward(torch.tensor(3.0))


def refused(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.backward()


def cut_and_refused(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).detach()
    y.sum().backward()


PROGRAMS = {
    name: f for name, f in list(globals().items()) if callable(f) and not name.startswith("_")
}
