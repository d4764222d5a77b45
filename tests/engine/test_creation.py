"""Functions that make tensors: values, dtypes, layouts, errors and warnings, each expression compared with PyTorch."""

import re
import warnings

import numpy as np
import pytest
from engine_creation import EXPRESSIONS
from goldens import oracle
from goldens.oracle import error_of, same_as_torch

INTERNAL = r" \(Triggered internally at [^)]*\)$"


def outcome(torch, expression):
    """The value (or the error), how it prints, and the warnings."""
    if hasattr(torch, "set_warn_always"):
        torch.set_warn_always(True)  # PyTorch says some things once in a process only
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = eval(expression, {"torch": torch, "np": np})
            text = repr(value)
        except Exception as error:
            value, text = None, f"{type(error).__name__}: {error}"
    said = (f"{w.category.__name__}: {re.sub(INTERNAL, '', str(w.message))}" for w in caught)
    return value, text, list(dict.fromkeys(said))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    oracle.check(
        "test_creation", expression, lambda torch: outcome(torch, expression), rtol=0, atol=0
    )


@same_as_torch
def test_what_shares_memory_and_what_copies(torch):
    a = np.zeros(3)
    shared = torch.from_numpy(a), torch.as_tensor(a)
    copied = (
        torch.tensor(a),
        torch.as_tensor(a, dtype=torch.float32),
        torch.Tensor(a),
    )
    a[0] = 7
    shared[0][1] = 8
    t = torch.ones(2)
    alias = torch.Tensor(t)
    alias[0] = 5
    zero_d = np.array(1.0)
    view = torch.from_numpy(zero_d)
    view.add_(1)
    same = (
        torch.as_tensor(t) is t,
        shared[0].data_ptr() == shared[1].data_ptr(),
    )
    return a, shared, copied, same, t, zero_d


@same_as_torch
def test_default_dtype(torch):
    torch.set_default_dtype(torch.float64)
    try:
        made = (
            torch.tensor(1.0),
            torch.tensor(1),
            torch.zeros(1),
            torch.full((1,), 2.0),
        )
        made += (
            torch.arange(2.0),
            torch.arange(0, 1, 0.5),
            torch.linspace(0, 1, 2),
            torch.eye(1),
            torch.rand(1),
        )
        made += (
            torch.Tensor([1]),
            torch.normal(0.0, 1.0, (1,)),
            torch.zeros_like(torch.ones(1).float()),
        )
        return [t.dtype for t in made]
    finally:
        torch.set_default_dtype(torch.float32)


@same_as_torch
def test_fills_are_in_place_changes(torch):
    """They raise the version, keep the memory, and give a gradient of zero."""
    fills = ["uniform_()", "normal_()", "random_()", "random_(3)", "random_(0, 3)", "bernoulli_(.5)"]  # fmt: skip
    seen = []
    for fill in fills:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        pointer = y.data_ptr()
        z = eval("y." + fill, {"y": y, "torch": torch})
        (y * 3).sum().backward()
        nodes = y.grad_fn.name()[:-1], y.grad_fn.next_functions[0][0].name()
        seen.append((fill, z is y, y._version, y.data_ptr() == pointer, nodes, x.grad))
    return seen


@same_as_torch(rtol=0, atol=0)
def test_a_refused_fill_draws_nothing(torch):
    torch.manual_seed(0)
    fills = [lambda: torch.ones(3, requires_grad=True).normal_(), lambda: torch.ones(2, dtype=torch.int64).uniform_(),
             lambda: torch.ones(1).expand(4).uniform_(), lambda: torch.randint(3, 1, (2,))]  # fmt: skip
    return [error_of(fill) for fill in fills], torch.rand(2)


def test_warnings_point_at_the_caller():
    torch = oracle.engine()
    for make in (
        lambda: torch.tensor(torch.ones(2)),
        lambda: torch.range(0, 2),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make()
        assert [w.filename for w in caught] == [__file__]


def test_unsupported_arguments_are_refused():
    if oracle.ENGINE != "autolab":
        pytest.skip("PyTorch supports them")
    import autolab as torch

    t = torch.ones(2)
    for make in (lambda: torch.zeros(2, out=t), lambda: torch.rand(2, out=t)):
        with pytest.raises(
            NotImplementedError, match=r"^\w+\(\): argument 'out' is not supported by autolab"
        ):
            make()


def test_a_float_is_filled_with_what_it_counts_exactly():
    engine = oracle.engine()
    for dtype, most in ((engine.float32, 2**24), (engine.float16, 2**11)):
        assert engine.ones(3, dtype=dtype).random_(most).dtype == dtype
        with pytest.raises(NotImplementedError, match="argument 'to' is not supported") as refused:
            engine.ones(3, dtype=dtype).random_(2 * most)
        assert "Draw int64 numbers" in refused.value.__notes__[0]


def test_errors_carry_a_note_for_the_learner():
    if oracle.ENGINE != "autolab":
        pytest.skip("PyTorch has none")
    import autolab as torch
    from autolab.engine.exact.failing import sentences

    mistakes = [lambda: torch.tensor([[1.], [2., 3.]]), lambda: torch.ones(2, "a"), lambda: torch.arange(0, 3, -1),
                lambda: torch.rand(2, foo=1), lambda: torch.multinomial(torch.ones(2), 3), lambda: torch.full((2,)),
                lambda: torch.ones(2, requires_grad=True).normal_(), lambda: torch.zeros(2, dtype="a")]  # fmt: skip
    for make in mistakes:
        with pytest.raises(Exception) as caught:
            make()
        assert len(sentences(caught.value)) == 1 and caught.value.__notes__[0].endswith((".", ")"))


FILLS = {
    "fill_": lambda t, x, v: x.fill_(v),
    "full_like": lambda t, x, v: t.full_like(x, v),
    "masked_fill": lambda t, x, v: x.masked_fill(t.tensor([True, False]), v),
    "x[0]": lambda t, x, v: (x.__setitem__(0, v), x)[1],
    "tensor": lambda t, x, v: t.tensor([v], dtype=x.dtype),
}


@pytest.mark.parametrize("name", FILLS)
def test_whole_numbers_are_filled_as_pytorch_does(name):
    """Negative ints wrap in unsigned dtypes, floats do not, and lose their fraction where they fit."""
    torch = oracle.engine()
    held = {
        "uint8": {-1: 255, -255: 1, 2.7: 2, -0.0: 0, 255: 255, True: 1},
        "int8": {-1: -1, -0.5: 0, -1.5: -1, -2.7: -2, 127: 127, -128: -128},
        "int64": {-2.7: -2, 2**40: 2**40, 1e10: 10**10},
    }
    for dtype, values in held.items():
        for value, expected in values.items():
            x = torch.ones(2, dtype=getattr(torch, dtype))
            assert FILLS[name](torch, x, value)[0].item() == expected
    nan, inf = float("nan"), float("inf")
    refused = {
        "uint8": [-0.5, -0.9999, -1.5, 255.5, 255.9, 256, -256, -255.5, 300, nan, inf, 1e30],
        "int8": [127.5, 128, -129, -128.5, 255.5],
        "int64": [1e30, nan],
    }
    for dtype, values in refused.items():
        kind = dtype if name == "tensor" else f"{dtype}_t"
        for value in values:
            x = torch.ones(2, dtype=getattr(torch, dtype))
            message = f"RuntimeError: value cannot be converted to type {kind} without overflow"
            assert error_of(lambda: FILLS[name](torch, x, value)) == message, value  # noqa: B023
            assert x.tolist() == [1, 1]
