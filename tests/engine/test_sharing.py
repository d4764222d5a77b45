"""Results that look into their operand's memory, or are the operand itself, are PyTorch's: of every public function and
every operation."""

import pytest
from engine_sharing import differing, table
from goldens.oracle import answer, engine

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
