"""A recorded run again with other numbers: equal to what the program gives with them."""

import numpy as np
import pytest
from what_if_programs import PROGRAMS, recorded, values

import autolab as torch
from autolab.trace.replay import Unknown
from autolab.trace.what_if import answer, rerun


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_program_with_another_number(seed):
    trace, edits, expected = recorded(seed)
    found = rerun(trace, edits)
    assert len(found) > 1
    for node in trace.nodes:
        if node.id in expected:
            now = found[node.id] if node.id in found else values(trace)[node.id]
            np.testing.assert_allclose(now, expected[node.id], rtol=1e-5, atol=1e-6, err_msg=f"{node.label} = {node.call}")


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
