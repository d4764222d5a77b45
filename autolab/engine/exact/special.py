"""Special functions that NumPy lacks, vectorised over arrays of any shape.

Every function takes the array module first (`xp`: numpy or cupy) and works in float64 whatever the input's dtype;
the result is rounded once to the input's dtype, so float32 results are correctly rounded almost everywhere.

The rational approximations of `erf`, `erfc` and `lgamma`, and the expansion in `zeta`, are those of the Cephes
Mathematical Library by Stephen L. Moshier (see THIRD_PARTY_NOTICES), rearranged to act on whole arrays.
"""

import math

import numpy as np

# elements worked on at a time: the dozens of temporaries of a rational approximation then stay in the cache
BLOCK = 1 << 14

LOG_PI = math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)

# erf(x) = x T(x^2) / U(x^2) for |x| <= 1
ERF_T = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
ERF_U = (
    1.0,
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
# erfc(x) = exp(-x^2) P(x) / Q(x) for 1 <= x < 8, R / S beyond
ERFC_P = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
ERFC_Q = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
ERFC_R = (
    5.64189583547755073984e-1,
    1.27536670759978104416e0,
    5.01905042251180477414e0,
    6.16021097993053585195e0,
    7.40974269950448939160e0,
    2.97886665372100240670e0,
)
ERFC_S = (
    1.0,
    2.26052863220117276590e0,
    9.39603524938001434673e0,
    1.20489539808096656605e1,
    1.70814450747565897222e1,
    9.60896809063285878198e0,
    3.36907645100081516050e0,
)
# log gamma(2 + x) = x B(x) / C(x) for 0 <= x < 1; A: the tail of Stirling's formula
LGAMMA_B = (
    -1.37825152569120859100e3,
    -3.88016315134637840924e4,
    -3.31612992738871184744e5,
    -1.16237097492762307383e6,
    -1.72173700820839662146e6,
    -8.53555664245765465627e5,
)
LGAMMA_C = (
    1.0,
    -3.51815701436523470549e2,
    -1.70642106651881159223e4,
    -2.20528590553854454839e5,
    -1.13933444367982507207e6,
    -2.53252307177582951285e6,
    -2.01889141433532773231e6,
)
LGAMMA_A = (
    8.11614167470508450300e-4,
    -5.95061904284301438324e-4,
    7.93650340457716943945e-4,
    -2.77777777730099687205e-3,
    8.33333333333331927722e-2,
)
# Bernoulli numbers B2, B4, ... B24
BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
)


def _polynomial(coefficients, x):
    """Horner's scheme, highest power first."""
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _blockwise(function):
    """Run `function(xp, flat float64 array, *parameters)` over an array of any shape and float dtype, block by
    block."""

    def run(xp, x, *parameters):
        x = xp.asarray(x)
        flat = x.reshape(-1)
        out = xp.empty(flat.shape, x.dtype)
        with _quiet(xp):
            for start in range(0, flat.size, BLOCK):
                piece = slice(start, start + BLOCK)
                out[piece] = function(xp, flat[piece].astype(xp.float64), *parameters)
        out = out.reshape(x.shape)
        if x.flags.c_contiguous:
            return out
        same = xp.empty_like(x)  # in the order of memory that `x` has
        same[...] = out
        return same

    run.__name__, run.__doc__ = function.__name__.strip("_"), function.__doc__
    return run


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def _quiet(xp):
    # poles and overflow are results here (inf, nan), not accidents; CuPy has no floating-point warnings
    return xp.errstate(all="ignore") if hasattr(xp, "errstate") else _Nothing()


def _erfc_tail(xp, x):
    """erfc(x) for x >= 1."""
    # exp(-x*x) multiplies the rounding error of x*x by x*x: square a shortened x exactly and correct for the rest
    short = x.astype(xp.float32).astype(xp.float64)
    decay = xp.exp(-short * short) * xp.exp((short - x) * (short + x))
    return decay * _erfcx_tail(xp, x)


def _erfcx_tail(xp, x):
    """exp(x^2) erfc(x) for x >= 1."""
    near = _polynomial(ERFC_P, x) / _polynomial(ERFC_Q, x)
    far = _polynomial(ERFC_R, x) / _polynomial(ERFC_S, x)
    return xp.where(x < 8, near, far)


def _erf_core(xp, x):
    """erf(x) for |x| <= 1."""
    square = x * x
    return x * _polynomial(ERF_T, square) / _polynomial(ERF_U, square)


def _erf_array(xp, x):
    """erf(x), the integral of the bell curve 2/sqrt(pi) exp(-t^2) from 0 to x."""
    size = xp.abs(x)
    out = _erf_core(xp, x)
    large = size > 1
    if (
        xp is not np
    ):  # both branches everywhere: to look for large numbers, the host would have to wait
        return xp.where(large, xp.copysign(1 - _erfc_tail(xp, xp.clip(size, 1.0, 10.0)), x), out)
    if large.any():
        tail = 1 - _erfc_tail(xp, xp.minimum(size[large], 10.0))
        out[large] = xp.copysign(tail, x[large])
    return out


def _erfc_array(xp, x):
    """erfc(x) = 1 - erf(x), without the loss of digits at large x."""
    out = 1 - _erf_core(xp, x)
    large = xp.abs(x) > 1
    if xp is not np:
        tail = _erfc_tail(xp, xp.clip(xp.abs(x), 1.0, 30.0))
        return xp.where(large, xp.where(x < 0, 2 - tail, tail), out)
    if large.any():
        tail = _erfc_tail(xp, xp.minimum(xp.abs(x[large]), 30.0))
        out[large] = xp.where(x[large] < 0, 2 - tail, tail)
    return out


def _log_ndtr_array(xp, x):
    """log of the share of the standard normal distribution below x."""
    t = x * math.sqrt(0.5)
    size = xp.clip(
        -t, 1.0, 1e40
    )  # beyond, the powers overflow; what is added to x^2 no longer counts
    tail = xp.log(_erfcx_tail(xp, size) / 2) - t * t
    return xp.where(t < -1, xp.where(xp.isinf(t), -xp.inf, tail), xp.log1p(-_erfc_array(xp, t) / 2))


def _erfinv_array(xp, y):
    """The x with erf(x) = y; nan outside [-1, 1], infinite at its ends."""
    # Winitzki's closed form is good to 2e-3; Halley steps cube the error each time. The complement keeps the digits
    # near 1.
    size = xp.abs(y)
    rest = 1 - size
    log_term = xp.log(rest * (1 + size))
    first = 2 / (math.pi * 0.147) + log_term / 2
    x = xp.sqrt(xp.sqrt(first * first - log_term / 0.147) - first)
    for _ in range(3):
        miss = xp.where(size < 0.5, erf(xp, x) - size, rest - erfc(xp, x))
        step = miss / (TWO_OVER_SQRT_PI * xp.exp(-x * x))
        x = x - step / (1 + x * step)
    x = xp.where(size == 1, xp.inf, xp.where(size > 1, xp.nan, x))
    x = xp.where(size < 1e-8, size / TWO_OVER_SQRT_PI, x)
    return xp.copysign(x, y)


def _lgamma_positive(xp, x):
    """log gamma(x) for x > 0."""
    u, below = x, x - 1
    product = xp.ones_like(x)
    for _ in range(11):  # down to [2, 3): gamma(u) = (u - 1) gamma(u - 1)
        high = (u >= 3) & (x < 13)
        u = xp.where(high, u - 1, u)
        product = xp.where(high, product * u, product)
    # below 2: gamma(x) = gamma(x + 1) / x, twice below 1; written so that the digits survive at the zeros x = 1 and x
    # = 2
    small = x < 0.95
    shifted = xp.where(small, x, xp.where(x < 1.95, below, u - 2))
    shift_log = xp.where(x < 1.95, -xp.log1p(xp.where(small, x, below)), 0.0)
    product_log = xp.where(small, -xp.log(x), xp.log(product))
    middle = product_log + (
        shift_log + shifted * (_polynomial(LGAMMA_B, shifted) / _polynomial(LGAMMA_C, shifted))
    )
    inverse_square = 1 / (x * x)
    stirling = (x - 0.5) * xp.log(x) - x + HALF_LOG_2PI + _polynomial(LGAMMA_A, inverse_square) / x
    return xp.where(x < 13, middle, xp.where(x == xp.inf, xp.inf, stirling))


def _sin_pi(xp, x):
    """sin(pi x) up to its sign, exact zeros at the integers."""
    return xp.sin(math.pi * xp.abs(x - xp.rint(x)))


def _lgamma_array(xp, x):
    """log |gamma(x)|: infinite at 0, -1, -2, ... (there the reflection formula divides by zero)."""
    negative = x < 0
    positive = _lgamma_positive(xp, xp.where(negative, 1 - x, x))
    reflected = xp.where(xp.isinf(x), xp.inf, LOG_PI - xp.log(_sin_pi(xp, x)) - positive)
    return xp.where(negative, reflected, xp.where(x == 0, xp.inf, positive))


def _digamma_array(xp, x):
    """The derivative of log gamma: -/+inf at +/-0, nan at the negative integers."""
    negative = x < 0
    whole = xp.rint(x)
    # psi(x) = psi(1 - x) - pi / tan(pi x)
    total = xp.where(negative, -math.pi / xp.tan(math.pi * (x - whole)), 0.0)
    u = xp.where(negative, 1 - x, x)
    for _ in range(10):  # up to where the asymptotic series holds: psi(u) = psi(u + 1) - 1 / u
        low = u < 10
        total = xp.where(low, total - 1 / u, total)
        u = xp.where(low, u + 1, u)
    inverse_square = 1 / (u * u)
    series = _polynomial(
        [b / (2 * k) for k, b in reversed(list(enumerate(BERNOULLI[:7], 1)))], inverse_square
    )
    total = total + (xp.log(u) - 0.5 / u - xp.where(u < 1e17, inverse_square * series, 0.0))
    total = xp.where(negative & (whole == x), xp.nan, total)
    return xp.where(x == 0, xp.copysign(xp.inf, -x), total)


def _zeta_array(xp, q, s):
    """Hurwitz zeta, the sum over k >= 0 of (k + q)^-s, for a whole number s >= 2 (Euler-Maclaurin summation).

    Far below 0 there are too many terms before the sum is smooth: there the sum over all whole k, a polynomial of
    cot(pi q), less what it has too many, which is another zeta."""
    far = q < -_FAR
    given, q = q, xp.where(far, 1 - q, q)
    total = q**-s
    a, power, k = q, total, 0
    # the host waits for a GPU here: how many terms a number below 0 needs is in the number
    while k < 9 or bool((a <= 9).any()):
        active = (a <= 9) | (k < 9)
        a = xp.where(active, a + 1, a)
        power = a**-s
        total = xp.where(active, total + power, total)
        k += 1
    total = total + power * a / (s - 1) - 0.5 * power
    factor = 1.0
    for j, bernoulli in enumerate(BERNOULLI):
        factor *= s + 2 * j  # s (s + 1) ... (s + 2j)
        power = power / a
        total = total + bernoulli / math.factorial(2 * j + 2) * factor * power
        factor *= s + 2 * j + 1
        power = power / a
    total = xp.where(q == xp.inf, xp.nan, total)  # as PyTorch has it
    total = xp.where(far, _over_all_whole(xp, given, s) - (-1) ** s * total, total)
    return xp.where((given <= 0) & (given == xp.floor(given)), xp.inf, total)


_FAR = 64


def _over_all_whole(xp, q, s):
    """The sum of (k + q)^-s over all whole numbers k: pi^s times the polynomial Q_s of c = cot(pi q), with Q_1 = c and
    Q_(n+1) = (1 + c^2) Q_n' / n, for every derivative of that sum is one of the same kind."""
    coefficients = [0.0, 1.0]  # of 1, c, c^2 …
    for n in range(1, s):
        slope = [k * a / n for k, a in enumerate(coefficients)][1:]
        coefficients = [
            (slope[k] if k < len(slope) else 0.0) + (slope[k - 2] if k >= 2 else 0.0)
            for k in range(len(slope) + 2)
        ]
    c = 1 / xp.tan(math.pi * (q - xp.rint(q)))
    return math.pi**s * _polynomial(coefficients[::-1], c)


def _trigamma_array(xp, x):
    """The second derivative of log gamma."""
    # reflection: psi1(x) + psi1(1 - x) = (pi / sin(pi x))^2
    low = x < 0.5
    other = xp.where(x == xp.inf, 0.0, _zeta_array(xp, xp.where(low, 1 - x, x), 2))
    pole = (math.pi / _sin_pi(xp, x)) ** 2
    return xp.where(low, pole - other, other)


erf = _blockwise(_erf_array)
erfc = _blockwise(_erfc_array)
erfinv = _blockwise(_erfinv_array)
log_ndtr = _blockwise(_log_ndtr_array)
lgamma = _blockwise(_lgamma_array)
digamma = _blockwise(_digamma_array)
zeta = _blockwise(_zeta_array)
_trigamma = _blockwise(_trigamma_array)


def polygamma(xp, n, x):
    """The n-th derivative of `digamma`, n >= 0."""
    if n == 0:
        return digamma(xp, x)
    if n == 1:
        return _trigamma(xp, x)
    return x.dtype.type((1 if n % 2 else -1) * math.factorial(n)) * zeta(xp, x, n + 1)
