"""A recording never breaks its program: an operation that the recorder cannot follow becomes one node with a
sentence."""

import warnings

import pytest

import autolab
from autolab.trace.devices.recording import DeviceRecording, DeviceTrace
from autolab.trace import film, guard, recorder, updates
from autolab.trace.captions import labels
from autolab.trace.build import Builder

torch = pytest.importorskip("torch")

from autolab.trace import torch_events, torch_pass, torch_snapshots  # noqa: E402 (needs torch)

from record_compare import compared  # noqa: E402
from torch_docstrings import Docstring, docstrings  # noqa: E402

LIBRARIES = pytest.mark.parametrize("library", [autolab, torch], ids=["autolab", "torch"])
PARTS = [
    (recorder.Recorder, "_scan"),
    (recorder.Recorder, "_parents"),
    (recorder.Recorder, "_draft"),
    (recorder.Recorder, "_join"),
    (recorder.Recorder, "_name_here"),
    (recorder.Recorder, "_ended"),
    (Builder, "save"),
    (Builder, "graph"),
    (Builder, "value_of"),
    (Builder, "leaf"),
    (Builder, "_written"),
    (film.Film, "_begin"),
    (film.Film, "before_node"),
    (film.Film, "contribution"),
    (film.Film, "accumulate"),
    (film.Film, "free"),
    (film.Film, "backward_end"),
    (film.Film, "check_grads"),
    (updates.Updates, "update"),
    (updates.Updates, "step"),
    (labels.Book, "forward"),
    (labels.Book, "local"),
    (labels.Book, "call"),
]
OF_TORCH = [
    (torch_events.Events, "_name_in"),
    (torch_events._Operation, "place"),
    (torch_pass.Pass, "_begin"),
    (torch_snapshots.Snapshots, "value"),
    (torch_snapshots.Snapshots, "before_change"),
]


@pytest.fixture
def lenient(monkeypatch):
    monkeypatch.setattr(guard, "strict", False)


def trained(library):
    """Return everything a learner sees of two training steps."""
    library.manual_seed(0)
    net = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Tanh(), library.nn.Linear(4, 2))
    optimizer = library.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
    x, losses = library.arange(6.0).reshape(2, 3), []
    for _ in range(2):
        optimizer.zero_grad()
        loss = library.nn.functional.cross_entropy(net(x), library.tensor([1, 0]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    (gradient,) = library.autograd.grad(net(x).sum(), [net[0].weight])
    return losses, gradient.tolist(), [p.grad.tolist() for p in net.parameters()]


def broken(*args, **kwargs):
    raise KeyError("a fault of the recorder")


@LIBRARIES
@pytest.mark.parametrize("part", PARTS, ids=[name for _, name in PARTS])
def test_a_fault_of_the_recorder_never_reaches_the_program(library, part, lenient, monkeypatch):
    want = trained(library)
    monkeypatch.setattr(*part, broken)
    with autolab.record() as recording:
        assert trained(library) == want
    monkeypatch.undo()
    monkeypatch.setattr(guard, "strict", False)
    assert isinstance(recording.text(), str)
    autolab.explore(recording)
    assert trained(library) == want


@pytest.mark.parametrize("part", OF_TORCH, ids=[name for _, name in OF_TORCH])
def test_nor_does_one_in_what_watches_pytorch(part, lenient, monkeypatch):
    want = trained(torch)
    monkeypatch.setattr(*part, broken)
    with autolab.record() as recording:
        assert trained(torch) == want
    monkeypatch.undo()
    monkeypatch.setattr(guard, "strict", False)
    autolab.explore(recording)
    assert trained(torch) == want


def on_a_device():
    """Return everything a learner sees of a training step on a simulated GPU."""
    with autolab.cuda.simulate(memory="4MiB"):
        w = autolab.full((3, 2), 0.5, device="cuda", requires_grad=True)
        y = (autolab.ones(4, 3).to("cuda") @ w).sum()
        y.backward()
        autolab.cuda.synchronize()
        with pytest.raises(autolab.OutOfMemoryError):
            autolab.empty(3_000_000, device="cuda")
        return y.item(), w.grad.tolist(), autolab.cuda.memory_allocated()


OF_DEVICES = [
    "_begin",
    "_block",
    "_build",
    "_device",
    "_done",
    "_finish_made",
    "_meet",
    "_scan",
    "_scan_all",
    "_settle",
    "_step",
    "_use",
]


@pytest.mark.parametrize("part", OF_DEVICES)
def test_nor_does_one_of_the_recorder_of_devices(part, lenient, monkeypatch):
    want = on_a_device()
    monkeypatch.setattr(DeviceRecording, part, broken)
    with autolab.record_devices() as recording:
        assert on_a_device() == want
    monkeypatch.undo()
    monkeypatch.setattr(guard, "strict", False)
    trace = recording.trace()
    assert "could not follow" in trace.why and "KeyError: 'a fault" in trace.why
    assert trace.why in str(recording)
    assert DeviceTrace.from_json(trace.to_json()).why == trace.why


@LIBRARIES
def test_an_operation_that_is_not_followed_is_one_node_with_a_sentence(
    library, lenient, monkeypatch
):
    original = recorder.Recorder._parents

    def without_exp(self, operands, *rest):
        if self._builder.nodes and len(operands) == 1:
            broken()
        return original(self, operands, *rest)

    monkeypatch.setattr(recorder.Recorder, "_parents", without_exp)
    x = library.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording:
        y = x * 3
        z = y.exp()
        (z * z).backward(library.ones(2))
    trace = recording.trace()
    (node,) = [n for n in trace.nodes if n.op == "exp"]
    sentence = "could not follow `exp` (KeyError: 'a fault of the recorder')"
    assert sentence in trace.meta["why"] and sentence in recording.text()
    assert node.mark == "not followed" and node.shape == (2,)
    assert any(e.child == node.id for e in trace.edges)
    assert any(e.parent == node.id for e in trace.edges)


@LIBRARIES
def test_a_pass_that_is_not_followed_is_left_out(library, lenient, monkeypatch):
    original, calls = film.Film.contribution, []

    def second_fails(self, *args):
        calls.append(args)
        return broken() if len(calls) == 2 else original(self, *args)

    x = library.tensor(3.0, requires_grad=True)
    monkeypatch.setattr(film.Film, "contribution", second_fails)
    with autolab.record() as recording:
        (x * x).backward()
        (x * x).backward()
    trace = recording.trace()
    assert "could not follow backward pass 1" in trace.meta["why"]
    assert {frame.run for frame in trace.frames if frame.phase == "backward"} == {2}
    assert x.grad.item() == 12
    assert not any("reset" in frame.text for frame in trace.frames)


class Mirrored(torch.autograd.Function):
    """A function that writes into its result through several kinds of views."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        out[:, 1:].copy_(x[:, :-1])
        out.t()[0].fill_(2.0)
        out.view(-1)[::5] *= 3
        return out, out.sum()

    @staticmethod
    def backward(ctx, g, h):
        return g + h


def test_a_custom_function_may_write_into_its_result():
    def program():
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        y, total = Mirrored.apply(x * 1)
        (y.sum() + total).backward()
        return {"y": y, "x": x}

    assert compared(program) == ("alike", [])
    layer = torch.nn.CrossMapLRN2d(3)
    image = torch.arange(12.0).reshape(1, 3, 2, 2)
    assert compared(lambda: {"y": layer(image.requires_grad_())}) == ("alike", [])


def test_vmap_of_backward_passes():
    def program():
        x = torch.arange(1.0, 4.0, requires_grad=True)
        y = (x**3).cumsum(0)
        rows = torch.vmap(lambda v: torch.autograd.grad(y, [x], v, retain_graph=True)[0])(
            torch.eye(3)
        )
        pulled = torch.func.vjp(lambda t: t.sin(), x)[1]
        return {"rows": rows, "pulled": torch.func.vmap(pulled)(torch.eye(3))[0]}

    assert compared(program) == ("alike", [])


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested:UserWarning")
def test_nested_tensors_of_both_kinds():
    def program(layout):
        parts = [torch.ones(2, 3, requires_grad=True), torch.full((4, 3), 2.0, requires_grad=True)]
        nested = torch.nested.as_nested_tensor(parts, layout=layout)
        doubled = nested * 2
        doubled.backward(torch.ones_like(doubled))
        return {"parts": parts}

    for layout in (torch.strided, torch.jagged):
        assert compared(lambda: program(layout)) == ("alike", [])  # noqa: B023 (called at once)


def test_results_that_are_used_again_as_another_operation_s():
    def program():
        a = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
        value, info = torch.linalg.inv_ex(a)
        torch.add(info, 1, out=info)
        return {"c": torch.linalg.cond(a, "nuc"), "d": torch.linalg.cond(a, 1), "i": info * 2}

    assert compared(program) == ("alike", [])


@pytest.mark.parametrize(
    "layer",
    [
        torch.nn.Conv3d(2, 4, (2, 1, 3), groups=2, bias=False),
        torch.nn.ConvTranspose3d(2, 3, 2, stride=2),
        torch.nn.Sequential(torch.nn.Conv3d(2, 2, 1), torch.nn.BatchNorm3d(2), torch.nn.MaxPool3d(2)),
    ],
    ids=["grouped", "transposed", "network"],
)  # fmt: skip
def test_layers_of_volumes_have_no_picture_of_a_kernel(layer):
    x = torch.arange(128.0).reshape(1, 2, 4, 4, 4)
    with autolab.record() as recording:
        layer(x.requires_grad_()).mean().backward()
    autolab.explore(recording)
    autolab.explore(layer(x).sum())
    assert compared(lambda: {"y": layer(x.detach())})[0] == "alike"
    layers = {n.op: n.layer for n in recording.trace().nodes}
    assert layers["convolution"] is None


def test_a_mode_of_the_learner_s_own_sees_what_it_sees_without_a_recording():
    seen = []

    class Told(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def program():
        seen.clear()
        x = torch.ones(2, requires_grad=True)
        with Told():
            (x * 2).clamp(max=1.5).sum().backward()
        return {"seen": list(seen)}

    assert compared(program) == ("alike", [])


@LIBRARIES
@pytest.mark.parametrize("count", [33, 41, 64])
def test_a_tensor_of_many_dimensions_is_explored(library, count):
    x = library.full([1] * count, 0.5, requires_grad=True)
    trace = autolab.trace.trace((x * 4).sum())
    assert trace.node("n0").value.text in (f"{'[' * 33}0.5{']' * 33}", "[...[0.5]...]")
    autolab.explore((x * 4).sum())
    with autolab.record() as recording:
        (x * x).sum().backward()
    autolab.explore(recording)


@LIBRARIES
@pytest.mark.parametrize("error", [ValueError, KeyError, ArithmeticError, AssertionError])
def test_explore_of_a_hook_that_raises_says_so(library, error):
    def hook(gradient):
        raise error("no more")

    x = library.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    why = autolab.explore(y.sum()).trace.meta["why"]
    if library is autolab:  # for PyTorch's graph, hooks do not run in a dry run
        assert why.startswith("No backward pass is shown:") and "no more" in why
    with pytest.raises(error), autolab.record() as recording:
        y.sum().backward()
    autolab.explore(recording)


def test_statistics_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for library in (autolab, torch):
            wild = [float("inf"), float("-inf"), 1e38, -1e38, float("nan")] * 8000
            with autolab.record() as recording:
                library.tensor(wild[:2000]) * 2
                library.tensor(wild) * 2
            recording.text()


NAMES = """
torch.cond torch.vmap torch.autograd.function.Function torch.autograd.functional.hessian torch.func.functionalize
torch.linalg.cond torch.linalg.svd torch.nn.Conv3d torch.nn.CTCLoss torch.nn.CrossMapLRN2d torch.nn.LSTM torch.nn.MultiheadAttention
torch.nested.as_nested_tensor torch.nn.utils.parametrize.cached torch.overrides.redispatch_function torch.optim.LBFGS
torch.quantize_per_channel torch.Tensor.backward torch.Tensor.register_hook torch.sparse.softmax torch.utils.checkpoint.checkpoint
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_s_own_examples_run_as_without_a_recording(name, tmp_path, monkeypatch):
    """Run a sample; all of them: `PYTHONPATH=.:tests/trace python -m torch_docstrings`."""
    monkeypatch.chdir(tmp_path)
    found = docstrings()
    if name in found:
        verdict, said = compared(Docstring(name, found[name]))
        assert verdict != "differs", said
