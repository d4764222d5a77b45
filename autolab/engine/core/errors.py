"""Errors in PyTorch's exact words, with one more sentence for the learner.

Every module raises through `fail`, so that the message stays comparable with PyTorch's while the note (PEP 678) says
why it happened and what to do; Python prints it under the traceback.
"""

from typing import Any


ERROR_LISTENERS: list[Any] = []
"""Objects with two methods: `refused(error)` is called for an error that `fail` just made, `failed(op, args, error,
inplace)` for an error that an operation raised, and returns the error to raise. `exact/failing.py` is one: it puts
NumPy's errors into PyTorch's words and points to `autolab.explain()`."""


def fail(kind: type[Exception], message: str, note: str | None = None) -> Exception:
    """Return the exception `kind(message)` with `note` attached; the caller raises it.

    >>> error = fail(RuntimeError, "shape '[4]' is invalid for input of size 6", "A view keeps the number of elements.")
    >>> error.__notes__
    ['A view keeps the number of elements.']
    """
    error = kind(message)
    if note:
        error.add_note(note)
    for listener in ERROR_LISTENERS:
        listener.refused(error)
    return error


def type_name(value: object) -> str:
    """Return what PyTorch's messages call the type of a value.

    >>> type_name(1.5), type_name(torch.float32)
    ('float', 'torch.dtype')
    """
    name, module = type(value).__name__, type(value).__module__
    named = {"dtype": "torch.dtype", "device": "torch.device", "Size": "torch.Size"}
    named["Generator"] = "torch._C.Generator"
    in_full = module in ("numpy", "torch.return_types")
    return f"{module}.{name}" if in_full else named.get(name, name)


def bad_argument(
    function: str,
    name: str,
    position: int | None,
    kind: str,
    value: object,
    but: str | None = None,
) -> Exception:
    """Return PyTorch's TypeError for one argument of the wrong type. but: what to say instead of the type of `value`.

    >>> print(bad_argument("exp", "input", 1, "Tensor", 2.0))
    exp(): argument 'input' (position 1) must be Tensor, not float
    """
    where = f" (position {position})" if position else ""
    message = (
        f"{function}(): argument '{name}'{where} must be {kind}, {but or f'not {type_name(value)}'}"
    )
    return fail(TypeError, message, f"'{name}' was given {value!r:.60}.")
