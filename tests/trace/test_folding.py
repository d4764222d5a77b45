"""Big graphs in few boxes: parts, merged edges, the result of opening, and a cost that grows only with the graph."""

import time

import pytest

import autolab as torch
from autolab import nn
from autolab.trace import trace
from autolab.trace.layers.folding import ENOUGH_BOXES, LONGEST, RUNS, Folding
from autolab.trace.model import Edge, Node, Trace
from autolab.vision import models


def chain(length):
    """Return a leaf x, and a chain of `length` operations on it."""
    nodes = [Node("n0", "leaf", label="x", name="x", shape=(), requires_grad=True)]
    nodes += [
        Node(f"n{i}", "op", op="mul" if i % 2 else "add", shape=()) for i in range(1, length + 1)
    ]
    return Trace(
        tuple(nodes), tuple(Edge(f"e{i}", f"n{i}", 0, f"n{i + 1}", 0) for i in range(length))
    )


@pytest.fixture(scope="module")
def resnet():
    torch.manual_seed(0)
    model = models.resnet18()
    loss = nn.functional.cross_entropy(model(torch.randn(2, 3, 32, 32)), torch.tensor([1, 2]))
    return Folding(trace(loss, dict(model.named_parameters()), backward=False, formulas=False))


def named(folding, folded):
    """Return the boxes with the texts that a reader sees."""
    of = [
        (folding.parts[b.of].name if b.of in folding.parts else folding.trace.node(b.of).op)
        for b in folded.boxes.values()
    ]
    return sorted(filter(None, of))


def test_resnet_18_begins_with_its_layers(resnet):
    folded = resnet.fold(resnet.first())
    assert named(resnet, folded) == sorted(
        "conv1 bn1 relu maxpool layer1 layer2 layer3 layer4 avgpool view fc log_softmax nll_loss".split()
    )
    layer = next(p for p in resnet.parts.values() if p.label == "layer1")
    assert (layer.type, layer.ops, layer.parameters, layer.shape) == (
        "Sequential",
        14,
        147_968,
        (2, 64, 8, 8),
    )
    total = sum(
        resnet.parts[b.of].parameters for b in folded.boxes.values() if b.of in resnet.parts
    )
    assert total == sum(p.numel() for p in models.resnet18().parameters())


def test_edges_between_two_boxes_are_one_line_with_their_number(resnet):
    folded = resnet.fold([])
    by_ends = {(a.start, a.end): a for a in folded.links}
    ids = {p.label: p.id for p in resnet.parts.values()}
    assert len(by_ends) == len(folded.links) == 14
    both = by_ends[ids["layer1"], ids["layer2"]]
    assert len(both.edges) == 2, "into the first convolution and into the shortcut"
    assert {
        resnet.trace.node(e.child).module for e in resnet.trace.edges if e.id in both.edges
    } == {
        "layer2.0.conv1",
        "layer2.0.downsample.0",
    }


def test_opening_a_part_shows_what_is_right_inside(resnet):
    folded = resnet.fold(resnet.named(["layer1", "layer1.0"]))
    ids = {p.label: p.id for p in resnet.parts.values()}
    inside = [box.of for box in folded.boxes.values() if box.frame == ids["layer1.0"]]
    assert [resnet.parts[of].name if of in resnet.parts else resnet.trace.node(of).op for of in inside] == [
        *("conv1 bn1 relu conv2 bn2".split()), "add", "relu (call 2)",
    ]  # fmt: skip
    assert folded.frames == [ids["layer1"], ids["layer1.0"]]
    assert resnet.fold([ids["layer1.0"]]).frames == [], "a part inside a closed one does not show"


def test_all_open_is_the_whole_graph(resnet):
    folded = resnet.fold(resnet.parts)
    assert {box.of for box in folded.boxes.values()} == {n.id for n in resnet.trace.nodes}
    assert sorted(e for link in folded.links for e in link.edges) == sorted(
        e.id for e in resnet.trace.edges
    )
    assert all(link.edges == [link.id] for link in folded.links)


@pytest.mark.parametrize("expanded", [[], ["layer2"], ["layer2", "layer2.0", "layer2.0.conv1"]])
def test_every_edge_is_on_one_line_or_inside_one_box(resnet, expanded):
    opened = resnet.named(expanded)
    folded = resnet.fold(opened)
    shown = {box.of for box in folded.boxes.values()}
    on_lines = [e for link in folded.links for e in link.edges]
    assert len(on_lines) == len(set(on_lines))
    for edge in resnet.trace.edges:
        around = [
            next((p for p in [*resnet.opening(n), n] if p in shown), None)
            for n in (edge.child, edge.parent)
        ]
        assert None not in around
        assert (edge.id in on_lines) == (around[0] != around[1])


def test_a_part_that_is_not_there_is_refused_by_name(resnet):
    with pytest.raises(
        ValueError, match='no part "layer5"; there are conv1, bn1, relu, maxpool, layer1'
    ):
        resnet.named(["layer5"])
    assert resnet.named(["layer2", "layer1"]) == resnet.named(["layer1", "layer2"]), (
        "outer and earlier parts first"
    )


def test_a_shared_parameter_is_drawn_in_each_call_that_uses_it():
    layer = nn.Linear(2, 2)
    model = nn.Sequential(
        layer, nn.Tanh(), layer, nn.Tanh(), nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)
    )
    folding = Folding(trace(model(torch.ones(1, 2)).sum(), dict(model.named_parameters())))
    weight = next(n.id for n in folding.trace.nodes if n.name == "0.weight")
    closed = folding.fold([])
    assert weight not in {box.of for box in closed.boxes.values()}
    assert not any(len(link.edges) > 1 for link in closed.links), (
        "sharing is no line between the two calls"
    )
    opened = folding.fold(folding.parts)
    boxes = [box for box in opened.boxes.values() if box.of == weight]
    assert [folding.parts[box.frame].name for box in boxes] == ["0", "0 (call 2)"]
    assert len({box.key for box in boxes}) == 2


def test_a_small_network_begins_open():
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    folding = Folding(trace(model(torch.ones(1, 2)).sum()))
    assert folding.first() == list(folding.parts) and [p.name for p in folding.parts.values()] == [
        "0",
        "1",
    ]


def test_few_boxes_open_further():
    torch.manual_seed(0)
    net = models.LeNet()
    folding = Folding(trace(net(torch.randn(2, 1, 28, 28)).sum()))
    folded = folding.fold(folding.first())
    assert folding.first() and 8 <= len(folded.boxes) <= ENOUGH_BOXES
    assert any(box.of in folding.parts for box in folded.boxes.values()), (
        "the layers themselves stay closed"
    )


@pytest.mark.parametrize(
    ("length", "runs"), [(LONGEST, 0), (100, 2), (1000, 20), (10_000, 20), (100_000, 20)]
)
def test_a_long_chain_is_in_runs_of_round_lengths(length, runs):
    folding = Folding(chain(length))
    folded = folding.fold([])
    closed = [folding.parts[b.of] for b in folded.boxes.values() if b.of in folding.parts]
    assert len(closed) == runs <= RUNS
    assert "n0" in folded.boxes, "a variable stays beside the runs"
    if runs:
        assert sum(part.ops for part in closed) == length
        assert closed[0].name == f"ops 1–{length // runs:,}" and closed[-1].name.endswith(
            f"–{length:,}"
        )
        assert len(folded.links) == runs and all(len(link.edges) == 1 for link in folded.links)


def test_runs_are_in_runs_until_they_can_be_seen():
    folding = Folding(chain(100_000))
    at = [p for p in folding.parts.values() if p.parent is None][:1]
    names = []
    while at:
        names.append((at[0].name, at[0].type))
        opened = folding.fold(folding._around(at[0].id))
        assert len(opened.boxes) <= RUNS * len(names) + LONGEST
        at = [p for p in folding.parts.values() if p.parent == at[0].id][:1]
    assert names == [
        ("ops 1–5,000", "mul ×2,500, add ×2,500"),
        ("ops 1–200", "mul ×100, add ×100"),
        ("ops 1–50", "mul ×25, add ×25"),
    ]


def test_calls_of_a_module_in_a_loop_are_in_runs_too():
    class Unrolled(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.Linear(2, 2)

        def forward(self, x):
            for _ in range(80):
                x = self.cell(x)
            return x

    folding = Folding(trace(Unrolled()(torch.ones(1, 2)).sum(), backward=False, formulas=False))
    top = [p.name for p in folding.parts.values() if p.parent is None]
    assert top == ["cell, calls 1–50", "cell, calls 51–80, …"], "eighty calls and the sum"
    inside = [p.name for p in folding.parts.values() if p.parent == "r1"]
    assert inside == [f"cell (call {i})" for i in range(51, 81)]


def test_many_leaves_go_inside_the_runs_that_use_them():
    xs = [torch.tensor(1.0, requires_grad=True) for _ in range(100)]
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    folding = Folding(trace(total, backward=False))
    assert all(b.of in folding.parts for b in folding.fold([]).boxes.values())
    few = Folding(chain(100))
    assert "n0" in few.fold([]).boxes


def test_folding_takes_time_in_proportion_to_the_graph():
    def seconds(length):
        found = chain(length)
        best = 9.0
        for _ in range(3):
            start = time.process_time()
            folding = Folding(found)
            folding.fold(folding.first())
            best = min(best, time.process_time() - start)
        return best

    assert seconds(40_000) < 4 * 4 * max(seconds(10_000), 0.01), (
        "four times the graph, far from sixteen times the work"
    )


def test_what_the_script_gets_says_the_same(resnet):
    data = resnet.to_json()
    ids = [p["id"] for p in data["parts"]]
    assert ids == list(resnet.parts)
    for node, place in zip(resnet.trace.nodes, data["home"], strict=True):
        assert resnet.home.get(node.id) == (ids[place] if place >= 0 else None)
    assert data["parts"][ids.index("g5")]["shape"] == [2, 64, 8, 8]


def test_parameters_are_rows_of_the_cards_that_use_them():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()), torch.ones(2, 3)
    with torch.record() as recording:
        model(x).sum().backward()
    folding = Folding(recording.trace())
    node = folding.trace.node
    counter = "1.num_batches_tracked"  # the addition to it uses nothing else: not a card of its own
    assert {
        node(op).op: [node(row).label for row in rows] for op, rows in folding.rows.items()
    } == {
        "addmm": ["0.weight", "v1", "0.bias"],  # v1: the weight, transposed
        "native_batch_norm": [
            counter,
            "1",
            f"{counter}(2)",
            "1.weight",
            "1.bias",
            "1.running_mean",
            "1.running_var",
        ],
    }
    assert folding.boxes(folding.parts) == folding.boxes([]) == 5, "x, three layers and the sum"
    assert {folding.parts[part].label for part in folding.single} == {"0", "1", "2"}


def test_only_what_a_module_holds_is_in_a_card():
    w, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    folding = Folding(trace(w * w * x + 1))
    assert not folding.rows and not folding.single and not folding.network
    assert folding.boxes([]) == len(folding.fold([]).boxes)


def test_a_shared_parameter_is_in_each_card_that_uses_it():
    layer = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with torch.record() as recording:
        layer(layer(torch.ones(3))).sum().backward()
        optimizer.step()
    folding = Folding(recording.trace())
    weight = next(n.id for n in folding.trace.nodes if n.name == "weight")
    cards = [op for op, rows in folding.rows.items() if weight in rows]
    assert len(cards) == 2 and folding.within[weight] == cards[0]


def test_an_optimizers_step_is_closed_at_first():
    net = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(20)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    with torch.record() as recording:
        net(torch.ones(1, 2)).sum().backward()
        opt.step()
    folding = Folding(recording.trace())
    steps = {part.id for part in folding.parts.values() if part.kind == "step"}
    assert steps and not steps & set(folding.first())


def test_a_loops_runs_are_named_by_its_calls():
    cell = torch.nn.RNNCell(2, 3)
    with torch.record() as recording:
        h = torch.zeros(1, 3)
        for _step in range(80):
            h = cell(torch.ones(1, 2), h)
    runs = [p.name for p in Folding(recording.trace()).parts.values() if p.kind == "run"]
    assert runs == ["RNNCell, calls 1–50", "RNNCell, calls 51–80"]
