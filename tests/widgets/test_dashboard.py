"""The training dashboard in the kernel: running, pausing, interrupting, displaying. `test_history` tests its data."""

import asyncio
import math
import re
import signal
import sys
import threading
import time
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest
import traitlets
from training_records import records

import autolab
from autolab.widgets import TrainingDashboard, charts


def descent(lib, rate=0.1, steps=50):
    """Return gradient descent on w², one record per step: (generator, optimizer, w)."""
    w = lib.tensor([1.0], requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=rate)

    def train():
        for step in range(1, steps + 1):
            loss = (w * w).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield {"step": step, "train_loss": loss.item()}

    return train(), optimizer, w


# -- driving -----------------------------------------------------------------------------------------------------------
def test_blocking():
    dashboard = TrainingDashboard(records(6, epochs=2))
    assert repr(dashboard) == "TrainingDashboard(idle: 0 records)"
    dashboard.run_blocking()
    assert dashboard.state == "finished" and dashboard.data["count"] == 6
    assert (
        repr(dashboard)
        == "TrainingDashboard(finished: 6 records, 2 epochs, validation loss 0.3333)"
    )
    dashboard.run_blocking()
    assert len(dashboard.history.records) == 6, "nothing happens again"
    with pytest.raises(RuntimeError, match=r"this training is over \(finished\)"):
        dashboard.step()


def test_steps_without_a_loop():
    dashboard = TrainingDashboard(records(3))
    dashboard.step()
    dashboard.step()
    assert (dashboard.state, dashboard.data["x"]) == ("paused", 2)
    with pytest.raises(RuntimeError, match=r"no event loop to train on: call run_blocking\(\)"):
        dashboard.start()
    dashboard.step()
    dashboard.step()
    assert (dashboard.state, dashboard.data["x"]) == ("finished", 3)


def test_others_run_in_between():
    """Training takes turns with the event loop: another task pauses, steps and resumes it."""
    generator, optimizer, w = descent(autolab, steps=100_000)
    dashboard = TrainingDashboard(generator, optimizer)

    async def wait_for(state):
        for _ in range(400):
            if dashboard.state == state:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{dashboard.state}, not {state}")

    async def scene():
        running = asyncio.ensure_future(dashboard.run())
        await wait_for("running")
        dashboard.pause()
        await wait_for("paused")
        at = len(dashboard.history.records)
        await asyncio.sleep(0.1)
        assert (
            len(dashboard.history.records) == at == dashboard.data["count"] and not running.done()
        )
        dashboard.step()
        await asyncio.sleep(0.1)
        assert len(dashboard.history.records) == at + 1 and dashboard.state == "paused"
        dashboard.resume()
        await wait_for("running")
        await asyncio.sleep(0.1)
        assert len(dashboard.history.records) > at + 1
        dashboard.stop()
        await running
        assert dashboard.state == "stopped"
        with pytest.raises(RuntimeError, match=r"over \(stopped\)"):
            dashboard.resume()

    asyncio.run(scene())
    assert generator.gi_frame is None, "the generator was closed"


def test_in_the_background():
    async def scene():
        dashboard = TrainingDashboard(records(5))
        dashboard.start()
        assert dashboard.state == "idle", "returns at once"
        await dashboard.run()
        assert dashboard.state == "finished" and len(dashboard.history.records) == 5

    asyncio.run(scene())


def test_a_pace_can_be_watched_and_changed_in_mid_run():
    dashboard = TrainingDashboard(records(40, epochs=2), pace=20)

    async def watch():
        start = time.monotonic()
        running = asyncio.ensure_future(dashboard.run())
        while len(dashboard.history.records) < 4:
            await asyncio.sleep(0.005)
        assert time.monotonic() - start >= 3 / 20, "there are 50 ms between two"
        dashboard.pace = 0.001
        dashboard.pause()
        while dashboard.state != "paused":
            await asyncio.sleep(0.005)
        dashboard.pace = 0
        dashboard.resume()
        await running

    asyncio.run(watch())
    assert dashboard.state == "finished" and len(dashboard.history.records) == 40
    with pytest.raises(traitlets.TraitError, match="pace: records a second"):
        dashboard.pace = -1


def test_a_rate_set_in_mid_run_is_in_the_optimizer_and_in_the_weights():
    generator, optimizer, w = descent(autolab, rate=0.25)
    dashboard = TrainingDashboard(generator, optimizer)
    assert dashboard.learning_rates == [0.25]
    dashboard.step()
    assert w.item() == 0.5, "1 - 0.25 * 2"
    dashboard.learning_rates = [0.125]
    assert optimizer.param_groups[0]["lr"] == 0.125
    dashboard.step()
    assert w.item() == 0.375, "0.5 - 0.125 * 1"
    assert dashboard.data["marks"] == [{"x": 1, "text": "learning rate 0.25 → 0.125"}]
    assert dashboard.data["rates"]["learning rate"]["y"] == [0.25, 0.125]
    optimizer.param_groups[0]["lr"] = 0.5
    dashboard.step()
    assert dashboard.learning_rates == [0.5], "what a scheduler sets is shown"
    assert len(dashboard.data["marks"]) == 1, "and is no change made here"


def test_pytorchs_optimizers_too():
    torch = pytest.importorskip("torch")
    generator, optimizer, w = descent(torch, rate=torch.tensor(0.25))
    dashboard = TrainingDashboard(generator, optimizer)
    dashboard.learning_rates = [0.125]
    dashboard.step()
    assert w.item() == 0.75 and isinstance(optimizer.param_groups[0]["lr"], torch.Tensor)


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([0.1, 0.2], "one for each of 1 parameter groups, got 2"),
        ([-1.0], "at least 0, got -1"),
        ([math.nan], "got nan"),
    ],
)
def test_a_wrong_rate_changes_nothing(rates, words):
    generator, optimizer, _ = descent(autolab)
    dashboard = TrainingDashboard(generator, optimizer)
    with pytest.raises(traitlets.TraitError, match=re.escape(words)):
        dashboard.learning_rates = rates
    assert optimizer.param_groups[0]["lr"] == 0.1 and dashboard.learning_rates == [0.1]
    with pytest.raises(traitlets.TraitError, match="no optimizer= was given"):
        TrainingDashboard(records(3)).learning_rates = [0.1]


# -- what goes wrong ---------------------------------------------------------------------------------------------------
def failing():
    yield {"train_loss": 1.0}
    raise ZeroDivisionError("float division by zero")


def test_an_error_in_the_training_is_shown_and_raised():
    dashboard = TrainingDashboard(failing())
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        asyncio.run(dashboard.run())
    assert (
        dashboard.state == "failed"
        and dashboard.error == "ZeroDivisionError: float division by zero"
    )
    assert dashboard.data["count"] == 1, "what came before is there"
    with pytest.raises(ZeroDivisionError):
        dashboard.run_blocking()


def test_an_error_in_the_background_is_printed_and_raised_when_asked(capsys):
    async def scene():
        dashboard = TrainingDashboard(failing())
        dashboard.start()
        await asyncio.sleep(0.2)
        assert dashboard.state == "failed" and isinstance(dashboard.exception, ZeroDivisionError)
        with pytest.raises(ZeroDivisionError):
            await dashboard.run()

    asyncio.run(scene())
    assert "ZeroDivisionError: float division by zero" in capsys.readouterr().err


def test_a_bad_record_pauses_and_the_training_can_go_on():
    dashboard = TrainingDashboard([{"train_loss": 1.0}, {"train_loss": "?"}, {"train_loss": 0.5}])
    with pytest.raises(TypeError, match=r"record 1\['train_loss'\]"):
        dashboard.run_blocking()
    assert dashboard.state == "paused" and "record 1['train_loss']" in dashboard.error
    dashboard.run_blocking()
    assert (dashboard.state, dashboard.error, dashboard.data["count"]) == ("finished", "", 2)


def test_predict_is_called_with_validation_numbers_and_its_errors_pause():
    calls = []

    def predict():
        calls.append(len(dashboard.history.records))
        if len(calls) == 2:
            raise ValueError("no images")
        return np.zeros((1, 2, 2)), [0], [1]

    dashboard = TrainingDashboard(records(6, epochs=3), predict=predict)
    with pytest.raises(ValueError, match="no images"):
        dashboard.run_blocking()
    assert dashboard.state == "paused" and dashboard.pictures["confusion"] == [[0, 1], [0, 0]]
    dashboard.run_blocking()
    assert calls == [2, 4, 6] and dashboard.state == "finished"


def test_an_interrupt_pauses_and_nothing_is_lost():
    """Send SIGINT in the middle of a step, like the notebook's stop button."""
    where = []

    def train():
        for step in range(1, 6):
            if step == 3 and "interrupted" not in where:
                where.append("interrupted")
                signal.raise_signal(signal.SIGINT)
            where.append(step)
            yield {"step": step, "train_loss": 1 / step}

    dashboard = TrainingDashboard(train())
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(dashboard.run())
    assert dashboard.state == "paused" and where == [1, 2, "interrupted", 3], (
        "the step was finished"
    )
    assert signal.getsignal(signal.SIGINT) is before
    asyncio.run(dashboard.run())
    assert dashboard.state == "finished" and [r["step"] for r in dashboard.history.records] == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_a_second_interrupt_strikes_at_once():
    def train():
        yield {"train_loss": 1.0}
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        yield {"train_loss": 0.5}

    dashboard = TrainingDashboard(train())
    with pytest.raises(KeyboardInterrupt):
        dashboard.run_blocking()
    assert dashboard.state == "failed" and dashboard.error == "KeyboardInterrupt: "


def test_a_cancelled_cell_leaves_the_training_paused():
    async def scene():
        dashboard = TrainingDashboard(descent(autolab, steps=100_000)[0])
        cell = asyncio.ensure_future(dashboard.run())
        await asyncio.sleep(0.15)
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell
        assert dashboard.state == "paused" and dashboard.history.records
        at = len(dashboard.history.records)
        dashboard.step()  # the button, later
        await asyncio.sleep(0.1)
        assert len(dashboard.history.records) == at + 1
        dashboard.stop()
        await asyncio.sleep(0.1)
        assert dashboard.state == "stopped"

    asyncio.run(scene())


def test_buttons_may_be_answered_in_another_thread():
    """Kernels with subshells do this."""

    async def scene():
        dashboard = TrainingDashboard(descent(autolab, steps=100_000)[0])
        ask = lambda kind: threading.Thread(
            target=dashboard._on_message, args=(dashboard, {"kind": kind}, [])
        ).start()
        ask("run")
        await asyncio.sleep(0.2)
        assert dashboard.state == "running"
        ask("pause")
        await asyncio.sleep(0.2)
        assert dashboard.state == "paused"
        ask("stop")
        await asyncio.sleep(0.2)
        assert dashboard.state == "stopped"
        ask("run")
        await asyncio.sleep(0.1)
        assert "this training is over (stopped)" in dashboard.error

    asyncio.run(scene())


def test_updates_are_rare_however_fast_the_training():
    dashboard, updates = TrainingDashboard(descent(autolab, steps=3000)[0]), []
    dashboard.observe(lambda change: updates.append(time.monotonic()), "data")
    start = time.monotonic()
    asyncio.run(dashboard.run())
    took = time.monotonic() - start
    assert len(updates) <= took / 0.1 + 4 and dashboard.data["count"] == 3000, (
        "the last one is sent"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (records,),
            "training must be an iterable of records, got function: call it, training(...)",
        ),
        ((5,), "training must be an iterable of records, got int"),
        (([], "sgd"), "optimizer must be an optimizer of autolab or PyTorch, got str"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments, words):
    with pytest.raises(TypeError, match=re.escape(words)):
        TrainingDashboard(*arguments)
    with pytest.raises(TypeError, match="predict must be a function"):
        TrainingDashboard([], predict=3)


# -- shown without a kernel --------------------------------------------------------------------------------------------
def test_a_saved_notebook_shows_the_curves_and_the_same_every_time(tmp_path):
    def bundle():
        dashboard = TrainingDashboard(records(6, epochs=2))
        dashboard.run_blocking()
        return dashboard, dashboard._repr_mimebundle_()[0]

    (dashboard, one), (_, two) = bundle(), bundle()
    assert one["image/svg+xml"] == two["image/svg+xml"]
    assert one["text/plain"].startswith(
        f"{dashboard!r} is a training to watch and to steer: run this cell"
    )
    svg = ET.fromstring(one["image/svg+xml"])
    words = [e.text for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert (
        "train 0.16667" in words and "validation 0.33333" in words and words[0] == repr(dashboard)
    )
    page = dashboard.to_html(tmp_path / "run.html").read_text()
    assert '"live":false' in page and '"state":"finished"' in page and len(page) < 65_500
    empty = TrainingDashboard([])._repr_mimebundle_()[0]["image/svg+xml"]
    assert "No record yet: run the training." in empty


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.5, 1]),
        (0, 2.5, [0, 1, 2]),
        (-0.3, 0.3, [-0.2, 0, 0.2]),
        (3, 3, [3]),
        (0, 1000, [0, 500, 1000]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert charts.ticks(low, high) == expected


@pytest.mark.parametrize(
    ("kernel", "unheard"),
    [(None, False), ({}, True), ({"_supports_kernel_subshells": True}, False)],
)
def test_it_says_while_a_cell_waits_whether_the_kernel_hears_it(monkeypatch, kernel, unheard):
    """A kernel without subshells (ipykernel 6) handles button messages only after the cell has ended."""
    shell = SimpleNamespace(kernel=SimpleNamespace(**kernel)) if kernel is not None else None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    said = []

    def training():
        for step in range(3):
            said.append(dashboard.unheard)
            yield {"step": step, "train_loss": 1.0}

    dashboard = TrainingDashboard(training())
    asyncio.run(dashboard.run())
    assert said == [unheard] * 3 and dashboard.unheard is False
