"""Faults that random programs found, one test for each kind."""

import pytest
from goldens.oracle import check, error_of, same_as_torch


def derivative(torch, function, x, order):
    """The derivative of the given order, each time of a weighted sum of squares, so that none vanishes."""
    weights = torch.linspace(0.3, 1.7, x.numel(), dtype=x.dtype).reshape(x.shape)
    value = function(x).sum()
    for _ in range(order):
        (gradient,) = torch.autograd.grad(value, x, create_graph=True)
        value = (gradient.square() * weights).sum()
    return gradient


PARTS = {
    "glu": lambda t, x: t.nn.functional.glu(x, -1).exp(),
    "glu of three": lambda t, x: t.nn.functional.glu(x.view(2, 2, 2), -2).pow(3),
    "split": lambda t, x: (x.split([1, 3], -1)[1]).pow(4),
    "chunk": lambda t, x: (x.chunk(2, -1)[0] * x.chunk(2, -1)[1]).exp(),
    "unbind": lambda t, x: x.unbind(-1)[2].exp() * x.unbind(-1)[0].sin(),
    "cat": lambda t, x: t.cat([x, x.exp()], -1).pow(3),
    "stack": lambda t, x: t.stack([x.sin(), x], -1).pow(4),
}


@pytest.mark.parametrize("name", PARTS)
def test_higher_derivatives_along_a_dimension_counted_from_the_end(name):
    def ask(torch):
        start = torch.tensor([[0.3, -1.2, 0.7, 0.1], [0.9, 0.4, -0.6, 1.3]], dtype=torch.float64)
        x = start.requires_grad_()
        return [derivative(torch, lambda x: PARTS[name](torch, x), x, n) for n in (1, 2, 3)]

    check("test_found_by_use", f"derivatives of {name}", ask, rtol=1e-9)


@same_as_torch
def test_the_gradient_of_powers_of_zero(torch):
    x = torch.tensor([-3.0, -0.25, -0.0, 0.0, 4.0, float("nan")], requires_grad=True)
    found = []
    for base in (0, 0.0, -0.0):
        (base**x).sum().backward()
        found.append(x.grad)
        x.grad = None
    return found


READ_ONLY = "dtype shape device is_leaf ndim T mT grad_fn output_nr _version itemsize is_cuda"


@pytest.mark.parametrize("name", READ_ONLY.split())
def test_attributes_that_cannot_be_assigned(name):
    def ask(torch):
        x = torch.ones(2, 2, requires_grad=True)
        texts = [error_of(lambda: setattr(x, name, v)) for v in (torch.float64, (4,), None)]
        return [*texts, error_of(lambda: delattr(x, name)), x.dtype, x.shape]

    check("test_found_by_use", f"assigning {name}", ask)


@same_as_torch
def test_a_model_converted_after_the_first_step(torch):
    """Adam's kin refuse; the others go on in the new dtype."""
    found = []
    names = "Adam AdamW RMSprop Adagrad Adadelta SGD"
    for name in names.split():
        for dtypes in ((torch.float32, torch.float64), (torch.float64, torch.float32)):
            net = torch.nn.Linear(2, 1, dtype=dtypes[0])
            optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1)
            net(torch.ones(3, 2, dtype=dtypes[0])).sum().backward()
            optimizer.step()
            net.to(dtypes[1])
            net(torch.ones(3, 2, dtype=dtypes[1])).sum().backward()
            found.append(error_of(optimizer.step))
    return found


@pytest.mark.parametrize("name", "Adam RMSprop Adagrad Adadelta SGD LBFGS".split())
def test_a_model_moved_after_the_first_step(name):
    import autolab as torch

    net = torch.nn.Linear(3, 2)
    more = {"momentum": 0.5} if name == "SGD" else {"max_iter": 2} if name == "LBFGS" else {}
    optimizer = getattr(torch.optim, name)(net.parameters(), **more)

    def loss():
        optimizer.zero_grad()
        value = net(torch.ones(1, 3, device=net.weight.device)).sum().sin()
        value.backward()
        return value

    optimizer.step(loss)
    net.to("sim:0")
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device"
    ) as raised:
        optimizer.step(loss)
    assert any(
        "make the optimizer after" in note or "Move" in note for note in raised.value.__notes__
    )


@same_as_torch
def test_arguments_that_numpy_or_python_refused(torch):
    x, f = torch.ones(3, 3), torch.nn.functional
    calls = (
        lambda: x.diagonal(1, -1, 1),
        lambda: torch.cdist(x, 3.0),
        lambda: f.linear(x, None),
        lambda: f.linear(x[0], [1.0, 2.0, 3.0]),
        lambda: torch.nn.Conv2d(1, 2),
        lambda: torch.nn.Conv1d(1, kernel=2),
        lambda: torch.nn.ConvTranspose2d(),
        lambda: torch.nn.Conv2d(1, 1, 1)(),
        lambda: torch.nn.ReflectionPad1d(),
        lambda: torch.nn.Dropout(chance=0.5),
        lambda: torch.nn.MaxPool2d(),
    )
    empty = torch.ones(2, 4, 0)
    return [error_of(call) for call in calls], f.scaled_dot_product_attention(empty, empty, empty)


@same_as_torch
def test_an_operand_without_dimensions_counts_in_the_dtype_of_the_result(torch):
    found = []
    for name in ("maximum", "minimum", "fmod", "remainder", "pow"):
        x = torch.tensor([0.1, 0.7, 1.98], requires_grad=True)
        y = torch.tensor(1.98, dtype=torch.float64, requires_grad=True)
        z = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        function = getattr(torch, name)
        (function(x, y).sum() + function(y, x).sum() + function(x, z).sum()).backward()
        found += [x.grad, y.grad, z.grad]
    return found


@same_as_torch
def test_a_power_keeps_its_result_whatever_needs_a_gradient(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x ** torch.tensor([2.0, 1.0])
    kept = y.grad_fn._saved_result
    with torch.no_grad():
        y.add_(1)
    return kept, error_of(lambda: y.sum().backward())


@same_as_torch
def test_powers_with_whole_exponents_below_one(torch):
    """The gradient lowers the exponent, below zero too."""
    found = []
    for exponents in ([0, 1, 2], [-1, 3, -2], [1, 1, 0]):
        for dtype in (torch.int64, torch.int32, torch.float32):
            x = torch.tensor([2.5, -1.5, 0.5], requires_grad=True)
            n = torch.tensor(exponents, dtype=dtype)
            (x**n).sum().backward()
            y = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
            (y**n).sum().backward()
            found += [x.grad, y.grad]
    return found


EDGES = {
    "unique's counts": lambda t: t.unique(t.tensor([[2, 1], [2, 1]]), dim=0, return_counts=True),
    "unique of a dimension by position": lambda t: t.ones(2, 2).unique(0),
    "linear with one row of weights": lambda t: t.nn.functional.linear(t.ones(2, 3), t.arange(3.0)),
    "linear of a number": lambda t: t.nn.functional.linear(t.tensor(1.0), t.ones(3)),
    "index_select of one number": lambda t: t.tensor(5.0).index_select(0, t.tensor([0])),
    "index_select of one number, twice": lambda t: t.tensor(5.0).index_select(0, t.tensor([0, 0])),
    "index_select of one number, elsewhere": lambda t: t.tensor(5.0).index_select(-1, t.tensor([2])),
    "vmap over nothing": lambda t: t.func.vmap(lambda x: x.exp(), 1, 1)(t.ones(3, 0)).shape,
    "jacrev of nothing": lambda t: t.func.jacrev(lambda x: x.exp())(t.ones(0)).shape,
    "hessian of nothing": lambda t: t.func.hessian(lambda x: x.exp().sum())(t.ones(0, 2)).shape,
    "glu of nothing": lambda t: t.nn.functional.glu(t.ones(2, 0)).shape,
    "cdist of whole numbers": lambda t: t.cdist(t.ones(2, 2), t.ones(2, 2, dtype=t.int32)),
    "max_pool1d of whole numbers": lambda t: t.nn.functional.max_pool1d(t.ones(1, 4, dtype=t.int16), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_the_edges_of_operations(name):
    def ask(torch):
        found = []
        text = error_of(lambda: found.append(EDGES[name](torch)))
        return [text, found, [getattr(x, "requires_grad", None) for x in found]]

    check("test_found_by_use", name, ask)


def test_a_number_that_requires_grad_fills_a_mask_only_without_recording():
    import autolab as torch

    x, value = torch.zeros(3), torch.tensor(2.0, requires_grad=True)
    with pytest.raises(
        NotImplementedError, match="masked_fill: value is a tensor that requires"
    ) as caught:
        x.masked_fill(x == 0, value)
    assert "torch.where(mask, value, input)" in caught.value.__notes__[0]
    with torch.no_grad():
        assert x.masked_fill_(x == 0, value).tolist() == [2, 2, 2]
