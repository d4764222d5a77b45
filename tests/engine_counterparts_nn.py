"""What PyTorch calls the ops of convolution, pooling and normalisation; see `engine_counterparts.py`."""


def _convolve(t, x, weight, geometry):
    convolve = t.conv2d if len(geometry.size) == 2 else t.conv1d
    return convolve(
        x, weight, None, geometry.stride, geometry.padding, geometry.dilation, geometry.groups
    )


def _adjoint(t, g, geometry, x, weight, which):
    """The gradient of a convolution towards `x` or `weight`, as a function of g and the other one."""
    live = t.zeros(*which, dtype=g.dtype, requires_grad=True)
    out = _convolve(
        t, x if x is not None else live, weight if weight is not None else live, geometry
    )
    return t.autograd.grad(out, live, g, create_graph=True)[0]


def _grad_input(t, g, weight, geometry):
    return _adjoint(
        t,
        g,
        geometry,
        None,
        weight,
        (g.shape[0], weight.shape[1] * geometry.groups, *geometry.size),
    )


def _grad_weight(t, g, x, geometry):
    return _adjoint(
        t, g, geometry, x, None, (g.shape[1], x.shape[1] // geometry.groups, *geometry.kernel)
    )


def _max_pool(t, x, kernel_size, stride, *rest, indices=False):
    return t.nn.functional.max_pool2d(x, kernel_size, stride or None, *rest, return_indices=indices)


COUNTERPARTS = {
    "convolution_apply": _convolve,
    "convolution_grad_input": _grad_input,
    "convolution_grad_weight": _grad_weight,
    "convolution_grad_bias": lambda t, g: g.sum([d for d in range(g.ndim) if d != 1]),
    "max_pool2d": _max_pool,
    "max_pool2d_indices": lambda t, *args: _max_pool(t, *args, indices=True)[1],
    "avg_pool2d": lambda t, x, kernel_size, stride, *rest: t.nn.functional.avg_pool2d(
        x, kernel_size, stride or None, *rest
    ),
    "avg_pool2d_backward": lambda t, g, x, *rest: t.ops.aten.avg_pool2d_backward(g, x, *rest),
    "max_pool2d_with_indices_backward": lambda t, g, x, indices: (
        t.ops.aten.adaptive_max_pool2d_backward(g, x, indices)
    ),
    "_adaptive_avg_pool2d_backward": lambda t, g, x, size: t.ops.aten._adaptive_avg_pool2d_backward(
        g, x
    ),
    "adaptive_max_pool2d": lambda t, x, size: t.nn.functional.adaptive_max_pool2d(x, size, True),
}

ONLY_HERE = {
    "max_pool2d_with_indices_backward",
    "convolution_apply",
    "convolution_grad_input",
    "convolution_grad_weight",
    "convolution_grad_bias",
}

# Formulas that say what moves where, not a number for each element.
_MOVES = (
    "constant_pad_nd",
    "reflection_pad1d",
    "reflection_pad2d",
    "replication_pad1d",
    "replication_pad2d",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_linear1d",
    "upsample_bilinear2d",
    "upsample_bicubic2d",
    "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
    "reflection_pad3d",
    "replication_pad3d",
)
NOT_NUMBERS = dict.fromkeys(_MOVES, "value self") | (
    dict.fromkeys(("convolution",), "value input weight bias")
    | dict.fromkeys(
        (
            "max_pool2d",
            "adaptive_max_pool2d",
            "avg_pool2d",
            "_adaptive_avg_pool2d",
        ),
        "value self",
    )
    | dict.fromkeys(
        ("native_batch_norm", "native_layer_norm", "native_group_norm"),
        "value input weight bias",
    )
)

# Ops that return, besides the result, what only their own rule needs.
INNER_OUTPUTS = {"native_batch_norm", "native_layer_norm", "native_group_norm"}
