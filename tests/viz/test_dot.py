"""Pictures of graphs: what is drawn, what may be asked for, and that they draw themselves with and without `dot`."""

import html
import re

import graphviz
import pytest

import autolab
from autolab.trace import trace
from autolab import viz
from autolab.viz import dot, layout, make_dot, palette, to_dot

try:
    import torch
except ImportError:  # the same pictures are then drawn of our own tensors only
    torch = None

LIBRARIES = [autolab] if torch is None else [autolab, torch]


def statements(picture):
    """{node name or (tail, head): [attributes]} of the DOT source, as graphviz wrote it."""
    found = {}
    pattern = r'^\t+("[^"]*"|\w+)(?: -> ("[^"]*"|\w+))? \[(.*)\]$'
    for tail, head, attrs in re.findall(pattern, picture.source, re.M):
        if tail in ("node", "edge", "graph"):
            continue
        key = (tail.strip('"'), head.strip('"')) if head else tail.strip('"')
        attributes = dict(re.findall(r'([\w]+)="((?:[^"\\]|\\.)*)"', attrs))
        found.setdefault(key, []).append(attributes)
    return found


def labels(picture):
    return {
        k: v[0]["label"].split("\\n") for k, v in statements(picture).items() if isinstance(k, str)
    }


def edges(picture):
    return sorted((k, len(v)) for k, v in statements(picture).items() if isinstance(k, tuple))


@pytest.fixture(params=LIBRARIES, ids=lambda lib: lib.__name__)
def lib(request):
    return request.param


def test_both_edges_of_a_square_are_drawn(lib):
    x = lib.tensor(3.0, requires_grad=True)
    y = x * x
    picture = make_dot(y)
    assert isinstance(picture, graphviz.Digraph)
    assert labels(picture) == {"n0": ["x", "3"], "n1": ["y = mul", "9", "MulBackward0"]}
    assert edges(picture) == [(("n0", "n1"), 2)]


def test_several_results_in_one_picture(lib):
    x = lib.tensor(2.0, requires_grad=True)
    a, b = x * 3, x.exp()
    for var in ((a, b), [a, b]):
        drawn = statements(make_dot(var))
        assert sorted(k for k, v in drawn.items() if v[0].get("peripheries") == "2") == ["n2", "n3"]


def test_saved_tensors_are_kept_apart(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).exp()
    plain, full = make_dot(y), make_dot(y, show_saved=True)
    assert not [k for k in labels(plain) if k.startswith("s")]
    assert labels(full)["s0"] == ["saved self", "float32 [2]", "version 0, 8 bytes"]
    assert labels(full)["s1"] == ["saved other", "float32 [2]", "version 0, 8 bytes"]
    assert labels(full)["s2"] == ["saved result", "float32 [2]", "version 0, 8 bytes"]
    assert [e for e in edges(full) if e[0][1].startswith("s")] == [
        (("n1", "s0"), 1),
        (("n1", "s1"), 1),
        (("n2", "s2"), 1),
    ]


def test_freed_saved_tensors_are_pale_and_dashed_and_say_so(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    saved = statements(make_dot(y, show_saved=True))["s0"][0]
    assert saved["label"].endswith("freed") and saved["style"] == "filled,dashed"


def test_attributes_are_listed_on_demand_and_cut(lib):
    x = lib.ones(2, 3, requires_grad=True)
    y = x.sum(dim=1, keepdim=True)
    assert labels(make_dot(y))["n1"] == ["y = sum", "[2, 1]", "SumBackward1"]
    full = labels(make_dot(y, show_attrs=True))["n1"]
    assert full[3:] == ["dim: (1,)", "keepdim: True", "self_sym_sizes: (2, 3)"]
    assert labels(make_dot(y, show_attrs=True, max_attr_chars=10))["n1"][3:] == [
        "dim: (1,)",
        "keepdim: …",
        "self_sym_…",
    ]


def test_the_visual_language():
    x = autolab.tensor(2.0, requires_grad=True)
    c = autolab.tensor(3.0)
    with autolab.record() as recording:
        with autolab.no_grad():
            n = x * 2
        y = x * c * n
        bad = y / 0.0
    drawn = {
        v[0]["label"].split("\\n")[0]: v[0]
        for k, v in statements(to_dot(recording.trace())).items()
        if isinstance(k, str)
    }
    assert (drawn["x"]["color"], drawn["x"]["penwidth"]) == (palette.LEAF, "2.5")
    assert (drawn["c"]["color"], drawn["c"]["penwidth"]) == ("#767676", "1")
    assert drawn["y = mul"]["color"] == palette.FORWARD
    assert drawn["n = mul"]["color"] == "#767676" and "cut by no_grad" in drawn["n = mul"]["label"]
    assert (
        drawn["bad = div"]["color"] == palette.BAD
        and "has NaN or infinity" in drawn["bad = div"]["label"]
    )
    lines = statements(to_dot(recording.trace()))
    assert lines["n0", "n2"][0]["arrowhead"] == "tee"
    assert n.requires_grad is False and bad.requires_grad


def test_ids_and_classes_let_a_widget_find_its_nodes():
    x = autolab.tensor(2.0, requires_grad=True)
    picture = to_dot(trace(x * x, {"x": x}))
    drawn = statements(picture)
    assert drawn["n0"][0]["class"] == "al-node n0 al-leaf"
    assert [a["class"] for a in drawn["n0", "n1"]] == ["al-edge e0", "al-edge e1"]
    svg = html.unescape(picture._repr_svg_())
    assert 'class="node al-node n0 al-leaf"' in svg and "<title>n0</title>" in svg


def test_a_leaf_used_often_is_drawn_again_instead_of_a_tangle_of_lines():
    x = autolab.tensor(1.0, requires_grad=True)
    y = x * 1
    for _ in range(60):
        y = y * x
    picture = make_dot(y, {"x": x})
    drawn = statements(picture)
    aliases = [k for k in drawn if isinstance(k, str) and k.startswith("n0@")]
    assert len(aliases) == 60
    assert all(drawn[k][0]["class"] == "al-node n0 al-leaf al-alias" for k in aliases)
    assert sum(n for (tail, _), n in edges(picture) if tail == "n0") == 1


def test_modules_are_boxes_around_their_nodes():
    model = autolab.nn.Sequential(autolab.nn.Linear(1, 1), autolab.nn.ReLU())
    with autolab.record() as recording:
        model(autolab.ones(1, 1))
    source = to_dot(recording.trace()).source
    assert (
        source.count("subgraph") == 2
        and 'subgraph "cluster_0" {' in source
        and 'label="1"' in source
    )


def test_results_of_one_operation_are_told_apart_on_their_edges(lib):
    x = lib.ones(2, 2, requires_grad=True)
    first, second = x.unbind(0)
    drawn = statements(make_dot(first * second))
    assert [a["label"].strip() for a in drawn["n1", "n2"]] == ["first", "second"]


def test_names_cannot_break_the_source():
    x = autolab.tensor(2.0, requires_grad=True)
    odd = 'a "quoted" \\ name\n<b>'
    picture = make_dot(x * 1, {odd: x})
    assert 'label="a \\"quoted\\" \\\\ name\\n<b>' in picture.source
    assert "quoted" in picture._repr_svg_()


def test_a_hundred_thousand_operations_become_dot_without_recursion(lib):
    x = lib.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = -y
    picture = make_dot(y)
    assert picture.boxes == 100_001
    assert picture.source.count(" -> ") == 100_000
    bundle = picture._repr_mimebundle_()
    assert (
        set(bundle) == {"text/plain"} and "Too big to draw (100001 boxes)" in bundle["text/plain"]
    )


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"params": [1]}, TypeError, "params must be a dict"),
        ({"params": {"x": 1}}, TypeError, r"params\['x'\] must be a tensor"),
        ({"max_attr_chars": 0}, ValueError, "max_attr_chars must be a whole number of at least 1"),
        ({"max_attr_chars": "9"}, ValueError, "max_attr_chars"),
    ],
)
def test_wrong_arguments_are_named(kwargs, error, message):
    with pytest.raises(error, match=message):
        make_dot(autolab.tensor(1.0, requires_grad=True) * 2, **kwargs)


def test_only_tensors_are_drawn():
    model = autolab.nn.Linear(2, 1)
    for draw, argument in (
        (make_dot, "var"),
        (to_dot, "source"),
        (viz.draw, "source"),
        (autolab.explore, "source"),
    ):
        expected = f"(?m)^{argument} must be a tensor, a list, tuple or dict of tensors, a recording or a trace, got "
        for wrong, name in (
            (3.0, "float$"),
            (model, "Linear$"),
            ([autolab.ones(1), "y"], "str in a list$"),
            ([], "an empty list$"),
        ):
            with pytest.raises(TypeError, match=expected + name) as caught:
                draw(wrong)
            assert caught.value.__notes__


def test_what_one_picture_takes_all_take(lib):
    x = lib.ones(2, requires_grad=True)
    with autolab.record() as recording:
        loss = (x * x).sum()
    for draw in (make_dot, to_dot, viz.draw):
        for source in (loss, [loss], recording, recording.trace()):
            assert "SumBackward0" in draw(source).source


def test_a_picture_shows_itself_as_svg_with_text_beside_it():
    x = autolab.tensor(2.0, requires_grad=True)
    y = x * x
    bundle = make_dot(y)._repr_mimebundle_()
    assert (
        bundle["text/plain"]
        == "<Picture: graph of y, 2 nodes>: run this cell in Jupyter (Shift+Enter) to see it."
    )
    assert bundle["image/svg+xml"].startswith("<svg") and "MulBackward0" in bundle["image/svg+xml"]


def test_where_nothing_can_draw_the_text_says_so(monkeypatch):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    monkeypatch.setattr(dot.shutil, "which", lambda _: None)
    x = autolab.tensor(2.0, requires_grad=True)
    picture = make_dot(x * x)
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/plain"} and "Install Graphviz" in bundle["text/plain"]
    assert picture._repr_svg_() is None
    with pytest.raises(layout.LayoutUnavailable, match="Install Graphviz"):
        picture.pipe("svg")


def test_render_and_pipe_work_without_the_dot_program(monkeypatch, tmp_path):
    pytest.importorskip("pygraphviz")
    monkeypatch.setenv("AUTOLAB_LAYOUT", "pygraphviz")
    monkeypatch.setattr(dot.shutil, "which", lambda _: None)
    x = autolab.tensor(2.0, requires_grad=True)
    picture = make_dot(x * x)
    assert picture.pipe("png").startswith(b"\x89PNG")
    assert "MulBackward0" in picture.pipe("svg", encoding="utf-8")
    path = picture.render("graph", tmp_path, format="pdf")
    assert path == str(tmp_path / "graph.pdf")
    assert (tmp_path / "graph.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "graph").read_text() == picture.source
    other = picture.render(outfile=tmp_path / "deep" / "g.svg", cleanup=True)
    assert "MulBackward0" in open(other).read() and not (tmp_path / "deep" / "g.gv").exists()
    with pytest.raises(layout.LayoutUnavailable, match="view needs Graphviz's own"):
        picture.render("graph", tmp_path, view=True)


def test_what_is_simulated_says_so():
    with autolab.cuda.simulate():
        x = autolab.tensor([1.0, 2.0], requires_grad=True)
        y = (x.to("cuda") * 2).sum()
        for picture in (make_dot(y), autolab.viz.draw(y)):
            drawn = {
                attrs["label"].split("\\n")[0]: attrs
                for (attrs,) in statements(picture).values()
                if "label" in attrs
            }
            assert (
                "cuda:0 simulated" in drawn["y = sum"]["label"]
                and drawn["y = sum"]["style"] == "striped"
            )
            assert "simulated" not in drawn["x"]["label"] and "style" not in drawn["x"]


def test_a_recording_is_drawn_with_all_that_ran():
    x = autolab.tensor([2.0, 3.0], requires_grad=True)
    with autolab.record() as recording:
        total = (x * x).sum()
    for what in (recording, recording.trace()):
        assert "total = sum" in make_dot(what).source
    assert total.requires_grad
    with pytest.raises(TypeError, match="params: only for tensors"):
        make_dot(recording, params={"x": x})
