"""Packed traces for scripts: complete, without repetition, in few bytes. `browser/test_states.py` checks the
unpacking."""

from __future__ import annotations

import json

import packed
import pytest
import trace_stories
from packed import unpacked

import autolab
from autolab.trace import Trace, trace
from autolab.trace.model import Node
from autolab.widgets import mathml, packing
from autolab.widgets.explorer import Explorer


def scalars(operations, formulas=True):
    w, h = autolab.tensor(0.99, requires_grad=True), autolab.tensor(1.0)
    for i in range(operations // 2):
        h = h * w
        h = h + 0.01 * (i % 7)
    return trace(h, formulas=formulas)


@pytest.mark.parametrize("seed", [*range(12), "names", "scalars"])
def test_what_is_packed_can_be_unpacked(seed):
    if seed == "names":  # words with the signs that stand for holes, with digits, without any
        labels = ["a\x7f1", "7", "٣", "1.2.3", "", "v01", "#", "x", "n0"]
        seen = Trace(
            tuple(Node(f"n{i}", "data", label=label, name=label) for i, label in enumerate(labels))
        )
    else:
        seen = scalars(60) if seed == "scalars" else trace_stories.recorded(seed)
    data = json.loads(json.dumps(packing.pack(seen)))
    found, values = unpacked(data)
    assert len(values) == len({json.dumps(value) for value in values}), "each value is sent once"
    for name in ("values", "beats", "titles", "merged"):
        del found[name]
    assert found == json.loads(json.dumps(seen.to_json()))


def test_two_thousand_operations_are_few_bytes():
    explorer = Explorer(scalars(2000))
    sizes = {
        name: len(json.dumps(getattr(explorer, name))) for name in ("data", "folding", "formulas")
    }
    assert sum(sizes.values()) < 1_500_000, sizes
    assert len(explorer.formulas) < 100 and len(explorer.export_state()["formulas"]) == len(
        explorer.formulas
    )


def test_bytes_grow_with_the_graph_with_and_without_its_numbers():
    seen = scalars(150), scalars(450)
    for numbers in (True, False):
        short, long = (len(json.dumps(packing.pack(t, numbers))) for t in seen)
        assert 2 < long / short < 3.3, "what is said once is said once"


def test_a_form_with_its_numbers_filled_in_is_the_formula():
    seen = [trace_stories.recorded(seed) for seed in range(20)] + [scalars(40)]
    formulas = {
        tex
        for t in seen
        for part in (t.nodes, t.edges)
        for r in part
        for tex in (r.tex, r.tex_numbers)
        if tex
    }
    formulas |= {frame.tex for t in seen for frame in t.frames if frame.tex}
    formulas |= {
        r"x^2 + v_{12}^{10} \cdot 10^{-7}",
        r"\mathrm{a\char35 1} \overset{\mathrm{float32}}{=} \mathbf{1}_{2 \times 3}",
    }
    for tex in formulas:
        holes = [m[1] for m in mathml._CHANGING.finditer(tex) if m[1]]
        form = mathml._mathml(mathml.form_of(tex))
        assert (
            packed.PLACE.sub(lambda m: packed.filled(holes[int(m[1])]), form)
            == packed.mathml_of(tex)
            != ""
        ), tex
