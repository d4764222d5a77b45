"""`nn.functional` against PyTorch: value, gradient, the graph and what it saves, the gradient of the gradient."""

import re
import warnings

import pytest
from goldens.oracle import check, engine, error_of

X = [[0.3, -1.2, 2.5, -0.4], [1.1, 0.05, -3.6, 0.9], [-0.7, 1.8, 0.2, -2.2]]
FUNCTIONS = {
    # activations
    "relu": lambda t, F, x: F.relu(x),
    "relu6": lambda t, F, x: F.relu6(x * 4),
    "leaky_relu": lambda t, F, x: F.leaky_relu(x),
    "leaky_relu slope": lambda t, F, x: F.leaky_relu(x, 0.3),
    "rrelu": lambda t, F, x: F.rrelu(x),
    "elu": lambda t, F, x: F.elu(x),
    "selu": lambda t, F, x: F.selu(x),
    "celu": lambda t, F, x: F.celu(x, 0.5),
    "gelu": lambda t, F, x: F.gelu(x),
    "gelu tanh": lambda t, F, x: F.gelu(x, approximate="tanh"),
    "silu": lambda t, F, x: F.silu(x),
    "softplus": lambda t, F, x: F.softplus(x),
    "softplus beta": lambda t, F, x: F.softplus(x, beta=2, threshold=3),
    "softsign": lambda t, F, x: F.softsign(x),
    "tanhshrink": lambda t, F, x: F.tanhshrink(x),
    "softshrink": lambda t, F, x: F.softshrink(x),
    "hardshrink": lambda t, F, x: F.hardshrink(x, 0.3),
    "hardtanh": lambda t, F, x: F.hardtanh(x),
    "logsigmoid": lambda t, F, x: F.logsigmoid(x),
    "sigmoid": lambda t, F, x: F.sigmoid(x),
    "tanh": lambda t, F, x: F.tanh(x),
    "threshold": lambda t, F, x: F.threshold(x, 0.1, 20.0),
    "prelu": lambda t, F, x: F.prelu(x, t.tensor([0.25], requires_grad=True)),
    "prelu per channel": lambda t, F, x: F.prelu(x, t.tensor([0.25, 0.5, 0.75, 1.0])),
    "glu": lambda t, F, x: F.glu(x),
    "softmax": lambda t, F, x: F.softmax(x, 1),
    "softmax to double": lambda t, F, x: F.softmax(x, 1, dtype=t.float64),
    "softmin": lambda t, F, x: F.softmin(x, -1),
    "log_softmax": lambda t, F, x: F.log_softmax(x, 1),
    "implicit softmax": lambda t, F, x: F.softmax(x),
    # losses
    "mse": lambda t, F, x: F.mse_loss(x, t.ones(3, 4)),
    "mse sum": lambda t, F, x: F.mse_loss(x, t.ones(3, 4), reduction="sum"),
    "mse none": lambda t, F, x: F.mse_loss(x, t.ones(3, 4), reduction="none"),
    "mse broadcast": lambda t, F, x: F.mse_loss(x, t.ones(4)),
    "l1": lambda t, F, x: F.l1_loss(x, t.ones(3, 4)),
    "smooth_l1": lambda t, F, x: F.smooth_l1_loss(x, t.ones(3, 4)),
    "smooth_l1 beta": lambda t, F, x: F.smooth_l1_loss(x, t.ones(3, 4), beta=0.3, reduction="sum"),
    "huber": lambda t, F, x: F.huber_loss(x, t.ones(3, 4), delta=0.7),
    "nll": lambda t, F, x: F.nll_loss(x, t.tensor([0, 1, 2])),
    "nll weight": lambda t, F, x: F.nll_loss(
        x, t.tensor([0, 3, 2]), weight=t.tensor([1.0, 2, 3, 4])
    ),
    "nll ignore": lambda t, F, x: F.nll_loss(x, t.tensor([0, 3, 2]), ignore_index=3),
    "nll all ignored": lambda t, F, x: F.nll_loss(x, t.tensor([-100, -100, -100])),
    "nll one sample": lambda t, F, x: F.nll_loss(x[0], t.tensor(1)),
    "nll image": lambda t, F, x: F.nll_loss(x.view(1, 3, 2, 2), t.tensor([[[0, 1], [2, 1]]])),
    "cross_entropy": lambda t, F, x: F.cross_entropy(x, t.tensor([0, 1, 2])),
    "cross_entropy weight": lambda t, F, x: F.cross_entropy(
        x, t.tensor([0, 3, -100]), weight=t.tensor([1.0, 2, 3, 4])
    ),
    "cross_entropy smoothed": lambda t, F, x: F.cross_entropy(
        x, t.tensor([0, 1, 2]), label_smoothing=0.1
    ),
    "cross_entropy smoothed, weight, ignored": lambda t, F, x: F.cross_entropy(
        x, t.tensor([0, -100, 3]), weight=t.tensor([1.0, 2, 3, 4]), label_smoothing=0.1
    ),
    "cross_entropy sequence": lambda t, F, x: F.cross_entropy(
        x.view(1, 3, 4), t.tensor([[0, 1, 2, 1]]), label_smoothing=0.2
    ),
    "cross_entropy probabilities": lambda t, F, x: F.cross_entropy(x, t.full((3, 4), 0.25)),
    "cross_entropy probabilities, weight, smoothed": lambda t, F, x: F.cross_entropy(
        x, t.full((3, 4), 0.25), weight=t.tensor([1.0, 2, 3, 4]), label_smoothing=0.1
    ),
    "bce": lambda t, F, x: F.binary_cross_entropy(x.sigmoid(), t.full((3, 4), 0.3)),
    "bce at 0 and 1": lambda t, F, x: F.binary_cross_entropy(
        (x > 0).float(), t.full((3, 4), 1.0) + x * 0
    ),
    "bce logits": lambda t, F, x: F.binary_cross_entropy_with_logits(x, t.full((3, 4), 0.3)),
    "bce logits pos_weight": lambda t, F, x: F.binary_cross_entropy_with_logits(
        x, t.full((3, 4), 0.3), weight=t.tensor([1.0, 2, 3, 4]), pos_weight=t.tensor([4.0, 3, 2, 1])
    ),
    "bce logits far out": lambda t, F, x: F.binary_cross_entropy_with_logits(
        x * 100, t.full((3, 4), 0.3)
    ),
    "kl_div": lambda t, F, x: F.kl_div(x, t.full((3, 4), 0.25), reduction="batchmean"),
    "kl_div log_target": lambda t, F, x: F.kl_div(
        x, t.full((3, 4), -1.0), reduction="sum", log_target=True
    ),
    "cosine_embedding": lambda t, F, x: F.cosine_embedding_loss(
        x, t.ones(3, 4), t.tensor([1.0, -1, 1]), margin=0.2
    ),
    # the rest
    "cosine_similarity": lambda t, F, x: F.cosine_similarity(x, t.ones(3, 4)),
    "normalize": lambda t, F, x: F.normalize(x),
    "linear": lambda t, F, x: F.linear(x, t.arange(8.0).view(2, 4), t.ones(2)),
    "linear vector": lambda t, F, x: F.linear(x[0], t.arange(8.0).view(2, 4), t.ones(2)),
    "linear 3-D": lambda t, F, x: F.linear(x.view(1, 3, 4), t.arange(8.0).view(2, 4), t.ones(2)),
    "embedding": lambda t, F, x: F.embedding(t.tensor([2, 0, 2]), x),
    "embedding padding": lambda t, F, x: F.embedding(t.tensor([[2, 0], [1, 2]]), x, padding_idx=-1),
    "dropout": lambda t, F, x: F.dropout(x, 0.3),
    "dropout in place": lambda t, F, x: F.dropout(x * 1, 0.3, inplace=True),
    "dropout2d": lambda t, F, x: F.dropout2d(x.view(1, 3, 2, 2)),
}


def chain(node):
    """The graph below `node` as text, names without "Backward"; "A" is a leaf, "-" where no gradient goes."""
    if node is None:
        return "-"
    name = node.name().rsplit("::", 1)[-1].replace("Backward", "")
    return (
        "A"
        if name == "AccumulateGrad"
        else f"{name}({','.join(chain(n) for n, _ in node.next_functions)})"
    )


def saved(node):
    """What the node saves: shapes of tensors, values of attributes (unsigned numbers as the signed ones they are)."""
    values = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            if hasattr(value, "shape"):
                value = tuple(value.shape)
            elif isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
                value -= 2**64
            values[name] = repr(value)
    return values


def program(torch, function):
    F = torch.nn.functional
    torch.manual_seed(0)
    x = torch.tensor(X, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = function(torch, F, x)
    node = y.grad_fn
    found = {
        "value": y,
        "graph": chain(node),
        "saved": saved(node),
        "warnings": [str(w.message) for w in caught],
    }
    weights = torch.linspace(0.5, 1.5, y.numel()).view(y.shape).to(y.dtype)
    (found["gradient"],) = torch.autograd.grad(y, x, weights, create_graph=True)
    return found


OWN_GRAPH = {
    # functions whose graph differs, and why it may; values and gradients are compared all the same
    "cosine_embedding": "SubBackward1 of the margin there, AddBackward1 of its negative here",
    "celu": "an elu here, with alpha and 1 / alpha",
    "threshold": "a masked_fill here",
    "normalize": "clamp with one limit has no operation of its own",
    **dict.fromkeys(("glu", "rrelu"), "composed of other functions"),
}
OTHER_SAVED = {
    "logsigmoid",
    "embedding",
    "embedding padding",
}  # without what only PyTorch's kernels need
COMPARED = re.compile(
    "Relu|Elu|Selu|Celu|Gelu|Silu|Mish|Soft|Hard|LogSigmoid|Threshold|Prelu|Glu|Loss|Entropy|Embedding"
)


def comparable(name, found):
    """Without the graph where it is known to differ; what is saved only for activations, losses and embeddings."""
    if name in OWN_GRAPH:
        del found["graph"]
    if name in OWN_GRAPH or name in OTHER_SAVED or not COMPARED.match(found["graph"]):
        del found["saved"]
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_gradient_and_graph(name):
    check(
        "test_nn_functional",
        name,
        lambda torch: comparable(name, program(torch, FUNCTIONS[name])),
        rtol=4e-6,
    )


SMOOTH_TWICE = [
    "relu",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "gelu tanh",
    "silu",
    "softplus",
    "softplus beta",
    "softsign",
    "tanhshrink",
    "hardtanh",
    "logsigmoid",
    "softmax",
    "log_softmax",
    "mse",
    "smooth_l1 beta",
    "nll weight",
    "cross_entropy",
    "cross_entropy probabilities",
    "bce",
    "bce logits",
    "bce logits pos_weight",
    "cosine_similarity",
    "linear",
]


@pytest.mark.parametrize("name", SMOOTH_TWICE)
def test_gradient_of_the_gradient(name):
    def twice(torch):
        torch.manual_seed(0)
        x = torch.tensor(X, requires_grad=True, dtype=torch.float64)
        convert = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            y = FUNCTIONS[name](torch, torch.nn.functional, x)
            (g,) = torch.autograd.grad(
                (y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum().sin(),
                x,
                create_graph=True,
            )
            (second,) = torch.autograd.grad((g * g).sum(), x)
            return second
        finally:
            torch.set_default_dtype(convert)

    check("test_nn_functional", f"twice {name}", twice, rtol=1e-9)


IN_PLACE = [
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "silu",
    "hardtanh",
]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_means_in_place(name):
    """The same tensor comes back with new values and a higher version; a graph that saved the old values is stale."""

    def written(torch):
        x = torch.tensor(X)
        y = getattr(torch.nn.functional, name)(x, inplace=True)
        leaf = torch.tensor(X, requires_grad=True)
        h = leaf * 1
        square = h * h
        getattr(torch.nn.functional, name)(h, inplace=True)
        stale = error_of(lambda: square.sum().backward())
        return [y is x, x, x._version, h._version, "is at version 1; expected version 0" in stale]

    check("test_nn_functional", f"in place {name}", written, rtol=4e-6)


def test_layers_in_place():
    torch = engine()
    x = torch.tensor([-1.0, 2.0])
    assert torch.nn.ReLU(inplace=True)(x) is x and x.tolist() == [0.0, 2.0] and x._version == 1
    y = torch.ones(8)
    torch.manual_seed(0)
    assert torch.nn.Dropout(0.5, inplace=True)(y) is y and sorted(set(y.tolist())) == [0.0, 2.0]
    assert torch.nn.Threshold(1.0, 7.0, inplace=True)(y) is y and sorted(set(y.tolist())) == [
        2.0,
        7.0,
    ]
