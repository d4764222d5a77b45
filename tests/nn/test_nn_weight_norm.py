"""`nn.utils.weight_norm` against PyTorch: the two parameters, their gradients and graph, saving, removing, errors."""

import copy
import warnings

import pytest
from goldens.oracle import check, error_of

import autolab

LAYERS = {
    "linear": (lambda nn: nn.Linear(3, 2), (4, 3), 0),
    "linear, columns": (lambda nn: nn.Linear(3, 2), (4, 3), 1),
    "linear, one length": (lambda nn: nn.Linear(3, 2), (4, 3), None),
    "conv": (lambda nn: nn.Conv2d(2, 3, 2), (1, 2, 4, 4), 0),
    "conv, inner": (lambda nn: nn.Conv2d(2, 3, 2), (1, 2, 4, 4), 1),
    "conv, last": (lambda nn: nn.Conv2d(2, 3, 2), (1, 2, 4, 4), 3),
}


def normed(t, name):
    t.manual_seed(4)
    make, shape, dim = LAYERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        layer = t.nn.utils.weight_norm(make(t.nn), dim=dim)
    return layer, t.linspace(-1, 2, autolab.Size(shape).numel()).sin().view(shape)


@pytest.mark.parametrize("name", LAYERS)
def test_training(name):
    """Two steps: the weight follows its parts, and the gradient of the direction is orthogonal to it."""

    def program(t):
        layer, x = normed(t, name)
        found = [
            layer.weight,
            layer.weight.grad_fn.name(),
            layer.weight_g,
            layer.weight_v,
            list(layer.state_dict()),
            repr(layer),
        ]
        optimizer = t.optim.SGD(layer.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            y = layer(x)
            (y * y).sum().backward()
            optimizer.step()
            found += [y, layer.weight_g.grad, layer.weight_v.grad, layer.weight]
        t.nn.utils.remove_weight_norm(layer)
        found += [
            layer.weight,
            [n for n, _ in layer.named_parameters()],
            len(layer._forward_pre_hooks),
            layer(x),
        ]
        return found

    check("test_nn_weight_norm", name, program, rtol=4e-6, atol=1e-6)


def test_saving_and_copying():
    def program(t):
        (layer, x), (other, _) = normed(t, "linear"), normed(t, "linear")
        with t.no_grad():
            other.weight_g.mul_(2)
        said = error_of(lambda: copy.deepcopy(layer))
        other.load_state_dict(layer.state_dict())
        return [
            said,
            other(x) - layer(x),
            str(other.load_state_dict({"bias": layer.bias}, strict=False)),
        ]

    check("test_nn_weight_norm", "saving", program)


def test_errors_and_the_warning():
    def program(t):
        layer, _ = normed(t, "linear")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            twice = error_of(lambda: t.nn.utils.weight_norm(layer))
            t.nn.utils.weight_norm(t.nn.Linear(2, 2), "bias")
        absent = error_of(lambda: t.nn.utils.remove_weight_norm(layer, "bias"))
        missing = error_of(lambda: t.nn.utils.weight_norm(t.nn.ReLU()))
        return [
            twice,
            absent,
            missing,
            [(w.category.__name__, str(w.message)) for w in caught[-1:]],
        ]

    check("test_nn_weight_norm", "errors", program)


def test_norm_except_dim():
    def program(t):
        v = t.linspace(-1, 2, 24).view(2, 3, 4)
        return [t.norm_except_dim(v, p, dim) for p in (1, 2) for dim in (0, 1, 2, -1)]

    check("test_nn_weight_norm", "norm_except_dim", program)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gradcheck(dim):
    from autolab.engine.ops.further.weight_norm import weight_normalized

    autolab.manual_seed(0)
    v = autolab.randn(2, 3, 2, dtype=autolab.float64, requires_grad=True)
    g = autolab.norm_except_dim(v.detach() * 1.5, 2, dim).requires_grad_()
    function = lambda v, g: weight_normalized(v, g, dim)
    assert autolab.autograd.gradcheck(function, (v, g)) and autolab.autograd.gradgradcheck(
        function, (v, g)
    )
