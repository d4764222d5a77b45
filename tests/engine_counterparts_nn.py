"""What PyTorch calls the ops of convolution, pooling and normalisation; see `engine_counterparts.py`."""


def _max_pool(t, x, kernel_size, stride, *rest, indices=False):
    return t.nn.functional.max_pool2d(x, kernel_size, stride or None, *rest, return_indices=indices)


COUNTERPARTS = {
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
}

# Formulas that say what moves where, not a number for each element.
_MOVES = (
    "constant_pad_nd reflection_pad1d reflection_pad2d replication_pad1d "
    "replication_pad2d upsample_nearest2d upsample_bilinear2d _upsample_bilinear2d_aa "
    "reflection_pad3d replication_pad3d"
).split()
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
