"""Errors in PyTorch's exact words, with one more sentence for the learner.

Every module makes its errors with `fail`. The message stays identical to PyTorch's, and a note (PEP 678) says why the
error happened and what to do; Python prints the note under the traceback.
"""

from typing import Any


ERROR_LISTENERS: list[Any] = []
"""Objects with two methods. `refused(error)` is called for each error that `fail` makes. `failed(op, args, error,
inplace)` is called for an error that an operation raised, and returns the error to raise. `exact/failing.py` is one: it
turns NumPy's errors into PyTorch's and points to `autolab.explain()`."""


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
    """Return the name that PyTorch's messages give to the type of a value.

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
    """Return PyTorch's TypeError for one argument of the wrong type. but: text to show in place of the value's type.

    >>> print(bad_argument("exp", "input", 1, "Tensor", 2.0))
    exp(): argument 'input' (position 1) must be Tensor, not float
    """
    where = f" (position {position})" if position else ""
    message = (
        f"{function}(): argument '{name}'{where} must be {kind}, {but or f'not {type_name(value)}'}"
    )
    return fail(TypeError, message, f"'{name}' was given {value!r:.60}.")
