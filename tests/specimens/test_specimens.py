"""Each specimen differs from PyTorch exactly where it says: on its own examples, on those of all others, on random
programs; and nothing of it is left behind, or seen in another thread."""

import random
import threading
import warnings

import autolab
import pytest
from autolab import specimens
from autolab.specimens.specimen import MARK, RIGHT
from engine_programs import random_expression, run_dag
from goldens.oracle import ENGINE, answer
from goldens.plain import differences, plain

pytestmark = [
    pytest.mark.skipif(ENGINE != "autolab", reason="specimens are of autolab's engine"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]
SUITE = "test_specimens"
ALL = list(specimens)
GPU = {21, 22}
"""Their programs need a GPU: autolab's simulated one; PyTorch has none here, so autolab's right engine stands for
it."""


def each(of=ALL):
    return pytest.mark.parametrize("specimen", of, ids=lambda s: f"{s.number} {s.name}")


def told(program, torch):
    """What a program gives, as plain data; of an error its kind and first words."""
    try:
        return plain(program(torch))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


def in_pytorch(specimen, example):
    if specimen.number in GPU:
        return RIGHT.outcome(lambda: told(example.program, autolab)).value
    name = f"{specimen.number} {example.program.__name__}"
    return answer(SUITE, name, lambda torch: told(example.program, torch))


def differs(specimen, example):
    return bool(
        differences(
            specimen.run(lambda: told(example.program, autolab)), in_pytorch(specimen, example)
        )
    )


def test_there_is_one_for_each_misconception():
    assert [s.number for s in ALL] == [s.misconception for s in ALL] == list(range(1, 26))
    assert len({s.name for s in ALL}) == len(specimens) == 25


@each()
def test_a_rule_is_short_and_marks_its_wrong_lines(specimen):
    lines = specimen.rule.splitlines()
    assert 1 < len(lines) <= 20 and lines[0].startswith(("def ", "class "))
    assert specimen.lines and all(1 < n <= len(lines) for n in specimen.lines)
    assert MARK not in specimen.rule and "wrong" not in repr(specimen)
    assert specimen.listing.splitlines()[1].startswith(" 2  ")
    assert specimen.belief.endswith(".") and not specimen.shows.endswith(".")


@each()
def test_it_goes_wrong_where_it_says(specimen):
    assert differs(specimen, specimen.goes_wrong)
    assert specimen.goes_wrong.differs


@each()
def test_it_goes_right_where_it_says(specimen):
    assert not differs(specimen, specimen.goes_right)
    assert not specimen.goes_right.differs


@each()
def test_the_right_engine_is_pytorch_on_its_examples(specimen):
    for example in (specimen.goes_wrong, specimen.goes_right):
        found = RIGHT.outcome(lambda: told(example.program, autolab)).value
        assert not differences(found, in_pytorch(specimen, example))


@each()
def test_it_goes_wrong_on_the_plain_engine_too(specimen):
    with autolab.engine.plain():
        assert specimen.goes_wrong.differs and not specimen.goes_right.differs


ALSO = {
    1: {"4 plus_twice"},  # two passes
    # what trains
    2: {"5 unused_parameter", "5 all_used", "12 momentum_without_gradient", "12 plain_without_gradient", "14 nothing_exchanged"},
    # what uses a tensor twice
    3: {
        "1 two_losses", "1 one_loss", "2 some_rounds", "6 of_a_leaf", "7 converted_weight", "7 nothing_converted", "8 leaf_changed_aside",
        "12 momentum_without_gradient", "12 plain_without_gradient", "15 connected_loss", "16 unequal_vector", "16 vector_of_ones",
        "18 nothing_outside", "24 finite_branches",
    },
    5: {"15 detached_loss"},  # a leaf that gets no gradient
    17: {"4 plus_twice", "4 square_twice"},  # a graph used again
}  # fmt: skip
"""Specimens that also differ on the examples of others, and why."""


@each()
def test_it_differs_on_no_other_example_without_a_reason(specimen):
    differ = {
        f"{other.number} {example.program.__name__}"
        for other in ALL
        for example in (other.goes_wrong, other.goes_right)
        if not RIGHT.outcome(example.program).same_as(specimen.outcome(example.program))
    }
    assert differ == {f"{specimen.number} {specimen.goes_wrong.program.__name__}"} | ALSO.get(
        specimen.number, set()
    )


# -- random programs ---------------------------------------------------------------------------------------------------
def drawn(seed):
    """A random smooth expression of two numbers, as steps, and the program that differentiates it."""
    steps = random_expression(random.Random(seed), 6)

    def program(torch):
        leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.7, -1.3)]
        run_dag(torch, steps, leaves)[-1].backward()
        return [x.grad for x in leaves]

    return steps, program


def reached(steps):
    """The numbers of the values that the result is computed from, itself included, each as often as it is used."""
    needed, uses = {len(steps) + 1}, []
    for k in range(len(steps) - 1, -1, -1):
        if k + 2 in needed:
            needed |= set(steps[k][1])
            uses += steps[k][1]
    return needed, uses


def expected_to_differ(number, steps):
    needed, uses = reached(steps)
    if number == 3:  # something is used twice on the way
        return len(set(uses)) < len(uses)
    return number == 5 and not {0, 1} <= needed  # a leaf that nothing used


SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_differ_where_a_rule_is_at_work(seed):
    steps, program = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = answer(SUITE, f"random {seed}", program)
        assert not differences(plain(program(autolab)), want)
        wrong = {s.number for s in ALL if differences(plain(s.run(program)), want)}
    assert wrong == {s.number for s in ALL if expected_to_differ(s.number, steps)}


# -- what it leaves behind ---------------------------------------------------------------------------------------------
def standing():
    """Return the current function in each place that a specimen changes."""
    return {(owner, name): vars(owner).get(name) for s in ALL for owner, name, _ in s._rules}


def test_everything_is_restored_also_after_an_error():
    before, grad_mode, observer = (
        standing(),
        autolab.is_grad_enabled(),
        autolab.engine.core.observe.observer,
    )

    def fails():
        autolab.set_grad_enabled(False)
        raise ZeroDivisionError

    for specimen in ALL:
        with pytest.raises(ZeroDivisionError):
            specimen.run(fails)
    assert standing() == before and autolab.is_grad_enabled() is grad_mode
    assert autolab.engine.core.observe.observer is observer


def run_in_thread(action):
    found = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join(20)
    return found[0]


@each()
def test_another_thread_has_the_right_engine_meanwhile(specimen):
    program = specimen.goes_wrong.program
    right = told(program, autolab)
    elsewhere, here = specimen.run(
        lambda: (run_in_thread(lambda: told(program, autolab)), told(program, autolab))
    )
    assert not differences(elsewhere, right) and differences(here, right)


def test_a_recording_sees_what_a_specimen_does():
    with autolab.record() as recording:
        specimens[3].run(specimens[3].goes_wrong.program)
    assert [frame.text for frame in recording.trace().frames if frame.event == "accumulate"] == [
        "leaf1.grad is now 12"
    ]


def test_within_a_run_another_specimen_takes_over():
    def program():
        return specimens[1].run(specimens[3].goes_wrong.program), specimens[3].goes_wrong.program(
            autolab
        )

    inner, outer = specimens[3].run(program)
    assert (inner.item(), outer.item()) == (39, 12)


# -- the catalogue -----------------------------------------------------------------------------------------------------
def test_specimens_are_found_by_name_and_number():
    assert specimens[3] is specimens["set instead of add"] is ALL[2]
    lines = repr(specimens).splitlines()
    assert len(lines) == 25 and lines[2].endswith(specimens[3].belief)
    assert specimens._repr_markdown_().count("\n") == 26


@pytest.mark.parametrize("key", [0, 26, "add", None])
def test_a_specimen_that_is_not_there(key):
    with pytest.raises(
        KeyError, match="key should be the name of a specimen or its number, 1 to 25, but is"
    ) as caught:
        specimens[key]
    assert caught.value.__notes__ == ["print(autolab.specimens) lists the wrong engines."]


@pytest.mark.parametrize(
    "program, message",
    [
        (3, r"program should be a function, but is 3 \(int\)"),
        (
            lambda a, b: 0,
            "program should be a function of no arguments, or of the module torch, but <lambda> takes a, b",
        ),
        (
            lambda *, a: 0,
            "program should be a function of no arguments, or of the module torch, but <lambda> takes a",
        ),
    ],
)
def test_what_is_no_program(program, message):
    for call in (specimens[3].run, specimens[3].outcome, RIGHT.outcome):
        with pytest.raises(TypeError, match=message) as caught:
            call(program)
        assert caught.value.__notes__


def test_an_example_shows_program_and_results():
    text = repr(specimens[3].goes_wrong)
    assert "(a * b + b).backward()" in text and text.endswith(
        "right engine:   tensor(39.)\nthis specimen:  tensor(12.)"
    )
    assert "```python\ndef diamond(torch):" in specimens[3].goes_wrong._repr_markdown_()


def test_a_specimen_says_what_it_stands_for():
    assert specimens[3].stands_for == ("autolab.engine.core.backward.BackwardPass.add",)
    assert "In the place of autolab.engine.core.backward.BackwardPass.add" in repr(specimens[3])


def test_it_is_loaded_on_first_use(tmp_path):
    import os
    import subprocess
    import sys

    code = "import sys, autolab; print('autolab.specimens' in sys.modules, len(autolab.specimens))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == "False 25\n"


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta"])
def test_a_wrong_step_is_one_of_every_optimizer(name):
    def one_step(torch):
        w = torch.tensor(3.0, requires_grad=True)
        optimizer = getattr(torch.optim, name)([w], lr=0.25)
        (w * w).backward()
        optimizer.step()
        return w.detach()

    assert autolab.specimens[2].run(one_step).item() == 3 != one_step(autolab).item()
