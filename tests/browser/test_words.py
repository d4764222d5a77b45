"""What the explorer says: numbers as written, names, what was saved, searching; on pages without kernel or network."""

import re
from pathlib import Path

import pytest
from lab import Explorer, script_says
from playwright.sync_api import Page, expect

import autolab as torch
from autolab.trace.values import short
from autolab.widgets import Explorer as Widget
from autolab.widgets import explore


def shown(page: Page, folder: Path, widget: Widget) -> Explorer:
    page.context.set_offline(True)
    page.goto(widget.to_html(folder / "page.html").as_uri())
    view = Explorer(page)
    expect(view.graph).to_be_visible()
    return view


def small() -> Widget:
    with torch.record() as recording:
        p = torch.tensor(1 / 3, requires_grad=True)
        inputs = {"a{b^'": torch.tensor([[1.0, 4.0, 2.0]], requires_grad=True)}
        y = p * 1.0003
        y = (y - 2e-1) * 3e2
        top, where = inputs["a{b^'"].max(1)
        both = y.exp() * top.sum() + where.sum()
        both.backward()
    return explore(recording)


def test_numbers_stand_as_written_and_rounding_is_said(page: Page, tmp_path: Path) -> None:
    view = shown(page, tmp_path, small())
    expect(view.said).to_contain_text("y = p * 1.0003 ≈ 0.333")
    expect(view.details.locator("math").nth(1)).to_have_text(re.compile("0.333≈0.333·1.0003"))
    expect(view.graph).to_contain_text("× 1.0003")
    factors = view.graph.locator(".al-pilltext").all_text_contents()
    assert all(len(words) <= 9 for words in factors), "longer ones cannot be read"
    expect(view.node("1.0003")).to_have_attribute(
        "aria-label", re.compile("1.0003, data, value 1.0003")
    )
    view.button("Next step").click()
    expect(view.said).to_contain_text("v1 = y - 2e-1 ≈ 0.133")
    page.screenshot(path=str(tmp_path / "numbers.png"))


def test_every_result_has_its_name_and_names_come_out_in_formulas(
    page: Page, tmp_path: Path
) -> None:
    view = shown(page, tmp_path, small())
    expect(view.node("top, where")).to_be_visible()
    for _ in range(3):
        view.button("Next step").click()
    expect(view.said).to_contain_text("""top, where = max(inputs["a{b^'"], dim=1) = [4], [1]""")
    name = view.details.locator("math mi", has_text="inputs[").first
    expect(name).to_have_text("""inputs["a{b^'"]""")


def test_each_of_several_results_has_its_own_gradient(page: Page, tmp_path: Path) -> None:
    with torch.record() as recording:
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        a, b = x.unbind(0)
        a.register_hook(lambda grad: grad * 10)
        (a * b + x.split(1)[1].sum()).backward()
    frames = recording.trace().frames
    view = shown(page, tmp_path, explore(recording))
    expect(view.node("a, b").locator(".al-value")).to_have_text("2, 3")
    slider = page.get_by_role("slider", name="Step")
    step = next(f.index for f in frames if f.text == "v1 sends 2 to b")
    slider.fill(str(step))
    expect(view.said).to_contain_text("v1 sends 2 to b")
    expect(view.details).to_contain_text(re.compile("gradient at b.*before.*nothing.*arrives.*2"))
    assert view.node("a, b").locator(".al-number").first.text_content() == "", (
        "it would be the gradient of one of them"
    )
    slider.fill(str(next(f.index for f in frames if f.event == "hook")))
    expect(view.details).to_contain_text(
        re.compile("gradient at a.*has arrived.*3|has arrived.*3.*the hook gives.*30")
    )
    slider.fill(str(next(f.index for f in frames if f.text.startswith("unbind(x, dim=0) sends"))))
    for label, grad in (("a", "30"), ("b", "2")):
        expect(
            view.details.get_by_text(f"gradient at {label}", exact=True).first.locator("..")
        ).to_contain_text(grad)
    slider.fill(str(next(f.index for f in frames if "split" in f.text and f.event == "compute")))
    expect(view.said).to_contain_text("v2 = split(x, dim=0, split_size=1) = ([2], [3])")
    expect(view.details).to_contain_text("output 1: v2[1]")


def test_what_was_saved_is_said_in_the_learners_names(page: Page, tmp_path: Path) -> None:
    view = shown(page, tmp_path, small())
    view.node("v1").click()
    tab = view.node("y").locator(".al-tab").first
    assert (
        tab.locator("title").text_content()
        == "other: what mul keeps of its second operand, 1.0003, for its backward (version 0 of it)"
    )
    view.node("y").click()
    table = view.details.get_by_role("table", name="Saved by y")
    expect(table.get_by_role("row").nth(1)).to_contain_text("other: 1.0003")
    view.details.get_by_text("What other means").click()
    expect(view.details).to_contain_text("what mul keeps of its second operand, 1.0003")


def test_no_tab_runs_over(page: Page, tmp_path: Path) -> None:
    q = torch.tensor([0.3, 0.6], requires_grad=True)
    with torch.record() as recording:
        squashed = q.sigmoid()
        squashed.mul_(2)
    view = shown(page, tmp_path, explore(recording))
    view.root.focus()
    page.keyboard.press("End")
    over = """svg => [...svg.querySelectorAll(".al-tab")].map(tab => {
        const text = tab.querySelector("text").getBoundingClientRect(), box = tab.querySelector("rect").getBoundingClientRect();
        return [tab.querySelector("text").textContent, text.right - box.right]; })"""
    tabs = view.graph.evaluate(over)
    assert any("modified" in words for words, _ in tabs)
    assert all(by <= 0 for _, by in tabs), tabs
    page.screenshot(path=str(tmp_path / "tabs.png"))


@pytest.mark.parametrize(
    "asked", ["int64", "(5, 2, 3)", "[5, 2, 3]", "5x2x3", "5, 2, 3", "body.1.bias"]
)
def test_searching_finds_dtypes_shapes_and_parameters(
    page: Page, tmp_path: Path, asked: str
) -> None:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 3))

        def forward(self, x):
            return self.body(x).view(5, 2, 3)

    net = Net()
    out, picked = net(torch.ones(10, 4)), torch.tensor([[[1]] * 2] * 5)
    loss = torch.gather(out, 2, picked).sum()
    for i in range(30):
        loss = loss + i
    view = shown(page, tmp_path, explore(loss, expanded=[], step=10_000))
    box = view.root.get_by_role("searchbox", name="Search")
    box.fill(asked)
    expect(view.root.locator(".al-matches")).to_have_text(re.compile(r"^[1-9]\d* match"))
    box.press("Enter")
    expect(view.root.locator(".al-matches")).to_have_text(re.compile(r"^1 of [1-9]"))
    expected = {"int64": "picked", "body.1.bias": "body.1.bias"}.get(asked, "5, 2, 3")
    focused = "[...document.querySelectorAll('*')].map((e) => e.shadowRoot?.activeElement?.getAttribute('aria-label'))"
    page.wait_for_function(
        f"(words) => {focused}.some((label) => label?.includes(words))", arg=expected
    )


def test_what_is_not_finite_is_not_called_zero(page: Page, tmp_path: Path) -> None:
    x = torch.tensor([0.0, float("inf"), float("nan"), 0.0], requires_grad=True)
    view = shown(page, tmp_path, explore(x * 2))
    view.node("x").click()
    expect(view.details).to_contain_text("2 NaN or inf: grey, the others 0")
    assert "all 0" not in view.details.inner_text()


def test_thousands_have_separators(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(1.5, requires_grad=True)
    y = x
    for _ in range(700):
        y = y * 1.0
    view = shown(page, tmp_path, explore(y, step=1100))
    expect(view.root.get_by_text(re.compile(r"^Step 1,101 of 2,1\d\d$")).first).to_be_visible()
    assert "of 2," in (
        view.root.get_by_role("slider", name="Step").get_attribute("aria-valuetext") or ""
    )


@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 400, "height": 800}}], indirect=True
)
def test_a_wide_table_is_not_cut_off(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(3)
    h, w = torch.randn(2, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
    view = shown(page, tmp_path, explore(torch.tanh(h @ w / 1000).sum()))
    view.root.focus()
    page.keyboard.press("End")
    for name in ("h", "w"):
        view.node(name).dispatch_event("click")
        overrun = view.details.evaluate("d => d.scrollWidth - d.clientWidth")
        assert overrun <= 1, name
        box = view.details.get_by_role("group", name=f"value of {name}: scrolls")
        assert "scrolls" in box.locator("caption").evaluate(
            "c => getComputedStyle(c, '::after').content"
        ), "and says so"
    page.screenshot(path=str(tmp_path / "narrow.png"), full_page=True)


def test_short_and_its_mirror_agree(page: Page) -> None:
    numbers = [
        0.5,
        0.50005,
        1.0004,
        -0.4996,
        2048.5,
        2048.0,
        99999.5,
        99999.0,
        123456.0,
        4e8,
        1e-5,
        1.2345e-5,
    ]
    numbers += [0.00012345, 999.6, 0.1 + 0.2, -0.0, 1e21, 7e-310]
    assert script_says(page, "(m, list) => list.map(m.short)", numbers) == [
        short(number) for number in numbers
    ]
