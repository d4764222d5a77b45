"""Run a PyTorch program with and without `autolab.record()` and list the differences."""

from __future__ import annotations

import contextlib
import io
import random
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import autolab

Program = Callable[[], Mapping[str, Any]]
"""Runs and returns what is to be compared, by name."""


class OutOfTime(BaseException):
    """A program took longer than allowed."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTime if the block takes longer than `seconds`."""

    def stop(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def reset() -> None:
    """Restore PyTorch's global state to its initial value."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.set_warn_always(True)


class _Functions(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def modes() -> Iterator[None]:
    """Enter PyTorch modes that do nothing: differences under them come from PyTorch itself."""
    with _Operations(), _Functions():
        yield


def run(program: Program, around: Any = None) -> tuple[dict[str, Any], Any]:
    """Run a program in the context `around`; return (its result with error and warnings; the context)."""
    reset()
    recording = around or contextlib.nullcontext()
    found: dict[str, Any] = {}
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        warnings.simplefilter("always")
        try:
            with recording:
                found.update(program())
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
    found["printed"] = printed.getvalue()
    found["warnings"] = [
        f"{w.category.__name__}: {w.message}" for w in caught if "record" not in str(w.message)
    ]
    return found, recording


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return what differs between two runs, one line each."""
    said = [f"{name} is in one run only" for name in sorted(one.keys() ^ other.keys())]
    for name in one.keys() & other.keys():
        a, b = described(one[name]), described(other[name])
        if a != b:
            said.append(f"{name}: {_short(a)} became {_short(b)}")
    return said


def described(item: Any, deep: int = 4) -> Any:
    """Return a value as nested tuples that `==` can compare; for a tensor its numbers, its gradient and its flags."""
    if isinstance(item, torch.Tensor):
        return _tensor(item)
    if isinstance(item, torch.nn.Module):
        return tuple((n, _tensor(p)) for n, p in [*item.named_parameters(), *item.named_buffers()])
    if isinstance(item, np.ndarray):
        return str(item.dtype), item.shape, item.tobytes()
    if isinstance(item, Mapping) and deep:
        return tuple((str(key), described(part, deep - 1)) for key, part in item.items())
    if isinstance(item, (list, tuple)) and deep:
        return type(item).__name__, *(described(part, deep - 1) for part in item)
    if item is None or isinstance(item, (bool, int, float, complex, str, bytes)):
        return repr(item)
    return type(item).__name__


def _tensor(tensor: torch.Tensor) -> Any:
    try:
        history = None if tensor.grad_fn is None else tensor.grad_fn.name()
    except RuntimeError as error:
        history = str(error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grad = tensor.grad
    flags = str(tensor.dtype), str(tensor.layout), tensor.requires_grad, tensor.is_leaf
    return _numbers(tensor), flags, history, None if grad is None else _tensor(grad)


def _numbers(tensor: torch.Tensor) -> Any:
    try:
        plain = tensor.detach()
        if plain.layout is not torch.strided:
            plain = plain.to_dense()
        if plain._is_zerotensor():
            plain = plain.clone()
        if plain.is_quantized:
            plain = plain.dequantize()
        if plain.dtype == torch.bfloat16:
            plain = plain.float()
        array = plain.resolve_conj().resolve_neg().numpy()
        return array.shape, array.tobytes()
    except Exception:
        with contextlib.suppress(Exception):
            return repr(tensor)
        return type(tensor).__name__


def _short(item: Any) -> str:
    text = repr(item)
    return text if len(text) < 300 else f"{text[:150]} ... {text[-140:]}"


def looked_at(recording: Any) -> list[str]:
    """Make every view of a recording; return the error it raised, if any."""
    said = []
    for name, look in {
        "text": recording.text,
        "trace": lambda: recording.trace().to_json(),
        "explore": lambda: autolab.explore(recording),
    }.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                look()
        except Exception as error:
            said.append(f"{name} of the recording raised {_where(error)}")
    return said


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(error).__name__}: {str(error)[:150]} at {at}"


def compared(program: Program, seconds: float = 20, look: bool = True) -> tuple[str, list[str]]:
    """Return ("alike", "differs", "varies" or "slow", the differences). Run a program without, without and with
    `record()`; if the first two runs differ, the third shows nothing."""
    try:
        with at_most(seconds):
            first, _ = run(program)
        with at_most(seconds):
            second, _ = run(program)
    except OutOfTime:
        return "slow", []
    if differences(first, second):
        return "varies", differences(first, second)
    try:
        with at_most(10 * seconds):
            recorded, recording = run(program, autolab.record())
            said = differences(second, recorded)
            if said:
                under_modes, _ = run(program, modes())
                own = set(differences(second, under_modes)) - set(said)
                said = differences(under_modes, recorded) if not own else said
            if look:
                said += looked_at(recording)
    except OutOfTime:
        return "differs", ["it takes ten times as long"]
    return ("differs" if said else "alike"), said
