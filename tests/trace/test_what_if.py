"""Reruns of a recording with other numbers: equal to what the program returns with these numbers."""

import numpy as np
import pytest
from what_if_programs import PROGRAMS, recorded, values

import autolab as torch
from autolab.trace.replay import Unknown
from autolab.trace.questions.what_if import answer, rerun


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_program_with_another_number(seed):
    trace, edits, expected = recorded(seed)
    found = rerun(trace, edits)
    assert len(found) > 1
    for node in trace.nodes:
        if node.id in expected:
            now = found[node.id] if node.id in found else values(trace)[node.id]
            np.testing.assert_allclose(
                now, expected[node.id], rtol=1e-5, atol=1e-6, err_msg=f"{node.label} = {node.call}"
            )


def test_any_operation_of_the_engine_is_run_again():
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = torch.nn.functional.softmax(x.cumsum(0).clamp(-1, 2), 0).max()
    trace = torch.trace.trace(y)
    found = rerun(trace, {"n0": np.array([1.0, 2.0, 3.0], np.float32)})
    with torch.no_grad():
        x[1] = 2.0
    expected = torch.nn.functional.softmax(x.cumsum(0).clamp(-1, 2), 0).max()
    np.testing.assert_allclose(found[trace.meta["roots"][0]], expected.item(), rtol=1e-6)


def test_what_cannot_be_run_again_says_so():
    torch.manual_seed(0)
    x = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=0.1)
    with torch.record() as recording:
        x.sum().backward()
        optimizer.step()
    trace = recording.trace()
    step = next(node.id for node in trace.nodes if node.kind == "update")
    with pytest.raises(Unknown, match="the step of Adam is not run again here"):
        rerun(trace, {step: {"lr": 0.2}})
    assert "why" in answer(trace, {"id": "1", "edits": {step: {"lr": 0.2}}})


def test_from_python_with_the_gradient_check():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x * 3).sum()
    explorer = torch.explore(y)
    found = explorer.what_if(x, 2.5, 1)
    assert (
        found.result == "y"
        and found.changes["y"] == (15.0, 21.75)
        and found.changes["x"][1].tolist() == [1.0, 2.5]
    )
    np.testing.assert_allclose([found.predicted, found.happened], [6.0, 6.75], rtol=1e-5)
    assert "predicted 6, happened 6.75; the rest, 0.75, is curvature" in repr(found)
    assert explorer.tried == {"node": "n0", "at": 1, "value": 2.5} and x.tolist() == [1.0, 2.0]
    both = explorer.what_if("x", [2.0, 3.0])
    np.testing.assert_allclose([both.predicted, both.happened], [18.0, 24.0], rtol=1e-5)
    assert explorer.tried["value"] == 2.5  # a page shows one number
    assert (
        "curvature" not in repr(explorer.what_if("3", 3.5))
        and repr(explorer.what_if("3", 3)) == "Nothing changes by it"
    )
    wrong = [(("y", 1), "it is computed from others"), (("lr", 1), "no step of an optimizer")]
    for given, words in [
        *wrong,
        (("x", [1, 2, 3]), "numbers of shape .2."),
        (("x", 1, 7), "out of bounds"),
    ]:
        with pytest.raises(ValueError, match=words):
            explorer.what_if(*given)


def test_another_rate_from_python():
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with torch.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss = w * w
            loss.backward()
            optimizer.step()
    found = torch.explore(recording).what_if("lr", 0.5)
    assert (
        found.result == "loss(2)"
        and found.changes["loss(2)"][1] == 0.0
        and found.predicted is None
        and found.moved is None
    )
    adam = torch.optim.Adam([w], lr=0.1)
    with torch.record() as recording:
        (w * w).backward()
        adam.step()
    with pytest.raises(ValueError, match="cannot be run again: the step of Adam"):
        torch.explore(recording).what_if("lr", 0.5)
