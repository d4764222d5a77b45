"""Questions about a trace: the step that would give away the answer, the answer, and the reasons for typical wrong
answers."""

import numpy as np
import pytest

import autolab as torch
from autolab.trace.questions.asking import question
from autolab.trace.replay import Again, Unknown


def diamond():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        a = x * 2
        b = x + 1
        y = a * b + b
        y.backward()
    return recording.trace()


def two_steps():
    w = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    x = torch.tensor([[2.0, 1.0]])
    optimizer = torch.optim.SGD([w], lr=0.1)
    with torch.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss = (x @ w).relu().mean()
            loss.backward()
            optimizer.step()
    return recording.trace()


def why(asked, answer):
    return next((because for given, because in asked.wrong if given == answer), "")


def test_a_gradient_is_asked_for_before_anything_of_it_has_come():
    trace = diamond()
    asked = question(trace, "x", "grad")
    assert (asked.answer, asked.text) == (15.0, "What is `x.grad` after the backward pass?")
    frames = trace.frames
    assert frames[asked.until].receiver == asked.node and not any(
        f.receiver == asked.node for f in frames[: asked.until]
    )
    assert frames[asked.shows].event == "accumulate"
    assert "sends, alone" in why(asked, 8.0) and "`a`" in why(asked, 7.0)
    assert why(asked, 7.5) == "Contributions are added; this is their mean."
    assert "local derivative alone" in why(asked, 3.0)
    b = question(trace, "b", "grad")
    assert b.answer == 7.0 and "is used by" in why(b, 6.0) and "is used by" in why(b, 1.0)


def test_mistakes_that_cannot_be_told_apart_are_not_told():
    x = torch.tensor(3.0, requires_grad=True)
    asked = question(torch.trace.trace(x * x), "x", "grad")
    assert (
        asked.answer == 6.0
        and "one of the 2 uses" in why(asked, 3.0)
        and "multiplied by the local derivative" in why(asked, 2.0)
    )
    x = torch.tensor(2.0, requires_grad=True)  # here 2 is both of them
    assert question(torch.trace.trace(x * x), "x", "grad").wrong == ()
    y = torch.tensor(1.0, requires_grad=True)
    assert (
        question(torch.trace.trace(y * 1.0), "y", "grad").wrong == ()
    )  # whatever is forgotten, the result is 1


def test_each_belief_about_a_value_or_a_gradient_has_its_number():
    trace = two_steps()
    grad = question(trace, "w", "grad")
    assert grad.answer == [[1.0, 1.0], [0.5, 0.5]] and "transposed" in why(
        grad, [[1.0, 0.5], [1.0, 0.5]]
    )
    again = question(trace, "w", "grad", step=grad.shows)
    assert again.text == "What is `w(2).grad` after backward pass 2 of 2?"
    step = question(trace, "step of w", "value")
    np.testing.assert_allclose(step.answer, [[0.9, 1.9], [2.95, 4.95]], rtol=1e-6)
    beliefs = " ".join(because for _, because in step.wrong)
    assert all(
        words in beliefs
        for words in (
            "before the step",
            "up the slope",
            "learning rate is missing",
            "how far it moves",
        )
    )
    v3 = question(trace, "v3", "value")
    assert "before it was changed" in why(v3, [[5.0, 9.0]])
    loss = question(trace, "loss", "value")
    assert "That is the sum" in why(loss, 14.0)


def test_weights_left_out_and_what_lies_behind_a_copy_are_mistakes_too():
    A, x = (
        torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]]),
        torch.tensor([5.0, 7.0], requires_grad=True),
    )
    y = A @ x
    one = question(torch.trace.trace((y * torch.tensor([1.0, 0.0, 1.0])).sum()), "x", "grad")
    assert one.answer == [4.0, 3.0] and [given for given, _ in one.wrong] == [[4.0, 2.0]]
    assert "`y` alike" in one.wrong[0][1]
    made = torch.tensor([1.0, 2.0], requires_grad=True)
    w = made.double()
    two = question(torch.trace.trace((w * w).sum()), "made", "grad")
    assert [1.0, 2.0] in [given for given, _ in two.wrong], "one of the two uses of w"


def test_a_rule_with_the_value_after_a_change_is_a_mistake_of_its_own():
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    with torch.record() as recording:
        y = w**3
        y.backward()
        optimizer.step()
    asked = question(recording.trace(), "w", "grad")
    assert asked.answer == 12.0 and "after it was changed" in why(asked, 48.0)  # w is -4 then


def test_a_second_pass_adds_to_what_is_there():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        (x * 2).backward()
        (x * 5).backward()
    asked = question(recording.trace(), "x", "grad", step=4)
    assert asked.answer == 7.0 and "was not empty" in why(asked, 5.0)


def test_shapes_states_and_what_comes_next():
    trace = two_steps()
    shape = question(trace, "v1", "shape")
    assert (
        shape.answer == [1, 2]
        and "transposed" in why(shape, [2, 1])
        and "shape of `w`" in why(shape, [2, 2])
    )
    x = torch.ones(2, 3, requires_grad=True)
    summed = question(torch.trace.trace(x.sum(dim=0)), "v1", "shape")
    assert "keepdim" in why(summed, [1, 3]) and "goes away" in why(summed, [2])
    trace = diamond()
    state = question(trace, "a", "state")
    assert (
        state.answer == "freed"
        and "retain_grad()" in why(state, "accumulated")
        and trace.frames[state.until].event == "seed"
    )
    assert question(trace, "x", "state").answer == "accumulated"
    after = question(trace, "y", "next", step=state.until)
    assert trace.node(after.answer).label == "v1"
    assert "still waits for what `v1` sends" in why(after, trace.nodes[2].id)
    assert "a leaf has no rule" in why(after, "n0")
    forward = question(trace, "a", "next")
    assert trace.node(forward.answer).label == "b" and "not computed yet" in why(
        forward, trace.nodes[-1].id
    )


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("zz", "grad", 'no node "zz"'),
        ("x", "gradient", "kind must be 'value'"),
        ("x", "value", "is given, not computed"),
        ("2", "grad", "no gradient comes to 2"),
        ("x", "next", "nothing follows x"),
    ],
)
def test_what_cannot_be_asked_says_why(name, kind, words):
    with pytest.raises(ValueError, match=words):
        question(diamond(), name, kind)


def test_many_numbers_are_not_asked_for():
    x = torch.ones(5, 5, requires_grad=True)
    with pytest.raises(ValueError, match="25 numbers; up to 16"):
        question(torch.trace.trace((x * 2).sum()), "v1", "value")


def test_operations_run_again_with_other_operands():
    trace = diamond()
    again = Again(trace)
    for node in trace.nodes:
        if node.kind == "op":
            assert again.result(node.id, again.operands(node.id)) == again.value(node.id)
    assert again.result("n2", [np.float32(10), np.int64(2)]) == 20
    torch.manual_seed(0)
    x = torch.ones(3, requires_grad=True)
    with torch.record() as recording:
        y = torch.nn.functional.dropout(x).sum()
    trace = recording.trace()
    drawn = next(node for node in trace.nodes if "bernoulli" in node.op or "dropout" in node.op)
    with pytest.raises(Unknown):
        Again(trace).result(drawn.id, Again(trace).operands(drawn.id))
    assert y.item() == trace.node(trace.meta["roots"][-1]).value.data
