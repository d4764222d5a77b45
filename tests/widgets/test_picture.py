"""The picture of a trace: what is in it, that it is legible, and that Graphviz's answer is read right."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import autolab
from autolab.trace import trace
from autolab.trace.layers.folding import Folding
from autolab.trace.model import Edge, Frame, Group, Node, Saved, Trace
from autolab.trace.values import Value
from autolab.viz import layout
from autolab.widgets import heat
from autolab.widgets.cards import Card
from autolab.widgets.geometry import geometry
from autolab.widgets.picture import Cards, Picture
from autolab.widgets.svg import TEXT, fit, size_words, text_width

SVG = "{http://www.w3.org/2000/svg}"


def draw(trace, expanded=None, rankdir="LR"):
    picture = Picture(trace, expanded)
    found = geometry(layout.render(picture.dot(rankdir)).decode())
    return found, ET.fromstring(picture.svg(found))


def parts(root, name):
    return {
        g.get("data-key", g.get("data-id")): g
        for g in root.iter(f"{SVG}g")
        if g.get("class") == name
    }


def words(element):
    return [t.text for t in element.iter(f"{SVG}text") if t.text]


def test_every_node_and_edge_is_there_both_of_x_times_x_too(sample):
    _, root = draw(sample)
    assert set(parts(root, "al-node")) == {n.id for n in sample.nodes}
    edges = parts(root, "al-edge")
    assert set(edges) == {e.id for e in sample.edges}
    twice = [e.id for e in sample.edges if (e.parent, e.child) == ("n0", "n1")]
    assert len(twice) == 2
    curves = {edges[e].find(f"{SVG}path").get("d") for e in twice}
    assert len(curves) == 2, "two lines, not one on the other"


def test_final_values_and_gradients_stand_in_the_still_picture(sample):
    _, root = draw(sample)
    nodes = parts(root, "al-node")
    assert words(nodes["n0"]) == ["x", "leaf", "2", "grad", "1.03", "accumulated"]
    assert words(nodes["n7"]) == [
        "result · 4 B · version 0",
        "t",
        "tanh",
        "0.762",
        "grad",
        "3.5",
        "freed",
    ]
    assert words(nodes["n2"]) == ["3"]
    assert words(nodes["n8"]) == ["w", "leaf", "[2, 2]", "grad", "accumulated"]
    thumbs = [g for g in nodes["n8"].iter(f"{SVG}g") if g.get("class") in ("al-thumb", "al-gthumb")]
    assert {g[0].get("fill") for g in thumbs} == {"#ffffff"}, "on paper"
    assert [[p.get("fill") for p in g][1:] for g in thumbs] == [
        ["#f5d7bf", "#80b9d9", "#faebdf", "#d55e00"],
        ["#d55e00"] * 4,
    ]


@pytest.mark.parametrize("make", ["sample", "rehearsed", "failed"])
def test_the_still_picture_has_the_states_of_the_last_step(sample, make):
    if make != "sample":
        x = autolab.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).tanh() + x
        if make == "rehearsed":
            sample = trace(y.sum())
        else:
            y.register_hook(lambda g: 1 / 0)
            with autolab.record() as recording, pytest.raises(ZeroDivisionError):
                y.sum().backward()
            sample = recording.trace()
    _, root = draw(sample)
    ends = sample.states(len(sample.frames) - 1)
    state = lambda node: next(
        (g.get("data-state") for g in node.iter(f"{SVG}g") if g.get("class") == "al-grad"), None
    )
    shown = {i: state(node) for i, node in parts(root, "al-node").items()}
    assert {i: state for i, state in shown.items() if state} == {
        n.id: ends[n.id] for n in sample.nodes if n.requires_grad
    }
    assert "freed" in shown.values() or make == "failed"


def test_before_backward_there_is_no_gradient_and_none_is_made_up(sample):
    forward = Trace(
        tuple(replace(n, grad=None) for n in sample.nodes),
        sample.edges,
        sample.saved,
        tuple(f for f in sample.frames if f.phase == "forward"),
    )
    _, root = draw(forward)
    assert words(parts(root, "al-node")["n0"]) == ["x", "leaf", "2", "grad", "not yet"]
    assert all(
        g.get("visibility") == "hidden" for g in root.iter(f"{SVG}g") if g.get("class") == "al-pill"
    )


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_nothing_overlaps_and_all_is_inside(sample, rankdir):
    found, root = draw(sample, rankdir=rankdir)
    boxes = []
    for key, g in parts(root, "al-node").items():
        (x, y), w, h = found["nodes"][key], float(g.get("data-w")), float(g.get("data-h"))
        boxes.append((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
    boxes += [(x - 25, y - 10, x + 25, y + 10) for x, y in found["pills"].values()]
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0 and top >= 0 and right <= found["width"] and bottom <= found["height"]
        assert all(
            right < b[0] or b[2] < left or bottom < b[1] or b[3] < top for b in boxes[i + 1 :]
        )
    if rankdir == "LR":
        assert all(
            found["nodes"][e.parent][0] < found["nodes"][e.child][0] for e in sample.edges
        ), "data flows to the right"
    else:
        assert all(
            found["nodes"][e.parent][1] < found["nodes"][e.child][1] for e in sample.edges
        ), "data flows down"


def test_arrow_heads_touch_their_nodes(sample):
    found, root = draw(sample)
    for edge in sample.edges:
        x, y, angle = found["heads"][edge.id]
        (cx, cy), g = found["nodes"][edge.child], parts(root, "al-node")[edge.child]
        assert (
            abs(abs(x - cx) - float(g.get("data-w")) / 2) < 2
            or abs(abs(y - cy) - float(g.get("data-h")) / 2) < 2
        )
        assert -90 <= angle <= 90


def test_words_fit_their_cards():
    long = Node(
        "n0",
        "op",
        op="convolution_overrideable",
        label="a_rather_long_variable_name_for_a_result",
        shape=(3, 4, 5),
        requires_grad=True,
        cut="no_grad",
        device="cuda:0",
    )
    saved = [
        Saved(f"s{i}", "n0", "a_saved_tensor_with_a_long_name", (2,), "float32", 12, 123456789)
        for i in range(5)
    ]
    card = Card(long, saved, [])
    root = ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{card.draw()}</svg>')
    for t in root.iter(f"{SVG}text"):
        size = float(t.get("font-size"))
        assert text_width(t.text or "", size, t.get("font-weight") == "bold") <= card.width - 12, (
            t.text
        )
        assert size >= TEXT
    assert "and 3 more" in words(root) and "cut: no_grad" in words(root) and "cuda:0" in words(root)
    ys = sorted(
        float(t.get("y"))
        for t in root.iter(f"{SVG}text")
        if t.text and t.get("class") not in ("al-kind", "al-number")
    )
    assert all(b - a >= 14 for a, b in zip(ys, ys[1:], strict=False)), "no line on another"


def test_words_are_cut_with_an_ellipsis_and_sizes_are_for_people():
    assert fit("loss", TEXT, 100) == "loss"
    assert fit("step of layer4.1.conv2.weight(2)", TEXT, 150) == "step of …conv2.weight(2)", (
        "which of many it is"
    )
    assert fit("0.0123456789", TEXT, 40).startswith("0.0"), "a number is no name"
    cut = fit("a_very_long_name_indeed", TEXT, 60)
    assert (
        cut.endswith("…")
        and text_width(cut, TEXT) <= 60
        and cut[:-1] == "a_very_long_name_indeed"[: len(cut) - 1]
    )
    assert [size_words(n) for n in (None, 0, 4, 999, 1000, 3_140_000, 2_500_000_000)] == [
        "",
        "0 B",
        "4 B",
        "999 B",
        "1.0 kB",
        "3.1 MB",
        "2.5 GB",
    ]


def test_text_from_code_is_escaped():
    _, root = draw(
        Trace((Node("n0", "data", name="<&>", label='<&>"', shape=(), value=Value.of(1.0)),))
    )
    assert words(root)[0] == '<&>"'


def test_a_leaf_used_often_is_drawn_again_for_each_further_use():
    nodes = [Node("n0", "leaf", label="w", shape=(), requires_grad=True)]
    nodes += [
        Node(f"n{i}", "op", op="mul", label=f"v{i}", shape=(), requires_grad=True)
        for i in range(1, 5)
    ]
    edges = tuple(Edge(f"e{i}", "n0", 0, f"n{i}", 0, alias=i > 1) for i in range(1, 5))
    _, root = draw(Trace(tuple(nodes), edges))
    boxes = parts(root, "al-node")
    assert {key for key, g in boxes.items() if g.get("data-id") == "n0"} == {
        "n0",
        "n0_e2",
        "n0_e3",
        "n0_e4",
    }


def test_a_nodes_module_stands_on_its_card():
    nodes = (
        Node("n0", "leaf", label="w", shape=(), requires_grad=True, module="fc"),
        Node("n1", "op", op="mul", label="v1", shape=(), requires_grad=True, module="fc"),
        Node("n2", "op", op="tanh", label="v2", shape=(), requires_grad=True, module="deep.1"),
    )
    _, root = draw(Trace(nodes, groups=(Group("g0", "fc", "Linear", ("n1",)),)))
    assert [words(g)[:4] for g in parts(root, "al-node").values()] == [
        ["w", "leaf", "[]", "grad"],
        ["v1", "mul", "[]", "fc · Linear"],
        ["v2", "tanh", "[]", "deep.1"],
    ]


def test_many_edges_have_no_pills():
    nodes = tuple(
        Node(f"n{i}", "op", op="mul", label=f"v{i}", shape=(), requires_grad=True)
        for i in range(200)
    )
    edges = tuple(Edge(f"e{i}", f"n{i}", 0, f"n{i + 1}", 0) for i in range(199))
    trace = Trace(nodes, edges)
    found, _ = draw(trace, list(Folding(trace).parts))
    assert found["pills"] == {} and len(found["edges"]) == 199 and len(found["frames"]) == 4


def test_what_is_not_graphvizs_is_refused():
    with pytest.raises(ValueError, match="Graphviz"):
        geometry('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')


def test_thumbnails_have_whole_cells_and_only_small_tensors_have_one():
    value = Value.of(np.arange(6.0).reshape(2, 3) - 2)
    assert heat.thumb_size((2, 3), value) == (30, 20)
    fills = re.findall(r'fill="(#\w+)"', heat.cells(value, (30, 20)))
    assert fills == ["#ffffff", *(heat.color(v, 3) for v in (-2, -1, 0, 1, 2, 3))]
    assert (
        heat.color(0, 3) == "#ffffff"
        and heat.color(3, 3) == "#d55e00"
        and heat.color(-3, 3) == "#0072b2"
        and heat.color("nan", 3) == "#bbbbbb"
    )
    assert heat.thumb_size((9, 2), Value.of(np.ones((9, 2)))) == (0, 0)
    assert heat.thumb_size((2, 2, 2), Value.of(np.ones((2, 2, 2)))) == (0, 0)
    assert heat.thumb_size((), Value.of(1.0)) == (0, 0) and heat.thumb_size((3,), None) == (0, 0)
    assert heat.brief(Value.of(np.full((10, 10), 0.5))) == "all 0.5"
    assert heat.brief(Value.of(np.linspace(-0.031, 0.02, 100))) == "within ±0.031"


def test_a_gradient_of_zero_says_zero():
    zero = Value.of(0.0)
    frame = Frame(0, "backward", "seed", 1, "n0", None, "n0", "zero", zero, zero, "", "")
    _, root = draw(
        Trace((Node("n0", "leaf", label="x", shape=(), requires_grad=True),), frames=(frame,))
    )
    assert words(root) == ["x", "leaf", "[]", "grad", "0", "zero"]


def test_a_parameter_that_two_calls_share_says_so():
    layer = autolab.nn.Linear(3, 3)
    loss = autolab.nn.Sequential(layer, autolab.nn.ReLU(), layer)(autolab.ones(2, 3)).sum()
    traced = trace(loss)
    weight, bias = (
        next(n.id for n in traced.nodes if n.label == name) for name in ("weight", "bias")
    )
    assert traced.sharers(weight) == traced.sharers(bias) == ["0", "0 (call 2)"]
    assert [traced.sharers(n.id) for n in traced.nodes if n.kind == "op"] == [[]] * 6
    assert Cards(traced, Folding(traced))(weight).notes == ["shared by 2 calls"]
    alone = trace(layer(autolab.ones(2, 3)).sum())
    assert (
        Cards(alone, Folding(alone))(next(n.id for n in alone.nodes if n.kind == "leaf")).notes
        == []
    )


@pytest.mark.parametrize(("inside", "width"), [(10.4, 10), (10.5, 11), (11.5, 12)])
def test_a_half_goes_up_as_in_the_browser(inside, width):
    """`placesIn` in draw.js rounds so: a page without kernel has to find the same size."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><g class="graph"><g id="n0" class="node"><polygon points="{}"/></g></g></svg>'
    empty, found = (
        geometry(svg.format("4,4 4,4")),
        geometry(svg.format(f"4,4 {4 + inside},{4 + inside}")),
    )
    assert [found[side] - empty[side] for side in ("width", "height")] == [width, width]
