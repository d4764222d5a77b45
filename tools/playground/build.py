"""Build the playground: a static page on which anyone runs and steps their own code, without a server.

    python tools/playground/build.py build/playground --pyodide build/pyodide

`make playground` calls it. Python (Pyodide) is copied from a folder that tools/pyodide.py fills.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FRONTEND = ROOT / "frontend"
CORE = (
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
LEFT_OUT = ("classroom", "hub.py", "lecture", "lessons", "room", "inventory")
"""Parts of the kit that no program of a page needs, beside data sets and weights."""
PURE = ("latex2mathml", "graphviz")
"""What the kit imports and Pyodide does not have; copied from this environment."""


def kit(target: Path) -> None:
    """Write the kit, the packages it imports, and the module that runs programs, into one ZIP file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _kit_files():
            archive.write(path, path.relative_to(ROOT))
        for path in sorted((HERE / "kernel").rglob("*.py")):
            archive.write(path, path.relative_to(HERE / "kernel"))
        for name in PURE:
            for file in metadata.distribution(name).files or ():
                if file.suffix in (".py", ".txt") or file.name == "METADATA":
                    archive.write(file.locate(), file)


def _kit_files() -> Iterator[Path]:
    package = ROOT / "autolab"
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package).parts
        data = "data" in inside and path.suffix != ".py"
        if (
            path.is_file()
            and "__pycache__" not in inside
            and inside[0] not in LEFT_OUT
            and not data
        ):
            yield path


def examples() -> list[dict[str, Any]]:
    """Return the examples, each with what it shows: run here, as the page runs them."""
    sys.path[:0] = [str(HERE / "kernel"), str(ROOT)]
    import playground

    found = []
    for path in sorted((HERE / "examples").glob("*.py")):
        title, _, code = path.read_text(encoding="utf-8").partition("\n")
        shown: list[dict[str, Any]] = []
        playground.run(code, shown.append)
        found.append(
            {"name": path.stem, "title": title.lstrip("# "), "code": code, "outputs": shown}
        )
    return found


def pyodide(folder: Path, target: Path) -> None:
    """Copy Pyodide's core, and Matplotlib with its packages. NumPy is in files.gz."""
    target.mkdir()
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    waiting, wanted = ["matplotlib"], {"numpy"}
    files = [*CORE]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            files.append(lock[name]["file_name"])
            waiting += [one.replace("_", "-") for one in lock[name]["depends"]]
    for file in files:
        shutil.copy(folder / file, target / file)


def bundle(target: Path, files: list[str]) -> None:
    """Bundle the page's scripts with esbuild, which `make playground` installs."""
    version = hashlib.sha256()
    for file in files:
        version.update((target / file).read_bytes() if (target / file).is_file() else b"")
    defined = {
        "FILES": json.dumps(["./", *files, "playground.js", "worker.js"]),
        "VERSION": json.dumps(f"autolab-playground-{version.hexdigest()[:16]}"),
    }
    for name, kind in (("playground", "esm"), ("worker", "esm"), ("offline", "iife")):
        command = [
            str(FRONTEND / "node_modules" / ".bin" / "esbuild"),
            str(FRONTEND / "src" / "playground" / f"{name}.ts"),
            "--bundle",
            "--minify",
            "--log-level=warning",
            "--target=es2022",
            f"--format={kind}",
            f"--outfile={target / name}.js",
            *(f"--define:{key}={value}" for key, value in defined.items()),
        ]
        subprocess.run(command, check=True)


def build(target: Path, python: Path) -> None:
    """Write the playground into `target`, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "index.html").write_text((HERE / "page.html").read_text(encoding="utf-8"), "utf-8")
    shutil.copy(HERE / "playground.css", target)
    shutil.copy(ROOT / "tools" / "site" / "favicon.svg", target)
    (target / "examples.json").write_text(json.dumps(examples()), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        kit(Path(folder) / "autolab.zip")
        packing = ["node", HERE / "pack.mjs", python, f"{folder}/autolab.zip", target]
        subprocess.run(packing, check=True)
    pyodide(python, target / "pyodide")
    files = ["playground.css", "favicon.svg", "examples.json", "files.gz", "memory.gz"]
    bundle(target, files + [f"pyodide/{file}" for file in CORE])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--pyodide", type=Path, required=True, help="a folder that tools/pyodide.py has filled"
    )
    chosen = parser.parse_args()
    build(chosen.output, chosen.pyodide)
    for path in sorted(chosen.output.rglob("*")):
        if path.is_file() and path.stat().st_size > 100_000:
            print(f"{path.stat().st_size / 1e6:6.1f} MB  {path.relative_to(chosen.output)}")


if __name__ == "__main__":
    main()
