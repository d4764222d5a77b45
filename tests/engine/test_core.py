"""The core is there to be read: its examples run, and it works while nothing is put over it."""

import ast
import doctest
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import autolab
from autolab import engine
from autolab.engine import core
from autolab.engine.core.namespaces import raw
from autolab.engine.core.record import OPS

FILES = sorted(path.stem for path in Path(core.__file__).parent.glob("[!_]*.py"))


@pytest.mark.parametrize("name", FILES)
def test_examples_print_what_they_say(name):
    module = importlib.import_module(f"autolab.engine.core.{name}")
    known = {"torch": autolab, "np": np, "OPS": OPS, "raw": raw}
    found = doctest.DocTestFinder().find(module, globs={**vars(module), **known})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed = []
    for test in found:
        runner.run(test, out=failed.append)
    assert not failed, "".join(failed)


def test_all_that_is_public_has_one():
    silent = []
    for name in FILES:
        source = Path(core.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        for definition in ast.parse(source).body:
            public = isinstance(
                definition, (ast.FunctionDef, ast.ClassDef)
            ) and not definition.name.startswith("_")
            if public and ">>>" not in ast.get_source_segment(source, definition):
                silent.append(f"{name}.{definition.name}")
    assert silent == []


def names(run):
    """The files of the engine in which `run` calls functions."""
    seen = set()

    def watch(frame, event, arg):
        if event == "call":
            seen.add(frame.f_code.co_filename.replace("\\", "/").rpartition("/engine/")[2])

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen


def program():
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).sin()
    y += 1
    (y[0] * x).sum().backward()
    return x.grad.tolist()


def test_either_engine_at_run_time():
    before = engine.is_plain()
    results = {}
    for plain in (True, False, True):
        with engine.plain(plain):
            assert engine.is_plain() is plain
            results[plain] = program()
            used = {name for name in names(program) if name.startswith("fast/")}
            used -= {"fast/saved.py"}  # which reads what nodes saved that the other engine made
            assert bool(used) is not plain
    assert results[True] == results[False] and engine.is_plain() is before


def test_a_graph_made_by_one_engine_runs_on_the_other():
    for made_plain in (True, False):
        x = autolab.tensor([1.0, 2.0], requires_grad=True)
        with engine.plain(made_plain):
            y = (x * x).exp().sum() + x[0]
        with engine.plain(not made_plain):
            assert y.grad_fn.next_functions[0][0].name() == "SumBackward0"
            saved = y.grad_fn.next_functions[0][0].next_functions[0][0]._saved_result
            assert saved.shape == (2,)
            y.backward()
        assert x.grad[1].item() == pytest.approx(4 * 2.718281828459045**4, rel=1e-6)
        with pytest.raises(RuntimeError, match="a second time"):
            y.backward()
