"""The profiler on networks: which calls nest in which, compared with PyTorch's."""

import pytest
from engine_profiles import nothing_is_left_watching, of  # noqa: F401 (a fixture)
from goldens.oracle import check, error_of

import autolab
from autolab.autograd import profiler
from autolab.profiler import functions as profiler_functions

# What PyTorch calls inside its kernels, and nothing corresponds to here: see docs/differences.md.
INSIDE_KERNELS = {
    f"aten::{name}"
    for name in "mkldnn_convolution thnn_conv2d _slow_conv2d_forward _nnpack_available as_strided_ resize_ resolve_conj copy_ to "
    "_to_copy empty_strided _local_scalar_dense div_".split()
}


def tree(events, without=INSIDE_KERNELS):
    """The calls as nested text, without those named and what is inside them."""

    def text(event):
        inside = " ".join(text(e) for e in event.cpu_children if e.name not in without)
        return f"{event.name}({inside})" if inside else event.name

    return [text(e) for e in events if e.cpu_parent is None and e.name not in without]


def lenet(t):
    """A network with layers of most kinds, a batch and its labels."""
    t.manual_seed(0)
    nn = t.nn
    network = nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 120),
        nn.ReLU(),
        nn.Linear(120, 10),
    )
    return network, t.rand(4, 1, 28, 28), t.tensor([1, 2, 3, 4])


def training_step(t, **options):
    network, x, y = lenet(t)
    optimizer = t.optim.SGD(network.parameters(), lr=0.1)
    network(x).sum().backward()
    with t.autograd.profiler.profile(**options) as prof:
        loss = t.nn.functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss
    return prof


def test_the_calls_of_a_forward_pass_nest_as_pytorchs():
    """Without what PyTorch prepares inside `addmm` (`expand` of the bias)."""

    def program(t):
        events = training_step(t).function_events
        end = next(k for k, e in enumerate(events) if e.name.startswith("Optimizer.zero_grad"))
        without = INSIDE_KERNELS | {"aten::empty", "aten::expand", "aten::fill_"}
        return tree(events[: end + 1], without)

    check("test_profiler_calls", "forward pass", program)


ONLY_PYTORCH = INSIDE_KERNELS | {
    f"aten::{name}"
    for name in "empty expand ones_like empty_like fill_ zero_ add_ as_strided t transpose view".split()
}
"""Calls of a training step that are not, or not as often, here."""


def test_the_calls_of_a_training_step():
    def program(t):
        counts = {a.key: a.count for a in training_step(t).key_averages()}
        return {name: counts[name] for name in sorted(counts) if name not in ONLY_PYTORCH}

    check("test_profiler_calls", "training step", program)


FUNCTIONS = {
    "linear": lambda t, x: t.nn.functional.linear(x, x, x[0]),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[None], x[:2, :, None]),
    "views": lambda t, x: [
        x.t(),
        x[0],
        x[:, 1:2],
        x.unsqueeze(0),
        x.permute(1, 0),
        x.expand(2, 4, 4),
        x.flatten(),
    ],
    "reshape": lambda t, x: x.reshape(2, 8),
    "losses": lambda t, x: [
        t.nn.functional.cross_entropy(x, t.arange(4)),
        t.nn.functional.softmax(x, 1),
    ],
    "ones": lambda t, x: [
        t.ones(2, 3),
        t.zeros(4),
        t.rand(2),
        t.randn(3),
        t.full((2,), 3.0),
        t.empty(2),
    ],
    "matmul": lambda t, x: [x @ x],
    "normalized": lambda t, x: [
        t.nn.functional.layer_norm(x, (4,)),
        t.nn.functional.batch_norm(x, None, None, training=True),
    ],
    "pooled": lambda t, x: [
        t.nn.functional.max_pool2d(x[None], 2),
        t.nn.functional.avg_pool2d(x[None], 2),
    ],
    "relu": lambda t, x: [
        x.relu(),
        t.nn.functional.relu(x),
        x.clone().relu_(),
        t.nn.functional.relu(x.clone(), inplace=True),
    ],
    "chunk": lambda t, x: t.stack([x, x]),
}


PARTS = {"linear": "expand", "conv1d": "unsqueeze squeeze", "chunk": "view"}
PARTS["normalized"] = "view empty_like zeros zero_"
"""What PyTorch calls inside these, where one kernel does it here."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_nest_as_pytorchs(name):
    def program(t):
        x = t.arange(16.0).reshape(4, 4)
        with t.autograd.profiler.profile() as prof:
            FUNCTIONS[name](t, x)
        without = INSIDE_KERNELS | {f"aten::{part}" for part in PARTS.get(name, "").split()}
        return tree(
            prof.function_events,
            without if name == "ones" else without | {"aten::empty", "aten::arange"},
        )

    check("test_profiler_calls", f"functions: {name}", program)


def test_functions_are_as_before_after_a_profile():
    linear = autolab.nn.functional.linear
    code = linear.__code__
    with pytest.raises(ZeroDivisionError):
        with profiler.profile():
            assert linear.__code__ is not code
            raise ZeroDivisionError
    assert linear.__code__ is code and profiler_functions._exchanged == []


def test_errors_about_arguments_are_those_without_a_profiler():
    mistakes = [
        lambda: autolab.nn.functional.linear(),
        lambda: autolab.ones(2).reshape(),
        lambda: autolab.eye(2, what=3),
    ]
    plain = [error_of(mistake) for mistake in mistakes]
    with profiler.profile():
        assert [error_of(mistake) for mistake in mistakes] == plain
    assert all(text.startswith(("TypeError", "RuntimeError")) for text in plain)
