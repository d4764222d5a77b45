"""Modified Bessel functions of the first kind: i0, i1; scaled by exp(-|x|): i0e, i1e.

Chebyshev series on |x| <= 8 and of 1/|x| beyond, with the coefficients and the order of operations of PyTorch. Source:
S. L. Moshier, Cephes Mathematical Library, 1992."""

from __future__ import annotations

import math

import numpy as np

from ...exact.dtype_errors import not_implemented
from ...exact import precise, rounding
from ..functions import NAMESPACES, register

_I0_NEAR = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15,
    -1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12,
    -1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7, 1.11738753912010371815e-6,
    -4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5, 1.88502885095841655729e-4,
    -5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1,
    -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip
_I0_FAR = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17,
    -2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15,
    -9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11, -3.14991652796324136454e-11,
    1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9, 2.26666899049817806459e-8,
    2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip
_I1_NEAR = (
    2.77791411276104639959e-18, -2.11142121435816608115e-17, 1.55363195773620046921e-16, -1.10559694773538630805e-15,
    7.60068429473540693410e-15, -5.04218550472791168711e-14, 3.22379336594557470981e-13, -1.98397439776494371520e-12,
    1.17361862988909016308e-11, -6.66348972350202774223e-11, 3.62559028155211703701e-10, -1.88724975172282928790e-9,
    9.38153738649577178388e-9, -4.44505912879632808065e-8, 2.00329475355213526229e-7, -8.56872026469545474066e-7,
    3.47025130813767847674e-6, -1.32731636560394358279e-5, 4.78156510755005422638e-5, -1.61760815825896745588e-4,
    5.12285956168575772895e-4, -1.51357245063125314899e-3, 4.15642294431288815669e-3, -1.05640848946261981558e-2,
    2.47264490306265168283e-2, -5.29459812080949914269e-2, 1.02643658689847095384e-1, -1.76416518357834055153e-1,
    2.52587186443633654823e-1,
)  # fmt: skip
_I1_FAR = (
    7.51729631084210481353e-18, 4.41434832307170791151e-18, -4.65030536848935832153e-17, -3.20952592199342395980e-17,
    2.96262899764595013876e-16, 3.30820231092092828324e-16, -1.88035477551078244854e-15, -3.81440307243700780478e-15,
    1.04202769841288027642e-14, 4.27244001671195135429e-14, -2.10154184277266431302e-14, -4.08355111109219731823e-13,
    -7.19855177624590851209e-13, 2.03562854414708950722e-12, 1.41258074366137813316e-11, 3.25260358301548823856e-11,
    -1.89749581235054123450e-11, -5.58974346219658380687e-10, -3.83538038596423702205e-9, -2.63146884688951950684e-8,
    -2.51223623787020892529e-7, -3.88256480887769039346e-6, -1.10588938762623716291e-4, -9.76109749136146840777e-3,
    7.78576235018280120474e-1,
)  # fmt: skip
_SHORT = (12, 18)
"""So many coefficients of i1 are left out for float32, near and far: they are too small to count."""


def _series(xp, x, coefficients):
    """The Chebyshev series of `x` by Clenshaw's recurrence: compiled PyTorch fuses its product and difference."""
    number = x.dtype.type
    now, before, first = (
        xp.zeros_like(x) + number(coefficients[0]),
        xp.zeros_like(x),
        xp.zeros_like(x),
    )
    for c in coefficients[1:]:
        first, before = before, now
        if xp is not np:
            now = x * before - first + number(c)
        elif x.dtype == precise.F32:
            now = (x.astype(np.float64) * before - first).astype(np.float32) + number(c)
        else:
            now = rounding.fma(x, before, -first) + number(c)
    return number(0.5) * (now - first)


def _exp(xp, x):
    if xp is not np:
        return xp.exp(x)
    if x.dtype == precise.F32:
        return np.exp(x, dtype=np.float64).astype(np.float32)
    return np.where(
        x > 709, np.exp(x), rounding.each(math.exp, np.minimum(x, 709))
    )  # beyond, Python's exp raises


def _bessel(order, near, far, scaled=False):
    def kernel(xp, self):
        given = xp.asarray(self)
        if given.dtype.kind == "c":
            raise not_implemented(
                f"i{order}e_cpu" if scaled else "i1_cpu" if order else "i0_vml_cpu", given.dtype
            )
        half = given.dtype == np.float16
        value = given.astype(np.float32) if half else given  # half floats are computed as floats
        x, number = xp.abs(value), value.dtype.type
        short = _SHORT if order == 1 and value.dtype == precise.F32 else (0, 0)
        grown = number(1) if scaled else _exp(xp, x)
        inner = _series(xp, x / number(2) - number(2), near[short[0] :])
        outer = _series(xp, number(32) / x - number(2), far[short[1] :])
        inner = grown * x * inner if order else grown * inner
        out = xp.where(x <= 8, inner, grown * outer / xp.sqrt(x))
        out = xp.where(value < 0, -out, out) if order else out
        return out.astype(given.dtype, copy=False)[()]

    return kernel


def _slope(m, g, self, result):
    # i0(x) - i1(x) / x, and its limit 1/2 at 0
    # NaN too, as in torch
    small = m.logical_not(
        m.abs(self) > (1.1920929e-07 if self.dtype.itemsize < 8 else 2.220446049250313e-16)
    )
    safe = m.masked_fill(self, small, 1.0)
    return g * m.masked_fill(m.i0(safe) - result * m.reciprocal(safe), small, 0.5)


register(
    "i0(Tensor self)",
    forward=_bessel(0, _I0_NEAR, _I0_FAR),
    dtype="float",
    operands=("self",),
    inplace=True,
    vjp={"self": lambda m, g, self: g * m.special_i1(self)},
    latex=r"I_0({self})",
    vjp_latex={"self": r"{g} \cdot I_1({self})"},
    samples=lambda s: [s.randn(3), s.uniform(7.0, 12.0, 4)],
    doc="The modified Bessel function of the first kind, of order 0. Source: torch.i0",
)
register(
    "special_i1(Tensor self)",
    forward=_bessel(1, _I1_NEAR, _I1_FAR),
    dtype="float",
    operands=("self",),
    method=False,
    namespace="special",
    public="i1",
    vjp={"self": _slope},
    latex=r"I_1({self})",
    vjp_latex={"self": r"{g} \cdot (I_0({self}) - \frac{{result}}{{self}})"},
    samples=lambda s: [s.randn(3), s.uniform(7.0, 12.0, 4)],
    doc="The modified Bessel function of the first kind, of order 1. Source: torch.special.i1",
)
NAMESPACES["special"]["i0"] = NAMESPACES[""]["i0"]


# -- scaled by exp(-|x|), so that nothing overflows --------------------------------------------------------------------
def _scaled_slope(m, g, self, result):
    # i0e(x) - i1e(x) (sgn(x) + 1/x), and its limit 1/2 at 0
    # NaN too, as in torch
    small = m.logical_not(
        m.abs(self) > (1.1920929e-07 if self.dtype.itemsize < 8 else 2.220446049250313e-16)
    )
    safe = m.masked_fill(self, small, 1.0)
    return g * m.masked_fill(
        m.special_i0e(safe) - result * (m.sgn(safe) + m.reciprocal(safe)), small, 0.5
    )


for _name, _kernel, _rule, _tex, _slope_tex in (
    (
        "i0e",
        _bessel(0, _I0_NEAR, _I0_FAR, scaled=True),
        lambda m, g, self, result: g * (m.special_i1e(self) - m.sgn(self) * result),
        r"e^{-\left|{self}\right|} \cdot I_0({self})",
        r"{g} \cdot (e^{-\left|{self}\right|} \cdot I_1({self}) - \mathrm{sgn}({self}) \cdot {result})",
    ),
    (
        "i1e",
        _bessel(1, _I1_NEAR, _I1_FAR, scaled=True),
        _scaled_slope,
        r"e^{-\left|{self}\right|} \cdot I_1({self})",
        r"{g} \cdot (e^{-\left|{self}\right|} \cdot I_0({self}) - {result} \cdot (\mathrm{sgn}({self}) + \frac{1}{{self}}))",
    ),
):
    register(
        f"special_{_name}(Tensor self)",
        forward=_kernel,
        dtype="float",
        operands=("self",),
        node=f"Special{_name.upper()}Backward0",
        method=False,
        namespace="special",
        public=_name,
        vjp={"self": _rule},
        latex=_tex,
        vjp_latex={"self": _slope_tex},
        samples=lambda s: [s.randn(3), s.uniform(7.0, 12.0, 4)],
        doc=f"exp(-|x|) {_name[:2]}(x): does not overflow. Source: torch.special.{_name}",
    )
