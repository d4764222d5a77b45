"""The trace as data: JSON round trips, states that follow the frames, values that are bounded and exact."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import autolab as torch
from autolab.trace import trace
from autolab.trace.layers.folding import Folding
from autolab.trace.model import GRAD_STATES, Frame, Node, Pass, Trace
from autolab.trace.records import Records
from autolab.trace.values import Value, extent, number, short
from autolab.widgets.packing import pack

SAMPLE = Path(__file__).with_name("sample_trace.json")


@pytest.fixture
def sample() -> Trace:
    return Trace.from_json(json.loads(SAMPLE.read_text()))


def test_the_sample_survives_json_both_ways(sample):
    raw = json.loads(SAMPLE.read_text())
    assert sample.to_json() == raw
    assert Trace.from_json(json.loads(json.dumps(sample.to_json()))) == sample


def test_the_sample_refers_only_to_what_exists(sample):
    nodes, edges = {n.id for n in sample.nodes}, {e.id for e in sample.edges}
    assert [n.id for n in sample.nodes] == [f"n{i}" for i in range(len(nodes))]
    assert all(e.parent in nodes and e.child in nodes for e in sample.edges)
    assert all(int(e.parent[1:]) < int(e.child[1:]) for e in sample.edges), (
        "node ids follow the forward order"
    )
    assert len({(e.parent, e.child, e.slot) for e in sample.edges}) == len(edges)
    assert all(
        s.node in nodes and (s.source_node is None or s.source_node in nodes) for s in sample.saved
    )
    assert [f.index for f in sample.frames] == list(range(len(sample.frames)))
    for frame in sample.frames:
        assert frame.node in nodes and (frame.edge is None or frame.edge in edges)
        assert (frame.receiver is None) == (frame.state == "")
        assert frame.state == "" or frame.state in GRAD_STATES


def test_the_sample_shows_the_chain_rule_in_numbers(sample):
    x, w, z = (next(n for n in sample.nodes if n.name == name) for name in "xwz")
    t = math.tanh(0.1 * (2 * 2 + 3 * 2))
    weights = [[1, -2], [0.5, 4]]
    assert z.value.data == pytest.approx(t * 3.5, rel=1e-6)
    assert x.grad.data == pytest.approx(3.5 * (1 - t * t) * 0.1 * (2 * 2 + 3), rel=1e-6)
    np.testing.assert_allclose(w.value.data, weights)
    np.testing.assert_allclose(w.grad.data, np.full((2, 2), t), rtol=1e-6)


def test_states_of_a_shared_leaf_pass_through_contribution_to_accumulated(sample):
    x = next(n.id for n in sample.nodes if n.name == "x")
    seen = [sample.states(i)[x] for i in range(-1, len(sample.frames))]
    assert [s for i, s in enumerate(seen) if i == 0 or s != seen[i - 1]] == [
        "none",
        "contribution",
        "accumulated",
    ]


def _trace(frames, passes=(), **node):
    nodes = (
        Node("n0", "leaf", name="x", requires_grad=True, **node),
        Node("n1", "op", "mul", requires_grad=True),
    )
    return Trace(
        nodes,
        frames=tuple(Frame(i, "backward", **f) for i, f in enumerate(frames)),
        passes=tuple(passes),
    )


def test_a_leaf_starts_with_the_grad_it_had():
    zero, four = Value.of(np.float32(0)), Value.of(np.float32(4))
    assert _trace([], grad_before=zero).states(-1)["n0"] == "zero"
    assert _trace([], grad_before=four).states(-1)["n0"] == "accumulated"
    assert _trace([]).states(-1) == {"n0": "none", "n1": "none"}


FIRST = [
    {"event": "seed", "run": 1, "node": "n1", "receiver": "n1", "state": "accumulated"},
    {
        "event": "accumulate",
        "run": 1,
        "node": "n0",
        "receiver": "n0",
        "state": "accumulated",
        "dropped": ("n1",),
    },
]
SECOND = [
    {"event": "contribution", "run": 2, "node": "n1", "receiver": "n0", "state": "contribution"}
]


def test_what_a_second_pass_goes_through_again_begins_anew_and_all_else_stays():
    again = _trace(FIRST + SECOND, [Pass(1), Pass(2, fresh=("n0", "n1"))])
    assert [again.states(i)["n1"] for i in range(3)] == ["accumulated", "freed", "none"]
    elsewhere = _trace(FIRST + SECOND, [Pass(1), Pass(2, fresh=("n0",))])
    assert [elsewhere.states(i)["n1"] for i in range(3)] == ["accumulated", "freed", "freed"]
    assert [t.states(1)["n0"] for t in (again, elsewhere)] == ["accumulated"] * 2


def test_where_a_pass_never_comes_is_known_from_its_first_step():
    four = Value.of(np.float32(4))
    passes = [Pass(1, never={"n0": "it is frozen"})]
    trace = _trace([FIRST[0]], passes)
    assert [trace.states(i)["n0"] for i in (-1, 0)] == ["none", "never"]
    assert [trace.why_never("n0", i) for i in (-1, 0)] == ["", "it is frozen"]
    assert _trace([FIRST[0]], passes, grad_before=four).states(0)["n0"] == "accumulated", (
        "it holds a gradient"
    )


def test_what_was_returned_leaves_grad_as_it_was():
    held = Value.of(np.float32(4))
    returned = {
        "event": "return",
        "run": 1,
        "node": "n0",
        "receiver": "n0",
        "state": "returned",
        "name": "g",
    }
    trace = _trace(
        [FIRST[0], returned, *SECOND[:1]],
        [Pass(1, "grad", inputs=("n0",)), Pass(2, fresh=("n0",))],
        grad_before=held,
    )
    states = [trace.states(i)["n0"] for i in range(-1, 3)]
    assert states == ["accumulated", "accumulated", "returned", "contribution"]
    seed = {"event": "seed", "run": 2, "node": "n1", "receiver": "n1", "state": "contribution"}
    begun = _trace([FIRST[0], returned, seed], trace.passes, grad_before=held)
    assert begun.states(2)["n0"] == "accumulated", "in the second pass `.grad` still holds 4"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (np.float32(0.1), 0.1),
        (np.float64(0.1), 0.1),
        (np.float32("nan"), "nan"),
        (np.float32("inf"), "inf"),
        (-math.inf, "-inf"),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (True, True),
        (np.float16(0.1), 0.1),
        (3, 3),
    ],
)
def test_numbers_are_the_shortest_json_that_reads_back_the_same(item, expected):
    assert number(item) == expected
    assert type(number(item)) is type(expected)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (0.7615942, "0.762"),
        (12.0, "12"),
        (1234.0, "1234"),
        (1234.5, "1.23e+03"),
        (1.5e-7, "1.5e-07"),
        (123456.0, "1.23e+05"),
        (7, "7"),
        (1234567, "1.23e+06"),
        (np.float32("nan"), "nan"),
        (True, "True"),
        (np.float32(0.1), "0.1"),
    ],
)
def test_short_shows_three_significant_digits(item, text):
    assert short(item) == text


def test_a_small_tensor_is_kept_whole():
    value = Value.of(np.array([[1, 2.5], [np.nan, -np.inf]], np.float32))
    assert value.shape == (2, 2) and value.dtype == "float32"
    assert value.data == [[1.0, 2.5], ["nan", "-inf"]]
    assert value.stats == {"min": 1.0, "max": 2.5, "mean": 1.75, "std": 0.75, "nan": 1, "inf": 1}
    assert value.sample is None
    assert value.text == "[[1, 2.5], [nan, -inf]]"


def test_a_big_tensor_is_kept_as_statistics_and_a_sample():
    value = Value.of(np.arange(12800, dtype=np.float64).reshape(128, 100))
    assert value.data is None
    assert [int(v // 200) for v in value.sample] == list(range(64)), "one out of each 64th"
    assert value.stats["min"] == 0 and value.stats["max"] == 12799 and value.stats["mean"] == 6399.5
    assert value.text == "float64[128, 100], within ±12799, std 3.70e+03"
    json.dumps(value.to_json(), allow_nan=False)


def test_a_sample_does_not_keep_to_one_column():
    """Every 320th number of a [5, 16, 16, 16] tensor may lie in a convolution's padded border and be 0."""
    columns = np.broadcast_to(np.arange(16), (5, 16, 16, 16))
    assert set(Value.of(columns).sample) == set(range(16))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([-0.031, 0.02], "within ±0.031"),
        ([0.0, 2.5], "within ±2.5"),
        ([0.5, 0.5], "all 0.5"),
        ([0.0, 0.0], "all 0"),
        ([1.0, np.nan], "1 NaN"),
        ([np.inf, -np.inf], "2 inf"),
        ([np.inf, np.nan], "1 NaN, 1 inf"),
    ],
)
def test_a_big_tensor_says_how_large_its_numbers_are(numbers, words):
    assert extent(Value.of(np.array(numbers)).stats) == words
    assert Value.of(np.array(numbers + [numbers[0]] * 70)).text.startswith("float64[72], ")


@pytest.mark.parametrize(
    "array",
    [
        np.float32(3),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.full(3, np.nan),
        np.arange(65),
        np.zeros((2, 3, 4)),
        np.array(2, np.int64),
        np.full(100, np.inf, np.float32),
    ],
)
def test_every_value_survives_strict_json(array):
    value = Value.of(array)
    assert Value.from_json(json.loads(json.dumps(value.to_json(), allow_nan=False))) == value


@pytest.mark.parametrize(
    ("array", "zero"),
    [
        (0.0, True),
        (-0.0, True),
        (1.0, False),
        ([0.0, 0.0], True),
        ([0.0, 1.0], False),
        ([], True),
        (np.zeros(100), True),
        ([np.nan, 0.0], False),
        (float("nan"), False),
        ([0, 0], True),
    ],
)
def test_is_zero(array, zero):
    assert Value.of(array).is_zero is zero


def test_a_long_line_of_numbers_is_cut():
    text = Value.of(np.linspace(0, 1, 60)).text
    assert text == "[0, 0.0169, 0.0339, 0.0508, 0.0678, 0.0847, 0.102, 0.119, 0.136, ...]"
    assert len(text) <= 72


def test_an_unknown_node_id_is_a_key_error(sample):
    assert sample.node("n3").id == "n3"
    for bad in ("n99", "e0", "", "nx"):
        with pytest.raises(KeyError):
            sample.node(bad)


def test_nodes_edges_and_frames_of_a_graph_are_made_when_they_are_looked_at():
    made = []
    records = Records("abc", lambda place, letter: made.append(place) or letter.upper())
    assert len(records) == 3 and records[-1] == "C" and records[0] is records[0] and made == [2, 0]
    assert records[1:] == ("B", "C") and records == ("A", "B", "C") == records and made == [2, 0, 1]
    x = torch.tensor(2.0, requires_grad=True)
    seen = trace((x * x).exp())
    pack(seen, numbers=False)
    Folding(seen)
    assert not any(item for part in (seen.nodes, seen.edges, seen.frames) for item in part._made)
    assert (
        seen.frames[0].text == "v1 = x * x = 4"
        and sum(item is not None for item in seen.nodes._made) == 1
    )
