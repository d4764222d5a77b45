"""Ask PyTorch: live if PyTorch 2.13 is installed, otherwise from the answers stored in `tests/goldens/*.json`.

A test states its question as a program: a function of the `torch` module that returns plain data. The engine runs the
program with `autolab` in the place of `torch`, and `answer(suite, key, program)` returns what PyTorch returns for it.

These environment variables change that:

- `AUTOLAB_ORACLE=live` or `stored` forces one of the two ways.
- `AUTOLAB_ORACLE=record` asks live and adds the answers to the stored ones. `tests/goldens/write.py` uses it.
- `AUTOLAB_ORACLE=rewrite` also removes stored answers of the same file that no test asked for.
- `AUTOLAB_TESTED=torch` runs the tests on PyTorch itself, which checks the tests.
"""

import functools
import importlib
import importlib.metadata
import json
import os
import re
from pathlib import Path

from .plain import decode, differences, encode, plain

HERE = Path(__file__).parent
VERSION = "2.13"
ENGINE = os.environ.get("AUTOLAB_TESTED", "autolab")
_WANTED = os.environ.get("AUTOLAB_ORACLE", "")
_RECORDING = _WANTED in ("record", "rewrite")
_recorded: dict[str, dict] = {}


def _installed() -> str | None:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


_TORCH = _installed()
LIVE = _WANTED in ("live", "record", "rewrite") or (
    _WANTED != "stored" and (_TORCH or "").startswith(VERSION + ".")
)
"""Whether PyTorch itself is asked. Another version than the one we follow is never asked."""


def describe() -> str:
    """One line for the test report."""
    if LIVE:
        return f"PyTorch {_TORCH}, live" + (", answers being stored" if _RECORDING else "")
    why = (
        "not installed"
        if _TORCH is None
        else f"installed is {_TORCH}"
        if _WANTED != "stored"
        else "as asked for"
    )
    return f"stored goldens of PyTorch {VERSION} ({why})"


def engine():
    """The module under test."""
    return importlib.import_module(ENGINE)


def answer(suite: str, key: str, program):
    """What PyTorch returns for `program(torch)`, as plain data (see `plain`). Without a suite nothing is stored: for
    drawn programs."""
    if not LIVE:
        stored = _load(suite)
        if key not in stored:
            raise LookupError(
                f"PyTorch's answer for {key!r} is not stored in {suite}.json. Where PyTorch {VERSION} is installed, "
                f"`python tests/goldens/write.py {key.split()[0]}` stores it."
            )
        return decode(stored[key])
    found = plain(program(importlib.import_module("torch")))
    if _RECORDING and suite:
        _recorded.setdefault(suite, {})[key] = encode(found)
    return found


@functools.cache
def _load(suite):
    path = HERE / f"{suite}.json"
    return json.loads(path.read_text())["answers"] if path.exists() else {}


def save_recorded(complete: bool) -> None:
    """Store the recorded answers, one per line, so that a diff shows each change.

    complete: whether the tests ran to their end. Only then does `AUTOLAB_ORACLE=rewrite` remove answers.
    """
    for suite, answers in _recorded.items():
        replaces = _WANTED == "rewrite" and complete and suite.startswith("test_")
        merged = answers if replaces else _load(suite) | answers
        lines = ",\n".join(
            f"{json.dumps(k)}: {json.dumps(merged[k], separators=(',', ':'))}"
            for k in sorted(merged)
        )
        (HERE / f"{suite}.json").write_text(
            f'{{"written_by": "tests/goldens/write.py", "torch": "{_TORCH}", "answers": {{\n{lines}\n}}}}\n'
        )


def check(suite: str, key: str, program, only_cpu: str = "", **tolerance) -> None:
    """Asserts that the engine returns for `program` what PyTorch returns: structure, dtypes, shapes, texts, and
    numbers. Programs about autograd, nn and optim must return the same with every new tensor on a device (see
    `devices`), unless `only_cpu` says why not.

    Numbers that are not floats are compared exactly; floats within a few units in the last place of their dtype (or
    `rtol`, `atol`)."""
    expected = answer(suite, key, program)
    wrong = differences(plain(program(engine())), expected, **tolerance)
    assert not wrong, f"{key}: differs from PyTorch\n" + "\n".join(wrong[:20])
    if only_cpu or not suite.startswith(ON_DEVICES):
        return
    for name in devices():
        with engine().device(name):
            found = plain(program(engine()))
        wrong = differences(_without_place(found, name), expected, **tolerance)
        assert not wrong, f"{key}: on {name} differs from PyTorch on the CPU\n" + "\n".join(
            wrong[:20]
        )


ON_DEVICES = (
    "test_autograd_",
    "test_nn_",
    "test_optim_",
    "test_conv_modules",
    "test_network_functions",
    "test_unpooling",
)
"""Suites whose programs also run with a GPU as the default device."""


@functools.cache
def devices() -> tuple[str, ...]:
    """The simulated GPU, and a real one where there is one. None for the plain engine: which arrays an operation
    computes with does not depend on the engine."""
    if ENGINE != "autolab" or os.environ.get("AUTOLAB_ENGINE") == "plain":
        return ()
    return ("sim:0", *(["cuda:0"] if engine().cuda.is_available() else []))


def _without_place(value, device):
    """Plain data with the device's name taken out of what was printed."""
    if isinstance(value, str):
        kind = device.split(":")[0]
        return value.replace(f", device='{device}'", "").replace(f"torch.{kind}.", "torch.")
    if isinstance(value, list):
        return [_without_place(v, device) for v in value]
    return (
        {k: _without_place(v, device) for k, v in value.items()}
        if isinstance(value, dict)
        else value
    )


def same_as_torch(program=None, **tolerance):
    """Makes a test of a program: `@same_as_torch` on `def test_x(torch): return …` compares the engine with PyTorch."""
    if program is None:
        return functools.partial(same_as_torch, **tolerance)
    suite = program.__module__.rsplit(".", 1)[-1]

    def test():
        check(suite, program.__name__, program, **tolerance)

    test.__name__ = test.__qualname__ = program.__name__
    test.__doc__, test.__module__ = program.__doc__, program.__module__
    return test


def error_of(action) -> str:
    """The exception that `action()` raises, as "Type: message"; "no error" when it raises none. Python's own guess at a
    misspelt argument is left
    out: from 3.13 on it is part of the message."""
    try:
        action()
    except Exception as error:
        return re.sub(
            r"(unexpected keyword argument '\w+')\. Did you mean '\w+'\?$",
            r"\1",
            f"{type(error).__name__}: {error}",
        )
    return "no error"
