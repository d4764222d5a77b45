"""Every op from its own samples against PyTorch: values, gradients, dtypes, shapes and the name of the node."""
import pytest
from engine_ops import call_engine, call_torch, cases, evaluate
from goldens.oracle import answer
from goldens.plain import differences, plain

import autolab

WIDER = {
    "hardsigmoid": (1e-7, "PyTorch multiplies by 1/6 rounded to float32"),
    "binary_cross_entropy_backward": (1e-6, "PyTorch adds 1e-12 to keep its second derivative finite at 0 and 1"),
    # case -> (rtol, why PyTorch's own number is not exact, or the formula is conditioned badly)
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.key)
def test_value_and_gradient(case, dtype):
    expected = answer("test_ops_torch", f"{case.key} {dtype}", lambda torch: evaluate(torch, call_torch, case, dtype))
    found = plain(evaluate(autolab, call_engine, case, dtype))
    rtol = WIDER.get(case.name, (None, ""))[0]
    wrong = differences(found, expected, rtol=rtol)
    assert not wrong, "\n".join(wrong)
