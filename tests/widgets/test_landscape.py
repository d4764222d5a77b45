"""The landscape: its paths equal the optimizers' own, the picture shows the loss, and the learner's tensors are
unchanged."""

import numpy as np
import pytest

import autolab as torch
from autolab.widgets import LossLandscape


def bowl():
    w, b = (torch.tensor(v, requires_grad=True) for v in (2.0, -1.0))
    return w, b, lambda: w * w + 10 * b * b


def test_paths_are_the_optimizers_own():
    w, b, loss = bowl()
    race = LossLandscape(loss, {"w": w, "b": b}, lr=0.04, steps=5)
    assert list(race.runs) == ["SGD", "momentum", "Adam", "LBFGS"]
    optimizer = torch.optim.SGD([w, b], lr=0.04, momentum=0.9)
    for point, value in zip(race.runs["momentum"].points, race.runs["momentum"].losses):
        assert point.tolist() == [w.item(), b.item()] and value == loss().item()
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    kept = race.runs["momentum"].momenta
    assert (
        kept[0] is None and kept[1].tolist() == [4.0, -20.0] and race.runs["SGD"].momenta[1] is None
    )
    assert race.runs["LBFGS"].losses[-1] < 1e-4


def test_nothing_of_the_learners_is_changed():
    w, b, loss = bowl()
    loss().backward()
    pending, grad, version = loss(), w.grad, w._version
    torch.manual_seed(7)
    expected = torch.rand(1).item()
    torch.manual_seed(7)
    race = LossLandscape(loss, [w, b], steps=2)
    race.explorer(steps=2)
    race.lr = 0.01
    assert (w.item(), b.item(), w.grad is grad, grad.item(), w._version) == (
        2.0,
        -1.0,
        True,
        4.0,
        version,
    )
    assert torch.rand(1).item() == expected
    pending.backward()
    assert w.grad.item() == 8.0


def test_the_picture_is_of_the_loss():
    w, b, loss = bowl()
    race = LossLandscape(loss, {"w": w, "b": b}, steps=3, lr=0.04, optimizers=["SGD"])
    x0, x1, y0, y1 = race.data["box"]
    assert x0 < 2 < x1 and y0 < -1 < y1 and race.data["names"] == ["w", "b"]
    assert (
        "depends on w and b only" in race.data["words"]
        and "Contours of the loss over w and b" in race.data["picture"]
    )
    race.start = [1.0, 0.5]
    assert race.runs["SGD"].points[0].tolist() == [1.0, 0.5] and race.step == 0
    race.lr = 0.01
    assert race.runs["SGD"].points[1] == pytest.approx([0.98, 0.4])


@pytest.mark.parametrize(
    ("kind", "words"), [("gradient", "at right angles"), ("path", "moved most")]
)
def test_of_many_numbers_two_directions_are_drawn(kind, words):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    inputs = torch.randn(8, 3)
    options = {"directions": kind, "steps": 4, "resolution": 5, "optimizers": ["SGD", "Adam"]}
    race = LossLandscape(lambda: model(inputs).pow(2).mean(), model.named_parameters(), **options)
    assert words in race.data["words"] and "8 directions" in race.data["words"]
    first, second = race._plane.directions
    assert abs(first @ second) < 1e-9 and np.linalg.norm([first, second], axis=1) == pytest.approx(
        [1, 1]
    )
    assert race.data["runs"][0]["points"][0] == pytest.approx([0, 0])
    if kind == "gradient":
        assert abs(race.data["runs"][0]["gradients"][0][1]) < 1e-6, (
            "all of it is along the first direction"
        )


def test_a_path_that_runs_away_ends_and_the_window_stays():
    w, b, loss = bowl()
    race = LossLandscape(loss, [w, b], optimizers=["SGD"], lr=1e30, steps=30)
    assert len(race.data["frames"]) < 31 and race.data["runs"][0]["losses"][-1] in ("inf", "nan")
    assert max(map(abs, race.data["box"])) < 100


@pytest.mark.parametrize("lr", [0.01, 0.07, 0.13, 0.2, 0.5, 1e30])
def test_the_picture_shows_start_and_lowest_point_at_every_rate(lr):
    w, b = (torch.tensor(v, requires_grad=True) for v in (4.0, 1.0))
    valley = lambda: (w - 1) ** 2 + 8 * b**2
    race = LossLandscape(valley, {"w": w, "b": b}, optimizers=["SGD"], lr=lr, steps=10)
    x0, x1, y0, y1 = race.data["box"]
    assert x0 < 1 < 4 < x1 and y0 < 0 < 1 < y1
    assert x1 - x0 < 12 and y1 - y0 < 12, "a run that leaves it does not stretch it"


@pytest.mark.parametrize("loss", [lambda w, b: w + b, lambda w, b: (-w).exp() + b * b])
def test_a_loss_without_a_lowest_point_is_drawn_where_its_paths_are(loss):
    w, b = (torch.tensor(v, requires_grad=True) for v in (1.0, 1.0))
    race = LossLandscape(lambda: loss(w, b), {"w": w, "b": b}, optimizers=["SGD"], steps=3)
    assert max(map(abs, race.data["box"])) < 30


def test_an_explorer_and_the_landscape_lead_each_other():
    w, b, loss = bowl()
    race = LossLandscape(loss, {"w": w, "b": b}, steps=4, lr=0.04)
    explorer = race.explorer("momentum", steps=3)
    bounds = race.linked["bounds"]
    assert race.selected == "momentum" and bounds[-1] == len(explorer.trace.frames) - 1
    explorer.step = bounds[0] - 1
    assert race.step == 0
    explorer.step = bounds[0]
    assert race.step == 1
    race.step = 2
    assert explorer.step == bounds[1]
    race.step = 3
    assert (race.step, explorer.step) == (3, bounds[2])  # the last step of both
    race.step = 4  # beyond the recorded steps
    assert explorer.step == bounds[2]
    race.start = [2.0, 1.0]  # the explorer shows the path from the other start
    explorer.step = 0
    race.step = 1
    assert (explorer.step, race.step, race.linked) == (
        0,
        1,
        {},
    ) and "goes its own way" in race.data["told"][0]


def test_a_start_without_a_loss_is_not_taken():
    w, b, loss = bowl()
    race = LossLandscape(loss, {"w": w, "b": b}, steps=2)
    before, runs = list(race.start), race.data["runs"]
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="the loss at the start is inf"),
    ):
        race.start = [1e30, 1.0]
    assert (
        race.start == before
        and race.data["runs"] == runs
        and race.data["told"][0].startswith("Not taken: the loss")
    )
    race.lr = 0.02
    assert race.data["told"][0] == "" and race.data["runs"] != runs


def test_what_cannot_be_drawn_is_said():
    w, b, loss = bowl()
    for given, kind, words in (
        ((loss(), [w, b]), TypeError, "loss_function must be callable"),
        ((loss, [w]), ValueError, "two numbers or more, got 1"),
        ((loss, [w, b * 2]), TypeError, "no leaf"),
        ((lambda: torch.ones(2), [w, b]), TypeError, r"one number, got a tensor of shape \(2,\)"),
    ):
        with pytest.raises(kind, match=words):
            LossLandscape(*given)
    wrong = [
        ({"optimizers": ["Sgd"]}, "unknown 'Sgd'"),
        ({"directions": "x"}, "directions"),
        ({"steps": 0}, "steps"),
    ]
    for option, words in (*wrong, ({"lr": -1.0}, "lr must be a positive number")):
        with pytest.raises(Exception, match=words):
            LossLandscape(loss, [w, b], **option)


def test_its_stored_form_has_picture_and_words():
    w, b, loss = bowl()
    race = LossLandscape(loss, [w, b], steps=2, lr=0.04, optimizers=["SGD"])
    assert repr(race) == "LossLandscape(2 steps, loss in the end: SGD 2.88)"
    assert race._still().count("<path") > 8 and ">SGD</text>" in race._still()
    assert race.export_state()["live"] is False
