"""Values that the graph did not keep are computed again, to the bit, or the node says why not."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

import autolab
from autolab import nn
from autolab.engine.core import observe
from autolab.engine.core.tensor import Tensor
from autolab.trace import again, build, trace
from programs import PROGRAMS


class Witness(observe.Observer):
    """A copy of every result, by its node."""

    def __init__(self) -> None:
        self.results: dict[int, tuple[Any, list[np.ndarray]]] = {}
        self.seen = 0

    def forward(
        self, op: Any, args: Any, attrs: Any, outputs: Any, node: Any, inplace: bool = False
    ) -> None:
        self.seen += 1
        if node is not None:
            self.results[id(node)] = (node, [np.array(o._array) for o in outputs])


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int, np.ndarray]]:
    """(node, output number, array) of all that is computed again from now on."""
    found: list[tuple[Any, int, np.ndarray]] = []
    running = []
    fill, put = again.fill, build.Builder.set_output

    def filled(builder: Any) -> Any:
        running.append(1)
        try:
            return fill(builder)
        finally:
            running.pop()

    def set_output(builder: Any, node_id: str, nr: int, tensor: Any) -> None:
        if running:
            found.append((builder.fns[node_id], nr, np.array(tensor._array)))
        put(builder, node_id, nr, tensor)

    monkeypatch.setattr(again, "fill", filled)
    monkeypatch.setattr(build.Builder, "set_output", set_output)
    return found


def compared(witness: Witness, computed: list[tuple[Any, int, np.ndarray]]) -> int:
    for fn, nr, array in computed:
        real = witness.results[id(fn)][1][nr]
        assert (array.dtype, array.shape, array.tobytes()) == (
            real.dtype,
            real.shape,
            real.tobytes(),
        ), fn
    return len(computed)


def lenet() -> Any:
    model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.BatchNorm2d(6), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.GELU(), nn.Linear(120, 10))  # fmt: skip
    return nn.functional.cross_entropy(model(autolab.randn(8, 1, 28, 28)), autolab.arange(8))


def resnet() -> Any:
    model = autolab.vision.models.resnet18()
    return nn.functional.cross_entropy(model(autolab.randn(2, 3, 32, 32)), autolab.tensor([1, 2]))


def evaluated() -> Any:
    model = nn.Sequential(
        nn.Linear(60, 60), nn.BatchNorm1d(60), nn.Softplus(), nn.LayerNorm(60), nn.Linear(60, 60)
    )
    model(autolab.randn(40, 60))
    return (model.eval()(autolab.randn(40, 60)) + 1).pow(2).mean()


def transformer() -> Any:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return layer(autolab.randn(3, 20, 32)).square().mean()


def recurrent() -> Any:
    out, _ = nn.LSTM(40, 50, batch_first=True)(autolab.randn(30, 12, 40))
    return out.sum()


def shapes() -> Any:
    x = autolab.randn(40, 60, requires_grad=True)
    y = (
        autolab.cat([x * 2, x.t().reshape(40, 60) + 1], dim=1)
        .view(60, 80)
        .unsqueeze(0)
        .expand(2, 60, 80)
    )
    return (
        (y.permute(0, 2, 1).cumsum(1) - y.mean((1, 2), keepdim=True))
        .clamp(min=0.25)
        .logsumexp(-1)
        .sum()
    )


def changed_in_place() -> Any:
    x = autolab.randn(40, 60, requires_grad=True)
    y = x * 3
    y.add_(1)
    z = y.sin()
    z.mul_(2)
    return (z + y).sum()


NETWORKS = [lenet, resnet, evaluated, transformer, recurrent, shapes, changed_in_place]


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_what_is_computed_again_is_what_it_was(make: Any, computed: Any) -> None:
    autolab.manual_seed(0)
    with observe.watching(Witness()) as witness:
        loss = make()
    found = trace(loss)
    assert compared(witness, computed) >= 1, "something is computed again"
    assert sum(node.again for node in found.nodes) == len({id(fn) for fn, _, _ in computed})
    assert all(node.missing for node in found.nodes if node.value is None)
    lost = Counter(node.missing for node in found.nodes if node.kind == "op" and node.value is None)
    assert sum(lost.values()) <= {"transformer": 6, "recurrent": 60, "shapes": 4}.get(
        make.__name__, 0
    ), lost


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_every_program_too(name: str, computed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backward, witness, traces = Tensor.backward, Witness(), []

    def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(RuntimeError):
            observe.remove(witness)
            traces.append(trace(self))
            observe.add(witness)
        return backward(self, *args, **kwargs)

    monkeypatch.setattr(Tensor, "backward", looked_at)
    with contextlib.suppress(RuntimeError), observe.watching(witness):
        PROGRAMS[name](autolab)
    compared(witness, computed)
    for found in traces:
        assert all(node.missing or node.value is not None for node in found.nodes)


def test_resnet_18_has_every_value() -> None:
    autolab.manual_seed(0)
    found = trace(resnet())
    ops = [node for node in found.nodes if node.kind == "op"]
    assert len(ops) == 72 and all(node.value is not None for node in ops)
    assert Counter(node.op for node in ops if node.again)["native_batch_norm"] == 19


def test_nothing_is_touched() -> None:
    autolab.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.3), nn.BatchNorm2d(4), nn.ReLU()
    )
    x = autolab.randn(8, 1, 16, 16)
    loss = model(x).sum()
    loss.backward(retain_graph=True)
    state = lambda: [
        np.array(t._array)
        for t in [
            *model.state_dict().values(),
            *(p.grad for p in model.parameters()),
            autolab.get_rng_state(),
        ]
    ]
    versions = lambda: [t._version for t in [x, *model.parameters(), *model.buffers()]]
    before, versions_before = state(), versions()
    with observe.watching(Witness()) as witness:
        found = trace(loss)
    assert any(node.again for node in found.nodes)
    assert (
        all(a.tobytes() == b.tobytes() for a, b in zip(before, state(), strict=True))
        and versions() == versions_before
    )
    assert not witness.results and not witness.seen, "and nobody has seen it"


def missing(root: Any, op: str) -> str:
    return next(node.missing for node in trace(root).nodes if node.op == op)


def test_what_cannot_be_computed_again_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    x = autolab.randn(40, 60, requires_grad=True)
    drawn = (
        x.sigmoid().bernoulli().add(1).sum()
    )  # in a line of its own: `assert` would hold what is in between
    assert missing(drawn, "bernoulli").endswith("it was drawn at random")
    cleaned = x.nan_to_num(nan=2.0).add(1).sum()
    assert missing(cleaned, "nan_to_num").endswith("its argument nan was not kept")

    class Twice(autolab.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    twice = (Twice.apply(x) + 1).sum()
    assert missing(twice, "twice").endswith("a function of your own would have to run again")
    w, b = autolab.randn(60, 50, requires_grad=True), autolab.randn(50, requires_grad=True)
    model = lambda: (x @ w + b).add(1).sum()
    loss = model()
    with autolab.no_grad():
        w += 1
        b += 1
    assert "changed in place since" in missing(loss, "mm")
    big = (x + 1).expand(2000, 40, 60).add(1).sum()
    assert (
        missing(big, "expand")
        == f"{again.UNKEPT}, and it is not computed again: 4,800,000 numbers are too many"
    )
    monkeypatch.setattr(again, "WORK", 1000)
    much = (x + 1).sum()
    assert missing(much, "add").endswith("it takes too much work")


def test_with_pytorch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(4, 4, 3),
                                torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(100, 40))  # fmt: skip
    kept: dict[str, Any] = {}
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda m, args, out, name=name: kept.__setitem__(name, out.detach().clone())
        )
    x = torch.randn(8, 1, 16, 16)
    buffers, stream = [b.clone() for b in model.buffers()], torch.get_rng_state()
    loss = (model(x) + 1).square().mean()
    after = [b.clone() for b in model.buffers()]
    found = trace(loss)
    again_ = {node.op: node for node in found.nodes if node.again}
    assert set(again_) >= {"native_batch_norm", "addmm"}, "what no gradient needs"
    from autolab.trace.values import Value

    last = [node for node in found.nodes if node.op == "native_batch_norm"][-1]
    assert last.value == Value.of(kept["5"].numpy())
    assert again_["addmm"].value == Value.of(kept["7"].numpy())
    assert all(torch.equal(a, b) for a, b in zip(after, model.buffers())) and buffers is not None
    assert torch.equal(stream, torch.get_rng_state()) and all(
        p.grad is None for p in model.parameters()
    )
    assert all(node.missing for node in found.nodes if node.value is None)


LAYERS_WITHOUT_WEIGHTS = [
    nn.BatchNorm1d(40, affine=False),
    nn.LayerNorm(40, elementwise_affine=False),
    nn.GroupNorm(4, 40, affine=False),
]


@pytest.mark.parametrize("layer", LAYERS_WITHOUT_WEIGHTS, ids=lambda layer: type(layer).__name__)
def test_an_argument_that_was_left_out_is_no_operand(layer):
    """A normalisation without weights was drawn with two operands that were "not kept", and so not computed again."""
    y = layer(autolab.randn(60, 40, requires_grad=True))
    seen = trace(y.sum())
    (node,) = [n for n in seen.nodes if n.op.startswith("native")]
    assert node.value.stats["max"] == pytest.approx(y.max().item(), rel=1e-4)
    assert not [n.missing for n in seen.nodes if n.missing]
