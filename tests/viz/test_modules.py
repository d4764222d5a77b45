"""`viz.draw`: a network as a graphviz picture with its modules closed."""

import re

import pytest

import autolab
from autolab import nn, viz
from autolab.trace import trace
from autolab.trace.layers.folding import Folding


@pytest.fixture(scope="module")
def loss():
    autolab.manual_seed(0)
    block = lambda: nn.Sequential(
        nn.Conv2d(2, 2, 3, padding=1, bias=False), nn.BatchNorm2d(2), nn.ReLU()
    )
    model = nn.Sequential(*(block() for _ in range(9)), nn.Flatten(), nn.Linear(32, 3))
    return nn.functional.cross_entropy(model(autolab.randn(2, 2, 4, 4)), autolab.tensor([0, 2]))


def boxes(picture):
    found = re.findall(
        r'^\t+"?(\w+)"? \[label="([^"]*)".* class="al-(part|node)', picture.source, re.M
    )
    return {name: label.split("\\n") for name, label, _ in found}


def test_modules_are_single_boxes(loss):
    picture = viz.draw(loss)
    labels = list(boxes(picture).values())
    assert ["0", "Sequential", "3 ops · 40 parameters", "[2, 2, 4, 4]"] in labels
    assert ["10", "Linear", "2 ops · 99 parameters", "[2, 3]"] in labels
    assert len(labels) == picture.boxes == 9 + 1 + 1 + 2 + 2, (
        "blocks, view, linear, loss and its log_softmax, two inputs"
    )
    assert re.fullmatch(r"<Picture: graph of loss, \d+ nodes in 15 boxes>", repr(picture))
    assert "</svg>" in picture._repr_svg_()


def test_modules_asked_for_are_drawn_open(loss):
    picture = viz.draw(loss, ["1"], rankdir="TB")
    assert picture.source.count("subgraph") == 1 and 'label="1  Sequential"' in picture.source
    assert 'rankdir="TB"' in picture.source or "rankdir=TB" in picture.source
    labels = list(boxes(picture).values())
    assert ["1", "Sequential", "3 ops · 40 parameters", "[2, 2, 4, 4]"] not in labels
    assert [label[1] for label in labels if label[:1] in (["0"], ["1"], ["2"])][:4].count(
        "Conv2d"
    ) == 1
    assert viz.draw(loss, "all").boxes == len(Folding(trace(loss, backward=False)).trace.nodes)


def test_merged_lines_say_how_many_they_are():
    autolab.manual_seed(0)
    inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))

    class Skips(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.rest = inner, nn.ModuleList(nn.Linear(2, 2) for _ in range(8))

        def forward(self, x):
            x = self.first(x)
            for layer in self.rest:
                x = self.add(layer, x)
            return x

        def add(self, layer, x):
            return layer(x) + x

    class Block(Skips):
        def __init__(self):
            super().__init__()
            self.inner = Skips()

        def forward(self, x):
            return self.inner(super().forward(x) * 2)

    class Uses(nn.Module):
        def __init__(self):
            super().__init__()
            self.block, self.pair = Block(), Pair()

        def forward(self, x):
            return self.pair(self.block(x))

    class Pair(nn.Module):
        def forward(self, x):
            return x.tanh() + x.exp()

    assert 'label=" ×2"' in viz.draw(Uses()(autolab.ones(1, 2)).sum(), []).source


def test_a_module_that_is_not_there_is_named(loss):
    with pytest.raises(ValueError, match='there is no part "layer9"; there are 0, 1, 2'):
        viz.draw(loss, ["layer9"])
    with pytest.raises(TypeError, match="params: only for tensors"):
        viz.draw(trace(loss), params={})


def test_a_graph_of_real_pytorch():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()) for _ in range(9))
    )
    picture = viz.draw(model(torch.ones(1, 2)).sum(), [], params=dict(model.named_parameters()))
    assert ["0", "Sequential", "2 ops · 6 parameters", "[1, 2]"] in boxes(picture).values()
