"""Make the pictures in docs/images/: `python docs/screenshots.py` (needs Chromium and pytest-playwright), or only those
named."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import autolab as torch
from autolab.finetune.training import evaluating, training
from autolab.viz import html

IMAGES = Path(__file__).parent / "images"
NAMES = re.compile(
    "^(Autograd explorer|Loss landscape|Convolution explorer|Receptive field|Freeze panel|Training dashboard|Device explorer)"
)


def chain_rule() -> Any:
    """A shared leaf, just as the second of its three contributions arrives."""
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as recording:
        s = x * x + 3 * x
        t = (0.1 * s).tanh()
        t.backward()
    arrivals = [
        f.index
        for f in recording.trace().frames
        if f.event == "contribution" and f.receiver == "n0"
    ]
    return torch.explore(recording, step=arrivals[1])


def backward_pass() -> Any:
    """The loss of README.md, recorded: its film is the picture there."""
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as recording:
        loss = (3 * x) * (x * x) + x * x
        loss.backward()
    return torch.explore(recording)


def network() -> Any:
    """Two layers in the middle of the backward pass."""
    torch.manual_seed(0)
    X, Y = torch.randn(4, 3), torch.randn(4, 2)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    with torch.record() as recording:
        loss = ((model(X) - Y) ** 2).mean()
        loss.backward()
    sent = [f.index for f in recording.trace().frames if f.event == "contribution"]
    return torch.explore(recording, step=sent[len(sent) // 2])


def resnet() -> Any:
    """ResNet-18 with its first block open, as the backward pass comes to the block."""
    torch.manual_seed(0)
    model = torch.vision.models.resnet18()
    images, labels = torch.randn(2, 3, 64, 64), torch.tensor([1, 2])
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    explorer = torch.explore(loss, expanded=["layer1", "layer1.0"])
    trace = explorer.trace
    inside = {n.id for n in trace.nodes if n.module.startswith("layer1.0")}
    explorer.step = next(f.index for f in trace.frames if f.event == "free" and f.node in inside)
    return explorer


def convolution() -> Any:
    """An edge filter on a padded digit; the receptive field of another output number is marked."""
    image = torch.tensor(
        [[0.0, 0, 1, 1, 0], [0, 1, 0, 0, 1], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 1, 1, 1, 1]]
    )
    sobel = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
    return torch.widgets.ConvExplorer(image, sobel, padding=1, step=11, selected=[0, 1, 3])


def frozen() -> Any:
    """A ResNet-18 of which the last block and the head are trained; its statistics still move in the first block."""
    torch.manual_seed(0)
    model = torch.vision.models.resnet18(num_classes=5)
    optimizer = torch.optim.Adam(model.parameters())
    panel = torch.widgets.FreezePanel(
        model, optimizer, forward=lambda: model(torch.randn(2, 3, 64, 64)).sum()
    )
    panel.from_layer("layer4.1")
    panel.modes = {"": "eval", "bn1": "train"}
    panel.run_forward()
    return panel


def trained() -> Any:
    """A small network on the digits, its learning rate changed on the way, at a pause."""
    torch.manual_seed(0)
    nn, data = torch.nn, torch.utils.data
    parts = [torch.vision.datasets.Digits(train=train) for train in (True, False)]
    train, test = (
        data.TensorDataset(d.data[:600].float().unsqueeze(1) / 255, d.targets[:600]) for d in parts
    )
    body = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
    )
    model = nn.Sequential(body, nn.Flatten(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    loaders = (
        data.DataLoader(train, batch_size=20, shuffle=True),
        data.DataLoader(test, batch_size=360),
    )

    def predict() -> Any:
        with torch.no_grad(), evaluating(model):
            return (*test.tensors, model(test.tensors[0]))

    def records() -> Any:
        for record in training(model, optimizer, loaders, epochs=9, scheduler=schedule, every=1):
            if record["step"] == 100:
                dashboard.learning_rates = [0.02]
            elif record["step"] == 170:
                dashboard.pause()
            yield record

    dashboard = torch.widgets.TrainingDashboard(records(), optimizer, predict=predict)
    dashboard.run_blocking()
    return dashboard


def pooled() -> Any:
    """Max pooling of a digit, when its gradient has gone back."""
    torch.manual_seed(1)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2))
    image = torch.vision.datasets.Digits().data[3].float().reshape(1, 1, 8, 8) / 255
    with torch.record() as recording:
        (model(image) ** 2).sum().backward()
    trace = recording.trace()
    node = next(n for n in trace.nodes if n.layer is not None and n.layer["kind"] == "max pooling")
    return torch.explore(trace, step=len(trace.frames) - 1, selected=node.id)


def seen() -> Any:
    """What a number after two convolutions and two poolings has seen of a digit."""
    torch.manual_seed(0)
    nn = torch.nn
    image = torch.vision.datasets.Digits(size=28).data[3].float() / 255
    layers = [
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
    ]
    return torch.widgets.ReceptiveField(image, nn.Sequential(*layers))


def devices() -> Any:
    """A training step on a simulated GPU that computes longer than the host needs to launch, at the point where the
    host waits."""
    torch.manual_seed(0)
    with torch.cuda.simulate(memory="64MiB"), torch.record_devices() as recording:
        x = torch.randn(1000, 400)
        x = x.to("cuda")
        w = torch.full((400, 1000), 0.01, device="cuda", requires_grad=True)
        hidden = (x @ w).relu()
        loss = (hidden * hidden).mean()
        loss.backward()
        loss.item()
    trace = recording.trace()
    return torch.widgets.DeviceExplorer(
        trace,
        step=len(trace.steps) - 1 - [s.phase for s in reversed(trace.steps)].index("copy") - 2,
    )


def on_devices() -> Any:
    """The graph of a product on a simulated GPU, its operands copied there and its result back."""
    torch.manual_seed(0)
    with torch.cuda.simulate():
        w = torch.ones(3, 4, requires_grad=True)
        with torch.record() as recording:
            x = torch.randn(5, 3)
            x = x.to("cuda")
            moved = w.to("cuda")
            z = (x @ moved).sum().cpu() * 2
            z.backward()
        return torch.explore(recording, step=5)


def diamond() -> Any:
    """The explorer of a small graph: two paths from x, and one more from b."""
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    b = x + 1
    y = a * b + b
    return torch.explore(y)


def asked() -> Any:
    """A question, and what is said to an answer that forgot a path."""
    explorer = diamond()
    explorer.ask("x", "grad")
    return explorer


def with_paths() -> Any:
    """The three paths from x to the result, the first of them lit."""
    explorer = diamond()
    explorer.paths("x")
    return explorer


def what_if() -> Any:
    """The leaf moved by a hundredth, and what became of the rest."""
    explorer = diamond()
    explorer.what_if("x", 3.01)
    return explorer


def practised() -> Any:
    """A level 5, whose second contribution a learner has set instead of added."""
    return torch.practice(level=5, seed=1, help="none")


def compared() -> Any:
    """The wrong engine that sets instead of adding, beside the right one."""

    def program() -> Any:
        x = torch.tensor(2.0, requires_grad=True)
        with torch.record() as recording:
            a, b = x * x, x * 3
            y = a * b + b
            y.backward()
        return recording

    wrong = torch.specimens["set instead of add"].run(program)
    return torch.compare(wrong, program(), names=("set instead of add", "right engine")).explorers()


def raced() -> Any:
    """Four optimizers in a long valley, on their way."""
    w, b = (torch.tensor(v, requires_grad=True) for v in (2.0, -1.0))
    race = torch.widgets.LossLandscape(lambda: w * w + 10 * b * b, {"w": w, "b": b}, lr=0.04)
    race.step, race.selected = 6, "momentum"
    return race


def blamed() -> Any:
    """Which pixels of a digit a trained classifier's answer depends on."""
    torch.manual_seed(0)
    digits = torch.vision.datasets.Digits(size=28)
    images, labels = digits.data[:800].float() / 255, digits.targets[:800]
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    image = images[3:4].clone().requires_grad_()
    found = torch.blame(model(image)[0, labels[3]], {"image": image})
    return f"<title>blame</title><style>{html.STYLE}</style><main>{found._repr_html_()}</main>"


def wrong_answer(page: Any) -> None:
    """A path forgotten."""
    page.get_by_role("textbox", name="Your answer").fill("8")
    page.get_by_role("button", name="Check").click()


def set_instead_of_add(page: Any) -> None:
    """The answers up to the second arrival at b, and there the wrong one."""
    panel = page.get_by_role("group", name="Practice", exact=True)
    for name in ("y", "set: it replaces what is there", "p"):
        panel.get_by_role("button", name=name, exact=True).click()
    for answer in ("-6", "-16"):
        panel.get_by_role("textbox").fill(answer)
        panel.get_by_role("textbox").press("Enter")
        page.wait_for_timeout(300)
    panel.get_by_role("button", name="set: it replaces what is there").click()


def go_on(page: Any) -> None:
    """To the first number that differs."""
    page.get_by_role("button", name="Next", exact=True).first.click()


def inspect(page: Any) -> None:
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Inspect", exact=True).click()


ACTS = {
    "layers.png": inspect,
    "ask.png": wrong_answer,
    "practice.png": set_instead_of_add,
    "compare.png": go_on,
}
"""What the learner has done before a picture is taken."""


def film(page: Any, path: Path) -> None:
    """Save all steps as one SVG that plays, by the explorer's own tool."""
    explorer = page.get_by_role("group", name=NAMES)
    explorer.get_by_role("button", name="More", exact=True).click()
    explorer.get_by_role("spinbutton", name="Last step of the film").fill("9999")
    with page.expect_download() as saved:
        explorer.get_by_role("button", name="Film", exact=True).click()
    saved.value.save_as(path)


def part(page: Any, name: str) -> Any:
    """What is shown in a picture: the widget, or a part of it."""
    if name == "blame.png":
        return page.locator("main")
    if name == "compare.png":
        return page.get_by_role("group", name=re.compile("^Autograd explorer of set"))
    return page.get_by_role("group", name=NAMES)


SHOTS = (
    ("backward.svg", backward_pass, 1100, "light"),
    ("devices.png", devices, 1300, "light"),
    ("devices-dark-narrow.png", devices, 480, "dark"),
    ("explorer-devices.png", on_devices, 1400, "light"),
    ("layers.png", pooled, 1300, "light"),
    ("field.png", seen, 1300, "light"),
    ("freeze.png", frozen, 1000, "light"),
    ("dashboard.png", trained, 1200, "light"),
    ("dashboard-dark-narrow.png", trained, 480, "dark"),
    ("conv.png", convolution, 1300, "light"),
    ("explorer.png", chain_rule, 1500, "light"),
    ("explorer-network.png", network, 1700, "light"),
    ("explorer-dark-narrow.png", chain_rule, 480, "dark"),
    ("explorer-resnet.png", resnet, 1500, "light"),
    ("ask.png", asked, 1100, "light"),
    ("paths.png", with_paths, 1100, "light"),
    ("what-if.png", what_if, 1100, "light"),
    ("practice.png", practised, 1100, "light"),
    ("compare.png", compared, 1100, "light"),
    ("landscape.png", raced, 1100, "light"),
    ("blame.png", blamed, 900, "light"),
)


def main(*only: str) -> None:
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        for name, make, width, scheme in (shot for shot in SHOTS if not only or shot[0] in only):
            made, path = make(), Path(folder) / "page.html"
            if isinstance(made, str):
                path.write_text(made, encoding="utf-8")
            else:
                html.write(path, made if isinstance(made, tuple) else [made])
            look: dict[str, Any] = {"color_scheme": scheme, "reduced_motion": "reduce"}
            page = browser.new_page(viewport={"width": width, "height": 900}, **look)
            page.goto(path.as_uri())
            page.wait_for_timeout(500)
            if name in ACTS:
                ACTS[name](page)
                page.wait_for_timeout(500)
            if name.endswith(".svg"):
                film(page, IMAGES / name)
            else:
                part(page, name).screenshot(path=IMAGES / name)
            print(f"{name}: {(IMAGES / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
