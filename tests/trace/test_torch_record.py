"""Recordings of PyTorch: the same programs give the same text with both libraries, except for the differences stated
here."""

import contextlib
import gc
import json
import re
import subprocess
import sys
import weakref
from pathlib import Path

import programs
import pytest
import torch_programs

import autolab
from autolab.trace.errors import explanation

torch = pytest.importorskip("torch")
torch_names = pytest.importorskip("autolab.trace.torch_names")
checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint

PROGRAMS = {f"{name}": run for name, run in (programs.PROGRAMS | torch_programs.PROGRAMS).items()}
"""Names that both lists have mean the further one."""


def recorded(run, library):
    recording = autolab.record()
    try:
        with recording:
            run(library)
    except (RuntimeError, ValueError):
        assert recording.trace().meta["error"] is not None
    assert recording.trace().meta["library"] == library.__name__
    return recording


def in_order(lines):
    """Sort lines: PyTorch frees a node's saved tensors before the leaf it sent to accumulates, autolab after it."""
    found = []
    for line in lines:
        line = re.sub(r"^ *\d+  (?=forward|backward|update)", "", line)
        freed = " is done: what it saved" in line
        place = len(found)
        arrives = not freed and re.search(r"\.grad is now |a hook changed the gradient", line)
        while arrives and place and " is done: what it saved" in found[place - 1]:
            place -= 1
        found.insert(place, line)
    return found


NOTES = (
    "backward() freed what this",
    "SigmoidBackward0 saved this",
    "No input of this",
    "The columns of the first",
    "This tensor has",
)
"""How sentences begin that autolab adds to an error of its own."""

STATED = {
    # PyTorch fills one number of a vector by copying, and for an in-place change of a view it shows no node and no
    # saved tensors.
    "in_place": (
        ["v2 fill_(v1, 5) float32 [] 5 FillBackward3; version 2; programs.py:39"],
        ["v2 copy_(v1, 5) float32 [] 5 version 2; programs.py:39"],
    ),
    "of_a_view": (
        [
            "v(2) mul_(v, 10) float32 [2] [40, 60] MulBackward0; version 1; torch_programs.py:",
            "v(2) other is 10 int64 [] version 0, 8 bytes, freed",
        ],
        ["v(2) mul_(v, 10) float32 [2] [40, 60] version 1; torch_programs.py:"],
    ),
}
"""Lines of either trace that the other does not have."""


def text_of(recording):
    found = []
    for line in in_order(recording.text().splitlines()):
        line = re.sub(r" +", " ", line).strip()
        line = re.sub(
            r"(\*\*? \d+)\.0\b", r"\1", line
        )  # a rule of PyTorch's computes with x ** 2.0, where autolab writes x ** 2
        line = line.replace("torch.contiguous_format", "row-major")
        line = line.replace("v2 = copy_(v1, 5)", "v2 = fill_(v1, 5)")
        if not line.startswith(NOTES):
            found.append(line)
    return found


def facts_of(recording):
    """Return what a trace holds besides its text: which node changes which gradient, and the modules, without PyTorch's
    order of freeing."""
    trace = recording.trace()
    frames = [
        (f.phase, f.run, f.node, f.edge, f.receiver, f.state, f.name)
        for f in trace.frames
        if f.event not in ("free", "accumulate", "hook")
    ]
    last = trace.states(len(trace.frames) - 1) if trace.frames else {}
    edges = [(e.parent, e.parent_nr, e.child, e.slot, e.update) for e in trace.edges]
    return (
        frames,
        last,
        edges,
        [(g.path, g.type, g.nodes, g.parent, g.call, g.holds) for g in trace.groups],
    )


def without(lines, stated):
    kept = [line for line in lines if not any(line.startswith(s) for s in stated)]
    assert len(kept) == len(lines) - len(stated)
    return kept


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "gradients_of_gradients"])
def test_a_program_reads_as_with_autolab(name):
    ours, theirs = (recorded(PROGRAMS[name], library) for library in (autolab, torch))
    only_ours, only_theirs = STATED.get(name, ([], []))
    assert without(text_of(theirs), only_theirs) == without(text_of(ours), only_ours)
    assert facts_of(theirs) == facts_of(ours)
    json.dumps(theirs.trace().to_json())


def test_the_order_within_a_rule_is_pytorchs_own():
    """PyTorch multiplies for `other` first, autolab for `self`; the numbers are the same."""
    ours, theirs = (
        recorded(PROGRAMS["gradients_of_gradients"], library).trace()
        for library in (autolab, torch)
    )
    assert sorted(n.op for n in ours.nodes) == sorted(n.op for n in theirs.nodes)
    assert ours.nodes[0].grad == theirs.nodes[0].grad


def test_torch_is_not_imported_for_a_recording():
    code = (
        "import sys, autolab\n"
        "with autolab.record() as recording:\n    (autolab.ones(2, requires_grad=True) * 2).sum().backward()\n"
        "recording.trace(); print(recording); autolab.explore(recording)\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_both_libraries_in_one_block_are_both_recorded():
    with autolab.record() as recording:
        a = torch.ones(2, requires_grad=True) * 2
        b = autolab.ones(2, requires_grad=True) + 1
        (a.sum() * 2).backward()
    with pytest.raises(RuntimeError, match="of autolab and of PyTorch"):
        recording.trace()
    assert (
        recording.trace("torch").meta["library"] == "torch"
        and recording.trace("autolab").meta["library"] == "autolab"
    )
    assert [n.label for n in recording.trace("autolab").nodes if n.kind == "op"] == ["b"]
    assert (
        "a" in [n.label for n in recording.trace("torch").nodes]
        and "\nPyTorch\n" in recording.text()
    )
    assert b.requires_grad


def step_of(model, x):
    loss = torch.nn.functional.cross_entropy(model(x), torch.zeros(len(x), dtype=torch.int64))
    loss.backward()
    return loss


def test_watching_changes_nothing():
    def run(watch):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(16, 3),
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x = torch.randn(2, 1, 4, 4)
        with autolab.record() if watch else contextlib.nullcontext():
            for _ in range(3):
                optimizer.zero_grad()
                step_of(model, x)
                optimizer.step()
        versions = [(p._version, p.grad._version) for p in model.parameters()]
        hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
        return (
            [*model.state_dict().values(), *(p.grad for p in model.parameters())],
            versions,
            hooks,
        )

    (plain, *facts), (watched, *others) = run(False), run(True)
    assert facts == others and all(map(torch.equal, plain, watched))


def test_values_are_those_of_their_moment():
    x = torch.arange(1000.0, requires_grad=True)
    with autolab.record() as recording:
        y = x * 2
        z = y.detach().clone()
        z.add_(1)
        z.numpy()[:] = -5
        z.add_(1)
        norm = torch.nn.BatchNorm1d(100)
        norm(torch.ones(10, 100) * 3)
    values = {
        (n.op, n.version): n.value
        for n in recording.trace().nodes
        if n.kind == "op" and n.shape == (1000,)
    }
    assert values["clone", 0].stats["max"] == 1998 and values["add_", 1].stats["max"] == 1999
    assert values["add_", 2].stats["max"] == values["add_", 2].stats["min"] == -4
    running = next(n for n in recording.trace().nodes if n.op == "zero_" and n.shape == (100,))
    assert running.value.stats["max"] == 0  # before the call, which changes it without counting
    assert norm.running_mean[0] > 0


def calls_of(run):
    """Return the number of functions that `run` calls, including those written in C."""
    counts = {"call": 0, "c_call": 0, "return": 0, "c_return": 0, "c_exception": 0}

    def count(frame, event, argument):
        counts[event] += 1

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return counts["call"] + counts["c_call"]


@pytest.mark.parametrize(
    ("library", "most"), [(torch, 11_000), (autolab, 9_500)], ids=["torch", "autolab"]
)
def test_a_recorded_step_of_a_small_network_calls_few_functions(library, most):
    """Count the calls of a step with ten operations and six parameters. A time limit would fail on a busy machine."""
    nn = library.nn
    layers = nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)
    model = nn.Sequential(*layers)
    optimizer = library.optim.SGD(model.parameters(), lr=0.01)
    x, y = library.randn(32, 8), library.randint(0, 3, (32,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    with autolab.record():
        step(), step()
        counts = [calls_of(step) for _ in range(5)]
    assert max(counts) < most
    assert max(counts) < 1.1 * min(counts)  # a long recording does not become slower


def test_a_recording_keeps_no_tensor():
    with autolab.record() as recording:
        x = torch.ones(1000, requires_grad=True)
        y = (x * 2).sum()
        y.backward()
    gone = weakref.ref(x), weakref.ref(y)
    del x, y
    gc.collect()
    assert [r() for r in gone] == [None, None]
    assert recording.trace().nodes[0].grad.stats["min"] == 2.0


def test_memory_that_the_code_lets_go_of_is_free_within_the_block():
    conv, images = torch.nn.Conv2d(3, 8, 3), torch.randn(2, 3, 40, 40, requires_grad=True)
    with autolab.record() as recording:
        maps = conv(images).relu()
        memory = [weakref.ref(maps.untyped_storage())]
        maps.sum().backward()
        memory += [
            weakref.ref(leaf.grad.untyped_storage()) for leaf in (conv.weight, conv.bias, images)
        ]
        conv.weight.grad = conv.bias.grad = images.grad = None
        del maps
        assert [held() is None for held in memory] == [True] * 4
    layer = next(n for n in recording.trace().nodes if n.op == "convolution").layer
    assert [panel["what"] for panel in layer["panels"]] == ["w", "x", "y", "y", "x", "w"]


def test_what_hooks_make_of_a_gradient_is_no_local_derivative():
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    with autolab.record() as recording:
        y = x * w
        y.grad_fn.register_hook(lambda sent, arrived: tuple(g * 10 for g in sent))
        (y * 4).backward()
    said = {f.text: f.tex for f in recording.trace().frames if f.event == "contribution"}
    assert (
        said.pop("y sends 120, as its hooks leave it, to x")
        == said.pop("y sends 80, as its hooks leave it, to w")
        == ""
    )
    ((text, tex),) = said.items()
    assert text.endswith("sends 4 to y") and tex
    assert "Hooks did not run" in autolab.explore(x * w).trace.meta["why"]


def test_recordings_nest():
    x = torch.ones(2, requires_grad=True)
    with autolab.record() as around, autolab.record() as inside:
        (x * 3).sum().backward()
    assert around.text() == inside.text()


def test_the_line_is_the_learners():
    with autolab.record() as recording:
        torch.nn.functional.softplus(torch.ones(2, requires_grad=True))
    source = recording.trace().nodes[-1].source
    assert source.file == "test_torch_record.py" and source.text.startswith(
        "torch.nn.functional.softplus("
    )


@pytest.mark.parametrize("library", [autolab, torch], ids=lambda library: library.__name__)
def test_tensors_may_be_compared(library):
    with autolab.record() as recording:
        library.tensor([1.0, 2.0]) == library.tensor([1.0, 3.0])  # noqa: B015
    node = recording.trace().nodes[-1]
    assert node.op == "eq" and node.value.data == [True, False]


def test_what_hooks_have_taken_is_not_asked_for_when_their_block_is_over():
    x = torch.ones(2, requires_grad=True)
    asked = []
    with autolab.record() as recording:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, asked.append):
            y = x * x
    assert asked == [] and recording.trace().saved[0].missing and y.requires_grad


def test_a_recording_that_nobody_read_keeps_no_parameter():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with autolab.record() as recording:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    gone = [weakref.ref(p) for p in model.parameters()]
    del model, optimizer
    gc.collect()
    assert [r() for r in gone] == [None, None]
    assert [g.kind for g in recording.trace().groups] == ["module", "step"]


def test_memory_that_was_looked_at_can_still_be_resized():
    x = torch.arange(10.0, requires_grad=True)
    with autolab.record() as recording:
        y = (x * 2).detach()
        (x * y).sum().backward()
    recording.trace()
    y.resize_(100)
    x.grad.resize_(100)


def test_statistics_of_many_numbers_are_those_of_few():
    from autolab.trace import values

    numbers = torch.randn(100_003, generator=torch.Generator().manual_seed(0)).numpy() * 3 + 100
    many, wide = values._stats_of_many(numbers), numbers.astype("float64")
    assert many["mean"] == float(f"{wide.mean():.7g}") and many["std"] == float(f"{wide.std():.7g}")
    for some in (
        numbers,
        numbers * 1e-30,
        numbers - 100,
        numbers * 0 + 0.1,
        numbers.clip(100) * 1e25,
    ):
        many, wide = values._stats(some), some.astype("float64")
        assert many["min"] == float(f"{wide.min():.7g}") and many["max"] == float(
            f"{wide.max():.7g}"
        )
        assert abs(many["mean"] - wide.mean()) < 3e-8 * wide.std() + 5.1e-7 * abs(wide.mean())
        assert abs(many["std"] - wide.std()) <= 5e-7 * wide.std() + 1e-12
    half = numbers.astype("float16")  # subtracted in float32, not rounded to half first
    assert abs(values._stats_of_many(half)["mean"] - half.astype("float64").mean()) < 1e-5
    numbers[7] = float("nan")
    assert values._stats_of_many(numbers) is None and values._stats(numbers)["nan"] == 1


def test_checkpointing_shows_what_is_computed_again():
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    with autolab.record() as recording:
        y = checkpoint(lambda a: torch.tanh(layer(a)) * 2, x, use_reentrant=False)
        y.sum().backward()
    trace = recording.trace()
    again = [
        f.node
        for f in trace.frames
        if f.event == "compute"
        and f.index > next(f.index for f in trace.frames if f.event == "seed")
    ]
    assert [trace.nodes[int(n[1:])].op for n in again] == ["t", "addmm", "tanh"]
    assert {s.missing for s in trace.saved} == {
        "kept by a hook for saved tensors, which alone knows it"
    }
    assert sorted(f.total.shape for f in trace.frames if f.event == "accumulate") == [
        (1, 2),
        (2,),
        (2, 2),
    ]


def test_reentrant_checkpointing_says_what_is_missing():
    x = torch.ones(1, 2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant=False they are recorded"), autolab.record():
        checkpoint(torch.nn.Linear(2, 2), x, use_reentrant=True).sum().backward()


def test_a_pytorch_without_a_name_that_is_needed_gives_a_sentence(monkeypatch):
    monkeypatch.setitem(torch_names.USED, "torch.Tensor", ("_version", "_gone"))
    torch_names.check.cache_clear()
    with pytest.raises(
        ImportError, match="has no torch.Tensor._gone, which autolab needs"
    ) as raised:
        autolab.explore(torch.ones((), requires_grad=True) * 2)
    assert "newer autolab-kit" in raised.value.__notes__[0]
    with (
        pytest.warns(
            UserWarning, match="PyTorch are not recorded: PyTorch .* has no torch.Tensor._gone"
        ),
        autolab.record() as recording,
    ):
        torch.ones(2) * 2
        autolab.ones(2) * 2
    assert [n.op for n in recording.trace().nodes if n.kind == "op"] == ["mul"]


def test_no_other_private_name_of_pytorch_is_used():
    """The private names of PyTorch that the trace uses are in `torch_names.USED` and docs/pytorch.md."""
    page = (Path(autolab.__file__).parents[1] / "docs" / "pytorch.md").read_text()
    told = {name for names in torch_names.USED.values() for name in names}
    assert all(f"`{name.replace('_self', '_*')}`" in page for name in told)
    trace = Path(autolab.__file__).parent / "trace"
    sources = "".join(
        path.read_text() for path in trace.glob("torch_*.py") if path.name != "torch_names.py"
    )
    assert set(re.findall(r"torch(?:\.\w+)*\.(_\w+)", sources)) == {
        "_python_dispatch",
        "_C",
        "_is_tracing",
        "_top_saved_tensors_default_hooks",
        "_len_torch_dispatch_stack",
        "_len_torch_function_stack",
        "_pop_torch_dispatch_stack",
        "_push_on_torch_dispatch_stack",
    }
    assert re.findall(r"_python_dispatch import (.*)", sources) == ["TorchDispatchMode"]


FUNC = torch.func
TRANSFORMS = {
    "grad": lambda x: FUNC.grad(lambda a: (a * a).sum())(x),
    "vjp": lambda x: FUNC.vjp(lambda a: a * 2, x)[1](x)[0],
    "jacrev": lambda x: FUNC.jacrev(lambda a: a * 2)(x),
    "hessian": lambda x: FUNC.hessian(lambda a: (a**3).sum())(x),
    "per sample": lambda x: FUNC.vmap(FUNC.grad(lambda a: a * a))(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_runs_and_says_what_is_not_recorded(name):
    x = torch.tensor([1.0, 2.0])
    with (
        pytest.warns(UserWarning, match="a transform of torch.func"),
        autolab.record() as recording,
    ):
        found = TRANSFORMS[name](x)
        y = (x.requires_grad_() * 3).sum()
        y.backward()
    assert torch.equal(found, TRANSFORMS[name](x.detach()))
    assert [n.op for n in recording.trace("torch").nodes if n.grad_fn][-2:] == [
        "mul",
        "sum",
    ] and x.grad.tolist() == [3, 3]


def changed_in_place():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def backward_twice():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    y.backward()


def wrong_shapes():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(2, 1))
    net(torch.ones(1, 2))


def no_graph():
    x = torch.ones(2, requires_grad=True)
    y = x.detach().sum()
    y.backward()


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        (changed_in_place, ["y was changed in place by add_", "y = exp(x) had saved it"]),
        (
            backward_twice,
            ["a backward pass before this one freed them", "That was backward pass 1"],
        ),
        (wrong_shapes, ["addmm(", "float32 [1, 3]", "float32 [2, 1]"]),
        (no_graph, ["no graph behind it", "The graph ends at v1 = detach(x)"]),
    ],
)
def test_an_error_in_a_recording_is_explained(fails, words):
    with pytest.raises(RuntimeError) as caught, autolab.record() as recording:
        fails()
    trace = explanation.of_error(caught.value)
    assert trace.meta["library"] == "torch" and trace.nodes == recording.trace().nodes
    said = " ".join(trace.meta["explanation"]["text"])
    assert all(word in said for word in words)
    autolab.explain(caught.value)


def test_a_recording_can_be_looked_at(tmp_path):
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 2)
    )
    with autolab.record() as recording:
        loss = net(torch.ones(1, 1, 4, 4)).sum()
        loss.backward()
    autolab.explore(recording).to_html(tmp_path / "page.html")
    assert "Conv2d" in str(autolab.viz.draw(recording)) and autolab.viz.make_dot(loss)


def test_a_loss_is_computed_again_as_it_was():
    """Recompute a sum, not the mean that nn.functional's third argument would select; else every value would be in
    doubt."""
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = torch.nn.functional.mse_loss(y * 2, torch.zeros(2), reduction="sum") * 3
    values = {n.label: n.value and n.value.text for n in autolab.trace.trace(loss).nodes}
    assert values["y"] == "[1, 2]" and values["v2"] == "20" and values["loss"] == "60"


def test_a_rehearsal_adds_to_what_retain_grad_had_left():
    def frames(library):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.retain_grad()
        loss = y.sum()
        loss.backward(retain_graph=True)
        trace = autolab.trace.trace(loss)
        assert y.grad.tolist() == [1, 1] and x.grad.tolist() == [2, 4]
        return [f.text for f in trace.frames if f.event == "accumulate"]

    assert frames(torch) == frames(autolab) and len(frames(torch)) == 2


def test_a_recording_counts_what_it_holds_of_either_library():
    with autolab.record() as theirs:
        torch.ones(2, requires_grad=True).exp().sum().backward()
    assert (
        repr(theirs)
        == f"<Recording: {len(theirs.trace().nodes)} nodes, {len(theirs.trace().frames)} steps>"
        != "<Recording: 0 nodes, 0 steps>"
    )
    with autolab.record() as both:
        torch.ones(2, requires_grad=True).exp()
        autolab.ones(2) + 1
    assert repr(both) == "<Recording: 3 nodes, 1 steps of autolab; 2 nodes, 1 steps of PyTorch>"


@pytest.mark.parametrize("library", [torch, autolab], ids=["torch", "autolab"])
def test_a_view_without_a_history_does_not_break_the_recording(library):
    """The leaf's view was changed under no_grad, so its grad_fn may not be read."""
    w = library.tensor([[1.5, 2.5], [3.5, 4.5]], requires_grad=True)
    with autolab.record() as recording:
        with library.no_grad():
            row = w[0]
            row.fill_(0.5)
        loss = (w * w).sum()
        loss.backward()
    with pytest.raises(RuntimeError, match="view was created in no_grad mode"):
        _ = row.grad_fn
    texts = [f.text for f in recording.trace(library.__name__).frames]
    assert "w(2).grad is now [[1, 1], [7, 9]]" in texts
