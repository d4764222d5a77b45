"""Open the site that `tools/lite.py` built in Chromium, and run what can be run of the kit in Pyodide's core.

    AUTOLAB_CHROMIUM=/usr/bin/chromium python tools/lite_check.py build/lite FOLDER

FOLDER: where npm's package `pyodide` was unpacked (`npm pack pyodide`): Python 3.14 for browsers with its standard
library, but without
NumPy, which comes from Pyodide's own address only. No cell can run with that; what was left untried is said.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

PATIENCE = 60_000  # milliseconds for a page
IN_PYODIDE = r"""
import ast, importlib, io, json, pathlib, subprocess, sys, threading, types, zipfile
root = pathlib.Path("/kit")
zipfile.ZipFile(io.BytesIO(wheel.to_bytes())).extractall(root)
sys.path.insert(0, str(root))

def of(call):
    try:
        call()
    except BaseException as error:
        return type(error).__name__
    return ""

found = {"python": sys.version.split()[0], "thread": of(lambda: threading.Thread(target=print).start()),
         "process": of(lambda: subprocess.run(["true"])), "compiled": 0, "imported": [], "untried": [], "wrong": []}
package = types.ModuleType("autolab")  # its own __init__ wants NumPy
package.__path__ = [str(root / "autolab")]
sys.modules["autolab"] = package
absent = {"multiprocessing.connection", "multiprocessing.reduction", "fcntl", "msvcrt", "resource"}  # guarded where they are wanted
for path in sorted((root / "autolab").rglob("*.py")):
    tree = ast.parse(path.read_text())
    compile(tree, str(path), "exec")
    found["compiled"] += 1
    for node in tree.body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        for name in names:
            ours = name.split(".")[0] in sys.stdlib_module_names and name not in absent
            if ours and (error := of(lambda: importlib.import_module(name))):
                found["wrong"].append(f"{path.relative_to(root)}: import {name}: {error}")
    name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    if path.name == "__main__.py" or name in ("autolab", "autolab.viz.pygraphviz_process"):
        continue
    try:
        importlib.import_module(name)
        found["imported"].append(name)
    except ModuleNotFoundError as error:
        kind = "untried" if error.name.split(".")[0] in wanted else "wrong"
        found[kind].append(f"{name}: {error}")
    except Exception as error:
        found["wrong"].append(f"{name}: {type(error).__name__}: {error}")
json.dumps(found)
"""
WANTED = "numpy matplotlib traitlets ipywidgets anywidget IPython graphviz latex2mathml safetensors tqdm cupy torch PIL pygments"
WANTED += " jupyterlab nbformat nbconvert mistune jinja2 tornado"
PAGE = """<!doctype html><title>Pyodide's core</title><script type="module">
import { loadPyodide } from "/pyodide/pyodide.mjs";
window.ready = loadPyodide({ indexURL: "/pyodide/" });
window.tried = async (wheel, program) => {
  const python = await window.ready;
  python.globals.set("wheel", new Uint8Array(await (await fetch(wheel)).arrayBuffer()));
  return python.runPython(program);
};
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """The site; Pyodide's core under /pyodide/; a page that loads it."""

    pyodide = Path()

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != "/core.html":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def translate_path(self, path: str) -> str:
        if path.startswith("/pyodide/"):
            return str(self.pyodide / path.removeprefix("/pyodide/").partition("?")[0])
        return super().translate_path(path)


def look(page: Page, address: str, words: str) -> None:
    """Opens an address of the site and waits for words that stand there; raises where they do not come."""
    page.goto(address, timeout=PATIENCE)
    page.get_by_text(words).filter(visible=True).first.wait_for(timeout=PATIENCE)
    print(f"opened {address.split('/', 3)[3]}: {words!r} stands there", flush=True)


def run(site: Path, address: str, page: Page) -> list[str]:
    """What is wrong, a line each."""
    wheel = next(site.rglob("autolab_kit-*.whl")).relative_to(site).as_posix()
    look(page, f"{address}/lab/index.html?path=start.md", "Glossary")
    look(
        page,
        f"{address}/notebooks/index.html?path=01_graphs.ipynb",
        "Lesson 1: Graphs and gradients",
    )
    page.goto(f"{address}/core.html")
    page.wait_for_function("window.tried !== undefined", timeout=PATIENCE)
    program = f"wanted = {set(WANTED.split())!r}\n{IN_PYODIDE}"
    page.set_default_timeout(PATIENCE)
    found = json.loads(
        page.evaluate("([wheel, program]) => window.tried(wheel, program)", [f"/{wheel}", program])
    )
    print(
        f"Pyodide's core runs Python {found['python']}; a thread: {found['thread']}, a process: {found['process']}"
    )
    print(
        f"{found['compiled']} files of the wheel compile there, with the standard library that they import"
    )
    print(
        f"{len(found['imported'])} modules need no NumPy and were imported: {' '.join(sorted(found['imported']))}"
    )
    print(
        f"left untried: {len(found['untried'])} modules, which import NumPy or another package that is not in Pyodide's npm package; no cell ran"
    )
    return list(found["wrong"])


def main() -> int:
    site, pyodide = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    Handler.pyodide = pyodide
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("AUTOLAB_CHROMIUM") or None
        )
        page = browser.new_page()
        wrong = run(site, address, page)
        browser.close()
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
