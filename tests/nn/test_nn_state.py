"""State dicts: what they contain, what loading does and says; the same programs run on PyTorch."""

from collections import OrderedDict

from goldens.oracle import engine, error_of, same_as_torch

torch = engine()


@same_as_torch
def test_state_dict(t):
    nn = t.nn
    t.manual_seed(0)
    m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.PReLU(), nn.Embedding(3, 2)))
    m.register_buffer("count", t.tensor(3))
    m.register_buffer("scratch", t.ones(2), persistent=False)
    state = m.state_dict()
    found = [type(state).__name__, dict(state), {k: dict(v) for k, v in state._metadata.items()}]
    found += [
        list(m.state_dict(prefix="net.")),
        [v.requires_grad for v in state.values()],
        [v.requires_grad for v in m.state_dict(keep_vars=True).values()],
    ]
    destination = OrderedDict(old=1)
    found += [
        m.state_dict(destination=destination) is destination,
        list(destination),
        [(type(d).__name__, repr(list(d.items()))) for d in [nn.Linear(1, 1).state_dict()]],
    ]
    with t.no_grad():
        m[0].weight.fill_(7)
    return [*found, state["0.weight"]]  # it shares memory


def test_it_shares_memory_and_version():
    m = torch.nn.Linear(1, 1)
    state = m.state_dict()
    state["weight"].fill_(3)
    assert m.weight.item() == 3.0 and m.weight._version == state["weight"]._version


@same_as_torch
def test_loading(t):
    nn = t.nn
    t.manual_seed(0)
    a, b = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    weight = b[0].weight
    result = b.load_state_dict(a.state_dict())
    found = [
        repr(result),
        str(result),
        tuple(result),
        b.state_dict(),
        b[0].weight is weight,
        weight.requires_grad,
    ]
    found.append(repr(b.load_state_dict({"0.weight": t.ones(2, 2), "w": t.ones(1)}, strict=False)))
    b.load_state_dict({"0.weight": t.zeros(2, 2).double(), "0.bias": t.ones(2)})
    found += [b[0].weight, b[0].weight.dtype]
    scalar = nn.Module()
    scalar.w = nn.Parameter(t.tensor(1.0))
    return [*found, repr(scalar.load_state_dict({"w": t.tensor([4.0])})), scalar.w]


@same_as_torch
def test_errors_of_loading(t):
    nn = t.nn
    t.manual_seed(0)
    m = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 1)))
    m.register_buffer("b", t.ones(1))
    good = m.state_dict()

    return {
        "no dict": error_of(lambda: m.load_state_dict([1])),
        "empty": error_of(lambda: m.load_state_dict({})),
        "missing and unexpected": error_of(
            lambda: m.load_state_dict(
                {**good, "x": t.ones(1), "1.0.y": t.ones(1), "2.z": t.ones(1)} | {"b": good["b"]}
            )
        ),
        "shape": error_of(
            lambda: m.load_state_dict({**good, "0.weight": t.ones(3, 3), "1.0.bias": t.ones(2)})
        ),
        "everything": error_of(
            lambda: m.load_state_dict({"0.weight": t.ones(3, 3), "q": t.ones(1)})
        ),
        "shape without strict": error_of(
            lambda: m.load_state_dict({"0.weight": t.ones(3, 3)}, strict=False)
        ),
        "no tensor": error_of(lambda: m.load_state_dict({**good, "0.bias": 3})),
    }


@same_as_torch
def test_versions_of_a_format(t):
    class Newer(t.nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            if local_metadata.get("version", 0) < 2:
                state_dict[prefix + "weight"] = state_dict[prefix + "weight"] * 2
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    old, new = t.nn.Sequential(t.nn.Linear(1, 1)), t.nn.Sequential(Newer(1, 1))
    t.nn.init.ones_(old[0].weight)
    new.load_state_dict(old.state_dict())
    once = new[0].weight.item()
    new.load_state_dict(new.state_dict())
    return [once, new[0].weight.item()]
