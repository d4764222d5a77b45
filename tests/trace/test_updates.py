"""Recorded changes of leaves and their gradients between passes."""

import math
import re

import pytest

import autolab as torch
from autolab.engine.core import observe

OPTIMIZERS = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.02}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "dampening": 0.3, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.05}),
]
PYTHON = {"sqrt": math.sqrt}


def updates(trace):
    return [node for node in trace.nodes if node.kind == "update"]


def told(trace):
    return [frame.text for frame in trace.frames if frame.phase == "update"]


@pytest.mark.parametrize(("name", "settings"), OPTIMIZERS)
def test_the_arithmetic_of_a_step_is_true_to_the_digits_shown(name, settings):
    w = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([w], **settings)
    became = []
    with torch.record() as recording:
        for _ in range(8):
            ((w * 2 - 5) ** 2).backward()
            optimizer.step()
            became.append(w.item())
            optimizer.zero_grad()
    steps = updates(recording.trace())
    assert len(steps) == 8 and all(step.update["lines"] for step in steps)
    for step, value in zip(steps, became):
        for line in step.update["lines"]:
            left, sign, right = (
                line["numbers"].rpartition(" = ")
                if " ≈ " not in line["numbers"]
                else line["numbers"].rpartition(" ≈ ")
            )
            worked = eval(left, PYTHON) if left else float(right)  # the value of the shown numbers
            near = (
                {"rel_tol": 1e-3, "abs_tol": 1e-6}
                if "≈" in (sign.strip() or line["sign"])
                else {"rel_tol": 1e-11}
            )
            assert math.isclose(worked, float(right), **near), line["numbers"]
        assert step.update["lines"][-1]["text"].startswith("w = ")
        assert f"{value:.6g}" == right  # the last line's result is the parameter


@pytest.mark.parametrize(
    ("name", "settings"), [("RMSprop", {}), ("Adagrad", {}), ("Adam", {"amsgrad": True})]
)
def test_a_method_that_no_lesson_has_says_how_far_it_moves(name, settings):
    w = torch.tensor(1.5, requires_grad=True)
    optimizer = getattr(torch.optim, name)([w], lr=0.1, **settings)
    with torch.record() as recording:
        (w * 2).backward()
        optimizer.step()
    (step,) = updates(recording.trace())
    assert step.update["lines"] == [] and step.update["settings"]["lr"] == 0.1
    assert told(recording.trace())[-1] == (
        f"optimizer.step(): {name} changes w {step.update['change']}"
    )
    assert step.update["change"].startswith("from 1.5 to ")


def test_a_step_of_sgd_reads_as_in_a_lesson():
    v = torch.tensor(4.0, requires_grad=True)
    descent = torch.optim.SGD([v], lr=0.25)
    with torch.record() as recording:
        (v * 3).backward()
        descent.step()
        descent.zero_grad()
    trace = recording.trace()
    assert told(trace) == [
        "descent.step(): v = v - lr * v.grad = 4 - 0.25 * 3 = 3.25",
        "descent.zero_grad(): v(2).grad was set to None",
    ]
    step, after = trace.nodes[-2:]
    assert (step.kind, step.label, step.op, after.label, after.kind) == (
        "update",
        "step of v",
        "SGD",
        "v(2)",
        "leaf",
    )
    joined = [(e.parent, e.child, e.differentiable) for e in trace.edges if e.update]
    assert joined == [(trace.nodes[0].id, step.id, False), (step.id, after.id, False)]
    assert [trace.states(i)[after.id] for i in range(-1, len(trace.frames))][-3:] == [
        "none",
        "accumulated",
        "none",
    ]
    assert (
        trace.states(len(trace.frames) - 1)[trace.nodes[0].id] == "accumulated"
    )  # the value found at v = 4


def test_rounding_is_admitted():
    third = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([third], lr=1 / 3, momentum=1 / 7)
    with torch.record() as recording:
        for _ in range(4):
            (third**2 / 7).backward()
            optimizer.step()
    signs = [
        "≈" in line["numbers"]
        for step in updates(recording.trace())
        for line in step.update["lines"]
    ]
    assert any(signs) and not all(signs)


def test_what_stands_for_a_number_with_more_digits_is_not_equal_to_it():
    weight = torch.tensor(1.0, requires_grad=True)
    descent = torch.optim.SGD([weight], lr=0.5, momentum=0.5)
    with torch.record() as recording:
        (weight / 3).backward()
        descent.step()
        descent.step()
    assert told(recording.trace()) == [
        "descent.step(): b = weight.grad ≈ 0.333333, weight = weight - lr * b ≈ 1 - 0.5 * 0.333333 ≈ 0.833333",
        "descent.step(): b = momentum * b + weight.grad ≈ 0.5 * 0.333333 + 0.333333 ≈ 0.5, "
        "weight = weight - lr * b ≈ 0.833333 - 0.5 * 0.5 ≈ 0.583333",
    ]


def test_no_number_moves_by_more_than_is_said():
    w = torch.linspace(0.0, 1.0, 30).requires_grad_()
    optimizer = torch.optim.SGD([w], lr=0.0123449)
    with torch.record() as recording:
        w.sum().backward()
        optimizer.step()
    assert told(recording.trace())[0].endswith("; no number moves by more than 0.0124")


def test_every_parameter_of_a_step_has_its_update_and_its_groups_rate():
    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    unused = torch.tensor(5.0, requires_grad=True)
    optimizer = torch.optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b, unused]}], lr=0.1)
    with torch.record() as recording:
        (a.sum() * b).backward()
        optimizer.step()
    trace = recording.trace()
    assert [(step.update["name"], step.update["settings"]["lr"]) for step in updates(trace)] == [
        ("a", 0.5),
        ("b", 0.1),
    ]
    assert told(trace) == [
        "optimizer.step(): a = a - lr * a.grad, lr = 0.5; from [1, 2] to [-0.5, 0.5]",
        "optimizer.step(): b = b - lr * b.grad = 3 - 0.1 * 3 = 2.7",
    ]
    (group,) = trace.groups
    assert (group.kind, group.label, group.type) == ("step", "optimizer.step()", "SGD")
    assert group.nodes == tuple(step.id for step in updates(trace))


def test_what_lbfgs_computes_is_its_own_affair():
    x = torch.tensor(3.0, requires_grad=True)
    newton = torch.optim.LBFGS([x], lr=0.5, max_iter=2, max_eval=9)

    def closure():
        newton.zero_grad()
        loss = (x - 1) ** 2
        loss.backward()
        return loss

    with torch.record() as recording:
        newton.step(closure)
    trace = recording.trace()
    assert {node.op for node in trace.nodes if node.kind == "op"} == {"sub", "pow"}
    moves = [text for text in told(trace) if "LBFGS" in text]
    assert moves == [
        "newton.step(): LBFGS changes x from 3 to 2.5",
        "newton.step(): LBFGS changes x from 2.5 to 1.75",
    ]
    assert x.item() == 1.75
    assert (
        trace.groups[-1].nodes == tuple(step.id for step in updates(trace))
        and len(updates(trace)) == 2
    )


def test_a_learners_own_optimizer_is_shown_by_its_operations():
    class Signs(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.sub_(parameter.grad.sign())

    w = torch.tensor(2.0, requires_grad=True)
    signs = Signs([w])
    with torch.record() as recording:
        (w * w).backward()
        signs.step()
    assert told(recording.trace()) == ["in place: w = w - v2 = 2 - 1 = 1"]


class Halved(torch.optim.SGD):
    def _with_momentum(self, group, parameter, grad):
        return grad * 0.5


def test_nothing_is_claimed_of_a_method_that_was_changed():
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = Halved([w], lr=0.1, momentum=0.9)
    with torch.record() as recording:
        (w * w).backward()
        optimizer.step()
    assert told(recording.trace()) == ["optimizer.step(): Halved changes w from 2 to 1.8"]


IN_PLACE = {
    "w.sub_(v)": "in place: w = w - v = 2 - 0.5 = 1.5",
    "w.add_(v, alpha=4)": "in place: w = w + v3 = 2 + 2 = 4",
    "w.mul_(v)": "in place: w = w * v = 2 * 0.5 = 1",
    "w.copy_(v)": "in place: copy_ changes w from 2 to 0.5",
    "w.zero_()": "in place: zero_ changes w from 2 to 0",
    "w.data.sub_(1)": "in place: w = w - 1 = 2 - 1 = 1",
    "w.detach().div_(4)": "in place: w = w / 4 = 2 / 4 = 0.5",
    "torch.nn.init.constant_(w, 7.0)": "in place: fill_ changes w from 2 to 7",
    "u[1] = 9": "in place: fill_ changes u from [1, 3] to [1, 9]",
    "u.data[0] = 9": "in place: fill_ changes u from [1, 3] to [9, 3]",
    "w.data = v * 8": "in place: set_data changes w from 2 to 4",
}


@pytest.mark.parametrize("line", IN_PLACE)
def test_a_change_in_place_joins_the_tensor_to_what_it_was(line):
    w, u = torch.tensor(2.0, requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    v = torch.tensor(0.5)
    with torch.record() as recording:
        (w * u).sum().backward()
        with torch.no_grad():
            exec(line, {"torch": torch, "w": w, "u": u, "v": v})
        (w * u).sum().backward()
    trace = recording.trace()
    assert told(trace) == [IN_PLACE[line]]
    (edge,) = [e for e in trace.edges if e.update]
    before, after = trace.node(edge.parent), trace.node(edge.child)
    assert (before.kind, after.kind) == ("leaf", "leaf") and after.label == f"{before.label}(2)"
    again = [e for e in trace.edges if e.parent == after.id and e.differentiable]
    assert again  # the second pass used the changed tensor, and its gradient goes to it
    assert after.grad is not None and trace.states(len(trace.frames) - 1)[after.id] == "accumulated"


@pytest.mark.parametrize(
    ("line", "text", "state"),
    [
        ("w.grad = None", "w.grad was set to None", "none"),
        ("del w.grad", "w.grad was set to None", "none"),
        ("w.grad.zero_()", "w.grad was zeroed, not by backward", "zero"),
        ("w.grad = v", "w.grad was changed to 0.5, not by backward", "accumulated"),
        ("w.grad.mul_(2)", "w.grad was changed to 8, not by backward", "accumulated"),
        ("opt.zero_grad()", "opt.zero_grad(): w.grad was set to None", "none"),
        ("opt.zero_grad(set_to_none=False)", "opt.zero_grad(): w.grad was zeroed", "zero"),
    ],
)
def test_a_reset_is_told_when_it_happens(line, text, state):
    w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(0.5)
    opt = torch.optim.SGD([w], lr=0.1)
    with torch.record() as recording:
        (w * w).backward()
        exec(line, {"w": w, "v": v, "opt": opt})
        w * 3
    trace = recording.trace()
    at = next(i for i, frame in enumerate(trace.frames) if frame.event == "clear")
    assert trace.frames[at].text == text and trace.frames[at + 1 :][-1].event == "compute"
    assert trace.states(at)[trace.nodes[0].id] == state


def test_a_models_zero_grad_is_named_too():
    class Trainer:
        def __init__(self):
            self.net = torch.nn.Linear(1, 1, bias=False)

        def run(self):
            self.net(torch.ones(1, 1)).sum().backward()
            self.net.zero_grad()

    trainer = Trainer()
    with torch.record() as recording:
        trainer.run()
    assert told(recording.trace()) == ["self.net.zero_grad(): weight.grad was set to None"]


def test_an_older_value_is_not_called_detached():
    w = torch.tensor(2.0, requires_grad=True)
    with torch.record() as recording:
        y = w * 3
        y.backward(retain_graph=True)
        w.grad = None
        with torch.no_grad():
            w -= 1
        (w * 5).backward()
    trace = recording.trace()
    first, last = trace.nodes[0].id, len(trace.frames) - 1
    assert trace.states(last)[first] == "never"
    assert (
        trace.why_never(first, last)
        == "it was changed since, and no gradient flows back through an update"
    )


def test_an_error_in_a_closure_ends_the_step():
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def closure():
        raise ZeroDivisionError("no loss today")

    with torch.record() as recording:
        with pytest.raises(ZeroDivisionError):
            optimizer.step(closure)
        (w * w).backward()
        optimizer.step()
    assert (
        told(recording.trace())[-1] == "optimizer.step(): w = w - lr * w.grad = 2 - 0.1 * 4 = 1.6"
    )


def test_a_step_gives_the_same_numbers_whether_it_is_watched_or_not():
    class Watcher(observe.Observer):
        def __init__(self):
            self.seen = []

        def step(self, optimizer, over):
            self.seen.append(("step", over))

        def update(self, optimizer, group, parameter, over):
            self.seen.append((group["lr"], parameter.item(), over))

    results = []
    for watched in (False, True):
        w = torch.tensor(1.0, requires_grad=True)
        optimizer = torch.optim.Adam([w], lr=0.5)
        (w * 3).backward()
        watcher = Watcher()
        if watched:
            with observe.watching(watcher):
                optimizer.step()
        else:
            optimizer.step()
        results.append(w.item())
    assert results[0] == results[1]
    assert watcher.seen == [
        ("step", False),
        (0.5, 1.0, False),
        (0.5, results[0], True),
        ("step", True),
    ]


def test_the_text_has_all_lines_and_json_keeps_them():
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.5)
    with torch.record() as recording:
        (w * 3).backward()
        optimizer.step()
    trace = recording.trace()
    text = str(recording)
    assert re.search(
        r"Optimizer steps\n  optimizer\.step\(\)  Adam  m = beta1 \* m \+ \(1 - beta1\) \* w\.grad = 0\.9 \* 0 \+ ",
        text,
    )
    assert type(trace).from_json(trace.to_json()) == trace


def test_both_sides_of_a_change_in_place_send_to_one_gradient():
    with torch.record() as recording:
        w = torch.tensor(2.0, requires_grad=True)
        before = w * 3
        with torch.no_grad():
            w -= 0.5
        after = w * 2
        (before + after).backward()
    texts = [frame.text for frame in recording.trace().frames if frame.phase == "backward"]
    assert "before sends 3 to w (contribution 2 of 2, so far 5)" in texts
    assert "w.grad is now 5" in texts and not any("hook" in text for text in texts)


def test_no_formula_has_the_number_from_before_a_change_through_numpy():
    with torch.record() as recording:
        w = torch.tensor([2.0, 3.0], requires_grad=True)
        first = w * w
        w.detach().numpy()[1] = 9
        second = w * w
        second.sum().backward()
    trace = recording.trace()
    made = {node.name: node for node in trace.nodes}
    assert first is not second and made["first"].tex_numbers and not made["second"].tex_numbers
    edges = {edge.child: edge.tex_numbers for edge in trace.edges if edge.differentiable}
    assert edges[made["first"].id] and not edges[made["second"].id]
    saved = [s.value.data for s in trace.saved if s.node == made["second"].id]
    assert saved == [[2, 9], [2, 9]]


@pytest.mark.parametrize("library", ["autolab", "torch"])
def test_a_step_that_changes_nothing_says_so(library):
    lib = pytest.importorskip(library)
    old, new = lib.nn.Linear(1, 1), lib.nn.Linear(3, 2, bias=False)
    adam = lib.optim.Adam(old.parameters())
    with torch.record() as recording:
        new(lib.ones(1, 3)).sum().backward()
        adam.step()
    assert recording.trace().meta["why"] == (
        "adam.step() changed nothing, because none of its 2 parameters had a gradient. "
        "Not in this optimizer, although they have a gradient: weight."
    )
    both = lib.optim.SGD(new.parameters(), lr=0.1)
    new.weight.grad = None
    with torch.record() as recording:
        for _ in range(3):  # the step comes before the backward pass that it needs
            both.step()
            new(lib.ones(1, 3)).sum().backward()
    assert recording.trace().meta["why"] == (
        "both.step() changed nothing in 1 of 3 calls, because its parameter had no gradient."
    )
