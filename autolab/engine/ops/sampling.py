"""Random tensors: `rand`, `randn`, `randint`, `randperm`, `normal`, `bernoulli`, `multinomial`.

All draw from `generator=` or from the global stream, in the order and to the bit of PyTorch (see
`engine/exact/random.py`). Source: https://docs.pytorch.org/docs/2.13/torch.html#random-sampling
"""

import numpy as np

from ..devices import device as devices
from ..exact import draws, random
from ..exact.arguments import check_fits, mismatch, Options, shape_of
from ..exact.broadcasting import broadcast_error
from ..core.dtype import FROM_NUMPY, int64
from ..core.errors import fail
from .functions import NAMESPACES, composite, internal
from ..core.tensor import Tensor, wrap
from .filling import like

for _name in set(random.__all__) - {"fork_rng"}:
    NAMESPACES[""][_name] = getattr(random, _name)


# -- new tensors -------------------------------------------------------------------------------------------------------
def _drawing(name, draw, words):
    """Make `name` and `<name>_like` public: draw(target, dtype, 0, 1, generator)."""

    @composite(name)
    def of_a_shape(*size, generator=None, **options):
        made, g = Options(name, options), draws.source(generator)
        target = draws.shaped(shape_of(name, size))
        return made.tensor(draw(target, made.dtype_or_default(), 0.0, 1.0, g))

    @composite(f"{name}_like")
    def of_its_shape(input, *, generator=None, **options):
        made, array = like(f"{name}_like", input, options)
        return made.tensor(draw(array, made.dtype, 0.0, 1.0, draws.source(generator)))

    of_a_shape.__doc__ = f"Return {words} in the given shape. Source: torch.{name}."
    words = f"Return {words}, with the shape, dtype and device of `input`."
    of_its_shape.__doc__ = f"{words} Source: torch.{name}_like."


_drawing("rand", draws.uniform, "numbers uniform in [0, 1)")
_drawing("randn", draws.normal, "standard normal numbers")


@composite()
def randint(*, low=0, high, size, generator=None, **options):
    """Integers in [low, high): `randint(high, size)` or `randint(low, high, size)`; int64 unless a dtype is named.

    Raises RuntimeError when there is no such integer. Source: torch.randint.
    """
    if not all(-(1 << 63) <= number < 1 << 63 for number in (low, high)):
        raise fail(ValueError, "Overflow when unpacking long long", "Bounds have at most 64 bits.")
    made, shape = Options("randint", options), shape_of("randint", size)
    dtype = made.dtype or int64
    if made.requires_grad:
        made._check_differentiable(dtype)
    return made.tensor(
        draws.integers(draws.shaped(shape), dtype, low, high, draws.source(generator)).astype(
            dtype.np
        )
    )


@composite()
def randperm(n, *, generator=None, **options):
    """The integers 0 … n-1 in random order, as int64 unless a dtype is named. Source: torch.randperm."""
    made = Options("randperm", options)
    shape_of("randperm", (n,))
    dtype = made.dtype or int64
    check_fits(n, dtype)
    return made.tensor(random.randperm(draws.source(generator), n).astype(dtype.np))


# -- random numbers with a gradient of zero ----------------------------------------------------------------------------
def _zero(m, g):
    return m.zeros_like(g)


def _drawn(xp, draw, *parameters):
    """`draw(*parameters)`, on the CPU as all random numbers are; parameters and result are copied from and to a
    device."""
    values = draw(*(devices.to_host(p) if hasattr(p, "dtype") else p for p in parameters))
    return values if xp is np else xp.asarray(values)


def _normal_values(mean, std, generator):
    wide = [a for a in (mean, std) if hasattr(a, "dtype")]
    try:
        shape = np.broadcast_shapes(*(a.shape for a in wide))
    except ValueError:
        raise broadcast_error([a.shape for a in wide]) from None
    if hasattr(std, "dtype") and not (std >= 0).all():
        raise fail(
            RuntimeError,
            "normal expects all elements of std >= 0.0",
            "A standard deviation is not negative.",
        )
    dtype = FROM_NUMPY[wide[0].dtype]
    fixed = 1.0 if hasattr(std, "dtype") else std
    values = draws.normal(draws.shaped(shape), dtype, 0.0, fixed, generator)
    if hasattr(std, "dtype"):
        values = values * std.astype(dtype.np)
    return (values + mean).astype(dtype.np)


def _normal_kernel(xp, mean, std, generator):
    return _drawn(xp, _normal_values, mean, std, generator)


def _kind(tensor):
    return "Tensor" if tensor else "float"


_NORMAL_NODES = {
    ("mean",): "NormalBackward1",
    ("std",): "NormalBackward2",
    ("mean", "std"): "NormalBackward3",
}
_normal_ops = {
    tensors: internal(
        f"normal_of_{'_'.join(tensors)}({', '.join(f'{_kind(n in tensors)} {n}' for n in ('mean', 'std'))}, Generator? generator)",
        forward=_normal_kernel,
        vjp=dict.fromkeys(tensors, _zero),
        node=node,
        operands=tensors,
        latex=r"\sim \mathcal{N}({mean}, {std}^2)",
        vjp_latex=dict.fromkeys(tensors, "0"),
    )
    for tensors, node in _NORMAL_NODES.items()
}
"""The ops behind `normal`, by which of its arguments are tensors."""


@composite()
def normal(mean, std=1.0, size=None, *, generator=None, **options):
    """Normal numbers with the given means and standard deviations: two tensors (broadcast), or numbers and a size.

    Raises RuntimeError for a negative standard deviation. Source: torch.normal.
    """
    g = draws.source(generator)
    tensors = tuple(
        name for name, value in (("mean", mean), ("std", std)) if isinstance(value, Tensor)
    )
    if bool(tensors) is not (size is None) or tensors and options:
        raise mismatch()
    if tensors:
        return _normal_ops[tensors].call(mean, std, g)
    made, shape = Options("normal", options), shape_of("normal", size)
    return made.tensor(draws.normal(draws.shaped(shape), made.dtype_or_default(), mean, std, g))


def _row_by_row(p, generator):
    """Draws of the probabilities `p`; unlike others, PyTorch's result is contiguous whatever the order of `p` in
    memory."""
    p = np.asarray(p, order="C")
    return draws.bernoulli(p, p, generator).astype(p.dtype)


_bernoulli_op = internal(
    "bernoulli(Tensor self, Generator? generator)", vjp={"self": _zero}, node="BernoulliBackward0",
    latex=r"\sim \mathrm{Bernoulli}({self})", vjp_latex={"self": "0"},
    forward=lambda xp, self, generator: _drawn(xp, lambda p: _row_by_row(p, generator), self),
)  # fmt: skip


@composite(method=True)
def bernoulli(input, p=None, *, generator=None):
    """0 or 1 for every element of `input`, with the element as the probability of 1 (or `p` for all of them).

    The gradient is zero. Raises RuntimeError for what is no probability. Source: torch.bernoulli.
    """
    g = draws.source(generator)
    if p is None:
        return _bernoulli_op.call(input, g)
    draws.check_probability(p)
    values = random.bernoulli(g, input._array.size, p).reshape(input._array.shape)
    return _placed(values.astype(input.dtype.np), input)


def _placed(values, like):
    """A tensor of `values` (a NumPy array) where the tensor `like` is."""
    device = like._storage.device
    return wrap(values if device is devices.CPU else device.backend.from_host(values))


@composite(method=True)
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """`num_samples` category numbers for each row of weights `input` (1-d or 2-d, need not sum to 1), as int64.

    Raises RuntimeError for weights that are negative, not finite or all zero, and for more samples than categories when
    drawing without replacement. Source: torch.multinomial.
    """
    weights = np.asarray(devices.to_host(input._array))
    _check_weights(weights, input.dtype, num_samples, replacement)
    picks = draws.multinomial(
        np.atleast_2d(weights), num_samples, replacement, draws.source(generator)
    )
    return _placed(picks if weights.ndim == 2 else picks[0], input)


def _check_weights(weights, dtype, n, replacement):
    problem, note = None, "Weights are not negative, finite, and not all zero."
    total = weights.sum(axis=-1, dtype=np.float64) if weights.ndim else None
    raced = n == 1 or not replacement
    if weights.ndim not in (1, 2):
        problem, note = "prob_dist must be 1 or 2 dim", "One row of weights, or one row per draw."
    elif not dtype.is_floating_point:
        problem = f"multinomial only supports floating-point dtypes for input, got: {dtype.short}"
    elif n <= 0:
        problem, note = "cannot sample n_sample <= 0 samples", "At least one sample."
    elif not replacement and n > weights.shape[-1]:
        problem = "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        note = "Without replacement each category is drawn at most once; pass replacement=True."
    elif raced and not (np.isfinite(weights) & (weights >= 0)).all():
        problem = "probability tensor contains either `inf`, `nan` or element < 0"
    elif not (weights >= 0).all():
        problem = "invalid multinomial distribution (encountering probability entry < 0)"
    elif not np.isfinite(weights).all():
        problem = (
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
        )
    elif not (total > 0).all():
        problem = "invalid multinomial distribution (sum of probabilities <= 0)"
    if problem:
        raise fail(RuntimeError, problem, note)
