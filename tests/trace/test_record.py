"""Recordings as text. `AUTOLAB_WRITE_GOLDEN=1 pytest tests/trace` rewrites the expected texts: read the difference
before keeping it."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import programs
import pytest

import autolab as torch

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_recording_reads_as_expected(name):
    recording = torch.record()
    try:
        with recording:
            programs.PROGRAMS[name](torch)
    except RuntimeError:
        assert recording.trace().meta["error"] is not None
    text = recording.text() + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("AUTOLAB_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_an_error_ends_the_recording_and_keeps_what_happened():
    recording = torch.record()
    with pytest.raises(RuntimeError, match="a second time"), recording:
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward()
        y.backward()
    trace = recording.trace()
    assert [f.event for f in trace.frames].count("accumulate") == 1
    assert trace.frames[-1].event == "error" and trace.frames[-1].text.startswith(
        "error at y: RuntimeError"
    )
    assert trace.meta["error"]["type"] == "RuntimeError" and trace.meta["error"]["notes"]


def test_an_error_of_the_learners_own_code_is_kept_too():
    recording = torch.record()
    with pytest.raises(ZeroDivisionError), recording:
        torch.tensor(2.0, requires_grad=True) * 3
        1 / 0  # noqa: B018
    assert [f.event for f in recording.trace().frames] == ["compute", "error"]
    assert recording.trace().frames[-1].phase == "forward"


def test_recording_sees_every_backward_as_a_run_of_its_own():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        for _ in range(3):
            (x * x).backward()
    accumulated = [
        (f.run, f.value.data, f.total.data)
        for f in recording.trace().frames
        if f.event == "accumulate"
    ]
    assert accumulated == [(1, 6.0, 6.0), (2, 6.0, 12.0), (3, 6.0, 18.0)]


def test_states_over_two_passes_with_a_reset_between():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        y = x * 2
        y.backward(retain_graph=True)
        x.grad = None
        y.backward()
    trace = recording.trace()
    leaf = next(n.id for n in trace.nodes if n.name == "x")
    states = [trace.states(f.index)[leaf] for f in trace.frames if f.receiver == leaf]
    assert states == ["contribution", "accumulated", "none", "contribution", "accumulated"]
    assert [f.event for f in trace.frames if f.event == "clear"] == ["clear"]


def test_a_graph_that_is_kept_still_lets_its_gradients_go():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
    trace = recording.trace()
    y_states = [
        trace.states(f.index)[next(n.id for n in trace.nodes if n.name == "y")]
        for f in trace.frames
    ]
    assert [state for state, _ in itertools.groupby(y_states)] == [
        "none",
        "accumulated",
        "freed",
        "accumulated",
        "freed",
    ]


def test_source_lines_are_the_callers():
    with torch.record() as recording:
        x = torch.tensor(1.0, requires_grad=True)
        y = torch.nn.functional.softplus(x)  # the library's own lines do not count
    source = next(n for n in recording.trace().nodes if n.name == "y").source
    assert source.file == "test_record.py"
    assert (
        source.text == "y = torch.nn.functional.softplus(x)  # the library's own lines do not count"
    )
    assert y.requires_grad


def test_history_from_before_the_recording_comes_from_the_graph():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    with torch.record() as recording:
        z = y * 3
        z.backward()
    trace = recording.trace()
    assert [n.label for n in trace.nodes] == ["x", "y", "3", "z"]
    assert [f.node for f in trace.frames if f.event == "compute"] == ["n3"]
    assert trace.nodes[0].grad.data == 12.0


def test_a_recording_does_not_keep_tensors_alive():
    import gc
    import weakref

    with torch.record() as recording:
        x = torch.ones(1000, requires_grad=True)
        y = (x * 2).sum()
        y.backward()
        gone = weakref.ref(x), weakref.ref(y.grad_fn)
        del x, y
        gc.collect()
        assert [r() for r in gone] == [None, None]
    leaf = recording.trace().nodes[0]
    assert leaf.grad.stats["min"] == leaf.grad.stats["max"] == 2.0


def test_modules_are_groups_with_their_paths():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            self.head = torch.nn.Linear(2, 1)

        def forward(self, x):
            return self.head(self.body(x)) * 2

    net = Net()
    with torch.record() as recording:
        out = net(torch.ones(1, 2))
    trace = recording.trace()
    assert [(g.path, g.type) for g in trace.groups] == [
        ("Net", "Net"), ("body", "Sequential"), ("body.0", "Linear"), ("body.1", "ReLU"), ("head", "Linear"),
    ]  # fmt: skip
    by_path = {g.path: set(g.nodes) for g in trace.groups}
    assert by_path["body.0"] | by_path["body.1"] == by_path["body"]
    assert {n.name for n in trace.nodes if n.kind == "leaf"} == {
        "body.0.weight",
        "body.0.bias",
        "head.weight",
        "head.bias",
    }
    assert next(n for n in trace.nodes if n.name == "out").module == "Net"
    assert out.shape == (1, 1)


def test_recordings_may_be_nested():
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as outer:
        y = x * 2
        with torch.record() as inner:
            z = y * 3
        z.backward()
    assert [f.event for f in inner.trace().frames] == ["compute"]
    assert [f.event for f in outer.trace().frames][:2] == ["compute", "compute"]
    assert any(f.event == "accumulate" for f in outer.trace().frames)


def test_nothing_is_watched_after_the_block():
    from autolab.engine.core import observe

    with torch.record() as recording:
        pass
    assert observe.observer is None
    torch.tensor(1.0, requires_grad=True) * 2
    assert recording.trace().nodes == ()
    assert (
        recording.trace().meta["why"]
        == "Nothing was recorded: no operation on a tensor ran in the block."
    )


def test_a_recording_is_made_once_and_says_what_it_is():
    recording = torch.record()
    assert repr(recording) == "<Recording: empty; use it with `with`>"
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        recording.trace()
    with recording:
        torch.tensor(1.0, requires_grad=True) * 2
        assert len(recording.trace().nodes) == 3  # so far
        assert recording.trace().meta["why"] == "No backward pass was recorded."
    assert repr(recording) == "<Recording: 3 nodes, 1 steps>"
    assert str(recording) == recording.text()
    with pytest.raises(RuntimeError, match="only once"), recording:
        pass


def test_lines_of_notebook_cells_are_found():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell(
            "import autolab as torch\nx = torch.tensor(2.0, requires_grad=True)", store_history=True
        )
        result = shell.run_cell(
            "with torch.record() as r:\n    y = x * x\n    y.backward()", store_history=True
        )
        result.raise_error()
        node = shell.user_ns["r"].trace().nodes[1]
        assert (node.name, node.source.file, node.source.line, node.source.text) == (
            "y",
            "cell 2",
            2,
            "y = x * x",
        )
        shell.run_cell(
            "t = torch.trace.trace(y * 3, backward=False)", store_history=True
        ).raise_error()
        assert [n.label for n in shell.user_ns["t"].nodes] == ["x", "y", "3", "v1"]
    finally:
        InteractiveShell.clear_instance()


def test_names_and_lines_are_found_when_the_package_lies_behind_a_link(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "autolab").symlink_to(
        Path(torch.__file__).parent, target_is_directory=True
    )
    (tmp_path / "own.py").write_text(
        "import autolab as torch\nx = torch.tensor(2.0, requires_grad=True)\nwith torch.record() as r:\n    s = x * x\n"
        "print([(n.label, n.source.file, n.source.text) for n in r.trace().nodes if n.source and n.label == 's'], torch.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": "site"}
    run = subprocess.run(
        [sys.executable, "own.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        run.stdout.strip()
        == f"[('s', 'own.py', 's = x * x')] {tmp_path / 'site' / 'autolab' / '__init__.py'}"
    )
