"""PyTorch's random stream on the CPU: the same seed gives the same bits.

The generator is the 32-bit Mersenne Twister seeded by `init_genrand`, which NumPy has too. The draws follow PyTorch
2.13 on Linux x86-64 with AVX2, with the same rounding. (On other processors PyTorch itself differs in the last bits.)
Draws are functions of a `Generator`; they return 1-d NumPy arrays in the order of the stream.

Two facts are surprising. Fewer than 16 normal numbers come from another algorithm than 16 or more, so `randn(15)` and
`randn(16)` start differently. If the count is not a multiple of 16, the last 16 numbers are drawn again.

Credits: PyTorch (`ATen/core/DistributionsHelper.h`, `ATen/native/cpu/DistributionTemplates.h`, BSD-3-Clause) for the
order of the draws; the Cephes library by Stephen L. Moshier, as vectorised in Julien Pommier's `sse_mathfun.h` (zlib
licence), for the polynomials of logarithm, sine and cosine in float32. See THIRD_PARTY_NOTICES.
"""

import contextlib
import math
import os
import threading

import numpy as np

from ..devices.device import usable
from ..core.errors import fail
from ..core.tensor import wrap
from .rounding import cast, each, fma, to_float32

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip

f32, f64, u64 = np.float32, np.float64, np.uint64

_BLOCK = 4096  # pairs per block: the temporary arrays fit in the cache
_DEFAULT_SEED = 67280421310721
_STATE = np.dtype(
    [("seed", "u8"), ("left", "i4"), ("seeded", "i4"), ("next", "u8"), ("key", "u8", 624)]
    + [
        ("normal_x", "f8"),
        ("spare", "f8"),
        ("normal_rho", "f8"),
        ("has_spare", "i4"),
        ("unused", "u1", 12),
    ]
)


class Generator:
    """A source of random numbers with its own state. Pass it as `generator=` to draw independently of the global
    stream.

    Source: https://pytorch.org/docs/stable/generated/torch.Generator.html
    """

    def __init__(self, device="cpu"):
        self.device = usable(device)
        self.guard = threading.RLock()  # held by functions that draw more than once
        self._twister = np.random.MT19937()
        self._seeder = np.random.RandomState(self._twister)  # its `seed` is init_genrand
        self.manual_seed(_DEFAULT_SEED)

    def manual_seed(self, seed):
        """Restart the stream from `seed`, an int in [-2**63, 2**64); a negative seed counts modulo 2**64. Return self.

        Raise RuntimeError for a seed that is not an int, ValueError outside the range.
        """
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            note = "A seed is a whole number; the same seed gives the same random numbers again."
            raise fail(
                RuntimeError, f"manual_seed expected a long, but got {type(seed).__name__}", note
            )
        if not -(1 << 63) <= seed < 1 << 64:
            raise fail(
                ValueError, "Overflow when unpacking long long", "A seed has at most 64 bits."
            )
        self._seed = int(seed) % (1 << 64)  # PyTorch's twister uses the lower 32 bits only
        self._seeder.seed(self._seed & 0xFFFFFFFF)
        self._spare = None  # the sine of the last Box-Muller pair, for the next scalar draw
        return self

    def seed(self):
        """Restart the stream from a seed taken from the operating system; return that seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self):
        """Return the seed from which the stream was last started."""
        return self._seed

    def get_state(self):
        """Return the state as a uint8 tensor of 5056 bytes with PyTorch's layout, so that either library can continue
        it."""
        twister = self._twister.state["state"]
        drawn = twister["pos"]
        if drawn == 624 and np.array_equal(twister["key"], self._fresh_key()):
            drawn = 0
        state = np.zeros(1, _STATE)
        state["seed"], state["seeded"], state["key"] = self._seed, 1, twister["key"]
        state["left"], state["next"] = (625 - drawn if drawn else 1), drawn
        if self._spare is not None:
            state["spare"], state["has_spare"] = self._spare, 1
        return wrap(state.view(np.uint8))

    def set_state(self, new_state):
        """Continue from a state that `get_state` returned.

        Raise TypeError for anything else.
        """
        array = getattr(new_state, "_array", np.empty(0))
        if array.dtype != np.uint8 or array.size != _STATE.itemsize:
            note = "Pass what get_state() or torch.get_rng_state() returned."
            raise fail(TypeError, "RNG state must be a torch.ByteTensor", note)
        state = np.ascontiguousarray(array).view(_STATE)[0]
        if not (state["seeded"] and 0 < state["left"] <= 624 and state["next"] <= 624):
            note = "These bytes are not the state of a generator. Pass what get_state() returned."
            raise fail(RuntimeError, "Invalid mt19937 state", note)
        twister = {
            "key": state["key"].astype(np.uint32),
            "pos": 624 if state["left"] == 1 else int(state["next"]),
        }
        spare = float(state["spare"]) if state["has_spare"] else None
        self._continue(int(state["seed"]), spare, {"bit_generator": "MT19937", "state": twister})

    def clone_state(self):
        """Return a new generator that continues from the same state."""
        return _restored(*self.__reduce__()[1])

    def _continue(self, seed, spare, twister):
        self._seed, self._spare, self._twister.state = seed, spare, twister
        return self

    def _fresh_key(self):
        fresh = np.random.RandomState(self._seed & 0xFFFFFFFF).get_state(legacy=False)
        return fresh["state"]["key"]

    def __repr__(self):
        return f"<torch._C.Generator object at {id(self):#x}>"

    def __deepcopy__(self, memo):
        return self.clone_state()

    def __reduce__(self):
        return _restored, (str(self.device), self._seed, self._spare, self._twister.state)


def _restored(device, *state):
    return Generator(device)._continue(*state)


default_generator = Generator()


# the global stream ------------------------------------------------------------------------------------------


def manual_seed(seed):
    """Restart the global stream from `seed` and return its generator. Source: torch.manual_seed."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Restart the global stream from a seed of the operating system; return that seed. Source: torch.seed."""
    return default_generator.seed()


def initial_seed():
    """Return the seed of the global stream. Source: torch.initial_seed."""
    return default_generator.initial_seed()


def get_rng_state():
    """Return the state of the global stream, a uint8 tensor of 5056 bytes. Source: torch.get_rng_state."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continue the global stream from a state that `get_rng_state` returned. Source: torch.set_rng_state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type=None):
    """Draw inside the `with` block without effect on the global stream: its state is restored afterwards.

    All devices draw from the one global stream, so `devices` and `device_type` have no effect. Source:
    https://pytorch.org/docs/stable/random.html#torch.random.fork_rng
    """
    _, (_, *state) = default_generator.__reduce__()
    try:
        yield
    finally:
        if enabled:
            default_generator._continue(*state)


# words and uniform numbers ----------------------------------------------------------------------------------


def words32(g, n):
    """Return `n` words of 32 bits (as uint64)."""
    return g._twister.random_raw(n) if n else np.empty(0, u64)


def words64(g, n):
    """Return `n` words of 64 bits; the first 32-bit draw of each is its high half."""
    pairs = words32(g, 2 * n).reshape(n, 2)
    return (pairs[:, 0] << u64(32)) | pairs[:, 1]


def _unit(g, n, dtype):
    """Return `n` numbers in [0, 1) as float64: multiples of 2**-53 from 64-bit words for float64; multiples of 2**-24
    for other dtypes."""
    words, bits = (words64(g, n), 53) if dtype == f64 else (words32(g, n), 24)
    words &= u64((1 << bits) - 1)
    return (
        words.view(np.int64) * 2.0**-bits
    )  # signed, because int64 converts to float64 in one instruction and uint64 does not


def uniform(g, n, low=0.0, high=1.0, dtype=f32):
    """Return `n` uniform numbers in [low, high). A value that is rounded up to `high` becomes `low`. For float16,
    float32 numbers are rounded."""
    x = _unit(g, n, dtype)
    if low == 0.0 and high == 1.0 and dtype != np.float16:
        return x.astype(dtype, copy=False)
    if dtype == f64:
        x = fma(x, f64(high) - f64(low), f64(low))
    else:
        first, last = f32(low), f32(high)
        x = (x * f64(last - first) + f64(first)).astype(f32).astype(dtype, copy=False)
    low, high = x.dtype.type(low), x.dtype.type(high)
    x[x == high] = low
    return x


def bernoulli(g, n, p):
    """Return `n` booleans, each true with probability `p` (a float). It draws in float64, as `Tensor.bernoulli_` and
    dropout do."""
    return _unit(g, n, f64) < p


# normal numbers ---------------------------------------------------------------------------------------------


def normal(g, n, mean=0.0, std=1.0, dtype=f32, contiguous=True):
    """Return `n` normal numbers by Box-Muller. A non-contiguous tensor uses the algorithm of small tensors."""
    with g.guard:
        return _normal(g, n, mean, std, dtype, contiguous)


def _normal(g, n, mean, std, dtype, contiguous):
    if n < 16 or not contiguous:
        return cast(_scaled(np.array([_one_normal(g) for _ in range(n)], f64), mean, std), dtype)
    box_muller, draw = (_box_muller64, f64) if dtype == f64 else (_box_muller32, f32)
    tail = n % 16
    u = _unit(g, n - tail if dtype == np.float16 else n, draw)  # float16 draws whole blocks only
    x = box_muller(u[: n - tail], mean, std)
    if tail:
        last = box_muller(_unit(g, 16, draw), mean, std)
        x = np.concatenate((x[: n - 16], last))
    return x.astype(dtype, copy=False)


def _one_normal(g):
    """Return one standard normal number in float64. Every second call returns the sine that the call before stored."""
    if g._spare is not None:
        value, g._spare = g._spare, None
        return value
    word, mask = g._twister.random_raw, (1 << 53) - 1
    u1 = ((word() << 32 | word()) & mask) * 2.0**-53
    u2 = ((word() << 32 | word()) & mask) * 2.0**-53
    radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
    g._spare = radius * math.sin(angle)
    return radius * math.cos(angle)


def _box_muller64(u, mean, std):
    """Convert blocks of 16 uniform numbers (8 radii, 8 angles) to 16 normal ones in float64, with the C library's
    functions."""
    u = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * each(math.log, 1.0 - u[:, 0]))
    angle = 2.0 * math.pi * u[:, 1]
    x = np.stack((radius * each(math.cos, angle), radius * each(math.sin, angle)), axis=1)
    return _scaled(x, mean, std).reshape(-1)


def _scaled(x, mean, std):
    """Return `x * std + mean` in float64, rounded once."""
    return x + 0.0 if mean == 0.0 and std == 1.0 else fma(x, f64(std), f64(mean))


def _box_muller32(u, mean, std):
    """Convert blocks of 16 uniform numbers (float32 values stored as float64) to 16 normal ones in float32, by
    Cephes."""
    u = u.reshape(-1, 2, 8)
    x = np.empty(u.shape, f32)
    mean, std = f64(f32(mean)), f64(f32(std))
    for start in range(0, len(u), _BLOCK // 8):
        part = u[start : start + _BLOCK // 8]
        radius = to_float32(np.sqrt(-2.0 * _log(1.0 - part[:, 0])))
        sine, cosine = _sincos(to_float32(f64(f32(2 * math.pi)) * part[:, 1]))
        x[start : start + len(part), 0] = to_float32(radius * cosine) * std + mean
        x[start : start + len(part), 1] = to_float32(radius * sine) * std + mean
    return x.reshape(-1)


# The float32 kernels compute on float64 arrays that hold float32 values. A product of two such values is exact, so one
# rounding after `a * b + c` is a fused multiply-add, and `to_float32` after each operation is float32 arithmetic.


def _log(x):
    """Return Cephes' logf on (0, 1]: x = m * 2**e, m in [0.7071, 1.4142); polynomial in m - 1, and e * log(2) in two
    parts."""
    m, e = np.frexp(x)
    low = m < _SQRT_HALF
    e = e - low.astype(f64)
    x = m + m * low - 1.0
    z = to_float32(x * x)
    y = _polynomial(_LOG, x)
    y = to_float32(to_float32(y * x) * z + to_float32(e * _LOG2_LOW))
    return to_float32(e * _LOG2_HIGH + to_float32(x + to_float32(y - z * 0.5)))


def _polynomial(coefficients, x):
    """Return a polynomial by Horner's scheme in float32, highest power first."""
    y = coefficients[0]
    for coefficient in coefficients[1:]:
        y = to_float32(y * x + coefficient)
    return y


def _sincos(x):
    """Return Cephes' sinf and cosf on [0, 2 pi]: subtract a multiple of pi/4 in three parts, then a polynomial for
    each."""
    j = (to_float32(x * _FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    quarter = j.astype(f64)
    for part in _PI_OVER_4:
        x = to_float32(quarter * part + x)
    z = to_float32(x * x)
    c, s = _polynomial(_COS, z), _polynomial(_SIN, z)
    c = to_float32(to_float32(to_float32(c * z) * z - z * 0.5) + 1.0)
    s = to_float32(to_float32(s * z) * x + x)
    swap = (j & 2) != 0
    return np.where(swap, c, s) * (1 - (j & 4) // 2), np.where(swap, s, c) * (
        1 - ((j - 2) & 4 ^ 4) // 2
    )


def _single(*numbers):
    """Return constants rounded to float32, as Python floats."""
    return tuple(float(f32(number)) for number in numbers)


_SQRT_HALF, _FOUR_OVER_PI = _single(0.707106781186547524, 1.27323954473516)
_LOG2_LOW, _LOG2_HIGH = _single(-2.12194440e-4, 0.693359375)
_LOG = _single(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_PI_OVER_4 = _single(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_COS = _single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = _single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)


# other distributions ----------------------------------------------------------------------------------------


def exponential(g, n, rate=1.0, dtype=f32):
    """Return `n` numbers with density `rate * exp(-rate * x)`, computed in float64."""
    u = _unit(g, n, f64)
    return cast(-1.0 / rate * (each(math.log1p, -u) if dtype == f64 else np.log1p(-u)), dtype)


def randint(g, n, low, high):
    """Return `n` integers in [low, high) as int64; a range of 2**28 values or more uses 64-bit words."""
    span = high - low
    if span == 1 << 64:
        return words64(g, n).view(np.int64)
    words = words64(g, n) % u64(span) if span >= 1 << 28 else words32(g, n) % u64(span)
    return words.astype(np.int64) + np.int64(low)


def randperm(g, n):
    """Return a random permutation of 0 … n-1 by the Fisher-Yates shuffle from the front, with one 32-bit word for every
    place but the last."""
    order = list(range(n))
    places = np.arange(max(n - 1, 0), dtype=u64)
    for i, j in enumerate((words32(g, len(places)) % (u64(n) - places) + places).tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)
