"""The module of each node: from recordings, from results without a recording, and from names in PyTorch's graphs."""

import gc
import threading
import weakref

import pytest

import autolab as torch
from autolab import nn
from autolab.trace import trace


class Block(nn.Module):
    """Calls one ReLU twice, adds in its own forward, and has an unused layer in a list."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.relu(self.layers[0](x))
        return self.relu(self.layers[1](y)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Block())
        self.norm = nn.BatchNorm1d(2)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return nn.functional.softmax(self.norm(self.body(x)) * self.scale, dim=1)


def paths(found):
    return [(g.path, g.type, g.call) for g in found.groups]


EXPECTED = [
    ("Net", "Net", 1),
    ("body", "Sequential", 1),
    ("body.0", "Block", 1),
    ("body.0.layers.0", "Linear", 1),
    ("body.0.relu", "ReLU", 1),
    ("body.0.layers.1", "Linear", 1),
    ("body.0.relu", "ReLU", 2),
    ("norm", "BatchNorm1d", 1),
]


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def modules(found):
    return [(n.op, n.module) for n in found.nodes if n.kind == "op"]


def test_a_result_knows_its_modules_without_a_recording(net):
    found = trace(net(torch.ones(3, 2)).sum())
    assert paths(found) == EXPECTED
    assert modules(found) == [
        ("t", "body.0.layers.0"),
        ("addmm", "body.0.layers.0"),
        ("relu", "body.0.relu"),
        ("t", "body.0.layers.1"),
        ("addmm", "body.0.layers.1"),
        ("relu", "body.0.relu"),
        ("add", "body.0"),
        ("native_batch_norm", "norm"),
        ("mul", "Net"),
        ("softmax", "Net"),
        ("sum", ""),
    ]


def test_a_recording_finds_the_same(net):
    x = torch.ones(3, 2)
    with torch.record() as recording:
        net(x).sum()
    assert paths(recording.trace()) == EXPECTED
    seen = modules(recording.trace())
    assert seen.pop(7) == ("add_", "norm"), (
        "it also sees the batches being counted, which is not in the graph"
    )
    assert seen == modules(trace(net(x).sum()))


def test_groups_are_nested_and_hold_what_belongs_to_them(net):
    x = torch.ones(3, 2, requires_grad=True)
    found = trace(net(x).sum(), dict(net.named_parameters()))
    by_id, ops = {g.id: g for g in found.groups}, [n.id for n in found.nodes if n.kind == "op"]
    assert found.groups[0].nodes == tuple(ops[:-1]), "everything but the sum is in the network"
    for group in found.groups[1:]:
        outer = by_id[group.parent]
        assert set(group.nodes) <= set(outer.nodes) and found.groups.index(
            outer
        ) < found.groups.index(group)
    held = {g.label: {found.node(h).label for h in g.holds} for g in found.groups}
    assert held["body.0.layers.1"] == {"body.0.layers.1.weight", "body.0.layers.1.bias"}
    assert held["Net"] == {"scale"}
    assert {"norm.weight", "norm.bias"} <= held["norm"]
    assert "x" not in set().union(*held.values()), (
        "the input is handed to the network, not part of it"
    )
    relus = [g for g in found.groups if g.path == "body.0.relu"]
    assert [g.label for g in relus] == ["body.0.relu", "body.0.relu (call 2)"]
    assert [[found.node(n).op for n in g.nodes] for g in relus] == [["relu"], ["relu"]]


def test_a_network_called_twice_has_two_groups_that_share_parameters(net):
    x = torch.ones(3, 2)
    found = trace((net(x) + net(x)).sum())
    roots = [g for g in found.groups if g.parent is None]
    assert [(g.label, len(g.nodes)) for g in roots] == [("Net", 10), ("Net (call 2)", 10)]
    first, second = (
        next(g for g in found.groups if g.path == "norm" and g.parent == root.id) for root in roots
    )
    assert set(first.holds) & set(second.holds) >= {
        n.id for n in found.nodes if n.name == "norm.weight"
    }
    assert first.call == second.call == 1


def test_what_is_computed_outside_a_module_belongs_to_none():
    layer = nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    found = trace((layer(x * 2) * 3).sum())
    assert modules(found) == [
        ("mul", ""),
        ("t", "Linear"),
        ("addmm", "Linear"),
        ("mul", ""),
        ("sum", ""),
    ]
    assert trace((x * 2).sum()).groups == ()


def test_an_error_in_a_forward_leaves_no_scope_behind():
    class Broken(nn.Module):
        def forward(self, x):
            raise KeyError("x")

    with pytest.raises(KeyError):
        Broken()(1)
    x = torch.tensor(2.0, requires_grad=True)
    assert (x * x).grad_fn.scope is None


def test_a_thread_has_its_own_scopes(net):
    found = []

    class Waiting(nn.Module):
        def forward(self, x):
            thread = threading.Thread(target=lambda: found.append((x * 2).grad_fn.scope))
            thread.start()
            thread.join()
            return x * 3

    made = Waiting()(torch.tensor(1.0, requires_grad=True))
    assert found == [None] and made.grad_fn.scope == (None, "", "Waiting", True)


def test_a_graph_keeps_no_module_alive():
    class Keeps(nn.Module):
        def forward(self, x):
            self.out = x * 2
            return self.out

    module = Keeps()
    out = module(torch.tensor(1.0, requires_grad=True))
    gone = weakref.ref(module)
    gc.disable()
    try:
        del module
        assert gone() is None, "there is no cycle"
    finally:
        gc.enable()
    assert trace(out).groups[0].type == "Keeps"


def test_custom_functions_and_changes_in_place_belong_to_their_module():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Odd(nn.Module):
        def forward(self, x):
            y = Double.apply(x)
            y[0] = 5.0
            return y.relu_()

    out = Odd()(torch.ones(2, requires_grad=True))
    assert {n.module for n in trace(out.sum()).nodes if n.kind == "op"} == {"Odd", ""}
    assert [n.op for n in trace(out.sum()).nodes if n.kind == "op" and not n.module] == ["sum"]


def test_a_module_that_is_no_part_of_its_caller_is_called_by_its_type():
    class Makes(nn.Module):
        def forward(self, x):
            return nn.Tanh()(x)

    assert trace(Makes()(torch.tensor(1.0, requires_grad=True))).nodes[-1].module == "Tanh"


def test_names_of_parameters_tell_the_modules_of_a_real_torch_graph():
    real = pytest.importorskip("torch")
    body = real.nn.Sequential(real.nn.Linear(2, 3), real.nn.ReLU(), real.nn.Linear(3, 2))
    model = real.nn.Sequential(body, real.nn.Tanh(), real.nn.Linear(2, 1))
    found = trace(model(real.ones(4, 2)).sum(), dict(model.named_parameters()))
    assert [(n.op, n.module) for n in found.nodes if n.kind == "op"] == [
        ("t", "0.0"),
        ("addmm", "0.0"),
        ("relu", "0"),  # it has no parameter: the innermost module around both of its neighbours
        ("t", "0.2"),
        ("addmm", "0.2"),
        ("tanh", "Sequential"),
        ("t", "2"),
        ("addmm", "2"),
        ("sum", ""),
    ]
    assert [(g.path, g.type) for g in found.groups] == [
        ("Sequential", "Sequential"),
        ("0", "Sequential"),
        ("0.0", "Linear"),
        ("0.2", "Linear"),
        ("2", "Linear"),
    ]
    assert trace((real.ones(2, requires_grad=True) * 2).sum()).groups == ()
