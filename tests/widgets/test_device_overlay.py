"""The graph explorer's colours by device, and the copies between devices."""

import pytest

import autolab as torch
from autolab.trace.model import Trace
from autolab.widgets.svg import bytes_each


@pytest.fixture(scope="module")
def recording():
    with torch.cuda.simulate():
        w = torch.ones(3, 4, requires_grad=True)
        with torch.record() as recording:
            moved = w.to("cuda")
            z = (moved * 2).sum().cpu() + 1
            z.backward()
        again = torch.trace.trace(z)
    return recording.trace(), again


@pytest.mark.parametrize("which", [0, 1], ids=["recorded", "from the graph"])
def test_every_node_knows_its_device(recording, which):
    trace = recording[which]
    where = {
        n.op or n.label: n.device for n in trace.nodes if n.op != "to_copy" and n.kind != "data"
    }
    assert where == {"w": "cpu", "mul": "cuda:0", "sum": "cuda:0", "add": "cpu"}
    there, back = [n for n in trace.nodes if n.op == "to_copy"]
    assert (there.device, trace.copied(there), back.device, trace.copied(back)) == (
        "cuda:0",
        "cpu",
        "cpu",
        "cuda:0",
    )
    assert trace.meta["devices"] == {"cuda:0": {"title": "Simulated T4", "simulated": True}}
    assert trace.copied(next(n for n in trace.nodes if n.op == "mul")) == ""
    assert Trace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize(
    "dtype, size",
    [("float32", 4), ("bfloat16", 2), ("bool", 1), ("int64", 8), ("complex64", 8), ("uint8", 1)],
)
def test_bytes_of_a_number(dtype, size):
    assert bytes_each(dtype) == size
