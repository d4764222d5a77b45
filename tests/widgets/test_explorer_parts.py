"""Explorers of networks and very long graphs in the kernel: parts, the data sent, the state for a page without a
kernel."""

import json

import pytest
import traitlets
from packed import records, unpacked

import autolab
from autolab import nn
from autolab.trace import trace
from autolab.trace.model import Node
from autolab.widgets import Explorer, explore, packing
from autolab.widgets.explorer import operations

SVG = "{http://www.w3.org/2000/svg}"


def deep():
    autolab.manual_seed(0)
    blocks = (nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(9))
    model = nn.Sequential(*blocks, nn.Linear(3, 1))
    return model(autolab.ones(2, 3)).sum()


def chain(length):
    x = autolab.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * 1.001
    return y


@pytest.fixture(scope="module")
def found():
    return trace(deep(), namespace={})


@pytest.fixture
def explorer(found):
    return Explorer(found, rankdir="LR")


def test_a_network_begins_closed_and_opens_by_path(explorer):
    assert explorer.expanded == []
    explorer.expanded = ["3", "3.0"]
    assert [explorer._folding.parts[p].label for p in explorer.expanded] == ["3", "3.0"]
    assert Explorer(explorer.trace, expanded=["3.0", "3"]).expanded == explorer.expanded


def test_an_unknown_part_is_refused_and_nothing_changes(explorer):
    explorer.expanded = ["2"]
    with pytest.raises(traitlets.TraitError, match='no part "layer1"; there are 0, 1, 2'):
        explorer.expanded = ["layer1"]
    assert [explorer._folding.parts[p].label for p in explorer.expanded] == ["2"]


def test_too_many_open_parts_are_refused():
    long = Explorer(trace(chain(2500), backward=False, formulas=False))
    with pytest.raises(traitlets.TraitError, match=r"there are [\d,]+ boxes to draw; up to 2,000"):
        long.expanded = list(long._folding.parts)
    assert long.expanded == []


def test_show_begins_anew(explorer, sample):
    explorer.expanded = ["1"]
    explorer.show(sample)
    assert explorer.expanded == [] and explorer.folding["parts"] == []


def test_a_big_trace_is_sent_as_columns_and_its_numbers_step_by_step(monkeypatch):
    monkeypatch.setattr("autolab.widgets.explorer.BIG", 500)
    root = chain(600)
    explorer = explore(root)
    data, found = explorer.data, explorer.trace
    assert data["light"] and explorer.formulas == {} and found.nodes[5].tex == ""
    assert len(json.dumps(data)) < 0.7 * len(json.dumps(packing.pack(found)))
    sent_of = {part: records(data[part]) for part in ("nodes", "edges", "saved", "frames")}
    assert (
        sent_of["nodes"][5]
        == Node(**{name: getattr(found.nodes[5], name) for name in packing._KEPT[Node]}).to_json()
    )
    for frame, told in zip(found.frames, sent_of["frames"], strict=True):
        assert [told[name] for name in ("event", "node", "edge", "state")] == [
            frame.event,
            frame.node,
            frame.edge,
            frame.state,
        ]
        assert told["text"] == "" and told["value"] is None
    sent = []
    monkeypatch.setattr(explorer, "send", sent.append)
    explorer._on_message(explorer, {"kind": "need-details", "step": 3, "selected": "n9"}, [])
    (message,) = sent
    part, _ = unpacked(message)
    assert message["kind"] == "details" and part["frames"] == [found.frames[3].to_json()]
    assert {n["id"] for n in part["nodes"]} == {"n9", found.frames[3].node}
    assert all(n == json.loads(json.dumps(found.node(n["id"]).to_json())) for n in part["nodes"])
    assert {e["child"] for e in part["edges"]} == {
        n["id"] for n in part["nodes"] if n["kind"] == "op"
    }
    assert set(explorer.export_state()) == set(explorer.get_state()), (
        "nothing more for a page: it draws the cards itself"
    )


def test_counting_operations_ends_early():
    assert operations(chain(40), 1000) == 41  # AccumulateGrad is one
    assert operations(chain(5000), 100) < 200
    assert operations([autolab.ones(1)], 10) == 0


def test_a_question_names_results_as_their_cards_do():
    x = autolab.tensor(2.0, requires_grad=True)
    a = 3 * x
    b = x * x
    explorer = explore(a * b + b)
    reply = explorer.ask("a * b", "value")
    assert reply.text == "What is `a * b`?"
    asked = explorer.questions[0]
    explorer.ask("b", "grad")
    told = str(explorer.questions)
    assert "`a · b`" in told and "v1" not in told
    assert explorer.trace.node(asked["node"]).label == "v1"
