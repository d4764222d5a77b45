"""Views in place (`t_`, `squeeze_`, …), `resize_`, `detach_` of what was saved, assignments into expanded memory, 0-d
tensors."""

import pytest
from goldens.oracle import check, engine, error_of, same_as_torch

torch = engine()
CHANGES = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, -1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "swapdims_": lambda x: x.swapdims_(1, 0),
    "unsqueeze_": lambda x: x.unsqueeze_(-1),
    "squeeze_": lambda x: x.unsqueeze_(0).squeeze_(),
    "squeeze_ dim": lambda x: x.unsqueeze_(1).squeeze_(1),
    "squeeze_ dims": lambda x: x.unsqueeze_(0).unsqueeze_(0).squeeze_((0, 1)),
    "squeeze_ nothing": lambda x: x.squeeze_(0),
}


def facts(x):
    node = x.grad_fn
    return [
        list(x.shape),
        list(x.stride()),
        x.storage_offset(),
        x._version,
        x.requires_grad,
        x._is_view(),
        node and node.name(),
        node and [n and n.name() for n, _ in node.next_functions],
        x,
    ]


@pytest.mark.parametrize("name", CHANGES)
def test_history_goes_on(name):
    def program(t):
        leaf = t.arange(6.0, dtype=t.float64).reshape(2, 3).requires_grad_()
        x = leaf * leaf
        before = x.grad_fn
        same = CHANGES[name](x) is x
        found = facts(x)
        weights = t.arange(float(x.numel()), dtype=t.float64).reshape(x.shape)
        (x * x * weights).sum().backward()
        return [same, before.name(), found, leaf.grad]

    check("test_autograd_inplace_views", name, program)


@pytest.mark.parametrize("name", CHANGES)
def test_outside_a_graph(name):
    def program(t):
        x = t.arange(6.0).reshape(2, 3).clone()
        whole = x.view(6)
        CHANGES[name](x)
        whole[4] = 9.0
        leaf = t.ones(2, 3, requires_grad=True)
        refused = error_of(lambda: CHANGES[name](leaf))
        with t.no_grad():
            CHANGES[name](leaf)
        return [facts(x), refused, facts(leaf)]

    check("test_autograd_inplace_views", f"{name} plain", program)


@same_as_torch
def test_a_view_and_its_base(t):
    leaf = t.arange(6.0).reshape(2, 3).requires_grad_()
    base = leaf * 2
    row = base[:, 0:2]
    row.transpose_(0, 1)
    found = [facts(row), facts(base)]
    (row.sum() + base.sum()).backward()
    other = leaf * 3
    piece = other[0]
    other.t_()
    (piece * piece).sum().backward()
    return [found, facts(piece)[:-2], facts(other), leaf.grad]


@same_as_torch
def test_a_change_of_shape_is_a_change(t):
    leaf = t.ones(2, 3, requires_grad=True)
    x = leaf * 2
    y = x * x
    x.t_()
    return error_of(lambda: y.sum().backward()).split(" Hint")[0]


@same_as_torch
def test_errors(t):
    cube = t.ones(2, 2, 2)
    return {
        "t_": error_of(lambda: cube.t_()),
        "transpose_": error_of(lambda: cube.transpose_(0, 5)),
        "unsqueeze_": error_of(lambda: cube.unsqueeze_(7)),
        "squeeze_": error_of(lambda: cube.squeeze_(4)),
        "resize_ a leaf": error_of(lambda: t.ones(2, requires_grad=True).resize_(3)),
        "resize_ a result": error_of(lambda: (t.ones(2, requires_grad=True) * 1).resize_(3)),
        "resize_ -1": error_of(lambda: t.ones(2).resize_(-1, 2)),
        "expanded": [
            list(t.ones(1, 3).expand(2, 3).t_().shape),
            list(t.ones(1).expand(3).unsqueeze_(0).shape),
        ],
    }


def test_resize_refuses_memory_formats_and_fills_with_zeros():
    assert torch.arange(2.0).resize_(4).tolist() == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(
        TypeError, match="argument 'memory_format' must be torch.memory_format, not str"
    ):
        torch.ones(2).resize_(1, memory_format="x")


@same_as_torch
def test_a_history_of_changes_runs_once(t):
    """The node of a changed base frees what it calls, also where that saved nothing."""
    x = t.ones(3, requires_grad=True)
    y = x * 1
    y[0] += 2
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return error_of(lambda: y.sum().backward()), x.grad
