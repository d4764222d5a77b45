"""Names of tensors: found wherever the learner's variables are, and safe in formulas whatever characters they
contain."""

import re
from html import unescape

import pytest
from packed import mathml_of

import autolab as torch
from autolab.trace.captions import formulas
from autolab.trace import trace
from autolab.viz.dot import to_dot


def labels(t):
    return [node.made for node in t.nodes]


def recorded(function):
    with torch.record() as recording:
        function()
    return recording.trace()


def two_layers(library=torch):
    return library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Linear(3, 1))


def leaves(t):
    return [node.label for node in t.nodes if node.kind == "leaf"]


def test_the_parameters_of_a_model_in_a_function_around():
    def outer():
        net = two_layers()
        return inner(net(torch.ones(1, 2)).sum())

    def inner(result):
        return trace(result)

    assert leaves(outer()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_the_parameters_of_a_model_that_is_gone():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return self.first(x) * self.scale

    def made():
        return Net()(torch.ones(1, 2)).sum()

    found = leaves(trace(made()))
    assert found == ["first.0.weight", "first.0.bias", "first.1.weight", "first.1.bias", "scale"]


def test_the_parameters_of_a_pytorch_model_in_a_function_around():
    pytorch = pytest.importorskip("torch")

    def outer():
        net = two_layers(pytorch)
        return (lambda result: trace(result))(net(pytorch.ones(1, 2)).sum())

    assert leaves(outer()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_two_models_with_parameters_of_the_same_path():
    def both():
        critic, actor = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
        t = trace(critic(actor(torch.ones(1, 2))).sum())
        return leaves(t), leaves(recorded(lambda: critic(actor(torch.ones(1, 2))).sum()))

    walked, watched = both()
    assert walked == ["actor.weight", "actor.bias", "critic.weight", "critic.bias"] == watched


def test_a_name_of_a_caller_that_means_another_thing_here():
    def outer():
        q = torch.ones(2, requires_grad=True)
        return inner(q * 2)

    def inner(q):
        return trace(q.sum())

    assert "q of outer" in labels(outer())


def test_every_result_of_an_operation_that_has_several():
    def program():
        a = torch.tensor([[5.0, 1.0, 2.0, 0.5]], requires_grad=True)
        left, right = a.chunk(2, 1)
        one, *others = a.split(1, 1)
        top, at = a.max(1)
        _, order = a.sort(1)
        (
            (left * right).sum()
            + (one * others[1]).sum()
            + top.sum()
            + torch.gather(a, 1, order * at).sum()
        )

    found = recorded(program)
    made = {node.op: node.made for node in found.nodes}
    assert made["max"] == "top, at" and "order" in made["sort"]
    assert {"left, right", "one, others[0], others[1], others[2]"} <= {
        node.made for node in found.nodes
    }
    words = next(f.text for f in found.frames if f.text.startswith("left, right"))
    assert words.endswith("= [[5, 1]], [[2, 0.5]]")


def test_a_named_tuple_of_results_gives_names():
    def program():
        a = torch.tensor([[1.0, 5.0]], requires_grad=True)
        best = a.max(1)
        value = best.values
        a.gather(1, best.indices[:, None]).sum() + value.sum()

    found = recorded(program)
    use = next(node.call for node in found.nodes if node.op == "unsqueeze")
    made = next(node.made for node in found.nodes if node.op == "max")
    assert made == "value, best[1]" and use == "unsqueeze(best[1], dim=1)"


def test_comprehensions_nested_unpacking_and_attributes():
    class Cell:
        def run(self, a):
            self.state = a * 2
            self.kept = {"last": [a * 3]}
            return self.state + self.kept["last"][0]

    def program():
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        (p, q), [r] = [a * 4, a * 5], (a * 6,)
        squares = [part * part for part in (p, q, r)]
        table = {n: s * 7 for n, s in enumerate(squares)}
        cell = Cell()
        out = cell.run(a)
        torch.stack([*squares, *table.values(), out]).sum()

    made = {node.call: node.label for node in recorded(program).nodes}
    assert [made[f"a * {n}"] for n in (2, 3, 4, 5, 6)] == [
        "self.state",
        "self.kept['last'][0]",
        "p",
        "q",
        "r",
    ]
    assert (made["p * p"], made["r * r"], made["squares[1] * 7"]) == (
        "squares[0]",
        "squares[2]",
        "table[1]",
    )


NAMES = [
    "a{b",
    "}",
    "it's",
    '"',
    "x^2",
    "x_1_2",
    "cost $",
    "50 %",
    "#&",
    "größe_λ",
    "a\\b",
    "~`",
    "<b>",
    "a = b",
    "[",
    "e",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_characters_comes_out_in_formulas_and_pictures(name):
    x, inputs = torch.tensor(3.0, requires_grad=True), {name: torch.tensor(2.0, requires_grad=True)}
    y = x * inputs[name] * 2.5
    t, label = trace(y), f"inputs[{name!r}]"
    shown = (
        [node.tex for node in t.nodes if node.tex]
        + [f.tex for f in t.frames if f.tex]
        + [e.tex for e in t.edges if e.tex]
    )
    named = 0
    for tex in shown:
        mathml = mathml_of(tex)
        assert mathml.startswith("<math") and "<b>" not in mathml
        words = [
            unescape(word) for word in re.findall(r'<mi mathvariant="normal">([^<]*)</mi>', mathml)
        ]
        named += label in words
        assert all(word in (label, ".grad") for word in words), words
    assert named >= 4
    assert (
        formulas.plain_name(re.fullmatch(r"\\mathrm\{(.*)\}", formulas.symbol(label))[1]) == label
    )
    source = to_dot(t).source
    assert '"' + label.replace("\\", "\\\\").replace('"', '\\"') in source
    assert label in t.to_text()


def test_a_variable_e_is_not_the_base_of_the_logarithm():
    e = torch.tensor(2.0, requires_grad=True)
    node = trace(e * 3).nodes[-1]
    assert node.tex.endswith(r"= {\mathit{e}} \cdot 3") and "&#x1D452;" in mathml_of(node.tex)


@pytest.mark.parametrize("library", ["autolab", "torch"])
def test_a_loop_variable_does_not_name_a_parameter(library):
    lib = pytest.importorskip(library)
    layer = lib.nn.Linear(2, 1)
    everything = {"all": list(layer.parameters())}
    for each in layer.parameters():
        each.requires_grad_(True)
    trace = torch.explore(layer(lib.ones(3, 2)).sum()).trace
    assert {node.name for node in trace.nodes if node.kind == "leaf"} == {"weight", "bias"}
    assert everything


@pytest.mark.parametrize("library", ["autolab", "torch"])
def test_two_networks_of_one_type_are_named_by_their_variables(library):
    lib = pytest.importorskip(library)
    nn = lib.nn
    encoder = nn.Sequential(nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 2)))
    decoder = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3)))
    with torch.record() as recording:
        decoder(encoder(lib.ones(1, 3)))
        encoder(lib.ones(2, 3))
    groups = recording.trace().groups
    outer = [group.label for group in groups if group.parent is None]
    assert outer == ["encoder", "decoder", "encoder (call 2)"]
