"""The device explorer puts what a notebook made earlier and nothing recorded uses into one box."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

import autolab as torch
from autolab.widgets import DeviceExplorer


def test_earlier_tensors_are_one_box_until_asked_for(page: Page, tmp_path: Path) -> None:
    simulation = torch.cuda.simulate(memory="4MiB")
    big, other, x = torch.ones(100_000), torch.ones(10), torch.ones(50)  # noqa: F841 (earlier variables)
    with torch.record_devices() as recording:
        y = x.to("cuda")  # noqa: F841
        torch.cuda.synchronize()
    simulation.stop()
    page.goto(DeviceExplorer(recording).to_html(tmp_path / "devices.html").as_uri())
    cpu = page.get_by_role("group", name=re.compile("^CPU:"))
    box = lambda name: cpu.get_by_role("button", name=re.compile(f"^{name}, tensor of"))
    expect(box("x")).to_be_visible()
    expect(box("big")).to_have_count(0)
    lump = cpu.locator(".al-lump")
    expect(lump).to_contain_text("2 not used here")
    expect(lump).to_contain_text("391 KiB")
    before = box("x").bounding_box()["width"]  # type: ignore[index]
    page.get_by_role(
        "checkbox", name="Show each of the 2 tensors from before that nothing here uses"
    ).check()
    expect(box("big")).to_be_visible()
    expect(box("other")).to_be_visible()
    expect(lump).to_have_count(0)
    wide, after = (box(name).bounding_box()["width"] for name in ("big", "x"))  # type: ignore[index]
    assert before > 3 * after and wide > 5 * after, "now the big one is on the scale"
    page.get_by_role("checkbox").uncheck()
    expect(lump).to_be_visible()
