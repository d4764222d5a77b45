"""Run the whole course in JupyterLite, in Chromium, and compare what it says with the stored outputs: `make
check-lite`.

    AUTOLAB_CHROMIUM=/usr/bin/chromium python tools/lite_check.py build/lite-check [LESSON ...]

build/lite-check: a site built by `tools/lite.py --pyodide build/pyodide`. Its JupyterLite is the published version
0.8.6, but its Pyodide is 0.27.7, because only the NumPy of that version is on a registry (tools/pyodide.py). For each
lesson, every cell runs, no cell fails unless its tag allows it, and the outputs equal the stored ones. Finally a
learner draws a digit, answers a question and steps an explorer, and finds the answer again in a second visit without a
network. LESSON `walk` runs this last part alone.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
LESSONS = [
    path.relative_to(ROOT / "course").with_suffix("").as_posix()
    for folder in ("course", "course/more")
    for path in sorted((ROOT / folder).glob("*.ipynb"))
]
OLDER_KERNEL = "jupyterlite-pyodide-kernel==0.6.1"
"""A piplite that works with the micropip of Pyodide 0.27."""
PATIENCE = 600_000  # milliseconds for a lesson
PANEL = "window.jupyterapp.shell.currentWidget"
CELLS = f"{PANEL}.content.widgets"

WATCH = f"""() => {{
  const [ids, started] = [new Map({CELLS}.map((c) => [c.model.sharedModel.source, c.model.id])), new Map()];
  const times = (window.cellTimes = {{}});
  {PANEL}.sessionContext.iopubMessage.connect((_, {{ header, parent_header, content }}) => {{
    const request = parent_header.msg_id;
    if (header.msg_type === "execute_input") started.set(request, [ids.get(content.code), performance.now()]);
    else if (header.msg_type === "status" && content.execution_state === "idle" && started.has(request)) {{
      const [id, began] = started.get(request);
      times[id] = (performance.now() - began) / 1000;
    }}
  }});
}}"""
"""Store how many seconds each cell takes in `window.cellTimes`."""

DIFFERENT = {
    "02_gpu": {"06-03": "a browser trains for one epoch, not four, so the times differ"},
    "more/01_saved_tensors": {"20-08": "there is no Graphviz in a browser"},
    "more/03_when_to_stop": {"27-22": "there is no Graphviz in a browser"},
}
"""Cells whose outputs differ in a browser, and why."""


# -- the site ----------------------------------------------------------------------------------------------------------
def prepare(site: Path) -> None:
    """Give the site the older piplite, and make its application accessible to the check."""
    packages = site / "extensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
    newer = next(packages.glob("piplite-0.8.6*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        subprocess.run([*pip, "--no-deps", "-d", folder, OLDER_KERNEL], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as kernel:
            name = next(n for n in kernel.namelist() if re.search(r"/piplite-[^/]*\.whl$", n))
            older = Path(kernel.extract(name, folder))
        with zipfile.ZipFile(newer) as file:
            members = {name: file.read(name) for name in file.namelist()}
        with zipfile.ZipFile(older) as file:
            own = [name for name in file.namelist() if name.startswith("piplite/")]
            members |= {name: file.read(name) for name in own}
    record = next(name for name in members if name.endswith("RECORD"))
    lines = members[record].splitlines()
    members[record] = b"\n".join(line for line in lines if line.startswith(b"piplite-"))
    with zipfile.ZipFile(newer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    index = json.loads((packages / "all.json").read_text())
    for files in index["piplite"]["releases"].values():
        files[0]["digests"] = {"sha256": hashlib.sha256(newer.read_bytes()).hexdigest()}
    (packages / "all.json").write_text(json.dumps(index))
    settings = json.loads((site / "jupyter-lite.json").read_text())
    settings["jupyter-config-data"]["exposeAppInBrowser"] = True
    (site / "jupyter-lite.json").write_text(json.dumps(settings))


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve the site's files without HTTP caching, so that only the service worker keeps them."""

    def log_message(self, *_: Any) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site inside the block, and yield its address."""
    handler = functools.partial(Handler, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@contextlib.contextmanager
def browser(profile: str) -> Iterator[BrowserContext]:
    """Open Chromium with a profile that persists between two visits."""
    with sync_playwright() as playwright:
        executable = os.environ.get("AUTOLAB_CHROMIUM") or None
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=executable,
            args=arguments,
            viewport={"width": 1366, "height": 768},
        )
        yield context
        context.close()


# -- a notebook --------------------------------------------------------------------------------------------------------
class Notebook:
    """A lesson that is open in JupyterLite."""

    def __init__(self, context: BrowserContext, address: str, lesson: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{address}/notebooks/index.html?path={lesson}.ipynb")
        self.page.wait_for_function(
            f"() => window.jupyterapp && {PANEL}?.sessionContext?.session?.kernel?.status === 'idle'"
        )

    def run_all(self) -> float:
        """Run every cell, as the menu command does. Return the time in seconds."""
        self.page.evaluate(WATCH)
        started = time.monotonic()
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"
        )
        return time.monotonic() - started

    def cells(self) -> dict[str, tuple[int | None, list[dict[str, Any]]]]:
        """Return each code cell's execution count and outputs, by its id."""
        listed = self.page.evaluate(
            f"() => {CELLS}.filter(c => c.model.type === 'code')"
            ".map(c => [c.model.id, c.model.executionCount, c.model.outputs.toJSON()])"
        )
        return {id: (count, outputs) for id, count, outputs in listed}

    def slowest(self, number: int) -> str:
        """Return the seconds of the slowest cells and their ids."""
        times = self.page.evaluate("() => window.cellTimes")
        ordered = sorted(times.items(), key=lambda item: -item[1])[:number]
        return ", ".join(f"{id} {seconds:.1f} s" for id, seconds in ordered)

    def show(self, word: str) -> Locator:
        """Scroll to the first cell whose code contains this word, and return the cell."""
        self.page.evaluate(
            f"""async (word) => {{
              const panel = {PANEL}.content;
              const at = panel.widgets.findIndex((cell) => cell.model.sharedModel.source.includes(word));
              panel.activeCellIndex = at;
              await panel.scrollToItem(at, "start");
            }}""",
            word,
        )
        return self.page.locator(".jp-Notebook .jp-Cell").filter(has_text=word).first


def cpu_seconds() -> float:
    """Return the CPU seconds of this process's descendants, that is, the browser. They depend less on the machine's
    load."""
    ticks, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            pid = int(stat.parent.name)
            parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    total = 0
    for pid in ticks:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        total += ticks[pid] * (above == os.getpid())
    return total / os.sysconf("SC_CLK_TCK")


# -- the comparison ----------------------------------------------------------------------------------------------------
def rules() -> list[tuple[str, str]]:
    """Return nbval's replacements for text that changes from run to run, such as addresses and
    times."""
    text = (ROOT / "autolab/classroom/nbval_sanitize.cfg").read_text(encoding="utf-8")
    pairs = re.findall(r"(?m)^regex: (.*)\nreplace: (.*)$", text)
    return [*pairs, (r"\x1b\[[0-9;]*m", "")]


def output_lines(outputs: list[dict[str, Any]], replacements: list[tuple[str, str]]) -> list[str]:
    """Return the lines that outputs print or show as text, sorted, because the order of widgets and prints may vary."""
    lines: list[str] = []
    for output in outputs:
        stream = output["output_type"] == "stream" and output["name"] == "stdout"
        text = output["text"] if stream else output.get("data", {}).get("text/plain", "")
        text = text if isinstance(text, str) else "".join(text)
        for pattern, replacement in replacements:
            text = re.sub(pattern, replacement, text)
        lines += [line.strip() for line in text.splitlines() if line.strip()]
    return sorted(lines)


def differences(lesson: str, cells: dict[str, tuple[int | None, list]]) -> list[str]:
    """Return the errors of a lesson that ran, one line each."""
    stored = json.loads((ROOT / "course" / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    wrong, replacements = [], rules()
    for cell in (cell for cell in stored if cell["cell_type"] == "code"):
        id, tags = cell["id"], cell["metadata"].get("tags", [])
        count, outputs = cells[id]
        if count is None:
            wrong.append(f"{lesson} {id}: did not run")
        if "raises-exception" in tags or "setup" in tags:
            continue
        failed = [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]
        wrong += [f"{lesson} {id}: {error}" for error in failed]
        expected, found = (
            output_lines(cell["outputs"], replacements),
            output_lines(outputs, replacements),
        )
        missing = [line for line in expected if line not in found]
        new = [line for line in found if line not in expected]
        # Without Graphviz, an output that is a picture in the stored notebook is a text here.
        pictured = any("image/svg+xml" in output.get("data", {}) for output in cell["outputs"])
        differ = bool(missing) if pictured else expected != found
        if differ and id not in DIFFERENT.get(lesson, {}):
            wrong.append(f"{lesson} {id}: stored {missing[:3]}, here {new[:3]}")
    return wrong


def check(address: str, lesson: str) -> list[str]:
    """Run all cells of a lesson, and print its time and memory. Return its errors."""
    with tempfile.TemporaryDirectory() as profile, browser(profile) as context:
        opened = time.monotonic()
        notebook = Notebook(context, address, lesson)
        ready = time.monotonic() - opened
        before = cpu_seconds()
        seconds = notebook.run_all()
        computed = cpu_seconds() - before
        cells = notebook.cells()
        ran = sum(count is not None for count, _ in cells.values())
        heap = notebook.page.evaluate("() => performance.memory.usedJSHeapSize") / 1e6
        print(
            f"{lesson}: {ran} of {len(cells)} cells ran in {seconds:.0f} s ({computed:.0f} s of CPU), ready after {ready:.0f} s, "
            f"{heap:.0f} MB in the page; slowest: {notebook.slowest(4)}",
            flush=True,
        )
        return [*differences(lesson, cells), *(f"{lesson}: {error}" for error in notebook.errors)]


# -- a learner ---------------------------------------------------------------------------------------------------------
def walk(site: Path) -> list[str]:
    """Act as a learner: work in lesson 1, and come back without a network. Return the errors."""
    with tempfile.TemporaryDirectory() as profile:
        with served(site) as address, browser(profile) as context:
            notebook = Notebook(context, address, "01_graphs")
            notebook.run_all()
            pad = notebook.show("DrawDigit").locator("canvas")
            box = pad.bounding_box() or {"x": 0, "y": 0}
            notebook.page.mouse.move(box["x"] + 80, box["y"] + 80)
            notebook.page.mouse.down()
            notebook.page.mouse.move(box["x"] + 240, box["y"] + 200, steps=8)
            notebook.page.mouse.up()
            question = notebook.show('predict("01.q1")')
            question.get_by_role("radio").first.click()
            explorer = notebook.show("autolab.explore(z)")
            explorer.get_by_role("button", name="Next step").click()
            stepped = explorer.get_by_role("slider", name="Step").input_value()
            while not notebook.page.evaluate(KEPT):
                notebook.page.wait_for_timeout(500)
            notebook.page.wait_for_timeout(2_000)  # time to write the last answer
            port = int(address.rpartition(":")[2])
            wrong = [] if int(stepped) > 0 else ["the explorer did not step"]
        with browser(profile) as context:
            context.set_offline(True)
            notebook = Notebook(context, f"http://127.0.0.1:{port}", "01_graphs")
            notebook.run_all()
            question = notebook.show('predict("01.q1")')
            if not question.get_by_role("radio").first.is_checked():
                wrong.append("the answer to q1 is gone in the second visit")
            told = "".join(output_lines(notebook.cells()["11-07"][1], rules()))
            print(f"second visit, without a network: {told}", flush=True)
            if "1 of" not in told:
                wrong.append(f"progress does not count the answer of the first visit: {told}")
            return wrong


KEPT = """async () => {
  const name = (await caches.keys()).find((name) => name.startsWith("autolab-lite-"));
  return Boolean(name && (await (await caches.open(name)).match(new URL("../offline", location.href).href)));
}"""
"""Whether the service worker has stored all files of the site for visits without a network."""


def main() -> int:
    site, lessons = Path(sys.argv[1]).resolve(), sys.argv[2:] or [*LESSONS, "walk"]
    prepare(site)
    failed = False
    with served(site) as address:
        for lesson in lessons:
            wrong = walk(site) if lesson == "walk" else check(address, lesson)
            failed |= bool(wrong)
            print("\n".join(wrong) or f"{lesson}: right", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
