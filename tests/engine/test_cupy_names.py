"""What the engine asks of CuPy, checked against the real CuPy: it can be imported where there is no GPU.

`make ready` installs it beside the environment (`.venv/cupy`), so that nothing else finds it there."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from autolab.engine.devices.simulated import cupy_names

ROOT = Path(__file__).parent.parent.parent
BESIDE = Path(sys.prefix) / "cupy"
SCRIPT = """
import inspect, json, sys
import cupy, cupy.linalg, cupy.fft
asked = json.load(sys.stdin)
answers = {}
for name, keywords in asked.items():
    thing = cupy
    for part in name.split("."):
        thing = getattr(thing, part, cupy)
    if thing is cupy:
        answers[name] = "not there"
        continue
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        continue  # compiled: it does not tell
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        unknown = sorted(set(keywords) - {p.name for p in parameters})
        if unknown:
            answers[name] = "does not take " + ", ".join(unknown)
print(json.dumps(answers))
"""


def of_real_cupy(asked):
    """Return what CuPy lacks of the names, each with the keywords it is called with."""
    if importlib.util.find_spec("cupy") is None and not BESIDE.exists():
        pytest.skip("needs CuPy, which `make ready` installs beside the environment")
    code = f"import sys; sys.path.append({str(BESIDE)!r})\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(asked), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def chain(node):
    """Return the dotted name of `xp.linalg.inv` without its `xp`, or None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts)) if isinstance(node, ast.Name) and node.id == "xp" else None


def asked_by_kernels():
    """Return every name that the package takes from `xp`, with the keywords of its calls."""
    asked = {}
    for path in sorted((ROOT / "autolab").rglob("*.py")):
        if "simulated" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        for node in ast.walk(tree):
            name = chain(node) if isinstance(node, ast.Attribute) else None
            if name is not None and id(node) not in inner:
                asked.setdefault(name, set())
            if isinstance(node, ast.Call) and (name := chain(node.func)) is not None:
                asked.setdefault(name, set()).update(k.arg for k in node.keywords if k.arg)
    return {name: sorted(keywords) for name, keywords in asked.items()}


ONLY_NUMPY = {"errstate"}
"""Names that the engine asks of NumPy alone, each behind a look at which of the two it has."""


def offered_by_the_simulated_gpu():
    """Return every name of the simulated GPU, with its keywords."""
    listed = {
        *cupy_names.UFUNCS,
        *cupy_names.FUNCTIONS,
        *cupy_names.TYPES,
        *(f"linalg.{name}" for name in cupy_names.LINALG),
        *(f"fft.{name}" for name in cupy_names.FFT),
        *(f"ndarray.{name}" for name in cupy_names.METHODS),
    }
    keywords = {name: sorted(k - {"*"}) for name, k in cupy_names.SIGNATURES.items()}
    return {name: keywords.get(name, []) for name in sorted(listed)}


def test_kernels_and_the_simulated_gpu_ask_for_what_cupy_has():
    asked = {name: k for name, k in asked_by_kernels().items() if name not in ONLY_NUMPY}
    assert len(asked) > 70
    known = offered_by_the_simulated_gpu() | asked
    wrong = {"sliding_window_view": [], "kron": ["initial"]}  # so that it can fail
    assert "sliding_window_view" not in known
    assert of_real_cupy(known | wrong) == {
        "sliding_window_view": "not there",
        "kron": "does not take initial",
    }
