"""What torchvision answers: asked live where it and PyTorch 2.13 are installed, else read from
`tests/goldens/vision.json`.

A test states its question as a function of (vision, torch): the package with `transforms`, `models` and `datasets`, and
the engine. `AUTOLAB_ORACLE=record` stores torchvision's answers (see `goldens/oracle.py`).
"""

import functools
import importlib
import importlib.util
import sys
import types

import numpy as np

from goldens import oracle
from goldens.plain import decode, differences, plain

SUITE = "vision"


@functools.cache
def torchvision():
    """torchvision, also one that was built for another build of PyTorch: its compiled operators are not needed. Or
    None."""
    if not oracle.LIVE or importlib.util.find_spec("torchvision") is None:
        return None
    try:
        return importlib.import_module("torchvision")
    except RuntimeError:  # the operators that it tells PyTorch about are not there
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.modules["torchvision._meta_registrations"] = types.ModuleType(
            "torchvision._meta_registrations"
        )
        return importlib.import_module("torchvision")


def vision():
    """The package under test."""
    return oracle.engine().vision if oracle.ENGINE == "autolab" else torchvision()


def check(key, program, **tolerance):
    """Asserts that the package under test returns for `program(vision, torch)` what torchvision returns."""
    if torchvision() is None:
        expected = decode(oracle._load(SUITE)[key])
    else:
        expected = oracle.answer(SUITE, key, lambda torch: program(torchvision(), torch))
    wrong = differences(
        _tied(plain(program(vision(), oracle.engine())), expected), expected, **tolerance
    )
    assert not wrong, f"{key}: differs from torchvision\n" + "\n".join(wrong[:20])


def _tied(found, expected):
    """`found`, with the bytes of an image that are one level off taken as `expected` where they are few (one in fifty):
    a pixel half-way between two levels is rounded up or down as the order of additions in the processor's matrix
    product has it."""
    if isinstance(found, dict) and isinstance(expected, dict) and list(found) == list(expected):
        return {k: _tied(v, expected[k]) for k, v in found.items()}
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [_tied(f, e) for f, e in zip(found, expected)]
    if not (isinstance(found, np.ndarray) and isinstance(expected, np.ndarray)):
        return found
    if found.dtype != np.uint8 or expected.dtype != np.uint8 or found.shape != expected.shape:
        return found
    apart = np.abs(found.astype(int) - expected)
    return expected if apart.max(initial=0) == 1 and 50 * int(apart.sum()) <= apart.size else found
