"""Every op from its own samples against PyTorch: values, gradients, dtypes, shapes and the name of the node."""

import pytest
from engine_counterparts import NO_DERIVATIVE, ONLY_HERE
from engine_ops import call_engine, call_torch, cases, differentiable, evaluate, flat, tensors
from goldens.oracle import answer, error_of
from goldens.plain import differences, plain

import autolab


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.key)
def test_value_and_gradient(case, dtype):
    expected = answer(
        "test_ops_torch",
        f"{case.key} {dtype}",
        lambda torch: evaluate(torch, call_torch, case, dtype),
    )
    found = plain(evaluate(autolab, call_engine, case, dtype))
    if case.name in ONLY_HERE:
        del found["node"], expected["node"]
    wrong = differences(found, expected)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.name in NO_DERIVATIVE], ids=lambda case: case.key
)
def test_what_has_no_derivative_says_so(case):
    def ask(torch, call):
        raw, keywords = case.arguments()
        args = tensors(torch, raw, "float64", differentiable(case))
        out = call(case, args, keywords)
        out = out[0] if isinstance(out, (list, tuple)) else out
        return error_of(lambda: torch.autograd.grad(out.sum(), list(flat(args))))

    assert ask(autolab, call_engine) == answer(
        "test_ops_torch", f"{case.key} refused", lambda torch: ask(torch, call_torch)
    )
