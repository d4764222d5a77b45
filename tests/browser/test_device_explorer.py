"""The device explorer on an exported page without network, and in JupyterLab with its kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Notebook, Server, Shown
from playwright.sync_api import Locator, Page, expect

import autolab as torch
from autolab.trace.devices import text
from autolab.widgets import DeviceExplorer

CELL = """
import autolab as torch
simulation = torch.cuda.simulate(devices=2, memory="4MiB")
torch.manual_seed(0)
with torch.record_devices() as recording:
    x = torch.ones(1000, 50)
    x = x.to("cuda")
    w = torch.full((50, 200), 0.5, device="cuda", requires_grad=True)
    y = (x @ w).sum()
    y.backward()
    a = torch.ones(300, 300, device="cuda:1")
    for _ in range(3):
        a = a @ a
    torch.cuda.synchronize("cuda:1")
    total = y.item()
    try:
        torch.empty(3_000_000, device="cuda")
    except torch.OutOfMemoryError:
        pass
simulation.stop()
explorer = torch.widgets.DeviceExplorer(recording)
explorer
"""
NAME = re.compile("^Device explorer")


@pytest.fixture(scope="module")
def made() -> DeviceExplorer:
    variables: dict[str, Any] = {"__name__": "cell"}
    exec(compile(CELL, "cell.py", "exec"), variables)
    return variables["explorer"]


class View(Shown):
    """The one device explorer of a page."""

    def __init__(self, page: Page):
        super().__init__(page, page.get_by_role("group", name=NAME))
        self.time = self.root.get_by_role("listbox", name=re.compile("^Timeline"))

    def device(self, name: str) -> Locator:
        return self.root.get_by_role("group", name=re.compile(f"^{name}[,:]"))

    def box(self, device: str, name: str) -> Locator:
        return self.device(device).get_by_role(
            "button", name=re.compile(rf"^{re.escape(name)}, tensor of")
        )

    def item(self, name: str) -> Locator:
        return self.time.get_by_role("option", name=re.compile(f"^{name}"))


def opened(page: Page, widget: DeviceExplorer, folder: Path, **traits: Any) -> View:
    page.goto(DeviceExplorer(widget.trace, **traits).to_html(folder / "devices.html").as_uri())
    view = View(page)
    expect(view.time).to_be_visible()
    return view


def step_of(widget: DeviceExplorer, phase: str, nth: int = 0) -> int:
    return [s.index for s in widget.trace.steps if s.phase == phase][nth]


def test_every_step_is_said_and_its_memory_shown(
    page: Page, made: DeviceExplorer, tmp_path: Path
) -> None:
    view = opened(page, made, tmp_path)
    view.root.focus()
    trace = made.trace
    for step in trace.steps:
        view.at(step.index)
        expect(view.said).to_have_text(
            f"Step {step.index + 1} of {len(trace.steps)}, {step.phase} {step.text}"
        )
        for device in ("cuda:0", "cuda:1"):
            used = text.size(trace.in_use(step.index, device))
            expect(view.device(device)).to_have_accessible_name(
                f"{device}, Simulated T4: {used} of 4 MiB in use"
            )
            shown = (
                view.device(device)
                .get_by_role("button")
                .evaluate_all("boxes => boxes.map(b => b.dataset.id)")
            )
            assert shown == [t.id for t in trace.alive(step.index) if t.device == device]
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    view.at(0)


def test_kernels_are_queued_at_work_and_done(
    page: Page, made: DeviceExplorer, tmp_path: Path
) -> None:
    launches = [
        s for s in made.trace.steps if s.phase == "launch" and made.trace.item(s.items[0]).ahead
    ]
    assert launches, "the queue of the second device grows"
    step = launches[-1].index
    view = opened(page, made, tmp_path, step=step)
    for kernel in made.trace.kernels:
        now = made.trace.steps[step].time
        queued = made.data["frames"][step]["index"] >= next(
            s.index for s in made.trace.steps if s.items[0] == kernel.id
        )
        state = (
            "later"
            if not queued
            else "done"
            if kernel.end <= now
            else "running"
            if kernel.start <= now
            else "queued"
        )
        assert view.time.locator(f'[data-id="{kernel.id}"]').evaluate(
            f"g => g.classList.contains('al-{state}')"
        ), kernel.id
    dashes = lambda name: view.time.locator(f".al-{name} .al-barshape").first.evaluate(
        "r => getComputedStyle(r).strokeDasharray"
    )
    assert dashes("done") == "none" and dashes("queued") != "none", "not by colour alone"


def test_a_copy_is_an_arrow_with_bytes_and_time(
    page: Page, made: DeviceExplorer, tmp_path: Path
) -> None:
    at = step_of(made, "copy")
    view = opened(page, made, tmp_path, step=at)
    copy = made.trace.copies[0]
    arrow = view.item("copy of x cpu → cuda:0")
    took = text.duration(copy.end - copy.start)
    expect(arrow.locator(".al-copyword")).to_have_text(f"195 KiB in {took}")
    expect(arrow.locator(".al-copyword")).to_be_visible()
    x0, y0, x1, y1 = (
        float(n)
        for n in re.findall(r"[\d.]+", arrow.locator(".al-copyline").get_attribute("d") or "")
    )
    assert x0 < x1 and y0 < y1, "from the host's side down to the device"
    view.slider.fill(str(step_of(made, "copy", -1)))
    back = view.item("copy of y cuda:0 → cpu|copy cuda:0 → cpu")
    x0, y0, x1, y1 = (
        float(n)
        for n in re.findall(r"[\d.]+", back.locator(".al-copyline").get_attribute("d") or "")
    )
    assert x0 < x1 and y0 > y1, "and back up"
    for word in ("bytes", "starts", "takes", "waits"):
        expect(view.details).to_contain_text(word)


def test_details_by_click_focus_and_keys(page: Page, made: DeviceExplorer, tmp_path: Path) -> None:
    last = len(made.trace.steps) - 1
    view = opened(page, made, tmp_path, step=last)
    view.box("cuda:0", "w").click()
    expect(view.details.get_by_role("heading")).to_have_text("Tensor w")
    for words in ("[50, 200]", "float32", "cuda:0", "39.1 KiB", "not in this recording", "made by"):
        expect(view.details).to_contain_text(words)
    assert view.box("cuda:0", "w").get_attribute("aria-pressed") == "true"
    view.box("cuda:0", "x").focus()
    expect(view.details.get_by_role("heading")).to_have_text("Tensor x")
    page.keyboard.press("Escape")
    expect(view.details.get_by_role("heading")).to_have_text("Out of memory on cuda:0")
    expect(view.details).to_contain_text("11.4 MiB")
    view.time.focus()
    page.keyboard.press("ArrowUp")
    expect(view.details.get_by_role("heading")).to_have_text("Copy from cuda:0 to cpu")
    chosen = view.time.get_by_role("option", selected=True)
    expect(chosen).to_have_count(1)
    assert view.time.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    view.at(last)
    page.keyboard.press("ArrowUp")
    expect(view.details.get_by_role("heading")).to_have_text("The host waits for cuda:1")
    view.details.get_by_role("button", name=re.compile("^Go to step")).click()
    view.at(step_of(made, "wait"))
    view.item("matmul").first.click()
    expect(view.details.get_by_role("heading")).to_have_text("Kernel matmul")


def test_memory_has_its_peak_and_what_was_refused(
    page: Page, made: DeviceExplorer, tmp_path: Path
) -> None:
    view = opened(page, made, tmp_path, step=len(made.trace.steps) - 1)
    for device in made.trace.devices[1:]:
        expect(
            view.time.locator(
                ".al-peakword",
                has_text=f"peak {text.size(device.peak)}, by the host's clock",
            ).first
        ).to_be_visible()
        kernel = min(
            (
                k
                for k in made.trace.kernels
                if k.device == device.name and k.queued > device.peak_at
            ),
            key=lambda k: k.queued,
        )
        booked, begins = map(text.duration, (device.peak_at, kernel.start))
        said = f"booked by the host at {booked}, for the kernel {kernel.name}, which the GPU begins at {begins}"
        expect(view.time).to_have_accessible_description(
            re.compile(f"peak {text.size(device.peak)}, {said}")
        )
    expect(view.item("out of memory").locator("text")).to_have_text("11.4 MiB refused")


TEXTS = """(svg) => {
  const seen = [...svg.querySelectorAll("text")].filter((t) => t.textContent && getComputedStyle(t).display !== "none" && !t.closest(".al-later"));
  const boxes = seen.map((t) => [t.textContent, t.getBoundingClientRect()]), over = [], all = svg.getBoundingClientRect();
  boxes.forEach(([a, p], i) => {
    if (p.left < all.left - 1 || p.right > all.right + 1) over.push("cut: " + a);
    for (const [b, q] of boxes.slice(i + 1))
      if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3) over.push(a + " over " + b);
  });
  return over;
}"""


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 480)])
def test_can_be_read(
    page: Page, made: DeviceExplorer, tmp_path: Path, scheme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    view = opened(page, made, tmp_path)
    expect(view.root).to_have_attribute("data-theme", scheme)
    for step in range(0, len(made.trace.steps), 9):
        view.slider.fill(str(step))
        for check in ("faint", "small", "unnamed", "unreachable"):
            assert view.check(check) == [], f"{check}, step {step}"
        assert view.time.evaluate(TEXTS) == [], f"step {step}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert view.check("moving") == 0
    for area in view.root.locator(".al-area").all():
        assert area.evaluate("a => a.scrollWidth <= a.clientWidth"), "no box is cut off"


LONG = """
import autolab as torch
with torch.cuda.simulate(memory="64MiB"), torch.record_devices() as recording:
    x = torch.ones(100, 100, device="cuda")
    for i in range(1000):
        y = x * 2
"""


@pytest.mark.timed
def test_two_thousand_events(page: Page, tmp_path: Path) -> None:
    variables: dict[str, Any] = {"__name__": "cell"}
    exec(compile(LONG, "cell.py", "exec"), variables)
    widget = DeviceExplorer(variables["recording"])
    assert len(widget.trace.steps) >= 2000
    view = opened(page, widget, tmp_path, step=1500)
    took = view.root.evaluate(
        """async (root) => {
             const slider = root.querySelector("input[type=range]"), start = performance.now();
             for (let i = 1000; i < 1050; i++) { slider.value = i; slider.dispatchEvent(new Event("input")); root.offsetHeight; }
             return (performance.now() - start) / 50;
           }"""
    )
    assert took < 250, "milliseconds a step"
    expect(view.said).to_contain_text("Step 1,050 of")
    seen = view.time.evaluate(
        """s => { const pane = s.parentElement.getBoundingClientRect(), now = s.querySelector(".al-nowline").getBoundingClientRect();
                  return now.left >= pane.left && now.left <= pane.right; }"""
    )
    assert seen, "the line of time has followed"
    assert view.time.evaluate(TEXTS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_graph_explorer_colours_by_device(page: Page, tmp_path: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    with torch.cuda.simulate():
        w = torch.ones(3, 4, requires_grad=True)
        with torch.record() as recording:
            moved = w.to("cuda")
            z = (moved * 2).sum().cpu() + 1
            z.backward()
    page.goto(torch.explore(recording, step=3).to_html(tmp_path / "graph.html").as_uri())
    shown = Explorer(page)
    expect(shown.node("moved")).to_have_accessible_name(re.compile("on cuda:0$"))
    fill = lambda name: (
        shown.node(name).locator(".al-card").evaluate("c => getComputedStyle(c).fill")
    )
    assert "al-simulated" in fill("moved") and "al-simulated" not in fill("w")
    shown.choose("Legend")
    legend = shown.root.get_by_role("group", name="Devices", exact=True)
    expect(legend).to_have_text("CPUcuda:0Simulated T4copied to another device")
    expect(shown.graph.locator(".al-edge.al-copy")).to_have_count(2)
    shown.node("moved").click()
    expect(shown.details).to_contain_text("cuda:0, Simulated T4")
    for check in ("faint", "small", "crowded", "unnamed"):
        assert shown.check(check) == [], check


def test_in_jupyterlab_from_either_side(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("devices.ipynb", CELL)
    notebook = open_notebook("devices.ipynb")
    notebook.run_cells()
    view = View(notebook.page)
    expect(view.said).to_contain_text("x is copied from cpu to cuda:0", timeout=30_000)
    view.button("Next step").click()
    notebook.in_kernel("explorer.step", 1)
    view.root.focus()
    notebook.page.keyboard.press("End")
    notebook.in_kernel("explorer.step == len(recording.trace().steps) - 1", True)
    view.box("cuda:0", "w").click()
    notebook.in_kernel("explorer.trace.item(explorer.selected).name", "w")
    expect(view.details).to_contain_text(
        'w = torch.full((50, 200), 0.5, device="cuda", requires_grad=True)'
    )
    notebook.execute("explorer.selected = 'x'; explorer.step = 2")
    view.at(2)
    expect(view.details.get_by_role("heading")).to_have_text("Tensor x")
    notebook.execute("explorer.interval = 60; explorer.step = 0; explorer.playing = True")
    expect(view.button("Pause")).to_be_visible()
    notebook.in_kernel("explorer.step >= 3", True)
    view.button("Pause").click()
    notebook.in_kernel("explorer.playing", False)
    cells = notebook.cell_count()
    view.root.focus()
    notebook.page.keyboard.press("b")
    assert notebook.cell_count() == cells, "JupyterLab's shortcuts do not fire inside"
