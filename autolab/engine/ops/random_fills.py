"""Random numbers written into a tensor: `uniform_`, `normal_`, `bernoulli_`, `random_`.

They count as in-place changes (the version goes up; a leaf that requires grad refuses) and pass a gradient of zero.
Source: https://docs.pytorch.org/docs/2.13/torch.html#in-place-random-sampling
"""

import numpy as np

from ..devices import device as devices
from ..exact import draws, random
from ..core.grad_mode import per_thread
from ..inplace.changes import check_inplace, write_inplace
from ..core.errors import fail
from ..exact.refusals import unsupported
from .checks import refuse_if
from .functions import composite, internal
from ..core.tensor import Tensor
from ..inplace.views import repeats


def _node_op(name, node, law):
    """The record of a fill. What it leaves behind depends on no earlier value, so the gradient is zero."""
    keep = lambda xp, self: self
    zero = {"self": lambda m, g: m.zeros_like(g)}
    formulas = {"latex": rf"\sim {law}", "vjp_latex": {"self": "0"}}
    return internal(f"{name}(Tensor self)", forward=keep, vjp=zero, node=node, **formulas)


_uniform_op = _node_op("uniform", "UniformBackward0", r"\mathcal{U}")
_normal_op = _node_op("normal", "NormalBackward0", r"\mathcal{N}")
_random_ops = [_node_op(f"random_{k}", f"RandomBackward{k}", r"\mathcal{U}") for k in range(3)]
_bernoulli_op = _node_op("bernoulli_2", "BernoulliBackward2", r"\mathrm{Bernoulli}")


def _fill(op, target, draw):
    """Replaces the values of `target` by `draw(raw)`, which looks at the shape, dtype and order in memory of the array;
    records `op`.

    The numbers are drawn on the CPU, so that they are the same for every device, and copied. Returns `target`."""
    state = per_thread.state
    check_inplace(target, state, target._req)
    raw, device = target._array, target._storage.device
    if repeats(raw):
        message = (
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
        raise fail(RuntimeError, message, "expand() repeats elements without copying them.")
    values = np.asarray(draw(devices.stand_in(raw))).astype(target.dtype.np)
    write_inplace(
        op, (target,), values if device is devices.CPU else device.backend.from_host(values), state
    )
    return target


@composite(method=True, function=False)
def uniform_(self, low=0.0, to=1.0, *, generator=None):
    """Fills the tensor with numbers uniform in [from, to). Source: torch.Tensor.uniform_."""
    g = draws.source(generator)
    if self.dtype.is_floating_point:
        limit = float(np.finfo(self.dtype.np).max)
        for name, value in (("from", low), ("to", to)):
            message = f"{name} is out of bounds for {self.dtype.cpp_name}"
            problem = not -limit <= value <= limit
            refuse_if(problem, message, f"{self.dtype} holds at most {limit:g}.")
        message = (
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
        refuse_if(low > to, message, "The smaller bound comes first.")
        message = (
            f"uniform_ expects to-from <= std::numeric_limits<{self.dtype.short}>::max(), but found to={to:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )
        refuse_if(to - low > limit, message, "Choose a smaller interval.")
    return _fill(_uniform_op, self, lambda raw: draws.uniform(raw, self.dtype, low, to, g))


@composite(method=True, function=False)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fills the tensor with normal numbers. Source: torch.Tensor.normal_."""
    g = draws.source(generator)
    return _fill(_normal_op, self, lambda raw: draws.normal(raw, self.dtype, mean, std, g))


@composite(method=True, function=False)
def random_(self, *, generator=None, **bounds):
    """Fills the tensor with integers: `random_(to)`, `random_(from, to)`, or all that its dtype can count exactly.

    Source: torch.Tensor.random_.
    """
    g, dtype = draws.source(generator), self.dtype
    if not bounds:
        return _fill(
            _random_ops[2], self, lambda raw: draws.arranged(_any_integers(raw.size, dtype, g), raw)
        )
    low, high = bounds.get("from", 0), bounds["to"]
    if high is None:
        high = _count(dtype)
    return _fill(
        _random_ops[2 - len(bounds)], self, lambda raw: draws.integers(raw, dtype, low, high, g)
    )


def _count(dtype):
    """How many integers from 0 on a dtype can hold; floats as far as they hold every one."""
    if dtype.is_floating_point:
        return (1 << np.finfo(dtype.np).nmant + 1) + 1
    return 2 if dtype.is_bool else int(np.iinfo(dtype.np).max) + 1


def _any_integers(n, dtype, g):
    if dtype.is_complex or dtype.name in ("uint16", "uint32", "uint64"):
        message = f"\"random_kernel_cpu\" not implemented for '{dtype.short}'"
        raise fail(NotImplementedError, message, "Fill an int64 tensor and convert it.")
    words = random.words64 if dtype.name in ("int64", "float64") else random.words32
    return words(g, n) % np.uint64(_count(dtype))


@composite(method=True, function=False)
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill the tensor with 0 and 1; the number `p` is the probability of 1. Source: torch.Tensor.bernoulli_."""
    if isinstance(p, Tensor):
        raise unsupported(
            "bernoulli_", "p", "For a tensor of probabilities write torch.bernoulli(p)."
        )
    g = draws.source(generator)
    if self.dtype.is_complex:
        message = f"\"bernoulli_scalar_cpu_\" not implemented for '{self.dtype.short}'"
        raise fail(NotImplementedError, message, "Fill a float tensor and convert it.")
    draws.check_probability(p)
    draw = lambda raw: draws.arranged(random.bernoulli(g, raw.size, p), raw)
    return _fill(_bernoulli_op, self, draw)
