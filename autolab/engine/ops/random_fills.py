"""Fill a tensor with random numbers in place: `uniform_`, `normal_`, `random_`, `bernoulli_`.

These are in-place changes (the version goes up, and a leaf that requires grad raises an error); their gradient is zero.
Source: https://docs.pytorch.org/docs/2.13/torch.html#in-place-random-sampling
"""

import numpy as np

from ..devices import device as devices
from ..core.tensor import Tensor
from ..exact import draws, random
from ..exact.refusals import unsupported
from ..core.grad_mode import per_thread
from ..inplace.changes import check_inplace, check_written_once, write_inplace
from .checks import refuse_if
from .functions import composite, internal
from .sampling import placed


def _register_fill(name, node, law):
    """Return the record of a fill. Its result does not depend on earlier values, so the gradient is zero."""
    return internal(
        f"{name}(Tensor self)",
        forward=lambda xp, self: self,
        vjp={"self": lambda m, g: m.zeros_like(g)},
        node=node,
        latex=rf"\sim {law}",
        vjp_latex={"self": "0"},
    )


_uniform_op = _register_fill("uniform", "UniformBackward0", r"\mathcal{U}")
_normal_op = _register_fill("normal", "NormalBackward0", r"\mathcal{N}")
_random_op = _register_fill("random", "RandomBackward0", r"\mathcal{U}")
_bernoulli_op = _register_fill("bernoulli_2", "BernoulliBackward2", r"\mathrm{Bernoulli}")


def _fill(op, target, draw):
    """Replace the values of `target` with `draw(raw)`, which reads the shape, dtype and memory order of the array;
    record `op`.

    The numbers are drawn on the CPU, so that they are equal for every device, and then copied. Return `target`."""
    state = per_thread.state
    check_inplace(target, state, target._req)
    check_written_once(target)
    values = np.asarray(draw(devices.stand_in(target._array))).astype(target.dtype.np)
    write_inplace(op, (target,), placed(values, target)._array, state)
    return target


@composite(method=True, function=False)
def uniform_(self, low=0.0, to=1.0, *, generator=None):
    """Fill the tensor with uniform numbers in [from, to). Source: torch.Tensor.uniform_."""
    g = draws.source(generator)
    refuse_if(
        low > to,
        f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}",
        "The smaller bound comes first.",
    )
    if self.dtype.is_floating_point:
        limit = np.finfo(self.dtype.np).max
        message = (
            f"uniform_ expects to-from <= std::numeric_limits<{self.dtype.short}>::max(), but found to={to:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )
        refuse_if(not to - low <= limit, message, "Choose bounds that are closer together.")
    return _fill(_uniform_op, self, lambda raw: draws.uniform(raw, self.dtype, low, to, g))


@composite(method=True, function=False)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill the tensor with normally distributed numbers. Source: torch.Tensor.normal_."""
    g = draws.source(generator)
    return _fill(_normal_op, self, lambda raw: draws.normal(raw, self.dtype, mean, std, g))


@composite(method=True, function=False)
def random_(self, *, generator=None, **bounds):
    """Fill the tensor with integers: `random_(to)`, `random_(from, to)`, or all integers that its dtype holds exactly.

    Source: torch.Tensor.random_.
    """
    g, dtype = draws.source(generator), self.dtype
    if bounds:
        low, high = bounds.get("from", 0), bounds["to"]
        high = _count(dtype) if high is None else high
        return _fill(_random_op, self, lambda raw: draws.integers(raw, dtype, low, high, g))
    words = random.words64 if dtype.itemsize == 8 else random.words32
    any_integers = lambda raw: words(g, raw.size) % np.uint64(_count(dtype))
    return _fill(_random_op, self, lambda raw: draws.arranged(any_integers(raw), raw))


def _count(dtype):
    """Return how many consecutive integers from 0 a dtype can hold exactly."""
    if dtype.is_floating_point:
        return (1 << np.finfo(dtype.np).nmant + 1) + 1
    return 2 if dtype.is_bool else int(np.iinfo(dtype.np).max) + 1


@composite(method=True, function=False)
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill the tensor with 0 and 1; the number `p` is the probability of 1. Source: torch.Tensor.bernoulli_."""
    if isinstance(p, Tensor):
        note = "For a tensor of probabilities write torch.bernoulli(p)."
        raise unsupported("bernoulli_", "p", note)
    g = draws.source(generator)
    draws.check_probability(p)
    draw = lambda raw: draws.arranged(random.bernoulli(g, raw.size, p), raw)
    return _fill(_bernoulli_op, self, draw)
