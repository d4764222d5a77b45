"""Whole programs give the same in both engines, the fast one here and the plain one in a process of its own: results,
graphs, what is saved and freed, gradients, hooks and their order, errors and warnings. Hypothesis draws them, and some
are written down."""

import json
import os
import subprocess
import sys
from pathlib import Path

import engine_lockstep as lockstep
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


place = st.sampled_from([-1, -2, -3, 0, 1, 2])  # in the pool: what came last, and what came first
operand = place | st.builds(dict, number=st.sampled_from(lockstep.NUMBERS))
leaf = st.tuples(
    st.just("leaf"), st.sampled_from(lockstep.SHAPES), st.sampled_from(lockstep.DTYPES), st.booleans(), st.sampled_from([*lockstep.VIEWS]),
    st.integers(0, 3),
)  # fmt: skip
float_leaf = st.tuples(
    st.just("leaf"), st.sampled_from(lockstep.SHAPES), st.just("float32"), st.just(True), st.just("none"), st.integers(0, 3),
)  # fmt: skip
unary = st.tuples(st.just("unary"), st.sampled_from([*lockstep.UNARY]), place)
binary = st.tuples(st.just("binary"), st.sampled_from([*lockstep.BINARY]), place, operand)
reflected = st.tuples(st.just("binary"), st.sampled_from([*lockstep.BINARY]), operand, place)
in_place = st.tuples(st.just("in_place"), st.sampled_from([*lockstep.IN_PLACE]), place, operand)
mode = st.tuples(
    st.just("mode"), st.sampled_from(["usual", "no_grad", "inference_mode", "saved-tensor hooks"])
)
watch = st.tuples(st.just("watch"), st.sampled_from(lockstep.WATCHING), place)
end = st.tuples(st.just("end"), st.sampled_from(lockstep.ENDS), place)
usual = unary | binary | reflected
PROGRAMS = {
    "calls": (st.lists(leaf, min_size=1, max_size=3), st.lists(usual, min_size=1, max_size=4)),
    "graphs": (
        st.lists(float_leaf, min_size=1, max_size=3),
        st.lists(usual, min_size=2, max_size=8),
    ),
    "changes": (
        st.lists(leaf | float_leaf, min_size=1, max_size=3),
        st.lists(usual | in_place | watch | mode, min_size=2, max_size=8),
    ),
}


@pytest.fixture(scope="module")
def plainly():
    """Runs a program on the plain engine."""
    environment = os.environ | {
        "AUTOLAB_ENGINE": "plain",
        "PYTHONPATH": str(Path(lockstep.torch.__file__).parents[1]),
    }
    process = subprocess.Popen(
        [sys.executable, lockstep.__file__],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(program):
        process.stdin.write(json.dumps(program) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield run
    process.stdin.close()
    process.wait()


def drawn(kind):
    leaves, steps = PROGRAMS[kind]
    return st.builds(
        lambda a, b, c: [*a, *b, *c], leaves, steps, st.lists(end, min_size=1, max_size=2)
    )


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.compiled
def test_the_same_program(kind, plainly):
    @settings(
        max_examples=150,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(drawn(kind))
    def same(program):
        program = json.loads(json.dumps(program))
        assert lockstep.run(program) == plainly(program)

    same()


X, Y = (["leaf", [3], "float32", True, "none", seed] for seed in (0, 1))
ADDED = ["in_place", "add_ without history", -1, {"number": 1}]
WRITTEN = {
    "a result that its rule reads, changed": [X, ["unary", "tanh", 0], ADDED, ["end", "once", -1]],
    "an operand that a rule reads, changed": [X, Y, ["binary", "*", 0, 1], ["in_place", "add_ without history", 0, 1], ["end", "once", -1]],
    "a view made without history, its base changed": [
        X, ["unary", "exp", 0], ["mode", "no_grad"], ["unary", "first", 1], ["mode", "usual"], ["in_place", "mul_", 1, 0], ["end", "once", 2],
    ],
    "a view, its base changed": [X, ["unary", "exp", 0], ["unary", "first", 1], ["in_place", "mul_", 1, 0], ["end", "twice", 2]],
    "an operation on a view, its base changed since": [
        X, ["unary", "exp", 0], ["unary", "first", 1], ["in_place", "mul_", 1, 0], ["unary", "neg", 2], ["end", "kept", -1],
    ],
    "one node fed by three": [
        X, ["unary", "exp", 0], ["unary", "sin", 1], ["binary", "*", 1, 1], ["binary", "+", 2, 3], ["binary", "*", -1, 1], ["end", "kept", -1],
    ],
    "a hook behind a branch": [
        X, ["unary", "exp", 0], ["watch", "replacing hook", 1], ["watch", "post", 1], ["binary", "*", 1, 0], ["end", "kept twice", -1],
    ],
    "a leaf with a hook beside one without": [X, Y, ["watch", "hook", 0], ["binary", "*", 0, 1], ["unary", "exp", -1], ["end", "kept", -1]],
    "a leaf with a hook behind a branch": [
        X, ["watch", "replacing hook", 0], ["unary", "exp", 0], ["unary", "sin", 1], ["binary", "*", 1, 2], ["end", "kept", -1],
    ],
    "a leaf whose node has a hook": [X, Y, ["watch", "leaf's node", 0], ["binary", "*", 0, 1], ["end", "kept", -1]],
    "the same behind a branch": [
        X, ["watch", "leaf's node", 0], ["unary", "exp", 0], ["unary", "sin", 1], ["binary", "*", 1, 2], ["end", "kept", -1],
    ],
    "what was saved goes through hooks": [
        X, Y, ["mode", "saved-tensor hooks"], ["binary", "*", 0, 1], ["unary", "tanh", -1], ["end", "kept", -1],
    ],
    "a sum of two dtypes": [X, ["leaf", [1], "float64", True, "none", 1], ["binary", "*", 0, 1], ["unary", "sum", -1], ["end", "twice", -1]],
    "a leaf frozen since": [X, Y, ["binary", "*", 0, 1], ["watch", "frozen", 0], ["end", "kept", -1]],
    "detached in place": [X, ["unary", "exp", 0], ["binary", "*", 1, 1], ["in_place", "detach_", 1, 0], ["end", "once", -1]],
    "second derivatives": [X, Y, ["binary", "*", 0, 1], ["unary", "exp", -1], ["binary", "/", -1, 0], ["end", "a graph of the gradient", -1]],
}  # fmt: skip


@pytest.mark.parametrize("program", WRITTEN.values(), ids=WRITTEN)
def test_a_written_program(program, plainly):
    found = lockstep.run(program)
    assert found == plainly(program)
    assert "AttributeError" not in json.dumps(found) and "TypeError" not in json.dumps(found)


def test_a_difference_would_be_seen(plainly):
    """So the test above can fail: the same steps, with one more that changes what was saved."""
    program = [
        ["leaf", [3], "float32", True, "none", 0],
        ["binary", "*", 0, 0],
        ["unary", "exp", 1],
        ["end", "once", 2],
    ]
    changed = [*program[:3], ["in_place", "add_ without history", 2, {"number": 1}], program[3]]
    found = lockstep.run(program)
    assert found == plainly(program) != plainly(changed)
    assert "modified by an inplace operation" in json.dumps(plainly(changed))
    assert "MulBackward0" in json.dumps(found) and "_saved_self" in json.dumps(found)
