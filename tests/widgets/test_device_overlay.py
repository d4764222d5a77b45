"""The graph explorer's colours by device, and the copies between devices."""

import re

import pytest

import autolab as torch
from autolab.trace.model import Node, Trace
from autolab.viz import palette
from autolab.widgets.cards import Card
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


def test_cards_have_their_devices_colour_and_name(recording):
    svg = torch.explore(recording[0]).svg
    assert (
        svg.count('data-device="sim"') == 3
        and 'fill="url(#al-simulated)"' in svg
        and svg.count('id="al-simulated"') == 1
    )
    assert (
        svg.count("cuda:0 simulated") == 3
        and "cpu → cuda:0, 48 B" in svg
        and "cuda:0 → cpu, 4 B" in svg
    )
    assert len(re.findall(r'class="al-line"[^>]*stroke-width="4"', svg)) == 2, (
        "the copies' lines are thick"
    )


def test_on_the_cpu_nothing_is_said_of_devices():
    x = torch.ones(2, requires_grad=True)
    explorer = torch.explore((x * 2).sum())
    assert "devices" not in explorer.trace.meta
    assert (
        "data-device" not in explorer.svg
        and "al-simulated" not in explorer.svg
        and 'stroke-width="4"' not in explorer.svg
    )


def test_a_real_gpu_is_plain_green():
    card = Card(Node("n0", "data", label="x", shape=(3,), dtype="float32", device="cuda:0"), [], [])
    svg = card.draw()
    assert 'data-device="gpu"' in svg and f'fill="{palette.CUDA}"' in svg and ">cuda:0<" in svg
    simulated = Card(
        Node("n0", "data", label="x", shape=(3,), dtype="float32", device="sim:1"), [], []
    ).draw()
    assert 'data-device="sim"' in simulated and ">sim:1 simulated<" in simulated


def test_a_closed_module_has_the_device_of_its_result():
    with torch.cuda.simulate():
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()).to("cuda")
        explorer = torch.explore(model(torch.ones(4, 2, device="cuda")).sum(), expanded=[])
    parts = re.findall(r'<g class="al-node al-part".*?class="al-card"([^>]*)', explorer.svg)
    assert parts and all('data-device="sim"' in card for card in parts)


@pytest.mark.parametrize(
    "dtype, size",
    [("float32", 4), ("bfloat16", 2), ("bool", 1), ("int64", 8), ("complex64", 8), ("uint8", 1)],
)
def test_bytes_of_a_number(dtype, size):
    assert bytes_each(dtype) == size
