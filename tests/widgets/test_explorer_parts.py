"""Explorers of networks and of very long graphs, in the kernel: parts, what is sent, what a page needs without one."""

import base64
import gzip
import json
import re
import xml.etree.ElementTree as ET

import pytest
import traitlets
from packed import records, unpacked

import autolab
from autolab import nn
from autolab.trace import trace
from autolab.trace.model import Node
from autolab.viz import layout
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


def drawn(explorer, name):
    root = ET.fromstring(explorer.svg)
    return [
        g.get("data-id") for g in root.iter(f"{SVG}g") if name in (g.get("class") or "").split()
    ]


def test_a_network_begins_closed_and_opens_by_path(explorer):
    assert explorer.expanded == [] and len(drawn(explorer, "al-part")) == 10
    explorer.expanded = ["3", "3.0"]
    assert [explorer._cards.folding.parts[p].label for p in explorer.expanded] == ["3", "3.0"]
    assert (
        drawn(explorer, "al-header") == explorer.expanded and len(drawn(explorer, "al-part")) == 10
    )
    assert ET.fromstring(explorer.svg).get("data-open") == " ".join(explorer.expanded)
    assert (
        set(explorer.layouts["LR"]["frames"])
        == set(explorer.layouts["TB"]["frames"])
        == set(explorer.expanded)
    )
    assert Explorer(explorer.trace, expanded=["3.0", "3"], rankdir="LR").svg == explorer.svg


def test_frames_hold_their_boxes(explorer):
    explorer.expanded = list(explorer._cards.folding.parts)
    folded = explorer._picture.folded
    for places in explorer.layouts.values():
        for key, box in folded.boxes.items():
            if box.frame is not None:
                x, y, w, h = places["frames"][box.frame]
                card, (cx, cy) = explorer._cards(box.of), places["nodes"][key]
                assert x < cx - card.width / 2 and cx + card.width / 2 < x + w
                assert y + 26 < cy - card.height / 2 and cy + card.height / 2 < y + h, (
                    "below the frame's label"
                )


def test_an_unknown_part_is_refused_and_nothing_changes(explorer):
    explorer.expanded = ["2"]
    with pytest.raises(traitlets.TraitError, match='no part "layer1"; there are 0, 1, 2'):
        explorer.expanded = ["layer1"]
    assert [explorer._cards.folding.parts[p].label for p in explorer.expanded] == ["2"]


def test_too_many_open_parts_are_refused():
    long = Explorer(trace(chain(2500), backward=False, formulas=False))
    with pytest.raises(traitlets.TraitError, match=r"there are [\d,]+ boxes to draw; up to 2,000"):
        long.expanded = list(long._cards.folding.parts)
    assert long.expanded == []


def test_what_was_drawn_is_drawn_at_once_again(explorer, monkeypatch):
    before = explorer.svg
    explorer.expanded = ["1"]
    monkeypatch.setattr(layout, "render", lambda *_: pytest.fail("it is known where everything is"))
    explorer.expanded = []
    assert explorer.svg == before


def test_the_browser_lays_out_what_is_opened_where_there_is_no_graphviz(found, monkeypatch):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    explorer = Explorer(found, rankdir="LR")
    monkeypatch.delenv("AUTOLAB_LAYOUT")
    svgs = lambda: {d: layout.render(explorer._picture.dot(d)).decode() for d in ("LR", "TB")}
    explorer._on_message(explorer, {"kind": "layouts", "svgs": svgs(), "for": []}, [])
    first = explorer.svg
    assert first
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    explorer.expanded = ["1"]
    assert explorer.svg == first and set(explorer.dot) == {"LR", "TB"}, (
        "the old picture stays until the new one is there"
    )
    monkeypatch.delenv("AUTOLAB_LAYOUT")
    explorer._on_message(explorer, {"kind": "layouts", "svgs": {}, "for": []}, [])
    assert explorer.svg == first, "an answer for what was open before is late"
    explorer._on_message(
        explorer, {"kind": "layouts", "svgs": svgs(), "for": explorer.expanded}, []
    )
    assert drawn(explorer, "al-header") == explorer.expanded and explorer.dot == {}


def test_show_begins_anew(explorer, sample):
    explorer.expanded = ["1"]
    explorer.show(sample)
    assert explorer.expanded == [] and explorer.folding["parts"] == []
    assert len(drawn(explorer, "al-node")) == len(explorer.layouts["LR"]["nodes"]) == 11


def test_a_page_brings_the_layout_engine_where_something_opens(explorer, sample, tmp_path):
    assert explorer.export_state()["live"] is False and explorer.live
    page = explorer.to_html(tmp_path / "a.html").read_text()
    before, _, after = page.partition('<script type="text/plain" id="autolab-viz">')
    assert not re.search(r'(src|href)="(?!data:)', before + after.partition("</script>")[2]), (
        "nothing to fetch"
    )
    small = Explorer(sample).to_html(tmp_path / "b.html").read_text()
    assert (
        'id="autolab-viz"'
        not in small.partition("<body>")[2].partition('<script type="module">')[0]
    )


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


def test_the_layout_engine_is_kept_once_and_only_where_something_opens(explorer, sample):
    from ipywidgets import Widget

    from autolab.widgets.engine import LayoutEngine, engine, script

    assert explorer.engine == Explorer(explorer.trace).engine == engine() != ""
    assert Explorer(sample).engine == "", "a graph without parts needs none"
    kept, before = engine.__globals__["_engines"][0], engine()
    assert isinstance(kept, LayoutEngine)
    assert gzip.decompress(base64.b64decode(kept.source)).decode() == script()
    explorer.show(sample)
    assert explorer.engine == ""
    Widget.close_all()
    assert engine() not in ("", before), "a widget that was closed is no longer in the notebook"
