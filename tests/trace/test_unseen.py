"""What no event tells: changes through NumPy, where detach() stood, and rules that are not the engine's own."""

import os

import numpy as np
import pytest

import autolab
from autolab import specimens

LIBRARIES = ["autolab", *(["torch"] if os.environ.get("AUTOLAB_ORACLE") != "stored" else [])]


@pytest.fixture(params=LIBRARIES)
def torch(request):
    return autolab if request.param == "autolab" else pytest.importorskip("torch")


def texts(recording, torch, *events):
    return [f.text for f in recording.trace(torch.__name__).frames if f.event in events]


def test_a_leaf_that_numpy_changed_between_two_uses(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording:
        y = x * 3
        x.detach().numpy()[:] = 4
        z = x * 2
        (y + z).sum().backward()
    assert texts(recording, torch, "compute", "update")[:3] == [
        "y = x * 3 = [3, 6]",
        "x was changed in a way that autograd does not see: from [1, 2] to [4, 4]",
        "z = x(2) * 2 = [8, 8]",
    ]


def test_data_that_numpy_changed_is_another_constant(torch):
    numbers = np.ones(2, dtype=np.float32)
    c, x = torch.from_numpy(numbers), torch.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording:
        y = x * c
        numbers[:] = 7
        z = x * c
        (y + z).sum().backward()
    assert texts(recording, torch, "compute")[:2] == [
        "y = x * c = [1, 2]",
        "z = x * c(2) = [7, 14]",
    ]
    (sent,) = [t for t in texts(recording, torch, "contribution") if t.startswith("y sends")]
    assert sent.endswith(
        "; what it saved (other) was changed since in a way that autograd does not see"
    )


@pytest.mark.parametrize("change", ["y.detach().numpy()[:] = 9", "y.data.add_(5)"])
def test_a_result_that_was_changed_is_not_in_an_equation(torch, change):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording:
        y = x * x
        exec(change)
        z = y + 1  # noqa: F841
    found = recording.trace(torch.__name__)
    now = "[9, 9]" if "numpy" in change else "[6, 9]"
    assert found.frames[-1].text.endswith(
        f"; y had been changed in a way that autograd does not see, and was {now} here"
    )
    assert "1 & 4" not in found.nodes[-1].tex_numbers


def test_the_gradient_of_a_leaf_that_was_changed_is_backwards(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording:
        y = x * 3
        x.data.mul_(10)
        y.sum().backward()
    assert texts(recording, torch, "clear") == [], "nobody reset x.grad"


def test_a_custom_function_that_gives_no_gradient(torch):
    class Left(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    with autolab.record() as recording:
        Left.apply(x, y).backward()
    assert texts(recording, torch, "accumulate") == ["x.grad is now 1"] and y.grad is None


def test_a_slice_to_the_end_says_no_number(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with autolab.record() as recording:
        x[1:]
    assert "9223" not in texts(recording, torch, "compute")[0]


def test_the_mode_that_cuts_has_its_name(torch):
    x = torch.tensor(2.0, requires_grad=True)
    with autolab.record() as recording:
        with torch.inference_mode():
            a = x * 3
        with torch.no_grad():
            b = x * 4
    assert texts(recording, torch, "compute") == [
        "a = x * 3 = 6; under inference_mode, so no gradient flows back",
        "b = x * 4 = 8; under no_grad, so no gradient flows back",
    ] and (a, b) == (6, 8)


def test_detach_and_data_have_their_line(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording:
        y = x * 2
        c = y.detach()
        d = y.data
        z = c * d * y
        z.sum().backward()
    cut = {n.label: n for n in recording.trace(torch.__name__).nodes if n.cut}
    assert {label: (n.call, n.cut, n.source.text) for label, n in cut.items()} == {
        "c": ("detach(y)", "detach", "c = y.detach()"),
        "d": ("y.data", "data", "d = y.data"),
    }
    never = recording.trace(torch.__name__).passes[0].never
    assert never[cut["d"].id] == ".data cuts here" and never[cut["c"].id] == "detach() cuts here"


def recorded(program, specimen=None):
    recording = autolab.record()

    def run():
        with recording:
            program(autolab)

    run() if specimen is None else specimens.SPECIMENS[specimen].run(run)
    return recording.trace("autolab")


def test_a_specimen_is_no_hook():
    program = specimens.SPECIMENS[3].goes_wrong.program
    found = recorded(program, 3)
    changed = [f for f in found.frames if f.event in ("hook", "rule")]
    assert changed and {f.event for f in changed} == {"rule"}
    assert (
        changed[0].text
        == "a rule in the place of the engine's turns the 5 that has arrived at v2 into 4; no hook is there"
    )
    assert found.meta["why"].startswith("A specimen ran meanwhile")
    assert "specimen" not in recorded(program).meta["why"]


def test_a_hook_is_one_under_a_specimen_too():
    def program(torch):
        x = torch.tensor(3.0, requires_grad=True)
        x.register_hook(lambda g: g * 100)
        (x * 2).backward()

    assert [f.event for f in recorded(program, 3).frames if f.event in ("hook", "rule")] == ["hook"]


def test_what_a_specimen_throws_away_is_said():
    texts = [
        f.text
        for f in recorded(specimens.SPECIMENS[1].goes_wrong.program, 1).frames
        if f.event == "accumulate"
    ]
    assert texts[1].endswith(
        "is now 5; the 6 that it held is gone, by a rule in the place of the engine's"
    )


@pytest.mark.parametrize("number", sorted(specimens.SPECIMENS))
def test_every_specimen_can_be_recorded(number):
    example = specimens.SPECIMENS[number].goes_wrong
    try:
        recorded(example.program, number).to_text()
    except RuntimeError as error:  # the program's own
        assert "record" not in str(error)
