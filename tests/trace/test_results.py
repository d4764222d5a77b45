"""Operations with several results: every result that the learner gets is shown, and no result that only the engine
uses."""

import pytest

import autolab as torch
from autolab.trace import trace


def sentences(recording, event="compute"):
    return [f.text for f in recording.trace().frames if f.event == event]


def test_results_without_names_are_all_shown():
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    with torch.record() as recording:
        x.split(2)[1].sum().backward()
    parts, total = sentences(recording)
    assert parts == "v1 = split(x, dim=0, split_size=2) = ([1, 2], [4])"
    assert total == "v2 = sum(v1[1]) = 4"
    assert sentences(recording, "contribution") == [
        "v2 sends [1] to v1[1]",
        "split(x, dim=0, split_size=2) sends [0, 0, 1] to x",
    ]
    assert (
        trace(x.split(2)[0]).nodes[-1].tex == r"\mathrm{v1[0]}, \mathrm{v1[1]} = \mathrm{part}(x)"
    )


def test_very_many_results_are_counted():
    x = torch.arange(20.0).requires_grad_()
    with torch.record() as recording:
        parts = x.unbind(0)
        x.split(1)
    named, unnamed = sentences(recording)
    assert (
        named == "parts[0], parts[1], ..., parts[19] = unbind(x, dim=0): 20 results"
        and len(parts) == 20
    )
    assert unnamed == "v1 = split(x, dim=0, split_size=1): 20 results"


@pytest.mark.parametrize(
    "layer",
    [
        "BatchNorm1d(3)",
        "LayerNorm(3)",
        "CrossEntropyLoss()",
    ],
)
def test_what_only_the_engine_gets_is_no_result(layer):
    x, module = (
        torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 5.0]], requires_grad=True),
        eval(f"torch.nn.{layer}"),
    )
    given = [torch.tensor([0, 2])] if "Loss" in layer else []
    with torch.record() as recording:
        module(x, *given)
    node = recording.trace().nodes[-1]
    assert (
        node.outputs
        and not node.is_tuple
        and node.results == ()
        and " = (" not in recording.trace().frames[-1].text
    )


def test_a_gradient_of_zeros_for_one_result_is_not_that_of_all():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.record() as recording:
        a, b = x.unbind(0)
        (a * 0 * b + a).backward()
    t = recording.trace()
    node = next(n.id for n in t.nodes if n.name == "a")
    last = max(f.index for f in t.frames if f.event == "contribution" and f.receiver == node)
    assert t.states(last)[node] == "accumulated"


@pytest.mark.parametrize(
    ("code", "forward", "back"),
    [
        (
            "a, b = torch.linalg.slogdet(x)",
            r"v_{1}, b = \frac{\det x}{|\det x|}, \ln |\det x|",
            r"\bar{b} \, x^{-T}",
        ),
    ],
)
def test_formulas_know_of_all_results(code, forward, back):
    x = torch.tensor([[3.0, 1.0], [1.0, 2.0]], requires_grad=True)
    names = {"torch": torch, "x": x}
    exec(code, names)
    t = trace(names["b"], namespace=names)
    assert t.nodes[-1].tex == forward
    assert next(e.tex for e in t.edges if e.child == t.nodes[-1].id).partition(" = ")[2] == back


def test_a_custom_function_with_several_results_has_a_derivative_for_each():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(b)
            return a * b, a + b

        @staticmethod
        def backward(ctx, g, h):
            return g * ctx.saved_tensors[0] + h, None

    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        p, s = Both.apply(x, y)
        (p + 2 * s).backward()
    (tex,) = [f.tex for f in recording.trace().frames if f.text == "both(x, y) sends 5 to x"]
    assert tex.endswith(
        r"\bar{p} \cdot \frac{\partial p}{\partial x} + \bar{s} \cdot \frac{\partial s}{\partial x} = 5"
    )


def test_a_comparison_stands_in_brackets():
    t = torch.tensor([0, -100, 3])
    with torch.record() as recording:
        m = t == -100
        n = t > m
    assert (
        sentences(recording)
        == ["m = (t == -100) = [False, True, False]", "n = (t > m) = [False, False, True]"]
        and n is not m
    )


def test_one_name_among_several_results():
    x = torch.tensor([[1.0, 5.0], [3.0, 4.0]], requires_grad=True)
    with torch.record() as recording:
        _, where = x.max(1)
    assert sentences(recording) == [
        "v1, where = max(x, dim=1) = [5, 4], [1, 1]",
    ]
    assert where.tolist() == [1, 1]


def test_a_pass_begins_at_the_result_that_was_asked():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    with torch.record() as recording:
        spread, mean = x[:2].unbind()
        mean.backward(retain_graph=True)
        torch.autograd.backward([spread], [torch.tensor(5.0)])
    assert sentences(recording, "seed") == [
        "backward starts: the gradient of mean with respect to itself is 1",
        "backward starts: spread is given the gradient 5",
    ]
