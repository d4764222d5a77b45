"""The explorer in other front ends than JupyterLab: it shows, and steps by keyboard (`make test-fronts`, which has
them; elsewhere left out).

Colab itself cannot be reached by a test. What is known of it stands in: a frame of nobody's origin, in it the manager
of ipywidgets 7 (html-manager 0.20, from npm), which gets anywidget from a data URL.
"""

from __future__ import annotations

import base64
import contextlib
import html
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from ipywidgets.embed import embed_data
from lab import LEARNER, ROOT, Explorer, learners_trace
from playwright.sync_api import Browser, FrameLocator, Page, expect

from autolab.widgets import Explorer as Widget
from autolab.widgets.engine import packed

LATE = 90_000
MARIMO = "import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n{}\n    return\n"


@contextlib.contextmanager
def serving(folder: Path, *command: str, port: str = "--port={}") -> Iterator[str]:
    """A front end as a server on this machine; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    home = {
        name: str(folder / name.lower())
        for name in (
            "HOME",
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "IPYTHONDIR",
            "XDG_CONFIG_HOME",
        )
    }
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    address = f"http://127.0.0.1:{number}"
    with open(folder / "log", "wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", *command, port.format(number)], cwd=folder, stdout=log, stderr=log,
            env=os.environ | home | {"PYTHONPATH": path, "AUTOLAB_PROGRESS": "off"},
        )  # fmt: skip
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address, timeout=20)
                break
            if running.poll() is not None:
                pytest.fail((folder / "log").read_text()[-3000:], pytrace=False)
            time.sleep(0.25)
        yield address
    finally:
        running.terminate()
        running.wait(20)


THEIRS = r"reading 'schema'|ERR_FAILED|@jupyter-notebook/lab-extension"
"""What Notebook 7.6 and Voila 0.5.13 complain of themselves: a setting, FontAwesome from a server, an extension."""


@pytest.fixture
def here(browser: Browser) -> Iterator[Page]:
    """A page that reaches this machine only; the test fails when it complains of anything that is ours."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    page, complaints = context.new_page(), []
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1[:/])"), lambda route: route.abort())
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert [said for said in complaints if not re.search(THEIRS, said)] == []


def notebook(folder: Path) -> None:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LEARNER)])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, folder / "learner.ipynb")


def steps_by_keyboard(page: Page, frame: FrameLocator | None = None) -> None:
    """The explorer is there, whole, and goes to its next step and its last by keys alone."""
    shown = Explorer(frame or page)
    expect(shown.graph).to_be_visible(timeout=LATE)
    expect(shown.node("x")).to_be_visible()
    shown.slider.focus()
    page.keyboard.press("ArrowRight")
    shown.at(1)
    page.keyboard.press("End")
    shown.at(24)
    expect(shown.said).to_contain_text("v1 is done")
    shown.node("t").focus()
    page.keyboard.press("Enter")
    expect(shown.details).to_contain_text("tanh")
    page.close()  # before its server ends, which it would complain of


ROOT_MAY = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


def test_notebook_7(here: Page, tmp_path: Path) -> None:
    pytest.importorskip("notebook")
    notebook(tmp_path)
    with serving(
        tmp_path,
        "notebook",
        "--no-browser",
        "--ip=127.0.0.1",
        "--IdentityProvider.token=",
        *ROOT_MAY,
    ) as address:
        here.goto(f"{address}/notebooks/learner.ipynb")
        here.locator(".jp-CodeCell .cm-content").click(timeout=LATE)
        here.keyboard.press("Control+Enter")
        steps_by_keyboard(here)


def test_voila(here: Page, tmp_path: Path) -> None:
    pytest.importorskip("voila")
    notebook(tmp_path)
    with serving(tmp_path, "voila", "learner.ipynb", "--no-browser") as address:
        here.goto(address)
        steps_by_keyboard(here)


def test_marimo(here: Page, tmp_path: Path) -> None:
    pytest.importorskip("marimo")
    (tmp_path / "app.py").write_text(
        MARIMO.format("\n".join(f"    {line}" for line in LEARNER.splitlines()))
    )
    with serving(tmp_path, "marimo", "run", "app.py", "--headless", "--no-token") as address:
        here.goto(address)
        steps_by_keyboard(here)


FRAME = """<!doctype html><html lang="en"><script>{require}</script>
<script>requirejs.config({{ paths: {{ anywidget: "data:text/javascript;base64,{anywidget}" }} }})</script><script>{manager}</script>
<script>requirejs(["@jupyter-widgets/base"], (base) => {{ // in the kernel's place, which is asked where there is no Graphviz
  base.WidgetModel.prototype.send = function () {{ this.trigger("msg:custom", {{ kind: "viz", source: "{viz}" }}, []); }};
}})</script>
<body><script type="application/vnd.jupyter.widget-state+json">{state}</script>
<script type="application/vnd.jupyter.widget-view+json">{view}</script></body></html>"""
NPM = ROOT / "build" / "fronts"


@pytest.mark.skipif(
    not NPM.is_dir(), reason="build/fronts has not got ipywidgets 7's manager from npm"
)
def test_in_a_frame_with_the_manager_of_ipywidgets_7(here: Page, tmp_path: Path) -> None:
    widget = Widget(learners_trace())
    given = embed_data(views=[widget], drop_defaults=False)
    given["manager_state"]["state"][widget.model_id]["state"] = widget.export_state()
    for model in given["manager_state"]["state"].values():
        if model["model_module"] == "@jupyter-widgets/base":
            model["model_module_version"] = "1.2.0"
    module = Path(
        sys.prefix, "share", "jupyter", "nbextensions", "anywidget", "index.js"
    ).read_bytes()
    inside = FRAME.format(
        require=(NPM / "requirejs" / "require.js").read_text(encoding="utf-8"),
        manager=(NPM / "html-manager" / "dist" / "embed-amd.js")
        .read_text(encoding="utf-8")
        .replace("</script", r"<\/script"),
        anywidget=base64.b64encode(module).decode(),
        viz=packed(),
        state=json.dumps(given["manager_state"]).replace("</", r"<\/"),
        view=json.dumps(given["view_specs"][0]),
    )
    frame = f'<iframe sandbox="allow-scripts" title="Output" style="width: 100%; height: 800px" srcdoc="{html.escape(inside)}"></iframe>'
    (tmp_path / "colab.html").write_text(
        f'<!doctype html><html lang="en"><title>Colab</title>{frame}</html>', encoding="utf-8"
    )
    here.goto((tmp_path / "colab.html").as_uri())
    steps_by_keyboard(here, here.frame_locator("iframe"))
