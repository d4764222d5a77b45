"""Results that look into their operand's memory, or are the operand itself, are PyTorch's: of every public function and
every operation."""

import numpy as np
import pytest
from engine_ops import call_engine, call_torch, cases, tensors
from engine_sharing import differing, shared, table
from goldens.oracle import answer, engine

import autolab
from autolab.engine.ops.functions import METHODS, NAMESPACES

torch = engine()
SPACES = {space: NAMESPACES[space] for space in ("", "nn.functional", "linalg")}
SPACES["Tensor"] = (
    METHODS.keys() - NAMESPACES[""].keys()
)  # the others are the same function, or the same record
NAMES = [
    (space, name)
    for space, functions in SPACES.items()
    for name in sorted(functions)
    if not name.endswith("_") and not name.startswith("__")
]


@pytest.mark.parametrize("space", SPACES)
def test_public_functions(space):
    wrong = []
    for name in (n for s, n in NAMES if s == space):
        expected = answer(
            "test_sharing", f"{space} {name}", lambda torch: table(torch, space, name)
        )
        if expected is not None:
            wrong += [f"{name}: {line}" for line in differing(table(torch, space, name), expected)]
    assert not wrong, "\n".join(wrong)


# Inner operations that PyTorch has none for, or does inside of another: what they return is nobody's but the engine's.
INNER = {
    "sum_to",
    "reshape_raw",
    "unsafe_view",
    "copy",
    "fill",
    "fill_tensor",
    "zero",
    "squeeze_product",
    "clone",
    "to_copy",
}


def with_dtype(torch, x, dtype):
    if isinstance(x, (list, tuple)):
        return type(x)(with_dtype(torch, e, dtype) for e in x)
    return (
        x.to(getattr(torch, dtype)) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
    )


def of_a_case(torch, call, case, dtype):
    """What the results share with each tensor that was passed, `-` for an error."""
    raw, keywords = case.arguments()
    args = [with_dtype(torch, x, dtype) for x in tensors(torch, raw, "float32", ())]
    try:
        out = call(case, args, keywords)
    except Exception:
        return "-"
    outs = [
        o for o in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(o, torch.Tensor)
    ]
    given = [
        t
        for a in args
        for t in (a if isinstance(a, (list, tuple)) else (a,))
        if isinstance(t, torch.Tensor)
    ]
    return "".join(shared(o, x) for o in outs for x in given)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_operations(dtype):
    wrong = []
    for case in (c for c in cases() if c.name not in INNER):
        expected = answer(
            "test_sharing",
            f"{case.key} {dtype}",
            lambda torch: of_a_case(torch, call_torch, case, dtype),
        )
        found = of_a_case(autolab, call_engine, case, dtype)
        if (
            "-" not in (found, expected)
            and not expected.startswith(found)
            and not found.startswith(expected)
        ):
            wrong.append(f"{case.key}: {found!r}, PyTorch {expected!r}")
    assert not wrong, "\n".join(wrong)


def test_a_change_in_place_is_not_seen_elsewhere():
    for dtype in (torch.int32, torch.uint8, torch.float64):
        a = torch.tensor([1, 2, 3], dtype=dtype)
        others = [
            a.floor(),
            a.ceil(),
            a.trunc(),
            a.round(),
            a.nan_to_num(),
        ]
        a += 5
        assert all(b.tolist() == [1, 2, 3] for b in others)
    mask = torch.tensor([True, False])
    signs = [mask.sign(), mask.sgn()]
    mask.logical_not_()
    assert all(b.tolist() == [True, False] for b in signs)
    assert np.array_equal(mask.numpy(), [False, True])
