"""What the tests look at: a widget on a page, a page without network, JupyterLab with a notebook open in it."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from autolab.trace import Trace
from autolab.widgets import assets

TESTED = Path(__file__).parent / "tested.js"  # built by frontend/build.mjs

ROOT = Path(__file__).parents[2]
LEARNER = Path(__file__).with_name("learner.py").read_text(encoding="utf-8")
OVERRIDES = ROOT / "autolab" / "widgets" / "jupyterlab.json"
CHECKS = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")
# ms until what is to appear counts as missing: two tests at a time, a busy machine. How soon, the timed tests hold.
PATIENCE = 15_000
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    "@jupyterlab/docmanager-extension/plugin": '{"autosave": false}',
}


def learners_trace() -> Trace:
    """The trace that the learner's cell makes, made here."""
    variables: dict[str, Any] = {}
    exec(compile(LEARNER, "learner.py", "exec"), variables)
    return variables["recording"].trace()


@contextlib.contextmanager
def offline(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page without network, which must not have complained of anything in the end. `options`: of the browser's
    context."""
    context = browser.new_context(
        **{"viewport": {"width": 1300, "height": 900}, "reduced_motion": "reduce"} | options
    )
    context.set_offline(True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


def script_says(page: Page, function: str, *given: Any, script: Path = TESTED) -> Any:
    """Return what a JavaScript `function` of (m, ...given) returns, m being all that the widgets' modules export, or
    what `script` does."""
    page.goto("about:blank")
    text = assets.constants("explorer") + script.read_text(encoding="utf-8")
    return page.evaluate(
        f"""async ([text, given]) => {{
              const m = await import(URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }})));
              return ({function})(m, ...given);
            }}""",
        [text, given],
    )


class Server:
    """A running JupyterLab: where it is, and the folder it serves."""

    def __init__(self, root: Path):
        self.folder, settings = root / "work", root / "settings"
        self.folder.mkdir()
        for name, text in SETTINGS.items():
            path = settings / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        labconfig = root / "jupyter_config_dir" / "labconfig"
        labconfig.mkdir(parents=True)
        # What an installation of autolab puts beside JupyterLab's settings; the tests run from the source tree.
        (labconfig / "default_setting_overrides.json").write_text(OVERRIDES.read_text())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        home = {
            name: str(root / name.lower())
            for name in (
                "HOME",
                "JUPYTER_CONFIG_DIR",
                "JUPYTER_DATA_DIR",
                "IPYTHONDIR",
                "JUPYTERLAB_WORKSPACES_DIR",
            )
        }
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--expose-app-in-browser",
            "--ip=127.0.0.1",
            f"--port={port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={self.folder}",
            *(["--allow-root"] if os.geteuid() == 0 else []),
        ]
        self.url, self.log = f"http://127.0.0.1:{port}", root / "lab.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command,
                env=os.environ
                | home
                | {"JUPYTERLAB_SETTINGS_DIR": str(settings), "PYTHONPATH": path},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> Server:
        """Until it answers; the test fails with the server's own words when it does not."""
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{self.url}/api", timeout=1)
                return self
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.25)
        self.stop()
        pytest.fail(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}", pytrace=False)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except (
            subprocess.TimeoutExpired
        ):  # it waits for its kernels, long where the machine has other work
            self.process.kill()
            self.process.wait()

    def write(self, name: str, *cells: str) -> Path:
        """A notebook of code cells, not yet run."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
        )
        notebook.metadata.kernelspec = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, self.folder / name)
        return self.folder / name


class Shown:
    """A widget on a page, by role and name; `root` is its outermost element."""

    def __init__(self, page: Page, root: Locator):
        self.page, self.root = page, root
        self.said = root.get_by_role("status")
        self.slider = root.get_by_role("slider", name="Step", exact=True)

    @property
    def details(self) -> Locator:
        """Details, which an explorer shows when somebody asks for them."""
        self.root.evaluate(
            """(root) => {
                 if (!root.querySelector(".al-details")?.hidden) return;
                 [...root.querySelectorAll(".al-tools button")].find((b) => b.textContent === "Inspect")?.click();
               }"""
        )
        return self.root.get_by_role("group", name="Details", exact=True)

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def at(self, step: int) -> None:
        expect(self.slider).to_have_value(str(step))

    def check(self, function: str) -> Any:
        """One of the functions of checks.js, called with the widget's element."""
        return self.root.evaluate(f"(root) => {{ {CHECKS}; return {function}(root); }}")


class Explorer(Shown):
    """An explorer on a page."""

    def __init__(self, page: Page, number: int = 0):
        super().__init__(
            page, page.get_by_role("group", name=re.compile("^Autograd explorer")).nth(number)
        )
        self.graph = self.root.get_by_role("group", name="Computation graph", exact=True)

    def node(self, name: str) -> Locator:
        """The card of a node, the box of a closed part, or the label of an open one."""
        return self.graph.get_by_role("button", name=re.compile(rf"^{re.escape(name)},"))

    def go(self, step: int) -> None:
        self.slider.fill(str(step))
        self.at(step)

    def focused(self) -> str:
        """The accessible name of what has the focus."""
        return self.root.evaluate(
            "root => { const e = root.getRootNode().activeElement; return e?.ariaLabel || e?.textContent || ''; }"
        )

    @property
    def menu(self) -> Locator:
        return self.root.get_by_role("dialog", name="More")

    def choose(self, name: str) -> None:
        """Press a button of the menu."""
        if self.menu.is_hidden():
            self.button("More").click()
        self.menu.get_by_role("button", name=name, exact=True).click()

    def is_fine(self, *checks: str) -> None:
        """Nothing of what checks.js looks for is found."""
        for check in checks or ("unnamed", "unreachable", "crowded", "small", "faint"):
            found = self.check(check)
            assert found == [], f"{check}: {found}"


def opened(page: Page, widget: Any, folder: Path, number: int = 0) -> Explorer:
    """The exported page of an explorer, or of what contains one."""
    page.goto(widget.to_html(folder / "page.html").as_uri())
    shown = Explorer(page, number)
    expect(shown.graph).to_be_visible()
    return shown


class Panel(Shown):
    """The one freeze panel of a page."""

    def __init__(self, page: Page):
        super().__init__(page, page.get_by_role("group", name=re.compile("^Freeze panel")))
        self.tree = self.root.get_by_role("treegrid", name="Layers")
        self.reach = self.root.get_by_role("group", name="Where backward stops")
        self.warnings = self.root.get_by_role("group", name="Warnings")

    def switch(self, name: str) -> Locator:
        return self.root.get_by_role("switch", name=name, exact=True)

    def row(self, name: str) -> Locator:
        return self.tree.get_by_role("row", name=re.compile(f"^{re.escape(name)} "))


class Notebook(Explorer):
    """A notebook open in JupyterLab."""

    def __init__(self, server: Server, context: BrowserContext, name: str):
        super().__init__(context.new_page())
        self.server = server
        # A workspace of its own: `?reset` empties the common one and then loads the page anew, at any moment.
        self.page.goto(f"{server.url}/lab/workspaces/{uuid.uuid4().hex}/tree/{name}")
        self.ready()

    def ready(self) -> None:
        """Wait until the notebook is open and its kernel there."""
        self.page.wait_for_function(
            "window.jupyterapp?.shell?.currentWidget?.context?.sessionContext", timeout=60_000
        )
        self._panel("await panel.context.ready; await panel.sessionContext.ready;")

    def _panel(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(
            f"async (given) => {{ const panel = jupyterapp.shell.currentWidget; {script} }}",
            argument,
        )

    def run(self) -> Notebook:
        """Run every cell and wait for the explorer."""
        self.run_cells()
        expect(self.graph).to_be_visible(timeout=30_000)
        return self

    def restored(self, shown: Locator | None = None) -> Notebook:
        """Wait for what was saved: `shown`, or the explorer.

        ipywidgets' manager for JupyterLab restores saved widgets when the kernel has answered, so that comes first. It
        restores twice where the kernel's connection comes up late: the first time, without the notebook, a widget is
        looked for during two seconds, then called "model not found", and never looked for again. The kit has no part
        in it. Loading the page anew helps, for a learner, too, and does not find what was not saved."""
        shown = shown or self.graph
        lost = self.page.get_by_text("model not found")
        for _ in range(4):
            self._panel("await panel.sessionContext.session.kernel.info;")
            expect(shown.or_(lost).first).to_be_visible(timeout=30_000)
            if not lost.is_visible():
                break
            self.page.reload()
            self.ready()
        expect(shown).to_be_visible()
        return self

    def run_cells(self) -> None:
        self._panel(
            """await panel.sessionContext.session.kernel.info;
               await jupyterapp.commands.execute('notebook:run-all-cells');"""
        )

    def cell_count(self) -> int:
        """One more when a key pressed in a widget reached JupyterLab's shortcuts."""
        return self._panel("return panel.content.widgets.length;")

    @contextlib.contextmanager
    def theme(self, name: str) -> Iterator[None]:
        """JupyterLab in its theme "light" or "dark", and light again afterwards."""
        self.command("apputils:change-theme", theme=f"JupyterLab {name.title()}")
        try:
            yield
        finally:
            self.command("apputils:change-theme", theme="JupyterLab Light")

    def save(self) -> None:
        self._panel("await panel.context.save();")

    def is_saved(self) -> None:
        """Soon nothing is left to save."""
        self.page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")

    def shut_down(self) -> None:
        """End the kernel, close the page."""
        self._panel("await panel.sessionContext.shutdown();")
        self.page.close()

    def command(self, name: str, **arguments: Any) -> None:
        self._panel("await jupyterapp.commands.execute(given[0], given[1]);", [name, arguments])

    def kernel(self, expression: str) -> str:
        """What the kernel says an expression is (its repr)."""
        return self._panel(
            """const kernel = panel.sessionContext.session.kernel;
               const request = { code: "", user_expressions: { it: given }, store_history: false };
               let reply;
               do reply = await kernel.requestExecute(request).done;
               while (reply.content.status === "aborted");  // dropped: a cell before it has just raised
               const it = reply.content.user_expressions.it;
               return it.status === "ok" ? it.data["text/plain"] : it.ename + ": " + it.evalue;""",
            expression,
        )

    def execute(self, code: str) -> None:
        """Run code in the kernel, outside any cell."""
        self._panel(
            "await panel.sessionContext.session.kernel.requestExecute({ code: given, store_history: false }).done;",
            code,
        )

    def in_kernel(self, expression: str, expected: Any, seconds: float = PATIENCE / 1000) -> None:
        """The kernel comes to say that `expression` is `expected`."""
        deadline = time.monotonic() + seconds
        while (said := self.kernel(expression)) != repr(expected) and time.monotonic() < deadline:
            self.page.wait_for_timeout(50)
        assert said == repr(expected), f"{expression} in the kernel"

    def reset(self) -> None:
        """As after a first run: first step, nothing selected, not playing, light theme."""
        self.page.mouse.move(0, 0)
        self.execute("explorer.playing = False")
        expect(self.button("Play")).to_be_visible()
        self.execute(
            "None"
        )  # steps that the browser still had to send have arrived before this answer
        self.execute("explorer.step = 0; explorer.selected = ''; explorer.interval = 1200")
        self.at(0)
        expect(self.button("Play")).to_be_visible()
