"""Losses with a margin between classes, against PyTorch: values to the bit, gradients, graphs, errors."""

import pytest
from goldens.oracle import check, error_of

import autolab

REDUCTIONS = ["none", "mean", "sum"]


def scores(t, dtype, *shape):
    t.manual_seed(3)
    return t.randn(*shape, dtype=getattr(t, dtype)).requires_grad_()


def told(loss, x):
    """The loss, what its node is called and saves, and the gradient of x for a gradient that is not 1."""
    node = loss.grad_fn
    saved = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    seed = (
        loss.detach() * 0
    ).flatten() + 0.375  # numbers without rounding, so that all bits can be compared
    seed[::2] = 1.5
    loss.backward(seed.reshape(loss.shape))
    return [loss, node.name(), saved, x.grad]


def digits(tensor):
    """Every bit of the numbers: `check` alone would allow a last digit."""
    return [float(v).hex() for v in tensor.detach().flatten().tolist()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_multi_margin_loss(weighted, p, reduction, dtype):
    def program(t):
        F, x = t.nn.functional, scores(t, dtype, 7, 5)
        weight = t.tensor([0.5, 1.0, 2.0, 0.25, 3.0], dtype=x.dtype) if weighted else None
        loss = F.multi_margin_loss(
            x, t.tensor([4, 0, 1, 1, 3, 2, 0]), p, 0.7, weight, reduction=reduction
        )
        return [*told(loss, x), digits(loss), digits(x.grad)]

    check("test_nn_margins", f"multi {weighted} {p} {reduction} {dtype}", program)


LABELS = [
    [4, 0, -1, 3, 3],
    [1, 1, 1, -1, 0],
    [-1, 2, 3, 4, 0],
    [0, 1, 2, 3, 4],
    [2, 4, 2, 4, 2],
    [3, -1, -1, -1, -1],
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin_loss(reduction, dtype):
    """Repeated labels count each time; what stands after -1 counts not at all; no label and all labels give 0."""

    def program(t):
        F, x, y = t.nn.functional, scores(t, dtype, 6, 5), t.tensor(LABELS)
        loss = F.multilabel_margin_loss(x, y, reduction=reduction)
        one = scores(t, dtype, 5)
        return [
            *told(loss, x),
            digits(loss),
            digits(x.grad),
            *told(F.multilabel_margin_loss(one, y[0], reduction=reduction), one),
        ]

    check("test_nn_margins", f"multilabel {reduction} {dtype}", program)


def test_of_many_classes():
    """Sums of 300 numbers: an order of additions that is not PyTorch's would show in the last bits."""

    def program(t):
        F, x = t.nn.functional, scores(t, "float32", 20, 300)
        y = t.randint(0, 300, (20, 300))
        y[:, 40] = -1
        losses = (
            F.multi_margin_loss(x, y[:, 0]),
            F.multilabel_margin_loss(x, y),
            F.multilabel_margin_loss(x, y, reduction="none"),
        )
        sum(loss.sum() for loss in losses).backward()
        return [*map(digits, losses), x.grad]

    check("test_nn_margins", "many classes", program, rtol=1e-6)


SHAPES = [
    "multi(x[0], y[0])", "multi(x[0], y[:1])", "multi(x[0], y[:1], reduction='none')", "multi(x[:1], y[0], reduction='none')",
    "multi(x[0, 0], torch.tensor(0), reduction='none')", "multi(x[:0], y[:0], reduction='none')", "multi(x, y, p=2.0)",
    "multi(x, y, p=True)", "multi(x, y, margin=True)", "multi(x * float('nan'), y)", "multi(x[:, :0], y)", "multi(x[:0, 0], y[:0])",
    "multi(x.half(), y + 9)", "multi(x.long(), y)", "multi(x, y.int())", "multi(x, y + 9)", "multi(x, y - 9)", "multi(x[None], y)",
    "multi(x, y, weight=torch.ones(3).double())", "multi(x, y, weight=torch.ones(2))", "multi(x, y, weight=torch.ones(3, requires_grad=True))",
    "multi(x, y, margin='a')", "multi(x, 1)", "multi([1.], y)", "multi(x, y, reduction='bad')", "multi(x, y, 1, 1., None, False)",
    "label(x, z)", "label(x[0], z[0], reduction='none')", "label(x[0, 0], z[0, 1])", "label(x[0, 0], z[0, 1:2], reduction='none')",
    "label(x[0, :1], z[0, 1], reduction='none')", "label(x[:0], z[:0], reduction='none')", "label(x[:, :0], z[:, :0])", "label(x[0, :0], z[0, :0])",
    "label(x, z[:1])", "label(x, z[0])", "label(x[0], z)", "label(x[0], z[:1])", "label(x[None], z[None])", "label(x, z[:, :2])",
    "label(x, z.int())", "label(x, z / 2.)", "label(x.long(), z)", "label(x.half(), z)", "label(x, z + 2)", "label(x, z - 2)",
    "label(x.long(), z + 5)",
    "label(x, 1)", "label([1.], z)", "label(x, z, reduction='bad')", "label(x, z, False)", "label(x * float('nan'), z)",
    "torch.nn.MultiLabelMarginLoss()", "torch.nn.MultiLabelMarginLoss(reduction='sum')(x, z)",
    "torch.nn.MultiLabelMarginLoss(reduction='sum').state_dict()",
]  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_shapes_and_errors(text):
    def program(t):
        x = t.tensor([[0.1, 0.9, -0.4], [1.5, 0.2, 0.3]])
        named = {"torch": t, "x": x, "y": t.tensor([2, 0]), "z": t.tensor([[2, -1, 1], [0, 1, -1]])}
        named |= {
            "multi": t.nn.functional.multi_margin_loss,
            "label": t.nn.functional.multilabel_margin_loss,
        }
        found = []
        said = error_of(lambda: found.append(eval(text, named)))
        return [said, *(f if isinstance(f, t.Tensor) else repr(f) for f in found)]

    check("test_nn_margins", text, program, only_cpu="words about dtypes come from CPU kernels")


@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_no_second_derivative(name):
    def program(t):
        x = scores(t, "float64", 2, 3)
        y = t.tensor([2, 0]) if name == "multi_margin_loss" else t.tensor([[2, -1, 0], [0, 1, -1]])
        (g,) = t.autograd.grad(getattr(t.nn.functional, name)(x, y), x, create_graph=True)
        return [g, g.grad_fn.name(), error_of(lambda: t.autograd.grad(g.sum(), x))]

    check("test_nn_margins", f"twice {name}", program)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradcheck(reduction):
    F, x = autolab.nn.functional, scores(autolab, "float64", 6, 5)
    weight = autolab.tensor([0.5, 1.0, 2.0, 0.25, 3.0], dtype=autolab.float64)
    for p in (1, 2):
        multi = lambda x: F.multi_margin_loss(
            x, autolab.tensor([4, 0, 1, 1, 3, 2]), p, 0.7, weight, reduction=reduction
        )
        assert autolab.autograd.gradcheck(multi, x)
    assert autolab.autograd.gradcheck(
        lambda x: F.multilabel_margin_loss(x, autolab.tensor(LABELS), reduction=reduction), x
    )
