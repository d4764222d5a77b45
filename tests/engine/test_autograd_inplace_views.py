"""Views in place (`t_`, `squeeze_`, …), `resize_`, `detach_` of what was saved, assignments into expanded memory, 0-d
tensors."""

import warnings

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


@same_as_torch
def test_resize(t):
    x = t.arange(6.0)
    found = [x.resize_(2, 2) is x, x._version, x.clone(), list(x.stride())]
    piece = t.arange(6.0)[2:]
    piece.resize_((2, 2))
    turned = t.arange(6.0).reshape(2, 3).t()
    turned.resize_(3, 2)
    small = t.arange(6.0).reshape(2, 3).t()
    small.resize_(2, 2)
    longer = t.arange(3.0)
    longer.resize_(5)
    back = t.arange(6.0)
    view = back.view(2, 3)
    back.resize_(2)
    view[0, 0] = 7.0
    return [
        found,
        piece,
        turned,
        small,
        list(small.stride()),
        longer[:3],
        list(longer.shape),
        back,
        back.resize_(4),
    ]


def test_resize_refuses_memory_formats_and_fills_with_zeros():
    assert torch.arange(2.0).resize_(4).tolist() == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(
        TypeError, match="argument 'memory_format' must be torch.memory_format, not str"
    ):
        torch.ones(2).resize_(1, memory_format="x")


@same_as_torch
def test_what_was_saved_before_detach_in_place(t):
    def saved_then_detached(create_graph=False):
        a = t.ones(2, requires_grad=True)
        b = a * 2
        c = b * b
        b.detach_()
        return error_of(lambda: t.autograd.grad(c.sum(), a, create_graph=create_graph))

    def own_result():
        a = t.ones(2, requires_grad=True)
        b = a.exp()
        loss = b.sum()
        b.detach_()
        loss.backward()
        return [a.grad, b.requires_grad, b.is_leaf, b._version]

    def detached_first():
        w, a = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        b = a * 2
        b.detach_()
        (b * w).sum().backward()
        return [w.grad, a.grad]

    return [saved_then_detached(), saved_then_detached(True), own_result(), detached_first()]


@same_as_torch
def test_assignments_into_expanded_memory(t):
    def into(key, value):
        x = t.zeros(1, 2).expand(3, 2)
        return error_of(lambda: x.__setitem__(key, value))

    everything = slice(None)
    filled = t.zeros(1).expand(3)
    return {
        "number": into(everything, 1.0),
        "0-d": into(everything, t.tensor(1.0)),
        "row": into(everything, t.ones(2)),
        "column": into((everything, 0), 1.0),
        "one row, which repeats nothing": into(0, 1.0),
        "dots": into(..., 1.0),
        "fill_ by a tensor": error_of(lambda: t.zeros(1).expand(3).fill_(t.tensor(1.0))),
        "fill_ by a number": filled.fill_(2.0),
    }


ZERO_DIM = {
    "index_add": lambda t, x: x.index_add(0, t.tensor([0]), t.tensor(3.0)),
    "index_add wrong": lambda t, x: x.index_add(0, t.tensor([0]), t.tensor([3.0])),
    "unfold": lambda t, x: x.unfold(0, 1, 1),
    "unfold nothing": lambda t, x: x.unfold(0, 0, 1),
    "unfold too much": lambda t, x: x.unfold(0, 2, 1),
    "movedim": lambda t, x: x.movedim(0, 0),
    "movedim none": lambda t, x: x.movedim((), ()),
    "movedim wrong": lambda t, x: x.movedim(0, 1),
    "quantile": lambda t, x: x.quantile(0.5, dim=0),
    "quantile keepdim": lambda t, x: x.quantile(t.tensor([0.25, 0.5]), dim=0, keepdim=True),
    "tril": lambda t, x: x.tril(),
    "triu": lambda t, x: x.triu(),
    "mT": lambda t, x: x.mT,
    "T": lambda t, x: x.T,
}


@pytest.mark.parametrize("name", ZERO_DIM)
def test_zero_dimensions(name):
    def program(t):
        x = t.tensor(2.0, requires_grad=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = ZERO_DIM[name](t, x)
            except (RuntimeError, IndexError) as error:
                return f"{type(error).__name__}: {error}"
        if result.numel() and result.requires_grad:
            result.sum().backward()
        return [result, x.grad, [str(w.message).split(" (Triggered")[0] for w in caught]]

    check("test_autograd_inplace_views", f"0-d {name}", program)


@same_as_torch
def test_nothing_is_written_twice_where_there_is_nothing(t):
    """An empty part of a tensor may be changed in place, though NumPy gives it strides of 0."""
    x, y = t.zeros(0, 3, 4), t.ones(1, 0).expand(3, 0)
    x[..., 1:2] = 1.0
    return (
        x.shape,
        t.zeros(2, 0, 4)[..., 1:3].add_(1).shape,
        y.mul_(2).shape,
        t.empty(0, 3)[:, 1:].uniform_().shape,
    )


@same_as_torch
def test_a_history_of_changes_runs_once(t):
    """The node of a changed base frees what it calls, also where that saved nothing."""
    x = t.ones(3, requires_grad=True)
    y = x * 1
    y[0] += 2
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return error_of(lambda: y.sum().backward()), x.grad


@same_as_torch
def test_what_was_changed_is_named_by_the_output_it_is(t):
    def changed(use):
        x = t.arange(4.0).reshape(2, 2).requires_grad_()
        return error_of(lambda: use(x).backward())

    def indices(x):
        found = x.sort(0)
        found.indices.add_(0)
        return found.values.sum()

    def values(x):
        u, s, _ = t.linalg.svd(x + t.eye(2))
        s.detach().mul_(2)
        return u.sum() + s.sum()

    def operand(x):
        _, second = t.var_mean(x, 0)
        loss = (second * second).sum()
        second.detach().mul_(2)
        return loss

    return [changed(use) for use in (indices, values, operand)]


@same_as_torch
def test_alpha_has_to_fit_the_result(t):
    x, n, b = t.ones(2), t.arange(2), t.tensor([True, False])
    return [
        error_of(lambda: t.add(x, x, alpha=True)),
        error_of(lambda: t.add(n, n, alpha=0.5)),
        error_of(lambda: n.sub(1, alpha=1.0)),
        error_of(lambda: n.add_(n, alpha=2.0)),
        t.add(b, b, alpha=True),
        t.add(n, x, alpha=0.5),
        t.sub(n, n, alpha=2),
    ]
