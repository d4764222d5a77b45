"""Functions of whole numbers: the greatest common divisor, the least common multiple. Sources: torch.gcd, torch.lcm."""

from __future__ import annotations

from ...exact.dtype_errors import not_implemented
from ..functions import register


def _gcd(xp, self, other):
    _only_whole("gcd_cpu", self)
    return xp.gcd(self, other)


def _lcm(xp, self, other):
    _only_whole("lcm_cpu", self)
    kind = self.dtype
    if kind.itemsize < 4:  # C computes in int, so that what overflows wraps to the same number
        self, other = self.astype("int32"), other.astype("int32")
    divisor = xp.gcd(self, other)
    return xp.abs(self // xp.where(divisor == 0, divisor.dtype.type(1), divisor) * other).astype(
        kind
    )


def _only_whole(kernel, x):
    if x.dtype.kind not in "iu":
        raise not_implemented(kernel, x.dtype)


def _pairs(s):
    return [
        (s.integers(40, 6) - 20, s.integers(30, 6) - 10),
        (s.integers(40, 2, 3), s.integers(30, 3)),
    ]


for _name, _kernel, _tex, _doc in (
    (
        "gcd",
        _gcd,
        r"\gcd({self}, {other})",
        "The greatest number that divides both, 0 for two zeros",
    ),
    (
        "lcm",
        _lcm,
        r"\mathrm{lcm}({self}, {other})",
        "The least number that both divide, 0 where one of them is 0",
    ),
):
    register(
        f"{_name}(Tensor self, Tensor other)",
        forward=_kernel,
        dtype="promote",
        operands=("self", "other"),
        inplace=True,
        latex=_tex,
        samples=_pairs,
        doc=f"{_doc}, element by element. Integer tensors only. Source: torch.{_name}",
    )
