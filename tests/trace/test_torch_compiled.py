"""PyTorch code that is compiled or exported during a recording, or compiled after it."""

import subprocess
import sys

import pytest

import autolab

torch = pytest.importorskip("torch")


def test_compiled_code_runs_as_it_is_written_and_says_so():
    compiled = torch.compile(lambda a: (a * 2).tanh(), backend="eager")
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="torch.compile"), autolab.record() as recording:
        compiled(x).sum().backward()
    assert [n.op for n in recording.trace().nodes if n.kind == "op"] == ["mul", "tanh", "sum"]


COMPILING = """
import sys, warnings
import torch, autolab
x, compiled = torch.ones(2, requires_grad=True), []
with autolab.record():
    (x * 2).sum().backward()
print("torch._dynamo" in sys.modules)
original = torch.compile
with warnings.catch_warnings(record=True) as told, autolab.record() as recording, autolab.record():
    warnings.simplefilter("always")
    work = torch.compile(lambda a: (a * 2).tanh(), backend=lambda graph, _: compiled.append(graph) or graph.forward)
    work(x).sum().backward()
print([n.op for n in recording.trace().nodes if n.kind == "op"], len(told), compiled, torch.compile is original)
work(x)
print(len(compiled))
"""

KEEPING = """
import torch, autolab
compiled = []
with autolab.record():
    kept = torch.compile
work = kept(lambda a: a * 2, backend=lambda graph, _: compiled.append(graph) or graph.forward)
work(torch.ones(2))
print(len(compiled))
"""


def test_what_is_first_compiled_in_a_block_is_compiled_after_it_and_what_compiles_is_not_loaded_before():
    found = subprocess.run(
        [sys.executable, "-c", COMPILING], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == ["False", "['mul', 'tanh', 'sum'] 2 [] True", "1"], (
        found.stderr
    )
    found = subprocess.run(
        [sys.executable, "-c", KEEPING], capture_output=True, text=True, check=True
    )
    assert found.stdout == "1\n", found.stderr


EXPORTING = """
import warnings
import torch, autolab
model, x = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), torch.ones(1, 2)
with warnings.catch_warnings(record=True) as told, autolab.record() as recording:
    warnings.simplefilter("always")
    model(x)
    exported = torch.export.export(model, (x,))
    try:
        torch.export.export(model, (x,), strict=True)
    except Exception as error:
        print(type(error).__name__)
    model(x)
print([str(w.message)[:12] for w in told].count("torch.export"))
print([n.op for n in recording.trace().nodes if n.kind == "op"])
print(torch.equal(exported.module()(x), model(x)))
"""


def test_an_export_in_the_block_is_left_alone():
    done = subprocess.run(
        [sys.executable, "-c", EXPORTING], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Unsupported", "1", str(["t", "addmm", "relu"] * 2), "True"]
