"""Layers at the edges: batches of size 0, filters and dtypes that do not fit."""

import pytest
from engine_outcomes import outcome
from goldens.oracle import check, engine

START = (
    "s = torch.arange(10.).view(1, 2, 5); x = torch.arange(50.).view(1, 2, 5, 5) / 50; w = torch.ones(3, 2, 3, 3); "
    "def_ = dict(requires_grad=True); a, b = torch.ones(4, **def_), torch.ones(4, **def_); "
)
CONVOLUTIONS = [
    "F.conv2d(x, w, stride=[2])",
    "F.conv2d(x[0], w, padding=[1])",
    "w.requires_grad_(); F.conv2d(x[:0], w).sum().backward(); w.grad",
]
NORMS = [
    "c = torch.ones(0, 4, **def_); F.layer_norm(c, (4,), a, b).sum().backward(); [c.grad, a.grad, b.grad]",
    "c = torch.ones(0, 4, 3, **def_); F.group_norm(c, 2, a, b).sum().backward(); [c.grad, a.grad, b.grad]",
    "F.group_norm(torch.ones(0, 4), 2)",
    "nn.LayerNorm(4)(torch.ones(0, 2, 4))",
]
POOLS = [
    "F.adaptive_max_pool2d(x.long(), 2)",
    "F.avg_pool2d(x > 0, 2)",
    "F.max_pool1d(s, 2)",
]
LOSSES = [
    "F.cross_entropy(torch.ones(2, 3), torch.tensor(1))",
    "F.cross_entropy(torch.ones(2, 3, 2), torch.tensor(1))",
    "F.cross_entropy(torch.ones(3), torch.tensor(1))",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([1, 2, 0]))",
    "F.nll_loss(torch.ones(2, 3), torch.tensor(1))",
]
DTYPES = [
    "nn.LayerNorm(4)(torch.ones(2, 4).double())",
    "nn.GroupNorm(2, 4)(torch.ones(2, 4).double())",
    "nn.BatchNorm1d(4)(torch.ones(2, 4).double())",
    "F.group_norm(torch.ones(2, 4, 3).half(), 2, torch.ones(4), torch.ones(4))",
    "F.softmax(torch.ones(2, 3), 1.5)",
    "torch.ones(2, 3).log_softmax('a')",
    "F.max_pool2d(x, 2, padding='same')",
    "F.max_pool1d(s, 2, padding='same')",
]


@pytest.mark.parametrize("source", CONVOLUTIONS + NORMS + POOLS + LOSSES + DTYPES)
def test_same_as_torch(source):
    check("test_edges", source, lambda torch: outcome(torch, START + source))


@pytest.mark.parametrize(
    "size, source",
    [
        ((3, 2), "F.conv1d(s, torch.ones(3, 2), padding='same')"),
        ((3, 2, 3), "F.conv2d(x, torch.ones(3, 2, 3))"),
        ((3, 2, 3, 3), "F.conv1d(s, w)"),
        ((3, 2, 0, 3), "F.conv2d(x, torch.ones(3, 2, 0, 3))"),
        ((3, 0, 2), "F.conv1d(torch.ones(0, 5), torch.ones(3, 0, 2))"),
        ((2, 3), "F.conv_transpose1d(s, torch.ones(2, 3))"),
    ],
)
def test_refused_filters(size, source):
    said = outcome(engine(), START + source)
    assert "expects weight with" in said and said.endswith(f"but got weight of size {list(size)}")


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
def test_refused_hardtanh(dtype):
    said = outcome(engine(), f"F.hardtanh(torch.ones(2, dtype=torch.{dtype}))")
    assert said.startswith('NotImplementedError: "hardtanh_cpu" not implemented for')


@pytest.mark.parametrize("sizes", ["1.), torch.ones(2, 2", "[1., 2.]), torch.tensor(1."])
def test_refused_linear(sizes):
    said = outcome(engine(), f"F.linear(torch.tensor({sizes}))")
    assert "both arguments to linear need to be at least 1D" in said
