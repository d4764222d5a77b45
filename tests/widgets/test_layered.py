"""Stills without Graphviz: every box has its place, and none stands on another."""

import itertools
import re

import pytest

import autolab as torch
from autolab.widgets import Explorer, explore
from autolab.widgets.layered import layered


def branches():
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    a = x * x
    ((a * y).exp() + a.detach() + x).sum().backward()


def network():
    torch.manual_seed(0)
    inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    model = torch.nn.Sequential(inner, inner, torch.nn.Linear(3, 2))
    model(torch.ones(4, 3)).sum().backward()


def training():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()


def recurrent():
    torch.manual_seed(0)
    torch.nn.LSTM(2, 3)(torch.ones(3, 1, 2))[0].sum().backward()


@pytest.mark.parametrize("program", [branches, network, training, recurrent])
@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_boxes_stand_apart_and_in_their_frames(program, rankdir):
    with torch.record() as recording:
        program()
    explorer = explore(recording, rankdir=rankdir)
    explorer.expanded = [part["id"] for part in explorer.folding["parts"]]
    picture = explorer._picture
    found = layered(picture, rankdir)
    assert set(found["nodes"]) == set(picture.folded.boxes) and set(found["edges"]) == {e.id for e in picture.folded.links}
    assert set(found["frames"]) == set(picture.folded.frames) and set(found["pills"]) == picture.pills
    boxes = {}
    for key, (x, y) in found["nodes"].items():
        card = picture.cards(picture.folded.boxes[key].of)
        boxes[key] = x - card.width / 2, y - card.height / 2, x + card.width / 2, y + card.height / 2
    for one, other in itertools.combinations(boxes.values(), 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for key, (left, top, right, bottom) in boxes.items():
        frame = picture.folded.boxes[key].frame
        x, y, w, h = found["frames"][frame] if frame else (0, 0, found["width"], found["height"])
        assert x <= left and y <= top and right <= x + w and bottom <= y + h


def test_a_still_is_there_before_anything_has_laid_the_graph_out(sample, monkeypatch):
    drawn = Explorer(sample).svg
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    explorer = Explorer(sample)
    still = explorer._repr_mimebundle_()[0]["image/svg+xml"]
    assert explorer.svg == "", "the browser is asked for a better one"
    assert re.findall(r'class="al-node[^>]* data-id="(\w+)"', still) == re.findall(r'class="al-node[^>]* data-id="(\w+)"', drawn)
