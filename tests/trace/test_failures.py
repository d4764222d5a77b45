"""Failed operations in a recording: the operation, all its operands, the line, the error message."""

import gc
import weakref
from pathlib import Path

import pytest

import autolab as torch
from autolab import nn
from autolab.engine.core import observe
from autolab.trace.layers.folding import Folding


def recorded(code):
    """Return the trace of a function, and the error that ended it."""
    recording = torch.record()
    with pytest.raises(Exception) as caught, recording:  # noqa: PT011 (any error at all)
        code()
    return recording.trace(), caught.value


def failure(code):
    """Return (trace, the failed node, its entry in `failures`) of a function that fails."""
    trace, error = recorded(code)
    node = trace.node(trace.meta["error"]["node"])
    assert node.error and trace.frames[-1].event == "error" and trace.frames[-1].node == node.id
    facts = trace.meta["failures"][node.id]
    assert facts["message"] == str(error) and facts["type"] == type(error).__name__
    assert trace.from_json(trace.to_json()) == trace
    return trace, node, facts


def operands(facts):
    return [(o["name"], o["shape"], o["dtype"], o["device"]) for o in facts["operands"]]


def test_the_failed_operation_is_drawn_with_both_operands():
    def code():
        scores = torch.ones(3, 4, requires_grad=True)
        mask = torch.zeros(2, 5)
        scores.sigmoid() * mask

    trace, node, facts = failure(code)
    assert (node.op, node.label, node.call, node.shape) == ("mul", "no result", "v1 * mask", None)
    assert operands(facts) == [
        ("self", (3, 4), "float32", "cpu"),
        ("other", (2, 5), "float32", "cpu"),
    ]
    assert {trace.node(e.parent).label for e in trace.edges if e.child == node.id} == {"v1", "mask"}
    assert node.source.text == "scores.sigmoid() * mask"
    assert trace.frames[-1].text == "v1 * mask failed: " + node.error
    assert node.error.startswith(
        "RuntimeError: The size of tensor a (4) must match the size of tensor b (5)"
    )
    assert "v1 * mask" in str(trace) and "failed" in str(trace)


@pytest.mark.parametrize(
    ("code", "op", "call", "found"),
    [
        (lambda: torch.cat([torch.ones(2, 3), torch.ones(2, 3).double(), torch.ones(3, 4)]), "cat", "cat(c2, v1, c3, dim=0)",
         [("tensors[0]", (2, 3), "float32", "cpu"), ("tensors[1]", (2, 3), "float64", "cpu"), ("tensors[2]", (3, 4), "float32", "cpu")]),
        (lambda: torch.ones(4).softmax(dim=2), "softmax", "softmax(c1, dim=2)", [("self", (4,), "float32", "cpu")]),
        (lambda: torch.ones(4, 2).sum(dim=5), "sum", "sum(c1, dim=5)", [("self", (4, 2), "float32", "cpu")]),
        (lambda: torch.ones(2, 3).view(4, 2), "view", "view(c1, size=[4, 2])", [("self", (2, 3), "float32", "cpu")]),
        (lambda: torch.mm(torch.ones(2, 3), torch.ones(3, 2).double()), "mm", "c2 @ v1",
         [("input", (2, 3), "float32", "cpu"), ("mat2", (3, 2), "float64", "cpu")]),
        (lambda: torch.ones(3).sub_(torch.ones(2, 3)), "sub_", "sub_(c1, c2)",
         [("self", (3,), "float32", "cpu"), ("other", (2, 3), "float32", "cpu")]),
        (lambda: torch.ones(3, dtype=torch.int64).log_(), "log_", "log_(c1)", [("self", (3,), "int64", "cpu")]),
        (lambda: torch.ones(3, requires_grad=True).mul_(2), "mul_", "mul_(leaf1, 2)",
         [("self", (3,), "float32", "cpu"), ("other", (), "int", "")]),
        (lambda: torch.stack([torch.ones(3).to("sim"), torch.ones(3)]), "stack", "stack(v1, c2)",
         [("tensors[0]", (3,), "float32", "sim:0"), ("tensors[1]", (3,), "float32", "cpu")]),
        (lambda: torch.ones(3, 3).matmul("abc"), "matmul", None, [("self", (3, 3), "float32", "cpu")]),
        (lambda: torch.ones(3).index_select(0, torch.tensor([7])), "index_select", None,
         [("self", (3,), "float32", "cpu"), ("index", (1,), "int64", "cpu")]),
    ],
)  # fmt: skip
def test_operations_of_every_kind(code, op, call, found):
    _, node, facts = failure(code)
    assert node.op == op and (call is None or node.call == call)
    assert operands(facts) == found


def test_a_module_that_fails_is_named_and_the_learners_line_shown():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 3), nn.Linear(2, 1)

        def forward(self, x):
            hidden = self.first(x).relu()
            return self.second(hidden)

    model = Encoder()
    trace, node, facts = failure(lambda: model(torch.ones(5, 4)))
    assert (node.op, node.module, node.source.text) == (
        "linear",
        "second",
        "return self.second(hidden)",
    )
    assert [trace.node(o["node"]).label for o in facts["operands"]] == [
        "hidden",
        "second.weight",
        "second.bias",
    ]
    group = next(g for g in trace.groups if g.path == "second")
    assert node.id in group.nodes
    folding = Folding(trace)
    assert folding.opening(node.id)[-1] in folding.parts


def test_a_custom_function_fails_as_one_operation_and_says_where_inside():
    class Shift(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            y = x * 2
            return y + torch.ones(by)

    trace, node, facts = failure(lambda: Shift.apply(torch.ones(3, requires_grad=True), 4))
    assert (node.op, [n.op for n in trace.nodes]) == ("shift", ["", "shift"])
    assert (
        facts["inside"]["text"] == "return y + torch.ones(by)" and "Shift.apply" in node.source.text
    )

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("a sum of money is never negative")

    _, node, facts = failure(lambda: Own.apply(torch.ones(3)))
    assert facts["message"] == "a sum of money is never negative" and facts["inside"][
        "text"
    ].startswith("raise ValueError")


def test_an_error_that_is_caught_is_kept_and_the_program_goes_on():
    with torch.record() as recording:
        table = torch.arange(6.0).view(2, 3)
        for dim in (1, 2):
            try:
                total = table.sum(dim=dim)
            except IndexError:
                total = table.sum()
        total * 2
    trace = recording.trace()
    assert [n.call for n in trace.nodes if n.error] == ["sum(table, dim=2)"] and trace.meta[
        "error"
    ] is None
    assert trace.nodes[-1].call == "total(2) * 2"


def test_an_error_that_the_package_catches_is_none_of_the_learners():
    class Peek(observe.Observer):
        seen = 0

        def failed(self, *args):
            self.seen += 1

    names = {"Refused": RuntimeError}
    text = "def tried(code):\n    try:\n        code()\n    except Refused:\n        pass\n"
    exec(compile(text, str(Path(torch.__file__).with_name("trying.py")), "exec"), names)
    with torch.record() as recording, observe.watching(Peek()) as peek:
        names["tried"](lambda: torch.ones(2, 3) @ torch.ones(2, 3))
        torch.ones(6) + 1
    assert peek.seen
    assert (
        not any(n.error for n in recording.trace().nodes)
        and "failures" not in recording.trace().meta
    )
    assert not any(f.event == "error" for f in recording.trace().frames)


def test_the_learners_own_error_blames_no_operation():
    def code():
        x = torch.ones(2)
        x * 3
        {}["learning_rate"]

    trace, _ = recorded(code)
    assert trace.meta["error"]["node"] == "" and trace.frames[-1].node == ""
    assert trace.frames[-1].text == "error: KeyError: 'learning_rate'"
    assert trace.meta["error"]["source"]["text"] == '{}["learning_rate"]'


def test_arguments_that_python_refuses_are_shown_with_the_tensors_in_the_line():
    def code():
        x = torch.ones(2)
        x.prod(axes=1)

    _, node, facts = failure(code)
    assert (node.op, operands(facts)) == ("prod", [("self", (2,), "float32", "cpu")])


def test_backward_that_cannot_begin_fails_at_its_root():
    def code():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.backward()

    trace, _ = recorded(code)
    root = trace.node(trace.meta["error"]["node"])
    assert (root.op, root.error, trace.frames[-1].node) == ("mul", "", root.id)


def test_a_convolution_that_fails_keeps_no_pictures():
    _, node, facts = failure(
        lambda: nn.functional.conv2d(torch.ones(1, 2, 5, 5), torch.ones(4, 3, 3, 3))
    )
    assert node.layer is None and [o["name"] for o in facts["operands"]] == ["input", "weight"]


# -- the note that names explain() -------------------------------------------------------------------------------------
def test_an_error_about_tensors_names_explain_once_under_the_name_of_the_library():
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert str(caught.value) == "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"
    assert caught.value.__notes__[1:] == ["torch.explain() shows where."]
    names = {}
    exec(
        compile(
            "import autolab\nx = autolab.ones(2, requires_grad=True)\ndef fail():\n    x.exp().backward()",
            "cell",
            "exec",
        ),
        names,
    )
    with pytest.raises(RuntimeError) as caught:
        names["fail"]()
    assert caught.value.__notes__[-1] == "autolab.explain() shows where."


@pytest.mark.parametrize(
    "code",
    [
        lambda: torch.optim.SGD([torch.ones(2)], lr=-1.0),
        lambda: torch.zeros(-1),
        lambda: torch.device("toaster"),
    ],
)
def test_an_error_about_no_operation_does_not_name_explain(code):
    with pytest.raises((ValueError, RuntimeError)) as caught:
        code()
    assert not any("explain" in note for note in getattr(caught.value, "__notes__", ()))


def test_an_error_keeps_its_operands_as_long_as_it_lives_and_no_longer():
    x = torch.ones(3)
    seen = weakref.ref(x)
    try:
        x.view(2)
    except RuntimeError as error:
        kept = error
    kept.__traceback__ = None
    del x
    gc.collect()
    assert seen() is not None
    del kept
    gc.collect()
    assert seen() is None
