"""Typical user programs: recorded, they compute the same as without recording, and the trace is true."""

import warnings

import pytest

import autolab

torch = pytest.importorskip("torch")


def recorded(program):
    with autolab.record() as recording:
        program()
    return recording


def test_complex_numbers_are_told_in_words(tmp_path):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * (1 + 2j)
    trace = autolab.trace.trace(y.abs().sum())
    told = {n.label: n.value for n in trace.nodes}
    assert told["y"].text == "[1+2j, 2+4j]" and told["y"].data is None
    assert told["1+2j"].dtype == "complex128"
    # the rule of mul is written for real numbers; for complex numbers, PyTorch takes the conjugate
    assert [bool(e.tex) for e in trace.edges if e.differentiable] == [False, False, True]
    autolab.viz.make_dot(y.abs().sum())
    explorer = autolab.explore(y)
    explorer.to_html(str(tmp_path / "page.html"))
    assert "1+2j, 2+4j" in (tmp_path / "page.html").read_text()


def test_a_pass_over_complex_numbers_is_rehearsed_where_there_is_one():
    def why(loss):
        y = torch.tensor([1.0, 2.0], requires_grad=True) * 2j
        return autolab.trace.trace(loss(y)).meta["why"]

    assert why(lambda y: y.abs().sum()).startswith("Rehearsed")
    assert "backward() starts from a real one" in why(lambda y: y.sum())


def test_a_pass_over_nested_tensors_is_rehearsed():
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
    layer = torch.nn.Linear(3, 2)
    trace = autolab.trace.trace(layer(x).to_padded_tensor(0.0).sum())
    assert [f.text for f in trace.frames if ".grad would become [3, 3]" in f.text]


def test_a_spectrum_is_recorded():
    x = torch.randn(4, 40, requires_grad=True)
    w = torch.randn(4, 21, dtype=torch.complex64, requires_grad=True)

    def program():
        torch.fft.irfft(torch.fft.rfft(x) * w).pow(2).sum().backward()

    program()
    want, x.grad, w.grad = (x.grad, w.grad), None, None
    trace = recorded(program).trace()
    assert all(map(torch.equal, want, (x.grad, w.grad)))
    assert [n.op for n in trace.nodes if n.kind == "op"] == [
        "fft_r2c",
        "mul",
        "fft_c2r",
        "pow",
        "sum",
    ]
    assert trace.nodes[0].grad.stats is not None
    product = next(n for n in trace.nodes if n.op == "mul")
    assert product.value.text == "complex64[4, 21]" and product.value.sample is None
    autolab.explore(trace)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_model_is_traced_by_jit_in_the_block():
    model, x = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()), torch.ones(1, 2)
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        recording = recorded(
            lambda: made.append(torch.jit.trace(model, x)) or made[0](x).sum().backward()
        )
    assert torch.equal(made[0](x), model(x)) and torch.equal(made[0](x + 1), model(x + 1))
    assert [n.op for n in recording.trace().nodes if n.kind == "op"][-4:] == [
        "t",
        "addmm",
        "relu",
        "sum",
    ]
    assert [n.op for n in recording.trace().nodes if n.kind == "op"][:3] == [
        "t",
        "addmm",
        "relu",
    ] and recording.trace().nodes[0].label == "0.weight"
    assert "aten::numel" not in str(made[0].inlined_graph)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_torchscript_puts_together_is_one_operation():
    model, x = (
        torch.jit.script(
            torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        ),
        torch.ones(1, 2),
    )
    for _ in range(3):
        model(x)
    with pytest.warns(UserWarning, match="TorchScript has put several operations together"):
        trace = recorded(lambda: model(x).sum().backward()).trace()
    assert not any(
        "[" in n.call for n in trace.nodes if n.op == "addmm"
    ) and "not depend" not in str(trace)
    assert {n.label: n.grad is not None for n in trace.nodes if n.kind == "leaf"} == dict.fromkeys(
        ["0.weight", "0.bias", "2.weight", "2.bias"], True
    )


def test_gradients_in_a_batch_are_said_not_to_be_recorded():
    w = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        recording = recorded(
            lambda: torch.autograd.grad(w * w, w, torch.eye(2), is_grads_batched=True)
        )
    assert ["is_grads_batched=True" in str(t.message) for t in told] == [True]
    assert "No backward pass was recorded." in recording.text()


def sparse_embedding():
    embedding = torch.nn.Embedding(10, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(embedding.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        embedding(torch.tensor([1, 2, 2])).pow(2).sum().backward()
        optimizer.step()
    return [embedding.weight, embedding.weight.grad.to_dense()]


def adafactor():
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adafactor(layer.parameters())
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return [layer.weight]


def inference():
    layer = torch.nn.Linear(2, 2)
    with torch.inference_mode():
        y = layer(torch.ones(1, 2))
        y.add_(1)
    layer(torch.ones(1, 2)).sum().backward()
    return [y, layer.weight.grad]


def eight_bits():
    x = torch.ones(70, requires_grad=True)
    (x.to(torch.float8_e4m3fn).float() * x).sum().backward()
    return [x.grad, torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).dequantize()]


def nested_tensors():
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
    layer = torch.nn.Linear(3, 2)
    layer(x).to_padded_tensor(0.0).sum().backward()
    return [layer.weight.grad]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def freed_function():
    x = torch.ones(2, requires_grad=True)
    y = Square.apply(x)
    y.sum().backward()
    z = Square.apply(y.detach() * x)
    z.sum().backward()
    return [x.grad, y]


USERS = [sparse_embedding, adafactor, inference, eight_bits, nested_tensors, freed_function]


@pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors", "ignore:.*torch.ao.quantization", "ignore:.*quant"
)
@pytest.mark.parametrize("program", USERS, ids=lambda p: p.__name__)
def test_a_program_computes_what_it_computes_unwatched(program):
    torch.manual_seed(0)
    want = program()
    torch.manual_seed(0)
    with autolab.record() as recording:
        found = program()
    assert all(map(torch.equal, want, found))
    assert "a hook changed" not in recording.text()
    autolab.explore(recording)


def test_what_a_custom_function_saved_and_freed_is_not_asked_for():
    y = Square.apply(torch.ones(2, requires_grad=True)).sum()
    y.backward()
    with autolab.record():
        Square.apply(y * 2)
    trace = autolab.trace.trace(y)
    assert "freed" in trace.meta["why"], trace.meta


@pytest.mark.parametrize("library", [autolab, torch], ids=["autolab", "torch"])
def test_what_a_custom_function_changed_in_place_is_one_node(library):
    class Doubled(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with autolab.record() as recording:
        x = library.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        Doubled.apply(y)
        y.sum().backward()
    trace = recording.trace()
    assert [(n.label, n.call) for n in trace.nodes if n.kind == "op"] == [
        ("y", "x * 3"),
        ("y(2)", "doubled(y)"),
        ("v1", "sum(y(2))"),
    ]
    assert "No gradient" not in recording.text() and x.grad.tolist() == [6, 6]


@pytest.mark.parametrize("library", [autolab, torch], ids=["autolab", "torch"])
def test_what_is_frozen_in_the_block_is_said_to_have_been(library):
    with autolab.record() as recording:
        w, b = (library.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        (w * b).sum().backward()
        w.requires_grad_(False)
        w.grad = b.grad = None
        (w.exp() * b).sum().backward()
    assert (
        "in backward 2: its way to v5 is cut at v3: what leads there did not require grad then"
        in recording.text()
    )


@pytest.mark.parametrize("library", [autolab, torch], ids=["autolab", "torch"])
def test_what_was_detached_in_place_cuts_the_way(library):
    with autolab.record() as recording:
        x = library.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.detach_()
        (x * y).sum().backward()
    assert (
        "its way to v2 is cut at v1: what leads there did not require grad then" in recording.text()
    )


@pytest.mark.parametrize("library", [autolab, torch], ids=["autolab", "torch"])
def test_a_backward_pass_that_is_interrupted_has_ended(library):
    class Interrupted(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyboardInterrupt

    w = library.ones(2, requires_grad=True)
    with autolab.record() as recording:
        with pytest.raises(KeyboardInterrupt):
            Interrupted.apply(w * 3).sum().backward()
        (w * 5).sum().backward()
    assert [p.run for p in recording.trace().passes] == [1, 2]
    text = recording.text()
    assert "error at v2: KeyboardInterrupt\n" in text and text.count("w.grad is now [5, 5]") == 1
    assert not getattr(
        w, "_post_accumulate_grad_hooks", None
    )  # what was left there would hold the recording


def test_an_error_of_an_operation_that_autolab_has_not_is_the_learners():
    scores = torch.ones(2, 3, requires_grad=True)
    recording = autolab.record()
    with pytest.raises(IndexError, match="Target 5") as raised, recording:
        torch.nn.functional.cross_entropy(scores, torch.tensor([1, 5]))
    text = autolab.explain(raised.value).text
    assert "nll_loss_forward(v1, c1) failed" in text and "different dtypes" not in text


def test_a_custom_function_that_failed_has_no_result():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("what is wrong" if (x * 2).sum() else "")

    with autolab.record() as recording:
        x = torch.ones(2, requires_grad=True)
        y = x * 3
        with pytest.raises(ValueError, match="what is wrong"):
            Fails.apply(y)
        y.sum().backward()
    assert [n.op for n in recording.trace().nodes if n.kind == "op"] == ["mul", "sum"]


def counted_operations():
    from torch.utils.flop_counter import FlopCounterMode

    x = torch.ones(3, requires_grad=True)
    with FlopCounterMode(display=False):
        (x * 2 + 1).sum().backward()
    return [x.grad]


def quantized_layer():
    torch.manual_seed(1)
    layer = torch.ao.quantization.quantize_dynamic(
        torch.nn.Sequential(torch.nn.Linear(4, 2)), {torch.nn.Linear}, dtype=torch.qint8
    )
    return [layer(torch.ones(2, 4))]


def higher_order():
    x = torch.ones(3, requires_grad=True)
    return [
        torch.cond(x.sum() > 1, torch.sin, torch.cos, (x,)),
        torch.cond(x.sum() > 5, torch.sin, torch.cos, (x.detach(),)),
    ]


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:a recording runs what torch.compile made"
)
@pytest.mark.parametrize(
    "program", [counted_operations, quantized_layer, higher_order], ids=lambda p: p.__name__
)
def test_what_pytorch_does_beside_plain_operations_is_no_error(program):
    want = program()
    with warnings.catch_warnings(record=True) as told, autolab.record() as recording:
        warnings.simplefilter("always")
        found = program()
    assert all(map(torch.equal, want, found))
    assert any("torch.cond, while_loop" in str(t.message) for t in told) == (
        program is higher_order
    )
    autolab.explore(recording)
    if program is counted_operations:
        assert [n.value.text for n in recording.trace().nodes if n.kind == "data"] == ["2", "1"]
