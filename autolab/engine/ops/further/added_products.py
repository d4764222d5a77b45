"""The product of batches of matrices added to something, which attention is made of.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.baddbmm.html
"""

from __future__ import annotations

from ..functions import internal
from ..matmul import no_masks, sum_of, times


def _baddbmm(xp, self, batch1, batch2, beta, alpha):
    no_masks("baddbmm", batch1, batch2)
    return sum_of(self, beta, xp.matmul(batch1, batch2), alpha)


internal(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1)",
    forward=_baddbmm,
    hidden=("self_sym_sizes",),
    also_saves=("beta", "alpha"),
    vjp={
        "self": lambda m, g, beta, self_sym_sizes: times(m.sum_to(g, self_sym_sizes), beta),
        "batch1": lambda m, g, batch2, alpha: times(m.bmm(g, m.transpose(batch2, 1, 2)), alpha),
        "batch2": lambda m, g, batch1, alpha: times(m.bmm(m.transpose(batch1, 1, 2), g), alpha),
    },
    latex=r"{beta} \cdot {self} + {alpha} \cdot {batch1} \, {batch2}",
    vjp_latex={
        "self": r"{beta} \cdot {g}",
        "batch1": r"{alpha} \cdot {g} \, {batch2}^{T}",
        "batch2": r"{alpha} \cdot {batch1}^{T} \, {g}",
    },
    samples=lambda s: [
        (s.randn(2, 3, 2), s.randn(2, 3, 4), s.randn(2, 4, 2)),
        (s.randn(3, 1), s.randn(2, 3, 4), s.randn(2, 4, 2), {"beta": 0.5, "alpha": 2.0}),
    ],
)
