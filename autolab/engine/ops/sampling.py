"""Random tensors: `rand`, `randn`, `randint`, `randperm`, `normal`, `bernoulli`, `multinomial`.

All draw from `generator=` or from the global stream, in the order and to the bit of PyTorch (see
`engine/exact/random.py`). Source: https://docs.pytorch.org/docs/2.13/torch.html#random-sampling
"""

import numpy as np

from ..devices import device as devices
from ..exact import draws, random
from ..exact.arguments import OPTIONS, Options, as_int, as_number, check_fits, check_tensor, mismatch
from ..core.errors import bad_argument
from ..exact.arguments import overloads, pop_size, shape_of
from ..exact.broadcasting import broadcast_error
from ..core.dtype import FROM_NUMPY, int64
from ..core.errors import fail
from .functions import NAMESPACES, composite, register
from ..core.tensor import Tensor, wrap
from .filling import like

for _name in set(random.__all__) - {"fork_rng"}:
    NAMESPACES[""][_name] = getattr(random, _name)

_SIZED = (f"tuple of ints size, *, torch.Generator generator, {OPTIONS}", f"tuple of ints size, *, {OPTIONS}")
_LIKE = OPTIONS.partition(", ")[2]
_LIKES = tuple(f"{{}}{g}torch.memory_format memory_format = None, {_LIKE}" for g in ("torch.Generator generator, ", ""))


def _signatures(prefixes, patterns):
    return tuple(pattern.format(prefix) for prefix in prefixes for pattern in patterns)


_RANGED = tuple(f"{{}}tuple of ints size, *, {g}{OPTIONS}" for g in ("torch.Generator generator, ", ""))


# -- new tensors -------------------------------------------------------------------------------------------------------
@composite()
@overloads(*_SIZED)
def rand(*size, generator=None, **options):
    """Numbers uniform in [0, 1) in the given shape. Source: torch.rand."""
    g, shape, made = draws.source("rand", generator), pop_size("rand", size, options), Options("rand", options)
    dtype = made.dtype_or_default()
    return made.tensor(draws.uniform(draws.shaped(shape), dtype, 0.0, 1.0, g))


@composite()
@overloads(*_SIZED)
def randn(*size, generator=None, **options):
    """Standard normal numbers in the given shape. Source: torch.randn."""
    g, shape, made = draws.source("randn", generator), pop_size("randn", size, options), Options("randn", options)
    dtype = made.dtype_or_default()
    return made.tensor(draws.normal(draws.shaped(shape), dtype, 0.0, 1.0, g))


@composite()
@overloads(*_signatures(("int high, ", "int low, int high, "), _RANGED))
def randint(*bounds, low=0, high=None, size=None, generator=None, **options):
    """Integers in [low, high): `randint(high, size)` or `randint(low, high, size)`; int64 unless a dtype is named.

    Raises RuntimeError when there is no such integer. Source: torch.randint.
    """
    low, high, size, position = _randint_bounds(bounds, low, high, size)
    g, made = draws.source("randint", generator), Options("randint", options)
    dtype, shape = made.dtype or int64, shape_of("randint", (size,), position)
    if made.requires_grad:
        made._check_differentiable(dtype)
    return made.tensor(draws.integers(draws.shaped(shape), dtype, low, high, g).astype(dtype.np))


def _randint_bounds(bounds, low, high, size):
    given = list(bounds)
    named_size = size is not None
    if not named_size:
        if not given:
            raise mismatch("randint() takes a size")
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1 and high is None:
        high = given[0]
    elif len(given) == 1:
        low = given[0]
    elif given or high is None:
        raise mismatch("randint() takes high, or low and high")
    numbers = as_int(low), as_int(high)
    if len(bounds) == 3 or numbers[0] is None:
        if None in numbers or not isinstance(size, (tuple, list)):
            raise mismatch("randint() takes whole numbers and a tuple")
    if numbers[1] is None:
        raise bad_argument("randint", "high", 1, "int", high) if len(given) == 1 else mismatch("randint() takes ints")
    if not isinstance(size, (tuple, list)):
        raise bad_argument("randint", "size", 0 if named_size else len(bounds), "tuple of ints", size)
    if not all(-(1 << 63) <= number < 1 << 63 for number in numbers):
        raise fail(ValueError, "Overflow when unpacking long long", "Bounds have at most 64 bits.")
    return *numbers, size, len(bounds) if not named_size else 0


@composite()
@overloads(*(f"int n, *, {g}{OPTIONS}" for g in ("torch.Generator generator, ", "")))
def randperm(n, *, generator=None, **options):
    """The integers 0 … n-1 in random order, as int64 unless a dtype is named. Source: torch.randperm."""
    count = as_int(n)
    if count is None:
        raise bad_argument("randperm", "n", 1, "int", n)
    g, made = draws.source("randperm", generator), Options("randperm", options)
    shape_of("randperm", (count,))
    dtype = made.dtype or int64
    check_fits(count, dtype)
    return made.tensor(random.randperm(g, count).astype(dtype.np))


@composite()
@overloads(*_signatures(("Tensor input, *, ",), _LIKES))
def rand_like(input, *, generator=None, **options):
    """Numbers uniform in [0, 1), with the shape, dtype and device of `input`. Source: torch.rand_like."""
    made, array = like("rand_like", input, options)
    return made.tensor(draws.uniform(array, made.dtype, 0.0, 1.0, draws.source("rand_like", generator)))


@composite()
@overloads(*_signatures(("Tensor input, *, ",), _LIKES))
def randn_like(input, *, generator=None, **options):
    """Standard normal numbers, with the shape, dtype and device of `input`. Source: torch.randn_like."""
    made, array = like("randn_like", input, options)
    return made.tensor(draws.normal(array, made.dtype, 0.0, 1.0, draws.source("randn_like", generator)))


@composite()
@overloads(*_signatures(("Tensor input, int low, int high, *, ", "Tensor input, int high, *, "), _LIKES))
def randint_like(input, *bounds, low=0, high=None, generator=None, **options):
    """Integers in [low, high), with the shape, dtype and device of `input`. Source: torch.randint_like."""
    made, array = like("randint_like", input, options)
    if high is None and bounds:
        high, bounds = bounds[-1], bounds[:-1]
    low, high = as_int(bounds[0] if bounds else low), as_int(high)
    if low is None or high is None or len(bounds) > 1:
        raise mismatch("randint_like() takes high, or low and high")
    values = draws.integers(array, made.dtype, low, high, draws.source("randint_like", generator))
    return made.tensor(values.astype(made.dtype.np))


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
        raise fail(RuntimeError, "normal expects all elements of std >= 0.0", "A standard deviation is not negative.")
    dtype = FROM_NUMPY[wide[0].dtype]
    fixed = 1.0 if hasattr(std, "dtype") else std
    values = draws.normal(draws.shaped(shape), dtype, 0.0, fixed, generator)
    if hasattr(std, "dtype"):
        values = values * std.astype(dtype.np)
    return (values + mean).astype(dtype.np)


def _normal_kernel(xp, mean, std, generator):
    return _drawn(xp, _normal_values, mean, std, generator)


_NORMAL_NODES = {("mean",): "NormalBackward1", ("std",): "NormalBackward2", ("mean", "std"): "NormalBackward3"}
_normal_ops = {
    tensors: register(
        f"normal_of_{'_'.join(tensors)}(mean, std, generator)",
        forward=_normal_kernel,
        vjp=dict.fromkeys(tensors, _zero),
        node=node,
        operands=tensors,
        latex=r"\sim \mathcal{N}({mean}, {std}^2)",
        vjp_latex=dict.fromkeys(tensors, "0"),
        method=False,
        function=False,
    )
    for tensors, node in _NORMAL_NODES.items()
}
"""The ops behind `normal`, by which of its arguments are tensors."""


@composite()
@overloads(
    "Tensor mean, Tensor std, *, torch.Generator generator = None, Tensor out = None",
    "Tensor mean, float std = 1, *, torch.Generator generator = None, Tensor out = None",
    "float mean, Tensor std, *, torch.Generator generator = None, Tensor out = None",
    f"float mean, float std, tuple of ints size, *, torch.Generator generator = None, {OPTIONS}",
)
def normal(mean, std=1.0, size=None, *, generator=None, **options):
    """Normal numbers with the given means and standard deviations: two tensors (broadcast), or numbers and a size.

    Raises RuntimeError for a negative standard deviation. Source: torch.normal.
    """
    g = draws.source("normal", generator)
    tensors = tuple(name for name, value in (("mean", mean), ("std", std)) if isinstance(value, Tensor))
    if tensors and size is None:
        if options:
            raise mismatch("normal() of tensors takes no options")
        return _normal_ops[tensors].call(mean, std, g)
    if as_number(mean) is None or as_number(std) is None or not isinstance(size, (tuple, list)):
        raise mismatch("normal() takes two numbers and a size")
    if any(as_int(n) is None for n in size):
        raise mismatch("normal() takes a size of whole numbers")
    made, shape = Options("normal", options), shape_of("normal", (size,))
    return made.tensor(draws.normal(draws.shaped(shape), made.dtype_or_default(), as_number(mean), as_number(std), g))


def _row_by_row(p, generator):
    """Draws of the probabilities `p`; unlike others, PyTorch's result is contiguous whatever the order of `p` in
    memory."""
    p = np.asarray(p, order="C")
    return draws.bernoulli(p, p, generator).astype(p.dtype)


_bernoulli_op = register(
    "bernoulli(self, generator)", vjp={"self": _zero}, node="BernoulliBackward0", method=False, function=False,
    latex=r"\sim \mathrm{Bernoulli}({self})", vjp_latex={"self": "0"},
    forward=lambda xp, self, generator: _drawn(xp, lambda p: _row_by_row(p, generator), self),
)  # fmt: skip


@composite(method=True)
@overloads(
    "Tensor input, *, torch.Generator generator = None, Tensor out = None",
    "Tensor input, float p, *, torch.Generator generator = None",
)
def bernoulli(input, p=None, *, generator=None, **options):
    """0 or 1 for every element of `input`, with the element as the probability of 1 (or `p` for all of them).

    The gradient is zero. Raises RuntimeError for what is no probability. Source: torch.bernoulli.
    """
    check_tensor("bernoulli", input)
    g = draws.source("bernoulli", generator)
    if options:
        Options("bernoulli", options)
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
@overloads()
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """`num_samples` category numbers for each row of weights `input` (1-d or 2-d, need not sum to 1), as int64.

    Raises RuntimeError for weights that are negative, not finite or all zero, and for more samples than categories when
    drawing without replacement. Source: torch.multinomial.
    """
    check_tensor("multinomial", input)
    n = as_int(num_samples)
    if n is None:
        raise bad_argument("multinomial", "num_samples", 2, "int", num_samples)
    weights = np.asarray(devices.to_host(input._array))
    _check_weights(weights, input.dtype, n, replacement)
    picks = draws.multinomial(np.atleast_2d(weights), n, replacement, draws.source("multinomial", generator))
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
        problem = "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
    elif not (total > 0).all():
        problem = "invalid multinomial distribution (sum of probabilities <= 0)"
    if problem:
        raise fail(RuntimeError, problem, note)
