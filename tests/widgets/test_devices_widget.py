"""The device explorer in the kernel: the data it sends, its rejected inputs, its static picture. tests/browser has the
rest."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
import traitlets

import autolab as torch
from autolab.trace import DeviceTrace
from autolab.widgets import DeviceExplorer
from autolab.widgets.device_still import LEFT


@pytest.fixture(scope="module")
def trace():
    with torch.cuda.simulate(devices=2, memory="4MiB"), torch.record_devices() as recording:
        x = torch.ones(100, 50)
        x = x.to("cuda")
        w = torch.full((50, 2), 0.5, device="cuda", requires_grad=True)
        y = (x @ w).sum()
        y.backward()
        other = w.detach().to("cuda:1")
        torch.cuda.synchronize("cuda:1")
        try:
            torch.empty(2_000_000, device="cuda")
        except torch.OutOfMemoryError:
            pass
        del other
    return recording.trace()


@pytest.fixture
def widget(trace):
    return DeviceExplorer(trace)


def test_it_sends_the_recording(widget, trace):
    data = json.loads(json.dumps(widget.data))
    data["steps"] = data.pop("frames")
    assert DeviceTrace.from_json(data).to_json() == trace.to_json()
    assert (
        repr(widget)
        == f"DeviceExplorer(cuda:0 (Simulated T4), cuda:1 (Simulated T4), {len(trace.steps)} steps)"
    )


def test_a_recording_or_its_trace_and_nothing_else(trace):
    with torch.cuda.simulate(), torch.record_devices() as recording:
        torch.ones(2, device="cuda")
    assert repr(DeviceExplorer(recording)) == "DeviceExplorer(cuda:0 (Simulated T4), 2 steps)"
    with pytest.raises(TypeError, match="shows a recording of devices, not Tensor"):
        DeviceExplorer(torch.ones(2))


def test_steps_and_intervals_are_kept_in_range(widget, trace):
    widget.step = 10_000
    assert widget.step == len(trace.steps) - 1
    widget.step = -4
    assert widget.step == 0
    widget.interval = 1
    assert widget.interval == 50


def test_selected_is_an_id_or_a_tensors_name(widget, trace):
    widget.selected = "k0"
    widget.selected = "x"
    assert (
        trace.item(widget.selected).name == "x" and trace.item(widget.selected).device == "cuda:0"
    ), "the last of that name"
    with pytest.raises(
        traitlets.TraitError,
        match='there is no "nothing" in this recording; it has the tensors .*x, w',
    ):
        widget.selected = "nothing"
    with pytest.raises(traitlets.TraitError, match='there is no "k999"'):
        widget.selected = "k999"
    assert trace.item(widget.selected).name == "x"
    widget.selected = ""


def texts(svg):
    return [e.text for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_still_picture(widget, trace):
    bundle = widget._repr_mimebundle_()[0]
    svg = bundle["image/svg+xml"]
    words = texts(svg)
    peak = trace.device("cuda:0").peak
    assert words[-1] and f"{len(trace.kernels)} kernels, 2 copies (19.9 KiB)" in " ".join(
        filter(None, words)
    )
    assert {
        "CPU",
        "cuda:0",
        "cuda:1",
        "Simulated T4, 4 MiB",
        f"peak {peak / 1024:.3g} KiB, by the host's clock",
        "7.63 MiB refused",
    } <= set(words)
    assert (
        bundle["text/plain"]
        == f"{widget!r} is a timeline of devices to step through: run this cell in Jupyter (Shift+Enter) to see it."
    )
    assert svg == DeviceExplorer(trace)._repr_mimebundle_()[0]["image/svg+xml"], (
        "the same on every run"
    )
    box = [float(n) for n in re.search(r'viewBox="([^"]+)"', svg)[1].split()]
    for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect"):
        if e.get("class") is None and e.get("rx") == "3":
            left, top, width, height = (float(e.get(k)) for k in ("x", "y", "width", "height"))
            assert 0 <= left <= left + width <= box[2] and 0 <= top <= top + height <= box[3]


def test_the_peak_leads_from_the_hosts_clock_to_the_kernel_on_the_gpus():
    with torch.cuda.simulate():
        a = torch.ones(500, 500, device="cuda")
        with torch.record_devices() as recording:
            kept = [a @ a for _ in range(3)]
    svg, trace = (
        DeviceExplorer(recording)._repr_mimebundle_()[0]["image/svg+xml"],
        recording.trace(),
    )
    (lead,) = [e for e in ET.fromstring(svg).iter() if e.get("stroke-dasharray") == "2 3"]
    at, begins = (float(x) for x in re.findall(r"[ML](\S+) ", lead.get("d")))
    last = trace.kernels[-1]
    assert len(kept) == 3 and last.start > 2 * trace.device("cuda:0").peak_at
    assert (begins - LEFT) / (at - LEFT) == pytest.approx(
        last.start / trace.device("cuda:0").peak_at, rel=0.02
    )


def test_a_recording_without_devices():
    with torch.record_devices() as recording:
        torch.ones(3) + 1
    widget = DeviceExplorer(recording)
    assert repr(widget).endswith("0 steps)")
    assert (
        widget.trace.steps == ()
        and "0 kernels, 0 copies" in widget._repr_mimebundle_()[0]["image/svg+xml"]
    )


def test_the_exported_page_is_one_file(widget, tmp_path):
    widget.step = 3
    text = widget.to_html(tmp_path / "devices.html", title="Copies").read_text()
    assert '"step":3' in text and "<title>Copies</title>" in text
    assert not re.search(r"https?://(?!www\.w3\.org/)", text), "nothing is fetched"
