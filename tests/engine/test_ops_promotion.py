"""The dtype of a result, for every pair of dtypes and every kind of operand, as PyTorch has it."""

import pytest
from goldens.oracle import check, engine, error_of, same_as_torch

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
)
SCALARS = {"bool": True, "int": 3, "float": 2.5}
OPERATIONS = {
    "add": lambda t, a, b: a + b,
    "sub": lambda t, a, b: a - b,
    "mul": lambda t, a, b: a * b,
    "div": lambda t, a, b: a / b,
    "floordiv": lambda t, a, b: a // b,
    "remainder": lambda t, a, b: a % b,
    "pow": lambda t, a, b: a**b,
    "eq": lambda t, a, b: a == b,
    "lt": lambda t, a, b: a < b,
    "maximum": lambda t, a, b: t.maximum(a, b),
    "where": lambda t, a, b: t.where(t.tensor([True, False]), a, b),
    "and": lambda t, a, b: a & b,
    "result_type": lambda t, a, b: str(t.result_type(a, b)),
}
UNARY = (
    "neg",
    "abs",
    "sqrt",
    "exp",
    "sin",
    "sigmoid",
    "relu",
    "sign",
    "floor",
    "round",
    "square",
    "reciprocal",
    "sum",
    "mean",
    "prod",
    "cumsum",
    "max",
    "std",
    "logical_not",
    "bitwise_not",
    "isnan",
    "softmax",
    "argmax",
    "sort",
    "any",
    "norm",
)


def operand(torch, kind, dtype):
    values = torch.tensor([1, 2]) if kind == "tensor" else torch.tensor(2)
    return values.to(getattr(torch, dtype))


def outcome(torch, action):
    """The result's dtype, shape and values; or the kind of error."""
    try:
        result = action()
    except (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError) as error:
        return type(error).__name__
    if isinstance(result, str):
        return result
    result = result if isinstance(result, torch.Tensor) else result[0]
    return [
        str(result.dtype),
        list(result.shape),
        result.double().tolist(),
    ]


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name):
    def table(torch):
        rows = {}
        for dtype in DTYPES:
            for kind in ("tensor", "0-d"):
                x = operand(torch, kind, dtype)
                call = {"softmax": lambda: x.softmax(0), "cumsum": lambda: x.cumsum(0)}.get(
                    name, lambda: getattr(x, name)()
                )
                rows[f"{kind} {dtype}"] = outcome(torch, call)
        return rows

    check("test_ops_promotion", name, table, rtol=2e-3)


@pytest.mark.parametrize("operation", ["add_", "sub_", "mul_", "div_", "pow_"])
def test_in_place_keeps_the_dtype_or_refuses(operation):
    def table(torch):
        rows = {}
        for left in DTYPES:
            for right in DTYPES:
                x = operand(torch, "tensor", left)
                rows[f"{left} {right}"] = (
                    error_of(lambda: getattr(x, operation)(operand(torch, "tensor", right))),
                    str(x.dtype),
                )
            for name, number in SCALARS.items():
                x = operand(torch, "tensor", left)
                rows[f"{left} Python {name}"] = (
                    error_of(lambda: getattr(x, operation)(number)),
                    str(x.dtype),
                )
        return rows

    check("test_ops_promotion", operation, table)


@same_as_torch
def test_the_tables_behind_it(torch):
    return (
        {
            f"{a} {b}": str(torch.promote_types(getattr(torch, a), getattr(torch, b)))
            for a in DTYPES
            for b in DTYPES
        },
        {
            f"{a} {b}": torch.can_cast(getattr(torch, a), getattr(torch, b))
            for a in DTYPES
            for b in DTYPES
        },
    )


@same_as_torch
def test_conversion_between_all_dtypes(torch):
    values = [0.0, 1.0, 2.7, -1.5, 200.0]
    return {
        f"{a} {b}": torch.tensor(values).to(getattr(torch, a)).to(getattr(torch, b))
        for a in DTYPES
        for b in DTYPES
        if not (b == "uint8" and a not in ("bool", "uint8"))
    }


def test_a_number_never_widens_a_tensor():
    torch = engine()
    x = torch.ones(3, dtype=torch.float16, requires_grad=True)
    for y in (x * 2.5, 2.5 - x, x / 3, x**2, x + 1, x * torch.tensor(2.0, dtype=torch.float64)):
        assert y.dtype is torch.float16
        y.sum().backward()
        assert x.grad.dtype is torch.float16


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("left", DTYPES)
def test_tensor_with_tensor(operation, left):
    """The left operand a tensor or 0-d, the right of every dtype, as a tensor, 0-d, or Python number."""
    f = OPERATIONS[operation]

    def table(torch):
        rows = {}
        for kind in ("tensor", "0-d"):
            a = operand(torch, kind, left)
            for right in DTYPES:
                for other in ("tensor", "0-d"):
                    rows[f"{kind} {left}, {other} {right}"] = outcome(
                        torch, lambda: f(torch, a, operand(torch, other, right))
                    )
            for name, number in SCALARS.items():
                if operation != "maximum":
                    rows[f"{kind} {left}, Python {name}"] = outcome(
                        torch, lambda: f(torch, a, number)
                    )
                    if operation not in ("where", "result_type"):
                        rows[f"Python {name}, {kind} {left}"] = outcome(
                            torch, lambda: f(torch, number, a)
                        )
        return rows

    check("test_ops_promotion", f"{operation} {left}", table, rtol=2e-3)
