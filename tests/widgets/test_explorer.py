"""The explorer in the kernel: its traits, its stored state in a notebook, and its creation."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import traitlets
from packed import mathml_of

import autolab
from autolab.trace.model import Node, Trace
from autolab.viz import html
from autolab.widgets import Explorer, explore
from autolab.widgets.mathml import form_of, formulas


@pytest.fixture
def explorer(sample):
    return Explorer(sample)


def test_step_stays_within_the_frames(explorer):
    explorer.step = 99
    assert explorer.step == 26
    explorer.step = -4
    assert explorer.step == 0
    assert Explorer(explorer.trace, step=1000).step == 26


def test_a_trace_without_frames_has_step_zero():
    explorer = Explorer(
        Trace(
            (Node("n0", "leaf", label="x", shape=(), requires_grad=True),), meta={"roots": ["n0"]}
        )
    )
    explorer.step = 3
    assert explorer.step == 0
    assert repr(explorer) == "Explorer(x: 1 node, 0 steps)"


def test_selected_takes_ids_and_names_and_nothing_else(explorer):
    explorer.selected = "n3"
    assert explorer.selected == "n3"
    explorer.selected = "w"
    assert explorer.selected == "n8"
    explorer.selected = ""
    with pytest.raises(traitlets.TraitError, match='there is no node "loss"; there are x, v1, 3'):
        explorer.selected = "loss"
    assert explorer.selected == ""


def test_interval_has_a_floor(explorer):
    explorer.interval = 1
    assert explorer.interval == 50


def test_repr_is_the_same_on_every_run(explorer, sample):
    assert repr(explorer) == repr(Explorer(sample)) == "Explorer(z: 11 nodes, 27 steps)"


def test_a_notebook_stores_a_picture_beside_the_widget(explorer):
    bundle, _ = explorer._repr_mimebundle_()
    assert set(bundle) == {
        "text/plain",
        "image/svg+xml",
        "application/vnd.jupyter.widget-view+json",
    }
    assert bundle["text/plain"] == (
        "Explorer(z: 11 nodes, 27 steps) is a graph to step through, forward and backward: run this cell in Jupyter (Shift+Enter) to see it."
    )
    assert bundle["image/svg+xml"].count("<svg") == 1 and ">x<" in bundle["image/svg+xml"]
    again, _ = Explorer(explorer.trace)._repr_mimebundle_()
    assert again["image/svg+xml"] == bundle["image/svg+xml"]


def test_a_matrix_is_transposed_as_a_whole_and_a_bar_covers_the_name():
    fc = autolab.nn.Linear(2, 1)
    explorer = explore((fc(autolab.tensor([[1.0, 2.0]])) ** 2).sum())
    shown = [mathml_of(frame.tex) for frame in explorer.trace.frames] + [
        mathml_of(e.tex) for e in explorer.trace.edges
    ]
    powers = [part for mathml in shown for part in ET.fromstring(f"<p>{mathml}</p>").iter("msup")]
    assert {len(power) for power in powers} == {2}, "a base and its exponent"
    assert any(
        power.find(".//mtable") is not None and "".join(power[1].itertext()) == "T"
        for power in powers
    )
    barred = [part for mathml in shown for part in ET.fromstring(f"<p>{mathml}</p>").iter("mover")]
    named = [part for part in barred if "weight" in "".join(part[0].itertext())]
    assert named and {part.get("class") for part in named} == {"al-overline"}
    assert {part.get("class") for part in barred} <= {None, "al-overline"}


def test_every_formula_comes_as_mathml(explorer, sample):
    wanted = (
        {t for n in sample.nodes for t in (n.tex, n.tex_numbers)}
        | {t for e in sample.edges for t in (e.tex, e.tex_numbers)}
        | {f.tex for f in sample.frames}
    )
    assert set(explorer.formulas) == {form_of(tex) for tex in wanted - {""}}
    for mathml in explorer.formulas.values():
        assert {piece.tag for piece in ET.fromstring(f"<p>{mathml}</p>")} == {"math"}


def test_a_formula_that_cannot_be_converted_is_left_out(monkeypatch):
    import latex2mathml.converter

    def refuse(*_, **__):
        raise IndexError("no such thing")

    monkeypatch.setattr(latex2mathml.converter, "convert", refuse)
    assert formulas(Trace((Node("n0", "op", tex=r"\never{seen"),))) == {}


def test_where_graphviz_is_missing_a_notebook_stores_the_graph_as_text(sample, monkeypatch):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    bundle, _ = Explorer(sample)._repr_mimebundle_()
    assert "image/svg+xml" not in bundle and "Saved for backward" in bundle["text/plain"]


def test_a_graph_too_big_to_draw_is_refused_at_once():
    with pytest.raises(
        ValueError, match="even folded, this graph has 2,001 boxes; the explorer draws up to 2,000"
    ):
        Explorer(Trace(tuple(Node(f"n{i}", "data") for i in range(2001))))


def test_explore_takes_traces_and_refuses_the_rest(sample):
    assert explore(sample, step=4, selected="x", interval=500).step == 4
    with pytest.raises(TypeError, match="gradient: only for tensors"):
        explore(sample, gradient=1)
    with pytest.raises(TypeError, match="source must be a tensor"):
        explore("loss")


def test_a_page_holds_each_script_once_and_each_state(sample, tmp_path):
    one, two = Explorer(sample, step=5), Explorer(sample, step=7)
    page = html.page([one, two], title="A & B </title>")
    assert page.count("class Model") == 1 and page.count('class="autolab"') == 2
    assert '"step":5' in page and '"step":7' in page
    assert "<title>A &amp; B &lt;/title&gt;</title>" in page
    assert html.page(one) == html.page([one])
    for wrong, words in (
        (autolab.ones(1), "widgets must be a list of widgets, got Tensor"),
        ([one, 3], r"widgets\[1\] must be a widget, got int"),
    ):
        with pytest.raises(TypeError, match=words) as caught:
            html.page(wrong)
        assert "autolab.explore" in caught.value.__notes__[0]
    assert one.to_html(tmp_path / "a.html").read_text() == html.page(
        [one], title="autolab explorer"
    )
    assert not re.search(r'(src|href)="(?!data:)', page), "nothing to fetch"
    states = [
        json.loads(s.replace("<\\/", "</"))
        for s in re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    ]
    assert [s["step"] for s in states] == [5, 7]
    assert not any(key.startswith("_") for key in states[0])


def test_text_in_a_trace_cannot_end_its_script(sample):
    from dataclasses import replace

    node = replace(sample.nodes[0], label="</script><!-- x", name="</script><!-- x")
    page = html.page([Explorer(Trace((node,)))])
    assert "</script><!--" not in page and page.count("<script") == page.count("</script>")


def test_an_installed_jupyterlab_saves_explorers_with_the_notebook():
    import tomllib

    root = Path(__file__).parents[2]
    shared = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]["shared-data"]
    ((source, target),) = shared.items()
    assert target.startswith("share/jupyter/lab/settings/overrides.d/") and target.endswith(".json")
    settings = json.loads((root / source).read_text())
    assert settings["@jupyter-widgets/jupyterlab-manager:plugin"] == {"saveState": True}


def test_explore_a_result_of_ones_own():
    x = autolab.tensor(2.0, requires_grad=True)
    w = autolab.tensor([[1.0, -2.0], [0.5, 4.0]], requires_grad=True)
    z = ((x * x).tanh() * w).sum()
    explorer = autolab.explore(z)
    assert repr(explorer) == f"Explorer(z: 6 nodes, {len(explorer.trace.frames)} steps)"
    assert x.grad is None, "looking changes nothing"
    explorer.selected = "w"
    assert explorer.trace.node(explorer.selected).shape == (2, 2)
    z.backward()  # and frees no saved tensors
    assert autolab.explore(x * 3, params={"weight": x}).trace.nodes[0].label == "weight"
    with autolab.record() as recording:
        (x * x).backward()
    assert [f.event for f in autolab.explore(recording).trace.frames][-1] in ("free", "accumulate")


def test_explore_a_graph_of_real_pytorch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x + torch.sin(x)
    explorer = explore(y, interval=700)
    assert explorer.trace.meta["library"] == "torch" and explorer.interval == 700
    assert {n.grad_fn for n in explorer.trace.nodes} == {
        "",
        "MulBackward0",
        "SinBackward0",
        "AddBackward0",
    }
    assert "MulBackward0" in json.dumps(explorer.data)


def test_names_of_the_package_load_on_first_use():
    import autolab.viz
    import autolab.widgets

    assert (
        autolab.viz.html is html
        and autolab.widgets.Explorer is Explorer
        and autolab.explore is explore
    )
    assert "Explorer" in dir(autolab.widgets)
    with pytest.raises(AttributeError, match="no attribute 'Stepper'"):
        _ = autolab.widgets.Stepper


def test_a_page_of_ipywidgets_embed_gets_scripts_and_defaults():
    from ipywidgets.embed import embed_data

    explorer = explore(
        autolab.nn.Sequential(autolab.nn.Linear(2, 2), autolab.nn.ReLU())(autolab.ones(1, 2)).sum()
    )
    states = embed_data([explorer], drop_defaults=True)["manager_state"]["state"]
    assert (
        states[explorer.model_id]["state"].keys()
        == explorer.get_state().keys()
        >= {"_esm", "_script", "step", "live"}
    )
