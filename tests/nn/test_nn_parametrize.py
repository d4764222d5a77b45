"""Parametrizations and spectral norm against PyTorch."""

import pytest
from goldens.oracle import check, error_of, same_as_torch

import autolab


def symmetric(torch, with_inverse=True):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        if with_inverse:

            def right_inverse(self, value):
                return value.triu()

    return Symmetric()


@same_as_torch
def test_a_symmetric_weight(torch):
    P = torch.nn.utils.parametrize
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 3)
    returned = P.register_parametrization(layer, "weight", symmetric(torch))
    found = [returned is layer, repr(layer), layer.weight, sorted(layer.state_dict())]
    found += [P.is_parametrized(layer), P.is_parametrized(layer, "bias"), type(layer).__name__]
    layer(torch.ones(2, 3)).sum().backward()
    found += [layer.parametrizations.weight.original.grad, layer.bias.grad]
    P.register_parametrization(layer, "weight", symmetric(torch))
    layer.weight = torch.arange(9.0).reshape(3, 3)
    found += [layer.weight, len(layer.parametrizations.weight)]
    P.remove_parametrizations(layer, "weight")
    found += [repr(layer), layer.weight, [name for name, _ in layer.named_parameters()]]
    P.register_parametrization(layer, "bias", torch.nn.Tanh())
    found += [layer.bias, error_of(lambda: setattr(layer, "bias", torch.ones(3))).split(".")[0]]
    P.remove_parametrizations(layer, "bias", leave_parametrized=False)
    return [*found, layer.bias, type(layer) is torch.nn.Linear]


def test_errors_of_parametrizations():
    P, layer = autolab.nn.utils.parametrize, autolab.nn.Linear(2, 3)
    flatten = autolab.nn.Flatten(0)
    for action, words in (
        (lambda: P.register_parametrization(layer, "w", flatten), "with name 'w'"),
        (lambda: P.register_parametrization(layer, "weight", flatten), "may not change the shape"),
        (lambda: P.remove_parametrizations(layer, "weight"), "does not have a parametrization"),
    ):
        with pytest.raises(ValueError, match=words):
            action()
    P.register_parametrization(layer, "weight", flatten, unsafe=True)
    assert layer.weight.shape == (6,)


LAYERS = ("Linear(3, 4)", "Conv2d(2, 3, 2)", "ConvTranspose2d(2, 3, 2)")


@pytest.mark.parametrize("layer", LAYERS)
def test_spectral_norm(layer):
    def program(torch):
        torch.manual_seed(0)
        module = eval(f"torch.nn.{layer}", {"torch": torch})
        returned = torch.nn.utils.spectral_norm(module) is module
        x = torch.ones(2, 3) if "Linear" in layer else torch.ones(1, 2, 4, 4)
        difference = module(x).sum() - (2 * module(x)).sum()
        difference.backward()
        grads = {name: p.grad for name, p in module.named_parameters()}
        module.eval()
        state = {name: value.clone() for name, value in module.state_dict().items()}
        return [returned, repr(module), sorted(state), state, module(x), grads, module(x)]

    check("test_nn_parametrize", f"spectral norm of {layer}", program, rtol=2e-5, atol=1e-6)


def test_errors_of_spectral_norm():
    norm, layer = autolab.nn.utils.spectral_norm, autolab.nn.Linear(2, 2)
    with pytest.raises(ValueError, match="no parameter or buffer with name 'w'"):
        norm(layer, "w")
    with pytest.raises(ValueError, match="Expected n_power_iterations to be positive"):
        norm(layer, n_power_iterations=0)
