"""Build the site that runs the whole course in a browser (JupyterLite). `make lite` does it, or, with the packages of
tools/lite.txt and the kit installed:

    python tools/lite.py build/lite

The site contains the learner's copies of the lessons, a wheel of the kit, and wheels of the packages that Pyodide
lacks. Python itself, NumPy and Matplotlib are loaded from Pyodide's address when a notebook is opened. The first visit
therefore needs the internet, or a copy of Pyodide on the site (`--pyodide`, see docs/where_it_runs.md).

Addresses: lab/index.html?path=start.md, notebooks/index.html?path=01_graphs.ipynb.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PURE = [
    "anywidget",
    "psygnal",
    "ipywidgets",
    "jupyterlab_widgets",
    "comm",
    "graphviz",
    "latex2mathml",
    "tqdm",
    "typing_extensions",
]
KEPT = set(".html .js .mjs .css .json .ipynb .md .whl .zip .wasm .woff2 .ico .png".split())
"""The types of files that later visits need."""
PYTHON = "3.14"  # the Python version of Pyodide 314
INSTALL = """# The kit is installed from this site, into this browser tab.
%pip install -q autolab-kit matplotlib"""


def wheels(folder: Path) -> list[Path]:
    """Build the kit's wheel. Return its path, and the wheels of the pure Python packages that the kit needs."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    without_course(next(folder.glob("autolab_kit-*.whl")))
    any_python = f"--only-binary=:all: --platform any --implementation py --abi none --python-version {PYTHON}".split()
    subprocess.run(
        [*pip, "download", "-q", "--no-deps", *any_python, "-d", str(folder), *PURE], check=True
    )
    return sorted(folder.glob("*.whl"))


def without_course(wheel: Path) -> None:
    """Remove the course from the kit's wheel, 1.4 of 3.8 MB, because the site itself has the notebooks."""
    with zipfile.ZipFile(wheel) as file:
        kept = [name for name in file.namelist() if not name.startswith("autolab/_course/")]
        content = {name: file.read(name) for name in kept}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for name in kept:
            file.writestr(name, content[name])


def contents(folder: Path) -> None:
    """Write the learner's copies of the course and the start page. The Colab setup cell installs the packages that
    Pyodide lacks."""
    os.environ["AUTOLAB_PROGRESS"] = (
        "off"  # the start page must not show the builder's own progress
    )
    from autolab.lessons import folder as folders

    for _ in folders.copy_course(folders.course_source(), folder):
        pass
    folders.start_page(folder)
    (folder / folders.RECORD).unlink()
    for path in folder.rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        setup = next(
            c
            for c in notebook["cells"]
            if c["cell_type"] == "code" and "setup" in c["metadata"].get("tags", [])
        )
        setup["source"] = INSTALL
        notebook["metadata"]["kernelspec"] = {
            "display_name": "Python (Pyodide)",
            "language": "python",
            "name": "python",
        }
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def keep_offline(site: Path) -> None:
    """Make the site's service worker store its files for later visits without a network (tools/lite_offline.js)."""
    files = [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*"))
        if path.is_file() and path.suffix in KEPT and path.name != "service-worker.js"
    ]
    version = hashlib.sha256(b"".join((site / file).read_bytes() for file in files)).hexdigest()
    names = f'const VERSION = "{version[:16]}";\nconst FILES = {json.dumps(files)};\n'
    worker = site / "service-worker.js"
    own = (ROOT / "tools" / "lite_offline.js").read_text(encoding="utf-8")
    worker.write_text(f"{names}{own}\n{worker.read_text(encoding='utf-8')}", encoding="utf-8")


def build(output: Path, pyodide: Path | None = None) -> None:
    """Build the site in the folder `output`, which is emptied first. pyodide: a folder with Pyodide's files to copy
    into the site."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for part in ("wheels", "contents", "lite"):
            (work / part).mkdir()
        contents(work / "contents")
        command = [
            Path(sys.executable).with_name("jupyter"),
            "lite",
            "build",
            "--no-sourcemaps",
            "--no-unused-shared-packages",
        ]
        command += [
            "--apps=lab",
            "--apps=notebooks",
            "--apps=tree",
            f"--lite-dir={work / 'lite'}",
            f"--output-dir={work / 'site'}",
        ]
        command += [f"--contents={work / 'contents'}"]
        # `--settings-overrides` does not reach the extension that saves widgets, but this file does.
        settings = ROOT / "autolab" / "widgets" / "jupyterlab.json"
        shutil.copy(settings, work / "lite" / "overrides.json")
        command += [f"--piplite-wheels={wheel}" for wheel in wheels(work / "wheels")]
        if pyodide is not None:
            shutil.copytree(pyodide, work / "lite" / "static" / "pyodide")
        done = subprocess.run(command, cwd=work / "lite", capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        keep_offline(work / "site")
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(work / "site", output)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Build the site that runs the course in a browser alone."
    )
    parser.add_argument("output", type=Path, nargs="?", default=ROOT / "build" / "lite")
    parser.add_argument(
        "--pyodide", type=Path, help="a folder with Pyodide's files, to have them on the same site"
    )
    chosen = parser.parse_args()
    build(chosen.output, chosen.pyodide)
    size = sum(path.stat().st_size for path in chosen.output.rglob("*") if path.is_file())
    print(
        f"wrote {chosen.output}, {size / 1e6:.0f} MB; serve it: {sys.executable} -m http.server -d {chosen.output}"
    )


if __name__ == "__main__":
    main()
