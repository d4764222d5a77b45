"""Unpooling, power-average pooling, response normalisation, antialiased resizing and padding of volumes against
PyTorch."""

import itertools

import pytest
from goldens.oracle import check, error_of, same_as_torch
from nn.test_nn_functional import chain, saved


def images(t, *shape):
    """Distinct numbers of both signs, the same in either library."""
    count = t.Size(shape).numel()
    return ((t.arange(count, dtype=t.float64) * 7 % count) / count - 0.4).reshape(shape)


def volume(t):
    return images(t, 2, 3, 4, 5, 4)


def unpooled(t, x, *options, **wanted):
    y, indices = t.nn.functional.max_pool2d(x, *options, return_indices=True)
    return t.nn.functional.max_unpool2d(y, indices, *options, **wanted)


def unpooled_sequence(t, x):
    y, indices = t.nn.functional.max_pool1d(x, 2, return_indices=True)
    return t.nn.functional.max_unpool1d(y, indices, 2)


def placed(t, x):
    indices = (t.arange(8) * 5).reshape(1, 1, 2, 2, 2).expand(2, 3, 2, 2, 2)
    return t.nn.functional.max_unpool3d(x[:, :, :2, :2, :2], indices, 2)


FUNCTIONS = {
    "max_unpool2d": lambda t, i: unpooled(t, i[..., :4], 2),
    "max_unpool2d windows": lambda t, i: unpooled(t, i, (2, 3), (2, 3), (1, 0), output_size=(6, 5)),
    "max_unpool2d size": lambda t, i: unpooled(t, i, 2, output_size=(2, 3, 6, 5)),
    "max_unpool2d one image": lambda t, i: unpooled(t, i[0, :, :, :4], 2),
    "max_unpool1d": lambda t, i: unpooled_sequence(t, i[0]),
    "max_unpool3d": lambda t, i: placed(t, i.unsqueeze(2).expand(2, 3, 2, 6, 5)),
    "lp_pool2d": lambda t, i: t.nn.functional.lp_pool2d(i, 2, 2),
    "lp_pool2d odd": lambda t, i: t.nn.functional.lp_pool2d(i, 3.0, (3, 2), 1, ceil_mode=True),
    "lp_pool2d inf": lambda t, i: t.nn.functional.lp_pool2d(i, float("inf"), 3, 2),
    "lp_pool2d -inf": lambda t, i: t.nn.functional.lp_pool2d(i, -float("inf"), 2),
    "lp_pool1d": lambda t, i: t.nn.functional.lp_pool1d(i[0].abs() + 0.1, 1.5, 2, 1),
    "local_response_norm of sequences": lambda t, i: t.nn.functional.local_response_norm(
        i[0], 2, 1e-2, 0.5, 2.0
    ),
    **{
        f"{mode} {size} {corners}": lambda t, i, mode=mode, size=size, corners=corners: (
            t.nn.functional.interpolate(i, size, mode=mode, antialias=True, align_corners=corners)
        )
        for mode, size, corners in itertools.product(
            ("bilinear", "bicubic", "lanczos"), ((3, 2), (11, 3), (6, 9), (1, 1)), (False, True)
        )
        if not (mode == "lanczos" and corners)
    },
    "bilinear by a factor": lambda t, i: t.nn.functional.interpolate(
        i, scale_factor=(0.55, 1.7), mode="bilinear", antialias=True
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_graph_and_derivatives(name):
    def program(t):
        x = images(t, 2, 3, 6, 5).requires_grad_()
        y = FUNCTIONS[name](t, x)
        seed = t.cos(t.arange(float(y.numel()), dtype=t.float64)).reshape(y.shape)
        (g,) = t.autograd.grad(y, x, seed, create_graph=True)
        second = (
            t.autograd.grad(g.square().sum(), x, allow_unused=True)[0] if g.requires_grad else None
        )
        return [y, chain(y.grad_fn), saved(y.grad_fn), g, second]

    check("test_unpooling", name, program, rtol=1e-10, atol=1e-13)


def test_response_norm_of_images_and_volumes():
    """Numbers and gradients; the graph has a mean over images where PyTorch's has one over volumes."""

    def program(t):
        found = []
        for x in (images(t, 2, 7, 3, 4), volume(t)):
            x.requires_grad_()
            y = t.nn.functional.local_response_norm(x, 4, alpha=0.3)
            found += [y, *t.autograd.grad(y.sum(), x)]
        return [found, t.nn.functional.local_response_norm(t.ones(0, 3, 2, 2), 2)]

    check("test_unpooling", "local_response_norm", program, rtol=1e-10)


@same_as_torch
def test_padding_of_volumes(torch):
    found = []
    for mode, pad in itertools.product(
        ("reflect", "replicate", "circular"), ((1, 2, 0, 3, 2, 1), (-1, 1, 0, 0, 0, 2))
    ):
        x = volume(torch).requires_grad_()
        y = torch.nn.functional.pad(x, pad, mode=mode)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        found.append([y, y.grad_fn.name(), g, torch.autograd.grad(g.sum(), x)[0]])
    return found


@same_as_torch
def test_layers(torch):
    nn, found = torch.nn, []
    x = images(torch, 2, 3, 6, 5)
    for layer in (
        nn.LPPool2d(2, 3),
        nn.LPPool2d(1.0, (2, 3), stride=1, ceil_mode=True),
        nn.LocalResponseNorm(2),
        nn.LocalResponseNorm(3, 0.1, 0.5, 2.0),
    ):
        found += [repr(layer), layer(x)]
    for layer in (
        nn.ReflectionPad3d(1),
        nn.ReplicationPad3d((1, 2, 3, 4, 5, 6)),
        nn.CircularPad3d(2),
    ):
        found += [repr(layer), layer(volume(torch))]
    y, indices = nn.MaxPool2d(2, stride=3, return_indices=True)(x)
    for layer, size in (
        (nn.MaxUnpool2d(2, 3), x.size()),
        (nn.MaxUnpool2d((2, 2), (3, 3), 0), None),
    ):
        found += [repr(layer), layer(y, indices, output_size=size)]
    sequences = nn.MaxPool1d(2, return_indices=True)(x[0])
    found += [repr([nn.MaxUnpool1d(2), nn.MaxUnpool3d(2, padding=1), nn.LPPool1d(2, 3)])]
    found += [nn.MaxUnpool1d(2)(*sequences), nn.LPPool1d(2, 3, 1)(x[0])]
    found += [*torch.nn.functional.adaptive_max_pool2d_with_indices(x, (2, 3))]
    found += [*torch.nn.functional.max_pool1d_with_indices(x[0], 3, 2, 1)]
    return found


WRONG = {
    "indices of another dtype": lambda F, t, y, i: F.max_unpool2d(y, i.int(), 2),
    "indices of another shape": lambda F, t, y, i: F.max_unpool2d(y, i[:, :1], 2),
    "indices too big": lambda F, t, y, i: F.max_unpool2d(y, i + 20, 2),
    "indices too small": lambda F, t, y, i: F.max_unpool2d(y, i - 16, 2),
    "two dimensions": lambda F, t, y, i: F.max_unpool2d(y[0, 0], i[0, 0], 2),
    "a size that cannot be": lambda F, t, y, i: F.max_unpool2d(y, i, 2, output_size=(9, 9)),
    "a size too short": lambda F, t, y, i: F.max_unpool2d(y, i, 2, output_size=(9,)),
    "padding beyond the image": lambda F, t, y, i: F.max_unpool2d(y, i, 2, padding=4),
    "integers": lambda F, t, y, i: F.max_unpool2d(y.int(), i, 2),
    "no channels": lambda F, t, y, i: F.max_unpool2d(
        t.ones(1, 0, 2, 2), t.zeros(1, 0, 2, 2, dtype=t.long), 2
    ),
    "a stride of 0": lambda F, t, y, i: F.max_unpool3d(y[None], i[None], 2, 0),
    "volumes: indices of another dtype": lambda F, t, y, i: F.max_unpool3d(
        y[None], i[None].int(), 2
    ),
    "volumes: indices too big": lambda F, t, y, i: F.max_unpool3d(y[None], i[None] + 99, 2),
    "antialias of sequences": lambda F, t, y, i: F.interpolate(
        y[0], 2, mode="linear", antialias=True
    ),
    "antialias of integers": lambda F, t, y, i: F.interpolate(
        y.int(), (3, 3), mode="bilinear", antialias=True
    ),
    "lanczos without antialias": lambda F, t, y, i: F.interpolate(y, (2, 2), mode="lanczos"),
    "lanczos with corners": lambda F, t, y, i: F.interpolate(
        y, (2, 2), mode="lanczos", antialias=True, align_corners=True
    ),
    "lanczos of sequences": lambda F, t, y, i: F.interpolate(y[0], 2, mode="lanczos"),
    "response norm of rows": lambda F, t, y, i: F.local_response_norm(y[0, 0], 2),
    "windows that do not fit": lambda F, t, y, i: F.lp_pool2d(y, 2, 5),
    "reflection of a volume": lambda F, t, y, i: F.pad(
        t.ones(1, 2, 4, 4, 4), (1, 1, 1, 4, 1, 1), mode="reflect"
    ),
    "an empty volume": lambda F, t, y, i: F.pad(
        t.ones(1, 2, 0, 4, 4), (1, 1, 1, 1, 1, 1), mode="replicate"
    ),
    "a volume of bools": lambda F, t, y, i: F.pad(
        t.ones(1, 2, 3, 4, 4) > 0, (1, 1, 1, 1, 1, 1), mode="reflect"
    ),
    "circular padding of an image": lambda F, t, y, i: t.nn.CircularPad3d(1)(y[0]),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    def program(t):
        y, indices = t.nn.functional.max_pool2d(images(t, 1, 2, 4, 4), 2, return_indices=True)
        return error_of(lambda: WRONG[name](t.nn.functional, t, y, indices))

    only_cpu = "a GPU tells at the next wait (test_devices_demands.py)" if "too" in name else ""
    check("test_unpooling", f"error: {name}", program, only_cpu)
