"""inf and NaN reach what they reach in PyTorch, in results and gradients: of every operation, and where an answer has
to come at once."""

import pytest
from engine_nonfinite import reached
from engine_ops import call_engine, call_torch, cases
from goldens.oracle import answer

import autolab

# Where PyTorch's answer is that of its linear algebra library, of a formula that rounds otherwise, or of one of two
# kernels: (what begins so is not compared, why).
OTHERWISE = {
    "cumprod": (("self", "gradient"), "PyTorch divides by the factor, here it is left out"),
    "grid_sampler_2d": (
        "gradient",
        "an infinite gradient meets weights of 0 here, which PyTorch leaves out",
    ),
    "linalg_pinv": ("", "of inf all is NaN here, in PyTorch what its own LAPACK makes of it"),
    "linalg_det": ("", "by an LU decomposition, whose pivots decide"),
    "linalg_slogdet": (
        "",
        "by an LU decomposition; and PyTorch's sign is part of the graph, with a gradient of 0",
    ),
    "linalg_solve": ("A", "by an LU decomposition, whose pivots decide"),
    "native_layer_norm": (
        ("weight", "gradient"),
        "PyTorch's gradient sums in another order, so inf - inf comes earlier",
    ),
    "native_group_norm": (
        ("weight", "gradient"),
        "PyTorch multiplies by weight / sigma first, so inf - inf comes earlier",
    ),
    "native_batch_norm": (
        "weight",
        "PyTorch multiplies by weight / sigma first, so inf - inf comes earlier",
    ),
    "binary_cross_entropy_backward": ("self", "no probability: binary_cross_entropy refuses it"),
    "convolution_grad_input": (
        "grad_output",
        "PyTorch's float32 kernel leaves out the border, the one for float64 multiplies it",
    ),
    "gelu": (
        "self",
        "PyTorch's float32 gelu of inf is NaN on some processors (oneDNN) and inf on others",
    ),
    "mode": ("", "it refuses nan"),
    "unique_dim": ("", "rows are sorted, which NaN have no place in"),
}


def compared(case, found):
    """What of the answers is compared."""
    start, _ = OTHERWISE.get(case.name, (None, ""))
    return found if start is None else {k: v for k, v in found.items() if not k.startswith(start)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "case", [c for c in cases() if OTHERWISE.get(c.name, ("-",))[0]], ids=lambda case: case.key
)
def test_reaches_the_same(case, dtype):
    expected = answer(
        "test_nonfinite",
        f"{case.key} {dtype}",
        lambda torch: compared(case, reached(torch, call_torch, case, dtype)),
    )
    assert compared(case, reached(autolab, call_engine, case, dtype)) == expected
