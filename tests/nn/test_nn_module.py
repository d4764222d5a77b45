"""`nn.Module`: registering, finding, changing all at once, showing; the same programs run on PyTorch."""

import copy
import pickle

import pytest
from goldens.oracle import check, engine, error_of, same_as_torch

torch = engine()
nn = torch.nn


class Net(nn.Module):
    """Two layers, a shared parameter, buffers of both kinds, a list and a dict of modules."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 3)
        self.act = nn.ReLU()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1, bias=False)])
        self.extras = nn.ModuleDict({"drop": nn.Dropout(0.2), "flat": nn.Flatten()})
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("scratch", torch.ones(1), persistent=False)
        self.register_parameter("none", None)
        self.tied = self.fc1

    def forward(self, x):
        x = self.act(self.fc1(x)) - self.mean
        for layer in self.layers:
            x = layer(x)
        return self.extras["drop"](x) * self.scale


NET = """\
Net(
  (fc1): Linear(in_features=2, out_features=3, bias=True)
  (act): ReLU()
  (layers): ModuleList(
    (0-1): 2 x Linear(in_features=3, out_features=3, bias=True)
    (2): Linear(in_features=3, out_features=1, bias=False)
  )
  (extras): ModuleDict(
    (drop): Dropout(p=0.2, inplace=False)
    (flat): Flatten(start_dim=1, end_dim=-1)
  )
  (tied): Linear(in_features=2, out_features=3, bias=True)
)"""


def test_repr():
    assert repr(Net()) == NET


class Settings(nn.Module):
    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def extra_repr(self):
        return self.lines


def test_extra_repr():
    assert repr(Settings("k=1")) == "Settings(k=1)"
    assert repr(Settings("")) == "Settings()"
    assert repr(Settings("k=1\nl=2")) == "Settings(\n  k=1\n  l=2\n)"
    outer = Settings("k=1")
    outer.inner = Settings("a\n\nb")
    assert repr(outer) == "Settings(\n  k=1\n  (inner): Settings(\n    a\n\n    b\n  )\n)"


REPRS = [
    "nn.Linear(784, 10)",
    "nn.Identity(3, a=4)",
    "nn.Flatten()",
    "nn.Unflatten(1, (2, 2))",
    "nn.Dropout()",
    "nn.Embedding(10, 3)",
    "nn.Embedding(10, 3, padding_idx=-1, max_norm=2., norm_type=1., scale_grad_by_freq=True)",
    "nn.ReLU()",
    "nn.ReLU(inplace=True)",
    "nn.ReLU6()",
    "nn.LeakyReLU()",
    "nn.LeakyReLU(0.2, inplace=True)",
    "nn.PReLU()",
    "nn.ELU()",
    "nn.SELU(True)",
    "nn.CELU()",
    "nn.GELU()",
    "nn.SiLU()",
    "nn.Sigmoid()",
    "nn.Tanh()",
    "nn.Softplus()",
    "nn.Softsign()",
    "nn.Hardtanh()",
    "nn.LogSigmoid()",
    "nn.Softmax(dim=1)",
    "nn.LogSoftmax()",
    "nn.Softmin(0)",
    "nn.Threshold(0.1, 20)",
    "nn.Tanhshrink()",
    "nn.Softshrink()",
    "nn.Hardshrink(0.3)",
    "nn.GLU()",
    "nn.CosineSimilarity()",
    "nn.CrossEntropyLoss(weight=torch.ones(2))",
    "nn.MSELoss()",
    "nn.Sequential()",
    "nn.ModuleList()",
    "nn.ModuleDict()",
    "nn.ParameterList([torch.ones(2), torch.ones(2, 3), 'a'])",
    "nn.ParameterDict({'b': torch.ones(2), 'a': 3})",
    "nn.Sequential(nn.Sequential(nn.ReLU(), nn.ReLU()), nn.ReLU())",
    "nn.ModuleList([nn.Sequential(nn.Linear(1, 1)), nn.Sequential(nn.Linear(1, 1)), nn.Tanh()])",
]


@pytest.mark.parametrize("code", REPRS)
def test_torch_prints_the_same(code):
    check("test_nn_module", f"repr {code}", lambda t: repr(eval(code, {"torch": t, "nn": t.nn})))


def test_names_of_everything():
    net = Net()
    parameters = [
        "scale",
        "fc1.weight",
        "fc1.bias",
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
        "layers.2.weight",
    ]
    assert [name for name, _ in net.named_parameters()] == parameters
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)] == [
        *parameters,
        "tied.weight",
        "tied.bias",
    ]
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]
    assert [name for name, _ in net.named_buffers()] == ["mean", "scratch"]
    modules = [
        "",
        "fc1",
        "act",
        "layers",
        "layers.0",
        "layers.1",
        "layers.2",
        "extras",
        "extras.drop",
        "extras.flat",
    ]
    assert [name for name, _ in net.named_modules()] == modules
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == [*modules, "tied"]
    assert [name for name, _ in net.named_children()] == ["fc1", "act", "layers", "extras"]
    assert list(net.children())[0] is net.fc1 and len(list(net.modules())) == 10
    assert sum(p.numel() for p in net.parameters()) == 1 + 9 + 12 + 12 + 3
    assert [b.shape for b in net.buffers()] == [(3,), (1,)]


def test_paths():
    net = Net()
    assert net.get_submodule("layers.1") is net.layers[1] and net.get_submodule("") is net
    assert net.get_parameter("layers.1.weight") is net.layers[1].weight
    net.layers[1] = nn.Tanh()
    assert repr(net.layers[1]) == "Tanh()"


@same_as_torch
def test_errors_of_registering_and_finding(t):
    nn = t.nn
    attempts = {
        "before init": lambda: type(
            "M", (nn.Module,), {"__init__": lambda self: setattr(self, "fc", nn.Linear(1, 1))}
        )(),
        "parameter before init": lambda: type(
            "M",
            (nn.Module,),
            {"__init__": lambda self: setattr(self, "w", nn.Parameter(t.ones(1)))},
        )(),
        "buffer before init": lambda: type(
            "M", (nn.Module,), {"__init__": lambda self: self.register_buffer("b", t.ones(1))}
        )(),
        "init arguments": lambda: nn.Module(1),
        "init keywords": lambda: nn.Module(a=1),
        "no forward": lambda: nn.Module()(1),
        "no attribute": lambda: nn.Linear(2, 3).foo,
        "tensor as parameter": lambda: setattr(nn.Linear(2, 1), "weight", t.ones(1, 2)),
        "number as parameter": lambda: setattr(nn.Linear(2, 1), "weight", 1),
        "list as module": lambda: setattr(nn.Sequential(nn.ReLU()), "0", [1]),
        "module as parameter": lambda: setattr(nn.Linear(2, 1), "weight", nn.ReLU()),
        "number as buffer": lambda: (
            m := nn.Module(),
            m.register_buffer("b", t.ones(1)),
            setattr(m, "b", 2),
        ),
        "register tensor": lambda: nn.Module().register_parameter("p", t.ones(2)),
        "register non-leaf": lambda: nn.Module().register_parameter(
            "p", nn.Parameter(t.ones(2)) * 1
        ),
        "register buffer of number": lambda: nn.Module().register_buffer("b", 3.0),
        "dot": lambda: nn.Module().register_parameter("a.b", None),
        "empty": lambda: nn.Module().register_buffer("", None),
        "taken": lambda: nn.Module().register_buffer("training", None),
        "taken parameter": lambda: nn.Module().register_parameter("forward", None),
        "name no text": lambda: nn.Module().register_parameter(3, None),
        "module dot": lambda: nn.Module().add_module("a.b", nn.ReLU()),
        "module empty": lambda: nn.Module().add_module("", nn.ReLU()),
        "module taken": lambda: nn.Module().add_module("training", nn.ReLU()),
        "no module": lambda: nn.Module().add_module("a", 3),
        "no module class": lambda: nn.Module().add_module("a", nn.ReLU),
        "path": lambda: nn.Sequential(nn.ReLU()).get_submodule("1"),
        "path to no module": lambda: nn.Linear(1, 1).get_submodule("weight"),
        "path to no parameter": lambda: nn.Sequential(nn.ReLU()).get_parameter("0.weight"),
        "module is no parameter": lambda: nn.Sequential(nn.ReLU()).get_parameter("0"),
        "train mode": lambda: nn.ReLU().train("yes"),
        "to int": lambda: nn.Linear(1, 1).to(t.int32),
        "delete nothing": lambda: delattr(nn.Linear(1, 1), "foo"),
        "sequential index": lambda: nn.Sequential(nn.ReLU())[1],
        "sequential insert": lambda: nn.Sequential().insert(1, nn.ReLU()),
        "list index": lambda: nn.ModuleList([nn.ReLU()])[-2],
        "list extend": lambda: nn.ModuleList().extend(3),
        "list of numbers": lambda: nn.ModuleList([3]),
        "list called": lambda: nn.ModuleList([nn.ReLU()])(1),
        "dict update": lambda: nn.ModuleDict(3),
        "parameters extend": lambda: nn.ParameterList(t.ones(2)),
        "parameter dict key": lambda: nn.ParameterDict([(3, t.ones(1))]),
    }
    return {
        name: error_of(action).replace("'autolab.nn.", "'torch.nn.")
        for name, action in attempts.items()
    }


@same_as_torch
def test_assignment(t):
    nn = t.nn
    m = nn.Module()
    m.a = nn.Parameter(t.ones(1))
    m.b = nn.Linear(1, 1)
    m.c = t.ones(2)
    m.register_buffer("d", t.ones(2))
    found = [sorted(m._parameters), sorted(m._modules), sorted(m._buffers), m.c is m.__dict__["c"]]
    m.a = None  # stays a parameter's place
    m.b = nn.Parameter(t.zeros(1))  # a module's place becomes a parameter's
    m.d = None
    found += [m.a, sorted(m._parameters), sorted(m._modules), m.d, list(m.state_dict())]
    m.d = t.zeros(3)
    m.register_buffer("e", t.ones(1), persistent=False)
    found += [
        list(m.state_dict()),
        sorted(dict(m.named_buffers())),
        type(m.e).__name__,
    ]
    del m.b, m.d, m.e
    found += [sorted(m._parameters), sorted(m._buffers), hasattr(m, "b")]
    m.c = nn.Parameter(t.ones(1))  # a plain attribute becomes a parameter
    return [*found, "c" in m.__dict__, [name for name in dir(m) if name in ("a", "c", "forward")]]


def test_parameter_is_a_leaf_of_its_own_class_and_shares_memory():
    data = torch.ones(2)
    p = nn.Parameter(data)
    assert (
        p.requires_grad
        and p.is_leaf
        and isinstance(p, nn.Parameter)
        and not isinstance(data, nn.Parameter)
    )
    assert [type(x).__name__ for x in (p * 1, p.data, p.detach(), p.clone(), p[0])] == [
        "Tensor"
    ] * 5
    data[0] = 5
    assert p.tolist() == [5.0, 1.0]
    assert repr(p) == "Parameter containing:\ntensor([5., 1.], requires_grad=True)"
    assert (
        repr(nn.Parameter(torch.ones(2), requires_grad=False))
        == "Parameter containing:\ntensor([1., 1.])"
    )
    assert not nn.Parameter(torch.tensor([1]), requires_grad=False).requires_grad


def test_copies_are_independent_and_shared_parameters_stay_shared():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(other) == NET
        assert other.tied is other.fc1 and other.fc1 is not net.fc1
        assert type(other.fc1.weight) is nn.Parameter and other.fc1.weight.requires_grad
        assert other.fc1.weight.tolist() == net.fc1.weight.tolist()
        with torch.no_grad():
            other.fc1.weight.zero_()
        assert net.fc1.weight.abs().sum().item() > 0
        assert other.eval()(torch.ones(1, 2)).shape == (1, 1)
    assert copy.deepcopy(net.fc1.weight).grad is None


def test_modes():
    net = Net()
    assert net.eval() is net and not net.extras["drop"].training
    x = torch.ones(4, 2)
    assert net(x).tolist() == net(x).tolist()
    assert net.train().extras["drop"].training


@same_as_torch
def test_casts(t):
    nn = t.nn
    m = nn.Sequential(nn.Linear(2, 2), nn.Flatten())
    m.register_buffer("count", t.tensor(3))
    m[0](t.ones(1, 2)).sum().backward()
    found = []
    weight = m[0].weight
    for change in (
        lambda: m.double(),
        lambda: m.half(),
        lambda: m.float(),
        lambda: m.to(t.float64),
        lambda: m.to("cpu", t.float32),
        lambda: m.to(t.ones(1, dtype=t.float64)),
        lambda: m.type(t.float32),
        lambda: m.to(dtype=t.float64),
        lambda: m.cpu(),
        lambda: m.to(),
    ):
        found.append(
            [
                change() is m,
                m[0].weight.dtype,
                m[0].bias.dtype,
                m[0].weight.grad.dtype,
                m.count.dtype,
                m[0].weight is weight,
                type(m[0].weight).__name__,
                m[0].weight.requires_grad,
                m[0].weight.is_leaf,
            ]
        )
    return found


@same_as_torch
def test_gradients_of_all_parameters(t):
    t.manual_seed(0)
    m = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh(), t.nn.Linear(3, 1))
    m(t.ones(4, 2)).sum().backward()
    found = [[p.grad.clone() for p in m.parameters()]]
    m.zero_grad(set_to_none=False)
    found.append([p.grad for p in m.parameters()])
    m.zero_grad()
    found.append([p.grad for p in m.parameters()])
    m[0].requires_grad_(False)
    found.append([p.requires_grad for p in m.parameters()])
    y = m(t.ones(4, 2))
    y.sum().backward()
    return [*found, [p.grad for p in m.parameters()]]


def test_apply_visits_children_first():
    seen = []
    net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]
