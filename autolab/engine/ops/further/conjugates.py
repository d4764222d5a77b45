"""What concerns complex numbers, of real ones: real, imag, conj, angle. There are no conjugated views here, and no
gradients of complex tensors (docs/differences.md)."""

from __future__ import annotations

import math

from ...core.errors import fail
from ..functions import METHODS, composite, internal


def only_real(name, x):
    """Raises NotImplementedError for complex numbers."""
    if x.dtype.is_complex:
        raise fail(
            NotImplementedError,
            f"{name} of complex numbers is not supported by autolab",
            "Complex tensors are for arithmetic and printing only here.",
        )


def _told(name, answer, doc, *, method=True, real=False):
    """A function that computes nothing; `real`: it refuses complex numbers."""

    @composite(name, method=method)
    def call(input):
        if real:
            only_real(name, input)
        return answer(input)

    call.__doc__ = f"{doc} Source: torch.{name}."
    return call


def _itself(input):
    return input


_REAL = "A real tensor itself. Raises NotImplementedError for complex ones."
_real = _told("real", _itself, _REAL, method=False, real=True)
for _name in ("conj", "conj_physical"):
    _told(_name, _itself, _REAL, real=True)
for _form, _doc in (
    ("conj", "no conjugated views are made here."),
    ("neg", "no negated views are made here."),
):
    _told(f"resolve_{_form}", _itself, f"The tensor itself: {_doc}")
    _told(f"is_{_form}", lambda input: False, f"False: {_doc}")


@composite()
def imag(input):
    """Raises RuntimeError, as torch does for a real tensor; NotImplementedError for a complex one. Source:
    torch.imag."""
    only_real("imag", input)
    raise fail(
        RuntimeError,
        "imag is not implemented for tensors with non-complex dtypes.",
        "A real tensor has no imaginary part.",
    )


def _set_real(self, value):
    only_real("real", self)
    self[...] = value


def _set_imag(self, value):
    imag(self)


METHODS["real"] = property(_real, _set_real, doc="A real tensor itself. Source: torch.Tensor.real")
METHODS["imag"] = property(
    imag, _set_imag, doc="Raises RuntimeError for a real tensor. Source: torch.Tensor.imag"
)


def _angle(xp, self):
    # nan stays nan; -0.0 counts as positive
    return xp.where(
        self != self, self, xp.where(self < 0, self.dtype.type(math.pi), self.dtype.type(0))
    )[()]


angle_op = internal(
    "angle(Tensor self)",
    forward=_angle,
    dtype="float",
    operands=("self",),
    vjp={"self": lambda m, g: m.zeros_like(g)},
    also_saves=("self",),
    latex=r"\pi \cdot [{self} < 0]",
    vjp_latex={"self": "0"},
    samples=lambda s: [s.away_from_zero(4), s.away_from_zero(2, 3)],
)


@composite(method=True)
def angle(input):
    """The angle of each number in the complex plane: 0, or pi of a negative one. Its gradient is 0. Raises
    NotImplementedError for complex tensors. Source: torch.angle."""
    only_real("angle", input)
    return angle_op.call(input)
