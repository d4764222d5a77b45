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


def stepped():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(6))
    )
    optimizer, y = torch.optim.SGD(model.parameters(), lr=0.1), torch.tensor([0, 1])
    for _ in range(2):
        torch.nn.functional.cross_entropy(model(torch.ones(2, 4)), y).backward()
        optimizer.step()


@pytest.mark.parametrize("program", [branches, network, training, recurrent, stepped])
@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_boxes_stand_apart_and_in_their_frames(program, rankdir):
    with torch.record() as recording:
        program()
    explorer = explore(recording, rankdir=rankdir)
    explorer.expanded = [part["id"] for part in explorer.folding["parts"]]
    picture = explorer._picture
    found = layered(picture, rankdir)
    assert set(found["nodes"]) == set(picture.folded.boxes) and set(found["edges"]) == {
        e.id for e in picture.folded.links
    }
    assert (
        set(found["frames"]) == set(picture.folded.frames) and set(found["pills"]) == picture.pills
    )
    boxes = {}
    for key, (x, y) in found["nodes"].items():
        card = picture.cards(picture.folded.boxes[key].of)
        boxes[key] = (
            x - card.width / 2,
            y - card.height / 2,
            x + card.width / 2,
            y + card.height / 2,
        )
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
    assert re.findall(r'class="al-node[^>]* data-id="(\w+)"', still) == re.findall(
        r'class="al-node[^>]* data-id="(\w+)"', drawn
    )


def test_without_graphviz_too_the_backbone_is_straight_and_updates_stand_in_a_column_after_the_loss():
    with torch.record() as recording:
        stepped()
    explorer = explore(recording)
    explorer.expanded = list(explorer._folding.parts)
    picture = explorer._picture
    found, trace = layered(picture, "TB"), explorer.trace
    nodes, updates = found["nodes"], [n.id for n in trace.nodes if n.kind == "update"]
    for step in (updates[:12], updates[12:]):
        assert len(step) == 12 and all(
            above[1] < below[1]
            for above, below in zip(*[map(nodes.get, u) for u in (step, step[1:])])
        )
        assert len({nodes[update][0] for update in step}) == 1
    made = picture.updates.rows()
    assert len(made) == 12 and all(
        nodes[u][0] > nodes[leaf][0] and nodes[u][1] == nodes[leaf][1] for u, leaf in made.items()
    )
    losses = [n.id for n in trace.nodes if n.op == "nll_loss"]
    assert nodes[losses[0]][1] < nodes[updates[0]][1] < nodes[losses[1]][1] < nodes[updates[12]][1]
    for frame in (picture.folded.boxes[loss].frame for loss in losses[:1]):
        way = {
            k
            for pair in picture.backbone
            for k in pair
            if frame in picture._in(picture.folded.boxes[k].of)
        }
        assert len(way) > 10 and len({round(nodes[key][0]) for key in way}) == 1
    right = max(
        nodes[key][0] + picture.cards(box.of).width / 2 for key, box in picture.folded.boxes.items()
    )
    for link in picture.updates.links:
        if link.start not in made:
            assert (
                found["heads"][link.id][2] == 180
                and max(map(float, re.findall(r"[HQ]([\d.]+)", found["edges"][link.id]))) > right
            )
