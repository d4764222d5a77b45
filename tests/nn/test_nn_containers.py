"""List and dict operations of the containers, the same programs run on PyTorch."""

from collections import OrderedDict

from goldens.oracle import same_as_torch


def shown(container):
    return [repr(module) for module in container]


@same_as_torch
def test_sequential(t):
    nn = t.nn
    t.manual_seed(0)
    m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    found = [m(t.ones(1, 2)), len(m), m[0], m[-1], m[:2], m[::2], list(m.state_dict())]
    found += [
        m.append(nn.Tanh()),
        m.insert(1, nn.Sigmoid()),
        m.insert(-1, nn.GELU()),
        m.extend([nn.ReLU(), nn.ReLU()]),
    ]
    found.append(m.pop(1))
    found.append(m.pop(slice(4, 6)))
    m[1] = nn.ELU()
    found.append(repr(m))
    del m[0]
    del m[-2:]
    found += [repr(m), list(m._modules)]
    named = nn.Sequential(OrderedDict([("fc", nn.Linear(2, 3)), ("act", nn.Tanh())]))
    found += [
        named,
        named.fc,
        named[1:],
        [name for name, _ in named.named_modules()],
        "0" in dir(m),
        "fc" in dir(named),
    ]
    return found


@same_as_torch
def test_module_list(t):
    nn = t.nn
    m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    found = [len(m), m[0], m[-1], m[1:], shown(m)]
    m.append(nn.GELU())
    m.extend(nn.Sequential(nn.ELU(), nn.SiLU()))
    m.insert(1, nn.Sigmoid())
    m += []
    found += [repr(m), repr(m.pop(2)), repr(m.pop(-1))]
    m[0] = nn.Identity()
    del m[1]
    found += [repr(m), repr(m + [nn.ReLU()]), list(m._modules)]
    del m[1:]
    return [*found, repr(m), isinstance(m + m, nn.ModuleList)]


@same_as_torch
def test_module_dict(t):
    nn = t.nn
    m = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    m["c"] = nn.GELU()
    m.update([["d", nn.ELU()], ("a", nn.SiLU())])
    m.update(nn.ModuleDict({}))
    found = [
        repr(m),
        list(m),
        list(m.keys()),
        shown(m.values()),
        [k for k, _ in m.items()],
        "a" in m,
        "z" in m,
        len(m),
        repr(m.pop("b")),
    ]
    del m["a"]
    found.append(repr(m))
    m.clear()
    return [*found, len(m)]


@same_as_torch
def test_parameter_list(t):
    nn = t.nn
    m = nn.ParameterList([nn.Parameter(t.ones(1)), t.zeros(2)])
    m.append(t.ones(3))
    m += [t.ones(1, 2), "text"]
    m[0] = t.full((2,), 7.0)
    found = [
        repr(m),
        len(m),
        [type(p).__name__ for p in m],
        m[-2],
        repr(m[1:3]),
        list(m.state_dict()),
        [n for n, _ in m.named_parameters()],
    ]
    return [*found, m[0].requires_grad]


@same_as_torch
def test_parameter_dict(t):
    nn = t.nn
    m = nn.ParameterDict({"b": t.ones(2), "a": nn.Parameter(t.zeros(1))})
    m["c"] = t.ones(3)
    m.update(OrderedDict([("z", t.ones(1)), ("y", t.ones(1))]))
    found = [
        repr(m),
        list(m),
        len(m),
        "a" in m,
        m.get("q"),
        m.get("q", 5),
    ]
    found += [
        m.pop("b"),
        list(m.keys()),
        [k for k, _ in m.items()],
        len(list(m.values())),
        list(m.state_dict()),
    ]
    del m["c"]
    found.append(list(m))
    m.clear()
    return [*found, len(m)]
