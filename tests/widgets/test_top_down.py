"""Networks from top to bottom: how large they are drawn, what is straight, what stands in a card."""

import re
import xml.etree.ElementTree as ET

import pytest
import traitlets

import autolab as torch
from autolab import nn
from autolab.vision import models
from autolab.widgets import Explorer, explore
from autolab.widgets.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
LEAST = 0.85  # of a unit is drawn: text of 13 units is then 11 px


def recorded(model, *inputs):
    with torch.record() as recording:
        model(*inputs).sum().backward()
    return recording


@pytest.fixture(scope="module")
def resnet():
    torch.manual_seed(0)
    return explore(recorded(models.resnet18(), torch.randn(2, 3, 32, 32)))


@pytest.fixture(scope="module")
def recurrent():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.LSTMCell(3, 4), nn.Linear(4, 1)

        def forward(self, steps):
            state = None
            for x in steps:
                state = self.cell(x, state)
            return self.head(state[0])

    torch.manual_seed(0)
    return explore(recorded(Net(), torch.randn(4, 2, 3)))


def open_all(explorer):
    explorer.expanded = list(explorer._folding.parts)
    return explorer.layouts["TB"]


def words(explorer, node):
    root = ET.fromstring(explorer.svg)
    card = next(g for g in root.iter(f"{SVG}g") if g.get("data-id") == node)
    return [t.text for t in card.iter(f"{SVG}text") if t.text]


def test_resnet_18_is_no_larger_than_torchview_draws_it_and_closed_it_fits_a_screen(resnet):
    places = open_all(resnet)
    assert places["width"] * LEAST <= 435 and places["height"] * LEAST <= 5155, (
        "torchview's: 435 x 5,155 px"
    )
    resnet.expanded = []
    places = resnet.layouts["TB"]
    assert places["width"] * LEAST <= 1280 and places["height"] * LEAST <= 720


def test_the_backbone_is_straight_and_what_skips_is_beside_it(resnet):
    places = open_all(resnet)
    way = {key for pair in resnet._picture._backbone() for key in pair}
    assert len(way) > 60 and len({places["nodes"][key][0] for key in way}) == 1
    shortcut = [
        n.id
        for n in resnet.trace.nodes
        if n.module.startswith("layer2.0.downsample") and n.op == "convolution"
    ]
    assert shortcut and places["nodes"][shortcut[0]][0] > places["nodes"][next(iter(way))][0]


def test_nothing_overlaps(resnet, recurrent):
    for explorer in (resnet, recurrent):
        places, boxes = open_all(explorer), []
        for key, box in explorer._picture.folded.boxes.items():
            card, (x, y) = explorer._cards(box.of), places["nodes"][key]
            boxes.append(
                (x - card.width / 2, y - card.height / 2, x + card.width / 2, y + card.height / 2)
            )
        for i, (left, top, right, bottom) in enumerate(boxes):
            assert 0 < left and right < places["width"] and 0 < top and bottom < places["height"]
            for other in boxes[:i]:
                assert (
                    right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                )


def test_calls_of_a_recurrent_module_are_columns_in_their_order(recurrent):
    places = open_all(recurrent)
    cells = [part.id for part in recurrent._folding.parts.values() if part.type == "LSTMCell"]
    frames = [places["frames"][cell] for cell in cells]
    assert len(frames) == 4
    for (x, y, width, height), after in zip(frames, frames[1:]):
        assert x + width < after[0], "one beside the other"
        assert y < after[1] + after[3] and after[1] < y + height, "and not one below the other"
    again = recurrent._picture.again
    assert len(again) == 6, "h and c go on three times"
    for link in again:
        x, y = places["nodes"][next(a.end for a in recurrent._picture.folded.links if a.id == link)]
        assert places["heads"][link][1:] == [y, 0.0] and places["heads"][link][0] < x


def test_times_of_a_network_of_several_layers_are_straight_columns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.ModuleList([nn.LSTMCell(3, 4), nn.LSTMCell(4, 4)])

        def forward(self, steps):
            states = [None, None]
            for x in steps:
                for i, cell in enumerate(self.cells):
                    states[i] = cell(x, states[i])
                    x = states[i][0]
            return x

    explorer = explore(recorded(Net(), torch.randn(5, 2, 3)))
    parts = explorer._folding.parts.values()
    layers = [[part.id for part in parts if part.label.startswith(f"cells.{i}")] for i in (0, 1)]
    for opened in ([], [part.id for part in parts]):
        explorer.expanded = opened
        places = explorer.layouts["TB"]
        x = lambda part: places["frames" if opened else "nodes"][part][0]
        for calls in layers:
            assert len(calls) == 5 and sorted(calls, key=x) == calls, "in their order"
        if not opened:
            assert [x(part) for part in layers[0]] == [x(part) for part in layers[1]]


@pytest.mark.parametrize("calls", [5, 6, 8])
def test_columns_stand_in_their_order_however_many_there_are(calls):
    library = pytest.importorskip("torch")
    cell = library.nn.LSTMCell(3, 4)
    with torch.record() as recording:
        state = None
        for x in library.randn(calls, 2, 3):
            state = cell(x, state)
        state[0].sum().backward()
    explorer = explore(recording)
    frames = open_all(explorer)["frames"]
    cells = [part.id for part in explorer._folding.parts.values()]
    assert len(frames) == calls and sorted(cells, key=lambda part: frames[part][0]) == cells


def test_a_layer_called_twice_is_no_column_where_something_is_between():
    relu = nn.ReLU()
    explorer = explore(
        recorded(nn.Sequential(nn.Linear(2, 2), relu, nn.Linear(2, 2), relu), torch.ones(1, 2))
    )
    assert (
        explorer._picture.again == {}
        and len({round(x) for x, _ in explorer.layouts["TB"]["nodes"].values()}) <= 2
    )


def test_a_card_has_module_parameters_and_what_was_saved():
    explorer = explore(recorded(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.ones(2, 3)))
    linear = next(n.id for n in explorer.trace.nodes if n.op == "addmm")
    weight = ["weight [4, 3]", "accumulated", "v1 · t [3, 4]", "freed", "bias [4]", "accumulated"]
    assert words(explorer, linear) == ["0", "Linear", "1 saved", "v2.grad", "freed", *weight]


def test_a_card_says_when_other_calls_use_its_parameters_too(recurrent):
    open_all(recurrent)
    gates = [
        op
        for op, rows in recurrent._folding.rows.items()
        if any(recurrent.trace.node(row).name == "cell.weight_hh" for row in rows)
    ]
    assert len(gates) == 4 and all(
        "parameters shared by 4 calls" in words(recurrent, op) for op in gates
    )


def test_each_line_says_the_shape_of_what_flows_along_it(resnet):
    resnet.expanded = []
    root = ET.fromstring(resnet.svg)
    said = {
        g.get("data-id"): [t.text for t in g.iter(f"{SVG}text")]
        for g in root.iter(f"{SVG}g")
        if g.get("class") == "al-edge"
    }
    assert all(len(found) == 1 for found in said.values())
    assert [found[0] for found in said.values()][:3] == [
        "[2, 3, 32, 32]",
        "[2, 64, 16, 16]",
        "[2, 64, 16, 16]",
    ]


def test_networks_run_down_and_other_graphs_from_left_to_right(sample):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    down, across = explore(recorded(model, torch.ones(1, 2))), Explorer(sample)
    assert (down.rankdir, set(down.layouts)) == ("TB", {"TB"}) and (
        across.rankdir,
        set(across.layouts),
    ) == (
        "LR",
        {"LR", "TB"},
    )
    first = down.svg
    down.rankdir = "LR"
    assert set(down.layouts) == {"LR", "TB"} and len(down.layouts["LR"]["nodes"]) > 5
    down.rankdir = "TB"
    assert down.svg == first
    across.rankdir = "TB"
    assert set(across.layouts) == {"TB"} and len(across.layouts["TB"]["nodes"]) == len(
        sample.nodes
    ), "parameters only of modules"
    down.show(sample)
    assert down.rankdir == "LR"
    assert explore(recorded(model, torch.ones(1, 2)), rankdir="LR").rankdir == "LR"
    for wrong in ("down", "tb", ""):
        with pytest.raises(
            traitlets.TraitError,
            match=r'rankdir must be "LR" \(left to right\) or "TB" \(top to bottom\), got',
        ):
            down.rankdir = wrong


def test_what_is_wrong_inside_a_card_is_said_on_it():
    layer = nn.Linear(2, 2)
    with torch.record() as recording:
        try:
            layer(torch.ones(1, 3))
        except RuntimeError:
            pass
    explorer = explore(recording)
    failed = next(n for n in explorer.trace.nodes if n.error)
    assert "RuntimeError" in words(explorer, explorer._folding.within.get(failed.id, failed.id))


def boxes_and_shapes(explorer, rankdir):
    """Left, top, right and bottom of every card, and of the ink of every shape: brackets reach 9.5 units up from the
    line, and 2.7 down."""
    root, cards, shapes = ET.fromstring(explorer.svg), [], []
    for g in root.iter(f"{SVG}g"):
        if g.get("class", "").startswith("al-node"):
            x, y = explorer.layouts[rankdir]["nodes"][g.get("data-key")]
            w, h = float(g.get("data-w")), float(g.get("data-h"))
            cards.append((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
        elif g.get("class") == "al-edge":
            for text in (t for t in g.iter(f"{SVG}text") if t.get("class") == "al-shape"):
                x, y = float(text.get("x")), float(text.get("y"))
                shapes.append((x, y - 9.5, x + text_width(text.text, 13), y + 2.7))
            pill = next((p for p in g.iter(f"{SVG}g") if p.get("data-shape")), None)
            if pill is not None:
                x, y = explorer.layouts[rankdir]["pills"][g.get("data-id")]
                w = float(pill[0].get("width"))
                assert w >= text_width(pill.get("data-shape"), 13) + 8
                shapes.append((x - w / 2, y - 10, x + w / 2, y + 10))
    return cards, shapes


@pytest.mark.parametrize("rankdir", ["TB", "LR"])
def test_lines_say_shapes_in_both_directions_and_no_shape_touches_a_box(rankdir):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)
    )
    explorer = explore(recorded(model, torch.randn(2, 1, 6, 6)), rankdir=rankdir)
    cards, shapes = boxes_and_shapes(explorer, rankdir)
    assert len(shapes) >= len(explorer._picture.folded.links) - 1 and "[2, 3, 4, 4]" in explorer.svg
    for left, top, right, bottom in shapes:
        for a, b, c, d in cards:
            assert right < a or c < left or bottom + 1.5 < b or d + 1.5 < top, (
                "1.5 units free at least"
            )


def test_what_an_optimizer_changed_stands_in_a_column_and_its_lines_run_beside_the_picture():
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def seen(steps):
        with torch.record() as recording:
            for _ in range(steps):
                model(torch.ones(2, 4)).sum().backward()
                optimizer.step()
        explorer = explore(recording)
        return explorer, open_all(explorer)

    plain = open_all(explore(recorded(model, torch.ones(2, 4))))
    for steps in (1, 2):
        explorer, places = seen(steps)
        boxes = explorer._picture.folded.boxes
        assert places["width"] < plain["width"] + 250, "not much wider than without a step"
        updates = [n.id for n in explorer.trace.nodes if n.kind == "update"]
        assert len(updates) == 16 * steps
        for before, after in zip(updates, updates[1:]):
            (x, y), (beside, below) = places["nodes"][before], places["nodes"][after]
            assert below > y and (x == beside or updates.index(after) % 16 == 0)
        made = {
            link.end: link.start
            for link in explorer._picture.updates.links
            if explorer._picture.updates._made(link)
        }
        assert len(made) == 16, "the last step's"
        for leaf, update in made.items():
            assert (
                places["nodes"][leaf][1] == places["nodes"][update][1]
                and places["nodes"][leaf][0] < places["nodes"][update][0]
            )
        right = max(
            places["nodes"][key][0] + explorer._cards(box.of).width / 2
            for key, box in boxes.items()
        )
        for link in explorer._picture.updates.links:
            if link.end not in made:
                assert (
                    max(float(at) for at in re.findall(r"[HQ](-?[\d.]+)", places["edges"][link.id]))
                    > right
                )
                assert places["heads"][link.id][2] == 180
        assert right < places["width"]
    explorer.expanded = []
    assert [
        part.label
        for part in map(explorer._folding.parts.get, explorer.layouts["TB"]["nodes"])
        if part
    ] == ["iteration 1", "iteration 2"]
    assert (
        len(
            {
                x
                for key, (x, _) in explorer.layouts["TB"]["nodes"].items()
                if key in explorer._folding.parts
            }
        )
        == 1
    ), "straight"


def test_a_closed_network_too_high_for_a_small_screen_stands_in_two_columns():
    torch.manual_seed(0)
    model, x, y = models.resnet18(), torch.randn(2, 3, 32, 32), torch.tensor([1, 2])
    with torch.record() as recording:
        nn.functional.cross_entropy(model(x), y).backward()
    explorer = explore(recording, expanded=[])
    places, halves = explorer.layouts["TB"], explorer._picture.halves
    assert places["width"] * LEAST <= 478 and places["height"] * LEAST <= 372, (
        "the pane in JupyterLab beside its side bar on 1280 x 720"
    )
    columns = sorted({places["nodes"][key][0] for key in halves.way})
    assert len(columns) == 2 and places["heads"][halves.link.id][0] > columns[0], (
        "the way goes on at the top of the second"
    )
    assert halves.second > {halves.link.end} and halves.link.start not in halves.second
    said = explorer.svg.count('class="al-shape"')
    assert said == len(explorer._picture.folded.links) - 1, (
        "all lines but that of the labels, which say it themselves"
    )
    explorer.expanded = [
        part.id for part in explorer._folding.parts.values() if part.label == "layer1"
    ]
    assert explorer._picture.halves.link is None, "what is open runs down in one"


def test_what_an_optimizer_changed_ends_the_second_of_two_columns_and_a_narrow_page_gets_one():
    torch.manual_seed(0)
    model, x, y = models.resnet18(), torch.randn(2, 3, 32, 32), torch.tensor([1, 2])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.record() as recording:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    explorer = explore(recording, expanded=[])
    picture, (two, one) = explorer._picture, (explorer.layouts[way] for way in ("TB", "column"))
    assert two["width"] * LEAST <= 830 and two["height"] * LEAST <= 440, (
        "the pane of a page of 1280 x 720"
    )
    assert one["width"] * LEAST <= 340 < two["width"] * LEAST, "and of one of 400"
    (step,) = {link.end for link in picture.updates.links}
    x, y = two["nodes"][step]
    assert (
        x > two["nodes"][picture.halves.way[0]][0] and y > two["nodes"][picture.halves.way[-1]][1]
    ), "below the loss"
    turn = picture.halves.turn(two)
    for link in picture.updates.links:
        first = link.start not in picture.halves.second
        assert two["heads"][link.id] == [
            x + (-1 if first else 1) * picture.cards(step).width / 2,
            y,
            0 if first else 180,
        ]
        sides = [float(at) for at in re.findall(r"[HQ](-?[\d.]+)", two["edges"][link.id])]
        assert all(at < turn for at in sides[:2]) if first else max(sides) > x, (
            "between both, and at the right"
        )
    for key in picture.halves.way:
        side = (1 if key in picture.halves.second else -1) * (two["nodes"][key][0] - turn)
        assert side > picture.cards(picture.folded.boxes[key].of).width / 2
