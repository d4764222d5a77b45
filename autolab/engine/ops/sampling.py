"""Random tensors: `rand`, `randn`, `randint`, `randperm`, `normal`, `bernoulli`, `multinomial`.

All functions draw from `generator=` or from the global stream, and return the same bits as PyTorch (see
`engine/exact/random.py`). Source: https://docs.pytorch.org/docs/2.13/torch.html#random-sampling
"""

import numpy as np

from ..devices import device as devices
from ..exact import draws, random
from ..exact.arguments import check_fits, mismatch, Options, shape_of
from ..core.dtype import FROM_NUMPY, int64
from ..exact.refusals import check_int64
from .checks import refuse_if
from .functions import NAMESPACES, composite, internal
from ..core.tensor import Tensor, wrap
from .filling import like

for _name in set(random.__all__) - {"fork_rng"}:
    NAMESPACES[""][_name] = getattr(random, _name)


# -- new tensors -------------------------------------------------------------------------------------------------------
def _register_draw(name, draw, words):
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


_register_draw("rand", draws.uniform, "numbers uniform in [0, 1)")
_register_draw("randn", draws.normal, "standard normal numbers")


@composite()
def randint(*, low=0, high, size, generator=None, **options):
    """Return integers in [low, high): `randint(high, size)` or `randint(low, high, size)`; int64 unless a dtype is
    given.

    Raise RuntimeError if the range is empty. Source: torch.randint.
    """
    check_int64(low), check_int64(high)
    made, target = Options("randint", options), draws.shaped(shape_of("randint", size))
    dtype = made.dtype or int64
    numbers = draws.integers(target, dtype, low, high, draws.source(generator))
    return made.tensor(numbers.astype(dtype.np))


@composite()
def randperm(n, *, generator=None, **options):
    """Return the integers 0 … n-1 in random order, as int64 unless a dtype is given. Source: torch.randperm."""
    made = Options("randperm", options)
    shape_of("randperm", (n,))
    dtype = made.dtype or int64
    check_fits(n, dtype)
    return made.tensor(random.randperm(draws.source(generator), n).astype(dtype.np))


# -- random numbers with a gradient of zero ----------------------------------------------------------------------------
def _zero(m, g):
    return m.zeros_like(g)


def placed(values, like):
    """Return a tensor of `values` (a NumPy array) on the device of the tensor `like`."""
    return wrap(values).to(like.device)


def _draw_on_cpu(xp, draw, *parameters):
    """Return `draw(*parameters)`. All random numbers are drawn on the CPU; parameters and result are copied from and to
    a device."""
    values = draw(*(devices.to_host(p) if hasattr(p, "dtype") else p for p in parameters))
    return values if xp is np else xp.asarray(values)


def _normal_values(mean, std, generator):
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    negative = bool(np.any(np.less(std, 0)))
    refuse_if(
        negative,
        "normal expects all elements of std >= 0.0",
        "A standard deviation is not negative.",
    )
    dtype = FROM_NUMPY[(mean if hasattr(mean, "dtype") else std).dtype]
    each = hasattr(std, "dtype")
    values = draws.normal(draws.shaped(shape), dtype, 0.0, 1.0 if each else std, generator)
    return ((values * std.astype(dtype.np) if each else values) + mean).astype(dtype.np)


_normal_op = internal(
    "normal_of_mean_std(operand mean, operand std, Generator? generator)",
    forward=lambda xp, mean, std, generator: _draw_on_cpu(xp, _normal_values, mean, std, generator),
    vjp={"mean": _zero, "std": _zero},
    node="NormalBackward3",
    operands=("mean", "std"),
    latex=r"\sim \mathcal{N}({mean}, {std}^2)",
    vjp_latex={"mean": "0", "std": "0"},
)


@composite()
def normal(mean, std=1.0, size=None, *, generator=None, **options):
    """Return normal numbers with the given means and standard deviations: two tensors (broadcast), or numbers and a
    size.

    Raise RuntimeError for a negative standard deviation. Source: torch.normal.
    """
    g = draws.source(generator)
    tensors = isinstance(mean, Tensor) or isinstance(std, Tensor)
    if tensors is not (size is None) or tensors and options:
        raise mismatch()
    if tensors:
        return _normal_op.call(mean, std, g)
    made, shape = Options("normal", options), shape_of("normal", size)
    return made.tensor(draws.normal(draws.shaped(shape), made.dtype_or_default(), mean, std, g))


def _row_by_row(p, generator):
    """Return draws with the probabilities `p`. As in PyTorch, the result is contiguous whatever the memory order of
    `p`."""
    p = np.asarray(p, order="C")
    return draws.bernoulli(p, p, generator).astype(p.dtype)


_bernoulli_op = internal(
    "bernoulli(Tensor self, Generator? generator)",
    vjp={"self": _zero},
    node="BernoulliBackward0",
    latex=r"\sim \mathrm{Bernoulli}({self})",
    vjp_latex={"self": "0"},
    forward=lambda xp, self, generator: _draw_on_cpu(xp, _row_by_row, self, generator),
)


@composite(method=True)
def bernoulli(input, p=None, *, generator=None):
    """Return 0 or 1 for every element of `input`, which is the probability of 1 (or `p` for all elements).

    The gradient is zero. Raise RuntimeError for a value that is not a probability. Source: torch.bernoulli.
    """
    g = draws.source(generator)
    if p is None:
        return _bernoulli_op.call(input, g)
    draws.check_probability(p)
    values = random.bernoulli(g, input._array.size, p).reshape(input._array.shape)
    return placed(values.astype(input.dtype.np), input)


@composite(method=True)
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Return `num_samples` category numbers for each row of weights `input` (1-d or 2-d, need not sum to 1), as int64.

    Raise RuntimeError for weights that are negative, not finite or all zero, and for more samples than categories
    without replacement. Source: torch.multinomial.
    """
    weights, n = np.asarray(devices.to_host(input._array)), num_samples
    refuse_if(
        not input.dtype.is_floating_point,
        f"multinomial only supports floating-point dtypes for input, got: {input.dtype.short}",
        "Weights are floats: call .float().",
    )
    note = "One row of weights, or one row per draw."
    refuse_if(weights.ndim not in (1, 2), "prob_dist must be 1 or 2 dim", note)
    refuse_if(n <= 0, "cannot sample n_sample <= 0 samples", "Pass num_samples of at least 1.")
    note = "Without replacement each category is drawn at most once; pass replacement=True."
    refuse_if(
        not replacement and n > weights.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
        note,
    )
    note = "The weights must be finite, not negative, and not all zero."
    refuse_if(
        not (np.isfinite(weights) & (weights >= 0)).all(),
        "probability tensor contains either `inf`, `nan` or element < 0",
        note,
    )
    refuse_if(
        not weights.sum(-1).all(),
        "invalid multinomial distribution (sum of probabilities <= 0)",
        note,
    )
    rows = np.atleast_2d(weights)
    picks = draws.multinomial(rows, n, replacement, draws.source(generator))
    return placed(picks if weights.ndim == 2 else picks[0], input)
