"""The cause of an error, found from a recording, and from what the error itself still holds."""

import gc
import re
import sys
import warnings
import weakref

import pytest

import autolab as torch
from autolab import nn
from autolab.engine.exact.failing import sentences
from autolab.trace.errors import explanation
from autolab.trace import trace as trace_of


def caught(code, recorded=False):
    recording = torch.record()
    with pytest.raises(Exception) as error:  # noqa: PT011 (any error at all)
        if recorded:
            with recording:
                code()
        else:
            code()
    return error.value


def explained(code, recorded=False):
    """Return (trace, text of the explanation, marks by label)."""
    trace = explanation.of_error(caught(code, recorded))
    said = trace.meta["explanation"]
    assert trace.from_json(trace.to_json()) == trace and 0 <= said["step"] < max(
        1, len(trace.frames)
    )
    return (
        trace,
        " ".join([*said["text"], said["more"]]),
        {n.label: n.mark for n in trace.nodes if n.mark},
    )


# -- operations --------------------------------------------------------------------------------------------------------
def product():
    counts = torch.ones(2, 3, requires_grad=True)
    price = torch.ones(4, dtype=torch.float64)
    logs = counts.log1p()
    torch.mv(logs, price)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_failed_operation_with_its_operands_and_what_they_came_from(recorded):
    trace, text, _ = explained(product, recorded)
    node = trace.node(trace.meta["explanation"]["node"])
    assert (node.op, node.label, trace.frames[trace.meta["explanation"]["step"]].node) == (
        "mv",
        "no result",
        node.id,
    )
    assert {n.label for n in trace.nodes} >= {"counts", "logs", "price"}
    assert (
        "It was given logs: float32 [2, 3] on cpu; price: float64 [4] on cpu. They are of different dtypes."
        in text
    )
    assert "torch.mv(logs, price)" in text and ("autolab.record()" in text) is not recorded


def test_operands_on_two_devices():
    def code():
        here = torch.ones(3, requires_grad=True)
        there = here.detach().to("sim")
        here * there

    _, text, _ = explained(code)
    assert "there: float32 [3] on sim:0. They are on different devices." in text


def test_inside_a_module_the_module_and_the_line_of_its_forward():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(4, 2)

        def forward(self, words):
            return self.table(words)

    head = Head()
    trace, text, _ = explained(lambda: head(torch.tensor([9])))
    node = trace.node(trace.meta["explanation"]["node"])
    assert node.op == "embedding" and "return self.table(words)" in text
    assert {o["dtype"] for o in trace.meta["failures"][node.id]["operands"]} == {"float32", "int64"}


# -- backward passes ---------------------------------------------------------------------------------------------------
def twice():
    w = torch.ones(2, requires_grad=True)
    loss = w.tanh().sum()
    loss.backward()
    loss.backward()


def test_freed_buffers_and_where_they_were_freed():
    trace, text, marks = explained(twice, recorded=True)
    assert (
        "That was backward pass 1 (test_causes.py, line" in text and ": loss.backward())." in text
    )
    assert (
        list(marks.values()) == ["freed before"]
        and trace.node(trace.meta["explanation"]["node"]).op == "tanh"
    )
    assert trace.frames[trace.meta["explanation"]["step"]].run == 2
    trace, text, marks = explained(twice)
    assert "a backward pass before this one freed them" in text and "A recording (" in text
    assert trace.node(trace.meta["explanation"]["node"]).op == "tanh"


def changed():
    w = torch.tensor([0.3, 0.6], requires_grad=True)
    root = w.sqrt()
    total = root.sum()
    root /= 2
    root -= 1
    (total + root.sum()).backward()


def test_the_operation_that_changed_and_the_one_that_saved():
    trace, text, marks = explained(changed, recorded=True)
    assert marks == {"root": "saved here", "root(2)": "changed here", "root(3)": "changed here"}
    ops = {n.label: (n.op, n.source.text) for n in trace.nodes if n.mark}
    assert ops["root(2)"] == ("div_", "root /= 2") and ops["root"] == ("sqrt", "root = w.sqrt()")
    assert "root was changed in place by div_ (test_causes.py, line" in text and "root /= 2" in text
    _, text, marks = explained(changed)
    assert (
        sorted(marks.values()) == ["changed here", "saved here"] and marks["root"] == "changed here"
    )


def test_explore_marks_them_as_far_as_known():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.neg_()
    found = trace_of(y.sum())
    assert {n.label: n.mark for n in found.nodes if n.mark} == {
        "v1": "saved here",
        "y": "changed here",
    }
    assert "changed in place" in found.meta["why"]


def test_changed_memory_of_constants_and_by_an_optimizer():
    def constant():
        w, x = torch.ones(2, requires_grad=True), torch.ones(2)
        y = (w * x).sum()
        x.fill_(7)
        y.backward()

    _, _, marks = explained(constant, recorded=True)
    assert sorted(marks.values()) == ["changed here", "saved here"]


@pytest.mark.parametrize("code", [
    lambda: torch.ones(2, requires_grad=True).mul_(2),
    lambda: torch.ones(2, 2, requires_grad=True)[0].add_(1),
])  # fmt: skip
def test_a_leaf_and_its_views_may_not_be_changed(code):
    trace, text, marks = explained(code, recorded=True)
    assert trace.node(trace.meta["explanation"]["node"]).op in ("mul_", "add_")
    assert list(marks.values()) in ([], ["shares this memory"])


def test_a_view_whose_base_was_changed():
    def code():
        first, second = (torch.ones(4, requires_grad=True) * 2).split(2)
        first._base.mul_(3)
        second.exp()

    trace, _, marks = explained(code, recorded=True)
    assert (
        list(marks.values()) == ["changed here"]
        and trace.node(trace.meta["explanation"]["node"]).op == "exp"
    )


def test_an_operation_in_place_is_called_what_it_is():
    def code():
        leaf = torch.ones(2, requires_grad=True)
        leaf += 1

    trace, text, _ = explained(code)
    assert (
        trace.node(trace.meta["explanation"]["node"]).op == "add_"
        and "add_(leaf, 1) failed" in text
    )


def test_a_tensor_that_grad_was_asked_about_in_vain():
    def code():
        used, idle = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        total = (used * 2).sum()
        torch.autograd.grad(total, [used, idle])

    trace, text, marks = explained(code)
    assert marks == {"idle": "not used"} and trace.frames[-1].phase == "backward"
    assert "the gradient of total with respect to idle, but total was not computed from it" in text
    _, text, _ = explained(code, recorded=True)
    assert "the gradient of total with respect to idle, but" in text


@pytest.mark.parametrize(
    "code",
    [
        twice,
        changed,
        lambda: (torch.ones(2, requires_grad=True) * 2).backward(),
        lambda: torch.ones(()).backward(),
    ],
)
def test_what_went_wrong_in_backward_is_of_that_phase(code):
    trace, *_ = explained(code)
    assert trace.frames[-1].event == "error" and trace.frames[-1].phase == "backward"


def test_not_one_number():
    _, text, _ = explained(lambda: (torch.ones(3, 2, requires_grad=True) * 2).backward())
    assert "has the shape [3, 2]; backward() starts from one number" in text


@pytest.mark.parametrize(("cut", "op"), [
    (lambda w: (w * 2).detach() + 1, "detach"), (lambda w: w > 0, "gt"), (lambda w: (w > 0).float(), "gt"), (lambda w: w.long() * 1.5, "to_copy"),
    (lambda w: w.argmax(), "argmax"),
])  # fmt: skip
def test_what_cut_the_graph(cut, op):
    def code():
        w = torch.ones(3, requires_grad=True)
        loss = cut(w).sum()
        loss.backward()

    trace, text, marks = explained(code, recorded=True)
    assert [(n.op, n.mark) for n in trace.nodes if n.mark] == [
        (op, "the graph is cut here")
    ] and "The graph ends at" in text
    _, text, _ = explained(code)
    assert (
        "loss has no graph behind it" in text
        and "Variables at that line that require grad: w." in text
        and "A recording (" in text
    )


def test_under_no_grad():
    def code():
        w = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            loss = w.sum()
        loss.backward()

    _, text, marks = explained(code, recorded=True)
    assert marks == {"loss": "the graph is cut here"} and ", under no_grad" in text


# -- NaN and inf -------------------------------------------------------------------------------------------------------
def not_a_number():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            x = torch.tensor([0.0, 4.0], requires_grad=True)
            y = (x * x).sqrt()
            y.sum().backward()


def test_the_first_number_that_is_not_finite():
    trace, text, _ = explained(not_a_number, recorded=True)
    assert trace.node(trace.meta["explanation"]["node"]).label == "y"
    assert "In the backward pass y = sqrt(v1) made the first number that is not finite" in text
    _, text, _ = explained(not_a_number)
    assert (
        "x * x gave the first NaN of the backward pass" in text
        and "A recording has the numbers of the backward pass" in text
    )


def test_of_a_recording_and_of_a_result():
    with torch.record() as recording:
        rate = torch.tensor([1.0, 0.0])
        inverse = rate.log()
        inverse * 0
    said = explanation.of_numbers(recording.trace()).meta["explanation"]
    assert (
        recording.trace().node(said["node"]).label == "inverse"
        and "it was given" in said["text"][0]
    )
    sick = torch.tensor([float("inf")])
    with torch.record() as recording:
        sick + 1
    assert (
        "sick was so already"
        in explanation.of_numbers(recording.trace()).meta["explanation"]["text"][0]
    )
    assert (
        explanation.of_numbers(trace_of(torch.ones(2, requires_grad=True) * 2))
        .meta["explanation"]["title"]
        .startswith("Every number")
    )


# -- other errors ------------------------------------------------------------------------------------------------------
def test_an_error_without_tensors_says_so():
    assert explanation.of_error(caught(lambda: {}["rate"])) is None
    assert explanation.in_words(caught(lambda: {}["rate"]))[1][0].startswith(
        "This KeyError is not an error of autolab"
    )
    error = caught(lambda: torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=-3.0))
    assert explanation.of_error(error) is None and explanation.in_words(error)[1][0].startswith(
        "It has to be at least 0"
    )


def test_an_error_of_the_learners_own_with_a_tensor_in_the_line():
    def code():
        ages = torch.ones(3)
        int("x") if ages is None else ages.nonsense

    trace, _, _ = explained(code)
    assert [n.label for n in trace.nodes] == ["ages", "no result"]


def test_the_error_that_was_converted_counts():
    def code():
        try:
            torch.ones(2) @ torch.ones(3)
        except RuntimeError as error:
            raise ValueError("the prices do not fit") from error

    trace, _, _ = explained(code)
    assert trace.meta["explanation"]["title"] == "ValueError: the prices do not fit"
    assert trace.nodes[-1].error.startswith("ValueError") and trace.nodes[-1].op == "matmul"


def test_of_pytorch():
    library = pytest.importorskip("torch")

    def code():
        image = library.ones(1, 2, 4, requires_grad=True)
        kernel = library.ones(3, 1, 2)
        library.conv1d(image.exp(), kernel)

    trace, text, _ = explained(code)
    assert trace.meta["library"] == "torch" and "kernel: float32 [3, 1, 2] on cpu" in text
    assert "conv1d(kernel) failed" in text and "Something else in this line has no name" in text


@pytest.mark.parametrize("whole", [False, True])
def test_who_made_a_value_did_not_change_it(whole):
    def code():
        doubled = torch.tensor([1.0, 2.0], requires_grad=True) * 2
        used = doubled if whole else doubled[0]
        loss = (used * used).sum()
        with torch.no_grad():
            doubled.add_(1)
        loss.backward()

    _, text, marks = explained(code)
    assert (
        "changed here" not in marks.values()
        and "had saved a value for its gradient, and it was changed in place afterwards" in text
    )


# -- nothing is kept ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("recorded", [False, True])
def test_no_tensor_outlives_its_error(recorded):
    alive = []

    def code():
        x = torch.ones(3)
        alive.append(weakref.ref(x))
        x.view(2)

    error = caught(code, recorded)
    trace = explanation.of_error(error)
    del error
    sys.last_value = None
    gc.collect()
    assert alive[0]() is None and trace.nodes


def test_the_message_stays_and_the_note_is_one():
    error = caught(twice)
    assert str(error).startswith(
        "Trying to backward through the graph a second time (or directly access saved tensors"
    )
    assert [n for n in error.__notes__ if n not in sentences(error)] == [
        "torch.explain() shows where."
    ]
    assert re.fullmatch(r"\w+\.explain\(\) shows where\.", error.__notes__[-1])


def test_a_backward_pass_of_pytorch_failed_at_what_it_began_with():
    library = pytest.importorskip("torch")

    def freed():
        w = library.ones(3, requires_grad=True)
        area = (w.exp() * w).sum()
        area.backward()
        area.backward()

    def stale():
        w = library.ones(3, requires_grad=True)
        wave = w.exp()
        wave += 1
        total = wave.sum()
        total.backward()

    def many():
        w = library.ones(3, 2, requires_grad=True)
        (w * 2).backward()

    for code, root, said in (
        (
            freed,
            "area",
            "The graph behind area had saved values for its gradient, and they are gone",
        ),
        (
            stale,
            "total",
            "The graph behind total had saved a value for its gradient, and it was changed in place",
        ),
        (many, "v1", "v1 has the shape [3, 2]; backward() starts from one number."),
    ):
        trace, text, _ = explained(code)
        assert said in text and "no result" not in text and trace.frames[-1].phase == "backward"
        assert trace.node(trace.meta["explanation"]["node"]).label == root
