"""What PyTorch calls an op of the registry, where the name alone does not tell. `t` is the torch module; arguments are
the record's."""

import engine_counterparts_nn as networks

REDUCTIONS = ("none", "mean", "sum")


def _zeros(t, like, shape):
    return t.zeros(shape, dtype=like.dtype)


def _nll(t, x, target, weight, reduction, ignore_index=-100):
    return t.nn.functional.nll_loss(
        x, target, weight, reduction=REDUCTIONS[reduction], ignore_index=ignore_index
    )


def _strided_put(t, x, source, geometry):
    _, _, size, stride, offset = geometry
    y = x.clone()
    y.as_strided(size, stride, offset).copy_(source)
    return y


def _strided_take(t, x, geometry):
    shape, stride, piece, piece_stride, offset = geometry
    base = t.zeros(12, dtype=x.dtype).as_strided(shape, stride)
    positions = t.arange(12).as_strided(shape, stride).reshape(-1)
    count = (
        t.zeros(12, dtype=x.dtype)
        .index_add(0, positions, t.ones(base.numel(), dtype=x.dtype))
        .clamp(min=1)
    )
    memory = t.zeros(12, dtype=x.dtype).index_add(0, positions, x.reshape(-1)) / count
    return memory.as_strided(piece, piece_stride, offset).clone()


def _strided_spread(t, g, geometry):
    shape, stride, piece, piece_stride, offset = geometry
    base = t.zeros(12, dtype=g.dtype).as_strided(shape, stride).detach().requires_grad_()
    with t.enable_grad():
        shown = base.as_strided(piece, piece_stride, offset)
    return t.autograd.grad(shown, base, g, create_graph=g.requires_grad)[0]


COUNTERPARTS = {
    # arithmetic
    "add": lambda t, x, y: x + y,
    "sub": lambda t, x, y: x - y,
    "div": lambda t, x, y: x / y,
    "pow_scalar": lambda t, x, e: x**e,
    "pow_tensor": lambda t, x, e: x**e,
    "pow_base": lambda t, x, e: x**e,
    "rsub": lambda t, x, y: y - x,
    "sum_to": lambda t, x, size: x.sum_to_size(size),
    "mul_scalar": lambda t, x, y: t.ops.aten.mul.Scalar(x, y),
    "div_scalar": lambda t, x, y: t.ops.aten.div.Scalar(x, y),
    "add_scalar": lambda t, x, y: t.ops.aten.add.Scalar(x, y),
    "div_count": lambda t, x, n: t.ops.aten.div.Scalar(x, n),
    "div_mode": lambda t, x, y, mode: t.div(x, y, rounding_mode=mode),
    "floor_divide": lambda t, x, y: x // y,
    "fmod_scalar": lambda t, x, y: t.fmod(x, y),
    "fmod_tensor": lambda t, x, y: t.fmod(x, y),
    "remainder_scalar": lambda t, x, y: x % y,
    "remainder_tensor": lambda t, x, y: x % y,
    "round_decimals": lambda t, x, decimals: t.round(x, decimals=decimals),
    "matmul_raw": lambda t, x, y: t.matmul(x, y),
    # writing
    "copy": lambda t, x, source: (x * 1).copy_(source),
    "fill": lambda t, x, value: (x * 1).fill_(value),
    "fill_tensor": lambda t, x, value: (x * 1).fill_(value),
    "zero": lambda t, x: (x * 1).zero_(),
    "to_copy": lambda t, x, dtype: x.to(getattr(t, dtype.name), copy=True),
    # shapes
    "squeeze_product": lambda t, x, dim: (x * 1).squeeze_(dim),
    "squeeze_dim": lambda t, x, dim: x.squeeze(dim),
    "max_dim": lambda t, x, dim, keepdim=False: t.max(x, dim, keepdim),
    "min_dim": lambda t, x, dim, keepdim=False: t.min(x, dim, keepdim),
    "squeeze_dims": lambda t, x, dims: x.squeeze(dims),
    "expand": lambda t, x, size: x.expand(size),
    "repeat": lambda t, x, sizes: x.repeat(sizes),
    "unsafe_view": lambda t, x, size: t.ops.aten._unsafe_view(x, size),
    "view": lambda t, x, size: x.view(size),
    "reshape_raw": lambda t, x, size: x.reshape(size),
    "clone": lambda t, x, *rest: x.clone(),
    "unbind": lambda t, x, *dim: x.unbind(*dim),
    "split": lambda t, x, size, *dim: t.split(x, size, *dim),
    "split_with_sizes": lambda t, x, sizes, *dim: t.split(x, sizes, *dim),
    "scatter_value": lambda t, x, dim, index, value: x.scatter(dim, index, value),
    "grid_sampler_2d": lambda t, x, grid, align: t.grid_sampler_2d(x, grid, 0, 0, align),
    "diagonal_spread": lambda t, g, shape, offset, dim1, dim2: t.ops.aten.diagonal_backward(
        g, shape, offset, dim1, dim2
    ),
    "unfold_spread": lambda t, g, shape, dim, size, step: t.ops.aten.unfold_backward(
        g, shape, dim, size, step
    ),
    "strided_take": _strided_take,
    "strided_spread": _strided_spread,
    "strided_put": _strided_put,
    # reductions
    **{
        f"{name}_all": lambda t, x, name=name, **options: getattr(t, name)(x, **options)
        for name in ("sum", "mean", "prod", "max", "min")
    },
    **{
        name: lambda t, x, dim=None, correction=1, keepdim=False, name=name: getattr(t, name)(
            x, dim, correction=correction, keepdim=keepdim
        )
        for name in ("std", "var")
    },
    # activations and losses: PyTorch's inner ops take further arguments, or theirs in another order
    "_softmax": lambda t, x, dim: t.softmax(x, dim),
    "_log_softmax": lambda t, x, dim: t.log_softmax(x, dim),
    "_softmax_backward_data": lambda t, g, y, dim: t.ops.aten._softmax_backward_data(
        g, y, dim, g.dtype
    ),
    "_log_softmax_backward_data": lambda t, g, y, dim: t.ops.aten._log_softmax_backward_data(
        g, y, dim, g.dtype
    ),
    "log_sigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "nll_loss": _nll,
    "nll_loss2d": _nll,
    **networks.COUNTERPARTS,
}

# Ops that PyTorch has no op for, because it composes them or does them inside another: the name of the node is not
# compared.
ONLY_HERE = {
    "sum_to",
    "matmul_raw",
    "reshape_raw",
    "strided_take",
    "strided_spread",
    "strided_put",
    "lerp",  # LerpBackward1 where the weight is a tensor
    # PyTorch has it, with a wrong gradient
    "copy",
    "fill",
    "fill_tensor",
    "zero",
} | networks.ONLY_HERE

# Ops that return, besides the result, what only their own rule needs.
INNER_OUTPUTS = networks.INNER_OUTPUTS | {
    "nll_loss",
    "nll_loss2d",
}

# Ops whose rule refuses, in PyTorch's words.
NO_DERIVATIVE = {
    "floor_divide",
    "linalg_eigh",  # its backward pass raises NotImplementedError
}
