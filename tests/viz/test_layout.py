"""Laying graphs out: which program draws, what comes out of each, and what is said when there is none."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autolab.viz import layout

COSTUME = """
import sys
import pygraphviz
from pygraphviz import graphviz
graphviz.gvContextWithBuiltins()
try:
    picture = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode()).draw(format=sys.argv[1].removeprefix("-T"), prog="dot")
except (ValueError, TypeError, pygraphviz.DotError):
    sys.exit(1)
sys.stdout.buffer.write(picture)
"""
SVG = "{http://www.w3.org/2000/svg}"
GRAPH = """digraph {
    node [shape=box style=filled fontname="Helvetica"]
    x [label="x\\n2.0" tooltip="a tooltip" id="my-id"]
    mul [class="op wide" label=<<table><tr><td port="in">mul</td><td title="hint">3 &lt; 4</td></tr></table>>]
    grad [fillcolor="white:orange"]
    other [fillcolor="white:blue"]
    x -> mul [class="e0"]
    x -> mul [class="e1" label="é"]
    mul -> grad [style=dashed]
    grad -> other
}"""


@pytest.fixture(params=["dot", "pygraphviz"])
def engine(request, monkeypatch, tmp_path):
    """Each native route. Where there is no `dot`, pygraphviz in a `dot` costume takes the same way through the code."""
    monkeypatch.delenv("AUTOLAB_LAYOUT", raising=False)
    assert layout.which() != "browser", (
        "neither dot nor pygraphviz works here: sudo apt install graphviz"
    )
    if request.param == "pygraphviz" and layout._pygraphviz_problem():
        pytest.skip(f"pygraphviz does not load on this machine: {layout._pygraphviz_problem()}")
    if request.param == "dot" and layout.which() != "dot":
        program(tmp_path / "dot", f"#!{sys.executable}\n{COSTUME}")
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AUTOLAB_LAYOUT", request.param)
    return request.param


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def elements(picture: str, css_class: str) -> list[ET.Element]:
    return [
        e
        for e in ET.fromstring(picture).iter(f"{SVG}g")
        if css_class in (e.get("class") or "").split()
    ]


def texts(element: ET.Element) -> list[str]:
    return [t.text for t in element.iter(f"{SVG}text")]


def test_nodes_edges_texts_and_classes_come_through(engine):
    picture = layout.svg(GRAPH)
    assert picture.startswith("<svg") and picture.endswith("</svg>")
    nodes = {e.find(f"{SVG}title").text: texts(e) for e in elements(picture, "node")}
    assert nodes == {
        "x": ["x", "2.0"],
        "mul": ["mul", "3 < 4"],
        "grad": ["grad"],
        "other": ["other"],
    }
    assert [e.find(f"{SVG}title").text for e in elements(picture, "edge")].count("x->mul") == 2
    assert (
        len(elements(picture, "e0"))
        == len(elements(picture, "e1"))
        == len(elements(picture, "wide"))
        == 1
    )
    assert texts(elements(picture, "e1")[0]) == ["é"]


def test_what_clashes_or_pops_up_is_gone(engine):
    picture = layout.svg(GRAPH)
    assert "<!--" not in picture and "<?xml" not in picture and "<!DOCTYPE" not in picture
    assert "a tooltip" not in picture and not re.search(r"</?a\b", picture)
    assert "my-id" not in picture and '"transparent"' not in picture and "%3" not in picture


def test_gradients_find_their_definitions_and_differ_between_pictures(engine):
    first, second = layout.svg(GRAPH), layout.svg(GRAPH.replace("orange", "red"))
    for picture in (first, second):
        ids = re.findall(r'\sid="([^"]*)"', picture)
        assert len(ids) == len(set(ids)) == 2
        assert set(re.findall(r"url\(#([^)]*)\)", picture)) == set(ids)
    assert not set(re.findall(r'\sid="([^"]*)"', first)) & set(
        re.findall(r'\sid="([^"]*)"', second)
    )


def test_other_formats(engine):
    assert layout.render(GRAPH, "png").startswith(b"\x89PNG")
    assert layout.render(GRAPH, "pdf").startswith(b"%PDF")


def test_a_broken_source_is_named_with_its_line(engine):
    with pytest.raises(
        ValueError, match=rf"^Graphviz \({engine}\) could not draw this: .*syntax error in line 3"
    ):
        layout.svg("digraph {\n a -> \n}")


def test_nothing_reaches_stderr_of_the_kernel(engine):
    code = (
        "from autolab.viz import layout; layout.svg('digraph { node [fontname=Nonesuch]; a -> b }')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_crash_of_graphviz_is_an_error_not_the_end_of_the_kernel(tmp_path, monkeypatch):
    program(tmp_path / "dot", "#!/bin/sh\nkill -SEGV $$\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("AUTOLAB_LAYOUT", "dot")
    with pytest.raises(RuntimeError, match=r"crashed on this graph \(signal 11\)"):
        layout.svg(GRAPH)


def test_a_warning_with_exit_status_1_is_no_failure(tmp_path, monkeypatch):
    program(
        tmp_path / "dot",
        "#!/bin/sh\necho 'Warning: size too small' >&2\necho '<svg></svg>'\nexit 1\n",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AUTOLAB_LAYOUT", "dot")
    assert layout.svg(GRAPH) == "<svg></svg>"


class TestWhoDraws:
    @pytest.fixture(autouse=True)
    def nothing_forced(self, monkeypatch, tmp_path):
        monkeypatch.delenv("AUTOLAB_LAYOUT", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))

    def test_system_dot_comes_first(self, monkeypatch, tmp_path):
        program(tmp_path / "dot", "#!/bin/sh\n")
        monkeypatch.setattr(layout, "_pygraphviz_problem", lambda: "")
        assert layout.which() == "dot"

    def test_then_pygraphviz(self, monkeypatch):
        monkeypatch.setattr(layout, "_pygraphviz_problem", lambda: "")
        assert layout.which() == "pygraphviz"

    def test_then_the_browser_and_the_message_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr(
            layout, "_pygraphviz_problem", lambda: "libXrender.so.1: cannot open shared object file"
        )
        assert layout.which() == "browser"
        with pytest.raises(
            layout.LayoutUnavailable,
            match=r"libXrender\.so.*sudo apt install graphviz.*brew install",
        ):
            layout.svg(GRAPH)

    def test_a_wrong_name_is_refused(self, monkeypatch):
        monkeypatch.setenv("AUTOLAB_LAYOUT", "gnuplot")
        with pytest.raises(
            ValueError, match="AUTOLAB_LAYOUT='gnuplot' is not one of dot, pygraphviz, browser"
        ):
            layout.which()

    @pytest.mark.parametrize(
        ("forced", "reason"),
        [("browser", "AUTOLAB_LAYOUT=browser is set"), ("dot", "no `dot` program on the PATH")],
    )
    def test_a_forced_route_that_is_not_there_says_so(self, monkeypatch, forced, reason):
        monkeypatch.setattr(layout, "_pygraphviz_problem", lambda: "")
        monkeypatch.setenv("AUTOLAB_LAYOUT", forced)
        with pytest.raises(layout.LayoutUnavailable, match=reason):
            layout.svg(GRAPH)


class TestTheProcessThatIsKept:
    @pytest.fixture(autouse=True)
    def process(self, monkeypatch):
        if layout._pygraphviz_problem():
            pytest.skip("pygraphviz does not load on this machine")
        monkeypatch.setenv("AUTOLAB_LAYOUT", "pygraphviz")
        layout.svg(GRAPH)
        return layout._pygraphviz.process

    def test_one_draws_all_pictures_in_turn_and_from_several_threads(self, process):
        graphs = [f"digraph {{ a{i} -> b }}" for i in range(40)]
        with ThreadPoolExecutor(8) as pool:
            for i, picture in enumerate(pool.map(layout.svg, graphs)):
                assert f"<title>a{i}</title>" in picture
        assert layout._pygraphviz.process is process and process.poll() is None

    def test_after_a_crash_and_after_an_interrupt_the_next_picture_is_drawn(
        self, process, monkeypatch
    ):
        process.kill()
        with pytest.raises(RuntimeError, match=r"crashed on this graph \(signal 9\)"):
            layout.svg(GRAPH)
        assert "<title>x</title>" in layout.svg(GRAPH)
        second = layout._pygraphviz.process

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(
                layout.struct, "unpack", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
            )
            layout.svg(GRAPH)
        assert second.poll() is not None, "what it was about to say is not the next answer"
        assert "<title>a</title>" in layout.svg("digraph { a }")

    def test_a_process_that_was_forked_has_its_own(self, process):
        code = (
            "import os; from autolab.viz import layout; layout.svg('digraph { a }'); child = os.fork()\n"
            "print('drawn', layout.svg('digraph { b }').count('<title>b</title>'), flush=True)\n"
            "child and os.wait()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
        assert (done.stdout, done.stderr) == ("drawn 1\ndrawn 1\n", "")
