"""Beats: the frames of a trace grouped by the node on whose card they are shown, with titles and lines."""

import pytest

import autolab as torch
from autolab import nn
from autolab.trace import trace
from autolab.trace.beats import beats, tell


@pytest.fixture(scope="module")
def scalar():
    x = torch.tensor(2.0, requires_grad=True)
    z = x * x + 3 * x
    return trace(z, {"x": x, "z": z}, namespace={})


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
    loss = nn.functional.cross_entropy(model(torch.randn(4, 2)), torch.tensor([0, 1, 1, 0]))
    return trace(loss, {"loss": loss}, namespace={})


def test_one_beat_for_each_node_and_direction(scalar):
    found = beats(scalar)
    assert [(beat.phase, beat.title) for beat in found] == [
        ("forward", "x · x"),
        ("forward", "3 · x"),
        ("forward", "z"),
        ("backward", "z"),
        ("backward", "3 · x"),
        ("backward", "x · x"),
    ]


def test_beats_span_all_frames_without_a_gap(scalar, network):
    for one in (scalar, network):
        found = beats(one)
        assert found[0].first == 0 and found[-1].last == len(one.frames) - 1
        assert [b.first for b in found[1:]] == [b.last + 1 for b in found[:-1]]
        for beat in found:
            assert beat.parts[-1] == beat.last and list(beat.parts) == sorted(set(beat.parts))
            assert beat.first <= beat.parts[0]


def test_lines_have_the_numbers_and_how_they_are_added(scalar):
    found = beats(scalar)
    assert found[0].says == ("`x · x` = 2 · 2 = 4", "")
    assert found[2].says[0] == "`z` = x · x + 3 · x = 4 + 6 = 10"
    assert found[3].says == (
        "The backward pass starts at `z` with the gradient 1; it hands 1 to `x · x` and 1 to `3 · x`.",
        "Preview: backward() has not run, so nothing was changed.",
    )
    assert found[5].says[1] == "`x` now holds 3 + 2 + 2 = 7. That is `x.grad`."
    assert found[5].notes == ("`x` receives 2. It holds 5 now.", "`x` receives 2. It holds 7 now.")


def test_a_network_is_told_by_layer(network):
    found = beats(network)
    assert [beat.title for beat in found] == [
        *("Linear 1", "ReLU", "Linear 2", "loss"),
        *("loss", "Linear 2", "ReLU", "Linear 1"),
    ]
    linear = found[5]
    receivers = [network.node(network.frames[part].receiver).label for part in linear.parts]
    assert receivers == ["2.bias", "v3", "2.weight"], "transposing the weight is no stop"
    assert linear.notes[0] == (
        "One `bias` served all 4 examples, so their gradients are added: [4, 2] → [2]."
    )


def test_two_operations_of_one_call_are_told_together(network):
    told = tell(network)
    ops = {node.op: node.id for node in network.nodes}
    assert told["merged"][ops["log_softmax"]] == ops["nll_loss"]
    assert told["titles"][ops["addmm"]] == "Linear 2"
    assert len(told["beats"]) == 8


@pytest.mark.parametrize(
    ("build", "title"),
    [
        (lambda x: (x + 1) * 2, "2 · (x + 1)"),
        (lambda x: 2 - x * x, "rsub(x · x)"),
        (lambda x: -(x * x), "-(x · x)"),
        (lambda x: (x + 1) ** 2, "(x + 1)^2"),
        (lambda x: torch.exp(x) / x, "exp(x) / x"),
        (lambda x: torch.tanh(torch.sigmoid(torch.exp(torch.cos(torch.sqrt(x))))), "tanh"),
    ],
)
def test_titles_are_expressions_while_they_are_short(build, title):
    x = torch.tensor(2.0, requires_grad=True)
    one = trace(build(x), {"x": x}, namespace={})
    assert beats(one)[-1].phase == "backward"
    forward = [beat for beat in beats(one) if beat.phase == "forward"]
    assert forward[-1].title == title


def test_a_long_graph_has_titles_and_no_sentences():
    y = torch.tensor(1.0, requires_grad=True)
    for _ in range(700):
        y = y * 1.001
    found = beats(trace(y, namespace={}))
    assert len(found) == 1400 and all(beat.says == ("", "") for beat in found)


def test_a_sum_that_a_rule_or_an_engine_overwrites_is_not_said_to_add_up():
    from autolab.lessons.lesson04 import engine

    def fork():
        x = torch.tensor(2.0, requires_grad=True)
        with torch.record() as recording:
            (x * x + x * 3).backward()
        return recording

    class Careless(engine.Value):
        __mul__, backward = engine.multiply, engine.straight

    wrong = torch.explore(torch.specimens["set instead of add"].run(fork)).trace
    last = beats(wrong)[-1].says[1]
    assert "a rule in the place of the engine's turns the" in last and "+" not in last
    x = Careless(3.0)
    own = beats(torch.explore(x * x).trace)[-1].says[1]
    assert "x.grad would be set to it, and the 3 that had arrived before would be lost." in own
    assert "own backward(), run now and watched" in own
